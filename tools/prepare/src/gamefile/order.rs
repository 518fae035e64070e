//! The order of the legal moves in which a played move is written as its rank.
//!
//! A move's score is the sum of the [weights](super::weights) that hold for it:
//!
//! - castling: `CASTLING` alone; any other move:
//! - `SQUARE` of the piece on its new square less that on its old one, both seen from the side to
//!   move (for Black the ranks are mirrored). A pawn that promotes counts as a pawn;
//! - `CAPTURE` of the captured piece, en passant included;
//! - `ENTERED` where the new square, `LEFT` where the old one is attacked by the opponent before the
//!   move, each of the three kinds of attackers for itself;
//! - `CHECK` if the moved piece would attack the king from its new square, with the board's present
//!   occupation; the king has none, and a promoting pawn attacks as a pawn;
//! - `ANSWER` if the previous move of the game went to the new square (castling goes to the rook's);
//! - `QUEEN` or `UNDERPROMOTION`.
//!
//! The highest score comes first, at rank 0. Equal ones are ordered by the square they leave (a1,
//! b1, … h8), then the one they go to (castling: the rook's), then promotion: knight, bishop, rook, queen.

use super::weights::{
    ANSWER, CAPTURE, CASTLING, CHECK, ENTERED, LEFT, QUEEN, SQUARE, UNDERPROMOTION,
};
use cozy_chess::{
    BitBoard, Board, Color, Move, Piece, PieceMoves, Square, get_bishop_moves, get_king_moves,
    get_knight_moves, get_pawn_attacks, get_rook_moves,
};

/// No position has more than 218 legal moves.
const MAX_MOVES: usize = 256;

/// The legal moves of a position as numbers whose ascending order is the order of the moves.
pub struct Moves {
    keys: [u32; MAX_MOVES],
    len: usize,
}

impl Moves {
    /// The legal moves on `board`; `last` is where the previous move of the game went.
    pub fn of(board: &Board, last: Option<Square>) -> Self {
        let scorer = Scorer::new(board, last);
        let mut moves = Self { keys: [0; MAX_MOVES], len: 0 };
        board.generate_moves(|piece_moves| {
            scorer.add(piece_moves, &mut moves);
            false
        });
        moves
    }

    /// The rank of a move; `None` if it is not legal.
    pub fn rank(&self, mv: Move) -> Option<u8> {
        let keys = &self.keys[..self.len];
        let key = *keys.iter().find(|&&key| key & MOVE == move_bits(mv))?;
        u8::try_from(keys.iter().filter(|&&other| other < key).count()).ok()
    }

    /// The move of a rank; `None` if there are no more than `rank` moves.
    pub fn at(mut self, rank: u8) -> Option<Move> {
        let keys = &mut self.keys[..self.len];
        let rank = usize::from(rank);
        (rank < keys.len()).then(|| move_of(*keys.select_nth_unstable(rank).1))
    }

    fn push(&mut self, score: i32, mv: Move) {
        // No sum of weights comes near the limits of 16 bits.
        self.keys[self.len] = (((0x8000 - score) as u32) << 16) | move_bits(mv);
        self.len += 1;
    }
}

/// The bits of a key that hold the move: from-square, to-square, promotion.
const MOVE: u32 = 0x7fff;

fn move_bits(mv: Move) -> u32 {
    let promotion = mv.promotion.map_or(0, |piece| piece as u32);
    (mv.from as u32) << 9 | (mv.to as u32) << 3 | promotion
}

fn move_of(key: u32) -> Move {
    let square = |bits: u32| Square::index((bits & 63) as usize);
    let promotion = match key & 7 {
        0 => None,
        piece => Some(Piece::index(piece as usize)),
    };
    Move { from: square(key >> 9), to: square(key >> 3), promotion }
}

/// What the scores of all moves of a position share.
struct Scorer<'a> {
    board: &'a Board,
    side: Color,
    last: Option<Square>,
    /// The opponent's attacks by pawns; by knights and bishops; by rooks, queens and king.
    attacked: [BitBoard; 3],
    /// By piece, the squares from which it would attack the opponent's king.
    checking: [BitBoard; 6],
}

impl<'a> Scorer<'a> {
    fn new(board: &'a Board, last: Option<Square>) -> Self {
        let side = board.side_to_move();
        let occupied = board.occupied();
        let mut attacked = [BitBoard::EMPTY; 3];
        for piece in Piece::ALL {
            let kind = match piece {
                Piece::Pawn => 0,
                Piece::Knight | Piece::Bishop => 1,
                Piece::Rook | Piece::Queen | Piece::King => 2,
            };
            for from in board.colored_pieces(!side, piece) {
                attacked[kind] |= attacks(piece, from, !side, occupied);
            }
        }
        let king = board.king(!side);
        let mut checking = Piece::ALL.map(|piece| attacks(piece, king, !side, occupied));
        checking[Piece::King as usize] = BitBoard::EMPTY;
        Self { board, side, last, attacked, checking }
    }

    fn add(&self, piece_moves: PieceMoves, moves: &mut Moves) {
        let PieceMoves { piece, from, to } = piece_moves;
        let index = piece as usize;
        let own = self.board.colors(self.side);
        let mut leaving = -i32::from(self.on_square(piece, from));
        for (attacked, left) in self.attacked.iter().zip(LEFT) {
            leaving += weight(attacked.has(from), left[index]);
        }
        for mv in (PieceMoves { piece, from, to }) {
            if own.has(mv.to) {
                moves.push(i32::from(CASTLING), mv);
                continue;
            }
            let mut score = leaving + i32::from(self.on_square(piece, mv.to));
            if let Some(victim) = self.victim(piece, mv) {
                score += i32::from(CAPTURE[index][victim as usize]);
            }
            for (attacked, entered) in self.attacked.iter().zip(ENTERED) {
                score += weight(attacked.has(mv.to), entered[index]);
            }
            score += weight(self.checking[index].has(mv.to), CHECK[index]);
            score += weight(self.last == Some(mv.to), ANSWER[index]);
            score += match mv.promotion {
                None => 0,
                Some(Piece::Queen) => i32::from(QUEEN),
                Some(_) => i32::from(UNDERPROMOTION),
            };
            moves.push(score, mv);
        }
    }

    fn on_square(&self, piece: Piece, square: Square) -> i16 {
        let square = match self.side {
            Color::White => square,
            Color::Black => square.flip_rank(),
        };
        SQUARE[piece as usize][square as usize]
    }

    fn victim(&self, piece: Piece, mv: Move) -> Option<Piece> {
        let en_passant = piece == Piece::Pawn && mv.from.file() != mv.to.file();
        self.board.piece_on(mv.to).or(en_passant.then_some(Piece::Pawn))
    }
}

fn weight(holds: bool, weight: i16) -> i32 {
    if holds { i32::from(weight) } else { 0 }
}

fn attacks(piece: Piece, from: Square, color: Color, occupied: BitBoard) -> BitBoard {
    match piece {
        Piece::Pawn => get_pawn_attacks(from, color),
        Piece::Knight => get_knight_moves(from),
        Piece::Bishop => get_bishop_moves(from, occupied),
        Piece::Rook => get_rook_moves(from, occupied),
        Piece::Queen => get_bishop_moves(from, occupied) | get_rook_moves(from, occupied),
        Piece::King => get_king_moves(from),
    }
}
