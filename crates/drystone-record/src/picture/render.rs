//! From a picture to an image: samples in bands of rows, light shared among neighbours, 2x2 samples to a
//! pixel.
//!
//! Each sample looks along one of 64 directions at the light disc and at the sky, its neighbours in an 8x8
//! block along the others. The mean over the block, taken over samples of the same surface only, is a soft
//! shadow of 64 rays at the price of one [interleaved sampling, KellerHeidrich2001].

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::ray::Ray;
use super::scene::Scene;
use super::shade::{Sample, Studio};
use super::{Image, Picture, overlay};

/// Rows of pixels that are worked on together. Bands are independent, whatever thread takes them.
const BAND: usize = 32;
/// Side of a block of samples that share out the directions.
const BLOCK: usize = 8;
/// Rows of samples beyond a band that its blocks reach into, above and below.
const ABOVE: usize = BLOCK / 2 - 1;
const BELOW: usize = BLOCK / 2;

/// Draws the picture. Items that are not drawable are left out and counted in the image.
pub fn render(picture: &Picture) -> Image {
    let scene = Scene::new(picture);
    let studio = Studio::new(picture, &scene);
    let mut image = Image {
        width: picture.width,
        height: picture.height,
        rgb: vec![0; 3 * picture.width * picture.height],
        left_out: scene.left_out,
    };
    if image.rgb.is_empty() {
        return image;
    }
    let eye = Eye::new(picture);
    image.rgb.par_chunks_mut(3 * picture.width * BAND).enumerate().for_each(|(band, rows)| {
        Band::take(&studio, &eye, band * BAND, rows.len() / (3 * picture.width)).put(&studio, rows)
    });
    overlay::draw(picture, &mut image);
    image
}

/// Rays of the camera by sample.
struct Eye {
    from: DVec3,
    corner: DVec3,
    right: DVec3,
    down: DVec3,
    /// Samples along each side of a pixel.
    fine: usize,
    /// Samples in a row.
    width: usize,
}

impl Eye {
    fn new(picture: &Picture) -> Self {
        let camera = &picture.camera;
        let axes = camera.axes();
        let fine = picture.samples.clamp(1, 8);
        let (width, height) = (fine * picture.width, fine * picture.height);
        let step = 2.0 * camera.half_height() / height as f64;
        let corner = axes.world(DVec3::new(-0.5 * step * width as f64, 0.5 * step * height as f64, -1.0));
        Self { from: camera.from, corner, right: axes.right * step, down: -axes.up * step, fine, width }
    }

    fn ray(&self, column: usize, row: i64) -> Ray {
        let direction = self.corner + self.right * (column as f64 + 0.5) + self.down * (row as f64 + 0.5);
        Ray { origin: self.from, direction: direction.normalize() }
    }
}

/// The samples of some rows of pixels, with a few rows above and below.
struct Band<'a> {
    eye: &'a Eye,
    samples: Vec<Sample>,
    /// Rows of samples within the band proper.
    rows: usize,
}

/// Sums over samples of one surface: of what they see of key light and sky, and their number.
type Shares = [f32; 3];

impl<'a> Band<'a> {
    fn take(studio: &Studio, eye: &'a Eye, first_row: usize, pixel_rows: usize) -> Self {
        let rows = eye.fine * pixel_rows;
        let mut samples = Vec::with_capacity(eye.width * (rows + ABOVE + BELOW));
        let mut veils = Vec::new();
        for k in 0..rows + ABOVE + BELOW {
            let row = (eye.fine * first_row + k) as i64 - ABOVE as i64;
            for column in 0..eye.width {
                samples.push(studio.sample(&eye.ray(column, row), turn(column, row), &mut veils));
            }
        }
        Self { eye, samples, rows }
    }

