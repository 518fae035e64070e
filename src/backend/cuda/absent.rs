//! What stands for the CUDA backend in a program built without the feature `cuda`: it says so.

mod settings;

pub use settings::{Arithmetic, Settings};

use super::{Backend, BackendError, Batch, Outputs};
use crate::network::Network;

/// Runs a network on an NVIDIA GPU; here there is none.
pub enum Cuda {}

impl Cuda {
    /// Whether this program was built with it.
    pub const BUILT: bool = false;

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn new(network: &Network) -> Result<Self, BackendError> {
        Self::with(network, Settings::default())
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn with(_network: &Network, _settings: Settings) -> Result<Self, BackendError> {
        Err(BackendError(
            "this program was built without CUDA; build it with cargo build --release --features cuda".to_owned(),
        ))
    }
}

impl Backend for Cuda {
    fn name(&self) -> String {
        match *self {}
    }

    fn device(&self) -> String {
        match *self {}
    }

    fn batch_sizes(&self) -> &[usize] {
        match *self {}
    }

    fn evaluate(&mut self, _batch: &Batch, _outputs: &mut Outputs) -> Result<(), BackendError> {
        match *self {}
    }
}
