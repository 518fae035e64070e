//! The batch that all threads work on.

use crate::backend::{Batch, Outputs};
use std::cell::Cell;
use std::ptr;

/// Where the batch lies and where its outputs go.
///
/// It is set by the thread that gives the job and used inside of pieces of work only, all of which are done
/// when that thread lets go of the batch.
pub struct Order {
    batch: Cell<*const Batch>,
    /// The position of the batch that is the job's first.
    first: Cell<usize>,
    logits: Cell<*mut f32>,
    values: Cell<*mut f32>,
}

// SAFETY: set between jobs, only read in one: see `set`.
unsafe impl Sync for Order {}
// SAFETY: what it points to can be used from any thread.
unsafe impl Send for Order {}

impl Order {
    pub fn none() -> Self {
        let (batch, numbers) = (ptr::null(), ptr::null_mut());
        Self {
            batch: Cell::new(batch),
            first: Cell::new(0),
            logits: Cell::new(numbers),
            values: Cell::new(numbers),
        }
    }

    /// Sets the batch of the next job, which begins with its position `first`. `outputs` has its size.
    ///
    /// # Safety
    /// No piece of work is under way, and none that begins later outlives the batch and the outputs.
    pub unsafe fn set(&self, batch: &Batch, first: usize, outputs: &mut Outputs) {
        self.batch.set(batch);
        self.first.set(first);
        self.logits.set(outputs.logits.as_mut_ptr());
        self.values.set(outputs.values.as_mut_ptr());
    }

    /// The planes of a position, `[planes, 8, 8]`.
    ///
    /// # Safety
    /// Inside of a piece of work.
    pub unsafe fn planes(&self, position: usize) -> &[f32] {
        // SAFETY: alive while there are pieces of work.
        unsafe { &*self.batch.get() }.planes(self.first.get() + position)
    }

    /// One of `parts` parts of a position's policy indices, and where their logits go.
    ///
    /// # Safety
    /// Inside of the one piece of work that writes these logits.
    #[allow(clippy::mut_from_ref)] // The caller's promise stands for it.
    pub unsafe fn logits(
        &self,
        position: usize,
        part: usize,
        parts: usize,
    ) -> (&[u16], &mut [f32]) {
        // SAFETY: alive while there are pieces of work.
        let batch = unsafe { &*self.batch.get() };
        let position = self.first.get() + position;
        let indices = batch.indices(position);
        let bound = |part: usize| part * indices.len() / parts;
        let (from, to) = (bound(part), bound(part + 1));
        let start = batch.span(position..position + 1).start + from;
        // SAFETY: the outputs have the size of the batch; nobody else has this part of them.
        let logits =
            unsafe { std::slice::from_raw_parts_mut(self.logits.get().add(start), to - from) };
        (&indices[from..to], logits)
    }

    /// Answers a position's value.
    ///
    /// # Safety
    /// Inside of the one piece of work that does.
    pub unsafe fn set_value(&self, position: usize, value: f32) {
        // SAFETY: the outputs have the size of the batch, which has this position.
        unsafe { *self.values.get().add(self.first.get() + position) = value }
    }
}
