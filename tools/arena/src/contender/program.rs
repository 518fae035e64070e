//! A UCI engine in a process of its own.
//!
//! Source: Stefan Meyer-Kahlen, "Description of the universal chess interface", April 2006.

use super::{Answer, EngineCommand, Fault, Opponent};
use crate::course::Course;
use crate::limits::Turn;
use fianchetto::chess::notation;
use fianchetto::search::Score;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Lines of an engine that may wait; more and the engine does.
const LINES_WAITING: usize = 1024;

/// Bytes of a line that count; a program that writes more without an end of line writes no UCI.
const LINE_MAX: u64 = 1 << 16;

/// How long a program may take to end by itself.
const FAREWELL: Duration = Duration::from_millis(500);

/// A UCI engine.
pub struct Program {
    command: EngineCommand,
    patience: Duration,
    running: Option<Running>,
}

struct Running {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Program {
    /// An engine that is not started yet. It may take so long to get ready.
    pub fn new(command: EngineCommand, patience: Duration) -> Self {
        Self { command, patience, running: None }
    }

    /// Starts the program, unless it runs, and sets its options.
    ///
    /// # Errors
    /// When that does not work.
    pub fn start(&mut self) -> Result<(), Fault> {
        if self.running.is_some() {
            return Ok(());
        }
        let EngineCommand { program, arguments, options } = &self.command;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| {
            Fault::Unusable(format!(
                "cannot start {program}: {error}; expected a program: check its name and rights"
            ))
        })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Fault::Unusable(format!("cannot speak with {program}; try again")));
        };
        let (sender, lines) = sync_channel(LINES_WAITING);
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(line) = read_line(&mut output) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut running = Running { child, input, lines };
        running.set_up(options, self.patience).map_err(|fault| {
            Fault::Unusable(format!(
                "{program} is not ready to play: {fault}; expected a UCI engine that has these options"
            ))
        })?;
        self.running = Some(running);
        Ok(())
    }

    /// What `work` gives; a program that fails it is not to be used any more.
    fn with<T>(&mut self, work: impl FnOnce(&mut Running) -> Result<T, Fault>) -> Result<T, Fault> {
        let running = self.running.as_mut().ok_or_else(|| Fault::Died("it is gone".to_owned()))?;
        let done = work(running);
        if matches!(done, Err(Fault::NoAnswer | Fault::Died(_))) {
            self.running = None;
        }
        done
    }
}

impl Opponent for Program {
    fn new_game(&mut self, _number: u64) -> Result<(), Fault> {
        self.start()?;
        let patience = self.patience;
        self.with(|running| {
            running.say("ucinewgame")?;
            running.ready(patience)
        })
        .map_err(|fault| Fault::Unusable(format!("a new game could not begin: {fault}")))
    }

    fn choose(&mut self, course: &Course, turn: &Turn) -> Result<Answer, Fault> {
        self.with(|running| {
            running.say(&course.command())?;
            running.say(&turn.command(course.game().board().side_to_move()))?;
            running.answer(course, turn.deadline)
        })
    }
}

/// The next line, or as much of it as counts; `None` at the end.
fn read_line(output: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let read = output.take(LINE_MAX).read_until(b'\n', &mut line);
    let is_some = read.is_ok_and(|bytes| bytes > 0);
    is_some.then(|| String::from_utf8_lossy(&line).trim().to_owned())
}

/// What sets an option. A button has no value, and a text without characters has a name in the protocol.
fn setoption(name: &str, declaration: &str, value: &str) -> String {
    match (declaration.split_whitespace().next(), value) {
        (Some("button"), _) => format!("setoption name {name}"),
        (Some("string"), "") => format!("setoption name {name} value <empty>"),
        _ => format!("setoption name {name} value {value}"),
    }
}

/// What an option expects that does not take a value, by its declaration after the word `type`. Engines ignore
/// such values, and would play otherwise than it says.
fn refused(declaration: &str, value: &str) -> Option<String> {
    let words: Vec<&str> = declaration.split_whitespace().collect();
    let number = |key: &str| {
        let place = words.iter().position(|&word| word == key)?;
        words.get(place + 1)?.parse::<i64>().ok()
    };
    match words.first() {
        Some(&"spin") => {
            let (min, max) = (number("min").unwrap_or(i64::MIN), number("max").unwrap_or(i64::MAX));
            let fits = value.parse().is_ok_and(|value: i64| (min..=max).contains(&value));
            (!fits).then(|| format!("a whole number from {min} to {max}"))
        }
        Some(&"check") => (!["true", "false"].contains(&value)).then(|| "true or false".to_owned()),
        Some(&"button") => (!value.is_empty()).then(|| "a button, which takes no value".to_owned()),
        Some(&"combo") => {
            // A choice may have several words.
            let choices: Vec<&str> = declaration.split(" var ").skip(1).map(str::trim).collect();
            let fits = choices.iter().any(|choice| choice.eq_ignore_ascii_case(value));
            (!fits).then(|| format!("one of {}", choices.join(", ")))
        }
        _ => None,
    }
}

