//! Line charts as SVG text: for time series, convergence histories and comparisons of solvers.
//!
//! ```
//! use drystone_record::plot::{Axis, Chart, Series, Style};
//!
//! let error = (0..50).map(|k| (k as f64, 0.7_f64.powi(k))).collect();
//! let chart = Chart::new("Residual", Axis::linear("iteration"), Axis::log("residual (m/s)"))
//!     .with(Series::new("apgd", error).style(Style::Both));
//! assert!(chart.to_svg().starts_with("<svg"));
//! ```

mod draw;
pub mod number;
mod svg;
mod ticks;

use serde::{Deserialize, Serialize};

/// An axis of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What is measured, with its unit: "time (s)".
    pub label: String,
    /// Whether equal distances are equal factors. Values that are not positive cannot be shown then.
    pub log: bool,
    /// Ends of the axis; by default they follow the data.
    #[serde(default)]
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), log: false, range: None }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), log: true, range: None }
    }

    /// The axis with fixed ends. Ends that are not finite, in the wrong order, or not positive on a
    /// logarithmic axis are ignored.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// A line through the points.
    #[default]
    Line,
    /// A mark at every point.
    Markers,
    /// A line, and marks at some or all of the points.
    Both,
    /// Steps that hold each value until the next point: for performance profiles and counts.
    Steps,
}

/// A named series of points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name in the legend; an empty one has no entry there.
    pub name: String,
    /// (x, y) in drawing order. A point that an axis cannot show leaves a gap.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    #[serde(default)]
    pub style: Style,
    /// Whether the line is dashed.
    #[serde(default)]
    pub dashed: bool,
}

impl Series {
    /// A solid line.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, style: Style::Line, dashed: false }
    }

    /// The series in another style.
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// The series with a dashed line.
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }
}

/// A chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// What is plotted; each series has its own colour, mark and, after the colours are used up, dashes.
    pub series: Vec<Series>,
    /// Small print under the chart.
    #[serde(default)]
    pub note: String,
}

impl Chart {
    /// Width of a chart on its own, in user units (pixels at normal size).
    pub const WIDTH: f64 = 720.0;
    /// Height of a chart on its own.
    pub const HEIGHT: f64 = 480.0;

    /// A chart without series.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, series: Vec::new(), note: String::new() }
    }

    /// The chart with one more series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// The chart with small print.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// The chart as an SVG document.
    pub fn to_svg(&self) -> String {
        let mut page = svg::Page::new(Self::WIDTH, Self::HEIGHT);
        draw::chart(self, &mut page, Self::WIDTH, Self::HEIGHT, 0);
        page.finish()
    }
}

/// Several charts on one page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The charts, row by row.
    pub charts: Vec<Chart>,
    /// Charts side by side in a row; 0 counts as 1.
    pub columns: usize,
}

impl Grid {
    /// Width of one chart.
    pub const PANEL_WIDTH: f64 = 600.0;
    /// Height of one chart.
    pub const PANEL_HEIGHT: f64 = 440.0;

    /// All charts in one row.
    pub fn row(charts: Vec<Chart>) -> Self {
        Self { columns: charts.len(), charts }
    }

    /// The page as an SVG document.
    pub fn to_svg(&self) -> String {
        let columns = self.columns.clamp(1, self.charts.len().max(1));
        let rows = self.charts.len().div_ceil(columns).max(1);
        let mut page = svg::Page::new(columns as f64 * Self::PANEL_WIDTH, rows as f64 * Self::PANEL_HEIGHT);
        for (k, chart) in self.charts.iter().enumerate() {
            let x = (k % columns) as f64 * Self::PANEL_WIDTH;
            let y = (k / columns) as f64 * Self::PANEL_HEIGHT;
            page.open_group(&format!("transform=\"translate({x} {y})\""));
            draw::chart(chart, &mut page, Self::PANEL_WIDTH, Self::PANEL_HEIGHT, k);
            page.close_group();
        }
        page.finish()
    }
}
