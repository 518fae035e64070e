//! What is to be packed and how far that is, in `OUT.state`.

use super::Options;
use super::seen::Seen;
use crate::failure::Failure;
use crate::filter::Filters;
use crate::gamefile::{GameFileError, Writer};
use crate::report::Report;
use crate::shard::Shard;
use crate::{input, partial};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What determines the output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub inputs: Vec<Source>,
    pub filters: Filters,
    pub shard: Option<Shard>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    pub path: PathBuf,
    /// `None` where it cannot be known: standard input and pipes.
    pub bytes: Option<u64>,
    /// When it was last changed, where that is known.
    changed: Option<SystemTime>,
}

/// How far the work is when a block is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Point {
    /// The inputs read to their ends.
    pub done: Vec<Seen>,
    /// What is dealt with of the one after them.
    pub seen: Seen,
    pub report: Report,
}

/// What `OUT.state` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    job: Job,
    point: Point,
    /// Blocks of `OUT.part` up to there.
    blocks: u64,
}

impl Job {
    /// The job that the options describe. Inputs are looked at, so that a wrong name shows at once.
    pub fn new(options: &Options) -> Result<Self, Failure> {
        let inputs =
            options.inputs.iter().map(|path| Source::new(path)).collect::<Result<_, _>>()?;
        Ok(Self { inputs, filters: options.filters.clone(), shard: options.shard })
    }

    /// In what another job differs from this one, as in "an unfinished run …".
    fn difference(&self, other: &Self) -> Option<String> {
        let paths = |job: &Self| -> Vec<PathBuf> {
            job.inputs.iter().map(|source| source.path.clone()).collect()
        };
        if paths(self) != paths(other) {
            let names: Vec<String> =
                self.inputs.iter().map(|source| source.path.display().to_string()).collect();
            return Some(format!("with other inputs: {}", names.join(" ")));
        }
        let mut sources = self.inputs.iter().zip(&other.inputs);
        if let Some((then, now)) = sources.find(|(then, now)| then.bytes != now.bytes) {
            let size = |source: &Source| match source.bytes {
                Some(bytes) => format!("{bytes} bytes"),
                None => "a stream".to_owned(),
            };
            let name = then.path.display();
            return Some(format!("when {name} was {}, now it is {}", size(then), size(now)));
        }
        if self.filters != other.filters {
            return Some("with other filters".to_owned());
        }
        (self.shard != other.shard).then(|| match self.shard {
            Some(shard) => format!("with --shard {shard}"),
            None => "without --shard".to_owned(),
        })
    }
}

impl State {
    fn new(job: &Job, point: &Point, blocks: u64) -> Self {
        Self { job: job.clone(), point: point.clone(), blocks }
    }

    /// Whether `job` is what this state is of. Inputs that were read to their ends are read again
    /// where they may have changed; the one to go on with will be anyhow.
    ///
    /// # Errors
    /// When it is another one, with the difference.
    fn require_same(&self, job: &Job, out: &Path) -> Result<(), Failure> {
        if let Some(difference) = self.job.difference(job) {
            return Err(Failure(format!(
                "{}: of an unfinished run {difference}; give the same to go on, or remove it and {} to \
                 begin anew",
                partial::state(out).display(),
                partial::part(out).display()
            )));
        }
        let sources = self.job.inputs.iter().zip(&job.inputs);
        for ((then, now), seen) in sources.zip(&self.point.done) {
            if then.changed != now.changed {
                seen.require_all(&now.path, out)?;
            }
        }
        Ok(())
    }

    fn write(&self, out: &Path) -> Result<(), Failure> {
        let path = partial::state(out);
        partial::write_json(&path, self).map_err(|error| Failure::file("write", &path, &error))
    }
}

impl Source {
    fn new(path: &Path) -> Result<Self, Failure> {
        let known = fs::metadata(path);
        let is_stream = path == Path::new("-")
            || known.as_ref().is_ok_and(|known| !known.is_file() && !known.is_dir());
        if is_stream {
            return Ok(Self { path: path.to_owned(), bytes: None, changed: None });
        }
        input::open(path)?;
        let known = known.map_err(|error| Failure::file("read", path, &error))?;
        let changed = known.modified().ok();
        Ok(Self { path: path.to_owned(), bytes: Some(known.len()), changed })
    }
}

/// The output and the point to go on from: that of the state, or the beginning.
pub fn begin(out: &Path, job: &Job) -> Result<(Writer<File>, Point), Failure> {
    let (part, state) = (partial::part(out), partial::state(out));
    // What to do with any other damaged game file is no advice here.
    let damaged = |error: GameFileError| {
        let found = match error {
            GameFileError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                return Failure::file("read", &part, &error);
            }
            GameFileError::Io(_) => "it is shorter than it was".to_owned(),
            GameFileError::Damaged(what) => what,
            _ => "it does not begin as a game file".to_owned(),
        };
        let (part, state) = (part.display(), state.display());
        Failure(format!(
            "{part}: cannot go on: {found}, expected what the unfinished run had written; remove it \
             and {state} to begin anew"
        ))
    };
    let failed = |error: io::Error| Failure::file("write", &part, &error);
    let (file, known) = partial::begin::<State>(out)?;
    // Without a block there is nothing to go on with.
    if let Some(known) = known.filter(|known| known.blocks > 0) {
        known.require_same(job, out)?;
        let mut writer = Writer::resume(file, known.blocks).map_err(damaged)?;
        let file = writer.output();
        file.stream_position().and_then(|end| file.set_len(end)).map_err(failed)?;
        return Ok((writer, known.point));
    }
    let point = Point::default();
    State::new(job, &point, 0).write(out)?;
    file.set_len(0).map_err(failed)?;
    Ok((Writer::new(file).map_err(|error| error.of(&part))?, point))
}

/// Notes the point reached, after all blocks before it have reached the disk.
pub fn note(
    out: &Path,
    job: &Job,
    point: &Point,
    writer: &mut Writer<File>,
) -> Result<(), Failure> {
    let synced = writer.output().sync_data();
    synced.map_err(|error| Failure::file("write", &partial::part(out), &error))?;
    State::new(job, point, writer.blocks()).write(out)
}
