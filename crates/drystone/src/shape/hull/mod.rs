//! Convex polyhedra.

mod merge;
mod predicate;
mod quickhull;

use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};

use super::equal::first_equal;
use super::{FARTHEST, Moments, Pose, moments};
use crate::collide::Aabb;
use merge::{Polygons, Surface};
use quickhull::Degenerate;

/// Points are taken for coplanar, collinear or equal up to this share of the extent of the hull, 2⁻⁴³ ≈
/// 1.1·10⁻¹³.
const FLAT: f64 = 1.136_868_377_216_160_3e-13;

/// Up to so many vertices, looking at all is faster than walking along edges.
const SCAN: usize = 32;

/// Up to this angle faces may be uneven: on a surface that is not quite convex a walk along edges can end
/// below the summit, by as much as the angle times the size.
const EVEN: f64 = 1e-10;

/// Cells along the side of a face of the cube of directions.
const CELLS: usize = 4;

/// A convex polyhedron: the hull of points.
///
/// Faces are polygons, no two of them in one plane; every corner of a polygon is a strictly convex one.
/// Vertices keep the order of the points, faces and edges have a canonical order: the hull of
/// [`Hull::vertices`] is the same hull.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Data", into = "Data")]
pub struct Hull {
    vertices: Vec<DVec3>,
    faces: Vec<Face>,
    /// Corners of the faces, face by face.
    corners: Vec<u32>,
    edges: Vec<Edge>,
    /// Where the neighbours of each vertex begin in `neighbours`, and their end.
    neighbours_at: Vec<u32>,
    neighbours: Vec<u32>,
    /// Where the faces around each vertex begin in `around`, and their end.
    around_at: Vec<u32>,
    around: Vec<u32>,
    /// Where to start walking, by cell of the cube of directions; empty for a small hull.
    starts: Vec<u32>,
    /// The vertices four at a time, x then y then z, so that one look takes in four; empty for a large hull.
    fours: Vec<[f64; 12]>,
    moments: Moments,
    bounding_radius: f64,
    inner_radius: f64,
    /// As asked for; 0 for rounding only.
    tolerance: f64,
}

/// A face of a [`Hull`]: all vertices have `normal · x <= offset`, up to rounding (or the tolerance asked
/// for).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Face {
    /// Unit outward normal.
    pub normal: DVec3,
    /// Distance of the plane from the origin along the normal, m.
    pub offset: f64,
    first: u32,
    count: u32,
}

/// An edge of a [`Hull`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Its vertices, in the order in which the first face has them.
    pub ends: [u32; 2],
    /// The faces it belongs to.
    pub faces: [u32; 2],
}

/// What a file holds of a hull.
#[derive(Serialize, Deserialize)]
struct Data {
    points: Vec<DVec3>,
    #[serde(default, skip_serializing_if = "is_zero")]
    tolerance: f64,
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

impl TryFrom<Data> for Hull {
    type Error = String;
    fn try_from(data: Data) -> Result<Self, String> {
        Hull::with_tolerance(&data.points, data.tolerance)
    }
}

impl From<Hull> for Data {
    fn from(hull: Hull) -> Self {
        Data { points: hull.vertices, tolerance: hull.tolerance }
    }
}

/// The same vertices have the same hull, given the tolerance.
impl PartialEq for Hull {
    fn eq(&self, other: &Self) -> bool {
        self.vertices == other.vertices && self.tolerance == other.tolerance
    }
}

impl Hull {
    /// The convex hull of points. Points inside it, and those that stand out by rounding only, are dropped.
    ///
    /// ```
    /// use drystone::shape::Hull;
    /// use glam::DVec3;
    /// let corner = |k: u32| DVec3::new((k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2) as f64);
    /// let cube = Hull::new(&(0..8).map(corner).collect::<Vec<_>>())?;
    /// assert_eq!((cube.vertices().len(), cube.faces().len(), cube.edges().len()), (8, 6, 12));
    /// # Ok::<(), String>(())
    /// ```
    pub fn new(points: &[DVec3]) -> Result<Self, String> {
        Self::with_tolerance(points, 0.0)
    }

