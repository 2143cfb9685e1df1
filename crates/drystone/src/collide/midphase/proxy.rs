//! The convex body that comes to a surface: where it is, how it moves, and what it may touch.

use glam::{DMat3, DVec3};

use super::expand::relative;
use super::pieces::{middle, plane_contacts, reach_along, roundness};
use crate::collide::Aabb;
use crate::collide::manifold_cache::LastTouches;
use crate::collide::narrowphase::{ContactPoint, Manifold};
use crate::shape::{Pose, Shape};

/// A convex body on its way, in the frame of the surface.
pub(crate) struct Visitor<'a> {
    pub shape: &'a Shape,
    pub pose: Pose,
    /// The body in the world, and the frame of the surface: some shapes touch a plane in points that the
    /// world's axes choose.
    pub world: Pose,
    pub frame: Pose,
    /// What it moves during the step relative to the surface, m.
    pub way: DVec3,
    /// A point p that moves with it moves by `drift + turn × p`, m.
    pub drift: DVec3,
    pub turn: DVec3,
    /// Gap up to which a contact exists wherever the body goes, m. What rotation may add to the way is part
    /// of it.
    pub near: f64,
    /// Its inner radius, m.
    pub size: f64,
    /// So far below the surface its middle counts as inside, m.
    pub depth: f64,
    /// Whether gaps have to be exact, not just stable.
    pub exact: bool,
    /// What it touched in the last step, if that is to have a say.
    pub last: Option<LastTouches<'a>>,
}

impl<'a> Visitor<'a> {
    /// A body at rest, that looks for contacts up to a gap of `reach`.
    pub(crate) fn at_rest(shape: &'a Shape, pose: &Pose, frame: &Pose, reach: f64) -> Self {
        Self {
            shape,
            pose: relative(frame, pose),
            world: *pose,
            frame: *frame,
            way: DVec3::ZERO,
            drift: DVec3::ZERO,
            turn: DVec3::ZERO,
            near: reach,
            size: shape.inner_radius(),
            depth: shape.bounding_radius(),
            exact: false,
            last: None,
        }
    }

    /// Against the half-space below the plane of a region, all in the frame of the surface.
    pub(super) fn plane_contacts(
        &self,
        region: u32,
        origin: DVec3,
        normal: DVec3,
        reach: f64,
        out: &mut Manifold,
    ) {
        if let Shape::Sphere { .. } = self.shape {
            plane_contacts(self.shape, &self.pose, origin, normal, reach, out);
            return;
        }
        let mut found = Manifold::after(self.last.iter().flat_map(|last| last.features(region)));
        let plane = (self.frame.point(origin), self.frame.rotation * normal);
        plane_contacts(self.shape, &self.world, plane.0, plane.1, reach, &mut found);
        out.clear();
        for p in found.points() {
            let back = |x: DVec3| self.frame.inverse_point(x);
            out.push(ContactPoint { on_a: back(p.on_a), on_b: back(p.on_b), normal, ..*p });
        }
    }
}

/// What is worth knowing of a visitor before many triangles are held against it.
pub(super) struct Outline {
    /// Around all that it may reach during the step.
    pub bounds: Aabb,
    /// The same as a ball, centre and radius, where it is one.
    pub ball: Option<(DVec3, f64)>,
    /// A point well inside.
    pub middle: DVec3,
    /// Of the ball that it is round by.
    pub radius: f64,
    /// Its axes in the frame of the surface.
    axes: DMat3,
    /// Its bounds in its own frame, with what it may reach.
    own_bounds: Aabb,
}

/// Where a triangle lies as seen from a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// Within reach, maybe.
    Near,
    /// Out of reach.
    Far,
    /// Out of reach, and the body behind it.
    Behind,
}

impl Outline {
    pub(super) fn of(v: &Visitor) -> Self {
        let still = v.shape.aabb(&v.pose);
        let swept = Aabb { min: still.min.min(still.min + v.way), max: still.max.max(still.max + v.way) };
        let axes = DMat3::from_quat(v.pose.rotation);
        let own = v.shape.aabb(&Pose::IDENTITY);
        let way = axes.transpose() * v.way;
        let ball = match v.shape {
            Shape::Sphere { radius } => {
                let half = 0.5 * v.way;
                Some((v.pose.position + half, radius + v.near + half.length()))
            }
            _ => None,
        };
        Self {
            bounds: swept.grown(v.near),
            ball,
            middle: v.pose.point(middle(v.shape)),
            radius: roundness(v.shape),
            axes,
            own_bounds: Aabb { min: own.min.min(own.min + way), max: own.max.max(own.max + way) }
                .grown(v.near),
        }
    }

    /// Whether the triangle can be touched: a body that stays above its plane, or below it, touches neither
    /// the face nor its edges.
    pub(super) fn sees(&self, v: &Visitor, corner: DVec3, normal: DVec3) -> Sight {
        let height = (v.pose.position - corner).dot(normal);
        let moves = v.way.dot(normal);
        let up = self.axes.transpose() * normal;
        if height - reach_along(v.shape, -up) + moves.min(0.0) > v.near {
            return Sight::Far;
        }
        if height + reach_along(v.shape, up) + moves.max(0.0) < -v.near {
            return Sight::Behind;
        }
        Sight::Near
    }

    /// Whether the segment may come within reach.
    pub(super) fn sees_edge(&self, v: &Visitor, ends: [DVec3; 2]) -> bool {
        if self.ball.is_some() {
            return true;
        }
        let [a, b] = ends.map(|p| self.axes.transpose() * (p - v.pose.position));
        (Aabb { min: a.min(b), max: a.max(b) }).overlaps(&self.own_bounds)
    }
}
