//! Work shared among threads, its results in the order of the input.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Items that wait before and after each worker.
const WAITING: usize = 2;

/// How many threads may be asked for. More are of no use to any machine; many more and the system gives
/// none.
pub const ALLOWED: RangeInclusive<NonZeroUsize> =
    NonZeroUsize::MIN..=NonZeroUsize::new(256).unwrap();

/// As many threads as asked for, else one per processor; as many as are allowed at most.
pub fn count(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    let count = asked.or_else(|| thread::available_parallelism().ok());
    count.unwrap_or(NonZeroUsize::MIN).min(*ALLOWED.end())
}

/// Applies `work` to all of `input` on several threads; results come in the order of the input, so
/// they do not depend on the number of threads. `input` itself runs on one more. Few items are under
/// way at a time. Threads end when the results are dropped.
pub fn in_order<T, U, W>(
    input: impl Iterator<Item = T> + Send + 'static,
    threads: NonZeroUsize,
    work: W,
) -> InOrder<U>
where
    T: Send + 'static,
    U: Send + 'static,
    W: Fn(T) -> U + Send + Sync + 'static,
{
    // Item after item goes to worker after worker, and the results are fetched in the same turn.
    // `None` is the end; a channel that closes without it tells of a thread that died.
    let work = Arc::new(work);
    let (mut inboxes, mut outboxes) = (Vec::new(), Vec::new());
    for _ in 0..threads.get() {
        let (to_worker, inbox) = sync_channel::<Option<T>>(WAITING);
        let (to_reader, outbox) = sync_channel(WAITING);
        inboxes.push(to_worker);
        outboxes.push(outbox);
        let work = Arc::clone(&work);
        thread::spawn(move || {
            for item in inbox {
                if to_reader.send(item.map(&*work)).is_err() {
                    return;
                }
            }
        });
    }
    thread::spawn(move || {
        let items = input.map(Some).chain([None]);
        for (item, inbox) in items.zip(inboxes.iter().cycle()) {
            if inbox.send(item).is_err() {
                return;
            }
        }
    });
    InOrder { outboxes, turn: 0 }
}

/// The results of [`in_order`].
pub struct InOrder<U> {
    outboxes: Vec<Receiver<Option<U>>>,
    turn: usize,
}

impl<U> Iterator for InOrder<U> {
    type Item = U;

    /// # Panics
    /// When the work or the input panicked.
    fn next(&mut self) -> Option<U> {
        let result = self.outboxes[self.turn % self.outboxes.len()].recv();
        let result = result.expect("a thread died of what it has just told");
        self.turn += usize::from(result.is_some());
        result
    }
}
