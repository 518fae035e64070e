//! Iterative deepening: every move one ply deep, then two, and so on until there is a reason to end. For
//! searches by alpha-beta.

use super::halt::Halt;
use super::{Choice, PlayError, Report};
use crate::chess::Move;

/// Below and above every score.
pub(super) const INFINITE: i64 = i64::MAX / 4;

/// A search that looks at one move of the root at a time.
pub(super) trait RootSearch {
    /// The score of a move of the root for the side that makes it, looking `depth` plies ahead, the move
    /// included, and the line expected from it. Up to `alpha` the score is only known to be as low at least, and
    /// there is no line. `None` when the search was ended.
    fn look(
        &mut self,
        mv: Move,
        depth: u32,
        alpha: i64,
    ) -> Result<Option<(i64, Vec<Move>)>, PlayError>;

    /// Whether a look deeper than `depth` plies cannot change what was found.
    fn is_final(&self, found: &Scored, depth: u32) -> bool;

    /// What to tell of the best moves, best first, found so many plies deep.
    fn report(&self, best: &[Scored], depth: u32) -> Report;

    /// What ends the search.
    fn halt(&self) -> &Halt<'_>;
}

/// A move of the root.
pub(super) struct Candidate {
    pub mv: Move,
    /// Among equally good moves the one with the highest is played.
    pub preference: f64,
}

/// A candidate that was found to be among the best.
pub(super) struct Scored {
    pub mv: Move,
    pub preference: f64,
    pub score: i64,
    pub line: Vec<Move>,
}

/// Searches up to `depths` plies deep, of which at least one, for the best `wanted` of the candidates, and tells
/// after every ply. Where there is no time to look at a single move, the first candidate is chosen, and
/// `unsearched` is told as its score.
pub(super) fn deepen(
    search: &mut impl RootSearch,
    mut candidates: Vec<Candidate>,
    unsearched: i64,
    depths: u32,
    wanted: u32,
    report: &mut dyn FnMut(&Report),
) -> Result<Choice, PlayError> {
    let wanted = wanted.max(1) as usize;
    let Candidate { mv, preference } = candidates[0];
    let mut best = vec![Scored { mv, preference, score: unsearched, line: vec![mv] }];
    let mut told = false;
    for depth in 1..=depths {
        let (found, whole) = look(search, &mut candidates, depth, wanted)?;
        // The best move of before came first. What was not looked at keeps its older score.
        if !found.is_empty() {
            let rest = best.into_iter().filter(|old| found.iter().all(|new| new.mv != old.mv));
            let rest: Vec<Scored> = if whole { Vec::new() } else { rest.collect() };
            best = found.into_iter().chain(rest).take(wanted).collect();
            // What was begun is told as of the depth before, but a first look as one.
            report(&search.report(&best, if whole { depth } else { depth.max(2) - 1 }));
            told = true;
        }
        let is_final = best.iter().all(|scored| search.is_final(scored, depth));
        if !whole || is_final || search.halt().is_late(candidates.len()) {
            break;
        }
    }
    if !told {
        report(&search.report(&best, 0));
    }
    let line = &best[0].line;
    Ok(Choice { best: line.first().copied(), ponder: line.get(1).copied() })
}

/// The best `wanted` candidates looking `depth` plies ahead, best first, and whether all were looked at. For
/// the next, deeper look the best come first.
fn look(
    search: &mut impl RootSearch,
    candidates: &mut [Candidate],
    depth: u32,
    wanted: usize,
) -> Result<(Vec<Scored>, bool), PlayError> {
    let mut found: Vec<Scored> = Vec::new();
    let mut whole = true;
    for &Candidate { mv, preference } in candidates.iter() {
        // Moves as good as the last that is wanted are of interest still: the preference decides.
        let alpha = match found.get(wanted - 1) {
            None => -INFINITE,
            Some(last) => last.score - 1,
        };
        let Some((score, line)) = search.look(mv, depth, alpha)? else {
            whole = false;
            break;
        };
        if score > alpha {
            let place = found.partition_point(|better| better.score >= score);
            found.insert(place, Scored { mv, preference, score, line });
        }
    }
    if whole {
        // The order must not depend on preferences, or the number of positions would.
        let mut place = 0;
        for scored in found.iter().take(wanted) {
            if let Some(at) = candidates.iter().position(|candidate| candidate.mv == scored.mv) {
                candidates[place..=at].rotate_right(1);
                place += 1;
            }
        }
    }
    found.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| b.preference.total_cmp(&a.preference)));
    found.truncate(wanted);
    Ok((found, whole))
}
