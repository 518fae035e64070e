//! The command `fianchetto-prepare`: see the library of the same name.

use clap::{Parser, Subcommand};
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::{command, expand, inspect, join, pack};
use std::io::stdout;
use std::process::{ExitCode, exit};

/// From PGN games to training data.
#[derive(Parser)]
#[command(version, name = "fianchetto-prepare")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Pack(pack::Options),
    Join(join::Options),
    Inspect(inspect::Options),
    Expand(expand::Arguments),
}

impl Verb {
    /// Whether the arguments go together.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Pack(options) => options.check(),
            Self::Expand(arguments) => arguments.check(),
            Self::Join(_) | Self::Inspect(_) => Ok(()),
        }
    }

    fn run(self) -> Result<(), Failure> {
        let told = &mut stdout();
        match self {
            Self::Pack(options) => {
                explain_interruption(true)?;
                pack::pack(&options, told)
            }
            Self::Join(options) => join::join(&options, told),
            Self::Inspect(options) => inspect::inspect(&options, told),
            Self::Expand(arguments) => {
                explain_interruption(arguments.goes_on())?;
                arguments.run().map_err(|error| Failure(error.to_string()))
            }
        }
    }
}

/// What is on disk is whole at any moment, so an interruption needs no more than a word.
fn explain_interruption(goes_on: bool) -> Result<(), Failure> {
    let explain = move || {
        let next = if goes_on { "to go on from here" } else { "to begin anew" };
        eprintln!("\ninterrupted; give the same command again {next}");
        exit(1);
    };
    ctrlc::set_handler(explain)
        .map_err(|error| Failure(format!("cannot prepare for Ctrl-C: {error}; try again")))
}

fn main() -> ExitCode {
    command::main(|arguments: &Arguments| arguments.verb.check(), |arguments| arguments.verb.run())
}
