//! The written file against the checkpoint as understood here, by what their networks say about positions.

use crate::write::{Float, Weights};
use crate::{Failure, Result, fail};
use fianchetto::backend::cpu::Cpu;
use fianchetto::chess::Game;
use fianchetto::evaluator::{Evaluation, Evaluator};
use fianchetto::network::Network;
use std::path::Path;

/// How many positions are compared.
const POSITIONS: usize = 100;

/// Reads the file at `path` again and compares its forward passes with those of the unrounded
/// `weights`; what came out, for people.
///
/// # Errors
/// When the file cannot be read, or says something else although nothing was rounded.
pub fn verify(weights: &Weights, path: &Path, dtype: Float) -> Result<Vec<String>> {
    let cannot =
        |e: &dyn std::fmt::Display| Failure(format!("cannot verify {}: {e}", path.display()));
    let (unrounded, _) = weights.encode(Float::F32)?;
    let expected = Network::from_safetensors(&unrounded).map_err(|e| cannot(&e))?;
    drop(unrounded);
    let found = Network::load(path).map_err(|e| cannot(&e))?;
    let evaluate = |network: Network, games: &[Game]| {
        let encoding = network.spec.encoding;
        let mut evaluator = Evaluator::new(encoding, Box::new(Cpu::new(network, 1)));
        let games: Vec<&Game> = games.iter().collect();
        evaluator.evaluate_batch(&games).map_err(|e| cannot(&e))
    };
    let games = positions(POSITIONS);
    let difference = Difference::between(&evaluate(expected, &games)?, &evaluate(found, &games)?);
    if dtype == Float::F32 && (difference.probability, difference.value) != (0.0, 0.0) {
        return fail(format!(
            "{} says something else than the checkpoint: {}; please report it",
            path.display(),
            difference.text()
        ));
    }
    Ok(vec![format!(
        "verified against the checkpoint as understood here, not against PyTorch: {}",
        difference.text()
    )])
}

struct Difference {
    positions: usize,
    same_move: usize,
    probability: f64,
    value: f64,
}

impl Difference {
    fn between(expected: &[Evaluation], found: &[Evaluation]) -> Self {
        let mut difference =
            Self { positions: expected.len(), same_move: 0, probability: 0.0, value: 0.0 };
        for (expected, found) in expected.iter().zip(found) {
            difference.same_move += usize::from(expected.best() == found.best());
            difference.value = difference.value.max((expected.value - found.value).abs());
            for ((_, p), (_, q)) in expected.priors.iter().zip(&found.priors) {
                difference.probability = difference.probability.max((p - q).abs());
            }
        }
        difference
    }

    fn text(&self) -> String {
        format!(
            "same best move in {} of {} positions, largest difference of a probability {:.3e}, of a value {:.3e}",
            self.same_move, self.positions, self.probability, self.value
        )
    }
}

/// The ends of random games of 1 to 80 plies, the same ones every time, all still going on.
fn positions(count: usize) -> Vec<Game> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |limit: usize| {
        // Marsaglia's xorshift.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % limit as u64) as usize
    };
    let mut playout = |plies: usize| {
        let mut game = Game::default();
        for _ in 0..plies {
            let moves = game.legal_moves();
            let mut next = game.clone();
            if next.play(moves[below(moves.len())]).is_err() || next.outcome().is_some() {
                break;
            }
            game = next;
        }
        game
    };
    (0..count).map(|i| playout(1 + i % 80)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn positions_are_many_and_playable() {
        let games = positions(POSITIONS);
        assert_eq!(games.len(), 100);
        assert!(
            games.iter().all(|game| game.outcome().is_none() && !game.legal_moves().is_empty())
        );
        assert!(games.iter().map(Game::fen).collect::<HashSet<_>>().len() >= 99);
    }

    #[test]
    fn a_difference_is_seen() {
        let mv = |text: &str| Game::default().play_uci(text).unwrap();
        let evaluation = |p: f64, value| Evaluation {
            priors: vec![(mv("e2e4"), p), (mv("d2d4"), 1.0 - p)],
            value,
        };
        let expected = [evaluation(0.75, 0.5), evaluation(0.75, 0.5)];
        let found = [evaluation(0.5, 0.5), evaluation(0.25, 0.25)];
        let difference = Difference::between(&expected, &found);
        assert_eq!((difference.positions, difference.same_move), (2, 1));
        assert_eq!((difference.probability, difference.value), (0.5, 0.25));
    }
}
