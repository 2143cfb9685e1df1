//! Worlds of grains: balls that move, and shapes that do not, or are led. Such a world can take its steps
//! elsewhere, on a device, and come back.

use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;

use crate::body::{Filter, Motion};
use crate::contact::{self, Contact, ContactKey};
use crate::material::MaterialId;
use crate::model::{ColliderSlot, Model, NOBODY};
use crate::motion::{is_ball, rotate};
use crate::settings::{Integrator, Stabilisation};
use crate::shape::{Pose, Shape};
use crate::world::World;

/// A ball that moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grain {
    /// Its body.
    pub slot: u32,
    /// Its collider.
    pub collider: u32,
    /// m
    pub radius: f64,
    /// kg
    pub mass: f64,
    /// About any axis, kg m².
    pub inertia: f64,
    /// Its row of [`Grains::mu`].
    pub surface: usize,
}

/// A shape that does not move, or is led.
#[derive(Clone, Debug)]
pub struct FixedShape {
    /// Its body.
    pub slot: u32,
    /// Its collider.
    pub collider: u32,
    /// Geometry: a sphere, a half space, a box or a capsule.
    pub shape: Shape,
    /// In the world.
    pub pose: Pose,
    /// Its row of [`Grains::mu`].
    pub surface: usize,
}

/// What a world of grains consists of.
#[derive(Clone, Debug, Default)]
pub struct Grains {
    /// In the order of the curve that bodies are worked on in, where they are many.
    pub grains: Vec<Grain>,
    /// In the order of their colliders.
    pub fixed: Vec<FixedShape>,
    /// Friction of pairs of surfaces, row by row.
    pub mu: Vec<f64>,
    /// Surfaces.
    pub surfaces: usize,
    /// See [`World::grains_changed`].
    pub revision: u64,
}

/// A ball, a box or a capsule that moves, about the centre of its body.
#[derive(Clone, Debug)]
pub struct Solid {
    /// Its body.
    pub slot: u32,
    /// Its collider.
    pub collider: u32,
    /// A sphere, a box or a capsule.
    pub shape: Shape,
    /// kg
    pub mass: f64,
    /// Body axes, kg m².
    pub inertia: DMat3,
    /// Its inverse, as the engine uses it.
    pub inv_inertia: DMat3,
    /// Its row of [`Solids::mu`].
    pub surface: usize,
}

/// What a world of balls, boxes and capsules consists of.
#[derive(Clone, Debug, Default)]
pub struct Solids {
    /// In the order of the curve that bodies are worked on in, where they are many.
    pub solids: Vec<Solid>,
    /// Spheres, half spaces, boxes and capsules that stay where they are, in the order of their colliders.
    pub fixed: Vec<FixedShape>,
    /// Friction of pairs of surfaces, row by row.
    pub mu: Vec<f64>,
    /// Surfaces.
    pub surfaces: usize,
    /// See [`World::has_changed`].
    pub revision: u64,
}

/// A contact of a step that was taken elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrainContact {
    /// The colliders of the first, which is a grain's, and the second.
    pub colliders: [u32; 2],
    /// From the second to the first.
    pub normal: DVec3,
    /// m
    pub gap: f64,
    /// Half-way between the surfaces, m.
    pub point: DVec3,
    /// On the first, N s.
    pub impulse: DVec3,
    /// Which features touch, as the narrow phase names them.
    pub feature: u32,
}

/// Where a grain came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrainMotion {
    /// Its body.
    pub slot: u32,
    /// m
    pub position: DVec3,
    /// Body to world.
    pub rotation: DQuat,
    /// m/s
    pub velocity: DVec3,
    /// World axes, rad/s.
    pub omega: DVec3,
}

/// Share of the smaller body that a step may make two bodies overlap by: where they do by more, it is taken
/// in substeps.
pub const RESOLVED: f64 = crate::step::RESOLVED_OVERLAP;

