//! Stem, residual blocks, squeeze-and-excitation and the recurrent gate, phase by phase.

use super::arithmetic::{Arithmetic, Room, Step};
use super::boards::{Mean, Mix, Relu, Residual, Sigmoid};
use super::buffer::{Aligned, Shared};
use super::choice;
use super::clock::{Clock, Stage};
use super::convolution::Algorithm;
use super::crew::Member;
use super::layer::Layer;
use super::simd::Simd;
use crate::network::spec::Residual as Sizes;
use crate::network::weights;
use std::ops::Range;

/// The trunk of the network: planes to the final state.
pub struct Tower<S, A> {
    simd: S,
    stem: Layer,
    /// Two for each block.
    convolutions: A,
    /// One for each block.
    squeeze_excites: Vec<Option<SqueezeExcite>>,
    gate: Option<Gate>,
    recurrence: usize,
    /// The scale and the offset of a change that is added as it is.
    ones: Aligned,
    zeros: Aligned,
}

struct SqueezeExcite {
    squeeze: Layer,
    scale: Layer,
    offset: Layer,
}

/// The 1x1 convolution of both states, as one of each.
struct Gate {
    candidate: Layer,
    previous: Layer,
}

/// Feature maps of one group of positions, `[blocks][n * 64][BLOCK]`.
pub struct Maps<A: Arithmetic<S>, S: Simd> {
    pub planes: Shared,
    /// The state of a position, the one before the current pass, and one to write the next to.
    pub states: [Shared; 3],
    /// What a block adds to the state.
    change: Shared,
    /// Its means, `[blocks][n][BLOCK]`.
    means: Shared,
    /// The inputs of a block's two convolutions in the form that the algorithm multiplies.
    prepared: [Shared<A::Input>; 2],
}

/// Where one thread computes a block of channels.
pub struct Scratch {
    /// `[n][64][BLOCK]`.
    pub boards: Aligned,
    products: Aligned,
    /// The hidden layer of squeeze-and-excitation, `[blocks][n][BLOCK]`.
    squeezed: Aligned,
    /// `[n][BLOCK]`.
    scale: Aligned,
    offset: Aligned,
    pub clock: Clock,
}

impl<A: Arithmetic<S>, S: Simd> Maps<A, S> {
    pub fn new(planes: usize, sizes: &Sizes, group: usize) -> Self {
        let map = |channels: usize, rows: usize| {
            Shared::new(channels.next_multiple_of(S::BLOCK) * group * rows)
        };
        let blocks = sizes.channels.div_ceil(S::BLOCK);
        let len = |a: &Algorithm| blocks * a.prepared_len(group, S::BLOCK);
        let prepared = A::ALGORITHMS.iter().map(len).max().expect("there are algorithms");
        Self {
            planes: map(planes, 64),
            states: std::array::from_fn(|_| map(sizes.channels, 64)),
            change: map(sizes.channels, 64),
            means: map(sizes.channels, 1),
            prepared: std::array::from_fn(|_| Shared::new(prepared)),
        }
    }
}

impl Scratch {
    pub fn new<A: Arithmetic<S>, S: Simd>(sizes: &Sizes, group: usize) -> Self {
        let blocks = sizes.channels.div_ceil(S::BLOCK);
        let len = |(algorithm, n): (Algorithm, usize)| {
            let products = algorithm.products_len(n, S::BLOCK);
            products * choice::span(blocks, products, 1)
        };
        let batches = A::ALGORITHMS.iter().flat_map(|&a| (1..=group).map(move |n| (a, n)));
        let products = batches.map(len).max().unwrap_or(0);
        let width = sizes.se_width.unwrap_or(0).next_multiple_of(S::BLOCK);
        Self {
            boards: Aligned::new(group * 64 * S::BLOCK),
            products: Aligned::new(products),
            squeezed: Aligned::new(width * group),
            scale: Aligned::new(group * S::BLOCK),
            offset: Aligned::new(group * S::BLOCK),
            clock: Clock::new(),
        }
    }
}

/// The part of a map that block `block` is, of blocks of this length.
fn part(block: usize, len: usize) -> Range<usize> {
    block * len..(block + 1) * len
}

