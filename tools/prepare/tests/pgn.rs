//! The PGN reader against python-chess and against what has been read wrongly.

#[path = "../../../tests/peak_memory/mod.rs"]
mod peak_memory;

use fianchetto::chess::{Board, notation};
use fianchetto_prepare::filter::Filters;
use fianchetto_prepare::game::{GameResult, PlayedGame};
use fianchetto_prepare::input;
use fianchetto_prepare::pgn::{Reader, Refusal};
use fianchetto_prepare::report::Report;
use peak_memory::peak_memory;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The columns of each line that is not a comment.
fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn read(source: impl BufRead) -> (Report, Vec<PlayedGame>) {
    let (mut reader, filters) = (Reader::new(source), Filters::default());
    let (mut report, mut games) = (Report::default(), Vec::new());
    loop {
        match reader.next_game() {
            Ok(None) => return (report, games),
            Ok(Some(raw)) => match filters.resolve(&raw) {
                Ok(game) => {
                    report.keep(game.moves.len());
                    games.push(game);
                }
                Err(refusal) => report.refuse(refusal),
            },
            Err(error) => report.damage("input", error),
        }
    }
}

/// `kept 2, null-move 1, damaged`
fn short(report: &Report) -> String {
    let mut parts = vec![format!("kept {}", report.kept)];
    parts.extend(report.refused.iter().map(|(cause, games)| format!("{} {games}", cause.name())));
    parts.extend(report.damaged.iter().map(|_| "damaged".to_owned()));
    parts.join(", ")
}

/// Result and moves as in the golden files.
fn written(game: &PlayedGame) -> String {
    let mut board = Board::default();
    let mut text = match game.result {
        GameResult::White => "1-0",
        GameResult::Black => "0-1",
        GameResult::Draw => "1/2-1/2",
    }
    .to_owned();
    for &mv in &game.moves {
        text.push(' ');
        text += &notation::to_uci(&board, mv);
        board.play(mv);
    }
    text
}

/// The games of one file in the golden file of all cases.
fn golden_games<'a>(golden: &'a str, name: &str) -> Vec<&'a str> {
    lines(golden).filter(|line| line[0] == name).map(|line| line[1]).collect()
}

#[test]
fn cases_are_kept_or_refused_as_listed() {
    let folder = data().join("pgn");
    let listing = fs::read_to_string(folder.join("cases.tsv")).unwrap();
    let golden = fs::read_to_string(folder.join("games.tsv")).unwrap();
    let mut listed = BTreeSet::from(["cases.tsv".to_owned(), "games.tsv".to_owned()]);
    for case in lines(&listing) {
        let [name, expected] = case[..] else { panic!("not two columns: {case:?}") };
        assert!(listed.insert(name.to_owned()), "{name} is listed twice");
        match (input::open(&folder.join(name)), expected.strip_prefix("! ")) {
            (Ok(source), None) => {
                let (report, games) = read(source);
                assert_eq!(short(&report), expected, "{name}");
                let games: Vec<String> = games.iter().map(written).collect();
                assert_eq!(games, golden_games(&golden, name), "{name}");
                // The same whatever is read at a time.
                let source = input::open(&folder.join(name)).unwrap();
                assert_eq!(read(BufReader::with_capacity(1, source)).0, report, "{name}");
            }
            (Err(error), Some(reason)) => {
                let message = error.to_string();
                assert!(message.contains(name) && message.contains(reason), "{message}");
                assert_eq!(message.lines().count(), 1, "{message}");
            }
            (Ok(_), Some(_)) => panic!("{name} is opened"),
            (Err(error), None) => panic!("{name}: {error}"),
        }
    }
    let files = fs::read_dir(&folder).unwrap();
    let files: BTreeSet<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, listed, "files and lines of cases.tsv");
}

#[test]
fn games_agree_with_python_chess() {
    for (name, least) in [("games.pgn.zst", 300), ("annotated.pgn", 30)] {
        let (report, games) = read(input::open(&data().join(name)).unwrap());
        assert!(report.kept >= least && report.games() == report.kept, "{name}: {report}");
        let golden = name.split('.').next().unwrap().to_owned() + ".tsv";
        let golden = fs::read_to_string(data().join(golden)).unwrap();
        let games: Vec<String> = games.iter().map(written).collect();
        let golden: Vec<&str> = golden.lines().collect();
        assert!(games == golden, "{name}");
    }
}

#[test]
fn tags_are_read() {
    let text = "[Date \"2016.05.??\"]\n[WhiteElo \"2154\"]\n[BlackElo \"?\"]\n\n1. e4 0-1\n";
    let (_, games) = read(text.as_bytes());
    assert_eq!((games[0].ratings, games[0].year), ([2154, 0], 2016));
    let (_, games) = read(text.replace("2016.05", "????.??").replace('?', "99999").as_bytes());
    assert_eq!((games[0].ratings, games[0].year), ([2154, 0], 0));
    let (_, games) = read("[UTCDate \"2019.01.02\"]\n\n1. e4 0-1\n".as_bytes());
    assert_eq!((games[0].ratings, games[0].year), ([0, 0], 2019));
}

/// A gigabyte without a line end between two games costs itself, and no memory.
#[test]
fn endless_lines_are_passed_over() {
    const GIGABYTE: u64 = 1 << 30;
    let game = "[Event \"a\"]\n[Result \"1-0\"]\n\n1. e4 1-0\n\n".as_bytes();
    for (byte, cause) in [(b'x', Refusal::Oversized), (0, Refusal::NotText)] {
        let line = io::repeat(byte).take(GIGABYTE);
        let source =
            BufReader::with_capacity(1 << 16, game.chain(line).chain(&b"\n\n"[..]).chain(game));
        let (report, peak) = peak_memory(|| read(source).0);
        assert_eq!(report.kept, 2);
        assert_eq!(report.refused, BTreeMap::from([(cause, 1)]));
        assert!(peak < 8 << 20, "{peak} bytes");
    }
}

/// The same for one game of many lines, for one line inside a game, and for a game of too many moves.
#[test]
fn endless_games_are_passed_over() {
    let next = "\n[Event \"a\"]\n\n1. e4 1-0\n";
    let lines = "[Event \"x\"]\n\n".to_owned() + &"{a comment in a line} 1. e4\n".repeat(100_000);
    let tags = "[Event \"x\"]\n".to_owned() + &"[Site \"y\"]\n".repeat(200_000);
    let comment = format!("[Event \"x\"]\n\n1. e4 {{{}}} e5 1-0\n", "x".repeat(2_000_000));
    let shuffle = "Nf3 Nf6 Ng1 Ng8 ".repeat(10_000);
    for text in [lines, tags, comment, shuffle + "1-0\n"] {
        let text = text + next;
        let (report, peak) = peak_memory(|| read(text.as_bytes()).0);
        assert_eq!(short(&report), "kept 1, oversized 1");
        assert!(peak < 8 << 20, "{peak} bytes");
    }
}

/// A reader that forgot where it was would look through the unclosed comment at each of its lines, or
/// through the blanks at the end after each word.
#[test]
fn looking_for_the_end_of_a_game_takes_linear_time() {
    let comment = "[Event \"x\"]\n\n1. e4 {\n".to_owned() + &"\n1. e4 e5\n".repeat(90_000);
    let blanks = "! ".repeat(250_000) + &" ".repeat(500_000);
    let started = Instant::now();
    assert_eq!(short(&read(comment.as_bytes()).0), "kept 0, truncated 1");
    assert_eq!(short(&read(blanks.as_bytes()).0), "kept 0, truncated 1");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}
