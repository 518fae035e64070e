//! `pack`: PGN to a game file. Interrupted at any moment, it goes on where it was.

mod state;
mod steps;

use crate::failure::Failure;
use crate::filter::Filters;
use crate::number::whole;
use crate::progress::Progress;
use crate::shard::Shard;
use crate::{partial, threads};
use state::Job;
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use steps::steps;

/// The least time between two notes of how far the work is.
const NOTE_EVERY: Duration = Duration::from_secs(1);

/// PGN games to a compact game file.
///
/// Interrupted (Ctrl-C, a lost machine), the same command goes on where it was, from OUT.part and
/// OUT.state beside the output. The output does not depend on threads or interruptions. Games played
/// twice are kept twice.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// PGN files, plain or compressed by zstd or gzip; - for standard input
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// The game file to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Only the games of one of N parts, I from 0: machines can share the work, `join` the parts
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Threads that work beside the one that reads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = whole(threads::ALLOWED))]
    pub threads: Option<NonZeroUsize>,
    /// Also write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub filters: Filters,
}

impl Options {
    /// Whether the arguments go together.
    ///
    /// # Errors
    /// Which do not, and what to do.
    pub fn check(&self) -> Result<(), String> {
        if self.inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err("- is given twice, but standard input can be read once; expected one -: \
                        leave the other away"
                .to_owned());
        }
        self.filters.check()
    }
}

/// Packs games as asked, and tells on `told` what became of them.
///
/// # Errors
/// When an input cannot be opened or read to its end, or the output not be written. In the second
/// case, and only then, the output is there nevertheless, with the games before the damage.
pub fn pack(options: &Options, told: &mut impl Write) -> Result<(), Failure> {
    partial::require_new(&options.out)?;
    let mut written = vec![partial::part(&options.out), partial::state(&options.out)];
    written.extend(options.report.clone());
    partial::require_apart(&written, &options.inputs)?;
    let job = Job::new(options)?;
    let (mut writer, start) = state::begin(&options.out, &job)?;

    let before: u64 = job.inputs[..start.input].iter().filter_map(|source| source.bytes).sum();
    let read = Arc::new(AtomicU64::new(before));
    let total = job.inputs.iter().map(|source| source.bytes).sum();
    let mut progress = Progress::new(total, Arc::clone(&read), start.report.games());
    let mut point = start.clone();
    let mut noted: Option<Instant> = None;
    for step in steps(&job, start, read, threads::count(options.threads)) {
        let (block, reached) = step?;
        point = reached;
        progress.update(point.report.games());
        let Some(block) = block else { continue };
        writer.append(&block).map_err(|error| error.of(&partial::part(&options.out)))?;
        if noted.is_none_or(|noted| noted.elapsed() >= NOTE_EVERY) {
            state::note(&options.out, &job, &point, &mut writer)?;
            noted = Some(Instant::now());
        }
    }
    progress.finish();

    let (games, plies) = (writer.games(), writer.plies());
    let file = writer.finish().map_err(|error| error.of(&partial::part(&options.out)))?;
    if let Some(path) = &options.report {
        partial::write_json(path, &point.report)
            .map_err(|error| Failure::file("write", path, &error))?;
    }
    partial::finish(&file, &options.out)?;
    // Should it stay behind, it means nothing without OUT.part.
    let _ = fs::remove_file(partial::state(&options.out));

    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let summary = format!(
        "{}{}: {games} games, {plies} plies, {bytes} bytes, {:.3} bytes a ply",
        point.report,
        options.out.display(),
        bytes as f64 / plies.max(1) as f64
    );
    writeln!(told, "{summary}").map_err(|error| {
        let out = options.out.display();
        Failure(format!("{out} is finished, but: {}", Failure::untold(&error)))
    })?;
    match point.report.damaged.first() {
        None => Ok(()),
        Some(damage) => Err(Failure(damage.clone())),
    }
}
