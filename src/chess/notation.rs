//! Moves as text: UCI's coordinates and standard algebraic notation (SAN).
//!
//! A [`Move`] castles by taking its own rook (`e1h1`); UCI, SAN and from-to policies name the king's
//! two squares (`e1g1`). [`king_destination`] and [`from_king_destination`] are the only places
//! where one becomes the other.

use super::{Board, Color, File, Move, Piece, Rank, Square, color_name, quoted};
use std::fmt;

/// A move that cannot be played, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IllegalMove {
    /// The move as written.
    pub text: String,
    /// What is wrong with it.
    pub reason: Reason,
    /// The position in which it was to be played, in Forsyth-Edwards notation.
    pub fen: String,
}

/// What is wrong with a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The text is not of the form of a UCI move.
    NotUci,
    /// The text is not of the form of a SAN move.
    NotSan,
    /// There is nothing on the square it starts from.
    NoPiece(Square),
    /// The piece on the square it starts from is the opponent's.
    NotTheMover(Square, Color),
    /// A pawn reaches the last rank, but the piece it becomes is not given.
    PromotionMissing,
    /// Several legal moves fit; two of them.
    Ambiguous(Move, Move),
    /// The rules do not allow it.
    NotLegal,
}

impl fmt::Display for IllegalMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "move {} cannot be played in \"{}\": ", quoted(&self.text), self.fen)?;
        match self.reason {
            Reason::NotUci => write!(f, "expected UCI notation, such as e2e4 or e7e8q"),
            Reason::NotSan => write!(f, "expected algebraic notation, such as Nf3, exd5 or e8=Q"),
            Reason::NoPiece(square) => write!(f, "there is no piece on {square}"),
            Reason::NotTheMover(square, mover) => write!(
                f,
                "the piece on {square} is {}'s, but {} is to move",
                color_name(!mover),
                color_name(mover)
            ),
            Reason::PromotionMissing => {
                write!(f, "the pawn promotes, but to what is not said: add q, r, b or n")
            }
            Reason::Ambiguous(one, other) => {
                write!(f, "it may mean {one} or {other}: add the file or rank it starts from")
            }
            Reason::NotLegal => write!(f, "it is not legal there"),
        }
    }
}

impl std::error::Error for IllegalMove {}

fn illegal(board: &Board, text: &str, reason: Reason) -> IllegalMove {
    IllegalMove { text: text.to_owned(), reason, fen: board.to_string() }
}

/// Whether a legal move castles.
pub fn is_castling(board: &Board, mv: Move) -> bool {
    board.colors(board.side_to_move()).has(mv.to)
}

/// The square on which the moving piece of a legal move ends: for castling the king's own target
/// (g- or c-file), for other moves `mv.to`.
pub fn king_destination(board: &Board, mv: Move) -> Square {
    if !is_castling(board, mv) {
        return mv.to;
    }
    let file = if mv.from.file() < mv.to.file() { File::G } else { File::C };
    Square::new(file, mv.from.rank())
}

/// The inverse of [`king_destination`]: the `to` of a [`Move`] from `from` that ends on
/// `destination`. A king that goes two files sideways goes to its rook; all else stays as it is.
/// The move need not be legal.
pub fn from_king_destination(board: &Board, from: Square, destination: Square) -> Square {
    let rank = from.rank();
    if from != board.king(board.side_to_move()) || destination.rank() != rank {
        return destination;
    }
    match (from.file(), destination.file()) {
        (File::E, File::G) => Square::new(File::H, rank),
        (File::E, File::C) => Square::new(File::A, rank),
        _ => destination,
    }
}

/// A legal move in UCI notation; castling is the king's two squares (`e1g1`).
pub fn to_uci(board: &Board, mv: Move) -> String {
    Move { to: king_destination(board, mv), ..mv }.to_string()
}

