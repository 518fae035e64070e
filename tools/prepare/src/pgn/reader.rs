//! Cutting a stream of bytes into the texts of games.

use super::movetext::{self, Failure, MainLine, Words};
use super::tags::{Tags, Termination, tag_name};
use super::{Date, Refusal};
use crate::game::PlayedGame;
use fianchetto::chess::Move;
use std::io::{self, BufRead};

/// The most bytes of one game that are kept; a longer one is passed over.
const GAME_MAX: usize = 1 << 20;

/// The text of one game.
#[derive(Clone, Debug)]
pub struct RawGame {
    /// Tag section, then movetext; every line ends in `\n`.
    text: Vec<u8>,
    /// Where in the text the movetext begins.
    movetext_at: Option<usize>,
    /// Whether the input ends with this game.
    last: bool,
    /// Why the text was not kept.
    fault: Option<Refusal>,
}

impl RawGame {
    /// CRC-32 of the text, by which a game is known again.
    pub fn checksum(&self) -> u32 {
        let mut crc = flate2::Crc::new();
        crc.update(&self.text);
        crc.sum()
    }

    /// Whether the input ends with this game, and perhaps within it.
    pub fn is_last(&self) -> bool {
        self.last
    }

    /// What the tags tell.
    ///
    /// # Errors
    /// When there is a line among them that is no tag pair.
    pub fn tags(&self) -> Result<Tags<'_>, Refusal> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let section = &self.text[..self.movetext_at.unwrap_or(self.text.len())];
        let cut = self.last && self.movetext_at.is_none();
        Tags::read(section).map_err(|refusal| if cut { Refusal::Truncated } else { refusal })
    }

    /// Plays the game through.
    ///
    /// The result is that of the movetext, or of the tag where the movetext ends in `*`. A game whose
    /// movetext does not end in a result is [`Refusal::Truncated`] when it is the last of the input.
    ///
    /// # Errors
    /// When the game is not of standard chess from the start position, or cannot be read with
    /// certainty.
    pub fn resolve(&self) -> Result<PlayedGame, Refusal> {
        let (tags, MainLine { moves, termination }) = self.play()?;
        if self.last && termination.is_none() {
            return Err(Refusal::Truncated);
        }
        if moves.is_empty() {
            return Err(Refusal::NoMoves);
        }
        let result = match (termination, tags.result) {
            (Some(Termination::Result(one)), Some(Termination::Result(other))) if one != other => {
                return Err(Refusal::ResultsDisagree);
            }
            (Some(Termination::Result(result)), _)
            | (Some(_), Some(Termination::Result(result))) => result,
            (None, None) => return Err(Refusal::NoResult),
            (None, Some(Termination::Result(_))) => return Err(Refusal::Unterminated),
            _ => return Err(Refusal::Unfinished),
        };
        let Tags { ratings, date: Date { year, .. }, .. } = tags;
        Ok(PlayedGame { moves, result, ratings, year })
    }

    /// The moves alone, with or without a result after them, as books of openings are.
    ///
    /// # Errors
    /// See [`RawGame::resolve`].
    pub fn moves(&self) -> Result<Vec<Move>, Refusal> {
        let (_, MainLine { moves, .. }) = self.play()?;
        if moves.is_empty() { Err(Refusal::NoMoves) } else { Ok(moves) }
    }

    fn play(&self) -> Result<(Tags<'_>, MainLine), Refusal> {
        let tags = self.tags()?;
        tags.require_standard()?;
        let movetext = self.movetext_at.map_or(&[][..], |at| &self.text[at..]);
        let untagged = self.movetext_at == Some(0);
        let failed = |failure: Failure| match failure.refusal {
            Refusal::UnreadableMove if failure.at_start && untagged => Refusal::NotAGame,
            _ if failure.at_end && self.last => Refusal::Truncated,
            refusal => refusal,
        };
        Ok((tags, movetext::play(movetext).map_err(failed)?))
    }
}

/// Reads one game after the other.
///
/// A game ends where a line begins the next one: a tag pair after a blank line (even in a comment,
/// so that an unclosed one costs one game) or after a result; in files without tags, text after a
/// result and a blank line, or move number 1 after either. Blank lines alone end nothing.
/// Memory is bounded: of a game or a line longer than 1 MiB only the fact is kept.
pub struct Reader<R> {
    source: R,
    /// The line last read, without its end; of a longer one than [`GAME_MAX`] the beginning.
    line: Vec<u8>,
    line_is_cut: bool,
    /// Whether the line begins the game to be read next.
    pending: bool,
    /// Whether the line before ended in `\r`, so that a `\n` still belongs to it.
    after_return: bool,
    /// The input is at its end.
    at_end: bool,
    /// Why it ended early; told after the games before.
    error: Option<io::Error>,
}

