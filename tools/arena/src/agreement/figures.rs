//! Counting agreements, and the figures that follow.
//!
//! Everything is counted in whole numbers, so that parts add up to the whole exactly.

use super::positions::{BANDS, PHASES};
use crate::contender::Reply;
use crate::kind::MoveKind;
use crate::statistics::McNemar;
use fianchetto::chess::{Move, Piece};
use serde::{Deserialize, Serialize};

/// Parts of a nat in which log-probabilities are counted.
const PARTS: f64 = 1e9;

/// Positions of one rating band, phase and kind of the move played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The band, by number.
    pub band: usize,
    /// The phase, by number.
    pub phase: usize,
    /// The kind of the move played.
    pub kind: MoveKind,
    /// Positions.
    pub count: u64,
    /// Counts for each player.
    pub players: Vec<Counts>,
}

/// How a player did on the positions of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// The move played was its choice.
    pub top1: u64,
    /// Positions where it named candidates beside its choice.
    pub ranked: u64,
    /// Of these, how often the move played was one of the best three.
    pub top3: u64,
    /// Positions where it told the probability of the move played.
    pub told: u64,
    /// The sum of their natural logarithms, in parts of 1e-9.
    pub log_probability: i64,
    /// The first player alone agreed.
    pub only_first: u64,
    /// This one alone agreed.
    pub only_this: u64,
}

/// A player's figures on a group of positions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Means {
    /// Positions.
    pub count: u64,
    /// Share where the move played was its choice.
    pub top1: Option<f64>,
    /// Share where it was one of the best three.
    pub top3: Option<f64>,
    /// The mean log-probability of the move played.
    pub log_probability: Option<f64>,
}

/// A player's figures.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// On all positions.
    pub all: Means,
    /// By the mover's rating.
    pub rating: Vec<(&'static str, Means)>,
    /// By the phase of the game.
    pub phase: Vec<(&'static str, Means)>,
    /// By the kind of the move played.
    pub kind: Vec<(&'static str, Means)>,
}

/// Two players on the same positions.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The first, by number.
    pub first: usize,
    /// The second.
    pub second: usize,
    /// On top-1 agreement.
    pub top1: McNemar,
}

/// All cells for so many players, empty.
pub fn cells(players: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for band in 0..BANDS.len() {
        for phase in 0..PHASES.len() {
            for kind in MoveKind::ALL {
                let players = vec![Counts::default(); players];
                cells.push(Cell { band, phase, kind, count: 0, players });
            }
        }
    }
    cells
}

impl Cell {
    /// Where it belongs.
    pub fn place(&self) -> (usize, usize, MoveKind) {
        (self.band, self.phase, self.kind)
    }

    /// Counts a position: the move played, and what each player says.
    pub fn add(&mut self, played: Move, replies: &[&Reply]) {
        self.count += 1;
        let mut first = None;
        for (counts, reply) in self.players.iter_mut().zip(replies) {
            let agrees = counts.add(played, reply);
            let first = *first.get_or_insert(agrees);
            counts.only_first += u64::from(first && !agrees);
            counts.only_this += u64::from(agrees && !first);
        }
    }
}

/// Adds what another part counted, in cells of the same places; cells without a position may be missing.
pub fn merge(cells: &mut [Cell], part: &[Cell]) {
    for other in part {
        let same = |cell: &&mut Cell| cell.place() == other.place();
        let Some(cell) = cells.iter_mut().find(same) else { continue };
        cell.count += other.count;
        for (own, other) in cell.players.iter_mut().zip(&other.players) {
            own.merge(other);
        }
    }
}

impl Counts {
    /// Whether the move played was its choice.
    fn add(&mut self, played: Move, reply: &Reply) -> bool {
        let rank = match &reply.priors {
            Some(priors) => {
                let probability = probability_of(played, priors);
                self.told += 1;
                let log = probability.max(f64::MIN_POSITIVE).ln();
                self.log_probability += (PARTS * log).round() as i64;
                Some(priors.iter().filter(|(_, p)| *p > probability).count())
            }
            None if reply.ranking.len() > 1 => Some(
                reply
                    .ranking
                    .iter()
                    .position(|&mv| mv == played)
                    .unwrap_or(reply.ranking.len().max(3)),
            ),
            None => None,
        };
        if let Some(rank) = rank {
            self.ranked += 1;
            self.top3 += u64::from(rank < 3);
        }
        let agrees = match &reply.priors {
            Some(_) => rank == Some(0),
            None => reply.best == played,
        };
        self.top1 += u64::from(agrees);
        agrees
    }

    fn merge(&mut self, other: &Self) {
        self.top1 += other.top1;
        self.ranked += other.ranked;
        self.top3 += other.top3;
        self.told += other.told;
        self.log_probability += other.log_probability;
        self.only_first += other.only_first;
        self.only_this += other.only_this;
    }
}

/// The probability of a legal move. An under-promotion that the network cannot name counts as its queen.
fn probability_of(played: Move, priors: &[(Move, f64)]) -> f64 {
    let of = |wanted: Move| priors.iter().find(|(mv, _)| *mv == wanted).map_or(0.0, |(_, p)| *p);
    match of(played) {
        0.0 if played.promotion.is_some() => of(Move { promotion: Some(Piece::Queen), ..played }),
        probability => probability,
    }
}

/// A player's figures on the cells that belong to a group.
fn means(cells: &[Cell], player: usize, belongs: impl Fn(&Cell) -> bool) -> Means {
    let mut count = 0;
    let mut sum = Counts::default();
    for cell in cells.iter().filter(|cell| belongs(cell)) {
        count += cell.count;
        sum.merge(&cell.players[player]);
    }
    let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    Means {
        count,
        top1: share(sum.top1, count),
        top3: share(sum.top3, sum.ranked),
        log_probability: (sum.told > 0)
            .then(|| sum.log_probability as f64 / PARTS / sum.told as f64),
    }
}

/// The figures of a player.
pub fn of(cells: &[Cell], player: usize) -> Figures {
    let bands = BANDS.iter().enumerate();
    let phases = PHASES.iter().enumerate();
    Figures {
        all: means(cells, player, |_| true),
        rating: bands
            .map(|(i, (name, _))| (*name, means(cells, player, |c| c.band == i)))
            .collect(),
        phase: phases.map(|(i, name)| (*name, means(cells, player, |c| c.phase == i))).collect(),
        kind: MoveKind::ALL
            .map(|kind| (kind.name(), means(cells, player, |c| c.kind == kind)))
            .to_vec(),
    }
}

/// The first player against each other.
pub fn comparisons(cells: &[Cell], players: usize) -> Vec<Comparison> {
    let count = cells.iter().map(|cell| cell.count).sum();
    let compare = |second: usize| {
        let sum = |of: &dyn Fn(&Counts) -> u64| {
            cells.iter().map(|cell| of(&cell.players[second])).sum::<u64>()
        };
        let top1 = McNemar::new(count, sum(&|c| c.only_first), sum(&|c| c.only_this));
        Comparison { first: 0, second, top1 }
    };
    (1..players).map(compare).collect()
}
