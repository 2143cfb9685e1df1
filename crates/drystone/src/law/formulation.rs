//! The laws of a step's contacts, posed as rows of the velocity problem.
//!
//! With n the normal, Φ the gap, u⁻ the relative velocity at the start of the step and q ← q + h (θ v⁺ +
//! (1-θ) v):
//!
//! ```text
//!     rigid         u_n + max(0, (Φ/h + (1-θ) u⁻_n) / θ) ≥ 0  ⊥  γ_n ≥ 0          (overlaps: see Stabilisation)
//!     restitution   u_n - u_n(e, u⁻, Φ) ≥ 0                   ⊥  γ_n ≥ 0          (impact.rs)
//!     compliance    u_n + C γ_n + C h k (Φ + h (1-θ) u⁻_n) = 0,  C = 1 / (θ h² k + h d),  where pressed
//!     cohesion      γ + c h n in the friction cone: an impulse -c h n on the bodies, and the cone for γ' = γ + c h n
//!     belt          u_T + s_T in place of u_T, s the velocities of the surfaces over their bodies
//! ```
//!
//! Cohesion is exact as a change of variables: the multipliers of the problem are γ', those of the contacts
//! γ.

use drystone_solve::parallel;
use glam::DVec3;

use super::impact::Hit;
use super::{Impact, PairLaw};
use crate::collide::Velocities;
use crate::contact::{Contact, Touch};
use crate::formulation::Row;
use crate::gyration::Gyration;
use crate::model::Model;
use crate::settings::Settings;
use crate::state::State;

/// Cohesion acts up to this gap, as a share of the pair's size.
const COHESIVE_GAP: f64 = 1e-3;

/// Rows of a step's contacts, where they are not simply those of rigid plastic friction.
#[derive(Default)]
pub(crate) struct Laws {
    /// By contact; empty where all laws are plain.
    pub(super) rows: Vec<Row>,
    /// Impulses of a compression, by contact, N s, world axes; empty where nothing expands.
    pub(super) compression: Vec<DVec3>,
    /// Impulses that an expansion gives, by contact, N s, world axes.
    pub(super) given: Vec<DVec3>,
    /// Tension impulse c h of each contact, N s; empty where nothing coheres.
    tension: Vec<f64>,
    on: bool,
    /// Some contact is hit and is to part by Newton's law.
    hits: bool,
}

/// Arms from the centres of mass to where a contact pushes its two bodies, m.
pub(crate) fn arms(model: &Model, state: &State, c: &Contact) -> [DVec3; 2] {
    let half = 0.5 * c.gap * c.normal;
    let images = c.images(model);
    [0, 1].map(|side| {
        let on = if side == 0 { c.point + half } else { c.point - half };
        on - (state.position[c.bodies[side] as usize] + images[side])
    })
}

/// Relative velocity of A's point over B's, m/s.
pub(super) fn relative(arms: &[DVec3; 2], velocity: impl Fn(usize) -> (DVec3, DVec3)) -> DVec3 {
    let at = |side: usize| {
        let (v, omega) = velocity(side);
        v + omega.cross(arms[side])
    };
    at(0) - at(1)
}

pub(super) fn halves(v: &[f64; 6]) -> (DVec3, DVec3) {
    (DVec3::new(v[0], v[1], v[2]), DVec3::new(v[3], v[4], v[5]))
}

impl Laws {
    /// Whether this step's rows are anything but plain.
    pub fn on(&self) -> bool {
        self.on
    }

    /// Decides whether laws must be looked at in this step, and which contacts slide: their friction is the
    /// kinetic one from here on. Before the user's hook, which sees the coefficient in force.
    pub fn begin(&mut self, model: &Model, state: &State, settings: &Settings, contacts: &mut [Contact]) {
        let plain = model.materials.is_plain();
        let belts = || {
            let slots = &model.colliders;
            !parallel::all(slots.len(), |k| slots[k].surface_velocity.is_none())
        };
        self.on = !plain || settings.integrator.theta() < 1.0 || belts();
        self.hits = false;
        self.rows.clear();
        self.tension.clear();
        self.compression.clear();
        if plain {
            return;
        }
        for c in contacts {
            let law = model.pair_law(c.key.colliders);
            if let Some(kinetic) = law.mu_kinetic {
                let u = self.before(model, state, c) + model.belt(state, c.key.colliders, c.bodies[0]);
                if (u - u.dot(c.normal) * c.normal).length() > law.stick_speed {
                    c.mu = kinetic;
                }
            }
        }
    }

    fn before(&self, model: &Model, state: &State, c: &Contact) -> DVec3 {
        let arms = arms(model, state, c);
        relative(&arms, |side| {
            let i = c.bodies[side] as usize;
            (state.velocity[i], state.world_omega(i))
        })
    }

    /// Works out the row of every contact; tension goes into the free velocities.
    pub fn formulate(
        &mut self,
        model: &Model,
        state: &State,
        settings: &Settings,
        gyration: Gyration,
        contacts: &mut [Contact],
        v_free: &mut Velocities,
    ) {
        if !self.on {
            return;
        }
        let mut coheres = false;
        for c in contacts.iter() {
            let law = model.pair_law(c.key.colliders);
            coheres |= law.cohesion > 0.0;
            let row = self.row(model, state, settings, gyration, c, &law, v_free);
            self.rows.push(row);
        }
        if coheres {
            self.pull(model, state, settings.h, contacts, v_free);
        }
    }