impl Running {
    fn set_up(&mut self, options: &[(String, String)], patience: Duration) -> Result<(), Fault> {
        self.say("uci")?;
        let mut declared = Vec::new();
        let end = Instant::now() + patience;
        loop {
            let line = self.line(end)?;
            if line == "uciok" {
                break;
            }
            if let Some(option) = line.strip_prefix("option name ") {
                let (name, kind) = option.split_once(" type ").unwrap_or((option, ""));
                declared.push((name.trim().to_owned(), kind.to_owned()));
            }
        }
        for (name, value) in options {
            let Some((_, kind)) =
                declared.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))
            else {
                let names: Vec<_> = declared.into_iter().map(|(name, _)| name).collect();
                let names = names.join(", ");
                return Err(Fault::Unusable(format!("it has no option {name:?}, only {names}")));
            };
            if let Some(expected) = refused(kind, value) {
                return Err(Fault::Unusable(format!(
                    "its option {name:?} is {expected}, found {value:?}"
                )));
            }
            self.say(&setoption(name, kind, value))?;
        }
        self.ready(patience)
    }

    fn ready(&mut self, patience: Duration) -> Result<(), Fault> {
        self.say("isready")?;
        let end = Instant::now() + patience;
        while self.line(end)? != "readyok" {}
        Ok(())
    }

    fn say(&mut self, line: &str) -> Result<(), Fault> {
        let said = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        said.map_err(|_| self.died())
    }

    fn line(&mut self, end: Instant) -> Result<String, Fault> {
        // Whoever never stops talking has no answer either.
        if Instant::now() >= end {
            return Err(Fault::NoAnswer);
        }
        match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => Err(Fault::NoAnswer),
            Err(RecvTimeoutError::Disconnected) => Err(self.died()),
        }
    }

    fn died(&mut self) -> Fault {
        let end = Instant::now() + FAREWELL;
        while Instant::now() < end {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Fault::Died(status.to_string());
            }
            thread::sleep(Duration::from_millis(2));
        }
        Fault::Died("it closed its output".to_owned())
    }

    fn answer(&mut self, course: &Course, deadline: Duration) -> Result<Answer, Fault> {
        let end = Instant::now() + deadline;
        let mut told = Told::default();
        loop {
            let line = self.line(end)?;
            let mut words = line.split_whitespace();
            match words.next() {
                Some("info") => told.read(words),
                Some("bestmove") => {
                    let text = words.next().unwrap_or("(none)");
                    let best = notation::from_uci(course.game().board(), text)
                        .map_err(|_| Fault::Illegal(text.to_owned()))?;
                    let Told { score, depth, nodes } = told;
                    return Ok(Answer { best, score, depth, nodes, ranking: Vec::new() });
                }
                _ => {}
            }
        }
    }
}

/// What `info` lines say of the best line, the last of them.
#[derive(Debug, Default, PartialEq)]
struct Told {
    score: Option<Score>,
    depth: Option<u32>,
    nodes: Option<u64>,
}

impl Told {
    /// Takes over what a line says, unless it is about another than the best line.
    fn read<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        let mut words = words;
        let (mut score, mut depth) = (None, None);
        while let Some(word) = words.next() {
            match word {
                "string" | "pv" => break,
                "multipv" if words.next() != Some("1") => return,
                "depth" => depth = words.next().and_then(|text| text.parse().ok()),
                "nodes" => {
                    let nodes = words.next().and_then(|text| text.parse().ok());
                    self.nodes = nodes.or(self.nodes);
                }
                "score" => {
                    let unit = words.next();
                    let number = words.next().and_then(|text| text.parse().ok());
                    score = match unit {
                        Some("cp") => number.map(Score::Centipawns),
                        Some("mate") => number.map(Score::Mate),
                        _ => None,
                    };
                }
                _ => {}
            }
        }
        if score.is_some() {
            (self.score, self.depth) = (score, depth);
        }
    }
}

impl Drop for Running {
    /// Asks the program to end, and ends it if it does not.
    fn drop(&mut self) {
        let asked = writeln!(self.input, "stop\nquit").and_then(|()| self.input.flush());
        let end = Instant::now() + if asked.is_ok() { FAREWELL } else { Duration::ZERO };
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            // Its lines must not stop it from reading.
            while self.lines.try_recv().is_ok() {}
            thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn reads_info_lines() {
        for (line, expected) in [
            (
                "depth 5 seldepth 7 score cp -31 nodes 3 pv e2e4",
                (Some(Score::Centipawns(-31)), Some(5), Some(3)),
            ),
            ("score mate 3 upperbound depth 2", (Some(Score::Mate(3)), Some(2), None)),
            ("depth 3 multipv 2 score cp 9", (None, None, None)),
            ("depth 3 multipv 1 score cp 9", (Some(Score::Centipawns(9)), Some(3), None)),
            ("depth 3 currmove e2e4 currmovenumber 1", (None, None, None)),
            ("nodes 17 nps 5", (None, None, Some(17))),
            ("nodes -17", (None, None, None)),
            ("string score cp 9", (None, None, None)),
            ("depth x score cp", (None, None, None)),
        ] {
            let mut told = Told::default();
            told.read(line.split_whitespace());
            assert_eq!((told.score, told.depth, told.nodes), expected, "{line}");
        }
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut output = BufReader::new(io::repeat(b'x'));
        assert_eq!(read_line(&mut output).map(|line| line.len()), Some(LINE_MAX as usize));
        let mut output = &b"uciok\r\n\nlast"[..];
        let lines = std::iter::from_fn(|| read_line(&mut output)).collect::<Vec<_>>();
        assert_eq!(lines, ["uciok", "", "last"]);
    }
}
