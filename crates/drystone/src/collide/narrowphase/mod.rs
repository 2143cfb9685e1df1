//! Narrow phase: where two shapes touch, or how far apart they are.
//!
//! Convention: the normal points from the second shape (B) to the first (A), as in
//! [TasoraAnitescu2011, §2.4.1], so that a positive normal multiplier pushes A along +n.
//!
//! One file per family of pairs: `sphere`, `half_space`, `capsule`, `box_box`; `closest` and `clip` hold the
//! geometry they share. All other pairs of bounded convex shapes go through `general`: support functions of
//! `convex`, distance by `gjk` (on a `simplex`), depth by `epa` or `every`, curved surfaces by `refine`, and
//! points of the `patch` between two `feature`s, which `spread` collects. Where there are more than four
//! points, `four` chooses. `project` knows the nearest point of every such shape. [`contacts`] is the
//! dispatch table. Nothing here allocates.
//!
//! # What the points mean
//! A contact between round or pointed features is one point, the closest (or, in overlap, the least deep way
//! out). Where flat or long features lie along each other there are up to [`MAX_POINTS`] points that span the
//! patch, each with its own gap along the normal. Features count as lying along each other up to 2°, which
//! bounds the relative error of such a gap by 1 - cos 2° = 6·10⁻⁴.

mod box_box;
mod capsule;
mod clip;
mod closest;
mod convex;
mod epa;
mod exhaustive_sat;
mod feature;
mod general;
mod gjk;
mod half_space;
pub(crate) mod manifold_reduction;
mod patch;
mod point_selection;
mod project;
mod refine;
mod simplex;
mod sphere;
mod witness;

use glam::{DMat3, DVec3};

use crate::shape::{Pose, Shape};

pub use sphere::sphere_sphere;

pub(crate) use box_box::signed_distance as box_box_distance;
pub(crate) use convex::Convex;
pub(crate) use general::{closest_points, distance as convex_distance};

/// One contact point between two shapes, in world coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The point on the surface of A, m.
    pub on_a: DVec3,
    /// The point on the surface of B, m. `on_a - on_b = gap * normal` up to rounding for closest-point
    /// contacts.
    pub on_b: DVec3,
    /// Unit normal from B to A.
    pub normal: DVec3,
    /// Signed distance along the normal, m; negative when the shapes overlap.
    pub gap: f64,
    /// Which features touch: the same number from step to step while the same features touch.
    pub feature: u32,
}

/// At most this many points describe the contact of two convex shapes.
pub const MAX_POINTS: usize = 4;

/// The contact points of one pair of shapes, without heap allocation.
#[derive(Clone, Copy, Debug)]
pub struct Manifold {
    points: [ContactPoint; MAX_POINTS],
    len: u8,
    last: Names,
}

/// The names of the points of a pair of shapes.
#[derive(Clone, Copy, Debug, Default)]
struct Names {
    names: [u32; MAX_POINTS],
    len: u8,
}

impl Names {
    fn has(&self, name: u32) -> bool {
        self.names[..self.len as usize].contains(&name)
    }
}

impl Default for Manifold {
    fn default() -> Self {
        let none =
            ContactPoint { on_a: DVec3::ZERO, on_b: DVec3::ZERO, normal: DVec3::Z, gap: 0.0, feature: 0 };
        Self { points: [none; MAX_POINTS], len: 0, last: Names::default() }
    }
}

impl Manifold {
    /// An empty manifold for shapes whose points had these names, [`ContactPoint::feature`], the last time.
    /// Where there are more than [`MAX_POINTS`] to choose from and the choice is a close one, the same are
    /// chosen again.
    pub fn after(names: impl IntoIterator<Item = u32>) -> Self {
        let mut last = Names::default();
        for name in names.into_iter().take(MAX_POINTS) {
            last.names[last.len as usize] = name;
            last.len += 1;
        }
        Self { last, ..Self::default() }
    }

    fn last(&self) -> Names {
        self.last
    }

    /// Adds a point.
    ///
    /// # Panics
    /// When there are already [`MAX_POINTS`].
    pub fn push(&mut self, point: ContactPoint) {
        self.points[self.len as usize] = point;
        self.len += 1;
    }

    /// Forgets all points, but not the names of the last ones.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The points.
    pub fn points(&self) -> &[ContactPoint] {
        &self.points[..self.len as usize]
    }

    /// Adds a point unless its gap is beyond `reach`. A gap that is not a number is beyond any reach.
    #[inline]
    fn push_within(&mut self, reach: f64, point: ContactPoint) {
        if point.gap <= reach {
            self.push(point);
        }
    }

