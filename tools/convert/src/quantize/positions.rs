//! The calibration file: a position a line, as `fianchetto predict -` reads them.

use crate::{Failure, Result, fail, read_file};
use fianchetto::chess::Game;
use std::path::Path;

/// One position in so many is kept apart, to measure with.
const APART: usize = 4;

/// Positions to calibrate with, at least.
const FEWEST: usize = 30;

/// The positions of a calibration file.
pub struct Positions {
    /// Those to calibrate with.
    pub calibrating: Vec<Game>,
    /// Those to measure with.
    pub apart: Vec<Game>,
}

/// Reads a calibration file. Empty lines and positions without a legal move are passed over.
///
/// # Errors
/// When it cannot be read, a line is no position, or there are too few.
pub fn read(path: &Path) -> Result<Positions> {
    let name = path.display();
    let bytes = read_file(path)
        .map_err(|e| Failure(format!("{name}: {e}; give a file with a position a line")))?;
    let mut positions = Positions { calibrating: Vec::new(), apart: Vec::new() };
    let mut count = 0;
    for (i, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(line);
        if line.trim().is_empty() {
            continue;
        }
        let (game, _) = Game::from_words(&line)
            .map_err(|error| Failure(format!("{name}, line {}: {error}", i + 1)))?;
        if !game.legal_moves().is_empty() {
            count += 1;
            let part =
                if count % APART == 0 { &mut positions.apart } else { &mut positions.calibrating };
            part.push(game);
        }
    }
    if positions.calibrating.len() < FEWEST {
        return fail(format!(
            "{name}: {count} positions, expected at least {}, better some thousands; give more",
            FEWEST * APART / (APART - 1)
        ));
    }
    Ok(positions)
}
