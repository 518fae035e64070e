//! Parts of all games, so that machines can share the work.

use crate::game::PlayedGame;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One of several parts of all games, chosen by the hash of the moves: `I/N`, I from 0 to N - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// All games, as one part.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Which part it is, from 0.
    pub fn index(self) -> u64 {
        self.index
    }

    /// How many parts there are.
    pub fn count(self) -> u64 {
        self.count
    }

    /// Whether a game belongs to this part.
    pub fn takes(self, game: &PlayedGame) -> bool {
        game.shard(self.count) == self.index
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(index, count)| {
            Some(Self { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        numbers.filter(|shard| shard.index < shard.count).ok_or_else(|| {
            "expected I/N with I from 0 to N - 1, such as 0/4 for the first of four parts"
                .to_owned()
        })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}
