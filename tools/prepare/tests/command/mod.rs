//! The real binary, as it is called.

use super::common::folder;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub fn prepare(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fianchetto-prepare"));
    command.args(arguments).current_dir(folder).stderr(Stdio::piped()).stdout(Stdio::piped());
    command
}

pub fn run(arguments: &[&str], folder: &Path) -> Output {
    prepare(arguments, folder).output().unwrap()
}

pub fn succeed(arguments: &[&str], folder: &Path) -> String {
    let Output { status, stdout, stderr } = run(arguments, folder);
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

pub fn complain(arguments: &[&str], folder: &Path, code: i32) -> String {
    let Output { status, stderr, .. } = run(arguments, folder);
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

/// What is in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The 300 games of the fixture, and 20 copies of them: more than five blocks.
pub fn fixture(name: &str) -> (PathBuf, Vec<u8>) {
    let folder = folder(name);
    let text = include_bytes!("../data/games.pgn");
    fs::write(folder.join("few.pgn"), text).unwrap();
    let many = text.repeat(20);
    fs::write(folder.join("many.pgn"), &many).unwrap();
    (folder, many)
}
