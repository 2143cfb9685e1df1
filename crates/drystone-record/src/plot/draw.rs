//! The layout of one chart: title, axes, grid, lines, marks, legend and note.

use std::fmt::Write;

use super::svg::{Anchor, Page, text_width, wrap};
use super::ticks::{Scale, Ticks};
use super::{Axis, Chart, Series, Style, number};
use crate::picture::CATEGORIES;

const INK: &str = "fill=\"#22262b\"";
const PALE: &str = "fill=\"#5c6670\"";
const TITLE: f64 = 16.0;
const LABEL: f64 = 13.0;
const SMALL: f64 = 12.0;
const LINE_HEIGHT: f64 = 1.35;
const MARGIN: f64 = 14.0;
/// Length of the sample of a line in the legend.
const SWATCH: f64 = 30.0;
/// Widest legend that may stand to the right of the data.
const RIGHT_LEGEND: f64 = 190.0;
/// Marks on a line with `Style::Both`: beyond this number, only some of the points get one.
const MARKS: usize = 24;
/// Colours of the palette that read well on white: all but yellow.
const ON_WHITE: [usize; 7] = [0, 1, 2, 3, 4, 5, 7];
/// Solid first; the others tell series apart once all colours are taken.
const DASHES: [&str; 4] = ["", "7 4", "2 3", "10 3 2 3"];

/// The part of the page that data is drawn on.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

struct Frame {
    area: Area,
    x: Scale,
    y: Scale,
}

impl Frame {
    fn point(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        if !Scale::takes(self.x.log, x) || !Scale::takes(self.y.log, y) {
            return None;
        }
        // Far outside a fixed range, coordinates are held where every viewer can still compute with them.
        let hold = |p: f64| p.clamp(-20.0, 21.0);
        let a = &self.area;
        Some((a.left + hold(self.x.place(x)) * a.width, a.top + (1.0 - hold(self.y.place(y))) * a.height))
    }
}

/// Draws a chart into a rectangle at the origin. `index` tells apart the charts on a page.
pub(super) fn chart(chart: &Chart, page: &mut Page, width: f64, height: f64, index: usize) {
    let x =
        scale(&chart.x, chart.series.iter().flat_map(|s| s.points.iter().map(|p| p.0)), &chart.series, true);
    let y =
        scale(&chart.y, chart.series.iter().flat_map(|s| s.points.iter().map(|p| p.1)), &chart.series, false);

    let note = wrap(&chart.note, width - 2.0 * MARGIN, SMALL);
    let legend = Legend::lay_out(&chart.series, width);
    let y_ticks = y.ticks((height / 75.0) as usize);
    let y_labels = y_ticks.major.iter().map(|t| text_width(&t.label, SMALL)).fold(0.0, f64::max);

    let left = MARGIN + y_labels + 8.0 + if chart.y.label.is_empty() { 0.0 } else { LABEL + 10.0 };
    // Bold letters are wider than the estimate, which is for plain ones.
    let title = wrap(&chart.title, (width - left - MARGIN) / 1.12, TITLE);
    let top = MARGIN
        + title.len() as f64 * TITLE * LINE_HEIGHT
        + 10.0
        + if y_ticks.exponent.is_some() { 14.0 } else { 0.0 };
    let below_axis = 22.0 + if chart.x.label.is_empty() { 0.0 } else { LABEL * LINE_HEIGHT + 4.0 };
    let note_height = if note.is_empty() { 0.0 } else { note.len() as f64 * SMALL * LINE_HEIGHT + 4.0 };
    let area = Area {
        left,
        top,
        width: (width - left - MARGIN - 8.0 - legend.room_right()).max(40.0),
        height: (height - top - below_axis - note_height - legend.room_below() - MARGIN).max(40.0),
    };
    let x_ticks = x.ticks((area.width / 80.0) as usize);
    let frame = Frame { area, x, y };

    for (k, line) in title.iter().enumerate() {
        let y = MARGIN + (k as f64 * LINE_HEIGHT + 0.95) * TITLE;
        page.text(area.left, y, TITLE, Anchor::Start, line, &format!("{INK} font-weight=\"bold\""));
    }
    axes(chart, page, &frame, &x_ticks, &y_ticks, y_labels);

    let clip = format!("data-{index}");
    page.clip(&clip, area.left - 1.0, area.top - 1.0, area.width + 2.0, area.height + 2.0);
    page.open_group(&format!("clip-path=\"url(#{clip})\""));
    let shown = chart.series.iter().enumerate().map(|(k, s)| draw_series(page, &frame, s, k)).sum::<usize>();
    page.close_group();
    if shown == 0 {
        let (x, y) = (area.left + 0.5 * area.width, area.top + 0.5 * area.height);
        page.text(x, y, LABEL, Anchor::Middle, "no data", PALE);
    }

    let axis_end = area.top + area.height + below_axis;
    legend.draw(page, &chart.series, area, axis_end);
    for (k, line) in note.iter().enumerate() {
        let y = height - MARGIN - (note.len() - 1 - k) as f64 * SMALL * LINE_HEIGHT;
        page.text(area.left.min(MARGIN + 8.0), y, SMALL, Anchor::Start, line, PALE);
    }
}

