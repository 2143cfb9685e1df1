//! Large worlds keep what they are between steps, and no more: the memory of a stage is given back at its end, so that the most
//! that a step takes is that of its largest stage, not the sum of all.
//!
//! The broad phase, the narrow phase, solvers and corrections see to their own ([`room::MANY`]); what a stage leaves for the next
//! ones is given back here.

use drystone_solve::room;

use crate::world::World;

impl World {
    fn has_many_bodies(&self) -> bool {
        self.model.bodies.len() >= room::MANY
    }

    /// The velocities are there and judged: their problem is of no more use, unless joints are corrected by its factors.
    pub(crate) fn leave_velocities(&mut self) {
        if self.has_many_bodies() {
            self.judge.release();
            self.solver.judge().into_iter().for_each(|judge| judge.release());
            self.leave_problem();
        }
    }

    /// The positions are there, and nothing can undo the step any more.
    pub(crate) fn leave_positions(&mut self) {
        if self.has_many_bodies() {
            self.saved = Default::default();
            self.stabiliser.release();
            self.leave_problem();
        }
    }

    fn leave_problem(&mut self) {
        if self.model.joint_slots().next().is_none() && self.stiff.is_empty() {
            self.assembler.release();
        }
    }
}
