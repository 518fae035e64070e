//! What is to be expanded, and how that is said in files and messages.

use super::state;
use super::{LATE_PLY, MATE_PLIES};
use crate::failure::{Failure, advice};
use crate::gamefile::{GameFile, GameFileError};
use crate::partial;
use crate::shard::Shard;
use crate::shards::{self, Layout};
use fianchetto::chess::IllegalMove;
use fianchetto::encoding::Encoding;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which games to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Those to learn from.
    Train,
    /// Those kept back to measure on.
    HeldOut,
    /// Both.
    All,
}

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct Options {
    /// How positions are shown and moves numbered.
    pub encoding: Encoding,
    /// The share of positions to take, above 0 and at most 1; `None` for as many as `positions`
    /// needs.
    pub rate: Option<f64>,
    /// The share of the last [`MATE_PLIES`] positions of games that end in checkmate; `None`, or below
    /// `rate`: as others.
    ///
    /// [`MATE_PLIES`]: super::MATE_PLIES
    pub mate_rate: Option<f64>,
    /// The share of positions at ply [`LATE_PLY`](super::LATE_PLY) and later; `None`, or below `rate`: as
    /// others.
    pub late_rate: Option<f64>,
    /// Chooses the positions and their order.
    pub seed: u64,
    /// Which games to take.
    pub split: Split,
    /// Which part of the games, counted from 0, and of how many.
    pub shard: Shard,
    /// At most so many positions; the first ones of the shuffled order.
    pub positions: Option<u64>,
    /// Bytes of memory to work in.
    pub memory: u64,
    /// How many threads expand.
    pub threads: usize,
    /// How much work an interruption may cost.
    pub checkpoint: Duration,
}

/// All that the output depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Of the shards' layout and of this file.
    pub format_version: u32,
    /// The encoding's name.
    pub encoding: String,
    /// The name of its move numbering.
    pub policy: String,
    /// How many policy indices there are.
    pub policy_size: usize,
    /// How many planes.
    pub planes: usize,
    /// The planes of the field `constants`.
    pub constant_planes: Vec<usize>,
    /// The planes of the field `squares`.
    pub square_planes: Vec<usize>,
    /// Records of a full shard.
    pub positions_per_shard: usize,
    /// See [`Options::seed`].
    pub seed: u64,
    /// The share of positions taken.
    pub rate: f64,
    /// See [`Options::mate_rate`]; not below `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mate_rate: Option<f64>,
    /// See [`Options::late_rate`]; not below `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_rate: Option<f64>,
    /// See [`Options::split`].
    pub split: Split,
    /// Which part of the games, from 0, and of how many: `"0/1"`.
    pub shard: String,
    /// See [`Options::positions`].
    pub limit: Option<u64>,
    /// Games in the game file.
    pub source_games: u64,
    /// Plies in the game file.
    pub source_plies: u64,
    /// The game file's [checksum](GameFile::checksum).
    pub source_checksum: u32,
}

impl Job {
    /// The job that `options` mean for these games.
    ///
    /// # Errors
    /// When the game file cannot be read.
    pub fn new(games: &GameFile, options: &Options) -> Result<Self, GameFileError> {
        let encoding = options.encoding;
        let layout = Layout::new(encoding);
        let mut job = Self {
            format_version: 1,
            encoding: encoding.name().to_owned(),
            policy: encoding.policy_name().to_owned(),
            policy_size: encoding.policy_size(),
            planes: encoding.planes(),
            constant_planes: layout.constant_planes,
            square_planes: layout.square_planes,
            positions_per_shard: shards::POSITIONS,
            seed: options.seed,
            rate: 1.0,
            mate_rate: None,
            late_rate: None,
            split: options.split,
            shard: options.shard.to_string(),
            limit: options.positions,
            source_games: games.len(),
            source_plies: games.plies(),
            source_checksum: games.checksum()?,
        };
        job.rate = options.rate.unwrap_or_else(|| {
            // A tenth more than needed, and some for small files, whose games differ more.
            let wanted = job.limit.map_or(f64::INFINITY, |limit| 1.1 * limit as f64 + 20_000.0);
            (wanted / expected_positions(games, options, 1.0) as f64).min(1.0)
        });
        [job.mate_rate, job.late_rate] =
            [options.mate_rate, options.late_rate].map(|rate| rate.map(|rate| rate.max(job.rate)));
        Ok(job)
    }

