//! Monte Carlo tree search: a network's hunches checked by looking ahead.
//!
//! - `playout`: one step of the search, the file to read first.
//! - `tree`: positions and moves in memory; `arena` is where they lie.
//! - `player`: the search as a [`Player`](crate::search::Player): from game to game, from move to move.
//! - `ranking`: from the tree to an order of the moves.
//! - `parameters`: what can be set.

mod arena;

mod parameters;
mod player;
mod playout;
mod ranking;
#[cfg(test)]
mod tests;
mod tree;

pub use parameters::{Fpu, Parameters};
pub use player::Mcts;
