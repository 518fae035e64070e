//! Stem, residual blocks, squeeze-and-excitation and the recurrent gate, for a group of `n` positions.

use super::activation::{at_least_zero, relu, sigmoid};
use super::convolution::Convolution;
use super::dense::linear;
use crate::network::{Spec, weights};

/// The trunk of the network: planes to the final state.
pub struct Tower {
    stem: Convolution,
    blocks: Vec<Block>,
    gate: Option<Convolution>,
    recurrence: usize,
}

struct Block {
    conv1: Convolution,
    conv2: Convolution,
    se: Option<weights::SqueezeExcite<f32>>,
}

/// Feature maps of one group.
pub struct Workspace {
    /// The state, `[channels, n, 64]`, and behind it the state before the current pass: together
    /// the input of the gate.
    states: Vec<f32>,
    /// `[channels, n, 64]` each.
    hidden: Vec<f32>,
    change: Vec<f32>,
    /// One position's means `[channels]`, hidden layer `[width]` and result `[2 * channels]`.
    means: Vec<f32>,
    squeezed: Vec<f32>,
    excited: Vec<f32>,
}

impl Workspace {
    pub fn new(spec: &Spec, group: usize) -> Self {
        let map = spec.channels * group * 64;
        Self {
            states: vec![0.0; 2 * map],
            hidden: vec![0.0; map],
            change: vec![0.0; map],
            means: vec![0.0; spec.channels],
            squeezed: vec![0.0; spec.se_width.unwrap_or(0)],
            excited: vec![0.0; 2 * spec.channels],
        }
    }
}

impl Tower {
    pub fn new(
        stem: &weights::Convolution<f32>,
        blocks: &[weights::Block<f32>],
        gate: Option<&weights::Convolution<f32>>,
        recurrence: usize,
    ) -> Self {
        let block = |block: &weights::Block<f32>| Block {
            conv1: Convolution::new(&block.conv1),
            conv2: Convolution::new(&block.conv2),
            se: block.se.clone(),
        };
        Self {
            stem: Convolution::new(stem),
            blocks: blocks.iter().map(block).collect(),
            gate: gate.map(Convolution::new),
            recurrence,
        }
    }

    /// From planes `[planes, n, 64]` to the final state `[channels, n, 64]`, which lies in `workspace`.
    pub fn run<'a>(
        &self,
        planes: &[f32],
        n: usize,
        workspace: &'a mut Workspace,
        columns: &mut [f32],
    ) -> &'a [f32] {
        let map = self.stem.outputs() * n * 64;
        let Workspace { states, hidden, change, means, squeezed, excited } = workspace;
        let states = &mut states[..2 * map];
        let (hidden, change) = (&mut hidden[..map], &mut change[..map]);

        self.stem.run(planes, &mut states[..map], n, columns);
        relu(&mut states[..map]);
        for _ in 0..self.recurrence {
            if self.gate.is_some() {
                states.copy_within(..map, map);
            }
            let state = &mut states[..map];
            for block in &self.blocks {
                block.conv1.run(state, hidden, n, columns);
                relu(hidden);
                block.conv2.run(hidden, change, n, columns);
                if let Some(se) = &block.se {
                    for position in 0..n {
                        squeeze_excite(se, position, n, change, means, squeezed, excited);
                    }
                }
                for (state, change) in state.iter_mut().zip(&*change) {
                    *state = at_least_zero(*state + change);
                }
            }
            if let Some(gate) = &self.gate {
                gate.run(states, hidden, n, columns);
                let (candidate, previous) = states.split_at_mut(map);
                for ((candidate, previous), z) in candidate.iter_mut().zip(previous).zip(&*hidden) {
                    let z = sigmoid(*z);
                    *candidate = z * *candidate + (1.0 - z) * *previous;
                }
            }
        }
        &states[..map]
    }
}

/// Scales and offsets the channels of one position of `x` `[channels, n, 64]`.
fn squeeze_excite(
    se: &weights::SqueezeExcite<f32>,
    position: usize,
    n: usize,
    x: &mut [f32],
    means: &mut [f32],
    squeezed: &mut [f32],
    excited: &mut [f32],
) {
    let boards = x.as_chunks_mut::<64>().0;
    for (mean, board) in means.iter_mut().zip(boards.iter().skip(position).step_by(n)) {
        *mean = board.iter().sum::<f32>() / 64.0;
    }
    linear(&se.squeeze, means, squeezed);
    relu(squeezed);
    linear(&se.excite, squeezed, excited);
    let (scales, offsets) = excited.split_at(means.len());
    let boards = boards.iter_mut().skip(position).step_by(n);
    for ((board, &scale), &offset) in boards.zip(scales).zip(offsets) {
        let scale = sigmoid(scale);
        for x in board {
            *x = scale * *x + offset;
        }
    }
}
