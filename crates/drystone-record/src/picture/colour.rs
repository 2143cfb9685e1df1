//! Colours, and the maps from numbers and indices to colours.
//!
//! The sequential map is a straight climb in lightness through the Oklab space [Ottosson2020], from a dark
//! violet over teal to a bright yellow, re-parametrised by arc length: equal steps of the value are equal
//! steps of perceived colour, and the order survives printing in grey. The categorical palette is the one of
//! [OkabeIto2008], which the common kinds of colour blindness keep apart.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A colour in sRGB as screens take it (gamma encoded), each component between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rgb(pub [f32; 3]);

impl Rgb {
    /// A colour from the bytes of a hexadecimal code: `Rgb::hex(0x0072B2)`.
    pub const fn hex(code: u32) -> Self {
        Self([
            ((code >> 16) & 255) as f32 / 255.0,
            ((code >> 8) & 255) as f32 / 255.0,
            (code & 255) as f32 / 255.0,
        ])
    }

    /// A grey; 0 is black and 1 is white.
    pub const fn grey(level: f32) -> Self {
        Self([level; 3])
    }

    /// The colour as bytes, rounded.
    pub fn bytes(self) -> [u8; 3] {
        self.0.map(|c| (c.clamp(0.0, 1.0) * 255.0 + 0.5) as u8)
    }

    /// Amounts of light: the sRGB curve undone. Lights add up in these, not in the encoded components.
    pub fn to_linear(self) -> [f32; 3] {
        self.0.map(|c| {
            let c = c.clamp(0.0, 1.0);
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// The colour of the given amounts of light, cut off at white.
    pub fn from_linear(light: [f32; 3]) -> Self {
        Self(light.map(|c| {
            let c = c.clamp(0.0, 1.0);
            if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 }
        }))
    }

    /// Perceived lightness: the L of Oklab, 0 for black to 1 for white.
    pub fn lightness(self) -> f64 {
        oklab_from_linear(self.to_linear().map(f64::from))[0]
    }
}

/// A map from a number to a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColourMap {
    /// Dark violet, blue, teal, green, yellow: for quantities that go from small to large.
    #[default]
    Sequential,
    /// Blue, pale grey, red: for quantities with a meaningful middle.
    Diverging,
}

/// Entries of the tables of the maps; between two of them colours are interpolated.
const TABLE: usize = 256;

impl ColourMap {
    /// The colour at `t`: 0 is the lower end and 1 the upper; values outside are held at the ends, NaN is
    /// grey.
    pub fn at(self, t: f64) -> Rgb {
        if t.is_nan() {
            return Rgb::grey(0.5);
        }
        static SEQUENTIAL: OnceLock<Vec<Rgb>> = OnceLock::new();
        static DIVERGING: OnceLock<Vec<Rgb>> = OnceLock::new();
        let table = match self {
            ColourMap::Sequential => SEQUENTIAL.get_or_init(|| evenly_spaced(sequential_path)),
            ColourMap::Diverging => DIVERGING.get_or_init(|| evenly_spaced(diverging_path)),
        };
        let x = t.clamp(0.0, 1.0) * (TABLE - 1) as f64;
        let i = (x as usize).min(TABLE - 2);
        let f = (x - i as f64) as f32;
        let (a, b) = (table[i].0, table[i + 1].0);
        Rgb(std::array::from_fn(|k| a[k] + (b[k] - a[k]) * f))
    }

