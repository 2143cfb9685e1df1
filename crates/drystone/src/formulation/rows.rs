//! Joints, and what acts along their free coordinates, become scalar rows of the cone complementarity
//! problem.
//!
//! In the velocity problem a bilateral row is [TasoraAnitescu2011, eq. 16; Negrut2017, eq. 5c]
//!
//! ```text
//!     ∇Ψᵀ v + β(Ψ)/h + (Ψ(q, t + h) - Ψ(q, t))/h = 0
//! ```
//!
//! with β by the kind of stabilisation: nothing, a share of Ψ, or Ψ within a bound. To this comes what the
//! tangent leaves out,
//!
//! ```text
//!     (Ψ(q ⊕ h v, t + h) - Ψ(q, t + h))/h - ∇Ψᵀ v      with v at the start of the step,
//! ```
//!
//! ½ h v·∇²Ψ·v and smaller, and Ψ/h where Ψ is so small that corrections of positions would leave it. Without
//! it the velocity of a body on a circle points along the tangent at the start of the step; the next step
//! takes the part away that is across the new tangent, and (hω)² of the energy with it. With it the velocity
//! is the secant, as in the scheme of \[Ryckaert1977\] (leapfrog steps with Ψ(q⁺) = 0), whose energy stays,
//! and positions need hardly any correction. Where the new position follows a mean of old and new velocity (θ
//! < 1), the Jacobian is that at q ⊕ (1-θ) h v and acts on the same mean: with θ = ½ joints do no work at
//! all. In the position problem it is Ψ + ∇Ψᵀ Δq = 0, as the contacts' rows are there. What is elastic enters
//! as a compliant row and only in the velocity problem: see [`crate::joint::law`].
//!
//! Joints are coloured, in the order of their slots, and the rows put into the problem by colour: the same
//! for any number of threads. A mechanism stays what it is from step to step, so rows are staged in the order
//! of the last problem: then they are in their places already.

mod colour;
mod curvature;
mod joint;
mod law;
mod multipliers;
mod purpose;
mod stage;

pub(crate) use purpose::{Purpose, Wanted};

use drystone_solve::colour::Colouring;
use drystone_solve::cone::Set;
use glam::DVec3;

use crate::joint::equation::MOST_ROWS;
use crate::joint::slot::ROWS;
use crate::joint::{JointState, Reaction};
use curvature::Ahead;

/// One scalar row before colouring, all but what the problem takes over as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Staged {
    pub(crate) pair: (u32, u32),
    compliance: f64,
    /// Joint slot, or NONE for the lock of a planar body.
    pub(crate) joint: u32,
    /// Which of the joint's multipliers.
    pub(crate) row: u8,
    /// Whether the joint's second body comes first.
    turned: bool,
    /// The upper end of a limit: shares its place with the lower one, with the opposite sign.
    upper: bool,
    /// It turns and does not shift: its multiplier is divided by the joint's length.
    angular: bool,
}

/// A compliant row of a stiff force: bodies by slot, the second may be
/// [`WORLD`](drystone_solve::problem::WORLD).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elastic {
    pub bodies: [u32; 2],
    pub jacobian: [f64; 12],
    pub bias: f64,
    pub compliance: f64,
}

/// In place of the joint of a row that is no joint's.
const NONE: u32 = u32::MAX;
/// How many joints ahead what they have is asked for, and twice that the joints themselves.
const PREFETCH_JOINTS: usize = 3;
/// Joints are kept ten times as tight as contacts between bodies of their length.
pub(crate) const SIZE: f64 = 0.1;

/// Errors of joints are corrected when they are that much smaller than overlaps that are.
pub(crate) const TIGHTER: f64 = 10.0;

/// Buffers, and the way back from rows to joints.
#[derive(Debug, Default)]
pub struct Rows {
    staged: Vec<Staged>,
    /// Of what is staged; lost to the problem by [`Rows::finish`].
    jacobians: Vec<[f64; 12]>,
    sets: Vec<Set>,
    biases: Vec<f64>,
    /// Of each staged row, the part of its bias that is the scheme's own: arcs and bounces, m/s; NaN for rows
    /// that are forces.
    schemes: Vec<f64>,
    /// Whether some staged row gives.
    soft: bool,
    /// Joint slots in the order of the last problem, those without rows at the end; empty: as they are.
    visits: Vec<u32>,
    /// Rows of stiff forces, for problems about a whole step.
    pub(crate) elastic: Vec<Elastic>,
    /// Joints whose step is taken by others, by slot; empty if there are none.
    pub(crate) elsewhere: Vec<bool>,
    colouring: Colouring,
    /// What was coloured: the number of bodies, and joints with their bodies' ranks in the order of the
    /// problem.
    coloured: (usize, Vec<(u32, (u32, u32))>),
    /// First staged row of each joint; staged rows in the order of the problem, empty if that is the order
    /// they are in; first row there of each joint, and the end.
    runs: Vec<u32>,
    order: Vec<u32>,
    places: Vec<u32>,
    /// Whether some joint's errors change by more than rotation and what is solved for: lengths, and what
    /// follows time.
    pub(crate) curved: bool,
    /// Whether some joint's limits have restitution.
    pub(crate) bounces: bool,
    /// The largest of what the tangents leave out, m/s.
    pub(crate) bent: f64,
    /// The largest error of a rigid row over its joint's size, of all joints and by joint slot.
    pub(crate) worst: f64,
    errors: Vec<f64>,
    /// What the joints will carry to the next step, by slot.
    pub(crate) next: Vec<JointState>,
    /// What they did, by slot.
    pub(crate) reactions: Vec<Reaction>,
    /// Joint, row, and by how much a motor's row missed what was asked for, m/s; in this order.
    missed: Vec<(u32, u8, f64)>,
    /// By joint slot: from the centre of mass of its second body to its place there, and its length, m.
    arms: Vec<(DVec3, f64)>,
    ahead: Ahead,
    kept: Vec<(Reaction, [f64; ROWS])>,
}

