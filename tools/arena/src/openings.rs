//! From where games begin: random moves by a seed, or a book.

use crate::course::Course;
use fianchetto::chess::Move;
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::game::spread;
use fianchetto_prepare::{input, pgn};
use std::io::BufRead;
use std::path::Path;

/// The openings of a run; the one of a number is always the same.
pub enum Openings {
    /// So many random plies.
    Random {
        /// How many.
        plies: u32,
        /// From which they come.
        seed: u64,
    },
    /// The lines of a book, in an order that the seed shuffled.
    Book(Vec<Course>),
}

impl Openings {
    /// Reads a book: positions in EPD or FEN, one a line, or games in PGN, of which the first `plies`
    /// count, if given. The seed shuffles it.
    ///
    /// # Errors
    /// When it cannot be read, or has a line that is no position, or nothing in it.
    pub fn book(path: &Path, plies: Option<u32>, seed: u64) -> Result<Self, Failure> {
        let is_pgn = path.to_string_lossy().contains(".pgn");
        let mut lines = if is_pgn { pgn_book(path, plies)? } else { epd_book(path)? };
        if lines.is_empty() {
            return Err(Failure(format!(
                "{}: there is no opening in it, expected EPD or FEN lines, or PGN in a file named .pgn",
                path.display()
            )));
        }
        let mut random = Numbers(spread(seed));
        for last in (1..lines.len()).rev() {
            lines.swap(last, random.below(last + 1));
        }
        Ok(Self::Book(lines))
    }

    /// The opening of this number. A book that is at its end begins anew.
    pub fn get(&self, number: u64) -> Course {
        match self {
            Self::Random { plies, seed } => random(*plies, *seed, number),
            Self::Book(lines) => lines[(number % lines.len() as u64) as usize].clone(),
        }
    }
}

/// Random legal moves from the start position; what ends the game too early is drawn again.
fn random(plies: u32, seed: u64, number: u64) -> Course {
    let mut random = Numbers(spread(spread(seed).wrapping_add(number)));
    loop {
        let mut course = Course::default();
        while course.game().outcome().is_none() {
            if course.moves().len() == plies as usize {
                return course;
            }
            let moves = course.game().legal_moves();
            let legal = course.play(moves[random.below(moves.len())]);
            debug_assert!(legal.is_ok());
        }
    }
}

fn epd_book(path: &Path) -> Result<Vec<Course>, Failure> {
    let mut lines = Vec::new();
    for (i, line) in input::open(path)?.split(b'\n').enumerate() {
        let line = line.map_err(|error| Failure::file("read", path, &error))?;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let failed = |reason: String| Failure(format!("{}:{}: {reason}", path.display(), i + 1));
        let course = Course::new(&position_of(line)).map_err(failed)?;
        if let Some(outcome) = course.game().outcome() {
            return Err(failed(format!(
                "the game is over here: {outcome}; expected one to play on"
            )));
        }
        lines.push(course);
    }
    Ok(lines)
}

/// The position of an EPD or FEN line: four fields, and the two counters where they are numbers.
fn position_of(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let counters = words.iter().skip(4).take(2).take_while(|word| word.parse::<u32>().is_ok());
    let kept = 4 + counters.count();
    words.into_iter().take(kept).collect::<Vec<_>>().join(" ")
}

fn pgn_book(path: &Path, plies: Option<u32>) -> Result<Vec<Course>, Failure> {
    let mut reader = pgn::Reader::new(input::open(path)?);
    let mut lines = Vec::new();
    let mut number = 0;
    while let Some(game) = reader.next_game().map_err(|e| Failure::file("read", path, &e))? {
        number += 1;
        let failed = |reason: &str| Failure(format!("{}: game {number}: {reason}", path.display()));
        let moves: Vec<Move> = game.moves().map_err(|refusal| failed(refusal.meaning()))?;
        let mut course = Course::default();
        for mv in moves.into_iter().take(plies.map_or(usize::MAX, |plies| plies as usize)) {
            course.play(mv).map_err(|error| failed(&error.to_string()))?;
        }
        if let Some(outcome) = course.game().outcome() {
            let outcome = outcome.to_string();
            return Err(failed(&format!("it is over: {outcome}; give --book-plies to cut it")));
        }
        lines.push(course);
    }
    Ok(lines)
}

/// SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (spread(self.0) % count as u64) as usize
    }
}
