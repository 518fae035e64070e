//! Who plays a side, or looks on: a person, or an engine with its one setting.

use crate::uci::{OptionError, Options, PlayerKind};
use serde::{Deserialize, Serialize};

/// Who plays a side. As JSON `{"kind": "mcts", "nodes": 800}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Seat {
    /// Nobody but the person at the page.
    Person,
    /// The network's most probable move.
    Policy,
    /// The tree search.
    Mcts {
        /// Playouts a move.
        nodes: u32,
    },
    /// Alpha-beta without a network.
    Minimax {
        /// Plies; 0 leaves it to the player.
        depth: u32,
    },
    /// Alpha-beta over networks that score squares.
    FromTo {
        /// Plies; 0 leaves it to the player.
        depth: u32,
    },
}

impl Seat {
    /// The engine that the options of the command line name.
    pub fn of_options(options: &Options) -> Self {
        match options.player {
            PlayerKind::Policy => Self::Policy,
            PlayerKind::Mcts => Self::Mcts { nodes: options.mcts.nodes },
            PlayerKind::Minimax => Self::Minimax { depth: options.depth },
            PlayerKind::FromTo => Self::FromTo { depth: options.depth },
        }
    }

    /// The options of this engine, the rest as in `base`; `None` for a person.
    ///
    /// # Errors
    /// When the setting is out of its range.
    pub fn options(self, base: &Options) -> Result<Option<Options>, OptionError> {
        let mut options = base.clone();
        let (player, setting) = match self {
            Self::Person => return Ok(None),
            Self::Policy => (PlayerKind::Policy, None),
            Self::Mcts { nodes } => (PlayerKind::Mcts, Some(("Nodes", nodes))),
            Self::Minimax { depth } => (PlayerKind::Minimax, Some(("Depth", depth))),
            Self::FromTo { depth } => (PlayerKind::FromTo, Some(("Depth", depth))),
        };
        options.player = player;
        if let Some((name, value)) = setting {
            options.set(name, &value.to_string())?;
        }
        Ok(Some(options))
    }

    /// Whether an engine sits here.
    pub fn is_engine(self) -> bool {
        self != Self::Person
    }

    /// A name for the tags of a game.
    pub fn name(self) -> String {
        match self {
            Self::Person => "Person".into(),
            Self::Policy => "Fianchetto policy".into(),
            Self::Mcts { nodes } => format!("Fianchetto mcts, {nodes} playouts"),
            Self::Minimax { depth: 0 } => "Fianchetto minimax".into(),
            Self::Minimax { depth } => format!("Fianchetto minimax, depth {depth}"),
            Self::FromTo { depth: 0 } => "Fianchetto from-to".into(),
            Self::FromTo { depth } => format!("Fianchetto from-to, depth {depth}"),
        }
    }
}
