//! Games in, priors over the legal moves and a value out: joins an encoding and a backend.

mod cache;
mod squares;

pub use squares::{Scores, Squares};

use crate::backend::{Backend, BackendError, Batch, Outputs};
use crate::chess::{Game, Move};
use crate::encoding::Encoding;
use cache::Cache;
use std::fmt;

/// A network that has been given a way to see positions.
pub struct Evaluator {
    encoding: Encoding,
    backend: Box<dyn Backend>,
    cache: Cache,
    batch: Batch,
    outputs: Outputs,
    calls: u64,
    evaluated: u64,
}

/// What the network says about one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Every legal move and its probability. They add up to 1; a move that the encoding cannot
    /// name (an under-promotion) has 0.
    pub priors: Vec<(Move, f64)>,
    /// The expected result for the side to move, from -1 (lost) to 1 (won); 0 from a network without values.
    pub value: f64,
}

impl Evaluation {
    /// The most probable move, `None` when there is no legal move.
    pub fn best(&self) -> Option<Move> {
        let mut best: Option<&(Move, f64)> = None;
        for candidate in &self.priors {
            if best.is_none_or(|best| candidate.1 > best.1) {
                best = Some(candidate);
            }
        }
        best.map(|&(mv, _)| mv)
    }
}

/// Why a position could not be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum EvaluateError {
    /// The backend failed.
    Backend(BackendError),
    /// The network gave a number that is no number or infinite.
    Number {
        /// The number.
        found: f32,
        /// `"logit"` or `"value"`.
        of: &'static str,
        /// The position, as FEN.
        fen: String,
    },
}

impl fmt::Display for EvaluateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backend(error) => error.fmt(f),
            Self::Number { found, of, fen } => write!(
                f,
                "the network gave a {of} of {found} for {fen}, expected a finite number; the weights are unusable"
            ),
        }
    }
}

impl std::error::Error for EvaluateError {}

impl Evaluator {
    /// Evaluates with a backend whose network was trained on `encoding`. Nothing is remembered.
    pub fn new(encoding: Encoding, backend: Box<dyn Backend>) -> Self {
        Self {
            encoding,
            backend,
            cache: Cache::new(0),
            batch: Batch::new(encoding.planes()),
            outputs: Outputs::default(),
            calls: 0,
            evaluated: 0,
        }
    }

    /// What evaluates, for people.
    pub fn name(&self) -> String {
        format!("{}, {}", self.backend.name(), self.backend.device())
    }

    /// Whether the network values positions.
    pub fn has_value(&self) -> bool {
        self.backend.has_value()
    }

    /// Remembers what the network says in at most this many bytes; what was remembered before is lost.
    pub fn remember(&mut self, bytes: usize) {
        self.cache = Cache::new(0);
        self.cache = Cache::new(bytes);
    }

    /// The memory that remembering takes, in bytes.
    pub fn remembering(&self) -> usize {
        self.cache.bytes()
    }

    /// How often the backend was called.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// How many positions the backend was given.
    pub fn evaluated(&self) -> u64 {
        self.evaluated
    }

    /// Evaluates the current position of one game.
    pub fn evaluate(&mut self, game: &Game) -> Result<Evaluation, EvaluateError> {
        let mut evaluations = self.evaluate_batch(&[game])?;
        Ok(evaluations.swap_remove(0))
    }

    /// Evaluates the current positions of several games in one call of the backend.
    pub fn evaluate_batch(&mut self, games: &[&Game]) -> Result<Vec<Evaluation>, EvaluateError> {
        self.batch.clear();
        let mut legal_moves = Vec::with_capacity(games.len());
        for game in games {
            let moves: Vec<(Move, Option<u16>)> = (game.legal_moves().into_iter())
                .map(|mv| (mv, self.encoding.index(game, mv)))
                .collect();
            self.batch.push(|planes, indices| {
                self.encoding.encode(game, planes);
                indices.extend(moves.iter().filter_map(|(_, index)| *index));
            });
            legal_moves.push(moves);
        }
        self.run()?;

        let mut evaluations = Vec::with_capacity(games.len());
        for (i, (game, moves)) in games.iter().zip(legal_moves).enumerate() {
            let logits = &self.outputs.logits[self.batch.span(i..i + 1)];
            finite(logits, "logit", game)?;
            finite(&self.outputs.values[i..=i], "value", game)?;
            let mut probabilities = softmax(logits).into_iter();
            let mut prior = |index: Option<u16>| index.and_then(|_| probabilities.next());
            evaluations.push(Evaluation {
                priors: moves
                    .iter()
                    .map(|&(mv, index)| (mv, prior(index).unwrap_or(0.0)))
                    .collect(),
                value: self.encoding.value_for_mover(game, self.outputs.values[i]).into(),
            });
        }
        Ok(evaluations)
    }

