//! The text of an SVG document, element by element.

use std::fmt::Write;

/// Where a text stands relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A document in the making.
pub(super) struct Page {
    text: String,
}

impl Page {
    /// A page with a white background.
    pub fn new(width: f64, height: f64) -> Self {
        let mut text = String::new();
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', \
             sans-serif\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        Self { text }
    }

    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    /// Writes an element without content; `attributes` must be well-formed.
    pub fn element(&mut self, name: &str, attributes: &str) {
        let _ = writeln!(self.text, "<{name} {attributes}/>");
    }

    pub fn open_group(&mut self, attributes: &str) {
        let _ = writeln!(self.text, "<g {attributes}>");
    }

    pub fn close_group(&mut self) {
        self.text.push_str("</g>\n");
    }

    pub fn clip(&mut self, id: &str, x: f64, y: f64, width: f64, height: f64) {
        let _ = writeln!(
            self.text,
            "<clipPath id=\"{id}\"><rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/></clipPath>"
        );
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), style: &str) {
        let _ = writeln!(
            self.text,
            "<line x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\" {style}/>"
        );
    }

    pub fn path(&mut self, points: &[(f64, f64)], style: &str) {
        let _ = write!(self.text, "<path fill=\"none\" {style} d=\"");
        for (k, (x, y)) in points.iter().enumerate() {
            let _ = write!(self.text, "{}{x:.2} {y:.2}", if k == 0 { "M" } else { "L" });
        }
        self.text.push_str("\"/>\n");
    }

    /// A line of text; `style` holds further attributes.
    pub fn text(&mut self, x: f64, y: f64, size: f64, anchor: Anchor, text: &str, style: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        let _ = writeln!(
            self.text,
            "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\" text-anchor=\"{anchor}\" {style}>{text}</text>"
        );
    }
}

/// Text with what has a meaning in XML spelled out, and what XML does not allow replaced.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Width of a text in the widest of the common sans-serif faces, near enough to lay out a page by.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.32,
            ' ' | 'f' | 't' | 'r' | '(' | ')' | '/' | '-' => 0.39,
            '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}'..='\u{207f}' => 0.42,
            'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.96,
            c if c.is_ascii_uppercase() => 0.74,
            c if c.is_ascii() => 0.63,
            c if (c as u32) < 0x2e80 => 0.68,
            _ => 1.0,
        })
        .sum();
    em * size
}

/// Breaks a text into lines no wider than `width`, at spaces where it can.
pub(super) fn wrap(text: &str, width: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = if line.is_empty() { word.to_string() } else { format!("{line} {word}") };
        if text_width(&longer, size) <= width {
            line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if !line.is_empty() && text_width(&line, size) + text_width(&c.to_string(), size) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_cleaned() {
        assert_eq!(escape("a<b & \"c\"\u{1}'"), "a&lt;b &amp; &quot;c&quot;\u{fffd}&#39;");
    }

    #[test]
    fn wrapping_keeps_every_character_and_the_width() {
        let text = "a rather long name of a series, with averyveryverylongwordthatfitsnowhere in it";
        let lines = wrap(text, 120.0, 12.0);
        assert!(lines.len() > 3);
        assert!(lines.iter().all(|l| text_width(l, 12.0) <= 120.0), "{lines:?}");
        let joined: String = lines.concat();
        assert_eq!(joined.replace(' ', ""), text.replace(' ', ""));
    }
}
