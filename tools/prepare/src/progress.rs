//! How far the work is: a bar on a terminal, a line now and then elsewhere, on standard error.

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The progress through inputs of a known or unknown number of bytes.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    /// Bytes read so far; whoever reads adds to it.
    read: Arc<AtomicU64>,
    total: Option<u64>,
    started: Instant,
    last_line: Instant,
    bytes_before: u64,
    games_before: u64,
}

impl Progress {
    /// Begins, or goes on, with `games` done and `read` bytes read.
    pub fn new(total: Option<u64>, read: Arc<AtomicU64>, games: u64) -> Self {
        let is_terminal = stderr().is_terminal();
        let bar = if is_terminal { ProgressBar::no_length() } else { ProgressBar::hidden() };
        if let Some(total) = total {
            bar.set_length(total);
        }
        let template = match total {
            Some(_) => "{wide_bar} {bytes}/{total_bytes}  {msg}",
            None => "{spinner} {bytes}  {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let now = Instant::now();
        let bytes_before = read.load(Ordering::Relaxed);
        Self {
            bar,
            is_terminal,
            read,
            total,
            started: now,
            last_line: now,
            bytes_before,
            games_before: games,
        }
    }

    /// Shows that so many games are done.
    pub fn update(&mut self, games: u64) {
        let read = self.read.load(Ordering::Relaxed);
        if self.is_terminal {
            self.bar.set_message(self.message(read, games));
            self.bar.set_position(read);
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let share = self.total.map_or(String::new(), |total| {
                format!("{:.1} % of ", 100.0 * read as f64 / total.max(1) as f64)
            });
            let bytes = HumanBytes(self.total.unwrap_or(read));
            eprintln!("{share}{bytes}, {}", self.message(read, games));
        }
    }

    fn message(&self, read: u64, games: u64) -> String {
        let seconds = self.started.elapsed().as_secs_f64().max(1e-3);
        let rate = (games - self.games_before) as f64 / seconds;
        let bytes_rate = (read - self.bytes_before) as f64 / seconds;
        let left = self.total.filter(|_| bytes_rate > 0.0).map_or(String::new(), |total| {
            let left = total.saturating_sub(read) as f64 / bytes_rate;
            format!(", {} left", HumanDuration(Duration::from_secs_f64(left.min(1e9))))
        });
        format!("{games} games, {rate:.0} games/s{left}")
    }

    /// Takes the bar away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
