//! Forsyth-Edwards notation as it is really written, in front of cozy-chess's strict reader.
//!
//! What can be mended without guessing at the pieces is mended and reported as a [`Repair`]; what
//! cannot is refused with a [`FenError`]. Format: PGN specification, section 16.1.

mod report;

pub use report::{FenError, Repair};

use cozy_chess::{
    BitBoard, Board, BoardBuilder, Color, File, Piece, Rank, Square, get_bishop_moves,
    get_king_moves, get_knight_moves, get_pawn_attacks, get_rook_moves,
};

/// The start position.
pub const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// The largest clock believed; the longest possible game is shorter.
const MAX_CLOCK: u16 = 9999;

/// A position read from text.
#[derive(Clone, Debug)]
pub struct Position {
    /// The position. Its own halfmove clock is cut off at 100.
    pub board: Board,
    /// Plies since the last capture or pawn move; may exceed 100.
    pub halfmove_clock: u32,
    /// What was changed to make sense of the text; empty when it was in order.
    pub repairs: Vec<Repair>,
}

/// Reads a position in Forsyth-Edwards notation, tolerantly.
///
/// Fields may be divided by any white space. Missing fields at the end take their defaults: no
/// castling, no en passant, clocks 0 and 1. Castling rights may be Shredder-style (`HAha`).
/// The en passant square is kept whenever a double push may really have passed it, whether or not
/// a capture exists.
///
/// # Errors
/// See [`FenError`]: text that names no playable position.
///
/// # Examples
/// ```
/// let position = fianchetto::chess::fen::parse("4k3/8/8/8/8/8/4P3/4K3 w K - 0 0")?;
/// assert_eq!(position.repairs[0].to_string(), "castling right 'K' dropped: no rook on h1");
/// assert_eq!(position.repairs.len(), 2);
/// # Ok::<(), fianchetto::chess::FenError>(())
/// ```
pub fn parse(text: &str) -> Result<Position, FenError> {
    let mut fields = text.split_whitespace().peekable();
    let mut repairs = Vec::new();
    let mut builder = BoardBuilder::empty();

    read_placement(fields.next().ok_or(FenError::Empty)?, &mut builder)?;
    match fields.next() {
        None => repairs.push(Repair::SideMissing),
        Some("w" | "W") => {}
        Some("b" | "B") => builder.side_to_move = Color::Black,
        Some(other) => return Err(FenError::SideToMove(other.to_owned())),
    }
    check_playable(&builder)?;
    read_castling(fields.next().unwrap_or("-"), &mut builder, &mut repairs)?;
    read_en_passant(fields.next().unwrap_or("-"), &mut builder, &mut repairs);

    let mut halfmove_clock = 0;
    // An EPD has operations such as `bm Nf3;` where a FEN has its clocks.
    if fields.peek().is_some_and(|field| !field.starts_with(|c: char| c.is_ascii_alphabetic())) {
        halfmove_clock = read_clock(fields.next(), 0, Repair::HalfmoveClock, &mut repairs);
        builder.fullmove_number =
            read_clock(fields.next(), 1, Repair::FullmoveNumber, &mut repairs);
    }
    let rest: Vec<&str> = fields.collect();
    if !rest.is_empty() {
        repairs.push(Repair::Ignored(rest.join(" ")));
    }

    builder.halfmove_clock = halfmove_clock.min(100) as u8;
    let board = builder.build().map_err(|_| FenError::Refused)?;
    Ok(Position { board, halfmove_clock: halfmove_clock.into(), repairs })
}

fn read_placement(text: &str, builder: &mut BoardBuilder) -> Result<(), FenError> {
    let ranks: Vec<&str> = text.split('/').collect();
    if ranks.len() != Rank::NUM {
        return Err(FenError::Ranks(ranks.len()));
    }
    for (&rank, row) in Rank::ALL.iter().rev().zip(ranks) {
        let mut squares = 0;
        for letter in row.chars() {
            if let Some(empty @ 1..) = letter.to_digit(10) {
                squares += empty as usize;
                continue;
            }
            let piece = read_piece(letter).ok_or(FenError::Letter { rank, letter })?;
            if let Some(file) = File::try_index(squares) {
                *builder.square_mut(Square::new(file, rank)) = Some(piece);
            }
            squares += 1;
        }
        if squares != File::NUM {
            return Err(FenError::RankLength { rank, text: row.to_owned(), squares });
        }
    }
    Ok(())
}

fn read_piece(letter: char) -> Option<(Piece, Color)> {
    let piece = Piece::try_from(letter.to_ascii_lowercase()).ok()?;
    Some((piece, color_of_case(letter)))
}

fn color_of_case(letter: char) -> Color {
    if letter.is_ascii_uppercase() { Color::White } else { Color::Black }
}

