//! What only a GPU can show: equal to the processor on real positions, and how fast.

use crate::random::Random;
use crate::random_weights;
use fianchetto::backend::cpu::Cpu;
use fianchetto::backend::cuda::{Arithmetic, Cuda, Settings};
use fianchetto::backend::{Backend, Batch, Outputs};
use fianchetto::chess::Game;
use fianchetto::encoding::Encoding;
use fianchetto::network::spec::Residual;
use fianchetto::network::{Network, embedded};
use std::time::Instant;

/// Positions of games of random moves, with the indices of their legal moves.
fn positions(encoding: Encoding, count: usize) -> Batch {
    let mut random = Random::new(7);
    let mut batch = Batch::new(encoding.planes());
    let mut game = Game::default();
    while batch.len() < count {
        let moves = game.legal_moves();
        if moves.is_empty() || game.moves().len() > 120 {
            game = Game::default();
            continue;
        }
        batch.push(|planes, indices| {
            encoding.encode(&game, planes);
            indices.extend(moves.iter().filter_map(|&mv| encoding.index(&game, mv)));
        });
        game.play_legal(random.choose(&moves));
    }
    batch
}

/// The first positions of a batch.
fn part(batch: &Batch, count: usize) -> Batch {
    let mut part = Batch::new(batch.planes_per_position());
    for i in (0..batch.len()).cycle().take(count) {
        part.push(|planes, indices| {
            planes.copy_from_slice(batch.planes(i));
            indices.extend(batch.indices(i));
        });
    }
    part
}

fn best(logits: &[f32]) -> usize {
    (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap_or_default()
}

fn in_arithmetic(arithmetic: Arithmetic) -> Settings {
    Settings { arithmetic: Some(arithmetic), ..Settings::default() }
}

/// The network in the program, or one of random weights, against the processor on many positions.
pub fn parity(count: usize) {
    let network = match embedded() {
        Some(bytes) => Network::from_safetensors(bytes).unwrap(),
        None => rdtchess(),
    };
    let batch = positions(network.spec.encoding, count);
    let (mut expected, mut outputs) = (Outputs::default(), Outputs::default());
    Cpu::new(network.clone(), std::thread::available_parallelism().map_or(1, usize::from))
        .evaluate(&batch, &mut expected)
        .unwrap();
    let largest = expected.logits.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    for (arithmetic, tolerance, agreement) in
        [(Arithmetic::Single, 1e-4, 1.0), (Arithmetic::Half, 1e-2, 0.99)]
    {
        let mut cuda = Cuda::with(&network, in_arithmetic(arithmetic)).unwrap();
        cuda.evaluate(&batch, &mut outputs).unwrap();
        let worst = |ours: &[f32], theirs: &[f32]| {
            let differences = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs());
            differences.fold(0.0_f32, |m, x| if m >= x { m } else { x }) // NaN is the largest.
        };
        let logit = worst(&outputs.logits, &expected.logits) / largest;
        let value = worst(&outputs.values, &expected.values);
        let same = (0..batch.len()).filter(|&i| {
            best(&outputs.logits[batch.span(i..i + 1)])
                == best(&expected.logits[batch.span(i..i + 1)])
        });
        let same = same.count() as f64 / batch.len() as f64;
        println!(
            "parity\t{}\t{count} positions\tlogits {logit:.1e} of the largest\tvalues {value:.1e}\tsame best move {:.2} %",
            cuda.name(),
            100.0 * same
        );
        assert!(
            logit <= tolerance && value <= tolerance && same >= agreement,
            "more than {tolerance:e}"
        );
    }
}

/// A network of the size of RDTChess, of random weights.
fn rdtchess() -> Network {
    let sizes = Residual {
        channels: 128,
        blocks: 8,
        recurrence: 2,
        gate: true,
        se_width: Some(32),
        conv_bias: false,
        policy_channels: 32,
        value_channels: 16,
        value_hidden: 128,
        ..random_weights::small_sizes()
    };
    let spec = random_weights::residual(Encoding::Canonical19, sizes);
    Network::from_safetensors(&random_weights::file(&spec, 1)).unwrap()
}

/// Two launches for a profiler, one in each arithmetic.
pub fn profile() {
    let network = rdtchess();
    let batch = positions(network.spec.encoding, 132);
    for arithmetic in [Arithmetic::Single, Arithmetic::Half] {
        let mut cuda = Cuda::with(&network, in_arithmetic(arithmetic)).unwrap();
        cuda.evaluate(&batch, &mut Outputs::default()).unwrap();
    }
}

/// Latency from a batch in the host's memory to its outputs there.
pub fn timing(seconds: f64) {
    for (name, network) in timed() {
        let all = positions(network.spec.encoding, 64);
        for arithmetic in [Arithmetic::Single, Arithmetic::Half] {
            let mut cuda = Cuda::with(&network, in_arithmetic(arithmetic)).unwrap();
            println!(
                "{name}: {}, {}, batch sizes {:?}",
                cuda.name(),
                cuda.device(),
                cuda.batch_sizes()
            );
            for size in [1, 8, 64, 132, 256, 264, 1024] {
                time(&format!("timing\t{name}"), &mut cuda, &part(&all, size), seconds);
            }
        }
    }
}

/// The same of small batches for every split there is, from which to tell which one a batch should have.
pub fn splits(seconds: f64) {
    for (name, network) in timed() {
        let all = positions(network.spec.encoding, 64);
        for arithmetic in [Arithmetic::Single, Arithmetic::Half] {
            for split in [1, 2, 4, 8] {
                let settings = Settings { split: Some(split), ..in_arithmetic(arithmetic) };
                match Cuda::with(&network, settings) {
                    Ok(mut cuda) => {
                        for size in [1, 8, 16, 33, 66] {
                            let what = format!("split {split}\t{name}");
                            time(&what, &mut cuda, &part(&all, size), seconds);
                        }
                    }
                    Err(error) => println!("split {split}\t{name}\t{arithmetic:?}\t{error}"),
                }
            }
        }
    }
}

/// Networks of random weights that are timed, with their names.
fn timed() -> [(&'static str, Network); 2] {
    let wide = random_weights::file(&random_weights::sigma_go(), 1);
    [("128x8x2", rdtchess()), ("256x10", Network::from_safetensors(&wide).unwrap())]
}

/// Prints how long a batch takes.
fn time(what: &str, cuda: &mut Cuda, batch: &Batch, seconds: f64) {
    let mut outputs = Outputs::default();
    let mut times = Vec::new();
    let started = Instant::now();
    while times.len() < 5 || started.elapsed().as_secs_f64() < seconds {
        let started = Instant::now();
        cuda.evaluate(batch, &mut outputs).unwrap();
        times.push(started.elapsed().as_secs_f64());
    }
    times.remove(0); // Allocates.
    times.sort_by(f64::total_cmp);
    let (size, median) = (batch.len(), times[times.len() / 2]);
    println!(
        "{what}\t{}\tbatch {size}\tmedian {:.3} ms\tleast {:.3} ms\t{:.0} positions/s",
        cuda.name(),
        median * 1e3,
        times[0] * 1e3,
        size as f64 / median
    );
}
