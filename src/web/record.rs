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

/// The game with the tags of the text that it was read from, as long as that game is in it whole, else with the names of those
/// who sit at the board, White first; its result is that of the text until it goes on. What the text said beside the
/// moves stays as far as they are the same.
pub fn write(
    history: &History,
    source: Option<&Source>,
    [white, black]: [&str; 2],
    result: &str,
) -> String {
    let same = |source: &Source| {
        let moves = source.moves.iter().zip(history.moves());
        moves.take_while(|(one, other)| one == other).count()
    };
    let remarks = source.map_or(&[][..], |source| &source.remarks[..=same(source)]);
    let source = source.filter(|source| same(source) == source.moves.len());
    let result = match source {
        Some(source) if source.moves.len() == history.moves().len() => &source.result,
        _ => result,
    };
    let tags = match source {
        Some(Source { tags, .. }) if !tags.is_empty() => {
            let value = |name: &str, value| if name == "Result" { result } else { value };
            tags.iter().map(|(name, text)| (&**name, value(name, text))).collect()
        }
        _ => vec![
            ("Event", "Fianchetto"),
            ("Site", "?"),
            ("Date", "????.??.??"),
            ("Round", "?"),
            ("White", white),
            ("Black", black),
            ("Result", result),
        ],
    };
    // The moves were played, so they are legal.
    pgn::write(&tags, history.start(), history.moves(), remarks, result).unwrap_or_default()
}
