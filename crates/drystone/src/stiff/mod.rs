//! Stiff forces between several bodies, taken implicitly by their linearisation [Anitescu2005, "Accommodating
//! stiffness"].
//!
//! ```text
//!     M̂ v⁺ = M v_free + h k̂ + D γ,      M̂ = M + h² K + h C,   k̂ = k + C v,   K = -∂k/∂q,   C = -∂k/∂v
//! ```
//!
//! A force k(q, v, t) acts on the bodies of a [`StiffForce`] together; K and C may couple all their
//! directions. Two ways lead from there to the velocities, and both solve the same equations:
//!
//! - **Rows.** Where only one or two of its bodies are dynamic, A = h² K + h C = L Δ Lᵀ gives one compliant
//!   row for each pivot, Lᵀ v⁺ - y/δ + γ/δ = 0 with L y = h k̂ (what of h k̂ is outside the range of A is an
//!   impulse beforehand). The problem stays matrix-free and every solver takes it. Eliminating the rows' γ
//!   gives M̂ back.
//! - **M̂ itself.** A force on three or more dynamic bodies has directions that no row with two bodies can
//!   say. Then M̂ is factored (sparse Cholesky over the bodies) and the problem posed with Dᵀ M̂⁻¹ D as an
//!   explicit matrix: for mechanisms and networks of moderate size, not for a million grains.
//!
//! K and C are replaced by their symmetric parts, and those by their positive parts. The force itself is not
//! touched: what is left out (a negative stiffness, a follower force's unsymmetric part) acts as an explicit
//! force does. So M̂ is positive definite whatever the user says, the scheme stays of first order, and where
//! a stiffness is negative nothing needs to be implicit: the motion is unstable, not the method.

pub(crate) mod psd;

use std::fmt;
use std::sync::Arc;

use drystone_solve::Malformed;
use drystone_solve::Problem;
use drystone_solve::solver::{Coupled, Element};
use glam::{DQuat, DVec3};

use crate::field::{Placed, View, Wrench};
use crate::formulation::Assembler;
use crate::formulation::rows::Elastic;
use crate::model::{BodyId, Model};
use crate::spatial_order::Order;
use crate::state::State;
use crate::workspace::Setup;
use crate::world::{World, WorldError};
use psd::{Factor, clip, symmetrise};

/// Most bodies of one force: its matrices are dense. What is larger is a sum of several.
pub const MOST_BODIES: usize = 16;

/// A force and its derivatives, over six coordinates a body: velocity of the centre of mass and angular
/// velocity, world axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linearised {
    /// k: force (N) and torque about the centre of mass (N m) on each body.
    pub force: Vec<f64>,
    /// K = -∂k/∂q by rows, for displacements of the centres (m) and small rotations (rad), world axes.
    pub stiffness: Vec<f64>,
    /// C = -∂k/∂v by rows.
    pub damping: Vec<f64>,
}

impl Linearised {
    fn reset(&mut self, bodies: usize) {
        let n = 6 * bodies;
        for (list, length) in [(&mut self.force, n), (&mut self.stiffness, n * n), (&mut self.damping, n * n)]
        {
            list.clear();
            list.resize(length, 0.0);
        }
    }
}

type Law = dyn Fn(&[View], f64, &mut Linearised) + Send + Sync;

/// A force on several bodies with its stiffness and damping.
#[derive(Clone)]
pub struct StiffForce {
    /// For messages.
    pub name: String,
    /// On which it acts.
    pub bodies: Vec<BodyId>,
    law: Arc<Law>,
}

impl fmt::Debug for StiffForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StiffForce").field("name", &self.name).field("bodies", &self.bodies).finish()
    }
}

impl StiffForce {
    /// A force whose derivatives are known. `law` is given the bodies in their order, the time (s), and zeros
    /// of the right sizes to fill.
    pub fn new(
        name: impl Into<String>,
        bodies: &[BodyId],
        law: impl Fn(&[View], f64, &mut Linearised) + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), bodies: bodies.to_vec(), law: Arc::new(law) }
    }

    /// A force alone, one wrench for each body; its derivatives are taken by central differences, 24 calls a
    /// body.
    pub fn by_differences(
        name: impl Into<String>,
        bodies: &[BodyId],
        force: impl Fn(&[View], f64, &mut [Wrench]) + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, bodies, move |views, time, out| differences(views, time, &force, out))
    }
}

/// Changes of position (m), angle (rad) and velocity (m/s, rad/s) for central differences: powers of two, so
/// that adding them does not round.
const MOVED: f64 = 1.0 / 1_048_576.0;
const FASTER: f64 = 1.0 / 8192.0;

