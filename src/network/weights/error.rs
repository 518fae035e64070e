//! What can be wrong with a weights file, in words.

use crate::chess::quoted;
use crate::network::spec::SpecError;
use safetensors::tensor::SafeTensorError;
use std::fmt;
use std::io;

/// Why a weights file cannot be used.
#[derive(Debug)]
pub enum WeightsError {
    /// The file cannot be read.
    Read(io::Error),
    /// The bytes are not a safetensors file.
    Format(String),
    /// The metadata does not describe a network.
    Spec(SpecError),
    /// A tensor that the architecture needs is not there.
    Missing {
        /// Its name.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A tensor is there that the architecture does not have.
    Unknown(String),
    /// A tensor has another shape than the architecture gives it.
    Shape {
        /// Its name.
        name: String,
        /// What the file holds.
        found: Vec<usize>,
        /// What the architecture needs.
        expected: Vec<usize>,
    },
    /// A tensor has a type that cannot be read.
    Type {
        /// Its name.
        name: String,
        /// Its type.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A tensor holds a number that cannot be computed with.
    Number {
        /// Its name.
        name: String,
        /// The number.
        found: f64,
        /// What it should be.
        expected: &'static str,
    },
}

impl WeightsError {
    /// On one line and of bounded length: the library quotes the file.
    pub(super) fn format(error: SafeTensorError) -> Self {
        let shown = error.to_string().chars().take(120).collect::<String>();
        Self::Format(shown.replace(char::is_control, " "))
    }
}

impl fmt::Display for WeightsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(
                f,
                "cannot read the file ({error}), expected a weights file made by fianchetto-convert"
            ),
            Self::Format(error) => write!(
                f,
                "not a whole safetensors file and nothing else ({error}); make one with fianchetto-convert"
            ),
            Self::Spec(error) => error.fmt(f),
            Self::Missing { name, shape } => {
                write!(f, "tensor `{name}` {shape:?} is missing; {CONVERT}")
            }
            Self::Unknown(name) => write!(
                f,
                "tensor {} does not belong to the architecture in the metadata; {CONVERT}",
                quoted(name)
            ),
            Self::Shape { name, found, expected } => {
                write!(f, "tensor `{name}` is ")?;
                match found.len() {
                    0..=8 => write!(f, "{found:?}")?,
                    dimensions => write!(f, "of {dimensions} dimensions")?,
                }
                write!(f, ", expected {expected:?} by the metadata; {CONVERT}")
            }
            Self::Type { name, found, expected } => {
                write!(f, "tensor `{name}` holds {found}, expected {expected}; {CONVERT}")
            }
            Self::Number { name, found, expected } => {
                write!(f, "tensor `{name}` holds {found:?}, expected {expected}; {CONVERT}")
            }
        }
    }
}

/// What to do about a file whose tensors are wrong.
const CONVERT: &str = "convert the checkpoint again";

impl std::error::Error for WeightsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Spec(error) => Some(error),
            _ => None,
        }
    }
}
