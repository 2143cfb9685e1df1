//! The velocity problem of a step: solved, held to the energy that there is, solved again where things expand.

use drystone_solve::Malformed;
use drystone_solve::certificate::Certificate;
use drystone_solve::solver::{Solution, Status, Stop};

use super::energy::{Budget, limit};
use super::formulate::{Asks, formulate};
use crate::joint::slot::WORLD_BODY;
use crate::world::World;

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
    pub(super) fn of_joint(w: &World, joint: u32) -> Self {
        let bodies = w.model.joints[joint as usize].bodies.into_iter();
        Self { joint: Some(joint), bodies: bodies.filter(|b| *b != WORLD_BODY).collect() }
    }

    /// Whose block it is.
    fn of_block(w: &World, block: usize) -> Option<Self> {
        if let Some(i) = w.assembler.contact_of(block) {
            return Some(Self { joint: None, bodies: w.contacts[i].bodies.to_vec() });
        }
        Some(Self::of_joint(w, w.assembler.rows.joint_of(block.checked_sub(w.assembler.order.len())?)?))
    }
}

/// Parties that are named.
const NAMED: usize = 4;
/// A row that misses more than this share of the speed that it asks for was contradicted: by others that ask, or by what rests between
/// walls. What a load does to it within a step is less by far.
const MISSED: f64 = 0.5;

/// Solves the posed problem.
pub(super) fn solve(w: &mut World) -> Result<Solved, Malformed> {
    let stop = stop(w);
    // Without iterations a guess would be the solution.
    let warm = w.settings.warm_start && w.settings.iterations > 0;
    let mut driven = None;
    if stop.iterations > 0 && (w.laws.hits() || w.assembler.rows.bounces) {
        driven = Some(rest(w, &stop, warm)?);
        formulate(w, Asks::All, driven.as_ref().map(|s| s.gamma.as_slice()))?;
    }
    w.call_problem_hook();
    let guess = warm.then_some(w.assembler.guess.as_slice());
    let mut solution = w.solver.solve(w.stiffness.posed(&w.assembler), guess, &stop)?;
    let (mut bounce, mut compression) = (None, None);
    if stop.iterations > 0 && solution.status != Status::Diverged {
        bounce = limit(w, &mut solution, driven, &stop, warm)?;
        if w.laws.expands() {
            let judged = match solution.certificate.take() {
                Some(c) => c,
                None => w.judge.judge(w.stiffness.posed(&w.assembler), &solution.gamma),
            };
            let (first, budget) = (solution.status, Budget::of_expansion(w, &solution));
            solution = expand(w, &solution, &stop)?;
            let share = budget.hold_expansion(w, &mut solution);
            bounce = bounce.or(share);
            if solution.status == Status::Converged {
                solution.status = first;
            }
            compression = Some(judged);
        }
    }
    let missed = missed(w, &solution);
    Ok(Solved { solution, compression, bounce, missed })
}

/// Solves the problem of what is driven alone: nothing bounces, joints go along tangents.
pub(super) fn rest(w: &mut World, stop: &Stop, warm: bool) -> Result<Solution, Malformed> {
    formulate(w, Asks::Driven, None)?;
    let guess = warm.then_some(w.assembler.guess.as_slice());
    w.solver.solve(w.stiffness.posed(&w.assembler), guess, stop)
}

pub(super) fn stop(w: &World) -> Stop {
    Stop {
        tolerance: w.settings.tolerance,
        iterations: w.settings.iterations,
        budget: w.settings.budget,
        history: false,
    }
}

/// The second problem of a step in which contacts give back a share of their compression; see `law/expansion.rs`.
fn expand(w: &mut World, compression: &Solution, stop: &Stop) -> Result<Solution, Malformed> {
    w.velocities(&compression.gamma);
    w.assembler.hand_back(&compression.gamma, &mut w.contacts);
    // What springs, motors and friction of joints do in a step they have done.
    w.assembler.keep_rows(&compression.gamma, w.settings.h);
    w.laws.expand(&w.model, &w.state, &mut w.contacts, &mut w.v_free);
    formulate(w, Asks::Expansion, None)?;
    let mut solution = w.solver.solve(&w.assembler.problem, Some(&w.assembler.guess), stop)?;
    solution.iterations += compression.iterations;
    solution.rejected += compression.rejected;
    solution.attempts.splice(..0, compression.attempts.iter().copied());
    Ok(solution)
}

/// Who could not do what was asked: rows that missed it, or, of a rigid problem without a solution, those that press hardest.
fn missed(w: &World, solution: &Solution) -> Vec<Party> {
    let gamma = &solution.gamma;
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    if solution.status == Status::Wedged {
        let problem = w.stiffness.posed(&w.assembler);
        let press = |i: usize| {
            let size = gamma[problem.block(i)].iter().map(|x| x * x).sum::<f64>().sqrt();
            (size * problem.block_diagonal(i)[0], i)
        };
        blocks.extend((0..problem.blocks()).map(press));
    } else if w.assembler.problem.rows() == gamma.len() {
        let least = w.settings.tolerance;
        // What an arc asks for is nothing beside a hit.
        let arc = |block: u32| {
            let row = (block as usize).checked_sub(w.assembler.order.len());
            row.is_some_and(|row| w.assembler.rows.is_arc(row))
        };
        let driven = w.asks.iter().filter(|ask| !arc(ask.block));
        let lost = driven.filter(|ask| ask.missed(gamma) > (MISSED * ask.speed).max(least));
        blocks.extend(lost.map(|ask| (ask.missed(gamma), ask.block as usize)));
    }
    blocks.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
    let mut parties = Vec::new();
    for party in blocks.iter().filter_map(|(_, block)| Party::of_block(w, *block)) {
        if parties.len() == NAMED {
            break;
        }
        if !parties.contains(&party) {
            parties.push(party);
        }
    }
    parties
}
