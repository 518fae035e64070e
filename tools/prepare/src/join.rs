//! `join`: several game files to one.

use crate::failure::Failure;
use crate::gamefile::{GameFile, Writer};
use crate::partial::{self, part, state};
use same_file::Handle;
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
    #[arg(value_name = "OUT", value_parser = partial::output("a game file goes to a file: name one"))]
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
    partial::require_apart(&[part(&options.out), state(&options.out)], &options.parts)?;
    let parts: Vec<GameFile> =
        options.parts.iter().map(|path| GameFile::open(path)).collect::<Result<_, _>>()?;
    require_different(&options.parts, &parts)?;
    let (file, begun) = partial::begin::<Vec<PathBuf>>(&options.out)?;
    if begun.is_some_and(|parts| parts != options.parts) {
        let [state, part] = [state(&options.out), part(&options.out)];
        return Err(Failure(format!(
            "{}: of an unfinished run with other parts; give the same, or remove it and {} to begin anew",
            state.display(),
            part.display()
        )));
    }
    let joined = write(file, options, &parts);
    if joined.is_err() {
        // What went wrong is told; a half-written file that stays as well is no worse.
        let _ = partial::discard(&options.out);
    }
    partial::finish(&joined?, &options.out)?;
    let games: u64 = parts.iter().map(GameFile::len).sum();
    let out = options.out.display();
    let heard = writeln!(told, "{out}: {games} games of {} files", parts.len());
    Failure::heard_of(heard, &options.out)
}

/// Refuses a file that is named twice, and a copy of one: all its games would be there twice.
fn require_different(paths: &[PathBuf], parts: &[GameFile]) -> Result<(), Failure> {
    let mut known: Vec<(Handle, Content, &Path)> = Vec::new();
    for (path, part) in paths.iter().zip(parts) {
        let handle =
            Handle::from_path(path).map_err(|error| Failure::file("open", path, &error))?;
        let content = content(part)?;
        let twice = |found: &str, other: &Path| {
            Err(Failure(format!(
                "{} and {} {found}, which would be there twice; name each part once",
                other.display(),
                path.display()
            )))
        };
        for (other_handle, other_content, other) in &known {
            if *other_handle == handle {
                return twice("are the same file with the same games", other);
            }
            if content.is_some() && *other_content == content {
                return twice("are copies with the same games", other);
            }
        }
        known.push((handle, content, path));
    }
    Ok(())
}

/// By what a part and its copy are known: games, plies and checksum. `None` for parts without games, of
/// which there may be several.
type Content = Option<(u64, u64, u32)>;

fn content(part: &GameFile) -> Result<Content, Failure> {
    if part.is_empty() {
        return Ok(None);
    }
    Ok(Some((part.len(), part.plies(), part.checksum()?)))
}

fn write(file: File, options: &Options, parts: &[GameFile]) -> Result<File, Failure> {
    let state = state(&options.out);
    partial::write_json(&state, &options.parts)
        .map_err(|error| Failure::file("write", &state, &error))?;
    let path = part(&options.out);
    file.set_len(0).map_err(|error| Failure::file("write", &path, &error))?;
    let mut writer = Writer::new(file).map_err(|error| error.of(&path))?;
    for part in parts {
        for block in 0..part.block_count() {
            writer.append(&part.raw_block(block)?).map_err(|error| error.of(&path))?;
        }
    }
    Ok(writer.finish().map_err(|error| error.of(&path))?)
}
