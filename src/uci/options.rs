//! The options: one table from which the UCI listing, the command line and the README come.

use super::command::shorten;
use crate::search::Settings;
use crate::search::mcts::{Fpu, Parameters};
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The value of every option. [`Options::default`] holds the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Who chooses the moves.
    pub player: PlayerKind,
    /// Path of the weights; empty for the network built into the program.
    pub weights_file: String,
    /// What runs the network.
    pub backend: BackendKind,
    /// CPU threads.
    pub threads: u32,
    /// See [`Settings::hash`].
    pub hash: u32,
    /// How many candidate moves to show.
    pub multi_pv: u32,
    /// See [`Settings::finish_plies`].
    pub finish_plies: u32,
    /// See [`Settings::temperature`].
    pub temperature: f64,
    /// Time kept back from every clock for the way to the opponent and back, in milliseconds.
    pub move_overhead: u32,
    /// See [`Settings::seed`].
    pub seed: u32,
    /// How the tree search goes about it.
    pub mcts: Parameters,
    /// Whether the chess program may let us think on the opponent's time.
    pub ponder: bool,
    /// Where Syzygy endgame tables lie.
    pub syzygy_path: String,
    /// Whether to show win, draw and loss shares.
    pub show_wdl: bool,
}

impl Default for Options {
    fn default() -> Self {
        let settings = Settings::default();
        Self {
            player: PlayerKind::Policy,
            weights_file: String::new(),
            backend: BackendKind::Auto,
            threads: 1,
            hash: settings.hash,
            multi_pv: 1,
            finish_plies: settings.finish_plies.into(),
            temperature: settings.temperature,
            move_overhead: 10,
            seed: settings.seed,
            mcts: settings.mcts,
            ponder: false,
            syzygy_path: String::new(),
            show_wdl: false,
        }
    }
}

/// The players there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerKind {
    /// The move that the network thinks most probable.
    Policy,
    /// A tree search over the network.
    Mcts,
}

/// The backends there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// The fastest that works here.
    Auto,
    /// The processor.
    Cpu,
}

/// Values that have names.
trait Named: Copy + 'static {
    const ALL: &'static [Self];
    fn name(self) -> &'static str;
}

impl Named for PlayerKind {
    const ALL: &'static [Self] = &[Self::Policy, Self::Mcts];

    fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Mcts => "mcts",
        }
    }
}

impl Named for Fpu {
    const ALL: &'static [Self] = &[Self::Zero, Self::Parent];

    fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Parent => "parent",
        }
    }
}

impl Named for BackendKind {
    const ALL: &'static [Self] = &[Self::Auto, Self::Cpu];

    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
        }
    }
}

