//! Staging: all rows of a problem, worked out from positions and velocities.

use drystone_solve::cone::Set;
use drystone_solve::memory;
use drystone_solve::problem::{Bodies, WORLD};
use glam::DVec3;

use super::curvature::{curvature, is_curved};
use super::joint::Stage;
use super::purpose::{Purpose, Wanted};
use super::{Elastic, PREFETCH_JOINTS, Rows, Staged, of_no_joint};
use crate::collide::Velocities;
use crate::joint::equation::MOST_ROWS;
use crate::joint::law::Law;
use crate::joint::{Equations, JointState, WORLD_BODY};
use crate::model::{Model, Planar};
use crate::state::State;

/// As many joints are in the cache anyway.
const CACHED: usize = 128;

impl Rows {
    /// Works out all rows for `purpose` from positions, and errors on the way. `v` are the velocities of what
    /// is not dynamic; `p` has the masses.
    pub(crate) fn stage(
        &mut self,
        model: &Model,
        state: &State,
        v: &Velocities,
        p: &Bodies,
        purpose: Purpose,
    ) {
        self.worst = 0.0;
        self.errors.clear();
        self.errors.resize(model.joints.len(), 0.0);
        let wanted = match purpose {
            Purpose::Velocity { .. } => Wanted::Rows,
            Purpose::Position { wanted, .. } => wanted,
        };
        self.staged.clear();
        self.runs.clear();
        self.jacobians.clear();
        self.sets.clear();
        self.biases.clear();
        self.schemes.clear();
        self.order.clear();
        self.soft = false;
        (self.curved, self.bounces, self.bent) = (false, false, 0.0);
        self.lock_planes(model);
        if let Purpose::Velocity { laws: true, .. } = purpose {
            for k in 0..self.elastic.len() {
                let Elastic { bodies, jacobian, bias, compliance } = self.elastic[k];
                let row = Staged { compliance, ..of_no_joint(bodies) };
                self.push(row, Set::Free, &jacobian, bias, f64::NAN);
            }
        }
        if model.joints.is_empty() {
            return;
        }
        let velocity_problem = matches!(purpose, Purpose::Velocity { .. });
        if velocity_problem {
            // Angles are written here, impulses by `hand_back`.
            self.next.resize(state.joints.len(), JointState::default());
            self.arms.resize(model.joints.len(), (DVec3::ZERO, 0.0));
        }
        let (Purpose::Velocity { h, .. } | Purpose::Position { h, .. }) = purpose;
        let time = if velocity_problem { [state.time, state.time + h] } else { [state.time + h; 2] };
        let laws = !matches!(purpose, Purpose::Velocity { laws: false, .. });
        let [mut e, mut then] = [Equations::default(); 2];
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.begin(model.bodies.len());
        if self.visits.len() != model.joints.len() {
            self.visits.clear();
            self.visits.extend(0..model.joints.len() as u32);
        }
        let mut next = std::mem::take(&mut self.next);
        for at in 0..self.visits.len() {
            if self.visits.len() > CACHED {
                self.look_ahead(at, model, state, &next);
            }
            let j = self.visits[at] as usize;
            let joint = &model.joints[j];
            if !joint.alive || self.elsewhere.get(j) == Some(&true) {
                if velocity_problem {
                    next[j] = state.joints[j];
                }
                continue;
            }
            let memory = if velocity_problem { &state.joints[j] } else { &next[j] };
            let placed = joint.place(state, memory, time);
            match wanted {
                Wanted::Errors => {
                    joint.kind.errors_into(&placed, joint.laws.iter().any(Law::is_about_positions), &mut e);
                }
                Wanted::Rows => joint.kind.equations_into(&placed, &mut e),
            }
            let mut bend = [0.0; MOST_ROWS];
            if let Purpose::Velocity { theta, bends, .. } = purpose
                && laws
            {
                curvature(joint, state, &mut ahead, memory, [h, theta], [&mut e, &mut then], &mut bend);
                bend = if bends { bend } else { [0.0; MOST_ROWS] };
                self.bent = bend.iter().fold(self.bent, |most, x| most.max(x.abs()));
            }
            let moves = joint.bodies.map(|b| b != WORLD_BODY && model.bodies[b as usize].inv_mass > 0.0);
            let (largest, purpose) = (None, purpose.with_own(joint.k));
            let mut stage =
                Stage { state, v, p, j, joint, moves, purpose, laws, rows: self, time, memory, largest };
            if velocity_problem {
                stage.rows.arms[j] = (placed.arm[1], joint.length);
                stage.rows.curved |= is_curved(&joint.kind) || joint.kind.is_led();
            }
            let planes = joint.bodies.map(|b| model.bodies.get(b as usize).and_then(|b| b.planar.as_deref()));
            for (k, row) in e.rows().iter().enumerate() {
                if planes.iter().any(Option::is_some) && is_locked(&row.jacobian, moves, planes) {
                    continue;
                }
                stage.equation(k, row, bend[k]);
            }
            for (k, (c, law)) in e.coordinates().iter().zip(&joint.laws).enumerate() {
                if laws && !law.is_empty() {
                    stage.law(k, c, law);
                }
            }
            stage.finish();
            if velocity_problem {
                next[j].angle = e.angles();
            }
        }
        (self.ahead, self.next) = (ahead, next);
    }

    /// Joints are visited by colour, which is not how they lie in memory.
    #[inline(always)]
    fn look_ahead(&self, at: usize, model: &Model, state: &State, next: &[JointState]) {
        if let Some(j) = self.visits.get(at + 2 * PREFETCH_JOINTS).map(|j| *j as usize) {
            memory::prefetch(&model.joints, j);
            memory::prefetch(&state.joints, j);
            memory::prefetch(next, j);
        }
        if let Some(joint) = self.visits.get(at + PREFETCH_JOINTS).and_then(|j| model.joints.get(*j as usize))
        {
            memory::prefetch(&joint.laws, 0);
            for b in joint.bodies.map(|b| b as usize) {
                memory::prefetch(&model.bodies, b);
                memory::prefetch(&state.position, b);
                memory::prefetch(&state.rotation, b);
                memory::prefetch(&state.velocity, b);
                memory::prefetch(&state.omega, b);
            }
        }
    }

    /// One bilateral row for each body locked to a plane: no velocity across it. (That it does not tilt is in
    /// its inertia.)
    fn lock_planes(&mut self, model: &Model) {
        if model.facts().planar == 0 {
            return;
        }
        for i in model.dynamic() {
            if let Some(plane) = &model.bodies[i].planar {
                let mut jacobian = [0.0; 12];
                jacobian[..3].copy_from_slice(&plane.normal.to_array());
                self.push(of_no_joint([i as u32, WORLD]), Set::Free, &jacobian, 0.0, 0.0);
            }
        }
    }
}

/// Whether a row is about motions alone that planar bodies do not have: along the normals of their planes,
/// and turns across those.
fn is_locked(jacobian: &[f64; 12], moves: [bool; 2], planes: [Option<&Planar>; 2]) -> bool {
    (0..2).filter(|k| moves[*k]).all(|k| {
        let [linear, angular] = [0, 3].map(|at| DVec3::from_slice(&jacobian[6 * k + at..6 * k + at + 3]));
        let free = match planes[k] {
            Some(plane) => plane.within(linear).length() + plane.about(angular).length(),
            None => linear.length() + angular.length(),
        };
        free <= 1e-9 * (linear.length() + angular.length())
    })
}