    /// The share of all positions that will be taken, by a guess: as if every fourth game ended in
    /// checkmate, and their lengths were spread exponentially.
    pub(super) fn overall_rate(&self) -> f64 {
        let mean = self.source_plies as f64 / self.source_games as f64;
        let more = |rate: Option<f64>, share: f64| {
            rate.map_or(0.0, |rate| (rate - self.rate) * share.min(1.0))
        };
        let mates = more(self.mate_rate, MATE_PLIES as f64 / 4.0 / mean);
        let late = more(self.late_rate, (-(LATE_PLY as f64) / mean).exp());
        (self.rate + mates + late).min(1.0)
    }
}

/// About how many positions will be taken at this rate.
pub(super) fn expected_positions(games: &GameFile, options: &Options, rate: f64) -> u64 {
    let split = match options.split {
        Split::Train => 0.98,
        Split::HeldOut => 0.02,
        Split::All => 1.0,
    };
    (games.plies() as f64 * split * rate / options.shard.count() as f64) as u64
}

/// What `manifest.json` says of a finished folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// How the shards were made.
    #[serde(flatten)]
    pub job: Job,
    /// Games that were taken.
    pub games: u64,
    /// Records in all shards.
    pub positions: u64,
    /// How many shards, `shard-00000.npy` and so on.
    pub shards: usize,
    /// The length of each shard's file.
    pub shard_bytes: Vec<u64>,
    /// CRC-32 (ISO 3309) of each shard's file; none in folders older than this field.
    #[serde(default)]
    pub shard_crc32: Vec<u32>,
}

impl Manifest {
    pub(super) const NAME: &str = "manifest.json";

    /// Reads the manifest of a folder, `None` when it has none.
    ///
    /// # Errors
    /// When it cannot be read or is no manifest.
    pub fn read(folder: &Path) -> Result<Option<Self>, ExpandError> {
        let path = folder.join(Self::NAME);
        partial::regular(&path).map_err(ExpandError::Manifest)?;
        read_json(folder, &path)
    }

    /// Makes sure that the shards in `folder` are those that were written.
    ///
    /// # Errors
    /// When one is missing or has another length.
    pub fn check(&self, folder: &Path) -> Result<(), ExpandError> {
        for (number, &expected) in self.shard_bytes.iter().enumerate() {
            let path = state::shard(folder, number);
            let found = match fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                known => Some(known.map_err(file_error("read", &path))?.len()),
            };
            if found != Some(expected) {
                let folder = folder.to_owned();
                return Err(ExpandError::Shard { folder, path, found, expected });
            }
        }
        Ok(())
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), ExpandError> {
        let path = folder.join(Self::NAME);
        partial::write_json(&path, self).map_err(file_error("write", &path))
    }
}

/// Reads a JSON file that tells of `folder`, `None` when there is none.
pub(super) fn read_json<T: for<'a> Deserialize<'a>>(
    folder: &Path,
    path: &Path,
) -> Result<Option<T>, ExpandError> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(file_error("read", path))?,
    };
    let value = serde_json::from_slice(&text);
    value.map(Some).map_err(|error| {
        let (folder, path) = (folder.to_owned(), path.to_owned());
        ExpandError::Damaged { folder, path, error }
    })
}

