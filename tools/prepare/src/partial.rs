//! Unfinished files: their names beside the finished one, and how they become it.

use crate::failure::Failure;
use crate::lock;
use clap::builder::{PathBufValueParser, TypedValueParser};
use same_file::Handle;
use serde::Serialize;
use serde::de::DeserializeOwned;
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

/// Reads the name of an output on the command line; `advice` is for those who give `-`.
pub fn output(advice: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new()
        .try_map(move |path| if path == Path::new("-") { Err(advice) } else { Ok(path) })
}

/// Makes sure, before all the work, that a file can be written in the end.
///
/// # Errors
/// When the system does not let it.
pub fn require_writable(path: &Path) -> Result<(), Failure> {
    // Under a name that no other run has.
    let probe = beside(path, &format!(".{}.new", std::process::id()));
    File::create(&probe)
        .and_then(|_| fs::remove_file(&probe))
        .map_err(|error| Failure::file("create", path, &error))
}

/// The file that a name leads to, through links: a regular one, or none yet. What is written is renamed
/// to it, and a rename would replace a link or a device itself.
///
/// # Errors
/// When it is something else, or a standard stream of this process.
pub fn regular(path: &Path) -> Result<PathBuf, Failure> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(path.to_owned());
    }
    let refuse = |found: &str| Err(no_regular_file(path, found));
    match fs::metadata(path) {
        Err(_) => return refuse("a link to nothing"),
        Ok(found) if !found.is_file() => return refuse("no regular file"),
        Ok(_) => {}
    }
    // /dev/stdout leads to a regular file when the shell has redirected it.
    let streams = [Handle::stdin(), Handle::stdout(), Handle::stderr()];
    if Handle::from_path(path).is_ok_and(|file| streams.into_iter().flatten().any(|s| s == file)) {
        return refuse("a standard stream of this run");
    }
    path.canonicalize().map_err(|error| Failure::file("find", path, &error))
}

fn no_regular_file(path: &Path, found: &str) -> Failure {
    Failure(format!(
        "{} is {found}, expected a regular file or a new name; name another output",
        path.display()
    ))
}

/// Refuses to write over a file.
///
/// # Errors
/// When there is one, or something else.
pub fn require_new(output: &Path) -> Result<(), Failure> {
    if fs::symlink_metadata(output).is_err() {
        return Ok(());
    }
    regular(output)?;
    Err(Failure(format!(
        "{} exists already, expected a new name; remove it or name another file",
        output.display()
    )))
}

/// Refuses names by which a file that is `written` would destroy one that is `read`, or another that is
/// written, and those of what is no regular file: links are to be followed before, see [`regular`].
///
/// # Errors
/// When there are such names.
pub fn require_apart(written: &[PathBuf], read: &[PathBuf]) -> Result<(), Failure> {
    for (i, path) in written.iter().enumerate() {
        if read.iter().chain(&written[..i]).any(|other| place(other) == place(path)) {
            return Err(Failure(format!(
                "{} would be written over, but it is needed for something else; name another output",
                path.display()
            )));
        }
        if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(no_regular_file(path, "no regular file"));
        }
    }
    Ok(())
}

/// Where a name leads, through links; where it will be, if there is nothing yet.
fn place(path: &PathBuf) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| {
        let path = std::path::absolute(path).ok()?;
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        Some(folder.zip(path.file_name()).map_or(path.clone(), |(folder, name)| folder.join(name)))
    })
}

/// Opens `OUTPUT.part` for this process alone: empty, or as an unfinished run left it, with what that
/// run wrote to `OUTPUT.state` by [`write_json`].
///
/// # Errors
/// When another run has it, the output is there, one of both files is not of an unfinished run, or
/// the system does not let it. A file that was there stays as it is.
pub fn begin<T: DeserializeOwned>(output: &Path) -> Result<(File, Option<T>), Failure> {
    let path = part(output);
    let failed = |error: io::Error| Failure::file("create", &path, &error);
    let Some(file) = lock::take(&path).map_err(failed)? else {
        return Err(Failure(format!(
            "{}: another run is writing it at this moment; wait until it is done, or name another output",
            path.display()
        )));
    };
    let is_empty = file.metadata().map_err(failed)?.len() == 0;
    // Another run may have finished it just before.
    let state = require_new(output).and_then(|()| read_state(output));
    match state {
        // A state beside an empty file is left over from a finished run.
        Ok(_) if is_empty => Ok((file, None)),
        Ok(Some(state)) => Ok((file, Some(state))),
        Ok(None) => Err(Failure(format!(
            "{} is there, but not of an unfinished run, for there is no {}; remove it or name another output",
            path.display(),
            self::state(output).display()
        ))),
        Err(failure) => {
            if is_empty {
                // Nothing is lost if it stays.
                let _ = fs::remove_file(&path);
            }
            Err(failure)
        }
    }
}

/// What is in `OUTPUT.state`; `None` when there is no such file.
fn read_state<T: DeserializeOwned>(output: &Path) -> Result<Option<T>, Failure> {
    let path = state(output);
    let json = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        json => json.map_err(|error| Failure::file("read", &path, &error))?,
    };
    serde_json::from_slice(&json).map(Some).map_err(|error| {
        let (state, part) = (path.display(), part(output));
        let part = part.display();
        Failure(format!(
            "{state}: not the state of an unfinished run like this one: {error}; remove it and {part} \
             to begin anew"
        ))
    })
}

/// Removes `OUTPUT.part` and `OUTPUT.state`, for an output that will not be.
///
/// # Errors
/// When the system does not let it.
pub fn discard(output: &Path) -> Result<(), Failure> {
    for path in [part(output), state(output)] {
        fs::remove_file(&path).map_err(|error| Failure::file("remove", &path, &error))?;
    }
    Ok(())
}

/// Makes `OUTPUT.part` into `output`, after all of it has reached the disk, and removes
/// `OUTPUT.state`.
///
/// # Errors
/// When the system does not let it.
pub fn finish(part_file: &File, output: &Path) -> Result<(), Failure> {
    part_file
        .sync_all()
        .and_then(|()| fs::rename(part(output), output))
        .map_err(|error| Failure::file("finish", output, &error))?;
    // Should it stay behind, it means nothing without OUTPUT.part.
    let _ = fs::remove_file(state(output));
    Ok(())
}

/// Writes a file under another name, makes sure it is on the disk and gives it its name: it is there whole
/// or not at all.
///
/// # Errors
/// When the system does not let it.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let new = beside(path, ".new");
    let mut file = File::create(&new)?;
    let written =
        write(&mut file).and_then(|()| file.sync_data()).and_then(|()| fs::rename(&new, path));
    written.inspect_err(|_| {
        // Half of a file is of no use, and takes the room that was missing.
        let _ = fs::remove_file(&new);
    })
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