    fn put(&self, studio: &Studio, rgb: &mut [u8]) {
        let across = self.shares_across();
        let fine = self.eye.fine;
        let pixels = self.eye.width / fine;
        for y in 0..self.rows / fine {
            for x in 0..pixels {
                let mut sum = Vec3::ZERO;
                for k in 0..fine * fine {
                    let (column, row) = (fine * x + k % fine, fine * y + k / fine + ABOVE);
                    let sample = &self.samples[row * self.eye.width + column];
                    let (mut key, mut sky, mut line) = (1.0, 1.0, 0.0);
                    if sample.item != Sample::NOTHING {
                        let [k, s, count] = self.shares(&across, column, row);
                        (key, sky) = (k / count, s / count);
                        line = self.line(column, row);
                    }
                    // Cutting off before the mean keeps edges against white smooth.
                    sum += studio.light(sample, key, sky, line).min(Vec3::ONE);
                }
                let bytes = Studio::encode(sum / (fine * fine) as f32);
                rgb[3 * (y * pixels + x)..][..3].copy_from_slice(&bytes);
            }
        }
    }

    /// Sums along the rows of the blocks. Rows first and columns after is 16 look-ups a sample instead of 64;
    /// where surfaces meet the result differs a little from the full block, and still mixes only like with
    /// like.
    fn shares_across(&self) -> Vec<Shares> {
        let width = self.eye.width;
        let mut sums = Vec::with_capacity(self.samples.len());
        for row in self.samples.chunks_exact(width) {
            for (column, here) in row.iter().enumerate() {
                let mut sum = [0.0; 3];
                if here.item != Sample::NOTHING {
                    for other in &row[column.saturating_sub(ABOVE)..(column + BELOW + 1).min(width)] {
                        if here.continues(other) {
                            sum = [sum[0] + other.sees[0], sum[1] + other.sees[1], sum[2] + 1.0];
                        }
                    }
                }
                sums.push(sum);
            }
        }
        sums
    }

    fn shares(&self, across: &[Shares], column: usize, row: usize) -> Shares {
        let width = self.eye.width;
        let here = &self.samples[row * width + column];
        let mut sum = [0.0; 3];
        for r in row - ABOVE..=row + BELOW {
            let k = r * width + column;
            if here.continues(&self.samples[k]) {
                sum = std::array::from_fn(|i| sum[i] + across[k][i]);
            }
        }
        sum
    }

    /// Strength of the line at an edge of a body.
    fn line(&self, column: usize, row: usize) -> f32 {
        let width = self.eye.width;
        let here = &self.samples[row * width + column];
        let beside = [
            (column.saturating_sub(1), row),
            ((column + 1).min(width - 1), row),
            (column, row - 1),
            (column, row + 1),
        ];
        beside.into_iter().fold(0.0_f32, |line, (c, r)| {
            let other = &self.samples[r * width + c];
            line.max(if other.item != here.item {
                // The outline belongs to the nearer of the two surfaces.
                if other.depth > here.depth { 0.35 } else { 0.0 }
            } else if other.normal.dot(here.normal) < 0.8 {
                0.2
            } else {
                0.0
            })
        })
    }
}

/// Which of the shared directions a sample takes: each once in any 8x8 block, neighbours far apart (the
/// ordered dither of [Bayer1973], whose entries interleave the bits of the row and of column xor row, lowest
/// bit first).
fn turn(column: usize, row: i64) -> usize {
    let (x, y) = (column % BLOCK, row.rem_euclid(BLOCK as i64) as usize);
    (0..3).fold(0, |order, bit| {
        let (a, b) = ((x ^ y) >> bit & 1, y >> bit & 1);
        order << 2 | a << 1 | b
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::shade::DIRECTIONS;

    #[test]
    fn every_block_takes_every_turn_once() {
        for (x, y) in [(0, 0), (1, -1), (7, 3)] {
            let mut seen = [0; DIRECTIONS];
            (0..DIRECTIONS).for_each(|k| seen[turn(x + k % BLOCK, y + (k / BLOCK) as i64)] += 1);
            assert_eq!(seen, [1; DIRECTIONS]);
        }
    }
}
