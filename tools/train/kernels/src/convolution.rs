//! The 3x3 convolution of 8x8 boards with a border of zeros, and its gradients, by Winograd's F(4x4, 3x3): 36 products of
//! matrices where the plain way needs 144. The backward pass is the exact adjoint of the forward pass. A few boards at a time
//! go all the way, so that what lies between never leaves the cache.

use crate::board::{Input, InputGradient, Output, OutputGradient};
use crate::filter::{self, Shape};
use crate::product::{PANEL, add_outer, multiply};
use crate::threads::{Scratch, Shared, Task, run};
use crate::tile::{POINTS, TILES, join, join_adjoint, split, split_adjoint};
use crate::vector::{LANES, Vector};
use std::ops::Range;

/// Boards that go through together: 48 tiles are eight full blocks of a product's rows.
const CHUNK: usize = 12;

/// Floats between the 36 matrices of a chunk. Without the extra cache line they would fall on the same cache sets.
fn spacing(panels: usize) -> usize {
    panels * CHUNK * TILES * PANEL + PANEL
}

/// Convolves `boards` boards.
///
/// # Safety
/// `input` and `output` hold the boards with the channels of `shape`; `weight` is `[outputs, inputs, 3, 3]`.
pub unsafe fn forward(
    input: Input,
    weight: *const f32,
    output: Output,
    boards: usize,
    shape: Shape,
    threads: usize,
) {
    let mut filters = Scratch::new(POINTS * shape.matrix());
    let filters = filters.as_mut_ptr();
    // SAFETY: the caller's; the scratch has that size.
    unsafe { filter::transform(weight, filters, shape, false, threads) };
    run(&Forward { input, output, filters: Shared(filters), shape }, boards, CHUNK, threads);
}

struct Forward {
    input: Input,
    output: Output,
    filters: Shared,
    shape: Shape,
}

impl Task for Forward {
    #[inline(always)]
    fn run<V: Vector>(&self, _thread: usize, range: Range<usize>) {
        let (inner, outer) = (self.shape.input_panels(), self.shape.output_panels());
        let mut split_input = Scratch::new(POINTS * spacing(inner));
        let mut product = Scratch::new(POINTS * spacing(outer));
        let (split_input, product) = (split_input.as_mut_ptr(), product.as_mut_ptr());
        let mut board = [V::zero(); 64];
        for first in range.clone().step_by(CHUNK) {
            let count = CHUNK.min(range.end - first);
            let tiles = count * TILES;
            // SAFETY: the caller of `forward`; the scratch has room for a chunk, and these boards are ours alone.
            unsafe {
                for (i, at) in vectors(count, inner) {
                    self.input.read(first + i, at.channel, &mut board);
                    split(&board, split_input.add(at.offset(tiles)), spacing(inner));
                }
                for point in 0..POINTS {
                    multiply::<V>(
                        split_input.add(point * spacing(inner)),
                        self.filters.0.add(point * self.shape.matrix()),
                        product.add(point * spacing(outer)),
                        tiles,
                        inner,
                        outer,
                    );
                }
                for (i, at) in vectors(count, outer) {
                    join(product.add(at.offset(tiles)), spacing(outer), &mut board);
                    self.output.write(first + i, at.channel, &board);
                }
            }
        }
    }
}

/// What the backward pass is given and what it makes.
#[derive(Clone, Copy)]
pub struct Backward {
    /// The forward pass's input.
    pub input: Input,
    /// `[outputs, inputs, 3, 3]`.
    pub weight: Shared,
    /// The gradient by the output.
    pub output_gradient: OutputGradient,
    /// Takes the gradient by the input, if wanted.
    pub input_gradient: Option<InputGradient>,
    /// Takes the gradient by the weight, if wanted.
    pub weight_gradient: Option<Shared>,
}

