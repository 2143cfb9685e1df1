//! The shortest way apart of two polytopes, by looking at every one.
//!
//! The greatest separation is that of a face of A - B. Such a face is a face of A, a face of B, or spanned by
//! an edge of each. Seen on the sphere of directions, an edge is the arc between the normals of its two
//! faces, and an edge of A and an edge of B span a face of A - B where the arcs of A, turned round, and of B
//! cross [Gregorius2013].
//!
//! That is every pair of edges, too many to be the first choice. But where A - B has so many faces that are
//! all but as near as the nearest that `epa` has no room for them, it is exact.

use glam::DVec3;

use super::convex::{Convex, Kind, Pair};
use super::epa::WayOut;

/// More pairs of edges than this are not looked at.
const MAX_EDGE_PAIRS: usize = 1 << 18;

/// Arcs that miss each other by this much still count as crossing: what a direction separates is measured in
/// any case.
const TOUCHING: f64 = 1e-9;

/// An edge, in the frame of A.
#[derive(Clone, Copy)]
struct Edge {
    point: DVec3,
    /// Unit. Where there are faces, the cross product of their normals.
    along: DVec3,
    /// The normals of its faces; nothing for a segment, which has none.
    faces: Option<[DVec3; 2]>,
}

impl Edge {
    /// Whether the arc of this edge reaches both sides of the plane across another edge.
    fn straddles(&self, other: &Edge) -> bool {
        self.faces.is_none_or(|[p, q]| p.dot(other.along) * q.dot(other.along) <= TOUCHING)
    }
}

/// The shortest way apart, if it is shorter than the one known.
pub(super) fn shorter(pair: &Pair, known: &WayOut) -> Option<WayOut> {
    let (count_a, count_b) = (edge_count(&pair.a), edge_count(&pair.b));
    if count_a * count_b > MAX_EDGE_PAIRS {
        return None;
    }
    let mut best = Best { pair, normal: known.normal, depth: known.depth, pieces: pair.start(known.normal) };
    each_face(&pair.a, |n| best.offer(-n));
    each_face(&pair.b, |n| best.offer(pair.turn * n));
    for i in 0..count_a {
        let Some(a) = edge(&pair.a, i, |p| p, |v| v) else { continue };
        for j in 0..count_b {
            let Some(b) = edge(&pair.b, j, |p| pair.out_of_b(p), |v| pair.turn * v) else { continue };
            if !(a.straddles(&b) && b.straddles(&a)) {
                continue;
            }
            let Some(across) = a.along.cross(b.along).try_normalize() else { continue };
            for n in [across, -across] {
                // The depth between the edges is that of all corners at most, and it is not negative.
                let depth = n.dot(b.point - a.point);
                if depth < best.depth && depth > -1e-9 * pair.scale {
                    best.offer(n);
                }
            }
        }
    }
    (best.depth < known.depth).then_some(WayOut {
        normal: best.normal,
        depth: best.depth,
        settled: false,
        least: true,
        ..*known
    })
}

struct Best<'a, 'b> {
    pair: &'a Pair<'b>,
    normal: DVec3,
    depth: f64,
    pieces: [u32; 2],
}

impl Best<'_, '_> {
    fn offer(&mut self, normal: DVec3) {
        let vertex = self.pair.support(normal, self.pieces);
        let depth = -normal.dot(vertex.w);
        if depth < self.depth {
            (self.normal, self.depth, self.pieces) = (normal, depth, vertex.pieces);
        }
    }
}

fn each_face(core: &Convex, mut visit: impl FnMut(DVec3)) {
    match core.kind {
        Kind::Box { .. } => DVec3::AXES.into_iter().for_each(|e| {
            visit(e);
            visit(-e);
        }),
        Kind::Hull(hull) => hull.faces().iter().for_each(|f| visit(f.normal)),
        _ => {}
    }
}

fn edge_count(core: &Convex) -> usize {
    match core.kind {
        Kind::Segment { .. } => 1,
        Kind::Box { .. } => 12,
        Kind::Hull(hull) => hull.edges().len(),
        _ => 0,
    }
}

/// Edge `k` of a core, placed; nothing where it has no length.
fn edge(
    core: &Convex,
    k: usize,
    point: impl Fn(DVec3) -> DVec3,
    vector: impl Fn(DVec3) -> DVec3,
) -> Option<Edge> {
    let placed = |at: DVec3, along: DVec3, faces: Option<[DVec3; 2]>| {
        Some(Edge {
            point: point(at),
            along: vector(along.try_normalize()?),
            faces: faces.map(|f| f.map(&vector)),
        })
    };
    match core.kind {
        Kind::Segment { half } => placed(DVec3::ZERO, DVec3::Z * half, None),
        Kind::Box { half } => {
            let (axis, side) = (k / 4, |bit: usize| if k >> bit & 1 == 0 { -1.0 } else { 1.0 });
            let faces = [DVec3::AXES[(axis + 1) % 3] * side(0), DVec3::AXES[(axis + 2) % 3] * side(1)];
            placed((faces[0] + faces[1]) * half, DVec3::AXES[axis], Some(faces))
        }
        Kind::Hull(hull) => {
            let e = hull.edges()[k];
            let ends = e.ends.map(|v| hull.vertices()[v as usize]);
            placed(ends[0], ends[1] - ends[0], Some(e.faces.map(|f| hull.faces()[f as usize].normal)))
        }
        _ => None,
    }
}
