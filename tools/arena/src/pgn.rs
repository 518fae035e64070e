//! Games as PGN (specification of 1994), with scores, depths and times in comments.

use crate::course::Course;
use crate::game::Played;
use fianchetto::chess::{Color, notation};
use std::fmt::Write;

/// The longest line of movetext.
const WIDTH: usize = 80;

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
    let mut text = String::new();
    let mut tag = |name: &str, value: &str| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(text, "[{name} \"{}\"]", value.replace(char::is_control, " "));
    };
    tag("Event", "fianchetto-arena");
    tag("Site", "?");
    tag("Date", "????.??.??");
    tag("Round", &heading.round);
    tag("White", heading.white);
    tag("Black", heading.black);
    tag("Result", &played.result);
    if played.start != "startpos" {
        tag("SetUp", "1");
        tag("FEN", &played.start);
    }
    tag("PlyCount", &played.moves.len().to_string());
    tag("Termination", played.reason.termination());
    text.push('\n');

    let mut words = Vec::new();
    let mut course = Course::new(&played.start)?;
    for (i, uci) in played.moves.iter().enumerate() {
        let board = course.game().board();
        let number = board.fullmove_number();
        match board.side_to_move() {
            Color::White => words.push(format!("{number}.")),
            // A comment stands between any two moves.
            Color::Black => words.push(format!("{number}...")),
        }
        let mv = notation::from_uci(board, uci).map_err(|error| error.to_string())?;
        words.push(notation::to_san(board, mv).map_err(|error| error.to_string())?);
        words.extend(comment(played, i).split(' ').map(str::to_owned));
        course.play(mv).map_err(|error| error.to_string())?;
    }
    let end = match &played.detail {
        Some(detail) => format!("{{{}: {}}}", played.reason.words(), detail.replace('}', ")")),
        None => format!("{{{}}}", played.reason.words()),
    };
    words.extend(end.split_whitespace().map(str::to_owned));
    words.push(played.result.clone());

    let mut column = 0;
    for word in words {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(&word);
        column += length;
    }
    text.push_str("\n\n");
    Ok(text)
}

/// `{book}`, or score and time: `{+0.31/5 0.120s}`.
fn comment(played: &Played, ply: usize) -> String {
    let Some(i) = ply.checked_sub(played.opening) else { return "{book}".to_owned() };
    let score = played.scores.get(i).filter(|score| !score.is_empty()).cloned();
    let time = played.millis.get(i).map(|&time| format!("{:.3}s", time as f64 / 1000.0));
    let parts: Vec<String> = [score, time].into_iter().flatten().collect();
    if parts.is_empty() { "{-}".to_owned() } else { format!("{{{}}}", parts.join(" ")) }
}
