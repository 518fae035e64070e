//! The tables and plots on agreement.

use super::figures::{Comparison, Figures, Means};
use crate::page::{Bars, Page};
use crate::puzzles::mcnemar_cells;
use crate::table::{Table, percent};
use fianchetto_prepare::failure::Failure;
use indicatif::HumanCount;

/// The page on these players.
pub fn page(
    players: &[String],
    figures: &[Figures],
    comparisons: &[Comparison],
) -> Result<Page, Failure> {
    let mut page = Page::new("Agreement with the moves that people played in held-out games");
    for (name, figures) in players.iter().zip(figures) {
        page.text(format!("\n{name}"));
        page.table(name.clone(), table(figures));
    }
    if !comparisons.is_empty() {
        let head = ["McNemar's test", "count", "only the first", "only the second", "p"];
        let mut table = Table::new(head);
        for Comparison { first, second, top1 } in comparisons {
            let name = format!("top-1: {}, {}", players[*first], players[*second]);
            table.row([name].into_iter().chain(mcnemar_cells(top1)));
        }
        page.table("McNemar's test", table);
    }
    type Group = fn(&Figures) -> &Vec<(&'static str, Means)>;
    let groups: [(&str, Group); 3] = [
        ("Top-1 agreement by the mover's rating", |f| &f.rating),
        ("Top-1 agreement by phase", |f| &f.phase),
        ("Top-1 agreement by the kind of move", |f| &f.kind),
    ];
    for (title, group) in groups {
        let labels = figures.first().map(|f| group(f).iter().map(|(name, _)| (*name).to_owned()));
        let values = |f: &Figures| {
            let shares = group(f).iter().map(|(_, means)| means.top1);
            shares.map(|share| share.map(|share| [100.0 * share; 3])).collect()
        };
        page.plot(&Bars {
            title,
            unit: "%",
            labels: labels.into_iter().flatten().collect(),
            series: players
                .iter()
                .zip(figures)
                .map(|(name, f)| (name.clone(), values(f)))
                .collect(),
        })?;
    }
    Ok(page)
}

fn table(figures: &Figures) -> Table {
    let head = ["held-out positions", "count", "top-1 %", "top-3 %", "mean log p"];
    let mut table = Table::new(head);
    let mut row = |name: String, means: &Means| {
        let log = means.log_probability.map_or("-".to_owned(), |log| format!("{log:.3}"));
        let shares = [percent(means.top1), percent(means.top3), log];
        table.row([name, HumanCount(means.count).to_string()].into_iter().chain(shares));
    };
    row("all".to_owned(), &figures.all);
    for (name, means) in figures.rating.iter().filter(|(_, means)| means.count > 0) {
        row(format!("mover {name}"), means);
    }
    for (name, means) in figures.phase.iter().chain(&figures.kind) {
        row((*name).to_owned(), means);
    }
    table
}
