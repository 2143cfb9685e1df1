//! A world: bodies, their motion, and how to step them.

pub(crate) mod colliders;
mod diagnostics;
mod emitters;
mod events;
mod fields;
mod joints;
mod limits;
mod queries;
mod restore;
mod sleep;
pub(crate) mod step;
pub(crate) mod step_hooks;
mod stiff;
mod touching;
mod user_data;

use drystone_solve::Problem;
use drystone_solve::bound::{SharpBound, velocity_error};
use drystone_solve::solver::{self, Solver};
use glam::{DQuat, DVec3};

use crate::body::{BodyDef, Motion, STANDS};
use crate::bounds::Leaving;
use crate::collide::query::{self, RayHit};
use crate::collide::{Detector, Envelope};
use crate::contact::Contact;
use crate::emitter::Flow;
pub use crate::error::WorldError;
use crate::events::Events;
use crate::field::Field;
use crate::hooks::Hooks;
use crate::kept::Kept;
use crate::limits::{FASTEST, within};
use crate::material::Materials;
use crate::model::{BodyId, Model, NOBODY};
use crate::prescribed_motion::{Guide, Guided};
use crate::queries::{Places, QueryFilter};
use crate::report::{StepError, StepReport};
use crate::settings::Settings;
use crate::shape::{Pose, Shape};
use crate::state::State;
use crate::stiff::force::StiffForce;
use crate::touching::Accelerations;
use crate::user_data::UserData;
use crate::workspace::Workspace;
use step_hooks::StepHooks;

/// Bodies, contacts and time.
///
/// ```
/// use drystone::{BodyDef, Settings, Shape, World};
/// use glam::DVec3;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut world = World::new(Settings::default())?;
/// world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4))?;
/// let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).at(DVec3::new(0.0, 0.0, 2.0)).friction(0.4);
/// let ball = world.add_body(ball)?;
/// for _ in 0..200 {
///     world.step()?;
/// }
/// assert!((world.position(ball)?.z - 0.5).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
pub struct World {
    pub(crate) settings: Settings,
    pub(crate) model: Model,
    pub(crate) state: State,
    pub(crate) flow: Flow,
    pub(crate) fields: Vec<Field>,
    pub(crate) stiff: Vec<StiffForce>,
    /// The state before a step in parts.
    pub(crate) whole: State,
    /// Whether joints were added that no step has seen.
    pub(crate) loose: bool,
    pub(crate) hooks: Hooks,
    pub(crate) step_hooks: StepHooks,
    pub(crate) events: Events,
    pub(crate) accelerations: Accelerations,
    pub(crate) places: Places,
    pub(crate) user_data: UserData,
    pub(crate) work: Box<Workspace>,
}

impl World {
    /// An empty world.
    pub fn new(settings: Settings) -> Result<Self, WorldError> {
        Self::with_seed(settings, 1)
    }

    /// An empty world whose random generator starts from `seed`.
    pub fn with_seed(settings: Settings, seed: u64) -> Result<Self, WorldError> {
        let solver = make_solver(&settings)?;
        let mut model = Model::default();
        model.periodic = settings.periodic;
        Ok(Self {
            work: Box::new(Workspace::new(&settings, solver)),
            settings,
            model,
            state: State::new(seed),
            flow: Flow::default(),
            fields: Vec::new(),
            stiff: Vec::new(),
            whole: State::new(seed),
            loose: false,
            hooks: Hooks::default(),
            step_hooks: StepHooks::default(),
            events: Events::default(),
            accelerations: Accelerations::default(),
            places: Places::default(),
            user_data: UserData::default(),
        })
    }

