//! The architecture of a network as data, and how it is written into a weights file.
//!
//! A weights file is a [safetensors](https://github.com/huggingface/safetensors) file. Its
//! `__metadata__` holds the fields of [`Spec`] as strings; its tensors are those that
//! [`Spec::tensors`] lists, by name and shape.

use crate::chess::quoted;
use crate::encoding::Encoding;
use std::collections::HashMap;
use std::fmt;
use std::iter;
use std::ops::RangeInclusive;

/// The version of the metadata layout that this program writes, and the only one it reads.
pub const FORMAT_VERSION: &str = "1";

/// What a size may be: far beyond networks in use, yet so that a corrupted file cannot ask for absurd
/// amounts of memory or time.
const SIZE: RangeInclusive<usize> = 1..=16_384;
const BLOCKS: RangeInclusive<usize> = 0..=1_024;
const RECURRENCE: RangeInclusive<usize> = 1..=64;

/// The one key that is there only where it says `true`.
const CONV_BIAS: &str = "conv_bias";

/// What a residual policy and value network looks like. Every size is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// How positions and moves are numbered; gives the input planes and the policy size.
    pub encoding: Encoding,
    /// Channels of the trunk.
    pub channels: usize,
    /// Residual blocks in the tower.
    pub blocks: usize,
    /// How many times the tower is applied, with the same weights.
    pub recurrence: usize,
    /// Whether a learned gate mixes each pass of the tower with the state before it.
    pub gate: bool,
    /// Width of the hidden layer of squeeze-and-excitation, where the blocks have it.
    pub se_width: Option<usize>,
    /// Whether the convolutions before a BatchNorm have biases of their own.
    pub conv_bias: bool,
    /// Channels of the policy head's 1x1 convolution.
    pub policy_channels: usize,
    /// Channels of the value head's 1x1 convolution.
    pub value_channels: usize,
    /// Width of the value head's hidden layer.
    pub value_hidden: usize,
    /// Where the weights come from, in words.
    pub source: String,
    /// The licence of the weights.
    pub licence: String,
}

/// Why metadata does not describe a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecError {
    /// A key is not there.
    Missing(&'static str),
    /// A key holds something else than what it should.
    Invalid {
        /// The key.
        key: &'static str,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: String,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(key) => write!(
                f,
                "the metadata has no `{key}`: not a Fianchetto weights file; make one with fianchetto-convert"
            ),
            Self::Invalid { key, found, expected } => {
                let found = quoted(found);
                write!(
                    f,
                    "the metadata's `{key}` is {found}, expected {expected}; make the file anew with fianchetto-convert"
                )
            }
        }
    }
}

impl std::error::Error for SpecError {}

impl Spec {
    /// Reads the architecture from the string map of a weights file.
    pub fn from_metadata(metadata: &HashMap<String, String>) -> Result<Self, SpecError> {
        let version = text(metadata, "format_version")?;
        if version != FORMAT_VERSION {
            return Err(invalid("format_version", version, FORMAT_VERSION));
        }
        let name = text(metadata, "encoding")?;
        let encoding = Encoding::from_name(name)
            .ok_or_else(|| invalid("encoding", name, &Encoding::names()))?;
        let policy = text(metadata, "policy")?;
        if policy != encoding.policy_name() {
            return Err(invalid("policy", policy, encoding.policy_name()));
        }
        Ok(Self {
            encoding,
            channels: size(metadata, "channels", SIZE)?,
            blocks: size(metadata, "blocks", BLOCKS)?,
            recurrence: size(metadata, "recurrence", RECURRENCE)?,
            gate: switch(metadata, "gate")?,
            se_width: Some(size(metadata, "se_width", 0..=*SIZE.end())?).filter(|&width| width > 0),
            conv_bias: metadata.contains_key(CONV_BIAS) && switch(metadata, CONV_BIAS)?,
            policy_channels: size(metadata, "policy_channels", SIZE)?,
            value_channels: size(metadata, "value_channels", SIZE)?,
            value_hidden: size(metadata, "value_hidden", SIZE)?,
            source: text(metadata, "source")?.to_owned(),
            licence: text(metadata, "licence")?.to_owned(),
        })
    }

    /// The string map that [`Spec::from_metadata`] reads back.
    pub fn to_metadata(&self) -> HashMap<String, String> {
        let conv_bias = self.conv_bias.then(|| (CONV_BIAS, "true".to_owned()));
        [
            ("format_version", FORMAT_VERSION.to_owned()),
            ("encoding", self.encoding.name().to_owned()),
            ("policy", self.encoding.policy_name().to_owned()),
            ("channels", self.channels.to_string()),
            ("blocks", self.blocks.to_string()),
            ("recurrence", self.recurrence.to_string()),
            ("gate", self.gate.to_string()),
            ("se_width", self.se_width.unwrap_or(0).to_string()),
            ("policy_channels", self.policy_channels.to_string()),
            ("value_channels", self.value_channels.to_string()),
            ("value_hidden", self.value_hidden.to_string()),
            ("source", self.source.clone()),
            ("licence", self.licence.clone()),
        ]
        .into_iter()
        .chain(conv_bias)
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
    }

