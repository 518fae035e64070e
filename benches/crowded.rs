//! Batch 1 by one thread and by two, in turn, first without and then with another process that keeps a core
//! busy, on a machine otherwise idle: two should help, and may never take more than 1.2 of the time of one.
//!
//! `cargo bench --bench crowded`

#[path = "../tests/random_weights/mod.rs"]
mod random_weights;

use fianchetto::backend::cpu::Cpu;
use fianchetto::backend::{Backend, Batch, Outputs};
use fianchetto::encoding::Encoding;
use fianchetto::network::Network;
use fianchetto::network::spec::Residual;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Turns of either, each of some evaluations in a row: a thread is at its best when it goes on.
const TURNS: usize = 60;
const TURN: Duration = Duration::from_millis(60);

/// A process that does nothing, as fast as it can, until it is dropped.
struct Busy(Child);

impl Busy {
    fn new() -> Self {
        let command = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        Self(command.expect("there is a shell"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // One that has ended by itself needs no end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The shortest of some times, their median and their mean, in milliseconds.
fn summary(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    [times[0], times[times.len() / 2], mean]
}

/// The times of one thread and of two.
fn measure(cpus: &mut [Cpu; 2], batch: &Batch) -> [[f64; 3]; 2] {
    let (mut outputs, mut times) = (Outputs::default(), [Vec::new(), Vec::new()]);
    for _ in 0..TURNS {
        for (cpu, times) in cpus.iter_mut().zip(&mut times) {
            let end = Instant::now() + TURN;
            while Instant::now() < end {
                let started = Instant::now();
                cpu.evaluate(batch, &mut outputs).expect("the batch is made for this network");
                times.push(started.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    times.map(summary)
}

fn main() {
    println!("{:<20} {:>9} {:>9} {:>9}", "1 thread, 2 (ratio)", "min ms", "median", "mean");
    for (name, channels, blocks) in [("64x6r2g", 64, 6), ("128x8r2g", 128, 8)] {
        let sizes = Residual {
            channels,
            blocks,
            se_width: Some(channels / 4),
            policy_channels: 32,
            value_channels: 16,
            value_hidden: 128,
            ..random_weights::small_sizes()
        };
        let spec = random_weights::residual(Encoding::Canonical19, sizes);
        let file = random_weights::file(&spec, 1);
        let load = || Network::from_safetensors(&file).expect("a good file");
        let mut cpus = [1, 2].map(|threads| Cpu::new(load(), threads));
        let mut batch = Batch::new(spec.encoding.planes());
        batch.push(|planes, indices| {
            planes.fill(0.5);
            indices.extend(0..30);
        });
        for (crowd, busy) in
            [("nothing beside", None), ("a busy loop beside", Some(Busy::new as fn() -> Busy))]
        {
            let busy = busy.map(|start| start());
            let [one, two] = measure(&mut cpus, &batch);
            drop(busy);
            let row = |times: [f64; 3]| times.map(|ms| format!("{ms:>9.3}")).join(" ");
            println!("{name}, {crowd}");
            println!("{:<20} {}\n{:<20} {}", "  1 thread", row(one), "  2 threads", row(two));
            let ratios = [0, 1, 2].map(|i| two[i] / one[i]);
            println!("{:<20} {}", "  ratio", row(ratios));
        }
    }
}
