//! The tower's 3x3 convolutions in [bytes](crate::network::int8).
//!
//! Layouts are those of [`super::convolution`], with bytes in place of numbers: the input `[blocks][n * 64][BLOCK]`, the
//! weights `[convolutions][output blocks][9 taps][depth / 4][BLOCK][4]`, the depth filled up with zeros to whole blocks. The
//! sums of some squares, half a rank or a rank, stay in registers through all taps and channels, and leave them as
//! floating point: nothing else is written. Taps beyond the border are left out.

use super::arithmetic::{Arithmetic, Room, Step};
use super::buffer::Aligned;
use super::clock::{Clock, Stage};
use super::convolution::Algorithm;
use super::peak;
use super::simd::bytes::{Bytes, Steady};
use super::simd::{Kernel, Simd};
use crate::network::int8::{Convolution, LARGEST};
use std::ops::Range;

/// Bytes in a cache line.
const LINE: usize = 64;

/// The convolutions of a tower, all of one shape.
pub struct ByteConvolutions {
    /// Blocks of channels.
    blocks: usize,
    block: usize,
    weights: Aligned<i8>,
    /// For each convolution and output channel.
    scale: Aligned,
    bias: Aligned,
    /// For each convolution and input channel, what it is multiplied by: zero where there is no channel.
    factors: Aligned,
}

impl ByteConvolutions {
    /// Where the channels of a block of a convolution are among those of all.
    fn channels(&self, layer: usize, block: usize) -> Range<usize> {
        let start = (layer * self.blocks + block) * self.block;
        start..start + self.block
    }

    /// The weights of a block of output channels.
    fn panel(&self, layer: usize, block: usize) -> &[i8] {
        let len = 9 * self.blocks * self.block * self.block;
        &self.weights[(layer * self.blocks + block) * len..][..len]
    }
}

impl<B: Bytes> Arithmetic<Steady<B>> for ByteConvolutions {
    type Convolution = Convolution;
    type Input = u8;
    const ALGORITHMS: &'static [Algorithm] = &[Algorithm::Int8];

    fn new(convolutions: Vec<Convolution>) -> Self {
        let block = Steady::<B>::BLOCK;
        let channels = convolutions.first().map_or(0, |layer| layer.bias.len());
        let blocks = channels.div_ceil(block);
        let depth = blocks * block;
        let per_channel = || Aligned::new(convolutions.len() * depth);
        let mut all = Self {
            blocks,
            block,
            weights: Aligned::new(convolutions.len() * 9 * depth * depth),
            scale: per_channel(),
            bias: per_channel(),
            factors: per_channel(),
        };
        for (layer, convolution) in convolutions.iter().enumerate() {
            for ((o, i, rank, file), &weight) in convolution.weight.indexed_iter() {
                let tap = ((layer * blocks + o / block) * 3 + rank) * 3 + file;
                let quad = (tap * depth + i) / 4;
                all.weights[(quad * block + o % block) * 4 + i % 4] = weight;
            }
            let at = layer * depth..layer * depth + channels;
            for (to, scale) in all.scale[at.clone()].iter_mut().zip(&convolution.scale) {
                *to = *scale;
            }
            for (to, bias) in all.bias[at.clone()].iter_mut().zip(&convolution.bias) {
                *to = *bias;
            }
            for (to, scale) in all.factors[at].iter_mut().zip(&convolution.input_scale) {
                *to = 1.0 / scale;
            }
        }
        all
    }

    fn pack(&self, _: Algorithm) {}

    fn prepare(
        &self,
        simd: Steady<B>,
        step: Step,
        block: usize,
        boards: &[f32],
        prepared: &mut [u8],
    ) {
        let factors = &self.factors[self.channels(step.layer, block)];
        simd.run(ToBytes { numbers: boards, factors, bytes: &mut prepared[..boards.len()] });
    }

