//! The command line: what `fianchetto` does besides speaking UCI, one file per command.

mod arguments;
mod bench;
mod describe;
mod predict;
mod search_speed;
mod speed;

use arguments::Command;
use fianchetto::engine;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// Why a command did not do its work.
pub enum Failure {
    /// The work failed; exit status 1.
    Work(String),
    /// The command line was wrong; exit status 2.
    Usage(String),
    /// Standard output is gone; nobody is there to be told.
    Output(io::Error),
}

impl Failure {
    /// Prints the message, one line, and gives the exit status.
    pub fn report(self) -> ExitCode {
        let (status, message) = match self {
            Self::Work(message) => (1, message),
            Self::Usage(message) => (2, format!("{message}; see fianchetto --help")),
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Self::Output(error) => (1, format!("cannot write the output: {error}")),
        };
        tell(&message);
        ExitCode::from(status)
    }
}

/// Writes a line to standard error. Where that is gone there is nothing left to do about it.
fn tell(message: &str) {
    let _ = writeln!(io::stderr(), "fianchetto: {}", message.replace(char::is_control, " "));
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Does what the command line says.
pub fn run() -> Result<(), Failure> {
    let (command, options) = arguments::parse(lexopt::Parser::from_env())?;
    let mut out = io::BufWriter::new(io::stdout());
    match command {
        Command::Uci => {
            drop(out);
            if io::stdin().is_terminal() {
                tell(
                    "speaking UCI; type uci, isready, go or quit; other commands: fianchetto --help",
                );
            }
            let input = io::BufReader::new(io::stdin());
            return Ok(fianchetto::uci::run(input, io::stdout(), options, engine::player)?);
        }
        Command::Predict(wanted) => predict::run(&wanted, &options, &mut out)?,
        Command::Bench => bench::run(&options, &mut out)?,
        Command::Speed(wanted) => speed::run(&wanted, &options, &mut out)?,
        Command::Describe => describe::run(&options, &mut out)?,
        Command::Help => arguments::help(&mut out)?,
        Command::Version => writeln!(out, "fianchetto {}", env!("CARGO_PKG_VERSION"))?,
    }
    Ok(out.flush()?)
}

/// A number with its digits in groups of three: `11,049,313`.
fn grouped(number: impl fmt::Display) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The positions that `bench` and `speed` evaluate.
fn positions() -> Result<Vec<fianchetto::chess::Game>, Failure> {
    let read = |fen| fianchetto::chess::Game::from_fen(fen).map(|(game, _)| game);
    let games: Result<_, _> = include_str!("positions.txt").lines().map(read).collect();
    games.map_err(|error| Failure::Work(error.to_string()))
}
