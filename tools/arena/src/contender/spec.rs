//! Contenders as the command line names them.

use super::{EngineCommand, Kind};
use crate::limits::Budget;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use fianchetto::uci::Options;

/// A contender as it was named.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// What it is called.
    pub label: String,
    /// As it was given, by which it is known again.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// Its own limits; empty where those for all hold.
    pub budget: Budget,
}

impl Contender {
    /// Reads `NAME` or `NAME:OPTION=VALUE,...`: a player of this engine, or `random`. An option is one
    /// of the engine's (WeightsFile, Threads, ...), a limit, or `name`.
    ///
    /// # Errors
    /// In words.
    pub fn player(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut contender = Self::new(text, text);
        let mut options = Options::default();
        let random = name == "random";
        if !random {
            options.set("Player", name).map_err(|error| format!("{error}, or random"))?;
        }
        for (key, value) in assignments(rest)? {
            if key == "name" {
                contender.label = value.to_owned();
                continue;
            }
            // A limit comes before an option of the same name.
            match contender.budget.set(key, value) {
                Some(read) => read?,
                None => match options.set(key, value) {
                    Ok(()) if random => {
                        return Err("random takes no option but name".to_owned());
                    }
                    read => read.map_err(|error| error.to_string())?,
                },
            }
        }
        if !random {
            contender.kind = Kind::Player(Box::new(options));
        }
        Ok(contender)
    }

    /// Reads `cmd=PROGRAM,args=...,option.NAME=VALUE,...`: a UCI engine. Beside these a limit, or `name`.
    ///
    /// # Errors
    /// In words.
    pub fn engine(text: &str) -> Result<Self, String> {
        let mut contender = Self::new("", text);
        let mut command = EngineCommand::default();
        for (key, value) in assignments(text)? {
            match (key, key.strip_prefix("option.")) {
                (_, Some(name)) => command.options.push((name.to_owned(), value.to_owned())),
                ("cmd", _) => command.program = value.to_owned(),
                ("args", _) => {
                    command.arguments = value.split_whitespace().map(str::to_owned).collect();
                }
                ("name", _) => contender.label = value.to_owned(),
                _ => contender.budget.set(key, value).unwrap_or_else(|| {
                    Err(format!(
                        "found {key:?}, expected cmd, args, name, option.NAME, depth, nodes, movetime or tc"
                    ))
                })?,
            }
        }
        if command.program.is_empty() {
            return Err("expected cmd=PROGRAM to say what to start".to_owned());
        }
        if contender.label.is_empty() {
            let name = std::path::Path::new(&command.program).file_name();
            contender.label = name.unwrap_or_default().to_string_lossy().into_owned();
        }
        contender.kind = Kind::Engine(command);
        Ok(contender)
    }

    fn new(label: &str, text: &str) -> Self {
        let budget = Budget::default();
        Self { label: label.to_owned(), text: text.to_owned(), kind: Kind::Random, budget }
    }
}

/// `KEY=VALUE` pairs between commas.
fn assignments(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("found {part:?}, expected NAME=VALUE between commas"))?;
            Ok((key.trim(), value.trim()))
        })
        .collect()
}

/// The contenders of the command line, `--player` and `--engine` mixed, in order.
#[derive(Clone, Debug, Default)]
pub struct Contenders(pub Vec<Contender>);

const FLAGS: [(&str, &str, &str); 2] = [
    (
        "player",
        "NAME[:OPTION=VALUE,...]",
        "A player of this engine or `random`, with options of the engine, limits (nodes, depth, \
         movetime, tc) and name, such as policy:WeightsFile=x.safetensors,name=x",
    ),
    (
        "engine",
        "cmd=PROGRAM,...",
        "A UCI engine: cmd=PROGRAM, args=..., option.NAME=VALUE, limits and name, such as \
         cmd=stockfish,option.Skill Level=3,depth=5",
    ),
];

impl Args for Contenders {
    fn augment_args(command: Command) -> Command {
        let flags = FLAGS.map(|(flag, value, help)| {
            Arg::new(flag).long(flag).value_name(value).help(help).action(ArgAction::Append)
        });
        command.args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Contenders {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut contenders = Self::default();
        contenders.update_from_arg_matches(matches)?;
        Ok(contenders)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let mut found = Vec::new();
        for (flag, _, _) in FLAGS {
            let read = if flag == "player" { Contender::player } else { Contender::engine };
            let texts = matches.get_many::<String>(flag).into_iter().flatten();
            for (at, text) in matches.indices_of(flag).into_iter().flatten().zip(texts) {
                let contender = read(text).map_err(|reason| {
                    Error::raw(ErrorKind::ValueValidation, format!("--{flag} {text}: {reason}"))
                })?;
                found.push((at, contender));
            }
        }
        found.sort_by_key(|(at, _)| *at);
        self.0 = found.into_iter().map(|(_, contender)| contender).collect();
        Ok(())
    }
}

impl Contenders {
    /// Whether so many contenders are there, each with a name of its own.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, least: usize, most: usize) -> Result<(), String> {
        let count = self.0.len();
        if !(least..=most).contains(&count) {
            let expected = match (least, most) {
                (1, 1) => "1 contender".to_owned(),
                (1, usize::MAX) => "at least 1 contender".to_owned(),
                (least, usize::MAX) => format!("at least {least} contenders"),
                (least, most) if least == most => format!("{least} contenders"),
                _ => format!("{least} to {most} contenders"),
            };
            return Err(format!(
                "found {count} of --player and --engine, expected {expected}; see '--help'"
            ));
        }
        for (i, contender) in self.0.iter().enumerate() {
            let label = &contender.label;
            if label.is_empty() || label.contains(char::is_control) {
                return Err(format!(
                    "a contender is called {label:?}, expected a name without control characters; give it one \
                     with name="
                ));
            }
            if self.0[..i].iter().any(|other| other.label == *label) {
                return Err(format!(
                    "two contenders are called {label:?}; give one of them a name="
                ));
            }
        }
        Ok(())
    }
}
