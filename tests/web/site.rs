//! A server with players that do as they are told, and a client on plain sockets.

use fianchetto::chess::Game;
use fianchetto::search::{Choice, Limits, Line, PlayError, Player, Report, Settings};
use fianchetto::uci::{Options, PlayerKind};
use fianchetto::web::{Play, Server};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take on a crowded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Searches of [`Endless`] that go on.
type Running = Arc<AtomicUsize>;

/// Plays the first legal move.
struct First;

/// Thinks until told to stop.
struct Endless(Running);

/// Breaks down.
struct Broken;

impl Player for First {
    fn name(&self) -> String {
        "first".into()
    }

    fn configure(&mut self, _: &Settings) {}

    fn choose(
        &mut self,
        game: &Game,
        _: &Limits,
        _: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Choice, PlayError> {
        let best = game.legal_moves()[0];
        let line = Line { moves: vec![best], probability: Some(0.25), ..Line::default() };
        report(&Report { nodes: 1, value: Some(0.5), lines: vec![line], ..Report::default() });
        Ok(Choice { best: Some(best), ponder: None })
    }
}

impl Player for Endless {
    fn name(&self) -> String {
        "endless".into()
    }

    fn configure(&mut self, _: &Settings) {}

    fn choose(
        &mut self,
        game: &Game,
        limits: &Limits,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Choice, PlayError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        while !stop.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(2));
        }
        self.0.fetch_sub(1, Ordering::SeqCst);
        First.choose(game, limits, stop, report)
    }
}

impl Player for Broken {
    fn name(&self) -> String {
        "broken".into()
    }

    fn configure(&mut self, _: &Settings) {}

    fn choose(
        &mut self,
        _: &Game,
        _: &Limits,
        _: &AtomicBool,
        _: &mut dyn FnMut(&Report),
    ) -> Result<Choice, PlayError> {
        panic!("on purpose")
    }
}

/// A server and what runs on it.
pub struct Site {
    pub address: String,
    running: Running,
}

pub fn site() -> Site {
    site_of(Play::default())
}

pub fn site_of(play: Play) -> Site {
    let running = Running::default();
    let server = Server::bind(0).unwrap();
    let url = server.url();
    let address = url.strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
    let made = running.clone();
    thread::spawn(move || {
        server.run(play, move |options: &Options| match options.player {
            PlayerKind::Policy => Ok(Box::new(First) as Box<dyn Player>),
            PlayerKind::Mcts => Ok(Box::new(Endless(made.clone()))),
            PlayerKind::Minimax => Ok(Box::new(Broken)),
            PlayerKind::FromTo => Err("there are no weights".into()),
        })
    });
    Site { address, running }
}

impl Site {
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends these bytes; gives the status, the head and the body of the answer.
    pub fn raw(&self, bytes: &[u8]) -> (u16, String, String) {
        let mut stream = self.connect();
        // The server may have refused before all is sent.
        let _ = stream.write_all(bytes);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).map_or(0, |status| status.parse().unwrap());
        (status, head.to_owned(), body.to_owned())
    }

    pub fn status(&self, head: &str) -> u16 {
        self.raw(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).0
    }

    pub fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let Self { address, .. } = self;
        let length = body.len();
        let (status, _, body) = self.raw(
            format!(
                "{method} {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\
                 Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )
            .as_bytes(),
        );
        (status, body)
    }

    pub fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let (status, body) = self.send("POST", path, &body.to_string());
        (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{body:?}: {error}")))
    }

    /// The path of a new game.
    pub fn game(&self) -> String {
        let (status, state) = self.post("/api/games", json!({}));
        assert_eq!(status, 201);
        format!("/api/games/{}", state["id"].as_str().unwrap())
    }

    pub fn state(&self, game: &str) -> Value {
        let (status, body) = self.send("GET", game, "");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// The state as soon as it is as wanted.
    pub fn wait(&self, game: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let state = self.state(game);
            if wanted(&state) {
                return state;
            }
            assert!(Instant::now() < end, "{state}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn wait_running(&self, count: usize) {
        let end = Instant::now() + PATIENCE;
        while self.running.load(Ordering::SeqCst) != count {
            assert!(Instant::now() < end, "{:?} searches run, not {count}", self.running);
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Seats for both sides.
    pub fn seats(&self, game: &str, white: Value, black: Value) {
        let (status, answer) =
            self.post(&format!("{game}/settings"), json!({ "white": white, "black": black }));
        assert_eq!(status, 200, "{answer}");
    }

    pub fn play(&self, game: &str, ply: usize, mv: &str) -> (u16, Value) {
        self.post(&format!("{game}/move"), json!({ "ply": ply, "move": mv }))
    }
}

pub fn seat(kind: &str) -> Value {
    match kind {
        "mcts" => json!({ "kind": kind, "nodes": 100 }),
        "minimax" | "from-to" => json!({ "kind": kind, "depth": 2 }),
        _ => json!({ "kind": kind }),
    }
}

pub fn ply(state: &Value) -> u64 {
    state["ply"].as_u64().unwrap()
}

/// Server-sent events, as names and values.
pub fn events(site: &Site, game: &str) -> impl Iterator<Item = (String, Value)> + use<> {
    let mut stream = site.connect();
    let address = &site.address;
    write!(stream, "GET {game}/events HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "HTTP/1.1 200 OK");
    let mut name = String::new();
    lines.filter_map(move |line| {
        if let Some(event) = line.strip_prefix("event: ") {
            name = event.to_owned();
        }
        let data = line.strip_prefix("data: ")?;
        Some((name.clone(), serde_json::from_str(data).unwrap()))
    })
}
