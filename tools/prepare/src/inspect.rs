//! `inspect`: what a game file holds, for the eye.

use crate::failure::Failure;
use crate::game::{GameResult, PlayedGame};
use crate::gamefile::{self, GameFile};
use crate::number::whole;
use crate::shard::Shard;
use crate::threads;
use fianchetto::chess::{Color, File, Game, Rank, Square, notation};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, fs};

/// What a game file holds: counts, ratings, results, years, and some positions.
///
/// Reads every game, so a file that passes is whole.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The game file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Of so many games, spread evenly over the file, show the position in the middle
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole(0..=u64::MAX))]
    pub games: u64,
    /// Only the games of one of N parts, I from 0
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Threads that read [default: one per processor]
    #[arg(long, value_name = "N", value_parser = whole(threads::ALLOWED))]
    pub threads: Option<NonZeroUsize>,
}

/// Tells on `told` what a file holds.
///
/// # Errors
/// When the file cannot be read, or is damaged anywhere.
pub fn inspect(options: &Options, told: &mut impl Write) -> Result<(), Failure> {
    let file = Arc::new(GameFile::open(&options.file)?);
    let bytes = fs::metadata(&options.file)
        .map_err(|error| Failure::file("read", &options.file, &error))?
        .len();
    let counts = count(&file, options.shard, threads::count(options.threads))?;
    let shown = shown_games(&file, options.shard, options.games)?;
    let tell = |told: &mut dyn Write| {
        writeln!(
            told,
            "{}: {} games, {} plies in {} blocks, {}",
            options.file.display(),
            file.len(),
            file.plies(),
            file.block_count(),
            gamefile::size(bytes, file.plies())
        )?;
        if let Some(shard) = options.shard {
            writeln!(told, "of them in shard {shard}: {}", counts.games)?;
        }
        write!(told, "{counts}")?;
        shown.iter().try_for_each(|(number, game)| tell_game(told, *number, game))
    };
    Failure::heard(tell(told))
}

/// The counts over a file.
#[derive(Default)]
struct Counts {
    games: u64,
    plies: u64,
    longest: usize,
    shortest: Option<usize>,
    held_out: u64,
    results: [u64; 3],
    /// Players by hundreds of their rating; 0 unknown.
    ratings: BTreeMap<u16, u64>,
    years: BTreeMap<u16, u64>,
    /// One a game.
    hashes: Vec<u64>,
}

/// Ratings are counted in bands of so many points.
const BAND: u16 = 200;

fn count(
    file: &Arc<GameFile>,
    shard: Option<Shard>,
    threads: NonZeroUsize,
) -> Result<Counts, Failure> {
    let mut all = Counts::default();
    let reader = Arc::clone(file);
    let blocks = threads::in_order(0..file.block_count(), threads, move |block| {
        let mut counts = Counts::default();
        for game in reader.block(block)? {
            if shard.is_none_or(|shard| shard.takes(&game)) {
                counts.add(&game);
            }
        }
        Ok::<_, Failure>(counts)
    });
    for counts in blocks {
        all.merge(counts?);
    }
    Ok(all)
}

impl Counts {
    fn add(&mut self, game: &PlayedGame) {
        let plies = game.moves.len();
        self.games += 1;
        self.plies += plies as u64;
        self.longest = self.longest.max(plies);
        self.shortest = Some(self.shortest.map_or(plies, |shortest| shortest.min(plies)));
        self.held_out += u64::from(game.held_out());
        self.results[game.result as usize] += 1;
        for rating in game.ratings {
            *self.ratings.entry(rating / BAND * BAND).or_default() += 1;
        }
        *self.years.entry(game.year).or_default() += 1;
        self.hashes.push(game.hash());
    }

    fn merge(&mut self, other: Self) {
        self.games += other.games;
        self.plies += other.plies;
        self.longest = self.longest.max(other.longest);
        self.shortest = [self.shortest, other.shortest].into_iter().flatten().min();
        self.held_out += other.held_out;
        for (result, count) in self.results.iter_mut().zip(other.results) {
            *result += count;
        }
        for (all, part) in [(&mut self.ratings, other.ratings), (&mut self.years, other.years)] {
            for (key, count) in part {
                *all.entry(key).or_default() += count;
            }
        }
        self.hashes.extend(other.hashes);
    }

