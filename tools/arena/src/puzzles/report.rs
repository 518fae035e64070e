//! The tables and plots on puzzles.

use super::figures::{Comparison, Figures};
use super::file::{BANDS, LENGTHS};
use crate::page::{Bars, Page};
use crate::statistics::McNemar;
use crate::table::{Table, percent};
use fianchetto_prepare::failure::Failure;
use indicatif::HumanCount;

/// The page on these players.
pub fn page(
    players: &[String],
    figures: &[Figures],
    comparisons: &[Comparison],
) -> Result<Page, Failure> {
    let mut page = Page::new("Puzzles by the protocol of the RDTChess card");
    for (name, figures) in players.iter().zip(figures) {
        page.text(format!("\n{name}"));
        tables(name, figures, &mut page);
    }
    if !comparisons.is_empty() {
        page.table("McNemar's test", mcnemar(players, comparisons));
    }
    let series = |values: &dyn Fn(&Figures) -> Vec<Option<f64>>| {
        let bars = |values: Vec<Option<f64>>| {
            values.into_iter().map(|value| value.map(|share| [100.0 * share; 3])).collect()
        };
        players.iter().zip(figures).map(|(name, f)| (name.clone(), bars(values(f)))).collect()
    };
    let lengths = LENGTHS.map(|length| length.to_string()).collect();
    let bands: Vec<String> = BANDS.iter().map(|(name, _)| (*name).to_owned()).collect();
    page.plot(&Bars {
        title: "Whole line by solver moves",
        unit: "%",
        labels: lengths,
        series: series(&|f| f.length.values().map(|length| length.whole_line).collect()),
    })?;
    page.plot(&Bars {
        title: "First move by rating",
        unit: "%",
        labels: bands.clone(),
        series: series(&|f| f.band.iter().map(|(_, band)| band.first_move).collect()),
    })?;
    for kind in 0..3 {
        page.plot(&Bars {
            title: ["First move a check", "First move a capture", "First move quiet"][kind],
            unit: "%",
            labels: bands.clone(),
            series: series(&|f| f.kind[kind].1.iter().map(|(_, band)| band.first_move).collect()),
        })?;
    }
    Ok(page)
}

fn tables(name: &str, figures: &Figures, page: &mut Page) {
    let count = |count: usize| HumanCount(count as u64).to_string();
    let mut table = Table::new(["puzzles", "count", "%"]);
    table.row(["first move".into(), count(figures.count), percent(figures.first_move)]);
    table.row(["whole line".into(), count(figures.count), percent(figures.whole_line)]);
    let legal = figures.legal_moves.unwrap_or_default();
    let random = format!("random first move, of {legal:.1} legal");
    table.row([random, String::new(), percent(figures.random_first_move)]);
    let mates = figures.mate_in_one;
    table.row(["mate in one found".into(), count(mates.count), percent(mates.found)]);
    let under = figures.under_promotion;
    let words = "whole line with an under-promotion".to_owned();
    table.row([words, count(under.count), percent(under.whole_line)]);
    page.table(format!("{name}: all"), table);

    let steps = LENGTHS.map(|step| format!("move {step} %"));
    let head = ["solver moves".to_owned(), "count".to_owned()].into_iter().chain(steps);
    let mut table = Table::new(head.chain(["whole line %".to_owned()]));
    for (length, group) in &figures.length {
        let mut cells = vec![length.to_string(), count(group.count)];
        cells.extend(group.moves.iter().map(|&share| percent(share)));
        cells.resize(2 + LENGTHS.count(), String::new());
        cells.push(percent(group.whole_line));
        table.row(cells);
    }
    page.table(format!("{name}: by length"), table);

    let mut table = Table::new(["rating", "count", "first move %", "whole line %"]);
    for (band, group) in &figures.band {
        let shares = [percent(group.first_move), percent(group.whole_line)];
        table.row([(*band).to_owned(), count(group.count)].into_iter().chain(shares));
    }
    page.table(format!("{name}: by rating"), table);

    let names = BANDS.iter().map(|(name, _)| *name);
    let mut table = Table::new(["first move found, %"].into_iter().chain(names));
    for (kind, bands) in &figures.kind {
        let shares = bands.iter().map(|(_, band)| percent(band.first_move));
        table.row([(*kind).to_owned()].into_iter().chain(shares));
        let counts = bands.iter().map(|(_, band)| count(band.count));
        table.row(["  count".to_owned()].into_iter().chain(counts));
    }
    page.table(format!("{name}: by kind of the first move"), table);
}

fn mcnemar(players: &[String], comparisons: &[Comparison]) -> Table {
    let head = ["McNemar's test", "count", "only the first", "only the second", "p"];
    let mut table = Table::new(head);
    for Comparison { first, second, first_move, whole_line } in comparisons {
        for (what, test) in [("first move", first_move), ("whole line", whole_line)] {
            let name = format!("{what}: {}, {}", players[*first], players[*second]);
            table.row([name].into_iter().chain(mcnemar_cells(test)));
        }
    }
    table
}

/// The cells of a test, after its name.
pub fn mcnemar_cells(test: &McNemar) -> [String; 4] {
    let McNemar { count, only_first, only_second, p } = *test;
    // Of two digits, the way `%.2g` writes them.
    let p = if p >= 0.01 { format!("{p:.2}") } else { format!("{p:.1e}") };
    let [count, first, second] =
        [count, only_first, only_second].map(|number| HumanCount(number).to_string());
    [count, first, second, p]
}
