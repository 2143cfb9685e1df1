//! The energy of a group of bodies, and how much more of it than at the start the solver's tolerance, the
//! removal of overlaps and the integrator may leave.

use drystone::joint::Kind;
use drystone::{BodyId, World};

/// Share of the largest kinetic energy so far that is no failure: integrators of mechanisms keep energy on
/// average, and swing about that by less than this at the steps that the kinds use.
const KINETIC_SHARE: f64 = 0.01;
/// Overlaps up to this share of a body's inner radius are allowed, and removing one lifts the body by as
/// much.
const LIFT: f64 = 0.05;

/// Kinetic, and potential in gravity and springs, J.
#[derive(Clone, Copy, Debug, Default)]
struct Energy {
    kinetic: f64,
    potential: f64,
}

/// Follows the energy of a group of bodies that nothing puts energy into.
pub(super) struct Watch {
    /// By body slot.
    member: Vec<bool>,
    /// Of the group, kg.
    mass: f64,
    /// Σ m |g| times the lift that is allowed, J.
    lift: f64,
    /// ½ h |g|, m/s: the half-implicit scheme keeps the energy of x - ½ h v, so that what is counted swings
    /// by ½ h m g·v.
    phase: f64,
    tolerance: f64,
    start: f64,
    most_kinetic: f64,
    /// What the tolerance may have added, J.
    drift: f64,
    /// Largest excess over the start, over the slack at that time.
    worst: f64,
}

impl Watch {
    pub(super) fn new(world: &World, group: &[BodyId]) -> Self {
        let model = world.model();
        let mut member = vec![false; model.bodies.len()];
        group.iter().for_each(|id| member[id.slot as usize] = true);
        let of_members =
            |f: &dyn Fn(usize) -> f64| (0..member.len()).filter(|i| member[*i]).map(f).sum::<f64>();
        let mass = of_members(&|i| model.bodies[i].mass.mass);
        let g = world.settings().gravity.length();
        let lift = LIFT * g * of_members(&|i| model.bodies[i].mass.mass * inner_radius(world, i as u32));
        let tolerance = world.settings().tolerance;
        let mut watch = Self {
            member,
            mass,
            lift,
            phase: 0.5 * world.settings().h * g,
            tolerance,
            start: 0.0,
            most_kinetic: 0.0,
            drift: 0.0,
            worst: f64::NEG_INFINITY,
        };
        let now = watch.energy(world);
        (watch.start, watch.most_kinetic) = (now.kinetic + now.potential, now.kinetic);
        watch
    }

    /// Looks at the state after a step; says what is wrong, the first time that something is.
    pub(super) fn observe(&mut self, world: &World) -> Option<String> {
        let now = self.energy(world);
        self.most_kinetic = self.most_kinetic.max(now.kinetic);
        // A step may leave every velocity wrong by the tolerance τ: |ΔE| ≤ Σ m v τ + ½ m τ² ≤ τ √(2 M K) + ½
        // M τ².
        let tau = self.tolerance;
        self.drift += tau * (2.0 * self.mass * self.most_kinetic).sqrt() + 0.5 * self.mass * tau * tau;
        let excess = now.kinetic + now.potential - self.start;
        let phase = self.phase * (2.0 * self.mass * self.most_kinetic).sqrt();
        let slack = KINETIC_SHARE * self.most_kinetic + self.drift + self.lift + phase;
        self.worst = self.worst.max(excess / slack);
        (!(excess <= slack)).then(|| {
            format!("{:.4} J at the start, {excess:.3e} J more now (slack {slack:.3e} J)", self.start)
        })
    }

    /// The largest excess over the start, over the slack at that time: negative where there were only losses.
    pub(super) fn worst(&self) -> f64 {
        self.worst
    }

    fn energy(&self, world: &World) -> Energy {
        let (model, state) = (world.model(), world.state());
        let g = world.settings().gravity;
        let mut e = Energy::default();
        for i in model.dynamic().filter(|i| self.member.get(*i) == Some(&true)) {
            let mass = &model.bodies[i].mass;
            let (v, w) = (state.velocity[i], state.omega[i]);
            e.kinetic += 0.5 * mass.mass * v.length_squared() + 0.5 * w.dot(mass.inertia * w);
            e.potential -= mass.mass * g.dot(state.position[i]);
        }
        e.potential += self.springs(world);
        e
    }

    /// ½ k x² of the springs on joints whose bodies are in the group.
    fn springs(&self, world: &World) -> f64 {
        let mut sum = 0.0;
        for id in world.joints() {
            let Ok(joint) = world.joint(id) else { continue };
            if !joint.bodies.iter().any(|b| self.member.get(*b as usize) == Some(&true)) {
                continue;
            }
            let Ok(x) = world.joint_coordinates(id) else { continue };
            for (law, x) in joint.laws.iter().zip(&x) {
                if let Some(s) = &law.spring {
                    sum += 0.5 * s.stiffness * (x - s.rest).powi(2);
                }
            }
            if let (Kind::Spring { length, stiffness, .. }, Some(x)) = (&joint.kind, x.first()) {
                sum += 0.5 * stiffness * (x - length).powi(2);
            }
        }
        sum
    }
}

/// The smallest inner radius of a body's shapes, m; infinite for ground, zero without shapes.
pub(super) fn inner_radius(world: &World, slot: u32) -> f64 {
    let shapes = world.model().colliders.iter().filter(|c| c.body == slot);
    let least = shapes.map(|c| c.shape.inner_radius()).reduce(f64::min);
    least.unwrap_or(0.0)
}