impl<A: Arithmetic<S>, S: Simd> Tower<S, A> {
    pub fn new(
        simd: S,
        stem: &weights::Convolution<f32>,
        blocks: Vec<weights::Block<f32, A::Convolution>>,
        gate: Option<weights::Convolution<f32>>,
        recurrence: usize,
    ) -> Self {
        let stem = Layer::convolution::<S>(stem);
        let (mut convolutions, mut squeeze_excites) = (Vec::new(), Vec::new());
        for block in blocks {
            convolutions.extend([block.conv1, block.conv2]);
            squeeze_excites.push(block.se.map(|se| SqueezeExcite {
                squeeze: Layer::linear::<S>(&se.squeeze, 0..se.squeeze.bias.len()),
                scale: Layer::linear::<S>(&se.excite, 0..stem.outputs),
                offset: Layer::linear::<S>(&se.excite, stem.outputs..2 * stem.outputs),
            }));
        }
        let gate = gate.map(|gate| {
            let (candidate, previous) = gate.weight.view().split_at(ndarray::Axis(1), stem.outputs);
            let no_bias = ndarray::Array1::zeros(stem.outputs);
            Gate {
                candidate: Layer::new::<S>(candidate, gate.bias.view()),
                previous: Layer::new::<S>(previous, no_bias.view()),
            }
        });
        let mut ones = Aligned::new(S::BLOCK);
        ones.fill(1.0);
        let (convolutions, zeros) = (A::new(convolutions), Aligned::new(S::BLOCK));
        Self { simd, stem, convolutions, squeeze_excites, gate, recurrence, ones, zeros }
    }

    /// Packs the weights for an algorithm, unless they are.
    pub fn pack(&self, algorithm: Algorithm) {
        self.convolutions.pack(algorithm);
    }

    /// From the planes of `n` positions in `maps` to their final state, one of `maps.states`: which one.
    pub fn run(
        &self,
        member: &mut Member<'_>,
        maps: &Maps<A, S>,
        scratch: &mut Scratch,
        n: usize,
        algorithm: Algorithm,
    ) -> usize {
        let products = algorithm.products_len(n, S::BLOCK);
        let span = choice::span(self.stem.blocks(), products, member.threads());
        let group = Group { tower: self, maps, n, algorithm, span };
        let (mut state, mut spare, mut other) = (0, 1, 2);
        group.stem(member, scratch, state);
        for _ in 0..self.recurrence {
            // With a gate the state before the pass is kept.
            let before = state;
            if self.gate.is_some() && !self.squeeze_excites.is_empty() {
                std::mem::swap(&mut state, &mut spare);
            }
            for (block, se) in self.squeeze_excites.iter().enumerate() {
                let from = if block == 0 { before } else { state };
                group.first_convolution(member, scratch, 2 * block);
                match se {
                    None => group.second_convolution(member, scratch, 2 * block + 1, from, state),
                    Some(se) => {
                        group.change(member, scratch, 2 * block + 1);
                        group.excite(member, scratch, (2 * block + 2, se), from, state);
                    }
                }
            }
            if let Some(gate) = &self.gate {
                group.gate(member, scratch, gate, state, before, other);
                std::mem::swap(&mut state, &mut other);
            }
        }
        state
    }
}

/// A group of positions on its way through the tower. Each method is one phase, and each piece of a phase
/// makes one block of channels.
struct Group<'a, A: Arithmetic<S>, S: Simd> {
    tower: &'a Tower<S, A>,
    maps: &'a Maps<A, S>,
    n: usize,
    algorithm: Algorithm,
    /// Blocks in a piece of a convolution.
    span: usize,
}

