//! From triangles to faces: triangles in one plane become one polygon, and points that are no corners are
//! found.
//!
//! Points that should be in one plane are so up to rounding, and the triangles between them may be slivers
//! whose normals mean nothing. So not normals are compared but distances: a face starts with the largest
//! triangle left and takes in neighbours all of whose corners are within the tolerance of its plane, which is
//! then fitted to what was taken.

use glam::DVec3;

use crate::shape::moments::double_area;

const NONE: u32 = u32::MAX;

/// How often the plane of a face is fitted again to what it took in.
const FITS: usize = 4;

/// The hull as triangles.
pub(super) struct Surface<'a> {
    pub points: &'a [DVec3],
    pub triangles: Vec<[u32; 3]>,
    /// Across the edge from corner k to corner k + 1.
    pub across: Vec<[u32; 3]>,
}

/// The hull as polygons.
pub(super) struct Polygons {
    /// Corners, counter-clockwise from outside; only if there is nothing needless.
    pub faces: Vec<Vec<u32>>,
    /// Points that are no corners: without them the hull is the same up to the tolerance.
    pub needless: Vec<u32>,
}

/// Merges what is flat up to `tolerance`.
pub(super) fn merge(surface: &Surface, tolerance: f64) -> Polygons {
    let mut regions = Regions::new(surface);
    regions.grow_all(tolerance);
    let mut faces = regions.rims();
    let between = regions.between_two();
    if !between.is_empty() {
        return Polygons { faces: Vec::new(), needless: between };
    }
    // A region whose rim is no convex polygon becomes several faces.
    let mut ragged = regions.ragged.clone();
    faces.retain(|(region, rim)| {
        convex(surface.points, rim) || {
            ragged.push(*region);
            false
        }
    });
    let mut faces: Vec<Vec<u32>> = faces.into_iter().map(|(_, rim)| rim).collect();
    faces.extend(ragged.iter().flat_map(|k| regions.pieces(*k)));
    let needless = blunt(surface.points, &faces, tolerance);
    Polygons { faces, needless }
}

struct Regions<'a> {
    surface: &'a Surface<'a>,
    /// Twice the area of each triangle, along its normal.
    areas: Vec<DVec3>,
    region: Vec<u32>,
    count: u32,
    /// Regions whose rim is no simple cycle.
    ragged: Vec<u32>,
}

impl<'a> Regions<'a> {
    fn new(surface: &'a Surface) -> Self {
        let area = |t: &[u32; 3]| double_area(t.map(|k| surface.points[k as usize]));
        Self {
            surface,
            areas: surface.triangles.iter().map(area).collect(),
            region: vec![NONE; surface.triangles.len()],
            count: 0,
            ragged: Vec::new(),
        }
    }

    fn grow_all(&mut self, tolerance: f64) {
        let mut order: Vec<usize> = (0..self.areas.len()).collect();
        let size: Vec<f64> = self.areas.iter().map(|a| a.length_squared()).collect();
        order.sort_by(|&i, &j| size[j].total_cmp(&size[i]).then(i.cmp(&j)));
        let mut taken = Vec::new();
        for seed in order {
            if self.region[seed] != NONE {
                continue;
            }
            let mut normal = self.areas[seed].normalize_or_zero();
            self.take(seed, normal, tolerance, &mut taken);
            for _ in 0..FITS {
                let fitted = taken.iter().map(|&t| self.areas[t]).sum::<DVec3>().normalize_or_zero();
                let before = taken.len();
                self.release(&taken);
                self.take(seed, fitted, tolerance, &mut taken);
                if taken.len() < before {
                    self.release(&taken);
                    self.take(seed, normal, tolerance, &mut taken);
                    break;
                }
                if taken.len() == before {
                    break;
                }
                normal = fitted;
            }
            self.count += 1;
        }
    }

    /// Takes everything connected to the seed that is near the plane through the seed with the given normal.
    fn take(&mut self, seed: usize, normal: DVec3, tolerance: f64, taken: &mut Vec<usize>) {
        let s = self.surface;
        let at = |k: u32| s.points[k as usize];
        let [a, b, c] = s.triangles[seed].map(at);
        let middle = (a + b + c) / 3.0;
        taken.clear();
        taken.push(seed);
        self.region[seed] = self.count;
        let mut k = 0;
        while k < taken.len() {
            for g in s.across[taken[k]].map(|g| g as usize) {
                let flat = || s.triangles[g].iter().all(|v| (at(*v) - middle).dot(normal).abs() <= tolerance);
                // Beyond a sharp edge the first sliver of the other side can be near the plane too.
                if self.region[g] == NONE && self.areas[g].dot(normal) > 0.0 && flat() {
                    self.region[g] = self.count;
                    taken.push(g);
                }
            }
            k += 1;
        }
    }

    fn release(&mut self, taken: &[usize]) {
        for &t in taken {
            self.region[t] = NONE;
        }
    }

