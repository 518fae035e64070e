//! The contract between whatever chooses moves and whatever asks for them.

use super::{from_to, mcts};
use crate::chess::{Game, Move};
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Something that chooses a move: a policy network, a tree search, a minimax.
pub trait Player: Send {
    /// A short name for people: what plays, on what.
    fn name(&self) -> String;

    /// Takes over settings that can change between two moves without loading anything.
    fn configure(&mut self, settings: &Settings);

    /// Forgets what was learned from the game before. Players without memory need not say anything.
    fn new_game(&mut self) {}

    /// Chooses a move for the side to move.
    ///
    /// Returns as soon as it has a good answer, the limits are reached, or `stop` is set, whichever is
    /// first: at most one network batch after `stop`. `report` is called at least once, the last
    /// time with the report that the choice rests on. A finished game gives [`Choice::best`] `None`.
    fn choose(
        &mut self,
        game: &Game,
        limits: &Limits,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Choice, PlayError>;
}

/// What may be changed between two moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How many plies to look ahead for mates and stalemates against a bare king, 0 to 3.
    pub finish_plies: u8,
    /// 0 plays the best move; above, moves are drawn in proportion to `probability^(1/temperature)`.
    pub temperature: f64,
    /// Plies to look ahead where the limits state no depth; 0 leaves it to the player.
    pub depth: u32,
    /// How many of the best moves get a score, at least one.
    pub lines: u32,
    /// Memory for all that is remembered, in MiB.
    pub hash: u32,
    /// Of the random numbers: the same seed always the same move. 0 for another one in each run.
    pub seed: u32,
    /// How the tree search goes about it.
    pub mcts: mcts::Parameters,
    /// How the from/to player weighs moves.
    pub from_to: from_to::Parameters,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            finish_plies: 1,
            temperature: 0.0,
            depth: 0,
            lines: 1,
            hash: 128,
            seed: 0,
            mcts: mcts::Parameters::default(),
            from_to: from_to::Parameters::default(),
        }
    }
}

/// How long to think, as the UCI `go` command states it. Nothing set means: as the player likes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Plies.
    pub depth: Option<u32>,
    /// Positions evaluated.
    pub nodes: Option<u64>,
    /// Exactly this much time.
    pub move_time: Option<Duration>,
    /// The mover's clock.
    pub clock: Option<Clock>,
    /// Look for a mate in this many moves.
    pub mate: Option<u32>,
    /// Consider only these moves; empty means all.
    pub search_moves: Vec<Move>,
    /// Think until told to stop.
    pub infinite: bool,
    /// It is not sure that the position comes up: it is the opponent's turn yet.
    pub ponder: bool,
}

impl Limits {
    /// The legal moves to choose from.
    pub(super) fn moves_of(&self, game: &Game) -> Vec<Move> {
        let mut moves = game.legal_moves();
        if !self.search_moves.is_empty() {
            moves.retain(|mv| self.search_moves.contains(mv));
        }
        moves
    }
}

/// The clock of the side to move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Time left.
    pub left: Duration,
    /// Added after each move.
    pub increment: Duration,
    /// Moves until more time is added; `None` for the rest of the game.
    pub moves_to_go: Option<u32>,
}

/// Progress of a choice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Plies searched.
    pub depth: u32,
    /// Positions evaluated.
    pub nodes: u64,
    /// Value of the position for the side to move, in [-1, 1]; `None` where the player has none.
    pub value: Option<f64>,
    /// The candidate moves, best first; every legal move for players that rank them all.
    pub lines: Vec<Line>,
    /// A remark in words, for people.
    pub remark: Option<String>,
}

/// One candidate move and what is expected after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The moves, the candidate first; all legal.
    pub moves: Vec<Move>,
    /// Score for the side to move; `None` where the player has none that a chess program could show.
    pub score: Option<Score>,
    /// Share of the player's belief (network probability, visits) in this move, 0 to 1.
    pub probability: Option<f64>,
    /// How often a tree search looked at the move.
    pub visits: Option<u32>,
    /// What else the player counts of the move, by name.
    pub figures: Vec<(&'static str, f64)>,
}

/// A score as chess programs show it, from the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Hundredths of a pawn.
    Centipawns(i32),
    /// Mate in this many moves; negative when the mover is mated, 0 when mated already.
    Mate(i32),
}

/// A value v is shown as `SCALE * tan(ANGLE * v)` hundredths of a pawn (RDTChess).
const SCALE: f64 = 111.714_640_912;
const ANGLE: f64 = 1.562_068_842_1;

impl Score {
    /// The value as a chess program shows it, by the formula of RDTChess.
    pub fn of_value(value: f64) -> Self {
        Self::Centipawns((SCALE * (ANGLE * value.clamp(-0.99, 0.99)).tan()) as i32)
    }

    /// The value in [-1, 1] that is shown as this score.
    pub fn value(self) -> f64 {
        match self {
            Self::Centipawns(score) => (f64::from(score) / SCALE).atan() / ANGLE,
            Self::Mate(moves) if moves > 0 => 1.0,
            Self::Mate(_) => -1.0,
        }
    }
}

impl Report {
    /// Of a game without a legal move: it is lost, or drawn.
    pub(super) fn ended(game: &Game) -> Self {
        let mated = !game.board().checkers().is_empty();
        Self { value: Some(if mated { -1.0 } else { 0.0 }), ..Self::default() }
    }
}

/// The move chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The move to play; `None` only when there is no legal move.
    pub best: Option<Move>,
    /// The reply to think about while the opponent thinks, legal after `best`.
    pub ponder: Option<Move>,
}

/// Why no move could be chosen, in words for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayError(pub String);

impl PlayError {
    /// There is no memory for a `Hash` of so many MiB.
    pub(super) fn memory(mebibytes: u32) -> Self {
        Self(format!("there is no memory for a Hash of {mebibytes} MiB, set less"))
    }
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlayError {}
