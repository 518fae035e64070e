//! Plays the cases of `uci_sessions.txt`; their form is described there.

use crate::launch;
use crate::players;
use crate::random_weights;
use crate::talk::Talk;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const SESSIONS: &str = include_str!("../data/uci_sessions.txt");

#[test]
fn the_program_answers_as_written() {
    play_cases(|player| ["program", "network"].contains(&player), &[]);
}

#[test]
fn the_program_with_a_tree_search_answers_as_written() {
    play_cases(|player| player == "program", &["--player", "mcts", "--nodes", "100"]);
}

#[test]
fn the_program_with_minimax_answers_as_written() {
    play_cases(|player| player == "program", &["--player", "minimax"]);
}

#[test]
fn the_program_with_from_to_answers_as_written() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("uci-pair.safetensors");
    let weights = random_weights::file(&random_weights::pair(4, 5), 1);
    std::fs::write(&file, weights).unwrap();
    let file = file.to_str().expect("the path is UTF-8");
    play_cases(|player| player == "program", &["--player", "from-to", "--weights", file]);
}

#[test]
fn the_session_handles_every_kind_of_player() {
    play_cases(|player| !["program", "network"].contains(&player), &[]);
}

fn play_cases(chosen: impl Fn(&str) -> bool, arguments: &[&str]) {
    let mut played = 0;
    let mut failures = Vec::new();
    let begin = SESSIONS.find("\n== ").expect("there are cases");
    for case in SESSIONS[begin..].split("\n== ").skip(1) {
        let (title, steps) = case.split_once('\n').expect("a case has steps");
        let (player, _) = title.split_once(": ").expect("a title is PLAYER: text");
        if chosen(player) {
            played += 1;
            let mut scene = Scene::begin(player, steps, arguments);
            if let Err(message) = scene.play(steps) {
                failures.push(format!("== {title}\n{message}\nsaid:\n{}", scene.said.join("\n")));
            }
        }
    }
    assert!(played > 10, "only {played} cases were found");
    let count = failures.len();
    assert!(count == 0, "{count} of {played} cases failed\n\n{}", failures.join("\n\n"));
}

struct Scene {
    talk: Talk,
    /// Every line so far.
    said: Vec<String>,
    forbidden: Vec<String>,
    within: Duration,
    /// Lines to be sent in one write.
    unsent: String,
}

impl Scene {
    fn begin(player: &str, steps: &str, arguments: &[&str]) -> Self {
        let talk = match player {
            "program" | "network" => Talk::with_program(arguments),
            name => Talk::with_player(players::maker(name)),
        };
        let forbidden = steps.lines().filter_map(|step| step.strip_prefix("! "));
        Self {
            talk,
            said: Vec::new(),
            forbidden: forbidden.map(String::from).collect(),
            within: launch::patience(Duration::from_secs(10)),
            unsent: String::new(),
        }
    }

    fn play(&mut self, steps: &str) -> Result<(), String> {
        for step in steps.lines().filter(|step| !step.is_empty() && !step.starts_with('#')) {
            let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
            if word != ">" && !self.unsent.is_empty() {
                let text = std::mem::take(&mut self.unsent);
                self.talk.send(text.as_bytes());
            }
            match word {
                ">" => {
                    self.unsent += &rest.replace("\\r", "\r").replace("\\t", "\t");
                    self.unsent.push('\n');
                }
                "<" => self.expect(rest)?,
                "pause" => self.pause(milliseconds(rest))?,
                "within" => self.within = launch::patience(milliseconds(rest)),
                "eof" => self.talk.end_input(),
                "quits" => return self.end(),
                "!" => {}
                _ => panic!("a step cannot begin with {word}"),
            }
        }
        if !self.unsent.is_empty() {
            return Err("the case ends with lines that nobody answers".into());
        }
        self.talk.end_input();
        self.end()
    }

    fn expect(&mut self, pattern: &str) -> Result<(), String> {
        let deadline = Instant::now() + self.within;
        while let Some(line) = self.hear(deadline)? {
            if matches(pattern, &line) {
                return Ok(());
            }
            if is_answer(&line) {
                return Err(format!("expected: {pattern}\nfound:    {line}"));
            }
        }
        Err(format!("expected: {pattern}\nfound:    nothing within {:?}", self.within))
    }

    fn pause(&mut self, time: Duration) -> Result<(), String> {
        let deadline = Instant::now() + time;
        while let Some(line) = self.hear(deadline)? {
            if is_answer(&line) {
                return Err(format!("expected no answer for {time:?}, found: {line}"));
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + self.within;
        while let Some(line) = self.hear(deadline)? {
            if is_answer(&line) {
                return Err(format!("expected the end, found: {line}"));
            }
        }
        if self.talk.ends(deadline) {
            Ok(())
        } else {
            Err(format!("expected the end with success within {:?}", self.within))
        }
    }

    /// The next line, if there is one before the deadline, checked and written down.
    fn hear(&mut self, deadline: Instant) -> Result<Option<String>, String> {
        let line = self.talk.line(deadline);
        if let Some(line) = &line {
            self.said.push(line.clone());
            if let Some(pattern) = self.forbidden.iter().find(|pattern| matches(pattern, line)) {
                return Err(format!("forbidden: {pattern}\nfound:     {line}"));
            }
        }
        Ok(line)
    }
}

fn milliseconds(text: &str) -> Duration {
    Duration::from_millis(text.parse().expect("a number of milliseconds"))
}

/// Whether a line must be accounted for.
fn is_answer(line: &str) -> bool {
    !["info ", "id ", "option "].iter().any(|word| line.starts_with(word))
}

/// Whether the whole line fits, where `*` fits any text.
fn matches(pattern: &str, line: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == line,
        Some((head, tail)) => line.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| matches(tail, &rest[at..]))
        }),
    }
}

#[test]
fn patterns() {
    for (pattern, line, expected) in [
        ("readyok", "readyok", true),
        ("readyok", "readyok ", false),
        ("bestmove *", "bestmove e2e4", true),
        ("bestmove *", "info bestmove e2e4", false),
        ("*pv*a*", "info pv e2e4 a7a6", true),
        ("*pv*z", "info pv e2e4 a7a6", false),
        ("*", "", true),
    ] {
        assert_eq!(matches(pattern, line), expected, "{pattern} on {line}");
    }
}
