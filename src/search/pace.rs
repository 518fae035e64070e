//! How fast the network is, and so how much fits into the time that is left.

use std::time::Duration;

/// How long a position takes: the latest batches count most, a slow one at once, a fast one by and by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace(Duration);

impl Pace {
    /// Takes note that so many positions took so long; none says nothing.
    pub fn note(&mut self, positions: u32, took: Duration) {
        if let Some(each) = took.checked_div(positions) {
            self.0 = each.max((self.0 + each) / 2);
        }
    }

    /// How many of `wanted` positions can be evaluated in the time `left`; all where time does not matter.
    pub fn fit(self, wanted: u32, left: Option<Duration>) -> u32 {
        match left {
            None => wanted,
            Some(Duration::ZERO) => 0,
            Some(left) => {
                let fits = left.as_nanos().checked_div(self.0.as_nanos());
                fits.map_or(wanted, |fits| fits.min(wanted.into()) as u32)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_batch_fits_into_the_time_left() {
        let mut pace = Pace::default();
        assert_eq!([None, Some(ms(0)), Some(ms(1))].map(|left| pace.fit(8, left)), [8, 0, 8]);
        pace.note(8, ms(80));
        pace.note(0, ms(9000));
        let left = [ms(1000), ms(80), ms(79), ms(9), ms(0)];
        assert_eq!(left.map(|left| pace.fit(8, Some(left))), [8, 8, 7, 0, 0]);
        assert_eq!(pace.fit(8, None), 8);
    }

    #[test]
    fn slower_counts_at_once_and_faster_by_and_by() {
        let mut pace = Pace::default();
        for (took, fits) in [(10, 100), (50, 20), (10, 33), (10, 50), (10, 66)] {
            pace.note(1, ms(took));
            assert_eq!(pace.fit(1000, Some(ms(1000))), fits, "{took}");
        }
    }
}
