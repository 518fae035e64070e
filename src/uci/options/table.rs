//! The table of options: name, kind and range, flag and meaning of each.

use super::{BackendKind, Options, PlayerKind};
use crate::search::from_to::Prediction;
use crate::search::mcts::Fpu;
use crate::search::minimax;
use std::ops::RangeInclusive;

/// Values that have names.
pub(super) trait Named: Copy + 'static {
    const ALL: &'static [Self];
    fn name(self) -> &'static str;
}

impl Named for PlayerKind {
    const ALL: &'static [Self] = &Self::ALL;

    fn name(self) -> &'static str {
        self.name()
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

impl Named for Prediction {
    const ALL: &'static [Self] = &[Self::Ranks, Self::Product];

    fn name(self) -> &'static str {
        match self {
            Self::Ranks => "ranks",
            Self::Product => "product",
        }
    }
}

impl Named for BackendKind {
    const ALL: &'static [Self] = &[Self::Auto, Self::Cpu, Self::Cuda];

    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }
}

/// An option's type and range, around its value in an [`Options`].
pub(super) enum Field<'a> {
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
pub(super) struct Row {
    pub name: &'static str,
    pub field: fn(&mut Options) -> Field<'_>,
    /// The long command-line flag, without its dashes.
    pub flag: Option<&'static str>,
    /// Whether a change takes effect by loading a new player.
    pub loads: bool,
    pub help: &'static str,
}

pub(super) const TABLE: &[Row] = &[
    Row {
        name: "Player",
        field: |o| combo(&mut o.player),
        flag: Some("player"),
        loads: true,
        help: "Who chooses the moves. `policy` plays what the network thinks most probable, `mcts` looks ahead with it, `minimax` without one, `from-to` with a pair of networks that score squares.",
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
        help: "What runs the network. `auto` takes the fastest that works here; `cuda`, an NVIDIA GPU, is for programs built with it. Without one it is the processor.",
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
        help: "Memory for all that is remembered, in MiB: never more.",
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
        help: "`policy` and `mcts`: 0 plays the best move; above, moves are drawn at random, the more evenly the higher.",
    },
    Row {
        name: "Depth",
        field: |o| Field::Spin(&mut o.depth, 0..=u32::from(minimax::MAX_DEPTH)),
        flag: Some("depth"),
        loads: false,
        help: "Plies to look ahead where `go` does not say. 0: `from-to` 3, `minimax` as many as there is time for, 4 without a clock.",
    },
    Row {
        name: "Prediction",
        field: |o| combo(&mut o.from_to.prediction),
        flag: None,
        loads: false,
        help: "`from-to`: points of a move, 400 less both squares' ranks, or 400 times the product of their probabilities.",
    },
    Row {
        name: "PredictionPlies",
        field: |o| Field::Spin(&mut o.from_to.prediction_plies, 1..=u32::from(minimax::MAX_DEPTH)),
        flag: None,
        loads: false,
        help: "`from-to`: plies at which the networks are asked; further ahead only captures count.",
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
        help: "Of the random numbers: moves drawn, noise, the choice among equally good ones (`minimax`); 0 for other ones in each run.",
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

impl Field<'_> {
    /// The UCI type.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Check(_) => "check",
            Self::Spin(..) => "spin",
            Self::Real(..) | Self::Path(..) => "string",
            Self::Combo { .. } => "combo",
        }
    }

    /// The value as UCI shows it.
    pub fn value(&self) -> String {
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
    pub fn expects(&self) -> String {
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
    pub fn parse(self, text: &str) -> bool {
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
