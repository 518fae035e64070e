//! What is best for a size and a machine, from measurements.

use super::Instructions;
use super::convolution::Algorithm;

/// The fastest algorithm for a tower of this many channels and a batch of this size.
///
/// Between them lies arithmetic against the reading of weights: see [`super::convolution`]. The larger the
/// batch, the less of the latter falls on a position; the more channels, the less of the weights the
/// caches keep; the faster the arithmetic, the sooner it waits for them.
///
/// Measured for AVX2 on a Zen 3 (64 x 6, 128 x 8, 256 x 10, batches of 1, 2, 4 and 8) and, with prototypes,
/// for AVX-512 on a Sapphire Rapids (128 x 8). The others are estimates.
pub fn algorithm(channels: usize, batch: usize, instructions: Instructions) -> Algorithm {
    use Algorithm::{F2x2, F4x2, F4x4};
    let by_batch = match (instructions, channels) {
        (Instructions::Avx2, ..=96) => [F4x4, F4x4, F4x4],
        (Instructions::Avx2, ..=192) => [F2x2, F4x2, F4x4],
        (Instructions::Avx2, _) => [F4x2, F4x4, F4x4],
        (Instructions::Avx512, _) => [F2x2, F4x2, F4x4],
        (Instructions::Neon, _) => [F4x2, F4x2, F4x4],
        // The others are for networks of bytes, for which there is nothing to choose.
        _ => [F4x4, F4x4, F4x4],
    };
    match batch {
        ..=1 => by_batch[0],
        2..=3 => by_batch[1],
        _ => by_batch[2],
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
