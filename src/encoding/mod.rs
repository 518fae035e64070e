//! A position as input planes and a move as a policy index, one file per scheme.
//!
//! Planes are `[planes, 8, 8]` floats, each plane rank by rank from the bottom of the scheme's
//! frame, each rank from the a-file. Policy indices address the rows of the policy layer.

pub mod canonical19;

use crate::chess::{Game, Move};

/// A way of showing positions to a network and numbering moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// 19 planes in the mover's frame, 4096 from-to indices: see [`canonical19`].
    Canonical19,
}

impl Encoding {
    const ALL: [Self; 1] = [Self::Canonical19];

    /// The scheme with this name in a weights file.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name)
    }

    /// The names of all schemes, for messages: `"a or b"`.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(" or ")
    }

    /// The scheme's name in a weights file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Canonical19 => "canonical19",
        }
    }

    /// The name of the scheme's move numbering in a weights file.
    pub fn policy_name(self) -> &'static str {
        match self {
            Self::Canonical19 => "from-to-4096",
        }
    }

    /// How many 8x8 input planes.
    pub fn planes(self) -> usize {
        match self {
            Self::Canonical19 => canonical19::PLANES,
        }
    }

    /// How many policy indices.
    pub fn policy_size(self) -> usize {
        match self {
            Self::Canonical19 => canonical19::POLICY_SIZE,
        }
    }

    /// Writes the current position of `game` into `planes`, `[planes, 8, 8]`, overwriting all of it.
    ///
    /// # Panics
    /// When `planes` is not `64 * self.planes()` long.
    pub fn encode(self, game: &Game, planes: &mut [f32]) {
        match self {
            Self::Canonical19 => canonical19::encode(game, planes),
        }
    }

    /// The policy index of a legal move, `None` for a move the scheme cannot name
    /// (an under-promotion in a from-to scheme).
    pub fn index(self, game: &Game, mv: Move) -> Option<u16> {
        match self {
            Self::Canonical19 => canonical19::index(game.board(), mv),
        }
    }
}
