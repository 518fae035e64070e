//! The search as a player.

use super::DEPTH;
use super::points::{POINT, Worth, moves};
use super::search::{Ended, Node, Search};
use crate::chess::{Game, Move};
use crate::evaluator::{EvaluateError, Evaluator, Squares};
use crate::search::deepening::{Candidate, RootSearch, Scored, deepen};
use crate::search::finish::is_mate;
use crate::search::halt::Halt;
use crate::search::{Choice, Limits, Line, PlayError, Player, Report, Score, Settings};
use std::sync::atomic::AtomicBool;

/// The deepest search, in plies.
const MAX_DEPTH: u32 = 60;

/// Plays what two networks that score squares, and captures, add up to a few plies ahead.
pub struct FromTo {
    evaluator: Evaluator,
    settings: Settings,
}

impl FromTo {
    /// A player with the default settings, for a network that scores squares.
    pub fn new(evaluator: Evaluator) -> Self {
        let mut player = Self { evaluator, settings: Settings::default() };
        player.remember();
        player
    }

    fn remember(&mut self) {
        self.evaluator.remember((self.settings.hash as usize) << 20);
    }
}

impl Player for FromTo {
    fn name(&self) -> String {
        format!("from-to on {}", self.evaluator.name())
    }

    fn configure(&mut self, settings: &Settings) {
        let before = std::mem::replace(&mut self.settings, settings.clone());
        if settings.hash != before.hash {
            self.remember();
        }
    }

    fn choose(
        &mut self,
        game: &Game,
        limits: &Limits,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Choice, PlayError> {
        let allowed = limits.moves_of(game);
        if allowed.is_empty() {
            report(&Report::default());
            return Ok(Choice::default());
        }
        let Self { evaluator, settings } = self;
        if evaluator.remembering() == 0 {
            return Err(PlayError::memory(settings.hash));
        }
        let depth = match (limits.depth, settings.depth) {
            (Some(depth), _) => depth,
            (None, 0) => DEPTH,
            (None, depth) => depth,
        };
        let depth = depth.clamp(1, MAX_DEPTH);
        let mut search = Search::new(evaluator, &settings.from_to, Halt::new(limits, stop), depth);
        let squares = search.ask(&[game]).map_err(failed)?.swap_remove(0);
        let mut moves = moves(game.board(), Some(&squares), settings.from_to.prediction);
        moves.retain(|worth| allowed.contains(&worth.mv));
        // Of moves that come to the same the one that is worth most by itself.
        let candidates = (moves.iter().enumerate())
            .map(|(i, worth)| Candidate { mv: worth.mv, preference: -(i as f64) })
            .collect();
        let unsearched = moves[0].points();
        let ranks = [squares.from.ranks(), squares.to.ranks()];
        let mut root = Root { game, ranks, moves, after: Vec::new(), ready: 0, search };
        deepen(&mut root, candidates, unsearched, depth, settings.lines, report)
    }
}

fn failed(error: EvaluateError) -> PlayError {
    PlayError(error.to_string())
}

/// A search and where it begins.
struct Root<'a> {
    game: &'a Game,
    /// Of the squares moved from and of those moved to.
    ranks: [[u8; 64]; 2],
    moves: Vec<Worth>,
    /// The positions after them, once they are needed.
    after: Vec<Node>,
    /// How deep a search they are ready for.
    ready: u32,
    search: Search<'a>,
}

impl Root<'_> {
    fn place(&self, mv: Move) -> usize {
        self.moves.iter().position(|worth| worth.mv == mv).expect("it is one of the root's moves")
    }

    /// In how many plies a line ends in mate.
    fn plies_to_mate(&self, line: &[Move]) -> Option<i32> {
        let mut board = self.game.board().clone();
        line.iter().for_each(|&mv| board.play_unchecked(mv));
        is_mate(&board).then_some(line.len() as i32)
    }

    fn line(&self, scored: &Scored) -> Line {
        let worth = &self.moves[self.place(scored.mv)];
        let (from, to) = Squares::of_move(self.game.board(), scored.mv);
        let points = |thousandths: i64| thousandths as f64 / POINT as f64;
        let mate = self.plies_to_mate(&scored.line).map(|plies| match plies % 2 {
            1 => Score::Mate((plies + 1) / 2),
            _ => Score::Mate(-plies / 2),
        });
        Line {
            moves: scored.line.clone(),
            score: mate,
            probability: None,
            visits: None,
            figures: vec![
                ("from rank", self.ranks[0][from].into()),
                ("to rank", self.ranks[1][to].into()),
                ("prediction", points(worth.prediction)),
                ("material", points(worth.material)),
                ("searched", points(scored.score)),
            ],
        }
    }

    /// Makes the positions after the moves ready for a search of `depth` plies from the root: all of them at
    /// once, since all will be looked at.
    fn prepare(&mut self, depth: u32) -> Result<(), Ended> {
        // From two plies on the networks have been asked.
        let depth = depth.min(2);
        if self.ready < depth {
            self.after = self.search.after(self.game, &self.moves, 0, depth - 1)?;
            self.ready = depth;
        }
        Ok(())
    }
}

impl RootSearch for Root<'_> {
    fn look(
        &mut self,
        mv: Move,
        depth: u32,
        alpha: i64,
    ) -> Result<Option<(i64, Vec<Move>)>, PlayError> {
        let looked = self.prepare(depth).and_then(|()| {
            let place = self.place(mv);
            self.search.root_move(&self.moves[place], &self.after[place], depth, alpha)
        });
        match looked {
            Ok(found) => Ok(Some(found)),
            Err(Ended::Halted) => Ok(None),
            Err(Ended::Failed(error)) => Err(failed(error)),
        }
    }

    fn is_final(&self, found: &Scored, _depth: u32) -> bool {
        self.plies_to_mate(&found.line).is_some()
    }

    fn report(&self, best: &[Scored], depth: u32) -> Report {
        let (positions, calls) = self.search.asked();
        let nodes = self.search.halt().nodes();
        let lines = best.iter().map(|scored| self.line(scored)).collect();
        let remark = format!("{nodes} positions; network calls: {calls}, for {positions} of them");
        Report { depth, nodes, value: None, lines, remark: Some(remark) }
    }

    fn halt(&self) -> &Halt<'_> {
        self.search.halt()
    }
}
