//! The session: lines in, lines out, a player at work in between.
//!
//! Three threads. One reads lines, one owns the player (see `worker.rs`), and the one that
//! called [`run`] decides everything and writes every line. Whatever happens reaches it as an event on
//! one channel, so no two lines ever mix and nothing is shared but each search's stop flag.

use super::command::{self, Command, Go};
use super::worker::{Job, Outcome, Search as SearchJob, Worker};
use super::{Options, info};
use crate::chess::{Game, Move, notation};
use crate::search::{Choice, Clock, Limits, Player, Report};
use std::collections::VecDeque;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// The longest line that is read, in bytes; no game is longer.
const MAX_LINE: u64 = 1 << 20;

/// How many events may wait for the session before their senders do.
const MAX_EVENTS: usize = 256;

/// How long `quit` waits for the answers to what was asked before.
const PATIENCE: Duration = Duration::from_millis(500);

/// What reaches the session.
pub(super) enum Event {
    Line(String),
    LineTooLong,
    EndOfInput,
    /// Something to tell the user.
    Remark(String),
    Ready,
    Report(Report),
    Done(Outcome),
}

/// Speaks UCI until `quit` or the end of the input.
///
/// `make_player` is called on a thread of its own, at the first `isready` or `go` and again when an
/// option that needs it has changed; its error is shown to the user. At the end of the input a running
/// search is stopped, and what was asked is still answered. So it is after `quit`, but not for long: work
/// that does not end is then left behind, and the caller ends the process.
///
/// # Errors
/// When `output` cannot be written, or a thread cannot be started.
pub fn run(
    input: impl BufRead + Send + 'static,
    output: impl Write,
    options: Options,
    make_player: impl FnMut(&Options) -> Result<Box<dyn Player>, String> + Send + 'static,
) -> io::Result<()> {
    let (events, inbox) = mpsc::sync_channel(MAX_EVENTS);
    let (jobs, job_queue) = mpsc::channel();
    let worker = Worker::new(make_player, events.clone());
    thread::Builder::new().name("player".into()).spawn(move || worker.run(job_queue))?;
    thread::Builder::new().name("input".into()).spawn(move || read_lines(input, &events))?;
    let mut session = Session {
        output,
        options,
        game: Game::default(),
        jobs,
        search: None,
        deferred: VecDeque::new(),
        unready: 0,
        ending: false,
        deadline: None,
    };
    let result = session.run(&inbox);
    if let Some(search) = &session.search {
        search.stop.store(true, Ordering::Relaxed);
    }
    result
}

/// Sends every line, whatever bytes are in it, then the end. An input that fails has ended.
fn read_lines(mut input: impl BufRead, events: &SyncSender<Event>) {
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        let event = match read {
            Ok(0) | Err(_) => Event::EndOfInput,
            Ok(_) if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") => {
                // If this fails, so does the next reading.
                let _ = input.skip_until(b'\n');
                Event::LineTooLong
            }
            Ok(_) => Event::Line(String::from_utf8_lossy(&line).into_owned()),
        };
        let end = matches!(event, Event::EndOfInput);
        if events.send(event).is_err() || end {
            return;
        }
    }
}

struct Session<W> {
    output: W,
    options: Options,
    /// The last good position.
    game: Game,
    jobs: Sender<Job>,
    /// The search whose move has not been printed yet.
    search: Option<Search>,
    /// Commands that wait for that move.
    deferred: VecDeque<Command>,
    /// How many `isready` wait for the worker.
    unready: usize,
    /// Nothing is asked any more.
    ending: bool,
    /// When the session ends, come what may.
    deadline: Option<Instant>,
}

struct Search {
    stop: Arc<AtomicBool>,
    started: Instant,
    /// As `go` stated them, time included.
    limits: Limits,
    /// The moves that may be chosen.
    allowed: Vec<Move>,
    infinite: bool,
    /// Until `ponderhit`.
    pondering: bool,
    /// Begin anew when the player returns: the search just stopped was made without a clock.
    restart: bool,
    /// The best move of the latest report.
    favourite: Option<Move>,
    /// The `bestmove` line, once there is one.
    answer: Option<String>,
}

