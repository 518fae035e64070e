//! From PGN games to training data.
//!
//! The way of a game, one room per step:
//!
//! - [`game`]: a finished game as it is kept.
#![deny(missing_docs)]

pub mod game;
