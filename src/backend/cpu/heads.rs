//! The policy and value heads. Of the policy layer only the rows asked for are computed.

use super::boards::{Dot, Relu, Tanh};
use super::buffer::Shared;
use super::clock::Stage;
use super::crew::Member;
use super::layer::Layer;
use super::order::Order;
use super::simd::Simd;
use super::tower::Scratch;
use crate::network::spec::Residual;
use crate::network::weights::{self, Rows};
use std::ops::Range;

/// Rows of the value head's hidden layer in a piece of work.
const HIDDEN_ROWS: usize = 16;
/// Pieces of work that a position's logits make.
const LOGIT_PIECES: usize = 4;

/// Both heads: 1x1 convolutions, then fully connected layers, whose weights stay as they are loaded.
pub struct Heads<S> {
    simd: S,
    policy_conv: Layer,
    /// policy channels * 64 -> policy size.
    policy: weights::PolicyLayer<f32>,
    value_conv: Layer,
    /// value channels * 64 -> hidden.
    value_hidden: weights::Linear<f32>,
    /// hidden -> 1.
    value: weights::Linear<f32>,
}

/// The memory of both heads for one group of positions.
pub struct Features {
    /// `[n, policy channels * 64]`.
    policy: Shared,
    /// `[n, value channels * 64]`.
    value: Shared,
    /// `[n, hidden]`.
    hidden: Shared,
}

impl Features {
    pub fn new(sizes: &Residual, group: usize) -> Self {
        Self {
            policy: Shared::new(group * sizes.policy_channels * 64),
            value: Shared::new(group * sizes.value_channels * 64),
            hidden: Shared::new(group * sizes.value_hidden),
        }
    }
}

impl<S: Simd> Heads<S> {
    pub fn new(
        simd: S,
        policy: (weights::Convolution<f32>, weights::PolicyLayer<f32>),
        value: (weights::Convolution<f32>, weights::Linear<f32>, weights::Linear<f32>),
    ) -> Self {
        Self {
            simd,
            policy_conv: Layer::convolution::<S>(&policy.0),
            policy: policy.1,
            value_conv: Layer::convolution::<S>(&value.0),
            value_hidden: value.1,
            value: value.2,
        }
    }

    /// Answers what the order asks of some positions, from their final state.
    pub fn run(
        &self,
        member: &mut Member<'_>,
        state: &Shared,
        features: &Features,
        scratch: &mut Scratch,
        order: &Order,
        positions: Range<usize>,
    ) {
        let (first, n) = (positions.start, positions.len());
        let policy_blocks = self.policy_conv.blocks();
        member.each(policy_blocks + self.value_conv.blocks(), |block| {
            let boards = &mut scratch.boards[..n * 64 * S::BLOCK];
            match block.checked_sub(policy_blocks) {
                None => self.features(&self.policy_conv, block, state, boards, &features.policy),
                Some(block) => {
                    self.features(&self.value_conv, block, state, boards, &features.value)
                }
            }
        });

        let hidden_pieces = self.value_hidden.bias.len().div_ceil(HIDDEN_ROWS);
        member.each(hidden_pieces + LOGIT_PIECES * n, |piece| {
            match piece.checked_sub(hidden_pieces) {
                None => self.hidden(piece * HIDDEN_ROWS, features, n),
                Some(piece) => {
                    let position = piece / LOGIT_PIECES;
                    // SAFETY: the phase before made it.
                    let features =
                        unsafe { row(&features.policy, self.policy.weight.width(), position) };
                    // SAFETY: inside of a piece, which is the only one to write these logits.
                    let (indices, logits) = unsafe {
                        order.logits(first + position, piece % LOGIT_PIECES, LOGIT_PIECES)
                    };
                    for (logit, &index) in logits.iter_mut().zip(indices) {
                        *logit = self.logit(index.into(), features);
                    }
                }
            }
        });

        member.each(1, |_| {
            for position in 0..n {
                // SAFETY: the phase before made it.
                let hidden =
                    unsafe { row(&features.hidden, self.value_hidden.bias.len(), position) };
                let value = self.simd.run(Tanh(self.one_output(&self.value, 0, hidden)));
                // SAFETY: inside of a piece, the only one of its phase.
                unsafe { order.set_value(first + position, value) };
            }
        });
        scratch.clock.lap(Stage::Heads, 0);
    }

