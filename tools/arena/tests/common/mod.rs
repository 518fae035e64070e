//! The real program, as it is called, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An empty folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub fn arena(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fianchetto-arena"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.stderr(Stdio::piped()).stdout(Stdio::piped());
    command
}

pub fn succeed(arguments: &[&str], folder: &Path) -> String {
    let Output { status, stdout, stderr } = arena(arguments, folder).output().unwrap();
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}
