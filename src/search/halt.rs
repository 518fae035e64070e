//! When a search that counts the positions it looks at has to end.

use super::Limits;
use super::time::Budget;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What ends a search, whatever it has found by then.
pub(super) struct Halt<'a> {
    budget: Budget,
    began: Instant,
    stop: &'a AtomicBool,
    /// How many positions may be looked at.
    limit: u64,
    nodes: u64,
}

impl<'a> Halt<'a> {
    /// For a search that begins now.
    pub fn new(limits: &Limits, stop: &'a AtomicBool) -> Self {
        let limit = limits.nodes.unwrap_or(u64::MAX);
        Self { budget: Budget::new(limits), began: Instant::now(), stop, limit, nodes: 0 }
    }

    /// Positions looked at so far.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The time left; `None` where time does not matter.
    pub fn left(&self) -> Option<Duration> {
        self.budget.end.map(|end| end.saturating_sub(self.began.elapsed()))
    }

    /// Counts a position; `None` when it is not to be looked at any more.
    pub fn count(&mut self) -> Option<()> {
        /// How many positions go by between two looks at the clock.
        const UNWATCHED: u64 = 1024;
        let watched = self.nodes % UNWATCHED == UNWATCHED - 1;
        let halted = self.nodes >= self.limit || (watched && self.is_over());
        self.nodes += u64::from(!halted);
        (!halted).then_some(())
    }

    /// Whether time is up or the search was told to stop.
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.left() == Some(Duration::ZERO)
    }

    /// Whether to look no deeper: an answer that will do is there, and what can still be done in the time
    /// left is not worth beginning.
    pub fn is_late(&self, moves: usize) -> bool {
        let half_spent = self.budget.end.is_some_and(|end| self.began.elapsed() > end / 2);
        self.budget.saves && (half_spent || moves == 1)
    }
}
