//! How fast single positions were judged.

use crate::contender::{Asker, Contender, Effort};
use crate::table::Table;
use indicatif::HumanCount;
use serde::Serialize;
use std::time::Duration;

/// What a run judged, in what time. What an interrupted run had judged before does not count.
#[derive(Clone, Debug, Serialize)]
pub struct Speed {
    /// What it judged, in the plural.
    of: &'static str,
    /// How many.
    count: u64,
    /// From the start of the contenders to the last answer, by the clock.
    seconds: f64,
    /// `count` in `seconds`.
    a_second: f64,
    /// How many were judged at a time.
    at_a_time: usize,
    players: Vec<Pace>,
}

/// How fast a player answered.
#[derive(Clone, Debug, Serialize)]
struct Pace {
    name: String,
    /// Of each copy of it, of which there is one for each that is judged at a time; `null` where not known.
    threads: Option<u32>,
    positions: u64,
    /// Looked at for the answers, of a network evaluated; `null` where not told.
    nodes: Option<u64>,
    /// That its answers took, by the clock, on average over its copies.
    seconds: f64,
    positions_a_second: f64,
    nodes_a_second: Option<f64>,
}

impl Speed {
    /// Of workers that each had a copy of every contender; `None` when there was nothing to do.
    pub fn of(
        of: &'static str,
        count: usize,
        time: Duration,
        contenders: &[Contender],
        workers: &[Vec<Asker>],
    ) -> Option<Self> {
        let pace = |(i, contender): (usize, &Contender)| {
            let mut sum = Effort::default();
            for Effort { positions, nodes, time } in workers.iter().map(|all| all[i].effort()) {
                sum.positions += positions;
                sum.nodes += nodes;
                sum.time += time;
            }
            let seconds = sum.time.as_secs_f64() / workers.len() as f64;
            let nodes = (sum.nodes > 0).then_some(sum.nodes);
            Pace {
                name: contender.label.clone(),
                threads: contender.threads(),
                positions: sum.positions,
                nodes,
                seconds,
                positions_a_second: rate(sum.positions, seconds),
                nodes_a_second: nodes.map(|nodes| rate(nodes, seconds)),
            }
        };
        (count > 0 && !workers.is_empty()).then(|| Self {
            of,
            count: count as u64,
            seconds: time.as_secs_f64(),
            a_second: rate(count as u64, time.as_secs_f64()),
            at_a_time: workers.len(),
            players: contenders.iter().enumerate().map(pace).collect(),
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let Self { of, count, seconds, a_second, at_a_time, players } = self;
        let mut table =
            Table::new(["asked", "positions", "a second", "nodes", "a second", "threads"]);
        for pace in players {
            let threads = pace.threads.map_or("?".to_owned(), |threads| threads.to_string());
            table.row([
                pace.name.clone(),
                HumanCount(pace.positions).to_string(),
                figure(pace.positions_a_second),
                pace.nodes.map_or("-".to_owned(), |nodes| HumanCount(nodes).to_string()),
                pace.nodes_a_second.map_or("-".to_owned(), figure),
                format!("{at_a_time} x {threads}"),
            ]);
        }
        format!(
            "\n{} {of} in {seconds:.1} seconds, {} a second, {at_a_time} at a time\n\n{table}",
            HumanCount(*count),
            figure(*a_second)
        )
    }
}

fn rate(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds.max(1e-9)
}

/// A rate, of three digits at least.
fn figure(rate: f64) -> String {
    if rate >= 100.0 { HumanCount(rate.round() as u64).to_string() } else { format!("{rate:.2}") }
}
