//! What the yardsticks of single positions share: whom they ask, in which parts, and what becomes of the
//! answers.

use crate::contender::{Asker, Contenders, Terms};
use crate::limits::Budget;
use crate::page::{Page, with_ending};
use clap::Args;
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::number::whole;
use fianchetto_prepare::shard::Shard;
use fianchetto_prepare::{partial, threads};
use serde::Serialize;
use std::fmt::Debug;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whom to ask, and how.
#[derive(Args, Clone, Debug)]
pub struct Asking {
    #[command(flatten)]
    contenders: Contenders,
    /// Milliseconds for each move, for contenders without limits of their own
    #[arg(long, value_name = "MS", value_parser = whole(1..=86_400_000_u64))]
    movetime: Option<u64>,
    /// Positions for each move, likewise
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::from(u32::MAX)))]
    nodes: Option<u64>,
    /// Plies for each move, likewise
    #[arg(long, value_name = "N", value_parser = whole(1..=1000_u32))]
    depth: Option<u32>,
    /// From which all random numbers come
    #[arg(long, value_name = "S", default_value_t = 4242, value_parser = whole(0..=u32::MAX))]
    pub seed: u32,
    /// Take one of N parts of the sample, I from 0 to N - 1; `merge` makes the whole of their results
    #[arg(long, value_name = "I/N", default_value_t = Shard::WHOLE)]
    pub shard: Shard,
    /// How many are asked at a time, each with a copy of every contender
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(threads::ALLOWED))]
    pub concurrency: NonZeroUsize,
    /// How many seconds a program may take to start, or for a move
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = whole(1..=86_400_u64))]
    patience: u64,
    /// Write NAME.json and NAME.html
    #[arg(long, value_name = "NAME")]
    pub out: Option<PathBuf>,
}

impl Asking {
    /// Whether the contenders can be asked.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.contenders.check(1, usize::MAX)?;
        let mut all = self.contenders.0.iter();
        all.try_for_each(|contender| contender.check_askable(&self.budget_of(&contender.budget)))
    }

    /// Makes sure, before all the work, that the results can be written.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn require_writable(&self) -> Result<(), Failure> {
        let stem = self.out.as_deref();
        stem.map_or(Ok(()), |stem| partial::require_writable(&with_ending(stem, ".json")))
    }

    /// What the contenders are called.
    pub fn labels(&self) -> Vec<String> {
        self.contenders.0.iter().map(|contender| contender.label.clone()).collect()
    }

    /// The limits of all, and so what parts of a whole must share.
    pub fn limits(&self) -> String {
        let texts: Vec<_> = self.contenders.0.iter().map(|c| c.text.as_str()).collect();
        format!("{}; {:?}", texts.join("; "), self.budget())
    }

    /// Starts every contender.
    ///
    /// # Errors
    /// In one line.
    pub fn start(&self) -> Result<Vec<Asker>, String> {
        let patience = Duration::from_secs(self.patience);
        let terms = Terms { seed: self.seed.into(), patience };
        let start = |c| Asker::start(c, &self.budget_of(&c.budget), terms);
        self.contenders.0.iter().map(start).collect()
    }

    fn budget(&self) -> Budget {
        Budget {
            depth: self.depth,
            nodes: self.nodes,
            move_time: self.movetime.map(Duration::from_millis),
            clock: None,
        }
    }

    fn budget_of(&self, own: &Budget) -> Budget {
        if own.is_empty() { self.budget() } else { *own }
    }
}

/// The order in which parts make up a whole: the number of each shard's part. Each part has its file, what it
/// must share with the others, and its shard.
///
/// # Errors
/// When they are not the parts of one whole.
pub fn check_parts<H: PartialEq + Debug>(
    parts: &[(&PathBuf, &H, &str)],
) -> Result<Vec<usize>, Failure> {
    let Some((first_path, head, _)) = parts.first() else {
        return Err(Failure("there are no parts, expected files written with --shard".to_owned()));
    };
    let mut order = vec![None; parts.len()];
    for (i, (path, other, text)) in parts.iter().enumerate() {
        let path = path.display();
        if other != head {
            return Err(Failure(format!(
                "{path} is of another measurement than {}: found {other:?}, expected {head:?}; name the \
                 parts of one",
                first_path.display()
            )));
        }
        let shard: Shard = text.parse().map_err(|reason| {
            Failure(format!("{path}: found shard {text:?}, {reason}; measure it again"))
        })?;
        if shard.count() != parts.len() as u64 {
            return Err(Failure(format!(
                "{path} is part {shard}, found {} parts; expected all {}, each once",
                parts.len(),
                shard.count()
            )));
        }
        if order[shard.index() as usize].replace(i).is_some() {
            return Err(Failure(format!("{path} is part {shard} again; expected each part once")));
        }
    }
    Ok(order.into_iter().flatten().collect())
}

/// Writes results where they are wanted, and tells them.
///
/// # Errors
/// When the system does not let it.
pub fn write_or_tell(
    page: &Page,
    figures: &impl Serialize,
    stem: Option<&Path>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    if let Some(stem) = stem {
        page.write(stem, figures)?;
    }
    page.tell(out)
}