/// The range of an axis: as asked for where that makes sense, else around the data.
fn scale(axis: &Axis, values: impl Iterator<Item = f64>, series: &[Series], horizontal: bool) -> Scale {
    if let Some((low, high)) = axis.range
        && Scale::takes(axis.log, low)
        && Scale::takes(axis.log, high)
        && low < high
    {
        return Scale { low, high, log: axis.log };
    }
    let marked = series.iter().any(|s| matches!(s.style, Style::Markers | Style::Both));
    let margin = match (horizontal, marked) {
        (true, false) => 0.0,
        (true, true) => 0.025,
        (false, _) => 0.05,
    };
    Scale::around(values, axis.log, margin, !horizontal)
}

fn axes(chart: &Chart, page: &mut Page, frame: &Frame, x_ticks: &Ticks, y_ticks: &Ticks, y_labels: f64) {
    let a = frame.area;
    let (right, bottom) = (a.left + a.width, a.top + a.height);
    let across = |v: f64| a.left + frame.x.place(v) * a.width;
    let up = |v: f64| bottom - frame.y.place(v) * a.height;

    page.open_group("stroke=\"#e3e7eb\" stroke-width=\"1\"");
    for tick in &x_ticks.major {
        page.line((across(tick.value), a.top), (across(tick.value), bottom), "");
    }
    for tick in &y_ticks.major {
        page.line((a.left, up(tick.value)), (right, up(tick.value)), "");
    }
    page.close_group();
    page.open_group("stroke=\"#5c6670\" stroke-width=\"1\"");
    page.line((a.left, bottom), (right, bottom), "");
    page.line((a.left, a.top), (a.left, bottom), "");
    let lengths = |minor: bool| if minor { 3.0 } else { 6.0 };
    for (v, minor) in
        x_ticks.major.iter().map(|t| (t.value, false)).chain(x_ticks.minor.iter().map(|&v| (v, true)))
    {
        page.line((across(v), bottom), (across(v), bottom + lengths(minor)), "");
    }
    for (v, minor) in
        y_ticks.major.iter().map(|t| (t.value, false)).chain(y_ticks.minor.iter().map(|&v| (v, true)))
    {
        page.line((a.left - lengths(minor), up(v)), (a.left, up(v)), "");
    }
    page.close_group();

    for tick in &x_ticks.major {
        page.text(across(tick.value), bottom + 19.0, SMALL, Anchor::Middle, &tick.label, INK);
    }
    for tick in &y_ticks.major {
        page.text(a.left - 9.0, up(tick.value) + 0.36 * SMALL, SMALL, Anchor::End, &tick.label, INK);
    }
    let multiplier = |e: i32| format!("\u{d7}{}", number::power_of_ten(e));
    if let Some(e) = y_ticks.exponent {
        page.text(a.left, a.top - 7.0, SMALL, Anchor::Start, &multiplier(e), INK);
    }
    let x_label_y = bottom + 22.0 + LABEL + 2.0;
    if let Some(e) = x_ticks.exponent {
        page.text(right, x_label_y, SMALL, Anchor::End, &multiplier(e), INK);
    }
    if !chart.x.label.is_empty() {
        page.text(a.left + 0.5 * a.width, x_label_y, LABEL, Anchor::Middle, &chart.x.label, INK);
    }
    if !chart.y.label.is_empty() {
        let (x, y) = (a.left - 9.0 - y_labels - 10.0, a.top + 0.5 * a.height);
        let turn = format!("{INK} transform=\"rotate(-90 {x:.2} {y:.2})\"");
        page.text(x, y, LABEL, Anchor::Middle, &chart.y.label, &turn);
    }
}

