//! RDTChess's scheme: 19 planes and 4096 from-to indices, both in the mover's frame.
//!
//! In that frame the side to move plays up the board as White does. When Black is to move every
//! square is mirrored top to bottom and the colours change places; files stay as they are.
//!
//! | plane | content |
//! |---|---|
//! | 0-5 | the mover's pawns, knights, bishops, rooks, queens, king |
//! | 6-11 | the opponent's, in the same order |
//! | 12-15 | constant: castling rights, the mover's king side and queen side, then the opponent's |
//! | 16 | the en passant target square, after every double push |
//! | 17 | constant: halfmove clock / 100, at most 1 |
//! | 18 | constant: 1 when the position has occurred before in the game |
//!
//! A move's index is `from * 64 + to`, castling as the king's two squares. A promotion to a queen
//! has the index of its two squares; an under-promotion has none.

use crate::chess::notation::{from_king_destination, king_destination};
use crate::chess::{BitBoard, Board, Game, Move, Piece, Rank, Square};

/// How many 8x8 input planes.
pub const PLANES: usize = 19;

/// How many policy indices.
pub const POLICY_SIZE: usize = 64 * 64;

/// Writes the current position of `game` into `planes`, `[19, 8, 8]`, overwriting all of it.
///
/// # Panics
/// When `planes` is not `19 * 64` long.
pub fn encode(game: &Game, planes: &mut [f32]) {
    assert_eq!(planes.len(), PLANES * 64, "canonical19 writes [19, 8, 8]");
    planes.fill(0.0);
    let board = game.board();
    let mover = board.side_to_move();
    let sides = [mover, !mover];

    let mut mark = |plane: usize, squares: BitBoard| {
        for square in squares {
            planes[64 * plane + square.relative_to(mover) as usize] = 1.0;
        }
    };
    for (first_plane, side) in [0, 6].into_iter().zip(sides) {
        for piece in Piece::ALL {
            mark(first_plane + piece as usize, board.colored_pieces(side, piece));
        }
    }
    if let Some(file) = board.en_passant() {
        mark(16, Square::new(file, Rank::Sixth.relative_to(mover)).bitboard());
    }

    let mut fill = |plane: usize, value: f32| planes[64 * plane..][..64].fill(value);
    for (first_plane, side) in [12, 14].into_iter().zip(sides) {
        let rights = board.castle_rights(side);
        fill(first_plane, f32::from(rights.short.is_some()));
        fill(first_plane + 1, f32::from(rights.long.is_some()));
    }
    fill(17, game.halfmove_clock().min(100) as f32 / 100.0);
    fill(18, f32::from(game.occurrences() > 1));
}

/// The policy index of a legal move, below [`POLICY_SIZE`]; `None` for an under-promotion.
pub fn index(board: &Board, mv: Move) -> Option<u16> {
    if mv.promotion.is_some_and(|piece| piece != Piece::Queen) {
        return None;
    }
    let mover = board.side_to_move();
    let from = mv.from.relative_to(mover) as u16;
    let to = king_destination(board, mv).relative_to(mover) as u16;
    Some(from * 64 + to)
}

/// The legal move with this policy index, a queen where a pawn promotes; `None` when there is none.
pub fn decode(board: &Board, index: u16) -> Option<Move> {
    let mover = board.side_to_move();
    let square = |square: u16| Some(Square::try_index(square.into())?.relative_to(mover));
    let (from, destination) = (square(index / 64)?, square(index % 64)?);
    let to = from_king_destination(board, from, destination);
    let promotes = board.piece_on(from) == Some(Piece::Pawn)
        && destination.rank() == Rank::Eighth.relative_to(mover);
    let mv = Move { from, to, promotion: promotes.then_some(Piece::Queen) };
    // The king onto its own rook is a legal move for the rules library, but not its index here.
    (board.is_legal(mv) && king_destination(board, mv) == destination).then_some(mv)
}
