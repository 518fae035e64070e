//! Unfinished files: their names beside the finished one, and how they become it.

use crate::failure::Failure;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where `output` is while it is written: `OUTPUT.part`.
pub fn part(output: &Path) -> PathBuf {
    beside(output, ".part")
}

/// Where the progress of the work on `output` is: `OUTPUT.state`.
pub fn state(output: &Path) -> PathBuf {
    beside(output, ".state")
}

/// Refuses to write over a file.
///
/// # Errors
/// When there is one.
pub fn require_new(output: &Path) -> Result<(), Failure> {
    if fs::symlink_metadata(output).is_err() {
        return Ok(());
    }
    Err(Failure(format!(
        "{} exists already, expected a new name; remove it or name another file",
        output.display()
    )))
}

/// Makes `OUTPUT.part` into `output`, after all of it has reached the disk.
///
/// # Errors
/// When the system does not let it.
pub fn finish(part_file: &File, output: &Path) -> Result<(), Failure> {
    part_file
        .sync_all()
        .and_then(|()| fs::rename(part(output), output))
        .map_err(|error| Failure::file("finish", output, &error))
}

/// Writes `value` as JSON; the file is replaced as a whole.
///
/// # Errors
/// When the system does not let it.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let new = beside(path, ".new");
    let write = || {
        let mut json = serde_json::to_vec_pretty(value)?;
        json.push(b'\n');
        let mut file = File::create(&new)?;
        file.write_all(&json)?;
        file.sync_data()?;
        fs::rename(&new, path)
    };
    write().map_err(|error| Failure::file("write", path, &error))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
