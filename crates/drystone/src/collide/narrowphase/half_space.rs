//! Bounded convex shapes (A) against a half-space (B): the normal is always that of the plane.

use glam::{DVec2, DVec3};

use super::convex::{Convex, Kind};
use super::point_selection::{Candidate, Spread};
use super::{
    ALONG_COS, ALONG_SIN, ContactPoint, Core, Cuboid, MAX_POINTS, Manifold, NAMES, RIM_PLACES, SKEW, SQUARE,
    sign, tangents,
};
use crate::shape::Pose;

/// The plane of the half-space.
struct Plane {
    origin: DVec3,
    normal: DVec3,
}

impl Plane {
    fn new(pose: &Pose) -> Self {
        Self { origin: pose.position, normal: pose.rotation * DVec3::Z }
    }

    fn height(&self, point: DVec3) -> f64 {
        (point - self.origin).dot(self.normal)
    }

    /// The contact below the ball of the given radius about `centre`.
    fn below(&self, centre: DVec3, radius: f64, feature: u32) -> ContactPoint {
        let height = self.height(centre);
        ContactPoint {
            on_a: centre - self.normal * radius,
            on_b: centre - self.normal * height,
            normal: self.normal,
            gap: height - radius,
            feature,
        }
    }
}

pub(super) fn sphere(radius: f64, pose: &Pose, half_space: &Pose, reach: f64, out: &mut Manifold) {
    out.push_within(reach, Plane::new(half_space).below(pose.position, radius, 0));
}

/// Both ends of the core, so that a lying capsule does not rock. Features: 0 at -z, 1 at +z of the capsule.
pub(super) fn capsule(capsule: &Core, half_space: &Pose, reach: f64, out: &mut Manifold) {
    let plane = Plane::new(half_space);
    if capsule.half_length == 0.0 {
        out.push_within(reach, plane.below(capsule.centre, capsule.radius, 0));
        return;
    }
    out.push_within(reach, plane.below(capsule.centre - capsule.half_vector(), capsule.radius, 0));
    out.push_within(reach, plane.below(capsule.centre + capsule.half_vector(), capsule.radius, 1));
}

/// The corners within reach. More than four: those of the face that looks at the plane most squarely. It
/// holds the deepest corner and is spread widest; the four deepest corners of a tilted thin plate would leave
/// one end bare. The feature is the corner: bit k is set where the local coordinate k is positive.
pub(super) fn cuboid(cuboid: &Cuboid, half_space: &Pose, reach: f64, out: &mut Manifold) {
    let plane = Plane::new(half_space);
    let centre_height = plane.height(cuboid.centre);
    let tilt = cuboid.inward(plane.normal);
    let lift = [tilt[0] * cuboid.half[0], tilt[1] * cuboid.half[1], tilt[2] * cuboid.half[2]];
    if centre_height - lift[0].abs() - lift[1].abs() - lift[2].abs() > reach {
        return;
    }
    let side = |corner: u32, k: usize| if corner >> k & 1 == 1 { 1.0 } else { -1.0 };
    let gap = |c: u32| centre_height + side(c, 0) * lift[0] + side(c, 1) * lift[1] + side(c, 2) * lift[2];
    let within = (0..8).filter(|&c| gap(c) <= reach).count();
    let mut face = 0;
    for k in 1..3 {
        if tilt[k].abs() > tilt[face].abs() {
            face = k;
        }
    }
    for c in 0..8 {
        let kept = within <= MAX_POINTS || side(c, face) == -sign(tilt[face]);
        if kept && gap(c) <= reach {
            let h = cuboid.half;
            let on_a =
                cuboid.centre + cuboid.outward([side(c, 0) * h[0], side(c, 1) * h[1], side(c, 2) * h[2]]);
            let gap = gap(c);
            out.push(ContactPoint {
                on_a,
                on_b: on_a - plane.normal * gap,
                normal: plane.normal,
                gap,
                feature: c,
            });
        }
    }
}

/// Any bounded convex shape but those above. Every point of the surface may rest on the plane by itself, so
/// that points within reach count although they do not lie along it: a tilted body that comes fast must not
/// swing one end through.
pub(super) fn convex(core: &Convex, pose: &Pose, half_space: &Pose, reach: f64, out: &mut Manifold) {
    let plane = Plane::new(half_space);
    let down = -(pose.rotation.conjugate() * plane.normal);
    let (lowest, piece) = core.support(down, 0);
    let over = Over { core, pose, plane, down, reach };
    let least = over.gap(lowest);
    if least.is_nan() || least > reach {
        return;
    }
    match core.kind {
        Kind::Cylinder { half, .. } => over.cylinder(half, out),
        Kind::Cone { apex, .. } => over.cone(apex, out),
        Kind::Ellipsoid { .. } | Kind::Point => over.push(lowest, piece, out),
        Kind::Segment { half } => {
            for (piece, z) in [(0, -half), (1, half)] {
                over.push(DVec3::Z * z, piece, out);
            }
        }
        Kind::Box { .. } => over.corners(8, |k| core.piece_support(k, down), out),
        Kind::Hull(hull) => {
            over.corners(hull.vertices().len() as u32, |k| hull.vertices()[k as usize], out);
        }
    }
}

