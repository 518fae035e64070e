//! Finishing off a bare king: a network that imitates strong players has hardly seen a mate, because
//! they resign. A look a few plies ahead puts that right where little else can go wrong.

use crate::chess::{Board, Move, game::insufficient_material};

/// Changes the probabilities of the legal moves where the opponent has a bare king. `plies` says how far
/// to look:
///
/// - 0: nowhere.
/// - 1: if any move mates, only those keep their probability; otherwise moves that stalemate lose theirs.
/// - 2: moves that let the king take the last piece that could mate lose theirs too.
/// - 3: where no move mates at once, a move that forces mate in two counts as mating.
///
/// What would leave no move is not done. Returns in how many moves each move mates, as far as found; `None`
/// where there is nothing to finish off.
pub fn finish(board: &Board, priors: &mut [(Move, f64)], plies: u8) -> Option<Vec<Option<i32>>> {
    if plies == 0 || board.colors(!board.side_to_move()).len() > 1 {
        return None;
    }
    let mut mates = vec![None; priors.len()];
    let after: Vec<Board> = priors.iter().map(|&(mv, _)| played(board, mv)).collect();
    let mut find = |moves, mating: fn(&Board) -> bool| {
        for (mate, board) in mates.iter_mut().zip(&after) {
            *mate = mating(board).then_some(moves);
        }
        mates.iter().any(Option::is_some)
    };
    if find(1, is_mate) || (plies >= 3 && find(2, is_mated_next)) {
        keep(priors, |i| mates[i].is_some());
    } else {
        let draws =
            |board| is_stalemate(board) || (plies >= 2 && any_move(board, insufficient_material));
        keep(priors, |i| !draws(&after[i]));
    }
    Some(mates)
}

/// Sets all other probabilities to zero and makes those kept add up to 1.
fn keep(priors: &mut [(Move, f64)], kept: impl Fn(usize) -> bool) {
    let kept: Vec<bool> = (0..priors.len()).map(kept).collect();
    let count = kept.iter().filter(|&&kept| kept).count();
    if count == 0 {
        return;
    }
    let sum: f64 = priors.iter().zip(&kept).filter(|(_, kept)| **kept).map(|((_, p), _)| p).sum();
    for ((_, p), kept) in priors.iter_mut().zip(kept) {
        *p = match kept {
            false => 0.0,
            true if sum > 0.0 => *p / sum,
            // Only moves to which the network gives nothing, such as a mate by under-promotion.
            true => 1.0 / count as f64,
        };
    }
}

/// Whether the side to move is mated.
pub fn is_mate(board: &Board) -> bool {
    !board.checkers().is_empty() && !any_move(board, |_| true)
}

fn is_stalemate(board: &Board) -> bool {
    board.checkers().is_empty() && !any_move(board, |_| true)
}

/// Whether the side to move can move, and every move of it can be answered by mate.
fn is_mated_next(board: &Board) -> bool {
    any_move(board, |_| true) && !any_move(board, |reply| !any_move(reply, is_mate))
}

/// Whether a legal move leads to a position of which `is` holds.
fn any_move(board: &Board, is: impl Fn(&Board) -> bool) -> bool {
    board.generate_moves(|moves| moves.into_iter().any(|mv| is(&played(board, mv))))
}

/// The position after a legal move.
pub fn played(board: &Board, mv: Move) -> Board {
    let mut board = board.clone();
    board.play_unchecked(mv);
    board
}
