//! UCI engines as programs: our own, and broken ones.
#![cfg(unix)]

mod common;

use common::{folder, succeed};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The games of a record.
fn games(record: &Path) -> Vec<Value> {
    let text = fs::read_to_string(record).unwrap();
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn broken_engines_lose() {
    let folder = folder("broken_engines");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/engine.sh");
    for line in include_str!("data/faults.tsv").lines().filter(|line| !line.starts_with('#')) {
        let case: Vec<&str> = line.split('\t').collect();
        let [broken, limit, reason, detail] = case[..] else { panic!("{case:?}") };
        let engine = format!("cmd=sh,args={} {broken},name=broken,{limit}", script.display());
        let out = format!("{broken}-{limit}");
        let told = succeed(
            &[
                "match",
                "--player",
                "random",
                "--engine",
                &engine,
                "--games",
                "2",
                "--patience",
                "1",
                "--out",
                &out,
            ],
            &folder,
        );
        let games = games(&folder.join(format!("{out}.jsonl")));
        assert_eq!(games.len(), 2, "{line}");
        for game in &games {
            // The engine has Black in game 0.
            let result = if game["game"] == 0 { "1-0" } else { "0-1" };
            assert_eq!(game["result"], result, "{line}: {game}");
            assert_eq!(game["reason"], reason, "{line}: {game}");
            let found = game["detail"].as_str().unwrap();
            let end = detail.trim_start_matches('…');
            assert!(found == detail || (end != detail && found.ends_with(end)), "{line}: {game}");
        }
        assert!(told.contains("games lost without being beaten"), "{told}");
    }
}

/// The engine of this project, built if it is not yet.
fn our_engine() -> PathBuf {
    let arena = Path::new(env!("CARGO_BIN_EXE_fianchetto-arena"));
    let engine = arena.with_file_name(format!("fianchetto{}", std::env::consts::EXE_SUFFIX));
    if !engine.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--package", "fianchetto", "--bin", "fianchetto"]);
        if arena.parent().unwrap().ends_with("release") {
            cargo.arg("--release");
        }
        cargo.arg("--target-dir").arg(arena.ancestors().nth(2).unwrap());
        assert!(cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    }
    engine
}

/// The engine as a program plays what it plays in this process, by clock and by nodes.
#[test]
fn our_engine_as_a_program_plays_the_same_moves() {
    let folder = folder("our_engine");
    let engine = format!("cmd={},name=program,option.Threads=1", our_engine().display());
    for (out, first) in
        [("inside", ["--player", "policy:name=program"]), ("outside", ["--engine", &engine])]
    {
        let rest = [
            "--player",
            "random",
            "--games",
            "4",
            "--tc",
            "60+1",
            "--concurrency",
            "2",
            "--out",
            out,
        ];
        succeed(&[&["match"], &first[..], &rest[..]].concat(), &folder);
    }
    let sorted = |name: &str| {
        let mut games = games(&folder.join(name));
        games.sort_by_key(|game| game["game"].as_u64());
        games
    };
    for (inside, outside) in sorted("inside.jsonl").iter().zip(sorted("outside.jsonl")) {
        for key in ["game", "result", "reason", "moves", "scores"] {
            assert_eq!(inside[key], outside[key], "{key}");
        }
        assert_eq!(
            outside["millis"].as_array().unwrap().len() + 8,
            outside["moves"].as_array().unwrap().len()
        );
    }
}
