//! Portable game notation: one game with its tags, read tolerantly and written strictly.
//!
//! Source: "Standard: Portable Game Notation Specification and Implementation Guide", 1994.

use super::notation::{self, IllegalMove};
use super::{Color, FenError, Game, Move, Repair, quoted};
use std::fmt;

/// How a game may end, as far as the text says.
const RESULTS: [&str; 4] = ["1-0", "0-1", "1/2-1/2", "*"];

/// The longest line of written movetext.
const WIDTH: usize = 79;

/// A game read from text.
#[derive(Clone, Debug)]
pub struct Pgn {
    /// Names and values, in the order of the text.
    pub tags: Vec<(String, String)>,
    /// Where the game begins: the tag `FEN`, or the start position.
    pub start: Game,
    /// The moves of the main line.
    pub moves: Vec<Move>,
    /// What stands beside the moves, `[moves + 1]`, by how many moves are before it: comments in braces, variations in
    /// brackets, numeric glyphs, with blanks between them.
    pub remarks: Vec<String>,
    /// `1-0`, `0-1`, `1/2-1/2`, or `*` where the text says nothing else.
    pub result: String,
    /// What was mended in the tag `FEN`.
    pub repairs: Vec<Repair>,
    /// Whether another game follows.
    pub more: bool,
}

/// Why a text is no game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PgnError {
    /// There are neither tags nor moves.
    Empty,
    /// A tag that is not of the form `[Name "value"]`.
    Tag {
        /// Of the text, from 1.
        line: usize,
        /// The tag as written.
        text: String,
    },
    /// The position of the tag `FEN`.
    Fen(FenError),
    /// The tag `Variant` names a game with other rules.
    Variant(String),
    /// A comment or variation without its end.
    Unclosed {
        /// Where it begins, from 1.
        line: usize,
        /// `{` or `(`.
        opening: char,
    },
    /// A move that cannot be played.
    Move {
        /// As in the game: `12.` or `12...`.
        number: String,
        /// Of the text, from 1.
        line: usize,
        /// What is wrong with it.
        error: IllegalMove,
    },
}

impl fmt::Display for PgnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(
                f,
                "the PGN is empty: expected tags such as [White \"Name\"] or moves such as 1. e4"
            ),
            Self::Tag { line, text } => {
                write!(
                    f,
                    "line {line}: the tag {} is not of the form [Name \"value\"]",
                    quoted(text)
                )
            }
            Self::Fen(error) => write!(f, "the tag FEN: {error}"),
            Self::Variant(variant) => {
                write!(
                    f,
                    "the tag Variant is {}, expected Standard: other rules are not known",
                    quoted(variant)
                )
            }
            Self::Unclosed { line, opening } => {
                let (what, end) =
                    if *opening == '{' { ("comment", '}') } else { ("variation", ')') };
                write!(
                    f,
                    "line {line}: the {what} that begins here has no end; close it with {end}"
                )
            }
            Self::Move { number, line, error } => write!(f, "line {line}, move {number}: {error}"),
        }
    }
}

impl std::error::Error for PgnError {}

