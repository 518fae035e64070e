//! Why a verb of the command line failed.

use crate::gamefile::GameFileError;
use crate::input::InputError;
use std::path::Path;
use std::{fmt, io};

/// Why a verb failed, in one line for the user: what was found, what was expected, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl Failure {
    /// What the system said when it was to do something (`create`, `read`, …) with a file.
    pub fn file(action: &str, path: &Path, error: &io::Error) -> Self {
        let path = path.display();
        Self(format!("{path}: cannot {action}: {error}; see that it can be, and try again"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<GameFileError> for Failure {
    fn from(error: GameFileError) -> Self {
        Self(error.to_string())
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self(error.to_string())
    }
}
