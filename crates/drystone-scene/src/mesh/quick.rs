//! The volume of a convex hull, fast and nearly exact, for weighing thousands of cuts. The parts themselves
//! are made with the engine's own hulls.
//!
//! Quickhull \[Barber1996\]: points further out than a face by more than a hair are added, the furthest
//! first.

use glam::DVec3;

/// Points that stand out by less than this share of the extent change no volume that matters.
const NEGLIGIBLE: f64 = 1e-9;

struct Face {
    corners: [u32; 3],
    /// Across the edge from corner k to corner k + 1.
    across: [u32; 3],
    normal: DVec3,
    offset: f64,
    outside: Vec<u32>,
    alive: bool,
}

/// m³; `None` for points in a plane, or where rounding confuses the hull.
pub(super) fn hull_volume_of(points: &[DVec3]) -> Option<f64> {
    let mut build = Build::new(points)?;
    let (mut next, mut grown) = (0, 0);
    while next < build.faces.len() {
        if build.faces[next].alive && !build.faces[next].outside.is_empty() {
            // Every point is added once at most, unless thin faces point anywhere.
            grown += 1;
            if grown > points.len() {
                return None;
            }
            build.grow(next as u32)?;
        }
        next += 1;
    }
    let base = points[0];
    let six: f64 = build
        .faces
        .iter()
        .filter(|f| f.alive)
        .map(|f| {
            let [a, b, c] = f.corners.map(|i| points[i as usize] - base);
            a.dot(b.cross(c))
        })
        .sum();
    Some(six / 6.0)
}

struct Build<'a> {
    points: &'a [DVec3],
    faces: Vec<Face>,
    hair: f64,
    /// Face that begins at a corner of the horizon, by point.
    begins: Vec<u32>,
}

impl<'a> Build<'a> {
    /// The first tetrahedron.
    fn new(points: &'a [DVec3]) -> Option<Self> {
        let furthest = |measure: &dyn Fn(DVec3) -> f64| {
            let better = |best: (f64, usize), (k, &p): (usize, &DVec3)| {
                let m = measure(p);
                if m > best.0 { (m, k) } else { best }
            };
            points.iter().enumerate().fold((f64::NEG_INFINITY, 0), better)
        };
        let base = *points.first()?;
        let a = furthest(&|p| (p - base).length_squared()).1;
        let (far, b) = furthest(&|p| (p - points[a]).length_squared());
        let size = far.sqrt();
        let along = (points[b] - points[a]).try_normalize()?;
        let (off, c) = furthest(&|p| (p - points[a]).cross(along).length_squared());
        let normal = (points[b] - points[a]).cross(points[c] - points[a]).try_normalize()?;
        let (high, d) = furthest(&|p| (p - points[a]).dot(normal).abs());
        if off.sqrt() <= NEGLIGIBLE * size || high <= NEGLIGIBLE * size {
            return None;
        }
        let below = (points[d] - points[a]).dot(normal) < 0.0;
        let [a, b, c, d] = [a, if below { b } else { c }, if below { c } else { b }, d].map(|k| k as u32);
        let mut build =
            Self { points, faces: Vec::new(), hair: NEGLIGIBLE * size, begins: vec![u32::MAX; points.len()] };
        // Looking from d at the triangle a b c it goes clockwise: counter-clockwise from outside.
        build.face([a, b, c], [1, 3, 2]);
        build.face([a, d, b], [2, 3, 0]);
        build.face([a, c, d], [0, 3, 1]);
        build.face([b, d, c], [1, 2, 0]);
        let all: Vec<u32> = (0..points.len() as u32).collect();
        build.hand_out(&all, 0);
        Some(build)
    }

