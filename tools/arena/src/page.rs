//! Results for people: text on the terminal, and one HTML page that needs nothing beside it.

use crate::table::{Table, escaped};
use fianchetto_prepare::failure::Failure;
use fianchetto_prepare::partial;
use plotters::prelude::*;
use serde::Serialize;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a yardstick has to say.
pub struct Page {
    title: String,
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    Table(String, Table),
    /// SVG.
    Plot(String),
}

/// Bars in groups: one group for each label, in it one bar for each series.
pub struct Bars<'a> {
    /// What is shown.
    pub title: &'a str,
    /// The unit of the values.
    pub unit: &'a str,
    /// One name for each group.
    pub labels: Vec<String>,
    /// A name, and for each group the value with its lower and upper end, if there are any.
    pub series: Vec<(String, Vec<Option<[f64; 3]>>)>,
}

const SIZE: (u32, u32) = (760, 340);

/// Colours that people with colour blindness tell apart, too (Okabe and Ito 2008).
const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
];

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;\
color:#222;background:#fff}table{border-collapse:collapse;margin:.6em 0 1.6em;font-variant-numeric:tabular-nums}\
td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child\
{text-align:left}svg{max-width:100%;height:auto}";

/// By what a page of this program is known.
pub const MARK: &str = "<meta name=\"generator\" content=\"fianchetto-arena\">";

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), parts: Vec::new() }
    }

    /// Adds a line.
    pub fn text(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Text(text.into()));
    }

    /// Adds a table; the title is for the page, on a terminal the header tells.
    pub fn table(&mut self, title: impl Into<String>, table: Table) {
        self.parts.push(Part::Table(title.into(), table));
    }

    /// Adds a plot, on the page alone.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn plot(&mut self, bars: &Bars<'_>) -> Result<(), Failure> {
        let svg = draw(bars).map_err(|error| {
            Failure(format!("cannot draw {:?}: {error}; leave the page away", bars.title))
        })?;
        self.parts.push(Part::Plot(svg));
        Ok(())
    }

    /// Writes the tables to `out`.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn tell(&self, out: &mut impl Write) -> Result<(), Failure> {
        let mut text = format!("{}\n", self.title);
        for part in &self.parts {
            match part {
                Part::Text(line) => text.push_str(&format!("{line}\n")),
                Part::Table(_, table) => text.push_str(&format!("\n{table}")),
                Part::Plot(_) => {}
            }
        }
        Failure::heard(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    fn html(&self) -> String {
        let title = escaped(&self.title);
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(line) => format!("<p>{}</p>\n", escaped(line)),
            Part::Table(title, table) => format!("<h2>{}</h2>\n{}", escaped(title), table.html()),
            Part::Plot(svg) => format!("<figure>{svg}</figure>\n"),
        });
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{MARK}\n\
             <title>{title}</title><meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n\
             <body><h1>{title}</h1>\n{}</body></html>\n",
            parts.collect::<String>()
        )
    }

    /// Writes `STEM.json` with these figures and `STEM.html`.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn write(&self, stem: &Path, figures: &impl Serialize) -> Result<(), Failure> {
        let (json, html) = (with_ending(stem, ".json"), with_ending(stem, ".html"));
        partial::write_json(&json, figures).map_err(|e| Failure::file("write", &json, &e))?;
        partial::write_whole(&html, |file| file.write_all(self.html().as_bytes()))
            .map_err(|error| Failure::file("write", &html, &error))
    }
}

/// `STEM` with an ending behind it, dots in it or not.
pub fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(stem);
    name.push(ending);
    name.into()
}

fn draw(bars: &Bars<'_>) -> Result<String, Box<dyn std::error::Error>> {
    let values = || bars.series.iter().flat_map(|(_, values)| values.iter().flatten().flatten());
    let finite = || values().copied().filter(|value| value.is_finite());
    let (least, most) = (finite().fold(0.0, f64::min), finite().fold(0.0, f64::max));
    let span = (most - least).max(1e-9);
    let bottom = if least < 0.0 { least - 0.08 * span } else { 0.0 };
    // The names of the series stand above the bars.
    let top = most + span * (0.08 + 0.08 * bars.series.len() as f64);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let groups = bars.labels.len();
        let mut chart = ChartBuilder::on(&area)
            .caption(bars.title, ("sans-serif", 17))
            .margin(8)
            .x_label_area_size(28)
            .y_label_area_size(52)
            .build_cartesian_2d(0.0..groups as f64, bottom..top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .light_line_style(WHITE)
            .y_desc(bars.unit)
            .draw()?;
        let count = bars.series.len() as f64;
        for (i, (name, values)) in bars.series.iter().enumerate() {
            let color = COLORS[i % COLORS.len()].to_rgba();
            let width = 0.8 / count;
            let placed = values.iter().enumerate().filter_map(|(group, value)| {
                let value = value.filter(|ends| ends.iter().all(|end| end.is_finite()))?;
                Some((group as f64 + 0.1 + width * i as f64, value))
            });
            let placed: Vec<(f64, [f64; 3])> = placed.collect();
            let rectangles = placed.iter().map(|&(left, [_, value, _])| {
                Rectangle::new([(left, 0.0), (left + width * 0.94, value)], color.filled())
            });
            chart.draw_series(rectangles)?.label(name.as_str()).legend(move |(x, y)| {
                Rectangle::new([(x, y - 5), (x + 10, y + 5)], color.filled())
            });
            let errors = placed.iter().filter(|(_, [low, _, high])| low < high);
            chart.draw_series(errors.map(|&(left, [low, value, high])| {
                let middle = left + width * 0.47;
                ErrorBar::new_vertical(middle, low, value, high, BLACK.filled(), 6)
            }))?;
        }
        for (group, label) in bars.labels.iter().enumerate() {
            let (x, y) = chart.backend_coord(&(group as f64 + 0.5, bottom));
            let style = ("sans-serif", 13).into_text_style(&area).pos(
                plotters::style::text_anchor::Pos::new(
                    plotters::style::text_anchor::HPos::Center,
                    plotters::style::text_anchor::VPos::Top,
                ),
            );
            area.draw(&Text::new(label.clone(), (x, y + 6), style))?;
        }
        if bars.series.len() > 1 {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperRight)
                .background_style(WHITE.mix(0.8))
                .border_style(BLACK.mix(0.2))
                .draw()?;
        }
        area.present()?;
    }
    Ok(svg)
}
