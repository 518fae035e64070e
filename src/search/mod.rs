//! How a move is chosen; everything that plays stands behind the [`Player`] trait.

mod finish;
mod player;
pub mod policy;
mod random;

pub use player::{Choice, Clock, Limits, Line, PlayError, Player, Report, Score, Settings};
