//! The velocity problem of a step: rows, targets, compliance, cones and the warm start.

use drystone_solve::solver::{Solution, Stop};
use drystone_solve::{Malformed, Problem, Set};

use super::rows::Purpose;
use super::{Assembler, Row};
use crate::answer::whole;
use crate::gyration::Gyration;
use crate::law::formulation::Laws;
use crate::settings::{Settings, Stabilisation};
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::{Collision, FreeMotion, Velocity};

/// What the compliance is multiplied by for motors, limits that bounce and joints that are led: their rows
/// have no cone to press bodies out of, and their own diagonals say little of the mechanism that they move.
const MOTOR_COMPLIANCE: f64 = 1e-2;
/// And for arcs of joints: those contradict each other only in loops that are closed more than once, by what
/// is of second order in the step, and with less mechanisms keep their digits.
const ARC_COMPLIANCE: f64 = 1e-4;

/// What the velocity problem asks for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Asks {
    /// All that the step asks for.
    All,
    /// The same without what the scheme itself asks for: nothing bounces, joints go along their tangents
    /// [TasoraAnitescu2011, eq. 16]. Walls, belts, motors and overlaps ask as before.
    Driven,
    /// The second problem of a step with Poisson's restitution: see `law/expansion.rs`.
    Expansion,
    /// The same as all, without corrections of positions: what the multipliers would be if nothing were out
    /// of its place. See `loads.rs`.
    Loads,
}

/// Stiff forces are linearised, and contacts get the rows of their laws: some of both goes into the free
/// velocities.
pub(crate) fn forces(
    setup: Setup,
    state: &State,
    free: &mut FreeMotion,
    collision: &mut Collision,
    to: &mut Velocity,
) -> Result<(), String> {
    to.stiffness.linearise(setup, state, &mut free.v, &mut to.assembler)?;
    let FreeMotion { v, turned, jointed, .. } = free;
    let gyration = Gyration::new(setup.settings, turned, jointed);
    collision.laws.formulate(setup.model, state, setup.settings, gyration, &mut collision.contacts, v);
    Ok(())
}

/// Poses the velocity problem and its warm start. `driven` are the multipliers of the problem without what
/// the scheme asks for, where they are known: what bounces is expected to have as much more of them as it is
/// asked to part.
pub(crate) fn formulate(
    setup: Setup,
    state: &State,
    v_free: &[[f64; 6]],
    collision: &Collision,
    to: &mut Velocity,
    asks: Asks,
    driven: Option<&[f64]>,
) -> Result<(), Malformed> {
    let Setup { model, settings, .. } = setup;
    let Collision { contacts, laws, predictor: arcs, .. } = collision;
    let (h, theta) = (settings.h, settings.integrator.theta());
    let (rests, loads) = (asks == Asks::Driven, asks == Asks::Loads);
    let stabilisation = if loads { Stabilisation::None } else { settings.stabilisation };
    let follow = if loads { 0.0 } else { stabilisation.motor_share() };
    let assembler = &mut to.assembler;
    assembler.build(model, state, contacts, v_free, &[], |i, c| {
        let row = match laws.on() {
            true => laws.get(i),
            false => {
                let bias = stabilisation.bias(c.gap, h);
                Row { bias, resting: bias, mu: c.mu, ..Row::default() }
            }
        };
        // A hit ends the arc.
        let arc = if row.bias < row.resting || row.compliance > 0.0 { 0.0 } else { arcs.arc(&c.key) / h };
        let bias = match asks {
            Asks::Driven => row.resting,
            // What bounces is no correction, and what is soft has its force.
            Asks::Loads if row.bias == row.resting && row.compliance == 0.0 => row.bias.max(0.0) + arc,
            _ => row.bias + arc,
        };
        Row { bias, ..row }
    });
    let purpose = Purpose::Velocity {
        h,
        stabilisation,
        follow,
        laws: asks != Asks::Expansion,
        theta,
        bends: matches!(asks, Asks::All | Asks::Loads),
        // As for contacts: what gravity brings about in a step is rest.
        bounce: (!rests).then_some(settings.gravity.length() * h),
    };
    assembler.stage_rows(model, state, v_free, purpose);
    assembler.build_rows(&state.order);
    assembler.problem.set_model(settings.model);
    assembler.warm_start(contacts, &state.joints);
    if !loads && asks != Asks::Expansion {
        to.loads.start_from(&mut to.assembler.guess);
    }
    regularise(settings, state, laws, to, driven);
    to.stiffness.condense(&to.assembler, &state.order, asks != Asks::Expansion)
}