    /// The colour of `value` on the scale from `min` to `max`. A scale of no extent takes its middle.
    pub fn of(self, value: f64, min: f64, max: f64) -> Rgb {
        if max > min { self.at((value - min) / (max - min)) } else { self.at(0.5 + 0.0 * value) }
    }
}

/// The palette of \[OkabeIto2008\], ordered so that the first few stand apart most and black comes last.
pub const CATEGORIES: [Rgb; 8] = [
    Rgb::hex(0x0072B2),
    Rgb::hex(0xD55E00),
    Rgb::hex(0x009E73),
    Rgb::hex(0xCC79A7),
    Rgb::hex(0xE69F00),
    Rgb::hex(0x56B4E9),
    Rgb::hex(0xF0E442),
    Rgb::hex(0x000000),
];

/// Colour number `index` of the categorical palette; it starts over after the last.
pub fn category(index: usize) -> Rgb {
    CATEGORIES[index % CATEGORIES.len()]
}

/// Colour number `index` of an endless row, for things to be told apart that are too many for [`category`]:
/// hues a golden angle from each other, so that neighbours in the row never look alike, in three lightnesses.
pub fn distinct(index: usize) -> Rgb {
    let hue = (250.0 + 137.507_764 * index as f64) % 360.0;
    let lightness = [0.66, 0.78, 0.55][index % 3];
    let mut chroma = 0.15;
    loop {
        let light = linear_from_oklab(oklab_from_polar(lightness, chroma, hue));
        // Less colour where a screen has no more to give.
        if light.iter().all(|c| (0.0..=1.0).contains(c)) || chroma < 0.01 {
            return Rgb::from_linear(light.map(|c| c as f32));
        }
        chroma -= 0.005;
    }
}

/// Lightness, chroma and hue (degrees) to Oklab.
fn oklab_from_polar(lightness: f64, chroma: f64, hue: f64) -> [f64; 3] {
    let h = hue.to_radians();
    [lightness, chroma * h.cos(), chroma * h.sin()]
}

/// Oklab of the sequential map at `s`; the chroma stays just inside of what a screen can show.
fn sequential_path(s: f64) -> [f64; 3] {
    let off_middle = 2.0 * s - 1.0;
    oklab_from_polar(0.35 + 0.57 * s, 0.098 + 0.055 * off_middle * off_middle, 305.0 - 200.0 * s)
}

/// Oklab of the diverging map at `s`: two arms of opposite hue, alike in lightness and chroma.
fn diverging_path(s: f64) -> [f64; 3] {
    let off_middle = 2.0 * s - 1.0;
    let hue = if off_middle < 0.0 { 255.0 } else { 30.0 };
    oklab_from_polar(0.94 - 0.49 * off_middle.abs(), 0.14 * off_middle.abs(), hue)
}

/// A table of colours at equal distances along the path.
fn evenly_spaced(path: fn(f64) -> [f64; 3]) -> Vec<Rgb> {
    const FINE: usize = 4096;
    let mut along = Vec::with_capacity(FINE + 1);
    let mut length = 0.0;
    let mut previous = path(0.0);
    for i in 0..=FINE {
        let here = path(i as f64 / FINE as f64);
        length += distance(here, previous);
        along.push(length);
        previous = here;
    }
    (0..TABLE)
        .map(|i| {
            let target = length * i as f64 / (TABLE - 1) as f64;
            let k = along.partition_point(|&l| l < target).min(FINE);
            let light = linear_from_oklab(path(k as f64 / FINE as f64));
            Rgb::from_linear(light.map(|c| c as f32))
        })
        .collect()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
}

/// Amounts of light to Oklab [Ottosson2020].
fn oklab_from_linear([r, g, b]: [f64; 3]) -> [f64; 3] {
    let l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b).cbrt();
    let m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b).cbrt();
    let s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b).cbrt();
    [
        0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
    ]
}

/// Oklab to amounts of light [Ottosson2020].
fn linear_from_oklab([lightness, a, b]: [f64; 3]) -> [f64; 3] {
    let l = (lightness + 0.3963377774 * a + 0.2158037573 * b).powi(3);
    let m = (lightness - 0.1055613458 * a - 0.0638541728 * b).powi(3);
    let s = (lightness - 0.0894841775 * a - 1.2914855480 * b).powi(3);
    [
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oklab_and_back_is_the_same_colour() {
        for code in [0x000000, 0xFFFFFF, 0xD55E00, 0x56B4E9, 0x00FF00] {
            let light = Rgb::hex(code).to_linear().map(f64::from);
            let back = linear_from_oklab(oklab_from_linear(light));
            assert!(distance(light, back) < 1e-6, "{code:06x}: {light:?} became {back:?}");
        }
        let white = oklab_from_linear([1.0; 3]);
        assert!((white[0] - 1.0).abs() < 1e-6 && white[1].abs() < 1e-6 && white[2].abs() < 1e-6);
    }

    #[test]
    fn both_maps_stay_within_what_a_screen_shows() {
        for path in [sequential_path, diverging_path] {
            for i in 0..=1000 {
                let light = linear_from_oklab(path(i as f64 / 1000.0));
                assert!(light.iter().all(|c| (-1e-3..=1.0 + 1e-3).contains(c)), "at {i}: {light:?}");
            }
        }
    }

    #[test]
    fn equal_steps_of_the_sequential_map_look_equal_and_grow_lighter() {
        let lab = |t: f64| oklab_from_linear(ColourMap::Sequential.at(t).to_linear().map(f64::from));
        let steps: Vec<f64> =
            (0..32).map(|i| distance(lab(i as f64 / 32.0), lab((i + 1) as f64 / 32.0))).collect();
        let (least, most) = steps.iter().fold((f64::MAX, 0.0_f64), |(a, b), &s| (a.min(s), b.max(s)));
        assert!(most / least < 1.1, "steps between {least} and {most}");
        assert!((0..32).all(|i| lab((i + 1) as f64 / 32.0)[0] > lab(i as f64 / 32.0)[0]));
    }

    #[test]
    fn values_off_the_scale_are_held_and_nan_is_grey() {
        let map = ColourMap::Sequential;
        assert_eq!(map.of(-5.0, 0.0, 1.0), map.at(0.0));
        assert_eq!(map.of(f64::INFINITY, 0.0, 1.0), map.at(1.0));
        assert_eq!(map.of(f64::NAN, 0.0, 1.0), Rgb::grey(0.5));
        assert_eq!(map.of(3.0, 3.0, 3.0), map.at(0.5));
    }
}
