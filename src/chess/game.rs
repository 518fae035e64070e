//! A position together with the way to it, which the rules on draws need.

use super::fen::{self, FenError, Repair};
use super::notation::{self, IllegalMove, Reason, is_castling};
use super::{Board, Color, Move, Piece, Square, color_name};
use cozy_chess::{BitBoard, PieceMoves, Rank, get_pawn_attacks};
use std::fmt;

/// A game from some position on: the moves, and what they do to repetition and the clocks.
///
/// # Examples
/// ```
/// let mut game = fianchetto::chess::Game::default();
/// for text in ["g1f3", "g8f6", "f3g1", "f6g8"] {
///     game.play_uci(text)?;
/// }
/// assert_eq!(game.occurrences(), 2);
/// # Ok::<(), fianchetto::chess::IllegalMove>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    board: Board,
    halfmove_clock: u32,
    moves: Vec<Move>,
    /// One key for each position since the start, the current one last.
    keys: Vec<u64>,
}

/// Why words are no game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordsError {
    /// Not a position.
    Fen(FenError),
    /// Not a move there.
    Move(IllegalMove),
}

impl fmt::Display for WordsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fen(error) => error.fmt(f),
            Self::Move(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WordsError {}

/// How a game has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The side to move is in check and cannot move.
    Checkmate {
        /// The side that gives mate.
        winner: Color,
    },
    /// The side to move is not in check and cannot move.
    Stalemate,
    /// Neither side has the pieces to mate, whatever the other plays.
    InsufficientMaterial,
    /// A hundred plies without capture or pawn move.
    FiftyMoves,
    /// The position has occurred three times.
    Repetition,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checkmate { winner } => write!(f, "{} wins by checkmate", color_name(*winner)),
            Self::Stalemate => write!(f, "draw by stalemate"),
            Self::InsufficientMaterial => write!(f, "draw by insufficient material"),
            Self::FiftyMoves => write!(f, "draw by the fifty-move rule"),
            Self::Repetition => write!(f, "draw by threefold repetition"),
        }
    }
}

impl Default for Game {
    fn default() -> Self {
        Self::from_board(Board::default(), 0)
    }
}

impl Game {
    /// A game that starts at a position in Forsyth-Edwards notation, or at `startpos`; with it, what
    /// had to be mended in the text.
    ///
    /// # Errors
    /// See [`fen::parse`].
    pub fn from_fen(text: &str) -> Result<(Self, Vec<Repair>), FenError> {
        if text.trim() == "startpos" {
            return Ok((Self::default(), Vec::new()));
        }
        let position = fen::parse(text)?;
        Ok((Self::from_board(position.board, position.halfmove_clock), position.repairs))
    }

    /// A game in words: a FEN or `startpos`, and after it `moves e2e4 ...`. Moves alone begin at the start position; a
    /// blank text is an error, as an empty variable in a script would be.
    ///
    /// # Errors
    /// When there is no position, or a move is not legal there.
    pub fn from_words(text: &str) -> Result<(Self, Vec<Repair>), WordsError> {
        // A file may begin with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut words = text.split_whitespace().peekable();
        let moves_alone = words.peek() == Some(&"moves");
        let position: Vec<&str> = words.by_ref().take_while(|&word| word != "moves").collect();
        let fen = if moves_alone { "startpos".to_owned() } else { position.join(" ") };
        let (mut game, repairs) = Self::from_fen(&fen).map_err(WordsError::Fen)?;
        for text in words {
            game.play_uci(text).map_err(WordsError::Move)?;
        }
        Ok((game, repairs))
    }

    fn from_board(board: Board, halfmove_clock: u32) -> Self {
        let keys = vec![repetition_key(&board)];
        Self { board, halfmove_clock, moves: Vec::new(), keys }
    }

    /// The current position. Its own halfmove clock is cut off at 100: see [`Game::halfmove_clock`].
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// The moves played since the start.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Plies since the last capture or pawn move; may exceed 100.
    pub fn halfmove_clock(&self) -> u32 {
        self.halfmove_clock
    }

    /// Plays a move.
    ///
    /// # Errors
    /// When the move is not legal; the game is then as before.
    pub fn play(&mut self, mv: Move) -> Result<(), IllegalMove> {
        if !self.board.is_legal(mv) {
            let text = notation::to_uci(&self.board, mv);
            return Err(IllegalMove { text, reason: Reason::NotLegal, fen: self.fen() });
        }
        self.play_legal(mv);
        Ok(())
    }

    /// Plays a move that is known to be legal, unchecked: for searches, which generated it.
    ///
    /// # Panics
    /// When the move is not even close to legal; what others than legal moves do is not defined.
    pub fn play_legal(&mut self, mv: Move) {
        let pawn_move = self.board.piece_on(mv.from) == Some(Piece::Pawn);
        let capture = self.board.colors(!self.board.side_to_move()).has(mv.to);
        self.halfmove_clock =
            if pawn_move || capture { 0 } else { self.halfmove_clock.saturating_add(1) };
        self.board.play_unchecked(mv);
        self.moves.push(mv);
        self.keys.push(repetition_key(&self.board));
    }

    /// Goes back to `earlier`, a stage of this very game. Allocates nothing.
    pub fn return_to(&mut self, earlier: &Self) {
        self.board.clone_from(&earlier.board);
        self.halfmove_clock = earlier.halfmove_clock;
        self.moves.truncate(earlier.moves.len());
        self.keys.truncate(earlier.keys.len());
    }

