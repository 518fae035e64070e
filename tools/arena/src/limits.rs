//! How long a contender may think: by clock, by move, by nodes or by depth.

use fianchetto::chess::Color;
use fianchetto::search::{Clock, Limits};
use std::fmt::Write;
use std::time::Duration;

/// The longest time that can be given, in seconds.
const SECONDS_MAX: f64 = 1e6;

/// What a contender is given for its moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Plies.
    pub depth: Option<u32>,
    /// Positions evaluated.
    pub nodes: Option<u64>,
    /// For each move.
    pub move_time: Option<Duration>,
    /// For the game.
    pub clock: Option<TimeControl>,
}

/// A time for the game, and one added after each move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeControl {
    /// At the start.
    pub base: Duration,
    /// After each move.
    pub increment: Duration,
}

impl Budget {
    /// Whether nothing limits the contender.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes over a limit by name: `depth`, `nodes`, `movetime` (milliseconds) or `tc` (seconds,
    /// `10+0.1`). `None` when no limit has this name.
    ///
    /// # Errors
    /// What was expected.
    pub fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let expected = |what: &str| format!("{name}={value}: expected {what}");
        let whole = || match value.parse::<u32>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(expected("a whole number from 1 to 4294967295")),
        };
        Some(match name.to_ascii_lowercase().as_str() {
            "depth" => whole().map(|depth| self.depth = Some(depth)),
            "nodes" => whole().map(|nodes| self.nodes = Some(nodes.into())),
            "movetime" => {
                whole().map(|time| self.move_time = Some(Duration::from_millis(time.into())))
            }
            "tc" => TimeControl::read(value)
                .map(|clock| self.clock = Some(clock))
                .ok_or_else(|| expected("seconds for the game + seconds a move, such as 10+0.1")),
            _ => return None,
        })
    }
}

impl TimeControl {
    /// Reads `BASE` or `BASE+INCREMENT`, in seconds.
    pub fn read(text: &str) -> Option<Self> {
        let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
        let seconds = |text: &str| {
            let seconds = text.parse().ok().filter(|s| (0.0..=SECONDS_MAX).contains(s));
            seconds.map(Duration::from_secs_f64)
        };
        let (base, increment) = (seconds(base)?, seconds(increment)?);
        (!base.is_zero()).then_some(Self { base, increment })
    }
}

/// What holds for one move.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// As a player takes them.
    pub limits: Limits,
    /// The clock of the side that waits, where it has one.
    pub waiting: Option<Clock>,
    /// How long to wait for the answer, at most.
    pub deadline: Duration,
}

impl Turn {
    /// For a mover of this budget, with so much left on the clocks (mover first) where there are clocks.
    pub fn new(
        budgets: [&Budget; 2],
        left: [Duration; 2],
        patience: Duration,
        margin: Duration,
    ) -> Self {
        let clock = |side: usize| {
            budgets[side].clock.map(|TimeControl { increment, .. }| Clock {
                left: left[side],
                increment,
                moves_to_go: None,
            })
        };
        let Budget { depth, nodes, move_time, .. } = *budgets[0];
        let limits = Limits { depth, nodes, move_time, clock: clock(0), ..Limits::default() };
        let mut turn = Self { limits, waiting: clock(1), deadline: patience };
        if let Some(allowed) = turn.allowed() {
            turn.deadline = allowed + margin;
        }
        turn
    }

    /// How long the move may take by the rules; `None` where no time runs.
    pub fn allowed(&self) -> Option<Duration> {
        let left = self.limits.clock.map(|clock| clock.left);
        [self.limits.move_time, left].into_iter().flatten().min()
    }

    /// The UCI command that asks for the move of `mover`.
    pub fn command(&self, mover: Color) -> String {
        let Limits { depth, nodes, move_time, clock, .. } = &self.limits;
        let mut text = "go".to_owned();
        if let Some(own) = clock {
            let other = self.waiting.as_ref().unwrap_or(own);
            let [white, black] = if mover == Color::White { [own, other] } else { [other, own] };
            let _ = write!(
                text,
                " wtime {} btime {} winc {} binc {}",
                white.left.as_millis(),
                black.left.as_millis(),
                white.increment.as_millis(),
                black.increment.as_millis()
            );
        }
        let numbers = [
            ("depth", depth.map(u128::from)),
            ("nodes", nodes.map(u128::from)),
            ("movetime", move_time.map(|time| time.as_millis())),
        ];
        for (word, number) in numbers {
            if let Some(number) = number {
                let _ = write!(text, " {word} {number}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn reads_time_controls() {
        let tenth = Duration::from_millis(100);
        assert_eq!(
            TimeControl::read("1+0.1"),
            Some(TimeControl { base: SECOND, increment: tenth })
        );
        assert_eq!(TimeControl::read("1").unwrap().increment, Duration::ZERO);
        for wrong in ["", "0", "-1", "1+", "1+-1", "x", "1/2", "inf", "nan", "1e9"] {
            assert_eq!(TimeControl::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_go_command_has_both_clocks_in_place() {
        let mut budget = Budget::default();
        budget.set("tc", "10+0.1").unwrap().unwrap();
        budget.set("Depth", "3").unwrap().unwrap();
        let turn = Turn::new([&budget; 2], [3 * SECOND, 4 * SECOND], SECOND, SECOND);
        assert_eq!(
            turn.command(Color::White),
            "go wtime 3000 btime 4000 winc 100 binc 100 depth 3"
        );
        assert_eq!(
            turn.command(Color::Black),
            "go wtime 4000 btime 3000 winc 100 binc 100 depth 3"
        );
        assert_eq!(turn.deadline, 4 * SECOND);
        assert!(budget.set("hash", "1").is_none());
        assert!(budget.set("nodes", "0").unwrap().is_err());
    }
}