/// The gradients of `boards` boards.
///
/// # Safety
/// The tensors hold the boards with the channels of `shape`.
pub unsafe fn backward(pass: Backward, boards: usize, shape: Shape, threads: usize) {
    let size = POINTS * shape.matrix();
    let mut filters = Scratch::new(size);
    let filters = filters.as_mut_ptr();
    if pass.input_gradient.is_some() {
        // SAFETY: the caller's; the scratch has that size.
        unsafe { filter::transform(pass.weight.0, filters, shape, true, threads) };
    }
    let mut sums = pass.weight_gradient.map(|_| Scratch::new(size * threads));
    let sums = sums.as_mut().map(|sums| {
        let sums = sums.as_mut_ptr();
        // SAFETY: the scratch has that size. A thread without boards leaves its part as it is.
        unsafe { std::ptr::write_bytes(sums, 0, size * threads) };
        Shared(sums)
    });
    let task = BackwardTask { pass, filters: Shared(filters), sums, shape };
    run(&task, boards, CHUNK, threads);
    if let (Some(to), Some(sums)) = (pass.weight_gradient, sums) {
        // SAFETY: the caller's; `sums` holds a part for each thread.
        unsafe { filter::gather(sums.0, threads, to.0, shape, threads) };
    }
}

struct BackwardTask {
    pass: Backward,
    filters: Shared,
    sums: Option<Shared>,
    shape: Shape,
}

impl Task for BackwardTask {
    #[inline(always)]
    fn run<V: Vector>(&self, thread: usize, range: Range<usize>) {
        let (inner, outer, matrix) =
            (self.shape.input_panels(), self.shape.output_panels(), self.shape.matrix());
        let mut inputs = Scratch::new(POINTS * spacing(inner));
        let mut outputs = Scratch::new(POINTS * spacing(outer));
        let (inputs, outputs) = (inputs.as_mut_ptr(), outputs.as_mut_ptr());
        let mut board = [V::zero(); 64];
        for first in range.clone().step_by(CHUNK) {
            let count = CHUNK.min(range.end - first);
            let tiles = count * TILES;
            // SAFETY: the caller of `backward`; the scratch has room for a chunk, and these boards and the thread's sums are
            // ours alone.
            unsafe {
                for (i, at) in vectors(count, outer) {
                    self.pass.output_gradient.read(first + i, at.channel, &mut board);
                    join_adjoint(&board, outputs.add(at.offset(tiles)), spacing(outer));
                }
                if let Some(sums) = self.sums {
                    for (i, at) in vectors(count, inner) {
                        self.pass.input.read(first + i, at.channel, &mut board);
                        split(&board, inputs.add(at.offset(tiles)), spacing(inner));
                    }
                    for point in 0..POINTS {
                        add_outer::<V>(
                            inputs.add(point * spacing(inner)),
                            outputs.add(point * spacing(outer)),
                            sums.0.add((thread * POINTS + point) * matrix),
                            tiles,
                            inner,
                            outer,
                        );
                    }
                }
                if let Some(input_gradient) = self.pass.input_gradient {
                    for point in 0..POINTS {
                        multiply::<V>(
                            outputs.add(point * spacing(outer)),
                            self.filters.0.add(point * matrix),
                            inputs.add(point * spacing(inner)),
                            tiles,
                            outer,
                            inner,
                        );
                    }
                    for (i, at) in vectors(count, inner) {
                        split_adjoint(inputs.add(at.offset(tiles)), spacing(inner), &mut board);
                        input_gradient.write(first + i, at.channel, &mut board);
                    }
                }
            }
        }
    }
}

/// A vector of a board in a chunk.
#[derive(Clone, Copy)]
struct At {
    board: usize,
    channel: usize,
}

impl At {
    /// Its place in a matrix of `tiles` rows.
    #[inline(always)]
    fn offset(self, tiles: usize) -> usize {
        (self.channel / PANEL * tiles + self.board * TILES) * PANEL + self.channel % PANEL
    }
}

/// All vectors of `count` boards, board by board.
#[inline(always)]
fn vectors(count: usize, panels: usize) -> impl Iterator<Item = (usize, At)> {
    let width = panels * PANEL / LANES;
    (0..count * width)
        .map(move |i| (i / width, At { board: i / width, channel: i % width * LANES }))
}
