//! What the program answers to mistakes, one a line in `data/mistakes.tsv`.
#![cfg(unix)]

mod common;

use common::folder;
use fianchetto_prepare::gamefile::Writer;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn run(arguments: &str, folder: &Path) -> Output {
    command(arguments, folder).output().unwrap()
}

fn command(arguments: &str, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fianchetto-prepare"));
    command.args(arguments.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    command
}

/// A folder with `games.pgn` and `games` packed from it, and with files that are no game files.
fn fixture(name: &str) -> PathBuf {
    let folder = folder(name);
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    write("games.pgn", include_bytes!("data/games.pgn"));
    write("empty", &Writer::new(Vec::new()).unwrap().finish().unwrap());
    assert!(run("pack games.pgn --out games", &folder).status.success());
    let games = fs::read(folder.join("games")).unwrap();
    write("cut", &games[..games.len() / 2]);
    write("longer", &[&games[..], b"\n"].concat());
    write("copy", &games);
    write("twice", &games.repeat(2));
    fs::create_dir(folder.join("folder")).unwrap();
    fs::create_dir(folder.join("other")).unwrap();
    write("other/manifest.json", b"what");
    fs::create_dir(folder.join("shards")).unwrap();
    write("shards/shard-00000.npy", b"");
    fs::create_dir(folder.join("piped")).unwrap();
    symlink("../pipe", folder.join("piped/manifest.json")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    folder
}

/// Names of the files in a folder, with their lengths.
fn files(folder: &Path) -> Vec<(String, u64)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())
        })
        .collect();
    files.sort();
    files
}

/// Whether the parts of `pattern`, separated by `…`, make up `text` with anything in between.
fn fits(text: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('…') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('…').collect();
    let end = parts.pop().unwrap();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

#[test]
fn mistakes_are_answered_in_a_line() {
    let folder = fixture("mistakes");
    let before = files(&folder);
    for line in include_str!("data/mistakes.tsv").lines().filter(|line| !line.starts_with('#')) {
        let case: Vec<&str> = line.split('\t').collect();
        let [arguments, status, expected] = case[..] else { panic!("not three columns: {case:?}") };
        let Output { status: found, stdout, stderr } = run(arguments, &folder);
        let told = String::from_utf8(stderr).unwrap();
        let told = told.strip_suffix('\n').unwrap();
        assert!(fits(told, &format!("error: {expected}")), "{line}\n{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert_eq!(found.code(), Some(status.parse().unwrap()), "{line}");
        assert!(stdout.is_empty(), "{line}");
        assert_eq!(files(&folder), before, "{line}");
    }
}

#[test]
fn called_without_arguments_it_helps() {
    let Output { status, stdout, stderr } = run("", Path::new("."));
    let help = run("--help", Path::new("."));
    assert_eq!(status.code(), Some(2));
    assert!(stdout.is_empty());
    assert!(help.status.success() && help.stderr.is_empty());
    let [told, help] = [stderr, help.stdout].map(|text| String::from_utf8(text).unwrap());
    assert!(told.lines().count() > 5 && told == help, "{told}");
}

/// A report that cannot be told is no reason to lose the work.
#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_told() {
    let folder = fixture("mistakes_full");
    for (arguments, expected) in [
        ("inspect games", "cannot write the report to standard output: …; expected more room: …"),
        (
            "pack games.pgn --out new",
            "cannot write the report to standard output: …; but new is finished, and nothing needs doing",
        ),
        (
            "join joined games empty",
            "cannot write the report to standard output: …; but joined is finished, and nothing needs doing",
        ),
        (
            "expand games --encoding canonical12 --stream",
            "cannot write to standard output: …; expected more room: …",
        ),
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let Output { status, stderr, .. } =
            command(arguments, &folder).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let told = String::from_utf8(stderr).unwrap();
        assert!(fits(told.trim_end(), &format!("error: {expected}")), "{told}");
        assert_eq!((status.code(), told.lines().count()), (Some(1), 1), "{told}");
    }
    for name in ["new", "joined"] {
        assert!(run(&format!("inspect {name}"), &folder).status.success());
    }
}

#[test]
fn who_closes_the_pipe_has_heard_enough() {
    let folder = fixture("mistakes_closed");
    let unheard = |name| {
        format!("cannot write the report…; but {name} is finished, and nothing needs doing\n")
    };
    for (arguments, expected) in [
        ("inspect games", String::new()),
        ("pack games.pgn --out new", unheard("new")),
        ("join joined games empty", unheard("joined")),
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let Output { status, stderr, .. } =
            command(arguments, &folder).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let told = String::from_utf8(stderr).unwrap();
        assert!(fits(&told, &expected) && status.success(), "{told}");
    }
    for name in ["new", "joined"] {
        assert!(run(&format!("inspect {name}"), &folder).status.success());
    }
    // What went wrong beside it is told all the same.
    let (_, writer) = io::pipe().unwrap();
    let arguments = "pack games.pgn --out none --min-rating 4000";
    let Output { status, stderr, .. } =
        command(arguments, &folder).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    let told = String::from_utf8(stderr).unwrap();
    assert!(fits(&told, "error: games.pgn: 300 games read, none kept: …\n"), "{told}");
    assert_eq!(status.code(), Some(1));
}
