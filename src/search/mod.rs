//! How a move is chosen; everything that plays stands behind the [`Player`] trait.

mod deepening;
mod finish;
pub mod from_to;
mod guard;
mod halt;
mod mate;
pub mod mcts;
pub mod minimax;
mod pace;
mod player;
pub mod policy;
mod random;
mod time;

pub(crate) use guard::guard;
pub use player::{Choice, Clock, Limits, Line, PlayError, Player, Report, Score, Settings};
