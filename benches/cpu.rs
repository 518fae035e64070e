//! The forward pass on the processor, stage by stage and whole, with random weights.
//!
//! `cargo bench -- convolution/128` runs a part.

#[path = "../tests/random_weights/mod.rs"]
mod random_weights;

use criterion::{Criterion, criterion_group, criterion_main};
use fianchetto::backend::cpu::{Algorithm, Cpu, Settings, Stage};
use fianchetto::backend::{Backend, Batch, Outputs};
use fianchetto::chess::Game;
use fianchetto::encoding::Encoding;
use fianchetto::network::spec::Residual;
use fianchetto::network::{Network, Spec};
use std::time::Duration;

const BATCHES: [usize; 3] = [1, 8, 64];

fn network(spec: &Spec) -> Network {
    Network::from_safetensors(&random_weights::file(spec, 1)).unwrap()
}

/// One like RDTChess, plain or with gate, recurrence and squeeze-and-excitation.
fn residual(channels: usize, blocks: usize, full: bool) -> Spec {
    let sizes = Residual {
        channels,
        blocks,
        recurrence: if full { 2 } else { 1 },
        gate: full,
        se_width: full.then_some(channels / 4),
        policy_channels: 32,
        value_channels: 16,
        value_hidden: 128,
        ..random_weights::small_sizes()
    };
    random_weights::residual(Encoding::Canonical19, sizes)
}

/// The start position, with its moves, so many times.
fn batch(network: &Network, n: usize) -> Batch {
    let (encoding, game) = (network.spec.encoding, Game::default());
    let mut batch = Batch::new(encoding.planes());
    for _ in 0..n {
        batch.push(|planes, indices| {
            encoding.encode(&game, planes);
            indices
                .extend(game.legal_moves().into_iter().filter_map(|mv| encoding.index(&game, mv)));
        });
    }
    batch
}

/// The time that one thread spends on some stages.
fn stages(criterion: &mut Criterion, id: &str, cpu: &mut Cpu, batch: &Batch, of: &[Stage]) {
    let mut outputs = Outputs::default();
    criterion.bench_function(id, |bencher| {
        bencher.iter_custom(|iterations| {
            let mut time = Duration::ZERO;
            for _ in 0..iterations {
                let spent = cpu.profile(batch, &mut outputs).unwrap();
                let stages = Stage::ALL.into_iter().zip(spent);
                time += stages
                    .filter(|(stage, _)| of.contains(stage))
                    .map(|(_, s)| s.time)
                    .sum::<Duration>();
            }
            time
        });
    });
}

/// The two 3x3 convolutions of a block: of each size, by each algorithm.
fn convolution(criterion: &mut Criterion) {
    for channels in [64, 128, 256] {
        for algorithm in Algorithm::PLAIN {
            for n in BATCHES {
                let network = network(&residual(channels, 1, false));
                let batch = batch(&network, n);
                let settings =
                    Settings { threads: 1, algorithm: Some(algorithm), ..Settings::default() };
                let mut cpu = Cpu::with(network, settings).unwrap();
                let id = format!("convolution/{channels}/{algorithm}/{n}");
                let of = [Stage::Transforms, Stage::Products, Stage::Inverses];
                stages(criterion, &id, &mut cpu, &batch, &of);
            }
        }
    }
}

/// Everything else: twice one block of 128 channels.
fn others(criterion: &mut Criterion) {
    for n in BATCHES {
        let network = network(&residual(128, 1, true));
        let batch = batch(&network, n);
        let mut cpu = Cpu::new(network, 1);
        for stage in [Stage::Stem, Stage::Maps, Stage::SqueezeExcite, Stage::Gate, Stage::Heads] {
            let id = format!("{}/{n}", stage.name());
            stages(criterion, &id, &mut cpu, &batch, &[stage]);
        }
    }
}

/// Whole networks by batch and threads.
fn whole(criterion: &mut Criterion) {
    let specs = [
        ("64x6r2g", residual(64, 6, true)),
        ("128x8", residual(128, 8, false)),
        ("128x8r2gs32", residual(128, 8, true)),
        ("sigma-go 256x10", random_weights::sigma_go()),
        ("from-to 128x1024", random_weights::pair(128, 1024)),
    ];
    for (name, spec) in specs {
        for threads in [1, 2] {
            for n in BATCHES {
                let network = network(&spec);
                let batch = batch(&network, n);
                let mut outputs = Outputs::default();
                let mut cpu = Cpu::new(network, threads);
                let id = format!("whole/{name}/{threads} threads/{n}");
                criterion.bench_function(&id, |bencher| {
                    bencher.iter(|| cpu.evaluate(&batch, &mut outputs).unwrap());
                });
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = convolution, others, whole
}
criterion_main!(benches);
