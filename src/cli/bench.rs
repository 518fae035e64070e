//! `bench`: fixed work, as OpenBench wants it.

use super::{Failure, positions};
use fianchetto::chess::notation;
use fianchetto::engine;
use fianchetto::search::{Limits, Settings};
use fianchetto::uci::{BackendKind, Options, PlayerKind};
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Playouts for each position.
const NODES: u64 = 100;

/// The tree search on the processor with one thread and default settings, whatever the options say: the node count
/// must not depend on them, nor on a GPU.
pub fn run(options: &Options, out: &mut impl Write) -> Result<(), Failure> {
    let backend = BackendKind::Cpu;
    let options = Options { threads: 1, backend, player: PlayerKind::Mcts, ..options.clone() };
    let games = positions()?;
    let mut player = engine::player(&options).map_err(Failure::Work)?;
    player.configure(&Settings::default());
    let limits = Limits { nodes: Some(NODES), ..Limits::default() };
    let started = Instant::now();
    let mut nodes = 0;
    for game in &games {
        let mut evaluated = 0;
        let stop = AtomicBool::new(false);
        player.new_game();
        let choice = player
            .choose(game, &limits, &stop, &mut |report| evaluated = report.nodes)
            .map_err(|error| Failure::Work(error.to_string()))?;
        nodes += evaluated;
        if let Some(best) = choice.best {
            writeln!(out, "{:<6} {}", notation::to_uci(game.board(), best), game.fen())?;
        }
    }
    let nps = nodes as f64 / started.elapsed().as_secs_f64();
    writeln!(out, "{nodes} nodes {nps:.0} nps")?;
    Ok(())
}
