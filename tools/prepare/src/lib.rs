//! From PGN games to training data.
//!
//! The way of a game, one room per step:
//!
//! - [`game`]: a finished game as it is kept.
//! - [`gamefile`]: the compact file of played games.
#![deny(missing_docs)]

pub mod game;
pub mod gamefile;
