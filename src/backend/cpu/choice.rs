//! Which algorithm computes the convolutions of the tower.

use super::Instructions;
use super::convolution::Algorithm;

/// The fastest for a tower of this many channels and a batch of this size.
pub fn algorithm(channels: usize, batch: usize, instructions: Instructions) -> Algorithm {
    let _ = (channels, instructions);
    match batch {
        1 => Algorithm::F4x2,
        _ => Algorithm::F4x4,
    }
}

/// Positions that are computed together: enough to read the weights seldom, few enough that what is
/// between two convolutions stays in the second-level cache.
pub const GROUP: usize = 16;
pub fn env(n: &'static str, d: usize) -> usize {
    std::env::var(n).ok().map_or(d, |v| v.parse().unwrap())
}
pub static PF: std::sync::LazyLock<usize> = std::sync::LazyLock::new(|| env("PF", 1));
