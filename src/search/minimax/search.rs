//! Alpha-beta: the minimax value of a position, without looking at what cannot change it.
//!
//! Scores are for the side to move, in hundredths of a pawn. What is returned between `alpha` and `beta` is
//! the minimax value; up to `alpha`, it is as low at least, and from `beta` on as high (fail-soft).

use super::evaluation::evaluate;
use super::ordering::{self, Killers, Ranked};
use super::path::Path;
use super::table::{Bound, Entry, Table};
use crate::chess::game::captured;
use crate::chess::{Board, Game, Move};
use crate::search::finish::played;
use crate::search::halt::Halt;

/// Mate at the root; one less for every ply until it.
pub(super) const MATE: i32 = 100_000;

/// Above every score.
pub(super) const INFINITE: i32 = MATE + 1;

/// The deepest search, in plies.
pub const MAX_DEPTH: u8 = 60;

/// How many plies of captures, promotions and evasions are looked at after it.
const QUIESCENCE: u8 = 4;

const MAX_PLY: usize = (MAX_DEPTH + QUIESCENCE) as usize + 1;

/// From here on a score is mate.
const MATES: i32 = MATE - MAX_PLY as i32;

/// In how many plies a score says that somebody is mated.
pub(super) fn plies_to_mate(score: i32) -> Option<i32> {
    (score.abs() >= MATES).then(|| MATE - score.abs())
}

/// A search under way. All its memory is taken at the beginning.
pub(super) struct Search<'a> {
    table: &'a mut Table,
    path: Path,
    /// The moves of all positions from the root to where the search is, each position's after its parent's.
    moves: Vec<Ranked>,
    /// By distance from the root.
    killers: Vec<Killers>,
    /// By distance from the root: the best line from there on.
    lines: Vec<Vec<Move>>,
    halt: Halt<'a>,
}

impl<'a> Search<'a> {
    pub fn new(game: &Game, table: &'a mut Table, halt: Halt<'a>) -> Self {
        Self {
            table,
            path: Path::new(game, MAX_PLY),
            // No position has more moves than 218, few have half as many.
            moves: Vec::with_capacity(MAX_PLY * 128),
            killers: vec![[None; 2]; MAX_PLY],
            lines: (0..=MAX_PLY).map(|_| Vec::with_capacity(MAX_PLY)).collect(),
            halt,
        }
    }

