//! Runs that are killed, that meet each other, or that find what another one has left.

mod command;
mod common;

use command::{complain, fixture, names, prepare, succeed};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

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

#[test]
fn a_cut_part_is_told_with_one_advice() {
    let (folder, many) = fixture("pack_cut_part");
    let mut child = start(&many[..many.len() / 2], &folder);
    wait_for(|| blocks(&folder) > Some(0));
    child.kill().unwrap();
    child.wait().unwrap();
    let part = fs::read(folder.join("out.part")).unwrap();
    let mut flipped = part.clone();
    flipped[100] ^= 1;
    for (bytes, found) in [
        (&part[..part.len() / 4], "it is shorter than it was"),
        (&part[..5], "it is shorter than it was"),
        (&flipped, "a block does not match its checksum"),
        (&vec![b'x'; part.len()], "it does not begin as a game file"),
    ] {
        fs::write(folder.join("out.part"), bytes).unwrap();
        let told = complain(&["pack", "-", "--out", "out"], &folder, 1);
        assert_eq!(
            told.trim_end(),
            format!(
                "error: out.part: cannot go on: {found}, expected what the unfinished run had written; \
                 remove it and out.state to begin anew"
            )
        );
        assert!(fs::read(folder.join("out.part")).unwrap() == bytes);
    }
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
fn a_killed_expansion_goes_on_to_the_same_bytes() {
    let (folder, _) = fixture("expand_killed");
    succeed(&["pack", "many.pgn", "--out", "many"], &folder);
    let expand =
        |out| ["expand", "many", "--encoding", "canonical12", "--rate", "0.5", "--out", out];
    succeed(&expand("whole"), &folder);
    for left in ["out/partial/bucket-000", "out/shard-00002.npy"] {
        let mut child = prepare(&expand("out"), &folder).spawn().unwrap();
        wait_for(|| folder.join(left).exists());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    succeed(&expand("out"), &folder);
    let [out, whole] = ["out", "whole"].map(|name| folder.join(name));
    assert_eq!(names(&out), names(&whole));
    for name in names(&out) {
        assert!(fs::read(out.join(&name)).unwrap() == fs::read(whole.join(&name)).unwrap());
    }
}

/// A word on what the same command would do.
#[cfg(unix)]
#[test]
fn ctrl_c_is_answered() {
    let (folder, many) = fixture("ctrl_c");
    succeed(&["pack", "few.pgn", "--out", "few"], &folder);
    let interrupt = |mut child: Child, told: &str| {
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(1));
        let mut stderr = String::new();
        child.stderr.unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(stderr.trim(), format!("interrupted; give the same command again {told}"));
    };
    let child = start(&many[..1_000], &folder);
    wait_for(|| blocks(&folder).is_some());
    interrupt(child, "to go on from here");
    let stream = ["expand", "few", "--encoding", "canonical12", "--stream", "--epochs", "0"];
    let mut child = prepare(&stream, &folder).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    interrupt(child, "to begin anew");
}
