//! `join`: several game files to one.

use crate::failure::Failure;
use crate::gamefile::{GameFile, Writer};
use crate::partial;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Several game files, such as the shards of one archive, to one.
///
/// The games stand in the order of the arguments, each file's in its own; blocks are checked and
/// copied as they are, so this costs no more than copying the files.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The game file to write
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// The game files to join
    #[arg(value_name = "PART", required = true)]
    pub parts: Vec<PathBuf>,
}

/// Joins files as asked, and tells on `told` what came of it.
///
/// # Errors
/// When a part cannot be read or is damaged, or the output not be written; there is none then.
pub fn join(options: &Options, told: &mut impl Write) -> Result<(), Failure> {
    partial::require_new(&options.out)?;
    partial::require_apart(&[partial::part(&options.out)], &options.parts)?;
    let parts: Vec<GameFile> =
        options.parts.iter().map(|path| GameFile::open(path)).collect::<Result<_, _>>()?;
    let part = partial::part(&options.out);
    let joined = write(&part, &parts);
    if joined.is_err() {
        // What went wrong is told; a half-written file that stays as well is no worse.
        let _ = std::fs::remove_file(&part);
    }
    let file = joined?;
    partial::finish(&file, &options.out)?;
    let games: u64 = parts.iter().map(GameFile::len).sum();
    let out = options.out.display();
    writeln!(told, "{out}: {games} games of {} files", parts.len())
        .map_err(|error| Failure(format!("{out} is finished, but: {}", Failure::untold(&error))))
}

fn write(path: &Path, parts: &[GameFile]) -> Result<File, Failure> {
    let file = File::create(path).map_err(|error| Failure::file("create", path, &error))?;
    let mut writer = Writer::new(file).map_err(|error| error.of(path))?;
    for part in parts {
        for block in 0..part.block_count() {
            writer.append(&part.raw_block(block)?).map_err(|error| error.of(path))?;
        }
    }
    Ok(writer.finish().map_err(|error| error.of(path))?)
}
