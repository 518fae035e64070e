//! The players that all games share.
//!
//! A player is lent to one search at a time. There are so few of each kind that memory is bounded and so many that a long
//! search in one game does not hold up the next.

use crate::chess::Game;
use crate::search::{Choice, Limits, Player, Report, guard};
use crate::uci::{Options, PlayerKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Players of a kind at most.
const OF_A_KIND: usize = 4;

/// Makes the player that options name, or says why it cannot.
pub type Maker = dyn Fn(&Options) -> Result<Box<dyn Player>, String> + Send + Sync;

/// Whose thoughts a player still has in mind.
pub type Client = (String, super::session::Role);

/// All players.
pub struct Engines {
    make: Box<Maker>,
    pool: Mutex<Pool>,
    /// A player has come back, or a search need not wait for one any more.
    freed: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Engine>,
    /// Idle and lent ones.
    made: Vec<PlayerKind>,
}

struct Engine {
    options: Options,
    player: Box<dyn Player>,
    client: Client,
}

impl Engines {
    pub fn new(make: Box<Maker>) -> Self {
        Self { make, pool: Mutex::default(), freed: Condvar::new() }
    }

    /// Lets the player that `options` name choose a move, once one is free; `None` when stopped before.
    ///
    /// # Errors
    /// In words, when there is no such player or it gives up.
    pub fn choose(
        &self,
        options: &Options,
        client: Client,
        game: &Game,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Option<Choice>, String> {
        let Some(mut engine) = self.borrow(options, &client, stop)? else { return Ok(None) };
        let mut options = options.clone();
        options.hash = (options.hash / OF_A_KIND as u32).max(1);
        let choice = guard(|| {
            engine.player.configure(&options.settings());
            if engine.client != client {
                // What was thought for another side must not help this one.
                engine.player.new_game();
                engine.client = client;
            }
            engine.player.choose(game, &Limits::default(), stop, report)
        });
        match choice {
            Ok(chosen) => {
                self.pool().idle.push(engine);
                self.freed.notify_all();
                chosen.map(Some).map_err(|error| error.to_string())
            }
            Err(reason) => {
                self.discard(options.player);
                Err(reason)
            }
        }
    }

    /// Has searches that wait for a player look at their stop flags.
    pub fn wake(&self) {
        drop(self.pool());
        self.freed.notify_all();
    }

    fn borrow(
        &self,
        options: &Options,
        client: &Client,
        stop: &AtomicBool,
    ) -> Result<Option<Engine>, String> {
        let mut pool = self.pool();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let fits = |engine: &Engine| engine.options.same_player(options);
            let own = pool.idle.iter().position(|engine| fits(engine) && engine.client == *client);
            if let Some(at) = own.or_else(|| pool.idle.iter().position(fits)) {
                return Ok(Some(pool.idle.swap_remove(at)));
            }
            let kind = options.player;
            if pool.made.iter().filter(|&&made| made == kind).count() < OF_A_KIND {
                pool.made.push(kind);
                drop(pool);
                let made = guard(|| (self.make)(options)).and_then(|made| made);
                return match made {
                    Ok(player) => {
                        let (options, client) = (options.clone(), client.clone());
                        Ok(Some(Engine { options, player, client }))
                    }
                    Err(reason) => {
                        self.discard(kind);
                        Err(reason)
                    }
                };
            }
            pool = self.freed.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A player of this kind is no more.
    fn discard(&self, kind: PlayerKind) {
        let mut pool = self.pool();
        if let Some(at) = pool.made.iter().position(|&made| made == kind) {
            pool.made.swap_remove(at);
        }
        drop(pool);
        self.freed.notify_all();
    }

    /// No panic leaves the pool half changed.
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
