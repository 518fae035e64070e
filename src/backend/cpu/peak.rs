//! What a core can do at most.

use super::simd::{Kernel, Simd};
use std::hint::black_box;
use std::time::Instant;

/// Steps of a measurement: some tens of microseconds, seldom interrupted.
const STEPS: usize = 10_000;
const MEASUREMENTS: usize = 500;

/// Multiplications with addition, of one number each, that a core does in a second, with nothing to read or
/// to write.
pub fn multiplications_per_second<S: Simd>(simd: S) -> f64 {
    let times = (0..MEASUREMENTS).map(|_| {
        let started = Instant::now();
        black_box(simd.run(Multiply));
        started.elapsed().as_secs_f64()
    });
    (STEPS * SUMS * S::LANES) as f64 / times.fold(f64::INFINITY, f64::min)
}

/// Independent sums: more than the latency of two units hides.
const SUMS: usize = 12;

struct Multiply;

impl Kernel for Multiply {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
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