    fn row(
        &mut self,
        model: &Model,
        state: &State,
        settings: &Settings,
        gyration: Gyration,
        c: &Contact,
        law: &PairLaw,
        v_free: &Velocities,
    ) -> Row {
        let (h, theta) = (settings.h, settings.integrator.theta());
        let n = c.normal;
        let before = self.before(model, state, c).dot(n);
        let own = rigid_bias(settings, law.k, c.gap, before);
        let mut row = Row { bias: own, resting: own, mu: c.mu, ..Row::default() };
        row.drift = model.belt(state, c.key.colliders, c.bodies[0]);
        row.drift -= row.drift.dot(n) * n;
        if law.turns() {
            (row.rolling, row.spinning) = (law.rolling, law.spinning);
            row.size = model.pair_size(c.key.colliders[0], c.key.colliders[1]);
            row.pressed = c.normal_impulse();
        }
        if let Some(k) = law.stiffness {
            // The gap that what has been decided already leads to.
            let gap = c.gap + h * (1.0 - theta) * before;
            row.compliance = 1.0 / (theta * h * h * k + h * law.damping);
            row.bias = if gap > 0.0 { gap / (theta * h) } else { row.compliance * h * k * gap };
            row.resting = row.bias;
        }
        if law.restitution > 0.0 {
            let arms = arms(model, state, c);
            let posed = relative(&arms, |side| halves(&v_free[c.bodies[side] as usize])).dot(n);
            // The free rotation comes after the hit.
            let turn =
                relative(&arms, |side| (DVec3::ZERO, gyration.of(model, state, c.bodies[side] as usize)))
                    .dot(n);
            let free = posed - turn;
            let hit = Hit { gap: c.gap, before, free, h, theta };
            let least = law.bounce_speed.unwrap_or(settings.gravity.length() * h);
            if -before > least && (c.gap <= 0.0 || hit.predicted_gap() < 0.0) {
                let after = hit.speed_after(law.restitution);
                if after > 0.0 {
                    match law.impact {
                        Impact::Newton => {
                            row.bias = -(after + turn).max(0.0);
                            self.hits = true;
                        }
                        Impact::Poisson => {
                            // Of the compression, what the forces of the step itself put in is not to come
                            // back.
                            row.expansion = after / (-free).max(after);
                            row.resting = row.bias.min(0.0);
                            row.bias = row.resting - turn;
                        }
                    }
                }
            }
        }
        row
    }

    /// Pulls together what coheres. The tension of a pair is shared by those of its points that are near
    /// enough.
    fn pull(
        &mut self,
        model: &Model,
        state: &State,
        h: f64,
        contacts: &mut [Contact],
        v_free: &mut Velocities,
    ) {
        self.tension.resize(contacts.len(), 0.0);
        let mut at = 0;
        for points in contacts.chunk_by_mut(|a, b| a.key.colliders == b.key.colliders) {
            let first = at;
            at += points.len();
            let colliders = points[0].key.colliders;
            let law = model.pair_law(colliders);
            if law.cohesion == 0.0 {
                continue;
            }
            let near = COHESIVE_GAP * model.pair_size(colliders[0], colliders[1]);
            let count = points.iter().filter(|c| c.gap <= near).count();
            let share = h * law.cohesion / count.max(1) as f64;
            for (k, c) in points.iter_mut().enumerate().filter(|(_, c)| c.gap <= near) {
                self.tension[first + k] = share;
                let arms = arms(model, state, c);
                for (side, sign) in [(0, -1.0), (1, 1.0)] {
                    let impulse = sign * share * c.normal;
                    push(model, state, c.bodies[side] as usize, impulse, arms[side].cross(impulse), v_free);
                }
                // The guess is for γ'.
                c.impulse += share * c.normal;
                // C acts on γ = γ' - c h.
                let row = &mut self.rows[first + k];
                row.bias -= row.compliance * share;
                row.pressed += share;
            }
        }
    }

    /// Whether some contact parts by Newton's law in this step.
    pub fn hits(&self) -> bool {
        self.hits
    }

    /// Whether contact `i` bounces in this step.
    pub fn bounces(&self, i: usize) -> bool {
        self.hits && self.rows.get(i).is_some_and(|row| row.bias < row.resting)
    }

    /// The row of contact `i`.
    pub fn get(&self, i: usize) -> Row {
        self.rows[i]
    }

    /// From the multipliers of the problem to those of the contacts.
    pub fn finish(&self, contacts: &mut [Contact]) {
        for (c, tension) in contacts.iter_mut().zip(&self.tension) {
            c.impulse -= *tension * c.normal;
        }
    }
}

/// The bias of a rigid contact that is not hit, m/s; `k` is its own K.
fn rigid_bias(settings: &Settings, k: Option<f64>, gap: f64, before: f64) -> f64 {
    let (h, theta) = (settings.h, settings.integrator.theta());
    if theta == 1.0 || gap < 0.0 {
        return settings.stabilisation.with_own(k).bias(gap, h);
    }
    ((gap / h + (1.0 - theta) * before) / theta).max(0.0)
}

/// v ← v + M⁻¹ (impulse, torque impulse) of one body, world axes.
pub(super) fn push(
    model: &Model,
    state: &State,
    i: usize,
    impulse: DVec3,
    torque: DVec3,
    v: &mut Velocities,
) {
    let body = &model.bodies[i];
    if body.inv_mass == 0.0 {
        return;
    }
    let q = state.rotation[i];
    let linear = body.inv_mass * impulse;
    let turn = q * (*body.inv_inertia * (q.conjugate() * torque));
    for (x, add) in v[i].iter_mut().zip(linear.to_array().into_iter().chain(turn.to_array())) {
        *x += add;
    }
}
