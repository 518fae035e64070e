//! How long to think.

use super::{Clock, Limits};
use std::time::Duration;

/// When a search has to end, in time since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget {
    /// When to end at the latest; `None` where time does not matter.
    pub end: Option<Duration>,
    /// Whether time not used is of use later.
    pub saves: bool,
}

/// Moves that a game is expected to last still, where nobody says how many more time must do for.
const MOVES_LEFT: u32 = 25;

/// The largest part of the time left that is spent on one move.
const LARGEST_PART: f64 = 0.6;

impl Budget {
    /// The time for a move. What must be kept back for delays is taken off the limits already.
    pub fn new(limits: &Limits) -> Self {
        let for_move = limits.move_time.map(|time| Self { end: Some(time), saves: false });
        let of_clock = limits.clock.map(|clock| Self { end: Some(share(clock)), saves: true });
        match (for_move, of_clock) {
            (Some(time), Some(share)) if share.end < time.end => share,
            (Some(time), _) => time,
            (None, share) => share.unwrap_or_default(),
        }
    }
}

/// An even share of the clock, and most of what is added for the move.
fn share(clock: Clock) -> Duration {
    let moves = clock.moves_to_go.map_or(MOVES_LEFT, |moves| moves.clamp(1, 2 * MOVES_LEFT));
    let even = clock.left / moves + clock.increment.mul_f64(0.75);
    // The move that ends the count may use nearly all that is left.
    let most = if clock.moves_to_go == Some(1) { 0.9 } else { LARGEST_PART };
    even.min(clock.left.mul_f64(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_move_gets_its_share_and_never_more_than_there_is() {
        for (left, increment, moves_to_go, expected) in [
            (100_000, 0, None, 4_000),
            (100_000, 1_000, None, 4_750),
            (100_000, 0, Some(40), 2_500),
            (100_000, 0, Some(1), 90_000),
            (1_000, 10_000, None, 600),
            (0, 1_000, None, 0),
        ] {
            let clock = Clock { left: ms(left), increment: ms(increment), moves_to_go };
            let limits = Limits { clock: Some(clock), ..Limits::default() };
            assert_eq!(Budget::new(&limits), Budget { end: Some(ms(expected)), saves: true });
            let limits = Limits { move_time: Some(ms(500)), ..limits };
            let shorter = Budget { end: Some(ms(expected.min(500))), saves: expected < 500 };
            assert_eq!(Budget::new(&limits), shorter);
        }
        assert_eq!(Budget::new(&Limits::default()), Budget::default());
    }
}
