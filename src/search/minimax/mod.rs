//! Minimax: the opponent without a network, which looks every move a few plies ahead and judges what it
//! finds by hand-written rules.
//!
//! - `search`: alpha-beta, the file to read first.
//! - `evaluation`: what a position looks worth without looking ahead.
//! - `ordering`: which moves are looked at first.
//! - `table`: what was found out about positions met before; `path`: the way to a position.
//! - `player`: the search as a [`Player`](super::Player).

mod evaluation;
mod ordering;
mod path;
mod player;
mod search;
mod table;

pub use evaluation::evaluate;
pub use player::Minimax;
pub use search::MAX_DEPTH;
