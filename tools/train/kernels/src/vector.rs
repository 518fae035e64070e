//! Eight `f32` lanes: one set of kernels, compiled once for AVX2 + FMA and once for any CPU.

/// Lanes of a [`Vector`].
pub const LANES: usize = 8;

/// Eight `f32` lanes. Everything that uses it is `#[inline(always)]`, so that it is compiled with the features of the
/// function at the top (see `threads::run`).
pub trait Vector: Copy {
    /// The same value in all lanes.
    fn splat(value: f32) -> Self;
    /// Lanes from memory, of any alignment.
    ///
    /// # Safety
    /// Eight floats can be read at `from`.
    unsafe fn load(from: *const f32) -> Self;
    /// Lanes to memory, of any alignment.
    ///
    /// # Safety
    /// Eight floats can be written at `to`.
    unsafe fn store(self, to: *mut f32);
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// `self - other`.
    fn minus(self, other: Self) -> Self;
    /// `self * other`.
    fn times(self, other: Self) -> Self;
    /// `self * factor + addend`, rounded once where the CPU can.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// The larger of `self` and zero.
    fn relu(self) -> Self;
    /// `self` where `gate > 0`, else zero.
    fn where_positive(self, gate: Self) -> Self;

    /// All lanes zero.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }

    /// The first `count` floats at `from`, zeros behind them.
    ///
    /// # Safety
    /// `min(count, 8)` floats can be read at `from`.
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        if count >= LANES {
            // SAFETY: the caller's.
            return unsafe { Self::load(from) };
        }
        let mut lanes = [0.0; LANES];
        // SAFETY: `count` floats can be read, and fit.
        unsafe {
            std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
            Self::load(lanes.as_ptr())
        }
    }

    /// The first `count` lanes to memory.
    ///
    /// # Safety
    /// `min(count, 8)` floats can be written at `to`.
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        if count >= LANES {
            // SAFETY: the caller's.
            return unsafe { self.store(to) };
        }
        let mut lanes = [0.0; LANES];
        // SAFETY: `count` floats can be written, and are there.
        unsafe {
            self.store(lanes.as_mut_ptr());
            std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count);
        }
    }
}

/// Lanes as an array: what runs where there is no AVX2, and the oracle of the other.
#[derive(Clone, Copy)]
pub struct Portable([f32; LANES]);

impl Portable {
    #[inline(always)]
    fn zip(mut self, other: Self, combine: impl Fn(f32, f32) -> f32) -> Self {
        for (lane, other) in self.0.iter_mut().zip(other.0) {
            *lane = combine(*lane, other);
        }
        self
    }
}

impl Vector for Portable {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; LANES])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's; the read needs no alignment.
        Self(unsafe { from.cast::<[f32; LANES]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller's; the write needs no alignment.
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        self.times(factor).plus(addend)
    }
    #[inline(always)]
    fn relu(self) -> Self {
        self.zip(Self::zero(), f32::max)
    }
    #[inline(always)]
    fn where_positive(self, gate: Self) -> Self {
        self.zip(gate, |a, gate| if gate > 0.0 { a } else { 0.0 })
    }
}

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::Vector;
    use std::arch::x86_64::*;

    /// Lanes as a register. Only `threads::run` names it, behind a check for AVX2 and FMA: that is what makes every call in
    /// here sound.
    #[derive(Clone, Copy)]
    pub struct Avx2(__m256);

    impl Vector for Avx2 {
        #[inline(always)]
        fn splat(value: f32) -> Self {
            // SAFETY: the CPU has AVX2 (see the type).
            Self(unsafe { _mm256_set1_ps(value) })
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: the CPU has AVX2 (see the type); the caller's pointer.
            Self(unsafe { _mm256_loadu_ps(from) })
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: the CPU has AVX2 (see the type); the caller's pointer.
            unsafe { _mm256_storeu_ps(to, self.0) }
        }
        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            // SAFETY: the CPU has AVX2 (see the type).
            Self(unsafe { _mm256_add_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn minus(self, other: Self) -> Self {
            // SAFETY: the CPU has AVX2 (see the type).
            Self(unsafe { _mm256_sub_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn times(self, other: Self) -> Self {
            // SAFETY: the CPU has AVX2 (see the type).
            Self(unsafe { _mm256_mul_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn mul_add(self, factor: Self, addend: Self) -> Self {
            // SAFETY: the CPU has FMA (see the type).
            Self(unsafe { _mm256_fmadd_ps(self.0, factor.0, addend.0) })
        }
        #[inline(always)]
        fn relu(self) -> Self {
            // SAFETY: the CPU has AVX2 (see the type). A NaN in the first operand yields the second: it must be `self`.
            Self(unsafe { _mm256_max_ps(_mm256_setzero_ps(), self.0) })
        }
        #[inline(always)]
        fn where_positive(self, gate: Self) -> Self {
            // SAFETY: the CPU has AVX2 (see the type).
            Self(unsafe {
                _mm256_and_ps(self.0, _mm256_cmp_ps::<_CMP_GT_OQ>(gate.0, _mm256_setzero_ps()))
            })
        }
    }
}
