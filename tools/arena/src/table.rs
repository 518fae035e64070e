//! Tables, for a terminal and for a page.

use std::fmt;

/// Rows of cells under a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The header.
    pub header: Vec<String>,
    /// The rows, each as long as the header.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows yet.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.header.len(), String::new());
        self.rows.push(cells);
    }

    /// The table in HTML.
    pub fn html(&self) -> String {
        let line = |cells: &[String], kind: &str| {
            let cells = cells.iter().map(|cell| format!("<{kind}>{}</{kind}>", escaped(cell)));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let rows: String = self.rows.iter().map(|row| line(row, "td")).collect();
        format!("<table>\n{}{rows}</table>\n", line(&self.header, "th"))
    }
}

/// Columns as wide as their widest cell: the first to the left, the others to the right.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let width = |column: usize| {
            lines().map(|line| line[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        for line in lines() {
            let mut text = format!("{:<1$}", line[0], widths[0]);
            for (cell, width) in line[1..].iter().zip(&widths[1..]) {
                text.push_str(&format!("  {cell:>width$}"));
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// Text as HTML shows it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A share in percent, `-` where there is nothing to share.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share))
}