    /// The convex hull of points known only so well, m: corners that stand out by no more are dropped, faces
    /// that flat are one. For points that went through single precision or a text of few digits, where the
    /// corners of one face would otherwise make several. What is dropped can add up to a few times the
    /// tolerance.
    pub fn with_tolerance(points: &[DVec3], tolerance: f64) -> Result<Self, String> {
        if !(tolerance.is_finite() && tolerance >= 0.0) {
            return Err(format!("tolerance must be finite and not negative, got {tolerance}"));
        }
        if points.len() < 4 {
            return Err(format!("a hull needs at least 4 points, got {}", points.len()));
        }
        if points.len() > (u32::MAX / 8) as usize {
            return Err(format!("{} points are too many for a hull", points.len()));
        }
        if let Some(k) = points.iter().position(|p| !p.is_finite()) {
            return Err(format!("point {k} must be finite, got {}", points[k]));
        }
        if let Some(k) = points.iter().position(|p| p.abs().max_element() > FARTHEST) {
            return Err(format!("point {k} is too far away: {}", points[k]));
        }
        // Each round drops what is no corner; the last one finds nothing to drop, so doing it again changes
        // nothing.
        let first = first_equal(points);
        let mut kept: Vec<DVec3> =
            (0..points.len()).filter(|&k| first[k] as usize == k).map(|k| points[k]).collect();
        loop {
            let flat = tolerance.max(rounding(&kept));
            let (triangles, across) = quickhull::triangulate(&kept, 4.0 * flat).map_err(|d| {
                let text = match d {
                    Degenerate::Point => "all points coincide",
                    Degenerate::Line => "all points are on one line",
                    Degenerate::Plane => "all points are in one plane",
                };
                format!("{text}: a hull needs volume")
            })?;
            let surface = Surface { points: &kept, triangles, across };
            let Polygons { faces, needless } = merge::merge(&surface, flat);
            let mut corner = vec![false; kept.len()];
            surface.triangles.iter().flatten().for_each(|v| corner[*v as usize] = true);
            needless.iter().for_each(|v| corner[*v as usize] = false);
            if corner.iter().all(|c| *c) {
                return Ok(Self { tolerance, ..Self::of_polygons(kept, faces) });
            }
            let mut flags = corner.iter();
            kept.retain(|_| flags.next() == Some(&true));
            if kept.len() < 4 {
                return Err("the points are too close to one plane: a hull needs volume".into());
            }
        }
    }

    fn of_polygons(vertices: Vec<DVec3>, mut polygons: Vec<Vec<u32>>) -> Self {
        for polygon in &mut polygons {
            let least = (0..polygon.len()).min_by_key(|&k| polygon[k]).unwrap_or(0);
            polygon.rotate_left(least);
        }
        polygons.sort_unstable();
        let at = |v: u32| vertices[v as usize];
        let mut faces = Vec::with_capacity(polygons.len());
        let mut corners = Vec::new();
        for polygon in &polygons {
            let normal =
                fan(polygon).map(|t| moments::double_area(t.map(at))).sum::<DVec3>().normalize_or_zero();
            let offset = polygon.iter().map(|v| normal.dot(at(*v))).fold(f64::NEG_INFINITY, f64::max);
            faces.push(Face { normal, offset, first: corners.len() as u32, count: polygon.len() as u32 });
            corners.extend_from_slice(polygon);
        }
        let edges = edges(&polygons);
        let (neighbours_at, neighbours) = neighbours(vertices.len(), &edges);
        let (around_at, around) = around(vertices.len(), &polygons);
        let middle = vertices.iter().map(|v| *v / vertices.len() as f64).sum();
        let moments = moments::of_surface(middle, polygons.iter().flat_map(|p| fan(p)).map(|t| t.map(at)));
        let depth = |f: &Face| f.offset - f.normal.dot(moments.centroid);
        let mut hull = Self {
            tolerance: 0.0,
            bounding_radius: vertices.iter().map(|v| v.length()).fold(0.0, f64::max),
            inner_radius: faces.iter().map(depth).fold(f64::INFINITY, f64::min).max(0.0),
            vertices,
            faces,
            corners,
            edges,
            neighbours_at,
            neighbours,
            around_at,
            around,
            starts: Vec::new(),
            fours: Vec::new(),
            moments,
        };
        hull.fours = hull.vertices.chunks(4).map(four).collect();
        if hull.vertices.len() > SCAN && hull.unevenness() <= EVEN {
            hull.starts = (0..6 * CELLS * CELLS).map(|k| hull.scan(cell_middle(k))).collect();
            hull.fours = Vec::new();
        }
        hull
    }

