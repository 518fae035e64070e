//! What a move is worth by itself: how far it is what the networks expect, and what it captures.
//!
//! Points are counted in thousandths, so that sums are exact and equal whatever their order.

use super::Prediction;
use crate::chess::game::captured;
use crate::chess::{Board, Move, Piece};
use crate::evaluator::Squares;

/// One point.
pub(super) const POINT: i64 = 1000;

/// The prediction of a move that nothing speaks against.
const BEST_PREDICTION: i64 = 400 * POINT;

/// What a king is worth. It is lost by being mated.
pub(super) const KING: i64 = 50_000 * POINT;

/// A legal move and what it is worth by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Worth {
    pub mv: Move,
    /// What the networks make of it; 0 where they are not asked.
    pub prediction: i64,
    /// What it captures.
    pub material: i64,
}

impl Worth {
    pub fn points(&self) -> i64 {
        self.prediction + self.material
    }
}

/// The legal moves of a position, those worth most first; of equals a promotion to a queen before others, which
/// share its squares. `squares` are the networks' scores, where they are asked.
pub(super) fn moves(board: &Board, squares: Option<&Squares>, by: Prediction) -> Vec<Worth> {
    let predict = squares.map(|squares| prediction(squares, by));
    let mut moves = Vec::new();
    board.generate_moves(|piece_moves| {
        moves.extend(piece_moves.into_iter().map(|mv| Worth {
            mv,
            prediction: predict.as_ref().map_or(0, |predict| predict(Squares::of_move(board, mv))),
            material: captured(board, mv).map_or(0, material),
        }));
        false
    });
    let not_queen = |worth: &Worth| worth.mv.promotion.is_some_and(|piece| piece != Piece::Queen);
    moves.sort_by_key(|worth| (-worth.points(), not_queen(worth)));
    moves
}

/// The points of a move with these squares.
fn prediction(squares: &Squares, by: Prediction) -> Box<dyn Fn((usize, usize)) -> i64> {
    let Squares { from, to } = squares;
    match by {
        Prediction::Ranks => {
            let (from, to) = (from.ranks(), to.ranks());
            Box::new(move |(a, b)| BEST_PREDICTION - i64::from(from[a] + to[b]) * POINT)
        }
        Prediction::Product => {
            let (from, to) = (from.probabilities(), to.probabilities());
            Box::new(move |(a, b)| (BEST_PREDICTION as f64 * from[a] * to[b]).round() as i64)
        }
    }
}

const fn material(captured: Piece) -> i64 {
    match captured {
        Piece::Pawn => 10 * POINT,
        Piece::Knight | Piece::Bishop => 500 * POINT,
        Piece::Rook => 900 * POINT,
        Piece::Queen => 5000 * POINT,
        Piece::King => KING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::fixed::Fixed;
    use crate::chess::{Game, notation};
    use crate::encoding::Encoding;
    use crate::evaluator::Evaluator;

    /// Moves with their prediction and material in points, for networks that say the same of every position:
    /// squares of the mover's frame, by their logits.
    fn worth(fen: &str, from: &[(u16, f32)], to: &[(u16, f32)], by: Prediction) -> Vec<String> {
        let at = |first: u16| move |&(square, logit): &(u16, f32)| (first + square, logit);
        let logits = from.iter().map(at(4096)).chain(to.iter().map(at(4160))).collect();
        let fixed = Box::new(Fixed { logits, ..Fixed::default() });
        let (game, _) = Game::from_fen(fen).unwrap();
        let squares = Evaluator::new(Encoding::Canonical12, fixed).squares(&[&game]).unwrap();
        let text = |Worth { mv, prediction, material }: Worth| {
            let mv = notation::to_uci(game.board(), mv);
            let points = |thousandths| thousandths as f64 / POINT as f64;
            format!("{mv} {} {}", points(prediction), points(material))
        };
        moves(game.board(), squares.first(), by).into_iter().map(text).collect()
    }

    /// By hand. Of squares with equal logits the one nearer to a1, along the ranks, comes first. E2 is square 12,
    /// e4 28: moved from, e2 comes first and a1 second; moved to, e4 first, a1 second and e3 (20) after the
    /// twenty squares before it and e4, at rank 21. A knight's b1 has rank 2 after e2 and a1, its a3 (16) rank 17;
    /// the other's g1 (6) rank 7, its f3 (21) rank 22.
    #[test]
    fn ranks_are_counted_over_all_squares() {
        let white = worth("startpos", &[(12, 2.0)], &[(28, 1.0)], Prediction::Ranks);
        assert_eq!(white[..2], ["e2e4 400 0", "b1a3 381 0"]);
        for expected in ["e2e3 379 0", "g1f3 371 0"] {
            assert!(white.iter().any(|mv| mv == expected), "no {expected} in {white:?}");
        }
        assert_eq!(white.len(), 20);
        // Black's e7 is e2 in its frame.
        let fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1";
        let black = worth(fen, &[(12, 2.0)], &[(28, 1.0)], Prediction::Ranks);
        assert_eq!(black[..2], ["e7e5 400 0", "b8a6 381 0"]);
        assert!(black.contains(&"e7e6 379 0".to_owned()), "{black:?}");
    }

    /// e^2 / (e^2 + 63) = 0.1049756 and, against e^1, 0.0413636: 400 times their product is 1.737.
    #[test]
    fn products_are_of_probabilities_over_all_squares() {
        let moves = worth("startpos", &[(12, 2.0)], &[(28, 1.0)], Prediction::Product);
        assert_eq!(moves[0], "e2e4 1.737 0");
        // 400 x 0.1049756 / (e + 63), with 1 for all others.
        assert_eq!(moves[1], "e2e3 0.639 0");
    }

    /// A pawn (en passant), a knight, a bishop, a rook and a queen; castling takes nothing. All squares being
    /// equal, ranks are their numbers.
    #[test]
    fn captures_add_material_and_queens_come_first() {
        let fen = "1n2k3/P7/1q6/1bRP2p1/5pPr/8/8/R3K3 b Q g3 0 1";
        let moves = worth(fen, &[], &[], Prediction::Ranks);
        // f4g3 is f5g6 to Black, 37 to 46; h4g4 is h5g5, 39 to 38; b6c5 is b3c4, 17 to 26.
        for expected in ["f4g3 317 10", "h4g4 323 10", "b6c5 357 900"] {
            assert!(moves.iter().any(|mv| mv == expected), "no {expected} in {moves:?}");
        }
        let fen = fen.replace(" b Q g3", " w Q -");
        let moves = worth(&fen, &[], &[], Prediction::Ranks);
        // a7b8 is 48 to 57, c5b5 34 to 33; e1c1 is 4 to 2.
        let knights = ["a7b8q 295 500", "a7b8n 295 500", "a7b8b 295 500", "a7b8r 295 500"];
        assert_eq!(moves[1..5], knights, "{moves:?}");
        assert_eq!(moves[0], "c5b5 333 500");
        assert!(moves.contains(&"e1c1 394 0".to_owned()), "{moves:?}");
    }
}
