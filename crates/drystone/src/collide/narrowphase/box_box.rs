//! Box against box.
//!
//! 1. Separating axes: the 3 + 3 face normals and the 9 cross products of edges [GottschalkLinManocha1996].
//!    The largest separation found is a lower bound of the distance, and exactly the (negative) signed
//!    distance of overlapping boxes.
//! 2. If a face axis is the best, or all but, the incident face is cut to the reference face (`clip`). Its
//!    least height bounds the distance of separated boxes from above, so the patch is taken only where both
//!    bounds agree.
//! 3. Otherwise one point: the two edges of the axis in overlap, the exact closest points at a distance.
//!
//! Faces are preferred to edges by fixed tolerances that do not look at the past: in a stack the cross
//! products of nearly parallel edges repeat the face axis with noise, and must never win by noise.

use glam::DVec3;

use super::clip::{Patch, edge_name};
use super::closest;
use super::{ALONG_COS, ContactPoint, Cuboid, Manifold, in_order, sign};
use crate::shape::Pose;

/// How much less deep an edge must be than the best face: this part of the depth, and this part of the
/// smallest half side.
const EDGE_RELATIVE: f64 = 0.02;
const EDGE_ABSOLUTE: f64 = 1e-4;

/// Faces of A and B that separate alike, up to this part of the smallest half side, are told apart by their
/// area.
const FACE_TIE: f64 = 1e-3;

/// Edges meet when their closest points differ from the gap by no more than this part of the smallest half
/// sides.
const MEETING: f64 = 1e-6;

/// The patch of boxes that touch may have a gap of this part of the smallest half side.
const TOUCHING: f64 = 1e-9;

/// A patch at a distance must say the true distance up to this part; 1 - cos 2° and rounding fit in.
const PATCH_RELATIVE: f64 = 1e-3;

/// Names: bit 11 tells whose face the reference is, bits 12 and 13 the kind of contact.
const REFERENCE_B: u32 = 1 << 11;
const FACE: u32 = 1 << 12;
const EDGE: u32 = 2 << 12;
const CLOSEST: u32 = 3 << 12;

/// A face of one box as the direction of contact.
#[derive(Clone, Copy)]
struct Face {
    separation: f64,
    axis: usize,
    /// The unit normal of the contact, from B to A, is `side * axes[axis]`.
    side: f64,
}

/// A pair of edges as the direction of contact.
#[derive(Clone, Copy)]
struct Edges {
    separation: f64,
    axis_a: usize,
    axis_b: usize,
    /// Unit, from B to A.
    normal: DVec3,
}

struct Axes {
    face_a: Face,
    face_b: Face,
    /// The best pair of edges if it separates better than any face.
    edges: Option<Edges>,
}

impl Axes {
    fn best_face(&self) -> f64 {
        self.face_a.separation.max(self.face_b.separation)
    }

    fn separation(&self) -> f64 {
        self.edges.map_or(self.best_face(), |e| e.separation)
    }

    fn normal(&self, a: &Cuboid, b: &Cuboid) -> DVec3 {
        match self.edges {
            Some(e) => e.normal,
            None if self.face_a.separation >= self.face_b.separation => {
                a.axes[self.face_a.axis] * self.face_a.side
            }
            None => b.axes[self.face_b.axis] * self.face_b.side,
        }
    }
}

