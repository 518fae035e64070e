//! Positions to a pipe, with nothing on disk.

use super::job::{ExpandError, Job, Options, expected_positions};
use super::sampler::{Expander, Sampler};
use crate::game::spread;
use crate::gamefile::GameFile;
use crate::progress::{Progress, Unit};
use crate::shards::{self, Frame, Layout};
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// The loose records of one block of games.
type Block = Result<Vec<Box<[u8]>>, ExpandError>;

/// Writes the shards of `games` to `out`, one after the other, `epochs` times over or, with 0,
/// without end: see [`shards`] for the form. Returns how many positions it wrote; ends when the reader
/// closes the pipe.
///
/// The blocks of the game file come in a random order, another one in each epoch, and their
/// positions pass through a buffer as large as half of `memory`, from which a random one is
/// written whenever one comes in. The stream depends on the options alone, `memory` included, not
/// on the threads.
///
/// # Errors
/// When a game cannot be read or the pipe not written to.
pub fn to_stream(
    games: &GameFile,
    options: &Options,
    epochs: u64,
    out: &mut impl Write,
    progress: &Progress,
) -> Result<u64, ExpandError> {
    let job = Job::new(games, options)?;
    let expected = expected_positions(games, options, job.overall_rate());
    let expected = expected.min(job.limit.unwrap_or(u64::MAX));
    let total = (epochs > 0).then(|| epochs.saturating_mul(expected));
    progress.begin("streaming", Unit::Positions, total, 0, 0);
    let mut pipe =
        Pipe { out, progress, frame: Frame::new(Layout::new(options.encoding)), written: 0 };
    match write(games, options, &job, epochs, &mut pipe) {
        Err(ExpandError::Stream(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
        finished => finished?,
    }
    Ok(pipe.written)
}

/// Writes the whole stream.
fn write(
    games: &GameFile,
    options: &Options,
    job: &Job,
    epochs: u64,
    pipe: &mut Pipe<impl Write>,
) -> Result<(), ExpandError> {
    pipe.begin(job)?;
    for epoch in (0..).take_while(|&epoch| epochs == 0 || epoch < epochs) {
        // Nothing to stream would otherwise never end.
        if one_epoch(games, options, job, epoch, pipe)? == 0 {
            return Err(ExpandError::Nothing);
        }
    }
    pipe.end()
}

/// Positions on their way to the reader.
struct Pipe<'a, W> {
    out: &'a mut W,
    progress: &'a Progress,
    frame: Frame,
    written: u64,
}

impl<W: Write> Pipe<'_, W> {
    fn begin(&mut self, job: &Job) -> Result<(), ExpandError> {
        let line = serde_json::to_string(job).map_err(io::Error::from);
        let written = line.and_then(|line| writeln!(self.out, "{line}"));
        written.map_err(ExpandError::Stream)
    }

    fn push(&mut self, loose: &[u8]) -> Result<(), ExpandError> {
        self.frame.push(loose);
        if self.frame.len() == shards::POSITIONS { self.write() } else { Ok(()) }
    }

    /// Writes what has been gathered, and the mark of the end: a pair of arrays with nothing in them.
    fn end(&mut self) -> Result<(), ExpandError> {
        if !self.frame.is_empty() {
            self.write()?;
        }
        self.write()
    }

    /// Writes what has been gathered.
    fn write(&mut self) -> Result<(), ExpandError> {
        let count = self.frame.len() as u64;
        let written = self.frame.write(self.out).and_then(|()| self.out.flush());
        written.map_err(ExpandError::Stream)?;
        self.written += count;
        self.progress.add(count);
        Ok(())
    }
}

/// Pushes the positions of one epoch, shuffled; returns how many they are.
fn one_epoch(
    games: &GameFile,
    options: &Options,
    job: &Job,
    epoch: u64,
    pipe: &mut Pipe<impl Write>,
) -> Result<u64, ExpandError> {
    let mut random = Random(spread(spread(options.seed).wrapping_add(epoch)));
    let mut blocks: Vec<usize> = (0..games.block_count()).collect();
    for last in (1..blocks.len()).rev() {
        blocks.swap(last, random.below(last + 1));
    }
    let limit = job.limit.unwrap_or(u64::MAX);
    let layout = Layout::new(options.encoding);
    let sampler = Sampler::new(options, job, epoch);
    // Half of the memory for the buffer: a record with its legal moves and its place on the heap.
    let capacity = (options.memory / 2) as usize / (layout.record_len() + 2 * 40 + 32);
    let mut buffer: Vec<Box<[u8]>> = Vec::new();
    let mut count = 0;
    // Whether more is wanted.
    let mut give = |loose: &[u8]| -> Result<bool, ExpandError> {
        if count < limit {
            pipe.push(loose)?;
            count += 1;
        }
        Ok(count < limit)
    };
    thread::scope(|scope| {
        let threads = options.threads.max(1);
        let workers: Vec<Receiver<Block>> = (0..threads)
            .map(|first| {
                let (sender, receiver) = mpsc::sync_channel(1);
                let (blocks, sampler, layout) = (&blocks, sampler.clone(), layout.clone());
                scope.spawn(move || {
                    let mut expander = Expander::new(sampler, layout);
                    for &block in blocks.iter().skip(first).step_by(threads) {
                        // The receiver hangs up when it wants no more.
                        if sender.send(expand(games, &mut expander, block)).is_err() {
                            break;
                        }
                    }
                });
                receiver
            })
            .collect();
        // Each worker has every n-th block, so taking turns gives the blocks in their order.
        for turn in 0..blocks.len() {
            let block = workers[turn % threads].recv().expect("a worker sends all its blocks");
            for mut loose in block? {
                if buffer.len() < capacity {
                    buffer.push(loose);
                    continue;
                }
                if !buffer.is_empty() {
                    std::mem::swap(&mut loose, &mut buffer[random.below(capacity)]);
                }
                if !give(&loose)? {
                    return Ok(());
                }
            }
        }
        while !buffer.is_empty() {
            let loose = buffer.swap_remove(random.below(buffer.len()));
            if !give(&loose)? {
                break;
            }
        }
        Ok::<(), ExpandError>(())
    })?;
    Ok(count)
}

fn expand(games: &GameFile, expander: &mut Expander, block: usize) -> Block {
    let mut records = Vec::new();
    for game in games.block(block)? {
        expander.expand(&game, |_, loose| records.push(loose.into()))?;
    }
    Ok(records)
}

/// Random numbers by SplitMix64.
struct Random(u64);

impl Random {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(spread(self.0)) * bound as u128) >> 64) as usize
    }
}
