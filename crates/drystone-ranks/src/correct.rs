//! Removes overlaps of where bodies have come to, over ranks: as `stabilise.rs` of drystone does, which says
//! why.
//!
//! Only bodies within a few rings of neighbours around what is due are moved, all others stay where they are.
//! What is moved falls into islands: each is looked at as far ahead as its own errors ask for, moved as far
//! as its own contacts were looked for, and done when it is. Rings, distances and islands of bodies at
//! borders are their owners' to say, and told to those who have them as ghosts.

use drystone::Contact;
use drystone::StepError;
use drystone::solve::solver::Status;
use drystone::stages::JointError;

use crate::comm::Comm;
use crate::domain::Domain;
use crate::islands::solve_all;
use crate::labels::Labels;
use crate::message::{Reader, Writer};
use crate::methods::{Plan, Stop};
use crate::posed::Posed;
use crate::run::RanksError;
use crate::step::{any, is_unresolved, size};
use crate::touch::NOBODY;

/// How far ahead contacts are looked for in a position problem, over the largest error of an island: overlaps
/// add up along a stack, and joints have levers.
const AHEAD: f64 = 4.0;
const LEVERS: f64 = 16.0;
/// Rings of neighbours that move with what is due, in the first problem, and by how much more in the next
/// ones.
const RINGS: u8 = 2;
const MORE_RINGS: u8 = 4;

/// What became of positions.
#[derive(Default)]
pub struct Corrected {
    /// Position problems.
    pub rounds: usize,
    /// Whether the step has made an overlap that it should not have.
    pub unresolved: bool,
}

/// Bodies that have not been moved, or are done, stay as they are in the rounds that follow.
#[derive(Default)]
struct Open {
    /// By slot of the whole; empty: all bodies are looked at.
    of: Vec<bool>,
}

/// What is to be moved.
struct Region {
    /// By slot of the part: whether it stays where it is.
    held: Vec<bool>,
    /// By slot of the part: how much further its contacts are looked for, m.
    more: Vec<f64>,
}

/// An island, by root: the largest overlap over the size of the pair, sizes (turned round: the largest of
/// what is smallest), the furthest that a point of a body would move, m, and that over what is allowed.
type Island = [f64; 4];
const WORST: usize = 0;
const SIZE: usize = 1;
const WAY: usize = 2;
const OVER: usize = 3;

impl Open {
    /// Whether body `slot` of the part is looked at.
    fn holds(&self, domain: &Domain, slot: usize) -> bool {
        self.of.is_empty() || self.of[domain.part.bodies[slot] as usize]
    }

    /// Who is not looked at, by slot of the part; nobody: empty.
    fn others(&self, domain: &Domain) -> Vec<bool> {
        let n = if self.of.is_empty() { 0 } else { domain.part.bodies.len() };
        (0..n).map(|slot| !self.holds(domain, slot)).collect()
    }

    /// Tells all ranks which bodies of this one are open: space is about to be shared out anew.
    fn spread(&mut self, comm: &dyn Comm, domain: &Domain) {
        if self.of.is_empty() {
            return;
        }
        let mut to = Writer::default();
        let own = domain.movers.slots[..domain.movers.own].iter().map(|slot| *slot as usize);
        for slot in own.filter(|slot| self.holds(domain, *slot)) {
            to.word(u64::from(domain.part.bodies[slot]));
        }
        self.of.fill(false);
        for letter in comm.swap(vec![to.0; comm.size()]) {
            let mut from = Reader(&letter);
            while !from.is_empty() {
                self.of[from.word() as usize] = true;
            }
        }
    }
}

/// Makes sure that all contacts of own bodies at rest, `more` further than the envelope, m, by slot of the
/// part, are found here. True if bodies have changed places for that.
fn cover(comm: &dyn Comm, domain: &mut Domain, open: &mut Open, more: &[f64]) -> Result<bool, RanksError> {
    let of = |slot: usize| more.get(slot).copied().unwrap_or(0.0);
    if !domain.is_short(comm, |_| [0.0; 6], of) {
        return Ok(false);
    }
    open.spread(comm, domain);
    let mut most = [more.iter().copied().fold(0.0, f64::max)];
    comm.most(&mut most);
    domain.rebuild(comm, most[0] + domain.falls(), 0.0)?;
    Ok(true)
}