    fn face(&mut self, corners: [u32; 3], across: [u32; 3]) -> u32 {
        let [a, b, c] = corners.map(|i| self.points[i as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let offset = normal.dot(a);
        self.faces.push(Face { corners, across, normal, offset, outside: Vec::new(), alive: true });
        self.faces.len() as u32 - 1
    }

    fn height(&self, face: u32, point: u32) -> f64 {
        let f = &self.faces[face as usize];
        f.normal.dot(self.points[point as usize]) - f.offset
    }

    /// Gives points to the first of the newest faces that they lie outside of.
    fn hand_out(&mut self, points: &[u32], from: u32) {
        for &p in points {
            if let Some(f) = (from..self.faces.len() as u32).find(|&f| self.height(f, p) > self.hair) {
                self.faces[f as usize].outside.push(p);
            }
        }
    }

    /// Replaces all faces that the furthest point outside of one can see by a cone from that point.
    fn grow(&mut self, face: u32) -> Option<()> {
        let outside = &self.faces[face as usize].outside;
        let apex =
            *outside.iter().max_by(|&&a, &&b| self.height(face, a).total_cmp(&self.height(face, b)))?;
        let mut waiting = vec![face];
        let mut horizon: Vec<(u32, u32, u32)> = Vec::new();
        let mut homeless = Vec::new();
        self.faces[face as usize].alive = false;
        while let Some(f) = waiting.pop() {
            homeless.append(&mut self.faces[f as usize].outside);
            let (corners, across) = (self.faces[f as usize].corners, self.faces[f as usize].across);
            for k in 0..3 {
                let other = across[k];
                if !self.faces[other as usize].alive {
                    continue;
                }
                if self.height(other, apex) > self.hair {
                    self.faces[other as usize].alive = false;
                    waiting.push(other);
                } else {
                    horizon.push((corners[k], corners[(k + 1) % 3], other));
                }
            }
        }
        let first = self.faces.len() as u32;
        for &(a, b, other) in &horizon {
            let new = self.face([a, b, apex], [other, u32::MAX, u32::MAX]);
            let slot = self.faces[other as usize].corners.iter().position(|&i| i == b)?;
            self.faces[other as usize].across[slot] = new;
            self.begins[a as usize] = new;
        }
        for new in first..self.faces.len() as u32 {
            let [a, b, _] = self.faces[new as usize].corners;
            // The next face of the cone begins where this one ends. Where rounding made the horizon cross
            // itself, one does not.
            let after = self.begins[b as usize];
            if after < first || after == u32::MAX || self.faces[after as usize].corners[0] != b {
                return None;
            }
            if self.begins[a as usize] != new {
                return None;
            }
            self.faces[new as usize].across[1] = after;
            self.faces[after as usize].across[2] = new;
        }
        homeless.retain(|&p| p != apex);
        self.hand_out(&homeless, first);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone::Shape;
    use drystone::random::Random;

    /// Digits cut off, as in files: points that were meant to be in a plane are a hair's breadth off.
    #[test]
    fn ends_on_points_that_are_nearly_in_planes() {
        let mut random = Random::new(2);
        for _ in 0..300 {
            let turn = random.rotation();
            let coarse = |v: DVec3| v.as_vec3().as_dvec3();
            let points: Vec<DVec3> = (0..60)
                .map(|_| coarse(turn * (4.0 * random.in_ball()).round() * DVec3::new(0.1, 0.1, 1e-7)))
                .collect();
            let exact = Shape::hull(&points).map_or(0.0, |h| h.volume());
            if let Some(fast) = hull_volume_of(&points) {
                assert!((fast - exact).abs() <= 1e-2 * exact + 1e-9, "{fast} {exact}");
            }
        }
    }

    #[test]
    fn agrees_with_the_engine() {
        let mut random = Random::new(11);
        for round in 0..200 {
            let points: Vec<DVec3> = (0..10 + round)
                .map(|_| match round % 4 {
                    0 => random.in_ball(),
                    1 => random.unit_vector(),
                    // Many in a few planes, and many at one place.
                    2 => (3.0 * random.in_ball()).round(),
                    _ => random.unit_vector().with_z(f64::from(round % 3)) + 5.0,
                })
                .collect();
            let exact = Shape::hull(&points).map(|h| h.volume());
            match (hull_volume_of(&points), exact) {
                (Some(fast), Ok(exact)) => assert!((fast - exact).abs() <= 1e-7 * exact, "{fast} {exact}"),
                (None, Err(_)) => {}
                (None, Ok(_)) => panic!("gave up on points of round {round}"),
                (Some(fast), Err(e)) => assert!(fast.abs() < 1e-7, "{fast} but {e}"),
            }
        }
    }
}
