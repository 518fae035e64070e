//! The way to the position searched, which the rules on draws need.

use crate::chess::Board;
use crate::chess::game::{Game, insufficient_material, repetition_key};
use crate::search::finish::is_mate;
use crate::search::random::Random;

/// The positions of the game and, after them, of the search.
pub(super) struct Path {
    visits: Vec<Visit>,
}

#[derive(Clone, Copy)]
struct Visit {
    /// See [`repetition_key`].
    key: u64,
    /// How often the position has occurred, now included.
    occurrences: u8,
    /// Differs where positions met in the search, since the last capture or pawn move, have occurred twice: a
    /// third time would end the game.
    met_again: u64,
}

impl Path {
    /// The way of a game so far, with room for so many plies more.
    pub fn new(game: &Game, plies: usize) -> Self {
        let keys = game.keys();
        let mut visits = Vec::with_capacity(keys.len() + plies);
        visits.extend(keys.iter().map(|&key| Visit { key, occurrences: 1, met_again: 0 }));
        Self { visits }
    }

    /// Goes on to a position.
    pub fn enter(&mut self, board: &Board) {
        let key = repetition_key(board);
        let reversible = usize::from(board.halfmove_clock());
        // It takes both sides two moves to come back.
        let earlier = self.visits.iter().rev().skip(3).step_by(2);
        let same = earlier
            .take((reversible / 2).saturating_sub(1))
            .filter(|visit| visit.key == key)
            .count();
        let occurrences = 1 + same as u8;
        let mut met_again =
            if reversible == 0 { 0 } else { self.visits.last().map_or(0, |v| v.met_again) };
        if occurrences == 2 {
            met_again ^= scrambled(key);
        }
        self.visits.push(Visit { key, occurrences, met_again });
    }

    /// Goes back to the position before.
    pub fn leave(&mut self) {
        self.visits.pop();
    }

    /// Whether the game is drawn by the rules other than stalemate.
    pub fn is_draw(&self, board: &Board) -> bool {
        self.visits.last().is_some_and(|visit| visit.occurrences >= 3)
            || insufficient_material(board)
            || (board.halfmove_clock() >= 100 && !is_mate(board))
    }

    /// A key equal where a search of so many plies finds the same: for equal positions, as far as the way to
    /// them makes no difference. (It could make one still if the search itself went round in a circle twice,
    /// for which it has to look nine plies ahead.)
    pub fn key(&self, board: &Board, plies: u8) -> u64 {
        let key = self.visits.last().map_or(0, |visit| visit.key ^ visit.met_again);
        let clock = board.halfmove_clock();
        if clock + plies < 100 { key } else { key ^ scrambled(clock.into()) }
    }
}

/// Another number for every number, without pattern.
fn scrambled(number: u64) -> u64 {
    Random::new(number).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The position after moves in a search from `fen`, and the way to it.
    fn searched(fen: &str, moves: &str) -> (Path, Board) {
        let (mut game, _) = Game::from_fen(fen).unwrap();
        let mut path = Path::new(&game, 0);
        for text in moves.split_whitespace() {
            game.play_uci(text).unwrap();
            path.enter(game.board());
        }
        (path, game.board().clone())
    }

    fn key(fen: &str, moves: &str, plies: u8) -> u64 {
        let (path, board) = searched(fen, moves);
        path.key(&board, plies)
    }

    #[test]
    fn the_way_counts_only_where_it_matters() {
        let key = |moves: &str| key("startpos", moves, 8);
        let around = "g1f3 g8f6 f3g1 f6g8";
        // The same position by two ways; the right to capture en passant is none.
        assert_eq!(key("e2e4 e7e5 g1f3"), key("g1f3 e7e5 e2e4"));
        assert_ne!(key("e2e4 e7e5 g1f3"), key("e2e4 e7e5 g1h3"));
        // The start position has now been there twice, and once more ends the game.
        assert_ne!(key(&format!("{around} g1f3 b8c6")), key("g1f3 b8c6"));
        // It cannot come again.
        assert_eq!(key(&format!("{around} e2e4")), key("e2e4"));
    }

    #[test]
    fn the_clock_counts_only_where_it_can_run_out() {
        let at = |clock| format!("4k3/8/8/8/8/8/8/4K2R w - - {clock} 90");
        let key = |clock, plies| key(&at(clock), "e1d1", plies);
        assert_eq!(key(10, 50), key(20, 50));
        assert_eq!(key(10, 50), key(48, 50));
        assert_ne!(key(10, 50), key(49, 50));
        assert_ne!(key(48, 52), key(49, 52));
    }

    #[test]
    fn draws() {
        let is_draw = |fen: &str, moves: &str| {
            let (path, board) = searched(fen, moves);
            path.is_draw(&board)
        };
        let around = "g1f3 g8f6 f3g1 f6g8";
        assert!(!is_draw("startpos", &format!("{around} g1f3 g8f6 f3g1")));
        assert!(is_draw("startpos", &format!("{around} {around}")));
        let at_99 = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 99 90";
        assert!(is_draw(at_99, "a1a7"));
        assert!(!is_draw(at_99, "a1a8"), "mate comes first");
        assert!(is_draw("4k3/8/8/8/8/8/3p4/4K3 w - - 0 1", "e1d2"));
    }
}
