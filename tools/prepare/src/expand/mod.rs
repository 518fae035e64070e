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
use indicatif::ProgressBar;
use job::{expected_positions, file_error};
use state::State;
use std::fs;
use std::path::Path;

/// Writes the shards of `games` and `manifest.json` into `folder`. Interrupted, it goes on where it
/// stopped when called again with the same options; `memory`, `threads` and
/// `checkpoint` may differ.
///
/// `bar` counts positions. Returns what the manifest says.
///
/// # Errors
/// When the folder holds something else, `memory` does not suffice, a game or the disk cannot be
/// read or written.
pub fn to_shards(
    games: &GameFile,
    options: &Options,
    folder: &Path,
    bar: &ProgressBar,
) -> Result<Manifest, ExpandError> {
    let job = Job::new(games, options);
    fs::create_dir_all(folder).map_err(file_error("create", folder))?;
    if let Some(manifest) = Manifest::read(folder)? {
        if manifest.job != job {
            return Err(ExpandError::Taken { folder: folder.to_owned() });
        }
        state::remove(folder)?;
        return Ok(manifest);
    }
    let expected = expected_positions(games, options, job.rate);
    let mut state = State::open(folder, &job, expected, options.memory)?;
    bar.set_length(expected);
    buckets::fill(games, options, folder, &mut state, bar)?;
    if state.output_positions() == 0 {
        state::remove(folder)?;
        return Err(ExpandError::Nothing);
    }
    bar.set_length(state.output_positions());
    bar.set_position(0);
    let shards = cut::cut(&state, folder, bar)?;
    let manifest =
        Manifest { games: state.games, positions: state.output_positions(), shards, job };
    manifest.write(folder)?;
    state::remove(folder)?;
    Ok(manifest)
}
