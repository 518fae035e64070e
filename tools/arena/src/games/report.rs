//! What games have shown: tables, figures, PGN.

use crate::game::Reason;
use crate::page::{Bars, Page};
use crate::pgn::{self, Heading};
use crate::record::{Record, RunOf};
use crate::statistics::{Bounds, Interval, Sprt, Tally, Verdict};
use crate::table::{Table, percent};
use crate::tournament::{Place, Tournament};
use fianchetto_prepare::failure::Failure;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a run has shown, for programs.
#[derive(Serialize)]
pub struct Figures<'a> {
    run: &'a RunOf,
    pairings: Vec<Pairing<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sprt: Option<Test>,
    /// How games ended.
    endings: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct Pairing<'a> {
    first: &'a str,
    second: &'a str,
    #[serde(flatten)]
    result: Result,
}

#[derive(Serialize)]
struct Result {
    #[serde(flatten)]
    tally: Tally,
    score: Option<f64>,
    error: Option<f64>,
    elo: Option<Interval>,
}

#[derive(Serialize)]
struct Test {
    #[serde(flatten)]
    test: Sprt,
    bounds: Bounds,
    log_likelihood_ratio: f64,
    verdict: Verdict,
}

impl Result {
    fn new(tally: Tally) -> Self {
        Self { tally, score: tally.score(), error: tally.error(), elo: tally.elo() }
    }

    fn cells(&self) -> Vec<String> {
        let Tally { wins, draws, losses, pairs } = self.tally;
        let elo = self.elo.map_or("-".to_owned(), |Interval { low, estimate, high }| {
            format!("{estimate:+.1} [{low:+.1}, {high:+.1}]")
        });
        vec![
            self.tally.games().to_string(),
            format!("+{wins} ={draws} -{losses}"),
            with_error(self.score, self.error),
            elo,
            pairs.map(|count| count.to_string()).join(" "),
        ]
    }
}

/// A score and its error, which pairs that all ended alike do not tell.
fn with_error(score: Option<f64>, error: Option<f64>) -> String {
    format!("{} ± {}", percent(score), percent(error.filter(|&error| error > 0.0)))
}

const RESULT: [&str; 5] = ["games", "result", "score %", "Elo [95 %]", "pairs 0 ½ 1 1½ 2"];

/// The report on a run.
pub fn of<'a>(
    tournament: &'a Tournament,
    record: &Record,
    run: &'a RunOf,
) -> std::result::Result<(Page, Figures<'a>), Failure> {
    let name = |i: usize| tournament.contenders[i].label.as_str();
    let tallies = tournament.tallies(record);
    let labels: Vec<&str> = tournament.contenders.iter().map(|c| c.label.as_str()).collect();
    let mut page = Page::new(labels.join(" - "));

    let mut table = Table::new(["", "against"].into_iter().chain(RESULT));
    let mut pairings = Vec::new();
    for (&[first, second], &tally) in tournament.pairings.iter().zip(&tallies) {
        let result = Result::new(tally);
        let (first, second) = (name(first), name(second));
        table.row([vec![first.to_owned(), second.to_owned()], result.cells()].concat());
        pairings.push(Pairing { first, second, result });
    }
    page.table("Results", table);
    if labels.len() > 2 {
        cross_table(tournament, &tallies, &mut page)?;
    }

    let sprt = tournament.sprt.map(|test| {
        let pairs = tallies.first().map_or([0; 5], |tally| tally.pairs);
        let log_likelihood_ratio = test.ratio(&pairs);
        let verdict = test.verdict(&pairs);
        Test { test, bounds: test.bounds(), log_likelihood_ratio, verdict }
    });
    if let Some(Test { test, bounds, log_likelihood_ratio: ratio, verdict }) = &sprt {
        let verdict = match verdict {
            Verdict::H0 => format!("{:+} is accepted", test.elo0),
            Verdict::H1 => format!("{:+} is accepted", test.elo1),
            Verdict::Open => "undecided".to_owned(),
        };
        page.text(format!(
            "\nSPRT of {:+} against {:+} Elo: log-likelihood ratio {ratio:.2} in [{:.2}, {:.2}], {verdict}",
            test.elo0, test.elo1, bounds.lower, bounds.upper
        ));
    }

    let endings = endings(tournament, record, &mut page);
    Ok((page, Figures { run, pairings, sprt, endings }))
}

/// How games ended, and whose fault it was where it was one.
fn endings(
    tournament: &Tournament,
    record: &Record,
    page: &mut Page,
) -> BTreeMap<&'static str, u64> {
    let mut endings: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut faults: BTreeMap<(usize, &'static str), u64> = BTreeMap::new();
    for (&number, played) in record.games().range(..tournament.total()) {
        *endings.entry(played.reason.words()).or_default() += 1;
        let is_fault = matches!(
            played.reason,
            Reason::IllegalMove | Reason::TimeLoss | Reason::NoAnswer | Reason::Crash
        );
        if is_fault {
            let loser = tournament.players(number)[usize::from(played.white_half_points() == 2)];
            *faults.entry((loser, played.reason.words())).or_default() += 1;
        }
    }
    let mut table = Table::new(["games ended by", "count"]);
    for (words, count) in &endings {
        table.row([(*words).to_owned(), count.to_string()]);
    }
    page.table("Endings", table);
    if !faults.is_empty() {
        let mut table = Table::new(["games lost without being beaten", "by", "count"]);
        for ((loser, words), count) in &faults {
            let label = &tournament.contenders[*loser].label;
            table.row([label.clone(), (*words).to_owned(), count.to_string()]);
        }
        page.table("Faults", table);
    }
    endings
}

