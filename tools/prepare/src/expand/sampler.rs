//! Which positions are taken, and in what order.

use super::job::{ExpandError, Job, Options, Split};
use super::{LATE_PLY, MATE_PLIES};
use crate::game::{PlayedGame, spread};
use crate::shard::Shard;
use crate::shards::{About, Layout, Packer};
use fianchetto::chess::{Game, Move, Outcome};

/// Takes games and positions by their hashes alone, so that every run takes the same.
#[derive(Clone, Debug)]
pub struct Sampler {
    base: u64,
    /// Positions whose draw is lower are taken.
    threshold: u128,
    /// The same at [`LATE_PLY`] and later.
    late: u128,
    /// The same in the last [`MATE_PLIES`] positions before a checkmate, if these are looked for.
    mate: Option<u128>,
    split: Split,
    shard: Shard,
}

impl Sampler {
    /// Takes the shares that `job` states of the positions that `options` ask for, others in every epoch.
    pub fn new(options: &Options, job: &Job, epoch: u64) -> Self {
        let threshold = |rate: f64| (rate * 2_f64.powi(64)) as u128;
        Self {
            base: spread(spread(options.seed).wrapping_add(epoch)),
            threshold: threshold(job.rate),
            late: threshold(job.late_rate.unwrap_or(job.rate)),
            mate: job.mate_rate.map(threshold),
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

    /// Where the position comes in the shuffled order; `None` when it is not taken. `mated`: whether it
    /// is one of the last before a checkmate.
    fn place(&self, game: u64, ply: usize, mated: bool) -> Option<u64> {
        let threshold = if ply >= LATE_PLY { self.late } else { self.threshold };
        let threshold = self.mate.filter(|_| mated).map_or(threshold, |mate| mate.max(threshold));
        let place = spread(spread(self.base ^ game).wrapping_add(ply as u64));
        // Another hash than the place itself, or a low rate would take only low places.
        let draw = spread(place ^ 0x9e37_79b9_7f4a_7c15);
        (u128::from(draw) < threshold).then_some(place)
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
        let end = played.moves.len().saturating_sub(MATE_PLIES);
        let mut mated = false;
        for (ply, &mv) in played.moves.iter().enumerate() {
            if ply == end && self.sampler.mate.is_some() {
                mated = leads_to_mate(game.clone(), &played.moves[end..])?;
            }
            let place = self.sampler.place(hash, ply, mated);
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

fn leads_to_mate(mut game: Game, moves: &[Move]) -> Result<bool, ExpandError> {
    for &mv in moves {
        game.play(mv)?;
    }
    Ok(matches!(game.outcome(), Some(Outcome::Checkmate { .. })))
}
