//! The shortest way apart of overlapping cores: the expanding polytope method [VanDenBergen2003, §4.3.8].
//!
//! A polytope inside A - B holds the origin. The distance of its nearest face bounds the depth from below;
//! the support plane of A - B along the normal of any face bounds it from above, and the best such direction
//! is always a way out. The nearest face is pushed outward until both bounds agree. Cores with finitely many
//! corners end exactly. On curved ones the best direction is polished by `refine`, and faces that it explains
//! are left alone.
//!
//! The arrays have a fixed size. When they are full the best direction so far is the answer: it separates the
//! shapes, but some other direction may do so with less; `every` knows for cores with finitely many corners.

use std::cell::RefCell;

use glam::DVec3;

use super::convex::{Pair, Vertex};
use super::refine::{self, Optimum};
use super::simplex::Simplex;

const VERTICES: usize = 128;
const FACES: usize = 252;
const NONE: u8 = u8::MAX;

/// Bounds agree within this part of the scale of cores with finitely many corners, where nothing but rounding
/// is left, and of curved ones.
const EXACT: f64 = 1e-14;
const CURVED: f64 = 1e-10;

/// How often `refine` may be asked.
const OPTIMA: usize = 12;

#[derive(Clone, Copy)]
struct Face {
    corners: [u8; 3],
    /// The face across the edge from corner k to corner k + 1.
    across: [u8; 3],
    /// Unit, outward.
    normal: DVec3,
}

/// A way out of the overlap, for cores without their radii.
#[derive(Clone, Copy)]
pub(super) struct WayOut {
    /// Unit, from B to A.
    pub(super) normal: DVec3,
    /// How far A must move along it.
    pub(super) depth: f64,
    /// Points of the cores that are deepest in each other.
    pub(super) on_a: DVec3,
    pub(super) on_b: DVec3,
    /// Whether they are: not when the arrays were full, or when rounding left nothing below the origin.
    pub(super) settled: bool,
    /// Whether no other way is shorter, up to rounding: not known when the arrays were full.
    pub(super) least: bool,
}

impl WayOut {
    pub(super) fn by(optimum: &Optimum) -> Self {
        let Optimum { normal, separation, on_a, on_b, .. } = *optimum;
        Self { normal, depth: -separation, on_a, on_b, settled: true, least: false }
    }
}

struct Polytope {
    vertices: [Vertex; VERTICES],
    faces: [Face; FACES],
    /// Of each face from the origin; infinite for faces that are gone, explained or without area.
    distance: [f64; FACES],
    alive: [bool; FACES],
    vertex_count: usize,
    face_count: usize,
    /// Indices of faces that are gone and may be used again.
    free: [u8; FACES],
    free_count: usize,
    horizon: [(u8, u8); FACES],
    horizon_count: usize,
    stack: [(u8, u8); FACES],
}

thread_local! {
    static SCRATCH: RefCell<Polytope> = const { RefCell::new(Polytope::EMPTY) };
}

/// The shortest way apart of two cores that overlap or touch, from the simplex that showed it and an optimum
/// known already. Nothing when A - B has no inside that could be told from rounding.
pub(super) fn way_out(pair: &Pair, simplex: &Simplex, seed: Option<Optimum>) -> Option<WayOut> {
    SCRATCH.with_borrow_mut(|polytope| {
        polytope.clear();
        if polytope.start(pair, simplex) { polytope.expand(pair, seed) } else { None }
    })
}

impl Polytope {
    const EMPTY: Self = Self {
        vertices: [Vertex::NONE; VERTICES],
        faces: [Face { corners: [0; 3], across: [NONE; 3], normal: DVec3::ZERO }; FACES],
        distance: [f64::INFINITY; FACES],
        alive: [false; FACES],
        vertex_count: 0,
        face_count: 0,
        free: [0; FACES],
        free_count: 0,
        horizon: [(0, 0); FACES],
        horizon_count: 0,
        stack: [(0, 0); FACES],
    };

