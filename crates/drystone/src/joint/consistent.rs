//! Assembly: positions and velocities that do not fit the joints are made to, before the first step after a
//! joint was added.
//!
//! Positions by Newton's method on Ψ(q) = 0, each step the smallest in the norm of the masses; velocities by
//! one projection:
//!
//! ```text
//!     Δq = -M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ Ψ(q)              v ← v - M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ (J v + ∂Ψ/∂t)
//! ```
//!
//! by conjugate gradients, which give the pseudo-inverse also where equations repeat each other. Limits and
//! ropes take part while they are violated. What does not come together is refused, and the joint named.

use drystone_solve::Problem;
use drystone_solve::cone::Set;
use drystone_solve::problem::Bodies;
use glam::DVec3;

use super::Equations;
use super::Sort;
use super::drift::error_of;
use crate::contact::Contact;
use crate::error::WorldError;
use crate::formulation::Row;
use crate::formulation::rows::{Purpose, Wanted};
use crate::motion::rotate;
use crate::settings::Stabilisation;
use crate::world::World;

/// Errors of positions that are left to the steps' own corrections, over a tenth of the joint's length.
const ALLOWED_ERROR: f64 = 1e-3;
/// Errors at which Newton's method has arrived.
const CONVERGED: f64 = 1e-8;
/// Rounds that do not bring it nearer by a thousandth before it gives up, and in all: each moves a joint by
/// half of its length at most.
const STALL_LIMIT: usize = 60;
const MAX_ITERATIONS: usize = 10_000;

impl World {
    /// Makes positions and velocities fit the joints; the first step after a joint was added does this by
    /// itself. The error names the joint that does not come together.
    pub fn assemble_joints(&mut self) -> Result<(), WorldError> {
        self.loose = false;
        self.moved();
        if self.model.joint_slots().next().is_none() {
            return Ok(());
        }
        self.work.velocity.assembler.rows.next.clone_from(&self.state.joints);
        self.work.substeps.saved.save(&self.state);
        let done = self.assemble_positions().and_then(|()| self.assemble_velocities());
        if done.is_err() {
            self.work.substeps.saved.restore(&mut self.state);
            self.loose = true;
        }
        done
    }

    /// The same, if joints were added since.
    pub fn assemble_if_loose(&mut self) -> Result<(), WorldError> {
        if self.loose { self.assemble_joints() } else { Ok(()) }
    }

    fn rest(&self) -> Vec<[f64; 6]> {
        vec![[0.0; 6]; self.model.bodies.len()]
    }

    /// Stages the joints' rows, without contacts.
    fn stage_alone(&mut self, v: &[[f64; 6]], purpose: Purpose) {
        let v = v.to_vec();
        self.work
            .velocity
            .assembler
            .build(&self.model, &self.state, &[] as &[Contact], &v, &[], |_, _| Row::default());
        self.work.velocity.assembler.stage_rows(&self.model, &self.state, &v, purpose);
    }

    fn assemble_positions(&mut self) -> Result<(), WorldError> {
        let rest = self.rest();
        let mut gamma = Vec::new();
        let (mut best, mut stuck) = (f64::INFINITY, 0);
        for round in 0..=MAX_ITERATIONS {
            self.stage_alone(&rest, Purpose::Position { h: 0.0, share: 0.5, wanted: Wanted::Rows });
            let worst = self.work.velocity.assembler.rows.worst;
            stuck = if worst < 0.999 * best { 0 } else { stuck + 1 };
            best = best.min(worst);
            let ends = stuck == STALL_LIMIT || round == MAX_ITERATIONS;
            if worst <= if round == 0 { ALLOWED_ERROR } else { CONVERGED } || (ends && worst <= ALLOWED_ERROR)
            {
                return self.check_sides();
            }
            if ends {
                break;
            }
            self.work.velocity.assembler.build_rows(&self.state.order);
            pseudo_inverse(&self.work.velocity.assembler.problem, &mut gamma);
            let mut moved = Vec::new();
            self.work.velocity.assembler.velocities(&self.state.order, &gamma, &mut moved);
            for i in self.model.dynamic().collect::<Vec<_>>() {
                let d = &moved[i];
                self.state.position[i] += DVec3::new(d[0], d[1], d[2]);
                let turn = self.state.rotation[i].conjugate() * DVec3::new(d[3], d[4], d[5]);
                if turn != DVec3::ZERO {
                    self.state.rotation[i] = rotate(self.state.rotation[i], turn, 1.0);
                }
            }
        }
        let mut e = Equations::default();
        let worst =
            self.model.joint_slots().map(|j| (j, error_of(&self.model, &self.state, j, &mut e).position));
        let (j, error) = worst.fold((0, -1.0), |a, b| if b.1 > a.1 { b } else { a });
        Err(WorldError::Joint(format!(
            "{} cannot be assembled: its equations stay off by {error:.3} m when its bodies are moved",
            self.model.describe_joint(j as u32)
        )))
    }

    /// Axes that must agree satisfy the same equations when they are opposed.
    fn check_sides(&self) -> Result<(), WorldError> {
        for j in self.model.joint_slots() {
            let joint = &self.model.joints[j];
            let placed = joint.place(&self.state, &self.state.joints[j], [self.state.time; 2]);
            if joint.kind.is_reversed(&placed) {
                return Err(WorldError::Joint(format!(
                    "{} cannot be assembled: the axes of its frames are opposed",
                    self.model.describe_joint(j as u32)
                )));
            }
        }
        Ok(())
    }

