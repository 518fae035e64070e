//! A game as JSON.

use super::history::Written;
use super::seat::Seat;
use super::session::State;
use super::thought::Thought;
use crate::chess::{Color, Outcome, notation};
use crate::uci::PlayerKind;
use serde::Serialize;

/// All that the page shows of a game but the thoughts.
#[derive(Serialize)]
struct View<'a> {
    id: &'a str,
    /// Grows with every change.
    version: u64,
    /// Where the game began and where it is, in Forsyth-Edwards notation.
    start: String,
    fen: String,
    /// How many of the moves are on the board.
    ply: usize,
    moves: &'a [Written],
    turn: &'static str,
    check: bool,
    legal: Vec<Legal>,
    outcome: Option<End>,
    white: Seat,
    black: Seat,
    analysis: Seat,
    /// The engines to choose from.
    players: Vec<&'static str>,
    paused: bool,
    /// Milliseconds.
    pace: u128,
    /// Whether the side to move thinks.
    thinking: bool,
    problem: Option<&'a str>,
    notes: &'a [String],
    position: u64,
}

#[derive(Serialize)]
struct Legal {
    #[serde(flatten)]
    written: Written,
    /// The rook's square when castling: the move may be shown as the king taking it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rook: Option<String>,
}

#[derive(Serialize)]
struct End {
    result: &'static str,
    reason: String,
}

#[derive(Serialize)]
struct Thoughts<'a> {
    position: u64,
    mover: Option<&'a Thought>,
    analyst: Option<&'a Thought>,
}

/// The state of a game.
pub fn state(id: &str, players: &[PlayerKind], state: &State) -> String {
    let history = &state.history;
    let (game, board) = (history.game(), history.game().board());
    let outcome = game.outcome();
    let legal = |mv| {
        let rook = notation::is_castling(board, mv).then(|| mv.to.to_string());
        let (uci, san) = (notation::to_uci(board, mv), notation::to_san(board, mv).ok()?);
        Some(Legal { written: Written { uci, san }, rook })
    };
    let moves = if outcome.is_some() { Vec::new() } else { game.legal_moves() };
    let view = View {
        id,
        version: state.versions.0,
        start: history.start().fen(),
        fen: game.fen(),
        ply: history.ply(),
        moves: history.written(),
        turn: side(history.side_to_move()),
        check: !board.checkers().is_empty(),
        legal: moves.into_iter().filter_map(legal).collect(),
        outcome: outcome.map(|end| End { result: result(end), reason: end.to_string() }),
        white: state.white,
        black: state.black,
        analysis: state.analysis,
        players: players.iter().map(|player| player.name()).collect(),
        paused: state.paused,
        pace: state.pace.as_millis(),
        thinking: state.mover.task.is_some(),
        problem: state.problem.as_deref(),
        notes: &state.notes,
        position: state.position,
    };
    json(&view)
}

/// What is thought in a game.
pub fn thoughts(state: &State) -> String {
    json(&Thoughts {
        position: state.position,
        mover: state.mover.thought.as_ref(),
        analyst: state.analyst.thought.as_ref(),
    })
}

/// An outcome as the tag `Result` has it.
pub fn result(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Checkmate { winner: Color::White } => "1-0",
        Outcome::Checkmate { winner: Color::Black } => "0-1",
        _ => "1/2-1/2",
    }
}

fn side(color: Color) -> &'static str {
    match color {
        Color::White => "white",
        Color::Black => "black",
    }
}

/// Structs with names for keys always have a JSON form.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