    fn clear(&mut self) {
        self.vertex_count = 0;
        self.face_count = 0;
        self.free_count = 0;
    }

    fn w(&self, k: u8) -> DVec3 {
        self.vertices[k as usize].w
    }

    fn push(&mut self, vertex: Vertex) {
        self.vertices[self.vertex_count] = vertex;
        self.vertex_count += 1;
    }

    /// Four corners that span a volume, from the corners of the simplex and whatever lies furthest away from
    /// them.
    fn start(&mut self, pair: &Pair, simplex: &Simplex) -> bool {
        let least = 1e-13 * pair.scale;
        for c in simplex.corners() {
            self.push(*c);
        }
        if self.vertex_count == 4 && self.height_over(0, 1, 2, self.w(3)).abs() <= least {
            self.vertex_count = 3;
        }
        if self.vertex_count == 3 && self.distance_from_line(0, 1, self.w(2)) <= least {
            self.vertex_count = 2;
        }
        if self.vertex_count == 2 && self.w(0).distance(self.w(1)) <= least {
            self.vertex_count = 1;
        }
        while self.vertex_count < 4 {
            let mut best = (least, Vertex::NONE);
            let mut offer = |polytope: &Self, direction: DVec3| {
                let v = pair.support(direction, polytope.vertices[0].pieces);
                let gain = match polytope.vertex_count {
                    1 => polytope.w(0).distance(v.w),
                    2 => polytope.distance_from_line(0, 1, v.w),
                    _ => polytope.height_over(0, 1, 2, v.w).abs(),
                };
                if gain > best.0 {
                    best = (gain, v);
                }
            };
            match self.vertex_count {
                1 => {
                    for direction in [DVec3::X, DVec3::Y, DVec3::Z] {
                        offer(self, direction);
                        offer(self, -direction);
                    }
                }
                2 => {
                    let along = (self.w(1) - self.w(0)).normalize_or_zero();
                    let (u, v) = along.any_orthonormal_pair();
                    for direction in [u, v, u + v, u - v] {
                        offer(self, direction);
                        offer(self, -direction);
                    }
                }
                _ => {
                    let normal = (self.w(1) - self.w(0)).cross(self.w(2) - self.w(0)).normalize_or_zero();
                    offer(self, normal);
                    offer(self, -normal);
                }
            }
            if best.0 <= least {
                return false;
            }
            self.push(best.1);
        }
        if self.height_over(0, 1, 2, self.w(3)) > 0.0 {
            self.vertices.swap(1, 2);
        }
        // Corner 3 lies below the face 0 1 2, seen counter-clockwise from outside.
        for (corners, across) in
            [([0, 1, 2], [1, 2, 3]), ([1, 0, 3], [0, 3, 2]), ([2, 1, 3], [0, 1, 3]), ([0, 2, 3], [0, 2, 1])]
        {
            self.add_face(corners, across);
        }
        true
    }

    /// Positive on the side from which 0, 1, 2 run counter-clockwise.
    fn height_over(&self, i: u8, j: u8, k: u8, p: DVec3) -> f64 {
        let normal = (self.w(j) - self.w(i)).cross(self.w(k) - self.w(i)).normalize_or_zero();
        normal.dot(p - self.w(i))
    }

    fn distance_from_line(&self, i: u8, j: u8, p: DVec3) -> f64 {
        let along = (self.w(j) - self.w(i)).normalize_or_zero();
        along.cross(p - self.w(i)).length()
    }

    fn add_face(&mut self, corners: [u8; 3], across: [u8; 3]) -> u8 {
        let [p, q, r] = corners.map(|k| self.w(k));
        let (pq, pr, qr) = (q - p, r - p, r - q);
        let cross = pq.cross(pr);
        let length = cross.length();
        let longest = pq.length_squared().max(pr.length_squared()).max(qr.length_squared());
        let (normal, distance) = if length > 1e-15 * longest {
            let normal = cross / length;
            (normal, normal.dot(p).min(normal.dot(q)).min(normal.dot(r)))
        } else {
            // No area: nothing can be nearest to it that is not nearest to a neighbour.
            (DVec3::ZERO, f64::INFINITY)
        };
        let at = if self.free_count > 0 {
            self.free_count -= 1;
            self.free[self.free_count]
        } else {
            self.face_count += 1;
            (self.face_count - 1) as u8
        };
        self.faces[at as usize] = Face { corners, across, normal };
        self.distance[at as usize] = distance;
        self.alive[at as usize] = true;
        at
    }

