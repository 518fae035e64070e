//! `pack`, `join` and `inspect` as they are called: the real binary, killed and called again.

mod common;

use common::folder;
use fianchetto_prepare::game::PlayedGame;
use fianchetto_prepare::gamefile::GameFile;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn prepare(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fianchetto-prepare"));
    command.args(arguments).current_dir(folder).stderr(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn run(arguments: &[&str], folder: &Path) -> Output {
    prepare(arguments, folder).output().unwrap()
}

fn succeed(arguments: &[&str], folder: &Path) -> String {
    let Output { status, stdout, stderr } = run(arguments, folder);
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn complain(arguments: &[&str], folder: &Path, code: i32) -> String {
    let Output { status, stderr, .. } = run(arguments, folder);
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

fn games(path: PathBuf) -> Vec<PlayedGame> {
    GameFile::open(&path).unwrap().iter().collect::<Result<_, _>>().unwrap()
}

/// What is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What python-chess counts in the fixture.
const PLIES: u64 = 25_176;

/// The 300 games of the fixture, and 20 copies of them: more than five blocks.
fn fixture(name: &str) -> (PathBuf, Vec<u8>) {
    let folder = folder(name);
    let text = include_bytes!("data/games.pgn");
    fs::write(folder.join("few.pgn"), text).unwrap();
    let many = text.repeat(20);
    fs::write(folder.join("many.pgn"), &many).unwrap();
    (folder, many)
}

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

/// Starts to pack standard input and feeds it the beginning of `text`.
fn start(text: &[u8], folder: &Path) -> Child {
    let arguments = ["pack", "-", "--out", "out", "--threads", "1"];
    let mut child = prepare(&arguments, folder).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The process may end first.
    let _ = stdin.write_all(text);
    child.stdin = Some(stdin);
    child
}

/// Waits until something is so, but not for ever.
fn wait_for(mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() && started.elapsed() < Duration::from_secs(30) {
        sleep(Duration::from_millis(5));
    }
}

/// The blocks that the unfinished run on `out` has noted; `None` before it has begun.
fn blocks(folder: &Path) -> Option<u64> {
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("out.state")).ok()?).unwrap();
    Some(json["blocks"].as_u64().unwrap())
}

#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let (folder, many) = fixture("pack_killed");
    succeed(&["pack", "many.pgn", "--out", "whole"], &folder);
    // Killed before the first block, after it, and in the midst of later ones.
    for (share, has_blocks) in [(10, false), (50, true), (60, true), (97, true)] {
        let mut child = start(&many[..many.len() * share / 100], &folder);
        wait_for(|| blocks(&folder).is_some_and(|blocks| blocks > 0 || !has_blocks));
        sleep(Duration::from_millis(300));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(blocks(&folder).unwrap() > 0, has_blocks);
        assert!(!folder.join("out").exists());
    }

    // Other arguments are refused and spoil nothing, nor do other games.
    for (arguments, told) in [
        (&["pack", "few.pgn", "--out", "out"][..], "with other inputs: -;"),
        (&["pack", "-", "--out", "out", "--min-rating", "1"], "with other filters"),
        (&["pack", "-", "--out", "out", "--shard", "0/2"], "without --shard"),
    ] {
        let refusal = complain(arguments, &folder, 1);
        assert!(refusal.contains("out.state: of an unfinished run"), "{refusal}");
        assert!(refusal.contains(told), "{refusal}");
    }
    let mut other = many.clone();
    other[many.len() / 10] ^= 1;
    for (text, told) in [(&other[..], "are not the same now"), (&many[..9_000], "it has only")] {
        let mut child = start(text, &folder);
        drop(child.stdin.take());
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        let refusal = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(1));
        assert!(refusal.contains("standard input: the unfinished run has read"), "{refusal}");
        assert!(refusal.contains(told), "{refusal}");
    }

    let mut child = start(&many, &folder);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(fs::read(folder.join("out")).unwrap() == fs::read(folder.join("whole")).unwrap());
    assert_eq!(names(&folder), ["few.pgn", "many.pgn", "out", "whole"]);
}