fn differences(views: &[View], time: f64, force: &dyn Fn(&[View], f64, &mut [Wrench]), out: &mut Linearised) {
    let n = 6 * views.len();
    let mut moved = views.to_vec();
    let mut wrenches = vec![Wrench::default(); views.len()];
    let mut at = |views: &[View], to: &mut [f64]| {
        wrenches.fill(Wrench::default());
        force(views, time, &mut wrenches);
        for (w, to) in wrenches.iter().zip(to.chunks_mut(6)) {
            w.force.write_to_slice(&mut to[..3]);
            w.torque.write_to_slice(&mut to[3..]);
        }
    };
    at(views, &mut out.force);
    let (mut before, mut after) = (vec![0.0; n], vec![0.0; n]);
    for column in 0..n {
        let (body, axis) = (column / 6, DVec3::AXES[column % 3]);
        let turns = column % 6 >= 3;
        let mut both = |shift: &dyn Fn(&mut View, f64), apart: f64, matrix: &mut [f64]| {
            for (sign, to) in [(-1.0, &mut before), (1.0, &mut after)] {
                shift(&mut moved[body], sign * apart);
                at(&moved, to);
                moved[body] = views[body];
            }
            for row in 0..n {
                matrix[row * n + column] = (before[row] - after[row]) / (2.0 * apart);
            }
        };
        let place = |v: &mut View, x: f64| match turns {
            true => v.rotation = (DQuat::from_scaled_axis(x * axis) * v.rotation).normalize(),
            false => v.position += x * axis,
        };
        let speed = |v: &mut View, x: f64| match turns {
            true => v.angular_velocity += x * axis,
            false => v.velocity += x * axis,
        };
        both(&place, MOVED, &mut out.stiffness);
        both(&speed, FASTER, &mut out.damping);
    }
}

/// A force over its dynamic bodies alone: A, and the impulse h k̂ less what bodies with prescribed velocities
/// take.
#[derive(Clone, Debug, Default)]
struct Reduced {
    /// Slots, and their ranks in the problem.
    bodies: Vec<u32>,
    ranks: Vec<u32>,
    matrix: Vec<f64>,
    impulse: Vec<f64>,
}

/// What the stiff forces of a step come to, and the buffers to find it.
#[derive(Debug, Default)]
pub(crate) struct Stiffness {
    linearised: Linearised,
    reduced: Vec<Reduced>,
    /// How many of those are in use, all of them on three or more bodies.
    used: usize,
    one: Reduced,
    factor: Factor,
    solution: Vec<f64>,
    coupled: Coupled,
    /// The explicit problem of a step in which M̂ is factored.
    problem: Option<Problem>,
}

impl Stiffness {
    /// The problem to solve: the assembler's, or the one with M̂ in it.
    pub fn posed<'a>(&'a self, assembler: &'a Assembler) -> &'a Problem {
        self.problem.as_ref().unwrap_or(&assembler.problem)
    }

    /// Whether that is the one with M̂ in it.
    pub fn is_posed(&self) -> bool {
        self.problem.is_some()
    }

    /// Linearises the stiff forces at the start of a step: rows for the assembler and impulses into the free
    /// velocities `v` where they act on one or two dynamic bodies, elements of M̂ where on more. The error
    /// names the force.
    pub fn linearise(
        &mut self,
        setup: Setup,
        state: &State,
        v: &mut [[f64; 6]],
        assembler: &mut Assembler,
    ) -> Result<(), String> {
        assembler.rows.elastic.clear();
        self.used = 0;
        self.problem = None;
        let model = setup.model;
        let placed = Placed::of(state);
        for force in setup.stiff {
            let views: Vec<View> =
                force.bodies.iter().filter_map(|id| placed.view(model, id.slot as usize)).collect();
            self.linearised.reset(views.len());
            (force.law)(&views, placed.time, &mut self.linearised);
            reduce(self, model, &views, setup.settings.h, v)
                .map_err(|e| format!("stiff force ({}): {e}", force.name))?;
            if self.one.bodies.len() > 2 {
                if self.used == self.reduced.len() {
                    self.reduced.push(Reduced::default());
                }
                std::mem::swap(&mut self.reduced[self.used], &mut self.one);
                self.used += 1;
            } else {
                rows(self, model, |i| state.rotation[i], v, &mut assembler.rows.elastic);
            }
        }
        Ok(())
    }