    /// One block of channels of a head's convolution: `[64 n][BLOCK]` to `[n, channels, 64]`, the order in
    /// which the fully connected layers have their weights.
    fn features(
        &self,
        layer: &Layer,
        block: usize,
        state: &Shared,
        boards: &mut [f32],
        features: &Shared,
    ) {
        // SAFETY: a phase before this one made the state, and this one does not change it.
        let input = unsafe { state.read(0..state.len()) };
        layer.run(self.simd, block, input, boards.len(), boards);
        self.simd.run(Relu(boards));
        let channels = layer.outputs.min((block + 1) * S::BLOCK) - block * S::BLOCK;
        for (position, board) in boards.chunks_exact(64 * S::BLOCK).enumerate() {
            let start = (position * layer.outputs + block * S::BLOCK) * 64;
            // SAFETY: this piece makes these channels of all positions.
            let features = unsafe { features.write(start..start + channels * 64) };
            for (channel, plane) in features.chunks_exact_mut(64).enumerate() {
                for (to, square) in plane.iter_mut().zip(board.chunks_exact(S::BLOCK)) {
                    *to = square[channel];
                }
            }
        }
    }

    /// Some rows of the value head's hidden layer, of all positions.
    fn hidden(&self, first: usize, features: &Features, n: usize) {
        let rows = self.value_hidden.bias.len();
        for output in first..rows.min(first + HIDDEN_ROWS) {
            for position in 0..n {
                // SAFETY: the phase before made it.
                let input =
                    unsafe { row(&features.value, self.value_hidden.weight.ncols(), position) };
                let sum = self.one_output(&self.value_hidden, output, input);
                let at = position * rows + output;
                // SAFETY: this piece computes this output of all positions.
                unsafe { features.hidden.write(at..at + 1)[0] = at_least_zero(sum) };
            }
        }
    }

    /// One output of the policy layer.
    fn logit(&self, row: usize, input: &[f32]) -> f32 {
        const CONTIGUOUS: &str = "rows are contiguous";
        let sum = match &self.policy.weight {
            Rows::Full(rows) => {
                let row = rows.row(row).to_slice().expect(CONTIGUOUS);
                self.simd.run(Dot(row, input))
            }
            Rows::Half(rows) => {
                let row = rows.row(row).to_slice().expect(CONTIGUOUS);
                self.simd.run(Dot(row, input))
            }
            Rows::Bytes(rows, scales) => {
                let bytes = rows.row(row).to_slice().expect(CONTIGUOUS);
                scales[row] * self.simd.run(Dot(bytes, input))
            }
        };
        self.policy.bias[row] + sum
    }

    /// One output of a fully connected layer.
    fn one_output(&self, layer: &weights::Linear<f32>, row: usize, input: &[f32]) -> f32 {
        let weight = layer.weight.row(row);
        let weight = weight.to_slice().expect("rows are contiguous");
        layer.bias[row] + self.simd.run(Dot(weight, input))
    }
}

/// One position's part of `[n, len]`.
///
/// # Safety
/// A phase before this one made it.
unsafe fn row(map: &Shared, len: usize, position: usize) -> &[f32] {
    // SAFETY: as the caller promises, nobody writes to it.
    unsafe { map.read(position * len..(position + 1) * len) }
}

/// As PyTorch's ReLU, and unlike `max`, it lets NaN through: an overflow inside a network must be seen.
fn at_least_zero(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}
