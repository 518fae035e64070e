//! NEON, with and without the instructions for dot products.

use super::super::Neon;
use super::{Bytes, Kernel, Simd, Steady};
use std::arch::aarch64::*;
use std::arch::asm;

/// NEON: two products of bytes are added up in 16 bits, which bytes of up to 127 leave room for. Made for the
/// Cortex-A72.
#[derive(Clone, Copy)]
pub struct Smull(());

impl Bytes for Smull {
    type Floats = Neon;
    /// Sixteen vectors of sums, two for each of weights and inputs.
    const ROWS: usize = 4;
    const STEP: usize = 8;
    type Inputs = [int8x16_t; 2];
    type Weights = [int8x16_t; 2];
    /// Two sums for each output.
    type Sums = [int32x4_t; 2];

    fn detect() -> Option<Steady<Self>> {
        Neon::detect().map(|floats| Steady { floats, bytes: Self(()) })
    }

    fn run<K: Kernel<Steady<Self>>>(set: Steady<Self>, kernel: K) -> K::Output {
        #[target_feature(enable = "neon")]
        fn enabled<K: Kernel<Steady<Smull>>>(set: Steady<Smull>, kernel: K) -> K::Output {
            kernel.run(set)
        }
        // SAFETY: a set exists only where the processor has NEON, as for all that follow.
        unsafe { enabled(set, kernel) }
    }

    #[inline(always)]
    unsafe fn inputs(self, from: *const u8) -> [int8x16_t; 2] {
        // SAFETY: the caller promises eight bytes.
        unsafe { [four_inputs(from), four_inputs(from.add(4))] }
    }

    #[inline(always)]
    unsafe fn weights(self, from: *const i8) -> [int8x16_t; 2] {
        // SAFETY: the caller promises the weights of a vector, four for each output, and a block further four more.
        unsafe { [vld1q_s8(from), vld1q_s8(from.add(4 * Neon::BLOCK))] }
    }

    #[inline(always)]
    fn none(self) -> [int32x4_t; 2] {
        // SAFETY: NEON.
        unsafe { [vdupq_n_s32(0); 2] }
    }

    #[inline(always)]
    fn add(
        self,
        [low, high]: [int32x4_t; 2],
        x: [int8x16_t; 2],
        weights: [int8x16_t; 2],
    ) -> [int32x4_t; 2] {
        // SAFETY: NEON.
        unsafe {
            let first = vmull_s8(vget_low_s8(x[0]), vget_low_s8(weights[0]));
            let first = vmlal_s8(first, vget_low_s8(x[1]), vget_low_s8(weights[1]));
            let second = vmull_high_s8(x[0], weights[0]);
            let second = vmlal_high_s8(second, x[1], weights[1]);
            [vpadalq_s16(low, first), vpadalq_s16(high, second)]
        }
    }

    #[inline(always)]
    fn total(self, [low, high]: [int32x4_t; 2]) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vcvtq_f32_s32(vpaddq_s32(low, high)) }
    }

    #[inline(always)]
    unsafe fn store(self, numbers: [float32x4_t; 2], to: *mut u8) {
        // SAFETY: NEON; the caller promises the memory.
        unsafe { store_bytes(numbers, to) }
    }
}

/// NEON with dot products: the Cortex-A76 of a Raspberry Pi 5, and most processors since 2018.
#[derive(Clone, Copy)]
pub struct Sdot(());

impl Bytes for Sdot {
    type Floats = Neon;
    const ROWS: usize = 8;
    const STEP: usize = 4;
    type Inputs = int8x16_t;
    type Weights = int8x16_t;
    type Sums = int32x4_t;

    fn detect() -> Option<Steady<Self>> {
        let floats = Neon::detect()?;
        let has_it = std::arch::is_aarch64_feature_detected!("dotprod");
        has_it.then_some(Steady { floats, bytes: Self(()) })
    }

    fn run<K: Kernel<Steady<Self>>>(set: Steady<Self>, kernel: K) -> K::Output {
        #[target_feature(enable = "neon,dotprod")]
        fn enabled<K: Kernel<Steady<Sdot>>>(set: Steady<Sdot>, kernel: K) -> K::Output {
            kernel.run(set)
        }
        // SAFETY: a set exists only where the processor has both, as for all that follow.
        unsafe { enabled(set, kernel) }
    }

    #[inline(always)]
    unsafe fn inputs(self, from: *const u8) -> int8x16_t {
        // SAFETY: the caller promises four bytes.
        unsafe { four_inputs(from) }
    }

    #[inline(always)]
    unsafe fn weights(self, from: *const i8) -> int8x16_t {
        // SAFETY: NEON; the caller promises the memory.
        unsafe { vld1q_s8(from) }
    }

    #[inline(always)]
    fn none(self) -> int32x4_t {
        // SAFETY: NEON.
        unsafe { vdupq_n_s32(0) }
    }

    /// The instruction's own function is not stable in Rust.
    #[inline(always)]
    fn add(self, mut sums: int32x4_t, inputs: int8x16_t, weights: int8x16_t) -> int32x4_t {
        // SAFETY: the processor has it, and nothing else is touched.
        unsafe {
            asm!(
                "sdot {sums:v}.4s, {inputs:v}.16b, {weights:v}.16b",
                sums = inout(vreg) sums,
                inputs = in(vreg) inputs,
                weights = in(vreg) weights,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        sums
    }

    #[inline(always)]
    fn total(self, sums: int32x4_t) -> float32x4_t {
        // SAFETY: NEON.
        unsafe { vcvtq_f32_s32(sums) }
    }

    #[inline(always)]
    unsafe fn store(self, numbers: [float32x4_t; 2], to: *mut u8) {
        // SAFETY: NEON; the caller promises the memory.
        unsafe { store_bytes(numbers, to) }
    }
}

/// Four inputs, four times.
///
/// # Safety
/// They may be read.
#[inline(always)]
unsafe fn four_inputs(from: *const u8) -> int8x16_t {
    // SAFETY: NEON; as the caller promises; an unaligned read.
    unsafe { vreinterpretq_s8_s32(vdupq_n_s32(from.cast::<i32>().read_unaligned())) }
}

/// As [`Bytes::store`]: what is no number is converted to zero.
///
/// # Safety
/// Eight bytes may be written.
#[inline(always)]
unsafe fn store_bytes(numbers: [float32x4_t; 2], to: *mut u8) {
    // SAFETY: NEON; as the caller promises.
    unsafe {
        let [low, high] = numbers.map(|numbers| vmovn_u32(vcvtq_u32_f32(numbers)));
        vst1_u8(to, vmovn_u16(vcombine_u16(low, high)));
    }
}
