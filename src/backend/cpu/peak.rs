//! What a core can do at most.

use super::simd::bytes::{Bytes, Steady};
use super::simd::{Kernel, Simd};
use std::hint::black_box;
use std::time::Instant;

/// Steps of a measurement: some tens of microseconds, seldom interrupted.
const STEPS: usize = 10_000;
const MEASUREMENTS: usize = 500;

/// Multiplications with addition, of one number each, that a core does in a second, with nothing to read or
/// to write.
pub fn multiplications_per_second<S: Simd>(simd: S) -> f64 {
    (STEPS * SUMS * S::LANES) as f64 / fastest(|| simd.run(Multiply))
}

/// The same for bytes.
pub fn byte_multiplications_per_second<B: Bytes>(simd: Steady<B>) -> f64 {
    (STEPS * SUMS * B::STEP * Steady::<B>::LANES) as f64 / fastest(|| simd.run(MultiplyBytes))
}

/// In seconds.
fn fastest(work: impl Fn() -> f32) -> f64 {
    let times = (0..MEASUREMENTS).map(|_| {
        let started = Instant::now();
        black_box(work());
        started.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Independent sums: more than the latency of two units hides.
const SUMS: usize = 12;

struct Multiply;

impl<S: Simd> Kernel<S> for Multiply {
    type Output = f32;

    #[inline(always)]
    fn run(self, simd: S) -> f32 {
        let mut sums = [simd.splat(1.0); SUMS];
        let factor = simd.splat(black_box(0.5));
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = simd.mul_add(*sum, factor, factor);
            }
        }
        let mut total = sums[0];
        for sum in &sums[1..] {
            total = simd.add(total, *sum);
        }
        simd.sum(total)
    }
}

struct MultiplyBytes;

impl<B: Bytes> Kernel<Steady<B>> for MultiplyBytes {
    type Output = f32;

    #[inline(always)]
    fn run(self, simd: Steady<B>) -> f32 {
        let (inputs, weights) = ([[1_u8; 64]; SUMS], [1_i8; 128]);
        // SAFETY: no set reads more of it.
        let weights = unsafe { simd.bytes.weights(black_box(&weights).as_ptr()) };
        let mut sums = [simd.bytes.none(); SUMS];
        for _ in 0..STEPS {
            // Read anew each time, or the compiler would multiply once.
            for (sum, inputs) in sums.iter_mut().zip(black_box(&inputs)) {
                // SAFETY: as the weights.
                let inputs = unsafe { simd.bytes.inputs(inputs.as_ptr()) };
                *sum = simd.bytes.add(*sum, inputs, weights);
            }
        }
        sums.into_iter().map(|sum| simd.sum(simd.bytes.total(sum))).sum()
    }
}
