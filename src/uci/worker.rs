//! The thread that owns the player: it loads it, and it is where searches run.

use super::Options;
use super::session::Event;
use crate::chess::Game;
use crate::search::{Choice, Limits, Player, guard};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

/// What the session asks of the worker, done in order.
pub(super) enum Job {
    /// Have the player ready; answered by [`Event::Ready`], whether or not it could be loaded.
    Prepare(Options),
    /// Tell the player that another game begins.
    NewGame,
    /// Choose a move; answered by [`Event::Report`]s and one [`Event::Done`].
    Search(Box<Search>),
}

/// What is needed to choose a move.
pub(super) struct Search {
    pub game: Game,
    pub options: Options,
    pub limits: Limits,
    pub stop: Arc<AtomicBool>,
    /// When the clock began to run.
    pub started: Instant,
}

/// How a search ended.
pub(super) enum Outcome {
    Chosen(Choice),
    /// There is no player, for a reason already reported.
    NoPlayer,
    /// The player gave up, or broke down.
    Failed(String),
}

pub(super) struct Worker<M> {
    make_player: M,
    /// The player and the options with which it was made.
    loaded: Option<(Options, Box<dyn Player>)>,
    events: SyncSender<Event>,
}

impl<M: FnMut(&Options) -> Result<Box<dyn Player>, String>> Worker<M> {
    pub fn new(make_player: M, events: SyncSender<Event>) -> Self {
        Self { make_player, loaded: None, events }
    }

    /// Works until the session ends.
    pub fn run(mut self, jobs: Receiver<Job>) {
        for job in jobs {
            match job {
                Job::Prepare(options) => {
                    self.player(&options);
                    self.send(Event::Ready);
                }
                Job::NewGame => self.new_game(),
                Job::Search(search) => {
                    let outcome = self.search(*search);
                    self.send(Event::Done(outcome));
                }
            }
        }
    }

    /// An event that finds no session any more is of no use to anyone.
    fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// The player for these options, loaded unless it is there already.
    fn player(&mut self, options: &Options) -> Option<&mut Box<dyn Player>> {
        if !self.loaded.as_ref().is_some_and(|(made_with, _)| made_with.same_player(options)) {
            // The old one goes first: two networks need not fit into memory.
            self.loaded = None;
            match guard(|| (self.make_player)(options)).and_then(|made| made) {
                Ok(player) => {
                    self.send(Event::Remark(player.name()));
                    self.loaded = Some((options.clone(), player));
                }
                Err(reason) => {
                    self.send(Event::Remark(format!("no player: {reason}")));
                }
            }
        }
        self.loaded.as_mut().map(|(_, player)| player)
    }

    fn new_game(&mut self) {
        if let Some((_, player)) = &mut self.loaded
            && let Err(reason) = guard(|| player.new_game())
        {
            self.loaded = None;
            self.send(Event::Remark(reason));
        }
    }

    fn search(&mut self, search: Search) -> Outcome {
        let Search { game, options, mut limits, stop, started } = search;
        let events = self.events.clone();
        let Some(player) = self.player(&options) else {
            return Outcome::NoPlayer;
        };
        spend(&mut limits, started.elapsed() + options.overhead());
        let choice = guard(|| {
            player.configure(&options.settings());
            player.choose(&game, &limits, &stop, &mut |report| {
                let _ = events.send(Event::Report(report.clone()));
            })
        });
        match choice {
            Ok(Ok(choice)) => Outcome::Chosen(choice),
            Ok(Err(error)) => Outcome::Failed(error.to_string()),
            Err(reason) => {
                // Whatever state it is in, nothing good can come of it.
                self.loaded = None;
                Outcome::Failed(reason)
            }
        }
    }
}

/// Takes time that is gone, or must be kept back, off what the player may use.
fn spend(limits: &mut Limits, time: Duration) {
    if let Some(move_time) = &mut limits.move_time {
        *move_time = move_time.saturating_sub(time);
    }
    if let Some(clock) = &mut limits.clock {
        clock.left = clock.left.saturating_sub(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Clock;

    #[test]
    fn spends_time_and_never_more_than_there_is() {
        let limits = |left, move_time| {
            let clock = Clock { left: Duration::from_millis(left), ..Clock::default() };
            let move_time = Some(Duration::from_millis(move_time));
            Limits { clock: Some(clock), move_time, ..Limits::default() }
        };
        let mut both = limits(1000, 5);
        spend(&mut both, Duration::from_millis(10));
        assert_eq!(both, limits(990, 0));
        let mut neither = Limits::default();
        spend(&mut neither, Duration::from_millis(10));
        assert_eq!(neither, Limits::default());
    }
}
