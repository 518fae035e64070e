//! The generalised sequential probability ratio test on pairs of games.
//!
//! Source: M. Van den Bergh, "A Practical Introduction to the GSPRT" (2020): under the hypothesis that the
//! expected score is s, the most likely probabilities of the outcomes a_i, found with shares f_i, are
//! f_i / (1 + t (a_i - s)), t being such that they have the mean s. The test's bounds are Wald's.

use serde::{Deserialize, Serialize};

/// What stands for an outcome that did not occur, so that it is not held impossible.
const UNSEEN: f64 = 1e-3;

/// A test of Elo difference `elo1` against `elo0`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sprt {
    /// The difference under H0.
    pub elo0: f64,
    /// The difference under H1.
    pub elo1: f64,
    /// The chance to accept H1 where H0 holds.
    pub alpha: f64,
    /// The chance to accept H0 where H1 holds.
    pub beta: f64,
}

/// Between which the log-likelihood ratio leaves the question open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// At or below it H0 is accepted.
    pub lower: f64,
    /// At or above it H1 is accepted.
    pub upper: f64,
}

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// The difference is `elo0`.
    H0,
    /// The difference is `elo1`.
    H1,
    /// More games are needed.
    Open,
}

impl Sprt {
    /// When to stop.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            lower: (self.beta / (1.0 - self.alpha)).ln(),
            upper: ((1.0 - self.beta) / self.alpha).ln(),
        }
    }

    /// The log-likelihood ratio of H1 to H0.
    pub fn ratio(&self, pairs: &[u64; 5]) -> f64 {
        log_likelihood_ratio(pairs, score_of_elo(self.elo0), score_of_elo(self.elo1))
    }

    /// What the pairs say.
    pub fn verdict(&self, pairs: &[u64; 5]) -> Verdict {
        let (ratio, bounds) = (self.ratio(pairs), self.bounds());
        if ratio >= bounds.upper {
            Verdict::H1
        } else if ratio <= bounds.lower {
            Verdict::H0
        } else {
            Verdict::Open
        }
    }
}

/// The score expected at an Elo difference.
fn score_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-elo / 400.0))
}

/// The log-likelihood ratio of the score `score1` to `score0`, given the pentanomial counts; 0 without
/// pairs.
pub fn log_likelihood_ratio(pairs: &[u64; 5], score0: f64, score1: f64) -> f64 {
    if pairs.iter().all(|&count| count == 0) {
        return 0.0;
    }
    let counts = pairs.map(|count| if count == 0 { UNSEEN } else { count as f64 });
    let total: f64 = counts.iter().sum();
    let shares = counts.map(|count| count / total);
    let (likely0, likely1) = (most_likely(&shares, score0), most_likely(&shares, score1));
    (0..5).map(|i| counts[i] * (likely1[i] / likely0[i]).ln()).sum()
}

/// The most likely probabilities of a pair's scores, given their shares, if the mean is `score`.
fn most_likely(shares: &[f64; 5], score: f64) -> [f64; 5] {
    let away: [f64; 5] = std::array::from_fn(|i| i as f64 / 4.0 - score);
    // The condition falls from infinity to minus infinity between the poles at the outer outcomes.
    let (mut low, mut high) = (-1.0 / away[4], -1.0 / away[0]);
    for _ in 0..200 {
        let t = (low + high) / 2.0;
        let condition: f64 = (0..5).map(|i| shares[i] * away[i] / (1.0 + t * away[i])).sum();
        if condition > 0.0 {
            low = t;
        } else {
            high = t;
        }
    }
    let t = (low + high) / 2.0;
    std::array::from_fn(|i| shares[i] / (1.0 + t * away[i]))
}
