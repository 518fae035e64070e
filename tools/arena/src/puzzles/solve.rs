//! A puzzle's questions, and who answers them how.

use super::file::Puzzle;
use crate::contender::Reply;
use crate::course::Course;
use crate::kind::{MoveKind, mates};
use fianchetto::chess::Move;
use serde::{Deserialize, Serialize};

/// The positions of a puzzle where the solver moves, along the file's line.
pub struct Questions {
    /// The positions.
    pub courses: Vec<Course>,
    /// The moves that are right, in each of them.
    accepted: Vec<Vec<Move>>,
    kind: MoveKind,
    legal: usize,
}

/// A puzzle and how it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Lichess's name for it.
    pub id: String,
    /// Its rating.
    pub rating: u32,
    /// What sort of move its first is.
    pub kind: MoveKind,
    /// Legal moves in the first position.
    pub legal: usize,
    /// Whether it is a mate in one.
    pub mate_in_one: bool,
    /// Whether the line has an under-promotion.
    pub under_promotion: bool,
    /// For each player, whether each solver move was right: `101`.
    pub right: Vec<String>,
}

impl Questions {
    /// The questions of a puzzle.
    ///
    /// # Errors
    /// When its line cannot be played.
    pub fn of(puzzle: &Puzzle) -> Result<Self, String> {
        let failed = |reason: String| {
            format!("puzzle {}: {reason}; the file is damaged, copy it anew", puzzle.id)
        };
        let mut course = Course::new(&puzzle.fen).map_err(failed)?;
        let mut questions =
            Self { courses: Vec::new(), accepted: Vec::new(), kind: MoveKind::Quiet, legal: 0 };
        for (ply, text) in puzzle.moves.iter().enumerate() {
            let before = course.clone();
            let wanted = course.play_uci(text).map_err(|error| failed(error.to_string()))?;
            if ply % 2 == 1 {
                questions.push(before, wanted);
            }
        }
        Ok(questions)
    }

    fn push(&mut self, course: Course, wanted: Move) {
        let board = course.game().board();
        let moves = course.game().legal_moves();
        if self.courses.is_empty() {
            (self.kind, self.legal) = (MoveKind::of(board, wanted), moves.len());
        }
        // A mate ends the line; any other is as good.
        let any_mate = mates(board, wanted);
        let accepts = |mv: &Move| *mv == wanted || (any_mate && mates(board, *mv));
        self.accepted.push(moves.into_iter().filter(accepts).collect());
        self.courses.push(course);
    }

    /// The outcome, if each player gave these replies.
    pub fn outcome(&self, puzzle: &Puzzle, replies: &[&[Reply]]) -> Outcome {
        let right = replies.iter().map(|replies| {
            let right = replies.iter().zip(&self.accepted);
            right
                .map(|(reply, accepted)| if accepted.contains(&reply.best) { '1' } else { '0' })
                .collect()
        });
        Outcome {
            id: puzzle.id.clone(),
            rating: puzzle.rating,
            kind: self.kind,
            legal: self.legal,
            mate_in_one: puzzle.mate_in_one,
            under_promotion: puzzle.under_promotion(),
            right: right.collect(),
        }
    }
}

impl Outcome {
    /// Solver moves.
    pub fn length(&self) -> usize {
        self.right.first().map_or(0, String::len)
    }

    /// Whether a player found the solver move of this number.
    pub fn found(&self, player: usize, step: usize) -> bool {
        self.right[player].as_bytes().get(step) == Some(&b'1')
    }

    /// Whether a player found every move.
    pub fn whole(&self, player: usize) -> bool {
        !self.right[player].contains('0')
    }
}
