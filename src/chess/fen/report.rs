//! What reading a position has to say: repairs and refusals.

use super::{MAX_CLOCK, START};
use crate::chess::{color_name, quoted};
use cozy_chess::{Color, Piece, Rank, Square};
use std::fmt;

/// Something that was changed while reading a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// No side to move was given: White.
    SideMissing,
    /// A castling right was dropped, because king or rook is not at home.
    CastlingRight {
        /// The letter as written.
        letter: char,
        /// The piece that is missing.
        missing: Piece,
        /// Where it should stand.
        home: Square,
    },
    /// A castling right was written twice.
    CastlingRepeated(char),
    /// The en passant square was dropped.
    EnPassant {
        /// The field as written.
        text: String,
        /// Why no double push can have passed there just now.
        why: &'static str,
    },
    /// The halfmove clock was unreadable and became 0.
    HalfmoveClock(String),
    /// The fullmove number was zero or unreadable and became 1.
    FullmoveNumber(String),
    /// Text after the last field that could be read was ignored.
    Ignored(String),
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SideMissing => write!(f, "no side to move given: White assumed"),
            Self::CastlingRight { letter, missing, home } => write!(
                f,
                "castling right '{letter}' dropped: no {} on {home}",
                piece_name(*missing)
            ),
            Self::CastlingRepeated(letter) => {
                write!(f, "castling right '{letter}' given twice: once kept")
            }
            Self::EnPassant { text, why } => {
                write!(f, "en passant square {} dropped: {why}", quoted(text))
            }
            Self::HalfmoveClock(text) => write!(
                f,
                "halfmove clock {} read as 0: expected a number from 0 to {MAX_CLOCK}",
                quoted(text)
            ),
            Self::FullmoveNumber(text) => write!(
                f,
                "fullmove number {} read as 1: expected a number from 1 to {MAX_CLOCK}",
                quoted(text)
            ),
            Self::Ignored(text) => write!(f, "ignored {} after the position", quoted(text)),
        }
    }
}

/// Why a text cannot be read as a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FenError {
    /// Nothing but white space.
    Empty,
    /// Not eight ranks.
    Ranks(usize),
    /// A rank that does not describe eight squares.
    RankLength {
        /// Which rank.
        rank: Rank,
        /// The rank as written.
        text: String,
        /// How many squares it describes.
        squares: usize,
    },
    /// A character that is neither a piece nor a count of empty squares.
    Letter {
        /// In which rank.
        rank: Rank,
        /// The character.
        letter: char,
    },
    /// A side without exactly one king.
    Kings {
        /// Which side.
        color: Color,
        /// How many kings it has.
        found: u32,
    },
    /// A pawn on the first or last rank.
    PawnRank(Square),
    /// More than eight pawns on one side.
    Pawns {
        /// Which side.
        color: Color,
        /// How many pawns it has.
        found: u32,
    },
    /// More than sixteen pieces and pawns on one side.
    Pieces {
        /// Which side.
        color: Color,
        /// How many pieces and pawns it has.
        found: u32,
    },
    /// The second field is neither `w` nor `b`.
    SideToMove(String),
    /// A character that is no castling right.
    Castling(char),
    /// A castling right with a rook that starts elsewhere than on the a- or h-file.
    Chess960(char),
    /// The side that has just moved is in check.
    OpponentInCheck {
        /// The side in check.
        color: Color,
        /// One of the pieces that give check.
        checker: Square,
    },
    /// More than two pieces give check.
    Checkers {
        /// The side in check.
        color: Color,
        /// How many pieces give check.
        found: u32,
    },
    /// The rules library refuses the position for a reason not listed here.
    Refused,
}

impl fmt::Display for FenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                write!(f, "the FEN is empty: expected one such as \"{START}\"")
            }
            Self::Ranks(found) => write!(
                f,
                "the FEN has {found} rank(s): expected 8, divided by '/', from rank 8 down to rank 1"
            ),
            Self::RankLength { rank, text, squares } => write!(
                f,
                "rank {rank} of the FEN, {}, describes {squares} squares: expected 8",
                quoted(text)
            ),
            Self::Letter { rank, letter } => write!(
                f,
                "rank {rank} of the FEN has {letter:?}: expected a piece (PNBRQK for White, pnbrqk \
                 for Black) or a count of empty squares from 1 to 8"
            ),
            Self::Kings { color, found } => {
                write!(f, "{} has {found} kings in the FEN: expected exactly 1", color_name(*color))
            }
            Self::PawnRank(square) => {
                write!(f, "the FEN has a pawn on {square}: expected pawns on ranks 2 to 7 only")
            }
            Self::Pawns { color, found } => {
                write!(f, "{} has {found} pawns in the FEN: expected at most 8", color_name(*color))
            }
            Self::Pieces { color, found } => write!(
                f,
                "{} has {found} pieces and pawns in the FEN: expected at most 16",
                color_name(*color)
            ),
            Self::SideToMove(text) => {
                write!(f, "the FEN's side to move is {}: expected 'w' or 'b'", quoted(text))
            }
            Self::Castling(letter) => write!(
                f,
                "the FEN's castling rights have {letter:?}: expected letters out of KQkq, or '-'"
            ),
            Self::Chess960(letter) => write!(
                f,
                "the FEN's castling right '{letter}' is of Chess960, which is not supported: expected \
                 letters out of KQkq, or '-'"
            ),
            Self::OpponentInCheck { color, checker } => write!(
                f,
                "{} is in check from {checker} in the FEN although {} is to move: give the move to \
                 {}, or correct the pieces",
                color_name(*color),
                color_name(!*color),
                color_name(*color)
            ),
            Self::Checkers { color, found } => write!(
                f,
                "{found} pieces give check to {} in the FEN: expected at most 2",
                color_name(*color)
            ),
            Self::Refused => write!(
                f,
                "the FEN is not a position that the rules library accepts: expected a position that \
                 can arise in a game"
            ),
        }
    }
}

impl std::error::Error for FenError {}

fn piece_name(piece: Piece) -> &'static str {
    match piece {
        Piece::Pawn => "pawn",
        Piece::Knight => "knight",
        Piece::Bishop => "bishop",
        Piece::Rook => "rook",
        Piece::Queen => "queen",
        Piece::King => "king",
    }
}
