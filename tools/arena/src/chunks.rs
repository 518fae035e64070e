//! Work on many cases, several chunks at a time, with the results in order.

use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::progress::{Progress, Unit};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does `work` on chunks of `cases`, each worker with what `start` gave it. `work` is told the number of
/// the chunk's first case; its results come in the order of the cases. What a chunk holds does not depend on the
/// number of workers, so neither do the results.
///
/// # Errors
/// The first that `start` or `work` gave.
pub fn in_chunks<T: Sync, S, R: Send>(
    cases: &[T],
    size: usize,
    workers: NonZeroUsize,
    name: &'static str,
    start: impl Fn() -> Result<S, String> + Sync,
    work: impl Fn(&mut S, &[T], usize) -> Result<Vec<R>, String> + Sync,
) -> Result<Vec<R>, Failure> {
    let progress = Progress::new();
    progress.begin("asking", Unit::Other(name), Some(cases.len() as u64), 0, 0);
    let next = AtomicUsize::new(0);
    let one_worker = || {
        let mut state = start()?;
        let mut done = Vec::new();
        loop {
            let first = next.fetch_add(size, Ordering::Relaxed);
            let Some(rest) = cases.get(first..).filter(|rest| !rest.is_empty()) else {
                return Ok(done);
            };
            let chunk = &rest[..size.min(rest.len())];
            let results = work(&mut state, chunk, first).inspect_err(|_| {
                // The others need not go on.
                next.store(cases.len(), Ordering::Relaxed);
            })?;
            progress.add(chunk.len() as u64);
            done.push((first, results));
        }
    };
    let parts: Result<Vec<_>, String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers.get()).map(|_| scope.spawn(one_worker)).collect();
        let ends = workers.into_iter().map(|worker| {
            worker.join().unwrap_or_else(|_| Err("a worker broke down, which is a bug".to_owned()))
        });
        ends.collect::<Vec<_>>().into_iter().collect()
    });
    let mut parts: Vec<_> = parts.map_err(Failure)?.into_iter().flatten().collect();
    parts.sort_by_key(|(first, _)| *first);
    Ok(parts.into_iter().flat_map(|(_, results)| results).collect())
}