    /// v⁺ for a solution, by slot.
    pub fn velocities(
        &mut self,
        assembler: &mut Assembler,
        order: &Order,
        gamma: &[f64],
        to: &mut Vec<[f64; 6]>,
    ) {
        if self.problem.is_none() {
            return assembler.velocities(order, gamma, to);
        }
        let sorted = self.coupled.velocities(assembler.bodies(), gamma);
        to.clear();
        to.extend((0..sorted.len() as u32).map(|slot| sorted[order.rank(slot) as usize]));
    }

    /// Poses the explicit problem, where a force couples three or more bodies and the problem is about a
    /// whole step.
    pub fn condense(&mut self, assembler: &Assembler, order: &Order, whole: bool) -> Result<(), Malformed> {
        if self.used == 0 || !whole {
            self.problem = None;
            return Ok(());
        }
        let Self { reduced, used, coupled, problem, .. } = self;
        for r in &mut reduced[..*used] {
            r.ranks.clear();
            r.ranks.extend(r.bodies.iter().map(|b| order.rank(*b)));
        }
        let elements = reduced[..*used].iter().map(|r| Element {
            bodies: &r.ranks,
            matrix: &r.matrix,
            impulse: &r.impulse,
        });
        coupled.factor(assembler.bodies(), elements)?;
        let mut explicit = coupled.condense(assembler.bodies())?;
        explicit.model = assembler.problem.model();
        *problem = Some(Problem::Explicit(explicit));
        Ok(())
    }
}

impl World {
    /// Adds a force on several bodies that is taken implicitly. It goes when one of its bodies does.
    ///
    /// ```
    /// use drystone::{BodyDef, Settings, Shape, StiffForce, World};
    /// use glam::DVec3;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut world = World::new(Settings { h: 0.01, ..Settings::default() })?;
    /// let ball = world.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 2.0))?;
    /// // A cubic spring to the origin: 1e9 N/m³.
    /// world.add_stiff_force(StiffForce::by_differences("cubic", &[ball], |bodies, _, out| {
    ///     let x = bodies[0].position;
    ///     out[0].force = -1e9 * x.length_squared() * x;
    /// }))?;
    /// for _ in 0..2000 {
    ///     world.step()?;
    /// }
    /// let sag = (2.0 * 9.81 / 1e9_f64).cbrt();
    /// assert!((world.position(ball)?.z + sag).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_stiff_force(&mut self, force: StiffForce) -> Result<(), WorldError> {
        let bad = |text: String| Err(WorldError::Field(format!("stiff force ({}): {text}", force.name)));
        if force.bodies.is_empty() || force.bodies.len() > MOST_BODIES {
            return bad(format!(
                "must act on one to {MOST_BODIES} bodies, got {}; what is larger is a sum of several",
                force.bodies.len()
            ));
        }
        for (k, id) in force.bodies.iter().enumerate() {
            if !self.model.contains(*id) {
                return bad(WorldError::NoBody(*id).to_string());
            }
            if force.bodies[..k].contains(id) {
                return bad(format!("names {} twice", self.model.describe(id.slot)));
            }
        }
        let dynamic = |id: &&BodyId| self.model.bodies[id.slot as usize].inv_mass > 0.0;
        let locked = |id: &&BodyId| self.model.bodies[id.slot as usize].planar.is_some();
        match force.bodies.iter().filter(dynamic).count() {
            0 => return bad("at least one of its bodies must be dynamic".into()),
            1 | 2 => {}
            _ => {
                if let Some(id) = force.bodies.iter().find(locked) {
                    let who = self.model.describe(id.slot);
                    return bad(format!(
                        "{who} is locked to a plane, which forces on three or more bodies cannot take yet"
                    ));
                }
            }
        }
        self.stiff.push(force);
        Ok(())
    }

    /// The stiff forces, in the order in which they were added.
    pub fn stiff_forces(&self) -> &[StiffForce] {
        &self.stiff
    }

    /// Takes all stiff forces away.
    pub fn clear_stiff_forces(&mut self) {
        self.stiff.clear();
    }
}

/// The smallest radius of gyration of the dynamic ones among these bodies, m.
fn gyration(model: &Model, bodies: impl Iterator<Item = u32>) -> f64 {
    bodies.filter_map(|b| model.gyration(b)).fold(f64::INFINITY, f64::min)
}

/// Multiplies the rows and columns of angles.
fn rescale(matrix: &mut [f64], n: usize, by: f64) {
    let scale = |i: usize| if i % 6 < 3 { 1.0 } else { by };
    for i in 0..n {
        for j in 0..n {
            matrix[i * n + j] *= scale(i) * scale(j);
        }
    }
}