    fn points_mut(&mut self) -> &mut [ContactPoint] {
        &mut self.points[..self.len as usize]
    }

    /// Sorts by name. Names that are equal by chance become different, the same way every time.
    fn distinct_features(&mut self) {
        for i in 1..self.len as usize {
            while self.points[..i].iter().any(|p| p.feature == self.points[i].feature) {
                self.points[i].feature = (self.points[i].feature + 1) & NAMES;
            }
        }
        self.points_mut().sort_unstable_by_key(|p| p.feature);
    }

    /// Exchanges the roles of A and B.
    fn flip(&mut self) {
        for p in &mut self.points[..self.len as usize] {
            std::mem::swap(&mut p.on_a, &mut p.on_b);
            p.normal = -p.normal;
        }
    }
}

/// Finds every contact point with gap at most `reach` (not negative, may be infinite) between shape A and
/// shape B.
///
/// `out` is cleared first. Swapping A and B gives the same points with `on_a`, `on_b` exchanged and the
/// normal turned round, bit for bit, unless two equal shapes stand in one pose: then there is no telling them
/// apart.
pub fn contacts(
    shape_a: &Shape,
    pose_a: &Pose,
    shape_b: &Shape,
    pose_b: &Pose,
    reach: f64,
    out: &mut Manifold,
) {
    use Shape::{Box, Capsule, HalfSpace, Sphere};
    out.clear();
    match (shape_a, shape_b) {
        (Sphere { radius: ra }, Sphere { radius: rb }) => {
            out.push_within(reach, sphere_sphere(pose_a.position, *ra, pose_b.position, *rb));
        }
        (Sphere { radius }, HalfSpace) => half_space::sphere(*radius, pose_a, pose_b, reach, out),
        (Sphere { radius }, Box { half }) => {
            out.push_within(reach, sphere::sphere_box(pose_a.position, *radius, &Cuboid::new(*half, pose_b)));
        }
        (Sphere { radius }, Capsule { .. }) => {
            let core = Core::of(shape_b, pose_b);
            out.push_within(reach, sphere::sphere_capsule(pose_a.position, *radius, &core));
        }
        (Box { half }, HalfSpace) => half_space::cuboid(&Cuboid::new(*half, pose_a), pose_b, reach, out),
        (Capsule { .. }, HalfSpace) => half_space::capsule(&Core::of(shape_a, pose_a), pose_b, reach, out),
        (Capsule { .. }, Box { half }) => {
            capsule::capsule_box(&Core::of(shape_a, pose_a), &Cuboid::new(*half, pose_b), reach, out);
        }
        (Capsule { .. }, Capsule { .. }) => {
            let (a, b) = (Core::of(shape_a, pose_a), Core::of(shape_b, pose_b));
            if in_order(&[a.radius, a.half_length], pose_a, &[b.radius, b.half_length], pose_b) {
                capsule::capsule_capsule(&a, &b, reach, out);
            } else {
                capsule::capsule_capsule(&b, &a, reach, out);
                out.flip();
            }
        }
        (Box { half: ha }, Box { half: hb }) => {
            let (a, b) = (Cuboid::new(*ha, pose_a), Cuboid::new(*hb, pose_b));
            if in_order(&a.half, pose_a, &b.half, pose_b) {
                box_box::box_box(&a, &b, reach, out);
            } else {
                box_box::box_box(&b, &a, reach, out);
                out.flip();
            }
        }
        (HalfSpace, HalfSpace) => {}
        (HalfSpace, _) | (Box { .. }, Sphere { .. } | Capsule { .. }) | (Capsule { .. }, Sphere { .. }) => {
            contacts(shape_b, pose_b, shape_a, pose_a, reach, out);
            out.flip();
        }
        (_, HalfSpace) => {
            if let Some(core) = Convex::of(shape_a) {
                half_space::convex(&core, pose_a, pose_b, reach, out);
            }
        }
        (Sphere { radius }, _) => {
            let near = |core: &Convex| {
                let touch = radius + core.radius + core.extent() + reach;
                pose_a.position.distance_squared(pose_b.position) <= touch * touch
            };
            if let Some(core) = Convex::of(shape_b).filter(near) {
                let point = sphere::sphere_convex(pose_a.position, *radius, &core, pose_b);
                out.push_within(reach, point);
            }
        }
        (_, Sphere { .. }) => {
            contacts(shape_b, pose_b, shape_a, pose_a, reach, out);
            out.flip();
        }
        _ => general::contacts(shape_a, pose_a, shape_b, pose_b, reach, out),
    }
}

