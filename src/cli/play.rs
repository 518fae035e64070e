//! `play`: the browser board.

use super::arguments::Play;
use super::{Failure, tell};
use fianchetto::engine;
use fianchetto::search::policy::Policy;
use fianchetto::uci::{Options, PlayerKind};
use fianchetto::web::{self, Server};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

pub fn run(wanted: &Play, options: Options, out: &mut impl Write) -> Result<(), Failure> {
    // What is wrong with the weights is told now, not in the page.
    let network = engine::suitable_network(&options).map_err(Failure::Work)?;
    let players = engine::players(&network);
    // The page asks for it at once: nobody waits for a second reading of the weights.
    let first = Options { player: PlayerKind::Policy, ..options.clone() };
    let ready = engine::evaluator_of(network, &first).map_err(Failure::Work)?;
    let ready = Mutex::new(Some(Policy::new(ready)));
    let port = wanted.port;
    let server = Server::bind(port).map_err(|error| {
        Failure::Work(format!("no page on port {port}: {error}; choose another one with --port"))
    })?;
    let url = server.url();
    writeln!(out, "{url} (Ctrl-C ends it)")?;
    out.flush()?;
    if !wanted.no_open && open(&url).is_err() {
        tell("the browser could not be opened; open the page yourself");
    }
    let play = web::Play { options, black: wanted.black, players };
    let make = move |options: &Options| {
        let ready = match options.same_player(&first) {
            true => ready.lock().unwrap_or_else(PoisonError::into_inner).take(),
            false => None,
        };
        ready.map_or_else(|| engine::player(options), |player| Ok(Box::new(player)))
    };
    server.run(play, make).map_err(|error| Failure::Work(format!("no page: {error}")))
}

/// Opens the page in the browser that the system knows.
fn open(url: &str) -> std::io::Result<()> {
    let (program, arguments): (_, &[&str]) = match std::env::consts::OS {
        "windows" => ("cmd", &["/C", "start", ""]),
        "macos" => ("open", &[]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(url);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(|_| ())
}
