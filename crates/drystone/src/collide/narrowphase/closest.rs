//! Closest points between segments and boxes, exact up to rounding.
//!
//! A segment is `centre + t * half`, t from -1 to 1.

use glam::DVec3;

use super::{Cuboid, sign};

/// Square of the sine of the angle below which edges of boxes count as parallel.
pub(super) const PARALLEL: f64 = 1e-20;

/// The parameters (s, t) of the closest points of the segments `p + s u` and `q + t v`.
///
/// |p + s u - q - t v|² is convex on the square: either its stationary point lies within, or the minimum is on one of
/// the four sides, where it is a clamped parabola. Among equals the first found stays.
pub(super) fn segment_segment(p: DVec3, u: DVec3, q: DVec3, v: DVec3) -> (f64, f64) {
    let r = p - q;
    let (uu, vv, uv) = (u.length_squared(), v.length_squared(), u.dot(v));
    let (ur, vr) = (u.dot(r), v.dot(r));
    let best_t = |s: f64| if vv > 0.0 { ((vr + s * uv) / vv).clamp(-1.0, 1.0) } else { 0.0 };
    let best_s = |t: f64| if uu > 0.0 { ((t * uv - ur) / uu).clamp(-1.0, 1.0) } else { 0.0 };
    let squared = |s: f64, t: f64| (r + u * s - v * t).length_squared();

    // The determinant uu vv - uv² itself would cancel for nearly parallel segments.
    let across = u.cross(v);
    let determinant = across.length_squared();
    let mut best = (0.0, best_t(0.0));
    let mut least = squared(best.0, best.1);
    if determinant > 0.0 {
        let slanted = determinant > 1e-8 * uu * vv;
        let (s, t) = if slanted {
            ((uv * vr - ur * vv) / determinant, (uu * vr - uv * ur) / determinant)
        } else {
            (-r.cross(v).dot(across) / determinant, -r.cross(u).dot(across) / determinant)
        };
        if s.abs() <= 1.0 && t.abs() <= 1.0 {
            // Nearly parallel, both are uncertain along the segments: the foot of one on the other removes
            // most of it.
            let t = best_t(s);
            if slanted {
                return (s, t);
            }
            let d = squared(s, t);
            if d < least {
                (best, least) = ((s, t), d);
            }
        }
    }
    for end in [-1.0, 1.0] {
        for (s, t) in [(end, best_t(end)), (best_s(end), end)] {
            let d = squared(s, t);
            if d < least {
                (best, least) = ((s, t), d);
            }
        }
    }
    best
}

/// The parameter of the point of the segment `centre + t * half` closest to the box `[-size, size]`, in its
/// frame.
///
/// Half the derivative of the squared distance, g(t) = half · (p - clamp(p)), is piecewise linear and never
/// falls, with corners where the segment crosses one of the six planes: the first zero is found between two
/// of them.
pub(super) fn segment_box(centre: [f64; 3], half: [f64; 3], size: [f64; 3]) -> f64 {
    let slope = |t: f64| {
        let mut g = 0.0;
        for k in 0..3 {
            let p = centre[k] + t * half[k];
            g += half[k] * (p - p.clamp(-size[k], size[k]));
        }
        g
    };
    let mut knots = [1.0; 7];
    let mut count = 0;
    for k in 0..3 {
        for plane in [-size[k], size[k]] {
            let t = (plane - centre[k]) / half[k];
            if t.abs() < 1.0 {
                knots[count] = t;
                count += 1;
            }
        }
    }
    let knots = &mut knots[..=count];
    knots.sort_unstable_by(f64::total_cmp);

    let (mut t0, mut g0) = (-1.0, slope(-1.0));
    if g0 >= 0.0 {
        return t0;
    }
    for &t1 in knots.iter() {
        let g1 = slope(t1);
        if g1 >= 0.0 {
            return (t0 - (t1 - t0) * g0 / (g1 - g0)).clamp(t0, t1);
        }
        (t0, g0) = (t1, g1);
    }
    1.0
}

