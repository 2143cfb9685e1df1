//! Flat states to scenes, and worlds to flat states.

use drystone::{BodyDef, Collider, MassProperties, Model, Motion, Pose, Settings, Shape, World};
use glam::{DMat3, DQuat, DVec3};

use super::{BodyShape, FlatBody, FlatState, FlatStatic, StaticShape};
use crate::probe::Support;
use crate::{Scene, SceneError};

fn refuse<T>(field: impl Into<String>, message: impl Into<String>) -> Result<T, SceneError> {
    Err(SceneError { field: Some(field.into()), ..SceneError::new(message) })
}

fn rotation(quat: &[f64; 4]) -> DQuat {
    let q = DQuat::from_xyzw(quat[1], quat[2], quat[3], quat[0]);
    // Left alone when it is as good as unit, so that what was written comes back bit for bit.
    if (q.length_squared() - 1.0).abs() < 1e-15 { q } else { q.normalize() }
}

impl FlatState {
    /// The scene, as far as the engine can run it: refuses, by name, what it cannot.
    pub fn scene(&self) -> Result<Scene, SceneError> {
        self.check()?;
        if self.restitution != 0.0 {
            return refuse(
                "restitution",
                format!("restitution is not supported yet: only 0, got {}", self.restitution),
            );
        }
        if !self.joints.is_empty() {
            return refuse(
                "joints",
                format!("joints are not supported yet: only [], got {}", self.joints.len()),
            );
        }
        let mut bodies = Vec::with_capacity(self.bodies.len() + self.statics.len());
        for (i, body) in self.bodies.iter().enumerate() {
            bodies.push(body.definition(self.mu).map_err(|e| SceneError {
                field: e.field.map(|f| format!("bodies[{i}].{f}")),
                message: e.message,
                ..e
            })?);
        }
        bodies.extend(self.statics.iter().map(|wall| wall.definition(self.mu)));
        Ok(Scene {
            name: self.name.clone(),
            title: format!("{} bodies from a flat state", self.bodies.len()),
            citation: None,
            settings: Settings { h: self.h, gravity: DVec3::from_array(self.gravity), ..Settings::default() },
            duration: self.duration,
            seed: 1,
            snaps: self.snaps.clone().unwrap_or_default(),
            bodies,
            glass: self.glass(),
            probe: Box::new(Support { on: !self.statics.is_empty() }),
        })
    }

    /// Boxes that stand upright around the bodies hide them.
    fn glass(&self) -> Vec<usize> {
        let wall = |s: &FlatStatic| {
            s.shape == StaticShape::Box && s.half.is_some_and(|half| half[2] > half[0].min(half[1]))
        };
        (0..self.statics.len()).filter(|&k| wall(&self.statics[k])).map(|k| self.bodies.len() + k).collect()
    }
}

impl FlatBody {
    fn definition(&self, mu: f64) -> Result<BodyDef, SceneError> {
        let shape = match (self.shape, self.r, self.half, self.half_length) {
            (BodyShape::Sphere, Some(radius), ..) => Some(Shape::Sphere { radius }),
            (BodyShape::Box, _, Some(half), _) => Some(Shape::Box { half: DVec3::from_array(half) }),
            (BodyShape::Capsule, Some(radius), _, Some(half_length)) => {
                Some(Shape::Capsule { radius, half_length })
            }
            (BodyShape::Cylinder, ..) => return refuse("shape", "cylinders are not supported yet"),
            (BodyShape::Convex, ..) => return refuse("shape", "convex hulls are not supported yet"),
            _ => None,
        };
        let mut def = BodyDef::bare(MassProperties::principal(self.m, DVec3::from_array(self.inertia)))
            .at(DVec3::from_array(self.pos))
            .turned(rotation(&self.quat))
            .moving(DVec3::from_array(self.vel), DVec3::from_array(self.omega));
        def.colliders.extend(shape.map(|s| Collider::new(s, mu)));
        def.group = self.group;
        Ok(def)
    }
}

impl FlatStatic {
    fn definition(&self, mu: f64) -> BodyDef {
        let shape = match (self.shape, self.half) {
            (StaticShape::Box, Some(half)) => Shape::Box { half: DVec3::from_array(half) },
            _ => Shape::HalfSpace,
        };
        let turn = self.quat.as_ref().map_or(DQuat::IDENTITY, rotation);
        let turn = if shape == Shape::HalfSpace { DQuat::IDENTITY } else { turn };
        BodyDef::fixed(shape).at(DVec3::from_array(self.pos)).turned(turn).friction(mu)
    }
}