    /// A region cut into convex polygons: each the largest triangle left, and what can be added to it.
    fn pieces(&self, region: u32) -> Vec<Vec<u32>> {
        let s = self.surface;
        let mut seeds: Vec<usize> = (0..self.region.len()).filter(|&t| self.region[t] == region).collect();
        seeds.sort_by(|&i, &j| {
            self.areas[j].length_squared().total_cmp(&self.areas[i].length_squared()).then(i.cmp(&j))
        });
        let mut free = vec![false; self.region.len()];
        seeds.iter().for_each(|t| free[*t] = true);
        let mut pieces = Vec::new();
        for seed in seeds {
            if !free[seed] {
                continue;
            }
            free[seed] = false;
            let mut rim = s.triangles[seed].to_vec();
            // The triangle and its edge behind each edge of the rim.
            let mut behind: Vec<(usize, usize)> = (0..3).map(|e| (seed, e)).collect();
            let mut k = 0;
            while k < rim.len() {
                let (t, e) = behind[k];
                let g = s.across[t][e] as usize;
                let to = rim[(k + 1) % rim.len()];
                let back = s.triangles[g].iter().position(|v| *v == to).unwrap_or(0);
                let apex = s.triangles[g][(back + 2) % 3];
                let mut larger = rim.clone();
                larger.insert(k + 1, apex);
                if free[g] && !rim.contains(&apex) && convex(s.points, &larger) {
                    free[g] = false;
                    rim = larger;
                    behind[k] = (g, (back + 1) % 3);
                    behind.insert(k + 1, (g, (back + 2) % 3));
                    k = 0;
                } else {
                    k += 1;
                }
            }
            pieces.push(rim);
        }
        pieces
    }

    /// Vertices amid one region, or along two. All of them can go: where three meet there is always another.
    fn between_two(&self) -> Vec<u32> {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (t, corners) in self.surface.triangles.iter().enumerate() {
            pairs.extend(corners.map(|v| (v, self.region[t])));
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|around| around.len() < 3)
            .map(|around| around[0].0)
            .collect()
    }

    /// The rims of all regions that have a simple one; the others are noted.
    fn rims(&mut self) -> Vec<(u32, Vec<u32>)> {
        let s = self.surface;
        // Edges with another region across, by region: (from, to).
        let mut edges: Vec<(u32, u32, u32)> = Vec::new();
        for (t, corners) in s.triangles.iter().enumerate() {
            for e in 0..3 {
                if self.region[s.across[t][e] as usize] != self.region[t] {
                    edges.push((self.region[t], corners[e], corners[(e + 1) % 3]));
                }
            }
        }
        edges.sort_unstable();
        let mut next = vec![NONE; s.points.len()];
        let mut faces = Vec::new();
        for edges in edges.chunk_by(|a, b| a.0 == b.0) {
            let simple = edges.windows(2).all(|pair| pair[0].1 != pair[1].1);
            edges.iter().for_each(|&(_, from, to)| next[from as usize] = to);
            let start = edges[0].1;
            let mut rim = vec![start];
            while simple && next[rim[rim.len() - 1] as usize] != start && rim.len() < edges.len() {
                rim.push(next[rim[rim.len() - 1] as usize]);
            }
            if rim.len() == edges.len() {
                faces.push((edges[0].0, rim));
            } else {
                self.ragged.push(edges[0].0);
            }
        }
        faces
    }
}

/// Corners that stand out from the line between their neighbours on some face by no more than the tolerance.
/// No two neighbours at once: together they may well stand out.
fn blunt(points: &[DVec3], faces: &[Vec<u32>], tolerance: f64) -> Vec<u32> {
    let mut goes = vec![false; points.len()];
    let mut stays = vec![false; points.len()];
    for face in faces {
        for k in 0..face.len() {
            let around = [face[(k + face.len() - 1) % face.len()], face[k], face[(k + 1) % face.len()]];
            let [before, here, after] = around.map(|v| v as usize);
            if stays[here] || goes[here] || goes[before] || goes[after] {
                continue;
            }
            if from_segment(points[here], points[before], points[after]) <= tolerance {
                goes[here] = true;
                stays[before] = true;
                stays[after] = true;
            }
        }
    }
    (0..points.len() as u32).filter(|&v| goes[v as usize]).collect()
}

/// Whether the polygon turns left at every corner, seen from its own normal.
fn convex(points: &[DVec3], rim: &[u32]) -> bool {
    let at = |k: usize| points[rim[k % rim.len()] as usize];
    let normal = (1..rim.len() - 1).map(|k| double_area([at(0), at(k), at(k + 1)])).sum::<DVec3>();
    (0..rim.len()).all(|k| double_area([at(k), at(k + 1), at(k + 2)]).dot(normal) > 0.0)
}

fn from_segment(q: DVec3, p: DVec3, r: DVec3) -> f64 {
    let along = r - p;
    let share = ((q - p).dot(along) / along.length_squared()).clamp(0.0, 1.0);
    // A segment without length leaves no share.
    let foot = if share.is_nan() { p } else { p + along * share };
    q.distance(foot)
}
