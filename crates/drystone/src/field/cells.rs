//! Pairs of points within a distance of each other, by a grid of cells of that size.
//!
//! Points are sorted by their cell, so that memory is linear in their number wherever they are; the cells
//! around a point are found by bisection. Sums over the neighbours of a point run in the order of cells and,
//! within a cell, of coordinates: they depend neither on the number of threads nor on the order in which
//! bodies were added.

use glam::DVec3;
use rayon::prelude::*;

use crate::collide::Periodic;

/// The largest number of cells along an axis: 21 bits.
const MAX_CELLS: f64 = 2_097_152.0;

/// A point that takes part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    key: u64,
    x: DVec3,
    /// Of its body.
    pub slot: u32,
    /// Charge or mass.
    pub source: f64,
}

/// One axis of the grid.
#[derive(Clone, Copy, Debug, Default)]
struct Axis {
    start: f64,
    /// Length of a cell, m.
    cell: f64,
    count: u64,
    /// Length of the period, m; 0 where it does not repeat.
    period: f64,
}

impl Axis {
    fn place(&self, x: f64) -> u64 {
        let k = ((x - self.start) / self.cell).floor();
        // Also for what rounding leaves outside, and for what is not a number.
        (k.max(0.0) as u64).min(self.count - 1)
    }

    /// The cells next to one and itself, in rising order, each once.
    fn around(&self, k: u64) -> ([u64; 3], usize) {
        let n = self.count;
        let mut list = [0; 3];
        let mut len = 0;
        let mut add = |k: u64| {
            if !list[..len].contains(&k) {
                list[len] = k;
                len += 1;
            }
        };
        let wraps = self.period > 0.0;
        if k > 0 || wraps {
            add((k + n - 1) % n);
        }
        add(k);
        if k + 1 < n || wraps {
            add((k + 1) % n);
        }
        list[..len].sort_unstable();
        (list, len)
    }
}

fn key(x: u64, y: u64, z: u64) -> u64 {
    z << 42 | y << 21 | x
}

/// The grid, and a sum for each of its points.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    axes: [Axis; 3],
    cutoff: f64,
    points: Vec<Point>,
    sums: Vec<DVec3>,
}

impl Cells {
    /// Takes (slot, place, source) of all that take part. In a periodic world the cut-off is at most half of
    /// a period.
    pub fn fill(
        &mut self,
        points: impl Iterator<Item = (u32, DVec3, f64)>,
        cutoff: f64,
        periodic: Option<&Periodic>,
    ) {
        self.cutoff = cutoff;
        self.points.clear();
        self.points.extend(points.map(|(slot, x, source)| Point { key: 0, x, slot, source }));
        let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for p in self.points.iter().filter(|p| p.x.is_finite()) {
            min = min.min(p.x);
            max = max.max(p.x);
        }
        self.axes = std::array::from_fn(|k| match periodic.filter(|p| p.axes[k]) {
            Some(p) => {
                let period = p.length(k);
                let count = (period / cutoff).floor().clamp(1.0, MAX_CELLS);
                Axis { start: p.min[k], cell: period / count, count: count as u64, period }
            }
            None => {
                let length = (max[k] - min[k]).max(0.0);
                let count = (length / cutoff).floor().clamp(1.0, MAX_CELLS);
                let cell = (length / count).max(cutoff);
                Axis { start: min[k], cell, count: count as u64, period: 0.0 }
            }
        });
        let axes = &self.axes;
        self.points.par_iter_mut().with_min_len(1024).for_each(|p| {
            let [x, y, z] = [0, 1, 2].map(|k| axes[k].place(p.x[k]));
            p.key = key(x, y, z);
        });
        self.points.par_sort_unstable_by(|a, b| {
            let places = |k: usize| a.x[k].total_cmp(&b.x[k]);
            let place = places(0).then_with(|| places(1)).then_with(|| places(2));
            a.key
                .cmp(&b.key)
                .then(place)
                .then_with(|| a.source.total_cmp(&b.source))
                .then(a.slot.cmp(&b.slot))
        });
    }