/// Reads a move in UCI notation; castling may be written as the king's two squares (`e1g1`) or as
/// the king taking its rook (`e1h1`). The result is legal.
///
/// # Errors
/// When the text is no move, or the move not legal.
pub fn from_uci(board: &Board, text: &str) -> Result<Move, IllegalMove> {
    let error = |reason| illegal(board, text, reason);
    let (from, destination, promotion) = split_uci(text.trim()).ok_or(error(Reason::NotUci))?;
    let mv = Move { from, to: from_king_destination(board, from, destination), promotion };
    if board.is_legal(mv) {
        return Ok(mv);
    }
    let mover = board.side_to_move();
    let with_queen = Move { promotion: Some(Piece::Queen), ..mv };
    Err(error(match board.color_on(from) {
        None => Reason::NoPiece(from),
        Some(color) if color != mover => Reason::NotTheMover(from, mover),
        Some(_) if promotion.is_none() && board.is_legal(with_queen) => Reason::PromotionMissing,
        Some(_) => Reason::NotLegal,
    }))
}

fn split_uci(text: &str) -> Option<(Square, Square, Option<Piece>)> {
    let from = text.get(0..2)?.parse().ok()?;
    let to = text.get(2..4)?.parse().ok()?;
    let promotion = match text.get(4..)? {
        "" => None,
        letter => Some(promotion_piece(letter.parse().ok()?)?),
    };
    Some((from, to, promotion))
}

fn promotion_piece(letter: char) -> Option<Piece> {
    match letter.to_ascii_lowercase() {
        'q' => Some(Piece::Queen),
        'r' => Some(Piece::Rook),
        'b' => Some(Piece::Bishop),
        'n' => Some(Piece::Knight),
        _ => None,
    }
}

/// A move in standard algebraic notation, with `+` and `#` (PGN specification, section 8.2.3).
///
/// # Errors
/// When the move is not legal.
pub fn to_san(board: &Board, mv: Move) -> Result<String, IllegalMove> {
    let Some(piece) = board.piece_on(mv.from).filter(|_| board.is_legal(mv)) else {
        return Err(illegal(board, &mv.to_string(), Reason::NotLegal));
    };
    let mut san = String::new();
    if is_castling(board, mv) {
        san.push_str(if mv.from.file() < mv.to.file() { "O-O" } else { "O-O-O" });
    } else {
        let capture = board.piece_on(mv.to).is_some()
            || (piece == Piece::Pawn && mv.from.file() != mv.to.file());
        if piece == Piece::Pawn {
            if capture {
                san.push(mv.from.file().into());
            }
        } else {
            san.push(char::from(piece).to_ascii_uppercase());
            san.push_str(&disambiguation(board, piece, mv));
        }
        if capture {
            san.push('x');
        }
        san.push_str(&mv.to.to_string());
        if let Some(promotion) = mv.promotion {
            san.push('=');
            san.push(char::from(promotion).to_ascii_uppercase());
        }
    }
    let mut after = board.clone();
    after.play_unchecked(mv);
    if !after.checkers().is_empty() {
        san.push(if after.generate_moves(|_| true) { '+' } else { '#' });
    }
    Ok(san)
}

/// What tells `mv` from the moves of like pieces to the same square: nothing, the file, the rank or
/// both, the first that does.
fn disambiguation(board: &Board, piece: Piece, mv: Move) -> String {
    let like = board.colored_pieces(board.side_to_move(), piece) - mv.from.bitboard();
    let rivals: Vec<Square> =
        like.into_iter().filter(|&from| board.is_legal(Move { from, ..mv })).collect();
    let (file, rank) = (mv.from.file(), mv.from.rank());
    if rivals.is_empty() {
        String::new()
    } else if rivals.iter().all(|rival| rival.file() != file) {
        file.to_string()
    } else if rivals.iter().all(|rival| rival.rank() != rank) {
        rank.to_string()
    } else {
        mv.from.to_string()
    }
}

