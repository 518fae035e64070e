//! From the command line to a [`Command`] and the engine's options.

use super::Failure;
use fianchetto::backend::cpu::{Algorithm, Instructions};
use fianchetto::uci::Options;
use lexopt::{Arg, Parser, ValueExt};
use std::io::{self, Write};

/// What to do.
pub enum Command {
    Uci,
    Predict(Predict),
    Bench,
    Speed(Speed),
    Describe,
    Play(Play),
    Help,
    Version,
}

/// What `predict` is asked for.
#[derive(Default)]
pub struct Predict {
    /// `FEN moves ...` in words; empty for the start position, `-` for positions from standard input.
    pub position: Vec<String>,
    pub top: Option<usize>,
    pub json: bool,
}

/// What `play` is asked for.
pub struct Play {
    /// Whether the person has Black.
    pub black: bool,
    /// The first port tried.
    pub port: u16,
    /// Whether to leave the browser alone.
    pub no_open: bool,
}

/// What `speed` is asked for.
pub struct Speed {
    /// Empty when not said.
    pub batches: Vec<usize>,
    /// How long to measure each batch size.
    pub seconds: f64,
    pub json: bool,
    /// Whether to tell where the time goes instead.
    pub roofline: bool,
    /// Whether to measure the tree search instead of the network.
    pub search: bool,
    /// What to run it with, where the choice is not left to the program.
    pub kernel: Kernel,
}

/// An instruction set, an algorithm, or both.
#[derive(Clone, Copy, Default)]
pub struct Kernel {
    pub instructions: Option<Instructions>,
    pub algorithm: Option<Algorithm>,
}

const USAGE: &str = "\
usage: fianchetto                                          speak UCI: what a chess program starts
       fianchetto predict [FEN|startpos] [moves e2e4 ...]  the most probable moves of a position
       fianchetto play                                     play and watch in the browser
       fianchetto bench                                    fixed work of the tree search; last line: nodes and nodes a second
       fianchetto speed                                    latency and positions a second of the network
       fianchetto describe [WEIGHTS]                       what a weights file holds, what will run it

predict:  --top N          show the N most probable moves (5; with --json all)
          --json           one line of JSON a position
          -                (as the position) read positions from standard input, one a line
play:     --black          you have Black
          --port N         the page's port (8000), or the next one that is free
          --no-open        leave opening the page to you
speed:    --batch 1,8,64   batch sizes
          --search         playouts a second of the tree search (--batch 1,2,4,8,16,32) instead
          --seconds S      time to measure each of them (2), at least one run
          --json           JSON
          --roofline       where the time of one thread goes, beside what a core can do at most
          --kernel NAME    an instruction set, an algorithm or both (avx2, f4x4, avx2+f4x4)

everywhere:
";

/// Writes how the program is used.
pub fn help(out: &mut impl Write) -> io::Result<()> {
    write!(out, "{USAGE}")?;
    for line in Options::flag_help() {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "  --option NAME=VALUE  Any UCI option.")?;
    writeln!(out, "  --help, --version")
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Self::Usage(error.to_string())
    }
}