/// Writes a world down as it is now; refuses, naming the body, what the format cannot express.
///
/// Read back, everything has the same bits, except that the angular velocity of a turned body (kept in body axes,
/// written in world axes) and a quaternion (normalised when a body is added) may differ by rounding.
pub fn of_world(world: &World, name: &str, duration: f64, snaps: &[f64]) -> Result<FlatState, SceneError> {
    let (model, state, settings) = (world.model(), world.state(), world.settings());
    let mut colliders: Vec<Vec<usize>> = vec![Vec::new(); model.bodies.len()];
    for (k, c) in model.colliders.iter().enumerate() {
        if let Some(mine) = colliders.get_mut(c.body as usize) {
            mine.push(k);
        }
    }
    let mut flat = FlatState {
        name: name.into(),
        h: settings.h,
        duration,
        gravity: settings.gravity.to_array(),
        mu: friction(model)?,
        restitution: 0.0,
        snaps: (!snaps.is_empty()).then(|| snaps.to_vec()),
        statics: Vec::new(),
        bodies: Vec::new(),
        joints: Vec::new(),
        bodies_per_vehicle: None,
    };
    for i in model.slots() {
        let body = &model.bodies[i];
        let cannot = |what: &str| -> SceneError {
            SceneError::new(format!("a flat state cannot hold {}: {what}", model.describe(i as u32)))
        };
        if body.motion == Motion::Dynamic {
            let (shape, r, half, half_length) = match colliders[i].as_slice() {
                [] => (BodyShape::None, None, None, None),
                &[k] => {
                    let c = &model.colliders[k];
                    if c.local.position != DVec3::ZERO {
                        return Err(cannot("its centre of mass is not the centre of its shape"));
                    }
                    let round = matches!(c.shape, Shape::Sphere { .. });
                    if !round && c.local.rotation != DQuat::IDENTITY {
                        return Err(cannot("its shape is turned in the body's frame"));
                    }
                    match c.shape {
                        Shape::Sphere { radius } => (BodyShape::Sphere, Some(radius), None, None),
                        Shape::Box { half } => (BodyShape::Box, None, Some(half.to_array()), None),
                        Shape::Capsule { radius, half_length } => {
                            (BodyShape::Capsule, Some(radius), None, Some(half_length))
                        }
                        Shape::HalfSpace => return Err(cannot("a half-space cannot move")),
                        _ => return Err(cannot(&format!("its shape is a {}", c.shape.name()))),
                    }
                }
                several => return Err(cannot(&format!("it has {} shapes, one is allowed", several.len()))),
            };
            let q = state.rotation[i];
            flat.bodies.push(FlatBody {
                shape,
                r,
                half,
                half_length,
                points: None,
                m: body.mass.mass,
                inertia: principal(&body.mass.inertia)
                    .ok_or_else(|| cannot("its inertia is not principal"))?,
                pos: state.position[i].to_array(),
                quat: [q.w, q.x, q.y, q.z],
                vel: state.velocity[i].to_array(),
                omega: state.world_omega(i).to_array(),
                group: body.group,
            });
            continue;
        }
        if body.motion == Motion::Kinematic
            && (state.velocity[i], state.omega[i]) != (DVec3::ZERO, DVec3::ZERO)
        {
            return Err(cannot("it is kinematic and moves"));
        }
        if body.group != 0 {
            return Err(cannot("a static body cannot have a group"));
        }
        for &k in &colliders[i] {
            let Some(pose) = model.collider_pose(state, k) else { continue };
            flat.statics.push(wall(&model.colliders[k].shape, &pose).map_err(|e| cannot(&e))?);
        }
    }
    Ok(flat)
}

/// The one coefficient of friction, or which bodies differ.
fn friction(model: &Model) -> Result<f64, SceneError> {
    let mut used = model.colliders.iter().filter(|c| model.id(c.body).is_some());
    let Some(first) = used.next() else { return Ok(0.0) };
    match used.find(|c| c.mu != first.mu) {
        None => Ok(first.mu),
        Some(other) => refuse(
            "mu",
            format!(
                "a flat state has one coefficient of friction, but {} has {} and {} has {}",
                model.describe(first.body),
                first.mu,
                model.describe(other.body),
                other.mu
            ),
        ),
    }
}

fn principal(inertia: &DMat3) -> Option<[f64; 3]> {
    let d = inertia.to_cols_array_2d();
    let diagonal = [d[0][0], d[1][1], d[2][2]];
    (*inertia == DMat3::from_diagonal(DVec3::from_array(diagonal))).then_some(diagonal)
}

fn wall(shape: &Shape, pose: &Pose) -> Result<FlatStatic, String> {
    let q = pose.rotation;
    let pos = pose.position.to_array();
    match shape {
        Shape::Box { half } => {
            let quat = (q != DQuat::IDENTITY).then_some([q.w, q.x, q.y, q.z]);
            Ok(FlatStatic { shape: StaticShape::Box, half: Some(half.to_array()), pos, quat })
        }
        Shape::HalfSpace if q * DVec3::Z == DVec3::Z => {
            Ok(FlatStatic { shape: StaticShape::Plane, half: None, pos, quat: None })
        }
        Shape::HalfSpace => Err(format!("a plane must have the normal +z, this one has {}", q * DVec3::Z)),
        other => Err(format!("a static body must be a box or a plane, not a {}", other.name())),
    }
}