    /// Has the backend evaluate the batch, if there is anything in it.
    fn run(&mut self) -> Result<(), EvaluateError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.calls += 1;
        self.evaluated += self.batch.len() as u64;
        (self.backend.evaluate(&self.batch, &mut self.outputs)).map_err(EvaluateError::Backend)
    }
}

/// Refuses what is no number; `of` says what the numbers are.
fn finite(numbers: &[f32], of: &'static str, game: &Game) -> Result<(), EvaluateError> {
    match numbers.iter().find(|number| !number.is_finite()) {
        None => Ok(()),
        Some(&found) => Err(EvaluateError::Number { found, of, fen: game.fen() }),
    }
}

/// `exp(x - max) / sum`, in f64.
fn softmax(logits: &[f32]) -> Vec<f64> {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut weights: Vec<f64> =
        logits.iter().map(|&logit| (f64::from(logit) - f64::from(max)).exp()).collect();
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= sum;
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::fixed::Fixed;

    fn evaluate(fixed: Fixed, fen: &str) -> Result<Evaluation, EvaluateError> {
        let (game, _) = Game::from_fen(fen).unwrap();
        Evaluator::new(Encoding::Canonical19, Box::new(fixed)).evaluate(&game)
    }

    fn prior(evaluation: &Evaluation, uci: &str) -> f64 {
        evaluation.priors.iter().find(|(mv, _)| mv.to_string() == uci).unwrap().1
    }

    /// e2e4 is index 12 * 64 + 28; e^2 against 19 times e^0.
    #[test]
    fn softmax_over_the_legal_moves_only() {
        let fixed = Fixed { logits: vec![(796, 2.0), (0, 50.0)], value: 0.25, ..Fixed::default() };
        let evaluation = evaluate(fixed, "startpos").unwrap();
        assert_eq!(evaluation.priors.len(), 20);
        assert!((prior(&evaluation, "e2e4") - 0.280_004_4).abs() < 1e-6);
        assert!((prior(&evaluation, "a2a3") - 0.037_894_5).abs() < 1e-6);
        assert_eq!(evaluation.value, 0.25);
        assert_eq!(evaluation.best().unwrap().to_string(), "e2e4");
    }

    #[test]
    fn huge_logits_do_not_overflow() {
        let fixed = Fixed { logit: -3e38, logits: vec![(796, 3e38)], ..Fixed::default() };
        let evaluation = evaluate(fixed, "startpos").unwrap();
        assert_eq!(prior(&evaluation, "e2e4"), 1.0);
        assert_eq!(prior(&evaluation, "a2a3"), 0.0);
    }

    #[test]
    fn under_promotions_have_no_prior() {
        let evaluation = evaluate(Fixed::default(), "k7/6P1/8/8/8/8/8/K7 w - - 0 1").unwrap();
        assert_eq!(evaluation.priors.len(), 7);
        assert_eq!(prior(&evaluation, "g7g8q"), 0.25);
        assert_eq!(prior(&evaluation, "g7g8n"), 0.0);
        assert_eq!(prior(&evaluation, "a1b2"), 0.25);
    }

    #[test]
    fn a_finished_game_has_a_value_and_no_priors() {
        let evaluation = evaluate(Fixed::default(), "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").unwrap();
        assert!(evaluation.priors.is_empty() && evaluation.best().is_none());
    }

    #[test]
    fn a_value_that_speaks_for_white_is_turned_to_the_mover() {
        for (encoding, side, value) in [
            (Encoding::Canonical19, "b", 0.25),
            (Encoding::Canonical12, "b", 0.25),
            (Encoding::Absolute14, "b", -0.25),
            (Encoding::Absolute14, "w", 0.25),
        ] {
            let (game, _) = Game::from_fen(&format!("k7/8/8/8/8/8/8/K7 {side} - - 0 1")).unwrap();
            let fixed = Fixed { value: 0.25, ..Fixed::default() };
            let evaluation = Evaluator::new(encoding, Box::new(fixed)).evaluate(&game).unwrap();
            assert_eq!(evaluation.value, value, "{encoding:?} {side}");
        }
    }

    #[test]
    fn no_number_is_refused() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let logits = Fixed { logits: vec![(796, bad)], ..Fixed::default() };
            let value = Fixed { value: bad, ..Fixed::default() };
            for (fixed, word) in [(logits, "logit"), (value, "value")] {
                let error = evaluate(fixed, "startpos").unwrap_err().to_string();
                assert!(error.contains(word) && error.contains("w KQkq - 0 1"), "{error}");
            }
        }
    }
}
