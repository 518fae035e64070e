//! What a convolution reads and writes, eight channels of one board at a time, so that the passes around a convolution are done
//! while its data is in registers.

use crate::threads::Shared;
use crate::vector::{LANES, Vector};

/// Squares of a board.
pub const SQUARES: usize = 64;

/// Eight channels of a board.
pub type Board<V> = [V; SQUARES];

/// A channels-last tensor `[boards, 64, channels]`.
#[derive(Clone, Copy)]
pub struct Boards {
    /// First element.
    pub data: Shared,
    /// Channels.
    pub channels: usize,
}

impl Boards {
    /// Address of a board's channel on the first square, and how many channels there are from it on.
    #[inline(always)]
    fn place(self, board: usize, channel: usize) -> (*mut f32, usize) {
        let channel = channel.min(self.channels);
        (
            self.data.0.wrapping_add(board * SQUARES * self.channels + channel),
            self.channels - channel,
        )
    }

    /// Reads eight channels; those behind the last are zero.
    ///
    /// # Safety
    /// The tensor holds the board.
    #[inline(always)]
    pub unsafe fn read<V: Vector>(self, board: usize, channel: usize, to: &mut Board<V>) {
        let (from, left) = self.place(board, channel);
        for (square, to) in to.iter_mut().enumerate() {
            // SAFETY: the caller's.
            *to = unsafe { V::load_first(from.wrapping_add(square * self.channels), left) };
        }
    }

    /// Writes eight channels; those behind the last are dropped.
    ///
    /// # Safety
    /// The tensor holds the board, and no other thread uses it.
    #[inline(always)]
    pub unsafe fn write<V: Vector>(self, board: usize, channel: usize, from: &Board<V>) {
        let (to, left) = self.place(board, channel);
        for (square, from) in from.iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { from.store_first(to.wrapping_add(square * self.channels), left) };
        }
    }

    /// One square of what [`Boards::read`] reads.
    ///
    /// # Safety
    /// The tensor holds the board.
    #[inline(always)]
    pub unsafe fn square<V: Vector>(self, board: usize, channel: usize, square: usize) -> V {
        let (from, left) = self.place(board, channel);
        // SAFETY: the caller's.
        unsafe { V::load_first(from.wrapping_add(square * self.channels), left) }
    }
}

/// A matrix `[boards, channels]`, or a vector `[channels]` as board 0 of one.
#[derive(Clone, Copy)]
pub struct Rows {
    /// First element.
    pub data: Shared,
    /// Channels.
    pub channels: usize,
}

impl Rows {
    /// Reads eight channels; those behind the last are zero.
    ///
    /// # Safety
    /// The matrix holds the board.
    #[inline(always)]
    pub unsafe fn read<V: Vector>(self, board: usize, channel: usize) -> V {
        let channel = channel.min(self.channels);
        // SAFETY: the caller's.
        unsafe {
            V::load_first(
                self.data.0.wrapping_add(board * self.channels + channel),
                self.channels - channel,
            )
        }
    }

    /// Writes eight channels; those behind the last are dropped.
    ///
    /// # Safety
    /// The matrix holds the board, and no other thread uses it.
    #[inline(always)]
    pub unsafe fn write<V: Vector>(self, board: usize, channel: usize, value: V) {
        let channel = channel.min(self.channels);
        let to = self.data.0.wrapping_add(board * self.channels + channel);
        // SAFETY: the caller's.
        unsafe { value.store_first(to, self.channels - channel) };
    }
}

/// Per board and channel, the sums over the squares of a first and of a second value.
#[derive(Clone, Copy)]
pub struct Sums {
    /// Sums of the first.
    pub first: Rows,
    /// Sums of the second.
    pub second: Rows,
}

impl Sums {
    /// Writes the sums of `first` and of `first * second`.
    ///
    /// # Safety
    /// The matrices hold the board, and no other thread uses it.
    #[inline(always)]
    pub unsafe fn write<V: Vector>(
        self,
        board: usize,
        channel: usize,
        first: &Board<V>,
        second: &Board<V>,
    ) {
        // Four sums each, for the additions to overlap.
        let mut sums = [[V::zero(); 4]; 2];
        for square in (0..SQUARES).step_by(4) {
            for i in 0..4 {
                sums[0][i] = sums[0][i].plus(first[square + i]);
                sums[1][i] = first[square + i].mul_add(second[square + i], sums[1][i]);
            }
        }
        let [first, second] = sums;
        // SAFETY: the caller's.
        unsafe {
            self.first.write(board, channel, first[0].plus(first[1]).plus(first[2].plus(first[3])));
            self.second.write(
                board,
                channel,
                second[0].plus(second[1]).plus(second[2].plus(second[3])),
            );
        }
    }
}

/// A batch normalisation followed by ReLU: `max(0, scale[c] * x + shift[c])`.
#[derive(Clone, Copy)]
pub struct Norm {
    /// `[channels]`.
    pub scale: Rows,
    /// `[channels]`.
    pub shift: Rows,
}

/// A convolution's input: a tensor, perhaps still to be normalised.
#[derive(Clone, Copy)]
pub struct Input {
    /// The tensor.
    pub boards: Boards,
    /// What is done to it first.
    pub norm: Option<Norm>,
}

