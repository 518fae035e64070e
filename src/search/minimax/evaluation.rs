//! What a position looks worth without looking ahead.

use crate::chess::{BitBoard, Board, Color, Piece, Square};

/// What a piece is worth on each square, in hundredths of a pawn, as White sees the board: the first row is
/// the eighth rank.
type Table = [[i32; 8]; 8];

// The tables of Tomasz Michniewski's "simplified evaluation function" (Chess Programming Wiki), that of the
// queen made the same on both wings.
const PAWN: Table = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [50, 50, 50, 50, 50, 50, 50, 50],
    [10, 10, 20, 30, 30, 20, 10, 10],
    [5, 5, 10, 25, 25, 10, 5, 5],
    [0, 0, 0, 20, 20, 0, 0, 0],
    [5, -5, -10, 0, 0, -10, -5, 5],
    [5, 10, 10, -20, -20, 10, 10, 5],
    [0, 0, 0, 0, 0, 0, 0, 0],
];
const KNIGHT: Table = [
    [-50, -40, -30, -30, -30, -30, -40, -50],
    [-40, -20, 0, 0, 0, 0, -20, -40],
    [-30, 0, 10, 15, 15, 10, 0, -30],
    [-30, 5, 15, 20, 20, 15, 5, -30],
    [-30, 0, 15, 20, 20, 15, 0, -30],
    [-30, 5, 10, 15, 15, 10, 5, -30],
    [-40, -20, 0, 5, 5, 0, -20, -40],
    [-50, -40, -30, -30, -30, -30, -40, -50],
];
const BISHOP: Table = [
    [-20, -10, -10, -10, -10, -10, -10, -20],
    [-10, 0, 0, 0, 0, 0, 0, -10],
    [-10, 0, 5, 10, 10, 5, 0, -10],
    [-10, 5, 5, 10, 10, 5, 5, -10],
    [-10, 0, 10, 10, 10, 10, 0, -10],
    [-10, 10, 10, 10, 10, 10, 10, -10],
    [-10, 5, 0, 0, 0, 0, 5, -10],
    [-20, -10, -10, -10, -10, -10, -10, -20],
];
const ROOK: Table = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [5, 10, 10, 10, 10, 10, 10, 5],
    [-5, 0, 0, 0, 0, 0, 0, -5],
    [-5, 0, 0, 0, 0, 0, 0, -5],
    [-5, 0, 0, 0, 0, 0, 0, -5],
    [-5, 0, 0, 0, 0, 0, 0, -5],
    [-5, 0, 0, 0, 0, 0, 0, -5],
    [0, 0, 0, 5, 5, 0, 0, 0],
];
const QUEEN: Table = [
    [-20, -10, -10, -5, -5, -10, -10, -20],
    [-10, 0, 0, 0, 0, 0, 0, -10],
    [-10, 0, 5, 5, 5, 5, 0, -10],
    [-5, 0, 5, 5, 5, 5, 0, -5],
    [-5, 0, 5, 5, 5, 5, 0, -5],
    [-10, 0, 5, 5, 5, 5, 0, -10],
    [-10, 0, 0, 0, 0, 0, 0, -10],
    [-20, -10, -10, -5, -5, -10, -10, -20],
];
const KING: Table = [
    [-30, -40, -40, -50, -50, -40, -40, -30],
    [-30, -40, -40, -50, -50, -40, -40, -30],
    [-30, -40, -40, -50, -50, -40, -40, -30],
    [-30, -40, -40, -50, -50, -40, -40, -30],
    [-20, -30, -30, -40, -40, -30, -30, -20],
    [-10, -20, -20, -20, -20, -20, -20, -10],
    [20, 20, 0, 0, 0, 0, 20, 20],
    [20, 30, 10, 0, 0, 10, 30, 20],
];
const KING_IN_ENDGAME: Table = [
    [-50, -40, -30, -20, -20, -30, -40, -50],
    [-30, -20, -10, 0, 0, -10, -20, -30],
    [-30, -10, 20, 30, 30, 20, -10, -30],
    [-30, -10, 30, 40, 40, 30, -10, -30],
    [-30, -10, 30, 40, 40, 30, -10, -30],
    [-30, -10, 20, 30, 30, 20, -10, -30],
    [-30, -30, 0, 0, 0, 0, -30, -30],
    [-50, -30, -30, -30, -30, -30, -30, -50],
];