    /// How far corners lie off the plane of their face, as a part of its shortest edge, at most: the angle
    /// that is lost where faces were merged.
    fn unevenness(&self) -> f64 {
        let mut most = 0.0_f64;
        for (k, f) in self.faces.iter().enumerate() {
            let corners = self.face_vertices(k).iter().map(|v| self.vertices[*v as usize]);
            let lowest = corners.clone().map(|p| f.normal.dot(p)).fold(f64::INFINITY, f64::min);
            let after = corners.clone().cycle().skip(1);
            let shortest = corners.zip(after).map(|(p, q)| p.distance(q)).fold(f64::INFINITY, f64::min);
            most = most.max((f.offset - lowest) / shortest);
        }
        most
    }

    /// Corners, m, in the order of the points given.
    pub fn vertices(&self) -> &[DVec3] {
        &self.vertices
    }

    /// Faces with their planes.
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// The vertices of face `f`, counter-clockwise from outside, the least first.
    pub fn face_vertices(&self, f: usize) -> &[u32] {
        let face = &self.faces[f];
        &self.corners[face.first as usize..][..face.count as usize]
    }

    /// Edges, each once, in rising order of their vertices.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The edge that joins two vertices.
    pub(super) fn edge_between(&self, a: u32, b: u32) -> Option<&Edge> {
        let key = |ends: [u32; 2]| [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let k = self.edges.binary_search_by_key(&key([a, b]), |e| key(e.ends)).ok()?;
        Some(&self.edges[k])
    }

    /// The vertices joined to vertex `v` by an edge, in rising order.
    pub fn neighbours(&self, v: usize) -> &[u32] {
        &self.neighbours[self.neighbours_at[v] as usize..self.neighbours_at[v + 1] as usize]
    }

    /// The faces that meet at vertex `v`, in rising order.
    pub(crate) fn faces_around(&self, v: usize) -> &[u32] {
        &self.around[self.around_at[v] as usize..self.around_at[v + 1] as usize]
    }

    /// The vertex furthest along `direction` (not zero).
    pub fn support(&self, direction: DVec3) -> u32 {
        if self.starts.is_empty() {
            self.scan(direction)
        } else {
            self.climb(self.starts[cell(direction)], direction)
        }
    }

    /// The vertex furthest along `direction` (not zero), from one that is furthest along a direction nearby.
    #[inline]
    pub(crate) fn support_from(&self, near: u32, direction: DVec3) -> u32 {
        if self.starts.is_empty() { self.scan(direction) } else { self.climb(near, direction) }
    }

    /// The first of the furthest. Numbers of rows are kept as floats, so that all is done in the same lanes.
    #[inline]
    fn scan(&self, direction: DVec3) -> u32 {
        let mut best = [f64::NEG_INFINITY; 4];
        let mut at = [0.0; 4];
        let mut row = 0.0;
        for four in &self.fours {
            for lane in 0..4 {
                let along =
                    four[lane] * direction.x + four[lane + 4] * direction.y + four[lane + 8] * direction.z;
                let further = along > best[lane];
                best[lane] = if further { along } else { best[lane] };
                at[lane] = if further { row } else { at[lane] };
            }
            row += 1.0;
        }
        let mut found = (f64::NEG_INFINITY, 0);
        for lane in 0..4 {
            let index = at[lane] as u32 * 4 + lane as u32;
            if best[lane] > found.0 || best[lane] == found.0 && index < found.1 {
                found = (best[lane], index);
            }
        }
        found.1
    }

    /// Along edges, as long as one leads further: on a convex polyhedron there are no other summits.
    fn climb(&self, start: u32, direction: DVec3) -> u32 {
        let mut best = (self.vertices[start as usize].dot(direction), start);
        loop {
            let here = best.1;
            for &v in self.neighbours(here as usize) {
                let along = self.vertices[v as usize].dot(direction);
                if along > best.0 {
                    best = (along, v);
                }
            }
            if best.1 == here {
                return here;
            }
        }
    }

    /// Volume, centroid and second moments.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Radius of the smallest ball about the origin that holds the hull, m.
    pub fn bounding_radius(&self) -> f64 {
        self.bounding_radius
    }

    /// Radius of the largest ball about the centroid inside the hull, m.
    pub fn inner_radius(&self) -> f64 {
        self.inner_radius
    }

    /// World bounds at `pose`.
    pub fn aabb(&self, pose: &Pose) -> Aabb {
        let rows = DMat3::from_quat(pose.rotation).transpose();
        let reach = |row: DVec3| {
            if self.starts.is_empty() {
                self.vertices.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                    let along = row.dot(*v);
                    (low.min(along), high.max(along))
                })
            } else {
                let to = |d: DVec3| row.dot(self.vertices[self.support(d) as usize]);
                (to(-row), to(row))
            }
        };
        let (x, y, z) = (reach(rows.x_axis), reach(rows.y_axis), reach(rows.z_axis));
        Aabb {
            min: pose.position + DVec3::new(x.0, y.0, z.0),
            max: pose.position + DVec3::new(x.1, y.1, z.1),
        }
    }
}