    /// Every tensor of the weights file with its shape, in the order of the forward pass.
    ///
    /// Convolutions are `[out, in, height, width]`, linear layers `[out, in]`, the gate
    /// `[channels, 2 * channels, 1, 1]` over (candidate, previous).
    pub fn tensors(&self) -> impl Iterator<Item = (String, Vec<usize>)> {
        iter::once(self.stem_tensors())
            .chain((0..self.blocks).map(|block| self.block_tensors(block)))
            .chain(iter::once_with(|| self.last_tensors()))
            .flat_map(|part| part.0)
    }

    fn stem_tensors(&self) -> TensorList {
        let mut list = TensorList::default();
        let shape = [self.channels, self.encoding.planes(), 3, 3];
        list.convolution("stem.0", "stem.1", shape, self.conv_bias);
        list
    }

    fn block_tensors(&self, block: usize) -> TensorList {
        let (c, mut list) = (self.channels, TensorList::default());
        for n in 1..=2 {
            let (conv, norm) = (format!("tower.{block}.conv{n}"), format!("tower.{block}.bn{n}"));
            list.convolution(&conv, &norm, [c, c, 3, 3], self.conv_bias);
        }
        if let Some(width) = self.se_width {
            list.linear(&format!("tower.{block}.se.fc1"), width, c);
            list.linear(&format!("tower.{block}.se.fc2"), 2 * c, width);
        }
        list
    }

    fn last_tensors(&self) -> TensorList {
        let (c, mut list) = (self.channels, TensorList::default());
        if self.gate {
            list.add("gate.weight", &[c, 2 * c, 1, 1]);
            list.add("gate.bias", &[c]);
        }
        let head = |channels| [channels, c, 1, 1];
        let (policy, value) = (head(self.policy_channels), head(self.value_channels));
        list.convolution("policy_conv", "policy_bn", policy, self.conv_bias);
        list.linear("policy_fc", self.encoding.policy_size(), 64 * self.policy_channels);
        list.convolution("value_conv", "value_bn", value, self.conv_bias);
        list.linear("value_fc1", self.value_hidden, 64 * self.value_channels);
        list.linear("value_fc2", 1, self.value_hidden);
        list
    }

    /// Learned parameters (running statistics of BatchNorm are not counted, as in PyTorch).
    pub fn parameters(&self) -> usize {
        self.tensors()
            .filter(|(name, _)| !name.contains(".running_"))
            .map(|(_, shape)| shape.iter().product::<usize>())
            .sum()
    }
}

#[derive(Default)]
struct TensorList(Vec<(String, Vec<usize>)>);

impl TensorList {
    fn add(&mut self, name: &str, shape: &[usize]) {
        self.0.push((name.to_owned(), shape.to_vec()));
    }

    /// A convolution and the BatchNorm after it.
    fn convolution(&mut self, name: &str, norm: &str, shape: [usize; 4], bias: bool) {
        self.add(&format!("{name}.weight"), &shape);
        if bias {
            self.add(&format!("{name}.bias"), &shape[..1]);
        }
        for part in ["weight", "bias", "running_mean", "running_var"] {
            self.add(&format!("{norm}.{part}"), &shape[..1]);
        }
    }

    fn linear(&mut self, name: &str, outputs: usize, inputs: usize) {
        self.add(&format!("{name}.weight"), &[outputs, inputs]);
        self.add(&format!("{name}.bias"), &[outputs]);
    }
}

fn invalid(key: &'static str, found: &str, expected: &str) -> SpecError {
    SpecError::Invalid { key, found: found.to_owned(), expected: expected.to_owned() }
}

fn text<'a>(
    metadata: &'a HashMap<String, String>,
    key: &'static str,
) -> Result<&'a str, SpecError> {
    metadata.get(key).map(String::as_str).ok_or(SpecError::Missing(key))
}

fn size(
    metadata: &HashMap<String, String>,
    key: &'static str,
    range: RangeInclusive<usize>,
) -> Result<usize, SpecError> {
    let found = text(metadata, key)?;
    match found.parse() {
        Ok(n) if range.contains(&n) => Ok(n),
        _ => {
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            Err(invalid(key, found, &expected))
        }
    }
}

fn switch(metadata: &HashMap<String, String>, key: &'static str) -> Result<bool, SpecError> {
    let found = text(metadata, key)?;
    found.parse().map_err(|_| invalid(key, found, "true or false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10,915,809 and 11,049,313 parameters: the figures of the published RDTChess networks. Sigma-Go, about
    /// 12.5 million: as PyTorch counts them in a network of the published names.
    #[test]
    fn parameter_counts_of_the_published_networks() {
        let plain = Spec {
            encoding: Encoding::Canonical19,
            channels: 128,
            blocks: 8,
            recurrence: 1,
            gate: false,
            se_width: None,
            conv_bias: false,
            policy_channels: 32,
            value_channels: 16,
            value_hidden: 128,
            source: "a test".into(),
            licence: "none".into(),
        };
        assert_eq!(plain.parameters(), 10_915_809);
        let gated = Spec { recurrence: 2, gate: true, se_width: Some(32), ..plain.clone() };
        assert_eq!(gated.parameters(), 11_049_313);
        let white = Spec {
            encoding: Encoding::Absolute14,
            channels: 256,
            blocks: 10,
            conv_bias: true,
            policy_channels: 2,
            value_channels: 1,
            value_hidden: 256,
            ..plain
        };
        assert_eq!(white.parameters(), 12_448_714);
        for spec in [gated, white] {
            assert_eq!(Spec::from_metadata(&spec.to_metadata()), Ok(spec));
        }
    }
}
