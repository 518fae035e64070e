//! McNemar's test: two players on the same cases.

use serde::Serialize;

/// McNemar's exact test. If neither player is better, the cases that only one of them gets right fall to
/// either like a coin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct McNemar {
    /// All cases.
    pub count: u64,
    /// Cases that only the first gets right.
    pub only_first: u64,
    /// Cases that only the second gets right.
    pub only_second: u64,
    /// The two-sided probability of a split at least as uneven as that found.
    pub p: f64,
}

impl McNemar {
    /// The test on these counts.
    pub fn new(count: u64, only_first: u64, only_second: u64) -> Self {
        let (trials, fewer) = (only_first + only_second, only_first.min(only_second));
        // The logarithm of trials over k, times 2^-trials, from one k to the next.
        let mut log = -(trials as f64) * std::f64::consts::LN_2;
        let mut tail = log.exp();
        for k in 1..=fewer {
            log += ((trials - k + 1) as f64 / k as f64).ln();
            tail += log.exp();
        }
        Self { count, only_first, only_second, p: (2.0 * tail).min(1.0) }
    }

    /// The test on successes case by case.
    pub fn of(cases: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let (mut count, mut only) = (0, [0, 0]);
        for (first, second) in cases {
            count += 1;
            only[0] += u64::from(first && !second);
            only[1] += u64::from(second && !first);
        }
        Self::new(count, only[0], only[1])
    }
}
