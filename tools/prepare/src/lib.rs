//! From PGN games to training data.
//!
//! The way of a game, one room per step:
//!
//! - [`game`]: a finished game as it is kept.
//! - [`gamefile`]: the compact file of played games.
//! - [`shards`]: the layout of training positions.
//! - [`expand`]: games to shards or to a pipe, shuffled.
#![deny(missing_docs)]

pub mod expand;
pub mod game;
pub mod gamefile;
pub mod shards;
