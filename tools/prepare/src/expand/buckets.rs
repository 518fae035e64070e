//! The first pass: every position is expanded once, into the bucket file of its place.

use super::job::{ExpandError, Options, file_error};
use super::sampler::{Expander, Sampler};
use super::state::{self, Bucket, State};
use crate::gamefile::GameFile;
use crate::progress::{Progress, Unit};
use crate::shards::Layout;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// A bucket file that all threads append to. Their order does not matter: places do.
struct Appender {
    file: File,
    bucket: Bucket,
}

/// Expands the blocks that `state` lacks, and brings it up to date on disk from time to time.
pub fn fill(
    games: &GameFile,
    options: &Options,
    folder: &Path,
    state: &mut State,
    progress: &Progress,
) -> Result<(), ExpandError> {
    if state.blocks == games.block_count() {
        return Ok(());
    }
    let threads = options.threads.max(1);
    let sampler = Sampler::new(options, &state.job, 0);
    let appenders = open(folder, state)?;
    let share = options.memory / 2 / (threads * appenders.len()) as u64;
    let pass = Pass {
        games,
        folder,
        layout: state.layout(),
        sampler,
        appenders,
        buffer: share.clamp(4 << 10, 1 << 20) as usize,
    };
    // Games, for more positions are taken here than come out where there is a limit to them.
    let done = games.games_before(state.blocks);
    progress.begin("expanding", Unit::Other("games"), Some(games.len()), done, done);
    while state.blocks < games.block_count() {
        let next = AtomicUsize::new(state.blocks);
        let deadline = Instant::now() + options.checkpoint;
        state.games += thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| pass.work(&next, deadline, progress)))
                .collect();
            let finished = workers.into_iter().map(|worker| worker.join().expect("no panic"));
            finished.sum::<Result<u64, ExpandError>>()
        })?;
        state.blocks = next.into_inner().min(games.block_count());
        for (number, appender) in pass.appenders.iter().enumerate() {
            let appender = appender.lock().expect("no panic");
            let path = state::bucket(folder, number);
            appender.file.sync_data().map_err(file_error("write", &path))?;
            state.buckets[number] = appender.bucket;
        }
        state.write(folder)?;
    }
    Ok(())
}

/// Opens all buckets and cuts off what an interrupted run left in them after its last checkpoint.
fn open(folder: &Path, state: &State) -> Result<Vec<Mutex<Appender>>, ExpandError> {
    let appenders = state.buckets.iter().enumerate().map(|(number, &bucket)| {
        let path = state::bucket(folder, number);
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).open(&path);
        let file = file.and_then(|mut file| {
            file.set_len(bucket.bytes)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        });
        Ok(Mutex::new(Appender { file: file.map_err(file_error("write", &path))?, bucket }))
    });
    appenders.collect()
}

/// What the threads of the first pass share.
struct Pass<'a> {
    games: &'a GameFile,
    folder: &'a Path,
    layout: Layout,
    sampler: Sampler,
    appenders: Vec<Mutex<Appender>>,
    /// Bytes that a thread gathers for a bucket before it appends them.
    buffer: usize,
}

impl Pass<'_> {
    /// Expands block after block until the deadline; returns how many games it took.
    fn work(
        &self,
        next: &AtomicUsize,
        deadline: Instant,
        progress: &Progress,
    ) -> Result<u64, ExpandError> {
        let mut expander = Expander::new(self.sampler.clone(), self.layout.clone());
        let mut gathered = vec![(Vec::new(), 0); self.appenders.len()];
        let mut taken = 0;
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= self.games.block_count() {
                break;
            }
            for game in self.games.block(block)? {
                let taken_now = expander.expand(&game, |place, loose| {
                    let number = (u128::from(place) * gathered.len() as u128) >> 64;
                    let (bytes, count) = &mut gathered[number as usize];
                    bytes.extend(place.to_le_bytes());
                    bytes.extend(loose);
                    *count += 1;
                })?;
                taken += u64::from(taken_now);
                progress.add(1);
                for (number, (bytes, count)) in gathered.iter_mut().enumerate() {
                    if bytes.len() >= self.buffer {
                        self.append(number, bytes, count)?;
                    }
                }
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        for (number, (bytes, count)) in gathered.iter_mut().enumerate() {
            self.append(number, bytes, count)?;
        }
        Ok(taken)
    }

    fn append(
        &self,
        number: usize,
        bytes: &mut Vec<u8>,
        count: &mut u64,
    ) -> Result<(), ExpandError> {
        let mut appender = self.appenders[number].lock().expect("no panic");
        let path = state::bucket(self.folder, number);
        appender.file.write_all(bytes).map_err(file_error("write", &path))?;
        appender.bucket.bytes += bytes.len() as u64;
        appender.bucket.positions += *count;
        bytes.clear();
        *count = 0;
        Ok(())
    }
}
