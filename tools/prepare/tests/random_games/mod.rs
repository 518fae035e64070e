//! Random games for the tests.

use fianchetto::chess::Game;
use fianchetto_prepare::game::{GameResult, PlayedGame};

/// SplitMix64: the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % limit as u64) as usize
    }
}

/// Games of random moves, 0 to 300 plies: every kind of move occurs.
pub fn random_games(count: usize, seed: u64) -> Vec<PlayedGame> {
    let mut random = Random(seed);
    (0..count)
        .map(|_| {
            let mut game = Game::default();
            for _ in 0..random.below(301) {
                let moves = game.legal_moves();
                if moves.is_empty() {
                    break;
                }
                game.play(moves[random.below(moves.len())]).unwrap();
            }
            let results = [GameResult::White, GameResult::Black, GameResult::Draw];
            PlayedGame {
                moves: game.moves().to_vec(),
                result: results[random.below(3)],
                ratings: [random.below(65_536) as u16, random.below(3_000) as u16],
                year: random.below(2_100) as u16,
            }
        })
        .collect()
}
