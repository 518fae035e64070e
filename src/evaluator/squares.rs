//! What a network that scores squares says: which ones a move starts from, and which it ends on.

use super::{EvaluateError, Evaluator, finite, softmax};
use crate::chess::{Board, Game, Move};
use crate::encoding::from_to;

/// The scores of all squares of one position, legal or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Squares {
    /// As squares moved from.
    pub from: Scores,
    /// As squares moved to.
    pub to: Scores,
}

/// A logit for each of the 64 squares, in the mover's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores([f32; 64]);

impl Squares {
    /// The squares of a legal move, as indices of what [`Scores`] gives.
    pub fn of_move(board: &Board, mv: Move) -> (usize, usize) {
        let index = usize::from(from_to::squares_index(board, mv));
        (index / 64, index % 64)
    }

    fn new(logits: &[f32]) -> Self {
        let scores = |first| Scores(std::array::from_fn(|square| logits[first + square]));
        Self { from: scores(0), to: scores(64) }
    }
}

impl Scores {
    /// How many squares have a higher logit, or as high a one and come before.
    pub fn ranks(&self) -> [u8; 64] {
        let Self(logits) = self;
        std::array::from_fn(|square| {
            let higher = |&other: &usize| {
                logits[other] > logits[square]
                    || (logits[other] == logits[square] && other < square)
            };
            (0..64).filter(higher).count() as u8
        })
    }

    /// The softmax over all squares.
    pub fn probabilities(&self) -> Vec<f64> {
        let mut probabilities = vec![0.0; 64];
        softmax(self.0.iter().copied(), &mut probabilities);
        probabilities
    }
}

impl Evaluator {
    /// Scores the squares of the current positions of several games, with one call of the backend for all that
    /// are not remembered.
    ///
    /// # Errors
    /// When the network does not score squares, the backend fails, or what it gives is no number.
    pub fn squares(&mut self, games: &[&Game]) -> Result<Vec<Squares>, EvaluateError> {
        const INDICES: std::ops::Range<u16> =
            from_to::POLICY_SIZE as u16..from_to::WITH_SQUARES as u16;
        let mut squares: Vec<Option<Squares>> = Vec::with_capacity(games.len());
        self.clear();
        for game in games {
            let known = self.cache.get(self.encoding.key(game), INDICES.len());
            squares.push(known.map(|(_, logits)| Squares::new(&logits.collect::<Vec<f32>>())));
            if squares.last() == Some(&None) {
                self.batch.push(|planes, indices| {
                    self.encoding.encode(game, planes);
                    indices.extend(INDICES);
                });
            }
        }
        self.run()?;

        let mut evaluated = 0;
        for (game, squares) in games.iter().zip(&mut squares) {
            if squares.is_none() {
                let logits = &self.outputs.logits[self.batch.span(evaluated..evaluated + 1)];
                finite(logits, "logit", game.board())?;
                self.cache.put(self.encoding.key(game), 0.0, logits);
                *squares = Some(Squares::new(logits));
                evaluated += 1;
            }
        }
        Ok(squares.into_iter().flatten().collect())
    }
}
