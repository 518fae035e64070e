//! Writes the weights file, in the [safetensors](https://github.com/huggingface/safetensors) format.
//!
//! The header is written here and not by the safetensors crate, whose hash maps would give the
//! metadata another order, and so the file other bytes, in every run.

use crate::recognise::Network;
use crate::tensor::Tensor;
use crate::{Failure, Result, fail, shown};
use fianchetto::network::Spec;
use half::f16;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
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
        const MOST: usize = 4; // twice for F16 to F32, and twice more for tensors that share storage
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

    /// Writes the file at `path`, whole or not at all.
    ///
    /// # Errors
    /// When a value cannot be stored in `dtype` or the file cannot be written.
    pub fn write_file(&self, path: &Path, dtype: Float) -> Result<Changes> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(format!(".{}.part", std::process::id()));
        let temporary = Path::new(&temporary);
        let cannot = |e: io::Error| {
            Failure(format!(
                "cannot write {}: {e}; choose a place that can be written",
                path.display()
            ))
        };
        let written = File::create_new(temporary).map_err(cannot).and_then(|file| {
            let mut file = BufWriter::new(file);
            let changes = self.write(&mut file, dtype)?;
            let file = file.into_inner().map_err(|e| cannot(e.into_error()))?;
            file.sync_all().map_err(cannot)?;
            fs::rename(temporary, path).map_err(cannot)?;
            Ok(changes)
        });
        if written.is_err() {
            // The file may not be there; the first error is the one to tell.
            fs::remove_file(temporary).ok();
        }
        written
    }

    /// Writes the bytes of the file to `out`; the same weights give the same bytes.
    ///
    /// # Errors
    /// When a value cannot be stored in `dtype` or `out` cannot take it.
    pub fn write(&self, out: &mut impl Write, dtype: Float) -> Result<Changes> {
        let cannot = |e: io::Error| Failure(format!("cannot write the weights: {e}"));
        // F32 first, so that every tensor starts at a multiple of its element.
        let stored = |part: &Part| dtype.of(&part.shape);
        let mut parts: Vec<&Part> = self.parts.iter().collect();
        parts.sort_by_key(|part| stored(part) != Float::F32);

        let metadata: BTreeMap<String, String> = self.spec.to_metadata().into_iter().collect();
        let mut header: BTreeMap<&str, Value> = BTreeMap::from([("__metadata__", json!(metadata))]);
        let mut offset = 0;
        for part in &parts {
            let end = offset + part.shape.iter().product::<usize>() * stored(part).size();
            header.insert(
                &part.name,
                json!({ "data_offsets": [offset, end], "dtype": stored(part).name(), "shape": part.shape }),
            );
            offset = end;
        }
        let mut header = json!(header).to_string();
        header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
        out.write_all(&(header.len() as u64).to_le_bytes()).map_err(cannot)?;
        out.write_all(header.as_bytes()).map_err(cannot)?;

        let mut changes = Changes::default();
        for part in parts {
            let source = shown(part.source);
            let values =
                part.tensor.values().map_err(|e| Failure(format!("tensor {source}: {e}")))?;
            for value in values {
                match stored(part) {
                    Float::F32 => out.write_all(&value.to_le_bytes()),
                    Float::F16 => {
                        let rounded = f16::from_f32(value);
                        if rounded.is_infinite() {
                            return fail(format!(
                                "tensor {source} holds {value}, which is beyond f16 (at most 65504): use --dtype f32"
                            ));
                        }
                        changes.note(part, value, rounded.to_f32());
                        out.write_all(&rounded.to_le_bytes())
                    }
                }
                .map_err(cannot)?;
            }
        }
        Ok(changes)
    }

    /// What was written, for people.
    pub fn summary(&self, path: &Path, dtype: Float) -> Vec<String> {
        let Spec { channels, blocks, recurrence, gate, se_width, .. } = self.spec;
        let se = se_width.map_or_else(|| "no SE".to_owned(), |width| format!("SE width {width}"));
        let size = fs::metadata(path).map_or(0, |metadata| metadata.len());
        vec![
            format!(
                "architecture: {}, {channels} channels, {blocks} blocks, tower applied {recurrence}x, {}, {se}, \
                 policy head {}, value head {} -> {}",
                self.spec.encoding.name(),
                if *gate { "gate" } else { "no gate" },
                self.spec.policy_channels,
                self.spec.value_channels,
                self.spec.value_hidden,
            ),
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
