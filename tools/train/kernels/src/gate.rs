//! The gate of a recurrent tower: `z = sigmoid(W [candidate; previous] + bias)` on every square, a 1x1 convolution, and
//! `z * candidate + (1 - z) * previous`. A board goes all the way alone; its squares are the rows of the products.

use crate::board::{Board, Boards, Rows, SQUARES, channels};
use crate::product::{PANEL, add_outer, multiply};
use crate::threads::{Scratch, Shared, Task, run};
use crate::vector::Vector;
use std::ops::Range;

/// The gate and what it mixes.
#[derive(Clone, Copy)]
pub struct Gate {
    /// What the tower made.
    pub candidate: Boards,
    /// What the tower was given.
    pub previous: Boards,
    /// `[channels, 2 * channels]`, the candidate's columns first.
    pub weight: Shared,
    /// `z`, `[boards, 64, channels]`: made by the forward pass.
    pub opening: Boards,
}

impl Gate {
    fn channels(&self) -> usize {
        self.candidate.channels
    }

    fn panels(&self) -> usize {
        self.channels().div_ceil(PANEL)
    }

    /// Floats of the weight in panels.
    fn size(&self) -> usize {
        2 * self.panels() * self.panels() * PANEL * PANEL
    }

    /// Calls `each(place in the weight, row of [candidate; previous] in panels, output channel)`.
    fn each_weight(&self, mut each: impl FnMut(usize, usize, usize)) {
        let (channels, rows) = (self.channels(), self.panels() * PANEL);
        for output in 0..channels {
            for input in 0..2 * channels {
                each(
                    output * 2 * channels + input,
                    input / channels * rows + input % channels,
                    output,
                );
            }
        }
    }

    /// `out = z * candidate + (1 - z) * previous`, and `z`.
    ///
    /// # Safety
    /// All tensors hold `boards` boards, `bias` is `[channels]`.
    pub unsafe fn forward(self, bias: Rows, out: Boards, boards: usize, threads: usize) {
        let mut weight = Scratch::new(self.size());
        let weight = Shared(weight.as_mut_ptr());
        let rows = 2 * self.panels() * PANEL;
        // SAFETY: the caller's; the scratch has that size.
        unsafe {
            std::ptr::write_bytes(weight.0, 0, self.size());
            self.each_weight(|from, row, output| {
                *weight.0.add((output / PANEL * rows + row) * PANEL + output % PANEL) =
                    *self.weight.0.add(from);
            });
        }
        run(&Forward { gate: self, weight, bias, out }, boards, 1, threads);
    }

    /// The gradients by candidate, previous, weight and bias for one by `out`.
    ///
    /// # Safety
    /// All tensors hold `boards` boards; `by_weight` and `by_bias` have room for the shapes of weight and bias.
    pub unsafe fn backward(self, gradients: Gradients, boards: usize, threads: usize) {
        let (size, panels) = (self.size(), self.panels());
        let (mut weight, mut sums) =
            (Scratch::new(size), Scratch::new((size + panels * PANEL) * threads));
        let (weight, sums) = (Shared(weight.as_mut_ptr()), Shared(sums.as_mut_ptr()));
        // SAFETY: the caller's; the scratch has those sizes.
        unsafe {
            std::ptr::write_bytes(weight.0, 0, size);
            std::ptr::write_bytes(sums.0, 0, (size + panels * PANEL) * threads);
            self.each_weight(|from, row, output| {
                *weight.0.add((row / PANEL * panels * PANEL + output) * PANEL + row % PANEL) =
                    *self.weight.0.add(from);
            });
            run(&Backward { gate: self, gradients, weight, sums, threads }, boards, 1, threads);
            let rows = 2 * panels * PANEL;
            self.each_weight(|to, row, output| {
                let place = (output / PANEL * rows + row) * PANEL + output % PANEL;
                *gradients.weight.0.add(to) =
                    (0..threads).map(|thread| *sums.0.add(thread * size + place)).sum();
            });
            for output in 0..self.channels() {
                let place = |thread| size * threads + thread * panels * PANEL + output;
                *gradients.bias.0.add(output) =
                    (0..threads).map(|thread| *sums.0.add(place(thread))).sum();
            }
        }
    }

    /// Puts candidate and previous side by side in panels of 64 rows.
    ///
    /// # Safety
    /// The tensors hold the board, `to` has room for `2 * panels` panels.
    #[inline(always)]
    unsafe fn spread<V: Vector>(&self, board: usize, to: *mut f32, buffer: &mut Board<V>) {
        for (side, boards) in [self.candidate, self.previous].into_iter().enumerate() {
            for channel in channels(self.panels() * PANEL) {
                // SAFETY: the caller's.
                unsafe {
                    boards.read(board, channel, buffer);
                    let to = to.add(side * self.panels() * SQUARES * PANEL + place(channel));
                    for (square, value) in buffer.iter().enumerate() {
                        value.store(to.add(square * PANEL));
                    }
                }
            }
        }
    }
}

