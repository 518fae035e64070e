//! Two networks on the same positions.

use super::threads;
use crate::{Failure, Result};
use fianchetto::backend::cpu::Cpu;
use fianchetto::chess::Game;
use fianchetto::evaluator::{Evaluation, Evaluator};
use fianchetto::network::Network;
use std::fmt;

/// Positions in a batch.
const BATCH: usize = 256;

/// How one network differs from another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    positions: usize,
    same_move: usize,
    /// Sums and largest, of the values.
    value: f64,
    largest_value: f64,
    /// Sum over the positions of half of the differences of all probabilities.
    probability: f64,
}

impl Difference {
    fn note(&mut self, one: &Evaluation, other: &Evaluation) {
        self.positions += 1;
        self.same_move += usize::from(one.best() == other.best());
        let value = (one.value - other.value).abs();
        self.value += value;
        self.largest_value = self.largest_value.max(value);
        let moves = one.priors.iter().zip(&other.priors);
        self.probability += moves.map(|((_, p), (_, q))| (p - q).abs()).sum::<f64>() / 2.0;
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.positions.max(1) as f64;
        write!(
            f,
            "same best move in {:.2} % of {}, value {:.4} off on average and {:.4} at most, {:.2} % of probability moved",
            100.0 * self.same_move as f64 / count,
            self.positions,
            self.value / count,
            self.largest_value,
            100.0 * self.probability / count
        )
    }
}

/// Evaluates positions with both.
///
/// # Errors
/// When a network gives no number.
pub fn compare(one: Network, other: Network, games: &[Game]) -> Result<Difference> {
    let [mut one, mut other] = [one, other].map(|network| {
        Evaluator::new(network.spec.encoding, Box::new(Cpu::new(network, threads())))
    });
    let mut difference = Difference::default();
    for games in games.chunks(BATCH) {
        let games: Vec<&Game> = games.iter().collect();
        let evaluate = |evaluator: &mut Evaluator| {
            evaluator.evaluate_batch(&games).map_err(|e| Failure(format!("cannot compare: {e}")))
        };
        let (one, other) = (evaluate(&mut one)?, evaluate(&mut other)?);
        one.iter().zip(&other).for_each(|(one, other)| difference.note(one, other));
    }
    Ok(difference)
}
