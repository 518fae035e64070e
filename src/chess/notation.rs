//! Moves as text: UCI's coordinates and standard algebraic notation (SAN).
//!
//! A [`Move`] castles by taking its own rook (`e1h1`); UCI, SAN and from-to policies name the king's
//! two squares (`e1g1`). [`king_destination`] and [`from_king_destination`] are the only places
//! where one becomes the other.

use super::{Board, Color, File, Move, Piece, Rank, Square, color_name, quoted};
use std::fmt;
use std::str;

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
        let (text, fen) = (quoted(&self.text), &self.fen);
        write!(f, "move {text} cannot be played in \"{fen}\": {}", self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotUci => write!(f, "expected UCI notation, such as e2e4 or e7e8q"),
            Self::NotSan => write!(f, "expected algebraic notation, such as Nf3, exd5 or e8=Q"),
            Self::NoPiece(square) => write!(f, "there is no piece on {square}"),
            Self::NotTheMover(square, mover) => write!(
                f,
                "the piece on {square} is {}'s, but {} is to move",
                color_name(!mover),
                color_name(mover)
            ),
            Self::PromotionMissing => {
                write!(f, "the pawn promotes, but to what is not said: add q, r, b or n")
            }
            Self::Ambiguous(one, other) => {
                write!(f, "it may mean {one} or {other}: add the file or rank it starts from")
            }
            Self::NotLegal => write!(f, "it is not legal there"),
        }
    }
}

impl std::error::Error for IllegalMove {}

fn illegal(board: &Board, text: &str, reason: Reason) -> IllegalMove {
    IllegalMove { text: text.to_owned(), reason, fen: board.to_string() }
}

/// Whether a legal move castles.
#[inline]
pub fn is_castling(board: &Board, mv: Move) -> bool {
    board.colors(board.side_to_move()).has(mv.to)
}

/// The square on which the moving piece of a legal move ends: for castling the king's own target
/// (g- or c-file), for other moves `mv.to`.
#[inline]
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
/// `!` and `?`, `e.p.`, needless or full origin squares (`Ng1f3`, `Ng1-f3`, `e2e4`), figurines of
/// either colour (`♘f3`, `♞f3`).
///
/// # Errors
/// When the text is no move, fits several legal moves or none.
pub fn from_san(board: &Board, text: &str) -> Result<Move, IllegalMove> {
    from_san_bytes(board, text.trim().as_bytes()).map_err(|reason| illegal(board, text, reason))
}

/// [`from_san`] for whoever reads moves by the million: bytes of any encoding (figurines are known in
/// UTF-8), and an error that costs nothing to make.
///
/// # Errors
/// When the text is no move, fits several legal moves or none.
pub fn from_san_bytes(board: &Board, text: &[u8]) -> Result<Move, Reason> {
    let side = board.side_to_move();
    let (piece, from_file, from_rank, to, promotion) = match San::read(text) {
        None => {
            let letters = with_letters(text).ok_or(Reason::NotSan)?;
            return from_san_bytes(board, letters.as_bytes());
        }
        Some(San::Castling(file)) => {
            let rights = board.castle_rights(side);
            let rook = if file == File::G { rights.short } else { rights.long };
            let rook = Square::new(rook.ok_or(Reason::NotLegal)?, Rank::First.relative_to(side));
            let mv = Move { from: board.king(side), to: rook, promotion: None };
            return if board.is_legal(mv) { Ok(mv) } else { Err(Reason::NotLegal) };
        }
        Some(San::Moves { piece, from_file, from_rank, to, promotion }) => {
            (piece, from_file, from_rank, to, promotion)
        }
    };
    // A king on its rook's square would be castling, which is written otherwise.
    if board.colors(side).has(to) {
        return Err(Reason::NotLegal);
    }
    let promotes = piece == Piece::Pawn && to.rank() == Rank::Eighth.relative_to(side);
    let promotion_missing = promotes && promotion.is_none();
    let promotion = if promotion_missing { Some(Piece::Queen) } else { promotion };
    let mut candidates = board.colored_pieces(side, piece);
    if let Some(file) = from_file {
        candidates &= file.bitboard();
    }
    if let Some(rank) = from_rank {
        candidates &= rank.bitboard();
    }
    let moves = candidates.into_iter().map(|from| Move { from, to, promotion });
    let mut fitting = moves.filter(|&mv| board.is_legal(mv));
    match (fitting.next(), fitting.next()) {
        (None, _) => Err(Reason::NotLegal),
        (Some(_), _) if promotion_missing => Err(Reason::PromotionMissing),
        (Some(mv), None) => Ok(mv),
        (Some(one), Some(other)) => Err(Reason::Ambiguous(one, other)),
    }
}