/// From `linearised` over all bodies to `one` over those that are dynamic.
fn reduce(
    s: &mut Stiffness,
    model: &Model,
    views: &[View],
    h: f64,
    v_free: &[[f64; 6]],
) -> Result<(), String> {
    let n = 6 * views.len();
    let Linearised { force, stiffness, damping } = &mut s.linearised;
    for (name, list, length) in
        [("force", &*force, n), ("stiffness", &*stiffness, n * n), ("damping", &*damping, n * n)]
    {
        if list.len() != length {
            return Err(format!("{name} must have {length} numbers, got {}", list.len()));
        }
        if list.iter().any(|x| !x.is_finite()) {
            return Err(format!("{name} must be finite"));
        }
    }
    // Angles in m, by the smaller radius of gyration: what is positive about a matrix depends on the units.
    let length = gyration(model, views.iter().map(|v| v.id.slot));
    for matrix in [&mut *stiffness, &mut *damping] {
        symmetrise(matrix, n);
        if !s.factor.compute(matrix, n) {
            rescale(matrix, n, 1.0 / length);
            clip(matrix, n);
            rescale(matrix, n, length);
        }
    }
    let twist = |v: &View| {
        let (v, w) = (v.velocity, v.angular_velocity);
        [v.x, v.y, v.z, w.x, w.y, w.z]
    };
    let dynamic = |b: &usize| model.bodies[views[*b].id.slot as usize].inv_mass > 0.0;
    let kept: Vec<usize> = (0..views.len()).filter(dynamic).flat_map(|b| 6 * b..6 * b + 6).collect();
    let one = &mut s.one;
    one.bodies.clear();
    one.bodies.extend((0..views.len()).filter(dynamic).map(|b| views[b].id.slot));
    one.matrix.clear();
    one.impulse.clear();
    let a = |i: usize, j: usize| h * (h * stiffness[i * n + j] + damping[i * n + j]);
    for &i in &kept {
        one.matrix.extend(kept.iter().map(|&j| a(i, j)));
        let mut impulse = h * force[i];
        for (b, view) in views.iter().enumerate() {
            let now = twist(view);
            let led = !dynamic(&b);
            for k in 0..6 {
                impulse += h * damping[i * n + 6 * b + k] * now[k];
                if led {
                    impulse -= a(i, 6 * b + k) * v_free[view.id.slot as usize][k];
                }
            }
        }
        one.impulse.push(impulse);
    }
    Ok(())
}

/// Compliant rows of the force in `one`, which acts on one or two bodies; what they cannot say goes into
/// `v_free`.
fn rows(
    s: &mut Stiffness,
    model: &Model,
    rotation: impl Fn(usize) -> DQuat,
    v_free: &mut [[f64; 6]],
    to: &mut Vec<Elastic>,
) {
    let Stiffness { one, factor, solution, .. } = s;
    let n = one.impulse.len();
    // Angles in m here too, so that pivots can be compared.
    let length = gyration(model, one.bodies.iter().copied());
    let scale = |i: usize| if i % 6 < 3 { 1.0 } else { 1.0 / length };
    rescale(&mut one.matrix, n, 1.0 / length);
    (0..n).for_each(|i| one.impulse[i] *= scale(i));
    // The sum of two matrices that passed: what is not semidefinite about it is rounding.
    factor.compute(&one.matrix, n);
    factor.forward(&mut one.impulse, solution);
    for (column, (pivot, y)) in factor.columns.chunks(n).zip(factor.pivots.iter().zip(&*solution)) {
        let mut jacobian = [0.0; 12];
        (0..n).for_each(|i| jacobian[i] = column[i] / scale(i));
        let bodies = [one.bodies[0], one.bodies.get(1).copied().unwrap_or(drystone_solve::problem::WORLD)];
        to.push(Elastic { bodies, jacobian, bias: -y / pivot, compliance: 1.0 / pivot });
    }
    for (slot, rest) in one.bodies.iter().zip(one.impulse.chunks(6)) {
        let i = *slot as usize;
        let body = &model.bodies[i];
        let (push, turn) = (DVec3::from_slice(&rest[..3]), DVec3::from_slice(&rest[3..]) * length);
        let q = rotation(i);
        let (dv, dw) = (body.inv_mass * push, q * (*body.inv_inertia * (q.conjugate() * turn)));
        let dv = body.planar.as_ref().map_or(dv, |plane| plane.within(dv));
        for k in 0..3 {
            v_free[i][k] += dv[k];
            v_free[i][3 + k] += dw[k];
        }
    }
}