impl Input {
    /// Reads eight channels; those behind the last are zero.
    ///
    /// # Safety
    /// The tensors hold the board.
    #[inline(always)]
    pub unsafe fn read<V: Vector>(self, board: usize, channel: usize, to: &mut Board<V>) {
        // SAFETY: the caller's.
        unsafe {
            self.boards.read(board, channel, to);
            if let Some(norm) = self.norm {
                let (scale, shift): (V, V) =
                    (norm.scale.read(0, channel), norm.shift.read(0, channel));
                for value in to.iter_mut() {
                    *value = value.mul_add(scale, shift).relu();
                }
            }
        }
    }
}

/// A convolution's output, perhaps with its sums and sums of squares.
#[derive(Clone, Copy)]
pub struct Output {
    /// The tensor.
    pub boards: Boards,
    /// What the batch's mean and variance are made of.
    pub sums: Option<Sums>,
}

impl Output {
    /// Takes eight channels.
    ///
    /// # Safety
    /// The tensors hold the board, and no other thread uses it.
    #[inline(always)]
    pub unsafe fn write<V: Vector>(self, board: usize, channel: usize, from: &Board<V>) {
        // SAFETY: the caller's.
        unsafe {
            self.boards.write(board, channel, from);
            if let Some(sums) = self.sums {
                sums.write(board, channel, from, from);
            }
        }
    }
}

/// A gradient that passed a ReLU: it counts where the ReLU's output was positive.
#[derive(Clone, Copy)]
pub struct Gated {
    /// The gradient by the ReLU's output.
    pub gradient: Boards,
    /// The ReLU's output; none lets all pass.
    pub gate: Option<Boards>,
}

impl Gated {
    /// Reads eight channels; those behind the last are zero.
    ///
    /// # Safety
    /// The tensors hold the board.
    #[inline(always)]
    pub unsafe fn read<V: Vector>(self, board: usize, channel: usize, to: &mut Board<V>) {
        // SAFETY: the caller's.
        unsafe {
            self.gradient.read(board, channel, to);
            if let Some(gate) = self.gate {
                for (square, value) in to.iter_mut().enumerate() {
                    *value = value.where_positive(gate.square(board, channel, square));
                }
            }
        }
    }
}

/// A gradient that passes a batch normalisation: `by_gradient * g + by_output * y + offset`, each `[boards, channels]`.
#[derive(Clone, Copy)]
pub struct NormGradient {
    /// The convolution's output, before it was normalised.
    pub output: Boards,
    /// Factor of the gradient.
    pub by_gradient: Rows,
    /// Factor of the output.
    pub by_output: Rows,
    /// What is added.
    pub offset: Rows,
}

/// The gradient by a convolution's output, perhaps still by what was made of it.
#[derive(Clone, Copy)]
pub struct OutputGradient {
    /// What is known.
    pub gated: Gated,
    /// How the gradient by the output comes of it.
    pub norm: Option<NormGradient>,
}

impl OutputGradient {
    /// Reads eight channels; those behind the last are zero.
    ///
    /// # Safety
    /// The tensors hold the board.
    #[inline(always)]
    pub unsafe fn read<V: Vector>(self, board: usize, channel: usize, to: &mut Board<V>) {
        // SAFETY: the caller's.
        unsafe {
            self.gated.read(board, channel, to);
            if let Some(norm) = self.norm {
                let by_gradient: V = norm.by_gradient.read(board, channel);
                let by_output: V = norm.by_output.read(board, channel);
                let offset: V = norm.offset.read(board, channel);
                for (square, value) in to.iter_mut().enumerate() {
                    let output: V = norm.output.square(board, channel, square);
                    *value = value.mul_add(by_gradient, output.mul_add(by_output, offset));
                }
            }
        }
    }
}

/// The gradient by a convolution's input.
#[derive(Clone, Copy)]
pub struct InputGradient {
    /// Where it is written.
    pub boards: Boards,
    /// A gradient that came round the convolution, to be added.
    pub skip: Option<Gated>,
    /// If the input was normalised: the tensor before that. The gradient is then the one by the normalised value before its
    /// ReLU, and its sums and the sums of its products with that tensor go to the second field.
    pub norm: Option<(Input, Sums)>,
}

impl InputGradient {
    /// Takes eight channels, and uses them.
    ///
    /// # Safety
    /// The tensors hold the board, and no other thread uses it.
    #[inline(always)]
    pub unsafe fn write<V: Vector>(self, board: usize, channel: usize, from: &mut Board<V>) {
        let mut other = [V::zero(); SQUARES];
        // SAFETY: the caller's.
        unsafe {
            if let Some((input, sums)) = self.norm {
                input.read(board, channel, &mut other);
                for (value, normalised) in from.iter_mut().zip(&other) {
                    *value = value.where_positive(*normalised);
                }
                input.boards.read(board, channel, &mut other);
                sums.write(board, channel, from, &other);
            }
            if let Some(skip) = self.skip {
                skip.read(board, channel, &mut other);
                for (value, skipped) in from.iter_mut().zip(&other) {
                    *value = value.plus(*skipped);
                }
            }
            self.boards.write(board, channel, from);
        }
    }
}

/// The first channel of each vector of a board.
#[inline(always)]
pub fn channels(channels: usize) -> impl Iterator<Item = usize> {
    (0..channels).step_by(LANES)
}
