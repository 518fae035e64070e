//! AVX-512 (the foundation, F): servers since 2017 (Skylake-X), Zen 4 and 5.

use super::{F16, Kernel, Simd};
use std::arch::x86_64::*;

/// A processor with AVX-512F.
#[derive(Clone, Copy)]
pub struct Avx512(());

impl Simd for Avx512 {
    const LANES: usize = 16;
    /// Sixteen sums: four for each step of latency and unit. Eight divides the tiles of a board.
    const ROWS: usize = 8;
    type V = __m512;

    fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx512f").then_some(Self(()))
    }

    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx512f")]
        fn enabled<K: Kernel<Avx512>>(simd: Avx512, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        // SAFETY: `self` exists only where the processor has it.
        unsafe { enabled(self, kernel) }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> __m512 {
        // SAFETY: the processor has AVX-512F; the caller promises the memory.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn load_half_at(self, from: *const F16) -> __m512 {
        // SAFETY: the processor has AVX-512F; the caller promises the memory.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_bytes_at(self, from: *const i8) -> __m512 {
        // SAFETY: the processor has AVX-512F; the caller promises the memory.
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: __m512, to: *mut f32) {
        // SAFETY: the processor has AVX-512F; the caller promises the memory.
        unsafe { _mm512_storeu_ps(to, v) }
    }

    #[inline(always)]
    fn prefetch(self, address: *const f32) {
        // SAFETY: a prefetch touches no memory that the program could see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: the processor has AVX-512F, as for all that follow.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: AVX-512F.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: AVX-512F.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: AVX-512F.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: AVX-512F.
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: AVX-512F.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    /// The instruction gives its second operand where one of them is NaN.
    #[inline(always)]
    fn at_least(self, limit: __m512, x: __m512) -> __m512 {
        // SAFETY: AVX-512F.
        unsafe { _mm512_max_ps(limit, x) }
    }

    #[inline(always)]
    fn at_most(self, limit: __m512, x: __m512) -> __m512 {
        // SAFETY: AVX-512F.
        unsafe { _mm512_min_ps(limit, x) }
    }

    #[inline(always)]
    fn round(self, x: __m512) -> __m512 {
        // SAFETY: AVX-512F.
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x) }
    }

    #[inline(always)]
    fn power_of_two(self, n: __m512) -> __m512 {
        // SAFETY: the processor has AVX-512F.
        unsafe {
            let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent))
        }
    }
}
