//! Minimax: the evaluation alone, and searches from nothing by depth, in positions a second.
//!
//! `cargo bench --bench minimax -- depth` runs a part.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fianchetto::chess::Game;
use fianchetto::search::minimax::{Minimax, evaluate};
use fianchetto::search::{Limits, Player, Settings};
use std::hint::black_box;
use std::sync::atomic::AtomicBool;

const POSITIONS: [(&str, &str); 3] = [
    ("opening", "startpos"),
    ("middlegame", "r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQ1RK1 w - - 0 7"),
    ("endgame", "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"),
];

fn games() -> impl Iterator<Item = (&'static str, Game)> {
    POSITIONS.into_iter().map(|(name, fen)| (name, Game::from_fen(fen).unwrap().0))
}

/// Looks so many plies ahead, with nothing remembered; gives the positions looked at.
fn search(player: &mut Minimax, game: &Game, depth: u32) -> u64 {
    player.new_game();
    let (mut nodes, stop) = (0, AtomicBool::new(false));
    let limits = Limits { depth: Some(depth), ..Limits::default() };
    player.choose(game, &limits, &stop, &mut |report| nodes = report.nodes).unwrap();
    nodes
}

fn evaluation(criterion: &mut Criterion) {
    for (name, game) in games() {
        let id = format!("evaluation/{name}");
        criterion.bench_function(&id, |bencher| bencher.iter(|| evaluate(black_box(game.board()))));
    }
}

fn depth(criterion: &mut Criterion) {
    let mut player = Minimax::default();
    player.configure(&Settings { seed: 1, ..Settings::default() });
    for (name, game) in games() {
        let mut group = criterion.benchmark_group(format!("depth/{name}"));
        group.sample_size(10);
        for depth in 1..=5 {
            group.throughput(Throughput::Elements(search(&mut player, &game, depth)));
            group.bench_function(depth.to_string(), |bencher| {
                bencher.iter(|| search(&mut player, &game, depth));
            });
        }
    }
}

criterion_group!(benches, evaluation, depth);
criterion_main!(benches);