/// Reads the first game of a text.
///
/// Move numbers and lines that begin with `%` are left out; moves may be written as [`notation::from_san`] takes them.
///
/// # Errors
/// See [`PgnError`].
///
/// # Examples
/// ```
/// let pgn = fianchetto::chess::pgn::read("1. e4 {best by test} e5 (1... c5) 2. Nf3 *")?;
/// assert_eq!(pgn.moves.len(), 3);
/// assert_eq!(pgn.remarks, ["", "{best by test}", "(1... c5)", ""]);
/// let error = fianchetto::chess::pgn::read("1. e4 e5 2. Ke3").unwrap_err();
/// assert!(error.to_string().starts_with("line 1, move 2.: move \"Ke3\" cannot be played"));
/// # Ok::<(), fianchetto::chess::pgn::PgnError>(())
/// ```
pub fn read(text: &str) -> Result<Pgn, PgnError> {
    let mut reader = Reader {
        rest: text.strip_prefix('\u{feff}').unwrap_or(text),
        line: 1,
        at_line_start: true,
        remarks: String::new(),
    };
    let mut tags = Vec::new();
    while let Some('[') = reader.peek()? {
        tags.push(reader.tag()?);
    }
    let standard = ["standard", "chess", "from position", "chess960"];
    let variant = tags.iter().find(|(name, _)| name == "Variant").map(|(_, value)| value);
    if let Some(variant) = variant.filter(|v| !standard.contains(&&*v.to_ascii_lowercase())) {
        return Err(PgnError::Variant(variant.clone()));
    }
    let fen = tags.iter().find(|(name, _)| name == "FEN").map_or("startpos", |(_, value)| value);
    let (start, repairs) = Game::from_fen(fen).map_err(PgnError::Fen)?;
    let (mut game, mut result) = (start.clone(), None);
    let mut remarks = Vec::new();
    while let Some(next) = reader.peek()? {
        if next == '[' {
            break;
        }
        let line = reader.line;
        let word = reader.word();
        if let Some(found) = RESULTS.into_iter().find(|&known| known == word) {
            result = Some(found);
            break;
        }
        if word == "½-½" {
            result = Some("1/2-1/2");
            break;
        }
        let san = without_number(word);
        let glyph = if word.starts_with('$') { word } else { glyph(word) };
        let san = if is_sign(word) { "" } else { san };
        if !san.is_empty() {
            remarks.push(reader.take_remarks());
            let read = notation::from_san(game.board(), san);
            // Some programs write where the piece comes from and goes to.
            let read =
                read.or_else(|of_san| notation::from_uci(game.board(), san).map_err(|_| of_san));
            match read {
                Ok(mv) => game.play_legal(mv),
                Err(error) => {
                    let number = number(&game);
                    return Err(PgnError::Move { number, line, error });
                }
            }
        }
        reader.remark(glyph);
    }
    if tags.is_empty() && game.moves().is_empty() {
        return Err(PgnError::Empty);
    }
    remarks.push(reader.take_remarks());
    let more = reader.peek()?.is_some();
    if !more {
        // What stands after the result is of this game.
        let last = remarks.pop().unwrap_or_default();
        remarks.push([last, reader.take_remarks()].join(" ").trim().to_owned());
    }
    let moves = game.moves().to_vec();
    let of_tags = tags.iter().find(|(name, _)| name == "Result").map(|(_, value)| &**value);
    let of_tags = RESULTS.into_iter().find(|&known| Some(known) == of_tags);
    let result = result.or(of_tags).unwrap_or("*").to_owned();
    Ok(Pgn { tags, start, moves, remarks, result, repairs, more })
}

/// A text as a comment.
pub fn comment(text: &str) -> String {
    format!("{{{}}}", text.replace('}', ")"))
}

/// A game as PGN. `FEN` and `SetUp` are added to the tags where the game does not begin at the start position.
/// The remarks are movetext, such as a [`comment`], and stand after so many moves as each has remarks before it.
///
/// # Errors
/// When a move is not legal.
pub fn write(
    tags: &[(&str, &str)],
    start: &Game,
    moves: &[Move],
    remarks: &[String],
    result: &str,
) -> Result<String, IllegalMove> {
    let mut text = String::new();
    let fen = start.fen();
    let set_up = [("SetUp", "1"), ("FEN", fen.as_str())];
    let set_up = if *start == Game::default() { &[][..] } else { &set_up[..] };
    for (name, value) in tags.iter().chain(set_up) {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        text += &format!("[{name} \"{}\"]\n", value.replace(char::is_control, " "));
    }
    text.push('\n');
    let mut words = Vec::new();
    let mut game = start.clone();
    for ply in 0..=moves.len() {
        let remark = remarks.get(ply).map_or("", |remark| remark);
        words.extend(remark.split_whitespace().map(str::to_owned));
        let Some(&mv) = moves.get(ply) else { break };
        // Black's moves are numbered where something stands before them.
        let is_first = ply == 0 || !remark.is_empty();
        if is_first || game.board().side_to_move() == Color::White {
            words.push(number(&game));
        }
        words.push(notation::to_san(game.board(), mv)?);
        game.play(mv)?;
    }
    words.push(result.to_owned());
    let mut column = 0;
    for word in words {
        if column > 0 {
            let fits = column + 1 + word.chars().count() <= WIDTH;
            text.push(if fits { ' ' } else { '\n' });
            column = if fits { column + 1 } else { 0 };
        }
        column += word.chars().count();
        text += &word;
    }
    text.push('\n');
    Ok(text)
}

/// The number of the move to come: `12.` for White, `12...` for Black.
fn number(game: &Game) -> String {
    let dots = if game.board().side_to_move() == Color::White { "." } else { "..." };
    format!("{}{dots}", game.board().fullmove_number())
}

/// `e4` of `1.e4`, `1...e4` and `e4`; nothing of `1.`, `...`, `$3` and `!?`.
fn without_number(word: &str) -> &str {
    // `--` is a move that nobody may play; other signs judge the one before.
    if word == "--" {
        return word;
    }
    if word.starts_with('$') || word.chars().all(|c| "!?+-=/\\~".contains(c)) {
        return "";
    }
    let digits = word.trim_start_matches(|c: char| c.is_ascii_digit());
    match digits.strip_prefix(['.', '…']) {
        Some(rest) => rest.trim_start_matches(['.', '…']),
        // A number may stand without its dot; castling may begin with a digit.
        None if digits.is_empty() => "",
        None => word,
    }
}

