//! `play`: the browser board.

use super::arguments::Play;
use super::{Failure, tell};
use fianchetto::engine;
use fianchetto::uci::Options;
use fianchetto::web::{self, Server};
use std::io::Write;
use std::process::{Command, Stdio};

pub fn run(wanted: &Play, options: Options, out: &mut impl Write) -> Result<(), Failure> {
    // What is wrong with the weights is told now, not in the page.
    engine::suitable_network(&options).map_err(Failure::Work)?;
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
    let play = web::Play { options, black: wanted.black };
    server.run(play, engine::player).map_err(|error| Failure::Work(format!("no page: {error}")))
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
