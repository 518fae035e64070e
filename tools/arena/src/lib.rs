//! How good a player is: games, puzzles, agreement with people.
//!
//! From the ground up:
//!
//! - [`course`]: a game as it is told to an engine; [`limits`]: how long it may think about it;
//! - [`contender`]: who plays: our own players, any UCI engine, random moves;
//! - [`fingerprint`]: by what they are known again;
//! - [`openings`], [`game`]: from where a game begins, and how it is played and judged;
//! - [`journal`], [`record`], [`tournament`]: many games, several at a time, none of them lost or played twice;
//! - [`statistics`]: what follows from the results; [`table`], [`page`], [`pgn`]: how it is told;
//! - [`outputs`]: to which files, and to which not.
//!
//! The verbs of the command line: [`games`] (`match`, `versus`, `round-robin`), [`puzzles`],
//! [`agreement`], and [`merge`](mod@merge) for
//! what was measured in parts. What those about single positions share: [`asking`], [`chunks`], [`kind`], [`speed`].
#![deny(missing_docs)]

pub mod agreement;
pub mod asking;
pub mod chunks;
pub mod contender;
pub mod course;
pub mod fingerprint;
pub mod game;
pub mod games;
pub mod journal;
pub mod kind;
pub mod limits;
pub mod merge;
pub mod openings;
pub mod outputs;
pub mod page;
pub mod pgn;
pub mod puzzles;
pub mod record;
pub mod speed;
pub mod statistics;
pub mod table;
pub mod tournament;
