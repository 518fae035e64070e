//! Work on many cases, several chunks at a time, with the results in order.

use crate::journal::Journal;
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::progress::{Progress, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The results of a chunk.
#[derive(Serialize, Deserialize)]
pub struct Done<R> {
    /// The number of its first case.
    pub first: usize,
    /// They.
    pub results: Vec<R>,
}

/// What is done already, and where more of it is written down.
pub struct Kept<'a, R> {
    /// In the same chunks.
    pub done: Vec<Done<R>>,
    /// The journal, if there is one.
    pub journal: Option<&'a mut Journal>,
}

/// What came of the work.
pub struct Worked<R, S> {
    /// In the order of the cases.
    pub results: Vec<R>,
    /// How many cases were left to do.
    pub judged: usize,
    /// What the workers had at the end.
    pub workers: Vec<S>,
}

/// Does `work` on chunks of `cases`, each worker with what `start` gave it. `work` is told the number of
/// the chunk's first case; its results come in the order of the cases. What a chunk holds does not depend on the
/// number of workers, so neither do the results.
///
/// # Errors
/// The first that `start` or `work` gave, or the journal.
pub fn in_chunks<T: Sync, S: Send, R: Send + Serialize>(
    cases: &[T],
    size: usize,
    workers: NonZeroUsize,
    name: &'static str,
    kept: Kept<'_, R>,
    start: impl Fn() -> Result<S, Failure> + Sync,
    work: impl Fn(&mut S, &[T], usize) -> Result<Vec<R>, Failure> + Sync,
) -> Result<Worked<R, S>, Failure> {
    let mut parts: BTreeMap<usize, Vec<R>> =
        kept.done.into_iter().map(|Done { first, results }| (first, results)).collect();
    let is_open = |first: &usize| !parts.contains_key(first);
    let open: Vec<usize> = (0..cases.len()).step_by(size).filter(is_open).collect();
    let chunk = |first: usize| &cases[first..cases.len().min(first + size)];
    let judged: usize = open.iter().map(|&first| chunk(first).len()).sum();
    let done = (cases.len() - judged) as u64;
    let progress = Progress::new();
    progress.begin("asking", Unit::Other(name), Some(cases.len() as u64), done, done);
    let next = AtomicUsize::new(0);
    let journal = Mutex::new(kept.journal);
    let keep = |done: &Done<R>| {
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.as_mut().map_or(Ok(()), |journal| journal.write(done))
    };
    let one_worker = || {
        let mut state = start()?;
        let mut parts = Vec::new();
        while let Some(&first) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
            let results = work(&mut state, chunk(first), first);
            let done = results.map(|results| Done { first, results });
            let done = done.and_then(|done| keep(&done).map(|()| done)).inspect_err(|_| {
                // The others need not go on.
                next.store(open.len(), Ordering::Relaxed);
            })?;
            progress.add(chunk(first).len() as u64);
            parts.push((first, done.results));
        }
        Ok((parts, state))
    };
    let ends: Vec<Result<_, Failure>> = thread::scope(|scope| {
        // No more of them than there is work for, so that none starts for nothing.
        let workers = workers.get().min(open.len());
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(one_worker)).collect();
        let ends = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| Err(Failure("a worker broke down, which is a bug".into())))
        });
        ends.collect()
    });
    let mut workers = Vec::new();
    for end in ends {
        let (more, state) = end?;
        parts.extend(more);
        workers.push(state);
    }
    Ok(Worked { results: parts.into_values().flatten().collect(), judged, workers })
}
