//! `pack`, `join` and `inspect` as they are called.

mod command;
mod common;

use command::{complain, fixture, names, run, succeed};
use fianchetto_prepare::game::PlayedGame;
use fianchetto_prepare::gamefile::GameFile;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

fn games(path: PathBuf) -> Vec<PlayedGame> {
    GameFile::open(&path).unwrap().iter().collect::<Result<_, _>>().unwrap()
}

/// What python-chess counts in the fixture.
const PLIES: u64 = 25_176;

#[test]
fn a_packed_file_holds_the_games_of_the_pgn() {
    let (folder, _) = fixture("pack_few");
    let report =
        succeed(&["pack", "few.pgn", "--out", "few.fgames", "--report", "few.json"], &folder);
    assert!(report.contains("300  games read"), "{report}");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("few.json")).unwrap()).unwrap();
    assert_eq!(json["kept"], 300);
    assert_eq!(json["positions"], PLIES);
    assert_eq!(GameFile::open(&folder.join("few.fgames")).unwrap().plies(), PLIES);
    assert_eq!(names(&folder), ["few.fgames", "few.json", "few.pgn", "many.pgn"]);
}

/// `games.fgames` was decoded by a reader of the documented format written in Python over
/// python-chess, and held the games of `games.pgn`. It must stay readable: a change to the order of
/// moves is a new version of the format.
#[test]
fn files_of_the_first_version_stay_readable() {
    let (folder, _) = fixture("pack_version");
    fs::write(folder.join("old"), include_bytes!("data/games.fgames")).unwrap();
    succeed(&["pack", "few.pgn", "--out", "new"], &folder);
    assert_eq!(games(folder.join("old")), games(folder.join("new")));
}

#[test]
fn threads_do_not_show_in_the_output() {
    let (folder, _) = fixture("pack_threads");
    for threads in ["1", "2", "5"] {
        succeed(&["pack", "many.pgn", "few.pgn", "--out", threads, "--threads", threads], &folder);
    }
    let one = fs::read(folder.join("1")).unwrap();
    assert!(
        one == fs::read(folder.join("2")).unwrap() && one == fs::read(folder.join("5")).unwrap()
    );
    assert_eq!(games(folder.join("1")).len(), 21 * 300);
}

#[test]
fn shards_share_the_games_and_join_to_all_of_them() {
    let (folder, _) = fixture("pack_shards");
    succeed(&["pack", "few.pgn", "--out", "whole"], &folder);
    let mut apart = Vec::new();
    for (shard, out) in [("0/3", "a"), ("1/3", "b"), ("2/3", "c")] {
        let report = succeed(&["pack", "few.pgn", "--out", out, "--shard", shard], &folder);
        assert!(report.contains("other-shard"), "{report}");
        apart.push(games(folder.join(out)));
        assert!((50..150).contains(&apart[apart.len() - 1].len()));
    }
    succeed(&["join", "joined", "a", "b", "c"], &folder);
    assert_eq!(games(folder.join("joined")), apart.concat());
    let sorted = |name: &str| {
        let mut games = games(folder.join(name));
        games.sort_by_key(|game| (game.hash(), game.ratings, game.year));
        games
    };
    assert_eq!(sorted("joined"), sorted("whole"));
    assert!(succeed(&["inspect", "joined"], &folder).contains("300 games"));
}

#[test]
fn an_input_that_ends_early_is_told_once_and_the_games_before_it_kept() {
    let (folder, many) = fixture("pack_damaged");
    let packed = zstd::encode_all(&many[..], 3).unwrap();
    fs::write(folder.join("cut.pgn.zst"), &packed[..packed.len() * 9 / 10]).unwrap();
    let few = fs::read(folder.join("few.pgn")).unwrap();
    let text = String::from_utf8(few.clone()).unwrap();
    let result = text.trim_end().rfind(' ').unwrap();
    let tag = text.rfind("[WhiteElo").unwrap() + 5;
    fs::write(folder.join("cut-in-moves.pgn"), &few[..result]).unwrap();
    fs::write(folder.join("cut-in-tags.pgn"), &few[..tag]).unwrap();
    let [zstd, moves, tags] =
        ["cut.pgn.zst: cannot be read further: ", "cut-in-moves.pgn: ", "cut-in-tags.pgn: "];
    for (name, inputs, told) in [
        ("zstd", &["cut.pgn.zst", "few.pgn"][..], &[zstd][..]),
        ("moves", &["cut-in-moves.pgn"], &[moves]),
        ("tags", &["cut-in-tags.pgn"], &[tags]),
        ("all", &["cut-in-moves.pgn", "cut.pgn.zst", "cut-in-tags.pgn"], &[moves, zstd, tags]),
    ] {
        let json = format!("{name}.json");
        let arguments = [&["pack", "--out", name, "--report", &json], inputs].concat();
        let Output { status, stdout, stderr } = run(&arguments, &folder);
        let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(status.code(), Some(1));
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        for told in told {
            assert_eq!(stderr.matches(told).count(), 1, "{stderr}");
        }
        assert_eq!(stderr.matches("cannot be read further").count(), told.len(), "{stderr}");
        assert!(!stdout.contains("cannot be read further"), "{stdout}");
        assert!(stdout.contains("truncated"), "{stdout}");
        let json: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join(json)).unwrap()).unwrap();
        assert_eq!(json["damaged"].as_array().unwrap().len(), told.len());
    }
    succeed(&["pack", "few.pgn", "--out", "few"], &folder);
    let [kept, few] = ["zstd", "few"].map(|name| games(folder.join(name)));
    let before = &kept[..kept.len() - few.len()];
    assert!(before.len() > 100 && before.iter().eq(few.iter().cycle().take(before.len())));
    assert!(kept.ends_with(&few));
    for name in ["moves", "tags"] {
        assert_eq!(games(folder.join(name)), few[..299]);
    }
}

