//! What an unfinished run has read of an input, and whether the input is still the same.

use crate::failure::Failure;
use crate::game::spread;
use crate::pgn::Reader;
use crate::{input, partial};
use serde::{Deserialize, Serialize};
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Reads one input.
pub type InputReader = Reader<Box<dyn BufRead + Send>>;

/// The games of an input that are dealt with: how many, and a hash of their texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub games: u64,
    hash: u64,
}

impl Seen {
    /// Adds the next game, by its [`RawGame::checksum`](crate::pgn::RawGame::checksum).
    pub fn add(&mut self, checksum: u32) {
        self.games += 1;
        self.hash = spread(self.hash ^ u64::from(checksum));
    }

    /// Opens an input and reads past the games seen. Only what decides on the output is compared:
    /// the text may be packed otherwise, and differ after these games.
    ///
    /// # Errors
    /// When it has not the same games.
    pub fn pass_over(
        self,
        path: &Path,
        read: &Arc<AtomicU64>,
        out: &Path,
    ) -> Result<InputReader, Failure> {
        let mut reader = Reader::new(input::open_counting(path, read)?);
        let mut found = Self::default();
        while found.games < self.games {
            match reader.next_game() {
                Ok(Some(game)) => found.add(game.checksum()),
                Ok(None) | Err(_) => break,
            }
        }
        if found == self { Ok(reader) } else { Err(self.differs(path, found.games, out)) }
    }

    /// Makes sure that an input that was read to its end has the same games still.
    ///
    /// # Errors
    /// When it has not.
    pub fn require_all(self, path: &Path, out: &Path) -> Result<(), Failure> {
        let mut reader = self.pass_over(path, &Arc::default(), out)?;
        match reader.next_game() {
            Ok(Some(_)) => Err(self.differs(path, self.games + 1, out)),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    fn differs(self, path: &Path, found: u64, out: &Path) -> Failure {
        let name = if path == Path::new("-") {
            "standard input".into()
        } else {
            path.display().to_string()
        };
        let what = if found < self.games {
            format!("it has only {found} games")
        } else if found > self.games {
            "it has more games".to_owned()
        } else {
            "they are not the same now".to_owned()
        };
        let (part, state) = (partial::part(out), partial::state(out));
        Failure(format!(
            "{name}: the unfinished run has read {} games of it, but {what}; give the same input, or \
             remove {} and {} to begin anew",
            self.games,
            part.display(),
            state.display()
        ))
    }
}
