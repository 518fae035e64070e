//! What the program answers to mistakes, one a line in `data/mistakes.tsv`.
#![cfg(unix)]

mod common;

use common::{arena, folder, succeed};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

/// A folder with files that are not what is expected.
fn fixture() -> PathBuf {
    let folder = folder("mistakes");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("engine.sh", include_str!("data/engine.sh"));
    write("empty", "");
    write("bad.epd", "4k3/8/8/8/8/8/8/4K2R w K -\nhello world\n");
    write("over.epd", "7k/5Q2/8/8/8/8/8/K7 b - -\n");
    write("bad.pgn", "1. e4 e5 2. Ke3 *\n");
    write("other.jsonl", "{\"a\": 1}\n");
    write("alien.json", "{\"a\": 1}\n");
    write("torn.jsonl", "hello");
    write("note.pgn", "Dear diary\n");
    write("page.html", "Dear diary\n");
    fs::write(folder.join("games"), include_bytes!("../../prepare/tests/data/games.fgames"))
        .unwrap();
    fs::write(folder.join("held-out"), include_bytes!("data/held-out.fgames")).unwrap();
    write("zip", "PK\u{3}\u{4}");

    let puzzles = include_str!("data/puzzles.csv");
    write("puzzles.csv", puzzles);
    let zstd = zstd::encode_all(puzzles.as_bytes(), 1).unwrap();
    fs::write(folder.join("torn.csv.zst"), &zstd[..zstd.len() - 9]).unwrap();
    let head = puzzles.lines().next().unwrap();
    let of = |row: &str| format!("{head}\n{row}\n");
    write("head.csv", &of(""));
    write("cut.csv", &of("00008,8/8/8 w - - 0 1"));
    let row = |fen: &str, moves: &str, rating: &str| {
        of(&format!("00008,{fen},{moves},{rating},80,90,100,short,https://lichess.org,"))
    };
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    write("odd.csv", &row(start, "e2e4 e7e5 g1f3", "1500"));
    write("rating.csv", &row(start, "e2e4 e7e5", "x"));
    write("fen.csv", &row("hello", "e2e4 e7e5", "1500"));
    write("move.csv", &row(start, "e2e5 e7e5", "1500"));
    fs::write(
        folder.join("latin.csv"),
        [head.as_bytes(), b"\n0\xe9,8,e2e4 e7e5,1500,,,,,,\n"].concat(),
    )
    .unwrap();

    let run = |arguments: &str| succeed(&arguments.split(' ').collect::<Vec<_>>(), &folder);
    for (seed, shard, out) in [(1, 0, "p0"), (1, 1, "p1"), (2, 1, "q1"), (1, 1, "short1")] {
        let sample = format!("puzzles puzzles.csv --per-cell 1 --player random --seed {seed}");
        run(&format!("{sample} --shard {shard}/2 --out {out}"));
    }
    let mut short: Value =
        serde_json::from_slice(&fs::read(folder.join("short1.json")).unwrap()).unwrap();
    short["outcomes"].as_array_mut().unwrap().pop();
    write("short1.json", &short.to_string());
    run("agreement held-out --player random --positions 5 --shard 0/2 --out a0");

    run("match --player policy --player random --games 2 --out damaged");
    run("match --player policy --player random --max-moves 9 --games 4 --out longer");
    fs::copy(folder.join("damaged.jsonl"), folder.join("record.jsonl")).unwrap();
    let record = fs::read_to_string(folder.join("damaged.jsonl")).unwrap();
    let head = record.lines().next().unwrap();
    write("damaged.jsonl", &format!("{head}\n{{\"game\":0}}\n"));
    folder
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
    let folder = fixture();
    for line in include_str!("data/mistakes.tsv").lines().filter(|line| !line.starts_with('#')) {
        let case: Vec<&str> = line.split('\t').collect();
        let [arguments, status, expected] = case[..] else { panic!("not three columns: {case:?}") };
        // A star stands for a blank within an argument.
        let arguments: Vec<String> =
            arguments.split(' ').map(|argument| argument.replace('*', " ")).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let Output { status: found, stdout, stderr } = arena(&arguments, &folder).output().unwrap();
        let told = String::from_utf8(stderr).unwrap();
        let told = told.strip_suffix('\n').unwrap_or(&told);
        assert!(fits(told, &format!("error: {expected}")), "{line}\n{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert_eq!(found.code(), Some(status.parse().unwrap()), "{line}");
        assert!(stdout.is_empty(), "{line}");
    }
    for note in ["note.pgn", "page.html"] {
        assert_eq!(fs::read_to_string(folder.join(note)).unwrap(), "Dear diary\n");
    }
    for name in ["note.jsonl", "note.json", "page.jsonl", "page.json.part", "none.json.part"] {
        assert!(!folder.join(name).exists(), "{name} was left behind");
    }
}
