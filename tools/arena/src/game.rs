//! One game between two contenders, judged by the rules alone.

use crate::contender::{Answer, Fault, Opponent};
use crate::course::Course;
use crate::limits::{Budget, Turn};
use fianchetto::chess::{Color, Outcome};
use fianchetto::search::Score;
use fianchetto_prepare::game::GameResult;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The rules of a game beyond those of chess.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A game that has so many moves of each side is drawn.
    pub max_moves: Option<u32>,
    /// How much a clock may be exceeded: the way to a program and back takes time.
    pub margin: Duration,
    /// How long an answer may take where no clock runs.
    pub patience: Duration,
    /// Whether times are recorded.
    pub times: bool,
}

/// Why a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Reason {
    Checkmate,
    Stalemate,
    InsufficientMaterial,
    FiftyMoves,
    Repetition,
    MoveLimit,
    IllegalMove,
    TimeLoss,
    NoAnswer,
    Crash,
}

impl Reason {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Checkmate => "checkmate",
            Self::Stalemate => "stalemate",
            Self::InsufficientMaterial => "insufficient material",
            Self::FiftyMoves => "fifty-move rule",
            Self::Repetition => "threefold repetition",
            Self::MoveLimit => "move limit",
            Self::IllegalMove => "illegal move",
            Self::TimeLoss => "time forfeit",
            Self::NoAnswer => "no answer",
            Self::Crash => "crash",
        }
    }

    /// The value of PGN's `Termination` tag.
    pub fn termination(self) -> &'static str {
        match self {
            Self::IllegalMove => "rules infraction",
            Self::TimeLoss => "time forfeit",
            Self::NoAnswer | Self::Crash => "abandoned",
            Self::MoveLimit => "adjudication",
            _ => "normal",
        }
    }
}

impl From<Outcome> for Reason {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Checkmate { .. } => Self::Checkmate,
            Outcome::Stalemate => Self::Stalemate,
            Outcome::InsufficientMaterial => Self::InsufficientMaterial,
            Outcome::FiftyMoves => Self::FiftyMoves,
            Outcome::Repetition => Self::Repetition,
        }
    }
}

/// A finished game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Played {
    /// `1-0`, `0-1` or `1/2-1/2`.
    pub result: String,
    /// Why it ended.
    pub reason: Reason,
    /// More about it, such as the move that was not legal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Where it began: a FEN or `startpos`.
    pub start: String,
    /// How many of the moves are the opening's.
    pub opening: usize,
    /// All moves, in UCI notation.
    pub moves: Vec<String>,
    /// Score and depth of each move after the opening, from the mover's side (`+0.31/5`, `+M3/9`); empty
    /// where not told.
    pub scores: Vec<String>,
    /// Milliseconds of each move after the opening.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub millis: Vec<u64>,
}

/// A result as PGN writes it.
pub fn result_text(result: GameResult) -> &'static str {
    match result {
        GameResult::White => "1-0",
        GameResult::Black => "0-1",
        GameResult::Draw => "1/2-1/2",
    }
}

impl Played {
    /// White's half points: 0, 1 or 2.
    pub fn white_half_points(&self) -> u8 {
        match self.result.as_str() {
            "1-0" => 2,
            "0-1" => 0,
            _ => 1,
        }
    }
}

/// Plays a game from the end of an opening on; `players` and `budgets` are White's and Black's.
///
/// # Errors
/// When a contender cannot be used at all.
pub fn play(
    players: [&mut dyn Opponent; 2],
    budgets: [&Budget; 2],
    opening: Course,
    rules: &Rules,
) -> Result<Played, String> {
    let mut course = opening;
    let mut played = Played {
        result: String::new(),
        reason: Reason::Checkmate,
        detail: None,
        start: course.start().to_owned(),
        opening: course.moves().len(),
        moves: Vec::new(),
        scores: Vec::new(),
        millis: Vec::new(),
    };
    let mut left = budgets.map(|budget| budget.clock.map_or(Duration::ZERO, |clock| clock.base));
    let (result, reason, detail) = loop {
        let mover = course.game().board().side_to_move();
        if let Some((result, reason)) = ended(&course, rules) {
            break (result, reason, None);
        }
        let (own, other) = (mover as usize, !mover as usize);
        let turn = Turn::new(
            [budgets[own], budgets[other]],
            [left[own], left[other]],
            rules.patience,
            rules.margin,
        );
        let lost = match mover {
            Color::White => GameResult::Black,
            Color::Black => GameResult::White,
        };
        let started = Instant::now();
        let answer = players[own].choose(&course, &turn);
        let taken = started.elapsed();
        if turn.allowed().is_some_and(|allowed| taken > allowed + rules.margin) {
            let over = taken.saturating_sub(turn.allowed().unwrap_or_default());
            break (lost, Reason::TimeLoss, Some(format!("{} ms too late", over.as_millis())));
        }
        let Answer { best, score, depth, .. } = match answer {
            Ok(answer) => answer,
            Err(Fault::Illegal(text)) => break (lost, Reason::IllegalMove, Some(text)),
            Err(fault @ Fault::NoAnswer) => {
                break (lost, Reason::NoAnswer, Some(fault.to_string()));
            }
            Err(Fault::Died(how)) => break (lost, Reason::Crash, Some(how)),
            Err(Fault::Unusable(reason)) => return Err(reason),
        };
        if let Some(clock) = budgets[own].clock {
            left[own] = left[own].saturating_sub(taken) + clock.increment;
        }
        course.play(best).map_err(|error| error.to_string())?;
        played.scores.push(score.map_or(String::new(), |score| score_text(score, depth)));
        if rules.times {
            played.millis.push(taken.as_millis() as u64);
        }
    };
    played.result = result_text(result).to_owned();
    (played.reason, played.detail) = (reason, detail);
    played.moves = course.moves().to_vec();
    Ok(played)
}

/// Result and reason, once the game is over.
fn ended(course: &Course, rules: &Rules) -> Option<(GameResult, Reason)> {
    if let Some(outcome) = course.game().outcome() {
        let result = match outcome {
            Outcome::Checkmate { winner: Color::White } => GameResult::White,
            Outcome::Checkmate { winner: Color::Black } => GameResult::Black,
            _ => GameResult::Draw,
        };
        return Some((result, outcome.into()));
    }
    let moves = course.moves().len() as u64;
    let limit = rules.max_moves.is_some_and(|most| moves >= 2 * u64::from(most));
    limit.then_some((GameResult::Draw, Reason::MoveLimit))
}

fn score_text(score: Score, depth: Option<u32>) -> String {
    let score = match score {
        Score::Centipawns(score) => format!("{:+.2}", f64::from(score) / 100.0),
        Score::Mate(moves) if moves < 0 => format!("-M{}", moves.unsigned_abs()),
        Score::Mate(moves) => format!("+M{moves}"),
    };
    depth.map_or(score.clone(), |depth| format!("{score}/{depth}"))
}
