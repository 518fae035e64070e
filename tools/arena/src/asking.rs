//! What the yardsticks of single positions share: whom they ask, in which parts, and what becomes of the
//! answers.

use crate::chunks::{Done, Kept, Worked, in_chunks};
use crate::contender::{Asker, Contender, Contenders, Terms};
use crate::journal::Journal;
use crate::limits::Budget;
use crate::outputs::{require_own, stem};
use crate::page::{Page, with_ending};
use crate::speed::Speed;
use clap::Args;
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::number::whole;
use fianchetto_prepare::shard::Shard;
use fianchetto_prepare::{partial, threads};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
    /// Write NAME.json and NAME.html; until they are there NAME.json.part, with which an interrupted run goes on
    #[arg(long, value_name = "NAME", value_parser = stem)]
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

    /// What the contenders are called.
    pub fn labels(&self) -> Vec<String> {
        self.contenders.0.iter().map(|contender| contender.label.clone()).collect()
    }

    /// The limits of all, and so what parts of a whole must share.
    pub fn limits(&self) -> String {
        let texts: Vec<_> = self.contenders.0.iter().map(|c| c.text.as_str()).collect();
        format!("{}; {:?}", texts.join("; "), self.budget())
    }

    /// By what the networks of all are known.
    ///
    /// # Errors
    /// In one line, when one cannot be read.
    pub fn networks(&self) -> Result<Vec<Option<String>>, Failure> {
        self.contenders.0.iter().map(|contender| contender.network().map_err(Failure)).collect()
    }

    /// Asks about all cases, `name` in the plural, by `work`: of networks so `many` at a time, of anybody else one
    /// by one, so that no more than one is lost when the program is killed. `own` is what the figures will say of
    /// the run.
    ///
    /// # Errors
    /// In one line. With an output, what was measured is kept.
    pub fn measure<T, R>(
        &self,
        own: &Value,
        cases: &[T],
        many: usize,
        name: &'static str,
        work: impl Fn(&mut [Asker], &[T], usize) -> Result<Vec<R>, String> + Sync,
    ) -> Result<Measured<R>, Failure>
    where
        T: Sync,
        R: Send + Serialize + DeserializeOwned,
    {
        let mut journal = None;
        let mut done: Vec<Done<R>> = Vec::new();
        if let Some(stem) = &self.out {
            let part = partial::part(&with_ending(stem, ".json"));
            require_own(stem, own, false, false)?;
            let (opened, found) = Journal::open(&part, own)?;
            if !found.is_empty() {
                note(&format!("{}: going on after what it holds", part.display()));
            }
            (journal, done) = (Some(opened), found);
        }
        let contenders = &self.contenders.0;
        let size = if contenders.iter().all(Contender::is_network) { many } else { 1 };
        let advice = match self.out {
            Some(_) => "",
            None => "; with --out NAME what was measured before is kept",
        };
        let begun = Instant::now();
        let kept = Kept { done, journal: journal.as_mut() };
        let start = || self.start().map_err(Failure);
        let work = |askers: &mut Vec<Asker>, chunk: &[T], first| {
            work(askers, chunk, first).map_err(|reason| Failure(reason + advice))
        };
        match in_chunks(cases, size, self.concurrency, name, kept, start, work) {
            Ok(Worked { results, judged, workers }) => {
                let time = begun.elapsed();
                let speed = Speed::of(name, judged, time, contenders, &workers);
                Ok(Measured { results, speed, journal })
            }
            Err(Failure(reason)) => Err(match journal {
                Some(journal) => unfinished(journal, &reason),
                None => Failure(reason),
            }),
        }
    }

    fn start(&self) -> Result<Vec<Asker>, String> {
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

/// What was measured.
pub struct Measured<R> {
    /// In the order of the cases.
    pub results: Vec<R>,
    /// How fast, where this run of the program measured anything.
    pub speed: Option<Speed>,
    journal: Option<Journal>,
}

impl<R> Measured<R> {
    /// Removes the journal, if all of it is written elsewhere.
    ///
    /// # Errors
    /// When it is not, or the system does not let it.
    pub fn close(self, written: Result<(), Failure>) -> Result<(), Failure> {
        match (self.journal, written) {
            (Some(journal), Ok(())) => journal.remove(),
            (Some(journal), Err(Failure(reason))) => Err(unfinished(journal, &reason)),
            (None, written) => written,
        }
    }
}

/// Why a run is not finished, and what becomes of its journal.
fn unfinished(journal: Journal, reason: &str) -> Failure {
    match journal.remove_if_empty() {
        Ok(None) => Failure(reason.to_owned()),
        Ok(Some(path)) => Failure(format!(
            "{reason}; {} keeps what was measured, and the same command goes on from there",
            path.display()
        )),
        Err(failure) => failure,
    }
}

/// What the figures of a yardstick say of their run.
pub fn own(yardstick: &str, head: &impl Serialize, shard: &str) -> Value {
    let mut own = json!(head);
    own["yardstick"] = yardstick.into();
    own["shard"] = shard.into();
    own
}

/// A line on standard error. Where that is gone there is nobody to be told.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
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

/// Writes results where they are wanted, and tells them; the speed on the page would make each page another.
///
/// # Errors
/// When the system does not let it.
pub fn write_or_tell(
    page: &Page,
    figures: &impl Serialize,
    speed: Option<&Speed>,
    stem: Option<&Path>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    if let Some(stem) = stem {
        page.write(stem, figures)?;
    }
    page.tell(out)?;
    let text = speed.map_or_else(String::new, Speed::text);
    Failure::heard(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}
