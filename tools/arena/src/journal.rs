//! A file to which finished work is added, so that a run killed at any moment goes on where it was: a line that
//! says what run it is, then one for each piece of work, in the order in which they ended. A program that is
//! killed loses nothing; a machine that stops, what a second brought.

use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::lock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two times that the system is made to write to the disk, which takes milliseconds.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The file, which no other run has.
pub struct Journal {
    path: PathBuf,
    file: File,
    synced: Instant,
    lines: usize,
}

impl Journal {
    /// Begins a journal of the run that `head` describes, or goes on with the one that is there, whose lines are
    /// returned. A last line that was not written whole is cut off.
    ///
    /// # Errors
    /// When it is of another run, no journal, in use, or cannot be read or written.
    pub fn open<H, L>(path: &Path, head: &H) -> Result<(Self, Vec<L>), Failure>
    where
        H: Serialize + DeserializeOwned + PartialEq,
        L: DeserializeOwned,
    {
        let failed = |action, error| Failure::file(action, path, &error);
        let refuse = |reason: &str| {
            Failure(format!("{}: {reason}; name another output, or remove it", path.display()))
        };
        let foreign = || refuse("not the record of a run: expected one that this program wrote");
        let Some(mut file) = lock::take(path).map_err(|error| failed("create", error))? else {
            return Err(refuse("another run is writing it at this moment"));
        };
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|error| failed("read", error))?;
        let mut whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut lines = text[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        match lines.next() {
            Some(line) => {
                let found: H = serde_json::from_slice(line).map_err(|_| foreign())?;
                if found != *head && lines.clone().next().is_none() {
                    // A run that did nothing, such as one whose contender did not start.
                    whole = 0;
                } else if found != *head {
                    return Err(refuse(&format!(
                        "it is of another run: found {}, expected {}",
                        json(&found),
                        json(head)
                    )));
                }
            }
            // A torn beginning must not be taken for a foreign file.
            None if !json(head).as_bytes().starts_with(&text) => return Err(foreign()),
            None => {}
        }
        let read = |(i, line)| {
            serde_json::from_slice(line)
                .map_err(|error| refuse(&format!("line {} is damaged: {error}", i + 2)))
        };
        let done: Vec<L> = lines.enumerate().map(read).collect::<Result<_, _>>()?;
        file.set_len(whole as u64).map_err(|error| failed("cut", error))?;
        file.seek(SeekFrom::End(0)).map_err(|error| failed("write", error))?;
        let (synced, lines) = (Instant::now(), done.len());
        let mut journal = Self { path: path.to_owned(), file, synced, lines };
        if whole == 0 {
            journal.write(head)?;
            journal.lines = 0;
        }
        Ok((journal, done))
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        // One call, so that no other line gets between.
        let mut written = self.file.write_all(format!("{}\n", json(line)).as_bytes());
        if written.is_ok() && self.synced.elapsed() >= SYNC_EVERY {
            written = self.file.sync_data();
            self.synced = Instant::now();
        }
        written.map_err(|error| Failure::file("write", &self.path, &error))?;
        self.lines += 1;
        Ok(())
    }

    /// Removes the file if there is nothing but the head in it, else returns its name.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn remove_if_empty(self) -> Result<Option<PathBuf>, Failure> {
        if self.lines == 0 { self.remove().map(|()| None) } else { Ok(Some(self.path)) }
    }

    /// Removes the file, once its work is done and elsewhere.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn remove(self) -> Result<(), Failure> {
        fs::remove_file(&self.path).map_err(|error| Failure::file("remove", &self.path, &error))
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data is JSON")
}