/// Refuses what no game can reach and cozy-chess cannot play, with the reason.
fn check_playable(builder: &BoardBuilder) -> Result<(), FenError> {
    for color in Color::ALL {
        let count = |wanted: Option<Piece>| {
            let hit = |&(piece, owner): &(Piece, Color)| {
                owner == color && wanted.is_none_or(|wanted| wanted == piece)
            };
            builder.board.iter().flatten().filter(|occupant| hit(occupant)).count() as u32
        };
        match count(Some(Piece::King)) {
            1 => {}
            found => return Err(FenError::Kings { color, found }),
        }
        match count(Some(Piece::Pawn)) {
            0..=8 => {}
            found => return Err(FenError::Pawns { color, found }),
        }
        match count(None) {
            0..=16 => {}
            found => return Err(FenError::Pieces { color, found }),
        }
    }
    for square in Rank::First.bitboard() | Rank::Eighth.bitboard() {
        if matches!(builder.square(square), Some((Piece::Pawn, _))) {
            return Err(FenError::PawnRank(square));
        }
    }
    let mover = builder.side_to_move;
    if let Some(checker) = checkers(builder, !mover).next_square() {
        return Err(FenError::OpponentInCheck { color: !mover, checker });
    }
    match checkers(builder, mover).len() {
        0..=2 => Ok(()),
        found => Err(FenError::Checkers { color: mover, found }),
    }
}

/// The pieces that attack the king of `color`, the other king among them.
fn checkers(builder: &BoardBuilder, color: Color) -> BitBoard {
    let on = |square: Square| builder.square(square);
    let occupied: BitBoard =
        Square::ALL.into_iter().filter(|&square| on(square).is_some()).collect();
    let kings: BitBoard = Square::ALL
        .into_iter()
        .filter(|&square| on(square) == Some((Piece::King, color)))
        .collect();
    let attacks = |square: Square| match on(square) {
        Some((piece, owner)) if owner != color => match piece {
            Piece::Pawn => get_pawn_attacks(square, owner),
            Piece::Knight => get_knight_moves(square),
            Piece::Bishop => get_bishop_moves(square, occupied),
            Piece::Rook => get_rook_moves(square, occupied),
            Piece::Queen => get_bishop_moves(square, occupied) | get_rook_moves(square, occupied),
            Piece::King => get_king_moves(square),
        },
        _ => BitBoard::EMPTY,
    };
    Square::ALL.into_iter().filter(|&square| !attacks(square).is_disjoint(kings)).collect()
}

fn read_castling(
    text: &str,
    builder: &mut BoardBuilder,
    repairs: &mut Vec<Repair>,
) -> Result<(), FenError> {
    if text == "-" {
        return Ok(());
    }
    for letter in text.chars() {
        let file = match letter.to_ascii_lowercase() {
            'k' | 'h' => File::H,
            'q' | 'a' => File::A,
            'b'..='g' => return Err(FenError::Chess960(letter)),
            _ => return Err(FenError::Castling(letter)),
        };
        let color = color_of_case(letter);
        let rank = Rank::First.relative_to(color);
        let missing =
            [(Piece::King, Square::new(File::E, rank)), (Piece::Rook, Square::new(file, rank))]
                .into_iter()
                .find(|&(piece, home)| builder.square(home) != Some((piece, color)));
        if let Some((missing, home)) = missing {
            repairs.push(Repair::CastlingRight { letter, missing, home });
            continue;
        }
        let rights = builder.castle_rights_mut(color);
        let right = if file == File::H { &mut rights.short } else { &mut rights.long };
        if right.replace(file).is_some() {
            repairs.push(Repair::CastlingRepeated(letter));
        }
    }
    Ok(())
}

fn read_en_passant(text: &str, builder: &mut BoardBuilder, repairs: &mut Vec<Repair>) {
    if text == "-" {
        return;
    }
    match en_passant_square(text, builder) {
        Ok(square) => builder.en_passant = Some(square),
        Err(why) => repairs.push(Repair::EnPassant { text: text.to_owned(), why }),
    }
}

/// The square a pawn of the opponent has just passed, or why none can have.
fn en_passant_square(text: &str, builder: &BoardBuilder) -> Result<Square, &'static str> {
    let square: Square = text.to_ascii_lowercase().parse().map_err(|_| "it is not a square")?;
    let pusher = !builder.side_to_move;
    let on_file = |rank: Rank| Square::new(square.file(), rank.relative_to(pusher));
    let (from, to) = (on_file(Rank::Second), on_file(Rank::Fourth));
    if square != on_file(Rank::Third) {
        return Err("the opponent's pawns do not pass it in a double push");
    }
    if builder.square(to) != Some((Piece::Pawn, pusher)) {
        return Err("no pawn of the opponent stands before it");
    }
    if builder.square(square).is_some() || builder.square(from).is_some() {
        return Err("the way of the double push is not free");
    }
    let mut before = builder.clone();
    *before.square_mut(from) = before.square_mut(to).take();
    if !checkers(&before, builder.side_to_move).is_empty() {
        return Err("the king would have stood in check already before the double push");
    }
    Ok(square)
}

/// The clock in `text`, or its `least` value when there is none or none that can be believed.
fn read_clock(
    text: Option<&str>,
    least: u16,
    repair: fn(String) -> Repair,
    repairs: &mut Vec<Repair>,
) -> u16 {
    let Some(text) = text else { return least };
    match text.parse() {
        Ok(clock) if (least..=MAX_CLOCK).contains(&clock) => clock,
        _ => {
            repairs.push(repair(text.to_owned()));
            least
        }
    }
}
