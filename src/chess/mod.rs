//! The rules of chess as an engine needs them, over cozy-chess.

pub use cozy_chess::{Board, Color, Move, Piece, Square};
