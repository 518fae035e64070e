//! What sort of move a move is.

use fianchetto::chess::{Board, Move, Piece, notation};
use serde::{Deserialize, Serialize};

/// A check, else a capture, else a quiet move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum MoveKind {
    Check,
    Capture,
    Quiet,
}

impl MoveKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Check, Self::Capture, Self::Quiet];

    /// Of a legal move.
    pub fn of(board: &Board, mv: Move) -> Self {
        if !played(board, mv).checkers().is_empty() {
            Self::Check
        } else if is_capture(board, mv) {
            Self::Capture
        } else {
            Self::Quiet
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Capture => "capture",
            Self::Quiet => "quiet",
        }
    }
}

/// Whether a legal move captures, en passant included.
fn is_capture(board: &Board, mv: Move) -> bool {
    let en_passant = board.piece_on(mv.from) == Some(Piece::Pawn) && mv.from.file() != mv.to.file();
    // Castling is the king taking its own rook.
    (board.occupied().has(mv.to) && !notation::is_castling(board, mv)) || en_passant
}

/// Whether a legal move mates.
pub fn mates(board: &Board, mv: Move) -> bool {
    let after = played(board, mv);
    !after.checkers().is_empty() && !after.generate_moves(|_| true)
}

fn played(board: &Board, mv: Move) -> Board {
    let mut after = board.clone();
    after.play_unchecked(mv);
    after
}
