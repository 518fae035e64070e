//! The weights in the order in which `kernels/forward.cu` reads them.
//!
//! A convolution is `[out]` biases and `[in, 3, 3, out]` weights. Channels are filled up with zeros to a multiple of 32, and whatever
//! is read as vectors of four numbers to a multiple of 4: what comes out of them is 0.

use crate::backend::BackendError;
use crate::network::Architecture;
use crate::network::spec::Residual;
use crate::network::weights::{
    Convolution, Layers, Linear, Network, PolicyLayer, ResidualLayers, SqueezeExcite,
};
use cudarc::driver::DeviceRepr;

/// The kernel's sizes: as its `struct Sizes`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Sizes {
    pub planes: i32,
    pub channels: i32,
    pub blocks: i32,
    pub recurrence: i32,
    pub gate: i32,
    pub squeeze: i32,
    pub policy: i32,
    pub value: i32,
    pub hidden: i32,
}

// SAFETY: nine integers, laid out as C does.
unsafe impl DeviceRepr for Sizes {}

/// A network for the kernel.
pub struct Packed {
    pub sizes: Sizes,
    pub weights: Vec<f32>,
    /// Of a block.
    pub threads: usize,
    /// What a block needs of it, in bytes.
    pub shared_memory: usize,
}

/// Numbers in shared memory: the boards of four input channels, 10 ranks of 12, and the filters of two.
const BOARDS: usize = 4 * 10 * 12;
const FILTERS: usize = 2 * 9;

/// What every GPU lets a block have, in bytes.
const SHARED_MEMORY: usize = 48 << 10;

/// The widest trunk: a block has at most 512 threads of 128 registers.
const CHANNELS: usize = 256;

/// Packs a residual network.
pub fn pack(network: &Network) -> Result<Packed, BackendError> {
    let (Architecture::Residual(residual), Layers::Residual(layers)) =
        (&network.spec.architecture, &network.layers)
    else {
        return Err(BackendError(
            "CUDA: runs residual networks, not pairs that score squares".to_owned(),
        ));
    };
    let planes = network.spec.encoding.planes();
    let channels = residual.channels.next_multiple_of(32);
    let squeeze = residual.se_width.map_or(0, |width| width.next_multiple_of(4));
    let hidden = residual.value_hidden.next_multiple_of(4);
    let features = 64 * (residual.policy_channels + residual.value_channels);
    let vectors = (features + hidden).max(3 * channels + squeeze);
    let shared_memory = size_of::<f32>() * (BOARDS + FILTERS * channels + vectors);
    if channels > CHANNELS || shared_memory > SHARED_MEMORY {
        let Residual { channels, policy_channels, value_channels, .. } = residual;
        return Err(BackendError(format!(
            "CUDA: a network of {channels} channels, its heads of {policy_channels} and {value_channels}, is too wide; expected at most {CHANNELS}, and heads of about 150 together"
        )));
    }
    let number = |size: usize| i32::try_from(size).unwrap_or(i32::MAX); // The sizes of a spec are small.
    let sizes = Sizes {
        planes: number(planes),
        channels: number(channels),
        blocks: number(residual.blocks),
        recurrence: number(residual.recurrence),
        gate: residual.gate.into(),
        squeeze: number(squeeze),
        policy: number(residual.policy_channels),
        value: number(residual.value_channels),
        hidden: number(hidden),
    };
    let mut packer = Packer { channels, weights: Vec::new() };
    packer.network(layers, squeeze, hidden);
    Ok(Packed { sizes, weights: packer.weights, threads: 2 * channels, shared_memory })
}

struct Packer {
    /// Of the trunk, filled up.
    channels: usize,
    weights: Vec<f32>,
}