/// Contacts where the bodies are, without those among bodies that are `held`, `more` further than the
/// envelope.
fn find(domain: &mut Domain, held: &[bool], more: &[f64]) -> Vec<Contact> {
    let about = domain.part.world.contacts().len();
    let (own, mut gaps) = (std::mem::take(&mut domain.own), Vec::with_capacity(about + about / 4));
    let wanted = |[a, b]: [u32; 2]| own[a as usize] || own[b as usize];
    domain.part.world.stage_gaps(held, more, wanted, &mut gaps);
    domain.own = own;
    gaps
}

/// Removes overlaps and errors of joints. `last`: whether the step is taken whatever it has led to.
pub fn correct(
    comm: &dyn Comm,
    domain: &mut Domain,
    plan: &mut Plan,
    last: bool,
) -> Result<Corrected, RanksError> {
    let mut out = Corrected::default();
    let Some(how) = domain.part.world.removal() else { return Ok(out) };
    let share = how.reach / how.rounds as f64;
    let (mut open, mut rings) = (Open::default(), RINGS);
    while out.rounds < how.rounds {
        let enough = if out.rounds == 0 { how.tolerance } else { how.accept };
        cover(comm, domain, &mut open, &[])?;
        let (mut near, joints, region) = loop {
            let gaps = find(domain, &open.others(domain), &[]);
            if out.rounds == 0 && !last && any(comm, is_unresolved(domain, &gaps)) {
                out.unresolved = true;
                return Ok(out);
            }
            let joints = domain.part.world.stage_joint_errors(share);
            let Some(region) = choose(comm, domain, &gaps, &joints, [enough, share], rings) else {
                return Ok(out);
            };
            if !cover(comm, domain, &mut open, &region.more)? {
                break (gaps, joints, region);
            }
        };
        if out.rounds > 0 || any(comm, !region.more.is_empty()) {
            near = find(domain, &region.held, &region.more);
        } else {
            near.retain(|c| c.bodies.iter().any(|b| !region.held[*b as usize]));
        }
        domain.part.world.stage_pose_gaps(&near, &region.held, share);
        let posed = Posed::new(comm, domain, &near, false);
        let joints = joints.iter().filter(|j| j.bodies.iter().any(|b| region.moves(*b)));
        let mut finest = [f64::NEG_INFINITY];
        near.iter().for_each(|c| finest[0] = finest[0].max(-size(domain, c)));
        joints.clone().for_each(|j| finest[0] = finest[0].max(-j.size / j.urgency));
        comm.most(&mut finest);
        let stop = Stop { tolerance: -0.25 * how.tolerance * finest[0], iterations: how.iterations };
        let step = domain.part.world.state().step + 1;
        let solved = solve_all(&posed, plan, plan.corrects, &stop);
        let (walk, ended) = solved.map_err(|text| RanksError::Step(StepError::NonFinite { step, text }))?;
        if ended.status == Status::Diverged {
            let text = "the position problem diverged".into();
            return Err(RanksError::Step(StepError::NonFinite { step, text }));
        }
        let mut moved = walk.velocities(&vec![[0.0; 6]; domain.part.bodies.len()]);
        drop(walk);
        let (labels, islands) = measure(&posed, domain, &near, joints, &region, &moved);
        drop(posed);
        out.rounds += 1;
        let done = |island: &Island| {
            // What the tangent leaves is of second order in the way.
            ended.status == Status::Converged
                && island[OVER] <= 1.0
                && island[WORST] <= share
                && island[WAY] * island[WAY] <= 0.25 * how.accept * island[SIZE] * island[SIZE]
        };
        open.of.resize(domain.whole.model().bodies.len(), false);
        open.of.fill(false);
        let mut some = false;
        for (slot, root) in domain.movers.slots.iter().zip(&labels.root) {
            let (slot, island) = (*slot as usize, &islands[*root as usize]);
            if region.held[slot] {
                continue;
            }
            let taken = 1.0 / island[OVER].max(1.0);
            if taken != 1.0 {
                moved[slot].iter_mut().for_each(|x| *x *= taken);
            }
            if !done(island) {
                open.of[domain.part.bodies[slot] as usize] = true;
                some = true;
            }
        }
        domain.part.world.stage_shift(&moved);
        if !any(comm, some) {
            return Ok(out);
        }
        rings = rings.saturating_mul(MORE_RINGS);
    }
    Ok(out)
}

