//! How a network is to be run.

/// The numbers of the maps and weights; sums are always of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// 32 bits: on every GPU.
    Single,
    /// 16 bits, on tensor cores: from compute capability 8.0 on.
    Half,
}

/// How to run a network. What is not said is chosen for the GPU and each batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What it is computed in.
    pub arithmetic: Option<Arithmetic>,
    /// Thread blocks for a position, in every batch.
    pub split: Option<usize>,
}