    /// The moves played since `earlier`; `None` when that is no stage of this game.
    pub fn since(&self, earlier: &Self) -> Option<&[Move]> {
        let moves = self.moves.get(earlier.moves.len()..)?;
        let mut replayed = earlier.clone();
        moves.iter().try_for_each(|&mv| replayed.play(mv)).ok()?;
        (replayed == *self).then_some(moves)
    }

    /// Plays a move in UCI notation, see [`notation::from_uci`], and returns it.
    ///
    /// # Errors
    /// When the text is no legal move; the game is then as before.
    pub fn play_uci(&mut self, text: &str) -> Result<Move, IllegalMove> {
        let mv = notation::from_uci(&self.board, text)
            .map_err(|error| IllegalMove { fen: self.fen(), ..error })?;
        self.play(mv)?;
        Ok(mv)
    }

    /// The legal moves, in an order that depends on the position alone.
    pub fn legal_moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        self.legal_moves_into(&mut moves);
        moves
    }

    /// [`Game::legal_moves`] into a vector whose memory is used again.
    pub fn legal_moves_into(&self, moves: &mut Vec<Move>) {
        moves.clear();
        self.board.generate_moves(|piece_moves| {
            let PieceMoves { piece, from, to } = piece_moves;
            if piece == Piece::Pawn {
                moves.extend(piece_moves);
            } else {
                // The same, but the library need not look for promotions.
                moves.extend(to.into_iter().map(|to| Move { from, to, promotion: None }));
            }
            false
        });
    }

    /// The [`repetition_key`] of each position since the start, the current one last.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// How often the current position has occurred, now included.
    ///
    /// Positions are the same when pieces, side to move and castling rights are, and when the same
    /// en passant capture is legal, if any (FIDE Laws of Chess, article 9.2.3).
    pub fn occurrences(&self) -> usize {
        let current = self.keys.last();
        let reversible = self.halfmove_clock as usize;
        self.keys
            .iter()
            .rev()
            .step_by(2)
            .take(reversible / 2 + 1)
            .filter(|&key| Some(key) == current)
            .count()
    }

    /// How the game has ended, or `None` while it goes on. Draws that a player could claim, by
    /// fifty moves or threefold repetition, end it.
    pub fn outcome(&self) -> Option<Outcome> {
        if !self.board.generate_moves(|_| true) {
            return Some(if self.board.checkers().is_empty() {
                Outcome::Stalemate
            } else {
                Outcome::Checkmate { winner: !self.board.side_to_move() }
            });
        }
        self.draw()
    }

    /// The draw that a position with legal moves is, if any.
    pub fn draw(&self) -> Option<Outcome> {
        if insufficient_material(&self.board) {
            Some(Outcome::InsufficientMaterial)
        } else if self.halfmove_clock >= 100 {
            Some(Outcome::FiftyMoves)
        } else if self.occurrences() >= 3 {
            Some(Outcome::Repetition)
        } else {
            None
        }
    }

    /// The current position in Forsyth-Edwards notation, with the true halfmove clock. The en
    /// passant square is given after every double push, as the format wants it.
    pub fn fen(&self) -> String {
        let text = self.board.to_string();
        let position = text.rsplitn(3, ' ').nth(2).unwrap_or_default();
        format!("{position} {} {}", self.halfmove_clock, self.board.fullmove_number())
    }
}

/// A hash equal for positions that count as repetitions of each other.
///
/// The board's own hash has the en passant file after every double push; here it counts only when
/// there is something to capture.
pub fn repetition_key(board: &Board) -> u64 {
    if has_en_passant_capture(board) { board.hash() } else { board.hash_without_ep() }
}

/// The square that a pawn has just passed over.
pub fn en_passant_square(board: &Board) -> Option<Square> {
    let rank = Rank::Sixth.relative_to(board.side_to_move());
    board.en_passant().map(|file| Square::new(file, rank))
}

/// What a legal move captures.
pub fn captured(board: &Board, mv: Move) -> Option<Piece> {
    let en_passant =
        board.pieces(Piece::Pawn).has(mv.from) && en_passant_square(board) == Some(mv.to);
    match board.piece_on(mv.to) {
        None => en_passant.then_some(Piece::Pawn),
        victim => victim.filter(|_| !is_castling(board, mv)),
    }
}

fn has_en_passant_capture(board: &Board) -> bool {
    let Some(to) = en_passant_square(board) else {
        return false;
    };
    let mover = board.side_to_move();
    let capturers = get_pawn_attacks(to, !mover) & board.colored_pieces(mover, Piece::Pawn);
    capturers.into_iter().any(|from| board.is_legal(Move { from, to, promotion: None }))
}

/// Whether no sequence of legal moves can mate: bare kings, one minor piece in all, or bishops only,
/// all on squares of one colour.
pub fn insufficient_material(board: &Board) -> bool {
    let [pawns, knights, bishops, rooks, queens] =
        [Piece::Pawn, Piece::Knight, Piece::Bishop, Piece::Rook, Piece::Queen]
            .map(|piece| board.pieces(piece));
    if !(pawns | rooks | queens).is_empty() {
        return false;
    }
    let minors = (knights | bishops).len();
    let one_colour =
        bishops.is_subset(BitBoard::DARK_SQUARES) || bishops.is_disjoint(BitBoard::DARK_SQUARES);
    minors <= 1 || (knights.is_empty() && one_colour)
}