impl Region {
    /// Whether there is such a body, and it is moved.
    fn moves(&self, slot: u32) -> bool {
        self.held.get(slot as usize) == Some(&false)
    }
}

/// Places of movers by slot of the part.
fn places(domain: &Domain) -> Vec<u32> {
    let mut place = vec![NOBODY; domain.part.bodies.len()];
    domain.movers.slots.iter().zip(0..).for_each(|(slot, k)| place[*slot as usize] = k);
    place
}

/// Places of movers in the global order.
fn orders(domain: &Domain) -> Vec<u32> {
    domain.movers.slots.iter().map(|slot| domain.order_of(*slot)).collect()
}

/// The bodies around errors that are due, and how far each of their islands has to look; None if none is.
fn choose(
    comm: &dyn Comm,
    domain: &Domain,
    gaps: &[Contact],
    joints: &[JointError],
    [enough, share]: [f64; 2],
    rings: u8,
) -> Option<Region> {
    let (movers, place, orders) = (&domain.movers, places(domain), orders(domain));
    let at = |slot: u32| place.get(slot as usize).copied().unwrap_or(NOBODY);
    let ends = |bodies: &[u32; 2]| bodies.map(at).into_iter().filter(|k| *k != NOBODY).map(|k| k as usize);
    // Bodies by their distance from what is due, counted in contacts, and 1 more; 0 for those further off.
    let mut ring = vec![[0.0]; movers.slots.len()];
    for c in gaps.iter().filter(|c| -c.gap > enough * size(domain, c)) {
        ends(&c.bodies).for_each(|k| ring[k] = [1.0]);
    }
    for j in joints.iter().filter(|j| j.urgency * j.error > enough) {
        ends(&j.bodies).for_each(|k| ring[k] = [1.0]);
    }
    if !any(comm, ring.iter().any(|[r]| *r > 0.0)) {
        return None;
    }
    // All of a mechanism moves, or nothing of it.
    let mechanisms = any(comm, !joints.is_empty())
        .then(|| Labels::new(comm, movers, &orders, joints.iter().map(|j| j.bodies.map(at))));
    let complete = |ring: &mut [[f64; 1]], r: f64| {
        movers.tell(comm, ring);
        let Some(labels) = &mechanisms else { return };
        let mut there = vec![[0.0]; ring.len()];
        for (root, [at]) in labels.root.iter().zip(&*ring) {
            if *at == r {
                there[*root as usize] = [1.0];
            }
        }
        labels.most(comm, &mut there);
        for (root, at) in labels.root.iter().zip(ring) {
            if *at == [0.0] && there[*root as usize] == [1.0] {
                *at = [r];
            }
        }
    };
    complete(&mut ring, 1.0);
    for r in (1..=rings).map(f64::from) {
        for c in gaps {
            if ends(&c.bodies).any(|k| ring[k] == [r]) {
                for k in ends(&c.bodies) {
                    ring[k] = if ring[k] == [0.0] { [r + 1.0] } else { ring[k] };
                }
            }
        }
        complete(&mut ring, r + 1.0);
    }
    let mut held = vec![true; domain.part.bodies.len()];
    for (slot, at) in movers.slots.iter().zip(&ring) {
        held[*slot as usize] = *at == [0.0];
    }
    let mut region = Region { held, more: Vec::new() };
    // By island: its largest error, m, and how many times as far it looks.
    let moving = |bodies: &[u32; 2]| bodies.map(|b| if region.moves(b) { at(b) } else { NOBODY });
    let pairs = gaps.iter().map(|c| moving(&c.bodies)).chain(joints.iter().map(|j| moving(&j.bodies)));
    let labels = Labels::new(comm, movers, &orders, pairs);
    let mut deepest = vec![[0.0f64, AHEAD]; ring.len()];
    let roots = |bodies: &[u32; 2]| {
        let there = moving(bodies).into_iter().filter(|k| *k != NOBODY);
        there.map(|k| labels.root[k as usize] as usize)
    };
    for c in gaps.iter().filter(|c| c.gap < 0.0) {
        let error = (-c.gap).min(share * size(domain, c));
        roots(&c.bodies).for_each(|k| deepest[k][0] = deepest[k][0].max(error));
    }
    for j in joints {
        roots(&j.bodies).for_each(|k| deepest[k] = [deepest[k][0].max(j.error * j.size), LEVERS]);
    }
    labels.most(comm, &mut deepest);
    let base = domain.part.world.envelope().base;
    let mut more = vec![[0.0]; ring.len()];
    for (k, more) in more.iter_mut().enumerate().filter(|(k, _)| ring[*k] != [0.0]) {
        let [error, times] = deepest[labels.root[k] as usize];
        *more = [if error * times > base { error * times } else { 0.0 }];
    }
    movers.tell(comm, &mut more);
    if more.iter().any(|m| *m != [0.0]) {
        region.more = vec![0.0; domain.part.bodies.len()];
        movers.slots.iter().zip(&more).for_each(|(slot, [m])| region.more[*slot as usize] = *m);
    }
    Some(region)
}

