//! `speed`: latency and positions a second of the loaded network.

use super::arguments::{Kernel, Speed};
use super::{Failure, positions, search_speed};
use fianchetto::backend::cpu::{Cpu, Settings, Spent, Stage};
use fianchetto::backend::{Backend, Batch, Outputs};
use fianchetto::encoding::Encoding;
use fianchetto::engine;
use fianchetto::network::Network;
use fianchetto::uci::Options;
use serde::Serialize;
use std::io::{self, Write};
use std::time::{Duration, Instant};

#[derive(Serialize)]
struct Measurement<'a> {
    network: &'a str,
    backend: String,
    threads: u32,
    results: Vec<BatchResult>,
}

#[derive(Serialize)]
struct BatchResult {
    batch: usize,
    runs: usize,
    median_ms: f64,
    min_ms: f64,
    positions_per_second: f64,
}

/// The batch sizes measured where none are asked for.
const BATCHES: [usize; 3] = [1, 8, 64];

pub fn run(wanted: &Speed, options: &Options, out: &mut impl Write) -> Result<(), Failure> {
    if wanted.search {
        return search_speed::run(wanted, options, out);
    }
    let network = engine::network(options).map_err(Failure::Work)?;
    let encoding = network.spec.encoding;
    if wanted.roofline {
        let options = Options { threads: 1, ..options.clone() };
        return roofline(cpu(network, &options, wanted.kernel)?, encoding, wanted, out);
    }
    let mut backend: Box<dyn Backend> = match wanted.kernel {
        Kernel { instructions: None, algorithm: None } => engine::backend(network, options),
        kernel => Box::new(cpu(network, options, kernel)?),
    };
    let mut measurement = Measurement {
        network: engine::weights_name(options),
        backend: backend.name(),
        threads: options.threads,
        results: Vec::new(),
    };
    if !wanted.json {
        let device = backend.device();
        writeln!(out, "{} on {}, {device}", measurement.network, measurement.backend)?;
        writeln!(
            out,
            "{:>6} {:>6} {:>11} {:>11} {:>13}",
            "batch", "runs", "median ms", "min ms", "positions/s"
        )?;
        out.flush()?;
    }
    for size in batches(wanted, &BATCHES) {
        let batch = fill(encoding, size)?;
        let mut outputs = Outputs::default();
        let mut evaluate = || {
            let started = Instant::now();
            let done = backend.evaluate(&batch, &mut outputs);
            done.map(|()| started.elapsed()).map_err(|error| Failure::Work(error.to_string()))
        };
        evaluate()?; // The first run touches new memory.
        let end = Instant::now() + Duration::from_secs_f64(wanted.seconds);
        let mut times = Vec::new();
        while times.is_empty() || Instant::now() < end {
            times.push(evaluate()?.as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        let result = BatchResult {
            batch: size,
            runs: times.len(),
            median_ms: median,
            min_ms: times[0],
            positions_per_second: size as f64 / median * 1e3,
        };
        if !wanted.json {
            writeln!(
                out,
                "{size:>6} {:>6} {median:>11.3} {:>11.3} {:>13.1}",
                result.runs, result.min_ms, result.positions_per_second
            )?;
            out.flush()?;
        }
        measurement.results.push(result);
    }
    if wanted.json {
        writeln!(out, "{}", serde_json::to_string(&measurement).map_err(io::Error::from)?)?;
    }
    Ok(())
}

/// The batch sizes asked for, or the usual ones.
pub fn batches(wanted: &Speed, usual: &[usize]) -> Vec<usize> {
    if wanted.batches.is_empty() { usual.to_vec() } else { wanted.batches.clone() }
}

/// For each batch size a table of the stages of the forward pass, of the fastest run.
fn roofline(
    mut cpu: Cpu,
    encoding: Encoding,
    wanted: &Speed,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let peak = cpu.peak();
    writeln!(out, "{}: at most {:.1} GMAC/s on a core", cpu.name(), peak / 1e9)?;
    for size in batches(wanted, &BATCHES) {
        let batch = fill(encoding, size)?;
        let mut outputs = Outputs::default();
        let mut profile =
            || cpu.profile(&batch, &mut outputs).map_err(|error| Failure::Work(error.to_string()));
        let total = |spent: &[Spent]| spent.iter().map(|spent| spent.time).sum::<Duration>();
        profile()?; // The first run touches new memory.
        let end = Instant::now() + Duration::from_secs_f64(wanted.seconds);
        let mut best = profile()?;
        while Instant::now() < end {
            let next = profile()?;
            if total(&next) < total(&best) {
                best = next;
            }
        }
        writeln!(out)?;
        writeln!(
            out,
            "{:<24} {:>11} {:>6} {:>8} {:>8}",
            format!("batch {size}"),
            "us/position",
            "share",
            "GMAC/s",
            "of peak"
        )?;
        let products = best.iter().map(|spent| spent.products).sum();
        let whole = Spent { time: total(&best), products };
        let stages = Stage::ALL.into_iter().map(Stage::name).zip(best);
        for (name, spent) in
            stages.chain([("all", whole)]).filter(|(_, spent)| !spent.time.is_zero())
        {
            let seconds = spent.time.as_secs_f64();
            let share = 100.0 * seconds / whole.time.as_secs_f64();
            write!(out, "{name:<24} {:>11.1} {share:>4.0} %", seconds * 1e6 / size as f64)?;
            if spent.products > 0 {
                let speed = spent.products as f64 / seconds;
                write!(out, " {:>8.1} {:>6.0} %", speed / 1e9, 100.0 * speed / peak)?;
            }
            writeln!(out)?;
        }
        out.flush()?;
    }
    Ok(())
}

/// The processor, with a network to run and kernels chosen by hand.
fn cpu(network: Network, options: &Options, kernel: Kernel) -> Result<Cpu, Failure> {
    let Kernel { instructions, algorithm } = kernel;
    let settings = Settings { threads: options.threads as usize, instructions, algorithm };
    Cpu::with(network, settings).map_err(|error| Failure::Work(error.to_string()))
}

/// A batch of `size` positions with the indices of their legal moves.
fn fill(encoding: Encoding, size: usize) -> Result<Batch, Failure> {
    let mut batch = Batch::new(encoding.planes());
    for game in positions()?.iter().cycle().take(size) {
        batch.push(|planes, indices| {
            encoding.encode(game, planes);
            indices
                .extend(game.legal_moves().into_iter().filter_map(|mv| encoding.index(game, mv)));
        });
    }
    Ok(batch)
}
