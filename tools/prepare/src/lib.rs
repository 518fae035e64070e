//! From PGN games to training data.
//!
//! The way of a game, one room per step:
//!
//! - [`input`]: bytes from a file, compressed or not;
//! - [`pgn`]: the text of one game after the other, and the moves in it;
//! - [`filter`] and [`shard`]: which games are wanted;
//! - [`report`]: what became of them;
//! - [`game`]: a finished game as it is kept;
//! - [`gamefile`]: the compact file of played games;
//! - [`shards`]: the layout of training positions.
//!
//! The verbs of the command line: [`pack`](mod@pack) (PGN to game file), [`join`](mod@join) (game
//! files to one), [`inspect`](mod@inspect) (a game file to the eye), [`expand`](mod@expand) (games to
//! shuffled positions, in shards or through a pipe). What they share: [`threads`] (work in parallel,
//! results in order), [`command`] (arguments to exit status), [`progress`], [`partial`] (unfinished files), [`lock`] (one run at a time),
//! [`failure`], [`number`].
#![deny(missing_docs)]

pub mod command;
pub mod expand;
pub mod failure;
pub mod filter;
pub mod game;
pub mod gamefile;
pub mod input;
pub mod inspect;
pub mod join;
pub mod lock;
pub mod number;
pub mod pack;
pub mod partial;
pub mod pgn;
pub mod progress;
pub mod report;
pub mod shard;
pub mod shards;
pub mod threads;
