//! Scores, their errors, and Elo differences.
//!
//! Games come in pairs, the same opening with colours exchanged. The two games of a pair are not independent,
//! pairs are: so errors come from the five possible scores of a pair (the pentanomial counts), not
//! from wins, draws and losses.

use serde::Serialize;

/// Half the width of a 95 % interval in standard errors: the 97.5 % point of the normal distribution.
const TWO_SIDED_95: f64 = 1.959_963_984_540_054;

/// Results from the view of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
    /// Pairs that scored 0, 1/2, 1, 3/2 and 2 points.
    pub pairs: [u64; 5],
}

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The estimate.
    pub estimate: f64,
    /// The upper end.
    pub high: f64,
}

impl Tally {
    /// Adds the two games of a pair, each in half points: 0, 1 or 2.
    pub fn add_pair(&mut self, half_points: [u8; 2]) {
        for points in half_points {
            match points {
                0 => self.losses += 1,
                1 => self.draws += 1,
                _ => self.wins += 1,
            }
        }
        let sum: u8 = half_points.iter().sum();
        self.pairs[usize::from(sum).min(4)] += 1;
    }

    /// The same from the other side's view.
    pub fn reversed(&self) -> Self {
        let mut pairs = self.pairs;
        pairs.reverse();
        Self { wins: self.losses, draws: self.draws, losses: self.wins, pairs }
    }

    /// Both results together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            wins: self.wins + other.wins,
            draws: self.draws + other.draws,
            losses: self.losses + other.losses,
            pairs: std::array::from_fn(|i| self.pairs[i] + other.pairs[i]),
        }
    }

    /// How many games.
    pub fn games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    /// Points a game, 0 to 1; `None` without games.
    pub fn score(&self) -> Option<f64> {
        let points = self.wins as f64 + self.draws as f64 / 2.0;
        (self.games() > 0).then(|| points / self.games() as f64)
    }

    /// The standard error of the score, from the spread of the pairs.
    pub fn error(&self) -> Option<f64> {
        let mean = self.score()?;
        let pairs: u64 = self.pairs.iter().sum();
        let squares: f64 = (self.pairs.iter().enumerate())
            .map(|(i, &count)| count as f64 * (i as f64 / 4.0 - mean).powi(2))
            .sum();
        Some((squares / pairs as f64 / pairs as f64).sqrt())
    }

    /// The Elo difference with its 95 % interval, both ends of the score's interval turned into Elo. Pairs that
    /// all ended alike do not show their spread: it is then at most that of pairs which are won or lost whole.
    pub fn elo(&self) -> Option<Interval> {
        let (score, error) = (self.score()?, self.error()?);
        let (low, high) = match error > 0.0 {
            true => (score - TWO_SIDED_95 * error, score + TWO_SIDED_95 * error),
            false => wilson(score, self.pairs.iter().sum::<u64>() as f64),
        };
        let elo = |score: f64| elo_of_score(score.clamp(0.0, 1.0));
        Some(Interval { low: elo(low), estimate: elo(score), high: elo(high) })
    }
}

/// The 95 % interval of a share seen in so many trials (Wilson, "Probable inference, the law of succession, and
/// statistical inference", 1927).
fn wilson(share: f64, trials: f64) -> (f64, f64) {
    let z = TWO_SIDED_95.powi(2) / trials;
    let middle = (share + z / 2.0) / (1.0 + z);
    let half = (z * (share * (1.0 - share) + z / 4.0)).sqrt() / (1.0 + z);
    (middle - half, middle + half)
}

/// The Elo difference at which this score, 0 to 1, is expected: infinite at the ends.
pub fn elo_of_score(score: f64) -> f64 {
    400.0 * (score / (1.0 - score)).log10()
}
