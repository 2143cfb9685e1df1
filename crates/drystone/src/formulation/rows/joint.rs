//! One joint being staged: its equations become rows, and their errors are noted on the way.

use drystone_solve::cone::Set;
use drystone_solve::problem::{Bodies, WORLD};

use super::purpose::{Purpose, Wanted};
use super::{Rows, SIZE, Staged, TIGHTER};
use crate::collide::{Velocities, velocity};
use crate::joint::{Joint, JointState, Row, Sort, WORLD_BODY};
use crate::settings::Stabilisation;
use crate::state::State;

/// One joint being staged.
pub(super) struct Stage<'a> {
    pub(super) state: &'a State,
    pub(super) v: &'a Velocities,
    pub(super) p: &'a Bodies,
    /// Its slot.
    pub(super) j: usize,
    pub(super) joint: &'a Joint,
    /// Which of its bodies are dynamic.
    pub(super) moves: [bool; 2],
    pub(super) purpose: Purpose,
    /// With motors, limits, friction and springs.
    pub(super) laws: bool,
    pub(super) rows: &'a mut Rows,
    /// At the start of the step and at its end, s; in a position problem twice the end.
    pub(super) time: [f64; 2],
    /// What it carries from the last step, or from the velocity problem of this one.
    pub(super) memory: &'a JointState,
    /// Largest error of a rigid row, m.
    pub(super) largest: Option<f64>,
}

impl Stage<'_> {
    /// Puts a row in its place: a dynamic body first, and what is not dynamic folded into the bias.
    #[inline]
    pub(super) fn push(
        &mut self,
        row: usize,
        set: Set,
        jacobian: &[f64; 12],
        (bias, scheme): (f64, f64),
        compliance: f64,
        upper: bool,
    ) {
        if matches!(self.purpose, Purpose::Position { wanted: Wanted::Errors, .. }) {
            return;
        }
        let [a, b] = self.joint.bodies;
        let (mut bias, mut jacobian) = (bias, jacobian);
        let (mut pair, mut turned) = ((a, b), false);
        let mut other_first;
        if self.moves != [true; 2] {
            for (k, body) in [a, b].into_iter().enumerate() {
                if body != WORLD_BODY && !self.moves[k] {
                    let v = velocity(self.v, body);
                    bias += (0..6).map(|i| jacobian[6 * k + i] * v[i]).sum::<f64>();
                }
            }
            turned = !self.moves[0];
            if turned {
                other_first = *jacobian;
                other_first.rotate_left(6);
                jacobian = &other_first;
            }
            pair = (if turned { b } else { a }, WORLD);
        }
        let (joint, row) = (self.j as u32, row as u8);
        let angular = jacobian[..3] == [0.0; 3] && jacobian[6..9] == [0.0; 3];
        let row = Staged { pair, compliance, joint, row, turned, upper, angular };
        self.rows.push(row, set, jacobian, bias, scheme);
    }

    /// Whether a joint's error is one that corrections would leave alone: the step's own motion takes it
    /// away.
    fn is_small(&self, error: f64) -> bool {
        match self.purpose {
            Purpose::Velocity {
                stabilisation: Stabilisation::Post { tolerance, .. },
                laws: true,
                theta: 1.0,
                bends: true,
                ..
            } => TIGHTER * error.abs() <= 2.0 * tolerance * SIZE * self.joint.length,
            _ => false,
        }
    }

    /// Notes the error of a rigid row.
    #[inline(always)]
    pub(super) fn note(&mut self, error: f64) {
        self.largest = Some(self.largest.map_or(error, |largest| largest.max(error)));
    }

    /// What was noted.
    pub(super) fn finish(self) {
        let Some(error) = self.largest else { return };
        let size = SIZE * self.joint.length;
        self.rows.worst = self.rows.worst.max(error / size);
        self.rows.errors[self.j] = error / size;
    }

    /// Equation `k` of the joint, with what its tangent leaves out, m/s.
    pub(super) fn equation(&mut self, k: usize, row: &Row, bend: f64) {
        let soft = self.joint.compliance[row.angular as usize];
        match self.purpose {
            Purpose::Velocity { h, stabilisation, .. } => match row.sort {
                Sort::Elastic { .. } if !self.laws => {}
                Sort::Elastic { stiffness, damping } => {
                    self.elastic(k, &row.jacobian, row.error, stiffness, damping)
                }
                Sort::Holonomic | Sort::Nonholonomic if soft > 0.0 => {
                    let scale = if row.angular { self.joint.length * self.joint.length } else { 1.0 };
                    let bias = row.error / h + row.rate;
                    self.push(k, Set::Free, &row.jacobian, (bias, f64::NAN), soft * scale / (h * h), false);
                }
                Sort::Holonomic | Sort::Nonholonomic => {
                    if row.sort == Sort::Holonomic {
                        self.note(row.error.abs());
                    }
                    let mut scheme = bend;
                    if row.sort == Sort::Holonomic && self.is_small(row.error) {
                        scheme += row.error / h;
                    }
                    let bias = stabilisation.bilateral_bias(row.error, h) + row.rate + scheme;
                    self.push(k, Set::Free, &row.jacobian, (bias, scheme), 0.0, false);
                }
                Sort::Unilateral => {
                    self.note((-row.error).max(0.0));
                    let own = stabilisation.bias(row.error, h);
                    let bias = own + row.rate + bend;
                    self.push(k, Set::NonNegative, &row.jacobian, (bias, own.max(0.0) + bend), 0.0, false);
                }
            },
            Purpose::Position { share, .. } if soft == 0.0 => {
                let most = share * self.joint.length;
                match row.sort {
                    Sort::Holonomic => {
                        self.note(row.error.abs());
                        let error = row.error.clamp(-most, most);
                        self.push(k, Set::Free, &row.jacobian, (error, 0.0), 0.0, false);
                    }
                    Sort::Unilateral => {
                        self.note((-row.error).max(0.0));
                        self.push(
                            k,
                            Set::NonNegative,
                            &row.jacobian,
                            (row.error.max(-most), 0.0),
                            0.0,
                            false,
                        );
                    }
                    Sort::Nonholonomic | Sort::Elastic { .. } => {}
                }
            }
            Purpose::Position { .. } => {}
        }
    }

    /// f = -k (Ψ + h u) - c u as the compliant row u + kΨ/(hk + c) + γ/(h(hk + c)) = 0.
    pub(super) fn elastic(
        &mut self,
        row: usize,
        jacobian: &[f64; 12],
        error: f64,
        stiffness: f64,
        damping: f64,
    ) {
        let Purpose::Velocity { h, .. } = self.purpose else { return };
        let resistance = h * stiffness + damping;
        if resistance > 0.0 {
            self.push(
                row,
                Set::Free,
                jacobian,
                (stiffness * error / resistance, f64::NAN),
                1.0 / (h * resistance),
                false,
            );
        }
    }
}