impl<R: BufRead> Reader<R> {
    /// A reader of decompressed PGN.
    pub fn new(source: R) -> Self {
        Self {
            source,
            line: Vec::new(),
            line_is_cut: false,
            pending: false,
            after_return: false,
            at_end: false,
            error: None,
        }
    }

    /// The next game, `None` at the end.
    ///
    /// # Errors
    /// When the input cannot be read on, for example because a compressed file is cut off. All games
    /// before the damage have been returned by then, the one within it as the last of the input;
    /// afterwards comes `None`.
    pub fn next_game(&mut self) -> io::Result<Option<RawGame>> {
        let mut game = Draft::default();
        let mut after_blank = true;
        while self.pending || self.read_line() {
            self.pending = false;
            let line = self.line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.line);
            if line.trim_ascii().is_empty() {
                after_blank = true;
            } else if game.ends_before(line, after_blank) {
                self.pending = true;
                return Ok(Some(game.finish(false)));
            } else {
                game.push(line, self.line_is_cut);
                after_blank = false;
            }
        }
        if game.begun {
            return Ok(Some(game.finish(true)));
        }
        self.error.take().map_or(Ok(None), Err)
    }

    /// Reads the next line; `false` when there is none.
    fn read_line(&mut self) -> bool {
        self.line.clear();
        self.line_is_cut = false;
        let mut begun = false;
        while !self.at_end {
            let bytes = match self.source.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.error = Some(error);
                    &[]
                }
            };
            if bytes.is_empty() {
                self.at_end = true;
                break;
            }
            if self.after_return {
                self.after_return = false;
                if bytes[0] == b'\n' {
                    self.source.consume(1);
                    continue;
                }
            }
            begun = true;
            let end = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let kept = part.len().min(GAME_MAX - self.line.len());
            self.line.extend_from_slice(&part[..kept]);
            self.line_is_cut |= kept < part.len();
            self.after_return = end.is_some_and(|end| bytes[end] == b'\r');
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                return true;
            }
        }
        begun
    }
}

/// A game while its lines come in.
#[derive(Default)]
struct Draft {
    text: Vec<u8>,
    begun: bool,
    movetext_at: Option<usize>,
    fault: Option<Refusal>,
    /// How far the movetext was looked at for comments, and whether its last word is a result.
    words: Words,
    ended: bool,
}

impl Draft {
    fn push(&mut self, line: &[u8], is_cut: bool) {
        let is_remark = matches!(line[0], b'%' | b';');
        if is_remark && !self.begun {
            return;
        }
        self.begun = true;
        if self.movetext_at.is_none() && !is_remark && line[0] != b'[' {
            self.movetext_at = Some(self.text.len());
        }
        if self.fault.is_some() {
            return;
        }
        if line.contains(&0) {
            self.fault = Some(Refusal::NotText);
        } else if is_cut || self.text.len() + line.len() >= GAME_MAX {
            self.fault = Some(Refusal::Oversized);
        } else {
            self.text.extend_from_slice(line);
            self.text.push(b'\n');
            return;
        }
        self.text = Vec::new();
    }

    /// Whether a line that is not blank belongs to the next game.
    fn ends_before(&mut self, line: &[u8], after_blank: bool) -> bool {
        let tag = tag_name(line);
        if self.fault.is_some() {
            return tag.is_some() && (after_blank || self.movetext_at.is_some());
        }
        if self.movetext_at.is_none() {
            // Tags of a game without any movetext: the first of them comes again.
            return tag.is_some() && tag == tag_name(&self.text);
        }
        let first_move =
            matches!(line.trim_ascii_start(), [b'1', b'.', rest @ ..] if !rest.starts_with(b"."));
        if tag.is_some() && after_blank {
            return true;
        }
        if !(after_blank || first_move || tag.is_some()) {
            return false;
        }
        self.look_through_movetext();
        if self.words.in_comment {
            return false;
        }
        if line[0] == b'[' {
            return after_blank || (tag.is_some() && self.ended);
        }
        let untagged = self.movetext_at == Some(0);
        (self.ended && (after_blank || first_move)) || (untagged && after_blank && first_move)
    }

    fn look_through_movetext(&mut self) {
        let movetext = &self.text[self.movetext_at.unwrap_or(self.text.len())..];
        while let Some(word) = self.words.next(movetext) {
            self.ended = Termination::read(word).is_some();
        }
    }

    fn finish(self, last: bool) -> RawGame {
        let Self { text, movetext_at, fault, .. } = self;
        RawGame { text, movetext_at, last, fault }
    }
}
