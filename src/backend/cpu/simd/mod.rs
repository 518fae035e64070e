//! Vectors of `f32`, one file for each instruction set.
//!
//! A kernel is written once, for every [`Simd`], and reaches the processor through [`Simd::run`],
//! which compiles it a second time with the instructions of the set switched on. So one program starts
//! on any processor and uses what is there. A value of a set's type is the proof that the processor has
//! it: [`Simd::detect`] gives none otherwise.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod bytes;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
pub use neon::Neon;
pub use portable::Portable;
#[cfg(test)]
pub use portable::Wide;

use crate::network::F16;

/// A computation on the vectors of a set.
pub trait Kernel<S> {
    /// What it gives back.
    type Output;

    /// Computes. Every implementation is `#[inline(always)]`, and so is all that it calls: only then is
    /// it compiled for the instruction set. A closure cannot be marked so: none, if it is more than a
    /// line.
    fn run(self, simd: S) -> Self::Output;
}

/// An instruction set.
pub trait Simd: Copy + Send + Sync + 'static {
    /// Numbers in a vector.
    const LANES: usize;
    /// Rows that the matrix product keeps in registers, two vectors each.
    const ROWS: usize;
    /// Channels in a block of a feature map: two vectors.
    const BLOCK: usize = 2 * Self::LANES;
    /// A vector.
    type V: Copy;

    /// The set, where the processor has it.
    fn detect() -> Option<Self>;

    /// Runs a kernel compiled for this set.
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// Reads [`Simd::LANES`] numbers.
    ///
    /// # Safety
    /// They may be read.
    unsafe fn load_at(self, from: *const f32) -> Self::V;

    /// Reads [`Simd::LANES`] finite numbers of half the width.
    ///
    /// # Safety
    /// They may be read.
    unsafe fn load_half_at(self, from: *const F16) -> Self::V;

    /// Reads [`Simd::LANES`] bytes.
    ///
    /// # Safety
    /// They may be read.
    unsafe fn load_bytes_at(self, from: *const i8) -> Self::V;

    /// Writes [`Simd::LANES`] numbers.
    ///
    /// # Safety
    /// They may be written.
    unsafe fn store_at(self, v: Self::V, to: *mut f32);

    /// Brings the memory at any address nearer, if it is there.
    fn prefetch(self, address: *const f32);

    /// The same number in every lane.
    fn splat(self, x: f32) -> Self::V;
    /// `a + b`.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b`.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`.
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, rounded once where the set can.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The larger of a limit and `x`; `x` where that is NaN.
    fn at_least(self, limit: Self::V, x: Self::V) -> Self::V;
    /// The smaller of a limit and `x`; `x` where that is NaN.
    fn at_most(self, limit: Self::V, x: Self::V) -> Self::V;
    /// The nearest whole number, of numbers up to a million.
    fn round(self, x: Self::V) -> Self::V;
    /// `2^n` of whole numbers from -126 to 127.
    fn power_of_two(self, n: Self::V) -> Self::V;

    /// The first [`Simd::LANES`] numbers of a slice.
    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::V {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice is long enough.
        unsafe { self.load_at(from.as_ptr()) }
    }

    /// The first [`Simd::LANES`] numbers of a slice, finite ones.
    #[inline(always)]
    fn load_half(self, from: &[F16]) -> Self::V {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice is long enough.
        unsafe { self.load_half_at(from.as_ptr()) }
    }

    /// The first [`Simd::LANES`] bytes of a slice.
    #[inline(always)]
    fn load_bytes(self, from: &[i8]) -> Self::V {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice is long enough.
        unsafe { self.load_bytes_at(from.as_ptr()) }
    }

    /// Overwrites the first [`Simd::LANES`] numbers of a slice.
    #[inline(always)]
    fn store(self, v: Self::V, to: &mut [f32]) {
        assert!(to.len() >= Self::LANES);
        // SAFETY: the slice is long enough.
        unsafe { self.store_at(v, to.as_mut_ptr()) }
    }

    /// The sum of all lanes.
    #[inline(always)]
    fn sum(self, v: Self::V) -> f32 {
        let mut lanes = [0.0; 16];
        self.store(v, &mut lanes);
        lanes[..Self::LANES].iter().sum()
    }

    /// `max(x, 0)` that lets NaN through: an overflow inside a network must be seen.
    #[inline(always)]
    fn relu(self, x: Self::V) -> Self::V {
        self.at_least(self.splat(0.0), x)
    }

    /// `e^x` to a few units in the last place, of numbers between -87 and 87; beyond, of those limits: no result
    /// and no inverse of one is subnormal.
    ///
    /// `e^x = 2^n e^r` with whole n and |r| <= ln(2) / 2; ln 2 is split in two, n times
    /// the first part being exact, and
    /// `e^r` is the polynomial of Cephes' `expf` (Moshier 1992).
    #[inline(always)]
    fn exp(self, x: Self::V) -> Self::V {
        let x = self.at_most(self.splat(87.0), self.at_least(self.splat(-87.0), x));
        let n = self.round(self.mul(x, self.splat(std::f32::consts::LOG2_E)));
        let r = self.mul_add(n, self.splat(-0.693_359_4), x);
        let r = self.mul_add(n, self.splat(2.121_944_4e-4), r);
        let mut p = self.splat(1.987_569_1e-4);
        for c in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
            p = self.mul_add(p, r, self.splat(c));
        }
        let p = self.mul_add(self.mul(p, r), r, self.add(r, self.splat(1.0)));
        self.mul(p, self.power_of_two(n))
    }

    /// `1 / (1 + e^-x)`.
    #[inline(always)]
    fn sigmoid(self, x: Self::V) -> Self::V {
        let e = self.exp(self.sub(self.splat(0.0), x));
        self.div(self.splat(1.0), self.add(self.splat(1.0), e))
    }
}