#[test]
fn without_a_game_there_is_no_output() {
    let (folder, _) = fixture("pack_nothing");
    fs::write(folder.join("empty.pgn"), "").unwrap();
    fs::write(folder.join("list.txt"), "Bread, milk (two), and\ne4 envelopes.\n\n").unwrap();
    fs::write(folder.join("cut.pgn"), "[Event \"x\"]\n\n1. e4").unwrap();
    let no_game = "no game found: there are no PGN tags or moves";
    for (arguments, told) in [
        (&["empty.pgn"][..], no_game),
        (&["list.txt"], no_game),
        (&["list.txt", "empty.pgn"], "list.txt and 1 more: no game found"),
        (&["cut.pgn"], "it ends before the result of its last game"),
        (
            &["few.pgn", "--min-rating", "4000"],
            "300 games read, none kept: 300 rating; ask for less",
        ),
        (&["few.pgn", "--min-rating", "4000", "--shard", "0/2"], "none kept: 300 rating"),
    ] {
        let before = names(&folder);
        let arguments = [&["pack", "--out", "out", "--report", "report.json"], arguments].concat();
        let refusal = complain(&arguments, &folder, 1);
        assert!(refusal.contains(told), "{refusal}");
        let json: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap();
        assert_eq!(json["kept"], 0);
        fs::remove_file(folder.join("report.json")).unwrap();
        assert_eq!(names(&folder), before);
    }
    // A shard may be empty: all its games are elsewhere.
    let shard = ["pack", "few.pgn", "--out", "out", "--shard", "5/1000000"];
    let report = succeed(&shard, &folder);
    assert!(report.contains("out: 0 games, 0 plies, 48 bytes\n"), "{report}");
    assert!(succeed(&["inspect", "out"], &folder).contains("0 plies in 0 blocks, 48 bytes\n"));
}

#[test]
fn mistakes_are_told_in_a_line() {
    let (folder, _) = fixture("pack_mistakes");
    fs::write(folder.join("there"), "").unwrap();
    fs::write(folder.join("in.part"), "").unwrap();
    succeed(&["pack", "few.pgn", "--out", "few"], &folder);
    for (arguments, code, expected) in [
        (&["pack", "few.pgn"][..], 2, "--out"),
        (&["pack", "few.pgn", "--out", "o", "--shard", "3/3"], 2, "I from 0 to N - 1"),
        (&["pack", "none.pgn", "--out", "o"], 1, "none.pgn"),
        (&["pack", "few.pgn", "--out", "there"], 1, "exists already"),
        (&["pack", "few.pgn", "--out", "no/such/o"], 1, "no/such/o.part"),
        (
            &["pack", "few.pgn", "--out", "o", "--report", "few.pgn"],
            1,
            "few.pgn would be written over",
        ),
        (
            &["pack", "few.pgn", "--out", "o", "--report", "./o.part"],
            1,
            "o.part would be written over",
        ),
        (&["pack", "few.pgn", "--out", "o", "--report", "."], 1, "no regular file"),
        (&["pack", "in.part", "--out", "in"], 1, "in.part would be written over"),
        (&["join", "in", "in.part"], 1, "in.part would be written over"),
        (&["pack", "few.pgn", "--out", "-"], 2, "a game file goes to a file"),
        (&["pack", "few.pgn", "--out", "o", "--report", "-"], 2, "this report goes to a file"),
        (
            &["pack", "few.pgn", "--out", "o", "--report", "no/such/r"],
            1,
            "no/such/r: cannot create",
        ),
        (&["join", "-", "few"], 2, "a game file goes to a file"),
        (&["expand", "few", "--encoding", "canonical12", "--out", "-"], 2, "give --stream"),
        (&["expand", "-", "--encoding", "canonical12", "--out", "o"], 1, "standard input"),
        (&["join", "o", "-"], 1, "-: a game file is read here and there"),
        (&["inspect", "-"], 1, "-: a game file is read here and there"),
        (&["join", "o", "few.pgn"], 1, "not a game file"),
        (&["join", "o", "few", "./few"], 1, "few and ./few are the same file"),
        (&["inspect", "there"], 1, "not a game file"),
        (&["inspect", "none"], 1, "none"),
    ] {
        let told = complain(arguments, &folder, code);
        assert!(told.contains(expected), "{arguments:?}: {told}");
        assert!(!folder.join("o").exists() && !folder.join("o.part").exists());
    }
    assert_eq!(names(&folder), ["few", "few.pgn", "in.part", "many.pgn", "there"]);
    assert_eq!(fs::read(folder.join("few.pgn")).unwrap(), include_bytes!("data/games.pgn"));
}
