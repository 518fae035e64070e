//! Matches and round robins from start to end.

mod common;

use common::{arena, folder, succeed};
use fianchetto_prepare::pgn::Reader;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// With moves that are drawn by lot, which must not depend on where the match was interrupted.
const MATCH: [&str; 12] = [
    "match",
    "--player",
    "policy:Temperature=1",
    "--player",
    "random",
    "--games",
    "10",
    "--no-times",
    "--seed",
    "7",
    "--out",
    "m",
];

#[test]
fn a_killed_match_goes_on_to_the_same_bytes() {
    let whole = folder("match_whole");
    let told = succeed(&MATCH, &whole);
    let expected = fs::read(whole.join("m.jsonl")).unwrap();

    let killed = folder("match_killed");
    let mut kills = 0;
    for lines in [2, 5, 7] {
        let mut child = arena(&MATCH, &killed).spawn().unwrap();
        let there = || fs::read(killed.join("m.jsonl")).unwrap_or_default();
        while there().iter().filter(|&&byte| byte == b'\n').count() < lines {
            assert!(child.try_wait().unwrap().is_none(), "over before it was killed");
            sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        // As if the machine had stopped in the midst of a line.
        let mut file = fs::File::options().append(true).open(killed.join("m.jsonl")).unwrap();
        file.write_all(b"{\"game\":9,\"result\":\"1-").unwrap();
    }
    assert_eq!(kills, 3);
    assert_eq!(succeed(&MATCH, &killed), told);
    for name in ["m.jsonl", "m.pgn", "m.json", "m.html"] {
        assert!(
            fs::read(whole.join(name)).unwrap() == fs::read(killed.join(name)).unwrap(),
            "{name}"
        );
    }
    assert_eq!(fs::read(killed.join("m.jsonl")).unwrap(), expected);

    // A finished match plays nothing again; a longer one goes on.
    assert_eq!(succeed(&MATCH, &killed), told);
    succeed(&[&MATCH[..5], &["--games", "12"], &MATCH[7..]].concat(), &killed);
    let longer = fs::read(killed.join("m.jsonl")).unwrap();
    assert!(longer.starts_with(&expected));
    assert_eq!(longer.iter().filter(|&&byte| byte == b'\n').count(), 13);
}

#[test]
fn games_are_in_pairs_and_their_pgn_is_read() {
    let folder = folder("match_pairs");
    let told = succeed(
        &[
            "match",
            "--player",
            "policy",
            "--player",
            "random",
            "--games",
            "6",
            "--concurrency",
            "3",
            "--opening-plies",
            "5",
            "--out",
            "m",
        ],
        &folder,
    );
    let text = fs::read(folder.join("m.pgn")).unwrap();
    let mut reader = Reader::new(&text[..]);
    let mut openings = Vec::new();
    while let Some(game) = reader.next_game().unwrap() {
        openings.push(game.resolve().unwrap().moves[..5].to_vec());
    }
    assert_eq!(openings.len(), 6);
    for pair in openings.chunks(2) {
        assert_eq!(pair[0], pair[1]);
    }
    assert_eq!(openings.iter().collect::<HashSet<_>>().len(), 3);
    let text = String::from_utf8(text).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    let whites: Vec<&str> = text.lines().filter(|line| line.starts_with("[White ")).collect();
    assert_eq!(whites, [r#"[White "policy"]"#, r#"[White "random"]"#].repeat(3));

    let figures: Value = serde_json::from_slice(&fs::read(folder.join("m.json")).unwrap()).unwrap();
    let pairing = &figures["pairings"][0];
    assert_eq!((&pairing["first"], &pairing["second"]), (&"policy".into(), &"random".into()));
    let [wins, draws] = ["wins", "draws"].map(|key| pairing[key].as_f64().unwrap());
    assert_eq!(pairing["score"].as_f64().unwrap(), (wins + draws / 2.0) / 6.0);
    assert!(wins >= 4.0, "{told}");
    let html = fs::read_to_string(folder.join("m.html")).unwrap();
    assert!(html.contains("<table>") && !html.contains("src=") && !html.contains("<link"));
}

#[test]
fn a_sequential_test_stops_early() {
    let told = succeed(
        &[
            "match", "--player", "policy", "--player", "random", "--games", "1000", "--sprt",
            "-50,50",
        ],
        &folder("match_sprt"),
    );
    assert!(told.contains("+50 is accepted"), "{told}");
    let games: u64 =
        told.lines().nth(3).unwrap().split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!((4..200).contains(&games), "{told}");
}

#[test]
fn round_robin() {
    let folder = folder("round_robin");
    let told = succeed(
        &[
            "round-robin",
            "--player",
            "random:name=a",
            "--player",
            "policy",
            "--player",
            "random:name=b",
            "--games",
            "4",
            "--max-moves",
            "60",
            "--out",
            "r",
        ],
        &folder,
    );
    let rows: Vec<&str> = told.lines().filter(|line| line.starts_with("1 ")).collect();
    assert!(
        rows.len() == 1 && rows[0].starts_with("1 policy ") && rows[0].contains(" x "),
        "{told}"
    );
    let record = fs::read_to_string(folder.join("r.jsonl")).unwrap();
    assert_eq!(record.lines().count(), 1 + 3 * 4);
    // All pairings have the same openings.
    let games = record.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let openings: HashSet<String> =
        games.map(|game| format!("{:?}", &game["moves"].as_array().unwrap()[..8])).collect();
    assert_eq!(openings.len(), 2);
    assert!(fs::read_to_string(folder.join("r.html")).unwrap().contains("<svg"));
}

#[test]
fn books() {
    let folder = folder("match_books");
    fs::write(
        folder.join("book.epd"),
        "# two positions\n\
         rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - hmvc 0; id \"open\";\n\n\
         rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq - 0 2\n",
    )
    .unwrap();
    fs::write(
        folder.join("book.pgn"),
        "1. e4 c5 2. Nf3 *\n\n1. d4 Nf6 2. c4 e6 3. Nc3 Bb4 1/2-1/2\n",
    )
    .unwrap();
    for (book, plies) in [("book.epd", None), ("book.pgn", Some("3"))] {
        let mut arguments = vec!["match", "--player", "random:name=a", "--player", "random:name=b"];
        arguments.extend(["--games", "4", "--max-moves", "5", "--book", book, "--out", book]);
        arguments.extend(plies.iter().flat_map(|plies| ["--book-plies", plies]));
        succeed(&arguments, &folder);
        let record = fs::read_to_string(folder.join(format!("{book}.jsonl"))).unwrap();
        let games: Vec<Value> =
            record.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
        let begins: HashSet<String> = (games.iter())
            .map(|game| match plies {
                Some(_) => format!("{:?}", &game["moves"].as_array().unwrap()[..3]),
                None => game["start"].to_string(),
            })
            .collect();
        assert_eq!(begins.len(), 2, "{begins:?}");
        assert!(
            games
                .iter()
                .all(|game| game["reason"] == "move-limit" || game["reason"] == "checkmate")
        );
    }
}

/// Names come as they are on the page and in PGN, and change neither.
#[test]
fn names_are_escaped() {
    let folder = folder("match_names");
    let names = ["random:name=<b>\"x\" & y", "random:name=</svg>", "random:name=c\\]"];
    let players = names.iter().flat_map(|name| ["--player", name]);
    let rest = ["--games", "2", "--max-moves", "9", "--out", "n"];
    succeed(&["round-robin"].into_iter().chain(players).chain(rest).collect::<Vec<_>>(), &folder);
    let html = fs::read_to_string(folder.join("n.html")).unwrap();
    assert!(html.contains("&lt;b&gt;&quot;x&quot; &amp; y"), "{html}");
    assert!(!html.contains("<b>"), "{html}");
    assert_eq!(html.matches("</svg>").count(), html.matches("<svg").count(), "{html}");
    let pgn = fs::read_to_string(folder.join("n.pgn")).unwrap();
    assert!(
        pgn.contains(r#"[White "<b>\"x\" & y"]"#) && pgn.contains(r#"[White "c\\]"]"#),
        "{pgn}"
    );
}

/// A record goes with the weights, not with the name of their file.
#[test]
fn other_weights_are_another_run() {
    let folder = folder("match_weights");
    let weights = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../weights");
    let mut files: Vec<_> =
        fs::read_dir(weights).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "safetensors"));
    files.retain(|path| !path.to_string_lossy().contains("pair"));
    let command = ["match", "--player", "policy:WeightsFile=new,name=new", "--player", "random"];
    let command = [&command[..], &["--max-moves", "9", "--games", "2", "--out", "m"]].concat();
    fs::copy(&files[0], folder.join("new")).unwrap();
    succeed(&command, &folder);
    succeed(&command, &folder);
    fs::copy(&files[1], folder.join("new")).unwrap();
    let told = String::from_utf8(arena(&command, &folder).output().unwrap().stderr).unwrap();
    assert!(told.contains("another value of networks"), "{told}");
}
