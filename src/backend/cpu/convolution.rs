//! Convolutions of 8x8 boards as matrix products.

use crate::network::weights;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

/// A convolution prepared for [`Convolution::run`].
pub struct Convolution {
    kernel: usize,
    inputs: usize,
    /// `[out, in * kernel * kernel]`.
    weight: Array2<f32>,
    bias: Vec<f32>,
}

impl Convolution {
    pub fn new(conv: &weights::Convolution<f32>) -> Self {
        let (outputs, inputs, kernel, _) = conv.weight.dim();
        assert!(kernel == 1 || kernel == 3, "a network has 1x1 and 3x3 convolutions only");
        let weight = conv.weight.to_shape((outputs, inputs * kernel * kernel));
        Self {
            kernel,
            inputs,
            weight: weight.expect("the same number of elements").into_owned(),
            bias: conv.bias.to_vec(),
        }
    }

    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Convolves `input` `[in, n, 64]` into `output` `[out, n, 64]`. `columns` is scratch of at least
    /// `in * 9 * n * 64`; a 1x1 convolution does not touch it.
    pub fn run(&self, input: &[f32], output: &mut [f32], n: usize, columns: &mut [f32]) {
        assert_eq!(input.len(), self.inputs * n * 64);
        let width = n * 64;
        for (row, &bias) in output.chunks_exact_mut(width).zip(&self.bias) {
            row.fill(bias);
        }
        let columns = if self.kernel == 1 {
            input
        } else {
            let columns = &mut columns[..9 * input.len()];
            im2col(input, columns, width);
            columns
        };
        let columns = ArrayView2::from_shape((self.weight.ncols(), width), columns);
        let output = ArrayViewMut2::from_shape((self.outputs(), width), output);
        let (columns, mut output) = (columns.expect("in * taps rows"), output.expect("out rows"));
        general_mat_mul(1.0, &self.weight, &columns, 1.0, &mut output);
    }
}

/// Lays out the nine neighbours of every square: `[in, n * 64]` to `[in, 3, 3, n * 64]`, with zeros off
/// the board.
fn im2col(input: &[f32], columns: &mut [f32], width: usize) {
    for (channel, taps) in input.chunks_exact(width).zip(columns.chunks_exact_mut(9 * width)) {
        for (tap, column) in taps.chunks_exact_mut(width).enumerate() {
            let (up, right) = (tap / 3, tap % 3); // one more than the distance to the neighbour
            let boards = channel.as_chunks::<64>().0.iter();
            for (from, to) in boards.zip(column.as_chunks_mut::<64>().0) {
                shift(from, to, up, right);
            }
        }
    }
}

/// `to[rank][file] = from[rank + up - 1][file + right - 1]`, zero off the board.
fn shift(from: &[f32; 64], to: &mut [f32; 64], up: usize, right: usize) {
    let (from, to) = (from.as_chunks::<8>().0, to.as_chunks_mut::<8>().0);
    for (rank, to) in to.iter_mut().enumerate() {
        *to = match (rank + up).checked_sub(1).and_then(|rank| from.get(rank)) {
            None => [0.0; 8],
            Some(&[a, b, c, d, e, f, g, h]) => match right {
                0 => [0.0, a, b, c, d, e, f, g],
                1 => [a, b, c, d, e, f, g, h],
                _ => [b, c, d, e, f, g, h, 0.0],
            },
        };
    }
}