/// The islands of a posed problem, by root, whose solution would move bodies by `moved`.
fn measure<'j>(
    posed: &Posed,
    domain: &Domain,
    contacts: &[Contact],
    joints: impl Iterator<Item = &'j JointError>,
    region: &Region,
    moved: &[[f64; 6]],
) -> (Labels, Vec<Island>) {
    let rows = posed.rows() - 3 * posed.blocks.len();
    let pairs = (0..contacts.len()).map(|i| posed.contact(i)).chain((0..rows).map(|i| posed.row(i)));
    let labels = Labels::new(posed.comm, posed.movers, &posed.orders, pairs);
    let mut islands: Vec<Island> = vec![[0.0; 4]; labels.root.len()];
    // Sizes go as the largest of their inverses.
    for (i, c) in contacts.iter().enumerate() {
        let island = &mut islands[labels.root[posed.contact(i)[0] as usize] as usize];
        let size = size(domain, c);
        island[WORST] = island[WORST].max(-c.gap / size);
        island[SIZE] = island[SIZE].max(1.0 / size);
    }
    for j in joints {
        for k in j.bodies.iter().filter(|b| region.moves(**b)).map(|b| posed.place[*b as usize]) {
            let island = &mut islands[labels.root[k as usize] as usize];
            island[WORST] = island[WORST].max(j.error);
            island[SIZE] = island[SIZE].max(1.0 / j.size);
        }
    }
    let (model, mut envelope) = (domain.part.world.model(), domain.part.world.envelope());
    envelope.more = &region.more;
    for c in model.colliders.iter().filter(|c| region.moves(c.body) && domain.own[c.body as usize]) {
        let d = &moved[c.body as usize];
        let length = |k: usize| (d[k] * d[k] + d[k + 1] * d[k + 1] + d[k + 2] * d[k + 2]).sqrt();
        let way = length(0) + c.radius * length(3);
        // Nobody moves by more than half of the distance up to which its contacts were looked for.
        let reach = envelope.of_pair(c.shape.inner_radius(), [c.body; 2]);
        let island = &mut islands[labels.root[posed.place[c.body as usize] as usize] as usize];
        island[WAY] = island[WAY].max(way);
        island[OVER] = island[OVER].max(way / (0.5 * reach));
    }
    labels.most(posed.comm, &mut islands);
    islands.iter_mut().for_each(|island| island[SIZE] = 1.0 / island[SIZE]);
    (labels, islands)
}
