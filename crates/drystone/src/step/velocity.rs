//! The velocity problem of a step: solved, held to the energy that there is, solved again where things
//! expand.

use drystone_solve::Malformed;
use drystone_solve::certificate::Certificate;
use drystone_solve::solver::{Solution, Status, Stop};

use super::check::whole;
use super::energy::{Budget, limit};
use super::formulate::{Asks, formulate};
use super::loads;
use crate::contact::Contact;
use crate::formulation::Assembler;
use crate::hooks::Hooks;
use crate::joint::slot::WORLD_BODY;
use crate::model::Model;
use crate::settings::Settings;
use crate::state::State;
use crate::workspace::{Collision, FreeMotion, Setup, Velocity};

/// What the velocity problem, or the two of a step with Poisson's restitution, came to.
pub(super) struct Solved {
    pub solution: Solution,
    /// Of the first of two problems.
    pub compression: Option<Certificate>,
    /// The least share of what the scheme asks for that an island took, where one took less than all of it.
    pub bounce: Option<f64>,
    /// Rows that missed what they asked for, those that press hardest first.
    pub missed: Vec<Party>,
}

/// A contact of two bodies, or a joint with its motors and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// Slot of the joint; None for a contact.
    pub joint: Option<u32>,
    /// Slots of its bodies, without the world.
    pub bodies: Vec<u32>,
}

impl Party {
    pub(super) fn of_joint(model: &Model, joint: u32) -> Self {
        let bodies = model.joints[joint as usize].bodies.into_iter();
        Self { joint: Some(joint), bodies: bodies.filter(|b| *b != WORLD_BODY).collect() }
    }

    /// Whose block it is.
    fn of_block(model: &Model, contacts: &[Contact], assembler: &Assembler, block: usize) -> Option<Self> {
        if let Some(i) = assembler.contact_of(block) {
            return Some(Self { joint: None, bodies: contacts[i].bodies.to_vec() });
        }
        Some(Self::of_joint(model, assembler.rows.joint_of(block.checked_sub(assembler.order.len())?)?))
    }
}

/// Parties that are named.
const NAMED: usize = 4;
/// A row that misses more than this share of the speed that it asks for was contradicted: by others that ask,
/// or by what rests between walls. What a load does to it within a step is less by far.
const MISSED: f64 = 0.5;
/// A contact that misses more than this share has nowhere to go, and shorter steps do not help: one of a wall
/// that pushes a light body with a heavy one behind it does its part in every one of them.
const STUCK: f64 = 0.9;
/// One that misses more than this many times what it asks for was pushed back where rest was possible: by a
/// hit, which shorter steps do share out. (Two that ask for opposite motions miss the sum of both.)
const PUSHED: f64 = 2.0;

/// Solves the posed problem.
pub(super) fn solve(
    setup: Setup,
    state: &State,
    free: &mut FreeMotion,
    collision: &mut Collision,
    to: &mut Velocity,
    hooks: &mut Hooks,
) -> Result<Solved, Malformed> {
    if to.loads.wanted() {
        loads::solve(setup, state, &free.v, collision, to)?;
    }
    let stop = stop(setup.settings);
    let mut driven = None;
    if stop.iterations > 0 && (collision.laws.hits() || to.assembler.rows.bounces) {
        let rest = rest(setup, state, &free.v, collision, to)?;
        formulate(setup, state, &free.v, collision, to, Asks::All, Some(&rest.gamma))?;
        driven = Some(rest);
    }
    hooks.show_problem(to);
    let mut solution = solve_posed(setup.settings, to)?;
    solution.iterations += to.loads.iterations;
    let (mut bounce, mut compression) = (None, None);
    if stop.iterations > 0 && solution.status != Status::Diverged {
        bounce = limit(setup, state, free, collision, to, &mut solution, driven)?;
        if collision.laws.expands() {
            let judged = match solution.certificate.take() {
                Some(c) => c,
                None => to.judge.judge(to.stiffness.posed(&to.assembler), &solution.gamma),
            };
            let (first, budget) =
                (solution.status, Budget::of_expansion(setup, state, free, collision, to, &solution));
            solution = expand(setup, state, free, collision, to, &solution)?;
            let share = budget.hold_expansion(state, &mut free.v, collision, to, &mut solution);
            bounce = bounce.or(share);
            if solution.status == Status::Converged {
                solution.status = first;
            }
            compression = Some(judged);
        }
    }
    let blocks = missed(setup.settings, to, &solution, [MISSED, f64::INFINITY]);
    let stuck = missed(setup.settings, to, &solution, [STUCK, PUSHED]);
    let party = |block: usize| Party::of_block(setup.model, &collision.contacts, &to.assembler, block);
    // What the scheme itself asks for contradicts nobody: arcs, and bounces that are held to the energy there
    // is (`bounce` tells of those).
    let own =
        |block: usize| match (to.assembler.contact_of(block), block.checked_sub(to.assembler.order.len())) {
            (Some(i), _) => {
                let arc = collision.predictor.arc(&collision.contacts[i].key);
                arc < 0.0 || bounce.is_some() && collision.laws.bounces(i)
            }
            (None, Some(row)) => bounce.is_some() && to.assembler.rows.is_bounce(row),
            (None, None) => false,
        };
    let mut missed = Vec::new();
    for party in blocks.iter().filter(|block| !own(**block)).filter_map(|block| party(*block)) {
        if missed.len() < NAMED && !missed.contains(&party) {
            missed.push(party);
        }
    }
    let contacts = stuck.iter().filter_map(|block| to.assembler.contact_of(*block));
    to.contradicted = contacts.map(|i| collision.contacts[i].bodies).collect();
    to.contradicted.sort_unstable();
    Ok(Solved { solution, compression, bounce, missed })
}

