//! The verbs that play games: `match`, `versus`, `round-robin`.

mod report;

use crate::asking::note;
use crate::contender::{Contender, Contenders, Kind, Terms};
use crate::game::Rules;
use crate::limits::{Budget, TimeControl};
use crate::openings::Openings;
use crate::outputs::{require_own, stem};
use crate::page::with_ending;
use crate::record::{Record, RunOf};
use crate::statistics::Sprt;
use crate::tournament::Tournament;
use clap::{Args, Parser};
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::number::whole;
use fianchetto_prepare::{partial, threads};
use serde_json::json;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version of the record.
const VERSION: u32 = 2;

/// Play one contender against another, colours alternating, each opening twice.
///
/// Results are from the view of the contender named first. A game ends by the rules of chess; who plays an
/// illegal move, exceeds its time or breaks down has lost it.
#[derive(Parser, Clone, Debug)]
pub struct Match {
    #[command(flatten)]
    contenders: Contenders,
    /// How many games, an even number
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(2..=1_000_000_000_u64))]
    games: u64,
    /// Stop when a sequential test (pentanomial GSPRT) of these Elo differences has decided
    #[arg(long, value_name = "ELO0,ELO1", value_parser = elo_range, allow_hyphen_values = true)]
    sprt: Option<(f64, f64)>,
    /// The chance that the test errs, to either side
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = chance, requires = "sprt")]
    sprt_error: f64,
    #[command(flatten)]
    setting: Setting,
}

/// Play against minimax by the protocol of the RDTChess card: 300 games, colours alternating, at most 300
/// moves.
#[derive(Parser, Clone, Debug)]
pub struct Versus {
    #[command(flatten)]
    contenders: Contenders,
    /// Whom to play against
    #[arg(long, value_name = "PLAYER", default_value = "minimax:depth=1", value_parser = Contender::player)]
    opponent: Contender,
    /// How many games, an even number
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = whole(2..=1_000_000_000_u64))]
    games: u64,
    #[command(flatten)]
    setting: Setting,
}

/// Play every contender against every other, all pairings from the same openings.
#[derive(Parser, Clone, Debug)]
pub struct RoundRobin {
    #[command(flatten)]
    contenders: Contenders,
    /// How many games of each pairing, an even number
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = whole(2..=1_000_000_000_u64))]
    games: u64,
    #[command(flatten)]
    setting: Setting,
}

/// How games are played.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "How games are played")]
struct Setting {
    /// Seconds for the game and for each move, for contenders without limits of their own
    #[arg(long, value_name = "BASE+INC", value_parser = time_control)]
    tc: Option<TimeControl>,
    /// Milliseconds for each move, likewise
    #[arg(long, value_name = "MS", value_parser = whole(1..=86_400_000_u64))]
    movetime: Option<u64>,
    /// Positions for each move, likewise
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::from(u32::MAX)))]
    nodes: Option<u64>,
    /// Plies for each move, likewise
    #[arg(long, value_name = "N", value_parser = whole(1..=1000_u32))]
    depth: Option<u32>,
    /// Random plies that each opening has
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole(0..=100_u32))]
    opening_plies: u32,
    /// Openings from a book in their place: EPD or FEN lines, or PGN (a file named .pgn, .pgn.zst, .pgn.gz)
    #[arg(long, value_name = "FILE", conflicts_with = "opening_plies")]
    book: Option<PathBuf>,
    /// Take so many plies of each game of a PGN book
    #[arg(long, value_name = "N", requires = "book", value_parser = whole(1..=1000_u32))]
    book_plies: Option<u32>,
    /// From which all random numbers come
    #[arg(long, value_name = "S", default_value_t = 4242, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// A game of so many moves is a draw [versus: 300]
    #[arg(long, value_name = "N", value_parser = whole(1..=10_000_u32))]
    max_moves: Option<u32>,
    /// Games at a time
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(threads::ALLOWED))]
    concurrency: NonZeroUsize,
    /// By how many milliseconds a time may be exceeded
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = whole(0..=3_600_000_u64))]
    margin: u64,
    /// How many seconds a program may take to start, or for a move without a clock
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = whole(1..=86_400_u64))]
    patience: u64,
    /// Leave times out of the record, so that the same games are the same bytes
    #[arg(long)]
    no_times: bool,
    /// Write NAME.jsonl (the record, with which an interrupted run goes on), NAME.pgn, NAME.json, NAME.html
    #[arg(long, value_name = "NAME", value_parser = stem)]
    out: Option<PathBuf>,
}

impl Match {
    /// Whether the arguments go together.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), String> {
        self.contenders.check(2, 2)?;
        self.setting.check(&self.contenders.0, self.games)
    }

    /// Plays.
    ///
    /// # Errors
    /// In one line.
    pub fn run(self, out: &mut impl Write) -> Result<(), Failure> {
        let sprt = self.sprt.map(|(elo0, elo1)| Sprt {
            elo0,
            elo1,
            alpha: self.sprt_error,
            beta: self.sprt_error,
        });
        self.setting.run(self.contenders.0, vec![[0, 1]], self.games, sprt, out)
    }
}

impl Versus {
    /// Whether the arguments go together.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), String> {
        self.contenders.check(1, 1)?;
        self.all().check(2, 2)?;
        self.setting.check(&self.all().0, self.games)
    }

    fn all(&self) -> Contenders {
        Contenders([self.contenders.0.clone(), vec![self.opponent.clone()]].concat())
    }

    /// Plays.
    ///
    /// # Errors
    /// In one line.
    pub fn run(mut self, out: &mut impl Write) -> Result<(), Failure> {
        self.setting.max_moves.get_or_insert(300);
        let contenders = self.all().0;
        self.setting.run(contenders, vec![[0, 1]], self.games, None, out)
    }
}