    /// Sums `f(point, other, from other to point, their distance)` over all others within the cut-off, for
    /// every point.
    pub fn sums(&mut self, f: impl Fn(&Point, &Point, DVec3, f64) -> DVec3 + Sync) {
        let Self { axes, cutoff, points, sums, .. } = self;
        let (axes, points, limit) = (&*axes, points.as_slice(), *cutoff * *cutoff);
        let find = |key: u64| points.partition_point(|p| p.key < key);
        sums.resize(points.len(), DVec3::ZERO);
        sums.par_iter_mut().enumerate().with_min_len(64).for_each(|(i, sum)| {
            let p = &points[i];
            *sum = DVec3::ZERO;
            let mask = (1 << 21) - 1;
            let (xs, nx) = axes[0].around(p.key & mask);
            let (ys, ny) = axes[1].around(p.key >> 21 & mask);
            let (zs, nz) = axes[2].around(p.key >> 42);
            for &z in &zs[..nz] {
                for &y in &ys[..ny] {
                    // Cells that follow each other along x are one run of points.
                    let mut from = 0;
                    while from < nx {
                        let mut to = from + 1;
                        while to < nx && xs[to] == xs[to - 1] + 1 {
                            to += 1;
                        }
                        let (first, last) = (key(xs[from], y, z), key(xs[to - 1], y, z));
                        for o in &points[find(first)..] {
                            if o.key > last {
                                break;
                            }
                            if o.slot == p.slot {
                                continue;
                            }
                            let mut d = p.x - o.x;
                            for k in 0..3 {
                                let period = axes[k].period;
                                if period > 0.0 {
                                    d[k] -= period * (d[k] / period).round();
                                }
                            }
                            let square = d.length_squared();
                            if square < limit {
                                *sum += f(p, o, d, square.sqrt());
                            }
                        }
                        from = to;
                    }
                }
            }
        });
    }

    /// The last sums, by slot; points in the order of the grid.
    pub fn results(&self) -> impl Iterator<Item = (u32, DVec3)> + '_ {
        self.points.iter().zip(&self.sums).map(|(p, s)| (p.slot, *s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Points here and there, some far away, against all pairs; a function that tells pairs apart.
    #[test]
    fn the_grid_finds_what_all_pairs_would() {
        let mut random = Random::new(7);
        let periods =
            Periodic { min: DVec3::ZERO, max: DVec3::new(4.0, 3.0, 9.0), axes: [true, true, false] };
        for (n, cutoff, periodic) in [
            (1, 0.5, None),
            (300, 0.4, None),
            (300, 2.5, None),
            (200, 1.5, Some(periods)),
            (200, 0.7, Some(periods)),
        ] {
            let mut points: Vec<(u32, DVec3, f64)> = (0..n)
                .map(|i| (i, random.in_box(DVec3::ZERO, DVec3::new(4.0, 3.0, 2.0)), f64::from(i + 1)))
                .collect();
            if periodic.is_none() && n > 10 {
                points[3].1 = DVec3::new(1e9, -1e9, 0.0);
                points[4].1 = DVec3::new(1e9, -1e9, 0.1);
                points[5].1 = points[6].1;
            }
            let mut cells = Cells::default();
            cells.fill(points.iter().copied(), cutoff, periodic.as_ref());
            let weight = |a: f64, b: f64| DVec3::new(a * b, 1.0, a + b);
            cells.sums(|a, b, d, r| {
                assert!((d.length() - r).abs() < 1e-12);
                weight(a.source, b.source) * r
            });
            let mut found = 0;
            for (slot, sum) in cells.results() {
                let (_, x, s) = points[slot as usize];
                let mut slow = DVec3::ZERO;
                for &(other, y, t) in &points {
                    if other == slot {
                        continue;
                    }
                    for image in 0..9 {
                        let along = |k: i32, n: f64| f64::from(k - 1) * n;
                        let shift = DVec3::new(along(image % 3, 4.0), along(image / 3, 3.0), 0.0);
                        if shift != DVec3::ZERO && periodic.is_none() {
                            continue;
                        }
                        let r = (x - y + shift).length();
                        if r < cutoff {
                            slow += weight(s, t) * r;
                            found += 1;
                        }
                    }
                }
                assert!((slow - sum).length() <= 1e-11 * (1.0 + slow.length()), "{n} {cutoff}: {slow} {sum}");
            }
            assert!(n == 1 || found > 100, "{found}");
        }
    }
}
