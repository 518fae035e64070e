//! Products of bytes, and arithmetic that gives the same bits on every processor.
//!
//! [`Steady`] is an instruction set for networks of [bytes](crate::network::int8): the vectors of a plain set, whose
//! multiplication with addition rounds twice everywhere, and sums of products of bytes, which are exact.

#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub use neon::{Sdot, Smull};
pub use portable::Scalar;
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx512Vnni, AvxVnni, Maddubs};

use super::{F16, Kernel, Simd};

/// A way to multiply bytes from 0 to 127 with bytes from -127 to 127.
///
/// Weights lie in memory as `[depth / 4][BLOCK][4]`: four successive weights of each output.
pub trait Bytes: Copy + Send + Sync + 'static {
    /// The vectors that it goes with.
    type Floats: Simd;
    /// Squares whose sums are kept in registers, two vectors each: 4 or 8.
    const ROWS: usize;
    /// Inputs that are multiplied at once: 4 or 8.
    const STEP: usize;
    /// [`Bytes::STEP`] inputs, for every output.
    type Inputs: Copy;
    /// As many weights for each output of a vector.
    type Weights: Copy;
    /// A sum for each output of a vector.
    type Sums: Copy;

    /// The set, where the processor has it.
    fn detect() -> Option<Steady<Self>>;

    /// Runs a kernel compiled for this set.
    fn run<K: Kernel<Steady<Self>>>(set: Steady<Self>, kernel: K) -> K::Output;

    /// Reads inputs.
    ///
    /// # Safety
    /// [`Bytes::STEP`] of them may be read.
    unsafe fn inputs(self, from: *const u8) -> Self::Inputs;

    /// Reads the weights of a vector of outputs.
    ///
    /// # Safety
    /// They may be read.
    unsafe fn weights(self, from: *const i8) -> Self::Weights;

    /// No sum yet.
    fn none(self) -> Self::Sums;

    /// Adds the products of the inputs and each output's weights.
    fn add(self, sums: Self::Sums, inputs: Self::Inputs, weights: Self::Weights) -> Self::Sums;

    /// The sums as numbers of a vector.
    fn total(self, sums: Self::Sums) -> Vector<Self>;

    /// Writes two vectors of whole numbers from 0 to 127, or none, as bytes.
    ///
    /// # Safety
    /// [`Simd::BLOCK`] bytes may be written.
    unsafe fn store(self, numbers: [Vector<Self>; 2], to: *mut u8);
}

/// The vectors of a [`Bytes`].
pub type Vector<B> = <<B as Bytes>::Floats as Simd>::V;

/// A set for networks of bytes.
#[derive(Clone, Copy)]
pub struct Steady<B: Bytes> {
    floats: B::Floats,
    pub bytes: B,
}

/// Passes on what is the same as in the plain set.
macro_rules! plain {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($argument: $kind),*) -> $result {
                self.floats.$name($($argument),*)
            }
        )*
    };
}

impl<B: Bytes> Simd for Steady<B> {
    const LANES: usize = B::Floats::LANES;
    const ROWS: usize = B::Floats::ROWS;
    type V = Vector<B>;

    fn detect() -> Option<Self> {
        B::detect()
    }

    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        B::run(self, kernel)
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> Self::V {
        // SAFETY: as the caller promises.
        unsafe { self.floats.load_at(from) }
    }

    #[inline(always)]
    unsafe fn load_half_at(self, from: *const F16) -> Self::V {
        // SAFETY: as the caller promises.
        unsafe { self.floats.load_half_at(from) }
    }

    #[inline(always)]
    unsafe fn load_bytes_at(self, from: *const i8) -> Self::V {
        // SAFETY: as the caller promises.
        unsafe { self.floats.load_bytes_at(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: Self::V, to: *mut f32) {
        // SAFETY: as the caller promises.
        unsafe { self.floats.store_at(v, to) }
    }

    #[inline(always)]
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.add(self.mul(a, b), c)
    }

    plain! {
        fn prefetch(address: *const f32) -> ();
        fn splat(x: f32) -> Self::V;
        fn add(a: Self::V, b: Self::V) -> Self::V;
        fn sub(a: Self::V, b: Self::V) -> Self::V;
        fn mul(a: Self::V, b: Self::V) -> Self::V;
        fn div(a: Self::V, b: Self::V) -> Self::V;
        fn at_least(limit: Self::V, x: Self::V) -> Self::V;
        fn at_most(limit: Self::V, x: Self::V) -> Self::V;
        fn round(x: Self::V) -> Self::V;
        fn power_of_two(n: Self::V) -> Self::V;
    }
}
