//! From PGN games to training data.
//!
//! The way of a game, one room per step:
//!
//! - [`input`]: bytes from a file, compressed or not;
//! - [`pgn`]: the text of one game after the other, and the moves in it;
//! - [`filter`]: which games are wanted;
//! - [`report`]: what became of them;
//! - [`game`]: a finished game as it is kept;
//! - [`gamefile`]: the compact file of played games;
//! - [`shards`]: the layout of training positions;
//! - [`expand`]: games to shards or to a pipe, shuffled.
#![deny(missing_docs)]

pub mod expand;
pub mod filter;
pub mod game;
pub mod gamefile;
pub mod input;
pub mod pgn;
pub mod report;
pub mod shards;
