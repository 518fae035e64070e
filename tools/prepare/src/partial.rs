//! Unfinished files: their names beside the finished one, and how they become it.

use crate::failure::Failure;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
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

/// Refuses names by which a file that is `written` would destroy one that is `read`, or another that is
/// written.
///
/// # Errors
/// When there are such names.
pub fn require_apart(written: &[PathBuf], read: &[PathBuf]) -> Result<(), Failure> {
    // What is not there yet has no canonical path.
    let place = |path: &PathBuf| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    for (i, path) in written.iter().enumerate() {
        if read.iter().chain(&written[..i]).any(|other| place(other) == place(path)) {
            return Err(Failure(format!(
                "{} would be written over, but it is needed for something else; name another output",
                path.display()
            )));
        }
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Failure(format!(
                "{} is no regular file, expected one or a new name; name another output",
                path.display()
            )));
        }
    }
    Ok(())
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

/// Writes a file under another name, makes sure it is on the disk and gives it its name: it is there whole
/// or not at all.
///
/// # Errors
/// When the system does not let it.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let new = beside(path, ".new");
    let mut file = File::create(&new)?;
    write(&mut file)?;
    file.sync_data()?;
    fs::rename(&new, path)
}

/// Writes `value` as JSON, as [`write_whole`] does.
///
/// # Errors
/// When the system does not let it.
pub fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let json = serde_json::to_string_pretty(value)?;
    write_whole(path, |file| writeln!(file, "{json}"))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
