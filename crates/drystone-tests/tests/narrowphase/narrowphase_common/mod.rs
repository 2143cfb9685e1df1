//! What the narrow phase tests share: random shapes and placements, and the definition of distance by support
//! planes.
#![allow(dead_code)]

#[path = "../../collision/checks/solid.rs"]
mod solid;

use std::sync::Arc;

use drystone::collide::narrowphase::{ContactPoint, Manifold, contacts};
use drystone::shape::{Hull, Pose, Shape};
use glam::{DQuat, DVec3};
use parry3d_f64::shape::SharedShape;

/// SplitMix64: the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A power of ten between those of `low` and `high`.
    pub fn power(&mut self, low: f64, high: f64) -> f64 {
        10_f64.powf(self.between(low, high))
    }

    /// In the cube of half side `r`.
    pub fn vector(&mut self, r: f64) -> DVec3 {
        DVec3::new(self.between(-r, r), self.between(-r, r), self.between(-r, r))
    }

    pub fn direction(&mut self) -> DVec3 {
        loop {
            let v = self.vector(1.0);
            let l = v.length();
            if l > 0.1 && l <= 1.0 {
                return v / l;
            }
        }
    }

    pub fn rotation(&mut self) -> DQuat {
        DQuat::from_axis_angle(self.direction(), self.between(-3.2, 3.2))
    }

    pub fn pose(&mut self, r: f64) -> Pose {
        Pose::new(self.vector(r), self.rotation())
    }

    /// Sphere, box or capsule with sizes from 0.2 to 1.5.
    pub fn bounded(&mut self) -> Shape {
        let mut size = || self.between(0.2, 1.5);
        let (x, y, z) = (size(), size(), size());
        match self.bits() % 3 {
            0 => Shape::Sphere { radius: x },
            1 => Shape::Box { half: DVec3::new(x, y, z) },
            _ => Shape::Capsule { radius: x, half_length: y },
        }
    }

    /// Of every bounded convex kind, by number, with sizes from 0.2 to 1.5.
    pub fn convex(&mut self, kind: usize) -> Shape {
        let mut size = || self.between(0.2, 1.5);
        let (x, y, z) = (size(), size(), size());
        match kind {
            0 => Shape::Sphere { radius: x },
            1 => Shape::Box { half: DVec3::new(x, y, z) },
            2 => Shape::Capsule { radius: x, half_length: y },
            3 => Shape::Cylinder { radius: x, half_length: y },
            4 => Shape::Cone { radius: x, height: 2.0 * y },
            5 => Shape::Ellipsoid { half: DVec3::new(x, y, z) },
            6 => self.hull(DVec3::new(x, y, z)),
            _ => {
                let kind = [1, 3, 4, 6][(self.bits() % 4) as usize];
                let core = Arc::new(self.convex(kind));
                Shape::Rounded { core, radius: self.between(0.02, 0.4) }
            }
        }
    }

    /// The hull of 5 to 40 points on an ellipsoid, off its centre.
    pub fn hull(&mut self, half: DVec3) -> Shape {
        let shift = self.vector(0.3);
        let count = 5 + self.bits() % 36;
        hull_of(&(0..count).map(|_| self.direction() * half + shift).collect::<Vec<_>>())
    }

    pub fn shape(&mut self) -> Shape {
        if self.bits().is_multiple_of(5) { Shape::HalfSpace } else { self.bounded() }
    }
}

pub fn hull_of(points: &[DVec3]) -> Shape {
    Shape::Hull(Arc::new(Hull::new(points).expect("points with volume")))
}

pub fn cuboid(x: f64, y: f64, z: f64) -> Shape {
    Shape::Box { half: DVec3::new(x, y, z) }
}

pub fn manifold(a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose, reach: f64) -> Manifold {
    let mut out = Manifold::default();
    contacts(a, pose_a, b, pose_b, reach, &mut out);
    out
}

