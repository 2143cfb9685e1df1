//! Stiff forces between several bodies, taken implicitly by their linearisation [Anitescu2005, "Accommodating
//! stiffness"].
//!
//! ```text
//!     M̂ v⁺ = M v_free + h k̂ + D γ,      M̂ = M + h² K + h C,   k̂ = k + C v,   K = -∂k/∂q,   C = -∂k/∂v
//! ```
//!
//! A force k(q, v, t) acts on the bodies of a [`crate::StiffForce`] together; K and C may couple all their
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

pub(crate) mod force;
pub(crate) mod psd;

use drystone_solve::Malformed;
use drystone_solve::Problem;
use drystone_solve::solver::{Coupled, Element};
use glam::{DQuat, DVec3};

use crate::field::{Placed, View};
use crate::formulation::Assembler;
use crate::formulation::rows::Elastic;
use crate::model::Model;
use crate::setup::Setup;
use crate::spatial_order::Order;
use crate::state::State;
use force::Linearised;
use psd::{Factor, clip, symmetrise};

/// A force over its dynamic bodies alone: A, and the impulse h k̂ less what bodies with prescribed velocities
/// take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reduced {
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

/// The smallest radius of gyration of the dynamic ones among these bodies, m.
pub(crate) fn gyration(model: &Model, bodies: impl Iterator<Item = u32>) -> f64 {
    bodies.filter_map(|b| model.gyration(b)).fold(f64::INFINITY, f64::min)
}

/// Multiplies the rows and columns of angles.
pub(crate) fn rescale(matrix: &mut [f64], n: usize, by: f64) {
    let scale = |i: usize| if i % 6 < 3 { 1.0 } else { by };
    for i in 0..n {
        for j in 0..n {
            matrix[i * n + j] *= scale(i) * scale(j);
        }
    }
}

/// From `linearised` over all bodies to `one` over those that are dynamic.
pub(crate) fn reduce(
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
pub(crate) fn rows(
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