    fn convolve(
        &self,
        simd: Steady<B>,
        step: Step,
        blocks: Range<usize>,
        input: &[u8],
        room: Room<'_>,
        mut each: impl FnMut(usize, &mut [f32], &mut Clock),
    ) {
        let Step { algorithm, n, layer } = step;
        let Room { boards, clock, .. } = room;
        for block in blocks {
            let panel = self.panel(layer, block);
            let channels = self.channels(layer, block);
            simd.run(ByteProducts {
                input,
                input_stride: algorithm.prepared_len(n, self.block),
                panel,
                next: self
                    .weights
                    .get(channels.end / self.block * panel.len()..)
                    .unwrap_or_default(),
                scale: &self.scale[channels.clone()],
                bias: &self.bias[channels],
                output: boards,
            });
            clock.lap(Stage::Products, n * 64 * panel.len());
            each(block, boards, clock);
        }
    }

    fn peak(simd: Steady<B>) -> f64 {
        peak::byte_multiplications_per_second(simd)
    }
}

/// Turns numbers into bytes, `[n * 64][BLOCK]` both: see [`crate::network::int8::byte`], whose twin it is.
struct ToBytes<'a> {
    numbers: &'a [f32],
    /// `[BLOCK]`.
    factors: &'a [f32],
    bytes: &'a mut [u8],
}

impl<B: Bytes> Kernel<Steady<B>> for ToBytes<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: Steady<B>) {
        let (lanes, block) = (Steady::<B>::LANES, Steady::<B>::BLOCK);
        let halves = [0, lanes];
        let factors = halves.map(|half| simd.load(&self.factors[half..]));
        let (zero, most) = (simd.splat(0.0), simd.splat(LARGEST));
        let squares = self.numbers.chunks_exact(block);
        for (numbers, bytes) in squares.zip(self.bytes.chunks_exact_mut(block)) {
            let mut whole = [zero; 2];
            for (i, half) in halves.into_iter().enumerate() {
                let rounded = simd.round(simd.mul(simd.load(&numbers[half..]), factors[i]));
                whole[i] = simd.at_most(most, simd.at_least(zero, rounded));
            }
            // SAFETY: these are BLOCK bytes.
            unsafe { simd.bytes.store(whole, bytes.as_mut_ptr()) };
        }
    }
}

/// A block of output channels of a convolution.
struct ByteProducts<'a> {
    /// All blocks of the input, `[n * 64][BLOCK]` each.
    input: &'a [u8],
    /// From one of them to the next.
    input_stride: usize,
    /// `[9][depth / 4][BLOCK][4]`.
    panel: &'a [i8],
    /// What is multiplied after this panel, to be fetched meanwhile.
    next: &'a [i8],
    /// `[BLOCK]`.
    scale: &'a [f32],
    /// `[BLOCK]`.
    bias: &'a [f32],
    /// `[n * 64][BLOCK]`.
    output: &'a mut [f32],
}

impl<B: Bytes> Kernel<Steady<B>> for ByteProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: Steady<B>) {
        match B::ROWS {
            4 => self.in_rows::<B, 4>(simd),
            8 => self.in_rows::<B, 8>(simd),
            _ => unreachable!("half a rank or a rank"),
        }
    }
}