/// Rows that ask for a motion give way a little: the problem always has a solution
/// ([`drystone_solve::problem::Ask`]).
pub(crate) fn regularise(
    settings: &Settings,
    state: &State,
    laws: &Laws,
    to: &mut Velocity,
    driven: Option<&[f64]>,
) {
    let Velocity { assembler, asks, pace, islands, .. } = to;
    let Assembler { problem: Problem::Bodies(p), rows, guess, order, .. } = assembler else { return };
    pace.clear();
    // Velocities at the start of the step, in the order of the problem: whether a row did what it was asked
    // for.
    pace.resize(p.bodies(), [0.0; 6]);
    for slot in 0..p.bodies() {
        let rank = state.order.rank(slot as u32) as usize;
        if p.inv_mass[rank] > 0.0 {
            pace[rank] = state.twist(slot);
        }
    }
    let points = order.len();
    let kind = |row: usize| match p.general.set[row] {
        _ if rows.is_arc(row) => ARC_COMPLIANCE,
        _ if rows.is_bounce(row) => MOTOR_COMPLIANCE,
        Set::Free => MOTOR_COMPLIANCE,
        _ => 1.0,
    };
    let general: Vec<f64> = (0..p.general.set.len()).map(kind).collect();
    let share = |block: usize| {
        let kind = match block.checked_sub(points) {
            None => 1.0,
            Some(row) => general[row],
        };
        (settings.compliance * kind).min(1.0)
    };
    let Some(driven) = driven.filter(|driven| driven.len() == guess.len()) else {
        p.regularise(settings.tolerance, share, guess, pace, |_, _, _| None, asks);
        return;
    };
    // By how much a bounce lowers the bias of its row, m/s.
    let bounce = |block: usize| match block.checked_sub(points) {
        None if laws.bounces(order[block] as usize) => {
            let row = laws.get(order[block] as usize);
            Some(row.resting - row.bias)
        }
        Some(row) if rows.is_bounce(row) => Some(-rows.scheme(row)),
        _ => None,
    };
    let expected = |block: usize, row: usize, needed: f64| {
        let lowered = bounce(block)?;
        // γ grows with what is asked for, as long as the same rows are active.
        let pressed = driven[row] > 0.0 && needed > lowered;
        pressed.then(|| driven[row] * (needed / (needed - lowered)))
    };
    p.regularise(settings.tolerance, share, guess, pace, expected, asks);
    // Islands in which nothing bounces start as they would alone.
    islands.find(p);
    for k in 0..islands.len() {
        let blocks = || islands.blocks(k).iter().map(|b| *b as usize);
        if blocks().any(|block| bounce(block).is_some()) {
            blocks().flat_map(|block| p.block(block)).for_each(|row| guess[row] = driven[row]);
        }
    }
    for ask in asks.iter().filter(|ask| bounce(ask.block as usize).is_some()) {
        guess[ask.row as usize] = ask.about;
    }
}

/// Solves the problem of what is driven alone: nothing bounces, joints go along tangents.
pub(crate) fn rest(
    setup: Setup,
    state: &State,
    v_free: &[[f64; 6]],
    collision: &Collision,
    to: &mut Velocity,
) -> Result<Solution, Malformed> {
    formulate(setup, state, v_free, collision, to, Asks::Driven, None)?;
    solve_posed(setup.settings, to)
}

/// Solves what is posed from its guess.
pub(crate) fn solve_posed(settings: &Settings, to: &mut Velocity) -> Result<Solution, Malformed> {
    let stop = stop(settings);
    let Velocity { assembler, stiffness, solver, .. } = to;
    // Without iterations a guess would be the solution.
    let warm = settings.warm_start && settings.iterations > 0;
    let guess = warm.then_some(assembler.guess.as_slice());
    whole(solver.as_mut(), stiffness.posed(assembler), guess, &stop)
}

/// When to stop.
pub(crate) fn stop(s: &Settings) -> Stop {
    Stop { tolerance: s.tolerance, iterations: s.iterations, budget: s.budget, ..Stop::default() }
}

/// Solves the posed problem of the loads, and poses that of the step, which starts from them.
pub(crate) fn solve_loads(
    setup: Setup,
    state: &State,
    v_free: &[[f64; 6]],
    collision: &Collision,
    to: &mut Velocity,
) -> Result<(), Malformed> {
    let stop = stop(setup.settings);
    let Velocity { assembler, stiffness, solver, loads, .. } = to;
    let solution = whole(solver.as_mut(), stiffness.posed(assembler), Some(&assembler.guess), &stop)?;
    (loads.gamma, loads.iterations) = (solution.gamma, solution.iterations);
    formulate(setup, state, v_free, collision, to, Asks::All, None)
}