    fn nearest_face(&self) -> (usize, f64) {
        let mut best = (0, f64::INFINITY);
        for (k, d) in self.distance[..self.face_count].iter().enumerate() {
            if *d < best.1 {
                best = (k, *d);
            }
        }
        best
    }

    fn expand(&mut self, pair: &Pair, seed: Option<Optimum>) -> Option<WayOut> {
        let curved = !pair.is_polytope();
        let tolerance = if curved { CURVED } else { EXACT } * pair.scale;
        let mut best = seed.as_ref().map(WayOut::by);
        let mut optima: [Option<Optimum>; OPTIMA] = [None; OPTIMA];
        optima[0] = seed;
        let mut asked = usize::from(seed.is_some());
        let mut least = false;
        // Every turn adds a vertex or takes a face out, so the arrays end the loop; the cap is for rounding.
        for _ in 0..4 * FACES {
            let (at, distance) = self.nearest_face();
            let (depth, settled) = best.map_or((f64::INFINITY, false), |b| (b.depth, b.settled));
            if distance == f64::INFINITY || settled && depth - distance <= tolerance {
                least = true;
                break;
            }
            let face = self.faces[at];
            if self.explained(&face, &optima[..asked]) {
                self.distance[at] = f64::INFINITY;
                continue;
            }
            let normal = -face.normal;
            let vertex = pair.support(normal, self.vertices[face.corners[0] as usize].pieces);
            let outer = -normal.dot(vertex.w);
            let known = face.corners.iter().any(|k| self.w(*k) == vertex.w);
            let flush = known || outer - distance <= tolerance;
            if outer < depth || flush && !settled && outer <= depth + tolerance {
                // Of several faces in one plane, the one below the origin has the points.
                let way = self.way_out_by(&face, outer);
                best = Some(WayOut { settled: flush && way.settled, ..way });
            }
            // A hill worth climbing: its top is near.
            let near = outer - distance <= 0.05 * outer.abs() + 1e-3 * pair.scale;
            if curved && near && asked < OPTIMA {
                let corners = face.corners.map(|k| self.vertices[k as usize]);
                let way = self.way_out_by(&face, outer);
                let cap = refine::cap(pair, normal, -outer, (way.on_a, way.on_b));
                let top = cap.or_else(|| refine::climb(pair, normal, &corners, &self.weights(&face).0));
                if let Some(found) = top {
                    optima[asked] = Some(found);
                    asked += 1;
                    if best.is_none_or(|b| -found.separation <= b.depth + tolerance) {
                        best = Some(WayOut::by(&found));
                    }
                }
            }
            if flush {
                self.distance[at] = f64::INFINITY;
            } else if !self.insert(at, vertex, 1e-15 * pair.scale) {
                break;
            }
        }
        best.map(|way| WayOut { least, ..way })
    }

    /// Whether a known optimum is what expanding this face would find.
    fn explained(&self, face: &Face, optima: &[Option<Optimum>]) -> bool {
        optima.iter().flatten().any(|o| {
            o.normal.dot(face.normal) < -o.alone
                && face.corners.iter().all(|k| o.pieces().contains(&self.vertices[*k as usize].pieces))
        })
    }