/// Whether a word only judges the move before it, or says how it was made.
fn is_sign(word: &str) -> bool {
    word == "e.p." || matches!(word, "N" | "□" | "∞" | "⩲" | "⩱" | "±" | "∓")
}

/// The numeric glyph of the signs that a move ends with, or that stand alone; nothing where there are none.
fn glyph(word: &str) -> &'static str {
    match word {
        "□" => return "$7",
        "=" => return "$10",
        "∞" => return "$13",
        "+=" | "+/=" | "⩲" => return "$14",
        "=+" | "=/+" | "⩱" => return "$15",
        "+/-" | "±" => return "$16",
        "-/+" | "∓" => return "$17",
        "+-" => return "$18",
        "-+" => return "$19",
        "N" => return "$146",
        _ => {}
    }
    match &word[word.trim_end_matches(['!', '?']).len()..] {
        "!" => "$1",
        "?" => "$2",
        "!!" => "$3",
        "??" => "$4",
        "!?" => "$5",
        "?!" => "$6",
        _ => "",
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    at_line_start: bool,
    /// What was read beside the moves since the last one.
    remarks: String,
}

impl<'a> Reader<'a> {
    /// The next character that is neither blank nor in a comment or variation.
    fn peek(&mut self) -> Result<Option<char>, PgnError> {
        loop {
            let Some(next) = self.rest.chars().next() else { return Ok(None) };
            match next {
                '%' if self.at_line_start => {
                    self.skip_line();
                }
                ';' | '{' => self.skip_comment(next)?,
                '(' => self.skip_variation()?,
                _ if next.is_whitespace() || next == ')' => {
                    self.advance(next.len_utf8());
                }
                _ => return Ok(Some(next)),
            }
        }
    }

    /// The remarks since the last call, with a blank where there are many or a line ends.
    fn take_remarks(&mut self) -> String {
        let words: Vec<_> = self.remarks.split_whitespace().collect();
        let text = words.join(" ");
        self.remarks.clear();
        text
    }

    /// Keeps a remark.
    fn remark(&mut self, text: &str) {
        if !self.remarks.is_empty() && !text.is_empty() {
            self.remarks.push(' ');
        }
        self.remarks += text;
    }

    fn skip_variation(&mut self) -> Result<(), PgnError> {
        let (line, opening) = (self.line, '(');
        if !self.remarks.is_empty() {
            self.remarks.push(' ');
        }
        let mut depth = 0;
        loop {
            let Some(next) = self.rest.chars().next() else {
                return Err(PgnError::Unclosed { line, opening });
            };
            match next {
                '(' => depth += 1,
                ')' => depth -= 1,
                // Comments may hold brackets.
                '{' | ';' => {
                    self.skip_comment(next)?;
                    if next == ';' {
                        self.remarks.push(' ');
                    }
                    continue;
                }
                _ => {}
            }
            let text = self.advance(next.len_utf8());
            self.remarks += text;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_comment(&mut self, opening: char) -> Result<(), PgnError> {
        if opening == ';' {
            let line = self.skip_line();
            self.remark(&comment(line[1..].trim()));
            return Ok(());
        }
        let line = self.line;
        let end = self.rest.find('}').ok_or(PgnError::Unclosed { line, opening })?;
        let text = self.advance(end + 1);
        self.remark(text);
        Ok(())
    }

    fn skip_line(&mut self) -> &'a str {
        self.advance(self.rest.find('\n').map_or(self.rest.len(), |end| end + 1))
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (gone, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.line += gone.matches('\n').count();
        self.at_line_start = gone.ends_with('\n');
        gone
    }

    /// Up to the next blank, comment or variation.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| c.is_whitespace() || "{}();[]".contains(c));
        // One of these alone is no move, and what is wrong with the text.
        let first = self.rest.chars().next().map_or(0, char::len_utf8);
        self.advance(end.unwrap_or(self.rest.len()).max(first))
    }

    /// `[Name "value"]`; quotes and backslashes in the value have a backslash before them.
    fn tag(&mut self) -> Result<(String, String), PgnError> {
        let line = self.line;
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let text = self.rest[..end].trim_end();
        let malformed = || PgnError::Tag { line, text: text.to_owned() };
        let (name, rest) = self.rest[1..end].split_once('"').ok_or_else(malformed)?;
        let (mut value, mut characters) = (String::new(), rest.char_indices());
        let closing = loop {
            match characters.next().ok_or_else(malformed)? {
                (at, '"') => break at,
                (_, '\\') => value.extend(characters.next().map(|(_, c)| c)),
                (_, c) => value.push(c),
            }
        };
        let after = rest[closing + 1..].trim_start();
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) || !after.starts_with(']') {
            return Err(malformed());
        }
        self.advance(end - after.len() + 1);
        Ok((name.to_owned(), value))
    }
}
