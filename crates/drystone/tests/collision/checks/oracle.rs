//! Bounds of the signed distance of two convex shapes, from definitions alone.
//!
//! With s(n) the distance of the support planes of A and B across the unit vector n, the signed distance is the greatest
//! s(n). So every direction bounds it from below. From above it is bounded by the distance of any point of A from any point
//! of B, and in overlap by any two balls about one point, one in A and one in B: the depth is at least the sum of their
//! radii. Directions and points are searched for, but what is found is a bound however bad the search.

use drystone::shape::{Pose, Shape};
use glam::{DVec2, DVec3};

use super::draw::Case;

/// The point of a shape furthest along `d`, in its frame. Of a half-space, the origin.
pub fn support(shape: &Shape, d: DVec3) -> DVec3 {
    let side = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
    let rim = |radius: f64| d.truncate().try_normalize().unwrap_or(DVec2::X) * radius;
    let furthest = |points: &mut dyn Iterator<Item = DVec3>| {
        points.max_by(|p, q| p.dot(d).total_cmp(&q.dot(d))).unwrap_or(DVec3::ZERO)
    };
    match shape {
        Shape::Sphere { radius } => d.normalize_or_zero() * *radius,
        Shape::HalfSpace => DVec3::ZERO,
        Shape::Box { half } => *half * DVec3::new(side(d.x), side(d.y), side(d.z)),
        Shape::Capsule { radius, half_length } => {
            DVec3::Z * (half_length * side(d.z)) + d.normalize_or_zero() * *radius
        }
        Shape::Cylinder { radius, half_length } => rim(*radius).extend(half_length * side(d.z)),
        Shape::Cone { radius, height } => {
            furthest(&mut [DVec3::Z * (0.75 * height), rim(*radius).extend(-0.25 * height)].into_iter())
        }
        Shape::Ellipsoid { half } => *half * (*half * d).normalize_or_zero(),
        Shape::Hull(hull) => furthest(&mut hull.vertices().iter().copied()),
        Shape::Rounded { core, radius } => support(core, d) + d.normalize_or_zero() * *radius,
        Shape::Mesh(mesh) => furthest(&mut mesh.vertices().iter().copied()),
        Shape::HeightField(field) => furthest(
            &mut (0..field.heights().len()).map(|k| field.point(k % field.columns(), k / field.columns())),
        ),
        Shape::Compound(compound) => furthest(
            &mut compound
                .parts()
                .iter()
                .map(|(pose, s)| pose.point(support(s, pose.rotation.conjugate() * d))),
        ),
    }
}

/// How far a shape reaches from its origin, m, up to a factor of two; without end for a half-space.
pub fn extent(shape: &Shape) -> f64 {
    match shape {
        Shape::HalfSpace => f64::INFINITY,
        _ => DVec3::AXES
            .iter()
            .flat_map(|d| [*d, -*d])
            .map(|d| support(shape, d).dot(d).abs())
            .fold(0.0, f64::max),
    }
}

/// Height of a point over the surface of a convex shape, in its frame. Outside, the shape is at least so far away. Inside,
/// where it is negative, a ball of that radius about the point lies in the shape; this is not so for a rounded hull
/// outside its core: see [`room`].
pub fn height(shape: &Shape, p: DVec3) -> f64 {
    match shape {
        Shape::Sphere { radius } => p.length() - radius,
        Shape::HalfSpace => p.z,
        Shape::Box { half } => {
            let q = p.abs() - *half;
            q.max(DVec3::ZERO).length() + q.max_element().min(0.0)
        }
        Shape::Capsule { radius, half_length } => {
            (p - DVec3::Z * p.z.clamp(-half_length, *half_length)).length() - radius
        }
        Shape::Cylinder { radius, half_length } => {
            let q = DVec2::new(p.truncate().length() - radius, p.z.abs() - half_length);
            q.max(DVec2::ZERO).length() + q.max_element().min(0.0)
        }
        Shape::Cone { radius, height } => {
            let q = DVec2::new(p.truncate().length(), p.z);
            let (apex, rim) = (DVec2::new(0.0, 0.75 * height), DVec2::new(*radius, -0.25 * height));
            let outward = DVec2::new(*height, *radius).normalize();
            let highest = outward.dot(q - apex).max(rim.y - q.y);
            if highest <= 0.0 {
                return highest;
            }
            let distance = |from: DVec2, to: DVec2| {
                let along = to - from;
                q.distance(from + along * ((q - from).dot(along) / along.length_squared()).clamp(0.0, 1.0))
            };
            distance(apex, rim).min(distance(DVec2::new(0.0, rim.y), rim))
        }
        Shape::Ellipsoid { half } => {
            let f = (p / *half).length();
            if f <= 1.0 {
                // In units of the semi-axes it is a ball, and no length grows by more than 1 / the shortest of them.
                return (f - 1.0) * half.min_element();
            }
            let n = (p / (*half * *half)).normalize_or_zero();
            n.dot(p - support(shape, n)).max((f - 1.0) * half.min_element())
        }
        Shape::Hull(hull) => {
            hull.faces().iter().map(|f| f.normal.dot(p) - f.offset).fold(f64::NEG_INFINITY, f64::max)
        }
        Shape::Rounded { core, radius } => height(core, p) - radius,
        Shape::Mesh(_) | Shape::HeightField(_) | Shape::Compound(_) => f64::NAN,
    }
}

/// The radius of a ball about a point that lies in a convex shape; negative where there is none, and greater the nearer
/// the shape is.
pub fn room(shape: &Shape, p: DVec3) -> f64 {
    if let Shape::Rounded { core, radius } = shape
        && let Shape::Hull(hull) = &**core
    {
        let over = height(core, p);
        let corner = hull.vertices().iter().map(|v| v.distance(p)).fold(f64::INFINITY, f64::min);
        return radius - if over <= 0.0 { over } else { corner };
    }
    -height(shape, p)
}

/// A point well inside a shape.
pub fn middle(shape: &Shape) -> DVec3 {
    match shape {
        Shape::Hull(hull) => hull.vertices().iter().sum::<DVec3>() / hull.vertices().len() as f64,
        Shape::Rounded { core, .. } => middle(core),
        _ => DVec3::ZERO,
    }
}

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
    /// How far the support plane of A lies above that of B along the unit vector `n`, from B to A. Where one of them is a
    /// half-space, along its own normal, and without end where that is not `n`.
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
        let climbed = rated.into_iter().map(|from| {
            climb(from, 0.3, |n: DVec3, step, k| {
                let (u, v) = n.any_orthonormal_pair();
                let turned = (n + [u, -u, v, -v, u + v, u - v][k] * step).normalize();
                (self.separation(turned), turned)
            })
        });
        climbed.max_by(|x, y| x.0.total_cmp(&y.0)).unwrap_or((f64::NEG_INFINITY, DVec3::Z))
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
