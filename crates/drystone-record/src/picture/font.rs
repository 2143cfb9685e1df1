//! A small stroke font, drawn for this crate: letters as pen strokes on a grid, sharp at any size.
//!
//! A glyph is a list of strokes; a stroke is a chain of points, two characters (x, y) each, digits in
//! base 36. The baseline is y = 4, small letters reach y = 12, capitals and digits y = 16, tails y = 0. After
//! `~` the points are the control polygon of a quadratic B-spline, closed if the last point is the first;
//! else the ends are on the curve.

use super::Image;

const BASELINE: f32 = 4.0;
/// Height of capitals over the baseline, in grid units.
const CAPITAL: f32 = 12.0;
/// Free space after a glyph, in grid units.
const GAP: f32 = 3.1;
const SPACE: f32 = 4.0;
/// Width of the pen, in grid units.
const PEN: f32 = 1.55;
/// Pieces of a curve between two control points.
const PIECES: usize = 6;

/// Strokes of the character; an empty frame for one that the font does not have.
fn strokes(c: char) -> &'static str {
    match c {
        ' ' => "",
        '0' => "~04848g0g04",
        '1' => "0d4g44",
        '2' => "~0d0g8g8a04 0484",
        '3' => "~0e0g8g8b3a ~3a8a840406",
        '4' => "646g0787",
        '5' => "7g1g0a ~0a8e840406",
        '6' => "~7e7g0g04848c0c08",
        '7' => "0g8g34",
        '8' => "~1g7g7a1a1g ~0a8a84040a",
        '9' => "~1614848g0g08888c",
        'A' => "044g84 1777",
        'B' => "040g ~0g7g7a0a ~0a8a8404",
        'C' => "~8d8g0g048487",
        'D' => "040g ~0g8g8404",
        'E' => "7g0g0474 0a6a",
        'F' => "7g0g04 0a6a",
        'G' => "~8d8g0g04848a 4a8a",
        'H' => "040g 848g 0a8a",
        'I' => "141g",
        'J' => "6g68 ~68640407",
        'K' => "040g 8g08 3b84",
        'L' => "0g0474",
        'M' => "040g579gaga4",
        'N' => "040g848g",
        'O' => "~0g8g84040g",
        'P' => "040g ~0g8g8909",
        'Q' => "~0g8g84040g 5793",
        'R' => "040g ~0g8g8909 4984",
        'S' => "~8d8g0g0a8a840407",
        'T' => "0g8g 444g",
        'U' => "0g08 ~08048488 888g",
        'V' => "0g448g",
        'W' => "0g346g94cg",
        'X' => "0g84 048g",
        'Y' => "0g4a8g 4a44",
        'Z' => "0g8g0484",
        'a' => "~0c7c74040c 7c74",
        'b' => "~0c7c74040c 0g04",
        'c' => "~7a7c0c047476",
        'd' => "~0c7c74040c 7g74",
        'e' => "0878 ~787c0c047476",
        'f' => "~5g2g2b 2b24 0c5c",
        'g' => "~0c7c74040c 7c73 ~73700002",
        'h' => "0g04 ~090c7c7874 ",
        'i' => "1c14 1f1g",
        'j' => "3c33 ~333000 3f3g",
        'k' => "0g04 6c07 2964",
        'l' => "1g14",
        'm' => "0c04 ~090c5c5854 ~595caca8a4",
        'n' => "0c04 ~090c7c7874",
        'o' => "~0c7c74040c",
        'p' => "~0c7c74040c 0c00",
        'q' => "~0c7c74040c 7c70",
        'r' => "0c04 ~080c5c",
        's' => "~6a6c0c0868640406",
        't' => "2f27 ~272454 0c5c",
        'u' => "~0c07047478 7c74",
        'v' => "0c346c",
        'w' => "0c345c74ac",
        'x' => "0c64 046c",
        'y' => "0c34 6c20",
        'z' => "0c6c0464",
        '.' => "1415",
        ',' => "1502",
        ':' => "1516 1b1c",
        ';' => "1502 1b1c",
        '\'' => "1g1d",
        '"' => "0g0d 3g3d",
        '!' => "1g18 1415",
        '?' => "~0e0g7g7b49 4948 3435",
        '-' | '\u{2212}' => "0969",
        '+' => "0969 363c",
        '=' => "0767 0b6b",
        '/' => "026g",
        '|' => "1g12",
        '_' => "0383",
        '(' => "~3h0c0731",
        ')' => "~0h3c3701",
        '[' => "3h0h0131",
        ']' => "0h3h3101",
        '<' => "6d0965",
        '>' => "0d6905",
        '%' => "048g ~0g3g3c0c0g ~5888845458",
        '^' => "0c3g6c",
        '*' | '\u{d7}' => "066c 0c66",
        '\u{b7}' => "191a",
        '\u{b0}' => "~0g3g3c0c0g",
        '\u{b5}' | '\u{3bc}' => "0c00 ~07047478 7c74",
        '\u{b9}' => "0f2g2a",
        '\u{b2}' => "~0e0g4g4d0a 0a4a",
        '\u{b3}' => "~0f0g4g4d1d ~1d4d4a0a0b",
        '\u{207b}' => "0d3d",
        _ => "04848g0g04",
    }
}

