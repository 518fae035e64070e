//! Alpha-beta over the points of moves.
//!
//! A position is worth to the side to move what its best move is worth by itself, less what the position after
//! it is worth to the other side; at the end of the search, nothing. Who is mated loses the king, the sooner the
//! dearer. Of the draws only stalemate is seen: nothing can be won or lost any more.

use super::Parameters;
use super::points::{KING, Worth, moves};
use crate::chess::{Board, Game, Move};
use crate::evaluator::{EvaluateError, Evaluator, Squares};
use crate::search::deepening::INFINITE;
use crate::search::finish::{is_mate, played};
use crate::search::halt::Halt;
use crate::search::pace::Pace;
use std::time::Instant;

/// How many of the positions after a move are given to the networks first: often the first replies decide. The
/// next time it is twice as many.
const FIRST_BATCH: usize = 4;

/// Why a search ended before it was done.
#[derive(Debug)]
pub(super) enum Ended {
    Halted,
    Failed(EvaluateError),
}

/// A search under way.
pub(super) struct Search<'a> {
    evaluator: &'a mut Evaluator,
    parameters: &'a Parameters,
    halt: Halt<'a>,
    /// By distance from the root: the best line from there on.
    lines: Vec<Vec<Move>>,
    pace: Pace,
    /// The positions and calls of the networks before this search.
    before: (u64, u64),
}

/// A position of the search.
pub(super) struct Node {
    game: Game,
    /// What the networks say of it, where they are asked.
    squares: Option<Squares>,
}

impl<'a> Search<'a> {
    /// A search of so many plies at most.
    pub fn new(
        evaluator: &'a mut Evaluator,
        parameters: &'a Parameters,
        halt: Halt<'a>,
        plies: u32,
    ) -> Self {
        let before = (evaluator.evaluated(), evaluator.calls());
        let lines = vec![Vec::new(); plies as usize + 2];
        Self { evaluator, parameters, halt, lines, pace: Pace::default(), before }
    }

    /// What ends the search.
    pub fn halt(&self) -> &Halt<'a> {
        &self.halt
    }

    /// How many positions were given to the networks so far, and in how many calls.
    pub fn asked(&self) -> (u64, u64) {
        let (positions, calls) = self.before;
        (self.evaluator.evaluated() - positions, self.evaluator.calls() - calls)
    }

    /// What a move of the root is worth, looking `depth` plies ahead, the move included, and the line
    /// expected. `after` is the position after it. Up to `alpha` the move is worth as little at least, and
    /// there is no line.
    pub fn root_move(
        &mut self,
        worth: &Worth,
        after: &Node,
        depth: u32,
        alpha: i64,
    ) -> Result<(i64, Vec<Move>), Ended> {
        self.lines[0].clear();
        let points = worth.points();
        let score = points - self.value(after, 1, depth - 1, -INFINITE, points - alpha)?;
        if score > alpha {
            self.put_first(0, worth.mv);
        }
        Ok((score, self.lines[0].clone()))
    }

    /// The positions after these moves of a position `ply` plies from the root, ready for a search that looks
    /// ahead `depth` plies from there.
    pub fn after(
        &mut self,
        game: &Game,
        moves: &[Worth],
        ply: u32,
        depth: u32,
    ) -> Result<Vec<Node>, Ended> {
        let games = moves.iter().map(|worth| {
            let mut game = game.clone();
            game.play(worth.mv).expect("the move is legal");
            game
        });
        let games: Vec<Game> = games.collect();
        let squares = if depth > 0 && ply + 1 < self.parameters.prediction_plies {
            let count = games.len() as u32;
            if self.halt.is_over() || self.pace.fit(count, self.halt.left()) < count {
                return Err(Ended::Halted);
            }
            let games: Vec<&Game> = games.iter().collect();
            self.ask(&games).map_err(Ended::Failed)?.into_iter().map(Some).collect()
        } else {
            vec![None; games.len()]
        };
        let node = |(game, squares)| Node { game, squares };
        Ok(games.into_iter().zip(squares).map(node).collect())
    }

    /// Asks the networks.
    pub fn ask(&mut self, games: &[&Game]) -> Result<Vec<Squares>, EvaluateError> {
        let (before, began) = (self.evaluator.evaluated(), Instant::now());
        let squares = self.evaluator.squares(games)?;
        self.pace.note((self.evaluator.evaluated() - before) as u32, began.elapsed());
        Ok(squares)
    }

    /// What a position is worth to the side to move, looking `depth` plies ahead. It is `ply` plies from the
    /// root.
    fn value(
        &mut self,
        Node { game, squares }: &Node,
        ply: u32,
        depth: u32,
        mut alpha: i64,
        beta: i64,
    ) -> Result<i64, Ended> {
        let board = game.board();
        self.halt.count().ok_or(Ended::Halted)?;
        self.lines[ply as usize].clear();
        if depth == 0 {
            return Ok(if is_mate(board) { -KING } else { 0 });
        }
        let moves = moves(board, squares.as_ref(), self.parameters.prediction);
        if moves.is_empty() {
            let mated = !board.checkers().is_empty();
            return Ok(if mated { -KING * i64::from(depth + 1) } else { 0 });
        }
        if depth == 1 {
            return self.last_ply(board, &moves, ply, alpha, beta);
        }
        let mut best = -INFINITE;
        let (mut rest, mut batch) = (&moves[..], FIRST_BATCH);
        while !rest.is_empty() {
            let (next, later) = rest.split_at(batch.min(rest.len()));
            (rest, batch) = (later, 2 * batch);
            let after = self.after(game, next, ply, depth - 1)?;
            for (worth, after) in next.iter().zip(&after) {
                let points = worth.points();
                let (low, high) = (points - beta, points - alpha);
                let score = points - self.value(after, ply + 1, depth - 1, low, high)?;
                best = best.max(score);
                if score > alpha {
                    alpha = score;
                    self.put_first(ply, worth.mv);
                }
                if alpha >= beta {
                    return Ok(best);
                }
            }
        }
        Ok(best)
    }

    /// What a position is worth looking one ply ahead: its first move, which is worth most by itself, unless
    /// another mates.
    fn last_ply(
        &mut self,
        board: &Board,
        moves: &[Worth],
        ply: u32,
        alpha: i64,
        beta: i64,
    ) -> Result<i64, Ended> {
        let mut best = (moves[0].points(), moves[0].mv);
        if best.0 < beta {
            for worth in moves {
                self.halt.count().ok_or(Ended::Halted)?;
                if is_mate(&played(board, worth.mv)) {
                    best = (worth.points() + KING, worth.mv);
                    break;
                }
            }
        }
        let (score, mv) = best;
        if score > alpha {
            self.lines[ply as usize + 1].clear();
            self.put_first(ply, mv);
        }
        Ok(score)
    }

    /// Makes the best line of a position its best move and what is expected after it.
    fn put_first(&mut self, ply: u32, mv: Move) {
        if let [line, rest, ..] = &mut self.lines[ply as usize..] {
            line.clear();
            line.push(mv);
            line.extend_from_slice(rest);
        }
    }
}
