//! One game at the page: who plays, what is thought, and whoever looks on.
//!
//! Every change goes through [`Session::change`], which then has [`Session::settle`] compare the thinking that goes on
//! with the thinking that the game wants. Thinking happens on threads of its own; one that is no longer wanted finds its
//! stop flag set, and what it says is not heard. The flag is only set with the state locked.

use super::Play;
use super::engines::Engines;
use super::history::History;
use super::record::{self, Source};
use super::seat::Seat;
use super::thought::Thought;
use super::view;
use crate::chess::{Color, Game, pgn, quoted};
use crate::search::{Choice, Report};
use crate::uci::Options;
use serde::Deserialize;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A game at which nobody looked for so long thinks no more until somebody does.
const ABANDONED: Duration = Duration::from_secs(60);

/// How often a listener hears something, if only that the connection is there.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The longest pause between two moves of engines, in milliseconds.
const MAX_PACE: u64 = 10_000;

/// For whom a player thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The side to move.
    Mover(Color),
    /// The person who looks on.
    Analyst,
}

/// Why something was not done.
#[derive(Debug)]
pub enum Rejection {
    /// The game is not where the client thought: status 409.
    Conflict(String),
    /// What was asked for makes no sense: status 422.
    Unusable(String),
}

/// How a game begins.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    fen: Option<String>,
    pgn: Option<String>,
    white: Option<Seat>,
    black: Option<Seat>,
}

/// What may change during a game; what is not given stays.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    white: Option<Seat>,
    black: Option<Seat>,
    analysis: Option<Seat>,
    paused: Option<bool>,
    /// Milliseconds.
    pace: Option<u64>,
}

/// A game, its players and its onlookers.
pub struct Session {
    id: String,
    play: Play,
    engines: Arc<Engines>,
    state: Mutex<State>,
    changed: Condvar,
}

/// What can change.
pub struct State {
    pub history: History,
    pub white: Seat,
    pub black: Seat,
    pub analysis: Seat,
    /// Engines wait for the person to say go on.
    pub paused: bool,
    /// What two engines that play each other take for a move at least.
    pub pace: Duration,
    /// Why the side to move does not move.
    pub problem: Option<String>,
    /// The text that the game was read from.
    pub source: Option<Source>,
    /// What was mended or left out when the game was read.
    pub notes: Vec<String>,
    /// Counts the positions that were on the board.
    pub position: u64,
    pub mover: Work,
    pub analyst: Work,
    /// Counts the changes, of all but thoughts and of thoughts.
    pub versions: (u64, u64),
    /// The state as JSON.
    text: Arc<str>,
    listeners: usize,
    /// When somebody last looked.
    seen: Instant,
}

/// Thinking that goes on, or is over and would only be repeated.
#[derive(Default)]
pub struct Work {
    pub task: Option<Task>,
    pub thought: Option<Thought>,
}

pub struct Task {
    seat: Seat,
    position: u64,
    stop: Arc<AtomicBool>,
}

impl State {
    /// Who plays a side.
    pub fn seat(&self, side: Color) -> Seat {
        match side {
            Color::White => self.white,
            Color::Black => self.black,
        }
    }

    /// Who is to move.
    pub fn seat_to_move(&self) -> Seat {
        self.seat(self.history.side_to_move())
    }

    fn abandoned(&self) -> bool {
        self.listeners == 0 && self.seen.elapsed() > ABANDONED
    }

    fn work(&mut self, role: Role) -> &mut Work {
        match role {
            Role::Mover(_) => &mut self.mover,
            Role::Analyst => &mut self.analyst,
        }
    }

    /// Another position is on the board.
    fn moved(&mut self) {
        self.position += 1;
        self.problem = None;
    }

