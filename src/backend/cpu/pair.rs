//! The pair of square networks, layer by layer.
//!
//! Of eleven million weights nine lie in the first fully connected layers, and each serves a position
//! once: reading them is the work. So a group is large, all threads share it, block of outputs by block of
//! outputs, and each panel is read once for all of its positions.

use super::boards::Relu;
use super::buffer::Shared;
use super::clock::{Clock, Stage};
use super::crew::{Member, Program};
use super::layer::Layer;
use super::order::Order;
use super::pass::{Job, Pass, ThreadsOwn, read_planes};
use super::peak;
use super::simd::Simd;
use crate::encoding::from_to;
use crate::network::weights::{Linear, SquarePairLayers, Squares};
use ndarray::Array2;
use std::ops::Range;
use std::sync::OnceLock;

/// Positions that are computed together, at most.
pub const GROUP: usize = 32;

/// Both networks, made ready for one instruction set.
pub struct Pair<S> {
    simd: S,
    planes: usize,
    /// The squares moved from, the squares moved to.
    networks: [Layers; 2],
    order: Order,
    maps: OnceLock<Maps>,
    clock: ThreadsOwn<Clock>,
}

struct Layers {
    conv1: Layer,
    conv2: Layer,
    /// Its inputs in the order of [`Maps::features`].
    fc1: Layer,
    fc2: Layer,
    fc3: Layer,
}

/// What lies between the layers of both networks, for one group of n positions.
struct Maps {
    /// `[blocks][n * 64][BLOCK]`, as all maps of boards; a board's last rank and file mean nothing after
    /// the first convolution, the last two after the second.
    planes: Shared,
    first: [Shared; 2],
    second: [Shared; 2],
    /// `[blocks][36 squares][n][BLOCK]`.
    features: [Shared; 2],
    /// `[blocks][n][BLOCK]`.
    hidden: [Shared; 2],
    last: [Shared; 2],
    squares: [Shared; 2],
}

impl Layers {
    fn new<S: Simd>(network: &Squares<f32>) -> Self {
        let all = |layer: &Linear<f32>| Layer::linear::<S>(layer, 0..layer.bias.len());
        Self {
            conv1: Layer::convolution::<S>(&network.conv1),
            conv2: Layer::convolution::<S>(&network.conv2),
            fc1: all(&by_block::<S>(&network.fc1)),
            fc2: all(&network.fc2),
            fc3: all(&network.fc3),
        }
    }
}

/// A layer that reads `[channels][36 squares]` as one that reads `[blocks][36 squares][BLOCK]`.
fn by_block<S: Simd>(layer: &Linear<f32>) -> Linear<f32> {
    let (outputs, inputs) = layer.weight.dim();
    let blocks = (inputs / 36).div_ceil(S::BLOCK);
    let mut weight = Array2::zeros((outputs, blocks * 36 * S::BLOCK));
    for ((output, input), &value) in layer.weight.indexed_iter() {
        let (channel, square) = (input / 36, input % 36);
        let (block, lane) = (channel / S::BLOCK, channel % S::BLOCK);
        weight[[output, (block * 36 + square) * S::BLOCK + lane]] = value;
    }
    Linear { weight, bias: layer.bias.clone() }
}

impl Maps {
    fn new<S: Simd>(planes: usize, networks: &[Layers; 2]) -> Self {
        let of = |channels: usize, rows: usize| {
            Shared::new(channels.next_multiple_of(S::BLOCK) * rows * GROUP)
        };
        let each = |rows, channels: fn(&Layers) -> usize| {
            networks.each_ref().map(|network| of(channels(network), rows))
        };
        Self {
            planes: of(planes, 64),
            first: each(64, |network| network.conv1.outputs),
            second: each(64, |network| network.conv2.outputs),
            features: each(36, |network| network.conv2.outputs),
            hidden: each(1, |network| network.fc1.outputs),
            last: each(1, |network| network.fc2.outputs),
            squares: each(1, |network| network.fc3.outputs),
        }
    }
}

impl<S: Simd> Pair<S> {
    pub fn new(simd: S, planes: usize, pair: SquarePairLayers<f32>) -> Self {
        Self {
            simd,
            planes,
            // Each network's weights are freed once they are packed.
            networks: [pair.from, pair.to].map(|network| Layers::new::<S>(&network)),
            order: Order::none(),
            maps: OnceLock::new(),
            clock: ThreadsOwn::new(Clock::new()),
        }
    }

    fn maps(&self) -> &Maps {
        self.maps.get_or_init(|| Maps::new::<S>(self.planes, &self.networks))
    }

