//! Worlds, floors, containers and scattered bodies: what the kinds are put together from.

use std::f64::consts::{PI, TAU};

use drystone::{
    BodyDef, BodyId, Collider, JointDef, JointId, PairLaw, Pose, Settings, Shape, World, WorldError,
};
use glam::{DQuat, DVec3};

use super::Draw;
use crate::SceneError;

/// How often a place is drawn anew before a body is left out.
const TRIES: usize = 40;
/// Plates of a round wall.
pub(super) const PLATES: usize = 24;

pub(super) fn text(message: String) -> SceneError {
    SceneError::new(message)
}

pub(super) fn error(e: WorldError) -> SceneError {
    SceneError::new(e.to_string())
}

/// An empty world with default settings, this step and this restitution between all surfaces.
pub(super) fn world(h: f64, restitution: f64) -> Result<World, SceneError> {
    world_with(Settings { h, ..Settings::default() }, restitution)
}

/// The same with other settings.
pub(super) fn world_with(settings: Settings, restitution: f64) -> Result<World, SceneError> {
    let mut world = World::new(settings).map_err(error)?;
    if restitution > 0.0 {
        let law = PairLaw { restitution, ..PairLaw::default() };
        world.materials_mut().set_other(law).map_err(text)?;
    }
    Ok(world)
}

pub(super) fn add(world: &mut World, body: BodyDef) -> Result<BodyId, SceneError> {
    world.add_body(body).map_err(error)
}

pub(super) fn join(world: &mut World, joint: JointDef) -> Result<JointId, SceneError> {
    world.add_joint(joint).map_err(error)
}

/// An infinite floor at z = 0.
pub(super) fn floor(world: &mut World, mu: f64) -> Result<BodyId, SceneError> {
    add(world, BodyDef::fixed(Shape::HalfSpace).friction(mu))
}

/// All bodies that forces move.
pub(super) fn dynamic(world: &World) -> Vec<BodyId> {
    let model = world.model();
    model.dynamic().filter_map(|slot| model.id(slot as u32)).collect()
}

/// A body of several shapes.
pub(super) fn of_colliders(mut body: BodyDef, colliders: Vec<Collider>) -> BodyDef {
    body.colliders = colliders;
    body
}

/// Adds up to `count` bodies with their centres in a box, turned at random, where they overlap nothing; those
/// that find no place are left out. Returns the ids.
pub(super) fn scatter(
    world: &mut World,
    draw: &mut Draw,
    [lo, hi]: [DVec3; 2],
    count: usize,
    mut make: impl FnMut(&mut Draw) -> Result<BodyDef, SceneError>,
) -> Result<Vec<BodyId>, SceneError> {
    let mut added = Vec::with_capacity(count);
    for _ in 0..count {
        let body = make(draw)?;
        let radius = body.colliders.iter().map(|c| c.local.position.length() + c.shape.bounding_radius());
        let radius = radius.fold(0.0, f64::max);
        let (lo, hi) = (lo + radius, hi - radius);
        if !lo.cmple(hi).all() {
            continue;
        }
        for _ in 0..TRIES {
            let (position, rotation) = (draw.point(lo, hi), draw.rotation());
            if is_free(world, &body, Pose::new(position, rotation)) {
                added.push(add(world, body.at(position).turned(rotation))?);
                break;
            }
        }
    }
    Ok(added)
}

/// Whether a body would overlap nothing there.
pub(super) fn is_free(world: &World, body: &BodyDef, pose: Pose) -> bool {
    body.colliders.iter().all(|c| world.overlaps(&c.shape, &pose.compose(&c.local)).is_empty())
}

/// The six walls around a box, each as thick as half of the longest side.
pub(super) fn walls([lo, hi]: [DVec3; 2], mu: f64) -> Vec<Collider> {
    let (middle, half) = (0.5 * (lo + hi), 0.5 * (hi - lo));
    let thick = 0.5 * half.max_element();
    let mut all = Vec::with_capacity(6);
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let mut extents = half + 2.0 * thick;
            extents[axis] = thick;
            let mut at = middle;
            at[axis] += side * (half[axis] + thick);
            let wall = Collider::new(Shape::cuboid(extents), mu);
            all.push(Collider { local: Pose::at(at), ..wall });
        }
    }
    all
}

/// The inside of a box as triangles, `n` by `n` squares a side, seen from inside.
pub(super) fn triangle_box([lo, hi]: [DVec3; 2], n: usize) -> Result<Shape, SceneError> {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for axis in 0..3 {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        for upper in [false, true] {
            let first = vertices.len() as u32;
            for i in 0..=n {
                for j in 0..=n {
                    let mut p = DVec3::ZERO;
                    p[axis] = if upper { hi[axis] } else { lo[axis] };
                    p[u] = lo[u] + (hi[u] - lo[u]) * i as f64 / n as f64;
                    p[v] = lo[v] + (hi[v] - lo[v]) * j as f64 / n as f64;
                    vertices.push(p);
                }
            }
            let at = |i: usize, j: usize| first + (i * (n + 1) + j) as u32;
            for i in 0..n {
                for j in 0..n {
                    let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
                    let squares = if upper { [[a, c, b], [a, d, c]] } else { [[a, b, c], [a, c, d]] };
                    triangles.extend(squares);
                }
            }
        }
    }
    // Vertices of the edges are there two or three times: the sides meet in them.
    let (mesh, _) = drystone::TriMesh::repaired(vertices, triangles).map_err(text)?;
    Ok(Shape::Mesh(mesh.into()))
}

/// A closed drum about the y axis: flat plates that touch the round wall from outside, and two ends.
pub(super) fn drum(radius: f64, depth: f64, thickness: f64, mu: f64) -> Vec<Collider> {
    // As wide as the polygon that their outer faces make.
    let width = (radius + thickness) * (PI / PLATES as f64).tan();
    let mut all: Vec<Collider> = (0..PLATES)
        .map(|k| {
            let turn = DQuat::from_rotation_y(TAU * k as f64 / PLATES as f64);
            let half = DVec3::new(width, 0.5 * depth + thickness, 0.5 * thickness);
            let local = Pose::new(turn * DVec3::Z * (radius + 0.5 * thickness), turn);
            Collider { local, ..Collider::new(Shape::cuboid(half), mu) }
        })
        .collect();
    for side in [-1.0, 1.0] {
        let half = DVec3::new(1.2 * radius, 0.5 * thickness, 1.2 * radius);
        let local = Pose::at(DVec3::Y * side * 0.5 * (depth + thickness));
        all.push(Collider { local, ..Collider::new(Shape::cuboid(half), mu) });
    }
    all
}