pub fn least_gap(m: &Manifold) -> ContactPoint {
    *m.points().iter().min_by(|p, q| p.gap.total_cmp(&q.gap)).expect("no contact")
}

/// How far the support plane of A lies above that of B along the unit vector `n`.
///
/// The signed distance of two convex shapes is the greatest of these over all n: it is never less than any of
/// them, and a normal for which it is reached proves it.
pub fn separation(a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose, n: DVec3) -> f64 {
    let low = pose_a.point(a.support(pose_a.rotation.conjugate() * -n));
    let high = pose_b.point(b.support(pose_b.rotation.conjugate() * n));
    (low - high).dot(n)
}

/// The best direction that a search finds: random ones, then ever smaller steps about the best. From a given
/// direction only its neighbourhood is searched.
pub fn best_direction(
    random: &mut Random,
    a: &Shape,
    pose_a: &Pose,
    b: &Shape,
    pose_b: &Pose,
    from: Option<DVec3>,
) -> (f64, DVec3) {
    let mut n = from.unwrap_or(DVec3::Z);
    let mut best = separation(a, pose_a, b, pose_b, n);
    let (coarse, mut width) = if from.is_some() { (0, 1e-3) } else { (300, 1.0) };
    for round in 0..coarse + 300 {
        let trial = if round < coarse { random.direction() } else { (n + random.vector(width)).normalize() };
        let s = separation(a, pose_a, b, pose_b, trial);
        if s > best {
            (best, n) = (s, trial);
        }
        if round >= coarse {
            width *= 0.96;
        }
    }
    (best, n)
}

/// What parry has of it; its cylinders and cones stand along y, the latter half-way up.
pub fn parry_shape(shape: &Shape) -> Option<SharedShape> {
    Some(match shape {
        Shape::Sphere { radius } => SharedShape::ball(*radius),
        Shape::Box { half } => SharedShape::cuboid(half.x, half.y, half.z),
        Shape::Capsule { radius, half_length } => {
            SharedShape::capsule(DVec3::Z * -*half_length, DVec3::Z * *half_length, *radius)
        }
        Shape::HalfSpace => SharedShape::halfspace(DVec3::Z),
        Shape::Cylinder { radius, half_length } => SharedShape::cylinder(*half_length, *radius),
        Shape::Cone { radius, height } => SharedShape::cone(0.5 * height, *radius),
        Shape::Hull(hull) => return SharedShape::convex_hull(hull.vertices()),
        _ => return None,
    })
}

pub fn parry_pose(shape: &Shape, pose: &Pose) -> parry3d_f64::math::Pose {
    let upright = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    let (shift, turn) = match shape {
        Shape::Cylinder { .. } => (DVec3::ZERO, upright),
        Shape::Cone { height, .. } => (DVec3::Z * (0.25 * height), upright),
        _ => (DVec3::ZERO, DQuat::IDENTITY),
    };
    parry3d_f64::math::Pose::from_parts(pose.point(shift), pose.rotation * turn)
}

/// How many kinds [`Random::convex`] knows, and their names.
pub const KINDS: usize = 8;
pub const NAMES: [&str; KINDS] =
    ["sphere", "box", "capsule", "cylinder", "cone", "ellipsoid", "hull", "rounded"];

/// Signed distance of a point from the surface of a shape, m.
pub fn depth_of(shape: &Shape, pose: &Pose, point: DVec3) -> f64 {
    let p = pose.inverse_point(point);
    match shape {
        Shape::Ellipsoid { half } => {
            // Not the distance, but zero where it is, with the same slope.
            let (f, g) = ((p / *half).length(), (p / (*half * *half)).length());
            if g > 0.0 { f * (f - 1.0) / g } else { -half.min_element() }
        }
        _ => solid::height(shape, p),
    }
}