    fn group(&self, member: &mut Member<'_>, first: usize, n: usize) {
        let maps = self.maps();
        member.each(n, |position| {
            // SAFETY: inside of the piece that makes this position of the planes.
            unsafe { read_planes::<S>(&self.order, first, n, position, &maps.planes) }
        });
        let board = 64 * n;
        let planes = [&maps.planes, &maps.planes];
        self.layer(member, |net| &net.conv1, planes, &maps.first, board, true);
        let firsts = maps.first.each_ref();
        self.layer(member, |net| &net.conv2, firsts, &maps.second, board, true);
        self.lap(member, Stage::Stem, 0);
        self.gather(member, maps, n);
        self.lap(member, Stage::Maps, 0);
        self.layer(member, |net| &net.fc1, maps.features.each_ref(), &maps.hidden, n, true);
        self.layer(member, |net| &net.fc2, maps.hidden.each_ref(), &maps.last, n, true);
        let layers = self.networks.iter().flat_map(|net| [&net.fc1, &net.fc2]);
        let products = layers.map(|layer| layer.blocks() * layer.products(n)).sum();
        self.lap(member, Stage::Products, products);
        self.layer(member, |net| &net.fc3, maps.last.each_ref(), &maps.squares, n, false);
        // SAFETY: a phase before this one made the squares, and the piece answers this position.
        member.each(n, |position| unsafe { self.answer(maps, first + position, position, n) });
        self.lap(member, Stage::Heads, 0);
    }

    /// A layer of both networks, of so many rows: squares or positions.
    fn layer(
        &self,
        member: &mut Member<'_>,
        layer: fn(&Layers) -> &Layer,
        input: [&Shared; 2],
        output: &[Shared; 2],
        rows: usize,
        relu: bool,
    ) {
        let layers = self.networks.each_ref().map(layer);
        let blocks = layers[0].blocks();
        member.each(2 * blocks, |piece| {
            let (net, block) = (piece / blocks, piece % blocks);
            let part = block * rows * S::BLOCK..(block + 1) * rows * S::BLOCK;
            // SAFETY: a phase before this one made the input, which this one does not change.
            let input = unsafe { input[net].read(0..input[net].len()) };
            // SAFETY: this piece makes this block of the output.
            let output = unsafe { output[net].write(part) };
            layers[net].run(self.simd, block, input, rows * S::BLOCK, output);
            if relu {
                self.simd.run(Relu(output));
            }
        });
    }

    /// From boards to what the first fully connected layer reads.
    fn gather(&self, member: &mut Member<'_>, maps: &Maps, n: usize) {
        let row = |at: usize| -> Range<usize> { at * S::BLOCK..(at + 1) * S::BLOCK };
        let blocks = self.networks[0].conv2.blocks();
        member.each(2 * blocks, |piece| {
            let (net, block) = (piece / blocks, piece % blocks);
            for square in 0..36 {
                let on_board = square / 6 * 8 + square % 6;
                for position in 0..n {
                    let from = row((block * n + position) * 64 + on_board);
                    let to = row((block * 36 + square) * n + position);
                    // SAFETY: a phase before this one made the boards.
                    let from = unsafe { maps.second[net].read(from) };
                    // SAFETY: this piece makes this block.
                    unsafe { maps.features[net].write(to) }.copy_from_slice(from);
                }
            }
        });
    }

    /// The logits asked for one position: see [`from_to`].
    ///
    /// # Safety
    /// Inside of the one piece that answers this position, in a phase after those that made the squares.
    unsafe fn answer(&self, maps: &Maps, ordered: usize, position: usize, n: usize) {
        let square = |net: usize, square: usize| {
            let at = (square / S::BLOCK * n + position) * S::BLOCK + square % S::BLOCK;
            // SAFETY: made in a phase before this one.
            unsafe { maps.squares[net].read(at..at + 1)[0] }
        };
        // SAFETY: inside of the piece that answers this position.
        let (indices, logits) = unsafe { self.order.logits(ordered, 0, 1) };
        for (logit, &index) in logits.iter_mut().zip(indices) {
            let index = usize::from(index);
            *logit = match index.checked_sub(from_to::POLICY_SIZE) {
                None => square(0, index / 64) + square(1, index % 64),
                Some(alone) => square(alone / 64, alone % 64),
            };
        }
        // SAFETY: as above.
        unsafe { self.order.set_value(ordered, 0.0) };
    }

    fn lap(&self, member: &Member<'_>, stage: Stage, products: usize) {
        if member.index == 0 {
            // SAFETY: this is the first thread, whose clock it is.
            unsafe { self.clock.get() }.lap(stage, products);
        }
    }
}

// SAFETY: its phases depend on the job alone.
unsafe impl<S: Simd> Program for Pair<S> {
    fn run(&self, member: &mut Member<'_>, job: u64) {
        let n = Job::from_number(job).n;
        let groups = n.div_ceil(GROUP);
        for group in 0..groups {
            let (first, end) = (n * group / groups, n * (group + 1) / groups);
            self.group(member, first, end - first);
        }
    }
}

impl<S: Simd> Pass for Pair<S> {
    fn order(&self) -> &Order {
        &self.order
    }

    fn make_room(&self, _: Job, _: usize) {
        self.maps();
    }

    unsafe fn clock<T>(&self, set: impl FnOnce(&mut Clock) -> T) -> T {
        // SAFETY: the first thread calls this, which is in no job.
        set(unsafe { self.clock.get() })
    }

    fn peak(&self) -> f64 {
        peak::multiplications_per_second(self.simd)
    }
}
