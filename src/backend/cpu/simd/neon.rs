//! NEON: every 64-bit ARM processor.

use super::{F16, Kernel, Simd};
use std::arch::aarch64::*;

/// A processor with NEON.
#[derive(Clone, Copy)]
pub struct Neon(());

impl Simd for Neon {
    const LANES: usize = 4;
    /// Sixteen sums keep two units of four steps' latency busy; eight divides the tiles of a board.
    const ROWS: usize = 8;
    type V = float32x4_t;

    fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }

    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "neon")]
        fn enabled<K: Kernel<Neon>>(simd: Neon, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        // SAFETY: `self` exists only where the processor has NEON, as for all that follow.
        unsafe { enabled(self, kernel) }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> float32x4_t {
        // SAFETY: NEON; the caller promises the memory.
        unsafe { vld1q_f32(from) }
    }

    /// As [`F16::to_f32`] does it: the conversion's own instruction is not stable in Rust.
    #[inline(always)]
    unsafe fn load_half_at(self, from: *const F16) -> float32x4_t {
        // SAFETY: NEON; the caller promises the memory.
        unsafe {
            let bits = vmovl_u16(vld1_u16(from.cast()));
            let sign = vshlq_n_u32::<16>(vandq_u32(bits, vdupq_n_u32(0x8000)));
            let magnitude = vshlq_n_u32::<13>(vandq_u32(bits, vdupq_n_u32(0x7fff)));
            let scale = f32::from_bits((127 + 112) << 23);
            let finite = vmulq_n_f32(vreinterpretq_f32_u32(magnitude), scale);
            vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(finite), sign))
        }
    }

    #[inline(always)]
    unsafe fn load_bytes_at(self, from: *const i8) -> float32x4_t {
        // SAFETY: NEON; the caller promises the memory; an unaligned read.
        unsafe {
            let bytes = vreinterpret_s8_u32(vdup_n_u32(from.cast::<u32>().read_unaligned()));
            vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes))))
        }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: float32x4_t, to: *mut f32) {
        // SAFETY: NEON; the caller promises the memory.
        unsafe { vst1q_f32(to, v) }
    }

    /// There is no stable instruction for it; these processors prefetch streams by themselves.
    #[inline(always)]
    fn prefetch(self, _: *const f32) {}

    #[inline(always)]
    fn splat(self, x: f32) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vdupq_n_f32(x) }
    }

    #[inline(always)]
    fn add(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vaddq_f32(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vsubq_f32(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vmulq_f32(a, b) }
    }

    #[inline(always)]
    fn div(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vdivq_f32(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vfmaq_f32(c, a, b) }
    }

    /// The instruction gives NaN where one of the operands is.
    #[inline(always)]
    fn at_least(self, limit: float32x4_t, x: float32x4_t) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vmaxq_f32(limit, x) }
    }

    #[inline(always)]
    fn at_most(self, limit: float32x4_t, x: float32x4_t) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vminq_f32(limit, x) }
    }

    #[inline(always)]
    fn round(self, x: float32x4_t) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vrndnq_f32(x) }
    }

    #[inline(always)]
    fn power_of_two(self, n: float32x4_t) -> float32x4_t {
        // SAFETY: NEON.
        unsafe {
            let exponent = vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127));
            vreinterpretq_f32_s32(vshlq_n_s32::<23>(exponent))
        }
    }
}
