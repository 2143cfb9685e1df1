//! Bounds of the signed distance of two convex shapes, from definitions alone.
//!
//! With s(n) the distance of the support planes of A and B across the unit vector n, the signed distance is
//! the greatest s(n). So every direction bounds it from below. From above it is bounded by the distance of
//! any point of A from any point of B, and in overlap by any two balls about one point, one in A and one in
//! B: the depth is at least the sum of their radii. Directions and points are searched for, but what is found
//! is a bound however bad the search.

use drystone::shape::{Pose, Shape};
use glam::DVec3;

use super::draw::Case;
use super::solid::{extent, middle, room, support};

/// What is known of the signed distance of two shapes.
pub struct Bounds {
    /// At least this.
    pub lower: f64,
    /// The direction that shows it.
    pub direction: DVec3,
    /// At most this.
    pub upper: f64,
}

impl Case {
    /// How far the support plane of A lies above that of B along the unit vector `n`, from B to A. Where one
    /// of them is a half-space, along its own normal, and without end where that is not `n`.
    pub fn separation(&self, mut n: DVec3) -> f64 {
        for (shape, pose, side) in [(&self.a, &self.pose_a, -1.0), (&self.b, &self.pose_b, 1.0)] {
            if let Shape::HalfSpace = shape {
                let normal = pose.rotation * DVec3::Z * side;
                if normal.distance(n) > 1e-9 {
                    return f64::NEG_INFINITY;
                }
                n = normal;
            }
        }
        let (low, high) = self.support_points(n);
        n.dot(low - high)
    }

    fn support_points(&self, n: DVec3) -> (DVec3, DVec3) {
        let of =
            |shape: &Shape, pose: &Pose, n: DVec3| pose.point(support(shape, pose.rotation.conjugate() * n));
        (of(&self.a, &self.pose_a, -n), of(&self.b, &self.pose_b, n))
    }

    /// Radii of balls about a point in A and in B.
    fn rooms(&self, p: DVec3) -> [f64; 2] {
        [room(&self.a, self.pose_a.inverse_point(p)), room(&self.b, self.pose_b.inverse_point(p))]
    }

    /// Bounds from `normals` and `points` that may be good ones, and from a search.
    pub fn bounds(&self, normals: &[DVec3], points: &[DVec3]) -> Bounds {
        let (lower, direction) = self.widest(normals);
        let (low, high) = self.support_points(direction);
        if matches!(self.a, Shape::HalfSpace) || matches!(self.b, Shape::HalfSpace) {
            // There is but one direction.
            return Bounds { lower, direction, upper: lower };
        }
        let middles = [self.pose_a.point(middle(&self.a)), self.pose_b.point(middle(&self.b))];
        let starts = points.iter().chain(&middles).copied().chain([0.5 * (low + high)]);
        let deep = self.deepest(starts);
        Bounds { lower, direction, upper: low.distance(high).min(-deep) }
    }

    /// The direction with the greatest separation, among many and around the best of them.
    fn widest(&self, normals: &[DVec3]) -> (f64, DVec3) {
        let frames = [&self.pose_a, &self.pose_b].map(|p| DVec3::AXES.map(|e| p.rotation * e));
        let mut tried: Vec<DVec3> = normals.to_vec();
        for side in [1.0, -1.0] {
            tried.extend(frames.iter().flatten().map(|e| *e * side));
            for p in frames[0] {
                tried.extend(frames[1].iter().filter_map(|q| p.cross(*q).try_normalize()).map(|n| n * side));
            }
        }
        for (shape, pose, side) in [(&self.a, &self.pose_a, -1.0), (&self.b, &self.pose_b, 1.0)] {
            let core = if let Shape::Rounded { core, .. } = shape { core } else { shape };
            if let Shape::Hull(hull) = core {
                tried.extend(hull.faces().iter().take(100).map(|f| pose.rotation * f.normal * side));
            }
        }
        tried.extend((self.pose_a.position - self.pose_b.position).try_normalize());
        // Points of a spiral, evenly over the sphere.
        let count = 48;
        tried.extend((0..count).map(|k| {
            let z = (2 * k + 1) as f64 / count as f64 - 1.0;
            let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
            DVec3::new(cos, sin, 0.0) * (1.0 - z * z).sqrt() + DVec3::Z * z
        }));
        let mut rated: Vec<(f64, DVec3)> = tried.into_iter().map(|n| (self.separation(n), n)).collect();
        rated.sort_by(|x, y| y.0.total_cmp(&x.0));
        rated.truncate(3);
        let climbed = rated.into_iter().map(|from| self.turned(from, 0.3));
        climbed.max_by(|x, y| x.0.total_cmp(&y.0)).unwrap_or((f64::NEG_INFINITY, DVec3::Z))
    }

    /// The same around one direction only.
    pub fn widest_near(&self, normal: DVec3) -> (f64, DVec3) {
        self.turned((self.separation(normal), normal), 1e-3)
    }

    fn turned(&self, from: (f64, DVec3), first: f64) -> (f64, DVec3) {
        climb(from, first, |n, step, k| {
            let (u, v) = n.any_orthonormal_pair();
            let turned = (n + [u, -u, v, -v, u + v, u - v][k] * step).normalize();
            (self.separation(turned), turned)
        })
    }

    /// The greatest sum of the radii of balls about one point in both shapes; negative where none was found.
    fn deepest(&self, starts: impl Iterator<Item = DVec3>) -> f64 {
        let least = |p: DVec3| {
            let [a, b] = self.rooms(p);
            a.min(b)
        };
        let mut rated: Vec<(f64, DVec3)> = starts.map(|p| (least(p), p)).collect();
        rated.sort_by(|x, y| y.0.total_cmp(&x.0));
        rated.truncate(2);
        let mut most = f64::NEG_INFINITY;
        for from in rated {
            let first = extent(&self.a).min(extent(&self.b));
            let (room, p) = climb(from, first, |p, step, k| {
                let moved = p + DVec3::AXES[k % 3] * if k < 3 { step } else { -step };
                (least(moved), moved)
            });
            if room > 0.0 {
                let [a, b] = self.rooms(p);
                most = most.max(a + b);
            }
        }
        most
    }
}

/// Steps in six directions as long as they lead up, then half as far, and so on.
fn climb(
    from: (f64, DVec3),
    first: f64,
    mut step_to: impl FnMut(DVec3, f64, usize) -> (f64, DVec3),
) -> (f64, DVec3) {
    let mut best = from;
    let mut step = first;
    for _ in 0..40 {
        let mut higher = false;
        for k in 0..6 {
            let next = step_to(best.1, step, k);
            if next.0 > best.0 {
                (best, higher) = (next, true);
            }
        }
        if !higher {
            step *= 0.4;
        }
    }
    best
}
