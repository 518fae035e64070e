//! Fully connected layers.

use crate::network::weights::Linear;

/// `output = weight * input + bias`.
pub fn linear(layer: &Linear<f32>, input: &[f32], output: &mut [f32]) {
    for (row, output) in output.iter_mut().enumerate() {
        *output = one_output(layer, row, input);
    }
}

/// One output of a fully connected layer.
pub fn one_output(layer: &Linear<f32>, row: usize, input: &[f32]) -> f32 {
    let weight = layer.weight.row(row);
    layer.bias[row] + dot(weight.to_slice().expect("rows are contiguous"), input)
}

/// The dot product, in sixteen partial sums that the compiler keeps in vector registers.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<16>();
    let (b, b_rest) = b.as_chunks::<16>();
    let mut sums = [0.0_f32; 16];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}