/// A core over a plane.
struct Over<'a> {
    core: &'a Convex<'a>,
    pose: &'a Pose,
    plane: Plane,
    /// Towards the plane, in the frame of the shape.
    down: DVec3,
    reach: f64,
}

impl Over<'_> {
    fn gap(&self, point: DVec3) -> f64 {
        self.plane.height(self.pose.position) - self.down.dot(point) - self.core.radius
    }

    fn push(&self, point: DVec3, feature: u32, out: &mut Manifold) {
        self.push_with(self.gap(point), point, feature, out);
    }

    fn push_with(&self, gap: f64, point: DVec3, feature: u32, out: &mut Manifold) {
        let on_a = self.pose.point(point) - self.plane.normal * self.core.radius;
        let normal = self.plane.normal;
        out.push_within(self.reach, ContactPoint { on_a, on_b: on_a - normal * gap, normal, gap, feature });
    }

    /// Standing: the lowest place of the rim below and three fixed ones. Otherwise the lowest place of either
    /// rim. Features: 0 and 1 the lowest places at -z and +z, 2 to 4 and 5 to 7 the fixed ones there.
    fn cylinder(&self, half: f64, out: &mut Manifold) {
        let below = u32::from(self.down.z >= 0.0);
        let lowest = |end: u32| self.core.piece_support(end, self.down);
        if self.down.z.abs() > ALONG_COS {
            self.rim(lowest(below), below, if below == 1 { half } else { -half }, 2 + 3 * below, out);
        } else {
            for end in [0, 1] {
                if end == below || self.down.z.abs() < 0.5 {
                    self.push(lowest(end), end, out);
                }
            }
        }
    }

    /// Standing as a cylinder does; otherwise the apex, 0, and the lowest place of the rim, 1.
    fn cone(&self, apex: f64, out: &mut Manifold) {
        let lowest = self.core.piece_support(1, self.down);
        if self.down.z < -ALONG_COS {
            self.rim(lowest, 1, lowest.z, 2, out);
        } else {
            self.push(DVec3::Z * apex, 0, out);
            self.push(lowest, 1, out);
        }
    }

    /// The fixed places belong to the world: a body may spin about its axis over them.
    fn rim(&self, lowest: DVec3, name: u32, height: f64, fixed: u32, out: &mut Manifold) {
        if self.down.x.hypot(self.down.y) > SQUARE {
            self.push(lowest, name, out);
        }
        let (e1, e2) = tangents(self.plane.normal, SKEW);
        let radius = self.core.rim_radius();
        for (k, (c, s)) in RIM_PLACES.into_iter().enumerate() {
            let towards = self.pose.rotation.conjugate() * (e1 * c + e2 * s);
            let across = DVec3::new(towards.x, towards.y, 0.0).normalize_or_zero();
            self.push(across * radius + DVec3::Z * height, fixed + k as u32, out);
        }
    }

    /// The corners within reach. More than four: those that lie along the plane with the lowest, well spread,
    /// and the next lowest ones to make four. The feature is the number of the corner.
    fn corners(&self, count: u32, corner: impl Fn(u32) -> DVec3, out: &mut Manifold) {
        let (e1, e2) = tangents(-self.down, self.pose.rotation.conjugate() * SKEW);
        let candidate = |k: u32| {
            let p = corner(k);
            let place = DVec2::new(e1.dot(p), e2.dot(p));
            Candidate { place, gap: self.gap(p), key: u64::from(k), source: k }
        };
        let mut lowest = [(f64::INFINITY, 0); MAX_POINTS];
        let mut within = 0;
        for k in 0..count {
            let gap = self.gap(corner(k));
            if gap <= self.reach {
                within += 1;
                if gap < lowest[MAX_POINTS - 1].0 {
                    lowest[MAX_POINTS - 1] = (gap, k);
                    lowest.sort_by(|x, y| x.0.total_cmp(&y.0));
                }
            }
        }
        let mut spread = Spread::new();
        let mut along = 0;
        if within > MAX_POINTS {
            let first = candidate(lowest[0].1);
            for k in 0..count {
                let c = candidate(k);
                let distance = c.place.distance(first.place);
                if c.gap <= self.reach && c.gap - first.gap <= ALONG_SIN * distance {
                    spread.offer(c);
                    along += 1;
                }
            }
        }
        for (gap, k) in lowest {
            if along < MAX_POINTS && gap <= self.reach && !spread.knows(u64::from(k)) {
                spread.offer(candidate(k));
                along += 1;
            }
        }
        let last = out.last();
        for c in spread.chosen(|key| last.has(key as u32 & NAMES)) {
            self.push_with(c.gap, corner(c.source), c.key as u32 & NAMES, out);
        }
    }
}
