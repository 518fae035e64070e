//! Which positions are asked about: those of games that were held back from training.

use fianchetto::chess::{Board, Piece};
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::game::{PlayedGame, spread};
use fianchetto_prepare::gamefile::GameFile;
use fianchetto_prepare::threads::{count, in_order};
use std::path::Path;
use std::sync::Arc;

/// A game, and the plies before which somebody is asked.
pub struct Asked {
    /// The game.
    pub game: PlayedGame,
    /// The plies, ascending; 0 is the start position.
    pub plies: Vec<usize>,
}

/// Bands of the mover's rating: the name, and the rating that is above all of the band.
pub const BANDS: [(&str, u16); 6] = [
    ("unknown", 100),
    ("<2000", 2000),
    ("2000-2199", 2200),
    ("2200-2399", 2400),
    ("2400-2599", 2600),
    ("2600+", u16::MAX),
];

/// Parts of a game.
pub const PHASES: [&str; 3] = ["opening", "middlegame", "endgame"];

/// The opening has so many plies.
const OPENING_PLIES: usize = 20;

/// With at most so many pieces beside kings and pawns it is an endgame.
const ENDGAME_PIECES: u32 = 6;

/// The band of a rating, by number.
pub fn band(rating: u16) -> usize {
    BANDS.iter().position(|&(_, above)| rating < above).unwrap_or(BANDS.len() - 1)
}

/// The phase of a position, by number.
pub fn phase(ply: usize, board: &Board) -> usize {
    let pieces = board.occupied() - board.pieces(Piece::Pawn) - board.pieces(Piece::King);
    match (ply < OPENING_PLIES, pieces.len() <= ENDGAME_PIECES) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => 2,
    }
}

/// The held-out positions of a game file, all of them or `limit` drawn by the seed. The draw does not depend on
/// the order of the games.
///
/// # Errors
/// When the file cannot be read, or has no held-out games.
pub fn held_out(
    path: &Path,
    games: Arc<GameFile>,
    limit: Option<usize>,
    seed: u32,
) -> Result<Vec<Asked>, Failure> {
    let blocks = 0..games.block_count();
    let read = move |block: usize| -> Result<Vec<PlayedGame>, Failure> {
        Ok(games.block(block)?.into_iter().filter(PlayedGame::held_out).collect())
    };
    let mut kept = Vec::new();
    for block in in_order(blocks, count(None), read) {
        kept.extend(block?);
    }
    if kept.is_empty() {
        return Err(Failure(format!(
            "{}: no game of it is held out, expected some: one in fifty is; name a file with more games",
            path.display()
        )));
    }
    let plies = kept.iter().map(|game| game.moves.len()).sum();
    // Equal games twice have the same keys: the number tells them apart.
    let mut drawn: Vec<(u64, usize, usize)> = Vec::with_capacity(plies);
    for (number, game) in kept.iter().enumerate() {
        let start = spread(game.hash() ^ spread(seed.into()));
        let key = |ply: usize| spread(start.wrapping_add(ply as u64));
        drawn.extend((0..game.moves.len()).map(|ply| (key(ply), number, ply)));
    }
    if let Some(limit) = limit.filter(|&limit| limit < plies) {
        drawn.select_nth_unstable(limit);
        drawn.truncate(limit);
    }
    let mut asked: Vec<Asked> =
        kept.into_iter().map(|game| Asked { game, plies: Vec::new() }).collect();
    for (_, number, ply) in drawn {
        asked[number].plies.push(ply);
    }
    for asked in &mut asked {
        asked.plies.sort_unstable();
    }
    asked.retain(|asked| !asked.plies.is_empty());
    Ok(asked)
}