    fn sit(&mut self, play: &Play, changes: [Option<Seat>; 3]) -> Result<(), Rejection> {
        for seat in changes.into_iter().flatten() {
            let options = seat.options(&play.options);
            let options = options.map_err(|error| Rejection::Unusable(error.to_string()))?;
            if let Some(Options { player, .. }) = options
                && !play.players.contains(&player)
            {
                let known: Vec<_> = play.players.iter().map(|player| player.name()).collect();
                return Err(Rejection::Unusable(format!(
                    "{} cannot play with this network, expected {}",
                    player.name(),
                    known.join(" or ")
                )));
            }
        }
        let [white, black, analysis] = changes;
        self.white = white.unwrap_or(self.white);
        self.black = black.unwrap_or(self.black);
        self.analysis = analysis.unwrap_or(self.analysis);
        if changes.iter().any(Option::is_some) {
            self.problem = None;
        }
        Ok(())
    }
}

impl Session {
    /// A game from the start position, between a person and the engine that the options name.
    pub fn new(id: String, play: Play, engines: Arc<Engines>) -> Arc<Self> {
        let engine = Seat::of_options(&play.options);
        let (white, black) =
            if play.black { (engine, Seat::Person) } else { (Seat::Person, engine) };
        let state = State {
            history: History::default(),
            white,
            black,
            analysis: Seat::Policy,
            paused: false,
            pace: Duration::from_millis(700),
            problem: None,
            source: None,
            notes: Vec::new(),
            position: 1,
            mover: Work::default(),
            analyst: Work::default(),
            versions: (0, 0),
            text: "".into(),
            listeners: 0,
            seen: Instant::now(),
        };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        let session = Arc::new(Self { id, play, engines, state, changed });
        session.change(|_| ());
        session
    }

    /// The state as JSON.
    pub fn text(&self) -> Arc<str> {
        let mut state = self.lock();
        state.seen = Instant::now();
        state.text.clone()
    }

    /// The game as PGN.
    pub fn pgn(&self) -> String {
        let state = self.lock();
        let (history, game) = (&state.history, state.history.game());
        let at_end = history.ply() == history.moves().len();
        let outcome = game.outcome().filter(|_| at_end);
        let result = outcome.map_or("*", view::result);
        let names = [state.white.name(), state.black.name()];
        let [white, black] = &names;
        record::write(history, state.source.as_ref(), [white, black], result)
    }

    /// Plays a person's move, in UCI or algebraic notation, in the position after `ply` moves.
    pub fn play(self: &Arc<Self>, ply: usize, text: &str) -> Result<(), Rejection> {
        self.change(|state| {
            let history = &mut state.history;
            if ply != history.ply() {
                let at = history.ply();
                return Err(Rejection::Conflict(format!(
                    "the move was for the position after {ply} plies, the game is at {at}"
                )));
            }
            if let Some(outcome) = history.game().outcome() {
                return Err(Rejection::Conflict(format!("the game is over: {outcome}")));
            }
            if state.seat_to_move().is_engine() {
                return Err(Rejection::Conflict("an engine is to move".into()));
            }
            let history = &mut state.history;
            let mv = history.read(text).and_then(|mv| history.play(mv));
            mv.map_err(|error| {
                // The position is before everybody's eyes.
                Rejection::Unusable(format!(
                    "{} cannot be played: {}",
                    quoted(&error.text),
                    error.reason
                ))
            })?;
            state.moved();
            state.paused = false;
            Ok(())
        })
    }

    /// Goes to the position after `ply` moves. An engine that would be to move there waits.
    pub fn go_to(self: &Arc<Self>, ply: usize) -> Result<(), Rejection> {
        self.change(|state| {
            if !state.history.go_to(ply) {
                let count = state.history.moves().len();
                return Err(Rejection::Unusable(format!("the game has {count} plies, not {ply}")));
            }
            state.moved();
            state.paused = state.seat_to_move().is_engine();
            Ok(())
        })
    }

