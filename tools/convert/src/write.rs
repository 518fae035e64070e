//! The bytes of the weights file, in the [safetensors](https://github.com/huggingface/safetensors) format.
//!
//! The header is written here and not by the safetensors crate, whose hash maps would give the
//! metadata another order, and so the file other bytes, in every run.

use crate::recognise::Network;
use crate::tensor::Tensor;
use crate::{Failure, Result, fail, shown};
use fianchetto::network::{Architecture, Network as Engine, Spec, WeightsError};
use half::f16;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// How tensors of two or more dimensions are stored. Biases and BatchNorm, which are small and
/// sensitive, are always F32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Float {
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 half precision, rounded to nearest, ties to even.
    F16,
}

impl Float {
    fn of(self, shape: &[usize]) -> Self {
        if shape.len() >= 2 { self } else { Self::F32 }
    }

    fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
        }
    }

    fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
        }
    }
}

/// The tensors of a weights file and where their values come from.
pub struct Weights<'t> {
    /// The architecture.
    pub spec: &'t Spec,
    parts: Vec<Part<'t>>,
}

struct Part<'t> {
    name: String,
    shape: Vec<usize>,
    source: &'t str,
    tensor: &'t Tensor<'t>,
}

impl<'t> Weights<'t> {
    /// Joins the architecture of `network` with the tensors that it found.
    ///
    /// # Errors
    /// When a part of it has no tensor of its size.
    pub fn new(network: &'t Network, tensors: &'t BTreeMap<String, Tensor<'t>>) -> Result<Self> {
        let spec = &network.spec;
        let part = |(name, shape): (String, Vec<usize>)| {
            let source = network.names.get(&name)?;
            let tensor = tensors.get(source)?;
            let same = tensor.shape().iter().product::<usize>() == shape.iter().product::<usize>();
            same.then_some(Part { name, shape, source, tensor })
        };
        let count = spec.tensors().count();
        let parts: Vec<Part> = spec.tensors().filter_map(part).collect();
        if parts.len() != count {
            return fail(format!(
                "{} of {count} parts found: this is a fault of fianchetto-convert; please report it",
                parts.len()
            ));
        }
        Ok(Self { spec, parts })
    }

    /// Refuses tensors much larger than the file of `input` bytes that they come from.
    ///
    /// # Errors
    /// When repeated elements (stride 0) or shared storages would make the output many times the input.
    pub fn check_size(&self, input: usize) -> Result<()> {
        // Twice for F16 to F32, and half as much again for tensors that share storage.
        const MOST: usize = 3;
        let bytes =
            self.parts.iter().map(|part| part.shape.iter().product::<usize>().saturating_mul(4));
        let total = bytes.fold(0, usize::saturating_add);
        if total / MOST > input {
            return fail(format!(
                "its tensors would take {total} bytes, but the file has {input}: tensors that repeat elements are not taken; \
                 save them with .clone()"
            ));
        }
        Ok(())
    }

    /// The bytes of the file, and what rounding changed; the same weights give the same bytes.
    ///
    /// # Errors
    /// When a value cannot be stored in `dtype`.
    pub fn encode(&self, dtype: Float) -> Result<(Vec<u8>, Changes)> {
        // F32 first, so that every tensor starts at a multiple of its element.
        let stored = |part: &Part| dtype.of(&part.shape);
        let mut parts: Vec<&Part> = self.parts.iter().collect();
        parts.sort_by_key(|part| stored(part) != Float::F32);

        let entries = parts.iter().map(|part| {
            let stored = stored(part);
            (part.name.as_str(), stored.name(), &part.shape[..], stored.size())
        });
        let mut out = header(self.spec, entries);

        let mut changes = Changes::default();
        for part in parts {
            let source = shown(part.source);
            let values =
                part.tensor.values().map_err(|e| Failure(format!("tensor {source}: {e}")))?;
            for value in values {
                match stored(part) {
                    Float::F32 => out.extend(value.to_le_bytes()),
                    Float::F16 => {
                        let rounded = f16::from_f32(value);
                        if rounded.is_infinite() {
                            return fail(format!(
                                "tensor {source} holds {value}, which is beyond f16 (at most 65504): use --dtype f32"
                            ));
                        }
                        changes.note(part, value, rounded.to_f32());
                        out.extend(rounded.to_le_bytes());
                    }
                }
            }
        }
        Ok((out, changes))
    }