/// Solves the problem of what is driven alone: nothing bounces, joints go along tangents.
pub(super) fn rest(
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
fn solve_posed(settings: &Settings, to: &mut Velocity) -> Result<Solution, Malformed> {
    let stop = stop(settings);
    let Velocity { assembler, stiffness, solver, .. } = to;
    // Without iterations a guess would be the solution.
    let warm = settings.warm_start && settings.iterations > 0;
    let guess = warm.then_some(assembler.guess.as_slice());
    whole(solver.as_mut(), stiffness.posed(assembler), guess, &stop)
}

fn stop(s: &Settings) -> Stop {
    Stop { tolerance: s.tolerance, iterations: s.iterations, budget: s.budget, ..Stop::default() }
}

/// The second problem of a step in which contacts give back a share of their compression; see
/// `law/expansion.rs`.
fn expand(
    setup: Setup,
    state: &State,
    free: &mut FreeMotion,
    collision: &mut Collision,
    to: &mut Velocity,
    compression: &Solution,
) -> Result<Solution, Malformed> {
    to.velocities(state, &compression.gamma, &mut free.v);
    to.assembler.hand_back(&compression.gamma, &mut collision.contacts);
    // What springs, motors and friction of joints do in a step they have done.
    to.assembler.keep_rows(&compression.gamma, setup.settings.h);
    collision.laws.expand(setup.model, state, &mut collision.contacts, &mut free.v);
    formulate(setup, state, &free.v, collision, to, Asks::Expansion, None)?;
    let stop = stop(setup.settings);
    let Velocity { assembler, solver, .. } = to;
    let mut solution = whole(solver.as_mut(), &assembler.problem, Some(&assembler.guess), &stop)?;
    solution.iterations += compression.iterations;
    solution.rejected += compression.rejected;
    solution.attempts.splice(..0, compression.attempts.iter().copied());
    Ok(solution)
}

/// Blocks that could not do what was asked, those that press hardest first: those that missed it, or, of a
/// rigid problem without a solution, all.
fn missed(settings: &Settings, from: &Velocity, solution: &Solution, shares: [f64; 2]) -> Vec<usize> {
    let (gamma, assembler) = (&solution.gamma, &from.assembler);
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    if solution.status == Status::Wedged {
        let problem = from.posed();
        let press = |i: usize| {
            let size = gamma[problem.block(i)].iter().map(|x| x * x).sum::<f64>().sqrt();
            (size * problem.block_diagonal(i)[0], i)
        };
        blocks.extend((0..problem.blocks()).map(press));
    } else if assembler.problem.rows() == gamma.len() {
        let least = settings.tolerance;
        // What an arc asks for is nothing beside a hit.
        let arc = |block: u32| {
            let row = (block as usize).checked_sub(assembler.order.len());
            row.is_some_and(|row| assembler.rows.is_arc(row))
        };
        let driven = from.asks.iter().filter(|ask| !arc(ask.block));
        let lost = driven.filter(|ask| {
            let missed = ask.missed(gamma);
            missed > (shares[0] * ask.speed).max(least) && missed <= shares[1] * ask.speed
        });
        blocks.extend(lost.map(|ask| (ask.missed(gamma), ask.block as usize)));
    }
    blocks.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
    blocks.into_iter().map(|(_, block)| block).collect()
}
