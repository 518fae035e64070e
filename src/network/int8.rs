//! Convolutions in whole numbers of 8 bits.
//!
//! What a convolution of the tower reads comes out of a ReLU. Each input channel has a scale, and a number x of it
//! becomes the byte `round(x * (1 / input_scale))`, of two as near the even one, between 0 and 127: seven bits, so that
//! two products with weights from -127 to 127 fit 16 bits, which AVX2's multiplication of bytes needs. The weights,
//! BatchNorm and the input channels' scales folded in, have a scale for each output channel:
//!
//! ```text
//! y[o] = bias[o] + scale[o] * Σ weight[o] * byte
//! ```
//!
//! The sum is a whole number of 32 bits, exact in any order. Everything else of a network stays in floating point, but
//! for the rows of the policy layer where those are bytes too, with a scale for each row.
//!
//! In a weights file these tensors replace those of a plain network, for block N and convolution M of it:
//!
//! | | | |
//! |---|---|---|
//! | `tower.N.convM.weight` | I8 | `[out, in, 3, 3]` |
//! | `tower.N.convM.scale` | float | `[out]` |
//! | `tower.N.convM.bias` | float | `[out]` |
//! | `tower.N.convM.input_scale` | float | `[in]` |
//! | `policy_fc.weight` | I8 | `[policy size, in]` |
//! | `policy_fc.scale` | float | `[policy size]` |
//!
//! There is no BatchNorm of the tower, and the metadata has `"quantization": "int8"`. Where it has `"int8-tower"`, the policy
//! layer is stored as that of a plain network.

use super::weights::Real;
use ndarray::{Array1, Array4};

/// The largest byte that an input becomes, and the largest weight.
pub const LARGEST: f32 = 127.0;

/// A 3x3 convolution over boards with a border of zeros.
#[derive(Clone, Debug)]
pub struct Convolution {
    /// `[out, in, 3, 3]`, from -127 to 127.
    pub weight: Array4<i8>,
    /// `[out]`, above zero.
    pub scale: Array1<f32>,
    /// `[out]`.
    pub bias: Array1<f32>,
    /// `[in]`, above zero.
    pub input_scale: Array1<f32>,
}

/// The byte that an input of a channel with this scale becomes. What is no number becomes 0.
pub fn byte<T: Real>(x: T, input_scale: f32) -> i8 {
    let whole = (x * T::from_f32(1.0 / input_scale)).round_ties_even();
    whole.max(T::zero()).min(T::from_f32(LARGEST)).to_i8().unwrap_or(0)
}
