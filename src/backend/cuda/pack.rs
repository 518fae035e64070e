//! The weights in the order in which the kernels read them, `kernels/forward.cu` and `kernels/forward_half.cu`: layer after layer,
//! words of 32 bits.
//!
//! Channels are filled up with zeros to a width that there is a kernel for, and whatever is read as vectors to a multiple of 4: what
//! comes out of them is 0.

use super::Arithmetic;
use crate::backend::BackendError;
use crate::network::spec::Residual;
use crate::network::weights::{
    Block, Convolution, Layers, Linear, Network, PolicyLayer, ResidualLayers, SqueezeExcite, Tower,
};
use crate::network::{Architecture, F16};
use cudarc::driver::DeviceRepr;

/// The kernels' sizes: as their `struct Sizes`.
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

/// A network for the kernels.
pub struct Packed {
    pub sizes: Sizes,
    pub weights: Vec<u32>,
    /// Those that can run it: the one that does not split a position first.
    pub kernels: Vec<Kernel>,
}

/// What a kernel needs for a network.
pub struct Kernel {
    pub name: String,
    /// Blocks for a position.
    pub split: usize,
    /// Of a block.
    pub threads: usize,
    /// What a block needs of it, in bytes.
    pub shared_memory: usize,
    /// What the blocks of a position need in global memory, in words.
    pub scratch: usize,
}

/// Into how many blocks a position can be split.
const SPLITS: [usize; 4] = [1, 2, 4, 8];

/// The widest trunk: in fp32 a block has 2 threads a channel, and at most 512 of 128 registers.
const CHANNELS: usize = 256;

