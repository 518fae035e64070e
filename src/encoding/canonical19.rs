//! RDTChess's scheme: 19 planes in the mover's frame, and the moves of [`from_to`].
//!
//! The frame and its first twelve planes are those of [`canonical12`].
//!
//! | plane | content |
//! |---|---|
//! | 0-5 | the mover's pawns, knights, bishops, rooks, queens, king |
//! | 6-11 | the opponent's, in the same order |
//! | 12-15 | constant: castling rights, the mover's king side and queen side, then the opponent's |
//! | 16 | the en passant target square, after every double push |
//! | 17 | constant: halfmove clock / 100, at most 1 |
//! | 18 | constant: 1 when the position has occurred before in the game |
//!
//! [`from_to`]: super::from_to

use super::canonical12;
use crate::chess::{Game, Rank, Square};

/// How many 8x8 input planes.
pub const PLANES: usize = 19;

/// The planes that have one value on all squares.
pub const CONSTANT_PLANES: [usize; 6] = [12, 13, 14, 15, 17, 18];

/// Writes the current position of `game` into `planes`, `[19, 8, 8]`, overwriting all of it.
///
/// # Panics
/// When `planes` is not `19 * 64` long.
pub fn encode(game: &Game, planes: &mut [f32]) {
    assert_eq!(planes.len(), PLANES * 64, "canonical19 writes [19, 8, 8]");
    let (pieces, others) = planes.split_at_mut(64 * canonical12::PLANES);
    canonical12::encode(game, pieces);

    let board = game.board();
    let mover = board.side_to_move();
    let mut fill = |plane: usize, value: f32| others[64 * (plane - 12)..][..64].fill(value);
    for (first_plane, side) in [12, 14].into_iter().zip([mover, !mover]) {
        let rights = board.castle_rights(side);
        fill(first_plane, f32::from(rights.short.is_some()));
        fill(first_plane + 1, f32::from(rights.long.is_some()));
    }
    fill(16, 0.0);
    fill(17, game.halfmove_clock().min(100) as f32 / 100.0);
    fill(18, f32::from(game.occurrences() > 1));
    if let Some(file) = board.en_passant() {
        planes[64 * 16 + Square::new(file, Rank::Sixth) as usize] = 1.0;
    }
}

/// A hash of what the planes show beyond the board: the halfmove clock and whether the position has
/// occurred before.
pub fn history_key(game: &Game) -> u64 {
    let history =
        u64::from(game.halfmove_clock().min(100)) << 1 | u64::from(game.occurrences() > 1);
    // Spread over all bits (the multiplier of SplitMix64), so that it cannot undo a piece's part of the hash.
    history.wrapping_mul(0xbf58_476d_1ce4_e5b9)
}
