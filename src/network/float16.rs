//! The two 16-bit floating-point formats that weights are stored in, widened to `f32`.

/// A number as IEEE 754 binary16: its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

impl F16 {
    /// The same number, wider.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        from_f16(self.0)
    }

    /// Neither infinite nor NaN.
    pub fn is_finite(self) -> bool {
        self.0 & 0x7c00 != 0x7c00
    }
}

/// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits. Without a branch, so that it vectorises.
#[inline(always)]
fn from_f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // The fields are in place; the exponent's bias is 15 instead of 127. A product with 2^112 corrects
    // it and makes subnormals right as well.
    let finite = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = magnitude | 0x7f80_0000;
    f32::from_bits(sign | if bits & 0x7c00 == 0x7c00 { special } else { finite })
}

/// bfloat16: the upper half of an `f32`.
pub fn from_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(test)]
mod tests {
    /// All 65,536 values of both formats, against the crate `half`.
    #[test]
    fn every_value() {
        for bits in 0..=u16::MAX {
            for (ours, theirs) in [
                (super::F16(bits).to_f32(), half::f16::from_bits(bits).to_f32()),
                (super::from_bf16(bits), half::bf16::from_bits(bits).to_f32()),
            ] {
                assert!(
                    ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()),
                    "{bits:#06x}: {ours} instead of {theirs}"
                );
            }
            assert_eq!(super::F16(bits).is_finite(), half::f16::from_bits(bits).is_finite());
        }
    }
}
