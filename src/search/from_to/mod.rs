//! The from/to player: two networks say which squares a strong player would move from and to, and a search of a
//! few plies adds up how well each side's moves fit that, and what they capture.
//!
//! - `points`: what a move is worth by itself, the file to read first.
//! - `search`: alpha-beta over those points.
//! - `player`: the search as a [`Player`](super::Player).

mod player;
mod points;
mod search;

pub use player::FromTo;

/// What may be chosen of the way to play; the defaults are the published form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// What the networks' scores of squares make of a move.
    pub prediction: Prediction,
    /// At how many plies from the root the networks are asked. At those below only captures count.
    pub prediction_plies: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { prediction: Prediction::Ranks, prediction_plies: DEPTH }
    }
}

/// How two squares' scores make the points of a move, 400 at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prediction {
    /// 400 less the ranks of both squares among all 64, counted from 0, the most probable first.
    Ranks,
    /// 400 times P(from) times P(to).
    Product,
}

/// The published depth, in plies.
const DEPTH: u32 = 3;
