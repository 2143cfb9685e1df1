//! Islands that one rank solves.
//!
//! Contacts and joints connect bodies to islands. A small one is solved by the rank that owns its first body
//! in the global order, with any solver: the others send it what they know of the island's problem, and hear
//! the multipliers. The problem is built from its bodies and rows in the global order, so that it is the
//! same whoever found them. What is not small is for all ranks together (`walk.rs`), if the solver works
//! across ranks.

use crate::comm::Comm;
use crate::domain::Movers;
use crate::island_problem::{IslandProblem, JointRow, Member, PointRows, STATES, badness};
use crate::labels::Labels;
use crate::methods::{Ended, Method, Plan, Stop, solve};
use crate::posed::Posed;
use crate::walk::Walk;

/// In place of the rank that solves an island: all of them together.
const ACROSS: u32 = u32::MAX;

/// By mover: the rank that solves its island. `orders` are the movers' places in the global order, `pairs`
/// what contacts and rows connect; an island of at least `limit` of those is solved by all.
fn leaders(comm: &dyn Comm, movers: &Movers, orders: &[u32], pairs: &[[u32; 2]], limit: usize) -> Vec<u32> {
    let labels = Labels::new(comm, movers, orders, pairs.iter().copied());
    let size = comm.size() as f64;
    // How many blocks an island has; each is its first body's owner's to count.
    let mut blocks = vec![[0.0]; movers.slots.len()];
    let mut some = vec![false; movers.slots.len()];
    for [a, _] in pairs {
        let root = labels.root[*a as usize] as usize;
        blocks[root][0] += f64::from(u8::from((*a as usize) < movers.own));
        some[root] = true;
    }
    labels.join(comm, &mut blocks, 0.0, |a, b| a + b);
    let leader = |root: usize| {
        let is_large = !some[root] || blocks[root][0] >= limit as f64;
        if is_large { ACROSS } else { (labels.first[root] % size) as u32 }
    };
    labels.root.iter().map(|root| leader(*root as usize)).collect()
}

/// Solves the posed problem, islands of it by single ranks as planned and the rest `across` all; the walk is
/// at the solution. The error is the same on every rank.
pub fn solve_all<'a>(
    posed: &Posed<'a>,
    plan: &mut Plan,
    across: Option<Method>,
    stop: &Stop,
) -> Result<(Walk<'a>, Ended), String> {
    let comm = posed.comm;
    let limit = if across.is_some() { plan.limit } else { usize::MAX };
    if let (0, Some(method)) = (limit, across) {
        let mut walk = Walk::new(posed, None, |_| true);
        let ended = solve(posed, &mut walk, method, *stop);
        return Ok((walk, ended));
    }
    let (points, rows) = (posed.blocks.len(), posed.rows() - 3 * posed.blocks.len());
    let all = (0..points).map(|i| posed.contact(i)).chain((0..rows).map(|i| posed.row(i)));
    let mut pairs: Vec<[u32; 2]> = Vec::with_capacity(points + rows);
    pairs.extend(all.filter(|pair| posed.is_own(*pair)));
    let lead = leaders(comm, posed.movers, &posed.orders, &pairs, limit);
    let is_small = |a: u32| lead[a as usize] != ACROSS;
    let mut some = [pairs.iter().any(|[a, _]| is_small(*a)), pairs.iter().any(|[a, _]| !is_small(*a))]
        .map(|yes| f64::from(u8::from(yes)));
    comm.most(&mut some);
    let mut ended = Ended::default();
    let mut gamma = vec![0.0; posed.rows()];
    if some[0] > 0.0 {
        ended.join(&by_single_ranks(posed, plan, stop, &lead, &mut gamma)?);
    }
    if let Some(method) = across.filter(|_| some[1] > 0.0) {
        let mut walk = Walk::new(posed, None, |a| !is_small(a));
        ended.join(&solve(posed, &mut walk, method, *stop));
        if some[0] == 0.0 {
            return Ok((walk, ended));
        }
        walk.write_rows(&mut gamma);
    }
    Ok((Walk::new(posed, Some(&gamma), |_| true), ended))
}

