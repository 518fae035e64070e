//! The verb `puzzles`: Lichess puzzles by the protocol of the RDTChess card, so that figures can stand beside
//! its own.
//!
//! Of each cell (solution length in solver moves x rating band) up to a number of puzzles is drawn. A player is
//! asked at every solver move along the file's line, also after an error. Right is the file's move; where it
//! mates, any mate. Puzzles with an under-promotion are counted apart, too.

mod figures;
mod file;
mod report;
mod solve;

use crate::asking::{Asking, check_parts, own, write_or_tell};
use crate::contender::{Asker, Reply, Unanswered};
use crate::fingerprint::fingerprint;
use crate::outputs::require_own;
use crate::speed::Speed;
use clap::Parser;
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::number::whole;
use file::Puzzle;
pub use report::mcnemar_cells;
use serde::{Deserialize, Serialize};
use solve::{Outcome, Questions};
use std::io::Write;
use std::path::{Path, PathBuf};

const YARDSTICK: &str = "puzzles";

/// Puzzles whose questions a network is asked at a time.
const CHUNK: usize = 32;

/// Measure players on the Lichess puzzle file by the protocol of the RDTChess card.
///
/// Several players are asked the same, and the first compared with each other by McNemar's test. A `policy` player
/// is its network alone.
#[derive(Parser, Clone, Debug)]
pub struct Puzzles {
    /// The Lichess puzzle file, .csv or .csv.zst
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// At most so many puzzles of each length and rating band
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole(1..=1_000_000_usize))]
    per_cell: usize,
    #[command(flatten)]
    asking: Asking,
}

/// What was measured, on which of the sample's puzzles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    per_cell: usize,
    seed: u32,
    /// Puzzles in the whole sample, and what they are known by.
    puzzles: usize,
    sample: String,
    players: Vec<String>,
    /// By what their networks are known.
    networks: Vec<Option<String>>,
    limits: String,
}

/// The figures as they are written.
#[derive(Serialize)]
struct Written<'a> {
    yardstick: &'static str,
    #[serde(flatten)]
    head: &'a Head,
    /// Which part of the sample: `I/N`.
    shard: String,
    figures: Vec<figures::Figures>,
    mcnemar: Vec<figures::Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<&'a Speed>,
    outcomes: &'a [Outcome],
}

/// What `merge` reads of them.
#[derive(Deserialize)]
pub struct Part {
    #[serde(flatten)]
    head: Head,
    shard: String,
    outcomes: Vec<Outcome>,
}

impl Puzzles {
    /// Whether the arguments go together.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), String> {
        self.asking.check()
    }

    /// Measures.
    ///
    /// # Errors
    /// In one line.
    pub fn run(self, out: &mut impl Write) -> Result<(), Failure> {
        let Self { file, per_cell, asking } = self;
        let puzzles = file::sample(&file, per_cell, asking.seed)?;
        let head = Head {
            per_cell,
            seed: asking.seed,
            puzzles: puzzles.len(),
            sample: sample_of(&puzzles),
            players: asking.labels(),
            networks: asking.networks()?,
            limits: asking.limits(),
        };
        let shard = asking.shard;
        let (index, count) = (shard.index() as usize, shard.count() as usize);
        let part: Vec<Puzzle> = puzzles.into_iter().skip(index).step_by(count).collect();
        // A damaged one must not end the run after hours.
        part.iter().try_for_each(|puzzle| Questions::of(puzzle).map(drop)).map_err(Failure)?;

        let work = |askers: &mut [Asker], chunk: &[Puzzle], first: usize| {
            let questions: Vec<_> = chunk.iter().map(Questions::of).collect::<Result<_, _>>()?;
            // The number in the whole sample, so that parts are asked what the whole is.
            let number = |i| (index + (first + i) * count) as u64;
            let lines: Vec<_> = (questions.iter().enumerate())
                .map(|(i, questions)| (number(i), questions.courses.clone()))
                .collect();
            let named = |unanswered: Unanswered| {
                let Unanswered { label, line, position, reason } = unanswered;
                format!("{label}: puzzle {}, move {}: {reason}", chunk[line].id, position + 1)
            };
            let replies: Vec<Vec<Vec<Reply>>> = (askers.iter_mut())
                .map(|asker| asker.ask(&lines).map_err(named))
                .collect::<Result<_, _>>()?;
            let outcome = |(i, puzzle): (usize, &Puzzle)| {
                let questions: &Questions = &questions[i];
                let replies: Vec<_> = replies.iter().map(|player| &player[i][..]).collect();
                questions.outcome(puzzle, &replies)
            };
            Ok(chunk.iter().enumerate().map(outcome).collect())
        };
        let own = own(YARDSTICK, &head, &shard.to_string());
        let measured = asking.measure(&own, &part, CHUNK, "puzzles", work)?;
        let stem = asking.out.as_deref();
        let results = &measured.results;
        let speed = measured.speed.as_ref();
        let written = finish(&head, shard.to_string(), results, speed, stem, out);
        measured.close(written)
    }
}

/// The whole from its parts.
///
/// # Errors
/// When they do not make it up.
pub fn merge(
    parts: Vec<(PathBuf, Part)>,
    stem: Option<&Path>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let places: Vec<_> =
        (parts.iter()).map(|(path, p)| (path, &p.head, p.shard.as_str())).collect();
    let order = check_parts(&places)?;
    let mut queues: Vec<_> =
        parts.into_iter().map(|(_, p)| (p.head, p.outcomes.into_iter())).collect();
    let head = queues[0].0.clone();
    let outcomes: Vec<Outcome> = (order.iter().cycle().take(head.puzzles))
        .filter_map(|&part| queues[part].1.next())
        .collect();
    let players = head.players.len();
    let whole = outcomes.iter().filter(|outcome| outcome.right.len() == players).count();
    if whole != head.puzzles {
        return Err(Failure(format!(
            "the parts have {whole} whole puzzles, expected {}: one of them is damaged; measure it again",
            head.puzzles
        )));
    }
    if let Some(stem) = stem {
        require_own(stem, &own(YARDSTICK, &head, "0/1"), false, false)?;
    }
    finish(&head, "0/1".to_owned(), &outcomes, None, stem, out)
}

fn finish(
    head: &Head,
    shard: String,
    outcomes: &[Outcome],
    speed: Option<&Speed>,
    stem: Option<&Path>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let players = head.players.len();
    let figures: Vec<_> = (0..players).map(|player| figures::of(outcomes, player)).collect();
    let mcnemar = figures::comparisons(outcomes, players);
    let page = report::page(&head.players, &figures, &mcnemar)?;
    let yardstick = YARDSTICK;
    let written = Written { yardstick, head, shard, figures, mcnemar, speed, outcomes };
    write_or_tell(&page, &written, speed, stem, out)
}

/// By what a sample is known: the names of its puzzles.
fn sample_of(puzzles: &[Puzzle]) -> String {
    fingerprint(puzzles.iter().flat_map(|puzzle| puzzle.id.bytes().chain([0])))
}
