//! Games to training positions, shuffled across all games.
//!
//! Every position gets a place, a hash of the seed, its game and its ply, and the places are the
//! order of the output. So the output depends on the seed and the games alone, never on threads,
//! memory or interruptions. [`to_shards`] sorts all positions by place in two passes: the first
//! spreads them over bucket files by the high bits of their places, the second sorts one bucket
//! after the other in memory and cuts them into shards. [`to_stream`] keeps nothing on disk and
//! shuffles through a buffer.

mod arguments;
mod buckets;
mod cut;
mod job;
mod sampler;
mod state;
mod stream;

pub use arguments::Arguments;
pub use job::{ExpandError, Job, Manifest, Options, Split};
pub use stream::to_stream;

use crate::gamefile::GameFile;
use crate::lock;
use crate::progress::Progress;
use job::{expected_positions, file_error};
use state::State;
use std::fs;
use std::path::Path;

/// So many positions before a checkmate have a rate of their own, see [`Options::mate_rate`].
pub const MATE_PLIES: usize = 10;
/// From this ply on, positions have a rate of their own, see [`Options::late_rate`].
pub const LATE_PLY: usize = 80;

/// Writes the shards of `games` and `manifest.json` into `folder`. Interrupted, it goes on where it
/// stopped when called again with the same options; `memory`, `threads` and
/// `checkpoint` may differ.
///
/// `progress` counts games, then positions. Returns what the manifest says.
///
/// # Errors
/// When the folder holds something else or another run is at work in it, a finished one lacks a
/// shard, `memory` does not suffice, a game or the disk cannot be read or written.
pub fn to_shards(
    games: &GameFile,
    options: &Options,
    folder: &Path,
    progress: &Progress,
) -> Result<Manifest, ExpandError> {
    let job = Job::new(games, options)?;
    let is_new = !folder.exists();
    fs::create_dir_all(folder).map_err(file_error("create", folder))?;
    let lock_file = state::lock(folder);
    let lock = lock::take(&lock_file).map_err(file_error("create", &lock_file))?;
    let lock = lock.ok_or_else(|| ExpandError::Busy { folder: folder.to_owned() })?;
    let made = make(games, options, job, folder, progress);
    // Should the lock's file stay behind, it locks nothing.
    let _ = fs::remove_file(lock_file);
    drop(lock);
    if made.is_err() && is_new {
        // This removes it only when it is empty.
        let _ = fs::remove_dir(folder);
    }
    made
}

/// Makes what is not there yet.
fn make(
    games: &GameFile,
    options: &Options,
    job: Job,
    folder: &Path,
    progress: &Progress,
) -> Result<Manifest, ExpandError> {
    if let Some(manifest) = Manifest::read(folder)? {
        if manifest.job != job {
            return Err(ExpandError::Taken { folder: folder.to_owned() });
        }
        manifest.check(folder)?;
        state::remove(folder)?;
        return Ok(manifest);
    }
    let expected = expected_positions(games, options, job.overall_rate());
    let mut state = State::open(folder, &job, expected, options.memory)?;
    buckets::fill(games, options, folder, &mut state, progress)?;
    let (games, positions) = (state.games, state.output_positions());
    if positions == 0 {
        state::remove(folder)?;
        return Err(ExpandError::Nothing);
    }
    cut::cut(&mut state, folder, progress)?;
    let manifest = Manifest {
        job,
        games,
        positions,
        shards: state.shards.len(),
        shard_bytes: state.shards.iter().map(|shard| shard.bytes).collect(),
        shard_crc32: state.shards.iter().map(|shard| shard.crc32).collect(),
    };
    manifest.check(folder)?;
    manifest.write(folder)?;
    state::remove(folder)?;
    Ok(manifest)
}