    fn assemble_velocities(&mut self) -> Result<(), WorldError> {
        let tolerance = self.settings.tolerance.max(1e-9);
        let mut e = Equations::default();
        let mut wrong = |w: &World| {
            w.model.joint_slots().any(|j| error_of(&w.model, &w.state, j, &mut e).velocity > tolerance)
        };
        if !wrong(self) {
            return Ok(());
        }
        let v: Vec<[f64; 6]> = (0..self.model.bodies.len()).map(|i| self.state.twist(i)).collect();
        let h = self.settings.h;
        self.stage_alone(
            &v,
            Purpose::Velocity {
                h,
                stabilisation: Stabilisation::None,
                follow: 1.0,
                laws: false,
                theta: 1.0,
                bends: true,
                bounce: None,
            },
        );
        self.work.velocity.assembler.build_rows(&self.state.order);
        let (mut gamma, mut moved) = (Vec::new(), Vec::new());
        pseudo_inverse(&self.work.velocity.assembler.problem, &mut gamma);
        self.work.velocity.assembler.velocities(&self.state.order, &gamma, &mut moved);
        for i in self.model.dynamic().collect::<Vec<_>>() {
            let d = &moved[i];
            self.state.velocity[i] = DVec3::new(d[0], d[1], d[2]);
            self.state.omega[i] = self.state.rotation[i].conjugate() * DVec3::new(d[3], d[4], d[5]);
        }
        // A command that jumps leaves the difference between its slope now and its mean slope over the step.
        let still = |w: &World, j: usize| {
            let joint = &w.model.joints[j];
            let time = [w.state.time, w.state.time + h];
            let e = joint.equations(&w.state, &w.state.joints[j], time);
            let rate = |r: &super::Row| (joint.rate(&r.jacobian, |i| w.state.twist(i)) + r.rate).abs();
            let rigid = |r: &&super::Row| {
                matches!(r.sort, Sort::Holonomic | Sort::Nonholonomic) && !joint.is_compliant(r.angular)
            };
            e.rows().iter().filter(rigid).map(rate).fold(0.0, f64::max)
        };
        let worst = self.model.joint_slots().map(|j| (j, still(self, j)));
        let (j, error) = worst.fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
        if error > 1e-3 {
            return Err(WorldError::Joint(format!(
                "{} cannot be assembled: no velocities satisfy the joints, its equations are off by {error:.3} m/s",
                self.model.describe_joint(j as u32)
            )));
        }
        Ok(())
    }
}

/// γ with the least Σ g γ² of all that minimise |N γ + r| over the rows that take part: all bilateral ones,
/// and those unilateral ones that are violated. Conjugate gradients with the diagonal as preconditioner.
fn pseudo_inverse(problem: &Problem, gamma: &mut Vec<f64>) {
    let Problem::Bodies(p) = problem else { return };
    let n = problem.rows();
    gamma.clear();
    gamma.resize(n, 0.0);
    let mut residual = Vec::new();
    problem.rhs(&mut residual);
    let active: Vec<bool> = (0..problem.blocks())
        .map(|i| match problem.set(i) {
            Set::Free => problem.compliance(i, problem.block(i).start) == 0.0,
            Set::NonNegative => residual[problem.block(i).start] < 0.0,
            _ => false,
        })
        .collect();
    let scale: Vec<f64> = (0..n).map(|i| problem.block_diagonal(i)[0].max(f64::MIN_POSITIVE)).collect();
    residual.iter_mut().zip(&active).for_each(|(r, on)| *r = if *on { -*r } else { 0.0 });
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let condition = |r: &[f64]| r.iter().zip(&scale).map(|(r, g)| r / g).collect::<Vec<f64>>();
    let mut z = condition(&residual);
    let mut direction = z.clone();
    let mut energy = dot(&residual, &z);
    let enough = 1e-28 * energy;
    for _ in 0..4 * n + 20 {
        if !(energy > enough) {
            return;
        }
        let image = product(p, &direction, &active);
        let curvature = dot(&direction, &image);
        if !(curvature > 0.0) {
            return;
        }
        let step = energy / curvature;
        for i in 0..n {
            gamma[i] += step * direction[i];
            residual[i] -= step * image[i];
        }
        z = condition(&residual);
        let next = dot(&residual, &z);
        let beta = next / energy;
        energy = next;
        direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + beta * *d);
    }
}

/// N x over the rows that take part.
fn product(p: &Bodies, x: &[f64], active: &[bool]) -> Vec<f64> {
    let mut v = Vec::new();
    p.velocities(x, &mut v);
    for (v, free) in v.iter_mut().zip(&p.v_free) {
        (0..6).for_each(|k| v[k] -= free[k]);
    }
    let mut u = [0.0; drystone_solve::cone::MAX_ROWS];
    let row = |i: usize| {
        p.block_relative(i, &v, &mut u);
        if active[i] { u[0] - p.general.bias[i] } else { 0.0 }
    };
    (0..x.len()).map(row).collect()
}