/// Turns of bodies that are led, rad in a step, beyond which their contacts are bent.
pub const TURN: f64 = crate::integrate::foretell::MIN_TURN;

/// What an arc may be off its tangent, over the smaller inner radius, in a step that is taken as one.
pub const ARC: f64 = crate::step::RESOLVED_ARC;

/// Kinds of surfaces that are told apart, at most.
const MOST_SURFACES: usize = 256;

/// What may move in a world.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moving {
    Balls,
    Solids,
}

impl Moving {
    /// What is none of it.
    fn others(self) -> &'static str {
        match self {
            Self::Balls => "bodies that are not balls",
            Self::Solids => "bodies other than balls, boxes and capsules",
        }
    }
}

/// Kinds of surfaces.
#[derive(Default)]
struct Surfaces(Vec<(f64, Option<MaterialId>)>);

impl Surfaces {
    /// The row of a collider's.
    fn of(&mut self, c: &ColliderSlot) -> Result<usize, String> {
        let own = (c.mu, c.material);
        if let Some(known) = self.0.iter().position(|s| *s == own) {
            return Ok(known);
        }
        if self.0.len() == MOST_SURFACES {
            return Err(format!("more than {MOST_SURFACES} kinds of surfaces"));
        }
        self.0.push(own);
        Ok(self.0.len() - 1)
    }

    /// Friction of all pairs, row by row.
    fn mu(&self, model: &Model) -> Vec<f64> {
        let pairs = self.0.iter().flat_map(|a| self.0.iter().map(move |b| (*a, *b)));
        pairs.map(|(a, b)| model.materials.mu(a, b)).collect()
    }
}

impl World {
    /// The world as one of grains; an error says what it has beside them.
    #[doc(hidden)]
    pub fn grains(&mut self) -> Result<Grains, String> {
        self.check_grains(Moving::Balls)?;
        self.state.sort(&self.model);
        let (model, state) = (&self.model, &self.state);
        let mut surfaces = Surfaces::default();
        let mut out = Grains { revision: model.revision(), ..Grains::default() };
        for (k, c) in model.colliders.iter().enumerate().filter(|(_, c)| c.body != NOBODY) {
            let (slot, collider, surface) = (c.body, k as u32, surfaces.of(c)?);
            let body = &model.bodies[slot as usize];
            match (&c.shape, body.motion) {
                (Shape::Sphere { radius }, Motion::Dynamic) => out.grains.push(Grain {
                    slot,
                    collider,
                    radius: *radius,
                    mass: body.mass.mass,
                    inertia: body.mass.inertia.x_axis.x,
                    surface,
                }),
                (shape, _) => {
                    let pose = model.collider_pose(state, k).unwrap_or(Pose::IDENTITY);
                    out.fixed.push(FixedShape { slot, collider, shape: shape.clone(), pose, surface });
                }
            }
        }
        out.grains.sort_by_key(|g| state.order.rank(g.slot));
        (out.mu, out.surfaces) = (surfaces.mu(model), surfaces.0.len());
        Ok(out)
    }

    /// The world as one of balls, boxes and capsules; an error says what it has beside them.
    #[doc(hidden)]
    pub fn solids(&mut self) -> Result<Solids, String> {
        self.check_grains(Moving::Solids)?;
        self.state.sort(&self.model);
        let (model, state) = (&self.model, &self.state);
        let mut surfaces = Surfaces::default();
        let mut out = Solids { revision: model.revision(), ..Solids::default() };
        for (k, c) in model.colliders.iter().enumerate().filter(|(_, c)| c.body != NOBODY) {
            let (slot, collider, surface) = (c.body, k as u32, surfaces.of(c)?);
            let body = &model.bodies[slot as usize];
            let shape = c.shape.clone();
            if body.motion == Motion::Dynamic {
                let (mass, inertia, inv_inertia) = (body.mass.mass, body.mass.inertia, *body.inv_inertia);
                out.solids.push(Solid { slot, collider, shape, mass, inertia, inv_inertia, surface });
            } else {
                let pose = model.collider_pose(state, k).unwrap_or(Pose::IDENTITY);
                out.fixed.push(FixedShape { slot, collider, shape, pose, surface });
            }
        }
        out.solids.sort_by_key(|g| state.order.rank(g.slot));
        (out.mu, out.surfaces) = (surfaces.mu(model), surfaces.0.len());
        Ok(out)
    }

