//! What happens to a block of channels between two products, `[64][BLOCK]` for each position, while it
//! lies in the first-level cache.

use super::simd::{Kernel, Simd};
use crate::network::F16;

/// `max(x, 0)` everywhere.
pub struct Relu<'a>(pub &'a mut [f32]);

impl<S: Simd> Kernel<S> for Relu<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: S) {
        for x in self.0.chunks_exact_mut(S::LANES) {
            simd.store(simd.relu(simd.load(x)), x);
        }
    }
}

/// `1 / (1 + e^-x)` everywhere.
pub struct Sigmoid<'a>(pub &'a mut [f32]);

impl<S: Simd> Kernel<S> for Sigmoid<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: S) {
        for x in self.0.chunks_exact_mut(S::LANES) {
            simd.store(simd.sigmoid(simd.load(x)), x);
        }
    }
}

/// The mean of each channel over a board.
pub struct Mean<'a> {
    pub board: &'a [f32],
    /// `[BLOCK]`.
    pub mean: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for Mean<'_> {
    type Output = ();

    /// The ranks one by one, the files apart: eight sums for each vector.
    #[inline(always)]
    fn run(self, simd: S) {
        let board = &self.board[..64 * S::BLOCK];
        for lanes in (0..S::BLOCK).step_by(S::LANES) {
            let mut sums = [simd.splat(0.0); 8];
            for rank in board.chunks_exact(8 * S::BLOCK) {
                for (sum, square) in sums.iter_mut().zip(rank.chunks_exact(S::BLOCK)) {
                    *sum = simd.add(*sum, simd.load(&square[lanes..]));
                }
            }
            let [a, b, c, d, e, f, g, h] = sums;
            let left = simd.add(simd.add(a, b), simd.add(c, d));
            let right = simd.add(simd.add(e, f), simd.add(g, h));
            let mean = simd.mul(simd.add(left, right), simd.splat(1.0 / 64.0));
            simd.store(mean, &mut self.mean[lanes..]);
        }
    }
}

/// `state = relu(state + scale * change + offset)`.
pub struct Residual<'a> {
    pub state: &'a mut [f32],
    pub change: &'a [f32],
    /// `[BLOCK]`.
    pub scale: &'a [f32],
    /// `[BLOCK]`.
    pub offset: &'a [f32],
}

impl<S: Simd> Kernel<S> for Residual<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: S) {
        let halves = [0, S::LANES];
        let scale = halves.map(|half| simd.load(&self.scale[half..]));
        let offset = halves.map(|half| simd.load(&self.offset[half..]));
        let squares = self.state.chunks_exact_mut(S::BLOCK);
        for (state, change) in squares.zip(self.change.chunks_exact(S::BLOCK)) {
            for (i, half) in halves.into_iter().enumerate() {
                let change = simd.mul_add(scale[i], simd.load(&change[half..]), offset[i]);
                let sum = simd.add(simd.load(&state[half..]), change);
                simd.store(simd.relu(sum), &mut state[half..]);
            }
        }
    }
}

/// `z = sigmoid(z) * candidate + (1 - sigmoid(z)) * previous`: the recurrent gate.
pub struct Mix<'a> {
    pub z: &'a mut [f32],
    pub candidate: &'a [f32],
    pub previous: &'a [f32],
}

impl<S: Simd> Kernel<S> for Mix<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: S) {
        let one = simd.splat(1.0);
        let both = self.candidate.chunks_exact(S::LANES).zip(self.previous.chunks_exact(S::LANES));
        for (z, (candidate, previous)) in self.z.chunks_exact_mut(S::LANES).zip(both) {
            let share = simd.sigmoid(simd.load(z));
            let old = simd.mul(simd.sub(one, share), simd.load(previous));
            simd.store(simd.mul_add(share, simd.load(candidate), old), z);
        }
    }
}

/// A number that a weight is stored as.
pub trait Weight: Copy {
    fn to_f32(self) -> f32;

    /// The first [`Simd::LANES`] of them.
    fn load<S: Simd>(simd: S, from: &[Self]) -> S::V;
}

impl Weight for f32 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[f32]) -> S::V {
        simd.load(from)
    }
}

impl Weight for F16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        F16::to_f32(self)
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[F16]) -> S::V {
        simd.load_half(from)
    }
}

impl Weight for i8 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self.into()
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[i8]) -> S::V {
        simd.load_bytes(from)
    }
}

/// The dot product of weights and numbers, as many of each.
pub struct Dot<'a, W>(pub &'a [W], pub &'a [f32]);

impl<S: Simd, W: Weight> Kernel<S> for Dot<'_, W> {
    type Output = f32;

    /// In 64 partial sums, whatever the length of a vector: the order of summation is the same in every set, and
    /// additions do not wait for each other.
    #[inline(always)]
    fn run(self, simd: S) -> f32 {
        let Self(a, b) = self;
        let vectors = SUMS / S::LANES;
        let mut sums = [simd.splat(0.0); SUMS / 4];
        let (long_a, long_b) = (a.chunks_exact(SUMS), b.chunks_exact(SUMS));
        let rest: f32 =
            (long_a.remainder().iter().zip(long_b.remainder())).map(|(a, b)| a.to_f32() * b).sum();
        for (a, b) in long_a.zip(long_b) {
            for (i, sum) in sums[..vectors].iter_mut().enumerate() {
                let at = i * S::LANES;
                *sum = simd.mul_add(W::load(simd, &a[at..]), simd.load(&b[at..]), *sum);
            }
        }
        let mut numbers = [0.0; SUMS];
        for (i, sum) in sums[..vectors].iter().enumerate() {
            simd.store(*sum, &mut numbers[i * S::LANES..]);
        }
        let mut half = SUMS / 2;
        while half > 0 {
            let (low, high) = numbers.split_at_mut(half);
            for (low, high) in low.iter_mut().zip(high) {
                *low += *high;
            }
            half /= 2;
        }
        numbers[0] + rest
    }
}

/// Partial sums of a dot product.
const SUMS: usize = 64;

/// The hyperbolic tangent of one number, to a few units of the last place of 1: the standard library's has other
/// bits on other systems.
pub struct Tanh(pub f32);

impl<S: Simd> Kernel<S> for Tanh {
    type Output = f32;

    /// `tanh(x) = 2 sigmoid(2 x) - 1`.
    #[inline(always)]
    fn run(self, simd: S) -> f32 {
        let mut lanes = [0.0; 16];
        simd.store(simd.sigmoid(simd.splat(2.0 * self.0)), &mut lanes);
        2.0 * lanes[0] - 1.0
    }
}
