//! Sessions with the program that are too long or too odd to write down line by line.

use crate::launch::{self, patience};
use crate::talk::Talk;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Reads up to the line that begins with `start`.
fn wait_for(talk: &Talk, start: &str) -> String {
    let deadline = Instant::now() + patience(Duration::from_secs(10));
    loop {
        let line = talk.line(deadline).unwrap_or_else(|| panic!("no {start} came"));
        if line.starts_with(start) {
            return line;
        }
    }
}

#[test]
fn random_bytes_do_no_harm() {
    let mut talk = Talk::with_program(&[]);
    // xorshift64 (Marsaglia 2003): the same bytes in every run.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let noise: Vec<u8> = (0..20_000)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect();
    talk.send(&noise);
    talk.send(b"\nposition fen \xff\xfe\0 w\ngo depth \xf0\n");
    wait_for(&talk, "bestmove ");
    talk.send(b"isready\n");
    wait_for(&talk, "readyok");
    talk.end_input();
    assert!(talk.ends(Instant::now() + patience(Duration::from_secs(1))));
}

#[test]
fn a_long_game_is_read_quickly() {
    let mut talk = Talk::with_program(&[]);
    talk.send(b"isready\n");
    wait_for(&talk, "readyok");
    // 100 KB: knights out and home again, 5,000 times, ending with an open game's first move.
    let shuffle = "g1f3 g8f6 f3g1 f6g8 ".repeat(5_000);
    let begin = Instant::now();
    talk.send(format!("position startpos moves {shuffle}e2e4\nisready\n").as_bytes());
    wait_for(&talk, "readyok");
    let time = begin.elapsed();
    assert!(time < patience(Duration::from_secs(3)), "took {time:?}");
    talk.send(b"go searchmoves e7e5\n");
    assert!(wait_for(&talk, "bestmove ").starts_with("bestmove e7e5"));
}

#[test]
fn a_line_without_end_is_refused() {
    let mut talk = Talk::with_program(&[]);
    let mut line = vec![b'x'; 3 << 20];
    line.extend(b"\nisready\n");
    talk.send(&line);
    let deadline = Instant::now() + patience(Duration::from_secs(10));
    let refusal = "info string a line of more than 1048576 bytes was ignored";
    assert_eq!(talk.line(deadline).as_deref(), Some(refusal));
    wait_for(&talk, "readyok");
}

/// `go infinite` on a finished game: nothing is left to do, so nothing may be done.
#[cfg(target_os = "linux")]
#[test]
fn waiting_burns_no_time() {
    /// Processor time used, in ticks of 10 ms: fields 14 and 15 of proc(5)'s stat.
    fn ticks(process: u32) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
    }
    let mut talk = Talk::with_program(&[]);
    talk.send(b"position startpos moves f2f3 e7e5 g2g4 d8h4\nisready\n");
    wait_for(&talk, "readyok");
    talk.send(b"go infinite\n");
    wait_for(&talk, "info depth 0 ");
    let before = ticks(talk.process());
    assert_eq!(talk.line(Instant::now() + Duration::from_millis(500)), None);
    assert!(ticks(talk.process()) - before <= 5);
    talk.send(b"stop\n");
    assert_eq!(wait_for(&talk, "bestmove"), "bestmove 0000");
}

/// OpenBench runs several copies and compares their node counts.
#[test]
fn bench_counts_the_same_nodes_every_time() {
    let start = || {
        launch::program()
            .arg("bench")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts")
    };
    let nodes = [start(), start()].map(|child| {
        let output = child.wait_with_output().expect("the program ends");
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).expect("the output is UTF-8");
        let words: Vec<_> = text.lines().last().expect("a line").split(' ').collect();
        let [nodes, "nodes", nps, "nps"] = words[..] else {
            panic!("expected `N nodes N nps`, found {words:?}")
        };
        assert!(nps.parse::<u64>().is_ok_and(|nps| nps > 0), "found {nps} nps");
        nodes.parse::<u64>().expect("a number of nodes")
    });
    assert!(nodes[0] > 0);
    assert_eq!(nodes[0], nodes[1]);
}
