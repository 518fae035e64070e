//! A position as input planes and a move as a policy index, one file per scheme.
//!
//! Planes are `[planes, 8, 8]` floats, each plane rank by rank from the bottom of the scheme's
//! frame, each rank from the a-file. Policy indices address the rows of the policy layer.

pub mod absolute14;
pub mod canonical12;
pub mod canonical19;
pub mod from_to;

use crate::chess::notation::{from_king_destination, king_destination};
use crate::chess::{Board, Color, Game, Move, Piece, Square};

/// A way of showing positions to a network and numbering moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// 19 planes in the mover's frame, 4096 from-to indices: see [`canonical19`] and [`from_to`].
    Canonical19,
    /// 14 planes and 4544 move strings, both in White's frame: see [`absolute14`].
    Absolute14,
    /// 12 planes in the mover's frame, 4096 from-to indices: see [`canonical12`] and [`from_to`].
    Canonical12,
}

impl Encoding {
    /// All schemes.
    pub const ALL: [Self; 3] = [Self::Canonical19, Self::Absolute14, Self::Canonical12];

    /// The scheme with this name in a weights file.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name)
    }

    /// The names of all schemes, for messages: `"a or b"`.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(" or ")
    }

    /// The scheme's name in a weights file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Canonical19 => "canonical19",
            Self::Absolute14 => "absolute14",
            Self::Canonical12 => "canonical12",
        }
    }

    /// The name of the scheme's move numbering in a weights file.
    pub fn policy_name(self) -> &'static str {
        match self {
            Self::Canonical19 | Self::Canonical12 => "from-to-4096",
            Self::Absolute14 => "uci-4544",
        }
    }

    /// How many 8x8 input planes.
    pub fn planes(self) -> usize {
        match self {
            Self::Canonical19 => canonical19::PLANES,
            Self::Absolute14 => absolute14::PLANES,
            Self::Canonical12 => canonical12::PLANES,
        }
    }

    /// The planes that have one value on all squares, a whole number of hundredths. The others
    /// are 1 on some squares and 0 elsewhere.
    pub fn constant_planes(self) -> &'static [usize] {
        match self {
            Self::Canonical19 => &canonical19::CONSTANT_PLANES,
            Self::Absolute14 => &absolute14::CONSTANT_PLANES,
            Self::Canonical12 => &[],
        }
    }

    /// How many policy indices.
    pub fn policy_size(self) -> usize {
        match self {
            Self::Canonical19 | Self::Canonical12 => from_to::POLICY_SIZE,
            Self::Absolute14 => absolute14::POLICY_SIZE,
        }
    }

    /// Writes the current position of `game` into `planes`, `[planes, 8, 8]`, overwriting all of it.
    ///
    /// # Panics
    /// When `planes` is not `64 * self.planes()` long.
    pub fn encode(self, game: &Game, planes: &mut [f32]) {
        match self {
            Self::Canonical19 => canonical19::encode(game, planes),
            Self::Absolute14 => absolute14::encode(game, planes),
            Self::Canonical12 => canonical12::encode(game, planes),
        }
    }

    /// A hash of the current position of `game` and of what else its planes and the policy indices of
    /// its legal moves depend on: where two keys are equal, so is what a network says.
    pub fn key(self, game: &Game) -> u64 {
        let board = game.board();
        match self {
            Self::Canonical19 => board.hash() ^ canonical19::history_key(game),
            Self::Absolute14 | Self::Canonical12 => board.hash(),
        }
    }

    /// Whether the scheme has a policy index for such a move; not for an under-promotion in a from-to scheme.
    #[inline]
    pub fn has_index(self, mv: Move) -> bool {
        match self {
            Self::Canonical19 | Self::Canonical12 => from_to::has_index(mv),
            Self::Absolute14 => true,
        }
    }

    /// The policy index of a legal move, `None` for a move the scheme cannot name
    /// (an under-promotion in a from-to scheme).
    #[inline]
    pub fn index(self, game: &Game, mv: Move) -> Option<u16> {
        match self {
            Self::Canonical19 | Self::Canonical12 => from_to::index(game.board(), mv),
            Self::Absolute14 => Some(absolute14::index(game.board(), mv)),
        }
    }

    /// The policy index to learn from a legal move that was played: its own, or, for an
    /// under-promotion in a from-to scheme, the queen's with the same squares.
    pub fn target(self, game: &Game, mv: Move) -> u16 {
        match self {
            Self::Canonical19 | Self::Canonical12 => from_to::squares_index(game.board(), mv),
            Self::Absolute14 => absolute14::index(game.board(), mv),
        }
    }

    /// Appends the [`Encoding::target`] of each of these legal moves.
    pub fn targets(self, game: &Game, moves: &[Move], indices: &mut Vec<u16>) {
        let board = game.board();
        match self {
            Self::Canonical19 | Self::Canonical12 => {
                indices.extend(moves.iter().map(|&mv| from_to::squares_index(board, mv)));
            }
            Self::Absolute14 => {
                indices.extend(moves.iter().map(|&mv| absolute14::index(board, mv)));
            }
        }
    }

    /// The legal move with this policy index; `None` when there is none.
    pub fn decode(self, game: &Game, index: u16) -> Option<Move> {
        match self {
            Self::Canonical19 | Self::Canonical12 => from_to::decode(game.board(), index),
            Self::Absolute14 => absolute14::decode(game.board(), index),
        }
    }

    /// The value for the side to move, made from what a network of this scheme gives: the networks
    /// of the absolute scheme speak for White.
    pub fn value_for_mover(self, game: &Game, value: f32) -> f32 {
        match (self, game.board().side_to_move()) {
            (Self::Absolute14, Color::Black) => -value,
            _ => value,
        }
    }
}

/// Sets the squares of `side`'s pieces in planes 0-5 and those of the other side in 6-11, all from
/// `side`'s view.
fn mark_pieces(board: &Board, side: Color, planes: &mut [f32]) {
    for (first_plane, color) in [0, 6].into_iter().zip([side, !side]) {
        for piece in Piece::ALL {
            let plane = first_plane + piece as usize;
            for square in board.colored_pieces(color, piece) {
                planes[64 * plane + square.relative_to(side) as usize] = 1.0;
            }
        }
    }
}

/// The legal move that ends on `destination`, castling as the king's two squares; `None` when
/// there is none.
fn legal_move(
    board: &Board,
    from: Square,
    destination: Square,
    promotion: Option<Piece>,
) -> Option<Move> {
    let mv = Move { from, to: from_king_destination(board, from, destination), promotion };
    // The king onto its own rook is a legal move for the rules library, but not its name here.
    (board.is_legal(mv) && king_destination(board, mv) == destination).then_some(mv)
}
