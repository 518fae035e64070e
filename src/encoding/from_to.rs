//! The move numbering of both canonical schemes: 4096 from-to indices in the mover's frame.
//!
//! A move's index is `from * 64 + to`, castling as the king's two squares. A promotion to a queen
//! has the index of its two squares; an under-promotion has none.

use super::legal_move;
use crate::chess::notation::king_destination;
use crate::chess::{Board, Color, Move, Piece, Rank, Square};

/// How many policy indices.
pub const POLICY_SIZE: usize = 64 * 64;

/// How many where squares are scored, too: after the moves come the 64 squares moved from and the 64 moved
/// to. Their logits' sum is the logit of a move.
pub const WITH_SQUARES: usize = POLICY_SIZE + 2 * 64;

/// Whether a move has an index: all but under-promotions have one.
#[inline]
pub fn has_index(mv: Move) -> bool {
    matches!(mv.promotion, None | Some(Piece::Queen))
}

/// The policy index of a legal move, below [`POLICY_SIZE`]; `None` for an under-promotion.
#[inline]
pub fn index(board: &Board, mv: Move) -> Option<u16> {
    has_index(mv).then(|| squares_index(board, mv))
}

/// The policy index of a legal move's two squares, whatever it promotes to.
#[inline]
pub fn squares_index(board: &Board, mv: Move) -> u16 {
    // For Black every rank changes places with its mirror image.
    let mirror = if board.side_to_move() == Color::White { 0 } else { 0b111_000 };
    let (from, to) = (mv.from as u16, king_destination(board, mv) as u16);
    (from ^ mirror) * 64 + (to ^ mirror)
}

/// The legal move with this policy index, a queen where a pawn promotes; `None` when there is none.
pub fn decode(board: &Board, index: u16) -> Option<Move> {
    let mover = board.side_to_move();
    let square = |square: u16| Some(Square::try_index(square.into())?.relative_to(mover));
    let (from, destination) = (square(index / 64)?, square(index % 64)?);
    let promotes = board.piece_on(from) == Some(Piece::Pawn)
        && destination.rank() == Rank::Eighth.relative_to(mover);
    legal_move(board, from, destination, promotes.then_some(Piece::Queen))
}
