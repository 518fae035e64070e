//! A game as it is told to an engine: where it began, and the moves since.

use fianchetto::chess::{Game, IllegalMove, Move, notation};

/// A game together with its start and its moves as text.
#[derive(Clone, Debug)]
pub struct Course {
    start: String,
    moves: Vec<String>,
    game: Game,
}

impl Default for Course {
    fn default() -> Self {
        Self { start: "startpos".to_owned(), moves: Vec::new(), game: Game::default() }
    }
}

impl Course {
    /// From a position in Forsyth-Edwards notation, or `startpos`.
    ///
    /// # Errors
    /// In words, when it is no position.
    pub fn new(start: &str) -> Result<Self, String> {
        let (game, _) = Game::from_fen(start).map_err(|error| error.to_string())?;
        // What was mended in the text must not reach an engine unmended.
        let start = if start == "startpos" { start.to_owned() } else { game.fen() };
        Ok(Self { start, moves: Vec::new(), game })
    }

    /// Plays a move.
    ///
    /// # Errors
    /// When it is not legal.
    pub fn play(&mut self, mv: Move) -> Result<(), IllegalMove> {
        let text = notation::to_uci(self.game.board(), mv);
        self.game.play(mv)?;
        self.moves.push(text);
        Ok(())
    }

    /// Plays a move in UCI notation and returns it.
    ///
    /// # Errors
    /// When it is not legal.
    pub fn play_uci(&mut self, text: &str) -> Result<Move, IllegalMove> {
        let mv = notation::from_uci(self.game.board(), text)?;
        self.play(mv)?;
        Ok(mv)
    }

    /// Where it began: a FEN or `startpos`.
    pub fn start(&self) -> &str {
        &self.start
    }

    /// The moves since, in UCI notation.
    pub fn moves(&self) -> &[String] {
        &self.moves
    }

    /// The game.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// The UCI command that sets it up.
    pub fn command(&self) -> String {
        let mut text = match self.start.as_str() {
            "startpos" => "position startpos".to_owned(),
            fen => format!("position fen {fen}"),
        };
        if !self.moves.is_empty() {
            text.push_str(" moves ");
            text.push_str(&self.moves.join(" "));
        }
        text
    }
}
