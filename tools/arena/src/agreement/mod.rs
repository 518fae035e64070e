//! The verb `agreement`: how often a player would have played what people played, in games that were held
//! back from training.

mod figures;
mod positions;
mod report;

use crate::asking::{Asking, check_parts, own, write_or_tell};
use crate::contender::{Asker, Reply};
use crate::course::Course;
use crate::kind::MoveKind;
use crate::outputs::require_own;
use crate::speed::Speed;
use clap::Parser;
use fianchetto::chess::Color;
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::gamefile::GameFile;
use fianchetto_prepare::number::whole;
use figures::Cell;
use positions::{Asked, band, phase};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const YARDSTICK: &str = "agreement";

/// Games whose positions are asked about at a time.
const CHUNK: usize = 16;

/// Measure how often players choose what people played in held-out games.
///
/// The game file is made by `fianchetto-prepare pack`; one game in fifty is held out. A `policy` player is its
/// network alone; log-probabilities are a network's, top-3 is of players that rank their moves.
#[derive(Parser, Clone, Debug)]
pub struct Agreement {
    /// The game file
    #[arg(value_name = "GAMES")]
    file: PathBuf,
    /// So many of the held-out positions, drawn by the seed [default: all]
    #[arg(long, value_name = "N", value_parser = whole(1..=usize::MAX))]
    positions: Option<usize>,
    #[command(flatten)]
    asking: Asking,
}

/// What was measured, on which positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// By what the game file is known.
    games: String,
    /// Positions in the whole, and the seed that drew them.
    positions: u64,
    seed: u32,
    players: Vec<String>,
    /// By what their networks are known.
    networks: Vec<Option<String>>,
    limits: String,
}

#[derive(Serialize)]
struct Written<'a> {
    yardstick: &'static str,
    #[serde(flatten)]
    head: &'a Head,
    /// Which part of the positions: `I/N`.
    shard: String,
    figures: Vec<figures::Figures>,
    mcnemar: Vec<figures::Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<&'a Speed>,
    cells: &'a [Cell],
}

/// What `merge` reads.
#[derive(Deserialize)]
pub struct Part {
    #[serde(flatten)]
    head: Head,
    shard: String,
    cells: Vec<Cell>,
}

impl Agreement {
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
        let Self { file, positions, asking } = self;
        let games = GameFile::open(&file)?;
        let checksum = format!("{:08x}", games.checksum()?);
        let all = positions::held_out(&file, Arc::new(games), positions, asking.seed)?;
        let head = Head {
            games: checksum,
            positions: all.iter().map(|asked| asked.plies.len() as u64).sum(),
            seed: asking.seed,
            players: asking.labels(),
            networks: asking.networks()?,
            limits: asking.limits(),
        };
        let shard = asking.shard;
        let part: Vec<Asked> = all.into_iter().filter(|asked| shard.takes(&asked.game)).collect();
        let work = |askers: &mut [Asker], chunk: &[Asked], _| Ok(vec![count(askers, chunk)?]);
        let own = own(YARDSTICK, &head, &shard.to_string());
        let measured = asking.measure(&own, &part, CHUNK, "games", work)?;
        let mut cells = figures::cells(head.players.len());
        for part in &measured.results {
            figures::merge(&mut cells, part);
        }
        let stem = asking.out.as_deref();
        let speed = measured.speed.as_ref();
        let written = finish(&head, shard.to_string(), &cells, speed, stem, out);
        measured.close(written)
    }
}

/// Asks about every position chosen of some games, and counts the answers.
fn count(askers: &mut [Asker], games: &[Asked]) -> Result<Vec<Cell>, String> {
    let mut lines = Vec::new();
    let mut places = Vec::new();
    for Asked { game, plies } in games {
        let mut course = Course::default();
        let mut wanted = plies.iter().peekable();
        for (ply, &mv) in game.moves.iter().enumerate() {
            if wanted.next_if_eq(&&ply).is_some() {
                let board = course.game().board();
                let rating = game.ratings[usize::from(board.side_to_move() == Color::Black)];
                let kind = MoveKind::ALL.iter().position(|kind| *kind == MoveKind::of(board, mv));
                let cell = (band(rating) * positions::PHASES.len() + phase(ply, board)) * 3;
                places.push((cell + kind.unwrap_or_default(), mv));
                lines.push((game.hash().wrapping_add(ply as u64), vec![course.clone()]));
            }
            course.play(mv).map_err(|error| error.to_string())?;
        }
    }
    let replies: Vec<Vec<Vec<Reply>>> = (askers.iter_mut())
        .map(|asker| asker.ask(&lines).map_err(|unanswered| unanswered.to_string()))
        .collect::<Result<_, _>>()?;
    let mut cells = figures::cells(askers.len());
    for (i, (cell, played)) in places.into_iter().enumerate() {
        let replies: Vec<&Reply> = replies.iter().map(|player| &player[i][0]).collect();
        cells[cell].add(played, &replies);
    }
    cells.retain(|cell| cell.count > 0);
    Ok(cells)
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
    let places: Vec<_> = parts.iter().map(|(path, p)| (path, &p.head, p.shard.as_str())).collect();
    check_parts(&places)?;
    let head = &parts[0].1.head;
    let mut cells = figures::cells(head.players.len());
    for (path, part) in &parts {
        let fits = |(own, other): (&Cell, &Cell)| {
            own.place() == other.place() && own.players.len() == other.players.len()
        };
        if part.cells.len() != cells.len() || !cells.iter().zip(&part.cells).all(fits) {
            let path = path.display();
            return Err(Failure(format!(
                "{path} is damaged: other cells than expected; measure it again"
            )));
        }
        figures::merge(&mut cells, &part.cells);
    }
    let found: u64 = cells.iter().map(|cell| cell.count).sum();
    if found != head.positions {
        let expected = head.positions;
        return Err(Failure(format!(
            "the parts have {found} positions, expected {expected}: one of them is damaged; measure it again"
        )));
    }
    if let Some(stem) = stem {
        require_own(stem, &own(YARDSTICK, head, "0/1"), false, false)?;
    }
    finish(head, "0/1".to_owned(), &cells, None, stem, out)
}

fn finish(
    head: &Head,
    shard: String,
    cells: &[Cell],
    speed: Option<&Speed>,
    stem: Option<&Path>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let players = head.players.len();
    let figures: Vec<_> = (0..players).map(|player| figures::of(cells, player)).collect();
    let mcnemar = figures::comparisons(cells, players);
    let page = report::page(&head.players, &figures, &mcnemar)?;
    let yardstick = YARDSTICK;
    let written = Written { yardstick, head, shard, figures, mcnemar, speed, cells };
    write_or_tell(&page, &written, speed, stem, out)
}