/// Where a channel's first square lies in panels of 64 rows.
#[inline(always)]
fn place(channel: usize) -> usize {
    channel / PANEL * SQUARES * PANEL + channel % PANEL
}

/// Where the gradients are, and where they go.
#[derive(Clone, Copy)]
pub struct Gradients {
    /// By `out`.
    pub output: Boards,
    /// Takes the one by the candidate.
    pub candidate: Boards,
    /// Takes the one by the previous state.
    pub previous: Boards,
    /// Takes the one by the weight.
    pub weight: Shared,
    /// Takes the one by the bias.
    pub bias: Shared,
}

struct Forward {
    gate: Gate,
    weight: Shared,
    bias: Rows,
    out: Boards,
}

impl Task for Forward {
    #[inline(always)]
    fn run<V: Vector>(&self, _thread: usize, range: Range<usize>) {
        let panels = self.gate.panels();
        let (mut both, mut sums) =
            (Scratch::new(2 * panels * SQUARES * PANEL), Scratch::new(panels * SQUARES * PANEL));
        let (both, sums) = (both.as_mut_ptr(), sums.as_mut_ptr());
        let (mut opening, mut out) = ([V::zero(); SQUARES], [V::zero(); SQUARES]);
        for board in range {
            // SAFETY: the caller of `Gate::forward`; this board is ours alone.
            unsafe {
                self.gate.spread(board, both, &mut out);
                multiply::<V>(both, self.weight.0, sums, SQUARES, 2 * panels, panels);
                for channel in channels(panels * PANEL) {
                    let bias: V = self.bias.read(0, channel);
                    let (sums, candidate) = (sums.add(place(channel)), both.add(place(channel)));
                    let previous = candidate.add(panels * SQUARES * PANEL);
                    for square in 0..SQUARES {
                        let z = V::load(sums.add(square * PANEL)).plus(bias).sigmoid();
                        let previous = V::load(previous.add(square * PANEL));
                        let difference = V::load(candidate.add(square * PANEL)).minus(previous);
                        opening[square] = z;
                        out[square] = z.mul_add(difference, previous);
                    }
                    self.gate.opening.write(board, channel, &opening);
                    self.out.write(board, channel, &out);
                }
            }
        }
    }
}

struct Backward {
    gate: Gate,
    gradients: Gradients,
    weight: Shared,
    sums: Shared,
    threads: usize,
}

impl Task for Backward {
    #[inline(always)]
    fn run<V: Vector>(&self, thread: usize, range: Range<usize>) {
        let (gate, panels, size) = (self.gate, self.gate.panels(), self.gate.size());
        let (mut both, mut inner) =
            (Scratch::new(2 * panels * SQUARES * PANEL), Scratch::new(panels * SQUARES * PANEL));
        let (both, inner) = (both.as_mut_ptr(), inner.as_mut_ptr());
        let (mut opening, mut gradient) = ([V::zero(); SQUARES], [V::zero(); SQUARES]);
        for board in range {
            // SAFETY: the caller of `Gate::backward`; this board and the thread's sums are ours alone.
            unsafe {
                gate.spread(board, both, &mut gradient);
                for channel in channels(panels * PANEL) {
                    gate.opening.read(board, channel, &mut opening);
                    self.gradients.output.read(board, channel, &mut gradient);
                    let (candidate, inner) = (both.add(place(channel)), inner.add(place(channel)));
                    let previous = candidate.add(panels * SQUARES * PANEL);
                    let mut sum = V::zero();
                    for square in 0..SQUARES {
                        let z = opening[square];
                        let slope = V::splat(1.0).minus(z).times(z).times(gradient[square]);
                        let previous = V::load(previous.add(square * PANEL));
                        let value =
                            V::load(candidate.add(square * PANEL)).minus(previous).times(slope);
                        value.store(inner.add(square * PANEL));
                        sum = sum.plus(value);
                    }
                    let bias =
                        self.sums.0.add(size * self.threads + thread * panels * PANEL + channel);
                    V::load(bias).plus(sum).store(bias);
                }
                add_outer::<V>(
                    both,
                    inner,
                    self.sums.0.add(thread * size),
                    SQUARES,
                    2 * panels,
                    panels,
                );
                multiply::<V>(inner, self.weight.0, both, SQUARES, panels, 2 * panels);
                for (side, to) in
                    [self.gradients.candidate, self.gradients.previous].into_iter().enumerate()
                {
                    for channel in channels(gate.channels()) {
                        gate.opening.read(board, channel, &mut opening);
                        self.gradients.output.read(board, channel, &mut gradient);
                        let through = both.add(side * panels * SQUARES * PANEL + place(channel));
                        for square in 0..SQUARES {
                            let z = opening[square];
                            let share = if side == 0 { z } else { V::splat(1.0).minus(z) };
                            gradient[square] = gradient[square]
                                .mul_add(share, V::load(through.add(square * PANEL)));
                        }
                        to.write(board, channel, &gradient);
                    }
                }
            }
        }
    }
}
