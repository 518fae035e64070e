//! Games as PGN (specification of 1994), with scores, depths and times in comments.

use crate::course::Course;
use crate::game::Played;
use fianchetto::chess::pgn;

/// By what the PGN of this program is known.
pub const MARK: &str = "[Event \"fianchetto-arena\"]";

/// A game's tags that it does not know itself.
pub struct Heading<'a> {
    /// `1.2`: the second game of the first pair.
    pub round: String,
    /// White's name.
    pub white: &'a str,
    /// Black's name.
    pub black: &'a str,
}

/// The game as PGN, a blank line after it.
///
/// # Errors
/// When the moves cannot be played, as in a record that was changed.
pub fn write(heading: &Heading<'_>, played: &Played) -> Result<String, String> {
    let mut course = Course::new(&played.start)?;
    let start = course.game().clone();
    let mut moves = Vec::with_capacity(played.moves.len());
    for uci in &played.moves {
        moves.push(course.play_uci(uci).map_err(|error| error.to_string())?);
    }
    let comments = (0..moves.len()).map(|ply| pgn::comment(&comment(played, ply)));
    let mut remarks: Vec<String> = std::iter::once(String::new()).chain(comments).collect();
    let end = match &played.detail {
        Some(detail) => format!("{}: {detail}", played.reason.words()),
        None => played.reason.words().to_owned(),
    };
    let last = remarks.len() - 1;
    remarks[last] = format!("{} {}", remarks[last], pgn::comment(&end)).trim().to_owned();
    let plies = moves.len().to_string();
    let tags = [
        ("Event", "fianchetto-arena"),
        ("Site", "?"),
        ("Date", "????.??.??"),
        ("Round", &heading.round),
        ("White", heading.white),
        ("Black", heading.black),
        ("Result", &played.result),
        ("PlyCount", &plies),
        ("Termination", played.reason.termination()),
    ];
    let text = pgn::write(&tags, &start, &moves, &remarks, &played.result);
    Ok(text.map_err(|error| error.to_string())? + "\n")
}

/// `book`, or score and time: `+0.31/5 0.120s`.
fn comment(played: &Played, ply: usize) -> String {
    let Some(i) = ply.checked_sub(played.opening) else { return "book".to_owned() };
    let score = played.scores.get(i).filter(|score| !score.is_empty()).cloned();
    let time = played.millis.get(i).map(|&time| format!("{:.3}s", time as f64 / 1000.0));
    let parts: Vec<String> = [score, time].into_iter().flatten().collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}
