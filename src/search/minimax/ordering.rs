//! Which moves are looked at first: the better the order, the more can be left out.

use super::evaluation::value;
use crate::chess::game::{captured, en_passant_square};
use crate::chess::{Board, Move, Piece, Rank};

/// A move and how early it is to be looked at.
#[derive(Clone, Copy)]
pub(super) struct Ranked {
    pub mv: Move,
    rank: i32,
}

/// The quiet moves that last refuted another move at the same distance from the root, the latest first.
pub(super) type Killers = [Option<Move>; 2];

/// Remembers a quiet move that refuted another.
pub(super) fn remember(killers: &mut Killers, mv: Move) {
    if killers[0] != Some(mv) {
        *killers = [Some(mv), killers[0]];
    }
}

/// Adds the legal moves of a position to `moves`.
pub(super) fn push_all(
    moves: &mut Vec<Ranked>,
    board: &Board,
    hint: Option<Move>,
    killers: &Killers,
) {
    board.generate_moves(|piece_moves| {
        for mv in piece_moves {
            moves.push(Ranked { mv, rank: rank(board, mv, hint, killers) });
        }
        false
    });
}

/// Adds the legal captures and promotions of a position to `moves`.
pub(super) fn push_forcing(moves: &mut Vec<Ranked>, board: &Board) {
    let mover = board.side_to_move();
    let captures = board.colors(!mover);
    let mut for_pawns = captures | Rank::Eighth.relative_to(mover).bitboard();
    if let Some(to) = en_passant_square(board) {
        for_pawns |= to.bitboard();
    }
    board.generate_moves(|mut piece_moves| {
        piece_moves.to &= if piece_moves.piece == Piece::Pawn { for_pawns } else { captures };
        for mv in piece_moves {
            moves.push(Ranked { mv, rank: rank(board, mv, None, &[None; 2]) });
        }
        false
    });
}

/// Brings the move that is to be looked at next to the front.
pub(super) fn bring_best(moves: &mut [Ranked]) {
    let mut best = 0;
    for (i, ranked) in moves.iter().enumerate() {
        if ranked.rank > moves[best].rank {
            best = i;
        }
    }
    moves.swap(0, best);
}

/// The hint, then captures, the most valuable victim first and of its captors the least valuable, then
/// promotions, then killers.
fn rank(board: &Board, mv: Move, hint: Option<Move>, killers: &Killers) -> i32 {
    if hint == Some(mv) {
        return 1_000_000;
    }
    if let Some(victim) = captured(board, mv) {
        let captor = match board.piece_on(mv.from) {
            None | Some(Piece::King) => 1000,
            Some(piece) => value(piece),
        };
        return 100_000 + 10 * value(victim) - captor + mv.promotion.map_or(0, value);
    }
    match mv.promotion {
        Some(piece) => 90_000 + value(piece),
        None if killers.contains(&Some(mv)) => 50_000,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Game;

    /// The order in which moves are looked at.
    fn order(mut moves: Vec<Ranked>) -> Vec<String> {
        for next in 0..moves.len() {
            bring_best(&mut moves[next..]);
        }
        moves.iter().map(|ranked| ranked.mv.to_string()).collect()
    }

    #[test]
    fn hint_then_victims_then_promotions_then_killers() {
        // The queen can be taken by pawn, knight and rook, the rook by the pawn that promotes, the knight by the
        // king, the pawn en passant.
        let fen = "r3k3/1P6/8/3q2pP/2P5/2N5/7n/3R2K1 w - g6 0 1";
        let (game, _) = Game::from_fen(fen).unwrap();
        let captures = ["c4d5", "c3d5", "d1d5", "b7a8q", "b7a8r", "b7a8b", "b7a8n", "g1h2", "h5g6"];
        let promotions = ["b7b8q", "b7b8r", "b7b8b", "b7b8n"];
        let forcing = [&captures[..], &promotions].concat();

        let mut moves = Vec::new();
        push_forcing(&mut moves, game.board());
        assert_eq!(order(moves), forcing);

        let [hint, killer] = ["c3b1", "d1c1"].map(|mv| mv.parse().ok());
        let mut killers = [None; 2];
        remember(&mut killers, killer.unwrap());
        let mut moves = Vec::new();
        push_all(&mut moves, game.board(), hint, &killers);
        assert_eq!(moves.len(), game.legal_moves().len());
        let begins = [&["c3b1"], &forcing[..], &["d1c1"]].concat();
        assert_eq!(order(moves)[..begins.len()], begins);
    }

    #[test]
    fn the_latest_two_killers_are_kept() {
        let [a, b, c] = ["a2a3", "b2b3", "c2c3"].map(|mv| mv.parse::<Move>().unwrap());
        let mut killers = [None; 2];
        for mv in [a, b, b, c] {
            remember(&mut killers, mv);
        }
        assert_eq!(killers, [Some(c), Some(b)]);
    }
}