    /// Games whose moves are those of another.
    fn repeated(&self) -> usize {
        let mut hashes = self.hashes.clone();
        hashes.sort_unstable();
        hashes.dedup();
        self.hashes.len() - hashes.len()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(shortest) = self.shortest else {
            return Ok(());
        };
        let mean = self.plies as f64 / self.games as f64;
        writeln!(f, "plies a game: {shortest} to {}, mean {mean:.1}", self.longest)?;
        let share =
            |count: u64| format!("{count} ({:.2} %)", 100.0 * count as f64 / self.games as f64);
        let [white, black, draws] = self.results.map(share);
        writeln!(f, "White won {white}, Black won {black}, drawn {draws}")?;
        writeln!(f, "held out: {}", share(self.held_out))?;
        writeln!(f, "same moves as another game: {}", share(self.repeated() as u64))?;
        histogram(f, "rating (players)", &self.ratings, |rating| {
            format!("{rating}-{}", rating.saturating_add(BAND - 1))
        })?;
        histogram(f, "year (games)", &self.years, |year| year.to_string())
    }
}

/// One line a key, with a bar; key 0 is what is not known.
fn histogram(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    counts: &BTreeMap<u16, u64>,
    name: impl Fn(u16) -> String,
) -> fmt::Result {
    const WIDTH: u64 = 40;
    writeln!(f, "{title}")?;
    let most = counts.values().copied().max().unwrap_or(1);
    for (&key, &count) in counts {
        let name = if key == 0 { "unknown".to_owned() } else { name(key) };
        let bar = "#".repeat((count * WIDTH).div_ceil(most) as usize);
        writeln!(f, "{name:>13}  {count:>9}  {bar}")?;
    }
    Ok(())
}

/// Games spread evenly over the file, or the shard's next after each such place.
fn shown_games(
    file: &GameFile,
    shard: Option<Shard>,
    count: u64,
) -> Result<Vec<(u64, PlayedGame)>, Failure> {
    let count = count.min(file.len());
    let mut shown: Vec<(u64, PlayedGame)> = Vec::new();
    for place in 0..count {
        let first = (u128::from(place) * u128::from(file.len()) / u128::from(count)) as u64;
        let after_last = shown.last().map_or(0, |(number, _)| number + 1);
        for number in first.max(after_last)..file.len() {
            let game = file.game(number)?;
            if shard.is_none_or(|shard| shard.takes(&game)) {
                shown.push((number, game));
                break;
            }
        }
    }
    Ok(shown)
}

/// A game in words, and its middle position with the move played there.
fn tell_game(told: &mut dyn Write, number: u64, game: &PlayedGame) -> io::Result<()> {
    let known = |number: u16| if number == 0 { "?".to_owned() } else { number.to_string() };
    let [white, black] = game.ratings.map(known);
    let result = match game.result {
        GameResult::White => "1-0",
        GameResult::Black => "0-1",
        GameResult::Draw => "1/2-1/2",
    };
    let kept = if game.held_out() { ", held out" } else { "" };
    let (year, plies) = (known(game.year), game.moves.len());
    writeln!(
        told,
        "\ngame {number}: {white} against {black}, {year}, {result}, {plies} plies{kept}"
    )?;

    let mut position = Game::default();
    let (before, after) = game.moves.split_at(plies / 2);
    for &mv in before {
        position.play(mv).map_err(io::Error::other)?;
    }
    let board = position.board();
    for rank in Rank::ALL.into_iter().rev() {
        write!(told, "  {rank} ")?;
        for file in File::ALL {
            let square = Square::new(file, rank);
            let letter = board.piece_on(square).map_or('.', char::from);
            let letter = match board.color_on(square) {
                Some(Color::White) => letter.to_ascii_uppercase(),
                _ => letter,
            };
            write!(told, " {letter}")?;
        }
        writeln!(told)?;
    }
    writeln!(told, "     a b c d e f g h")?;
    if let Some(&mv) = after.first() {
        let san = notation::to_san(board, mv).map_err(io::Error::other)?;
        let dots = if board.side_to_move() == Color::White { "." } else { "..." };
        writeln!(told, "  {}{dots} {san}", board.fullmove_number())?;
    }
    Ok(())
}
