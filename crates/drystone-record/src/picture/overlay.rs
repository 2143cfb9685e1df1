//! What is written over the picture: the title and the colour scale.

use serde::{Deserialize, Serialize};

use super::colour::ColourMap;
use super::{Image, Picture, Rgb, font};
use crate::plot::number;

/// A colour scale at the right edge of a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Legend {
    /// What is shown by colour, as "speed".
    pub title: String,
    /// Value at the lower end.
    pub min: f64,
    /// Value at the upper end.
    pub max: f64,
    /// Unit of the values, as "m/s"; may be empty.
    pub unit: String,
    /// The colours.
    #[serde(default)]
    pub map: ColourMap,
}

impl Legend {
    /// A legend with the sequential map.
    pub fn new(title: impl Into<String>, min: f64, max: f64, unit: impl Into<String>) -> Self {
        Self { title: title.into(), min, max, unit: unit.into(), map: ColourMap::Sequential }
    }

    /// The colour of a value on this scale.
    pub fn colour(&self, value: f64) -> Rgb {
        self.map.of(value, self.min, self.max)
    }

    /// The title and the unit, in lines no longer than `room` pixels where words allow it.
    fn heading(&self, size: f32, room: f32) -> Vec<String> {
        let unit = if self.unit.is_empty() { String::new() } else { format!("({})", self.unit) };
        let mut lines: Vec<String> = Vec::new();
        for word in self.title.split_whitespace().chain([unit.as_str()]).filter(|w| !w.is_empty()) {
            match lines.last_mut() {
                Some(line) if font::width(&format!("{line} {word}"), size) <= room => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_string()),
            }
        }
        lines
    }

    fn labels(&self) -> [String; 3] {
        [self.max, 0.5 * (self.min + self.max), self.min].map(number::short)
    }

    /// The share of the width of a picture that the legend takes at its right edge.
    pub fn share(&self, width: usize, height: usize) -> f64 {
        let size = text_size(width, height);
        let heading = self.heading(size, HEADING * size);
        let labels = self.labels();
        let widest = |lines: &[String]| lines.iter().map(|l| font::width(l, size)).fold(0.0, f32::max);
        let taken = widest(&heading).max(widest(&labels) + (BAR + BESIDE) * size) + 2.0 * MARGIN * size;
        f64::from(taken) / width.max(1) as f64
    }
}

/// Lengths in heights of capitals: to the edges of the picture, the width of the colour scale, from there to
/// its labels, and what a line of the heading may be long.
const MARGIN: f32 = 2.0;
const BAR: f32 = 1.3;
const BESIDE: f32 = 0.9;
const HEADING: f32 = 12.0;

/// Height of capitals for an image of the given size, pixels.
fn text_size(width: usize, height: usize) -> f32 {
    (width.min(height * 8 / 5) as f32 / 100.0).clamp(7.0, 48.0)
}

/// Writes title and legend over the image.
pub(super) fn draw(picture: &Picture, image: &mut Image) {
    let size = text_size(image.width, image.height);
    let margin = MARGIN * size;
    let paper = picture.background.bytes();
    let ink = if picture.background.lightness() > 0.6 { [34, 38, 43] } else { [238, 240, 243] };
    if let Some(title) = &picture.title {
        let size = 1.2 * size;
        let room = image.width as f32 - 2.0 * margin;
        // A title too long for the frame shrinks rather than being cut off.
        let fitted = size * (room / font::width(title, size)).min(1.0);
        font::write(image, margin, margin + size, fitted, title, ink, paper);
    }
    let Some(legend) = &picture.legend else { return };

    let (bar_width, bar_height) = (BAR * size, (0.42 * image.height as f32).max(4.0 * size));
    let labels = legend.labels();
    let label_width = labels.iter().map(|l| font::width(l, size)).fold(0.0, f32::max);
    let right = image.width as f32 - margin;
    let left = right - label_width - BESIDE * size - bar_width;
    let top = 0.5 * (image.height as f32 - bar_height);

    let (columns, rows) = (bar_width.round() as i64, bar_height.round() as i64);
    let (x0, y0) = (left.round() as i64, top.round() as i64);
    for y in -1..=rows {
        let t = 1.0 - (y.clamp(0, rows - 1) as f64 + 0.5) / rows as f64;
        let colour = legend.map.at(t).bytes();
        for x in -1..=columns {
            let frame = x < 0 || y < 0 || x == columns || y == rows;
            image.blend(x0 + x, y0 + y, if frame { ink } else { colour }, if frame { 0.5 } else { 1.0 });
        }
    }
    for (k, label) in labels.iter().enumerate() {
        let y = top + bar_height * 0.5 * k as f32;
        font::write(image, left + bar_width + BESIDE * size, y + 0.5 * size, size, label, ink, paper);
    }
    let heading = legend.heading(size, HEADING * size);
    for (k, line) in heading.iter().rev().enumerate() {
        let wide = font::width(line, size);
        let fitted = size * ((image.width as f32 - 2.0 * margin) / wide).min(1.0);
        let y = top - (1.9 + 1.7 * k as f32) * size;
        font::write(image, right - wide * fitted / size, y, fitted, line, ink, paper);
    }
}