impl<A: Arithmetic<S>, S: Simd> Group<'_, A, S> {
    /// Numbers of a block of a feature map.
    fn block_len(&self) -> usize {
        self.n * 64 * S::BLOCK
    }

    fn blocks(&self) -> usize {
        self.tower.stem.blocks()
    }

    fn all(&self, len: usize) -> Range<usize> {
        0..self.blocks() * len
    }

    fn step(&self, layer: usize) -> Step {
        Step { algorithm: self.algorithm, n: self.n, layer }
    }

    /// Makes a block of the input of a convolution from a block of a map. After the last one comes the first.
    ///
    /// # Safety
    /// Inside of the one piece that makes this block, in a phase that reads none of that input.
    unsafe fn prepare(&self, layer: usize, block: usize, boards: &[f32], clock: &mut Clock) {
        let layers = 2 * self.tower.squeeze_excites.len();
        if layers == 0 {
            return;
        }
        let len = self.algorithm.prepared_len(self.n, S::BLOCK);
        // SAFETY: as the caller promises.
        let prepared = unsafe { self.maps.prepared[layer % 2].write(part(block, len)) };
        let step = self.step(layer % layers);
        self.tower.convolutions.prepare(self.tower.simd, step, block, boards, prepared);
        clock.lap(Stage::Transforms, 0);
    }

    /// Computes the blocks of one piece of a convolution: `each` gets them one by one, with room for a map's block
    /// that holds it now.
    fn convolve(
        &self,
        layer: usize,
        piece: usize,
        scratch: &mut Scratch,
        each: impl FnMut(usize, &mut [f32], &mut Clock),
    ) {
        let blocks = piece * self.span..self.blocks().min((piece + 1) * self.span);
        let len = self.algorithm.prepared_len(self.n, S::BLOCK);
        // SAFETY: a phase before this one made it, and this one does not change it.
        let input = unsafe { self.maps.prepared[layer % 2].read(self.all(len)) };
        let Scratch { boards, products, clock, .. } = scratch;
        let room = Room { boards: &mut boards[..self.block_len()], products, clock };
        let tower = self.tower;
        tower.convolutions.convolve(tower.simd, self.step(layer), blocks, input, room, each);
    }

    fn pieces(&self) -> usize {
        self.blocks().div_ceil(self.span)
    }

    fn stem(&self, member: &mut Member<'_>, scratch: &mut Scratch, state: usize) {
        let (simd, stem, block_len) = (self.tower.simd, &self.tower.stem, self.block_len());
        member.each(self.blocks(), |block| {
            // SAFETY: the phase before made the planes.
            let input = unsafe { self.maps.planes.read(0..self.maps.planes.len()) };
            // SAFETY: this piece makes this block of the state.
            let boards = unsafe { self.maps.states[state].write(part(block, block_len)) };
            stem.run(simd, block, input, block_len, boards);
            simd.run(Relu(boards));
            let clock = &mut scratch.clock;
            clock.lap(Stage::Stem, stem.products(self.n * 64));
            // SAFETY: inside of the piece that makes this block; the other input is read here, if any.
            unsafe { self.prepare(0, block, boards, clock) };
        });
    }

    /// Its output is wanted by the second convolution only.
    fn first_convolution(&self, member: &mut Member<'_>, scratch: &mut Scratch, layer: usize) {
        member.each(self.pieces(), |piece| {
            self.convolve(layer, piece, scratch, |block, boards, clock| {
                self.tower.simd.run(Relu(boards));
                clock.lap(Stage::Maps, 0);
                // SAFETY: inside of the piece that makes this block; the other input is read here, if any.
                unsafe { self.prepare(layer + 1, block, boards, clock) };
            });
        });
    }

    /// Without squeeze-and-excitation.
    fn second_convolution(
        &self,
        member: &mut Member<'_>,
        scratch: &mut Scratch,
        layer: usize,
        from: usize,
        to: usize,
    ) {
        let (scale, offset) = (&self.tower.ones, &self.tower.zeros);
        member.each(self.pieces(), |piece| {
            self.convolve(layer, piece, scratch, |block, boards, clock| {
                // SAFETY: inside of the piece that makes this block.
                let state = unsafe { self.state(block, from, to) };
                self.tower.simd.run(Residual { state, change: boards, scale, offset });
                clock.lap(Stage::Maps, 0);
                // SAFETY: inside of the piece that makes this block; the other input is read here, if any.
                unsafe { self.prepare(layer + 1, block, state, clock) };
            });
        });
    }

    /// A block of the state to change: that of `from`, copied where `to` is another map.
    ///
    /// # Safety
    /// Inside of the one piece that makes this block of `to`; no other touches it, in either map.
    #[allow(clippy::mut_from_ref)] // The caller's promise stands for it.
    unsafe fn state(&self, block: usize, from: usize, to: usize) -> &mut [f32] {
        let part = part(block, self.block_len());
        // SAFETY: as the caller promises.
        let state = unsafe { self.maps.states[to].write(part.clone()) };
        if from != to {
            // SAFETY: as above.
            state.copy_from_slice(unsafe { self.maps.states[from].read(part) });
        }
        state
    }

    /// The second convolution and the means of its output.
    fn change(&self, member: &mut Member<'_>, scratch: &mut Scratch, layer: usize) {
        member.each(self.pieces(), |piece| {
            self.convolve(layer, piece, scratch, |block, boards, clock| {
                // SAFETY: this piece makes this block of the change.
                let change = unsafe { self.maps.change.write(part(block, self.block_len())) };
                // SAFETY: and this block of its means.
                let means = unsafe { self.maps.means.write(part(block, self.n * S::BLOCK)) };
                change.copy_from_slice(boards);
                let boards = boards.chunks_exact(64 * S::BLOCK);
                for (board, mean) in boards.zip(means.chunks_exact_mut(S::BLOCK)) {
                    self.tower.simd.run(Mean { board, mean });
                }
                clock.lap(Stage::Maps, 0);
            });
        });
    }

    /// Squeeze-and-excitation of the change, and its addition to the state, for the convolution `next`.
    fn excite(
        &self,
        member: &mut Member<'_>,
        scratch: &mut Scratch,
        (next, se): (usize, &SqueezeExcite),
        from: usize,
        to: usize,
    ) {
        let (simd, row) = (self.tower.simd, self.n * S::BLOCK);
        let Scratch { squeezed, scale, offset, clock, .. } = scratch;
        let squeezed = &mut squeezed[..se.squeeze.blocks() * row];
        let (scale, offset) = (&mut scale[..row], &mut offset[..row]);
        let mut is_squeezed = false;
        member.each(self.blocks(), |block| {
            // Each thread that does a piece does this for itself: it is less work than a phase.
            if !is_squeezed {
                // SAFETY: the phase before made the means, and this one does not change them.
                let means = unsafe { self.maps.means.read(self.all(row)) };
                for (hidden, squeezed) in squeezed.chunks_exact_mut(row).enumerate() {
                    se.squeeze.run(simd, hidden, means, row, squeezed);
                }
                simd.run(Relu(squeezed));
                is_squeezed = true;
            }
            se.scale.run(simd, block, squeezed, row, scale);
            simd.run(Sigmoid(scale));
            se.offset.run(simd, block, squeezed, row, offset);
            clock.lap(Stage::SqueezeExcite, 0);

            // SAFETY: as the means.
            let change = unsafe { self.maps.change.read(part(block, self.block_len())) };
            // SAFETY: inside of the piece that makes this block.
            let state = unsafe { self.state(block, from, to) };
            let boards =
                state.chunks_exact_mut(64 * S::BLOCK).zip(change.chunks_exact(64 * S::BLOCK));
            let factors = scale.chunks_exact(S::BLOCK).zip(offset.chunks_exact(S::BLOCK));
            for ((state, change), (scale, offset)) in boards.zip(factors) {
                simd.run(Residual { state, change, scale, offset });
            }
            clock.lap(Stage::Maps, 0);
            // SAFETY: inside of the piece that makes this block; the other input is read here, if any.
            unsafe { self.prepare(next, block, state, clock) };
        });
    }

    fn gate(
        &self,
        member: &mut Member<'_>,
        scratch: &mut Scratch,
        gate: &Gate,
        candidate: usize,
        previous: usize,
        to: usize,
    ) {
        let (simd, block_len) = (self.tower.simd, self.block_len());
        member.each(self.blocks(), |block| {
            // SAFETY: phases before this one made both states.
            let whole = |state: usize| unsafe { self.maps.states[state].read(self.all(block_len)) };
            let (candidate, previous) = (whole(candidate), whole(previous));
            // SAFETY: this piece makes this block of the new one.
            let z = unsafe { self.maps.states[to].write(part(block, block_len)) };
            gate.candidate.run(simd, block, candidate, block_len, z);
            gate.previous.add(simd, block, previous, block_len, z);
            let part = part(block, block_len);
            simd.run(Mix { z, candidate: &candidate[part.clone()], previous: &previous[part] });
            let clock = &mut scratch.clock;
            clock.lap(Stage::Gate, 2 * gate.candidate.products(self.n * 64));
            // SAFETY: inside of the piece that makes this block; the other input is read here, if any.
            unsafe { self.prepare(0, block, z, clock) };
        });
    }
}
