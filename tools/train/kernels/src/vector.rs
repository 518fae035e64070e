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

    /// `self / other`.
    fn over(self, other: Self) -> Self;
    /// `2^self` for whole numbers from -126 to 127.
    fn power_of_two(self) -> Self;
    /// The nearest whole number.
    fn round(self) -> Self;
    /// The smaller of `self` and `bound`, then the larger of that and `-bound`.
    fn within(self, bound: f32) -> Self;

    /// `1 / (1 + e^-self)`, to a relative error of about 1e-6; flat beyond 80.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        // e^x = 2^n e^r with n whole and |r| <= ln 2 / 2; ln 2 in two parts, for r not to lose digits.
        let x = Self::zero().minus(self).within(80.0);
        let n = x.times(Self::splat(std::f32::consts::LOG2_E)).round();
        let r = n.mul_add(Self::splat(-0.693_359_4), x);
        let r = n.mul_add(Self::splat(2.121_944_4e-4), r);
        let mut series = Self::splat(1.0 / 5040.0);
        for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            series = series.mul_add(r, Self::splat(coefficient));
        }
        Self::splat(1.0).over(series.mul_add(n.power_of_two(), Self::splat(1.0)))
    }

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
    #[inline(always)]
    fn over(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    fn power_of_two(self) -> Self {
        self.zip(self, |a, _| f32::from_bits(((a as i32 + 127) as u32) << 23))
    }
    #[inline(always)]
    fn round(self) -> Self {
        self.zip(self, |a, _| a.round_ties_even())
    }
    #[inline(always)]
    fn within(self, bound: f32) -> Self {
        self.zip(self, |a, _| a.clamp(-bound, bound))
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
        #[inline(always)]
        fn over(self, other: Self) -> Self {
            // SAFETY: the CPU has AVX2 (see the type).
            Self(unsafe { _mm256_div_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn power_of_two(self) -> Self {
            // SAFETY: the CPU has AVX2 (see the type).
            unsafe {
                let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(self.0), _mm256_set1_epi32(127));
                Self(_mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent)))
            }
        }
        #[inline(always)]
        fn round(self) -> Self {
            // SAFETY: the CPU has AVX2 (see the type).
            Self(unsafe {
                _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0)
            })
        }
        #[inline(always)]
        fn within(self, bound: f32) -> Self {
            // SAFETY: the CPU has AVX2 (see the type). A NaN must be the second operand to stay.
            unsafe {
                let below = _mm256_min_ps(_mm256_set1_ps(bound), self.0);
                Self(_mm256_max_ps(_mm256_set1_ps(-bound), below))
            }
        }
    }
}
