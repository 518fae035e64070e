//! Turns a network checkpoint into a Fianchetto weights file, executing nothing in it.
//!
//! The way of a checkpoint, one file per step:
//!
//! - [`checkpoint`]: the file's bytes as named tensors and a configuration. A `torch.save` file is
//!   [`torch`]'s (the zip archive) and [`pickle`]'s (its table of contents, whose functions are
//!   listed in [`globals`]); every tensor is a [`tensor`] view into the file.
//! - [`rename`]: the names that the user maps.
//! - [`config`]: what the checkpoint says of itself, held against the shapes.
//! - [`recognise`](mod@recognise): which tensor is which part of the network, and so the
//!   [`Spec`], against the parts listed in [`slots`].
//! - [`write`](mod@write): the weights file's bytes, held against what the engine takes.
//! - [`quantize`](mod@quantize): the same network in bytes, where that is asked for.
//! - [`output`]: the file.
//! - [`verify`]: the written file against the checkpoint, on positions.
#![deny(missing_docs)]

pub mod checkpoint;
pub mod config;
pub mod globals;
pub mod output;
pub mod pickle;
pub mod quantize;
pub mod recognise;
pub mod rename;
pub mod slots;
pub mod tensor;
pub mod torch;
pub mod verify;
pub mod write;

use checkpoint::Checkpoint;
use fianchetto::network::Spec;
use output::Output;
use recognise::{Network, recognise};
use rename::Rename;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{fmt, fs};
use write::{Float, Weights};

/// Why a conversion failed, in one line for the user: what was found, what was expected, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// A result whose error is a [`Failure`].
pub type Result<T> = std::result::Result<T, Failure>;

fn fail<T>(text: impl Into<String>) -> Result<T> {
    Err(Failure(text.into()))
}

/// A name out of a file as it may be shown: no control characters, not endless.
fn shown(name: &str) -> String {
    const LONGEST: usize = 120;
    let mut text: String = name.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if name.chars().nth(LONGEST).is_some() {
        text.push_str("...");
    }
    text
}

/// Turns a PyTorch checkpoint (or a safetensors file) into a Fianchetto weights file.
///
/// Nothing in the checkpoint is executed. Tensors with familiar names go to their place; others
/// are placed by shape and role where only one place fits, and each such placement is printed.
#[derive(Clone, Debug, clap::Parser)]
#[command(version, name = "fianchetto-convert")]
pub struct Options {
    /// The checkpoint: a .pt file of torch.save, or a .safetensors file
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The weights file to write
    #[arg(value_name = "OUT.safetensors")]
    pub output: PathBuf,
    /// How tensors of two or more dimensions are stored
    #[arg(long, value_enum, default_value = "f32")]
    pub dtype: Float,
    /// Gives a tensor, or all under a dotted prefix, another name; `*` stands for one component
    #[arg(long, value_name = "FROM=TO")]
    pub rename: Vec<Rename>,
    /// How many times the tower is applied, where the checkpoint does not say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub recurrence: Option<u32>,
    /// Store the tower as bytes, calibrated on the positions of this file: one a line, as
    /// `fianchetto predict -` reads them, some thousands
    #[arg(long, value_name = "CALIBRATION", conflicts_with = "verify")]
    pub quantize: Option<PathBuf>,
    /// Store the rows of the policy layer as bytes too: half of the file, but more moves change than by the tower
    #[arg(long, requires = "quantize")]
    pub quantize_policy: bool,
    /// Where the weights come from, in words, for the file
    #[arg(long, value_name = "TEXT")]
    pub source: Option<String>,
    /// The licence of the weights, for the file
    #[arg(long, value_name = "TEXT")]
    pub licence: Option<String>,
    /// Read the written file again and compare its forward passes on 100 positions with those of
    /// the checkpoint as it was understood here; PyTorch is not asked
    #[arg(long)]
    pub verify: bool,
}

/// Converts as `options` say, and tells `out` what was done.
///
/// # Errors
/// When the input is not a network that can be placed whole, or a file cannot be read or written.
/// The output file is then as it was before.
pub fn convert(options: &Options, out: &mut dyn Write) -> Result<()> {
    let input = options.input.display();
    let within = |failure: Failure| Failure(format!("{input}: {failure}"));
    let bytes = read_file(&options.input)
        .map_err(|e| Failure(format!("{input}: {e}; give a readable .pt or .safetensors file")))?;
    let output = Output::at(&options.output, &options.input)?;
    let mut checkpoint = Checkpoint::read(&bytes).map_err(within)?;
    let network = plan(options, &mut checkpoint).map_err(within)?;
    say(out, &network.notes)?;
    let weights = Weights::new(&network, &checkpoint.tensors)?;
    weights.check_size(bytes.len()).map_err(within)?;
    let (file, changes) = weights.encode(options.dtype).map_err(within)?;
    weights.check(&file).map_err(within)?;
    if let Some(calibration) = &options.quantize {
        let (file, lines) = quantize::quantize(&file, calibration, options.quantize_policy)?;
        output.write(&file)?;
        say(out, &lines)?;
        say(out, &[format!("wrote {}: {} bytes, int8", options.output.display(), file.len())])?;
        return Ok(());
    }
    output.write(&file)?;
    say(out, &changes.lines())?;
    say(out, &weights.summary(&options.output, options.dtype, file.len()))?;
    if options.verify {
        say(out, &verify::verify(&weights, &options.output, options.dtype)?)?;
    }
    Ok(())
}

/// What is no regular file is refused: a device may never end.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("no regular file"));
    }
    fs::read(path)
}

/// Finds the whole network in a checkpoint, renaming its tensors as `options` say.
///
/// # Errors
/// When something cannot be placed, is missing, or contradicts something else.
pub fn plan(options: &Options, checkpoint: &mut Checkpoint) -> Result<Network> {
    checkpoint.rename(&options.rename)?;
    let mut network = recognise(&checkpoint.tensors)?;
    let mut notes = checkpoint.notes.clone();
    notes.append(&mut network.notes);
    let asked = options.recurrence.map(|n| n as usize);
    checkpoint.config.check(&mut network.spec, asked, &mut notes)?;
    let source = options.source.clone().or(checkpoint.source.clone());
    let licence = options.licence.clone().or(checkpoint.licence.clone());
    let spec = Spec {
        source: source.unwrap_or_else(|| format!("converted from {}", file_name(&options.input))),
        licence: licence.unwrap_or_else(|| "not stated".to_owned()),
        ..network.spec
    };
    // Reading it back holds it against the limits of the format.
    let spec = Spec::from_metadata(&spec.to_metadata()).map_err(|e| Failure(e.to_string()))?;
    Ok(Network { spec, names: network.names, notes })
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn say(out: &mut dyn Write, lines: &[String]) -> Result<()> {
    for line in lines {
        writeln!(out, "{line}").map_err(|e| Failure(format!("cannot print: {e}")))?;
    }
    Ok(())
}
