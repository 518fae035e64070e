//! Plain Rust: for processors without a set of their own, and the twin that the others are tested
//! against.

use super::{F16, Kernel, Simd};

/// Any processor, with vectors of so many lanes and so many rows in a product.
#[derive(Clone, Copy)]
pub struct Arrays<const LANES: usize, const ROWS: usize>;

/// Four lanes: the compiler puts them into the vectors that every x86-64 has.
pub type Portable = Arrays<4, 6>;

/// The shape of AVX-512, for the tests of all that is written once for every shape.
#[cfg(test)]
pub type Wide = Arrays<16, 8>;

#[inline(always)]
fn each<const LANES: usize>(f: impl Fn(usize) -> f32) -> [f32; LANES] {
    let mut lanes = [0.0; LANES];
    for (i, lane) in lanes.iter_mut().enumerate() {
        *lane = f(i);
    }
    lanes
}

impl<const LANES: usize, const ROWS: usize> Simd for Arrays<LANES, ROWS> {
    const LANES: usize = LANES;
    const ROWS: usize = ROWS;
    type V = [f32; LANES];

    fn detect() -> Option<Self> {
        Some(Self)
    }

    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> [f32; LANES] {
        // SAFETY: the caller's promise; an unaligned read.
        unsafe { from.cast::<[f32; LANES]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn load_half_at(self, from: *const F16) -> [f32; LANES] {
        // SAFETY: the caller's promise; an unaligned read.
        let halves = unsafe { from.cast::<[F16; LANES]>().read_unaligned() };
        each(|i| halves[i].to_f32())
    }

    #[inline(always)]
    unsafe fn load_bytes_at(self, from: *const i8) -> [f32; LANES] {
        // SAFETY: the caller's promise; an unaligned read.
        unsafe { from.cast::<[i8; LANES]>().read_unaligned() }.map(f32::from)
    }

    #[inline(always)]
    unsafe fn store_at(self, v: [f32; LANES], to: *mut f32) {
        // SAFETY: the caller's promise; an unaligned write.
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(v) }
    }

    #[inline(always)]
    fn prefetch(self, _: *const f32) {}

    #[inline(always)]
    fn splat(self, x: f32) -> [f32; LANES] {
        [x; LANES]
    }

    #[inline(always)]
    fn add(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn sub(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each(|i| a[i] - b[i])
    }

    #[inline(always)]
    fn mul(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn div(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each(|i| a[i] / b[i])
    }

    /// Rounded twice: without an instruction for it, rounding once would be a function call.
    #[inline(always)]
    fn mul_add(self, a: [f32; LANES], b: [f32; LANES], c: [f32; LANES]) -> [f32; LANES] {
        each(|i| a[i] * b[i] + c[i])
    }

    #[inline(always)]
    fn at_least(self, limit: [f32; LANES], x: [f32; LANES]) -> [f32; LANES] {
        each(|i| if limit[i] > x[i] { limit[i] } else { x[i] })
    }

    #[inline(always)]
    fn at_most(self, limit: [f32; LANES], x: [f32; LANES]) -> [f32; LANES] {
        each(|i| if limit[i] < x[i] { limit[i] } else { x[i] })
    }

    /// Adding 1.5 * 2^23 leaves no bits for a fraction.
    #[inline(always)]
    fn round(self, x: [f32; LANES]) -> [f32; LANES] {
        const SHIFT: f32 = 12_582_912.0;
        each(|i| (x[i] + SHIFT) - SHIFT)
    }

    #[inline(always)]
    fn power_of_two(self, n: [f32; LANES]) -> [f32; LANES] {
        each(|i| f32::from_bits(((n[i] as i32 + 127) << 23) as u32))
    }
}
