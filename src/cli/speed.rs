//! `speed`: latency and positions a second of the loaded network.

use super::arguments::Speed;
use super::{Failure, engine, positions};
use fianchetto::backend::{Batch, Outputs};
use fianchetto::encoding::Encoding;
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

pub fn run(wanted: &Speed, options: &Options, out: &mut impl Write) -> Result<(), Failure> {
    let network = engine::network(options).map_err(Failure::Work)?;
    let encoding = network.spec.encoding;
    let mut backend = engine::backend_with(network, options, wanted.kernel)?;
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
    for &size in &wanted.batches {
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