/// Packs a residual network, for blocks that may have so much shared memory, in bytes.
pub fn pack(
    network: &Network,
    arithmetic: Arithmetic,
    most_shared: usize,
) -> Result<Packed, BackendError> {
    let (Architecture::Residual(residual), Layers::Residual(layers)) =
        (&network.spec.architecture, &network.layers)
    else {
        return Err(BackendError(
            "CUDA: runs residual networks, not pairs that score squares".to_owned(),
        ));
    };
    let Tower::Plain(blocks) = &layers.tower else {
        return Err(BackendError("CUDA: runs networks of floating point, not int8".to_owned()));
    };
    let planes = network.spec.encoding.planes();
    let channels = match arithmetic {
        Arithmetic::Single => residual.channels.next_multiple_of(32),
        Arithmetic::Half => residual.channels.next_power_of_two().max(32),
    };
    let squeeze = residual.se_width.map_or(0, |width| width.next_multiple_of(4));
    let hidden = residual.value_hidden.next_multiple_of(4);
    let heads = 64 * (residual.policy_channels + residual.value_channels) + hidden;
    let kernels: Vec<_> = (SPLITS.into_iter())
        .filter(|split| channels <= CHANNELS && is_splittable(arithmetic, channels, *split))
        .map(|split| match arithmetic {
            Arithmetic::Single => single(channels, squeeze, heads, split),
            Arithmetic::Half => half(channels, squeeze, heads, split),
        })
        .filter(|kernel| kernel.shared_memory <= most_shared)
        .collect();
    if kernels.first().is_none_or(|kernel| kernel.split != 1) {
        let Residual { channels, policy_channels, value_channels, .. } = residual;
        return Err(BackendError(format!(
            "CUDA: a network of {channels} channels, its heads of {policy_channels} and {value_channels}, is too wide; expected at most {CHANNELS}, and heads of about 100 together"
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
    let mut packer = Packer { arithmetic, channels, words: Vec::new(), is_finite: true };
    packer.network(layers, blocks, squeeze, hidden);
    if arithmetic == Arithmetic::Half && (!packer.is_finite || planes > 32) {
        let text = "CUDA: 16 bits are for weights below 65,520 and at most 32 planes";
        return Err(BackendError(text.to_owned()));
    }
    Ok(Packed { sizes, weights: packer.words, kernels })
}

/// Whether there is a kernel for it: `forward.cu` needs 16 channels for each block, and of `forward_half.cu` there are those that may pay.
fn is_splittable(arithmetic: Arithmetic, channels: usize, split: usize) -> bool {
    match arithmetic {
        Arithmetic::Single => split == 1 || channels >= 16 * split,
        Arithmetic::Half => split == 1 || (32 * split..=64 * split).contains(&channels),
    }
}

/// A kernel's name is the whole one's, with the split behind it.
fn name(whole: &str, split: usize) -> String {
    if split == 1 { whole.to_owned() } else { format!("{whole}_{split}") }
}

/// Of `forward.cu`.
fn single(channels: usize, squeeze: usize, heads: usize, split: usize) -> Kernel {
    // The boards of some input channels, 10 ranks of 12 numbers; filters; vectors.
    let boards = 4 * split * 10 * 12;
    let shared = boards + 2 * 9 * channels + heads.max(3 * channels + squeeze);
    let exchanged = if split == 1 { 0 } else { heads.max(channels) };
    Kernel {
        name: name("forward", split),
        split,
        threads: if split == 1 { 2 * channels } else { channels },
        shared_memory: 4 * shared,
        scratch: 3 * 64 * channels + exchanged,
    }
}

/// Of `forward_half.cu`.
fn half(channels: usize, squeeze: usize, heads: usize, split: usize) -> Kernel {
    let map = 32 * channels;
    Kernel {
        name: name(&format!("forward_half_{channels}"), split),
        split,
        threads: if split == 1 { 256 } else { 128 },
        // A map with a border; vectors.
        shared_memory: 2 * 100 * (channels + 8) + 4 * heads.max(4 * channels + squeeze),
        scratch: if split == 1 { map } else { 3 * map + heads.max(2 * channels) },
    }
}

struct Packer {
    arithmetic: Arithmetic,
    /// Of the trunk, filled up.
    channels: usize,
    words: Vec<u32>,
    /// Whether all numbers are in their format.
    is_finite: bool,
}

impl Packer {
    fn network(
        &mut self,
        layers: &ResidualLayers<f32>,
        blocks: &[Block<f32>],
        squeeze: usize,
        hidden: usize,
    ) {
        let inputs = layers.stem.weight.dim().1;
        let filled = match self.arithmetic {
            Arithmetic::Single => inputs.next_multiple_of(2),
            Arithmetic::Half => inputs.next_multiple_of(32),
        };
        self.convolution(&layers.stem, 1, filled);
        for block in blocks {
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

    /// Numbers of 32 bits, filled up to `length`.
    fn vector(&mut self, numbers: impl IntoIterator<Item = f32>, length: usize) {
        let end = self.words.len() + length;
        self.words.extend(numbers.into_iter().map(f32::to_bits));
        debug_assert!(self.words.len() <= end);
        self.words.resize(end, 0);
    }

    fn pair(&mut self, lower: f32, upper: f32) {
        let [lower, upper] = [lower, upper].map(F16::from_f32);
        self.is_finite &= lower.is_finite() && upper.is_finite();
        self.words.push(u32::from(lower.0) | u32::from(upper.0) << 16);
    }

    /// A row of a matrix, of an even number of numbers, in whatever they are computed in.
    fn row(&mut self, row: impl ExactSizeIterator<Item = f32>) {
        let (length, mut row) = (row.len(), row);
        match self.arithmetic {
            Arithmetic::Single => self.vector(row, length),
            Arithmetic::Half => {
                while let (Some(lower), Some(upper)) = (row.next(), row.next()) {
                    self.pair(lower, upper);
                }
            }
        }
    }

    /// Biases `[out]`, then the weights. The input channels are so many groups, each of which is filled up to `length`.
    fn convolution(&mut self, layer: &Convolution<f32>, groups: usize, length: usize) {
        let (outputs, inputs, side, _) = layer.weight.dim();
        self.vector(layer.bias.iter().copied(), self.channels);
        for group in 0..groups {
            let first = inputs * group / groups;
            let weight = |output: usize, input: usize, tap: usize| match input < inputs / groups
                && output < outputs
            {
                true => layer.weight[[output, first + input, tap / side, tap % side]],
                false => 0.0,
            };
            match self.arithmetic {
                Arithmetic::Single => self.filters(weight, length, side * side),
                Arithmetic::Half => self.fragments(weight, length, side * side),
            }
        }
    }

    /// `[in, taps, out]`.
    fn filters(&mut self, weight: impl Fn(usize, usize, usize) -> f32, inputs: usize, taps: usize) {
        for (input, tap) in (0..inputs).flat_map(|input| (0..taps).map(move |tap| (input, tap))) {
            self.vector((0..self.channels).map(|output| weight(output, input, tap)), self.channels);
        }
    }

    /// `[taps, in / 32, out / 8, lanes]` of four words: what each lane of a warp holds of the matrices `[16, 8]` of 16 input and 8 output
    /// channels, and of the next 16 (PTX ISA, "Matrix Fragments for mma.m16n8k16").
    fn fragments(
        &mut self,
        weight: impl Fn(usize, usize, usize) -> f32,
        inputs: usize,
        taps: usize,
    ) {
        for tap in 0..taps {
            for first_input in (0..inputs).step_by(32) {
                for first_output in (0..self.channels).step_by(8) {
                    for lane in 0..32 {
                        for further in [0, 8, 16, 24] {
                            let (output, input) =
                                (first_output + lane / 4, first_input + further + lane % 4 * 2);
                            self.pair(weight(output, input, tap), weight(output, input + 1, tap));
                        }
                    }
                }
            }
        }
    }

    /// `[width, channels]` and biases, `[width, 2 channels]` and biases; small, and therefore of 32 bits.
    fn squeeze_excite(&mut self, se: &SqueezeExcite<f32>, width: usize) {
        let end = self.words.len() + width * self.channels;
        for row in se.squeeze.weight.outer_iter() {
            self.vector(row.iter().copied(), self.channels);
        }
        self.words.resize(end, 0);
        self.vector(se.squeeze.bias.iter().copied(), width);

        let end = self.words.len() + width * 2 * self.channels;
        let real = se.excite.bias.len() / 2;
        for unit in se.excite.weight.columns() {
            self.vector(unit.iter().copied().take(real), self.channels);
            self.vector(unit.iter().copied().skip(real), self.channels);
        }
        self.words.resize(end, 0);
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
        let (units, inputs) = first.weight.dim();
        for row in first.weight.outer_iter() {
            self.row(row.iter().copied());
        }
        for _ in units..hidden {
            self.row((0..inputs).map(|_| 0.0));
        }
        self.vector(first.bias.iter().copied(), hidden);
        self.vector(last.weight.iter().copied(), hidden);
        self.vector(last.bias.iter().copied(), 4);
    }

    /// Row after row, each with its bias at the end.
    fn policy(&mut self, layer: &PolicyLayer<f32>) {
        self.words.reserve_exact(layer.bias.len() * (layer.weight.width() + 4));
        for (row, &bias) in layer.bias.iter().enumerate() {
            self.row(layer.weight.row(row).into_iter());
            self.vector([bias], 4);
        }
    }
}
