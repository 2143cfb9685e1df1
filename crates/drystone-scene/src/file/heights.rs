//! Height fields: numbers in the scene file, a text grid, or a greyscale PNG.
//!
//! Rows read like a map: the first is the far one (largest y), the last the near one; x grows along a row.

use std::path::Path;

use drystone::Shape;

use super::library::Library;
use super::settings::positive;
use crate::text::{At, Fault, Value};

/// Grids with more points are refused before they are read: they have more triangles than a shape may have.
const MOST_POINTS: usize = drystone::shape::MOST_PARTS;

/// Heights in rows, the first one far.
struct Grid {
    columns: usize,
    heights: Vec<f64>,
}

pub(super) fn read(at: &At, library: &Library) -> Result<Shape, Fault> {
    let spacing_at = at.need("spacing")?;
    let spacing = match spacing_at.node.value {
        Value::Array(_) => {
            for s in spacing_at.items()? {
                positive(&s, "m")?;
            }
            spacing_at.numbers()?
        }
        _ => [positive(&spacing_at, "m")?; 2],
    };
    let scale = at.get("scale").map_or(Ok(1.0), |s| s.number())?;
    let (mut grid, source) = match (at.get("heights"), at.get("file")) {
        (Some(_), Some(file)) => return Err(file.fault("give heights or file, not both")),
        (Some(list), None) => (inline(&list)?, list.fault("")),
        (None, Some(file)) => {
            let path = library.path(&file)?;
            let grid = of_file(&path).map_err(|e| file.fault(format!("{}{e}", path.display())))?;
            (grid, file.fault(""))
        }
        (None, None) => return Err(at.fault("a height field needs 'heights' (m) or a 'file'")),
    };
    grid.heights.iter_mut().for_each(|h| *h *= scale);
    // The engine counts rows towards +y.
    let rows = grid.heights.chunks(grid.columns).rev().flatten().copied().collect::<Vec<f64>>();
    let count = rows.len() / grid.columns;
    Shape::height_field(grid.columns, count, spacing, rows)
        .and_then(|shape| shape.check().map(|()| shape))
        .map_err(|message| Fault { message, ..source })
}

/// `heights = [[...], [...]]`
fn inline(at: &At) -> Result<Grid, Fault> {
    let mut grid = Grid { columns: 0, heights: Vec::new() };
    for row in at.items()? {
        let before = grid.heights.len();
        for h in row.items()? {
            grid.heights.push(h.number()?);
        }
        let n = grid.heights.len() - before;
        grid.columns = if before == 0 { n } else { grid.columns };
        if n != grid.columns || n < 2 {
            let wanted = if before == 0 { "2 or more".into() } else { grid.columns.to_string() };
            return Err(row.fault(format!("a row must have {wanted} heights, got {n}")));
        }
    }
    if grid.columns == 0 {
        return Err(at.fault("must have 2 or more rows of heights, got none"));
    }
    Ok(grid)
}

/// The message begins with what follows the name of the file.
fn of_file(path: &Path) -> Result<Grid, String> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    if !["txt", "csv", "png"].contains(&ending.as_str()) {
        return Err(": the name of a grid of heights must end in .txt, .csv or .png".into());
    }
    let bytes = std::fs::read(path).map_err(|e| format!(": cannot be read: {e}"))?;
    if ending == "png" { of_png(&bytes).map_err(|e| format!(": {e}")) } else { of_text(&bytes) }
}

/// One row a line, numbers apart by spaces or commas; `#` begins a comment.
fn of_text(bytes: &[u8]) -> Result<Grid, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut grid = Grid { columns: 0, heights: Vec::new() };
    for (k, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default();
        let before = grid.heights.len();
        for word in content.split(|c: char| c.is_whitespace() || c == ',').filter(|w| !w.is_empty()) {
            let shown: String = word.chars().take(40).collect();
            let h: f64 = word.parse().map_err(|_| format!(":{}: '{shown}' is not a number", k + 1))?;
            if !h.is_finite() {
                return Err(format!(":{}: '{shown}' is not a finite number", k + 1));
            }
            grid.heights.push(h);
        }
        let n = grid.heights.len() - before;
        if n == 0 {
            continue;
        }
        grid.columns = if before == 0 { n } else { grid.columns };
        if n != grid.columns || n < 2 {
            let wanted = if before == 0 { "2 or more".into() } else { grid.columns.to_string() };
            return Err(format!(":{}: a row must have {wanted} heights, got {n}", k + 1));
        }
        if grid.heights.len() > MOST_POINTS {
            return Err(format!(":{}: more than {MOST_POINTS} heights", k + 1));
        }
    }
    if grid.columns == 0 {
        return Err(": there are no heights in it".into());
    }
    Ok(grid)
}

