//! Sigma-Go's scheme: 14 planes and 4544 move strings, both seen from White's side whoever moves.
//!
//! | plane | content |
//! |---|---|
//! | 0-5 | White's pawns, knights, bishops, rooks, queens, king |
//! | 6-11 | Black's, in the same order |
//! | 12 | constant: 1 when White is to move |
//! | 13 | constant: 1 when Black is to move |
//!
//! The policy's moves are the UCI strings of every pair of different squares and of every promotion
//! from any file to any file, White's and Black's, sorted as strings; a move's index is its place in
//! that list. Castling is the king's two squares.

use super::{legal_move, mark_pieces};
use crate::chess::notation::king_destination;
use crate::chess::{Board, Color, Game, Move, Piece, Square};

/// How many 8x8 input planes.
pub const PLANES: usize = 14;

/// The planes that have one value on all squares.
pub const CONSTANT_PLANES: [usize; 2] = [12, 13];

/// How many policy indices: 64 * 63 pairs of squares, and 64 pairs of files for each of four pieces
/// and two sides.
pub const POLICY_SIZE: usize = 64 * 63 + 64 * 4 * 2;

/// The pieces a pawn becomes, in the order of their letters.
const PROMOTIONS: [Piece; 4] = [Piece::Bishop, Piece::Knight, Piece::Queen, Piece::Rook];

/// The list of moves, and where in it each pair of squares stands.
struct List {
    /// From-square, to-square and promotion of each index.
    moves: [(u8, u8, Option<Piece>); POLICY_SIZE],
    /// The index of the move without promotion, `[from][to]`.
    plain: [[u16; 64]; 64],
}

static LIST: List = list();

/// Strings sort by file before rank, and a move before its promotions, which are longer.
const fn list() -> List {
    let mut list = List { moves: [(0, 0, None); POLICY_SIZE], plain: [[0; 64]; 64] };
    let mut index = 0;
    let mut pair = 0;
    while pair < 64 * 64 {
        let (from, to) = (by_file(pair / 64), by_file(pair % 64));
        if from != to {
            list.plain[from][to] = index as u16;
            list.moves[index] = (from as u8, to as u8, None);
            index += 1;
            let mut piece = 0;
            while matches!((from / 8, to / 8), (6, 7) | (1, 0)) && piece < PROMOTIONS.len() {
                list.moves[index] = (from as u8, to as u8, Some(PROMOTIONS[piece]));
                index += 1;
                piece += 1;
            }
        }
        pair += 1;
    }
    assert!(index == POLICY_SIZE);
    list
}

/// The square at this place of a1, a2, ... a8, b1, ... h8.
const fn by_file(place: usize) -> usize {
    place % 8 * 8 + place / 8
}

/// Writes the current position of `game` into `planes`, `[14, 8, 8]`, overwriting all of it.
///
/// # Panics
/// When `planes` is not `14 * 64` long.
pub fn encode(game: &Game, planes: &mut [f32]) {
    assert_eq!(planes.len(), PLANES * 64, "absolute14 writes [14, 8, 8]");
    planes.fill(0.0);
    mark_pieces(game.board(), Color::White, planes);
    let mover = 12 + game.board().side_to_move() as usize;
    planes[64 * mover..][..64].fill(1.0);
}

/// The policy index of a legal move, below [`POLICY_SIZE`].
pub fn index(board: &Board, mv: Move) -> u16 {
    let plain = LIST.plain[mv.from as usize][king_destination(board, mv) as usize];
    match mv.promotion {
        None => plain,
        Some(piece) => {
            let place = PROMOTIONS.iter().position(|&other| other == piece);
            plain + 1 + place.expect("a pawn becomes one of four pieces") as u16
        }
    }
}

/// The squares and the promotion that an index names in the list; `None` beyond it.
pub fn named(index: u16) -> Option<(Square, Square, Option<Piece>)> {
    let &(from, to, promotion) = LIST.moves.get(usize::from(index))?;
    Some((Square::index(from.into()), Square::index(to.into()), promotion))
}

/// The legal move with this policy index; `None` when there is none.
pub fn decode(board: &Board, index: u16) -> Option<Move> {
    let (from, destination, promotion) = named(index)?;
    legal_move(board, from, destination, promotion)
}
