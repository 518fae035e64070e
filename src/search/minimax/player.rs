//! The search as a player.

use super::search::{INFINITE, MAX_DEPTH, Search, plies_to_mate};
use super::{evaluate, table::Table};
use crate::chess::{Game, Move};
use crate::search::deepening::{Candidate, RootSearch, Scored, deepen};
use crate::search::halt::Halt;
use crate::search::random::Random;
use crate::search::{Choice, Limits, Line, PlayError, Player, Report, Score, Settings};
use std::sync::atomic::AtomicBool;

/// How deep to look where nobody says.
const DEFAULT_DEPTH: u8 = 4;

/// Plays what is best when every move is looked at a few plies ahead.
///
/// At a given depth the move and its score depend on the game and the seed alone, not on memory, time or what was
/// searched before.
#[derive(Default)]
pub struct Minimax {
    settings: Settings,
    /// `None` until it is needed.
    table: Option<Table>,
    /// The positions of the game that the table is about; none when it is to be forgotten.
    game: Vec<u64>,
}

impl Minimax {
    /// The table, fit for this game: its scores rest on what has been played, by repetition.
    fn table(&mut self, game: &Game) -> Result<&mut Table, PlayError> {
        let mebibytes = self.settings.hash;
        let table = match &mut self.table {
            Some(table) => table,
            none => none.insert(Table::new(mebibytes).ok_or_else(|| PlayError::memory(mebibytes))?),
        };
        if self.game != game.keys() {
            table.forget();
            self.game.clear();
            self.game.extend(game.keys());
        }
        Ok(table)
    }

    /// How deep to look at most.
    fn depth(&self, limits: &Limits) -> u32 {
        let Limits { depth, nodes, move_time, clock, mate, infinite, ponder, .. } = limits;
        let limited = nodes.is_some() || move_time.is_some() || clock.is_some() || mate.is_some();
        let most = u32::from(MAX_DEPTH);
        let depth = match (*depth, self.settings.depth) {
            (Some(depth), _) => depth,
            (None, 0) if limited || *infinite || *ponder => most,
            (None, 0) => DEFAULT_DEPTH.into(),
            (None, depth) => depth,
        };
        // A mate in so many moves shows at its last ply.
        let for_mate = mate.map_or(most, |moves| moves.saturating_mul(2).saturating_sub(1));
        depth.min(for_mate).clamp(1, most)
    }

    /// A number for every move; among equally good moves the one with the highest is played.
    fn preferences(&self, game: &Game, count: usize) -> Vec<f64> {
        let mut random = match self.settings.seed {
            0 => Random::from_time(),
            seed => Random::new(u64::from(seed) ^ game.board().hash()),
        };
        (0..count).map(|_| random.unit()).collect()
    }
}

impl Player for Minimax {
    fn name(&self) -> String {
        "minimax, no network".into()
    }

    fn configure(&mut self, settings: &Settings) {
        if settings.hash != self.settings.hash {
            self.table = None;
        }
        self.settings = settings.clone();
    }

    fn new_game(&mut self) {
        self.game.clear();
    }

    fn choose(
        &mut self,
        game: &Game,
        limits: &Limits,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Choice, PlayError> {
        let halt = Halt::new(limits, stop);
        let moves = limits.moves_of(game);
        if moves.is_empty() {
            report(&Report::ended(game));
            return Ok(Choice::default());
        }
        let preferences = self.preferences(game, moves.len());
        let candidates = (moves.into_iter().zip(preferences))
            .map(|(mv, preference)| Candidate { mv, preference })
            .collect();
        let (depth, wanted) = (self.depth(limits), self.settings.lines);
        let mut root = Root { game, search: Search::new(game, self.table(game)?, halt) };
        let unsearched = evaluate(game.board()).into();
        deepen(&mut root, candidates, unsearched, depth, wanted, report)
    }
}

/// A search and where it begins.
struct Root<'a> {
    game: &'a Game,
    search: Search<'a>,
}

impl RootSearch for Root<'_> {
    fn look(
        &mut self,
        mv: Move,
        depth: u32,
        alpha: i64,
    ) -> Result<Option<(i64, Vec<Move>)>, PlayError> {
        let alpha = alpha.max(-i64::from(INFINITE)) as i32;
        let found = self.search.root_move(self.game.board(), mv, depth as u8, alpha);
        Ok(found.map(|(score, line)| (score.into(), line)))
    }

    fn is_final(&self, found: &Scored, depth: u32) -> bool {
        plies_to_mate(found.score as i32).is_some_and(|plies| plies <= depth as i32)
    }

    fn report(&self, best: &[Scored], depth: u32) -> Report {
        let line = |scored: &Scored| Line {
            moves: scored.line.clone(),
            score: Some(shown(scored.score as i32)),
            ..Line::default()
        };
        let lines: Vec<Line> = best.iter().map(line).collect();
        let value = lines.first().and_then(|line| line.score).map(Score::value);
        Report { depth, nodes: self.halt().nodes(), value, lines, remark: None }
    }

    fn halt(&self) -> &Halt<'_> {
        self.search.halt()
    }
}

/// A score as chess programs show it.
fn shown(score: i32) -> Score {
    match plies_to_mate(score) {
        None => Score::Centipawns(score),
        Some(plies) if score > 0 => Score::Mate((plies + 1) / 2),
        Some(plies) => Score::Mate(-(plies / 2)),
    }
}
