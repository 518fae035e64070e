//! From texts to blocks: one thread reads, several play games through, one gathers, several pack.

use super::seen::{InputReader, Seen};
use super::state::{Job, Point};
use crate::failure::Failure;
use crate::game::PlayedGame;
use crate::gamefile::{Block, Gather};
use crate::pgn::{RawGame, Refusal};
use crate::threads;
use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Games that go from thread to thread together.
const BATCH: usize = 64;

/// A block to write, if any, and the point reached by it.
pub type Step = Result<(Option<Block>, Point), Failure>;

/// The blocks of the output, each with the point reached by it; the last step has what is left, if
/// anything, and the final report. `out` is named when the inputs are not those of `start`.
pub fn steps(
    job: &Job,
    out: &Path,
    start: Point,
    read: Arc<AtomicU64>,
    threads: NonZeroUsize,
) -> impl Iterator<Item = Step> + use<> {
    let (filters, shard) = (job.filters.clone(), job.shard);
    let wanted = move |game: RawGame| {
        let played = filters.resolve(&game).and_then(|played| match shard {
            Some(shard) if !shard.takes(&played) => Err(Refusal::OtherShard),
            _ => Ok(played),
        });
        Outcome { checksum: game.checksum(), played }
    };
    let paths = job.inputs.iter().map(|source| source.path.clone()).collect();
    let (next, seen) = (start.done.len(), start.seen);
    let texts = Texts { paths, out: out.to_owned(), read, next, seen, reader: None };
    let batches = threads::in_order(texts, threads, move |batch| {
        batch.map(|Batch { games, end }| Batch {
            games: games.into_iter().map(&wanted).collect(),
            end,
        })
    });
    let gathered = Gathered {
        batches,
        gather: Gather::default(),
        point: start,
        ready: VecDeque::new(),
        ended: false,
    };
    threads::in_order(gathered, threads, |step| {
        let (games, point) = step?;
        let block = if games.is_empty() { None } else { Some(Block::pack(&games)?) };
        Ok((block, point))
    })
}

/// Games that follow one another in one input.
struct Batch<G> {
    games: Vec<G>,
    /// Whether the input ends with them.
    end: Option<End>,
}

/// The end of an input.
struct End {
    path: PathBuf,
    /// Why it cannot be read further, if that is how it ends.
    damage: Option<io::Error>,
}

/// The texts of the games of all inputs, one after the other.
struct Texts {
    paths: Vec<PathBuf>,
    out: PathBuf,
    read: Arc<AtomicU64>,
    /// The input that is read, or to be opened next.
    next: usize,
    /// What of it is dealt with when it is opened.
    seen: Seen,
    reader: Option<InputReader>,
}

impl Texts {
    fn batch(&mut self, path: &Path) -> Result<Batch<RawGame>, Failure> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(self.seen.pass_over(path, &self.read, &self.out)?),
        };
        let mut games = Vec::with_capacity(BATCH);
        let damage = loop {
            match reader.next_game() {
                Ok(Some(game)) => {
                    // The end belongs to the last game: it tells whether that was cut off.
                    let is_full = games.len() + 1 >= BATCH && !game.is_last();
                    games.push(game);
                    if is_full {
                        return Ok(Batch { games, end: None });
                    }
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        (self.reader, self.next, self.seen) = (None, self.next + 1, Seen::default());
        Ok(Batch { games, end: Some(End { path: path.to_owned(), damage }) })
    }
}

impl Iterator for Texts {
    type Item = Result<Batch<RawGame>, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let path = self.paths.get(self.next)?.clone();
        let batch = self.batch(&path);
        if batch.is_err() {
            self.next = self.paths.len();
        }
        Some(batch)
    }
}

/// A game, or why it is not wanted.
struct Outcome {
    /// Of its text.
    checksum: u32,
    played: Result<PlayedGame, Refusal>,
}

/// Games enough for a block, and the point reached by them.
type Gathering = Result<(Vec<PlayedGame>, Point), Failure>;

/// The games wanted, gathered into blocks, and the point reached by each.
struct Gathered<I> {
    batches: I,
    gather: Gather,
    point: Point,
    /// Blocks that the last batch completed.
    ready: VecDeque<Gathering>,
    ended: bool,
}

impl<I> Gathered<I> {
    fn take_up(&mut self, batch: Batch<Outcome>) {
        for outcome in batch.games {
            self.point.seen.add(outcome.checksum);
            if let (Err(Refusal::Truncated), Some(End { path, damage: None })) =
                (&outcome.played, &batch.end)
            {
                let cut = "it ends before the result of its last game";
                self.point.report.damage(path.display(), cut);
            }
            let is_full = match outcome.played {
                Ok(game) => {
                    self.point.report.keep(game.moves.len());
                    self.gather.push(game)
                }
                Err(refusal) => {
                    self.point.report.refuse(refusal);
                    false
                }
            };
            if is_full {
                self.ready.push_back(Ok((self.gather.take(), self.point.clone())));
            }
        }
        if let Some(End { path, damage }) = batch.end {
            if let Some(error) = damage {
                self.point.report.damage(path.display(), error);
            }
            self.point.done.push(std::mem::take(&mut self.point.seen));
        }
    }
}

impl<I: Iterator<Item = Result<Batch<Outcome>, Failure>>> Iterator for Gathered<I> {
    type Item = Gathering;

    fn next(&mut self) -> Option<Gathering> {
        while self.ready.is_empty() && !self.ended {
            match self.batches.next() {
                Some(Ok(batch)) => self.take_up(batch),
                Some(Err(failure)) => {
                    self.ended = true;
                    self.ready.push_back(Err(failure));
                }
                None => {
                    self.ended = true;
                    self.ready.push_back(Ok((self.gather.take(), self.point.clone())));
                }
            }
        }
        self.ready.pop_front()
    }
}