impl Rows {
    /// A new joint has done nothing yet.
    pub(crate) fn forget(&mut self, slot: u32) {
        if let Some(r) = self.reactions.get_mut(slot as usize) {
            *r = Reaction::default();
        }
    }

    /// What one of so many joints has done, elsewhere.
    pub(crate) fn set(&mut self, slot: u32, joints: usize, state: JointState, reaction: Reaction) {
        self.next.resize(joints, JointState::default());
        self.reactions.resize(joints, Reaction::default());
        (self.next[slot as usize], self.reactions[slot as usize]) = (state, reaction);
    }

    /// By row of the problem: where it stands among those of its bodies, whatever other rows there are.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        let key = |s: &Staged| {
            u64::from(s.joint.wrapping_add(1)) << 32 | u64::from(s.row) << 1 | u64::from(s.upper)
        };
        (0..self.staged.len()).map_while(move |k| self.row(k).map(key))
    }

    /// The largest error of a joint's rigid rows over its size ([`SIZE`] times its length), when rows were
    /// last staged.
    pub(crate) fn error(&self, joint: usize) -> f64 {
        self.errors.get(joint).copied().unwrap_or(0.0)
    }

    /// Stages a row.
    #[inline(always)]
    fn push(&mut self, row: Staged, set: Set, jacobian: &[f64; 12], bias: f64, scheme: f64) {
        self.soft |= row.compliance > 0.0;
        let goes_on = row.joint != NONE && self.staged.last().is_some_and(|before| before.joint == row.joint);
        if !goes_on {
            self.runs.push(self.staged.len() as u32);
        }
        self.jacobians.push(*jacobian);
        self.sets.push(set);
        self.biases.push(bias);
        self.schemes.push(scheme);
        self.staged.push(row);
    }

    /// The staged row behind a row of the problem.
    fn row(&self, of_problem: usize) -> Option<&Staged> {
        let i = if self.order.is_empty() { of_problem } else { *self.order.get(of_problem)? as usize };
        self.staged.get(i)
    }

    /// The joint of a block of the problem, counted from the first general one.
    pub(crate) fn joint_of(&self, block: usize) -> Option<u32> {
        Some(self.row(block)?.joint).filter(|j| *j != NONE)
    }

    /// The bilateral rows that have no compliance, with their Jacobians; before they are put into a problem.
    pub(crate) fn rigid(&self) -> impl Iterator<Item = (&Staged, &[f64; 12])> {
        let free = self.sets.iter().map(|set| *set == Set::Free);
        let all = self.staged.iter().zip(&self.jacobians).zip(free);
        all.filter(|((s, _), free)| *free && s.compliance == 0.0).map(|(row, _)| row)
    }

    /// Whether a row of the problem, which has these biases, asks for a motion along an arc and for nothing
    /// else.
    pub(crate) fn is_arc(&self, of_problem: usize) -> bool {
        let Some(s) = self.row(of_problem) else { return false };
        usize::from(s.row) < MOST_ROWS
            && s.joint != NONE
            && self.scheme(of_problem) != 0.0
            && !self.scheme(of_problem).is_nan()
    }

    /// Whether a row of the problem is a limit that bounces.
    pub(crate) fn is_bounce(&self, of_problem: usize) -> bool {
        let Some(s) = self.row(of_problem) else { return false };
        usize::from(s.row) >= MOST_ROWS && self.scheme(of_problem) < 0.0
    }

    /// The part of the bias of a row of the problem that is the scheme's own, m/s; NaN for rows that are
    /// forces.
    pub(crate) fn scheme(&self, of_problem: usize) -> f64 {
        let i = if self.order.is_empty() {
            Some(of_problem)
        } else {
            self.order.get(of_problem).map(|i| *i as usize)
        };
        i.and_then(|i| self.schemes.get(i)).copied().unwrap_or(0.0)
    }
}

/// A row between two bodies, or of one, that is no joint's.
fn of_no_joint(bodies: [u32; 2]) -> Staged {
    let pair = (bodies[0], bodies[1]);
    Staged { pair, compliance: 0.0, joint: NONE, row: 0, turned: false, upper: false, angular: false }
}
