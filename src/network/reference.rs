//! The forward pass as the papers write it: plain loops, one position at a time.
//!
//! This is the oracle: every fast backend is tested equal to it, and it is tested equal to PyTorch.

use super::weights::{
    Block, Convolution, Layers, Linear, Network, PolicyLayer, Real, ResidualLayers, Squares,
    SqueezeExcite,
};
use ndarray::{Array1, Array3, ArrayView3, Axis, concatenate, s};

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

fn policy_and_value<T: Real>(
    network: &ResidualLayers<T>,
    planes: ArrayView3<'_, T>,
) -> (Array1<T>, T) {
    let mut state = relu(convolve(planes, &network.stem)); //       [channels, 8, 8]
    for _ in 0..network.recurrence {
        let previous = state.clone();
        for block in &network.tower {
            state = residual(state, block);
        }
        if let Some(gate) = &network.gate {
            state = mix(state, previous, gate);
        }
    }
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

fn residual<T: Real>(input: Array3<T>, block: &Block<T>) -> Array3<T> {
    let hidden = relu(convolve(input.view(), &block.conv1));
    let mut change = convolve(hidden.view(), &block.conv2);
    if let Some(se) = &block.se {
        squeeze_excite(&mut change, se);
    }
    relu(input + change)
}

/// `y[o] = bias[o] + sum over i, dr, df of weight[o, i, dr, df] * x[i] shifted by (dr, df)`. With 3x3 taps
/// there is a border of zeros around the board, `[in, 8, 8]` to `[out, 8, 8]`; with 2x2 there is none, and
/// a rank and a file are lost.
fn convolve<T: Real>(input: ArrayView3<'_, T>, conv: &Convolution<T>) -> Array3<T> {
    let (outputs, inputs, kernel, _) = conv.weight.dim();
    let (before, border) = (input.len_of(Axis(1)), (kernel - 1) / 2);
    let mut bordered = Array3::zeros((inputs, before + 2 * border, before + 2 * border));
    bordered.slice_mut(s![.., border..border + before, border..border + before]).assign(&input);

    let side = before + 2 * border + 1 - kernel;
    let mut output = Array3::zeros((outputs, side, side));
    for (o, mut board) in output.outer_iter_mut().enumerate() {
        board.fill(conv.bias[o]);
        for ((i, dr, df), &weight) in conv.weight.index_axis(Axis(0), o).indexed_iter() {
            board.scaled_add(weight, &bordered.slice(s![i, dr..dr + side, df..df + side]));
        }
    }
    output
}

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
