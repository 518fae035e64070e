//! The files of a run, NAME.json and so on: what of them is there already must be the run's own.

use crate::page::{self, with_ending};
use crate::pgn;
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::partial;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of a file by which it is known; a page's head is in them.
const BEGINNING: u64 = 512;

/// Reads NAME, to which the endings are added.
///
/// # Errors
/// In words, when it names a folder.
pub fn stem(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let named = path.file_name().is_some() && !text.ends_with('/');
    let expected = "expected how the names of files begin, such as results/first";
    if named { Ok(path) } else { Err(expected.to_owned()) }
}

/// Makes sure, before all the work, that a run can write `STEM.json`, `STEM.html` and, if it has games,
/// `STEM.pgn`, and that none of them is somebody else's. `own` is what its figures say of the run; `begun` whether
/// there is a record of it, beside which such files are its own, as they are beside its figures.
///
/// # Errors
/// When a file is not this run's, or the system does not let it.
pub fn require_own(stem: &Path, own: &Value, begun: bool, with_games: bool) -> Result<(), Failure> {
    let json = with_ending(stem, ".json");
    partial::require_writable(&json)?;
    let figures = is_there(&json)?;
    if figures {
        let text = fs::read(&json).map_err(|error| Failure::file("read", &json, &error))?;
        let found: Value = serde_json::from_slice(&text).unwrap_or_default();
        let is_known = |(name, _): (&String, &Value)| found.get(name).is_some();
        if !own.as_object().is_some_and(|own| own.iter().any(is_known)) {
            return Err(foreign(&json, &first_line(&text)));
        }
        let other = differences(own, &found);
        if !other.is_empty() {
            let found = format!("figures of a run with another value of {}", other.join(", "));
            return Err(foreign(&json, &found));
        }
    }
    let pgn = with_games.then_some((".pgn", pgn::MARK));
    for (ending, mark) in [(".html", page::MARK)].into_iter().chain(pgn) {
        let path = with_ending(stem, ending);
        if is_there(&path)? {
            let text = beginning(&path)?;
            if !(String::from_utf8_lossy(&text).contains(mark) && (begun || figures)) {
                return Err(foreign(&path, &first_line(&text)));
            }
        }
    }
    Ok(())
}

/// The names of values that are not the same in both.
fn differences(own: &Value, found: &Value) -> Vec<String> {
    let members = own.as_object().into_iter().flatten();
    let of_member = |(name, own): (&String, &Value)| match found.get(name) {
        Some(found) if found == own => Vec::new(),
        Some(found) if own.is_object() => differences(own, found),
        _ => vec![name.clone()],
    };
    members.flat_map(of_member).collect()
}

/// Whether there is a file with something in it.
fn is_there(path: &Path) -> Result<bool, Failure> {
    partial::regular(path)?;
    Ok(fs::metadata(path).is_ok_and(|file| file.len() > 0))
}

fn beginning(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
    read.map_err(|error| Failure::file("read", path, &error))?;
    Ok(bytes)
}

fn first_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(BEGINNING as usize)]);
    let line: String = text.lines().next().unwrap_or_default().chars().take(60).collect();
    format!("a file that begins with {line:?}")
}

fn foreign(path: &Path, found: &str) -> Failure {
    Failure(format!(
        "{} is not of this run: found {found}, expected nothing, or what the same command wrote; move it \
         away, or name another output",
        path.display()
    ))
}
