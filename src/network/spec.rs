//! The architecture of a network as data, and how it is written into a weights file.
//!
//! A weights file is a [safetensors](https://github.com/huggingface/safetensors) file. Its
//! `__metadata__` holds the fields of [`Spec`] as strings; its tensors are those that
//! [`Spec::tensors`] lists, by name and shape.

use crate::chess::quoted;
use crate::encoding::{Encoding, from_to};
use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;

/// The version of the metadata layout that this program writes, and the only one it reads.
pub const FORMAT_VERSION: &str = "1";

/// What a size may be: far beyond networks in use, yet so that a corrupted file cannot ask for absurd
/// amounts of memory or time.
const SIZE: RangeInclusive<usize> = 1..=16_384;
const BLOCKS: RangeInclusive<usize> = 0..=1_024;
const RECURRENCE: RangeInclusive<usize> = 1..=64;
/// Beyond, a sum of 9 x channels products of bytes might not fit 32 bits.
const INT8_CHANNELS: RangeInclusive<usize> = 1..=i32::MAX as usize / (9 * 127 * 127);

/// What a network looks like. Every size is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// How positions and moves are numbered; gives the input planes and the moves' policy indices.
    pub encoding: Encoding,
    /// What it is made of.
    pub architecture: Architecture,
    /// Where the weights come from, in words.
    pub source: String,
    /// The licence of the weights.
    pub licence: String,
}

/// What a tensor of a weights file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// F32, F16 or BF16.
    Float,
    /// I8.
    Int8,
}

/// What a network is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// A tower with a policy and a value head.
    Residual(Residual),
    /// Two networks that score squares.
    SquarePair(SquarePair),
}

/// The sizes of a residual policy and value network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residual {
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
    /// What is stored as bytes: see [`int8`](super::int8).
    pub int8: Int8,
}

/// What of a network is made of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Int8 {
    /// Nothing.
    Nothing,
    /// The tower's convolutions.
    Tower,
    /// The tower's convolutions and the rows of the policy layer.
    TowerAndPolicy,
}

impl Int8 {
    /// What the metadata says; nothing where nothing is said.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Tower => Some("int8-tower"),
            Self::TowerAndPolicy => Some("int8"),
        }
    }
}

/// The sizes of two networks of one shape: one scores the 64 squares to move from, one those to move to.
/// A move's logit is the sum of its squares', and there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SquarePair {
    /// Filters of both 2x2 convolutions.
    pub filters: usize,
    /// Width of both hidden layers.
    pub hidden: usize,
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
            architecture: Architecture::from_metadata(metadata, encoding)?,
            source: text(metadata, "source")?.to_owned(),
            licence: text(metadata, "licence")?.to_owned(),
        })
    }

    /// The string map that [`Spec::from_metadata`] reads back.
    pub fn to_metadata(&self) -> HashMap<String, String> {
        [
            ("format_version", FORMAT_VERSION.to_owned()),
            ("encoding", self.encoding.name().to_owned()),
            ("policy", self.encoding.policy_name().to_owned()),
            ("source", self.source.clone()),
            ("licence", self.licence.clone()),
        ]
        .into_iter()
        .chain(self.architecture.to_metadata())
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
    }

    /// Every tensor of the weights file with its shape, in the order of the forward pass.
    ///
    /// Convolutions are `[out, in, height, width]`, linear layers `[out, in]`, the gate
    /// `[channels, 2 * channels, 1, 1]` over (candidate, previous).
    pub fn tensors(&self) -> impl Iterator<Item = (String, Vec<usize>)> {
        self.stored().map(|(name, shape, _)| (name, shape))
    }

    /// The same with the kind of numbers that each tensor holds.
    pub fn stored(&self) -> impl Iterator<Item = (String, Vec<usize>, Numbers)> {
        // Part by part: a file's metadata may promise a thousand blocks.
        let parts = match &self.architecture {
            Architecture::Residual(residual) => residual.blocks + 2,
            Architecture::SquarePair(_) => 2,
        };
        (0..parts).flat_map(|part| match &self.architecture {
            Architecture::Residual(residual) => residual.tensors(self.encoding, part).0,
            Architecture::SquarePair(pair) => pair.tensors(self.encoding, part).0,
        })
    }

    /// Whether its tower is made of bytes: see [`int8`](super::int8).
    pub fn is_int8(&self) -> bool {
        matches!(&self.architecture, Architecture::Residual(sizes) if sizes.int8 != Int8::Nothing)
    }

    /// How many logits the network has, those of the pair's squares included: see
    /// [`from_to`].
    pub fn policy_size(&self) -> usize {
        match &self.architecture {
            Architecture::Residual(_) => self.encoding.policy_size(),
            Architecture::SquarePair(_) => from_to::WITH_SQUARES,
        }
    }

    /// Learned parameters (running statistics of BatchNorm are not counted, as in PyTorch, nor the scales of bytes).
    pub fn parameters(&self) -> usize {
        self.tensors()
            .filter(|(name, _)| !name.contains(".running_") && !name.ends_with("scale"))
            .map(|(_, shape)| shape.iter().product::<usize>())
            .sum()
    }
}