    /// Whether bodies or shapes were added, removed or changed since.
    #[doc(hidden)]
    pub fn grains_changed(&self, since: &Grains) -> bool {
        self.has_changed(since.revision)
    }

    /// The same since a revision of the world's.
    #[doc(hidden)]
    pub fn has_changed(&self, revision: u64) -> bool {
        revision == 0 || revision != self.model.revision()
    }

    /// What keeps a world from being one of grains, or of solids.
    fn check_grains(&self, moving: Moving) -> Result<(), String> {
        let (model, s) = (&self.model, &self.settings);
        let refuse = |what: &str| Err(what.to_string());
        match () {
            () if model.joint_slots().next().is_some() => return refuse("joints"),
            () if !self.fields.is_empty() => return refuse("force fields"),
            () if !self.stiff.is_empty() => return refuse("stiff forces"),
            () if !self.flow.emitters.is_empty() || !self.flow.sinks.is_empty() => {
                return refuse("emitters or sinks");
            }
            () if self.has_hooks() => return refuse("functions of the user's in the step"),
            () if !model.materials.is_plain() => return refuse("contact laws beside friction"),
            () if !model.sensors.is_empty() => return refuse("sensors"),
            () if self.events.on => return refuse("events of contacts"),
            () if !model.apart.is_empty() => return refuse("pairs that do not collide"),
            () if model.periodic.is_some() => return refuse("a periodic box"),
            () if s.bounds.is_some() => return refuse("bounds"),
            () if s.sleep.is_some() => return refuse("sleep"),
            () if s.substeps > 1 => return refuse("steps in parts"),
            () if s.iterations == 0 => return refuse("position-based steps"),
            () if s.budget.is_some() => return refuse("a budget of time"),
            () if s.model != drystone_solve::FrictionLaw::Ccp => return refuse("the exact friction law"),
            () if matches!(s.integrator, Integrator::Moreau { .. }) => {
                return refuse("the integrator moreau");
            }
            () if !matches!(s.stabilisation, Stabilisation::Post { .. }) => {
                return refuse("stabilisation inside the velocity problem");
            }
            () => {}
        }
        let mut shapes = vec![0usize; model.bodies.len()];
        for c in model.colliders.iter().filter(|c| c.body != NOBODY) {
            shapes[c.body as usize] += 1;
            let body = &model.bodies[c.body as usize];
            let ball = matches!(c.shape, Shape::Sphere { .. }) && is_ball(&body.mass.inertia);
            let boxes = moving == Moving::Solids;
            let known = matches!(
                c.shape,
                Shape::Sphere { .. } | Shape::HalfSpace | Shape::Box { .. } | Shape::Capsule { .. }
            );
            let solid = boxes && known && c.shape != Shape::HalfSpace;
            let what = match body.motion {
                _ if c.filter != Filter::default() || body.group != 0 => "collision filters or groups",
                _ if c.surface_velocity.is_some() => "belts",
                Motion::Dynamic if !(ball || solid) || c.local.is_some() => moving.others(),
                Motion::Dynamic if body.planar.is_some() => "bodies in a plane",
                Motion::Dynamic if body.charge != 0.0 => "charges",
                Motion::Kinematic if boxes => "bodies that are led, beside boxes or capsules",
                _ if body.motion != Motion::Dynamic && !known => {
                    "fixed shapes other than balls, planes, boxes and capsules"
                }
                _ => continue,
            };
            return refuse(what);
        }
        let alone = |b: usize| model.bodies[b].motion != Motion::Dynamic || shapes[b] == 1;
        if !(0..shapes.len()).filter(|b| model.bodies[*b].alive).all(alone) {
            return refuse("bodies of several shapes, or of none");
        }
        let forces = [&self.state.force, &self.state.torque];
        if forces.into_iter().flatten().any(|f| *f != DVec3::ZERO) {
            return refuse("applied forces");
        }
        Ok(())
    }

