//! The velocity problem of a step: rows, targets, compliance, cones and the warm start.

use drystone_solve::{Malformed, Problem, Set};

use crate::assemble::rows::Purpose;
use crate::assemble::{Assembler, Row};
use crate::world::World;

/// What the compliance of rows that are driven is multiplied by for bounces: what is hit may be a lever, whose own diagonals say nothing of its inertia. That they
/// give no energy is seen to by `energy`.
const BOUNCES: f64 = 1e-4;
/// For motors and joints that are led: their rows have no cone to press bodies out of, and their own diagonals say little of the mechanism that they move.
const MOTORS: f64 = 1e-2;
/// And for arcs of joints: those contradict each other only in loops that are closed more than once, by what is of second order in the step, and with
/// less mechanisms keep their digits.
const ARCS: f64 = 1e-4;

/// What the velocity problem asks for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Asks {
    /// All that the step asks for.
    All,
    /// The same without what the scheme itself asks for: nothing bounces, joints go along their tangents
    /// [TasoraAnitescu2011, eq. 16]. Walls, belts, motors and overlaps ask as before.
    Driven,
    /// The second problem of a step with Poisson's restitution: see `law/expansion.rs`.
    Expansion,
}

/// Poses the velocity problem and its warm start.
pub(super) fn formulate(w: &mut World, asks: Asks) -> Result<(), Malformed> {
    let (h, stabilisation, laws) = (w.settings.h, w.settings.stabilisation, &w.laws);
    let theta = w.settings.integrator.theta();
    let driven = asks == Asks::Driven;
    w.assembler.build(&w.model, &w.state, &w.contacts, &w.v_free, &[], |i, c| {
        let row = match laws.on() {
            true => laws.get(i),
            false => Row { bias: stabilisation.bias(c.gap, h), mu: c.mu, ..Row::default() },
        };
        Row { bias: if driven && laws.on() { row.resting } else { row.bias }, ..row }
    });
    let purpose = Purpose::Velocity {
        h,
        stabilisation,
        laws: asks != Asks::Expansion,
        theta,
        bends: asks == Asks::All,
        bounce: if driven { 0.0 } else { 1.0 },
    };
    w.assembler.stage_rows(&w.model, &w.state, &w.v_free, purpose);
    w.assembler.build_rows(&w.state.order);
    w.assembler.problem.set_model(w.settings.model);
    w.assembler.warm_start(&w.contacts, &w.state.joints);
    regularise(w);
    w.stiffness.condense(&w.assembler, &w.state.order, asks != Asks::Expansion)
}

/// Rows that ask for a motion give way a little: the problem always has a solution ([`drystone_solve::problem::Ask`]).
fn regularise(w: &mut World) {
    let World { assembler, state, asks, pace, settings, laws, .. } = w;
    let Assembler { problem: Problem::Bodies(p), rows, guess, order, .. } = assembler else { return };
    pace.clear();
    // Velocities at the start of the step, in the order of the problem: whether a row did what it was asked for.
    pace.resize(p.bodies(), [0.0; 6]);
    for slot in 0..p.bodies() {
        let rank = state.order.rank(slot as u32) as usize;
        if p.inv_mass[rank] > 0.0 {
            pace[rank] = state.twist(slot);
        }
    }
    let points = order.len();
    let kind = |row: usize| match p.general.set[row] {
        _ if rows.is_bounce(row) => BOUNCES,
        _ if rows.is_arc(row) => ARCS,
        Set::Free => MOTORS,
        _ => 1.0,
    };
    let general: Vec<f64> = (0..p.general.set.len()).map(kind).collect();
    let share = |block: usize| {
        let kind = match block.checked_sub(points) {
            None if laws.bounces(order[block] as usize) => BOUNCES,
            None => 1.0,
            Some(row) => general[row],
        };
        (settings.compliance * kind).min(1.0)
    };
    p.regularise(settings.tolerance, share, guess, pace, asks);
}