/// Keys that files of before they existed do not have.
const ARCHITECTURE: &str = "architecture";
const CONV_BIAS: &str = "conv_bias";
const QUANTIZATION: &str = "quantization";

/// The names of the architectures; a file that names none holds the first.
const RESIDUAL: &str = "residual";
const SQUARE_PAIR: &str = "square-pair";

impl Architecture {
    fn from_metadata(
        metadata: &HashMap<String, String>,
        encoding: Encoding,
    ) -> Result<Self, SpecError> {
        let found = metadata.get(QUANTIZATION);
        let mut kinds = [Int8::Nothing, Int8::Tower, Int8::TowerAndPolicy].into_iter();
        let Some(int8) = kinds.find(|kind| kind.name() == found.map(String::as_str)) else {
            let expected = "int8, int8-tower or no such key";
            return Err(invalid(QUANTIZATION, found.map_or("", String::as_str), expected));
        };
        let channels = if int8 == Int8::Nothing { SIZE } else { INT8_CHANNELS };
        match metadata.get(ARCHITECTURE).map_or(RESIDUAL, String::as_str) {
            RESIDUAL => Ok(Self::Residual(Residual {
                channels: size(metadata, "channels", channels)?,
                blocks: size(metadata, "blocks", BLOCKS)?,
                recurrence: size(metadata, "recurrence", RECURRENCE)?,
                gate: switch(metadata, "gate")?,
                se_width: Some(size(metadata, "se_width", 0..=*SIZE.end())?)
                    .filter(|&width| width > 0),
                conv_bias: metadata.contains_key(CONV_BIAS) && switch(metadata, CONV_BIAS)?,
                policy_channels: size(metadata, "policy_channels", SIZE)?,
                value_channels: size(metadata, "value_channels", SIZE)?,
                value_hidden: size(metadata, "value_hidden", SIZE)?,
                int8,
            })),
            SQUARE_PAIR if int8 != Int8::Nothing => Err(invalid(
                QUANTIZATION,
                found.map_or("", String::as_str),
                "no such key beside square-pair",
            )),
            SQUARE_PAIR if encoding.policy_size() != from_to::POLICY_SIZE => {
                let expected = "one whose moves are pairs of squares, such as canonical12";
                Err(invalid("encoding", encoding.name(), expected))
            }
            SQUARE_PAIR => Ok(Self::SquarePair(SquarePair {
                filters: size(metadata, "filters", SIZE)?,
                hidden: size(metadata, "hidden", SIZE)?,
            })),
            other => Err(invalid(ARCHITECTURE, other, &format!("{RESIDUAL} or {SQUARE_PAIR}"))),
        }
    }

    fn to_metadata(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Residual(residual) => {
                let mut list = vec![
                    ("channels", residual.channels.to_string()),
                    ("blocks", residual.blocks.to_string()),
                    ("recurrence", residual.recurrence.to_string()),
                    ("gate", residual.gate.to_string()),
                    ("se_width", residual.se_width.unwrap_or(0).to_string()),
                    ("policy_channels", residual.policy_channels.to_string()),
                    ("value_channels", residual.value_channels.to_string()),
                    ("value_hidden", residual.value_hidden.to_string()),
                ];
                list.extend(residual.conv_bias.then(|| (CONV_BIAS, "true".to_owned())));
                list.extend(residual.int8.name().map(|name| (QUANTIZATION, name.to_owned())));
                list
            }
            Self::SquarePair(pair) => vec![
                (ARCHITECTURE, SQUARE_PAIR.to_owned()),
                ("filters", pair.filters.to_string()),
                ("hidden", pair.hidden.to_string()),
            ],
        }
    }
}

impl Residual {
    /// The stem, then each block, then gate and heads.
    fn tensors(&self, encoding: Encoding, part: usize) -> TensorList {
        match part.checked_sub(1) {
            None => self.stem_tensors(encoding),
            Some(block) if block < self.blocks => self.block_tensors(block),
            Some(_) => self.last_tensors(encoding),
        }
    }

    fn stem_tensors(&self, encoding: Encoding) -> TensorList {
        let mut list = TensorList::default();
        let shape = [self.channels, encoding.planes(), 3, 3];
        list.convolution("stem.0", "stem.1", shape, self.conv_bias);
        list
    }

    fn block_tensors(&self, block: usize) -> TensorList {
        let (c, mut list) = (self.channels, TensorList::default());
        for n in 1..=2 {
            let (conv, norm) = (format!("tower.{block}.conv{n}"), format!("tower.{block}.bn{n}"));
            match self.int8 {
                Int8::Tower | Int8::TowerAndPolicy => list.int8_convolution(&conv, [c, c, 3, 3]),
                Int8::Nothing => list.convolution(&conv, &norm, [c, c, 3, 3], self.conv_bias),
            }
        }
        if let Some(width) = self.se_width {
            list.linear(&format!("tower.{block}.se.fc1"), width, c);
            list.linear(&format!("tower.{block}.se.fc2"), 2 * c, width);
        }
        list
    }

