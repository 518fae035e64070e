//! `pack`: PGN to a game file. Interrupted at any moment, it goes on where it was.

mod seen;
mod state;
mod steps;

use crate::failure::Failure;
use crate::filter::Filters;
use crate::gamefile::{self, Writer};
use crate::number::whole;
use crate::progress::{Progress, Unit};
use crate::shard::Shard;
use crate::{partial, threads};
use state::Job;
use std::fs::File;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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
    #[arg(long, value_name = "FILE", value_parser = partial::output("a game file goes to a file: name one"))]
    pub out: PathBuf,
    /// Only the games of one of N parts, I from 0: machines can share the work, `join` the parts
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Threads that work beside the one that reads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = whole(threads::ALLOWED))]
    pub threads: Option<NonZeroUsize>,
    /// Also write the report as JSON
    #[arg(long, value_name = "FILE", value_parser = partial::output("this report goes to a file: name one"))]
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
/// When an input cannot be opened or read to its end, no game is wanted, or the output cannot be
/// written. There is an output nevertheless when an input ends early and has games before the damage.
pub fn pack(options: &Options, told: &mut impl Write) -> Result<(), Failure> {
    partial::require_new(&options.out)?;
    let report_to = options.report.as_deref().map(partial::regular).transpose()?;
    let (part, state) = (partial::part(&options.out), partial::state(&options.out));
    let mut written = vec![options.out.clone(), part, state];
    written.extend(report_to.clone());
    partial::require_apart(&written, &options.inputs)?;
    report_to.as_deref().map_or(Ok(()), partial::require_writable)?;
    let job = Job::new(options)?;
    let (mut writer, start) = state::begin(&options.out, &job)?;

    let before: u64 = job.inputs[..start.done.len()].iter().filter_map(|source| source.bytes).sum();
    let read = Arc::new(AtomicU64::new(before));
    let total = job.inputs.iter().map(|source| source.bytes).sum();
    let progress = Progress::new();
    progress.begin("packing", Unit::Games, total, before, start.report.games());
    let mut point = start.clone();
    let mut noted: Option<Instant> = None;
    for step in steps(&job, &options.out, start, Arc::clone(&read), threads::count(options.threads))
    {
        let (block, reached) = step?;
        point = reached;
        progress.update(read.load(Ordering::Relaxed), point.report.games());
        let Some(block) = block else { continue };
        writer.append(&block).map_err(|error| error.of(&partial::part(&options.out)))?;
        if noted.is_none_or(|noted| noted.elapsed() >= NOTE_EVERY) {
            state::note(&options.out, &job, &point, &mut writer)?;
            noted = Some(Instant::now());
        }
    }
    drop(progress);

    let report = &point.report;
    if let Some(path) = &report_to {
        partial::write_json(path, report).map_err(|error| Failure::file("write", path, &error))?;
    }
    let nothing = report.nothing_kept();
    let size = match nothing {
        None => finish(writer, &options.out)?,
        Some(_) => {
            partial::discard(&options.out)?;
            String::new()
        }
    };
    let told = write!(told, "{report}{size}");
    let heard = match nothing {
        None => Failure::heard_of(told, &options.out),
        Some(_) => Failure::heard(told),
    };

    let nothing = nothing.map(|why| {
        let first = options.inputs[0].display();
        match options.inputs.len() - 1 {
            0 => format!("{first}: {why}"),
            others => format!("{first} and {others} more: {why}"),
        }
    });
    let failures: Vec<String> = report
        .damaged
        .iter()
        .cloned()
        .chain(nothing)
        .chain(heard.err().map(|failure| failure.0))
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(Failure(failures.join("; "))) }
}

/// Finishes the game file; returns a line on its size.
fn finish(writer: Writer<File>, out: &Path) -> Result<String, Failure> {
    let (games, plies) = (writer.games(), writer.plies());
    let file = writer.finish().map_err(|error| error.of(&partial::part(out)))?;
    partial::finish(&file, out)?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    Ok(format!(
        "{}: {games} games, {plies} plies, {}\n",
        out.display(),
        gamefile::size(bytes, plies)
    ))
}
