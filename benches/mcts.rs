//! The tree search: alone, over a backend that costs nothing, and with networks, by positions a call.
//!
//! `cargo bench --bench mcts -- fixed` runs a part.

#[path = "../tests/random_weights/mod.rs"]
mod random_weights;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fianchetto::backend::{Backend, cpu::Cpu, fixed::Fixed};
use fianchetto::chess::Game;
use fianchetto::encoding::Encoding;
use fianchetto::evaluator::Evaluator;
use fianchetto::network::{Network, embedded};
use fianchetto::search::mcts::{Mcts, Parameters};
use fianchetto::search::{Limits, Player, Settings};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn player(encoding: Encoding, backend: Box<dyn Backend>, mcts: Parameters) -> Mcts {
    let mut player = Mcts::new(Evaluator::new(encoding, backend));
    player.configure(&Settings { hash: 1024, mcts, ..Settings::default() });
    player
}

/// A search of so many playouts, from nothing.
fn search(player: &mut Mcts, game: &Game, nodes: u64) {
    player.new_game();
    let limits = Limits { nodes: Some(nodes), ..Limits::default() };
    player.choose(game, &limits, &AtomicBool::new(false), &mut |_| ()).unwrap();
}

/// What the search itself costs, up to a tree of a million nodes. Nothing is remembered, so that every
/// position is encoded.
fn fixed(criterion: &mut Criterion) {
    let middlegame = "r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQ1RK1 w - - 0 7";
    for (name, fen) in [("startpos", "startpos"), ("middlegame", middlegame)] {
        let (game, _) = Game::from_fen(fen).unwrap();
        let mut group = criterion.benchmark_group(format!("fixed/{name}"));
        group.sample_size(10);
        for nodes in [10_000, 100_000, 1_000_000] {
            let parameters = Parameters { cache_percent: 0, ..Parameters::default() };
            let mut player = player(Encoding::Canonical19, Box::<Fixed>::default(), parameters);
            group.throughput(Throughput::Elements(nodes));
            group.bench_function(nodes.to_string(), |bencher| {
                bencher.iter(|| search(&mut player, &game, nodes));
            });
        }
    }
}

/// A search with a network, one thread, by positions a call.
fn network(criterion: &mut Criterion, name: &str, weights: &[u8], nodes: u64) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).measurement_time(Duration::from_secs(4));
    for batch_size in [1, 2, 4, 8, 16, 32] {
        let network = Network::from_safetensors(weights).unwrap();
        let encoding = network.spec.encoding;
        let parameters = Parameters { batch_size, ..Parameters::default() };
        let mut player = player(encoding, Box::new(Cpu::new(network, 1)), parameters);
        group.throughput(Throughput::Elements(nodes));
        group.bench_function(batch_size.to_string(), |bencher| {
            bencher.iter(|| search(&mut player, &Game::default(), nodes));
        });
    }
}

fn built_in(criterion: &mut Criterion) {
    if let Some(weights) = embedded() {
        network(criterion, "built-in", weights, 200);
    }
}

/// The size of Sigma-Go, 256x10, with random weights.
fn sigma(criterion: &mut Criterion) {
    let file = random_weights::file(&random_weights::sigma_go(), 1);
    network(criterion, "256x10 absolute", &file, 65);
}

criterion_group!(benches, fixed, built_in, sigma);
criterion_main!(benches);