    /// Bodies that are led, where they are.
    #[doc(hidden)]
    pub fn led(&self) -> Vec<GrainMotion> {
        let led = self.model.slots().filter(|i| self.model.bodies[*i].motion == Motion::Kinematic);
        let now = |i: usize| {
            let s = &self.state;
            let (position, rotation, velocity) = (s.position[i], s.rotation[i], s.velocity[i]);
            GrainMotion { slot: i as u32, position, rotation, velocity, omega: s.world_omega(i) }
        };
        led.map(now).collect()
    }

    /// Where a body that is led comes to in the step that begins at `time`, and the velocities that take it
    /// there.
    #[doc(hidden)]
    pub fn lead(&self, from: &GrainMotion, time: f64) -> GrainMotion {
        let h = self.settings.h;
        let GrainMotion { slot, position, rotation, .. } = *from;
        let (velocity, omega) = match &self.model.bodies[slot as usize].guide {
            Some(guided) => guided.velocity(position, rotation, time + h, h),
            None => (from.velocity, from.omega),
        };
        let own = rotation.conjugate() * omega;
        let turned = if own == DVec3::ZERO { rotation } else { rotate(rotation, own, h) };
        GrainMotion { slot, position: position + h * velocity, rotation: turned, velocity, omega }
    }

    /// Takes over what grains came to elsewhere, `steps` steps later. Contacts and their impulses are those
    /// of the last of them.
    #[doc(hidden)]
    pub fn take_grains(&mut self, steps: u64, moved: &[GrainMotion], contacts: &[GrainContact]) {
        let Self { model, state, settings, work, .. } = self;
        for g in moved {
            let i = g.slot as usize;
            state.position[i] = g.position;
            state.rotation[i] = g.rotation;
            state.velocity[i] = g.velocity;
            state.omega[i] = g.rotation.conjugate() * g.omega;
        }
        for _ in 0..steps {
            state.time += settings.h;
        }
        state.step += steps;
        let one = |c: &GrainContact| {
            let turned = {
                let [a, b] = c.colliders.map(|k| &model.bodies[model.colliders[k as usize].body as usize]);
                a.inv_mass > 0.0 && b.inv_mass > 0.0 && c.colliders[1] < c.colliders[0]
            };
            let sign = if turned { -1.0 } else { 1.0 };
            let [a, b] = if turned { [c.colliders[1], c.colliders[0]] } else { c.colliders };
            let slots = [a, b].map(|k| &model.colliders[k as usize]);
            let mu = model.materials.mu((slots[0].mu, slots[0].material), (slots[1].mu, slots[1].material));
            Contact {
                key: ContactKey::new([a.min(b), a.max(b)], [0, 0], c.feature),
                bodies: slots.map(|c| c.body),
                point: c.point,
                normal: sign * c.normal,
                gap: c.gap,
                mu,
                impulse: sign * c.impulse,
            }
        };
        let to = &mut work.collision.contacts;
        contacts.par_iter().map(one).collect_into_vec(to);
        state.sort(model);
        // They come in the order of their grains, which mostly is that of the bodies.
        let place = |c: &Contact| (state.order.place(model, c.key.colliders), c.key.feature);
        if !to.par_windows(2).all(|pair| place(&pair[0]) <= place(&pair[1])) {
            to.par_sort_unstable_by_key(place);
        }
        contact::keep(to, &mut state.multipliers);
    }
}
