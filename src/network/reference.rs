//! The forward pass as the papers write it, one position at a time.
//!
//! This is the oracle: every fast backend is tested equal to it, and it is tested equal to PyTorch.

use super::int8;
use super::weights::{
    Block, Convolution, Layers, Linear, Network, PolicyLayer, Real, ResidualLayers, Squares,
    SqueezeExcite, Tower,
};
use ndarray::{Array1, Array2, Array3, ArrayView3, Axis, LinalgScalar, concatenate, s};

/// Evaluates one position: planes `[planes, 8, 8]` to all logits `[policy size]` and the value in [-1, 1].
///
/// # Panics
/// When `planes` has another shape than the network's input.
pub fn forward<T: Real>(network: &Network<T>, planes: ArrayView3<'_, T>) -> (Array1<T>, T) {
    match &network.layers {
        Layers::Residual(layers) => policy_and_value(layers, planes),
        Layers::SquarePair(pair) => {
            let [from, to] = [&pair.from, &pair.to].map(|network| squares(network, planes)); // [64]
            let moves = from.iter().flat_map(|&from| to.iter().map(move |&to| from + to)); //   [4096]
            (moves.chain(from.iter().copied()).chain(to.iter().copied()).collect(), T::zero())
        }
    }
}

/// What sees the input `[channels, 8, 8]` of a convolution of the tower: the first is number 0.
pub type Observer<'a, T> = &'a mut dyn FnMut(usize, ArrayView3<'_, T>);

/// The way of one position through the tower, with someone to look on. A pair of square networks has none.
///
/// # Panics
/// As [`forward`].
pub fn observe<T: Real>(
    network: &Network<T>,
    planes: ArrayView3<'_, T>,
    observer: Observer<'_, T>,
) {
    if let Layers::Residual(layers) = &network.layers {
        trunk(layers, planes, observer);
    }
}

/// Planes to the final state.
fn trunk<T: Real>(
    network: &ResidualLayers<T>,
    planes: ArrayView3<'_, T>,
    observe: Observer<'_, T>,
) -> Array3<T> {
    let mut state = relu(convolve(planes, &network.stem)); //       [channels, 8, 8]
    for _ in 0..network.recurrence {
        let previous = state.clone();
        state = match &network.tower {
            Tower::Plain(blocks) => tower(state, blocks, convolve, observe),
            Tower::Int8(blocks) => tower(state, blocks, convolve_bytes, observe),
        };
        if let Some(gate) = &network.gate {
            state = mix(state, previous, gate);
        }
    }
    state
}

fn policy_and_value<T: Real>(
    network: &ResidualLayers<T>,
    planes: ArrayView3<'_, T>,
) -> (Array1<T>, T) {
    let state = trunk(network, planes, &mut |_, _| {}); //          [channels, 8, 8]
    let features = flatten(relu(convolve(state.view(), &network.policy_conv))); // [policy channels * 64]
    let logits = policy(&features, &network.policy); //                            [policy size]

    let features = flatten(relu(convolve(state.view(), &network.value_conv))); //  [value channels * 64]
    let hidden = linear(&features, &network.value_hidden).mapv(at_least_zero); //  [value hidden]
    let value = linear(&hidden, &network.value)[0].tanh();
    (logits, value)
}

/// One network of the pair: a logit for each square, `[64]`.
fn squares<T: Real>(network: &Squares<T>, planes: ArrayView3<'_, T>) -> Array1<T> {
    let first = relu(convolve(planes, &network.conv1)); //                [filters, 7, 7]
    let second = relu(convolve(first.view(), &network.conv2)); //         [filters, 6, 6]
    let features = flatten(second); //                                    [filters * 36]
    let hidden = linear(&features, &network.fc1).mapv(at_least_zero); //  [hidden]
    let hidden = linear(&hidden, &network.fc2).mapv(at_least_zero); //    [hidden]
    linear(&hidden, &network.fc3) //                                      [64]
}

/// The residual blocks, with convolutions of the kind `C`.
fn tower<T: Real, C>(
    mut state: Array3<T>,
    blocks: &[Block<T, C>],
    convolve: impl Fn(ArrayView3<'_, T>, &C) -> Array3<T>,
    observe: Observer<'_, T>,
) -> Array3<T> {
    for (i, block) in blocks.iter().enumerate() {
        observe(2 * i, state.view());
        let hidden = relu(convolve(state.view(), &block.conv1));
        observe(2 * i + 1, hidden.view());
        let mut change = convolve(hidden.view(), &block.conv2);
        if let Some(se) = &block.se {
            squeeze_excite(&mut change, se);
        }
        state = relu(state + change);
    }
    state
}

/// `y[o] = bias[o] + sum over i, dr, df of weight[o, i, dr, df] * x[i] shifted by (dr, df)`. With 3x3 taps
/// there is a border of zeros around the board, `[in, 8, 8]` to `[out, 8, 8]`; with 2x2 there is none, and
/// a rank and a file are lost.
fn convolve<T: Real>(input: ArrayView3<'_, T>, conv: &Convolution<T>) -> Array3<T> {
    let (outputs, inputs, kernel, _) = conv.weight.dim();
    let shifted = shifts(input, kernel); //                          [in * kernel * kernel, side, side]
    let side = shifted.len_of(Axis(1));
    let weight = conv.weight.to_shape((outputs, inputs * kernel * kernel)).expect(SAME_NUMBER);
    let sums = weight.dot(&flat(shifted)); //                        [out, side * side]
    boards(sums + conv.bias.view().insert_axis(Axis(1)), side)
}

/// The same in whole numbers, see [`int8`], which as `f64` are as exact.
fn convolve_bytes<T: Real>(input: ArrayView3<'_, T>, conv: &int8::Convolution) -> Array3<T> {
    let (outputs, inputs, kernel, _) = conv.weight.dim();
    let mut bytes = Array3::<f64>::zeros(input.dim());
    for (c, (mut bytes, input)) in bytes.outer_iter_mut().zip(input.outer_iter()).enumerate() {
        bytes.zip_mut_with(&input, |byte, &x| *byte = int8::byte(x, conv.input_scale[c]).into());
    }
    let weight = conv.weight.mapv(f64::from);
    let weight = weight.to_shape((outputs, inputs * kernel * kernel)).expect(SAME_NUMBER);
    let mut result = weight.dot(&flat(shifts(bytes.view(), kernel))).mapv(T::from_f64);
    for (o, mut board) in result.outer_iter_mut().enumerate() {
        let (scale, bias) = (T::from_f32(conv.scale[o]), T::from_f32(conv.bias[o]));
        board.mapv_inplace(|sum| sum * scale + bias);
    }
    boards(result, 8)
}

/// What a convolution multiplies: each board as each tap sees it, `[channels * taps * taps, side, side]`.
fn shifts<T: LinalgScalar>(input: ArrayView3<'_, T>, taps: usize) -> Array3<T> {
    let (channels, before, border) = (input.len_of(Axis(0)), input.len_of(Axis(1)), (taps - 1) / 2);
    let mut bordered = Array3::zeros((channels, before + 2 * border, before + 2 * border));
    bordered.slice_mut(s![.., border..border + before, border..border + before]).assign(&input);

    let side = before + 2 * border + 1 - taps;
    let mut shifted = Array3::zeros((channels * taps * taps, side, side));
    for (i, mut board) in shifted.outer_iter_mut().enumerate() {
        let (channel, dr, df) = (i / (taps * taps), i / taps % taps, i % taps);
        board.assign(&bordered.slice(s![channel, dr..dr + side, df..df + side]));
    }
    shifted
}

/// Each board in one row.
fn flat<T>(boards: Array3<T>) -> Array2<T> {
    let (count, side, _) = boards.dim();
    boards.into_shape_with_order((count, side * side)).expect(SAME_NUMBER)
}

/// Each row as a board.
fn boards<T>(rows: Array2<T>, side: usize) -> Array3<T> {
    let count = rows.nrows();
    rows.into_shape_with_order((count, side, side)).expect(SAME_NUMBER)
}

const SAME_NUMBER: &str = "the same numbers in another shape";

/// Scales each channel by a sigmoid and adds an offset, both computed from the means of all channels.
fn squeeze_excite<T: Real>(x: &mut Array3<T>, se: &SqueezeExcite<T>) {
    let channels = x.len_of(Axis(0));
    let squares = T::from_f64(64.0);
    let means = x.map_axis(Axis(2), |rank| rank.sum()).sum_axis(Axis(1)) / squares; // [channels]
    let hidden = linear(&means, &se.squeeze).mapv(at_least_zero); //                    [se width]
    let excited = linear(&hidden, &se.excite); //                                       [2 * channels]
    for (c, mut plane) in x.outer_iter_mut().enumerate() {
        let (scale, offset) = (sigmoid(excited[c]), excited[channels + c]);
        plane.mapv_inplace(|x| scale * x + offset);
    }
}

/// `z * candidate + (1 - z) * previous` with `z = sigmoid(W [candidate; previous])`.
fn mix<T: Real>(candidate: Array3<T>, previous: Array3<T>, gate: &Convolution<T>) -> Array3<T> {
    let both = concatenate(Axis(0), &[candidate.view(), previous.view()])
        .expect("both have the shape of the state");
    let z = convolve(both.view(), gate).mapv(sigmoid);
    &z * &candidate + z.mapv(|z| T::one() - z) * &previous
}

fn linear<T: Real>(input: &Array1<T>, layer: &Linear<T>) -> Array1<T> {
    layer.weight.dot(input) + &layer.bias
}

fn policy<T: Real>(input: &Array1<T>, layer: &PolicyLayer<T>) -> Array1<T> {
    let rows = layer.bias.iter().enumerate();
    rows.map(|(row, &bias)| layer.weight.row(row).dot(input) + bias).collect()
}

fn flatten<T: Real>(x: Array3<T>) -> Array1<T> {
    x.into_iter().collect()
}

fn relu<T: Real>(x: Array3<T>) -> Array3<T> {
    x.mapv_into(at_least_zero)
}

/// NaN passes through, as in PyTorch.
fn at_least_zero<T: Real>(x: T) -> T {
    if x < T::zero() { T::zero() } else { x }
}

fn sigmoid<T: Real>(x: T) -> T {
    T::one() / (T::one() + (-x).exp())
}
