//! Where the outputs go: through links, and never over what is no regular file.
#![cfg(unix)]

mod command;
mod common;

use command::{complain, fixture, names, prepare, run, succeed};
use fianchetto_prepare::partial;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::Path;

fn kept(report: &Path) -> u64 {
    let json: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    json["kept"].as_u64().unwrap()
}

#[test]
fn a_report_is_written_through_links() {
    let (folder, _) = fixture("outputs_links");
    fs::create_dir(folder.join("far")).unwrap();
    fs::write(folder.join("far/report"), "old").unwrap();
    symlink("far/report", folder.join("near")).unwrap();
    symlink("near", folder.join("link")).unwrap();
    succeed(&["pack", "few.pgn", "--out", "o", "--report", "link"], &folder);
    assert!(["near", "link"].iter().all(|name| folder.join(name).is_symlink()));
    assert_eq!(kept(&folder.join("far/report")), 300);
    assert_eq!(names(&folder.join("far")), ["report"]);
}

/// As `/dev/stdout` is one: a link to an open file, a pipe or a device.
#[test]
fn what_is_no_regular_file_is_refused_and_stays() {
    let (folder, _) = fixture("outputs_irregular");
    succeed(&["pack", "few.pgn", "--out", "few"], &folder);
    fs::create_dir(folder.join("dir")).unwrap();
    for (name, target) in [
        ("null", "/dev/null"),
        ("stdout", "/proc/self/fd/1"),
        ("nothing", "none"),
        ("folder", "dir"),
        ("p.part", "few.pgn"),
        ("s.state", "few.pgn"),
    ] {
        symlink(target, folder.join(name)).unwrap();
    }
    let before = names(&folder);
    for (arguments, told) in [
        (&["pack", "few.pgn", "--out", "o", "--report", "null"][..], "null is no regular file"),
        (&["pack", "few.pgn", "--out", "o", "--report", "nothing"], "nothing is a link to nothing"),
        (&["pack", "few.pgn", "--out", "o", "--report", "folder"], "folder is no regular file"),
        (&["pack", "few.pgn", "--out", "null"], "null is no regular file"),
        (&["pack", "few.pgn", "--out", "nothing"], "nothing is a link to nothing"),
        (&["pack", "many.pgn", "--out", "p"], "p.part is no regular file"),
        (&["pack", "many.pgn", "--out", "s"], "s.state is no regular file"),
        (&["join", "null", "few"], "null is no regular file"),
        (&["join", "p", "few"], "p.part is no regular file"),
        #[cfg(target_os = "linux")]
        (&["pack", "few.pgn", "--out", "o", "--report", "stdout"], "stdout is no regular file"),
    ] {
        let refusal = complain(arguments, &folder, 1);
        assert!(refusal.contains(told), "{refusal}");
        assert!(refusal.contains("expected a regular file or a new name; name another"));
        assert_eq!(names(&folder), before);
        assert!(["null", "stdout", "nothing"].iter().all(|name| folder.join(name).is_symlink()));
    }
}

/// Standard output that the shell has redirected to a regular file.
#[cfg(target_os = "linux")]
#[test]
fn a_redirected_standard_stream_is_no_place_for_an_output() {
    let (folder, _) = fixture("outputs_redirected");
    symlink("/proc/self/fd/1", folder.join("stdout")).unwrap();
    for arguments in [
        &["pack", "few.pgn", "--out", "o", "--report", "stdout"][..],
        &["pack", "few.pgn", "--out", "o", "--report", "told"],
        &["pack", "few.pgn", "--out", "stdout"],
        &["join", "stdout", "few.pgn"],
    ] {
        let told = File::create(folder.join("told")).unwrap();
        let output = prepare(arguments, &folder).stdout(told).output().unwrap();
        let refusal = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(refusal.contains("is a standard stream of this run, expected"), "{refusal}");
        assert!(folder.join("stdout").is_symlink());
        assert_eq!(names(&folder), ["few.pgn", "many.pgn", "stdout", "told"]);
    }
    let told = File::create(folder.join("told")).unwrap();
    let arguments = ["pack", "few.pgn", "--out", "o", "--report", "r"];
    assert!(prepare(&arguments, &folder).stdout(told).status().unwrap().success());
    assert_eq!(kept(&folder.join("r")), 300);
}

#[test]
fn a_report_is_not_lost_under_the_name_of_the_output() {
    let (folder, _) = fixture("outputs_same");
    fs::create_dir(folder.join("dir")).unwrap();
    symlink("dir", folder.join("link")).unwrap();
    for (out, report) in [
        ("y", "y"),
        ("y", "./y"),
        ("./y", "y"),
        ("y", "dir/../y"),
        ("dir/y", "link/y"),
        ("link/y", "dir/y"),
        ("link/y", "dir/y.part"),
        ("dir/y", "link/y.state"),
    ] {
        let arguments = ["pack", "few.pgn", "--out", out, "--report", report];
        let refusal = complain(&arguments, &folder, 1);
        assert!(refusal.contains("would be written over"), "{refusal}");
        assert!(refusal.contains("name another output"), "{refusal}");
        assert!(names(&folder.join("dir")).is_empty());
    }
    assert!(run(&["pack", "few.pgn", "--out", "y", "--report", "dir/y"], &folder).status.success());
    assert_eq!(kept(&folder.join("dir/y")), 300);
}

#[test]
fn half_a_file_is_not_left_behind() {
    let (folder, _) = fixture("outputs_half");
    let before = names(&folder).len();
    let path = folder.join("file");
    fs::write(&path, "old").unwrap();
    let full = partial::write_whole(&path, |file| {
        file.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(&folder).len(), before + 1);
}