    fn last_tensors(&self, encoding: Encoding) -> TensorList {
        let (c, mut list) = (self.channels, TensorList::default());
        if self.gate {
            list.add("gate.weight", &[c, 2 * c, 1, 1]);
            list.add("gate.bias", &[c]);
        }
        let head = |channels| [channels, c, 1, 1];
        let (policy, value) = (head(self.policy_channels), head(self.value_channels));
        list.convolution("policy_conv", "policy_bn", policy, self.conv_bias);
        let (moves, features) = (encoding.policy_size(), 64 * self.policy_channels);
        match self.int8 {
            Int8::TowerAndPolicy => list.int8_linear("policy_fc", moves, features),
            Int8::Tower | Int8::Nothing => list.linear("policy_fc", moves, features),
        }
        list.convolution("value_conv", "value_bn", value, self.conv_bias);
        list.linear("value_fc1", self.value_hidden, 64 * self.value_channels);
        list.linear("value_fc2", 1, self.value_hidden);
        list
    }
}

impl SquarePair {
    /// The network of the squares moved from, then the other.
    fn tensors(&self, encoding: Encoding, part: usize) -> TensorList {
        let (name, mut list) = (["origin", "target"][part], TensorList::default());
        let (filters, hidden) = (self.filters, self.hidden);
        for (layer, inputs) in [("conv1", encoding.planes()), ("conv2", filters)] {
            list.add(&format!("{name}.{layer}.weight"), &[filters, inputs, 2, 2]);
            list.add(&format!("{name}.{layer}.bias"), &[filters]);
        }
        list.linear(&format!("{name}.fc1"), hidden, 36 * filters);
        list.linear(&format!("{name}.fc2"), hidden, hidden);
        list.linear(&format!("{name}.fc3"), 64, hidden);
        list
    }
}

#[derive(Default)]
struct TensorList(Vec<(String, Vec<usize>, Numbers)>);

impl TensorList {
    fn add(&mut self, name: &str, shape: &[usize]) {
        self.0.push((name.to_owned(), shape.to_vec(), Numbers::Float));
    }

    fn add_bytes(&mut self, name: &str, shape: &[usize]) {
        self.0.push((name.to_owned(), shape.to_vec(), Numbers::Int8));
    }

    /// A convolution with the BatchNorm folded in.
    fn int8_convolution(&mut self, name: &str, shape: [usize; 4]) {
        self.add_bytes(&format!("{name}.weight"), &shape);
        self.add(&format!("{name}.scale"), &shape[..1]);
        self.add(&format!("{name}.bias"), &shape[..1]);
        self.add(&format!("{name}.input_scale"), &shape[1..2]);
    }

    fn int8_linear(&mut self, name: &str, outputs: usize, inputs: usize) {
        self.add_bytes(&format!("{name}.weight"), &[outputs, inputs]);
        self.add(&format!("{name}.scale"), &[outputs]);
        self.add(&format!("{name}.bias"), &[outputs]);
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

    fn spec(encoding: Encoding, architecture: Architecture) -> Spec {
        Spec { encoding, architecture, source: "a test".into(), licence: "none".into() }
    }

    /// 10,915,809 and 11,049,313 parameters: the figures of the published RDTChess networks. The others: as
    /// PyTorch counts them in networks with the published sizes, about 12.5 million and 11.7 million.
    #[test]
    fn parameter_counts_of_the_published_networks() {
        let plain = Residual {
            channels: 128,
            blocks: 8,
            recurrence: 1,
            gate: false,
            se_width: None,
            conv_bias: false,
            policy_channels: 32,
            value_channels: 16,
            value_hidden: 128,
            int8: Int8::Nothing,
        };
        let gated = Residual { recurrence: 2, gate: true, se_width: Some(32), ..plain.clone() };
        let white = Residual {
            channels: 256,
            blocks: 10,
            conv_bias: true,
            policy_channels: 2,
            value_channels: 1,
            value_hidden: 256,
            ..plain
        };
        let pair = Architecture::SquarePair(SquarePair { filters: 128, hidden: 1024 });
        for (spec, parameters) in [
            (spec(Encoding::Canonical19, Architecture::Residual(plain)), 10_915_809),
            (spec(Encoding::Canonical19, Architecture::Residual(gated)), 11_049_313),
            (spec(Encoding::Absolute14, Architecture::Residual(white)), 12_448_714),
            (spec(Encoding::Canonical12, pair), 11_813_504),
        ] {
            assert_eq!(spec.parameters(), parameters);
            assert_eq!(Spec::from_metadata(&spec.to_metadata()), Ok(spec));
        }
    }
}