fn colour(index: usize) -> String {
    let [r, g, b] = CATEGORIES[ON_WHITE[index % ON_WHITE.len()]].bytes();
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn stroke(series: &Series, index: usize) -> String {
    let dashes = DASHES[(index / ON_WHITE.len() + usize::from(series.dashed)) % DASHES.len()];
    let mut style = format!("stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"", colour(index));
    if !dashes.is_empty() {
        let _ = write!(style, " stroke-dasharray=\"{dashes}\"");
    }
    style
}

/// Draws one series; returns how many of its points could be shown.
fn draw_series(page: &mut Page, frame: &Frame, series: &Series, index: usize) -> usize {
    let places: Vec<Option<(f64, f64)>> = series.points.iter().map(|&p| frame.point(p)).collect();
    let shown: Vec<(f64, f64)> = places.iter().copied().flatten().collect();
    if series.style != Style::Markers {
        for run in places.split(|p| p.is_none()) {
            let run: Vec<(f64, f64)> = run.iter().copied().flatten().collect();
            match run[..] {
                [] => {}
                // A point alone between two gaps would be a line of no length.
                [(x, y)] => mark(page, x, y, index, 2.0),
                _ if series.style == Style::Steps => page.path(&thinned(steps(&run)), &stroke(series, index)),
                _ => page.path(&thinned(run), &stroke(series, index)),
            }
        }
    }
    let every = match series.style {
        Style::Markers => 1,
        Style::Both => shown.len().div_ceil(MARKS).max(1),
        Style::Line | Style::Steps => return shown.len(),
    };
    // Series of equal length put their marks at different points, so that close lines stay readable.
    for &(x, y) in shown.iter().skip(index % every).step_by(every) {
        mark(page, x, y, index, 3.6);
    }
    shown.len()
}

/// Each value held until the next point.
fn steps(run: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let corners = run.windows(2).flat_map(|w| [w[0], (w[1].0, w[0].1)]);
    corners.chain(run.last().copied()).collect()
}

/// A long line with the first, lowest, highest and last point of each half pixel column only: it looks the
/// same and keeps files small. Lines that turn back in x are left as they are.
fn thinned(line: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    const MAX_POINTS: usize = 4000;
    if line.len() <= MAX_POINTS || line.windows(2).any(|w| w[1].0 < w[0].0) {
        return line;
    }
    let column = |p: &(f64, f64)| (p.0 * 2.0).floor();
    let mut out = Vec::new();
    for bin in line.chunk_by(|a, b| column(a) == column(b)) {
        let extreme = |sign: f64| {
            (0..bin.len()).fold(0, |best, k| if sign * bin[k].1 > sign * bin[best].1 { k } else { best })
        };
        let mut keep = [0, extreme(1.0), extreme(-1.0), bin.len() - 1];
        keep.sort_unstable();
        for (n, &k) in keep.iter().enumerate() {
            if n == 0 || keep[n - 1] != k {
                out.push(bin[k]);
            }
        }
    }
    out
}

/// A mark: the shape goes with the series, as the colour does.
fn mark(page: &mut Page, x: f64, y: f64, index: usize, size: f64) {
    let fill = format!("fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.7\"", colour(index));
    let polygon = |corners: &[(f64, f64)]| {
        let mut points = String::new();
        for (dx, dy) in corners {
            let _ = write!(points, "{:.2},{:.2} ", x + dx * size, y + dy * size);
        }
        format!("points=\"{}\" {fill}", points.trim_end())
    };
    match index % 5 {
        0 => page.element("circle", &format!("cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{size}\" {fill}")),
        1 => page.element("polygon", &polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)])),
        2 => page.element("polygon", &polygon(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)])),
        3 => page.element("polygon", &polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)])),
        _ => page.element("polygon", &polygon(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)])),
    }
}