/// Why games could not be expanded.
#[derive(Debug)]
pub enum ExpandError {
    /// A file or folder could not be used.
    File {
        /// What was to be done: `"read"`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file that tells what the folder holds is not as it was written.
    Damaged {
        /// The folder.
        folder: PathBuf,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// What is in the manifest's place is no regular file.
    Manifest(Failure),
    /// The folder holds shards, but nothing that tells of what.
    Untold {
        /// The folder.
        folder: PathBuf,
        /// The manifest that is missing.
        manifest: PathBuf,
    },
    /// The game file could not be read.
    Games(GameFileError),
    /// A game in the game file has an illegal move.
    Illegal(IllegalMove),
    /// The folder holds the output of other options.
    Taken {
        /// The folder.
        folder: PathBuf,
    },
    /// Another run is at work in the folder.
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// A shard of a finished folder is not as it was written.
    Shard {
        /// The folder.
        folder: PathBuf,
        /// The shard.
        path: PathBuf,
        /// Bytes that it has, `None` when it is missing.
        found: Option<u64>,
        /// Bytes that it was written with.
        expected: u64,
    },
    /// So many positions cannot be shuffled in so little memory.
    Memory {
        /// Bytes allowed.
        allowed: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// No position is taken.
    Nothing,
    /// There are no games in this file.
    NoGames(PathBuf),
    /// The stream's reader could not be written to.
    Stream(io::Error),
}

impl fmt::Display for ExpandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { action, path, error } => {
                write!(f, "{}", Failure::file(action, path, error))
            }
            Self::Damaged { folder, path, error } => write!(
                f,
                "{}: {error}, expected what this program wrote; remove {} with all in it to begin anew, or name another folder",
                path.display(),
                folder.display()
            ),
            Self::Manifest(failure) => failure.fmt(f),
            Self::Untold { folder, manifest } => write!(
                f,
                "{} is missing, expected it beside the shards; remove {} with all in it to begin anew, or name another folder",
                manifest.display(),
                folder.display()
            ),
            Self::Games(error) => error.fmt(f),
            Self::Illegal(error) => {
                write!(f, "the game file is damaged: {error}; pack the games anew")
            }
            Self::Taken { folder } => write!(
                f,
                "{} holds shards made from other games or with other options; give an empty folder, or the same options to go on",
                folder.display()
            ),
            Self::Busy { folder } => write!(
                f,
                "another run is writing into {} at this moment; wait until it is done, or give another folder",
                folder.display()
            ),
            Self::Shard { folder, path, found, expected } => {
                let (folder, path) = (folder.display(), path.display());
                match found {
                    Some(found) => {
                        write!(f, "{path} has {found} bytes, it was written with {expected}")?
                    }
                    None => write!(f, "{path} is missing")?,
                }
                write!(f, "; remove {folder} and call again to make it anew, with the same bytes")
            }
            Self::Memory { allowed, needed } => write!(
                f,
                "shuffling so many positions takes {} MiB of memory, allowed are {}; raise --memory, lower --rate or split the work with --shard",
                needed.div_ceil(1 << 20),
                allowed >> 20
            ),
            Self::Nothing => write!(
                f,
                "no position was taken from the game file, expected some; see with `inspect` what it holds, and raise --rate or choose another --split or --shard"
            ),
            Self::NoGames(path) => write!(
                f,
                "{}: there are no games in it, expected some; pack others, or see with `pack --report` why none was kept",
                path.display()
            ),
            Self::Stream(error) => {
                write!(f, "cannot write to standard output: {error}; {}", advice(error))
            }
        }
    }
}

impl std::error::Error for ExpandError {}

impl From<GameFileError> for ExpandError {
    fn from(error: GameFileError) -> Self {
        Self::Games(error)
    }
}

impl From<IllegalMove> for ExpandError {
    fn from(error: IllegalMove) -> Self {
        Self::Illegal(error)
    }
}

/// For `map_err`: what was to be done with which file.
pub(super) fn file_error(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> ExpandError {
    move |error| ExpandError::File { action, path: path.to_owned(), error }
}
