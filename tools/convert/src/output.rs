//! Where the weights file goes: there it is whole or not at all, and it replaces nothing but a file.

use crate::{Failure, Result, fail};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A place that may be written to.
#[derive(Clone, Debug)]
pub struct Output {
    /// As the user calls it.
    path: PathBuf,
    /// The same with links followed, so that a link stays and what it leads to is replaced.
    target: PathBuf,
    /// What is written first and then renamed.
    part: PathBuf,
}

impl Output {
    /// Looks at what is at `path` already; writes nothing.
    ///
    /// # Errors
    /// When it is no regular file, may not be written, or is the file `input`.
    pub fn at(path: &Path, input: &Path) -> Result<Self> {
        let refused = |found: &str| fail(format!("{}: {found}; give another OUT", path.display()));
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(e) if e.kind() == ErrorKind::NotFound && !path.is_symlink() => path.to_owned(),
            Err(e) => return refused(&format!("it leads nowhere ({e})")),
        };
        if let Ok(found) = fs::metadata(&target) {
            if !found.is_file() {
                return refused(
                    "it is a folder, pipe or device, expected a new file or one to replace",
                );
            }
            if found.permissions().readonly() {
                return refused("it is read-only, expected a new file or one to replace");
            }
        }
        let mut part = target.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        if let Ok(input) = fs::canonicalize(input)
            && (input == target || Ok(input) == fs::canonicalize(&part).map_err(drop))
        {
            return refused("writing it would replace the file that is converted");
        }
        Ok(Self { path: path.to_owned(), target, part })
    }

    /// Writes `bytes` beside the place and renames the file when it is whole.
    ///
    /// # Errors
    /// When that fails; what was there is then as it was.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        let cannot = |e: io::Error| {
            Failure(format!(
                "cannot write {} (at first as {}): {e}; give an OUT that can be written, where there is room",
                self.path.display(),
                self.part.display()
            ))
        };
        // An interrupted run leaves it.
        if fs::symlink_metadata(&self.part).is_ok_and(|found| found.is_file()) {
            fs::remove_file(&self.part).map_err(cannot)?;
        }
        let file = File::create_new(&self.part).map_err(cannot)?;
        let written = fill(file, bytes).and_then(|()| fs::rename(&self.part, &self.target));
        if written.is_err() {
            // The first error is the one to tell.
            fs::remove_file(&self.part).ok();
        }
        written.map_err(cannot)
    }
}

fn fill(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}
