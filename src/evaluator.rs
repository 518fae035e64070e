//! Games in, priors over the legal moves and a value out: joins an encoding and a backend.

mod cache;
mod squares;

pub use squares::{Scores, Squares};

use crate::backend::{Backend, BackendError, Batch, Outputs};
use crate::chess::{Board, Game, Move};
use crate::encoding::Encoding;
use cache::Cache;
use std::fmt;
use std::ops::Range;

/// A network that has been given a way to see positions.
///
/// [`Evaluator::evaluate`] is for single positions. Searches queue positions one by one as they come upon
/// them, run the queue in one call of the backend, and read the results, all without allocating.
pub struct Evaluator {
    encoding: Encoding,
    backend: Box<dyn Backend>,
    cache: Cache,
    queue: Vec<Queued>,
    batch: Batch,
    outputs: Outputs,
    /// The priors of all positions in the queue, one after the other. Of a position that waits for the backend
    /// they are what is to be added to the logits: 0, or [`NEVER`].
    priors: Vec<f64>,
    calls: u64,
    evaluated: u64,
}

/// The logit of a move that the encoding cannot name.
const NEVER: f64 = f64::NEG_INFINITY;

/// A position in the queue.
struct Queued {
    key: u64,
    /// Where its priors are.
    priors: Range<usize>,
    /// For the side to move, once known.
    value: f32,
    /// 1 where the network's value is for the side to move, -1 where it is for the other.
    sign: f32,
    /// Its number in the batch; `None` when it was remembered.
    in_batch: Option<usize>,
    board: Board,
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
            queue: Vec::new(),
            batch: Batch::new(encoding.planes()),
            outputs: Outputs::default(),
            priors: Vec::new(),
            calls: 0,
            evaluated: 0,
        }
    }

    /// What evaluates, for people.
    pub fn name(&self) -> String {
        format!("{}, {}", self.backend.name(), self.backend.device())
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

    /// Whether the network values positions.
    pub fn has_value(&self) -> bool {
        self.backend.has_value()
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
        self.clear();
        let moves: Vec<Vec<Move>> = games.iter().map(|game| game.legal_moves()).collect();
        for (game, moves) in games.iter().zip(&moves) {
            self.queue(game, moves);
        }
        self.run()?;
        let evaluation = |(i, moves): (usize, Vec<Move>)| Evaluation {
            priors: moves.into_iter().zip(self.priors(i).iter().copied()).collect(),
            value: self.value(i).into(),
        };
        Ok(moves.into_iter().enumerate().map(evaluation).collect())
    }

    /// Empties the queue.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.batch.clear();
        self.priors.clear();
    }

    /// Adds the current position of `game` to the queue; `moves` are its legal moves.
    pub fn queue(&mut self, game: &Game, moves: &[Move]) {
        let start = self.priors.len();
        let logit = |&mv: &Move| if self.encoding.has_index(mv) { 0.0 } else { NEVER };
        self.priors.extend(moves.iter().map(logit));

        let key = self.encoding.key(game);
        let sign = self.encoding.value_for_mover(game, 1.0);
        let mut queued = Queued {
            key,
            priors: start..start + moves.len(),
            value: 0.0,
            sign,
            in_batch: None,
            board: game.board().clone(),
        };
        match self.cache.get(key, moves.len()) {
            Some((value, logits)) => {
                queued.value = sign * value;
                softmax(logits, &mut self.priors[start..]);
            }
            None => {
                queued.in_batch = Some(self.batch.len());
                self.batch.push(|planes, indices| {
                    self.encoding.encode(game, planes);
                    // Of a move that has no index any logit will do.
                    self.encoding.targets(game, moves, indices);
                });
            }
        }
        self.queue.push(queued);
    }

    /// Evaluates the queue: one call of the backend, or none where all is remembered. How many positions were
    /// not.
    ///
    /// # Errors
    /// When the backend fails or what it gives is no number; there are then no results.
    pub fn run(&mut self) -> Result<u32, EvaluateError> {
        if self.batch.is_empty() {
            return Ok(0);
        }
        self.calls += 1;
        self.evaluated += self.batch.len() as u64;
        (self.backend.evaluate(&self.batch, &mut self.outputs)).map_err(EvaluateError::Backend)?;
        for queued in &mut self.queue {
            let Some(i) = queued.in_batch else {
                continue;
            };
            let (value, logits) =
                (self.outputs.values[i], &self.outputs.logits[self.batch.span(i..i + 1)]);
            finite(logits, "logit", &queued.board)?;
            finite(&[value], "value", &queued.board)?;
            self.cache.put(queued.key, value, logits);
            queued.value = queued.sign * value;
            softmax(logits.iter().copied(), &mut self.priors[queued.priors.clone()]);
        }
        Ok(self.batch.len() as u32)
    }

    /// The probability of each move of position `i` of the queue, in the order in which they were given.
    ///
    /// # Panics
    /// When there is no such position.
    pub fn priors(&self, i: usize) -> &[f64] {
        &self.priors[self.queue[i].priors.clone()]
    }

    /// The value of position `i` of the queue for the side to move.
    ///
    /// # Panics
    /// When there is no such position.
    pub fn value(&self, i: usize) -> f32 {
        self.queue[i].value
    }
}

