//! `fianchetto-prepare expand` as it is typed.

use super::job::{ExpandError, Manifest, Options, Split};
use super::{to_shards, to_stream};
use crate::gamefile::GameFile;
use crate::number::whole;
use crate::partial;
use crate::progress::Progress;
use crate::shard::Shard;
use crate::threads;
use clap::ArgGroup;
use fianchetto::encoding::Encoding;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Games to shuffled training positions, in shards or through a pipe.
#[derive(Clone, Debug, clap::Args)]
#[command(group = ArgGroup::new("output").required(true).args(["out", "stream"]))]
pub struct Arguments {
    /// The game file, made by `pack`
    games: PathBuf,
    /// How positions are shown and moves numbered: canonical19, absolute14 or canonical12
    #[arg(long, value_parser = encoding)]
    encoding: Encoding,
    /// The folder for shards and manifest.json; the same command goes on where it was interrupted
    #[arg(long, value_name = "DIR", value_parser = partial::output("shards go to a folder: name one, or give --stream"))]
    out: Option<PathBuf>,
    /// Write the shards to standard output, one after the other, and none to disk
    #[arg(long)]
    stream: bool,
    /// How often to stream the positions, each time in another order; 0: without end [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    epochs: Option<u64>,
    /// The share of positions to take, above 0 and at most 1 [default: 1, or what --positions needs]
    #[arg(long, value_name = "R", value_parser = rate)]
    rate: Option<f64>,
    /// The share of the last 10 positions of games that end in checkmate, not below --rate [default: as others]
    #[arg(long, value_name = "R", value_parser = rate)]
    mate_rate: Option<f64>,
    /// The share of positions at ply 80 and later, not below --rate [default: as others]
    #[arg(long, value_name = "R", value_parser = rate)]
    late_rate: Option<f64>,
    /// At most so many positions, those that come first in the shuffled order
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX))]
    positions: Option<u64>,
    /// Chooses the positions and their order
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// Which games to take
    #[arg(long, value_enum, default_value_t = Split::Train)]
    split: Split,
    /// Only the games of one of N parts, I from 0
    #[arg(long, value_name = "I/N", default_value_t = Shard::WHOLE)]
    shard: Shard,
    /// Memory to work in; more makes fewer buckets, or a stream better shuffled
    #[arg(long, value_name = "MiB", default_value_t = 1024, value_parser = whole(1..=(1_u64 << 30) - 1))]
    memory: u64,
    /// Threads that expand [default: one per processor]
    #[arg(long, value_name = "N", value_parser = whole(threads::ALLOWED))]
    threads: Option<NonZeroUsize>,
}

impl Arguments {
    /// Whether the same command goes on where it was interrupted.
    pub fn goes_on(&self) -> bool {
        !self.stream
    }

    /// Whether the arguments go together.
    ///
    /// # Errors
    /// Which do not, and what to do.
    pub fn check(&self) -> Result<(), String> {
        if let (Some(_), Some(epochs)) = (&self.out, self.epochs) {
            return Err(format!(
                "--epochs {epochs} is for --stream, but found with --out, which writes each position \
                 once; leave --epochs away, or give --stream in place of --out"
            ));
        }
        // What --positions needs is known later.
        let Some(rate) = self.rate.or(self.positions.is_none().then_some(1.0)) else {
            return Ok(());
        };
        for (name, higher) in [("--mate-rate", self.mate_rate), ("--late-rate", self.late_rate)] {
            if let Some(higher) = higher.filter(|&higher| higher < rate) {
                return Err(format!(
                    "{name} {higher} is below the --rate of all positions, {rate}; expected it to be as \
                     high at least: raise it, lower --rate, or leave {name} away"
                ));
            }
        }
        Ok(())
    }

    /// Does what is asked; progress and summary go to standard error.
    ///
    /// # Errors
    /// See [`to_shards`] and [`to_stream`].
    pub fn run(self) -> Result<(), ExpandError> {
        let games = GameFile::open(&self.games)?;
        if games.is_empty() {
            return Err(ExpandError::NoGames(self.games));
        }
        let options = Options {
            encoding: self.encoding,
            rate: self.rate,
            mate_rate: self.mate_rate,
            late_rate: self.late_rate,
            seed: self.seed,
            split: self.split,
            shard: self.shard,
            positions: self.positions,
            memory: self.memory << 20,
            threads: threads::count(self.threads).get(),
            checkpoint: Duration::from_secs(10),
        };
        let progress = Progress::new();
        match self.out {
            Some(folder) => {
                let manifest = to_shards(&games, &options, &folder, &progress)?;
                drop(progress);
                let Manifest { games, positions, shards, .. } = manifest;
                eprintln!(
                    "{positions} positions of {games} games in {shards} shards: {}",
                    folder.display()
                );
                if let Some(limit) = self.positions.filter(|&limit| positions < limit) {
                    eprintln!("asked for were {limit}; a higher --rate may give more");
                }
            }
            None => {
                let positions = to_stream(
                    &games,
                    &options,
                    self.epochs.unwrap_or(1),
                    &mut io::stdout(),
                    &progress,
                )?;
                drop(progress);
                eprintln!("{positions} positions streamed");
            }
        }
        Ok(())
    }
}

fn encoding(text: &str) -> Result<Encoding, String> {
    Encoding::from_name(text).ok_or_else(|| format!("expected {}", Encoding::names()))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|&rate: &f64| rate > 0.0 && rate <= 1.0);
    rate.ok_or_else(|| "expected a number above 0 and at most 1, such as 0.05".to_owned())
}