/// An option's type and range, around its value in an [`Options`].
enum Field<'a> {
    Check(&'a mut bool),
    Spin(&'a mut u32, RangeInclusive<u32>),
    /// UCI has no such type: it is listed as a string.
    Real(&'a mut f64, RangeInclusive<f64>),
    Combo {
        value: &'static str,
        names: Vec<&'static str>,
        pick: Box<dyn FnOnce(usize) + 'a>,
    },
    /// The second text stands for the empty string, which UCI cannot show. It must hold no word of
    /// the `option` line (`default`, `name`): python-chess would stumble.
    Path(&'a mut String, &'static str),
}

fn combo<T: Named>(value: &mut T) -> Field<'_> {
    Field::Combo {
        value: value.name(),
        names: T::ALL.iter().map(|value| value.name()).collect(),
        pick: Box::new(|index| *value = T::ALL[index]),
    }
}

/// A row of the table.
struct Row {
    name: &'static str,
    field: fn(&mut Options) -> Field<'_>,
    /// The long command-line flag, without its dashes.
    flag: Option<&'static str>,
    /// Whether a change takes effect by loading a new player.
    loads: bool,
    help: &'static str,
}

const TABLE: &[Row] = &[
    Row {
        name: "Player",
        field: |o| combo(&mut o.player),
        flag: Some("player"),
        loads: true,
        help: "Who chooses the moves. `policy` plays what the network thinks most probable, `mcts` looks ahead.",
    },
    Row {
        name: "WeightsFile",
        field: |o| Field::Path(&mut o.weights_file, "<built-in>"),
        flag: Some("weights"),
        loads: true,
        help: "The network, a safetensors file. Left empty: the one built into the program.",
    },
    Row {
        name: "Backend",
        field: |o| combo(&mut o.backend),
        flag: Some("backend"),
        loads: true,
        help: "What runs the network. `auto` takes the fastest that works here.",
    },
    Row {
        name: "Threads",
        field: |o| Field::Spin(&mut o.threads, 1..=64),
        flag: Some("threads"),
        loads: true,
        help: "CPU threads.",
    },
    Row {
        name: "Hash",
        field: |o| Field::Spin(&mut o.hash, 1..=65536),
        flag: None,
        loads: false,
        help: "`mcts`: memory for the tree and for evaluations remembered, in MiB: never more.",
    },
    Row {
        name: "MultiPV",
        // No position has more than 218 legal moves.
        field: |o| Field::Spin(&mut o.multi_pv, 1..=218),
        flag: None,
        loads: false,
        help: "How many candidate moves to show.",
    },
    Row {
        name: "FinishPlies",
        field: |o| Field::Spin(&mut o.finish_plies, 0..=3),
        flag: None,
        loads: false,
        help: "`policy`: against a bare king, look this many plies ahead for mate and avoid stalemate.",
    },
    Row {
        name: "Temperature",
        field: |o| Field::Real(&mut o.temperature, 0.0..=10.0),
        flag: None,
        loads: false,
        help: "0 plays the best move; above, moves are drawn at random, the more evenly the higher.",
    },
    Row {
        name: "TemperaturePlies",
        field: |o| Field::Spin(&mut o.mcts.temperature_plies, 0..=1000),
        flag: None,
        loads: false,
        help: "`mcts`: Temperature counts in the first so many plies of a game.",
    },
    Row {
        name: "Nodes",
        field: |o| Field::Spin(&mut o.mcts.nodes, 1..=1_000_000_000),
        flag: Some("nodes"),
        loads: false,
        help: "`mcts`: playouts a move where `go` sets no limit.",
    },
    Row {
        name: "BatchSize",
        field: |o| Field::Spin(&mut o.mcts.batch_size, 1..=256),
        flag: None,
        loads: false,
        help: "`mcts`: positions for each call of the network.",
    },
    Row {
        name: "CPuct",
        field: |o| Field::Real(&mut o.mcts.c_puct, 0.0..=100.0),
        flag: None,
        loads: false,
        help: "`mcts`: how much the network's probabilities weigh against what was seen.",
    },
    Row {
        name: "FPU",
        field: |o| combo(&mut o.mcts.fpu),
        flag: None,
        loads: false,
        help: "`mcts`: what an untried move is worth: a draw, or the position less a reduction.",
    },
    Row {
        name: "FPUReduction",
        field: |o| Field::Real(&mut o.mcts.fpu_reduction, 0.0..=2.0),
        flag: None,
        loads: false,
        help: "`mcts`: the reduction, times the root of the probability already tried.",
    },
    Row {
        name: "VirtualLoss",
        field: |o| Field::Real(&mut o.mcts.virtual_loss, 0.0..=1.0),
        flag: None,
        loads: false,
        help: "`mcts`: how much of a loss a playout counts as while it waits for the network.",
    },
    Row {
        name: "CachePercent",
        field: |o| Field::Spin(&mut o.mcts.cache_percent, 0..=50),
        flag: None,
        loads: false,
        help: "`mcts`: the part of Hash for evaluations remembered.",
    },
    Row {
        name: "RootNoise",
        field: |o| Field::Real(&mut o.mcts.root_noise, 0.0..=1.0),
        flag: None,
        loads: false,
        help: "`mcts`: the random part of the first move's probabilities; 0.25 for games to learn from.",
    },
    Row {
        name: "NoiseAlpha",
        field: |o| Field::Real(&mut o.mcts.noise_alpha, 0.01..=10.0),
        flag: None,
        loads: false,
        help: "`mcts`: the noise's Dirichlet parameter; the smaller, the fewer moves get it.",
    },
    Row {
        name: "Seed",
        field: |o| Field::Spin(&mut o.seed, 0..=i32::MAX as u32),
        flag: None,
        loads: false,
        help: "Of the random numbers; 0 for other ones in each run.",
    },
    Row {
        name: "Move Overhead",
        field: |o| Field::Spin(&mut o.move_overhead, 0..=5000),
        flag: None,
        loads: false,
        help: "Milliseconds kept back from every clock for delays between program and server.",
    },
    Row {
        name: "Ponder",
        field: |o| Field::Check(&mut o.ponder),
        flag: None,
        loads: false,
        help: "Tells chess programs that they may ask for thinking on the opponent's time.",
    },
    Row {
        name: "SyzygyPath",
        field: |o| Field::Path(&mut o.syzygy_path, "<empty>"),
        flag: None,
        loads: false,
        help: "Folder of endgame tables. Without effect: accepted for programs that always set it.",
    },
    Row {
        name: "UCI_ShowWDL",
        field: |o| Field::Check(&mut o.show_wdl),
        flag: None,
        loads: false,
        help: "Shares of win, draw and loss. Without effect: the networks predict no draws.",
    },
];

impl Options {
    /// Sets the option `name` (upper or lower case alike) from text, as `setoption` does.
    ///
    /// # Errors
    /// An unknown name or an unsuitable value; the old value is kept.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        let row = TABLE
            .iter()
            .find(|row| row.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| OptionError::Unknown(name.into()))?;
        let field = (row.field)(self);
        let expected = field.expects();
        if field.parse(value.trim()) {
            Ok(())
        } else {
            Err(OptionError::Value { name: row.name, expected, found: value.into() })
        }
    }

    /// Sets an option from `NAME=VALUE`.
    ///
    /// # Errors
    /// As [`Options::set`].
    pub fn set_assignment(&mut self, text: &str) -> Result<(), OptionError> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| OptionError::Assignment(text.into()))?;
        self.set(name.trim(), value)
    }

    /// The name of the option that the long flag (`threads`, without dashes) sets.
    pub fn name_of_flag(flag: &str) -> Option<&'static str> {
        TABLE.iter().find(|row| row.flag == Some(flag)).map(|row| row.name)
    }

    /// What can change without loading a new player.
    pub fn settings(&self) -> Settings {
        Settings {
            finish_plies: self.finish_plies as u8,
            temperature: self.temperature,
            hash: self.hash,
            seed: self.seed,
            mcts: self.mcts.clone(),
        }
    }

    /// [`Options::move_overhead`] as a time.
    pub fn overhead(&self) -> Duration {
        Duration::from_millis(self.move_overhead.into())
    }

    /// Whether a player made with `self` also serves `other`, once configured with its settings.
    pub fn same_player(&self, other: &Self) -> bool {
        let value = |row: &Row, options: &Self| (row.field)(&mut options.clone()).value();
        TABLE.iter().filter(|row| row.loads).all(|row| value(row, self) == value(row, other))
    }

    /// The `option` lines that answer `uci`.
    pub fn listing() -> impl Iterator<Item = String> {
        TABLE.iter().map(|row| {
            let mut defaults = Self::default();
            let field = (row.field)(&mut defaults);
            let range = match &field {
                Field::Spin(_, range) => format!(" min {} max {}", range.start(), range.end()),
                Field::Combo { names, .. } => names.iter().map(|n| format!(" var {n}")).collect(),
                Field::Check(_) | Field::Real(..) | Field::Path(..) => String::new(),
            };
            let (name, kind, default) = (row.name, field.kind(), field.value());
            format!("option name {name} type {kind} default {default}{range}")
        })
    }

    /// One line of help for each option that has a command-line flag, without indentation.
    pub fn flag_help() -> impl Iterator<Item = String> {
        TABLE.iter().filter_map(|row| {
            let (flag, help) = (row.flag?, row.help.replace('`', ""));
            let expects = (row.field)(&mut Self::default()).expects();
            Some(format!("--{flag:<9} {help} [{}: {expects}]", row.name))
        })
    }
}

