//! A game on the board as PGN.

use super::history::History;
use crate::chess::Move;
use crate::chess::pgn::{self, Pgn};

/// What a PGN text said of a game beside its start.
#[derive(Clone, Debug)]
pub struct Source {
    tags: Vec<(String, String)>,
    moves: Vec<Move>,
    remarks: Vec<String>,
    result: String,
}

impl From<Pgn> for Source {
    fn from(read: Pgn) -> Self {
        // The position is the game's own, and is written with it.
        let mut tags = read.tags;
        tags.retain(|(name, _)| !["SetUp", "FEN"].contains(&&**name));
        Self { tags, moves: read.moves, remarks: read.remarks, result: read.result }
    }
}

/// The game with the tags and the result of the text that it was read from, as long as it is that game; else with the names of
/// those who sit at the board, White first. What the text said beside the moves stays as far as they are the same.
pub fn write(
    history: &History,
    source: Option<&Source>,
    [white, black]: [&str; 2],
    result: &str,
) -> String {
    let remarks = source.map_or(&[][..], |source| {
        let moves = source.moves.iter().zip(history.moves());
        let same = moves.take_while(|(one, other)| one == other).count();
        &source.remarks[..=same]
    });
    let source = source.filter(|source| source.moves == history.moves());
    let result = source.map_or(result, |source| &source.result);
    let own = [
        ("Event", "Fianchetto"),
        ("Site", "?"),
        ("Date", "????.??.??"),
        ("Round", "?"),
        ("White", white),
        ("Black", black),
        ("Result", result),
    ];
    let tags = match source {
        Some(Source { tags, .. }) if !tags.is_empty() => {
            tags.iter().map(|(name, value)| (&**name, &**value)).collect()
        }
        _ => own.to_vec(),
    };
    // The moves were played, so they are legal.
    pgn::write(&tags, history.start(), history.moves(), remarks, result).unwrap_or_default()
}
