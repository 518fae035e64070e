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

/// Positions that are computed together: enough to read the weights seldom, few enough that what lies
/// between two convolutions stays near.
pub const GROUP: usize = 8;

/// Numbers of products that are kept before they become maps: half of a small second-level cache.
const PRODUCTS: usize = 64 << 10;

/// How many blocks of output channels, of so many products each, one piece of work computes. Many: a piece
/// reads its input once. Few: each of so many threads gets two pieces, and all are done at about one time.
pub fn span(blocks: usize, products: usize, threads: usize) -> usize {
    let share = if threads == 1 { blocks } else { blocks / (2 * threads) };
    share.min(PRODUCTS / products.max(1)).clamp(1, blocks)
}
