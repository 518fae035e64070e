//! The verb `merge`: the whole from the parts that `--shard` made.

use crate::outputs::stem;
use crate::{agreement, puzzles};
use clap::Parser;
use fianchetto_prepare::failure::Failure;
use serde::Deserialize;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Make the whole of the parts that puzzles or agreement measured with --shard: the same as without it.
#[derive(Parser, Clone, Debug)]
pub struct Merge {
    /// The parts, NAME.json each, in any order
    #[arg(value_name = "PART", required = true)]
    parts: Vec<PathBuf>,
    /// Write NAME.json and NAME.html
    #[arg(long, value_name = "NAME", value_parser = stem)]
    out: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(tag = "yardstick", rename_all = "lowercase")]
enum Part {
    Agreement(agreement::Part),
    Puzzles(puzzles::Part),
}

impl Merge {
    /// Merges.
    ///
    /// # Errors
    /// In one line.
    pub fn run(self, out: &mut impl Write) -> Result<(), Failure> {
        let (mut of_agreement, mut of_puzzles) = (Vec::new(), Vec::new());
        for path in &self.parts {
            match read(path)? {
                Part::Agreement(part) => of_agreement.push((path.clone(), part)),
                Part::Puzzles(part) => of_puzzles.push((path.clone(), part)),
            }
        }
        let stem = self.out.as_deref();
        match (of_agreement.is_empty(), of_puzzles.is_empty()) {
            (true, _) => puzzles::merge(of_puzzles, stem, out),
            (_, true) => agreement::merge(of_agreement, stem, out),
            _ => Err(Failure(
                "found parts of puzzles and of agreement, expected those of one measurement; name \
                 only them"
                    .to_owned(),
            )),
        }
    }
}

fn read(path: &Path) -> Result<Part, Failure> {
    let json = fs::read(path).map_err(|error| Failure::file("read", path, &error))?;
    serde_json::from_slice(&json).map_err(|error| {
        Failure(format!(
            "{}: no figures of puzzles or agreement: {error}; expected a file written with --out",
            path.display()
        ))
    })
}
