//! The rules of chess as an engine needs them, over cozy-chess.
//!
//! cozy-chess knows one position: its pieces and its legal moves. This room adds what surrounds it:
//! [`fen`] reads positions as people and programs really write them, [`game`] remembers the way to
//! a position (repetition, fifty moves), [`notation`] writes and reads moves, [`pgn`] whole games.
//!
//! A [`Move`] is always in cozy-chess's form, in which castling is the king taking its own rook;
//! [`notation`] holds the one map between that form and the king's two squares.

pub mod fen;
pub mod game;
pub mod notation;
pub mod pgn;

pub use cozy_chess::{BitBoard, Board, Color, File, Move, Piece, Rank, Square};
pub use fen::{FenError, Repair};
pub use game::{Game, Outcome};
pub use notation::IllegalMove;

/// `text` in quotes for a one-line message: control characters escaped, cut after 60 characters.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// The colour's name for people.
fn color_name(color: Color) -> &'static str {
    match color {
        Color::White => "White",
        Color::Black => "Black",
    }
}
