//! The options: one table from which the UCI listing, the command line and the README come.

mod table;

use super::command::shorten;
use crate::search::{Settings, from_to, mcts};
use std::fmt;
use std::time::Duration;
use table::{Field, Row, TABLE};

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
    /// See [`Settings::depth`].
    pub depth: u32,
    /// See [`Settings::seed`].
    pub seed: u32,
    /// How the tree search goes about it.
    pub mcts: mcts::Parameters,
    /// How the from/to player weighs moves.
    pub from_to: from_to::Parameters,
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
            multi_pv: settings.lines,
            finish_plies: settings.finish_plies.into(),
            temperature: settings.temperature,
            move_overhead: 10,
            depth: settings.depth,
            seed: settings.seed,
            mcts: settings.mcts,
            from_to: settings.from_to,
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
    /// Alpha-beta with a hand-written evaluation.
    Minimax,
    /// Alpha-beta over what two networks that score squares expect.
    FromTo,
}

/// The backends there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// The fastest that works here.
    Auto,
    /// The processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

impl PlayerKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Policy, Self::Mcts, Self::Minimax, Self::FromTo];

    /// As the option `Player` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Mcts => "mcts",
            Self::Minimax => "minimax",
            Self::FromTo => "from-to",
        }
    }
}

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
            depth: self.depth,
            lines: self.multi_pv,
            hash: self.hash,
            seed: self.seed,
            mcts: self.mcts.clone(),
            from_to: self.from_to.clone(),
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
