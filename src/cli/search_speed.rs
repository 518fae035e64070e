//! `speed --search`: playouts a second of the tree search, by positions a network call.

use super::arguments::Speed;
use super::speed::batches;
use super::{Failure, engine, positions};
use fianchetto::backend::{Backend, BackendError, Batch, Outputs};
use fianchetto::evaluator::Evaluator;
use fianchetto::search::mcts::Mcts;
use fianchetto::search::{Limits, Player};
use fianchetto::uci::{Options, PlayerKind};
use serde::Serialize;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The batch sizes measured where none are asked for.
const BATCHES: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Playouts for a position.
const NODES: u64 = 800;

/// A backend that notes the time spent in it.
struct Timed {
    backend: Box<dyn Backend>,
    nanoseconds: Arc<AtomicU64>,
}

impl Backend for Timed {
    fn name(&self) -> String {
        self.backend.name()
    }

    fn device(&self) -> String {
        self.backend.device()
    }

    fn batch_sizes(&self) -> &[usize] {
        self.backend.batch_sizes()
    }

    fn evaluate(&mut self, batch: &Batch, outputs: &mut Outputs) -> Result<(), BackendError> {
        let started = Instant::now();
        let done = self.backend.evaluate(batch, outputs);
        let spent = started.elapsed().as_nanos() as u64;
        self.nanoseconds.fetch_add(spent, Ordering::Relaxed);
        done
    }
}

#[derive(Serialize)]
struct Measurement {
    batch: usize,
    playouts: u64,
    calls: u64,
    playouts_per_second: f64,
    /// Share of the time that is not the network's.
    outside_backend: f64,
}

pub fn run(wanted: &Speed, options: &Options, out: &mut impl Write) -> Result<(), Failure> {
    let games = positions()?;
    let options = &Options { player: PlayerKind::Mcts, ..options.clone() };
    let network = engine::suitable_network(options).map_err(Failure::Work)?;
    let mut results = Vec::new();
    for (i, batch) in batches(wanted, &BATCHES).into_iter().enumerate() {
        let mut options = options.clone();
        (options.set("BatchSize", &batch.to_string()))
            .map_err(|error| Failure::Usage(error.to_string()))?;
        let nanoseconds = Arc::new(AtomicU64::new(0));
        let backend = engine::backend(network.clone(), &options);
        let backend = Timed { backend, nanoseconds: nanoseconds.clone() };
        let mut player = Mcts::new(Evaluator::new(network.spec.encoding, Box::new(backend)));
        player.configure(&options.settings());
        if !wanted.json && i == 0 {
            writeln!(out, "{}, {}", engine::weights_name(&options), player.name())?;
            writeln!(
                out,
                "{:>6} {:>9} {:>8} {:>11} {:>16}",
                "batch", "playouts", "calls", "playouts/s", "outside backend"
            )?;
            out.flush()?;
        }
        let time = Duration::from_secs_f64(wanted.seconds);
        // Of a large network one search may take longer than all of the time.
        let search = |player: &mut Mcts, game, started: Instant| {
            let (mut nodes, stop) = (0, AtomicBool::new(false));
            let limits = Limits { nodes: Some(NODES), ..Limits::default() };
            player.new_game();
            player
                .choose(game, &limits, &stop, &mut |report| {
                    nodes = report.nodes;
                    stop.fetch_or(started.elapsed() >= time, Ordering::Relaxed);
                })
                .map_err(|error| Failure::Work(error.to_string()))?;
            Ok::<u64, Failure>(nodes)
        };
        search(&mut player, &games[0], Instant::now())?; // The first run touches new memory.
        nanoseconds.store(0, Ordering::Relaxed);
        let calls = player.network_calls();
        let (started, mut playouts) = (Instant::now(), 0);
        for game in games.iter().cycle() {
            playouts += search(&mut player, game, started)?;
            if started.elapsed() >= time {
                break;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        let inside = nanoseconds.load(Ordering::Relaxed) as f64 / 1e9;
        let result = Measurement {
            batch,
            playouts,
            calls: player.network_calls() - calls,
            playouts_per_second: playouts as f64 / seconds,
            outside_backend: 1.0 - inside / seconds,
        };
        if !wanted.json {
            writeln!(
                out,
                "{batch:>6} {playouts:>9} {:>8} {:>11.1} {:>14.2} %",
                result.calls,
                result.playouts_per_second,
                100.0 * result.outside_backend
            )?;
            out.flush()?;
        }
        results.push(result);
    }
    if wanted.json {
        writeln!(out, "{}", serde_json::to_string(&results).map_err(io::Error::from)?)?;
    }
    Ok(())
}