/// Sine and cosine of the angle up to which features count as lying along each other, 2°.
const ALONG_SIN: f64 = 0.034_899_496_702_500_97;
pub(crate) const ALONG_COS: f64 = 0.999_390_827_019_095_8;

/// Contact names have 19 bits.
const NAMES: u32 = (1 << 19) - 1;

/// A direction skew to anything people build.
const SKEW: DVec3 = DVec3::new(0.5377, 0.2113, 0.8162);

/// A disc that is tilted by less than this, rad, lies flat: three fixed places of its rim say as much as its
/// deepest one, and one at rest does not change its contacts.
const SQUARE: f64 = 1e-10;

/// Cosines and sines of the fixed places on the rim of a flat circular face, a third of a turn apart.
const RIM_PLACES: [(f64, f64); 3] =
    [(1.0, 0.0), (-0.5, 0.866_025_403_784_438_6), (-0.5, -0.866_025_403_784_438_6)];

/// Two unit vectors across the unit vector `n`, the first also across `skew`; n, e1, e2 is right-handed.
fn tangents(n: DVec3, skew: DVec3) -> (DVec3, DVec3) {
    let e1 = n.cross(skew).try_normalize().unwrap_or_else(|| n.any_orthonormal_vector());
    (e1, n.cross(e1))
}

/// Whether two shapes of one kind stand in canonical order, so that the result does not depend on who is
/// called A. Sizes decide; equal sizes are ordered by place along the skew direction, then by whatever tells
/// their poses apart.
fn in_order(size_a: &[f64], pose_a: &Pose, size_b: &[f64], pose_b: &Pose) -> bool {
    greater(size_a, size_b).unwrap_or_else(|| {
        let skew = (pose_a.position - pose_b.position).dot(SKEW);
        let numbers = |skew: f64, pose: &Pose| {
            let ([x, y, z], [i, j, k, w]) = (pose.position.to_array(), pose.rotation.to_array());
            [skew, x, y, z, i, j, k, w]
        };
        greater(&numbers(skew, pose_a), &numbers(-skew, pose_b)).unwrap_or(true)
    })
}

/// Whether the first number in which they differ is greater in `a`; nothing where they are equal.
fn greater(a: &[f64], b: &[f64]) -> Option<bool> {
    a.iter().zip(b).find(|(a, b)| a != b).map(|(a, b)| a > b)
}

/// `1.0` or `-1.0`; zero counts as positive, so that a tie always falls the same way.
#[inline]
fn sign(x: f64) -> f64 {
    if x < 0.0 { -1.0 } else { 1.0 }
}

/// A box placed in the world.
struct Cuboid {
    centre: DVec3,
    axes: [DVec3; 3],
    half: [f64; 3],
}

impl Cuboid {
    #[inline]
    fn new(half: DVec3, pose: &Pose) -> Self {
        let m = DMat3::from_quat(pose.rotation);
        Self { centre: pose.position, axes: [m.x_axis, m.y_axis, m.z_axis], half: half.to_array() }
    }

    /// World coordinates of a vector in the frame of the box.
    #[inline]
    fn outward(&self, local: [f64; 3]) -> DVec3 {
        self.axes[0] * local[0] + self.axes[1] * local[1] + self.axes[2] * local[2]
    }

    /// A world vector in the frame of the box.
    #[inline]
    fn inward(&self, world: DVec3) -> [f64; 3] {
        [world.dot(self.axes[0]), world.dot(self.axes[1]), world.dot(self.axes[2])]
    }

    /// Half the width of the box along the unit vector `direction`.
    #[inline]
    fn radius(&self, direction: DVec3) -> f64 {
        let d = self.inward(direction);
        self.half[0] * d[0].abs() + self.half[1] * d[1].abs() + self.half[2] * d[2].abs()
    }

    fn smallest_half(&self) -> f64 {
        self.half[0].min(self.half[1]).min(self.half[2])
    }
}

/// A capsule placed in the world.
struct Core {
    centre: DVec3,
    /// Unit.
    axis: DVec3,
    half_length: f64,
    radius: f64,
}

impl Core {
    /// # Panics
    /// When the shape is not a capsule.
    fn of(shape: &Shape, pose: &Pose) -> Self {
        let Shape::Capsule { radius, half_length } = shape else {
            panic!("{} is not a capsule", shape.name())
        };
        Self {
            centre: pose.position,
            axis: pose.rotation * DVec3::Z,
            half_length: *half_length,
            radius: *radius,
        }
    }

    /// The core segment is `centre + t * half_vector()`, t from -1 to 1.
    fn half_vector(&self) -> DVec3 {
        self.axis * self.half_length
    }
}
