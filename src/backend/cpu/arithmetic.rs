//! In what numbers the tower's 3x3 convolutions are computed: floating point ([`super::layer`]) or bytes
//! ([`super::int8`]).

use super::buffer::Number;
use super::clock::Clock;
use super::convolution::Algorithm;
use super::simd::Simd;
use std::ops::Range;

/// All 3x3 convolutions of a tower, packed for one instruction set.
pub trait Arithmetic<S: Simd>: Send + Sync + Sized + 'static {
    /// A convolution as the network has it.
    type Convolution;
    /// What the input of a convolution is made of.
    type Input: Number;
    /// The algorithms that there are.
    const ALGORITHMS: &'static [Algorithm];

    /// Packs the convolutions of a tower, in the order of the forward pass.
    fn new(convolutions: Vec<Self::Convolution>) -> Self;

    /// Packs them for an algorithm, unless they are.
    fn pack(&self, algorithm: Algorithm);

    /// Turns a block of channels, `[n][64][BLOCK]`, into its part of the step's input.
    fn prepare(
        &self,
        simd: S,
        step: Step,
        block: usize,
        boards: &[f32],
        prepared: &mut [Self::Input],
    );

    /// Computes some blocks of output channels from the step's whole input: `each` gets them one by one, with room
    /// for a map's block that holds it now.
    fn convolve(
        &self,
        simd: S,
        step: Step,
        blocks: Range<usize>,
        input: &[Self::Input],
        room: Room<'_>,
        each: impl FnMut(usize, &mut [f32], &mut Clock),
    );

    /// See [`super::Cpu::peak`].
    fn peak(simd: S) -> f64;
}

/// A convolution of some positions.
#[derive(Clone, Copy)]
pub struct Step {
    pub algorithm: Algorithm,
    /// Positions.
    pub n: usize,
    /// Which of the tower's convolutions.
    pub layer: usize,
}

/// Where a thread computes a block of channels.
pub struct Room<'a> {
    /// `[n][64][BLOCK]`.
    pub boards: &'a mut [f32],
    pub products: &'a mut [f32],
    pub clock: &'a mut Clock,
}