/// Refuses what is no number; `of` says what the numbers are.
fn finite(numbers: &[f32], of: &'static str, board: &Board) -> Result<(), EvaluateError> {
    // Without a way out of the loop it is several times faster.
    if numbers.iter().fold(true, |all, number| all & number.is_finite()) {
        return Ok(());
    }
    let found = numbers.iter().find(|number| !number.is_finite()).copied().unwrap_or(f32::NAN);
    Err(EvaluateError::Number { found, of, fen: board.to_string() })
}

/// `exp(x - max) / sum` of the sums of the logits and of what is there, 0 or [`NEVER`].
fn softmax(logits: impl Iterator<Item = f32>, probabilities: &mut [f64]) {
    let mut max = NEVER;
    for (probability, logit) in probabilities.iter_mut().zip(logits) {
        *probability += f64::from(logit);
        max = if *probability > max { *probability } else { max };
    }
    if max == NEVER {
        // No named move at all: nothing to share out.
        probabilities.fill(0.0);
        return;
    }
    probabilities.iter_mut().for_each(|logit| *logit = exp(*logit - max));
    let scale = 1.0 / probabilities.iter().sum::<f64>();
    probabilities.iter_mut().for_each(|probability| *probability *= scale);
}

/// `e^x` for `x` up to 0, within 1 part in 10^12, and 0 where that is below 10^-304. It has neither branches nor
/// tables, so that several are computed at once, which [`f64::exp`] does not allow.
#[inline]
fn exp(x: f64) -> f64 {
    /// 1 / k! for k from 0 to 10.
    const SERIES: [f64; 11] = {
        let mut series = [1.0; 11];
        let mut k = 1;
        while k < series.len() {
            series[k] = series[k - 1] / k as f64;
            k += 1;
        }
        series
    };
    /// ln 2 in two parts, of which the first has few digits: any power of two below times it is exact.
    const LN_2: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);
    /// So large that the last bit of what it is added to is worth 1, with room below for negative numbers.
    const INTEGERS: f64 = 1.5 * (1_u64 << 52) as f64;
    // e^x = 2^power e^rest, with the rest within half of ln 2.
    let shifted = x * std::f64::consts::LOG2_E + INTEGERS;
    let power = shifted - INTEGERS;
    let rest = x - power * LN_2.0 - power * LN_2.1;
    let series = SERIES.iter().rev().fold(0.0, |sum, term| sum * rest + term);
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    if x < -700.0 { 0.0 } else { series * scale }
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
    fn exp_is_that_of_the_standard_library() {
        for i in 0..70_000 {
            let x = f64::from(i) * -0.01;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-12, "{x}: {} {}", exp(x), x.exp());
        }
        let extremes = [0.0, -0.0, -701.0, -1e300, f64::NEG_INFINITY];
        assert_eq!(extremes.map(exp), [1.0, 1.0, 0.0, 0.0, 0.0]);
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