/// What a piece is worth wherever it stands, in hundredths of a pawn.
pub(super) const fn value(piece: Piece) -> i32 {
    match piece {
        Piece::Pawn => 100,
        Piece::Knight => 320,
        Piece::Bishop => 330,
        Piece::Rook => 500,
        Piece::Queen => 900,
        Piece::King => 0,
    }
}

/// It is an endgame when the pieces of both sides, pawns and kings left out, are worth so much at most.
const ENDGAME: i32 = 1300;

/// From such a lead on a bare king is driven into a corner.
const WON: i32 = 500;

/// Kind of piece and square, from a1 on, to what the piece is worth there.
const WORTH: [[i32; 64]; 6] = [
    by_square(Piece::Pawn, &PAWN),
    by_square(Piece::Knight, &KNIGHT),
    by_square(Piece::Bishop, &BISHOP),
    by_square(Piece::Rook, &ROOK),
    by_square(Piece::Queen, &QUEEN),
    by_square(Piece::King, &KING),
];
const ENDGAME_KING: [i32; 64] = by_square(Piece::King, &KING_IN_ENDGAME);

const fn by_square(piece: Piece, table: &Table) -> [i32; 64] {
    let mut worth = [0; 64];
    let mut square = 0;
    while square < 64 {
        worth[square] = value(piece) + table[7 - square / 8][square % 8];
        square += 1;
    }
    worth
}

/// The score of a position for the side to move, in hundredths of a pawn: material, how well the pieces
/// stand, and against a bare king how near it is to being mated. Whether the game has ended does not matter.
pub fn evaluate(board: &Board) -> i32 {
    let (ours, theirs) = (board.side_to_move(), !board.side_to_move());
    let pieces: i32 = [Piece::Knight, Piece::Bishop, Piece::Rook, Piece::Queen]
        .into_iter()
        .map(|piece| value(piece) * board.pieces(piece).len() as i32)
        .sum();
    let king = if pieces <= ENDGAME { &ENDGAME_KING } else { &WORTH[Piece::King as usize] };
    let score = of_side(board, ours, king) - of_side(board, theirs, king);
    if score >= WON && is_bare(board.colors(theirs)) {
        score + mop_up(board.king(theirs), board.king(ours))
    } else if score <= -WON && is_bare(board.colors(ours)) {
        score - mop_up(board.king(ours), board.king(theirs))
    } else {
        score
    }
}

fn of_side(board: &Board, color: Color, king: &[i32; 64]) -> i32 {
    // Black's pieces stand as White's do in a mirror.
    let mirror = if color == Color::White { 0 } else { 56 };
    let own = board.colors(color);
    let sum = |squares: BitBoard, worth: &[i32; 64]| -> i32 {
        squares.into_iter().map(|square| worth[square as usize ^ mirror]).sum()
    };
    let kinds = [Piece::Pawn, Piece::Knight, Piece::Bishop, Piece::Rook, Piece::Queen];
    let men: i32 =
        kinds.into_iter().map(|kind| sum(board.pieces(kind) & own, &WORTH[kind as usize])).sum();
    men + king[board.king(color) as usize ^ mirror]
}

fn is_bare(side: BitBoard) -> bool {
    side.len() == 1
}

/// 250 x (0.7 x how cornered the bare king is + 0.3 x how close the other king is), rounded down. A king is
/// cornered by the steps along files and ranks that it is off the four squares of the centre, 1 for the six
/// of a corner; kings are close by the 14 such steps that can be between them.
fn mop_up(bare: Square, other: Square) -> i32 {
    let (file, rank) = (bare.file() as i32, bare.rank() as i32);
    let off_centre = (3 - file).max(file - 4) + (3 - rank).max(rank - 4);
    let apart = (file - other.file() as i32).abs() + (rank - other.rank() as i32).abs();
    // 250 x 0.7 / 6 and 250 x 0.3 / 14 are 1225 and 225 parts of 42.
    (1225 * off_centre + 225 * (14 - apart)) / 42
}