/// The best axes, or nothing when one separates by more than `reach`.
#[inline]
fn separate(a: &Cuboid, b: &Cuboid, reach: f64) -> Option<Axes> {
    let b_to_a = a.centre - b.centre;
    let (ta, tb) = (a.inward(b_to_a), b.inward(b_to_a));
    let (ha, hb) = (a.half, b.half);
    // r[i][j] = a_i · b_j
    let r: [[f64; 3]; 3] = std::array::from_fn(|i| b.inward(a.axes[i]));
    let w: [[f64; 3]; 3] = r.map(|row| row.map(f64::abs));

    let mut face_a = Face { separation: f64::NEG_INFINITY, axis: 0, side: 1.0 };
    let mut face_b = face_a;
    for k in 0..3 {
        let sa = ta[k].abs() - ha[k] - (hb[0] * w[k][0] + hb[1] * w[k][1] + hb[2] * w[k][2]);
        let sb = tb[k].abs() - hb[k] - (ha[0] * w[0][k] + ha[1] * w[1][k] + ha[2] * w[2][k]);
        if sa > face_a.separation {
            face_a = Face { separation: sa, axis: k, side: sign(ta[k]) };
        }
        if sb > face_b.separation {
            face_b = Face { separation: sb, axis: k, side: sign(tb[k]) };
        }
    }
    let mut axes = Axes { face_a, face_b, edges: None };
    let mut best = axes.best_face();
    // No axis has a separation when a coordinate is not a number.
    if best > reach || best == f64::NEG_INFINITY {
        return None;
    }
    for i in 0..3 {
        let (i1, i2) = ((i + 1) % 3, (i + 2) % 3);
        for j in 0..3 {
            let (j1, j2) = ((j + 1) % 3, (j + 2) % 3);
            // a_i × b_j = r[i1][j] a_i2 - r[i2][j] a_i1
            let place = ta[i2] * r[i1][j] - ta[i1] * r[i2][j];
            let radii = ha[i1] * w[i2][j] + ha[i2] * w[i1][j] + hb[j1] * w[i][j2] + hb[j2] * w[i][j1];
            let scaled = place.abs() - radii;
            // Dividing by the length, at most 1, only makes it deeper.
            if scaled < 0.0 && scaled <= best {
                continue;
            }
            let squared = r[i1][j] * r[i1][j] + r[i2][j] * r[i2][j];
            if squared < closest::PARALLEL {
                continue;
            }
            let length = squared.sqrt();
            let mut separation = scaled / length;
            if separation > best {
                let s = sign(place) / length;
                let normal = a.axes[i2] * (r[i1][j] * s) - a.axes[i1] * (r[i2][j] * s);
                if squared < 1e-6 {
                    // The direction across nearly parallel edges is mostly rounding; what it separates is
                    // still certain.
                    separation = normal.dot(b_to_a) - a.radius(normal) - b.radius(normal);
                    if separation <= best {
                        continue;
                    }
                }
                if separation > reach {
                    return None;
                }
                best = separation;
                axes.edges = Some(Edges { separation, axis_a: i, axis_b: j, normal });
            }
        }
    }
    Some(axes)
}

/// Signed distance of two boxes: the distance, or minus the length of the shortest way apart.
pub(crate) fn signed_distance(half_a: DVec3, pose_a: &Pose, half_b: DVec3, pose_b: &Pose) -> f64 {
    let (mut a, mut b) = (Cuboid::new(half_a, pose_a), Cuboid::new(half_b, pose_b));
    if !in_order(&a.half, pose_a, &b.half, pose_b) {
        std::mem::swap(&mut a, &mut b);
    }
    let Some(axes) = separate(&a, &b, f64::INFINITY) else { return f64::NAN };
    let lower = axes.separation();
    if lower <= 0.0 {
        return lower;
    }
    let (on_a, on_b) = closest::box_box(&a, &b, lower);
    on_a.distance(on_b)
}

/// The contacts of A and B, given in canonical order.
pub(super) fn box_box(a: &Cuboid, b: &Cuboid, reach: f64, out: &mut Manifold) {
    let Some(axes) = separate(a, b, reach) else { return };
    let size = a.smallest_half().min(b.smallest_half());
    let lower = axes.separation();
    let slack = EDGE_RELATIVE * axes.best_face().abs() + EDGE_ABSOLUTE * size;

    let mut patch = None;
    if let Some((face, reference_is_a)) = reference_face(a, b, &axes, slack, size) {
        let mut p = if reference_is_a {
            Patch::new(a, face.axis, -face.side, b, reach)
        } else {
            Patch::new(b, face.axis, face.side, a, reach)
        };
        let height = p.deepest();
        // Boxes that touch have no gap: a patch with one has lost its deepest corner, a sliver, to rounding.
        let agrees = if lower <= 0.0 {
            (lower + slack).min(TOUCHING * size)
        } else {
            lower + PATCH_RELATIVE * lower + 1e-12 * size
        };
        let name = FACE | if reference_is_a { 0 } else { REFERENCE_B };
        if height <= agrees {
            p.push_to(reference_is_a, name, out);
            return;
        }
        patch = Some((p, height, reference_is_a, name));
    }

    if lower > 0.0 {
        let (on_a, on_b) = closest::box_box(a, b, lower);
        let distance = on_a.distance(on_b);
        match patch {
            Some((mut p, height, reference_is_a, name)) if height <= distance * (1.0 + PATCH_RELATIVE) => {
                p.push_to(reference_is_a, name, out);
            }
            _ => {
                // Rounding would decide the direction between points that nearly touch.
                let (normal, (on_a, on_b)) = if distance > 1e-9 * size {
                    ((on_a - on_b) / distance, (on_a, on_b))
                } else {
                    (axes.normal(a, b), across(on_a, on_b, axes.normal(a, b), distance))
                };
                out.push_within(reach, ContactPoint { on_a, on_b, normal, gap: distance, feature: CLOSEST });
            }
        }
    } else {
        let corner = || corner_contact(a, b, &axes);
        out.push_within(
            reach,
            axes.edges.and_then(|edges| edge_contact(a, b, &edges)).unwrap_or_else(corner),
        );
    }
}

