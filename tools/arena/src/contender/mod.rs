//! Who plays: our own players in this process, any UCI engine as a program, or random moves.

mod ask;
mod in_process;
mod program;
mod random;
mod spec;

use crate::course::Course;
use crate::fingerprint::fingerprint;
use crate::limits::Turn;
pub use ask::{Asker, Effort, Reply, Unanswered};
use fianchetto::chess::Move;
use fianchetto::engine;
use fianchetto::search::Score;
use fianchetto::uci::{Options, PlayerKind};
pub use program::Program;
pub use spec::{Contender, Contenders};
use std::fmt;
use std::time::Duration;

/// What a contender is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Legal moves, drawn by the seed and the number of the game.
    Random,
    /// A player of this engine, in this process.
    Player(Box<Options>),
    /// A UCI engine.
    Engine(EngineCommand),
}

/// How a UCI engine is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Options to set, in order.
    pub options: Vec<(String, String)>,
}

/// Something that can be asked for moves.
pub trait Opponent: Send {
    /// Another game begins: nothing is remembered, and what the game before left broken is started anew.
    ///
    /// # Errors
    /// When it cannot be started.
    fn new_game(&mut self, number: u64) -> Result<(), Fault>;

    /// Chooses a move for the side to move; the game is not over.
    ///
    /// # Errors
    /// When it gives no legal move.
    fn choose(&mut self, course: &Course, turn: &Turn) -> Result<Answer, Fault>;
}

/// A move chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// A legal move.
    pub best: Move,
    /// The score from the mover's side, where it was told.
    pub score: Option<Score>,
    /// Plies searched, where told.
    pub depth: Option<u32>,
    /// Positions looked at, where told.
    pub nodes: Option<u64>,
    /// The candidates, best first, as far as told.
    pub ranking: Vec<Move>,
}

/// Why there is no move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The move is not legal, or no move.
    Illegal(String),
    /// None came in time.
    NoAnswer,
    /// The program ended.
    Died(String),
    /// It cannot be used at all, which is the fault of whoever set it up.
    Unusable(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Illegal(text) => write!(f, "illegal move {text}"),
            Self::NoAnswer => f.write_str("no answer in time"),
            Self::Died(how) => write!(f, "the program ended: {how}"),
            Self::Unusable(reason) => f.write_str(reason),
        }
    }
}

/// What an opponent needs to know of the run it is in.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// From which all random numbers come.
    pub seed: u64,
    /// How long a program may take to start, or to answer where no clock runs.
    pub patience: Duration,
}

impl Contender {
    /// By what its network is known, where it is known to have one: other weights under the same name make
    /// another contender.
    ///
    /// # Errors
    /// In one line, when the weights cannot be read.
    pub fn network(&self) -> Result<Option<String>, String> {
        match &self.kind {
            Kind::Player(options) if options.player != PlayerKind::Minimax => {
                let weights = engine::weights(options);
                let weights = weights.map_err(|error| format!("{}: {error}", self.label))?;
                Ok(Some(fingerprint(weights.iter().copied())))
            }
            _ => Ok(None),
        }
    }

    /// How many threads it thinks with, as far as known.
    pub fn threads(&self) -> Option<u32> {
        match &self.kind {
            Kind::Random => Some(1),
            Kind::Player(options) => Some(options.threads),
            Kind::Engine(command) => {
                let mut options = command.options.iter().rev();
                let (_, value) = options.find(|(name, _)| name.eq_ignore_ascii_case("Threads"))?;
                value.parse().ok()
            }
        }
    }

    /// Starts the contender.
    ///
    /// # Errors
    /// In one line, when it cannot be started.
    pub fn start(&self, terms: Terms) -> Result<Box<dyn Opponent>, String> {
        let failed = |reason: String| format!("{}: {reason}", self.label);
        Ok(match &self.kind {
            Kind::Random => Box::new(random::RandomMoves::new(terms.seed)),
            Kind::Player(options) => {
                Box::new(in_process::InProcess::new(options, terms.seed).map_err(failed)?)
            }
            Kind::Engine(command) => {
                let mut program = Program::new(command.clone(), terms.patience);
                program.start().map_err(|fault| failed(fault.to_string()))?;
                Box::new(program)
            }
        })
    }
}
