//! Profiles over the distance from the z axis.

use std::f64::consts::PI;

use glam::DVec3;

/// Rings of equal width around the axis, between two heights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rings {
    /// Outer radius of the last one, m.
    pub radius: f64,
    pub count: usize,
    /// m
    pub low: f64,
    /// m
    pub high: f64,
}

impl Rings {
    /// Which ring a point is in.
    pub fn of(&self, p: DVec3) -> Option<usize> {
        let k = (p.x.hypot(p.y) / self.radius * self.count as f64) as usize;
        (p.z >= self.low && p.z <= self.high && k < self.count).then_some(k)
    }

    /// Middle of every ring, m.
    pub fn middles(&self) -> Vec<f64> {
        (0..self.count).map(|k| (k as f64 + 0.5) * self.radius / self.count as f64).collect()
    }

    /// m³
    fn volume(&self, k: usize) -> f64 {
        let area = PI * (self.radius / self.count as f64).powi(2) * (2 * k + 1) as f64;
        area * (self.high - self.low)
    }

    /// Solid fraction of every ring, balls of `radius` being around `centres`. What of a ball lies in a ring
    /// is counted by the points of a lattice in it.
    pub fn solid_fractions(&self, centres: &[DVec3], radius: f64) -> Vec<f64> {
        let mut solid = vec![0.0; self.count];
        if self.high <= self.low {
            return solid;
        }
        let points = ball(radius);
        let share = 4.0 / 3.0 * PI * radius.powi(3) / points.len() as f64;
        for centre in centres.iter().filter(|c| c.z > self.low - radius && c.z < self.high + radius) {
            for k in points.iter().filter_map(|p| self.of(*centre + *p)) {
                solid[k] += share;
            }
        }
        (0..self.count).map(|k| solid[k] / self.volume(k)).collect()
    }

    /// Solid fraction of the first rings together, as far as `within` from the axis.
    pub fn inner_fraction(&self, fractions: &[f64], within: f64) -> Option<f64> {
        let rings = ((within / self.radius * self.count as f64 + 1e-9) as usize).min(self.count);
        let volume: f64 = (0..rings).map(|k| self.volume(k)).sum();
        let solid: f64 = (0..rings).map(|k| self.volume(k) * fractions[k]).sum();
        (volume > 0.0).then(|| solid / volume)
    }

    /// Means of `values` at `points` by ring; not a number where there is no point.
    pub fn means(&self, values: impl Iterator<Item = (DVec3, f64)>) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.count];
        for (p, x) in values {
            if let Some(k) = self.of(p) {
                sums[k] = (sums[k].0 + x, sums[k].1 + 1.0);
            }
        }
        sums.into_iter().map(|(sum, count)| sum / count).collect()
    }
}

/// Points of a cubic lattice in a ball about the origin, none on an axis.
fn ball(radius: f64) -> Vec<DVec3> {
    const ACROSS: i32 = 10;
    let at = |i: i32| (2 * i + 1 - ACROSS) as f64 / ACROSS as f64 * radius;
    let cube = (0..ACROSS.pow(3)).map(|i| DVec3::new(at(i % 10), at(i / 10 % 10), at(i / 100)));
    cube.filter(|p| p.length() <= radius).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simple cubic lattice of touching balls has a solid fraction of π/6 in every ring that is wide
    /// enough.
    #[test]
    fn lattice_has_its_fraction() {
        let centres: Vec<DVec3> = (0..40 * 40 * 12)
            .map(|i| DVec3::new((i % 40) as f64 - 19.5, (i / 40 % 40) as f64 - 19.5, (i / 1600) as f64))
            .collect();
        let rings = Rings { radius: 15.0, count: 3, low: 2.0, high: 8.0 };
        let fractions = rings.solid_fractions(&centres, 0.5);
        for f in &fractions {
            assert!((f - PI / 6.0).abs() < 0.02, "{fractions:?}");
        }
        let all = rings.inner_fraction(&fractions, 15.0).unwrap();
        assert!((all - PI / 6.0).abs() < 0.005, "{all}");
        assert_eq!(rings.inner_fraction(&fractions, 4.0), None);
        let one = rings.solid_fractions(&[DVec3::new(7.5, 0.0, 5.0)], 0.5);
        assert_eq!((one[0], one[2]), (0.0, 0.0));
        // π/6 over 15² - 10² ... of the middle ring: (10² - 5²) π · 6.
        assert!((one[1] - PI / 6.0 / (75.0 * PI * 6.0)).abs() < 1e-12, "{one:?}");
    }

    #[test]
    fn means_are_by_ring() {
        let rings = Rings { radius: 2.0, count: 2, low: 0.0, high: 1.0 };
        let at = |x: f64, z: f64| DVec3::new(0.0, x, z);
        let values = [(at(0.5, 0.5), 1.0), (at(-0.9, 1.0), 3.0), (at(1.5, 0.2), 5.0), (at(0.5, 1.1), 9.0)];
        assert_eq!(rings.means(values.into_iter()), [2.0, 5.0]);
        assert!(rings.means(values.into_iter().take(1))[1].is_nan());
    }
}
