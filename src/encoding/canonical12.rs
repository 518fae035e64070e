//! The from/to pair's scheme: the pieces alone, in the mover's frame, and the moves of [`from_to`].
//!
//! In that frame the side to move plays up the board as White does. When Black is to move every
//! square is mirrored top to bottom and the colours change places; files stay as they are.
//!
//! | plane | content |
//! |---|---|
//! | 0-5 | the mover's pawns, knights, bishops, rooks, queens, king |
//! | 6-11 | the opponent's, in the same order |
//!
//! The two networks of the pair score the squares `index / 64` and `index % 64`. P(from) times P(to), over
//! the legal moves and in proportion, is the softmax of the sums of their logits.
//!
//! [`from_to`]: super::from_to

use super::mark_pieces;
use crate::chess::Game;

/// How many 8x8 input planes.
pub const PLANES: usize = 12;

/// Writes the current position of `game` into `planes`, `[12, 8, 8]`, overwriting all of it.
///
/// # Panics
/// When `planes` is not `12 * 64` long.
pub fn encode(game: &Game, planes: &mut [f32]) {
    assert_eq!(planes.len(), PLANES * 64, "canonical12 writes [12, 8, 8]");
    planes.fill(0.0);
    mark_pieces(game.board(), game.board().side_to_move(), planes);
}
