//! The passes between a residual block's convolutions that no convolution can take along.

use crate::board::{Boards, Gated, Rows, SQUARES, Sums, channels};
use crate::threads::{Task, run};
use crate::vector::Vector;
use std::ops::Range;

/// `max(0, scale[b, c] * x + shift[b, c] + skip)`.
#[derive(Clone, Copy)]
pub struct Join {
    /// The last convolution's output.
    pub x: Boards,
    /// `[boards, channels]`.
    pub scale: Rows,
    /// `[boards, channels]`.
    pub shift: Rows,
    /// The block's input.
    pub skip: Option<Boards>,
    /// Where the block's output is written.
    pub output: Boards,
}

impl Join {
    /// Does it for all boards.
    ///
    /// # Safety
    /// All tensors hold `boards` boards.
    pub unsafe fn run(self, boards: usize, threads: usize) {
        run(&self, boards, 1, threads);
    }
}

impl Task for Join {
    #[inline(always)]
    fn run<V: Vector>(&self, _thread: usize, range: Range<usize>) {
        let mut values = [V::zero(); SQUARES];
        for board in range {
            for channel in channels(self.x.channels) {
                // SAFETY: the caller of `Join::run`; this board is ours alone.
                unsafe {
                    self.x.read(board, channel, &mut values);
                    let (scale, shift): (V, V) =
                        (self.scale.read(board, channel), self.shift.read(board, channel));
                    for (square, value) in values.iter_mut().enumerate() {
                        *value = value.mul_add(scale, shift);
                        if let Some(skip) = self.skip {
                            *value = value.plus(skip.square(board, channel, square));
                        }
                        *value = value.relu();
                    }
                    self.output.write(board, channel, &values);
                }
            }
        }
    }
}

/// The sums of a gradient, and of its products with the last convolution's output: all that the gradients of [`Join`] by its
/// scale and shift and those of the normalisation before it are made of.
#[derive(Clone, Copy)]
pub struct JoinSums {
    /// The gradient by the output of `Join`.
    pub gated: Gated,
    /// The last convolution's output.
    pub x: Boards,
    /// Where the sums are written.
    pub sums: Sums,
}

impl JoinSums {
    /// Does it for all boards.
    ///
    /// # Safety
    /// All tensors hold `boards` boards.
    pub unsafe fn run(self, boards: usize, threads: usize) {
        run(&self, boards, 1, threads);
    }
}

impl Task for JoinSums {
    #[inline(always)]
    fn run<V: Vector>(&self, _thread: usize, range: Range<usize>) {
        let (mut gradient, mut x) = ([V::zero(); SQUARES], [V::zero(); SQUARES]);
        for board in range {
            for channel in channels(self.x.channels) {
                // SAFETY: the caller of `JoinSums::run`; this board is ours alone.
                unsafe {
                    self.gated.read(board, channel, &mut gradient);
                    self.x.read(board, channel, &mut x);
                    self.sums.write(board, channel, &gradient, &x);
                }
            }
        }
    }
}
