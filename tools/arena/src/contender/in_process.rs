//! A player of this engine, in this process.

use super::{Answer, Fault, Opponent};
use crate::course::Course;
use crate::limits::Turn;
use fianchetto::engine;
use fianchetto::search::{Player, Report};
use fianchetto::uci::Options;
use std::sync::atomic::AtomicBool;

/// A player, asked directly.
pub struct InProcess(Box<dyn Player>);

impl InProcess {
    pub fn new(options: &Options) -> Result<Self, String> {
        let mut player = engine::player(options)?;
        player.configure(&options.settings());
        Ok(Self(player))
    }
}

impl Opponent for InProcess {
    fn new_game(&mut self, _number: u64) -> Result<(), Fault> {
        self.0.new_game();
        Ok(())
    }

    /// A player of our own is trusted to keep to its limits: nothing cuts it short.
    fn choose(&mut self, course: &Course, turn: &Turn) -> Result<Answer, Fault> {
        let mut last = Report::default();
        let stop = AtomicBool::new(false);
        let mut keep = |report: &Report| last.clone_from(report);
        let choice = (self.0)
            .choose(course.game(), &turn.limits, &stop, &mut keep)
            .map_err(|error| Fault::Unusable(error.to_string()))?;
        let best = choice.best.ok_or_else(|| Fault::Illegal("(none)".to_owned()))?;
        if !course.game().board().is_legal(best) {
            return Err(Fault::Illegal(best.to_string()));
        }
        let first = last.lines.first();
        Ok(Answer {
            best,
            score: first
                .filter(|line| line.moves.first() == Some(&best))
                .and_then(|line| line.score),
            depth: Some(last.depth),
            ranking: last.lines.iter().filter_map(|line| line.moves.first().copied()).collect(),
        })
    }
}