    /// Changes players, pause or pace.
    pub fn set(self: &Arc<Self>, settings: Settings) -> Result<(), Rejection> {
        self.change(|state| {
            let Settings { white, black, analysis, paused, pace } = settings;
            if let Some(pace) = pace.filter(|&pace| pace > MAX_PACE) {
                let why = format!("the pace is {pace} ms, expected at most {MAX_PACE}");
                return Err(Rejection::Unusable(why));
            }
            state.sit(&self.play, [white, black, analysis])?;
            if let Some(pace) = pace {
                state.pace = Duration::from_millis(pace);
            }
            if let Some(paused) = paused {
                state.paused = paused;
                state.problem = None;
            }
            Ok(())
        })
    }

    /// Begins another game; one that was read from PGN is at its end, and engines wait.
    pub fn begin(self: &Arc<Self>, beginning: Beginning) -> Result<(), Rejection> {
        let unusable = |error: &dyn std::fmt::Display| Rejection::Unusable(error.to_string());
        let Beginning { fen, pgn, white, black } = beginning;
        let is_read = pgn.is_some();
        let (history, source, notes) = match (fen, pgn) {
            (Some(_), Some(_)) => {
                return Err(Rejection::Unusable("expected fen or pgn, found both".into()));
            }
            (None, Some(text)) => {
                let read = pgn::read(&text).map_err(|error| unusable(&error))?;
                let mut notes: Vec<_> = read.repairs.iter().map(ToString::to_string).collect();
                notes.extend(read.more.then(|| "only the first game was read".to_owned()));
                let history = History::new(read.start.clone(), &read.moves);
                (history.map_err(|error| unusable(&error))?, Some(Source::from(read)), notes)
            }
            (fen, None) => {
                let fen = fen.as_deref().unwrap_or("startpos");
                let (game, repairs) = Game::from_fen(fen).map_err(|error| unusable(&error))?;
                let notes = repairs.iter().map(ToString::to_string).collect();
                (History::new(game, &[]).map_err(|error| unusable(&error))?, None, notes)
            }
        };
        self.change(|state| {
            state.sit(&self.play, [white, black, None])?;
            state.history = history;
            state.source = source;
            state.notes = notes;
            state.moved();
            state.paused = is_read && state.seat_to_move().is_engine();
            Ok(())
        })
    }

