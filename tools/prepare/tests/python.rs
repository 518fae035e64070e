//! Shards and streams as Python reads them, by the code of the README. Needs a Python with numpy and
//! chess: `FIANCHETTO_PYTHON`, by default `python3`.

mod common;

use common::folder;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fianchetto-prepare");

/// Runs a script of `tests/golden`, and fails when it does.
fn python(test: &str, script: &str, arguments: &[&Path]) {
    let python = std::env::var("FIANCHETTO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(script);
    let output = Command::new(&python).arg(script).args(arguments).output();
    let skip = |why: &str| {
        // Past the test runner's capture: a skipped check must be seen.
        let line = format!("SKIPPED {test}: {why}\n");
        io::stderr().write_all(line.as_bytes()).unwrap();
    };
    match output {
        Err(error) => skip(&format!("cannot start {python}: {error}")),
        Ok(output) if output.status.code() == Some(3) => {
            skip(String::from_utf8_lossy(&output.stdout).trim());
        }
        Ok(output) => assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

/// The program with these arguments, in a folder.
fn program(arguments: &str, folder: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments.split(' ')).current_dir(folder);
    command
}

/// A folder with `games.pgn` and `games` packed from it.
fn fixture(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::write(folder.join("games.pgn"), include_bytes!("data/games.pgn")).unwrap();
    assert!(program("pack games.pgn --out games", &folder).output().unwrap().status.success());
    folder
}

#[test]
fn the_python_of_the_readme_reads_what_is_written() {
    let folder = fixture("python_readme");
    let test = "the_python_of_the_readme_reads_what_is_written";
    python(test, "readme.py", &[Path::new(PROGRAM), &folder.join("games")]);
}

#[test]
fn shards_and_streams_agree_with_python_chess() {
    let folder = fixture("python_chess");
    let test = "shards_and_streams_agree_with_python_chess";
    let pgn = folder.join("games.pgn");
    for (encoding, output) in [
        ("canonical19", "--out canonical19"),
        ("absolute14", "--stream"),
        ("canonical12", "--stream"),
    ] {
        let shards = folder.join(encoding);
        let expand = format!("expand games --encoding {encoding} --split all {output}");
        let Output { status, stdout, .. } = program(&expand, &folder).output().unwrap();
        assert!(status.success());
        if output == "--stream" {
            fs::write(&shards, stdout).unwrap();
        }
        let few = ["--positions", "400"].map(Path::new);
        python(test, "check_shards.py", &[&shards, &pgn, few[0], few[1]]);
    }
}
