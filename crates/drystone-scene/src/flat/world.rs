//! Flat states to scenes, and worlds to flat states.

use drystone::model::ColliderSlot;
use drystone::{
    BodyDef, Collider, Filter, MassProperties, Materials, Model, Motion, PairLaw, Pose, Settings, Shape,
    World,
};
use glam::{DMat3, DQuat, DVec3};

use super::{BodyShape, FlatBody, FlatState, FlatStatic, StaticShape};
use crate::probe::Support;
use crate::{Measurement, Scene, SceneError};
use drystone::body::principal_frame;

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
        let mut materials = Materials::default();
        let law = PairLaw { restitution: self.restitution, ..PairLaw::default() };
        materials.set_other(law).or_else(|e| refuse("restitution", e))?;
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
            materials,
            flow: Default::default(),
            fields: Vec::new(),
            name: self.name.clone(),
            title: format!("{} bodies from a flat state", self.bodies.len()),
            citation: None,
            settings: Settings { h: self.h, gravity: DVec3::from_array(self.gravity), ..Settings::default() },
            duration: self.duration,
            seed: 1,
            snaps: self.snaps.clone().unwrap_or_default(),
            bodies,
            joints: self.joints.iter().map(|j| j.definition()).collect(),
            controls: Vec::new(),
            glass: self.glass(),
            order: Vec::new(),
            record: Default::default(),
            probe: Measurement::of(Box::new(Support { on: !self.statics.is_empty() })),
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
            (BodyShape::Cylinder, Some(radius), _, Some(half_length)) => {
                Some(Shape::Cylinder { radius, half_length })
            }
            (BodyShape::Convex, ..) => {
                let points: Vec<DVec3> =
                    self.points.iter().flatten().map(|p| DVec3::from_array(*p)).collect();
                match Shape::hull(&points) {
                    Ok(hull) => Some(hull),
                    Err(e) => return refuse("points", e),
                }
            }
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
/// Read back, everything has the same bits, except that the angular velocity of a turned body (kept in body
/// axes, written in world axes) and a quaternion (normalised when a body is added) may differ by rounding.
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
        restitution: restitution(model)?,
        snaps: (!snaps.is_empty()).then(|| snaps.to_vec()),
        statics: Vec::new(),
        bodies: Vec::new(),
        joints: Vec::new(),
        bodies_per_vehicle: None,
    };
    if model.periodic.is_some() {
        return refuse("periodic", "a flat state has no space that repeats");
    }
    if !(state.emitted.is_empty() && state.sunk.is_empty()) {
        return refuse("emitters and sinks", "a flat state has none");
    }
    if !world.fields().is_empty() {
        return refuse("field", "a flat state has no force fields");
    }
    // The number of each dynamic body among the bodies of the state.
    let mut number = vec![-1; model.bodies.len()];
    for i in model.slots() {
        let body = &model.bodies[i];
        let cannot = |what: &str| -> SceneError {
            SceneError::new(format!("a flat state cannot hold {}: {what}", model.describe(i as u32)))
        };
        if body.planar.is_some() {
            return Err(cannot("it is locked to a plane"));
        }
        if body.charge != 0.0 {
            return Err(cannot("it has a charge"));
        }
        if colliders[i].iter().any(|&k| model.colliders[k].filter != Filter::default()) {
            return Err(cannot("it has layers or a mask of its own"));
        }
        if body.motion == Motion::Dynamic {
            let (mut flat_body, turned) = match colliders[i].as_slice() {
                [] => (bare(BodyShape::None), None),
                &[k] => {
                    let c = &model.colliders[k];
                    of_shape(&c.shape, &c.place(), &body.mass.inertia).map_err(|e| cannot(&e))?
                }
                several => return Err(cannot(&format!("it has {} shapes, one is allowed", several.len()))),
            };
            let q = match turned {
                Some(turn) => state.rotation[i] * turn,
                None => {
                    flat_body.inertia = principal(&body.mass.inertia)
                        .ok_or_else(|| cannot("its inertia is not principal"))?;
                    state.rotation[i]
                }
            };
            flat_body.m = body.mass.mass;
            flat_body.pos = state.position[i].to_array();
            flat_body.quat = [q.w, q.x, q.y, q.z];
            flat_body.vel = state.velocity[i].to_array();
            flat_body.omega = state.world_omega(i).to_array();
            flat_body.group = body.group;
            number[i] = flat.bodies.len() as i64;
            flat.bodies.push(flat_body);
            continue;
        }
        if body.motion == Motion::Kinematic
            && (body.guide.is_some() || (state.velocity[i], state.omega[i]) != (DVec3::ZERO, DVec3::ZERO))
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
    for j in model.joint_slots() {
        let flat_joint = super::joint::of_joint(world, j, |body| number[body as usize]).map_err(|e| {
            SceneError::new(format!("a flat state cannot hold the {}: {e}", model.describe_joint(j as u32)))
        })?;
        flat.joints.push(flat_joint);
    }
    Ok(flat)
}