    /// What ends the search.
    pub fn halt(&self) -> &Halt<'a> {
        &self.halt
    }

    /// The score of a move at the root for the side that makes it, looking `depth` plies ahead, the move
    /// included; and with a score above `alpha` the line expected from it. `None` when the search was ended.
    pub fn root_move(
        &mut self,
        root: &Board,
        mv: Move,
        depth: u8,
        alpha: i32,
    ) -> Option<(i32, Vec<Move>)> {
        self.lines[0].clear();
        let score =
            self.after(root, mv, 0, (-INFINITE, -alpha), |search, board, (alpha, beta)| {
                search.full(board, 1, depth - 1, alpha, beta)
            })?;
        self.put_first(0, mv);
        Some((score, self.lines[0].clone()))
    }

    /// The score of a move for the side that makes it, by `search` for the position after it.
    fn after(
        &mut self,
        board: &Board,
        mv: Move,
        ply: usize,
        (alpha, beta): (i32, i32),
        search: impl FnOnce(&mut Self, &Board, (i32, i32)) -> Option<i32>,
    ) -> Option<i32> {
        let board = played(board, mv);
        self.path.enter(&board);
        self.lines[ply + 1].clear();
        let score = search(self, &board, (alpha, beta))?;
        self.path.leave();
        Some(-score)
    }

    /// The score of a position looking `depth` plies ahead.
    fn full(
        &mut self,
        board: &Board,
        ply: usize,
        depth: u8,
        mut alpha: i32,
        beta: i32,
    ) -> Option<i32> {
        if depth == 0 {
            return self.quiescence(board, ply, QUIESCENCE, alpha, beta);
        }
        self.halt.count()?;
        if self.path.is_draw(board) {
            return Some(0);
        }
        let key = self.path.key(board, depth + QUIESCENCE);
        let known = self.table.find(key);
        let hint = known.and_then(|entry| entry.best);
        // Another depth would give another score than a search without a table.
        if let Some(entry) = known
            && entry.depth == depth
        {
            let score = from_node(entry.score, ply);
            let decides = match entry.bound {
                Bound::Exact => true,
                Bound::Lower => score >= beta,
                Bound::Upper => score <= alpha,
            };
            if decides {
                self.lines[ply].extend(hint.filter(|&mv| board.is_legal(mv)));
                return Some(score);
            }
        }

        let floor = alpha;
        let (mut best, mut best_move) = (-INFINITE, None);
        let first = self.moves.len();
        ordering::push_all(&mut self.moves, board, hint, &self.killers[ply]);
        if self.moves.len() == first {
            return Some(if board.checkers().is_empty() { 0 } else { ply as i32 - MATE });
        }
        for next in first..self.moves.len() {
            ordering::bring_best(&mut self.moves[next..]);
            let mv = self.moves[next].mv;
            let window = (-beta, -alpha);
            let score = self.after(board, mv, ply, window, |search, board, (alpha, beta)| {
                search.full(board, ply + 1, depth - 1, alpha, beta)
            })?;
            if score > best {
                (best, best_move) = (score, Some(mv));
            }
            if score > alpha {
                alpha = score;
                self.put_first(ply, mv);
            }
            if alpha >= beta {
                if mv.promotion.is_none() && captured(board, mv).is_none() {
                    ordering::remember(&mut self.killers[ply], mv);
                }
                break;
            }
        }
        self.moves.truncate(first);
        let bound = match best {
            _ if best >= beta => Bound::Lower,
            _ if best > floor => Bound::Exact,
            _ => Bound::Upper,
        };
        self.table.store(key, Entry { depth, score: to_node(best, ply), bound, best: best_move });
        Some(best)
    }

    /// The score of a position once the dust has settled: of captures and promotions as far as they are
    /// better than doing without, in check of every move.
    fn quiescence(
        &mut self,
        board: &Board,
        ply: usize,
        depth: u8,
        mut alpha: i32,
        beta: i32,
    ) -> Option<i32> {
        self.halt.count()?;
        if self.path.is_draw(board) {
            return Some(0);
        }
        let in_check = !board.checkers().is_empty();
        if !board.generate_moves(|_| true) {
            return Some(if in_check { ply as i32 - MATE } else { 0 });
        }
        let mut best = if in_check && depth > 0 { -INFINITE } else { evaluate(board) };
        alpha = alpha.max(best);
        if depth == 0 || alpha >= beta {
            return Some(best);
        }
        let first = self.moves.len();
        if in_check {
            ordering::push_all(&mut self.moves, board, None, &[None; 2]);
        } else {
            ordering::push_forcing(&mut self.moves, board);
        }
        for next in first..self.moves.len() {
            ordering::bring_best(&mut self.moves[next..]);
            let mv = self.moves[next].mv;
            let window = (-beta, -alpha);
            let score = self.after(board, mv, ply, window, |search, board, (alpha, beta)| {
                search.quiescence(board, ply + 1, depth - 1, alpha, beta)
            })?;
            best = best.max(score);
            if score > alpha {
                alpha = score;
                self.put_first(ply, mv);
            }
            if alpha >= beta {
                break;
            }
        }
        self.moves.truncate(first);
        Some(best)
    }

    /// Makes the best line of a position its best move and what is expected after it.
    fn put_first(&mut self, ply: usize, mv: Move) {
        if let [line, rest, ..] = &mut self.lines[ply..] {
            line.clear();
            line.push(mv);
            line.extend_from_slice(rest);
        }
    }
}

/// A score as the table keeps it: mate counted from the position, not from the root.
fn to_node(score: i32, ply: usize) -> i32 {
    match score {
        _ if score >= MATES => score + ply as i32,
        _ if score <= -MATES => score - ply as i32,
        _ => score,
    }
}

/// The inverse of [`to_node`].
fn from_node(score: i32, ply: usize) -> i32 {
    match score {
        _ if score >= MATES => score - ply as i32,
        _ if score <= -MATES => score + ply as i32,
        _ => score,
    }
}