/// Solves the islands that ranks lead, each by its own; `gamma` takes the multipliers of this rank's rows.
fn by_single_ranks(
    posed: &Posed,
    plan: &mut Plan,
    stop: &Stop,
    lead: &[u32],
    gamma: &mut [f64],
) -> Result<Ended, String> {
    let (comm, me) = (posed.comm, posed.comm.rank());
    let mut led: Vec<IslandProblem> = (0..comm.size()).map(|_| IslandProblem::default()).collect();
    let rows = posed.rows() - 3 * posed.blocks.len();
    let is_here = |pair: &[u32; 2]| posed.is_own(*pair) && lead[pair[0] as usize] != ACROSS;
    let points: Vec<usize> = (0..posed.blocks.len()).filter(|i| is_here(&posed.contact(*i))).collect();
    let rows: Vec<usize> = (0..rows).filter(|i| is_here(&posed.row(*i))).collect();
    let mut touched = vec![false; posed.movers.own];
    let pairs = points.iter().map(|i| posed.contact(*i)).chain(rows.iter().map(|i| posed.row(*i)));
    for k in pairs.flatten().filter(|k| (*k as usize) < posed.movers.own) {
        touched[k as usize] = true;
    }
    // Each block is its first body's owner's to tell.
    let tells = |pair: [u32; 2]| (pair[0] as usize) < posed.movers.own;
    for (i, pair) in points.iter().map(|i| (*i, posed.contact(*i))).filter(|(_, pair)| tells(*pair)) {
        led[lead[pair[0] as usize] as usize].points.push(PointRows::take(posed, i, pair, posed.point_key(i)));
    }
    for (i, pair) in rows.iter().map(|i| (*i, posed.row(*i))).filter(|(_, pair)| tells(*pair)) {
        led[lead[pair[0] as usize] as usize].rows.push(JointRow::take(posed, i, pair, posed.row_key(i)));
    }
    for k in (0..touched.len()).filter(|k| touched[*k]) {
        led[lead[k] as usize].bodies.push(Member::take(posed, k));
    }
    let mut mine = std::mem::take(&mut led[me]);
    if comm.size() > 1 {
        let letter =
            |island: &IslandProblem| if island.bodies.is_empty() { Vec::new() } else { island.letter() };
        let letters = comm.swap(led.iter().map(letter).collect());
        letters.iter().filter(|letter| !letter.is_empty()).for_each(|letter| mine.add(letter));
    }
    let solved = mine.solve(plan, posed.staged.problem.model, posed.guess.is_some(), stop);
    let mut failed = [f64::from(u8::from(solved.is_err()))];
    comm.most(&mut failed);
    let (ended, mut known) = match solved {
        Ok(solved) if failed[0] == 0.0 => solved,
        Ok(_) => return Err("an island of another rank cannot be solved".into()),
        Err(e) => return Err(e.to_string()),
    };
    if comm.size() > 1 {
        let letter = |rank: usize| if rank == me { Vec::new() } else { known.letter(rank as u32) };
        let letters = comm.swap((0..comm.size()).map(letter).collect());
        letters.iter().filter(|letter| !letter.is_empty()).for_each(|letter| known.add(letter));
    }
    for i in points {
        let row = 3 * posed.blocks[i] as usize;
        gamma[row..row + 3].copy_from_slice(&known.point(posed.point_key(i)));
    }
    for i in rows {
        gamma[3 * posed.blocks.len() + i] = known.row(posed.row_key(i));
    }
    let mut numbers = [
        badness(ended.status) as f64,
        ended.iterations as f64,
        ended.rejected as f64,
        ended.residual,
        -ended.omega,
    ];
    comm.most(&mut numbers);
    let [badness, iterations, rejected, residual, omega] = numbers;
    let status = STATES[badness as usize];
    Ok(Ended {
        status,
        iterations: iterations as usize,
        omega: -omega,
        rejected: rejected as usize,
        residual,
    })
}
