//! Which instruction sets there are, and which of them this processor has.

use super::simd::bytes::Bytes;
use super::simd::{self, Simd};
use crate::network::Spec;
use std::fmt;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// What every processor has.
    Portable,
    /// NEON.
    Neon,
    /// NEON with dot products of bytes, for int8 networks.
    Dotprod,
    /// AVX2 and FMA.
    Avx2,
    /// AVX2 with AVX-VNNI, for int8 networks.
    AvxVnni,
    /// AVX-512F, for plain networks.
    Avx512,
    /// AVX-512F with AVX512-VNNI, for int8 networks.
    Avx512Vnni,
}

impl Instructions {
    /// All of them, the fastest last.
    pub const ALL: [Self; 7] = [
        Self::Portable,
        Self::Neon,
        Self::Dotprod,
        Self::Avx2,
        Self::AvxVnni,
        Self::Avx512,
        Self::Avx512Vnni,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Dotprod => "dotprod",
            Self::Avx2 => "avx2",
            Self::AvxVnni => "avxvnni",
            Self::Avx512 => "avx512",
            Self::Avx512Vnni => "avx512vnni",
        }
    }

    /// Those that this program has kernels for, for such a network, the fastest last.
    pub fn built(spec: &Spec) -> impl Iterator<Item = Self> + use<> {
        let int8 = spec.is_int8();
        Self::ALL.into_iter().filter(move |set| match set {
            Self::Portable => true,
            Self::Neon => cfg!(target_arch = "aarch64"),
            Self::Dotprod => cfg!(target_arch = "aarch64") && int8,
            Self::Avx2 => cfg!(target_arch = "x86_64"),
            Self::AvxVnni | Self::Avx512Vnni => cfg!(target_arch = "x86_64") && int8,
            Self::Avx512 => cfg!(target_arch = "x86_64") && !int8,
        })
    }

    /// Those of them that this processor has, the fastest last.
    pub fn available(spec: &Spec) -> impl Iterator<Item = Self> + use<> {
        Self::built(spec).filter(|set| match set {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => simd::Avx2::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => simd::bytes::AvxVnni::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => simd::Avx512::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => simd::bytes::Avx512Vnni::detect().is_some(),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => simd::Neon::detect().is_some(),
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod => simd::bytes::Sdot::detect().is_some(),
            #[allow(unreachable_patterns)] // Sets of other processors.
            _ => false,
        })
    }

    /// The fastest here for such a network.
    pub fn preferred(spec: &Spec) -> Self {
        Self::available(spec).last().unwrap_or(Self::Portable)
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
