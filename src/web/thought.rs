//! What a player thinks of a position, for people.

use crate::chess::{Board, Color, Game, notation};
use crate::search::{Line, Report, Score};
use serde::Serialize;

/// Candidate moves shown at most.
const LINES: usize = 6;

/// Moves shown of what is expected at most.
const MOVES: usize = 8;

/// What a player thinks. All figures are from White's side.
#[derive(Debug, Default, Serialize)]
pub struct Thought {
    /// Positions evaluated.
    nodes: u64,
    /// Plies.
    depth: u32,
    /// From -1, Black wins, to 1.
    value: Option<f64>,
    /// The candidates, best first.
    lines: Vec<Candidate>,
    /// Why there is no thought.
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Candidate {
    uci: String,
    /// The moves expected, this one first.
    line: String,
    /// Share of the player's belief, 0 to 1.
    p: Option<f64>,
    visits: Option<u32>,
    /// Hundredths of a pawn.
    cp: Option<i32>,
    /// Moves to mate; negative when Black mates.
    mate: Option<i32>,
}

impl Thought {
    /// A report on the position of `game`.
    pub fn new(game: &Game, report: &Report) -> Self {
        let board = game.board();
        let white = board.side_to_move() == Color::White;
        let Report { depth, nodes, value, lines, .. } = report;
        Self {
            nodes: *nodes,
            depth: *depth,
            value: value.map(|value| if white { value } else { -value }),
            lines: lines.iter().take(LINES).filter_map(|line| candidate(board, line)).collect(),
            error: None,
        }
    }

    /// There is no thought, for a reason in words.
    pub fn failed(reason: String) -> Self {
        Self { error: Some(reason), ..Self::default() }
    }
}

fn candidate(board: &Board, line: &Line) -> Option<Candidate> {
    let white = board.side_to_move() == Color::White;
    let from_white = |score: i32| if white { score } else { -score };
    let (cp, mate) = match line.score {
        None => (None, None),
        Some(Score::Centipawns(score)) => (Some(from_white(score)), None),
        Some(Score::Mate(moves)) => (None, Some(from_white(moves))),
    };
    let mut after = board.clone();
    let mut words = Vec::new();
    for &mv in line.moves.iter().take(MOVES) {
        words.push(notation::to_san(&after, mv).ok()?);
        after.play_unchecked(mv);
    }
    let uci = notation::to_uci(board, *line.moves.first()?);
    let (p, visits) = (line.probability, line.visits);
    Some(Candidate { uci, line: words.join(" "), p, visits, cp, mate })
}