impl ByteProducts<'_> {
    #[inline(always)]
    fn in_rows<B: Bytes, const R: usize>(self, simd: Steady<B>) {
        let (lanes, block) = (Steady::<B>::LANES, Steady::<B>::BLOCK);
        let blocks = self.panel.len() / (9 * block * block);
        let squares = self.output.len() / block;
        assert!(blocks > 0 && self.panel.len() == 9 * blocks * block * block);
        assert!(squares.is_multiple_of(64) && block.is_multiple_of(B::STEP));
        assert!(self.input.len() >= (blocks - 1) * self.input_stride + squares * block);

        let tap_len = self.panel.len() / 9;
        let mut ahead = Ahead::new(
            &self.next[..self.next.len().min(self.panel.len())],
            squares / R * 9 * blocks,
        );
        let scale = [simd.load(self.scale), simd.load(&self.scale[lanes..])];
        let bias = [simd.load(self.bias), simd.load(&self.bias[lanes..])];
        for (group, output) in self.output.chunks_exact_mut(R * block).enumerate() {
            let (rank, file) = (group * R / 8 % 8, group * R % 8);
            let mut sums = [[simd.bytes.none(); 2]; R];
            for up in 0..3 {
                if rank + up == 0 || rank + up == 9 {
                    continue;
                }
                for right in 0..3 {
                    let tap = Tap {
                        // The square that the group's first sees, if it is on the board.
                        input: (self.input.as_ptr())
                            .wrapping_add((group * R + 8 * up + right) * block)
                            .wrapping_sub(9 * block),
                        input_stride: self.input_stride,
                        panel: &self.panel[(3 * up + right) * tap_len..][..tap_len],
                    };
                    // SAFETY: the squares that are read lie on the board, whose length is checked above.
                    unsafe {
                        match (right, file) {
                            (0, 0) => tap.add::<B, R, 1, 0>(simd, &mut ahead, &mut sums),
                            (2, file) if file + R == 8 => {
                                tap.add::<B, R, 0, 1>(simd, &mut ahead, &mut sums);
                            }
                            _ => tap.add::<B, R, 0, 0>(simd, &mut ahead, &mut sums),
                        }
                    }
                }
            }
            for (sums, output) in sums.into_iter().zip(output.chunks_exact_mut(block)) {
                for half in 0..2 {
                    let sum = simd.bytes.total(sums[half]);
                    simd.store(
                        simd.mul_add(scale[half], sum, bias[half]),
                        &mut output[half * lanes..],
                    );
                }
            }
        }
    }
}

/// What a tap of the filters sees.
struct Tap<'a> {
    /// From the first row on.
    input: *const u8,
    input_stride: usize,
    /// `[depth / 4][BLOCK][4]`.
    panel: &'a [i8],
}

impl Tap<'_> {
    /// Adds the products of all channels to the sums of R squares, leaving out so many of the first and of the last.
    ///
    /// # Safety
    /// There is a square for each of the others, in all blocks of the input.
    #[inline(always)]
    unsafe fn add<B: Bytes, const R: usize, const LEFT: usize, const RIGHT: usize>(
        &self,
        simd: Steady<B>,
        ahead: &mut Ahead,
        sums: &mut [[B::Sums; 2]; R],
    ) {
        let (lanes, block) = (Steady::<B>::LANES, Steady::<B>::BLOCK);
        let mut input = self.input;
        for panel in self.panel.chunks_exact(block * block) {
            ahead.fetch(simd);
            let mut panel = panel.as_ptr();
            for step in 0..block / B::STEP {
                // SAFETY: the panel is BLOCK rows of BLOCK weights, and as many inputs of a square are one after
                // the other.
                unsafe {
                    let weights =
                        [simd.bytes.weights(panel), simd.bytes.weights(panel.add(4 * lanes))];
                    for (r, sums) in sums.iter_mut().enumerate() {
                        if r >= LEFT && r + RIGHT < R {
                            let inputs = input.wrapping_add(r * block + step * B::STEP);
                            let inputs = simd.bytes.inputs(inputs);
                            sums[0] = simd.bytes.add(sums[0], inputs, weights[0]);
                            sums[1] = simd.bytes.add(sums[1], inputs, weights[1]);
                        }
                    }
                    panel = panel.add(B::STEP * block);
                }
            }
            input = input.wrapping_add(self.input_stride);
        }
    }
}

/// Fetches what comes next, spread evenly over the work on what is at hand.
struct Ahead {
    next: *const i8,
    lines: usize,
    parts: usize,
    due: usize,
}

impl Ahead {
    /// Fetches `next` in so many parts.
    #[inline(always)]
    fn new(next: &[i8], parts: usize) -> Self {
        Self { next: next.as_ptr(), lines: next.len() / LINE, parts, due: 0 }
    }

    #[inline(always)]
    fn fetch<S: Simd>(&mut self, simd: S) {
        self.due += self.lines;
        while self.due >= self.parts {
            simd.prefetch(self.next.cast());
            self.next = self.next.wrapping_add(LINE);
            self.due -= self.parts;
        }
    }
}
