//! Layers in the form that [`super::product`] reads.

use super::arithmetic::{Arithmetic, Room, Step};
use super::buffer::Aligned;
use super::clock::{Clock, Stage};
use super::convolution::{Algorithm, Direct, Points, finish, prepare};
use super::peak;
use super::simd::Simd;
use crate::network::weights;
use ndarray::{ArrayView1, ArrayView4, Axis, s};
use std::ops::Range;
use std::sync::OnceLock;

/// A convolution with 1x1, 2x2 or 3x3 taps, or a fully connected layer.
pub struct Layer {
    /// 1, 2 or 3 along a side.
    taps: usize,
    /// Output channels.
    pub outputs: usize,
    /// `[output blocks][taps * taps][depth][BLOCK]`: zeros where there is no channel. The depth is a
    /// multiple of four.
    panels: Aligned,
    /// `[output blocks * BLOCK]`.
    bias: Aligned,
    block: usize,
}

impl Layer {
    /// From weights `[out, in, taps, taps]` and biases `[out]`.
    pub fn new<S: Simd>(weight: ArrayView4<'_, f32>, bias: ArrayView1<'_, f32>) -> Self {
        let (outputs, inputs, taps, _) = weight.dim();
        assert!((1..=3).contains(&taps), "a network has convolutions of up to 3x3 only");
        let (block, depth) = (S::BLOCK, inputs.next_multiple_of(4));
        let blocks = outputs.div_ceil(block);
        let mut panels = Aligned::new(blocks * taps * taps * depth * block);
        for (o, filters) in weight.axis_iter(Axis(0)).enumerate() {
            for ((i, y, x), &weight) in filters.indexed_iter() {
                let panel = (o / block * taps + y) * taps + x;
                panels[(panel * depth + i) * block + o % block] = no_subnormal(weight);
            }
        }
        let mut biases = Aligned::new(blocks * block);
        for (to, from) in biases.iter_mut().zip(bias) {
            *to = *from;
        }
        Self { taps, outputs, panels, bias: biases, block }
    }

    pub fn convolution<S: Simd>(layer: &weights::Convolution<f32>) -> Self {
        Self::new::<S>(layer.weight.view(), layer.bias.view())
    }

    /// The outputs in `range` of a fully connected layer.
    pub fn linear<S: Simd>(layer: &weights::Linear<f32>, range: std::ops::Range<usize>) -> Self {
        let weight = layer.weight.slice(s![range.clone(), ..]);
        let weight = weight.insert_axis(Axis(2)).insert_axis(Axis(3));
        Self::new::<S>(weight, layer.bias.slice(s![range]))
    }

    /// Blocks of output channels.
    pub fn blocks(&self) -> usize {
        self.bias.len() / self.block
    }

    /// One block of the outputs, `[rows][BLOCK]`, from all blocks of the input, `input_stride` apart. A row
    /// is a square, or what a fully connected layer reads.
    pub fn run<S: Simd>(
        &self,
        simd: S,
        block: usize,
        input: &[f32],
        input_stride: usize,
        output: &mut [f32],
    ) {
        for row in output.chunks_exact_mut(S::BLOCK) {
            row.copy_from_slice(self.bias(block));
        }
        self.add(simd, block, input, input_stride, output);
    }

    /// The same without biases, added to the output.
    pub fn add<S: Simd>(
        &self,
        simd: S,
        block: usize,
        input: &[f32],
        input_stride: usize,
        output: &mut [f32],
    ) {
        let (taps, panels) = (self.taps, self.panels(block));
        simd.run(Direct { input, input_stride, taps, panels, output });
    }

    /// Multiplications of one block of the outputs, of so many rows, border and filling included.
    pub fn products(&self, rows: usize) -> usize {
        rows * self.panels.len() / self.blocks()
    }

    /// The panels of a block.
    pub fn panels(&self, block: usize) -> &[f32] {
        let len = self.panels.len() / self.blocks();
        &self.panels[block * len..][..len]
    }

    /// The biases of a block.
    pub fn bias(&self, block: usize) -> &[f32] {
        &self.bias[block * self.block..][..self.block]
    }
}

/// The same number, but zero where it is so small that arithmetic with it is slow. Folding a dead channel makes
/// such weights.
pub fn no_subnormal(x: f32) -> f32 {
    if x.is_subnormal() { 0.0 } else { x }
}