/// Everybody against everybody, the best first.
fn cross_table(
    tournament: &Tournament,
    tallies: &[Tally],
    page: &mut Page,
) -> std::result::Result<(), Failure> {
    let count = tournament.contenders.len();
    let against = |row: usize, column: usize| {
        let both = tournament.pairings.iter().zip(tallies);
        let mut found = both.filter_map(|(&pairing, tally)| match pairing {
            pairing if pairing == [row, column] => Some(*tally),
            pairing if pairing == [column, row] => Some(tally.reversed()),
            _ => None,
        });
        found.next()
    };
    let mut standings: Vec<(usize, Tally, f64)> = (0..count)
        .map(|row| {
            let tallies: Vec<Tally> =
                (0..count).filter_map(|column| against(row, column)).collect();
            let all = tallies.iter().fold(Tally::default(), |sum, tally| sum.plus(tally));
            (row, all, combined_error(&tallies))
        })
        .collect();
    let score = |tally: &Tally| tally.score().unwrap_or_default();
    standings.sort_by(|(_, a, _), (_, b, _)| score(b).total_cmp(&score(a)));

    let columns = (1..=count).map(|place| place.to_string());
    let heads = ["".to_owned()].into_iter().chain(columns);
    let mut table = Table::new(heads.chain(["games", "score %"].map(str::to_owned)));
    for (place, (row, all, error)) in standings.iter().enumerate() {
        let label = &tournament.contenders[*row].label;
        let cells = standings.iter().map(|(column, _, _)| match against(*row, *column) {
            Some(tally) => percent(tally.score()),
            None => "x".to_owned(),
        });
        let ends = [all.games().to_string(), with_error(all.score(), Some(*error))];
        table.row([format!("{} {label}", place + 1)].into_iter().chain(cells).chain(ends));
    }
    page.table("Cross table: score in percent against the contender of this number", table);
    let values = standings.iter().map(|(_, tally, error)| {
        let (score, error) = (100.0 * tally.score()?, 100.0 * error);
        Some([score - error, score, score + error])
    });
    let labels =
        standings.iter().map(|(row, _, _)| tournament.contenders[*row].label.clone()).collect();
    let series = vec![("score".to_owned(), values.collect())];
    page.plot(&Bars {
        title: "Score against all others, with its standard error",
        unit: "%",
        labels,
        series,
    })
}

/// The standard error of the score over several opponents, each of whom is met so often by design: how they
/// differ is no error.
fn combined_error(tallies: &[Tally]) -> f64 {
    let games: u64 = tallies.iter().map(Tally::games).sum();
    let parts = tallies.iter().map(|tally| tally.games() as f64 * tally.error().unwrap_or(0.0));
    parts.map(|part| part * part).sum::<f64>().sqrt() / games.max(1) as f64
}

/// All games as PGN, by number.
pub fn pgn(tournament: &Tournament, record: &Record) -> std::result::Result<String, String> {
    let games = record.games().range(..tournament.total());
    let texts = games.map(|(&number, played)| {
        let [white, black] =
            tournament.players(number).map(|player| tournament.contenders[player].label.as_str());
        let Place { pair, turned, .. } = tournament.place(number);
        let round = format!("{}.{}", pair + 1, turned + 1);
        pgn::write(&Heading { round, white, black }, played)
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten pairs each of which scores 1/4 or 3/4 have the error sqrt(1/16 / 10), and two such opponents
    /// together 1/sqrt(2) of it, as does one with twice the pairs.
    #[test]
    fn errors_over_opponents_combine() {
        let pairs = |half_points: [u8; 2]| {
            let mut tally = Tally::default();
            (0..5).for_each(|_| tally.add_pair([half_points[0], 0]));
            (0..5).for_each(|_| tally.add_pair([half_points[1], 2]));
            tally
        };
        let even = pairs([1, 1]);
        let expected = (1.0 / 160.0_f64).sqrt();
        assert!((even.error().unwrap() - expected).abs() < 1e-12);
        assert!((combined_error(&[even, even]) - expected / 2.0_f64.sqrt()).abs() < 1e-12);
        assert!((combined_error(&[even.plus(&even)]) - expected / 2.0_f64.sqrt()).abs() < 1e-12);
        // An opponent who always loses takes nothing away from what is known.
        let mut won = Tally::default();
        (0..10).for_each(|_| won.add_pair([2, 2]));
        assert!((combined_error(&[even, won]) - expected / 2.0).abs() < 1e-12);
        assert_eq!(combined_error(&[]), 0.0);
    }
}
