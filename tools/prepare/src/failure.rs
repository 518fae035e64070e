//! Why a verb of the command line failed.

use crate::gamefile::GameFileError;
use crate::input::InputError;
use std::path::Path;
use std::{fmt, io, io::ErrorKind};

/// Why a verb failed, in one line for the user: what was found, what was expected, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl Failure {
    /// What the system said when it was to do something (`create`, `read`, …) with a file.
    pub fn file(action: &str, path: &Path, error: &io::Error) -> Self {
        let path = path.display();
        Self(format!("{path}: cannot {action}: {error}; {}", advice(error)))
    }

    /// What came of writing a report to standard output. Whoever closed the pipe has heard enough.
    ///
    /// # Errors
    /// When the system did not let it.
    pub fn heard(told: io::Result<()>) -> Result<(), Self> {
        match told {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                let advice = advice(&error);
                Err(Self(format!("cannot write the report to standard output: {error}; {advice}")))
            }
            _ => Ok(()),
        }
    }

    /// The same for the report on an output that is finished: to try again would be refused, and of no use.
    ///
    /// # Errors
    /// See [`Failure::heard`].
    pub fn heard_of(told: io::Result<()>, output: &Path) -> Result<(), Self> {
        let Err(error) = told else { return Ok(()) };
        let output = output.display();
        let untold = format!(
            "cannot write the report to standard output: {error}; but {output} is finished, and nothing \
             needs doing"
        );
        if error.kind() != ErrorKind::BrokenPipe {
            return Err(Self(untold));
        }
        eprintln!("{untold}");
        Ok(())
    }
}

/// What was expected where the system reported an error, and what to do.
pub fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "expected an existing file or folder: check the name",
        ErrorKind::PermissionDenied => {
            "expected permission: change the rights, or name another place"
        }
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "expected a folder, or a name not taken: name another"
        }
        ErrorKind::IsADirectory => "expected a file: name one",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "expected more room: free some, or name a place on another disk"
        }
        ErrorKind::ReadOnlyFilesystem => {
            "expected a disk that can be written to: name another place"
        }
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
            "expected what this program wrote, unchanged: remove it, or name another"
        }
        _ => "expected the system to do so: see to what it reports, and try again",
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
