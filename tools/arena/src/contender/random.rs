//! Random legal moves: the baseline of everything.

use super::{Answer, Fault, Opponent};
use crate::course::Course;
use crate::limits::Turn;
use fianchetto_prepare::game::spread;

/// Plays any legal move with the same probability.
pub struct RandomMoves {
    seed: u64,
    game: u64,
}

impl RandomMoves {
    pub fn new(seed: u64) -> Self {
        Self { seed, game: 0 }
    }
}

impl Opponent for RandomMoves {
    fn new_game(&mut self, number: u64) -> Result<(), Fault> {
        self.game = number;
        Ok(())
    }

    /// The move follows from seed, game and ply alone, so that a game can be played again.
    fn choose(&mut self, course: &Course, _turn: &Turn) -> Result<Answer, Fault> {
        let moves = course.game().legal_moves();
        let ply = course.moves().len() as u64;
        let number = spread(spread(spread(self.seed) ^ self.game).wrapping_add(ply));
        let best = moves[(number % moves.len() as u64) as usize];
        Ok(Answer { best, score: None, depth: None, nodes: None, ranking: Vec::new() })
    }
}
