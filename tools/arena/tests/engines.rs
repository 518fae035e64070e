//! UCI engines as programs: our own, and broken ones.
#![cfg(unix)]

mod common;

use common::{arena, folder, succeed};
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

/// An engine that breaks down is asked no puzzle twice that it has answered.
#[test]
fn puzzles_go_on_after_a_broken_engine() {
    let folder = folder("broken_on_puzzles");
    fs::write(folder.join("engine.sh"), include_str!("data/engine.sh")).unwrap();
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let rows = ["A", "B", "C", "D"].map(|id| format!("{id},{start},e2e4 e7e5,1000,\n"));
    let file = format!("PuzzleId,FEN,Moves,Rating,Themes\n{}", rows.concat());
    fs::write(folder.join("puzzles.csv"), file).unwrap();
    let engine = "cmd=sh,args=engine.sh third,name=broken,depth=1";
    let command = ["puzzles", "puzzles.csv", "--engine", engine, "--out", "p"];

    let failed = arena(&command, &folder).output().unwrap();
    let told = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(1), "{told}");
    for part in ["broken: puzzle C, move 1: the program ended: exit status: 3", "p.json.part keeps"]
    {
        assert!(told.contains(part), "{told}");
    }
    assert!(!folder.join("p.json").exists());

    fs::write(folder.join("mended"), "").unwrap();
    let told = succeed(&command, &folder);
    let asked = fs::read_to_string(folder.join("asked")).unwrap();
    assert_eq!(asked.lines().count(), 3 + 2, "A, B, C; C, D");
    let figures: Value = serde_json::from_slice(&fs::read(folder.join("p.json")).unwrap()).unwrap();
    assert_eq!(
        (&figures["figures"][0]["count"], &figures["figures"][0]["whole_line"]),
        (&4.into(), &1.0.into())
    );
    // The speed is that of the second run alone.
    let speed = &figures["speed"];
    assert_eq!(
        (&speed["count"], &speed["players"][0]["nodes"]),
        (&2.into(), &14.into()),
        "{speed}"
    );
    assert!(speed["players"][0]["threads"].is_null(), "{speed}");
    assert!(told.contains("\n2 puzzles in "), "{told}");
    assert!(!folder.join("p.json.part").exists());
}

/// A button is pressed without a value; a text without characters is `<empty>`.
#[test]
fn options_of_every_type_are_set() {
    let folder = folder("option_types");
    fs::write(folder.join("engine.sh"), include_str!("data/engine.sh")).unwrap();
    let options = "option.Skill Level=3,option.style=very sharp,option.Own Book=true,option.Clear Hash=,option.Log File=";
    let engine = format!("cmd=sh,args=engine.sh told,{options},depth=1");
    succeed(&["match", "--engine", &engine, "--player", "random", "--games", "2"], &folder);
    let expected = "name Skill Level value 3\nname style value very sharp\nname Own Book value true\n\
                    name Clear Hash\nname Log File value <empty>\n";
    assert_eq!(fs::read_to_string(folder.join("told")).unwrap(), expected);
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
