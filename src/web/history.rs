//! A game that one can go back and forth in.

use crate::chess::{Color, Game, IllegalMove, Move, notation};
use serde::Serialize;

/// All moves of a game, and how many of them are on the board.
#[derive(Clone, Debug, Default)]
pub struct History {
    start: Game,
    moves: Vec<Move>,
    written: Vec<Written>,
    game: Game,
}

/// A move in both notations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    pub uci: String,
    pub san: String,
}

impl History {
    /// A game with all its moves on the board.
    ///
    /// # Errors
    /// When a move is not legal.
    pub fn new(start: Game, moves: &[Move]) -> Result<Self, IllegalMove> {
        let game = start.clone();
        let mut history = Self { start, game, ..Self::default() };
        moves.iter().try_for_each(|&mv| history.play(mv))?;
        Ok(history)
    }

    /// The position on the board and the way to it.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// Where the game began.
    pub fn start(&self) -> &Game {
        &self.start
    }

    /// All moves, those that were taken back too.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// [`History::moves`] in writing.
    pub fn written(&self) -> &[Written] {
        &self.written
    }

    /// How many moves are on the board.
    pub fn ply(&self) -> usize {
        self.game.moves().len()
    }

    /// The side to move.
    pub fn side_to_move(&self) -> Color {
        self.game.board().side_to_move()
    }

    /// Reads a move in UCI or algebraic notation.
    ///
    /// # Errors
    /// When it is not legal.
    pub fn read(&self, text: &str) -> Result<Move, IllegalMove> {
        let board = self.game.board();
        notation::from_uci(board, text).or_else(|of_uci| {
            // What looks like coordinates is told about as coordinates.
            notation::from_san(board, text).map_err(|of_san| match of_uci.reason {
                notation::Reason::NotUci => of_san,
                _ => of_uci,
            })
        })
    }

    /// Plays a move; moves that were taken back are gone then.
    ///
    /// # Errors
    /// When it is not legal.
    pub fn play(&mut self, mv: Move) -> Result<(), IllegalMove> {
        let board = self.game.board();
        let written =
            Written { uci: notation::to_uci(board, mv), san: notation::to_san(board, mv)? };
        let ply = self.ply();
        self.game.play(mv)?;
        self.moves.truncate(ply);
        self.written.truncate(ply);
        self.moves.push(mv);
        self.written.push(written);
        Ok(())
    }

    /// Goes to the position after `ply` moves; `false` where there are not so many.
    pub fn go_to(&mut self, ply: usize) -> bool {
        let Some(moves) = self.moves.get(..ply) else { return false };
        let mut game = self.start.clone();
        for &mv in moves {
            game.play_legal(mv);
        }
        self.game = game;
        true
    }
}