/// What rounding may do to points: a share of the extent, and of coordinates far from the origin.
fn rounding(points: &[DVec3]) -> f64 {
    let low = points.iter().copied().fold(DVec3::INFINITY, DVec3::min);
    let high = points.iter().copied().fold(DVec3::NEG_INFINITY, DVec3::max);
    let far = low.abs().max(high.abs()).max_element();
    (FLAT * (high - low).max_element() + 16.0 * f64::EPSILON * far).max(1.0 / FARTHEST)
}

/// Up to four points by coordinate. The last one is repeated where there are fewer: among equals the first is
/// found.
fn four(points: &[DVec3]) -> [f64; 12] {
    std::array::from_fn(|k| points[(k % 4).min(points.len() - 1)][k / 4])
}

/// Triangles from the first corner.
fn fan(polygon: &[u32]) -> impl Iterator<Item = [u32; 3]> + '_ {
    polygon[1..].windows(2).map(|pair| [polygon[0], pair[0], pair[1]])
}

fn edges(polygons: &[Vec<u32>]) -> Vec<Edge> {
    let mut sides: Vec<([u32; 2], u32, bool)> = Vec::new();
    for (f, polygon) in polygons.iter().enumerate() {
        for (k, &from) in polygon.iter().enumerate() {
            let to = polygon[(k + 1) % polygon.len()];
            sides.push(([from.min(to), from.max(to)], f as u32, from < to));
        }
    }
    sides.sort_unstable();
    let edge = |pair: &[([u32; 2], u32, bool)]| {
        let (ends, first, forward) = pair[0];
        Edge { ends: if forward { ends } else { [ends[1], ends[0]] }, faces: [first, pair[1].1] }
    };
    sides.chunks_exact(2).map(edge).collect()
}

fn neighbours(vertices: usize, edges: &[Edge]) -> (Vec<u32>, Vec<u32>) {
    grouped(vertices, edges.iter().flat_map(|e| [e.ends, [e.ends[1], e.ends[0]]]).collect())
}

fn around(vertices: usize, polygons: &[Vec<u32>]) -> (Vec<u32>, Vec<u32>) {
    let corners = |f: usize| polygons[f].iter().map(move |v| [*v, f as u32]);
    grouped(vertices, (0..polygons.len()).flat_map(corners).collect())
}

/// The second numbers of the pairs by their first ones: where those of each begin, and all of them.
fn grouped(count: usize, mut pairs: Vec<[u32; 2]>) -> (Vec<u32>, Vec<u32>) {
    pairs.sort_unstable();
    let mut at = vec![0u32; count + 1];
    pairs.iter().for_each(|p| at[p[0] as usize + 1] += 1);
    for k in 0..count {
        at[k + 1] += at[k];
    }
    (at, pairs.iter().map(|p| p[1]).collect())
}

/// The cell of the cube of directions that a direction points to.
fn cell(direction: DVec3) -> usize {
    let size = direction.abs();
    let axis = if size.x >= size.y && size.x >= size.z {
        0
    } else if size.y >= size.z {
        1
    } else {
        2
    };
    let place = |x: f64| (((x / size[axis] + 1.0) * 0.5 * CELLS as f64) as usize).min(CELLS - 1);
    let side = 2 * axis + (direction[axis] < 0.0) as usize;
    (side * CELLS + place(direction[(axis + 1) % 3])) * CELLS + place(direction[(axis + 2) % 3])
}

/// The middle of a cell.
fn cell_middle(cell: usize) -> DVec3 {
    let place = |k: usize| (k as f64 + 0.5) / CELLS as f64 * 2.0 - 1.0;
    let (side, i, j) = (cell / (CELLS * CELLS), cell / CELLS % CELLS, cell % CELLS);
    let axis = side / 2;
    let mut direction = DVec3::ZERO;
    direction[axis] = if side % 2 == 0 { 1.0 } else { -1.0 };
    direction[(axis + 1) % 3] = place(i);
    direction[(axis + 2) % 3] = place(j);
    direction
}
