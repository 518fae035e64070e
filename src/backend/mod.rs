//! What runs a network. A backend sees planes, policy indices and numbers, never chess.

pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "cuda/absent.rs"]
pub mod cuda;
pub mod fixed;

use std::fmt;
use std::ops::Range;

/// Evaluates batches of positions with one network.
pub trait Backend: Send {
    /// What computes, for people: `"cpu, avx2 (f4x4)"`.
    fn name(&self) -> String;

    /// What it computes on, for people: `"2 threads"`.
    fn device(&self) -> String;

    /// Batch sizes that use the device well, smallest first.
    fn batch_sizes(&self) -> &[usize];

    /// Whether the network values positions. One without gives 0.
    fn has_value(&self) -> bool {
        true
    }

    /// Evaluates all positions of `batch`, of any number, into `outputs`, which it overwrites. A network that
    /// scores squares has the logits of moves and, after them, those of squares: see
    /// [`WITH_SQUARES`](crate::encoding::from_to::WITH_SQUARES).
    ///
    /// # Errors
    /// When the batch was made for another network (its planes, an index beyond the policy), or the device
    /// fails.
    fn evaluate(&mut self, batch: &Batch, outputs: &mut Outputs) -> Result<(), BackendError>;
}

/// Positions to evaluate, each with the policy indices whose logits are wanted.
///
/// Its memory is kept from one batch to the next, and so are the planes in it, until they are overwritten.
#[derive(Clone, Debug)]
pub struct Batch {
    position_len: usize,
    planes: Vec<f32>,
    indices: Vec<u16>,
    ends: Vec<usize>,
}

impl Batch {
    /// An empty batch of positions with this many 8x8 planes.
    pub fn new(planes: usize) -> Self {
        Self {
            position_len: 64 * planes,
            planes: Vec::new(),
            indices: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Removes all positions.
    pub fn clear(&mut self) {
        self.indices.clear();
        self.ends.clear();
    }

    /// Adds a position: `write` overwrites all its planes `[planes, 8, 8]`, which hold anything before, and
    /// appends the policy indices that it wants.
    pub fn push(&mut self, write: impl FnOnce(&mut [f32], &mut Vec<u16>)) {
        let start = self.len() * self.position_len;
        let end = start + self.position_len;
        if self.planes.len() < end {
            self.planes.resize(end, 0.0);
        }
        write(&mut self.planes[start..end], &mut self.indices);
        self.ends.push(self.indices.len());
    }

    /// How many positions.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no position.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many 8x8 planes a position has.
    pub fn planes_per_position(&self) -> usize {
        self.position_len / 64
    }

    /// The planes of position `i`, `[planes, 8, 8]`.
    pub fn planes(&self, i: usize) -> &[f32] {
        &self.planes[i * self.position_len..][..self.position_len]
    }

    /// The policy indices of position `i`.
    pub fn indices(&self, i: usize) -> &[u16] {
        &self.indices[self.span(i..i + 1)]
    }

    /// The policy indices of all positions, one after the other.
    pub fn all_indices(&self) -> &[u16] {
        &self.indices
    }

    /// Whether the batch was made for a network with so many planes and logits.
    ///
    /// # Errors
    /// When it was made for another.
    fn check(&self, planes: usize, policy_size: usize) -> Result<(), BackendError> {
        let found = self.planes_per_position();
        if found != planes {
            return Err(BackendError(format!("positions of {found} planes, expected {planes}")));
        }
        match self.indices.iter().find(|&&index| usize::from(index) >= policy_size) {
            Some(index) => {
                Err(BackendError(format!("policy index {index}, expected one below {policy_size}")))
            }
            None => Ok(()),
        }
    }

    /// Where the logits of these positions lie in [`Outputs::logits`].
    pub fn span(&self, positions: Range<usize>) -> Range<usize> {
        let end = |i: usize| if i == 0 { 0 } else { self.ends[i - 1] };
        end(positions.start)..end(positions.end)
    }
}

/// What a network says about a batch.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// One logit for each index asked for, position after position: see [`Batch::span`].
    pub logits: Vec<f32>,
    /// One value for each position, in [-1, 1]; 0 where the network has none.
    pub values: Vec<f32>,
}

impl Outputs {
    /// Makes room for the results of `batch`, with no memory allocated once it has been this large.
    pub fn resize(&mut self, batch: &Batch) {
        self.logits.resize(batch.indices.len(), 0.0);
        self.values.resize(batch.len(), 0.0);
    }
}

/// Why a batch could not be evaluated, in words for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendError(pub String);

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BackendError {}