impl Field<'_> {
    /// The UCI type.
    fn kind(&self) -> &'static str {
        match self {
            Self::Check(_) => "check",
            Self::Spin(..) => "spin",
            Self::Real(..) | Self::Path(..) => "string",
            Self::Combo { .. } => "combo",
        }
    }

    /// The value as UCI shows it.
    fn value(&self) -> String {
        match self {
            Self::Check(value) => value.to_string(),
            Self::Spin(value, _) => value.to_string(),
            Self::Real(value, _) => value.to_string(),
            Self::Combo { value, .. } => (*value).into(),
            Self::Path(value, empty) if value.is_empty() => (*empty).into(),
            Self::Path(value, _) => value.to_string(),
        }
    }

    /// What a value must be, in words.
    fn expects(&self) -> String {
        match self {
            Self::Check(_) => "true or false".into(),
            Self::Spin(_, range) => {
                format!("a whole number from {} to {}", range.start(), range.end())
            }
            Self::Real(_, range) => format!("a number from {} to {}", range.start(), range.end()),
            Self::Combo { names, .. } => names.join(" or "),
            Self::Path(..) => "a path".into(),
        }
    }

    /// Takes over the value that `text` states; `false`, and nothing changed, when it states none.
    fn parse(self, text: &str) -> bool {
        fn store<T>(to: &mut T, value: Option<T>) -> bool {
            value.map(|value| *to = value).is_some()
        }
        match self {
            Self::Check(to) => store(to, text.to_ascii_lowercase().parse().ok()),
            Self::Spin(to, range) => store(to, text.parse().ok().filter(|v| range.contains(v))),
            Self::Real(to, range) => store(to, text.parse().ok().filter(|v| range.contains(v))),
            Self::Combo { names, pick, .. } => {
                names.iter().position(|name| name.eq_ignore_ascii_case(text)).map(pick).is_some()
            }
            Self::Path(to, empty) => {
                let empty = [empty, "<empty>"].contains(&text);
                *to = if empty { String::new() } else { text.into() };
                true
            }
        }
    }
}

/// Why an option was not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// There is no option of this name.
    Unknown(String),
    /// The value does not suit the option.
    Value {
        /// The option.
        name: &'static str,
        /// What would suit.
        expected: String,
        /// What was given.
        found: String,
    },
    /// Not of the form `NAME=VALUE`.
    Assignment(String),
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                let names: Vec<_> = TABLE.iter().map(|row| row.name).collect();
                write!(f, "no option is named {:?}; there are: {}", shorten(name), names.join(", "))
            }
            Self::Value { name, expected, found } => {
                write!(f, "option {name}: expected {expected}, found {:?}", shorten(found))
            }
            Self::Assignment(found) => {
                write!(f, "expected an option as NAME=VALUE, found {:?}", shorten(found))
            }
        }
    }
}

impl std::error::Error for OptionError {}

#[cfg(test)]
mod tests;