/// The segments of a glyph, in grid units with the baseline at 0, and how far the pen moves on.
fn segments(c: char) -> (Vec<[[f32; 2]; 2]>, f32) {
    let mut out = Vec::new();
    let mut widest = if c == ' ' { SPACE } else { 0.0 };
    for stroke in strokes(c).split_whitespace() {
        let (curved, points) = stroke.strip_prefix('~').map_or((false, stroke), |rest| (true, rest));
        let digits: Vec<f32> = points.chars().filter_map(|d| d.to_digit(36)).map(|d| d as f32).collect();
        let chain: Vec<[f32; 2]> = digits.chunks_exact(2).map(|p| [p[0], p[1] - BASELINE]).collect();
        widest = chain.iter().fold(widest, |w: f32, p| w.max(p[0]));
        let line = if curved { curve(&chain) } else { chain };
        out.extend(line.windows(2).map(|w| [w[0], w[1]]));
    }
    (out, widest + GAP)
}

/// Points along the quadratic B-spline of a control polygon.
fn curve(control: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let n = control.len();
    let mid = |a: [f32; 2], b: [f32; 2]| [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
    let closed = n > 2 && control[0] == control[n - 1];
    let mut line = Vec::new();
    let mut arc = |a: [f32; 2], b: [f32; 2], c: [f32; 2]| {
        for i in 0..=PIECES {
            let t = i as f32 / PIECES as f32;
            let (u, v, w) = ((1.0 - t) * (1.0 - t), 2.0 * t * (1.0 - t), t * t);
            line.push([u * a[0] + v * b[0] + w * c[0], u * a[1] + v * b[1] + w * c[1]]);
        }
    };
    if closed {
        for k in 0..n - 1 {
            let (before, after) = (control[(k + n - 2) % (n - 1)], control[k + 1]);
            arc(mid(before, control[k]), control[k], mid(control[k], after));
        }
    } else {
        for k in 1..n - 1 {
            let start = if k == 1 { control[0] } else { mid(control[k - 1], control[k]) };
            let end = if k == n - 2 { control[n - 1] } else { mid(control[k], control[k + 1]) };
            arc(start, control[k], end);
        }
    }
    line
}

/// Width of a line of text in pixels; `size` is the height of its capitals.
pub(super) fn width(text: &str, size: f32) -> f32 {
    let units: f32 = text.chars().map(|c| segments(c).1).sum();
    (units - if text.is_empty() { 0.0 } else { GAP }) * size / CAPITAL
}

/// Writes a line of text whose baseline starts at pixel (x, y), with a halo that keeps it apart from what is
/// behind.
pub(super) fn write(image: &mut Image, x: f32, y: f32, size: f32, text: &str, ink: [u8; 3], halo: [u8; 3]) {
    let unit = size / CAPITAL;
    let mut pen = x;
    let mut lines = Vec::new();
    for c in text.chars() {
        let (glyph, advance) = segments(c);
        lines.extend(glyph.iter().map(|s| s.map(|p| [pen + p[0] * unit, y - p[1] * unit])));
        pen += advance * unit;
    }
    let half = (0.5 * PEN * unit).max(0.5);
    stroke_all(image, &lines, half + 0.18 * size, halo, 0.75);
    stroke_all(image, &lines, half, ink, 1.0);
}

/// Draws segments with round ends; a pixel is covered once, however many of them cross it.
fn stroke_all(image: &mut Image, lines: &[[[f32; 2]; 2]], half: f32, colour: [u8; 3], strength: f32) {
    let extreme = |k: usize, pick: fn(f32, f32) -> f32, from: f32| {
        lines.iter().flatten().map(|p| p[k]).fold(from, pick)
    };
    if lines.is_empty() {
        return;
    }
    let clamp = |v: f32, limit: usize| v.clamp(0.0, limit as f32) as usize;
    let left = clamp(extreme(0, f32::min, f32::MAX) - half - 1.0, image.width);
    let right = clamp(extreme(0, f32::max, f32::MIN) + half + 2.0, image.width);
    let top = clamp(extreme(1, f32::min, f32::MAX) - half - 1.0, image.height);
    let bottom = clamp(extreme(1, f32::max, f32::MIN) + half + 2.0, image.height);
    let columns = right - left;
    let mut cover = vec![0.0_f32; columns * (bottom - top)];
    for [a, b] in lines {
        let box_of = |k: usize| (a[k].min(b[k]) - half - 1.0, a[k].max(b[k]) + half + 2.0);
        let ((x0, x1), (y0, y1)) = (box_of(0), box_of(1));
        for py in clamp(y0, image.height).max(top)..clamp(y1, image.height).min(bottom) {
            for px in clamp(x0, image.width).max(left)..clamp(x1, image.width).min(right) {
                let d = distance([px as f32 + 0.5, py as f32 + 0.5], *a, *b);
                let c = &mut cover[(py - top) * columns + px - left];
                *c = c.max((half + 0.5 - d).clamp(0.0, 1.0));
            }
        }
    }
    for (k, &c) in cover.iter().enumerate().filter(|(_, c)| **c > 0.0) {
        image.blend((left + k % columns) as i64, (top + k / columns) as i64, colour, c * strength);
    }
}

/// Distance of a point from a segment.
fn distance(p: [f32; 2], a: [f32; 2], b: [f32; 2]) -> f32 {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    let (px, py) = (p[0] - a[0], p[1] - a[1]);
    let length = dx * dx + dy * dy;
    let t = if length > 0.0 { ((px * dx + py * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (px - t * dx).hypot(py - t * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_glyph_lies_on_the_grid_and_differs_from_the_others() {
        let known: Vec<char> = (' '..='~').chain(['\u{b0}', '\u{b2}', '\u{b3}', '\u{b5}']).collect();
        let mut seen: Vec<&str> = Vec::new();
        for c in known.into_iter().filter(|c| !"#$&@\\`{}~".contains(*c)) {
            for stroke in strokes(c).split_whitespace() {
                let points = stroke.trim_start_matches('~');
                assert!(points.len() >= 4 && points.len() % 2 == 0, "{c}: {stroke}");
                assert!(
                    points.chars().all(|d| d.is_ascii_digit() || ('a'..='h').contains(&d)),
                    "{c}: {stroke}"
                );
            }
            if c != '0' && c != 'O' {
                assert!(!seen.contains(&strokes(c)), "{c} looks like another");
                seen.push(strokes(c));
            }
        }
    }

    #[test]
    fn text_darkens_pixels_within_its_box_only() {
        let (w, h) = (80, 30);
        let mut image = Image { width: w, height: h, rgb: vec![255; 3 * w * h], left_out: 0 };
        write(&mut image, 10.0, 22.0, 12.0, "10 g", [0; 3], [255; 3]);
        let right = 10.0 + width("10 g", 12.0) + 1.5;
        let mut dark = 0;
        for y in 0..h {
            for x in 0..w {
                if image.pixel(x, y)[0] < 128 {
                    dark += 1;
                    assert!(x >= 9 && (x as f32) < right && (9..28).contains(&y), "ink at {x}, {y}");
                }
            }
        }
        assert!(dark > 60, "{dark}");
    }
}
