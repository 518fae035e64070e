//! AVX2, AVX-VNNI and AVX512-VNNI.

use super::super::{Avx2, Avx512};
use super::{Bytes, Kernel, Simd, Steady};
use std::arch::x86_64::*;

/// What the two sets with vectors of eight sums have in common: all but how products are added.
macro_rules! eight_sums {
    () => {
        type Floats = Avx2;
        /// Eight sums, two vectors of weights, inputs, ones and what lies between: of sixteen registers.
        const ROWS: usize = 4;
        const STEP: usize = 4;
        type Inputs = __m256i;
        type Weights = __m256i;
        type Sums = __m256i;

        #[inline(always)]
        unsafe fn inputs(self, from: *const u8) -> __m256i {
            // SAFETY: AVX2; the caller promises the memory.
            unsafe { _mm256_set1_epi32(from.cast::<i32>().read_unaligned()) }
        }

        #[inline(always)]
        unsafe fn weights(self, from: *const i8) -> __m256i {
            // SAFETY: AVX2; the caller promises the memory.
            unsafe { _mm256_loadu_si256(from.cast()) }
        }

        #[inline(always)]
        fn none(self) -> __m256i {
            // SAFETY: AVX2.
            unsafe { _mm256_setzero_si256() }
        }

        #[inline(always)]
        fn total(self, sums: __m256i) -> __m256 {
            // SAFETY: AVX2.
            unsafe { _mm256_cvtepi32_ps(sums) }
        }

        /// What is no number saturates to zero.
        #[inline(always)]
        unsafe fn store(self, numbers: [__m256; 2], to: *mut u8) {
            // SAFETY: AVX2; the caller promises the memory.
            unsafe {
                let words = numbers.map(|numbers| {
                    let whole = _mm256_cvtps_epi32(numbers);
                    let high = _mm256_extracti128_si256::<1>(whole);
                    _mm_packs_epi32(_mm256_castsi256_si128(whole), high)
                });
                _mm_storeu_si128(to.cast(), _mm_packus_epi16(words[0], words[1]));
            }
        }
    };
}

/// AVX2: products of two bytes each are added up in 16 bits, which seven of the first byte's bits leave room for.
#[derive(Clone, Copy)]
pub struct Maddubs(());

impl Bytes for Maddubs {
    eight_sums!();

    fn detect() -> Option<Steady<Self>> {
        Avx2::detect().map(|floats| Steady { floats, bytes: Self(()) })
    }

    fn run<K: Kernel<Steady<Self>>>(set: Steady<Self>, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma,f16c")]
        fn enabled<K: Kernel<Steady<Maddubs>>>(set: Steady<Maddubs>, kernel: K) -> K::Output {
            kernel.run(set)
        }
        // SAFETY: a set exists only where the processor has all three, as for all that follow.
        unsafe { enabled(set, kernel) }
    }

    #[inline(always)]
    fn add(self, sums: __m256i, inputs: __m256i, weights: __m256i) -> __m256i {
        // SAFETY: AVX2.
        unsafe {
            let pairs = _mm256_maddubs_epi16(inputs, weights);
            let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
            _mm256_add_epi32(sums, fours)
        }
    }
}

/// AVX-VNNI: processors since 2021 (Alder Lake, Zen 5).
#[derive(Clone, Copy)]
pub struct AvxVnni(());

impl Bytes for AvxVnni {
    eight_sums!();

    fn detect() -> Option<Steady<Self>> {
        let floats = Avx2::detect()?;
        is_x86_feature_detected!("avxvnni").then_some(Steady { floats, bytes: Self(()) })
    }

    fn run<K: Kernel<Steady<Self>>>(set: Steady<Self>, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma,f16c,avxvnni")]
        fn enabled<K: Kernel<Steady<AvxVnni>>>(set: Steady<AvxVnni>, kernel: K) -> K::Output {
            kernel.run(set)
        }
        // SAFETY: a set exists only where the processor has all four, as for all that follow.
        unsafe { enabled(set, kernel) }
    }

    #[inline(always)]
    fn add(self, sums: __m256i, inputs: __m256i, weights: __m256i) -> __m256i {
        // SAFETY: AVX-VNNI.
        unsafe { _mm256_dpbusd_avx_epi32(sums, inputs, weights) }
    }
}

/// AVX512-VNNI: servers since 2019 (Cascade Lake, Zen 4).
#[derive(Clone, Copy)]
pub struct Avx512Vnni(());

impl Bytes for Avx512Vnni {
    type Floats = Avx512;
    const ROWS: usize = 8;
    const STEP: usize = 4;
    type Inputs = __m512i;
    type Weights = __m512i;
    type Sums = __m512i;

    fn detect() -> Option<Steady<Self>> {
        let floats = Avx512::detect()?;
        is_x86_feature_detected!("avx512vnni").then_some(Steady { floats, bytes: Self(()) })
    }

    fn run<K: Kernel<Steady<Self>>>(set: Steady<Self>, kernel: K) -> K::Output {
        #[target_feature(enable = "avx512f,avx512vnni")]
        fn enabled<K: Kernel<Steady<Avx512Vnni>>>(set: Steady<Avx512Vnni>, kernel: K) -> K::Output {
            kernel.run(set)
        }
        // SAFETY: a set exists only where the processor has both, as for all that follow.
        unsafe { enabled(set, kernel) }
    }

    #[inline(always)]
    unsafe fn inputs(self, from: *const u8) -> __m512i {
        // SAFETY: AVX-512F; the caller promises the memory.
        unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }

    #[inline(always)]
    unsafe fn weights(self, from: *const i8) -> __m512i {
        // SAFETY: AVX-512F; the caller promises the memory.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    fn none(self) -> __m512i {
        // SAFETY: AVX-512F.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    fn add(self, sums: __m512i, inputs: __m512i, weights: __m512i) -> __m512i {
        // SAFETY: AVX512-VNNI.
        unsafe { _mm512_dpbusd_epi32(sums, inputs, weights) }
    }

    #[inline(always)]
    fn total(self, sums: __m512i) -> __m512 {
        // SAFETY: AVX-512F.
        unsafe { _mm512_cvtepi32_ps(sums) }
    }

    /// What is no number becomes an integer whose low bits are zero.
    #[inline(always)]
    unsafe fn store(self, numbers: [__m512; 2], to: *mut u8) {
        // SAFETY: AVX-512F; the caller promises the memory.
        unsafe {
            for (i, numbers) in numbers.into_iter().enumerate() {
                let bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(numbers));
                _mm_storeu_si128(to.add(16 * i).cast(), bytes);
            }
        }
    }
}