/// Reads the whole command line.
pub fn parse(mut parser: Parser) -> Result<(Command, Options), Failure> {
    let mut options = Options::default();
    let mut command = Command::Uci;
    let mut named = false;
    while let Some(argument) = parser.next()? {
        let usage = |error: fianchetto::uci::OptionError| Failure::Usage(error.to_string());
        match (argument, &mut command) {
            (Arg::Long("help") | Arg::Short('h'), _) => return Ok((Command::Help, options)),
            (Arg::Long("version") | Arg::Short('V'), _) => return Ok((Command::Version, options)),
            (Arg::Long("option"), _) => {
                options.set_assignment(&parser.value()?.string()?).map_err(usage)?;
            }
            (
                Arg::Long("json"),
                Command::Predict(Predict { json, .. }) | Command::Speed(Speed { json, .. }),
            ) => {
                *json = true;
            }
            (Arg::Long("top"), Command::Predict(predict)) => {
                predict.top = Some(positive("--top", &parser.value()?.string()?)?);
            }
            (Arg::Long("batch"), Command::Speed(speed)) => {
                let list = parser.value()?.string()?;
                let sizes = list.split(',').map(|size| positive("--batch", size));
                speed.batches = sizes.collect::<Result<_, _>>()?;
            }
            (Arg::Long("seconds"), Command::Speed(speed)) => {
                let text = parser.value()?.string()?;
                let seconds = text.parse().ok().filter(|s| (0.0..=3600.0).contains(s));
                speed.seconds = seconds.ok_or_else(|| {
                    Failure::Usage(format!(
                        "--seconds is {text:?}, expected a number from 0 to 3600"
                    ))
                })?;
            }
            (Arg::Long("black"), Command::Play(play)) => play.black = true,
            (Arg::Long("no-open"), Command::Play(play)) => play.no_open = true,
            (Arg::Long("port"), Command::Play(play)) => {
                let text = parser.value()?.string()?;
                play.port = text.parse().map_err(|_| {
                    Failure::Usage(format!("--port is {text:?}, expected a number from 0 to 65535"))
                })?;
            }
            (Arg::Long("roofline"), Command::Speed(speed)) => speed.roofline = true,
            (Arg::Long("search"), Command::Speed(speed)) => speed.search = true,
            (Arg::Long("kernel"), Command::Speed(Speed { kernel, .. })) => {
                *kernel = named_kernel(&parser.value()?.string()?)?;
            }
            (Arg::Long(flag), _) if Options::name_of_flag(flag).is_some() => {
                let name = Options::name_of_flag(flag).unwrap_or_default();
                options.set(name, &parser.value()?.string()?).map_err(usage)?;
            }
            (Arg::Value(word), Command::Predict(predict)) => predict.position.push(word.string()?),
            (Arg::Value(file), Command::Describe) if options.weights_file.is_empty() => {
                options.set("WeightsFile", &file.string()?).map_err(usage)?;
            }
            (Arg::Value(word), Command::Uci) if !named => {
                named = true;
                command = named_command(&word.string()?)?;
            }
            (argument, _) => return Err(argument.unexpected().into()),
        }
    }
    if let Command::Speed(Speed { search, roofline, json, kernel, .. }) = &command {
        let kernel = kernel.instructions.is_some() || kernel.algorithm.is_some();
        for (one, other, both) in [
            ("--search", "--roofline", *search && *roofline),
            ("--search", "--kernel", *search && kernel),
            ("--roofline", "--json", *roofline && *json),
        ] {
            if both {
                let what = format!("{one} and {other} do not go together; leave one of them out");
                return Err(Failure::Usage(what));
            }
        }
    }
    Ok((command, options))
}

fn named_command(name: &str) -> Result<Command, Failure> {
    Ok(match name {
        "uci" => Command::Uci,
        "predict" => Command::Predict(Predict::default()),
        "play" => Command::Play(Play { black: false, port: 8000, no_open: false }),
        "bench" => Command::Bench,
        "speed" => Command::Speed(Speed {
            batches: Vec::new(),
            seconds: 2.0,
            json: false,
            roofline: false,
            search: false,
            kernel: Kernel::default(),
        }),
        "describe" => Command::Describe,
        "help" => Command::Help,
        _ => {
            let expected = "play, predict, bench, speed or describe, or nothing for UCI";
            return Err(Failure::Usage(format!(
                "there is no command {name:?}, expected {expected}"
            )));
        }
    })
}

fn named_kernel(text: &str) -> Result<Kernel, Failure> {
    let mut kernel = Kernel::default();
    for word in text.split('+') {
        let instructions = Instructions::ALL.into_iter().find(|set| set.name() == word);
        let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == word);
        if instructions.is_none() && algorithm.is_none() {
            let names = Instructions::ALL.map(Instructions::name).into_iter();
            let names: Vec<_> = names.chain(Algorithm::ALL.map(Algorithm::name)).collect();
            let expected = names.join(", ");
            return Err(Failure::Usage(format!(
                "--kernel is {text:?}, expected one of {expected}, or an instruction set + an algorithm"
            )));
        }
        kernel.instructions = instructions.or(kernel.instructions);
        kernel.algorithm = algorithm.or(kernel.algorithm);
    }
    Ok(kernel)
}

fn positive(flag: &str, text: &str) -> Result<usize, Failure> {
    let number = text.trim().parse().ok().filter(|number| (1..=4096).contains(number));
    number.ok_or_else(|| {
        Failure::Usage(format!("{flag} is {text:?}, expected a whole number from 1 to 4096"))
    })
}
