//! The Lichess puzzle file, and the sample that is drawn from it.

use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::input;
use rand_mt::Mt;
use std::path::Path;

/// Solver moves of the puzzles that are taken.
pub const LENGTHS: std::ops::RangeInclusive<usize> = 1..=5;

/// Rating bands: the name, and the rating that is above all of the band.
pub const BANDS: [(&str, u32); 5] = [
    ("<1200", 1200),
    ("1200-1599", 1600),
    ("1600-1999", 2000),
    ("2000-2399", 2400),
    ("2400+", u32::MAX),
];

const COLUMNS: [&str; 5] = ["PuzzleId", "FEN", "Moves", "Rating", "Themes"];

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Puzzle {
    /// Lichess's name for it.
    pub id: String,
    /// The position before the opponent's move.
    pub fen: String,
    /// The opponent's move, then solver and opponent in turn.
    pub moves: Vec<String>,
    /// Its rating.
    pub rating: u32,
    /// Whether it is a mate in one.
    pub mate_in_one: bool,
}

impl Puzzle {
    /// Whether a solver move promotes to something else than a queen.
    pub fn under_promotion(&self) -> bool {
        let mut solver = self.moves.iter().skip(1).step_by(2);
        solver.any(|mv| mv.len() == 5 && !mv.ends_with('q'))
    }
}

/// The rating band, by number.
pub fn band(rating: u32) -> usize {
    BANDS.iter().position(|&(_, above)| rating < above).unwrap_or(BANDS.len() - 1)
}

/// Up to `per_cell` puzzles of each cell (solver moves x rating band): all that there are, or as many by
/// the seed (reservoir sampling). Cells are in order of length, then band; the numbers are those of Python's
/// `random.Random(seed).randrange`, so that the sample is that of `fianchetto_train measure`.
///
/// # Errors
/// When the file cannot be read or is not the Lichess puzzle file.
pub fn sample(path: &Path, per_cell: usize, seed: u32) -> Result<Vec<Puzzle>, Failure> {
    let mut cells = vec![Vec::new(); LENGTHS.count() * BANDS.len()];
    let mut seen = vec![0_u32; cells.len()];
    let mut random = Random::new(seed);
    let text = input::open(path)?;
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let unreadable = |error: csv::Error| {
        Failure(format!(
            "{}: {error}; expected the Lichess puzzle file, whole: copy it anew",
            path.display()
        ))
    };
    let header = reader.headers().map_err(unreadable)?.clone();
    let mut columns = [0; COLUMNS.len()];
    for (column, name) in columns.iter_mut().zip(COLUMNS) {
        *column = header.iter().position(|found| found == name).ok_or_else(|| {
            Failure(format!(
                "{}: there is no column {name}, expected the Lichess puzzle file with its header",
                path.display()
            ))
        })?;
    }
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(unreadable)? {
        let line = record.position().map_or(0, csv::Position::line);
        let failed = |reason| Failure(format!("{}:{line}: {reason}", path.display()));
        let mut fields = [""; COLUMNS.len()];
        for (field, column) in fields.iter_mut().zip(columns) {
            *field = record.get(column).ok_or_else(|| {
                failed("a line with too few columns: the file is cut off, copy it anew".to_owned())
            })?;
        }
        let [id, fen, moves, rating, themes] = fields;
        let count = moves.split_whitespace().count();
        let (Ok(number), true) = (rating.parse(), count >= 2 && count.is_multiple_of(2)) else {
            return Err(failed(format!(
                "rating {rating:?}, {count} moves; expected a number, and two moves or another even \
                 number of them"
            )));
        };
        if !LENGTHS.contains(&(count / 2)) {
            continue;
        }
        let cell = (count / 2 - LENGTHS.start()) * BANDS.len() + band(number);
        seen[cell] += 1;
        let place = if (seen[cell] as usize) <= per_cell {
            cells[cell].len()
        } else {
            match random.below(seen[cell]) as usize {
                place if place < per_cell => place,
                _ => continue,
            }
        };
        let puzzle = Puzzle {
            id: id.to_owned(),
            fen: fen.to_owned(),
            moves: moves.split_whitespace().map(str::to_owned).collect(),
            rating: number,
            mate_in_one: themes.split_whitespace().any(|theme| theme == "mateIn1"),
        };
        match cells[cell].get_mut(place) {
            Some(old) => *old = puzzle,
            None => cells[cell].push(puzzle),
        }
    }
    let puzzles: Vec<Puzzle> = cells.into_iter().flatten().collect();
    if puzzles.is_empty() {
        let (least, most) = (LENGTHS.start(), LENGTHS.end());
        return Err(Failure(format!(
            "{}: there is no puzzle of {least} to {most} solver moves in it, expected some; name another file",
            path.display()
        )));
    }
    Ok(puzzles)
}

/// Python's random numbers (the Mersenne Twister, seeded as `random.seed` does with a whole number).
struct Random(Mt);

impl Random {
    fn new(seed: u32) -> Self {
        Self(Mt::new_with_key([seed]))
    }

    /// Uniform in `0..count`, as `randrange` draws it: so many leading bits, until they fit.
    fn below(&mut self, count: u32) -> u32 {
        let bits = u32::BITS - count.leading_zeros();
        loop {
            let drawn = self.0.next_u32() >> (u32::BITS - bits);
            if drawn < count {
                return drawn;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `r = random.Random(4242); [r.randrange(n) for n in (1001, 1002, 1003, 7, 1000000, 1)]`, Python 3.11.
    #[test]
    fn draws_what_python_draws() {
        let mut random = Random::new(4242);
        let drawn = [1001, 1002, 1003, 7, 1_000_000, 1].map(|count| random.below(count));
        assert_eq!(drawn, EXPECTED);
    }

    const EXPECTED: [u32; 6] = [883, 971, 425, 1, 29_833, 0];
}
