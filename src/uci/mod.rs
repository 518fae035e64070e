//! The Universal Chess Interface: lines of text between a chess program and a player.
//!
//! [`options`] is the table of what can be set, [`command`] turns a line into a command, [`info`]
//! turns a player's report into lines, [`session`] drives the three. Nothing here knows what a
//! network is: everything that plays is a [`crate::search::Player`].
//!
//! Source: Stefan Meyer-Kahlen, "Description of the universal chess interface", April 2006.

pub mod command;
pub mod info;
pub mod options;
pub mod session;
mod worker;

pub use options::{BackendKind, OptionError, Options, PlayerKind};
pub use session::run;