impl Packer {
    fn network(&mut self, layers: &ResidualLayers<f32>, squeeze: usize, hidden: usize) {
        let inputs = layers.stem.weight.dim().1;
        self.convolution(&layers.stem, 1, inputs.next_multiple_of(2));
        for block in &layers.tower {
            for convolution in [&block.conv1, &block.conv2] {
                self.convolution(convolution, 1, self.channels);
            }
            if let Some(se) = &block.se {
                self.squeeze_excite(se, squeeze);
            }
        }
        if let Some(gate) = &layers.gate {
            // The candidate's channels and those of the state before.
            self.convolution(gate, 2, self.channels);
        }
        self.head_convolutions(&layers.policy_conv, &layers.value_conv);
        self.value(&layers.value_hidden, &layers.value, hidden);
        self.policy(&layers.policy);
    }

    /// `numbers`, filled up to `length`.
    fn vector(&mut self, numbers: impl IntoIterator<Item = f32>, length: usize) {
        let end = self.weights.len() + length;
        self.weights.extend(numbers);
        debug_assert!(self.weights.len() <= end);
        self.weights.resize(end, 0.0);
    }

    /// The input channels are so many groups, each of which is filled up to `length`.
    fn convolution(&mut self, layer: &Convolution<f32>, groups: usize, length: usize) {
        let (_, inputs, side, _) = layer.weight.dim();
        self.vector(layer.bias.iter().copied(), self.channels);
        for group in 0..groups {
            let end = self.weights.len() + length * side * side * self.channels;
            for input in inputs * group / groups..inputs * (group + 1) / groups {
                for tap in 0..side * side {
                    let filter = layer.weight.slice(ndarray::s![.., input, tap / side, tap % side]);
                    self.vector(filter.iter().copied(), self.channels);
                }
            }
            self.weights.resize(end, 0.0);
        }
    }

    fn squeeze_excite(&mut self, se: &SqueezeExcite<f32>, width: usize) {
        let end = self.weights.len() + width * self.channels;
        for row in se.squeeze.weight.outer_iter() {
            self.vector(row.iter().copied(), self.channels);
        }
        self.weights.resize(end, 0.0);
        self.vector(se.squeeze.bias.iter().copied(), width);

        let end = self.weights.len() + width * 2 * self.channels;
        let real = se.excite.bias.len() / 2;
        for unit in se.excite.weight.columns() {
            self.vector(unit.iter().copied().take(real), self.channels);
            self.vector(unit.iter().copied().skip(real), self.channels);
        }
        self.weights.resize(end, 0.0);
        self.vector(se.excite.bias.iter().copied().take(real), self.channels);
        self.vector(se.excite.bias.iter().copied().skip(real), self.channels);
    }

    /// Both as one, as many output channels at a time as the trunk has.
    fn head_convolutions(&mut self, policy: &Convolution<f32>, value: &Convolution<f32>) {
        let views = [policy.weight.view(), value.weight.view()];
        let weight = ndarray::concatenate(ndarray::Axis(0), &views).expect("both read the trunk");
        let bias = ndarray::concatenate![ndarray::Axis(0), policy.bias, value.bias];
        let features = bias.len();
        for first in (0..features).step_by(self.channels) {
            let outputs = first..(first + self.channels).min(features);
            let part = Convolution {
                weight: weight.slice(ndarray::s![outputs.clone(), .., .., ..]).to_owned(),
                bias: bias.slice(ndarray::s![outputs]).to_owned(),
            };
            self.convolution(&part, 1, self.channels);
        }
    }

    fn value(&mut self, first: &Linear<f32>, last: &Linear<f32>, hidden: usize) {
        let end = self.weights.len() + hidden * first.weight.ncols();
        self.weights.extend(first.weight.iter().copied());
        self.weights.resize(end, 0.0);
        self.vector(first.bias.iter().copied(), hidden);
        self.vector(last.weight.iter().copied(), hidden);
        self.vector(last.bias.iter().copied(), 4);
    }

    /// Row after row, each with its bias at the end.
    fn policy(&mut self, layer: &PolicyLayer<f32>) {
        let width = layer.weight.width();
        self.weights.reserve_exact(layer.bias.len() * (width + 4));
        for (row, &bias) in layer.bias.iter().enumerate() {
            self.weights.extend(layer.weight.row(row));
            self.vector([bias], 4);
        }
    }
}
