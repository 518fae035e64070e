//! The command `fianchetto-arena`: see the library of the same name.

use clap::{Parser, Subcommand};
use fianchetto_arena::agreement::Agreement;
use fianchetto_arena::games::{Match, RoundRobin, Versus};
use fianchetto_arena::merge::Merge;
use fianchetto_arena::puzzles::Puzzles;
use fianchetto_prepare::command;
use fianchetto_prepare::failure::Failure;
use std::io::stdout;
use std::process::ExitCode;

/// Measures chess players: matches, puzzles, agreement with people.
#[derive(Parser)]
#[command(version, name = "fianchetto-arena")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Match(Match),
    Versus(Versus),
    RoundRobin(RoundRobin),
    Puzzles(Puzzles),
    Agreement(Agreement),
    Merge(Merge),
}

impl Verb {
    /// Whether the arguments go together.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Match(verb) => verb.check(),
            Self::Versus(verb) => verb.check(),
            Self::RoundRobin(verb) => verb.check(),
            Self::Puzzles(verb) => verb.check(),
            Self::Agreement(verb) => verb.check(),
            Self::Merge(_) => Ok(()),
        }
    }

    fn run(self) -> Result<(), Failure> {
        let out = &mut stdout();
        match self {
            Self::Match(verb) => verb.run(out),
            Self::Versus(verb) => verb.run(out),
            Self::RoundRobin(verb) => verb.run(out),
            Self::Puzzles(verb) => verb.run(out),
            Self::Agreement(verb) => verb.run(out),
            Self::Merge(verb) => verb.run(out),
        }
    }
}

fn main() -> ExitCode {
    command::main(|arguments: &Arguments| arguments.verb.check(), |arguments| arguments.verb.run())
}
