//! From outcomes to figures: shares, under the names that `fianchetto_train measure` gives them.

use super::file::{BANDS, LENGTHS, band};
use super::solve::Outcome;
use crate::kind::MoveKind;
use crate::statistics::McNemar;
use serde::Serialize;
use std::collections::BTreeMap;

/// How a player does.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Puzzles.
    pub count: usize,
    /// Share of first moves found.
    pub first_move: Option<f64>,
    /// Share of puzzles with every move found.
    pub whole_line: Option<f64>,
    /// The same of the first move, were it drawn among the legal ones.
    pub random_first_move: Option<f64>,
    /// Legal moves in the first position.
    pub legal_moves: Option<f64>,
    /// Mates in one.
    pub mate_in_one: Found,
    /// Puzzles with an under-promotion.
    pub under_promotion: WholeLine,
    /// By solver moves.
    pub length: BTreeMap<usize, Length>,
    /// First move by rating band.
    pub band: Vec<(&'static str, Band)>,
    /// First move by its kind and rating band.
    pub kind: Vec<(&'static str, Vec<(&'static str, Band)>)>,
}

/// Of a group of puzzles, how often the first move was found.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Found {
    /// Puzzles.
    pub count: usize,
    /// The share.
    pub found: Option<f64>,
}

/// Of a group of puzzles, how often the whole line was found.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WholeLine {
    /// Puzzles.
    pub count: usize,
    /// The share.
    pub whole_line: Option<f64>,
}

/// Puzzles of so many solver moves.
#[derive(Clone, Debug, Serialize)]
pub struct Length {
    /// Puzzles.
    pub count: usize,
    /// Share found of each solver move.
    pub moves: Vec<Option<f64>>,
    /// Share of puzzles with every move found.
    pub whole_line: Option<f64>,
}

/// Puzzles of a rating band.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Band {
    /// Puzzles.
    pub count: usize,
    /// Share of first moves found.
    pub first_move: Option<f64>,
    /// Share of puzzles with every move found.
    pub whole_line: Option<f64>,
}

/// Two players on the same puzzles.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The first, by number.
    pub first: usize,
    /// The second.
    pub second: usize,
    /// On first moves.
    pub first_move: McNemar,
    /// On whole lines.
    pub whole_line: McNemar,
}

/// The figures of a player.
pub fn of(outcomes: &[Outcome], player: usize) -> Figures {
    let first = |o: &Outcome| f64::from(o.found(player, 0));
    let whole = |o: &Outcome| f64::from(o.whole(player));
    let group = |belongs: &dyn Fn(&Outcome) -> bool| -> Vec<&Outcome> {
        outcomes.iter().filter(|&o| belongs(o)).collect()
    };
    let band_of = |belongs: &dyn Fn(&Outcome) -> bool| {
        let group = group(belongs);
        Band {
            count: group.len(),
            first_move: mean(&group, first),
            whole_line: mean(&group, whole),
        }
    };
    let all = group(&|_| true);
    let mates = group(&|o| o.mate_in_one);
    let under = group(&|o| o.under_promotion);
    let length = |length: usize| {
        let group = group(&|o| o.length() == length);
        let step = |step| mean(&group, |o| f64::from(o.found(player, step)));
        let moves = (0..length).map(step).collect();
        (length, Length { count: group.len(), moves, whole_line: mean(&group, whole) })
    };
    let bands = |belongs: &dyn Fn(&Outcome) -> bool| -> Vec<(&'static str, Band)> {
        let names = BANDS.iter().enumerate();
        names
            .map(|(i, &(name, _))| (name, band_of(&|o| belongs(o) && band(o.rating) == i)))
            .collect()
    };
    Figures {
        count: all.len(),
        first_move: mean(&all, first),
        whole_line: mean(&all, whole),
        random_first_move: mean(&all, |o| 1.0 / o.legal as f64),
        legal_moves: mean(&all, |o| o.legal as f64),
        mate_in_one: Found { count: mates.len(), found: mean(&mates, first) },
        under_promotion: WholeLine { count: under.len(), whole_line: mean(&under, whole) },
        length: LENGTHS.map(length).collect(),
        band: bands(&|_| true),
        kind: MoveKind::ALL.map(|kind| (kind.name(), bands(&|o| o.kind == kind))).to_vec(),
    }
}

/// The first player against each other.
pub fn comparisons(outcomes: &[Outcome], players: usize) -> Vec<Comparison> {
    let compare = |second| Comparison {
        first: 0,
        second,
        first_move: McNemar::of(outcomes.iter().map(|o| (o.found(0, 0), o.found(second, 0)))),
        whole_line: McNemar::of(outcomes.iter().map(|o| (o.whole(0), o.whole(second)))),
    };
    (1..players).map(compare).collect()
}

fn mean(outcomes: &[&Outcome], value: impl Fn(&Outcome) -> f64) -> Option<f64> {
    let sum: f64 = outcomes.iter().map(|o| value(o)).sum();
    (!outcomes.is_empty()).then(|| sum / outcomes.len() as f64)
}
