//! Positions into records.

use super::layout::{LEGAL_COUNT, Layout};
use fianchetto::chess::{Game, Move};

/// What a record says beside the position itself.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The game's hash.
    pub game: u64,
    /// The game's result for the side to move: 1, 0 or -1.
    pub result: i8,
    /// Ratings of the side to move and of its opponent; 0 where unknown.
    pub ratings: [u16; 2],
}

/// Turns positions into loose records: a record with `legal_start` 0, then its policy indices.
pub struct Packer {
    layout: Layout,
    planes: Vec<f32>,
    legal: Vec<u16>,
}

impl Packer {
    /// Packs in this layout.
    pub fn new(layout: Layout) -> Self {
        let planes = vec![0.0; 64 * layout.encoding.planes()];
        Self { layout, planes, legal: Vec::new() }
    }

    /// Appends to `out` the current position of `game`, in which the legal move `played` follows.
    pub fn push(&mut self, game: &Game, played: Move, about: About, out: &mut Vec<u8>) {
        let encoding = self.layout.encoding;
        encoding.encode(game, &mut self.planes);
        self.legal.clear();
        game.board().generate_moves(|moves| {
            self.legal.extend(moves.into_iter().filter_map(|mv| encoding.index(game, mv)));
            false
        });
        self.legal.sort_unstable();

        let start = out.len();
        out.extend(about.game.to_le_bytes());
        out.extend(0_u32.to_le_bytes());
        let ply = u16::try_from(game.moves().len()).unwrap_or(u16::MAX);
        out.extend(ply.to_le_bytes());
        out.extend(encoding.target(game, played).to_le_bytes());
        out.extend(about.result.to_le_bytes());
        out.extend(about.ratings.map(|rating| u8::try_from(rating / 100).unwrap_or(u8::MAX)));
        out.push(played.promotion.map_or(0, |piece| piece as u8));
        debug_assert_eq!(out.len() - start, LEGAL_COUNT);
        // No position has more than 218 legal moves.
        out.push(self.legal.len() as u8);
        let plane = |plane: usize| &self.planes[64 * plane..][..64];
        out.extend(
            self.layout.constant_planes.iter().map(|&p| (plane(p)[0] * 100.0).round() as u8),
        );
        for &p in &self.layout.square_planes {
            out.extend(plane(p).chunks_exact(8).map(rank));
        }
        out.extend(self.legal.iter().flat_map(|index| index.to_le_bytes()));
    }
}

/// Eight squares as bits, the a-file lowest.
fn rank(squares: &[f32]) -> u8 {
    squares.iter().enumerate().fold(0, |bits, (file, &x)| bits | u8::from(x != 0.0) << file)
}