/// The 3x3 convolutions of the tower, all of one shape, for every algorithm.
pub struct Convolutions {
    layers: Vec<Layer>,
    /// For each of Winograd's algorithms the panels of all layers, made when first wanted: of the eleven
    /// million weights of a large network these are most, and few programs want more than one.
    winograd: [OnceLock<Aligned>; 3],
}

impl Convolutions {
    /// Blocks of output channels.
    fn blocks(&self) -> usize {
        self.layers.first().map_or(0, Layer::blocks)
    }

    /// Rows of a panel.
    fn depth(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.panels(0).len() / (9 * layer.block))
    }

    /// The panels of a layer for one of Winograd's algorithms, `[points][blocks][depth][BLOCK]`.
    fn panels(&self, algorithm: Algorithm, layer: usize) -> &[f32] {
        let slot = match algorithm {
            Algorithm::Direct | Algorithm::Int8 => unreachable!("it is no Winograd algorithm"),
            Algorithm::F2x2 => 0,
            Algorithm::F4x2 => 1,
            Algorithm::F4x4 => 2,
        };
        let packed = self.winograd[slot].get_or_init(|| self.packed(algorithm));
        let len = packed.len() / self.layers.len();
        &packed[layer * len..][..len]
    }

    fn packed(&self, algorithm: Algorithm) -> Aligned {
        let panel = self.layers.first().map_or(0, |layer| layer.panels(0).len() / 9);
        let stride = self.blocks() * panel;
        let len = stride * algorithm.points();
        let mut packed = Aligned::new(self.layers.len() * len);
        for (layer, packed) in self.layers.iter().zip(packed.chunks_exact_mut(len)) {
            for block in 0..self.blocks() {
                let packed = &mut packed[block * panel..];
                algorithm.pack(layer.panels(block), layer.block, packed, stride);
            }
        }
        packed
    }
}

impl<S: Simd> Arithmetic<S> for Convolutions {
    type Convolution = weights::Convolution<f32>;
    type Input = f32;
    const ALGORITHMS: &'static [Algorithm] = &Algorithm::PLAIN;

    fn new(convolutions: Vec<weights::Convolution<f32>>) -> Self {
        // Each one's weights are freed once they are packed.
        let layers = convolutions.into_iter().map(|layer| Layer::convolution::<S>(&layer));
        Self { layers: layers.collect(), winograd: Default::default() }
    }

    fn pack(&self, algorithm: Algorithm) {
        if algorithm != Algorithm::Direct && !self.layers.is_empty() {
            self.panels(algorithm, 0);
        }
    }

    fn prepare(&self, simd: S, step: Step, _: usize, boards: &[f32], prepared: &mut [f32]) {
        let Step { algorithm, n, .. } = step;
        for (position, board) in boards.chunks_exact(64 * S::BLOCK).enumerate() {
            prepare(simd, algorithm, board, position, n, prepared);
        }
    }

    fn convolve(
        &self,
        simd: S,
        step: Step,
        blocks: Range<usize>,
        input: &[f32],
        room: Room<'_>,
        mut each: impl FnMut(usize, &mut [f32], &mut Clock),
    ) {
        let Step { algorithm, n, layer } = step;
        let Room { boards, products, clock } = room;
        let direct = &self.layers[layer];
        if algorithm == Algorithm::Direct {
            for block in blocks {
                direct.run(simd, block, input, algorithm.prepared_len(n, S::BLOCK), boards);
                clock.lap(Stage::Products, direct.products(n * 64));
                each(block, boards, clock);
            }
            return;
        }
        let len = algorithm.products_len(n, S::BLOCK);
        let products = &mut products[..blocks.len() * len];
        simd.run(Points {
            algorithm,
            n,
            input,
            panels: self.panels(algorithm, layer),
            all_blocks: self.blocks(),
            blocks: blocks.clone(),
            products,
        });
        clock.lap(Stage::Products, blocks.len() * len * self.depth());
        for (block, products) in blocks.zip(products.chunks_exact(len)) {
            finish(simd, algorithm, products, direct.bias(block), boards);
            clock.lap(Stage::Inverses, 0);
            each(block, boards, clock);
        }
    }

    fn peak(simd: S) -> f64 {
        peak::multiplications_per_second(simd)
    }
}
