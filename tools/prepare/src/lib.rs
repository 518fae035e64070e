//! From PGN games to training data.
//!
//! The way of a game, one room per step:
//!
//! - [`input`]: bytes from a file, compressed or not;
//! - [`pgn`]: the text of one game after the other, and the moves in it;
//! - [`filter`]: which games are wanted;
//! - [`report`]: what became of them;
//! - [`game`]: a finished game as it is kept.
#![deny(missing_docs)]

pub mod filter;
pub mod game;
pub mod input;
pub mod pgn;
pub mod report;