/// What a SAN text says about the move it means.
enum San {
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

impl San {
    fn read(text: &[u8]) -> Option<Self> {
        let text = without_remarks(text);
        if let b'O' | b'o' | b'0' = text.first()? {
            return Self::read_castling(text);
        }
        // Piece, origin, destination and promotion are six letters at most.
        let mut letters = [0; 6];
        let mut count = 0;
        for &letter in text.iter().filter(|letter| !b"x:-=()".contains(letter)) {
            *letters.get_mut(count)? = letter;
            count += 1;
        }
        let mut letters = &letters[..count];
        let mut piece = Piece::Pawn;
        if let [letter @ (b'K' | b'Q' | b'R' | b'B' | b'N' | b'P'), rest @ ..] = letters {
            piece = char::from(*letter).to_ascii_lowercase().try_into().ok()?;
            letters = rest;
        }
        let mut promotion = None;
        if let [rest @ .., letter] = letters {
            promotion = promotion_piece(char::from(*letter));
            if promotion.is_some() {
                letters = rest;
            }
        }
        let [origin @ .., to_file, to_rank] = letters else {
            return None;
        };
        let (to_file, to_rank) = (file(*to_file)?, rank(*to_rank)?);
        let (from_file, from_rank) = match *origin {
            // A pawn that leaves its file has to say so: `d5` is never `exd5`.
            [] => ((piece == Piece::Pawn).then_some(to_file), None),
            [one] => match (file(one), rank(one)) {
                (None, None) => return None,
                origin => origin,
            },
            [one, two] => (Some(file(one)?), Some(rank(two)?)),
            _ => return None,
        };
        let to = Square::new(to_file, to_rank);
        Some(Self::Moves { piece, from_file, from_rank, to, promotion })
    }

    /// `O-O` and `O-O-O`, with the letter or the digit, with or without the strokes.
    fn read_castling(text: &[u8]) -> Option<Self> {
        let mut letters = [0; 5];
        let letters = letters.get_mut(..text.len())?;
        for (letter, &read) in letters.iter_mut().zip(text) {
            *letter = if matches!(read, b'0' | b'o') { b'O' } else { read };
        }
        match &*letters {
            b"O-O" | b"OO" => Some(Self::Castling(File::G)),
            b"O-O-O" | b"OOO" => Some(Self::Castling(File::C)),
            _ => None,
        }
    }
}

fn file(letter: u8) -> Option<File> {
    File::try_index(usize::from(letter.checked_sub(b'a')?))
}

fn rank(digit: u8) -> Option<Rank> {
    Rank::try_index(usize::from(digit.checked_sub(b'1')?))
}

/// A SAN text with letters in place of its figurines; `None` when there are none.
#[cold]
fn with_letters(text: &[u8]) -> Option<String> {
    // The white pieces, then the black ones, each in the order of the letters.
    const FIGURINES: &str = "♔♕♖♗♘♙♚♛♜♝♞♟";
    const LETTERS: &[u8; 6] = b"KQRBNP";
    let place = |c| FIGURINES.chars().position(|figurine| figurine == c);
    let text = str::from_utf8(text).ok().filter(|text| text.contains(|c| place(c).is_some()))?;
    // A selector of text or picture may follow a figurine.
    let text = text.chars().filter(|c| !matches!(c, '\u{fe0e}' | '\u{fe0f}'));
    Some(text.map(|c| place(c).map_or(c, |place| LETTERS[place % 6].into())).collect())
}

/// A SAN text without what only comments on the move: check marks, `!`, `?`, `e.p.`, blanks.
fn without_remarks(mut text: &[u8]) -> &[u8] {
    loop {
        text = match text {
            [rest @ .., b'+' | b'#' | b'!' | b'?' | b' '] => rest,
            [rest @ .., b'e', b'.', b'p', b'.'] | [rest @ .., b'e', b'p'] => rest,
            _ => return text,
        };
    }
}
