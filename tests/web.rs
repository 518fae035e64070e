//! The browser board's server, over plain sockets and with players that do as they are told.
#![cfg(feature = "web")]

#[path = "web/site.rs"]
mod site;

use fianchetto::uci::PlayerKind;
use fianchetto::web::{Play, Server};
use serde_json::{Value, json};
use site::{events, ply, seat, site, site_of};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

#[test]
fn the_page_is_served_and_nothing_else() {
    let site = site();
    let host = &site.address;
    let (status, head, body) =
        site.raw(format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes());
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/html") && body.contains("<title>Fianchetto"));
    for policy in ["default-src 'none'", "frame-ancestors 'none'", "nosniff"] {
        assert!(head.contains(policy), "{head}");
    }
    let (status, head, body) = site.raw(
        format!("HEAD /main.js HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
    );
    assert_eq!((status, body.as_str()), (200, ""));
    assert!(head.contains("text/javascript"));
    for (request, expected) in [
        ("GET /../Cargo.toml", 404),
        ("GET /main.js/", 404),
        ("GET /api/games", 404),
        ("GET /api/games/0123", 404),
        ("POST /", 405),
        ("DELETE /api/games", 405),
    ] {
        let status = site.status(&format!("{request} HTTP/1.1\r\nHost: {host}"));
        assert_eq!(status, expected, "{request}");
    }
    let game = site.game();
    assert_eq!(site.send("GET", &format!("{game}/move"), "").0, 405);
    assert_eq!(site.send("POST", &format!("{game}/events"), "").0, 405);
    assert_eq!(site.send("GET", &format!("{game}/moves"), "").0, 404);
    assert_eq!(site.send("GET", &format!("{game}/move/on"), "").0, 404);
}

#[test]
fn other_sites_and_other_names_are_refused() {
    let site = site();
    let host = &site.address;
    let port = host.rsplit_once(':').unwrap().1;
    for (headers, expected) in [
        (format!("Host: {host}"), 200),
        (format!("Host: localhost:{port}"), 200),
        ("Host: localhost".to_owned(), 200),
        (format!("Host: [::1]:{port}"), 200),
        (format!("Host: evil.example:{port}"), 403),
        (format!("Host: 127.0.0.1.evil.example:{port}"), 403),
        (format!("Host: localhost.:{port}"), 403),
        ("X: y".to_owned(), 403),
        (format!("Host: {host}\r\nOrigin: http://{host}"), 200),
        (format!("Host: {host}\r\nOrigin: http://evil.example"), 403),
        (format!("Host: {host}\r\nOrigin: https://{host}"), 403),
        (format!("Host: {host}\r\nOrigin: http://localhost:3000"), 403),
        (format!("Host: {host}\r\nOrigin: null"), 403),
        (format!("Host: {host}\r\nHost: evil.example"), 400),
    ] {
        assert_eq!(site.status(&format!("GET / HTTP/1.1\r\n{headers}")), expected, "{headers}");
    }
}

#[test]
fn bodies_and_heads_have_limits() {
    let site = site();
    let game = site.game();
    let host = &site.address;
    let head = format!("POST {game}/new HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    let (status, _, body) = site.raw(format!("{head}Content-Length: 300000\r\n\r\n").as_bytes());
    assert_eq!(status, 413);
    assert!(body.contains("300000 bytes") && body.contains("262144"), "{body}");
    // The answer can be read although the body is still on its way.
    let mut large = format!("{head}Content-Length: 9000000\r\n\r\n").into_bytes();
    large.resize(large.len() + 9_000_000, b'x');
    assert_eq!(site.raw(&large).0, 413);
    let chunked = |chunk: &str| {
        let length = chunk.len();
        let body = format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{chunk}\r\n0\r\n\r\n");
        site.raw(format!("{head}{body}").as_bytes()).0
    };
    assert_eq!((chunked("{}"), chunked("{"), chunked(&"x".repeat(300_000))), (200, 400, 413));
    assert_eq!(site.raw(format!("{head}Cookie: {}\r\n\r\n", "x".repeat(20_000)).as_bytes()).0, 431);
    assert_eq!(site.raw(b"\x16\x03\x01 this is no HTTP\r\n\r\n").0, 400);
    for body in
        ["", "{", "[]", "{\"fen\": 1}", "{\"fan\": \"\"}", "{\"white\": {\"kind\": \"god\"}}"]
    {
        assert_eq!(site.send("POST", &format!("{game}/new"), body).0, 400, "{body}");
    }
}

#[test]
fn slow_clients_are_sent_away_and_hold_up_nobody() {
    let site = site();
    let begun = Instant::now();
    let mut slow = site.connect();
    slow.write_all(b"GET / HTT").unwrap();
    let game = site.game();
    let mut slow_body = site.connect();
    let host = &site.address;
    write!(slow_body, "POST {game}/move HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n{{")
        .unwrap();
    assert_eq!(ply(&site.state(&game)), 0);
    // Who has not asked anything yet is not answered.
    for (mut stream, expected) in [(slow, ""), (slow_body, "HTTP/1.1 408 ")] {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with(expected) && answer.is_empty() == expected.is_empty(),
            "{answer}"
        );
    }
    assert!(begun.elapsed() >= Duration::from_secs(9));
}

#[test]
fn requests_follow_each_other_on_a_connection() {
    let site = site();
    let mut stream = site.connect();
    let host = &site.address;
    let request = format!("GET /icon.svg HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let last = format!("GET /icon.svg HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(format!("{request}{request}{last}").as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 3);
}

#[test]
fn a_move_is_answered_and_told() {
    let site = site();
    let game = site.game();
    let mut told = events(&site, &game);
    let (name, state) = told.next().unwrap();
    assert_eq!((name.as_str(), ply(&state)), ("state", 0));
    assert_eq!(state["legal"].as_array().unwrap().len(), 20);
    let (status, _) = site.play(&game, 0, "e2e4");
    assert_eq!(status, 200);
    let (_, state) = told.find(|(name, state)| name == "state" && ply(state) == 2).unwrap();
    assert_eq!(state["moves"][0], json!({ "uci": "e2e4", "san": "e4" }));
    assert_eq!(state["turn"], "white");
    // What the policy thinks is told from White's side.
    let thoughts = told.find(|(name, thoughts)| {
        name == "thoughts"
            && thoughts["position"] == state["position"]
            && !thoughts["analyst"].is_null()
    });
    let thought = &thoughts.unwrap().1["analyst"];
    assert_eq!((&thought["value"], &thought["lines"][0]["p"]), (&json!(0.5), &json!(0.25)));
    site.play(&game, 2, "Nf3");
    site.wait(&game, |state| ply(state) == 4);
}

#[test]
fn what_is_sent_twice_out_of_turn_or_against_the_rules_is_refused() {
    let site = site();
    let game = site.game();
    site.seats(&game, seat("person"), seat("mcts"));
    assert_eq!(site.play(&game, 0, "e2e4").0, 200);
    for (at, mv) in [(0, "e2e4"), (0, "d2d4"), (1, "e7e5"), (7, "e7e5")] {
        let (status, answer) = site.play(&game, at, mv);
        assert_eq!(status, 409, "{at} {mv}");
        assert_eq!(ply(&answer["state"]), 1);
        assert!(answer["error"].is_string());
    }
    site.seats(&game, seat("person"), seat("person"));
    for (mv, reason) in [
        ("e7e4", "not legal"),
        ("e2e4", "no piece on e2"),
        ("d2d4", "White's, but Black is to move"),
        ("Ke3", "not legal"),
        ("hello", "algebraic notation"),
        ("", "algebraic notation"),
    ] {
        let (status, answer) = site.play(&game, 1, mv);
        assert_eq!(status, 422, "{mv}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(reason), "{mv}: {error}");
        assert_eq!(ply(&answer["state"]), 1);
    }
    site.post(&format!("{game}/new"), json!({ "fen": "7k/8/5KQ1/8/8/8/8/8 w - - 0 1" }));
    assert_eq!(site.play(&game, 0, "g6g7").0, 200);
    let (status, answer) = site.play(&game, 1, "h8g8");
    assert_eq!(status, 409);
    assert_eq!(answer["state"]["outcome"]["reason"], "White wins by checkmate");
}

#[test]
fn searches_are_cancelled_and_hold_up_nobody() {
    let site = site();
    let games: Vec<String> = (0..6).map(|_| site.game()).collect();
    for game in &games {
        site.seats(game, seat("person"), seat("mcts"));
        site.play(game, 0, "e2e4");
    }
    // There are four players of a kind; the others wait for one.
    site.wait_running(4);
    let other = site.game();
    site.play(&other, 0, "d2d4");
    site.wait(&other, |state| ply(state) == 2);
    // One that is taken back makes room for one that waits.
    for (i, game) in games.iter().enumerate() {
        let (status, state) = site.post(&format!("{game}/goto"), json!({ "ply": 0 }));
        assert_eq!((status, ply(&state), &state["thinking"]), (200, 0, &json!(false)));
        site.wait_running((5 - i).min(4));
    }
    for game in &games {
        assert_eq!(ply(&site.state(game)), 0, "what a cancelled search finds is not played");
    }
    // The players are in order after all that.
    site.play(&games[0], 0, "e2e4");
    site.wait_running(1);
    site.post(&format!("{}/settings", games[0]), json!({ "paused": true }));
    site.wait_running(0);
}

#[test]
fn players_that_fail_are_told_about() {
    let site = site();
    let game = site.game();
    for (kind, reason) in [("from-to", "no weights"), ("minimax", "which is a bug: on purpose")] {
        site.seats(&game, seat(kind), seat("person"));
        let state = site.wait(&game, |state| state["problem"].is_string());
        assert!(state["problem"].as_str().unwrap().contains(reason), "{state}");
        assert_eq!((ply(&state), &state["thinking"]), (0, &json!(false)));
    }
    // More often than there are players.
    for _ in 0..10 {
        site.post(&format!("{game}/settings"), json!({ "paused": false }));
        site.wait(&game, |state| state["problem"].is_string());
    }
    site.seats(&game, seat("policy"), seat("person"));
    let state = site.wait(&game, |state| ply(state) == 1);
    assert!(state["problem"].is_null());
}

#[test]
fn players_that_do_not_suit_the_network_are_neither_offered_nor_taken() {
    let site =
        site_of(Play { players: vec![PlayerKind::Policy, PlayerKind::Mcts], ..Play::default() });
    let game = site.game();
    assert_eq!(site.state(&game)["players"], json!(["policy", "mcts"]));
    let (status, answer) = site
        .post(&format!("{game}/settings"), json!({ "black": { "kind": "minimax", "depth": 1 } }));
    let expected = "minimax cannot play with this network, expected policy or mcts";
    assert_eq!((status, &answer["error"]), (422, &json!(expected)));
}

#[test]
fn settings_out_of_range_are_refused() {
    let site = site();
    let game = site.game();
    for (settings, reason) in [
        (json!({ "white": { "kind": "mcts", "nodes": 0 } }), "from 1 to"),
        (json!({ "analysis": { "kind": "minimax", "depth": 61 } }), "from 0 to 60"),
        (json!({ "pace": 10_001 }), "at most 10000"),
    ] {
        let (status, answer) = site.post(&format!("{game}/settings"), settings);
        assert_eq!(status, 422);
        assert!(answer["error"].as_str().unwrap().contains(reason), "{answer}");
    }
    let (status, answer) = site.post(&format!("{game}/goto"), json!({ "ply": 3 }));
    assert_eq!((status, &answer["error"]), (422, &json!("the game has 0 plies, not 3")));
}

#[test]
fn engines_play_each_other_to_the_end_and_wait_when_told() {
    let site = site();
    let game = site.game();
    site.post(&format!("{game}/settings"), json!({ "pace": 10_000 }));
    site.seats(&game, seat("policy"), seat("policy"));
    assert_eq!(ply(&site.state(&game)), 0, "the first move takes its time");
    site.post(&format!("{game}/settings"), json!({ "pace": 0, "paused": true }));
    assert_eq!(site.state(&game)["thinking"], false);
    let before = site.state(&game);
    site.post(&format!("{game}/settings"), json!({ "paused": false }));
    let state = site.wait(&game, |state| !state["outcome"].is_null());
    assert!(ply(&state) > ply(&before) && state["thinking"] == false, "{state}");
    // Back in the game they wait for a word.
    let (_, state) = site.post(&format!("{game}/goto"), json!({ "ply": 2 }));
    assert_eq!((ply(&state), &state["paused"]), (2, &json!(true)));
}

#[test]
fn games_come_and_go_as_text() {
    let site = site();
    let game = site.game();
    let new = |body: Value| site.post(&format!("{game}/new"), body);
    let text = "[FEN \"r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1\"]\n\n1. O-O {safe} O-O-O 2. Ra2 1-0";
    let (status, state) = new(json!({ "pgn": text, "black": { "kind": "person" } }));
    assert_eq!((status, ply(&state)), (200, 3), "{state}");
    let (status, saved) = site.send("GET", &format!("{game}/pgn"), "");
    assert_eq!(status, 200);
    assert!(saved.contains("[FEN \"r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1\"]"), "{saved}");
    assert!(saved.ends_with("\n\n1. O-O {safe} 1... O-O-O 2. Ra2 1-0\n"), "{saved}");
    let (_, again) = new(json!({ "pgn": saved }));
    assert_eq!(again["moves"], state["moves"]);
    // The text's own tags stay, until it is another game.
    let tags = "[White \"A \\\"B\\\"\"]\n[Result \"0-1\"]\n[ECO \"A00\"]\n";
    let people = json!({ "kind": "person" });
    let body = json!({ "pgn": format!("{tags}1. g4 e5 0-1"), "white": people, "black": people });
    assert_eq!(new(body).0, 200);
    let saved = || site.send("GET", &format!("{game}/pgn"), "").1;
    assert_eq!(saved(), format!("{tags}\n1. g4 e5 0-1\n"));
    assert_eq!(site.play(&game, 2, "f3").0, 200);
    // It goes on: the same game, but its result is open.
    let open = tags.replace("0-1", "*");
    assert_eq!(saved(), format!("{open}\n1. g4 e5 2. f3 *\n"));
    site.post(&format!("{game}/goto"), json!({ "ply": 1 }));
    assert_eq!(site.play(&game, 1, "d5").0, 200);
    assert!(saved().contains("[White \"Person\"]") && saved().ends_with("1. g4 d5 *\n"));
    new(json!({ "pgn": text }));
    for (body, reason) in [
        (json!({ "pgn": "1. e4 e4" }), "line 1, move 1...: move \"e4\" cannot be played"),
        (json!({ "fen": "8/8 w" }), "expected 8"),
        (json!({ "fen": "startpos", "pgn": "*" }), "found both"),
    ] {
        let (status, answer) = new(body);
        assert_eq!((status, ply(&answer["state"])), (422, 3));
        assert!(answer["error"].as_str().unwrap().contains(reason), "{answer}");
    }
    let (_, state) = new(json!({ "fen": "4k3/8/8/8/8/8/4P3/4K3 w K - 0 1" }));
    assert_eq!(state["notes"], json!(["castling right 'K' dropped: no rook on h1"]));
}

#[test]
fn the_next_port_is_taken_when_one_is_not_free() {
    let first = Server::bind(0).unwrap();
    let port = |server: &Server| -> u16 {
        server.url().trim_end_matches('/').rsplit_once(':').unwrap().1.parse().unwrap()
    };
    let second = Server::bind(port(&first)).unwrap();
    assert!(port(&second) > port(&first));
}
