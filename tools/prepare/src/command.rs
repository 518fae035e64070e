//! From the command line to an exit status: 0 done, 1 the work failed, 2 the command line was wrong.

use crate::failure::Failure;
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Parser};
use std::process::ExitCode;

/// Reads the command line and does what it says, if by `check` the arguments go together. What is wrong
/// is told in one line on standard error.
pub fn main<P: Parser>(
    check: impl FnOnce(&P) -> Result<(), String>,
    run: impl FnOnce(P) -> Result<(), Failure>,
) -> ExitCode {
    let arguments = match arguments(check) {
        Ok(arguments) => arguments,
        Err(error) => return tell(&error),
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn arguments<P: Parser>(check: impl FnOnce(&P) -> Result<(), String>) -> Result<P, clap::Error> {
    // `--rate -1` is a wrong number, not an unknown option.
    let with_numbers = |argument: Arg| {
        let takes_value = argument.get_action().takes_values() && !argument.is_positional();
        argument.allow_negative_numbers(takes_value)
    };
    let command = P::command().mut_subcommands(|verb| verb.mut_args(with_numbers));
    let matches = command.try_get_matches().map_err(|mut error| {
        // That what follows `--` is no option helps nobody here.
        error.remove(ContextKind::Suggested);
        error
    })?;
    let arguments = P::from_arg_matches(&matches)?;
    match check(&arguments) {
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
