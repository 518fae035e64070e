//! What a network is computed in.

/// The numbers of the maps and weights; sums are always of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// 32 bits: on every GPU.
    Single,
    /// 16 bits, on tensor cores: from compute capability 8.0 on.
    Half,
}
