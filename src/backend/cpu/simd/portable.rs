//! Plain Rust: for processors without a set of their own, and the twin that the others are tested
//! against. Four lanes, which the compiler puts into the vectors that every x86-64 has.

use super::{Kernel, Simd};

/// Any processor.
#[derive(Clone, Copy)]
pub struct Portable;

#[inline(always)]
fn each(f: impl Fn(usize) -> f32) -> [f32; 4] {
    [f(0), f(1), f(2), f(3)]
}

impl Simd for Portable {
    const LANES: usize = 4;
    const ROWS: usize = 6;
    type V = [f32; 4];

    fn detect() -> Option<Self> {
        Some(Self)
    }

    fn run<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> [f32; 4] {
        // SAFETY: the caller's promise; an unaligned read.
        unsafe { from.cast::<[f32; 4]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: [f32; 4], to: *mut f32) {
        // SAFETY: the caller's promise; an unaligned write.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(v) }
    }

    #[inline(always)]
    fn prefetch(self, _: *const f32) {}

    #[inline(always)]
    fn splat(self, x: f32) -> [f32; 4] {
        [x; 4]
    }

    #[inline(always)]
    fn add(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        each(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn sub(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        each(|i| a[i] - b[i])
    }

    #[inline(always)]
    fn mul(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        each(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn div(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        each(|i| a[i] / b[i])
    }

    /// Rounded twice: without an instruction for it, rounding once would be a function call.
    #[inline(always)]
    fn mul_add(self, a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        each(|i| a[i] * b[i] + c[i])
    }

    #[inline(always)]
    fn at_least(self, limit: [f32; 4], x: [f32; 4]) -> [f32; 4] {
        each(|i| if limit[i] > x[i] { limit[i] } else { x[i] })
    }

    #[inline(always)]
    fn at_most(self, limit: [f32; 4], x: [f32; 4]) -> [f32; 4] {
        each(|i| if limit[i] < x[i] { limit[i] } else { x[i] })
    }

    /// Adding 1.5 * 2^23 leaves no bits for a fraction.
    #[inline(always)]
    fn round(self, x: [f32; 4]) -> [f32; 4] {
        const SHIFT: f32 = 12_582_912.0;
        each(|i| (x[i] + SHIFT) - SHIFT)
    }

    #[inline(always)]
    fn power_of_two(self, n: [f32; 4]) -> [f32; 4] {
        each(|i| f32::from_bits(((n[i] as i32 + 127) << 23) as u32))
    }
}
