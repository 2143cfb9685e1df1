//! Rows that could not do what was asked of them: who contradicts whom, told after the step.

use drystone_solve::solver::{Solution, Status};

use crate::contact::Contact;
use crate::formulation::Assembler;
use crate::model::Model;
use crate::report::Party;
use crate::setup::Setup;
use crate::workspace::{Collision, Velocity};

/// Parties that are named.
const MAX_PARTIES: usize = 4;
/// A row that misses more than this share of the speed that it asks for was contradicted: by others that ask,
/// or by what rests between walls. What a load does to it within a step is less by far.
const CONTRADICTED_SHARE: f64 = 0.5;
/// A contact that misses more than this share has nowhere to go, and shorter steps do not help: one of a wall
/// that pushes a light body with a heavy one behind it does its part in every one of them.
const BLOCKED_SHARE: f64 = 0.9;
/// One that misses more than this many times what it asks for was pushed back where rest was possible: by a
/// hit, which shorter steps do share out. (Two that ask for opposite motions miss the sum of both.)
const PUSHED_BACK_SHARE: f64 = 2.0;

/// Parties of the solved problem that missed what they asked for, those that press hardest first. What the
/// scheme itself asks for contradicts nobody: arcs, and bounces that are `held` to the energy that there is.
pub(crate) fn parties(
    setup: Setup,
    collision: &Collision,
    from: &Velocity,
    solution: &Solution,
    held: bool,
) -> Vec<Party> {
    let assembler = &from.assembler;
    let own = |block: usize| match (assembler.contact_of(block), block.checked_sub(assembler.order.len())) {
        (Some(i), _) => {
            let arc = collision.predictor.arc(&collision.contacts[i].key);
            arc < 0.0 || held && collision.laws.bounces(i)
        }
        (None, Some(row)) => held && assembler.rows.is_bounce(row),
        (None, None) => false,
    };
    let mut parties = Vec::new();
    let blocks = missed(setup, from, solution, [CONTRADICTED_SHARE, f64::INFINITY]);
    for block in blocks.into_iter().filter(|block| !own(*block)) {
        let party = party_of(setup.model, &collision.contacts, assembler, block);
        parties.extend(party.filter(|party| parties.len() < MAX_PARTIES && !parties.contains(party)));
    }
    parties
}

/// Pairs of bodies, in rising order, whose contacts have nowhere to go.
pub(crate) fn stuck_pairs(
    setup: Setup,
    collision: &Collision,
    from: &Velocity,
    solution: &Solution,
) -> Vec<[u32; 2]> {
    let blocks = missed(setup, from, solution, [BLOCKED_SHARE, PUSHED_BACK_SHARE]).into_iter();
    let contacts = blocks.filter_map(|block| from.assembler.contact_of(block));
    let mut pairs: Vec<[u32; 2]> = contacts.map(|i| collision.contacts[i].bodies).collect();
    pairs.sort_unstable();
    pairs
}

/// Blocks that could not do what was asked, those that press hardest first: those that missed it, or, of a
/// rigid problem without a solution, all.
fn missed(setup: Setup, from: &Velocity, solution: &Solution, shares: [f64; 2]) -> Vec<usize> {
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
        let least = setup.settings.tolerance;
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

/// Whose block it is.
fn party_of(model: &Model, contacts: &[Contact], assembler: &Assembler, block: usize) -> Option<Party> {
    if let Some(i) = assembler.contact_of(block) {
        return Some(Party { joint: None, bodies: contacts[i].bodies.to_vec() });
    }
    Some(Party::of_joint(model, assembler.rows.joint_of(block.checked_sub(assembler.order.len())?)?))
}
