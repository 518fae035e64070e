//! Mate in one, found without trying every move.

use super::finish::{is_mate, played};
use crate::chess::{BitBoard, Board, Move, Piece};
use cozy_chess::{get_bishop_moves, get_knight_moves, get_pawn_attacks, get_rook_moves};

/// The first of these legal moves that mates.
pub fn mating_move(board: &Board, moves: &[Move]) -> Option<Move> {
    let checks = Checks::new(board);
    moves.iter().copied().find(|&mv| checks.may_be(mv) && is_mate(&played(board, mv)))
}

/// What gives check. Few moves do, and of the others nobody needs to know where they lead.
struct Checks<'a> {
    board: &'a Board,
    /// Where a piece of each kind would attack the king.
    from: [BitBoard; Piece::NUM],
    /// Own pieces between the king and an attacker.
    blockers: BitBoard,
}

impl<'a> Checks<'a> {
    fn new(board: &'a Board) -> Self {
        let (side, occupied) = (board.side_to_move(), board.occupied());
        let king = board.king(!side);
        let (own, queens) = (board.colors(side), board.pieces(Piece::Queen));
        let (rook, bishop) = (get_rook_moves(king, occupied), get_bishop_moves(king, occupied));
        let behind = |seen: BitBoard, through: BitBoard, attackers: BitBoard| {
            let opened = through & !seen & own & (attackers | queens);
            if opened.is_empty() { BitBoard::EMPTY } else { seen & own }
        };
        let rook_through = get_rook_moves(king, occupied & !(rook & own));
        let bishop_through = get_bishop_moves(king, occupied & !(bishop & own));
        let mut from = [BitBoard::EMPTY; Piece::NUM];
        from[Piece::Pawn as usize] = get_pawn_attacks(king, !side);
        from[Piece::Knight as usize] = get_knight_moves(king);
        from[Piece::Bishop as usize] = bishop;
        from[Piece::Rook as usize] = rook;
        from[Piece::Queen as usize] = rook | bishop;
        let blockers = behind(rook, rook_through, board.pieces(Piece::Rook))
            | behind(bishop, bishop_through, board.pieces(Piece::Bishop));
        Self { board, from, blockers }
    }

    /// Whether a legal move may give check; if not, it does not.
    fn may_be(&self, mv: Move) -> bool {
        let Some(piece) = self.board.piece_on(mv.from) else { return false };
        // More is to be seen than a piece that comes or goes: of castling, of en passant, and of a piece that looks back
        // through where the pawn was.
        let castles = self.board.color_on(mv.to) == Some(self.board.side_to_move());
        let passes = piece == Piece::Pawn
            && mv.from.file() != mv.to.file()
            && !self.board.occupied().has(mv.to);
        self.from[piece as usize].has(mv.to)
            || self.blockers.has(mv.from)
            || mv.promotion.is_some()
            || castles
            || passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Game;
    use crate::search::random::Random;

    /// In all positions of random games, and of those from a board with few and strong pieces, mates are found that trying
    /// every move finds, and no others.
    #[test]
    fn mates_are_those_that_trying_every_move_finds() {
        let mut random = Random::of_option(1);
        let (mut found, mut skipped) = (0, 0);
        let fens = [
            "startpos",
            "4k3/8/3n4/8/8/2B5/PPPR1PPP/R3K2R w KQ - 0 1",
            "2kr4/8/8/1q6/4b3/8/3P4/R3K2R w KQ - 0 1",
        ];
        for i in 0..600 {
            let (mut game, _) = Game::from_fen(fens[i % fens.len()]).unwrap();
            for _ in 0..120 {
                let (board, moves) = (game.board(), game.legal_moves());
                if moves.is_empty() {
                    break;
                }
                let checks = Checks::new(board);
                for &mv in &moves {
                    let after = played(board, mv);
                    assert!(checks.may_be(mv) || after.checkers().is_empty(), "{board} {mv}");
                    skipped += usize::from(!checks.may_be(mv));
                }
                let slow = moves.iter().copied().find(|&mv| is_mate(&played(board, mv)));
                assert_eq!(mating_move(board, &moves), slow, "{board}");
                found += usize::from(slow.is_some());
                let weights = vec![1.0; moves.len()];
                let drawn = random.draw(&weights, 1.0);
                game.play_legal(moves[drawn]);
            }
        }
        assert!(found > 100 && skipped > 100_000, "{found} {skipped}");
    }
}
