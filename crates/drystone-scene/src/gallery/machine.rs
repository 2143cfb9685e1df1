//! Bodies made of parts with masses of their own: what trucks, pallets and legs are built of.

use std::sync::Arc;

use drystone::{BodyDef, BodyId, Collider, Compound, MassProperties, Pose, Shape};
use glam::{DMat3, DQuat, DVec3};

use crate::SceneError;

/// A part of a body: where it is, what it is, and its mass in kg.
pub(super) type Part = (Pose, Shape, f64);

/// A box between two corners.
pub(super) fn slab(from: [f64; 3], to: [f64; 3], mass: f64) -> Part {
    let (a, b) = (DVec3::from_array(from), DVec3::from_array(to));
    (Pose::new(0.5 * (a + b), DQuat::IDENTITY), Shape::Box { half: 0.5 * (b - a).abs() }, mass)
}

/// A body of these parts, its frame being theirs: mass, centre and inertia are the sums of theirs.
pub(super) fn assembly(parts: Vec<Part>, mu: f64) -> Result<BodyDef, SceneError> {
    let mass: f64 = parts.iter().map(|(_, _, m)| m).sum();
    let middle = |(pose, shape, _): &Part| pose.point(shape.centroid());
    let centre = parts.iter().map(|p| p.2 * middle(p)).sum::<DVec3>() / mass;
    let mut inertia = DMat3::ZERO;
    for part in &parts {
        let (pose, shape, m) = part;
        let turn = DMat3::from_quat(pose.rotation);
        let arm = middle(part) - centre;
        let square = DMat3::from_cols(arm.x * arm, arm.y * arm, arm.z * arm);
        let moved = DMat3::from_diagonal(DVec3::splat(arm.length_squared())) - square;
        inertia += turn * shape.inertia(*m) * turn.transpose() + moved * *m;
    }
    // The halves are the same but for rounding, and have to be the same bits.
    let inertia = (inertia + inertia.transpose()) * 0.5;
    let shapes = parts.into_iter().map(|(pose, shape, _)| (pose, shape)).collect();
    let compound = Compound::new(shapes).map_err(SceneError::new)?;
    let mut body = BodyDef::bare(MassProperties { mass, centre, inertia });
    body.colliders.push(Collider::new(Shape::Compound(Arc::new(compound)), mu));
    Ok(body)
}

/// The id of the scene's body number `i`.
pub(super) fn body_id(i: usize) -> BodyId {
    BodyId { slot: i as u32, generation: 0 }
}

/// A cylinder about the y axis.
pub(super) fn wheel(radius: f64, half_width: f64, mass: f64) -> BodyDef {
    let mut body = BodyDef::dynamic(Shape::cylinder(radius, half_width), mass);
    let turn = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    let m = DMat3::from_quat(turn);
    body.mass.inertia = m * body.mass.inertia * m.transpose();
    body.mass.inertia = (body.mass.inertia + body.mass.inertia.transpose()) * 0.5;
    body.colliders[0].local = Pose::new(DVec3::ZERO, turn);
    body
}
