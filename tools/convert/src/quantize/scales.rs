//! Scales, weights and biases.

use super::observe::Means;
use super::rounding::Inputs;
use fianchetto::network::int8::{self, LARGEST};
use fianchetto::network::weights::{Convolution, PolicyLayer};
use ndarray::{Array1, Array2, Array4, ArrayView1, Axis};

/// Scales tried for a row of weights, each a twentieth of the largest one less than the one before.
const SCALES: u8 = 6;

/// A scale for each input channel: this input becomes the largest byte. A channel that is never above zero gets
/// that of the others on average.
pub fn input_scales(largest: &Array1<f32>) -> Array1<f32> {
    let scales = largest / LARGEST;
    let alive: Vec<f32> = scales.iter().copied().filter(|&x| x >= f32::MIN_POSITIVE).collect();
    let mean = if alive.is_empty() { 1.0 } else { alive.iter().sum::<f32>() / alive.len() as f32 };
    scales.mapv_into(|scale| if scale >= f32::MIN_POSITIVE { scale } else { mean })
}

/// A convolution in bytes, for inputs with these scales.
pub fn convolution(
    plain: &Convolution<f32>,
    input_scale: Array1<f32>,
    means: &Means,
    inputs: &Inputs,
) -> int8::Convolution {
    // In f64: weights and scales are multiplied.
    let mut folded = plain.weight.mapv(f64::from);
    for (mut weights, &scale) in folded.axis_iter_mut(Axis(1)).zip(&input_scale) {
        weights *= f64::from(scale);
    }
    let mut weight = Array4::zeros(folded.dim());
    let mut scale = Array1::zeros(plain.bias.len());
    for (o, filter) in folded.outer_iter().enumerate() {
        let filter: Array1<f64> = filter.iter().copied().collect();
        let (rounded, step) = row_for(filter.view(), inputs);
        scale[o] = step;
        weight.index_axis_mut(Axis(0), o).iter_mut().zip(rounded).for_each(|(to, from)| *to = from);
    }
    let mut bias = plain.bias.clone();
    for (o, error) in mean_errors(plain, &weight, &scale, means).into_iter().enumerate() {
        bias[o] += error as f32;
    }
    int8::Convolution { weight, scale, bias, input_scale }
}

/// What each output channel lacks on average, over all positions and squares.
fn mean_errors(
    plain: &Convolution<f32>,
    weight: &Array4<i8>,
    scale: &Array1<f32>,
    means: &Means,
) -> Vec<f64> {
    let (exact, bytes) = means.get();
    // Σ over the squares that a tap sees, of each channel: [channels, 3, 3].
    let seen = |boards: &ndarray::Array3<f64>, c: usize, rank: usize, file: usize| -> f64 {
        let lines = |tap: usize| match tap {
            0 => 0..7,
            1 => 0..8,
            _ => 1..8,
        };
        lines(rank)
            .flat_map(|r| lines(file).map(move |f| (r, f)))
            .map(|(r, f)| boards[[c, r, f]])
            .sum()
    };
    let (outputs, inputs, ..) = weight.dim();
    let mut errors = vec![0.0; outputs];
    for c in 0..inputs {
        for (rank, file) in (0..9).map(|tap| (tap / 3, tap % 3)) {
            let (exact, bytes) = (seen(&exact, c, rank, file), seen(&bytes, c, rank, file));
            for (o, error) in errors.iter_mut().enumerate() {
                let at = [o, c, rank, file];
                let ours = f64::from(scale[o]) * f64::from(weight[at]) * bytes;
                *error += (f64::from(plain.weight[at]) * exact - ours) / 64.0;
            }
        }
    }
    errors
}

/// The rows of the policy layer as bytes, `[rows, in]`, and a scale for each.
pub fn rows(layer: &PolicyLayer<f32>) -> (Array2<i8>, Array1<f32>) {
    let (count, width) = (layer.bias.len(), layer.weight.width());
    let mut weight = Array2::zeros((count, width));
    let mut scale = Array1::zeros(count);
    for (r, mut to) in weight.outer_iter_mut().enumerate() {
        let (rounded, step) = row(layer.weight.row(r).mapv(f64::from).view());
        scale[r] = step;
        to.iter_mut().zip(rounded).for_each(|(to, from)| *to = from);
    }
    (weight, scale)
}

/// Numbers as bytes with one scale, that of the least error on the inputs.
fn row_for(numbers: ArrayView1<'_, f64>, inputs: &Inputs) -> (Vec<i8>, f32) {
    let largest = numbers.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let mut best: Option<(f64, Vec<i8>, f32)> = None;
    for i in 0..SCALES {
        let scale = (largest * (1.0 - 0.05 * f64::from(i)) / f64::from(LARGEST)) as f32;
        let scale = if scale > f32::MIN_POSITIVE { scale } else { 1.0 };
        let numbers = numbers.mapv(|x| x / f64::from(scale));
        let rounded = inputs.round(numbers.view(), f64::from(LARGEST));
        let error = inputs.error(numbers.view(), &rounded) * f64::from(scale).powi(2);
        if best.as_ref().is_none_or(|(least, ..)| error < *least) {
            best = Some((error, rounded, scale));
        }
    }
    best.map(|(_, rounded, scale)| (rounded, scale)).unwrap_or_default()
}

/// Numbers as bytes with one scale.
fn row(numbers: ArrayView1<'_, f64>) -> (Vec<i8>, f32) {
    let largest = numbers.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let scale = (largest / f64::from(LARGEST)) as f32;
    let scale = if scale > f32::MIN_POSITIVE { scale } else { 1.0 };
    let limit = f64::from(LARGEST);
    let byte = |x: &f64| (x / f64::from(scale)).round_ties_even().clamp(-limit, limit) as i8;
    (numbers.iter().map(byte).collect(), scale)
}