/// The first input is read to its end, and the second in part, when the run is killed.
#[test]
fn a_changed_file_does_not_go_unnoticed() {
    let (folder, many) = fixture("pack_changed");
    let few = include_bytes!("data/games.pgn");
    let pack = |out| ["pack", "few.pgn", "many.pgn", "--threads", "1", "--out", out];
    succeed(&pack("whole"), &folder);
    let mut child = prepare(&pack("out"), &folder).spawn().unwrap();
    wait_for(|| blocks(&folder) > Some(0));
    child.kill().unwrap();
    child.wait().unwrap();
    let unfinished = fs::read(folder.join("out.part")).unwrap();

    let changed = |text: &[u8]| {
        let mut text = text.to_vec();
        let digit = text.iter().position(u8::is_ascii_digit).unwrap();
        text[digit] ^= 1;
        text
    };
    for (file, sound, other, told) in [
        ("few.pgn", &few[..], changed(few), "few.pgn: the unfinished run has read 300"),
        ("many.pgn", &many, changed(&many), "many.pgn: the unfinished run has read "),
        ("many.pgn", &many, many.repeat(2), "out.state: of an unfinished run when many.pgn was"),
    ] {
        fs::write(folder.join(file), other).unwrap();
        let refusal = complain(&pack("out"), &folder, 1);
        assert!(refusal.contains(told), "{refusal}");
        // At most what was written after the last note is cut off.
        let part = fs::read(folder.join("out.part")).unwrap();
        assert!(part.len() > 1_000 && unfinished.starts_with(&part));
        fs::write(folder.join(file), sound).unwrap();
    }
    // Written anew with the same games, they are as good as before.
    succeed(&pack("out"), &folder);
    assert!(fs::read(folder.join("out")).unwrap() == fs::read(folder.join("whole")).unwrap());
}

#[test]
fn an_output_is_written_by_one_run_at_a_time() {
    let (folder, many) = fixture("pack_locked");
    succeed(&["pack", "many.pgn", "--out", "whole"], &folder);
    let mut child = start(&many[..many.len() / 2], &folder);
    wait_for(|| blocks(&folder).is_some());
    for arguments in [&["pack", "-", "--out", "out"][..], &["join", "out", "whole"]] {
        let told = complain(arguments, &folder, 1);
        assert!(told.contains("out.part: another run is writing it"), "{told}");
    }
    child.stdin.as_mut().unwrap().write_all(&many[many.len() / 2..]).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(fs::read(folder.join("out")).unwrap() == fs::read(folder.join("whole")).unwrap());
    assert_eq!(names(&folder), ["few.pgn", "many.pgn", "out", "whole"]);
}

#[test]
fn files_that_no_unfinished_run_has_left_are_not_touched() {
    let (folder, _) = fixture("pack_taken");
    succeed(&["pack", "few.pgn", "--out", "few"], &folder);
    for (file, told) in [
        ("out.part", "out.part is there, but not of an unfinished run"),
        ("out.state", "out.state: not the state of an unfinished run"),
    ] {
        fs::write(folder.join(file), "mine").unwrap();
        for arguments in [&["pack", "few.pgn", "--out", "out"][..], &["join", "out", "few"]] {
            let refusal = complain(arguments, &folder, 1);
            assert!(refusal.contains(told), "{refusal}");
        }
        assert_eq!(fs::read(folder.join(file)).unwrap(), b"mine");
        fs::remove_file(folder.join(file)).unwrap();
        assert_eq!(names(&folder), ["few", "few.pgn", "many.pgn"]);
    }
    // What a finished run may leave when it is killed in the end is in nobody's way.
    fs::write(folder.join("out.state"), r#"["few.pgn"]"#).unwrap();
    succeed(&["join", "out", "few"], &folder);
    assert_eq!(names(&folder), ["few", "few.pgn", "many.pgn", "out"]);
}

#[test]
fn an_interrupted_join_begins_again() {
    let (folder, _) = fixture("join_again");
    succeed(&["pack", "few.pgn", "--out", "few"], &folder);
    succeed(&["pack", "many.pgn", "--out", "many"], &folder);
    succeed(&["join", "whole", "few", "many"], &folder);
    let whole = fs::read(folder.join("whole")).unwrap();
    fs::write(folder.join("out.part"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.join("out.state"), r#"["few", "many"]"#).unwrap();
    let told = complain(&["join", "out", "many"], &folder, 1);
    assert!(told.contains("unfinished run with other parts"), "{told}");
    succeed(&["join", "out", "few", "many"], &folder);
    assert!(fs::read(folder.join("out")).unwrap() == whole);
    assert_eq!(names(&folder), ["few", "few.pgn", "many", "many.pgn", "out", "whole"]);
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
        (&["join", "o", "few.pgn"], 1, "not a game file"),
        (&["join", "o", "few", "./few"], 1, "few and ./few are the same file"),
        (&["inspect", "there"], 1, "not a game file"),
        (&["inspect", "none"], 1, "none"),
    ] {
        let told = complain(arguments, &folder, code);
        assert!(told.contains(expected), "{arguments:?}: {told}");
        assert!(!folder.join("o").exists() && !folder.join("o.part").exists());
    }
    assert_eq!(fs::read(folder.join("few.pgn")).unwrap(), include_bytes!("data/games.pgn"));
}
