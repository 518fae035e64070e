//! The tag pairs of a game: `[Name "Value"]`, one a line.

use super::Refusal;
use crate::game::GameResult;
use serde::{Deserialize, Serialize};
use std::{fmt, str};

/// What the tags of a game tell; what they do not tell is `None`, 0 or empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tags<'a> {
    /// `Result`.
    pub(super) result: Option<Termination>,
    /// `WhiteElo` and `BlackElo`; 0 where unknown.
    pub ratings: [u16; 2],
    /// `Date`, else `UTCDate`.
    pub date: Date,
    /// `TimeControl`, as written: seconds and increment, such as `300+3`.
    pub time_control: &'a [u8],
    /// `Variant`, as written.
    pub variant: &'a [u8],
    /// `FEN`, as written.
    pub fen: &'a [u8],
    /// Whether `SetUp` says that the game starts from a position of its own.
    pub set_up: bool,
}

/// A date with parts that may be unknown (0), as `2016.??.??` in PGN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Date {
    /// Year; 0 unknown.
    pub year: u16,
    /// Month from 1; 0 unknown.
    pub month: u16,
    /// Day from 1; 0 unknown.
    pub day: u16,
}

impl Date {
    /// Reads `2016.05.31`, `2016.05.??`, `2016-05` or `2016`; what is no number is unknown.
    pub fn read(text: &[u8]) -> Self {
        let mut parts = text.split(|&byte| matches!(byte, b'.' | b'-' | b'/')).map(number);
        let mut next = || parts.next().unwrap_or(0);
        Self { year: next(), month: next(), day: next() }
    }

    /// Whether the calendar has such a day, month or year.
    pub fn is_possible(self) -> bool {
        let divides = |years| self.year.is_multiple_of(years);
        let is_leap = divides(4) && (!divides(100) || divides(400));
        let days = match self.month {
            2 => 28 + u16::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        self.month <= 12 && self.day <= days
    }
}

impl fmt::Display for Date {
    /// What is known of it: `2016-05`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.year)?;
        let parts = [self.month, self.day].into_iter().take_while(|&part| part > 0);
        parts.into_iter().try_for_each(|part| write!(f, "-{part:02}"))
    }
}

impl<'a> Tags<'a> {
    /// Reads the tag section of a game, lines ended by `\n`.
    ///
    /// Quotes that ought to be escaped are taken as they are (`[Event "The "Big" Open"]`), and
    /// several pairs may share a line; escape (`%`) and comment (`;`) lines are passed over.
    ///
    /// # Errors
    /// [`Refusal::BadTag`] when a line is none of these.
    pub(super) fn read(section: &'a [u8]) -> Result<Self, Refusal> {
        let mut tags = Self::default();
        let mut utc_date = Date::default();
        for line in section.split(|&byte| byte == b'\n') {
            if let [] | [b'%' | b';', ..] = line {
                continue;
            }
            let mut rest = line.trim_ascii();
            while !rest.is_empty() {
                let (name, value, after) = tag_pair(rest).ok_or(Refusal::BadTag)?;
                match name {
                    b"Result" => tags.result = Termination::read(value.trim_ascii()),
                    b"WhiteElo" => tags.ratings[0] = number(value),
                    b"BlackElo" => tags.ratings[1] = number(value),
                    b"Date" => tags.date = Date::read(value),
                    b"UTCDate" => utc_date = Date::read(value),
                    b"TimeControl" => tags.time_control = value,
                    b"Variant" => tags.variant = value,
                    b"FEN" => tags.fen = value,
                    b"SetUp" => tags.set_up = value == b"1",
                    _ => {}
                }
                rest = after.trim_ascii_start();
            }
        }
        if tags.date.year == 0 {
            tags.date = utc_date;
        }
        Ok(tags)
    }

    /// Whether the game is standard chess from the start position.
    ///
    /// # Errors
    /// [`Refusal::Variant`] or [`Refusal::FenStart`] when it is not.
    pub fn require_standard(&self) -> Result<(), Refusal> {
        const STANDARD: [&[u8]; 5] = [b"", b"?", b"standard", b"chess", b"normal"];
        let variant = self.variant.trim_ascii();
        if variant.eq_ignore_ascii_case(b"from position") {
            return Err(Refusal::FenStart);
        }
        if !STANDARD.iter().any(|name| variant.eq_ignore_ascii_case(name)) {
            return Err(Refusal::Variant);
        }
        let start = fianchetto::chess::fen::START.as_bytes();
        match self.fen.trim_ascii() {
            b"" if self.set_up => Err(Refusal::FenStart),
            fen if fen.is_empty() || fen == start => Ok(()),
            _ => Err(Refusal::FenStart),
        }
    }
}

/// A draw as people write it, in UTF-8 and in Latin-1.
const HALVES: &[u8] = "½-½".as_bytes();
const HALVES_LATIN_1: &[u8] = b"\xbd-\xbd";

/// How a game says that it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Termination {
    /// With this result.
    Result(GameResult),
    /// `*`: unfinished, or the result is unknown.
    Unfinished,
}

impl Termination {
    /// Reads the value of the tag `Result`, or the last word of a movetext.
    pub fn read(text: &[u8]) -> Option<Self> {
        match text {
            b"1-0" => Some(Self::Result(GameResult::White)),
            b"0-1" => Some(Self::Result(GameResult::Black)),
            b"1/2-1/2" | b"1/2" | HALVES | HALVES_LATIN_1 => Some(Self::Result(GameResult::Draw)),
            b"*" => Some(Self::Unfinished),
            _ => None,
        }
    }
}

/// The name of the tag pair that a line begins with, if it does: `[`, name, `"`.
pub(super) fn tag_name(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_prefix(b"[")?.trim_ascii_start();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_+#=:-".contains(byte);
    let end = line.iter().position(|byte| !is_name(byte))?;
    let (name, rest) = line.split_at(end);
    (end > 0 && rest.trim_ascii_start().starts_with(b"\"")).then_some(name)
}

/// Name and value of the pair that a line begins with, and what follows it.
fn tag_pair(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let name = tag_name(line)?;
    let open = line.iter().position(|&byte| byte == b'"')?;
    let text = &line[open + 1..];
    // The value ends at the first quote that closes the bracket too.
    for (at, _) in text.iter().enumerate().filter(|&(_, &byte)| byte == b'"') {
        let escaped = at > 0 && text[at - 1] == b'\\';
        if let Some(after) = text[at + 1..].trim_ascii_start().strip_prefix(b"]")
            && !escaped
        {
            return Some((name, &text[..at], after));
        }
    }
    None
}

fn number(text: &[u8]) -> u16 {
    str::from_utf8(text.trim_ascii()).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}
