//! Plain Rust.

use super::super::portable::Arrays;
use super::{Bytes, Kernel, Steady};

/// Products of bytes on any processor, for vectors of so many lanes.
#[derive(Clone, Copy)]
pub struct Scalar<const LANES: usize, const ROWS: usize>;

impl<const LANES: usize, const ROWS: usize> Bytes for Scalar<LANES, ROWS> {
    type Floats = Arrays<LANES, ROWS>;
    const ROWS: usize = 4;
    const STEP: usize = 4;
    type Inputs = [u8; 4];
    type Weights = [[i8; 4]; LANES];
    type Sums = [i32; LANES];

    fn detect() -> Option<Steady<Self>> {
        Some(Steady { floats: Arrays, bytes: Self })
    }

    fn run<K: Kernel<Steady<Self>>>(set: Steady<Self>, kernel: K) -> K::Output {
        kernel.run(set)
    }

    #[inline(always)]
    unsafe fn inputs(self, from: *const u8) -> [u8; 4] {
        // SAFETY: the caller's promise; an unaligned read.
        unsafe { from.cast::<[u8; 4]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn weights(self, from: *const i8) -> [[i8; 4]; LANES] {
        // SAFETY: the caller's promise; an unaligned read.
        unsafe { from.cast::<[[i8; 4]; LANES]>().read_unaligned() }
    }

    #[inline(always)]
    fn none(self) -> [i32; LANES] {
        [0; LANES]
    }

    #[inline(always)]
    fn add(self, mut sums: [i32; LANES], x: [u8; 4], weights: [[i8; 4]; LANES]) -> [i32; LANES] {
        for (sum, weights) in sums.iter_mut().zip(weights) {
            for (x, weight) in x.into_iter().zip(weights) {
                *sum += i32::from(x) * i32::from(weight);
            }
        }
        sums
    }

    #[inline(always)]
    fn total(self, sums: [i32; LANES]) -> [f32; LANES] {
        sums.map(|sum| sum as f32)
    }

    #[inline(always)]
    unsafe fn store(self, numbers: [[f32; LANES]; 2], to: *mut u8) {
        let bytes = numbers.map(|numbers| numbers.map(|number| number as u8));
        // SAFETY: the caller's promise; an unaligned write.
        unsafe { to.cast::<[[u8; LANES]; 2]>().write_unaligned(bytes) }
    }
}
