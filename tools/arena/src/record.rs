//! The record of a run: its finished games, each written down before the next one counts.

use crate::game::Played;
use crate::journal::Journal;
use fianchetto_prepare::failure::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// What run a record is of: two runs with the same would play the same games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOf {
    /// The version of this form.
    pub version: u32,
    /// The contenders as they were named.
    pub contenders: Vec<String>,
    /// By what their networks are known, where they have one.
    pub networks: Vec<Option<String>>,
    /// Limits for those that have none of their own.
    pub limits: String,
    /// From where games begin.
    pub openings: String,
    /// From which all random numbers come.
    pub seed: u64,
    /// See [`crate::game::Rules`].
    pub max_moves: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    game: u64,
    #[serde(flatten)]
    played: Played,
}

/// The games finished so far, and where they are written.
pub struct Record {
    journal: Option<Journal>,
    games: BTreeMap<u64, Played>,
}

impl Record {
    /// In memory alone.
    pub fn unwritten() -> Self {
        Self { journal: None, games: BTreeMap::new() }
    }

    /// Begins a record, or goes on with the one that is there.
    ///
    /// # Errors
    /// See [`Journal::open`].
    pub fn open(path: &Path, run: &RunOf) -> Result<Self, Failure> {
        let (journal, lines) = Journal::open(path, run)?;
        for (i, Line { played, .. }) in lines.iter().enumerate() {
            let found = &played.result;
            if !["1-0", "0-1", "1/2-1/2"].contains(&&**found) {
                return Err(Failure(format!(
                    "{}: line {} is damaged: the result {found:?}, expected 1-0, 0-1 or 1/2-1/2; name another \
                     output, or remove it",
                    path.display(),
                    i + 2
                )));
            }
        }
        let games = lines.into_iter().map(|Line { game, played }| (game, played)).collect();
        Ok(Self { journal: Some(journal), games })
    }

    /// The games finished so far, by number.
    pub fn games(&self) -> &BTreeMap<u64, Played> {
        &self.games
    }

    /// Adds a finished game.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, game: u64, played: Played) -> Result<(), Failure> {
        if let Some(journal) = &mut self.journal {
            journal.write(&Line { game, played: played.clone() })?;
        }
        self.games.insert(game, played);
        Ok(())
    }
}
