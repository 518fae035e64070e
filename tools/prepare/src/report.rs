//! What became of the games read: kept, or not and why.

use crate::pgn::Refusal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Counts of games kept and not kept.
///
/// As JSON: `{"kept", "positions", "refused": {cause: games}, "damaged": [message]}`, the causes by
/// [`Refusal::name`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Games kept.
    pub kept: u64,
    /// Positions in them in which a move was played.
    pub positions: u64,
    /// Games not kept, by cause.
    pub refused: BTreeMap<Refusal, u64>,
    /// Inputs that could not be read to their end, and why. The games before are counted above.
    pub damaged: Vec<String>,
}

impl Report {
    /// Counts a game of `plies` moves as kept.
    pub fn keep(&mut self, plies: usize) {
        self.kept += 1;
        self.positions += plies as u64;
    }

    /// Counts a game that is not kept.
    pub fn refuse(&mut self, refusal: Refusal) {
        *self.refused.entry(refusal).or_default() += 1;
    }

    /// Notes that an input could not be read to its end.
    pub fn damage(&mut self, input: impl fmt::Display, error: impl fmt::Display) {
        self.damaged.push(format!(
            "{input}: cannot be read further: {error}; the games before were kept, get the rest anew"
        ));
    }

    /// Games read, kept or not.
    pub fn games(&self) -> u64 {
        self.kept + self.refused.values().sum::<u64>()
    }

    /// Why no game was kept, when that is so: `12 games read, none kept: 10 rating, 2 illegal-move`.
    /// That all games wanted are of other shards is nobody's fault.
    pub fn nothing_kept(&self) -> Option<String> {
        if self.kept > 0 || self.refused.contains_key(&Refusal::OtherShard) {
            return None;
        }
        let games = |cause| self.refused.get(&cause).copied().unwrap_or(0);
        if self.games() == games(Refusal::NotAGame) {
            return Some(
                "no game found: there are no PGN tags or moves; give games in PGN".to_owned(),
            );
        }
        let causes: Vec<String> =
            self.refused.iter().map(|(cause, games)| format!("{games} {}", cause.name())).collect();
        let advice = if self.refused.keys().any(|cause| cause.is_by_filter()) {
            "ask for less, or give other games"
        } else {
            "give other games"
        };
        Some(format!("{} games read, none kept: {}; {advice}", self.games(), causes.join(", ")))
    }

    /// Adds the counts of another part of the work.
    pub fn merge(&mut self, other: &Self) {
        self.kept += other.kept;
        self.positions += other.positions;
        for (&refusal, games) in &other.refused {
            *self.refused.entry(refusal).or_default() += games;
        }
        self.damaged.extend_from_slice(&other.damaged);
    }
}

/// The counts; what is damaged is for the error message.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12}  games read", self.games())?;
        writeln!(f, "{:>12}  {:<17}with {} positions", self.kept, "kept", self.positions)?;
        for by_filter in [true, false] {
            let refused =
                self.refused.iter().filter(|(cause, _)| cause.is_by_filter() == by_filter);
            for (&cause, &games) in refused {
                writeln!(f, "{games:>12}  {:<17}{}", cause.name(), cause.meaning())?;
            }
        }
        Ok(())
    }
}
