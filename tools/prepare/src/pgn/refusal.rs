//! Why a game is not taken.

use serde::{Deserialize, Serialize};

/// Why a game is not taken. The order is that of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// There are no tags, and the text does not begin with a move.
    NotAGame,
    /// The main line holds an illegal move.
    IllegalMove,
    /// The main line holds a move that fits several, or a promotion to nothing.
    AmbiguousMove,
    /// The main line holds a null move (`--`, `Z0`), as analyses do.
    NullMove,
    /// The main line holds a word that is no move.
    UnreadableMove,
    /// Moves follow the result, or move number 1 comes again: there are two games in one.
    Joined,
    /// A comment or variation is not closed, or closed without being opened.
    Unbalanced,
    /// There are no moves.
    NoMoves,
    /// Neither tag nor movetext tells the result.
    NoResult,
    /// The result is in a tag alone: the end of the moves may be missing.
    Unterminated,
    /// The result is `*`: unfinished or unknown.
    Unfinished,
    /// Tag and movetext tell different results.
    ResultsDisagree,
    /// A line among the tags is no tag pair.
    BadTag,
    /// Not standard chess.
    Variant,
    /// The game starts from another position.
    FenStart,
    /// The input ends within the game.
    Truncated,
    /// The text or the game is too long to be one.
    Oversized,
    /// There are zero bytes in it.
    NotText,
    /// A rating is outside the bounds asked for, or unknown.
    Rating,
    /// The time control is not one of those asked for, or unknown.
    TimeControl,
    /// The date is outside the bounds asked for, or unknown.
    Date,
    /// The game is shorter or longer than asked for.
    Plies,
    /// The game belongs to another shard than that asked for.
    OtherShard,
}

impl Refusal {
    /// The name of the cause in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotAGame => "not-a-game",
            Self::IllegalMove => "illegal-move",
            Self::AmbiguousMove => "ambiguous-move",
            Self::NullMove => "null-move",
            Self::UnreadableMove => "unreadable-move",
            Self::Joined => "joined",
            Self::Unbalanced => "unbalanced",
            Self::NoMoves => "no-moves",
            Self::NoResult => "no-result",
            Self::Unterminated => "unterminated",
            Self::Unfinished => "unfinished",
            Self::ResultsDisagree => "results-disagree",
            Self::BadTag => "bad-tag",
            Self::Variant => "variant",
            Self::FenStart => "fen-start",
            Self::Truncated => "truncated",
            Self::Oversized => "oversized",
            Self::NotText => "not-text",
            Self::Rating => "rating",
            Self::TimeControl => "time-control",
            Self::Date => "date",
            Self::Plies => "plies",
            Self::OtherShard => "other-shard",
        }
    }

    /// The cause in words, with what became of the game.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::NotAGame => "text without tags or moves",
            Self::IllegalMove => "an illegal move in the main line; the whole game is dropped",
            Self::AmbiguousMove => "a move that may be one of several; the whole game is dropped",
            Self::NullMove => "a null move in the main line; the whole game is dropped",
            Self::UnreadableMove => "a word that is no move; the whole game is dropped",
            Self::Joined => "moves after the result or a second move 1; the whole text is dropped",
            Self::Unbalanced => "a comment or variation not opened or not closed",
            Self::NoMoves => "no moves",
            Self::NoResult => "no result",
            Self::Unterminated => "no result after the moves, only in a tag: they may be cut",
            Self::Unfinished => "the result is *",
            Self::ResultsDisagree => "tag and movetext tell different results",
            Self::BadTag => "a line among the tags that is no tag pair",
            Self::Variant => "not standard chess",
            Self::FenStart => "not from the start position",
            Self::Truncated => "the input ends within the game",
            Self::Oversized => "longer than any game (1 MiB of text or 17,697 plies)",
            Self::NotText => "zero bytes in the text (binary or UTF-16)",
            Self::Rating => "a rating out of bounds or unknown",
            Self::TimeControl => "another time control, or unknown",
            Self::Date => "a date out of bounds or unknown",
            Self::Plies => "too short or too long",
            Self::OtherShard => "of another shard",
        }
    }

    /// Whether the game itself was in order but is not of those asked for.
    pub fn is_by_filter(self) -> bool {
        matches!(
            self,
            Self::Rating | Self::TimeControl | Self::Date | Self::Plies | Self::OtherShard
        )
    }
}
