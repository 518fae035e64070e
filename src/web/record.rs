//! A game on the board as PGN.

use super::history::History;
use crate::chess::Move;
use crate::chess::pgn::{self, Pgn};

/// What a PGN text said of a game beside its start.
#[derive(Clone, Debug)]
pub struct Source {
    tags: Vec<(String, String)>,
    moves: Vec<Move>,
    result: String,
}

impl From<Pgn> for Source {
    fn from(read: Pgn) -> Self {
        // The position is the game's own, and is written with it.
        let mut tags = read.tags;
        tags.retain(|(name, _)| !["SetUp", "FEN"].contains(&&**name));
        Self { tags, moves: read.moves, result: read.result }
    }
}

/// The game with the tags of the text that it was read from, as long as it is that game; else with the names of
/// those who sit at the board, White first.
pub fn write(
    history: &History,
    source: Option<&Source>,
    [white, black]: [&str; 2],
    result: &str,
) -> String {
    let source = source.filter(|source| source.moves == history.moves() && !source.tags.is_empty());
    let own = [
        ("Event", "Fianchetto"),
        ("Site", "?"),
        ("Date", "????.??.??"),
        ("Round", "?"),
        ("White", white),
        ("Black", black),
        ("Result", result),
    ];
    let (tags, result) = match source {
        Some(source) => (
            source.tags.iter().map(|(name, value)| (&**name, &**value)).collect(),
            source.result.as_str(),
        ),
        None => (own.to_vec(), result),
    };
    // The moves were played, so they are legal.
    pgn::write(&tags, history.start(), history.moves(), &[], result).unwrap_or_default()
}
