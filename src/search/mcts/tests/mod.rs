//! Tests: the numbers in the tree, and the player as the world sees it.

mod numbers;
mod player;

use crate::backend::{Backend, BackendError, Batch, Outputs};

/// Says something else of every position, and always the same of the same.
struct Hashing;

impl Backend for Hashing {
    fn name(&self) -> String {
        "hashing".into()
    }

    fn device(&self) -> String {
        "none".into()
    }

    fn batch_sizes(&self) -> &[usize] {
        &[1]
    }

    fn evaluate(&mut self, batch: &Batch, outputs: &mut Outputs) -> Result<(), BackendError> {
        outputs.resize(batch);
        for i in 0..batch.len() {
            let step = |hash: u64, bits: u64| (hash ^ bits).wrapping_mul(0x0100_0000_01b3);
            let planes = batch.planes(i).iter();
            let hash = planes.fold(0xcbf2_9ce4_8422_2325, |h, x| step(h, x.to_bits().into()));
            let unit = |hash: u64| (hash >> 40) as f32 / (1 << 24) as f32;
            outputs.values[i] = 2.0 * unit(step(hash, 1)) - 1.0;
            let logits = &mut outputs.logits[batch.span(i..i + 1)];
            for (logit, &index) in logits.iter_mut().zip(batch.indices(i)) {
                // So far apart that no two priors are equal when they are rounded.
                *logit = ((u64::from(index) * 2477 + (hash >> 40)) % 4096) as f32 / 1365.0;
            }
        }
        Ok(())
    }
}