/// Reads a move in algebraic notation as people write it. The result is legal.
///
/// Accepted beside the standard: `0-0`, `e8Q`, `e8(Q)`, missing or wrong check and capture marks,
/// `!` and `?`, `e.p.`, needless or full origin squares (`Ng1f3`, `Ng1-f3`, `e2e4`).
///
/// # Errors
/// When the text is no move, fits several legal moves or none.
pub fn from_san(board: &Board, text: &str) -> Result<Move, IllegalMove> {
    let error = |reason| illegal(board, text, reason);
    let pattern = SanPattern::read(text).ok_or(error(Reason::NotSan))?;
    let mut fitting = Vec::new();
    board.generate_moves(|moves| {
        fitting.extend(moves.into_iter().filter(|&mv| pattern.fits(board, mv)));
        false
    });
    match fitting[..] {
        [] => Err(error(Reason::NotLegal)),
        [mv] => Ok(mv),
        [one, other, ..] if one.from == other.from => Err(error(Reason::PromotionMissing)),
        [one, other, ..] => Err(error(Reason::Ambiguous(one, other))),
    }
}

/// What a SAN text says about the move it means.
enum SanPattern {
    /// The king castles to this file.
    Castling(File),
    /// A piece moves; what is `None` is not said.
    Moves {
        piece: Piece,
        from_file: Option<File>,
        from_rank: Option<Rank>,
        to: Square,
        promotion: Option<Piece>,
    },
}

impl SanPattern {
    fn read(text: &str) -> Option<Self> {
        let text = without_remarks(text);
        match text.replace(['0', 'o'], "O").as_str() {
            "O-O" | "OO" => return Some(Self::Castling(File::G)),
            "O-O-O" | "OOO" => return Some(Self::Castling(File::C)),
            _ => {}
        }
        let mut letters: Vec<char> =
            text.chars().filter(|letter| !"x:-=()".contains(*letter)).collect();
        let piece = match letters.first()? {
            'K' | 'Q' | 'R' | 'B' | 'N' | 'P' => {
                letters.remove(0).to_ascii_lowercase().try_into().ok()?
            }
            _ => Piece::Pawn,
        };
        let promotion = letters.last().copied().and_then(promotion_piece);
        if promotion.is_some() {
            letters.pop();
        }
        let to_rank = letters.pop()?.try_into().ok()?;
        let to_file: File = letters.pop()?.try_into().ok()?;
        let (from_file, from_rank) = match letters[..] {
            // A pawn that leaves its file has to say so: `d5` is never `exd5`.
            [] => ((piece == Piece::Pawn).then_some(to_file), None),
            [one] => (one.try_into().ok(), one.try_into().ok()),
            [file, rank] => (Some(file.try_into().ok()?), Some(rank.try_into().ok()?)),
            _ => return None,
        };
        if !letters.is_empty() && from_file.is_none() && from_rank.is_none() {
            return None;
        }
        let to = Square::new(to_file, to_rank);
        Some(Self::Moves { piece, from_file, from_rank, to, promotion })
    }

    /// Whether a legal move can be the one that is meant.
    fn fits(&self, board: &Board, mv: Move) -> bool {
        match *self {
            Self::Castling(file) => {
                is_castling(board, mv) && king_destination(board, mv).file() == file
            }
            Self::Moves { piece, from_file, from_rank, to, promotion } => {
                !is_castling(board, mv)
                    && mv.to == to
                    && board.piece_on(mv.from) == Some(piece)
                    && from_file.is_none_or(|file| file == mv.from.file())
                    && from_rank.is_none_or(|rank| rank == mv.from.rank())
                    && promotion.is_none_or(|piece| mv.promotion == Some(piece))
            }
        }
    }
}

/// A SAN text without what only comments on the move: check marks, `!`, `?`, `e.p.`, blanks.
fn without_remarks(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let shorter = text.trim_end_matches(['+', '#', '!', '?', ' ']);
        let shorter =
            shorter.strip_suffix("e.p.").or(shorter.strip_suffix("ep")).unwrap_or(shorter);
        if shorter.len() == text.len() {
            return text;
        }
        text = shorter;
    }
}
