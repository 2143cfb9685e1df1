//! What a surface of triangles is like across its edges, found once when the surface is made.
//!
//! A contact may push away from an edge only where the surface is convex there: then any direction between
//! the normals of the two triangles separates. Across a flat or concave edge the two faces say everything,
//! and a body that slides over must not feel the edge. Triangles in one plane that hang together make up a
//! face (a region); contacts name the region, not the triangle, and so keep their names while a body slides
//! over its triangles.

use glam::DVec3;

use crate::collide::Aabb;

/// Sine of the angle up to which neighbouring triangles count as lying in one plane.
const FLAT: f64 = 1e-7;
/// All corners of a region lie within this part of the surface's size from its plane.
const LEVEL: f64 = 1e-9;

/// How a surface goes on across an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crease {
    /// In the same plane.
    Flat = 0,
    /// Upwards: the two faces look at each other.
    Concave = 1,
    /// Downwards: the edge sticks out.
    Convex = 2,
    /// Not at all, or in more ways than one.
    Open = 3,
}

/// Creases and regions of a surface, by triangle.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    /// Two bits for each edge.
    creases: Vec<u8>,
    regions: Vec<u32>,
}

impl Skin {
    /// The skin of triangles 0, 1, ... with the given corners (counter-clockwise from outside), unit normals,
    /// and neighbours across edge e, which runs from corner e to corner e + 1.
    pub fn new(
        corners: impl Fn(u32) -> [DVec3; 3],
        normal: impl Fn(u32) -> DVec3,
        neighbour: impl Fn(u32, usize) -> Option<u32>,
        count: u32,
    ) -> Self {
        let mut creases = vec![0; count as usize];
        let mut bounds = Aabb { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };
        for k in 0..count {
            let p = corners(k);
            for edge in 0..3 {
                bounds = Aabb { min: bounds.min.min(p[edge]), max: bounds.max.max(p[edge]) };
                let along = p[(edge + 1) % 3] - p[edge];
                let crease = match neighbour(k, edge) {
                    None => Crease::Open,
                    Some(next) => crease(normal(k), normal(next), along),
                };
                creases[k as usize] |= (crease as u8) << (2 * edge);
            }
        }
        let mut skin = Self { creases, regions: vec![u32::MAX; count as usize] };
        let level = LEVEL * if count > 0 { (bounds.max - bounds.min).length() } else { 0.0 };
        let mut waiting = Vec::new();
        for seed in 0..count {
            if skin.regions[seed as usize] != u32::MAX {
                continue;
            }
            let (origin, up) = (corners(seed)[0], normal(seed));
            skin.regions[seed as usize] = seed;
            waiting.push(seed);
            while let Some(k) = waiting.pop() {
                for edge in 0..3 {
                    if skin.crease(k, edge) != Crease::Flat {
                        continue;
                    }
                    let Some(next) = neighbour(k, edge) else { continue };
                    let in_plane = |p: &DVec3| (*p - origin).dot(up).abs() <= level;
                    if skin.regions[next as usize] == u32::MAX
                        && normal(next).cross(up).length_squared() <= FLAT * FLAT
                        && corners(next).iter().all(in_plane)
                    {
                        skin.regions[next as usize] = seed;
                        waiting.push(next);
                    }
                }
            }
        }
        skin
    }

    /// How the surface goes on across an edge of a triangle.
    pub(crate) fn crease(&self, triangle: u32, edge: usize) -> Crease {
        match self.creases[triangle as usize] >> (2 * edge) & 3 {
            0 => Crease::Flat,
            1 => Crease::Concave,
            2 => Crease::Convex,
            _ => Crease::Open,
        }
    }

    /// Whether some edge of the triangle sticks out or is open.
    pub(crate) fn has_ridge(&self, triangle: u32) -> bool {
        self.creases[triangle as usize] & 0b10_1010 != 0
    }

    /// The number of the triangle's region: that of its first triangle.
    pub(crate) fn region(&self, triangle: u32) -> u32 {
        self.regions[triangle as usize]
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        self.creases.len() + size_of_val(self.regions.as_slice())
    }
}