impl<W: Write> Session<W> {
    fn run(&mut self, inbox: &Receiver<Event>) -> io::Result<()> {
        while let Some(event) = self.next(inbox) {
            self.take(event)?;
            while self.search.is_none() && !self.deferred.is_empty() {
                for command in std::mem::take(&mut self.deferred) {
                    self.obey(command)?;
                }
            }
            if self.ending && self.search.is_none() && self.unready == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The next event, `None` after the deadline.
    fn next(&self, inbox: &Receiver<Event>) -> Option<Event> {
        match self.deadline {
            None => inbox.recv().ok(),
            Some(deadline) => {
                inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
            }
        }
    }

    fn take(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Line(_) | Event::LineTooLong if self.ending => Ok(()),
            Event::Line(line) => match command::parse(&line) {
                Ok(command) => self.obey(command),
                Err(message) => self.remark(&message),
            },
            Event::LineTooLong => {
                self.remark(&format!("a line of more than {MAX_LINE} bytes was ignored"))
            }
            Event::EndOfInput => {
                self.ending = true;
                self.stop()
            }
            Event::Remark(text) => self.remark(&text),
            Event::Ready => {
                self.unready -= 1;
                self.say("readyok")
            }
            Event::Report(report) => self.report(&report),
            Event::Done(outcome) => self.done(outcome),
        }
    }

    /// Carries a command out, now or, if it must not disturb the search, once that has ended.
    fn obey(&mut self, command: Command) -> io::Result<()> {
        let go_waits = self.deferred.iter().any(|command| matches!(command, Command::Go(_)));
        let waits = match command {
            Command::Uci | Command::IsReady | Command::Quit | Command::Nothing => false,
            // Meant for the latest `go`.
            Command::Stop | Command::PonderHit => go_waits,
            Command::Go(_) => {
                if !go_waits {
                    self.stop()?;
                }
                self.busy()
            }
            Command::NewGame | Command::Position { .. } | Command::SetOption { .. } => self.busy(),
        };
        if waits {
            self.deferred.push_back(command);
            return Ok(());
        }
        match command {
            Command::Uci => self.introduce(),
            Command::IsReady => self.is_ready(),
            Command::NewGame => {
                self.assign(Job::NewGame);
                Ok(())
            }
            Command::Position { fen, moves } => self.position(&fen, &moves),
            Command::SetOption { name, value } => match self.options.set(&name, &value) {
                Ok(()) => Ok(()),
                Err(error) => self.remark(&error.to_string()),
            },
            Command::Go(go) => self.go(*go),
            Command::Stop => self.stop(),
            Command::PonderHit => self.ponder_hit(),
            Command::Quit => {
                self.ending = true;
                self.deadline = Some(Instant::now() + PATIENCE);
                self.stop()
            }
            Command::Nothing => Ok(()),
        }
    }

    /// Whether a search runs, or other commands come first.
    fn busy(&self) -> bool {
        self.search.is_some() || !self.deferred.is_empty()
    }

    fn introduce(&mut self) -> io::Result<()> {
        self.say(concat!("id name Fianchetto ", env!("CARGO_PKG_VERSION")))?;
        self.say("id author the Fianchetto authors")?;
        for option in Options::listing() {
            self.say(&option)?;
        }
        self.say("uciok")
    }

    fn is_ready(&mut self) -> io::Result<()> {
        if self.search.is_some() {
            return self.say("readyok");
        }
        self.unready += 1;
        self.assign(Job::Prepare(self.options.clone()));
        Ok(())
    }

    fn position(&mut self, fen: &str, moves: &[String]) -> io::Result<()> {
        let (game, repairs) = match Game::from_fen(fen) {
            Ok(read) => read,
            Err(error) => {
                return self
                    .remark(&format!("position refused, the one before it is kept: {error}"));
            }
        };
        self.game = game;
        for repair in repairs {
            self.remark(&format!("position mended: {repair}"))?;
        }
        for text in moves {
            if let Err(error) = self.game.play_uci(text) {
                return self.remark(&format!("{error}; the position before it is kept"));
            }
        }
        Ok(())
    }

    fn go(&mut self, go: Go) -> io::Result<()> {
        for remark in &go.remarks {
            self.remark(remark)?;
        }
        let legal = self.game.legal_moves();
        let limits = self.limits(&go)?;
        let allowed =
            if limits.search_moves.is_empty() { legal } else { limits.search_moves.clone() };
        let finished = allowed.is_empty();
        self.search = Some(Search {
            stop: Arc::default(),
            started: Instant::now(),
            limits,
            allowed,
            infinite: go.infinite,
            pondering: go.ponder,
            restart: false,
            favourite: None,
            answer: None,
        });
        if finished {
            let mated = !self.game.board().checkers().is_empty();
            self.say(&format!("info depth 0 score {}", if mated { "mate 0" } else { "cp 0" }))?;
            self.answer(Choice::default())?;
        } else {
            self.begin();
        }
        if self.ending {
            self.stop()?;
        }
        Ok(())
    }

    /// What `go` says about how long to think, for the side to move.
    fn limits(&mut self, go: &Go) -> io::Result<Limits> {
        let mut search_moves = Vec::new();
        for text in &go.search_moves {
            match notation::from_uci(self.game.board(), text) {
                Ok(mv) if search_moves.contains(&mv) => {}
                Ok(mv) => search_moves.push(mv),
                Err(error) => self.remark(&format!("go searchmoves: {error}"))?,
            }
        }
        let mover = self.game.board().side_to_move() as usize;
        let timed = go.time.iter().chain(&go.increment).any(Option::is_some);
        let clock = timed.then(|| Clock {
            // A lone clock is the other side's; the two are seldom far apart.
            left: go.time[mover].or(go.time[1 - mover]).unwrap_or_default(),
            increment: go.increment[mover].unwrap_or_default(),
            moves_to_go: go.moves_to_go.filter(|&moves| moves > 0),
        });
        let Go { depth, nodes, mate, move_time, infinite, ponder, .. } = *go;
        Ok(Limits { depth, nodes, move_time, clock, mate, search_moves, infinite, ponder })
    }

    /// Sets the worker on the search. While pondering no clock runs.
    fn begin(&mut self) {
        let Some(search) = &mut self.search else {
            return;
        };
        search.stop = Arc::default();
        let mut limits = Limits { ponder: search.pondering, ..search.limits.clone() };
        if search.pondering {
            limits = Limits { clock: None, move_time: None, ..limits };
        }
        let job = SearchJob {
            game: self.game.clone(),
            options: self.options.clone(),
            limits,
            stop: search.stop.clone(),
            started: search.started,
        };
        self.assign(Job::Search(Box::new(job)));
    }

    /// The worker outlives the session, so it always takes the job.
    fn assign(&self, job: Job) {
        let _ = self.jobs.send(job);
    }

    fn stop(&mut self) -> io::Result<()> {
        if let Some(search) = &mut self.search {
            search.stop.store(true, Ordering::Relaxed);
            search.infinite = false;
            search.pondering = false;
            search.restart = false;
        }
        self.settle()
    }

    /// From here on the clock runs. The player does not know that it pondered: it is stopped and
    /// asked again, now with the clock, and whatever it remembers of the position serves it.
    fn ponder_hit(&mut self) -> io::Result<()> {
        if let Some(search) = &mut self.search
            && search.pondering
        {
            search.pondering = false;
            search.started = Instant::now();
            let Limits { depth, nodes, mate, infinite, .. } = search.limits;
            let ends = depth.is_some() || nodes.is_some() || mate.is_some() || infinite;
            let timed = search.limits.clock.is_some() || search.limits.move_time.is_some();
            if (timed || !ends) && search.answer.is_none() {
                search.restart = true;
                search.stop.store(true, Ordering::Relaxed);
            }
        }
        self.settle()
    }

    fn report(&mut self, report: &Report) -> io::Result<()> {
        let Some(search) = &mut self.search else {
            return Ok(());
        };
        let best = report.lines.first().and_then(|line| line.moves.first()).copied();
        search.favourite = best.filter(|mv| search.allowed.contains(mv)).or(search.favourite);
        let elapsed = search.started.elapsed();
        for line in info::lines(report, self.game.board(), elapsed, self.options.multi_pv) {
            self.say(&line)?;
        }
        Ok(())
    }

    fn done(&mut self, outcome: Outcome) -> io::Result<()> {
        let Some(search) = &mut self.search else {
            return Ok(());
        };
        if std::mem::take(&mut search.restart) {
            self.begin();
            return Ok(());
        }
        let reason = match outcome {
            Outcome::Chosen(choice)
                if choice.best.is_some_and(|mv| search.allowed.contains(&mv)) =>
            {
                return self.answer(choice);
            }
            // Random moves would pass for play. The null move ends the game where all can see it.
            Outcome::NoPlayer => return self.answer(Choice::default()),
            Outcome::Chosen(_) => "the player chose no allowed move, which is a bug".into(),
            Outcome::Failed(reason) => reason,
        };
        // The player was well when the game began: one bad moment need not lose it.
        let (instead, what) = match search.favourite {
            Some(mv) => (mv, "the best move so far"),
            None => (search.allowed[0], "the first legal move"),
        };
        let text = notation::to_uci(self.game.board(), instead);
        self.remark(&format!("{reason}; playing {text}, {what}"))?;
        self.answer(Choice { best: Some(instead), ponder: None })
    }

    /// Ends the search with a choice.
    fn answer(&mut self, choice: Choice) -> io::Result<()> {
        if let Some(search) = &mut self.search {
            search.answer = Some(info::best_move(self.game.board(), choice));
        }
        self.settle()
    }

    /// Prints the move and forgets the search, if there is a move and nothing holds it back.
    fn settle(&mut self) -> io::Result<()> {
        let due = self
            .search
            .take_if(|search| search.answer.is_some() && !search.infinite && !search.pondering);
        match due.and_then(|search| search.answer) {
            Some(line) => self.say(&line),
            None => Ok(()),
        }
    }

    fn remark(&mut self, text: &str) -> io::Result<()> {
        self.say(&info::string(text))
    }

    /// Every line goes out at once.
    fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.output, "{line}")?;
        self.output.flush()
    }
}
