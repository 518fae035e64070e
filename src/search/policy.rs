//! The player without search: one forward pass, and the most probable move is played.

use super::finish::{finish, is_mate, played};
use super::player::{Choice, Limits, Line, PlayError, Player, Report, Score, Settings};
use super::random::Random;
use crate::chess::Game;
use crate::evaluator::Evaluator;
use std::sync::atomic::AtomicBool;

/// Plays what a policy network holds most probable.
pub struct Policy {
    evaluator: Evaluator,
    settings: Settings,
    random: Random,
}

impl Policy {
    /// A player with the default settings, whose random numbers differ from run to run.
    pub fn new(evaluator: Evaluator) -> Self {
        Self { evaluator, settings: Settings::default(), random: Random::from_time() }
    }
}

impl Player for Policy {
    fn name(&self) -> String {
        format!("policy on {}", self.evaluator.name())
    }

    fn configure(&mut self, settings: &Settings) {
        if settings.seed != self.settings.seed {
            self.random = Random::of_option(settings.seed);
        }
        self.settings = settings.clone();
    }

    /// One evaluation: far too short for `stop` or a clock to matter.
    fn choose(
        &mut self,
        game: &Game,
        limits: &Limits,
        _stop: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Choice, PlayError> {
        if game.legal_moves().is_empty() {
            report(&Report::ended(game));
            return Ok(Choice::default());
        }
        let evaluation =
            self.evaluator.evaluate(game).map_err(|error| PlayError(error.to_string()))?;
        let mut priors = evaluation.priors;
        let legal = priors.len();
        let finishing = finish(game.board(), &mut priors, self.settings.finish_plies);
        let by = if finishing.is_some() { ", finishing off a bare king" } else { "" };
        let mates = finishing.unwrap_or_else(|| vec![None; legal]);

        let mut candidates: Vec<_> = priors.into_iter().zip(mates).collect();
        if !limits.search_moves.is_empty() {
            candidates.retain(|((mv, _), _)| limits.search_moves.contains(mv));
        }
        candidates.sort_by(|((_, a), _), ((_, b), _)| b.total_cmp(a));
        if self.settings.temperature > 0.0 && !candidates.is_empty() {
            let probabilities: Vec<f64> = candidates.iter().map(|((_, p), _)| *p).collect();
            let drawn = self.random.draw(&probabilities, self.settings.temperature);
            // The first line is the one that is played.
            candidates[..=drawn].rotate_right(1);
        }

        let value = self.evaluator.has_value().then_some(evaluation.value);
        let score = value.map(Score::of_value);
        let line = |((mv, probability), mate): ((_, f64), Option<i32>)| Line {
            moves: vec![mv],
            score: match mate.or_else(|| is_mate(&played(game.board(), mv)).then_some(1)) {
                Some(moves) => Some(Score::Mate(moves)),
                None => score,
            },
            probability: Some(probability),
            ..Line::default()
        };
        let lines: Vec<Line> = candidates.into_iter().map(line).collect();
        let best = lines.first().map(|line| line.moves[0]);
        let remark = lines.first().and_then(|line| line.probability).map(|probability| {
            format!("policy {:.1}% over {legal} legal moves{by}", 100.0 * probability)
        });
        report(&Report { depth: 1, nodes: 1, value, lines, remark });
        Ok(Choice { best, ponder: None })
    }
}
