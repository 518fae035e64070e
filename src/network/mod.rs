//! What a network is, on the host: its architecture, its weights, its slow and obvious forward pass.

mod float16;
pub mod int8;
pub mod reference;
pub mod spec;
pub mod weights;

pub use float16::F16;
pub use spec::{Architecture, Spec, SpecError};
pub use weights::{Contents, Layers, Network, Real, Tower, WeightsError, read};

/// The default network's weights file, built into the program with the feature `embed`.
pub fn embedded() -> Option<&'static [u8]> {
    #[cfg(feature = "embed")]
    return Some(include_bytes!("../../weights/second-64x6.safetensors"));
    #[cfg(not(feature = "embed"))]
    None
}
