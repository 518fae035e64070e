//! How far the work is: a bar on a terminal, a line now and then elsewhere, on standard error.

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressFinish, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at the bar.
const BAR_EVERY: Duration = Duration::from_millis(100);

/// Between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Tells how far the work is; any thread may say so.
pub struct Progress(Mutex<State>);

/// What a work is measured by.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    /// Bytes of input, and the games in them.
    Games,
    /// Positions.
    Positions,
    /// Something else, by its name in the plural.
    Other(&'static str),
}

struct State {
    bar: Option<ProgressBar>,
    lines: Box<dyn Write + Send>,
    every: Duration,
    shown: Instant,
    work: &'static str,
    unit: Unit,
    total: Option<u64>,
    started: Instant,
    before: Point,
    point: Point,
}

/// How much is done, and how many games or positions that are.
#[derive(Clone, Copy, Default)]
struct Point {
    done: u64,
    count: u64,
}

impl Progress {
    /// Tells on standard error.
    pub fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self::lines(LINE_EVERY, io::stderr());
        }
        let progress = Self::lines(BAR_EVERY, io::sink());
        let bar = ProgressBar::no_length().with_finish(ProgressFinish::AndClear);
        progress.state().bar = Some(bar);
        progress
    }

    /// Tells nobody.
    pub fn hidden() -> Self {
        Self::lines(Duration::MAX, io::sink())
    }

    /// Writes lines, so often at most.
    pub fn lines(every: Duration, lines: impl Write + Send + 'static) -> Self {
        let now = Instant::now();
        Self(Mutex::new(State {
            bar: None,
            lines: Box::new(lines),
            every,
            shown: now,
            work: "",
            unit: Unit::Positions,
            total: None,
            started: now,
            before: Point::default(),
            point: Point::default(),
        }))
    }

    /// Begins a work, or goes on with it: of `total`, where that is known, so much is done already,
    /// with so many games or positions.
    pub fn begin(&self, work: &'static str, unit: Unit, total: Option<u64>, done: u64, count: u64) {
        let mut state = self.state();
        let point = Point { done, count };
        (state.work, state.unit, state.total) = (work, unit, total);
        (state.started, state.before, state.point) = (Instant::now(), point, point);
        if let Some(bar) = &state.bar {
            let template = if total.is_some() { "{wide_bar} {msg}" } else { "{spinner} {msg}" };
            bar.set_style(ProgressStyle::with_template(template).expect("it is well formed"));
            bar.set_length(total.unwrap_or(0));
        }
    }

    /// Shows that so much is done, and so many games or positions.
    pub fn update(&self, done: u64, count: u64) {
        let mut state = self.state();
        state.point = Point { done, count };
        state.show();
    }

    /// Shows that so many more positions, or whatever is counted, are done.
    pub fn add(&self, more: u64) {
        let mut state = self.state();
        state.point.done += more;
        state.point.count += more;
        state.show();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that died while it told leaves nothing that matters behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    fn show(&mut self) {
        if self.shown.elapsed() < self.every {
            return;
        }
        self.shown = Instant::now();
        let message = self.message();
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.point.done);
                bar.set_message(message);
            }
            // Whoever listened has heard enough; the work goes on.
            None => drop(writeln!(self.lines, "{message}")),
        }
    }

    /// `packing: 12.5 % of 1.20 GiB, 80000 games, 9100 games/s, 3 minutes left`
    fn message(&self) -> String {
        let (Point { done, count }, before) = (self.point, self.before);
        let (amount, name): (fn(u64) -> String, _) = match self.unit {
            Unit::Games => (|bytes| HumanBytes(bytes).to_string(), "games"),
            Unit::Positions => (|positions| positions.to_string(), "positions"),
            Unit::Other(name) => (|count| count.to_string(), name),
        };
        // A total may be an estimate.
        let share = self.total.map_or_else(
            || amount(done),
            |total| {
                let share = 100.0 * done as f64 / total.max(1) as f64;
                format!("{:.1} % of {}", share.min(100.0), amount(total))
            },
        );
        let seconds = self.started.elapsed().as_secs_f64().max(1e-3);
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let speed = rate(done, before.done);
        let left = self.total.filter(|_| speed > 0.0).map_or_else(String::new, |total| {
            let left = total.saturating_sub(done) as f64 / speed;
            format!(", {} left", HumanDuration(Duration::from_secs_f64(left.min(1e9))))
        });
        let count_rate = rate(count, before.count);
        let pace = match count_rate {
            10.0.. => format!("{count_rate:.0} {name}/s"),
            1.0.. => format!("{count_rate:.1} {name}/s"),
            _ => format!("{:.1} {name} a minute", 60.0 * count_rate),
        };
        format!("{}: {share}, {count} {name}, {pace}{left}", self.work)
    }
}
