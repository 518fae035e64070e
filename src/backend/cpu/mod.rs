//! The forward pass on the processor: im2col, matrix products from matrixmultiply, and plain loops
//! that the compiler vectorises.
//!
//! Positions are worked on in groups of up to eight. A feature map of a group is `[channels, n, 64]`,
//! so that one matrix product `[out, in * 9] x [in * 9, n * 64]` convolves all of its positions.

mod activation;
mod convolution;
mod dense;
mod heads;
mod tower;

use super::{Backend, BackendError, Batch, Outputs};
use crate::network::Network;
use heads::{PolicyHead, ValueHead};
use tower::Tower;

/// Positions convolved by one matrix product: enough to keep it busy, few enough that the columns
/// stay in the second-level cache.
const GROUP: usize = 8;

/// Runs a network on one or more threads.
pub struct Cpu {
    layers: Layers,
    /// One for each thread.
    workspaces: Vec<Workspace>,
}

/// The layers in the form the loops want them. Shared by all threads.
struct Layers {
    planes: usize,
    tower: Tower,
    policy: PolicyHead,
    value: ValueHead,
}

/// The memory one thread works in, allocated once.
struct Workspace {
    /// `[planes, n, 64]`.
    input: Vec<f32>,
    tower: tower::Workspace,
    heads: heads::Workspace,
    /// `[in * 9, n * 64]` of the largest convolution.
    columns: Vec<f32>,
}

impl Cpu {
    /// Prepares a network to run on this many threads (at least one).
    pub fn new(network: Network, threads: usize) -> Self {
        let planes = network.spec.encoding.planes();
        let workspace = || Workspace {
            input: vec![0.0; planes * GROUP * 64],
            tower: tower::Workspace::new(&network.spec, GROUP),
            heads: heads::Workspace::new(&network.spec, GROUP),
            columns: vec![0.0; 9 * planes.max(network.spec.channels) * GROUP * 64],
        };
        let workspaces = (0..threads.max(1)).map(|_| workspace()).collect();
        let layers = Layers {
            planes,
            policy: PolicyHead::new(&network.policy_conv, network.policy),
            value: ValueHead::new(&network.value_conv, network.value_hidden, network.value),
            tower: Tower::new(
                &network.stem,
                &network.tower,
                network.gate.as_ref(),
                network.spec.recurrence,
            ),
        };
        Self { layers, workspaces }
    }
}

impl Backend for Cpu {
    fn name(&self) -> String {
        "cpu, im2col + matrixmultiply".to_owned()
    }

    fn device(&self) -> String {
        match self.workspaces.len() {
            1 => "1 thread".to_owned(),
            n => format!("{n} threads"),
        }
    }

    fn batch_sizes(&self) -> &[usize] {
        &[1, GROUP]
    }

    fn evaluate(&mut self, batch: &Batch, outputs: &mut Outputs) -> Result<(), BackendError> {
        self.layers.check(batch)?;
        outputs.resize(batch);
        let layers = &self.layers;
        let share = batch.len().div_ceil(self.workspaces.len()).max(1);
        let (mut logits, mut values) = (&mut outputs.logits[..], &mut outputs.values[..]);
        let mut shares = self.workspaces.iter_mut().zip((0..batch.len()).step_by(share)).map(
            |(workspace, start)| {
                let positions = start..batch.len().min(start + share);
                let logits = logits.split_off_mut(..batch.span(positions.clone()).len());
                let values = values.split_off_mut(..positions.len());
                (workspace, positions, logits.expect("sized"), values.expect("sized"))
            },
        );
        let Some((workspace, positions, logits, values)) = shares.next() else { return Ok(()) };
        std::thread::scope(|scope| {
            for (workspace, positions, logits, values) in shares {
                scope.spawn(move || layers.run(batch, positions, logits, values, workspace));
            }
            layers.run(batch, positions, logits, values, workspace);
        });
        Ok(())
    }
}

impl Layers {
    /// Refuses a batch made for another network.
    fn check(&self, batch: &Batch) -> Result<(), BackendError> {
        let (planes, policy_size) = (batch.planes_per_position(), self.policy.size());
        if planes != self.planes {
            let expected = self.planes;
            return Err(BackendError(format!("positions of {planes} planes, expected {expected}")));
        }
        match batch.all_indices().iter().find(|&&index| usize::from(index) >= policy_size) {
            Some(index) => {
                Err(BackendError(format!("policy index {index}, expected one below {policy_size}")))
            }
            None => Ok(()),
        }
    }

    /// Evaluates some positions of a batch, group by group, on the calling thread.
    fn run(
        &self,
        batch: &Batch,
        positions: std::ops::Range<usize>,
        logits: &mut [f32],
        values: &mut [f32],
        workspace: &mut Workspace,
    ) {
        let Workspace { input, tower, heads, columns } = workspace;
        let first_logit = batch.span(positions.clone()).start;
        for start in positions.clone().step_by(GROUP) {
            let group = start..positions.end.min(start + GROUP);
            let n = group.len();
            for (j, i) in group.clone().enumerate() {
                for (plane, squares) in batch.planes(i).as_chunks::<64>().0.iter().enumerate() {
                    input[(plane * n + j) * 64..][..64].copy_from_slice(squares);
                }
            }
            let state = self.tower.run(&input[..self.planes * n * 64], n, tower, columns);
            self.value.run(state, n, heads, &mut values[start - positions.start..][..n]);
            self.policy.features(state, n, heads);
            for (j, i) in group.enumerate() {
                let span = batch.span(i..i + 1);
                let logits = &mut logits[span.start - first_logit..span.end - first_logit];
                self.policy.logits(j, heads, batch.indices(i), logits);
            }
        }
    }
}
