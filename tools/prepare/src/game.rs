//! A finished game as it is kept: moves, result, ratings, year.

use fianchetto::chess::{Color, Move};

/// One game from the start position of standard chess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedGame {
    /// The moves, all legal one after the other.
    pub moves: Vec<Move>,
    /// How it ended.
    pub result: GameResult,
    /// Ratings of White and Black; 0 where unknown.
    pub ratings: [u16; 2],
    /// The year it was played; 0 where unknown.
    pub year: u16,
}

/// Who won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GameResult {
    /// `1-0`
    White,
    /// `0-1`
    Black,
    /// `1/2-1/2`
    Draw,
}

impl GameResult {
    /// 1 for a win of `side`, 0 for a draw, -1 for a loss.
    pub fn value_for(self, side: Color) -> i8 {
        match (self, side) {
            (Self::Draw, _) => 0,
            (Self::White, Color::White) | (Self::Black, Color::Black) => 1,
            _ => -1,
        }
    }
}

impl PlayedGame {
    /// FNV-1a (64 bits) of the moves, three bytes each: from-square, to-square (both 0 for a1 to 63 for
    /// h8, castling as the king taking its rook) and promotion (0 none, 1 knight, 2 bishop, 3 rook,
    /// 4 queen). The same game has the same hash on every machine; splits and shards go by it.
    pub fn hash(&self) -> u64 {
        self.moves.iter().fold(0xcbf2_9ce4_8422_2325, |hash, mv| {
            let promotion = mv.promotion.map_or(0, |piece| piece as u8);
            [mv.from as u8, mv.to as u8, promotion].into_iter().fold(hash, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
        })
    }

    /// Whether the game is kept back from training, to measure on: one in fifty.
    pub fn held_out(&self) -> bool {
        spread(self.hash()).is_multiple_of(50)
    }

    /// Which of `shards` parts of all games this one belongs to.
    pub fn shard(&self, shards: u64) -> u64 {
        // Other bits than those that choose the held-out games.
        (spread(self.hash()) >> 32) % shards
    }
}

/// Spreads every bit of `x` over the whole word (the finaliser of SplitMix64).
pub fn spread(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
