//! From a pair of shapes to the pairs of their parts that come near each other.

use glam::{DMat3, DVec3};

use crate::collide::Aabb;
use crate::shape::{Compound, Pose, Shape};

/// One side of a pair: a collider, or a part of it, in its place.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    /// Collider slot.
    pub collider: u32,
    /// The part of a compound; 0 for the whole.
    pub part: u32,
    pub shape: &'a Shape,
    /// In the world.
    pub pose: Pose,
}

impl<'a> Side<'a> {
    fn part(&self, compound: &'a Compound, k: u32) -> Self {
        let (local, shape) = &compound.parts()[k as usize];
        Side { part: k, shape, pose: self.pose.compose(local), ..*self }
    }
}

/// The place of `pose` in the frame of `frame`.
pub(crate) fn relative(frame: &Pose, pose: &Pose) -> Pose {
    let back = frame.rotation.conjugate();
    Pose::new(back * (pose.position - frame.position), back * pose.rotation)
}

/// Visits the pairs of parts of `a` and `b` whose bounds are within `reach` of each other, in an order that
/// depends on the shapes and where they are only. What is visited is convex, a half-space, or a surface.
pub(crate) fn part_pairs<'a>(
    a: Side<'a>,
    b: Side<'a>,
    reach: f64,
    visit: &mut impl FnMut(Side<'a>, Side<'a>),
) {
    match (a.shape, b.shape) {
        (Shape::Compound(ca), Shape::Compound(cb)) => {
            ca.bvh().pairs(cb.bvh(), &relative(&a.pose, &b.pose), reach, |i, j| {
                visit(a.part(ca, i), b.part(cb, j));
            });
        }
        (Shape::Compound(ca), _) => {
            parts_near(ca, &a.pose, b.shape, &b.pose, reach, |i| visit(a.part(ca, i), b))
        }
        (_, Shape::Compound(cb)) => {
            parts_near(cb, &b.pose, a.shape, &a.pose, reach, |j| visit(a, b.part(cb, j)))
        }
        _ => visit(a, b),
    }
}

/// Visits the parts of a compound whose bounds are within `reach` of those of another shape.
pub(crate) fn parts_near(
    compound: &Compound,
    pose: &Pose,
    other: &Shape,
    other_pose: &Pose,
    reach: f64,
    mut visit: impl FnMut(u32),
) {
    let place = relative(pose, other_pose);
    match other {
        Shape::HalfSpace => {
            let up = place.rotation * DVec3::Z;
            let lowest = |b: &Aabb| {
                let (middle, half) = (0.5 * (b.min + b.max), 0.5 * (b.max - b.min));
                (middle - place.position).dot(up) - half.dot(up.abs())
            };
            compound.bvh().nearest(lowest, reach, |k, limit| {
                visit(k);
                limit
            });
        }
        // Its surface says soon enough that there is nothing near.
        Shape::HeightField(_) => (0..compound.parts().len() as u32).for_each(visit),
        Shape::Mesh(mesh) => {
            compound.bvh().overlapping(&turned(&mesh.bvh().bounds(), &place).grown(reach), visit);
        }
        _ => compound.bvh().overlapping(&other.aabb(&place).grown(reach), visit),
    }
}

/// The box around a box of finite size at `pose`.
pub(crate) fn turned(bounds: &Aabb, pose: &Pose) -> Aabb {
    let m = DMat3::from_quat(pose.rotation);
    let half = 0.5 * (bounds.max - bounds.min);
    let reach = m.x_axis.abs() * half.x + m.y_axis.abs() * half.y + m.z_axis.abs() * half.z;
    Aabb::around(pose.point(0.5 * (bounds.min + bounds.max)), reach)
}
