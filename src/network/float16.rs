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

    /// The nearest one, of two the even one; beyond the largest, infinite.
    pub fn from_f32(x: f32) -> Self {
        let sign = (x.to_bits() >> 16) as u16 & 0x8000;
        let magnitude = x.to_bits() & 0x7fff_ffff;
        let rounded = if magnitude > 0x7f80_0000 {
            0x7e00 // NaN
        } else if magnitude >= (127 + 16) << 23 {
            0x7c00
        } else if magnitude < (127 - 14) << 23 {
            // Subnormal: a sum near one half is rounded to what the format has there.
            (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5_f32.to_bits()
        } else {
            // Half of the bits that go, less a little where the last one that stays is even.
            (magnitude + 0x0fff + (magnitude >> 13 & 1) - (112 << 23)) >> 13
        };
        Self(sign | rounded as u16)
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

    /// Numbers of all sizes, and those around every boundary, against the crate `half`.
    #[test]
    fn rounding() {
        let boundaries = (0..=u16::MAX).flat_map(|bits| {
            let exact = half::f16::from_bits(bits).to_f32().to_bits();
            // Up to half of the way to the next one and a little further.
            [0, 1, 0x0fff, 0x1000, 0x1001].map(|more| exact.saturating_add(more))
        });
        for bits in boundaries.chain((0..=u32::MAX).step_by(9973)) {
            let x = f32::from_bits(bits);
            let (ours, theirs) = (super::F16::from_f32(x), half::f16::from_f32(x));
            assert!(
                ours.0 == theirs.to_bits() || (x.is_nan() && !ours.is_finite()),
                "{x:e}: {ours:?}"
            );
        }
    }
}
