//! From a weights file to the layers of a network, BatchNorm folded into the convolutions.

mod error;
mod file;

pub use error::WeightsError;

use super::float16::F16;
use super::int8;
use super::spec::{Architecture, Numbers, Spec};
use file::File;
use ndarray::{Array1, Array2, Array4, NdFloat};
use safetensors::tensor::{Dtype, SafeTensors};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The largest header is one in so many bytes of the file. Parsing can take 32 times the header's
/// length; real headers take one byte in a hundred or less.
const LARGEST_HEADER: u64 = 4;

/// The number type a network computes in: `f32`, or `f64` for the exact reference.
pub trait Real: NdFloat {
    /// The nearest value of this type.
    fn from_f64(x: f64) -> Self;
    /// The same value: every `f32` is a value of this type.
    fn from_f32(x: f32) -> Self;
    /// The nearest whole number, of two the even one.
    fn round_ties_even(self) -> Self;
}

impl Real for f32 {
    fn from_f64(x: f64) -> Self {
        x as f32
    }
    fn from_f32(x: f32) -> Self {
        x
    }
    fn round_ties_even(self) -> Self {
        self.round_ties_even()
    }
}

impl Real for f64 {
    fn from_f64(x: f64) -> Self {
        x
    }
    fn from_f32(x: f32) -> Self {
        x.into()
    }
    fn round_ties_even(self) -> Self {
        self.round_ties_even()
    }
}

/// A square convolution over boards: with 1x1 or 3x3 taps padded so that the board keeps its size, with 2x2
/// not padded.
#[derive(Clone, Debug)]
pub struct Convolution<T> {
    /// `[out, in, kernel, kernel]`.
    pub weight: Array4<T>,
    /// `[out]`.
    pub bias: Array1<T>,
}

/// A fully connected layer.
#[derive(Clone, Debug)]
pub struct Linear<T> {
    /// `[out, in]`.
    pub weight: Array2<T>,
    /// `[out]`.
    pub bias: Array1<T>,
}

/// The fully connected layer that gives the logits. A position has few legal moves, and only their rows are
/// read.
#[derive(Clone, Debug)]
pub struct PolicyLayer<T> {
    /// `[policy size, in]`.
    pub weight: Rows<T>,
    /// `[policy size]`.
    pub bias: Array1<T>,
}

/// Weights of which a few rows are used at a time.
#[derive(Clone, Debug)]
pub enum Rows<T> {
    /// Ready to compute with.
    Full(Array2<T>),
    /// As the file has them, for half the memory: finite numbers, to be widened when they are used.
    Half(Array2<F16>),
    /// Bytes, each to be multiplied by the scale of its row, `[rows]`.
    Bytes(Array2<i8>, Array1<f32>),
}

impl<T: Real> Rows<T> {
    /// One of them, ready to compute with.
    pub fn row(&self, row: usize) -> Array1<T> {
        match self {
            Self::Full(rows) => rows.row(row).to_owned(),
            Self::Half(rows) => rows.row(row).mapv(|half| T::from_f32(half.to_f32())),
            Self::Bytes(rows, scales) => {
                let scale = T::from_f32(scales[row]);
                rows.row(row).mapv(|byte| T::from_f32(byte.into()) * scale)
            }
        }
    }

    /// The numbers in a row.
    pub fn width(&self) -> usize {
        match self {
            Self::Full(rows) => rows.ncols(),
            Self::Half(rows) => rows.ncols(),
            Self::Bytes(rows, _) => rows.ncols(),
        }
    }
}

/// Squeeze-and-excitation (Hu et al. 2017) with a bias: a scale and an offset for each channel from
/// the means of all channels.
#[derive(Clone, Debug)]
pub struct SqueezeExcite<T> {
    /// channels -> width.
    pub squeeze: Linear<T>,
    /// width -> 2 * channels: the scales before the sigmoid, then the offsets.
    pub excite: Linear<T>,
}

/// A residual block (He et al. 2015) with convolutions of the kind `C`.
#[derive(Clone, Debug)]
pub struct Block<T, C = Convolution<T>> {
    /// The first 3x3 convolution.
    pub conv1: C,
    /// The second 3x3 convolution.
    pub conv2: C,
    /// Between the second convolution and the addition.
    pub se: Option<SqueezeExcite<T>>,
}

/// The blocks of a network.
#[derive(Clone, Debug)]
pub enum Tower<T> {
    /// Those of a plain network.
    Plain(Vec<Block<T>>),
    /// Those of one whose convolutions are made of bytes.
    Int8(Vec<Block<T, int8::Convolution>>),
}

/// A network ready to compute with.
#[derive(Clone, Debug)]
pub struct Network<T = f32> {
    /// What it looks like.
    pub spec: Spec,
    /// What it is made of: as [`Spec::architecture`] says.
    pub layers: Layers<T>,
}

/// The layers of a network of each architecture.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // A program holds one or two.
pub enum Layers<T> {
    /// A tower with a policy and a value head.
    Residual(ResidualLayers<T>),
    /// Two networks that score squares.
    SquarePair(SquarePairLayers<T>),
}

