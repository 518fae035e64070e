//! What can be wrong with a game file.

use crate::failure::advice;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Why a game file cannot be read or written.
#[derive(Debug)]
pub enum GameFileError {
    /// The file system said no.
    Io(io::Error),
    /// Not a file that can be read at any place, but this.
    NotAFile(&'static str),
    /// The file begins otherwise than every game file does.
    NotAGameFile,
    /// Written by a version of the format that this program does not know.
    Version(u32),
    /// The file ends before it should, or something in it is not what was written.
    Damaged(String),
    /// There is no game (or block) of that number.
    NoSuch {
        /// "game" or "block".
        what: &'static str,
        /// The number asked for, from 0.
        number: u64,
        /// How many there are.
        count: u64,
    },
    /// A game that the format cannot hold.
    Unwritable(String),
    /// `-` was given for a game file.
    StandardInput,
    /// One of the above, in this file.
    In(PathBuf, Box<GameFileError>),
}

impl GameFileError {
    /// The error, with the file's name before it.
    pub fn of(self, path: &Path) -> Self {
        match self {
            Self::In(..) => self,
            error => Self::In(path.to_owned(), Box::new(error)),
        }
    }
}

impl fmt::Display for GameFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}; {}", advice(error)),
            Self::NotAFile(found) => write!(
                f,
                "expected a game file, but it is {found}; name a file, written to disk by `pack`"
            ),
            Self::NotAGameFile => write!(
                f,
                "not a game file: expected it to begin with \"FIANGAME\"; make one with `pack`"
            ),
            Self::Version(found) => write!(
                f,
                "game file of version {found}, expected version {}; pack the games again",
                super::VERSION
            ),
            Self::Damaged(what) => {
                write!(f, "damaged game file: {what}; copy the file anew or pack the games again")
            }
            Self::NoSuch { what, number, count } => {
                write!(f, "no {what} {number}: expected a number below {count}")
            }
            Self::StandardInput => write!(
                f,
                "a game file is read here and there, so it cannot come through standard input; write it \
                 to a file and name that"
            ),
            Self::Unwritable(what) => write!(f, "{what}"),
            Self::In(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for GameFileError {}

impl From<io::Error> for GameFileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
