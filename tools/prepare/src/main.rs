//! The command `fianchetto-prepare`: see the library of the same name.

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::{expand, inspect, join, pack};
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

/// Reads the command line.
fn arguments() -> Result<Arguments, clap::Error> {
    // `--rate -1` is a wrong number, not an unknown option.
    let with_numbers = |argument: Arg| {
        let takes_value = argument.get_action().takes_values() && !argument.is_positional();
        argument.allow_negative_numbers(takes_value)
    };
    let command = Arguments::command().mut_subcommands(|verb| verb.mut_args(with_numbers));
    let matches = command.try_get_matches().map_err(|mut error| {
        // That what follows `--` is no option helps nobody here.
        error.remove(ContextKind::Suggested);
        error
    })?;
    let arguments = Arguments::from_arg_matches(&matches)?;
    match arguments.verb.check() {
        Ok(()) => Ok(arguments),
        Err(conflict) => Err(clap::Error::raw(ErrorKind::ArgumentConflict, conflict)),
    }
}

/// Tells what is wrong with the command line in one line, or what help was asked for.
fn tell(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Whoever closes the pipe has read enough.
        let _ = error.print();
    } else {
        let text = error.to_string().replace("For more information, try", "see");
        let paragraphs = text.trim().split("\n\n");
        let words = paragraphs.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        eprintln!("{}", words.collect::<Vec<_>>().join("; "));
    }
    ExitCode::from(error.exit_code() as u8)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => return tell(&error),
    };
    match arguments.verb.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