/// What must hold of every contact point of convex shapes of any kind and size about 1: the points differ by
/// the gap along the normal, and both lie on the surfaces up to `tolerance`.
pub fn assert_points(a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose, tolerance: f64, m: &Manifold) {
    let context = || format!("{a:?} {pose_a:?}\n{b:?} {pose_b:?}\n{:?}", m.points());
    let mut names: Vec<u32> = m.points().iter().map(|p| p.feature).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|w| w[0] != w[1]), "names repeat: {}", context());
    for p in m.points() {
        assert!(p.on_a.is_finite() && p.on_b.is_finite() && p.gap.is_finite(), "{}", context());
        assert!((p.normal.length() - 1.0).abs() < 1e-12, "{}", context());
        assert!(p.feature < 1 << 19, "{}", context());
        let error = p.on_a - p.on_b - p.normal * p.gap;
        assert!(error.length() < 1e-11 * (1.0 + p.gap.abs()), "off by {error}: {}", context());
        for (shape, pose, point, out) in [(a, pose_a, p.on_a, -p.normal), (b, pose_b, p.on_b, p.normal)] {
            // A core point, since the distance from a rounded shape is that from its core.
            let (core, radius) = match shape {
                Shape::Rounded { core, radius } => (&**core, *radius),
                _ => (shape, 0.0),
            };
            let depth = depth_of(core, pose, point - out * radius);
            // Bars and edges that lie along each other up to 2° touch with that direction, not that of their
            // side.
            let end = p.feature >> 17 == 3 && p.feature & 3 != 0;
            // Of a level patch with more corners than four, one point may speak for a deeper corner next to
            // it.
            let tolerance = if m.points().len() == 4 { tolerance.max(1e-4) } else { tolerance };
            let bar = match (shape, core) {
                (Shape::Capsule { .. }, _) if p.feature < 1 << 17 => f64::INFINITY,
                (Shape::Capsule { radius, .. }, _) => *radius,
                (_, Shape::Cylinder { radius: r, .. }) => r + radius,
                _ => radius + 0.05,
            };
            let (high, low) = if end { (0.05 * bar, -0.05 * bar) } else { (tolerance, -tolerance) };
            let low = if bar == f64::INFINITY { -bar } else { low };
            assert!(depth <= high && depth >= low, "off the surface by {depth}: {}", context());
        }
    }
}

/// What must hold of every contact point, at shapes of size about 1.
pub fn assert_sound(a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose, reach: f64, m: &Manifold) {
    let context = || format!("{a:?} {pose_a:?}\n{b:?} {pose_b:?}\n{:?}", m.points());
    for p in m.points() {
        assert!(p.on_a.is_finite() && p.on_b.is_finite() && p.gap.is_finite(), "{}", context());
        assert!((p.normal.length() - 1.0).abs() < 1e-12, "{}", context());
        assert!(p.gap <= reach, "{}", context());
        let error = p.on_a - p.on_b - p.normal * p.gap;
        assert!(error.length() < 1e-9 * (1.0 + p.gap.abs()), "off by {error}: {}", context());
        // A capsule that lies along a face up to 2° touches with the direction of the face, not of its own
        // side. Over a half-space both its end balls count, of which the upper one may look into the capsule.
        // The same for the ends of one that comes tilted towards a box.
        let far_end = p.feature >= 3;
        // Of a level patch with more corners than four, one point may speak for a deeper corner next to it.
        let level = if m.points().len() == 4 { 1e-4 } else { 1e-9 };
        let over_plane = matches!(a, Shape::HalfSpace) || matches!(b, Shape::HalfSpace);
        for (shape, pose, point) in [(a, pose_a, p.on_a), (b, pose_b, p.on_b)] {
            let depth = depth_of(shape, pose, point);
            let (low, high) = match shape {
                Shape::Capsule { radius, .. } if over_plane || far_end => (-radius, 1e-9),
                Shape::Capsule { radius, .. } => (-7e-4 * radius, 1e-9),
                _ => (-level, level),
            };
            assert!(low <= depth && depth <= high, "off the surface by {depth}: {}", context());
        }
    }
}
