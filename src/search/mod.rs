//! How a move is chosen; everything that plays stands behind the [`Player`] trait.

mod finish;
pub mod mcts;
mod player;
pub mod policy;
mod random;
mod time;

pub use player::{Choice, Clock, Limits, Line, PlayError, Player, Report, Score, Settings};