/// The layers of a residual policy and value network.
#[derive(Clone, Debug)]
pub struct ResidualLayers<T> {
    /// How many times the tower is applied.
    pub recurrence: usize,
    /// planes -> channels, 3x3.
    pub stem: Convolution<T>,
    /// The residual blocks.
    pub tower: Tower<T>,
    /// (candidate, previous) -> channels, 1x1.
    pub gate: Option<Convolution<T>>,
    /// channels -> policy channels, 1x1.
    pub policy_conv: Convolution<T>,
    /// policy channels * 64 -> policy size.
    pub policy: PolicyLayer<T>,
    /// channels -> value channels, 1x1.
    pub value_conv: Convolution<T>,
    /// value channels * 64 -> hidden.
    pub value_hidden: Linear<T>,
    /// hidden -> 1.
    pub value: Linear<T>,
}

/// The layers of a pair of square networks.
#[derive(Clone, Debug)]
pub struct SquarePairLayers<T> {
    /// Scores the squares moved from.
    pub from: Squares<T>,
    /// Scores the squares moved to.
    pub to: Squares<T>,
}

/// A network that scores squares.
#[derive(Clone, Debug)]
pub struct Squares<T> {
    /// planes -> filters, 2x2.
    pub conv1: Convolution<T>,
    /// filters -> filters, 2x2.
    pub conv2: Convolution<T>,
    /// filters * 36 -> hidden.
    pub fc1: Linear<T>,
    /// hidden -> hidden.
    pub fc2: Linear<T>,
    /// hidden -> 64 squares.
    pub fc3: Linear<T>,
}

impl<T: Real> Network<T> {
    /// Reads a weights file from disk.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, WeightsError> {
        Self::from_safetensors(&read(path)?)
    }

    /// Reads the bytes of a weights file. Tensors may be F32, F16 or BF16.
    pub fn from_safetensors(bytes: &[u8]) -> Result<Self, WeightsError> {
        let (spec, file) = open(bytes)?;
        let file = File(&file);
        let layers = match &spec.architecture {
            Architecture::Residual(sizes) => Layers::Residual(file.residual(sizes)?),
            Architecture::SquarePair(_) => Layers::SquarePair(SquarePairLayers {
                from: file.squares("origin")?,
                to: file.squares("target")?,
            }),
        };
        Ok(Self { spec, layers })
    }
}

/// The bytes of a weights file on disk. What is no regular file is refused: a device may never end.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>, WeightsError> {
    let path = path.as_ref();
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(WeightsError::Read(io::Error::other(
            "it is no regular file; give a .safetensors file",
        ))),
        _ => std::fs::read(path).map_err(WeightsError::Read),
    }
}

/// What a weights file holds, without its numbers.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The architecture.
    pub spec: Spec,
    /// How many stored values there are of each type (`"F16"`), by name.
    pub values: BTreeMap<String, usize>,
}

impl Contents {
    /// Reads the header of a weights file and checks it as [`Network::from_safetensors`] would.
    pub fn from_safetensors(bytes: &[u8]) -> Result<Self, WeightsError> {
        let (spec, file) = open(bytes)?;
        let mut values = BTreeMap::new();
        for (_, view) in file.iter() {
            *values.entry(view.dtype().to_string()).or_default() +=
                view.shape().iter().product::<usize>();
        }
        Ok(Self { spec, values })
    }
}

/// Parses the header and checks that the tensors are those of the architecture, so that nothing is
/// allocated by the metadata's word alone.
fn open(bytes: &[u8]) -> Result<(Spec, SafeTensors<'_>), WeightsError> {
    if bytes.starts_with(b"PK") {
        let text = "a zip archive, such as PyTorch's checkpoints are";
        return Err(WeightsError::Format(text.to_owned()));
    }
    if let Some(length) = bytes.first_chunk().map(|&length| u64::from_le_bytes(length))
        && length > bytes.len() as u64 / LARGEST_HEADER
    {
        let text = format!("a header of {length} bytes in a file of {} bytes", bytes.len());
        return Err(WeightsError::Format(text));
    }
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(WeightsError::format)?;
    let metadata = header.metadata().clone().unwrap_or_default();
    drop(header);
    let file = SafeTensors::deserialize(bytes).map_err(WeightsError::format)?;
    let spec = Spec::from_metadata(&metadata.into_iter().collect()).map_err(WeightsError::Spec)?;

    let mut known = 0;
    for (name, shape, kind) in spec.stored() {
        let Ok(view) = file.tensor(&name) else {
            return Err(WeightsError::Missing { name, shape });
        };
        if view.shape() != shape {
            let found = view.shape().to_vec();
            return Err(WeightsError::Shape { name, found, expected: shape });
        }
        let expected = match (kind, view.dtype()) {
            (Numbers::Float, Dtype::F32 | Dtype::F16 | Dtype::BF16)
            | (Numbers::Int8, Dtype::I8) => None,
            (Numbers::Float, _) => Some("F32, F16 or BF16"),
            (Numbers::Int8, _) => Some("I8"),
        };
        if let Some(expected) = expected {
            let found = view.dtype().to_string();
            return Err(WeightsError::Type { name, found, expected });
        }
        known += 1;
    }
    if file.len() > known {
        let expected: Vec<_> = spec.tensors().map(|(name, _)| name).collect();
        if let Some(name) =
            file.names().into_iter().find(|name| !expected.iter().any(|e| e == name))
        {
            return Err(WeightsError::Unknown(name.to_string()));
        }
    }
    Ok((spec, file))
}
