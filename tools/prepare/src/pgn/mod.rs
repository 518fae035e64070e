//! Games as people wrote them down, in Portable Game Notation (PGN; the specification of 1994).
//!
//! [`Reader`] cuts a stream into the texts of single games, bounded in size and without looking at
//! moves, so that one thread can feed many. [`RawGame::resolve`] plays a text through and is where
//! the work is. A game that cannot be read with certainty is dropped with a [`Refusal`], never
//! repaired by guess: an illegal or a null move, a word that is no move, or a move after the result
//! drops the whole game, so that moves are never joined over a gap.

mod movetext;
mod reader;
mod refusal;
mod tags;

pub use movetext::PLIES_MAX;
pub use reader::{RawGame, Reader};
pub use refusal::Refusal;
pub use tags::{Date, Tags};