/// The closest points (on A, on B) of two disjoint boxes that no axis separates by more than `separation`.
///
/// The closest features are either a corner and anything, found by clamping all 16 corners into the other
/// box, or the insides of two edges. Then the common normal of the edges separates by the whole distance, so
/// that of all 144 pairs only supporting edges along a best axis remain; faces that cross without a corner
/// over the other lead here too. All candidates are points of the boxes: the nearest pair wins.
pub(super) fn box_box(a: &Cuboid, b: &Cuboid, separation: f64) -> (DVec3, DVec3) {
    let b_to_a = a.centre - b.centre;
    let mut best = Pair { squared: f64::INFINITY, on_a: a.centre, on_b: b.centre };
    let (distance_a, corner) = nearest_corner(a, b, b_to_a);
    best.offer(distance_a, || {
        let p = a.centre + corner_offset(a, corner);
        (p, clamped(b, p))
    });
    let (distance_b, corner) = nearest_corner(b, a, -b_to_a);
    best.offer(distance_b, || {
        let q = b.centre + corner_offset(b, corner);
        (clamped(a, q), q)
    });
    let enough = separation - 1e-9 * (a.smallest_half() + b.smallest_half());
    for i in 0..3 {
        for j in 0..3 {
            let across = a.axes[i].cross(b.axes[j]);
            let squared = across.length_squared();
            if squared < PARALLEL {
                continue;
            }
            if squared < 1e-12 {
                // The normal across is mostly rounding. But edges as parallel as that are as near as this all
                // along: they are those by the closest points so far.
                let ((p, u), (q, v)) = (edge_by(a, i, best.on_a), edge_by(b, j, best.on_b));
                let (s, t) = segment_segment(p, u, q, v);
                let (p, q) = (p + u * s, q + v * t);
                best.offer(p.distance_squared(q), || (p, q));
                continue;
            }
            let normal = across / squared.sqrt() * sign(across.dot(b_to_a));
            let slab = normal.dot(b_to_a) - a.radius(normal) - b.radius(normal);
            if slab < enough {
                continue;
            }
            supporting_edges(a, i, -normal, |p, u| {
                supporting_edges(b, j, normal, |q, v| {
                    let (s, t) = segment_segment(p, u, q, v);
                    let (p, q) = (p + u * s, q + v * t);
                    best.offer(p.distance_squared(q), || (p, q));
                });
            });
        }
    }
    (best.on_a, best.on_b)
}

struct Pair {
    squared: f64,
    on_a: DVec3,
    on_b: DVec3,
}

impl Pair {
    fn offer(&mut self, squared: f64, points: impl FnOnce() -> (DVec3, DVec3)) {
        if squared < self.squared {
            let (on_a, on_b) = points();
            *self = Pair { squared, on_a, on_b };
        }
    }
}

/// The squared distance and the number of the corner of `from` nearest to the box `to`; `offset` leads from
/// `to` to `from`.
fn nearest_corner(from: &Cuboid, to: &Cuboid, offset: DVec3) -> (f64, usize) {
    let c = to.inward(offset);
    let e: [[f64; 3]; 3] = std::array::from_fn(|k| to.inward(from.axes[k] * from.half[k]));
    let mut best = (f64::INFINITY, 0);
    for corner in 0..8 {
        let mut squared = 0.0;
        for i in 0..3 {
            let side = |k: usize| if corner >> k & 1 == 1 { e[k][i] } else { -e[k][i] };
            let beyond = ((c[i] + side(0) + side(1) + side(2)).abs() - to.half[i]).max(0.0);
            squared += beyond * beyond;
        }
        if squared < best.0 {
            best = (squared, corner);
        }
    }
    best
}

fn corner_offset(cuboid: &Cuboid, corner: usize) -> DVec3 {
    let side = |k: usize| if corner >> k & 1 == 1 { cuboid.half[k] } else { -cuboid.half[k] };
    cuboid.outward([side(0), side(1), side(2)])
}

fn clamped(cuboid: &Cuboid, point: DVec3) -> DVec3 {
    let mut p = cuboid.inward(point - cuboid.centre);
    for k in 0..3 {
        p[k] = p[k].clamp(-cuboid.half[k], cuboid.half[k]);
    }
    cuboid.centre + cuboid.outward(p)
}

/// The edge along `axis` nearest to a point of the surface, as centre and half.
fn edge_by(cuboid: &Cuboid, axis: usize, point: DVec3) -> (DVec3, DVec3) {
    let mut middle = cuboid.inward(point - cuboid.centre);
    for k in 0..3 {
        middle[k] = if k == axis { 0.0 } else { sign(middle[k]) * cuboid.half[k] };
    }
    (cuboid.centre + cuboid.outward(middle), cuboid.axes[axis] * cuboid.half[axis])
}

/// Calls `visit(centre, half)` for the edge along `axis` that is furthest along `direction` (across that
/// axis); for two or four edges when rounding could have decided between them.
pub(super) fn supporting_edges(
    cuboid: &Cuboid,
    axis: usize,
    direction: DVec3,
    mut visit: impl FnMut(DVec3, DVec3),
) {
    let (k1, k2) = ((axis + 1) % 3, (axis + 2) % 3);
    let d1 = direction.dot(cuboid.axes[k1]);
    let d2 = direction.dot(cuboid.axes[k2]);
    for s1 in [-1.0, 1.0] {
        for s2 in [-1.0, 1.0] {
            if d1 * s1 > -1e-6 && d2 * s2 > -1e-6 {
                let offset =
                    cuboid.axes[k1] * (s1 * cuboid.half[k1]) + cuboid.axes[k2] * (s2 * cuboid.half[k2]);
                visit(cuboid.centre + offset, cuboid.axes[axis] * cuboid.half[axis]);
            }
        }
    }
}