    /// Sends the state and the thoughts, as names and JSON, now and whenever they change; ends when `send` fails.
    pub fn listen(
        self: &Arc<Self>,
        mut send: impl FnMut(Option<(&str, &str)>) -> io::Result<()>,
    ) -> io::Result<()> {
        struct Listener<'a>(&'a Session);
        impl Drop for Listener<'_> {
            fn drop(&mut self) {
                let mut state = self.0.lock();
                state.listeners -= 1;
                state.seen = Instant::now();
            }
        }
        self.change(|state| state.listeners += 1);
        let _listener = Listener(self);
        let mut known = (0, 0);
        loop {
            let state = self.lock();
            let (state, _) = self
                .changed
                .wait_timeout_while(state, HEARTBEAT, |state| state.versions == known)
                .unwrap_or_else(PoisonError::into_inner);
            let before = std::mem::replace(&mut known, state.versions);
            let text = (before.0 != known.0).then(|| state.text.clone());
            let thoughts = (before.1 != known.1).then(|| view::thoughts(&state));
            drop(state);
            if let Some(text) = &text {
                send(Some(("state", text)))?;
            }
            if let Some(thoughts) = &thoughts {
                send(Some(("thoughts", thoughts)))?;
            }
            if text.is_none() && thoughts.is_none() {
                send(None)?;
            }
        }
    }

    /// No panic leaves the state half changed: players are guarded.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(self: &Arc<Self>, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        state.seen = Instant::now();
        let outcome = change(&mut state);
        self.settle(&mut state);
        outcome
    }

    /// Has just that thought about which is to be thought about, and tells everybody.
    fn settle(self: &Arc<Self>, state: &mut State) {
        let open = state.history.game().outcome().is_none() && !state.abandoned();
        let side = state.history.side_to_move();
        let moves = open && !state.paused && state.problem.is_none();
        for (role, seat, wanted) in
            [(Role::Mover(side), state.seat(side), moves), (Role::Analyst, state.analysis, open)]
        {
            let wanted = (wanted && seat.is_engine()).then_some(seat);
            self.direct(state, role, wanted);
        }
        state.versions.0 += 1;
        state.text = view::state(&self.id, &self.play.players, state).into();
        self.changed.notify_all();
    }

    /// Has the player `wanted` think for `role`, or nobody.
    fn direct(self: &Arc<Self>, state: &mut State, role: Role, wanted: Option<Seat>) {
        let position = state.position;
        let work = state.work(role);
        let going_on = work.task.as_ref().map(|task| (task.seat, task.position));
        if going_on == wanted.map(|seat| (seat, position)) {
            return;
        }
        if let Some(task) = std::mem::take(work).task {
            task.stop.store(true, Ordering::Relaxed);
            self.engines.wake();
        }
        state.versions.1 += 1;
        let Some(seat) = wanted else { return };
        let stop = Arc::new(AtomicBool::new(false));
        state.work(role).task = Some(Task { seat, position, stop: stop.clone() });
        let (session, game) = (self.clone(), state.history.game().clone());
        let think = move || session.think(role, seat, &game, &stop);
        if let Err(error) = thread::Builder::new().name("thinking".into()).spawn(think) {
            *state.work(role) = Work::default();
            state.problem = Some(format!("no thread can be started: {error}"));
        }
    }

    /// Chooses a move, on a thread of its own.
    fn think(self: &Arc<Self>, role: Role, seat: Seat, game: &Game, stop: &AtomicBool) {
        let began = Instant::now();
        let client = (self.id.clone(), role);
        let mut report = |report: &Report| self.hear(role, game, report, stop);
        let chosen = match seat.options(&self.play.options) {
            Ok(Some(mut options)) => {
                if role == Role::Analyst {
                    // An analysis ranks the moves; it does not draw one.
                    options.temperature = 0.0;
                }
                self.engines.choose(&options, client, game, stop, &mut report)
            }
            Ok(None) => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        self.conclude(role, chosen, began, stop);
    }

    /// Takes note of a thought.
    fn hear(self: &Arc<Self>, role: Role, game: &Game, report: &Report, stop: &AtomicBool) {
        let mut state = self.lock();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        if state.abandoned() {
            return self.settle(&mut state);
        }
        state.work(role).thought = Some(Thought::new(game, report));
        state.versions.1 += 1;
        self.changed.notify_all();
    }

    /// Plays the move chosen, when it is still wanted.
    fn conclude(
        self: &Arc<Self>,
        role: Role,
        chosen: Result<Option<Choice>, String>,
        began: Instant,
        stop: &AtomicBool,
    ) {
        let mut state = self.lock();
        while role != Role::Analyst && state.white.is_engine() && state.black.is_engine() {
            let left = state.pace.saturating_sub(began.elapsed());
            if left.is_zero() || stop.load(Ordering::Relaxed) {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if stop.load(Ordering::Relaxed) {
            return;
        }
        match (role, chosen) {
            (Role::Analyst, Ok(_)) => return,
            (Role::Analyst, Err(reason)) => {
                state.analyst.thought = Some(Thought::failed(reason));
                state.versions.1 += 1;
            }
            (Role::Mover(_), Ok(choice)) => {
                let best = choice.and_then(|choice| choice.best);
                let played = best.map(|mv| state.history.play(mv));
                state.mover = Work::default();
                state.moved();
                if !matches!(played, Some(Ok(()))) {
                    state.problem = Some("the player chose no legal move, which is a bug".into());
                }
            }
            (Role::Mover(_), Err(reason)) => {
                state.mover = Work::default();
                state.problem = Some(reason);
            }
        }
        self.settle(&mut state);
    }
}
