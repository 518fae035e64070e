//! What is to be packed and how far that is, in `OUT.state`.

use super::Options;
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

/// What determines the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub inputs: Vec<Source>,
    pub filters: Filters,
    pub shard: Option<Shard>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub path: PathBuf,
    /// `None` where it cannot be known: standard input and pipes.
    pub bytes: Option<u64>,
}

/// How far the work is when a block is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Point {
    /// The input to go on with, and how many of its games are dealt with.
    pub input: usize,
    pub games: u64,
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
}

impl State {
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
            return Ok(Self { path: path.to_owned(), bytes: None });
        }
        input::open(path)?;
        let known = known.map_err(|error| Failure::file("read", path, &error))?;
        Ok(Self { path: path.to_owned(), bytes: Some(known.len()) })
    }
}

/// The output and the point to go on from: that of the state, or the beginning.
pub fn begin(out: &Path, job: &Job) -> Result<(Writer<File>, Point), Failure> {
    let (part, state) = (partial::part(out), partial::state(out));
    let in_part = |error: GameFileError| {
        let (part, state) = (part.display(), state.display());
        Failure(format!("{part}: cannot go on: {error}; or remove it and {state} to begin anew"))
    };
    let failed = |error: io::Error| Failure::file("write", &part, &error);
    let (file, known) = partial::begin::<State>(out)?;
    // Without a block there is nothing to go on with.
    if let Some(known) = known.filter(|known| known.blocks > 0) {
        if known.job != *job || known.point.input > job.inputs.len() {
            return Err(Failure(format!(
                "{}: of an unfinished run with other inputs, filters or shard; give the same to go on, \
                 or remove it and {} to begin anew",
                state.display(),
                part.display()
            )));
        }
        let mut writer = Writer::resume(file, known.blocks).map_err(in_part)?;
        let file = writer.output();
        file.stream_position().and_then(|end| file.set_len(end)).map_err(failed)?;
        return Ok((writer, known.point));
    }
    let point = Point::default();
    State { job: job.clone(), point: point.clone(), blocks: 0 }.write(out)?;
    file.set_len(0).map_err(failed)?;
    Ok((Writer::new(file).map_err(in_part)?, point))
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
    State { job: job.clone(), point: point.clone(), blocks: writer.blocks() }.write(out)
}
