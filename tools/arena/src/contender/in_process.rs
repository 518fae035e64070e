//! A player of this engine, in this process.

use super::{Answer, Fault, Opponent};
use crate::course::Course;
use crate::limits::Turn;
use fianchetto::engine;
use fianchetto::search::{Player, Report, Settings};
use fianchetto::uci::Options;
use fianchetto_prepare::game::spread;
use std::sync::atomic::AtomicBool;

/// A player, asked directly.
pub struct InProcess {
    player: Box<dyn Player>,
    settings: Settings,
    seed: u64,
}

impl InProcess {
    pub fn new(options: &Options, seed: u64) -> Result<Self, String> {
        let settings = options.settings();
        let seed = spread(seed) ^ u64::from(settings.seed);
        Ok(Self { player: engine::player(options)?, settings, seed })
    }
}

impl Opponent for InProcess {
    /// Its random numbers follow from seed and game alone, so that a game can be played again.
    fn new_game(&mut self, number: u64) -> Result<(), Fault> {
        self.settings.seed = (spread(spread(self.seed) ^ number) as u32).max(1);
        self.player.configure(&self.settings);
        self.player.new_game();
        Ok(())
    }

    /// A player of our own is trusted to keep to its limits: nothing cuts it short.
    fn choose(&mut self, course: &Course, turn: &Turn) -> Result<Answer, Fault> {
        let mut last = Report::default();
        let stop = AtomicBool::new(false);
        let mut keep = |report: &Report| last.clone_from(report);
        let choice = (self.player)
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
            nodes: Some(last.nodes),
            ranking: last.lines.iter().filter_map(|line| line.moves.first().copied()).collect(),
        })
    }
}
