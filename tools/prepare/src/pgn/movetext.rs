//! The moves of a game as written: numbers, comments, variations, glyphs and the result.

use super::Refusal;
use super::tags::Termination;
use fianchetto::chess::notation::{self, Reason};
use fianchetto::chess::{Board, Move};
use std::sync::LazyLock;

/// The most plies that a game can have: 8,848.5 moves under the seventy-five-move rule.
pub const PLIES_MAX: usize = 17_697;

/// Words that are no moves: they stand for the side to move passing.
const NULL_MOVES: [&[u8]; 4] = [b"--", b"Z0", b"0000", b"@@@@"];

static START: LazyLock<Board> = LazyLock::new(Board::default);

/// The main line of a game.
pub(super) struct MainLine {
    pub moves: Vec<Move>,
    pub termination: Option<Termination>,
}

/// Why a movetext cannot be read with certainty.
pub(super) struct Failure {
    pub refusal: Refusal,
    /// Whether no move comes before it.
    pub at_start: bool,
    /// Whether it lies in the very last word, as in a text that was cut off.
    pub at_end: bool,
}

/// Plays a movetext through.
pub(super) fn play(text: &[u8]) -> Result<MainLine, Failure> {
    let mut board = START.clone();
    // A move and its share of a number are about six letters.
    let mut moves = Vec::with_capacity((text.len() / 6).min(PLIES_MAX));
    let mut termination = None;
    let mut words = Words::default();
    while let Some(word) = words.next(text) {
        let rest = &text[words.at..];
        let at_start = moves.is_empty();
        let refuse =
            |refusal| Err(Failure { refusal, at_start, at_end: rest.trim_ascii().is_empty() });
        let (number, word) = split_number(word);
        if termination.is_some() || (number == b"1." && moves.len() > 1) {
            return refuse(Refusal::Joined);
        }
        if word.is_empty() {
            continue;
        }
        match notation::from_san_bytes(&board, word) {
            Ok(_) if moves.len() == PLIES_MAX => return refuse(Refusal::Oversized),
            Ok(mv) => {
                board.play_unchecked(mv);
                moves.push(mv);
            }
            Err(Reason::NotSan) => match Termination::read(word) {
                Some(read) => termination = Some(read),
                None if NULL_MOVES.contains(&word) => return refuse(Refusal::NullMove),
                None if is_remark(word) => {}
                None => return refuse(Refusal::UnreadableMove),
            },
            Err(Reason::NotLegal) => return refuse(Refusal::IllegalMove),
            Err(_) => return refuse(Refusal::AmbiguousMove),
        }
    }
    let unclosed = words.in_comment || words.depth > 0;
    if unclosed || words.stray {
        let at_start = moves.is_empty();
        return Err(Failure { refusal: Refusal::Unbalanced, at_start, at_end: unclosed });
    }
    Ok(MainLine { moves, termination })
}

/// The move number in front of a word, and the rest: `12.`, `12...`, `12.e4`, `...e5`. Results and
/// castling written with zeros have none.
fn split_number(word: &[u8]) -> (&[u8], &[u8]) {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let dots = word[digits..].iter().take_while(|&&byte| byte == b'.').count();
    let is_number = dots > 0 || (digits == word.len() && word != b"0000");
    word.split_at(if is_number { digits + dots } else { 0 })
}

/// Whether a word only comments on the move before it, as in `exd6 e.p.` and `Nf3 !?`.
fn is_remark(word: &[u8]) -> bool {
    word == b"e.p." || word == b"ep" || word.iter().all(|byte| b"!?+#".contains(byte))
}

/// Whether `e8` is written `e8(Q)`: the parenthesis right after a pawn's move to the last rank is no
/// variation.
fn promotes(word: &[u8], rest: &[u8]) -> bool {
    matches!(rest, [b'(', b'Q' | b'R' | b'B' | b'N', b')', ..])
        && matches!(word, [.., b'a'..=b'h', b'1' | b'8'])
        && !word.iter().any(u8::is_ascii_uppercase)
}

/// Finds the words of the main line; comments, variations and glyphs (`$4`) are passed over.
///
/// When lines were added to the text it goes on where it was.
#[derive(Default)]
pub(super) struct Words {
    at: usize,
    /// Variations open.
    depth: usize,
    /// Within `{}`.
    pub in_comment: bool,
    /// A `)` came that closes nothing.
    stray: bool,
}

impl Words {
    /// The next word outside comments and variations. Lines of the text end in `\n`.
    pub fn next<'a>(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        while let Some(&first) = text.get(self.at) {
            let start = self.at;
            if self.in_comment {
                self.skip_to(text, |byte| byte == b'}');
                self.in_comment = self.at == text.len();
                self.at += usize::from(!self.in_comment);
                continue;
            }
            self.at += 1;
            match first {
                b'{' => self.in_comment = true,
                b'(' => self.depth += 1,
                b')' => {
                    self.stray |= self.depth == 0;
                    self.depth = self.depth.saturating_sub(1);
                }
                b';' => self.skip_to(text, |byte| byte == b'\n'),
                b'%' if start == 0 || text[start - 1] == b'\n' => {
                    self.skip_to(text, |byte| byte == b'\n');
                }
                b'$' => self.skip_to(text, |byte| !byte.is_ascii_digit()),
                byte if byte.is_ascii_whitespace() => {}
                _ => {
                    self.skip_word(text);
                    if promotes(&text[start..self.at], &text[self.at..]) {
                        self.at += "(Q)".len();
                        self.skip_word(text);
                    }
                    if self.depth == 0 {
                        return Some(&text[start..self.at]);
                    }
                }
            }
        }
        None
    }

    fn skip_word(&mut self, text: &[u8]) {
        self.skip_to(text, |byte| byte.is_ascii_whitespace() || b"{}();$".contains(&byte));
    }

    fn skip_to(&mut self, text: &[u8], stop: impl Fn(u8) -> bool) {
        let rest = &text[self.at..];
        self.at += rest.iter().position(|&byte| stop(byte)).unwrap_or(rest.len());
    }
}
