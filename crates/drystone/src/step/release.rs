//! Large worlds keep what they are between steps, and no more: the memory of a stage is given back at its
//! end, so that the most that a step takes is that of its largest stage, not the sum of all.
//!
//! The broad phase, the narrow phase, solvers and corrections see to their own ([`memory::MANY_BODIES`]);
//! what a stage leaves for the next ones is given back here.

use drystone_solve::memory;

use crate::setup::Setup;
use crate::workspace::{Velocity, Workspace};

fn is_large(setup: Setup) -> bool {
    setup.model.bodies.len() >= memory::MANY_BODIES
}

/// The velocities are there and judged: their problem is of no more use, unless joints are corrected by its
/// factors.
pub(super) fn leave_velocities(setup: Setup, velocity: &mut Velocity) {
    if is_large(setup) {
        velocity.judge.release();
        velocity.solver.judge().into_iter().for_each(|judge| judge.release());
        leave_problem(setup, velocity);
    }
}

/// The positions are there, and nothing can undo the step any more.
pub(super) fn leave_positions(setup: Setup, work: &mut Workspace) {
    if is_large(setup) {
        work.substeps.saved = Default::default();
        work.position.stabiliser.release();
        leave_problem(setup, &mut work.velocity);
    }
}

fn leave_problem(setup: Setup, velocity: &mut Velocity) {
    if setup.model.joint_slots().next().is_none() && setup.stiff.is_empty() {
        velocity.assembler.release();
    }
}
