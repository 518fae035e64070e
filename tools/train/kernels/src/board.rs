//! What a convolution reads and writes, eight channels of one board at a time, so that the passes around a convolution can be
//! done while its data is in a register. Tensors are channels-last, `[boards, 64, channels]`.

use crate::threads::Shared;
use crate::vector::Vector;

/// Squares of a board.
pub const SQUARES: usize = 64;

/// Eight channels of a board.
pub type Board<V> = [V; SQUARES];

/// Where a convolution's input comes from.
pub trait Source: Sync {
    /// Reads eight channels from `channel` on; those behind the last are zero.
    ///
    /// # Safety
    /// The source's pointers hold that board.
    unsafe fn read<V: Vector>(&self, board: usize, channel: usize, to: &mut Board<V>);
}

/// Where a convolution's output goes.
pub trait Sink: Sync {
    /// Takes eight channels from `channel` on; those behind the last are to be ignored.
    ///
    /// # Safety
    /// The sink's pointers have room for that board, and no other thread uses it.
    unsafe fn write<V: Vector>(&self, board: usize, channel: usize, from: &Board<V>);
}

/// A tensor as it is, `[boards, 64, channels]`.
#[derive(Clone, Copy)]
pub struct Plain {
    /// First element.
    pub data: Shared,
    /// Channels.
    pub channels: usize,
}

impl Plain {
    /// A tensor that is only read.
    pub fn input(data: *const f32, channels: usize) -> Self {
        Self { data: Shared(data.cast_mut()), channels }
    }

    /// Address of a board's channel on the first square, and how many channels are left from there on.
    #[inline(always)]
    fn place(&self, board: usize, channel: usize) -> (*mut f32, usize) {
        let channel = channel.min(self.channels);
        (
            self.data.0.wrapping_add(board * SQUARES * self.channels + channel),
            self.channels - channel,
        )
    }
}

impl Source for Plain {
    #[inline(always)]
    unsafe fn read<V: Vector>(&self, board: usize, channel: usize, to: &mut Board<V>) {
        let (from, left) = self.place(board, channel);
        for (square, to) in to.iter_mut().enumerate() {
            // SAFETY: the caller's: the tensor holds this board.
            *to = unsafe { V::load_first(from.wrapping_add(square * self.channels), left) };
        }
    }
}

impl Sink for Plain {
    #[inline(always)]
    unsafe fn write<V: Vector>(&self, board: usize, channel: usize, from: &Board<V>) {
        let (to, left) = self.place(board, channel);
        for (square, from) in from.iter().enumerate() {
            // SAFETY: the caller's: the tensor holds this board, and it is ours.
            unsafe { from.store_first(to.wrapping_add(square * self.channels), left) };
        }
    }
}