    /// Weights of the corners that give the point of the face nearest to the origin, and whether the origin
    /// is above it.
    fn weights(&self, face: &Face) -> ([f64; 3], bool) {
        let [p, q, r] = face.corners.map(|k| self.w(k));
        let n = face.normal;
        let parts = [q.cross(r).dot(n), r.cross(p).dot(n), p.cross(q).dot(n)];
        let above = parts.iter().all(|x| *x >= -1e-12 * (q - p).cross(r - p).dot(n));
        let parts = parts.map(|x| x.max(0.0));
        let total = parts[0] + parts[1] + parts[2];
        if total > 0.0 { (parts.map(|x| x / total), above) } else { ([1.0, 0.0, 0.0], false) }
    }

    fn way_out_by(&self, face: &Face, depth: f64) -> WayOut {
        let (weights, settled) = self.weights(face);
        let (mut on_a, mut on_b) = (DVec3::ZERO, DVec3::ZERO);
        for (k, w) in face.corners.iter().zip(weights) {
            let v = &self.vertices[*k as usize];
            on_a += v.a * w;
            on_b += v.b * w;
        }
        WayOut { normal: -face.normal, depth, on_a, on_b, settled, least: false }
    }

    /// Replaces all faces that `vertex` sees, `seen` among them, by faces from their outline to it. False
    /// when there is no room, or when rounding leaves no outline.
    fn insert(&mut self, seen: usize, vertex: Vertex, slack: f64) -> bool {
        if self.vertex_count == VERTICES {
            return false;
        }
        self.horizon_count = 0;
        self.alive[seen] = false;
        // Depth first around the outline, so that its edges come in their order.
        let face = self.faces[seen];
        let mut depth = 0;
        for k in (0..3).rev() {
            self.stack[depth] = (face.across[k], self.edge_towards(face.across[k], seen as u8));
            depth += 1;
        }
        let mut gone = [0_u8; FACES];
        gone[0] = seen as u8;
        let mut gone_count = 1;
        while depth > 0 {
            depth -= 1;
            let (at, entered) = self.stack[depth];
            if !self.alive[at as usize] {
                continue;
            }
            let face = self.faces[at as usize];
            let first = self.w(face.corners[0]);
            if face.normal != DVec3::ZERO && face.normal.dot(vertex.w - first) <= slack {
                if self.horizon_count == FACES {
                    return false;
                }
                self.horizon[self.horizon_count] = (at, entered);
                self.horizon_count += 1;
                continue;
            }
            self.alive[at as usize] = false;
            gone[gone_count] = at;
            gone_count += 1;
            for turn in [2, 1] {
                let k = (entered as usize + turn) % 3;
                if depth == FACES {
                    return false;
                }
                self.stack[depth] = (face.across[k], self.edge_towards(face.across[k], at));
                depth += 1;
            }
        }
        let room = FACES - self.face_count + self.free_count + gone_count;
        if self.horizon_count < 3 || self.horizon_count > room {
            return false;
        }
        for &at in &gone[..gone_count] {
            self.distance[at as usize] = f64::INFINITY;
            self.free[self.free_count] = at;
            self.free_count += 1;
        }
        let apex = self.vertex_count as u8;
        self.push(vertex);
        let (mut first, mut last) = (NONE, NONE);
        for h in 0..self.horizon_count {
            let (outside, edge) = self.horizon[h];
            let far = self.faces[outside as usize];
            let (from, to) = (far.corners[(edge as usize + 1) % 3], far.corners[edge as usize]);
            let new = self.add_face([from, to, apex], [outside, NONE, last]);
            self.faces[outside as usize].across[edge as usize] = new;
            if last == NONE {
                first = new;
            } else {
                let before = &mut self.faces[last as usize];
                if before.corners[1] != from {
                    return false;
                }
                before.across[1] = new;
            }
            last = new;
        }
        if self.faces[last as usize].corners[1] != self.faces[first as usize].corners[0] {
            return false;
        }
        self.faces[last as usize].across[1] = first;
        self.faces[first as usize].across[2] = last;
        true
    }

    /// Which edge of `face` leads to `neighbour`.
    fn edge_towards(&self, face: u8, neighbour: u8) -> u8 {
        let across = self.faces[face as usize].across;
        (0..3).find(|k| across[*k as usize] == neighbour).unwrap_or(0)
    }
}