/// Black is 0, white is 1.
fn of_png(bytes: &[u8]) -> Result<Grid, String> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .map_err(|e| format!("not a PNG that can be read: {e}"))?;
    let info = reader.info();
    let (width, height) = (info.width as usize, info.height as usize);
    if width.saturating_mul(height) > MOST_POINTS {
        return Err(format!("has {width} x {height} pixels, at most {MOST_POINTS} in all are allowed"));
    }
    let (colour, depth) = (info.color_type, info.bit_depth as usize);
    let samples = match colour {
        png::ColorType::Grayscale => 1,
        png::ColorType::GrayscaleAlpha => 2,
        other => return Err(format!("must be greyscale, it is {other:?}")),
    };
    let row_bytes = (width * samples * depth).div_ceil(8);
    let size = reader.output_buffer_size().ok_or("it is too large")?;
    let mut pixels = vec![0; size];
    reader.next_frame(&mut pixels).map_err(|e| format!("cannot be decoded: {e}"))?;
    let top = ((1_u32 << depth) - 1) as f64;
    let mut heights = Vec::with_capacity(width * height);
    for row in pixels.chunks(row_bytes).take(height) {
        for x in 0..width {
            let bit = x * samples * depth;
            let value = match depth {
                16 => u32::from(row[bit / 8]) << 8 | u32::from(row[bit / 8 + 1]),
                8 => u32::from(row[bit / 8]),
                // Several to a byte, the leftmost in the highest bits.
                _ => u32::from(row[bit / 8]) >> (8 - depth - bit % 8) & ((1 << depth) - 1),
            };
            heights.push(f64::from(value) / top);
        }
    }
    Ok(Grid { columns: width, heights })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(colour: png::ColorType, depth: png::BitDepth, width: u32, height: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(colour);
        encoder.set_depth(depth);
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        bytes
    }

    #[test]
    fn greys_of_every_depth() {
        use png::{BitDepth, ColorType};
        let eight = png(ColorType::Grayscale, BitDepth::Eight, 2, 2, &[0, 51, 102, 255]);
        assert_eq!(of_png(&eight).unwrap().heights, [0.0, 0.2, 0.4, 1.0]);
        let sixteen = png(ColorType::Grayscale, BitDepth::Sixteen, 2, 1, &[0x33, 0x33, 0xff, 0xff]);
        assert_eq!(of_png(&sixteen).unwrap().heights, [0.2, 1.0]);
        let four = png(ColorType::Grayscale, BitDepth::Four, 3, 2, &[0x0f, 0x30, 0xf6, 0x90]);
        assert_eq!(of_png(&four).unwrap().heights, [0.0, 1.0, 0.2, 1.0, 0.4, 0.6]);
        let one = png(ColorType::Grayscale, BitDepth::One, 3, 1, &[0b1010_0000]);
        assert_eq!(of_png(&one).unwrap().heights, [1.0, 0.0, 1.0]);
        let alpha = png(ColorType::GrayscaleAlpha, BitDepth::Eight, 2, 1, &[51, 7, 255, 9]);
        assert_eq!(of_png(&alpha).unwrap().heights, [0.2, 1.0]);
        let colour = png(ColorType::Rgb, BitDepth::Eight, 1, 1, &[1, 2, 3]);
        assert!(of_png(&colour).err().unwrap().contains("greyscale"));
    }

    #[test]
    fn damaged_pictures_are_refused() {
        let data: Vec<u8> = (0..64 * 64).map(|k| (k * 7 % 251) as u8).collect();
        let good = png(png::ColorType::Grayscale, png::BitDepth::Eight, 64, 64, &data);
        assert!(of_png(&good).is_ok());
        for cut in 0..good.len() - 12 {
            assert!(of_png(&good[..cut]).is_err(), "{cut}");
        }
        let mut random = drystone::random::Random::new(5);
        for _ in 0..300 {
            let mut bad = good.clone();
            let at = random.next_u64() as usize % bad.len();
            bad[at] ^= 1 << (random.next_u64() % 8);
            // Whatever it says, it must say it without a panic.
            let _ = of_png(&bad);
        }
    }

    #[test]
    fn text_grids_name_their_lines() {
        let grid = of_text(b"# two rows\n1, 2 3\n\n4 5,6 # last\n").unwrap();
        assert_eq!((grid.columns, grid.heights.as_slice()), (3, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].as_slice()));
        let wrong = |text: &str| of_text(text.as_bytes()).err().unwrap();
        assert_eq!(wrong("1 2\n3\n"), ":2: a row must have 2 heights, got 1");
        assert_eq!(wrong("1 2\n3 x\n"), ":2: 'x' is not a number");
        assert_eq!(wrong("1 2\n3 inf\n"), ":2: 'inf' is not a finite number");
        assert_eq!(wrong("1\n2\n"), ":1: a row must have 2 or more heights, got 1");
        assert_eq!(wrong("# none\n"), ": there are no heights in it");
    }
}
