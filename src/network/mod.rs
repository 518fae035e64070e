//! What a network is, on the host: its architecture, its weights, its slow and obvious forward pass.

pub mod spec;

pub use spec::{Spec, SpecError};
