//! AVX2 with FMA and F16C: x86-64 processors since 2013 (Haswell, Zen).

use super::{F16, Kernel, Simd};
use std::arch::x86_64::*;

/// A processor with AVX2, FMA and F16C.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Simd for Avx2 {
    const LANES: usize = 8;
    /// Twelve sums, two vectors of weights and a broadcast number fill fifteen of sixteen registers.
    const ROWS: usize = 6;
    type V = __m256;

    fn detect() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        has_all.then_some(Self(()))
    }

    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma,f16c")]
        fn enabled<K: Kernel<Avx2>>(simd: Avx2, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        // SAFETY: `self` exists only where the processor has all three.
        unsafe { enabled(self, kernel) }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> __m256 {
        // SAFETY: the processor has AVX; the caller promises the memory.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn load_half_at(self, from: *const F16) -> __m256 {
        // SAFETY: the processor has F16C; the caller promises the memory.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_bytes_at(self, from: *const i8) -> __m256 {
        // SAFETY: the processor has AVX2; the caller promises the memory.
        unsafe { _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: __m256, to: *mut f32) {
        // SAFETY: the processor has AVX; the caller promises the memory.
        unsafe { _mm256_storeu_ps(to, v) }
    }

    #[inline(always)]
    fn prefetch(self, address: *const f32) {
        // SAFETY: a prefetch touches no memory that the program could see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        // SAFETY: the processor has AVX, as for all that follow.
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: AVX.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: AVX.
        unsafe { _mm256_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: AVX.
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: AVX.
        unsafe { _mm256_div_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: the processor has FMA.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    /// The instruction gives its second operand where one of them is NaN.
    #[inline(always)]
    fn at_least(self, limit: __m256, x: __m256) -> __m256 {
        // SAFETY: AVX.
        unsafe { _mm256_max_ps(limit, x) }
    }

    #[inline(always)]
    fn at_most(self, limit: __m256, x: __m256) -> __m256 {
        // SAFETY: AVX.
        unsafe { _mm256_min_ps(limit, x) }
    }

    #[inline(always)]
    fn round(self, x: __m256) -> __m256 {
        // SAFETY: AVX.
        unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x) }
    }

    #[inline(always)]
    fn power_of_two(self, n: __m256) -> __m256 {
        // SAFETY: the processor has AVX2.
        unsafe {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
        }
    }
}