impl RoundRobin {
    /// Whether the arguments go together.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), String> {
        self.contenders.check(2, usize::MAX)?;
        self.setting.check(&self.contenders.0, self.games)
    }

    /// Plays.
    ///
    /// # Errors
    /// In one line.
    pub fn run(self, out: &mut impl Write) -> Result<(), Failure> {
        let count = self.contenders.0.len();
        let pairings = (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j])).collect();
        self.setting.run(self.contenders.0, pairings, self.games, None, out)
    }
}

impl Setting {
    fn check(&self, contenders: &[Contender], games: u64) -> Result<(), String> {
        if !games.is_multiple_of(2) {
            return Err(format!(
                "--games {games} is odd, expected an even number: each opening is played twice"
            ));
        }
        let unlimited = contenders.iter().find(|contender| {
            matches!(contender.kind, Kind::Engine(_)) && self.budget_of(contender).is_empty()
        });
        unlimited.map_or(Ok(()), |contender| {
            Err(format!(
                "{} would think for ever: give it nodes=, depth=, movetime= or tc=, or all of them \
                 --nodes, --depth, --movetime or --tc",
                contender.label
            ))
        })
    }

    fn budget(&self) -> Budget {
        Budget {
            depth: self.depth,
            nodes: self.nodes,
            move_time: self.movetime.map(Duration::from_millis),
            clock: self.tc,
        }
    }

    fn budget_of(&self, contender: &Contender) -> Budget {
        if contender.budget.is_empty() { self.budget() } else { contender.budget }
    }

    fn openings(&self) -> Result<Openings, Failure> {
        match &self.book {
            Some(path) => Openings::book(path, self.book_plies, self.seed),
            None => Ok(Openings::Random { plies: self.opening_plies, seed: self.seed }),
        }
    }

    fn run(
        self,
        contenders: Vec<Contender>,
        pairings: Vec<[usize; 2]>,
        games: u64,
        sprt: Option<Sprt>,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        let run = RunOf {
            version: VERSION,
            contenders: contenders.iter().map(|contender| contender.text.clone()).collect(),
            networks: (contenders.iter())
                .map(|contender| contender.network().map_err(Failure))
                .collect::<Result<_, _>>()?,
            limits: format!("{:?}", self.budget()),
            openings: match &self.book {
                Some(path) => format!("{} {:?}", path.display(), self.book_plies),
                None => format!("{} random plies", self.opening_plies),
            },
            seed: self.seed,
            max_moves: self.max_moves,
        };
        let patience = Duration::from_secs(self.patience);
        let tournament = Tournament {
            budgets: contenders.iter().map(|contender| self.budget_of(contender)).collect(),
            contenders,
            pairings,
            games,
            openings: self.openings()?,
            rules: Rules {
                max_moves: self.max_moves,
                margin: Duration::from_millis(self.margin),
                patience,
                times: !self.no_times,
            },
            terms: Terms { seed: self.seed, patience },
            sprt,
        };
        let mut record = match &self.out {
            Some(stem) => {
                let path = with_ending(stem, ".jsonl");
                require_own(stem, &json!({ "run": run }), path.exists(), true)?;
                let record = Record::open(&path, &run)?;
                going_on(&path, &record, &tournament)?;
                record
            }
            None => Record::unwritten(),
        };
        tournament.play(&mut record, self.concurrency)?;
        let (page, figures) = report::of(&tournament, &record, &run)?;
        if let Some(stem) = &self.out {
            let path = with_ending(stem, ".pgn");
            let pgn = report::pgn(&tournament, &record).map_err(Failure)?;
            partial::write_whole(&path, |file| file.write_all(pgn.as_bytes()))
                .map_err(|error: io::Error| Failure::file("write", &path, &error))?;
            page.write(stem, &figures)?;
        }
        page.tell(out)
    }
}

/// Tells how much is done already; refuses to make figures of less than that.
fn going_on(path: &Path, record: &Record, tournament: &Tournament) -> Result<(), Failure> {
    let Some((&last, _)) = record.games().last_key_value() else { return Ok(()) };
    let least = 2 * (tournament.place(last).pair + 1);
    if tournament.games < least {
        return Err(Failure(format!(
            "{}: found games of a run of --games {least}, expected none beyond --games {}; give {least} or \
             more, or name another output",
            path.display(),
            tournament.games
        )));
    }
    let (done, total) = (record.games().len(), tournament.total());
    note(&format!("{}: going on, {done} of {total} games are there", path.display()));
    Ok(())
}

fn time_control(text: &str) -> Result<TimeControl, String> {
    TimeControl::read(text)
        .ok_or_else(|| "expected seconds for the game + seconds a move, such as 10+0.1".to_owned())
}

fn elo_range(text: &str) -> Result<(f64, f64), String> {
    let number = |text: &str| text.trim().parse().ok().filter(|elo: &f64| elo.abs() <= 1000.0);
    let range = text.split_once(',').and_then(|(a, b)| Some((number(a)?, number(b)?)));
    range.filter(|(elo0, elo1)| elo0 < elo1).ok_or_else(|| {
        "expected two Elo differences from -1000 to 1000, the lower first, such as 0,10".to_owned()
    })
}

fn chance(text: &str) -> Result<f64, String> {
    let chance = text.parse().ok().filter(|chance| (1e-6..0.5).contains(chance));
    chance.ok_or_else(|| "expected a number above 0 and below 0.5, such as 0.05".to_owned())
}
