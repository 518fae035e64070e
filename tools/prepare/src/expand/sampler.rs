//! Which positions are taken, and in what order.

use super::job::{ExpandError, Options, Split};
use crate::game::{PlayedGame, spread};
use crate::shard::Shard;
use crate::shards::{About, Layout, Packer};
use fianchetto::chess::Game;

/// Takes games and positions by their hashes alone, so that every run takes the same.
#[derive(Clone, Debug)]
pub struct Sampler {
    base: u64,
    /// Positions whose draw is lower are taken.
    threshold: u128,
    split: Split,
    shard: Shard,
}

impl Sampler {
    /// Takes the share `rate` of the positions that `options` ask for, others in every epoch.
    pub fn new(options: &Options, rate: f64, epoch: u64) -> Self {
        Self {
            base: spread(spread(options.seed).wrapping_add(epoch)),
            threshold: (rate * 2_f64.powi(64)) as u128,
            split: options.split,
            shard: options.shard,
        }
    }

    fn takes(&self, game: &PlayedGame) -> bool {
        let in_split = match self.split {
            Split::Train => !game.held_out(),
            Split::HeldOut => game.held_out(),
            Split::All => true,
        };
        in_split && self.shard.takes(game)
    }

    /// Where the position comes in the shuffled order; `None` when it is not taken.
    fn place(&self, game: u64, ply: usize) -> Option<u64> {
        let place = spread(spread(self.base ^ game).wrapping_add(ply as u64));
        // Another hash than the place itself, or a low rate would take only low places.
        let draw = spread(place ^ 0x9e37_79b9_7f4a_7c15);
        (u128::from(draw) < self.threshold).then_some(place)
    }
}

/// Turns games into loose records.
pub struct Expander {
    sampler: Sampler,
    packer: Packer,
    loose: Vec<u8>,
}

impl Expander {
    /// Expands what `sampler` takes.
    pub fn new(sampler: Sampler, layout: Layout) -> Self {
        Self { sampler, packer: Packer::new(layout), loose: Vec::new() }
    }

    /// Gives `take` the place and the loose record of each position that is taken; returns whether
    /// the game is.
    ///
    /// # Errors
    /// When a move is illegal.
    pub fn expand(
        &mut self,
        played: &PlayedGame,
        mut take: impl FnMut(u64, &[u8]),
    ) -> Result<bool, ExpandError> {
        if !self.sampler.takes(played) {
            return Ok(false);
        }
        let hash = played.hash();
        let mut game = Game::default();
        for (ply, &mv) in played.moves.iter().enumerate() {
            let place = self.sampler.place(hash, ply);
            if let Some(place) = place.filter(|_| game.board().is_legal(mv)) {
                let mover = game.board().side_to_move();
                let [own, other] = [mover, !mover].map(|side| played.ratings[side as usize]);
                let result = played.result.value_for(mover);
                let about = About { game: hash, result, ratings: [own, other] };
                self.loose.clear();
                self.packer.push(&game, mv, about, &mut self.loose);
                take(place, &self.loose);
            }
            game.play(mv)?;
        }
        Ok(true)
    }
}
