//! The record of a run: a line that says what run it is, then a line for each finished game, in the order in
//! which they ended. Every line is on its way to the disk before the next game counts, so that a run killed at
//! any moment goes on without losing or repeating a game.

use crate::game::Played;
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::lock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What run a record is of: two runs with the same would play the same games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOf {
    /// The version of this form.
    pub version: u32,
    /// The contenders as they were named.
    pub contenders: Vec<String>,
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
    file: Option<(PathBuf, File)>,
    games: BTreeMap<u64, Played>,
}

impl Record {
    /// In memory alone.
    pub fn unwritten() -> Self {
        Self { file: None, games: BTreeMap::new() }
    }

    /// Begins a record, or goes on with the one that is there. A last line that was not written whole is cut
    /// off.
    ///
    /// # Errors
    /// When it is of another run, no record, in use, or cannot be read or written.
    pub fn open(path: &Path, run: &RunOf) -> Result<Self, Failure> {
        let failed = |action, error| Failure::file(action, path, &error);
        let refuse = |reason: &str| {
            Failure(format!("{}: {reason}; name another output, or remove it", path.display()))
        };
        let Some(mut file) = lock::take(path).map_err(|error| failed("create", error))? else {
            return Err(refuse("another run is writing it at this moment"));
        };
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|error| failed("read", error))?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut lines = text[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let mut games = BTreeMap::new();
        match lines.next() {
            Some(line) => {
                let found: RunOf = serde_json::from_slice(line).map_err(|_| {
                    refuse("not the record of a run: expected one that this program wrote")
                })?;
                if found != *run {
                    return Err(refuse(&format!(
                        "it is of another run: found {}, expected {}",
                        json(&found),
                        json(run)
                    )));
                }
            }
            // A torn beginning must not be taken for a foreign file.
            None if !text.is_empty() && !text.starts_with(b"{\"version\":") => {
                return Err(refuse(
                    "not the record of a run: expected one that this program wrote",
                ));
            }
            None => {}
        }
        for (i, line) in lines.enumerate() {
            let read: Result<Line, _> = serde_json::from_slice(line);
            let Line { game, played } =
                read.map_err(|error| refuse(&format!("line {} is damaged: {error}", i + 2)))?;
            games.insert(game, played);
        }
        file.set_len(whole as u64).map_err(|error| failed("cut", error))?;
        file.seek(SeekFrom::End(0)).map_err(|error| failed("write", error))?;
        let mut record = Self { file: Some((path.to_owned(), file)), games };
        if whole == 0 {
            record.write(run)?;
        }
        Ok(record)
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
        self.write(&Line { game, played: played.clone() })?;
        self.games.insert(game, played);
        Ok(())
    }

    fn write(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        // One call, so that no other line gets between.
        file.write_all(format!("{}\n", json(line)).as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(|error| Failure::file("write", path, &error))
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data is JSON")
}