/// Between triangles of normals `n` and `next`, of which the first has the edge along `along`.
fn crease(n: DVec3, next: DVec3, along: DVec3) -> Crease {
    // The neighbour runs along the edge the other way: it goes on in the direction along × next.
    let rise = along.cross(next).dot(n) / along.length();
    if n.dot(next) < 0.0 && rise.abs() <= FLAT {
        // Folded back onto itself, as the rim of a sheet with two sides.
        Crease::Convex
    } else if rise.abs() <= FLAT {
        Crease::Flat
    } else if rise > 0.0 {
        Crease::Concave
    } else {
        Crease::Convex
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skin(vertices: &[DVec3], triangles: &[[usize; 3]]) -> Skin {
        let corners = |k: u32| triangles[k as usize].map(|v| vertices[v]);
        let normal = |k: u32| {
            let [a, b, c] = corners(k);
            (b - a).cross(c - a).normalize()
        };
        let neighbour = |k: u32, e: usize| {
            let (a, b) = (triangles[k as usize][e], triangles[k as usize][(e + 1) % 3]);
            let runs = |t: &[usize; 3]| (0..3).any(|f| (t[f], t[(f + 1) % 3]) == (b, a));
            triangles.iter().position(runs).map(|t| t as u32)
        };
        Skin::new(corners, normal, neighbour, triangles.len() as u32)
    }

    /// Two triangles over the unit square, which share the diagonal; the far corner of the second is `lift`
    /// high.
    fn folded(lift: f64) -> Skin {
        let v = [DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::new(0.0, 1.0, lift)];
        skin(&v, &[[0, 1, 2], [0, 2, 3]])
    }

    #[test]
    fn folds_are_told_apart() {
        for (lift, expected) in [(0.0, Crease::Flat), (0.1, Crease::Concave), (-0.1, Crease::Convex)] {
            let skin = folded(lift);
            assert_eq!(skin.crease(0, 2), expected);
            assert_eq!(skin.crease(1, 0), expected);
            assert_eq!(skin.crease(0, 0), Crease::Open);
            assert_eq!(skin.region(1), if lift == 0.0 { 0 } else { 1 });
            assert!(skin.has_ridge(0));
        }
    }

    #[test]
    fn a_cube_has_six_faces_and_twelve_edges() {
        let v: Vec<DVec3> =
            (0..8).map(|k| DVec3::new((k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2) as f64)).collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles: Vec<[usize; 3]> =
            quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect();
        let skin = skin(&v, &triangles);
        let mut regions: Vec<u32> = (0..12).map(|k| skin.region(k)).collect();
        regions.dedup();
        assert_eq!(regions, [0, 2, 4, 6, 8, 10]);
        let creases: Vec<Crease> =
            (0..12).flat_map(|k| (0..3).map(move |e| (k, e))).map(|(k, e)| skin.crease(k, e)).collect();
        assert_eq!(creases.iter().filter(|c| **c == Crease::Convex).count(), 24);
        assert_eq!(creases.iter().filter(|c| **c == Crease::Flat).count(), 12);
    }

    #[test]
    fn a_slow_bend_is_not_one_plane() {
        // Strips that each turn by less than what counts as flat.
        let n = 4000;
        let v: Vec<DVec3> = (0..=n)
            .flat_map(|i| {
                let angle = 0.9e-7 * i as f64;
                [0.0, 1.0].map(|y| DVec3::new(angle.sin() / 0.9e-7, y, (angle.cos() - 1.0) / 0.9e-7))
            })
            .collect();
        let triangles: Vec<[usize; 3]> =
            (0..n).flat_map(|i| [[2 * i, 2 * i + 2, 2 * i + 3], [2 * i, 2 * i + 3, 2 * i + 1]]).collect();
        let corners = |k: u32| triangles[k as usize].map(|i| v[i]);
        let normal = |k: u32| {
            let [a, b, c] = corners(k);
            (b - a).cross(c - a).normalize()
        };
        let neighbour = |k: u32, e: usize| match (k % 2, e) {
            (0, 2) => Some(k + 1),
            (1, 0) => Some(k - 1),
            (0, 1) => (k + 3 < triangles.len() as u32).then_some(k + 3),
            (1, 2) => k.checked_sub(3),
            _ => None,
        };
        let skin = Skin::new(corners, normal, neighbour, triangles.len() as u32);
        let last = skin.region(triangles.len() as u32 - 1);
        assert!(last > 0, "the far end lies {} m below the plane of the first strip", -v[2 * n].z);
    }
}
