//! Many games: who plays whom from where, several at a time.

use crate::contender::{Contender, Opponent, Terms};
use crate::game::{self, Rules};
use crate::limits::Budget;
use crate::openings::Openings;
use crate::record::Record;
use crate::statistics::{Sprt, Tally, Verdict};
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::progress::{Progress, Unit};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// What is played. Every pairing plays every opening twice, with colours exchanged.
pub struct Tournament {
    /// Who plays.
    pub contenders: Vec<Contender>,
    /// What each of them is given.
    pub budgets: Vec<Budget>,
    /// Who meets whom, by number.
    pub pairings: Vec<[usize; 2]>,
    /// Games of each pairing.
    pub games: u64,
    /// From where they begin.
    pub openings: Openings,
    /// The rules beyond those of chess.
    pub rules: Rules,
    /// What contenders need to know.
    pub terms: Terms,
    /// When to stop early; for a single pairing.
    pub sprt: Option<Sprt>,
}

/// The place of a game in a tournament. Numbers do not change when more games are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which of the pairings.
    pub pairing: usize,
    /// Which pair of games of it, and so which opening.
    pub pair: u64,
    /// 0 where the pairing's first contender has White, 1 where its second has.
    pub turned: usize,
}

impl Tournament {
    /// How many games in all.
    pub fn total(&self) -> u64 {
        self.games * self.pairings.len() as u64
    }

    /// The place of game `number`.
    pub fn place(&self, number: u64) -> Place {
        let pairings = self.pairings.len() as u64;
        Place {
            pairing: (number / 2 % pairings) as usize,
            pair: number / 2 / pairings,
            turned: (number % 2) as usize,
        }
    }

    /// White and Black of game `number`.
    pub fn players(&self, number: u64) -> [usize; 2] {
        let Place { pairing, turned, .. } = self.place(number);
        let [first, second] = self.pairings[pairing];
        if turned == 0 { [first, second] } else { [second, first] }
    }

    /// The result of each pairing from its first contender's view. A game whose return game is not there
    /// does not count.
    pub fn tallies(&self, record: &Record) -> Vec<Tally> {
        let mut tallies = vec![Tally::default(); self.pairings.len()];
        for (&number, played) in record.games().range(..self.total()) {
            let (true, Some(back)) = (number % 2 == 0, record.games().get(&(number + 1))) else {
                continue;
            };
            tallies[self.place(number).pairing]
                .add_pair([played.white_half_points(), 2 - back.white_half_points()]);
        }
        tallies
    }

    /// Whether the test has spoken.
    fn is_decided(&self, record: &Record) -> bool {
        self.sprt.is_some_and(|sprt| {
            self.tallies(record).iter().all(|tally| sprt.verdict(&tally.pairs) != Verdict::Open)
        })
    }

    /// Plays all games that are not in the record yet, so many at a time.
    ///
    /// # Errors
    /// When a contender cannot be used, or the record not be written. Finished games are in the record.
    pub fn play(&self, record: &mut Record, concurrency: NonZeroUsize) -> Result<(), Failure> {
        let progress = Progress::new();
        let done = record.games().range(..self.total()).count() as u64;
        progress.begin("playing", Unit::Other("games"), Some(self.total()), done, done);
        let over = self.is_decided(record);
        let desk = Mutex::new(Desk { tournament: self, record, next: 0, over });
        thread::scope(|scope| {
            let workers: Vec<_> = (0..concurrency.get())
                .map(|_| scope.spawn(|| self.work(&desk, &progress)))
                .collect();
            let ends = workers.into_iter().map(|worker| {
                worker.join().unwrap_or_else(|_| Err(Failure("a game broke down: a bug".into())))
            });
            // All are waited for, whatever the first says.
            ends.fold(Ok(()), Result::and)
        })
    }

    /// Plays games until there are no more.
    fn work(&self, desk: &Mutex<Desk<'_>>, progress: &Progress) -> Result<(), Failure> {
        let mut seats: Vec<Option<Box<dyn Opponent>>> =
            self.contenders.iter().map(|_| None).collect();
        loop {
            let Some(number) = locked(desk).next() else { return Ok(()) };
            let played = self.play_one(number, &mut seats);
            let mut desk = locked(desk);
            let added = played.map_err(Failure).and_then(|played| desk.record.add(number, played));
            if added.is_err() || self.is_decided(desk.record) {
                desk.over = true;
            }
            added?;
            progress.add(1);
        }
    }

    fn play_one(
        &self,
        number: u64,
        seats: &mut [Option<Box<dyn Opponent>>],
    ) -> Result<game::Played, String> {
        let players = self.players(number);
        for player in players {
            let contender = &self.contenders[player];
            let seat = match &mut seats[player] {
                Some(seat) => seat,
                empty => empty.insert(contender.start(self.terms)?),
            };
            seat.new_game(number).map_err(|fault| format!("{}: {fault}", contender.label))?;
        }
        let [Some(white), Some(black)] =
            seats.get_disjoint_mut(players).map_err(|error| error.to_string())?
        else {
            return Err("a contender did not start, which is a bug".to_owned());
        };
        let budgets = players.map(|player| &self.budgets[player]);
        let opening = self.openings.get(self.place(number).pair);
        game::play([white.as_mut(), black.as_mut()], budgets, opening, &self.rules)
    }
}

/// Where workers fetch games and bring results, one at a time.
struct Desk<'a> {
    tournament: &'a Tournament,
    record: &'a mut Record,
    next: u64,
    over: bool,
}

impl Desk<'_> {
    /// The next game to play.
    fn next(&mut self) -> Option<u64> {
        while self.next < self.tournament.total() && !self.over {
            let number = self.next;
            self.next += 1;
            if !self.record.games().contains_key(&number) {
                return Some(number);
            }
        }
        None
    }
}

fn locked<'a, 'b>(desk: &'a Mutex<Desk<'b>>) -> MutexGuard<'a, Desk<'b>> {
    // What a worker that broke down left there is whole: it held it for single steps.
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}