/// The face to cut against, and whether it belongs to A. None when the contact is between edges.
///
/// Where a face of A and a face of B serve equally well the larger one is taken, since it is also the one
/// that stays best when the other box tilts; sizes do not change, so neither does the choice.
fn reference_face(a: &Cuboid, b: &Cuboid, axes: &Axes, slack: f64, size: f64) -> Option<(Face, bool)> {
    let (fa, fb) = (axes.face_a, axes.face_b);
    let larger = |fa: Face, fb: Face| {
        if area(b, fb.axis) > area(a, fa.axis) * (1.0 + 1e-9) { (fb, false) } else { (fa, true) }
    };
    if let Some(edges) = axes.edges.filter(|e| e.separation > axes.best_face() + slack) {
        let along = |c: &Cuboid| {
            (0..3).find_map(|axis| {
                let cosine = edges.normal.dot(c.axes[axis]);
                let side = sign(cosine);
                (cosine.abs() > ALONG_COS).then_some(Face { separation: edges.separation, axis, side })
            })
        };
        return match (along(a), along(b)) {
            (Some(fa), Some(fb)) => Some(larger(fa, fb)),
            (Some(fa), None) => Some((fa, true)),
            (None, Some(fb)) => Some((fb, false)),
            (None, None) => None,
        };
    }
    let cosine = a.axes[fa.axis].dot(b.axes[fb.axis]) * fa.side * fb.side;
    Some(if cosine > ALONG_COS && (fa.separation - fb.separation).abs() <= FACE_TIE * size {
        larger(fa, fb)
    } else if fb.separation > fa.separation {
        (fb, false)
    } else {
        (fa, true)
    })
}

fn area(c: &Cuboid, axis: usize) -> f64 {
    c.half[(axis + 1) % 3] * c.half[(axis + 2) % 3]
}

/// Overlapping boxes whose shortest way apart is across two edges. Where the way is square to a side of a
/// box, several edges are as far along it: those count that meet. Nothing where none do: then these edges
/// separate no better than others.
fn edge_contact(a: &Cuboid, b: &Cuboid, edges: &Edges) -> Option<ContactPoint> {
    let (i, j, n) = (edges.axis_a, edges.axis_b, edges.normal);
    let name = |c: &Cuboid, along: usize, edge: DVec3| {
        let (k1, k2) = ((along + 1) % 3, (along + 2) % 3);
        let side = |k: usize| sign((edge - c.centre).dot(c.axes[k]));
        edge_name(along, k1, side(k1), k2, side(k2))
    };
    let mut best = (f64::INFINITY, a.centre, b.centre, 0);
    closest::supporting_edges(a, i, -n, |p, u| {
        closest::supporting_edges(b, j, n, |q, v| {
            let (s, t) = closest::segment_segment(p, u, q, v);
            let (on_a, on_b) = (p + u * s, q + v * t);
            let off = (on_a - on_b - n * edges.separation).length();
            if off < best.0 {
                best = (off, on_a, on_b, EDGE | name(a, i, p) << 4 | name(b, j, q));
            }
        });
    });
    let (off, on_a, on_b, feature) = best;
    let (on_a, on_b) = across(on_a, on_b, n, edges.separation);
    let meet = off <= MEETING * (a.smallest_half() + b.smallest_half());
    meet.then_some(ContactPoint { on_a, on_b, normal: n, gap: edges.separation, feature })
}

/// Touching boxes whose patch was lost to rounding, or whose edges do not meet: where they are nearest.
fn corner_contact(a: &Cuboid, b: &Cuboid, axes: &Axes) -> ContactPoint {
    let normal = axes.normal(a, b);
    let gap = axes.separation();
    let (p, q) = closest::box_box(a, b, gap);
    let (on_a, on_b) = across(p, q, normal, gap);
    ContactPoint { on_a, on_b, normal, gap, feature: CLOSEST }
}

/// Half-way between two points that rounding has brought off each other, `gap` apart along the normal: where
/// edges lie nearly along each other, their closest points slide along them.
fn across(p: DVec3, q: DVec3, normal: DVec3, gap: f64) -> (DVec3, DVec3) {
    let (middle, half) = (0.5 * (p + q), normal * (0.5 * gap));
    (middle + half, middle - half)
}
