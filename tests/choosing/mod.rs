//! What a player answers, checked for what every answer must be.

use fianchetto::chess::Game;
use fianchetto::search::{Choice, Limits, Player, Report};
use std::sync::atomic::AtomicBool;

/// The choice, and the last report before it: of the same moves, all of them legal.
pub fn choose(player: &mut impl Player, game: &Game, limits: &Limits) -> (Choice, Report) {
    let mut last = None;
    let stop = AtomicBool::new(false);
    let mut keep = |report: &Report| last = Some(report.clone());
    let choice = player.choose(game, limits, &stop, &mut keep).unwrap();
    let report = last.expect("a report");
    let line = report.lines.first().map_or(&[][..], |line| &line.moves);
    assert_eq!((choice.best, choice.ponder), (line.first().copied(), line.get(1).copied()));
    for line in &report.lines {
        let mut game = game.clone();
        line.moves.iter().for_each(|&mv| game.play(mv).unwrap());
    }
    (choice, report)
}
