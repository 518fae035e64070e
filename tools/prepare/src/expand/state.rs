//! How far an expansion has come, on disk.

use super::job::{ExpandError, Job, Manifest, file_error, read_json};
use crate::partial::write_json;
use crate::shards::Layout;
use fianchetto::encoding::Encoding;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Each is an open file in the first pass.
const MOST_BUCKETS: u64 = 512;

/// The progress of both passes.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    /// What is being done.
    pub job: Job,
    /// Blocks of the game file that are in the buckets whole.
    pub blocks: usize,
    /// Games taken from them.
    pub games: u64,
    /// The buckets; later places in later ones.
    pub buckets: Vec<Bucket>,
    /// The shards that are on disk, from the first on.
    pub shards: Vec<Shard>,
}

/// What is in a bucket file.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Bucket {
    /// Its length; what lies beyond is from a run that was interrupted.
    pub bytes: u64,
    /// How many positions.
    pub positions: u64,
}

/// A shard as it was written, whatever becomes of the file.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Shard {
    /// Its length.
    pub bytes: u64,
    /// Its CRC-32.
    pub crc32: u32,
}

impl State {
    /// The state of an unfinished job in `folder`, or that of a new one with about so many
    /// positions.
    pub fn open(
        folder: &Path,
        job: &Job,
        positions: u64,
        memory: u64,
    ) -> Result<Self, ExpandError> {
        if let Some(state) = read_json::<Self>(folder, &path(folder))? {
            let taken = || ExpandError::Taken { folder: folder.to_owned() };
            return if state.job == *job { Ok(state) } else { Err(taken()) };
        }
        if shard(folder, 0).exists() {
            let manifest = folder.join(Manifest::NAME);
            return Err(ExpandError::Untold { folder: folder.to_owned(), manifest });
        }
        let buckets =
            vec![Bucket::default(); bucket_count(&Layout::new(encoding(job)), positions, memory)?];
        remove(folder)?;
        let partial = partial(folder);
        fs::create_dir(&partial).map_err(file_error("create", &partial))?;
        let state = Self { job: job.clone(), blocks: 0, games: 0, buckets, shards: Vec::new() };
        state.write(folder)?;
        Ok(state)
    }

    /// Writes the state; the buckets and shards must be on the disk.
    pub fn write(&self, folder: &Path) -> Result<(), ExpandError> {
        let path = path(folder);
        write_json(&path, self).map_err(file_error("write", &path))
    }

    /// How many positions will come out, once the first pass is done.
    pub fn output_positions(&self) -> u64 {
        let taken = self.buckets.iter().map(|bucket| bucket.positions).sum();
        self.job.limit.map_or(taken, |limit| limit.min(taken))
    }

    /// How records lie in the buckets.
    pub fn layout(&self) -> Layout {
        Layout::new(encoding(&self.job))
    }
}

fn encoding(job: &Job) -> Encoding {
    Encoding::from_name(&job.encoding).expect("the job was made from an encoding")
}

/// So many that three of them fit into memory with their indices.
fn bucket_count(layout: &Layout, positions: u64, memory: u64) -> Result<usize, ExpandError> {
    // The average position has 30 to 35 legal moves.
    let record = 8 + layout.record_len() as u64 + 2 * 40;
    let bytes = positions.saturating_mul(record);
    let buckets = bytes.div_ceil((memory / 4).max(1)).max(1);
    if buckets > MOST_BUCKETS {
        let needed = 4 * bytes.div_ceil(MOST_BUCKETS);
        return Err(ExpandError::Memory { allowed: memory, needed });
    }
    Ok(buckets as usize)
}

/// The folder of all that is removed in the end.
fn partial(folder: &Path) -> PathBuf {
    folder.join("partial")
}

fn path(folder: &Path) -> PathBuf {
    partial(folder).join("state.json")
}

/// The file by which one run at a time has the folder.
pub fn lock(folder: &Path) -> PathBuf {
    folder.join("expand.lock")
}

/// The file of a bucket.
pub fn bucket(folder: &Path, number: usize) -> PathBuf {
    partial(folder).join(format!("bucket-{number:03}"))
}

/// The file of a shard.
pub fn shard(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("shard-{number:05}.npy"))
}

/// Removes what only an unfinished job needs.
pub fn remove(folder: &Path) -> Result<(), ExpandError> {
    let partial = partial(folder);
    match fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(file_error("remove", &partial)(error))
        }
        _ => Ok(()),
    }
}