/// The one coefficient of restitution, or what else there is that the format has no word for.
fn restitution(model: &Model) -> Result<f64, SceneError> {
    let other = model.materials.other();
    let known = PairLaw { restitution: other.restitution, ..PairLaw::default() };
    if *other != known {
        return refuse("materials", "a flat state has friction and restitution (newton) and no other law");
    }
    let rows = model.materials.pairs().iter();
    for (_, law) in rows {
        let plain = PairLaw { restitution: other.restitution, ..PairLaw::friction(law.mu) };
        if *law != plain {
            return refuse("materials", "a flat state has one restitution for all pairs and no other law");
        }
    }
    if let Some(c) = model.colliders.iter().find(|c| c.surface_velocity.is_some()) {
        let body = model.describe(c.body);
        return refuse("surface_velocity", format!("a flat state cannot hold {body}: its surface is a belt"));
    }
    if let Some(k) = (0..model.colliders.len()).find(|k| model.is_sensor(*k as u32)) {
        let body = model.describe(model.colliders[k].body);
        return refuse("shape", format!("a flat state cannot hold {body}: it has a sensor"));
    }
    Ok(other.restitution)
}

/// The one coefficient of friction, or which bodies differ.
fn friction(model: &Model) -> Result<f64, SceneError> {
    let used = || model.colliders.iter().filter(|c| model.id(c.body).is_some());
    let Some(first) = used().next() else { return Ok(0.0) };
    let of = |a: &ColliderSlot, b: &ColliderSlot| model.materials.mu((a.mu, a.material), (b.mu, b.material));
    let one = of(first, first);
    if let Some(other) = used().find(|c| c.mu != first.mu) {
        return refuse(
            "mu",
            format!(
                "a flat state has one coefficient of friction, but {} has {} and {} has {}",
                model.describe(first.body),
                first.mu,
                model.describe(other.body),
                other.mu
            ),
        );
    }
    // Bodies agree; pairs of materials may not. A collider of each material stands for all of it.
    let mut kinds: Vec<&ColliderSlot> = used().collect();
    kinds.sort_by_key(|c| c.material);
    kinds.dedup_by_key(|c| c.material);
    for (k, a) in kinds.iter().enumerate() {
        if let Some(b) = kinds[k..].iter().find(|b| of(a, b) != one) {
            return refuse(
                "mu",
                format!(
                    "a flat state has one coefficient of friction, but there are {one} and, between {} and {}, {}",
                    model.describe(a.body),
                    model.describe(b.body),
                    of(a, b)
                ),
            );
        }
    }
    Ok(one)
}

/// A body with a shape and nothing else yet.
fn bare(shape: BodyShape) -> FlatBody {
    FlatBody {
        shape,
        r: None,
        half: None,
        half_length: None,
        points: None,
        m: 1.0,
        inertia: [1.0; 3],
        pos: [0.0; 3],
        quat: [1.0, 0.0, 0.0, 0.0],
        vel: [0.0; 3],
        omega: [0.0; 3],
        group: 0,
    }
}

/// Shape and dimensions of a dynamic body; `local` is relative to its centre of mass. Points can be given in
/// any frame, so that a hull is always possible: then also the rotation from the principal frame to the
/// body's, unless they agree, and the moments in it.
fn of_shape(shape: &Shape, local: &Pose, inertia: &DMat3) -> Result<(FlatBody, Option<DQuat>), String> {
    if let Shape::Hull(hull) = shape {
        let mut body = bare(BodyShape::Convex);
        let (mut place, mut turned) = (*local, None);
        if principal(inertia).is_none() {
            let (moments, frame) = principal_frame(inertia);
            let turn = DQuat::from_mat3(&frame).normalize();
            let back = turn.conjugate();
            place = Pose::new(back * local.position, back * local.rotation);
            turned = Some(turn);
            body.inertia = moments.to_array();
        }
        let point = |v: &DVec3| if place == Pose::IDENTITY { *v } else { place.point(*v) };
        body.points = Some(hull.vertices().iter().map(|v| point(v).to_array()).collect());
        return Ok((body, turned));
    }
    let (kind, r, half, half_length) = match *shape {
        Shape::Sphere { radius } => (BodyShape::Sphere, Some(radius), None, None),
        Shape::Box { half } => (BodyShape::Box, None, Some(half.to_array()), None),
        Shape::Capsule { radius, half_length } => (BodyShape::Capsule, Some(radius), None, Some(half_length)),
        Shape::Cylinder { radius, half_length } => {
            (BodyShape::Cylinder, Some(radius), None, Some(half_length))
        }
        ref other => return Err(format!("flat states have no {}", spoken(other))),
    };
    if local.position != DVec3::ZERO {
        return Err("its centre of mass is not the centre of its shape".into());
    }
    if kind != BodyShape::Sphere && local.rotation != DQuat::IDENTITY {
        return Err("its shape is turned in the body's frame".into());
    }
    Ok((FlatBody { r, half, half_length, ..bare(kind) }, None))
}

/// The name of a shape in a sentence.
fn spoken(shape: &Shape) -> String {
    match shape {
        Shape::Rounded { core, .. } => format!("rounded {}", core.name()),
        other => other.name().replace('_', " "),
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
        other => Err(format!("a static body must be a box or a plane, not a {}", spoken(other))),
    }
}