    /// Loads the bytes of the file as the engine will.
    ///
    /// # Errors
    /// When the engine refuses them, by the checkpoint's name for the tensor.
    pub fn check(&self, bytes: &[u8]) -> Result<()> {
        match Engine::<f32>::from_safetensors(bytes) {
            Ok(_) => Ok(()),
            Err(WeightsError::Number { name, found, expected }) => {
                let part = self.parts.iter().find(|part| part.name == name);
                fail(format!(
                    "tensor {} gives {found:?}, expected {expected}: no position can be evaluated with it; take another checkpoint",
                    shown(part.map_or(&name, |part| part.source))
                ))
            }
            Err(error) => fail(error.to_string()),
        }
    }

    /// What was written, for people.
    pub fn summary(&self, path: &Path, dtype: Float, size: usize) -> Vec<String> {
        let sizes = match &self.spec.architecture {
            Architecture::Residual(sizes) => format!(
                "{} channels, {} blocks, tower applied {}x, {}, {}{}, policy head {}, value head {} -> {}",
                sizes.channels,
                sizes.blocks,
                sizes.recurrence,
                if sizes.gate { "gate" } else { "no gate" },
                sizes
                    .se_width
                    .map_or_else(|| "no SE".to_owned(), |width| format!("SE width {width}")),
                if sizes.conv_bias { ", biases before BatchNorm" } else { "" },
                sizes.policy_channels,
                sizes.value_channels,
                sizes.value_hidden,
            ),
            Architecture::SquarePair(sizes) => {
                format!(
                    "a pair that scores squares, {} filters, hidden {}",
                    sizes.filters, sizes.hidden
                )
            }
        };
        vec![
            format!("architecture: {}, {sizes}", self.spec.encoding.name()),
            format!(
                "wrote {}: {} parameters, {size} bytes, {}",
                path.display(),
                self.spec.parameters(),
                match dtype {
                    Float::F32 => "F32",
                    Float::F16 => "F16 (1-D tensors F32)",
                }
            ),
        ]
    }
}

/// The beginning of a weights file, up to the numbers of its tensors, which are given by name, type, shape and the size of
/// a number, in their order.
pub fn header<'t>(
    spec: &Spec,
    tensors: impl Iterator<Item = (&'t str, &'t str, &'t [usize], usize)>,
) -> Vec<u8> {
    let metadata: BTreeMap<String, String> = spec.to_metadata().into_iter().collect();
    let mut header: BTreeMap<&str, Value> = BTreeMap::from([("__metadata__", json!(metadata))]);
    let mut offset = 0;
    for (name, dtype, shape, size) in tensors {
        let end = offset + shape.iter().product::<usize>() * size;
        header
            .insert(name, json!({ "data_offsets": [offset, end], "dtype": dtype, "shape": shape }));
        offset = end;
    }
    let mut header = json!(header).to_string();
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    let mut out = Vec::with_capacity(8 + header.len() + offset);
    out.extend((header.len() as u64).to_le_bytes());
    out.extend(header.as_bytes());
    out
}

/// What rounding to a smaller type changed most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// By difference.
    pub absolute: Option<Change>,
    /// By difference in proportion to the value.
    pub relative: Option<Change>,
}

/// A value that rounding changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The difference, or the difference divided by the value.
    pub amount: f64,
    /// The tensor that it is in.
    pub tensor: String,
    /// The value before.
    pub from: f32,
    /// The value after.
    pub to: f32,
}

impl Changes {
    fn note(&mut self, part: &Part, from: f32, to: f32) {
        let difference = (f64::from(from) - f64::from(to)).abs();
        let relative = if from == 0.0 { 0.0 } else { difference / f64::from(from).abs() };
        for (largest, amount) in [(&mut self.absolute, difference), (&mut self.relative, relative)]
        {
            if largest.as_ref().is_none_or(|change| amount > change.amount) {
                *largest = Some(Change { amount, tensor: part.name.clone(), from, to });
            }
        }
    }

    /// For people; nothing where nothing was rounded.
    pub fn lines(&self) -> Vec<String> {
        let line = |kind: &str, change: &Option<Change>| {
            let Change { amount, tensor, from, to } = change.as_ref()?;
            Some(format!(
                "largest {kind} change by rounding: {amount:.3e} in {tensor} ({from:e} -> {to:e})"
            ))
        };
        [line("absolute", &self.absolute), line("relative", &self.relative)]
            .into_iter()
            .flatten()
            .collect()
    }
}