/// Names of the series: to the right of the data where they are short, under it where they are long.
struct Legend {
    /// Index of the series and the lines of its name.
    entries: Vec<(usize, Vec<String>)>,
    width: f64,
    right: bool,
    columns: usize,
}

impl Legend {
    const ROW: f64 = SMALL * LINE_HEIGHT + 3.0;

    fn lay_out(series: &[Series], width: f64) -> Self {
        let named = || series.iter().enumerate().filter(|(_, s)| !s.name.trim().is_empty());
        let longest = named().map(|(_, s)| text_width(&s.name, SMALL)).fold(0.0, f64::max);
        let right = SWATCH + 8.0 + longest <= RIGHT_LEGEND.min(0.3 * width);
        let most = width - 2.0 * MARGIN - SWATCH - 24.0;
        let entries: Vec<_> = named()
            .map(|(k, s)| {
                (k, if right { vec![s.name.trim().to_string()] } else { wrap(&s.name, most, SMALL) })
            })
            .collect();
        let entry = SWATCH + 8.0 + longest.min(most) + 18.0;
        let columns = if right { 1 } else { ((width - 2.0 * MARGIN) / entry).floor().max(1.0) as usize };
        Self { entries, width: entry, right, columns }
    }

    fn room_right(&self) -> f64 {
        if self.right && !self.entries.is_empty() { self.width - 4.0 } else { 0.0 }
    }

    /// Heights of the rows when the legend stands under the data.
    fn rows(&self) -> Vec<f64> {
        let lines = |row: &[(usize, Vec<String>)]| row.iter().map(|e| e.1.len()).max().unwrap_or(1);
        self.entries
            .chunks(self.columns)
            .map(|row| (lines(row) - 1) as f64 * SMALL * LINE_HEIGHT + Self::ROW)
            .collect()
    }

    fn room_below(&self) -> f64 {
        if self.right || self.entries.is_empty() { 0.0 } else { self.rows().iter().sum::<f64>() + 6.0 }
    }

    fn draw(&self, page: &mut Page, series: &[Series], area: Area, axis_end: f64) {
        let (left, mut y) = if self.right {
            (area.left + area.width + 18.0, area.top + 0.6 * SMALL)
        } else {
            (MARGIN + 8.0, axis_end + 6.0 + 0.5 * Self::ROW)
        };
        for (row, height) in self.entries.chunks(self.columns).zip(self.rows()) {
            for (column, (k, lines)) in row.iter().enumerate() {
                let x = left + column as f64 * self.width;
                let s = &series[*k];
                if s.style != Style::Markers {
                    page.line((x, y), (x + SWATCH, y), &stroke(s, *k));
                }
                if matches!(s.style, Style::Markers | Style::Both) {
                    mark(page, x + 0.5 * SWATCH, y, *k, 3.6);
                }
                for (n, line) in lines.iter().enumerate() {
                    let line_y = y + 0.36 * SMALL + n as f64 * SMALL * LINE_HEIGHT;
                    page.text(x + SWATCH + 8.0, line_y, SMALL, Anchor::Start, line, INK);
                }
            }
            y += height;
        }
    }
}