    /// How it steps.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Changes how it steps, from the next step on.
    pub fn set_settings(&mut self, settings: Settings) -> Result<(), WorldError> {
        let solver = make_solver(&settings)?;
        self.fields_fit(settings.periodic.as_ref())?;
        if let Some(p) = &settings.periodic {
            if self.model.joint_slots().next().is_some() {
                return Err(WorldError::Settings("joints do not work in a periodic world yet".into()));
            }
            for c in self
                .model
                .colliders
                .iter()
                .filter(|c| self.model.bodies.get(c.body as usize).is_some_and(|b| b.inv_mass > 0.0))
            {
                p.fits(c.radius).map_err(WorldError::Settings)?;
            }
        }
        self.work.velocity.solver = solver;
        self.model.periodic = settings.periodic;
        if settings.broadphase != self.settings.broadphase {
            self.work.collision.detector = Detector::new(settings.broadphase);
        }
        self.settings = settings;
        self.wake_all();
        Ok(())
    }

    /// The bodies and shapes.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The distance at which contacts exist before touching, at rest: see [`Settings::envelope`].
    #[doc(hidden)]
    pub fn envelope(&self) -> Envelope<'static> {
        crate::setup::envelope(&self.settings)
    }

    /// The same for the smallest body, m.
    #[doc(hidden)]
    pub fn least_envelope(&self) -> f64 {
        self.envelope().of_pair(self.model.facts().smallest, [0; 2])
    }

    /// The complete state: with the model and the settings it decides all that follows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Makes room for so many more bodies of one shape each: worth it before adding many.
    pub fn reserve(&mut self, bodies: usize) {
        self.model.reserve(bodies);
        self.state.reserve(bodies);
    }

    /// Adds a body, before or between steps.
    pub fn add_body(&mut self, def: BodyDef) -> Result<BodyId, WorldError> {
        def.check().map_err(WorldError::Body)?;
        for (k, c) in def.colliders.iter().enumerate() {
            self.collider_fits(c, def.motion, def.mass.centre)
                .map_err(|e| WorldError::Body(format!("collider {k}: {e}")))?;
        }
        if def.motion != Motion::Dynamic {
            self.wake_all(); // It may touch anybody.
        }
        let id = self.model.add(&mut self.state, def);
        if let Some(guided) = &self.model.bodies[id.slot as usize].guide {
            // Where the functions say, from the start.
            let (x, q) = guided.pose(self.state.time);
            (self.state.position[id.slot as usize], self.state.rotation[id.slot as usize]) = (x, q);
        }
        self.state.wrap(&self.model, id.slot as usize);
        Ok(id)
    }

    /// Lets a kinematic body follow functions of time from where it is now, or, with None, go on with its own
    /// velocity.
    pub fn set_guide(&mut self, id: BodyId, guide: Option<Guide>) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        if self.model.bodies[i].motion != Motion::Kinematic {
            let body = self.model.describe(id.slot);
            return Err(WorldError::Body(format!("{body}: only a kinematic body can be guided")));
        }
        if let Some(guide) = &guide {
            guide.check().map_err(WorldError::Body)?;
        }
        let (x, q, t) = (self.state.position[i], self.state.rotation[i], self.state.time);
        self.model.bodies[i].guide = guide.map(|g| Box::new(Guided::from_now(g, x, q, t)));
        Ok(())
    }

    /// Lets the surfaces of a body's shapes run over it, m/s, the body's axes: a belt.
    pub fn set_surface_velocity(&mut self, id: BodyId, velocity: DVec3) -> Result<(), WorldError> {
        self.slot(id)?;
        within("surface_velocity", velocity, FASTEST, "m/s").map_err(WorldError::Body)?;
        self.wake_around(&[id.slot]);
        for c in self.model.colliders.iter_mut().filter(|c| c.body == id.slot) {
            c.surface_velocity = (velocity != DVec3::ZERO).then(|| Box::new(velocity));
        }
        Ok(())
    }

    /// Materials: names, pairs, and the rule for pairs that the table does not have.
    pub fn materials(&self) -> &Materials {
        &self.model.materials
    }

    /// Materials, to add some or to change pairs.
    pub fn materials_mut(&mut self) -> &mut Materials {
        self.wake_all();
        &mut self.model.materials
    }

    /// Lets two bodies collide (as they do from the start), or keeps them from it, whatever their groups and
    /// layers say.
    pub fn set_collides(&mut self, a: BodyId, b: BodyId, collide: bool) -> Result<(), WorldError> {
        let (a, b) = (self.slot(a)? as u32, self.slot(b)? as u32);
        self.wake_slot(a);
        self.wake_slot(b);
        self.model.set_collides(a, b, collide);
        Ok(())
    }

    /// Removes a body and its joints, before or between steps.
    pub fn remove_body(&mut self, id: BodyId) -> Result<(), WorldError> {
        self.remove_bodies(&[id])
    }

    /// Removes bodies and their joints in one pass over the world, however many they are; none of them if one
    /// is not there.
    pub fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        ids.iter().try_for_each(|id| self.slot(*id).map(|_| ()))?;
        let slots: Vec<u32> = ids.iter().map(|id| id.slot).collect();
        self.wake_around(&slots);
        self.model.remove(ids);
        self.drop_joints_of_the_gone();
        let model = &self.model;
        self.stiff.retain(|f| f.bodies.iter().all(|id| model.contains(*id)));
        self.work.collision.contacts.retain(|c| c.bodies.iter().all(|&b| model.bodies[b as usize].alive));
        let there = |k: u32| model.colliders.get(k as usize).is_some_and(|c| c.body != NOBODY);
        self.state.multipliers.retain(|m| m.key.colliders.into_iter().all(there));
        self.renamed();
        Ok(())
    }

    pub(crate) fn slot(&self, id: BodyId) -> Result<usize, WorldError> {
        if self.model.contains(id) { Ok(id.slot as usize) } else { Err(WorldError::NoBody(id)) }
    }

    /// Origin of the body's frame, m.
    pub fn position(&self, id: BodyId) -> Result<DVec3, WorldError> {
        let i = self.slot(id)?;
        let b = &self.model.bodies[i];
        let centre = if b.motion == Motion::Dynamic { b.mass.centre } else { DVec3::ZERO };
        Ok(self.state.position[i] - self.state.rotation[i] * centre)
    }

    /// Orientation.
    pub fn rotation(&self, id: BodyId) -> Result<DQuat, WorldError> {
        Ok(self.state.rotation[self.slot(id)?])
    }

    /// Velocity of the centre of mass, m/s.
    pub fn velocity(&self, id: BodyId) -> Result<DVec3, WorldError> {
        Ok(self.state.velocity[self.slot(id)?])
    }

    /// Angular velocity in world axes, rad/s.
    pub fn angular_velocity(&self, id: BodyId) -> Result<DVec3, WorldError> {
        Ok(self.state.world_omega(self.slot(id)?))
    }

    /// Sets velocity (centre of mass, m/s) and angular velocity (world axes, rad/s); of a planar body, what
    /// its plane allows. A static body has none but zero: a belt is [`World::set_surface_velocity`].
    pub fn set_velocity(&mut self, id: BodyId, velocity: DVec3, angular: DVec3) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        for (what, v, unit) in [("velocity", velocity, "m/s"), ("angular velocity", angular, "rad/s")] {
            within(what, v, FASTEST, unit).map_err(WorldError::Body)?;
            if self.model.bodies[i].motion == Motion::Static && v != DVec3::ZERO {
                let body = self.model.describe(id.slot);
                return Err(WorldError::Body(format!("{body}: {what}: {STANDS}")));
            }
        }
        let (velocity, angular) = match &self.model.bodies[i].planar {
            Some(plane) => (plane.within(velocity), plane.about(angular)),
            None => (velocity, angular),
        };
        self.state.velocity[i] = velocity;
        self.state.omega[i] = self.state.rotation[i].conjugate() * angular;
        Ok(())
    }

    /// The contacts of the last step, with their impulses.
    pub fn contacts(&self) -> &[Contact] {
        &self.work.collision.contacts
    }

    /// The broad phase in use, once it is chosen.
    pub fn broadphase(&self) -> Option<crate::collide::broadphase::Kind> {
        self.work.collision.detector.kind()
    }

    /// Calls `hook` in every step after the contacts are found: it may read them, change their friction or
    /// remove them.
    pub fn on_contacts(&mut self, hook: impl FnMut(&Model, &State, &mut Vec<Contact>) + Send + 'static) {
        self.hooks.contact = Some(Box::new(hook));
    }

    /// Calls `hook` in every step with the velocity problem and the guess that warm-starts it (in its rows),
    /// before it is solved: to keep problems, or to try other solvers on them. The last hook set is the one
    /// called. Smooth steps ([`crate::Integrator::Rattle`]) solve no such problem: the hook is given the one
    /// of the half-implicit scheme.
    pub fn on_problem(&mut self, hook: impl FnMut(&Problem, &[f64]) + Send + 'static) {
        self.hooks.problem = Some(Box::new(hook));
    }

    /// One step, and a copy of its velocity problem with the guess that warm-started it.
    pub fn step_keeping_problem(&mut self) -> Result<(StepReport, Problem, Vec<f64>), StepError> {
        let empty = || (Problem::Bodies(Default::default()), Vec::new());
        self.hooks.kept_problem = Some(empty());
        let report = self.step();
        let (problem, guess) = self.hooks.kept_problem.take().unwrap_or_else(empty);
        report.map(|report| (report, problem, guess))
    }

    /// Keeps a copy of the problem and of the multipliers of every step from now on (of the last one at a
    /// time), so that [`World::bound_velocity_error`] has something to work on; or no longer.
    pub fn keep_solutions(&mut self, keep: bool) {
        self.work.velocity.keep_solutions(keep);
    }

    /// What was kept of the last step, where that is one problem.
    pub(crate) fn kept(&self) -> Option<&Kept> {
        self.work.velocity.kept.as_ref().filter(|kept| !kept.gamma.is_empty())
    }

    /// The last step's velocity problem and its multipliers, where they were kept: not those of a step that
    /// was taken by several problems, one after the other.
    pub fn kept_solution(&self) -> Option<(&Problem, &[f64])> {
        self.kept().map(|kept| (&kept.problem, kept.gamma.as_slice()))
    }

    /// Bounds the mass-weighted rms of v - v* in the last step, from above and from below, within about
    /// `multiplications` multiplications by N: see [`drystone_solve::bound::velocity_error`]. None where no
    /// solution was kept or no bound is to be had; nor where the step was taken by several problems, one
    /// after the other (parts of a step, restitution by impulses).
    pub fn bound_velocity_error(&self, multiplications: usize) -> Option<SharpBound> {
        let kept = self.work.velocity.kept.as_ref()?;
        velocity_error(&kept.problem, &kept.gamma, multiplications).ok().flatten()
    }

    /// The residual of each of [`World::contacts`] in the last step, m/s, where its solution was kept
    /// ([`World::keep_solutions`]) and is that of one problem; not where bodies sleep.
    pub fn contact_residuals(&self) -> Option<Vec<f64>> {
        let kept = self.kept().filter(|_| self.asleep() == 0)?;
        let mut of_contact = vec![0.0f64; self.work.collision.contacts.len()];
        let all = drystone_solve::certificate::Judge::default().residuals(&kept.problem, &kept.gamma);
        for (block, e) in all.into_iter().enumerate() {
            if let Some(i) = kept.contact_of(block) {
                let of = of_contact.get_mut(i)?;
                *of = of.max(e);
            }
        }
        Some(of_contact)
    }

    /// Calls `hook` before every step.
    pub fn before_step(&mut self, hook: impl FnMut(&mut World) + Send + 'static) {
        self.step_hooks.before.push(Box::new(hook));
    }

    /// Calls `hook` after every step.
    pub fn after_step(&mut self, hook: impl FnMut(&mut World) + Send + 'static) {
        self.step_hooks.after.push(Box::new(hook));
    }

    /// One step. After an error the state is the one before the step, applied forces included:
    /// [`World::clear_forces`] forgets those.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        if let Some([before, after, contacts]) = self.missing_hooks() {
            return Err(StepError::Hooks { step: self.state.step + 1, before, after, contacts });
        }
        StepHooks::call(self, |hooks| &mut hooks.before);
        self.emit();
        if self.accelerations.on {
            self.keep_velocities();
        }
        let mut report = step::step(self)?;
        if self.settings.bounds.is_some_and(|b| b.leaving == Leaving::Remove) && !report.left.is_empty() {
            let _ = self.remove_bodies(&report.left); // They were there a moment ago.
            report.worst_contact = None;
        }
        if !self.flow.sinks.is_empty() {
            let before = self.work.collision.contacts.len();
            self.drain();
            report.worst_contact =
                report.worst_contact.filter(|_| self.work.collision.contacts.len() == before);
        }
        if self.events.on {
            self.note_events();
        }
        StepHooks::call(self, |hooks| &mut hooks.after);
        Ok(report)
    }

    /// The nearest body hit by a ray within `max_distance`; `direction` need not be a unit vector.
    pub fn ray(&self, origin: DVec3, direction: DVec3, max_distance: f64) -> Option<(BodyId, RayHit)> {
        let found = self.ray_first(origin, direction, max_distance, &QueryFilter::default())?;
        Some((found.body, found.hit))
    }

    /// All bodies that overlap `shape` at `pose`, in slot order.
    pub fn overlaps(&self, shape: &Shape, pose: &Pose) -> Vec<BodyId> {
        let all = self.overlapping(shape, pose, &QueryFilter::default());
        let mut found: Vec<BodyId> = all.into_iter().map(|(body, _)| body).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Signed distance between two bodies, sensors apart, m: negative by how deep they overlap. There is none
    /// (infinite) if one has no shape but sensors, nor between meshes and height fields; two half-spaces
    /// overlap without bound (-infinite).
    pub fn distance(&self, a: BodyId, b: BodyId) -> Result<f64, WorldError> {
        let (a, b) = (self.slot(a)? as u32, self.slot(b)? as u32);
        let shapes = |body: u32| {
            let all = self.model.colliders.iter().enumerate().filter(move |(_, c)| c.body == body);
            all.filter(|(k, _)| !self.model.is_sensor(*k as u32))
                .filter_map(|(k, c)| Some((&c.shape, self.model.collider_pose(&self.state, k)?)))
        };
        let mut least = f64::INFINITY;
        for (sa, pa) in shapes(a) {
            for (sb, pb) in shapes(b) {
                least = least.min(query::distance(sa, &pa, sb, &pb));
            }
        }
        Ok(least)
    }

    /// Pairs of bodies that overlap by more than `share` of the smaller one's inner radius, with the overlap
    /// in m.
    pub fn deep_overlaps(&mut self, share: f64) -> Vec<(BodyId, BodyId, f64)> {
        let rest = vec![[0.0; 6]; self.model.bodies.len()];
        let mut touching = Vec::new();
        self.work.collision.detector.find_pairs(&self.model, &self.state, &rest, 0.0, 0.0);
        self.work.collision.detector.find_contacts(&self.model, &self.state, &rest, 0.0, 0.0, &mut touching);
        let mut found = Vec::new();
        for pair in touching.chunk_by(|a, b| a.key.colliders == b.key.colliders) {
            let [i, j] = pair[0].key.colliders;
            let depth = pair.iter().map(|c| -c.gap).fold(0.0, f64::max);
            let bodies = [i, j].map(|k| self.model.id(self.model.colliders[k as usize].body));
            if depth > share * self.model.pair_size(i, j)
                && let [Some(a), Some(b)] = bodies
            {
                found.push((a, b, depth));
            }
        }
        found
    }
}

fn make_solver(settings: &Settings) -> Result<Box<dyn Solver>, WorldError> {
    settings.check().map_err(WorldError::Settings)?;
    solver::make(&settings.solver).map_err(|e| WorldError::Settings(e.0))
}
