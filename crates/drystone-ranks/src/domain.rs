//! What a rank owns, what it has copies of, and how bodies go from one to another.

use std::collections::HashMap;

use drystone::{BodyMotion, Contact, Motion, Part, World};
use glam::DVec3;

use crate::comm::{Comm, Neighbour};
use crate::cut::Cut;
use crate::message::{Reader, Writer};
use crate::reach::Reach;
use crate::run::RanksError;

/// Steps between two cuts by measured time.
const RECUT: u64 = 20;
/// Largest over mean time of ranks that is let be.
const BALANCED: f64 = 1.05;
/// The weight of a body of mean cost.
const WEIGHT: f64 = 1000.0;

/// The bodies of a rank: its own, copies of others' near its border, and all that are not dynamic.
pub struct Domain {
    /// All bodies as the scene has them. Motions in it are those of the start, or of where [`Domain::fetch`]
    /// last brought them.
    pub whole: World,
    /// By slot of the whole: the place in the global order.
    order: Vec<u32>,
    /// By slot of the whole.
    dynamic: Vec<bool>,
    pub part: Part,
    /// By slot of the part: whether this rank owns it.
    pub own: Vec<bool>,
    /// Slots of the part: own bodies that somebody has as a ghost, the other own ones, and ghosts in the
    /// order in which they come.
    pub movers: Movers,
    pub reach: Reach,
    /// By slot of the part: where own bodies were when ghosts were chosen, and the reach that was then.
    chosen: Vec<(DVec3, f64)>,
    cut: Option<Cut>,
    /// Steps since space was cut.
    age: u64,
    pub rebuilds: u64,
    pub recuts: u64,
}

/// Dynamic bodies of a part in the order of the solver.
#[derive(Default)]
pub struct Movers {
    /// Slots of the part.
    pub slots: Vec<u32>,
    /// How many of them are own and at a border, and how many are own.
    pub border: usize,
    pub own: usize,
    pub neighbours: Vec<Neighbour>,
    /// Places in `slots` whose velocities are sent, neighbour by neighbour.
    pub sends: Vec<u32>,
    /// Places in `slots` that what is received goes to.
    pub receives: Vec<u32>,
}

impl Domain {
    /// Spreads a world over the ranks; every one of them is given all of it.
    pub fn new(comm: &dyn Comm, mut whole: World) -> Result<Self, RanksError> {
        whole.check_parts().map_err(RanksError::Refused)?;
        let order = whole.global_order();
        let model = whole.model();
        let dynamic = model.bodies.iter().map(|b| b.alive && b.motion == Motion::Dynamic).collect();
        let part = whole.part(&[]).map_err(|e| RanksError::Refused(e.to_string()))?;
        let reach = Reach::new(&whole);
        let mut out = Self {
            order,
            dynamic,
            part,
            own: Vec::new(),
            movers: Movers::default(),
            reach,
            chosen: Vec::new(),
            cut: None,
            age: 0,
            rebuilds: 0,
            recuts: 0,
            whole,
        };
        // To begin with, everybody has a run of the bodies.
        let slots: Vec<u32> =
            out.in_order((0..out.dynamic.len() as u32).filter(|i| out.dynamic[*i as usize]));
        let share = slots.len().div_ceil(comm.size()).max(1);
        let mine = slots.chunks(share).nth(comm.rank()).unwrap_or(&[]);
        let state = out.whole.state();
        let motion = |slot: &u32| {
            let i = *slot as usize;
            let (position, rotation) = (state.position[i], state.rotation[i]);
            BodyMotion { slot: *slot, position, rotation, velocity: state.velocity[i], omega: state.omega[i] }
        };
        let bodies = mine.iter().map(motion).collect();
        let contacts = out.whole.remembered(&out.order);
        out.settle(comm, bodies, contacts, 0.0, Some(vec![1; mine.len()]))?;
        Ok(out)
    }

    /// Slots of the whole in the global order.
    fn in_order(&self, slots: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut slots: Vec<u32> = slots.collect();
        slots.sort_unstable_by_key(|slot| self.order[*slot as usize]);
        slots
    }

    /// Whether some own body of some rank may meet a body that its rank has no copy of, in a step at
    /// velocities `v` and with contacts looked for `more` further, m.
    pub fn is_short(&self, comm: &dyn Comm, v: &[[f64; 6]], more: f64) -> bool {
        let state = self.part.world.state();
        let slots = &self.movers.slots[..self.movers.own];
        let short = slots.iter().any(|slot| {
            let k = *slot as usize;
            let (x, room) = &self.chosen[k];
            // Turned round, so that no number counts as short.
            !(state.position[k].distance(*x) + self.reach.of(self.part.bodies[k], &v[k]) + more <= *room)
        });
        let mut any = [f64::from(u8::from(short))];
        comm.most(&mut any);
        any[0] > 0.0
    }

    /// A step is over.
    pub fn aged(&mut self) {
        self.age += 1;
    }

    /// Bodies go to who owns the place where they are, and ghosts are chosen anew, for contacts `more`
    /// further than the envelope, m. `seconds` is what this rank has computed since the last time: where
    /// ranks differ by much, space is cut anew.
    pub fn rebuild(&mut self, comm: &dyn Comm, more: f64, seconds: f64) -> Result<(), RanksError> {
        self.rebuilds += 1;
        let kept = self.keep();
        let weights = self.weights(comm, kept.bodies.len(), seconds);
        if weights.is_some() {
            self.recuts += 1;
        }
        self.settle(comm, kept.bodies, kept.contacts, more, weights)
    }

    /// Everything of this rank that a step changes.
    pub fn keep(&self) -> Kept {
        let own = &self.movers.slots[..self.movers.own];
        let still = (0..self.part.bodies.len()).filter(|k| !self.dynamic[self.part.bodies[*k] as usize]);
        Kept {
            bodies: own.iter().map(|slot| self.part.motion(*slot as usize)).collect(),
            fixed: still.map(|k| self.part.motion(k)).collect(),
            contacts: self.part.contacts().collect(),
        }
    }

    /// Goes back to what was kept, whoever owns what by now.
    pub fn put_back(&mut self, comm: &dyn Comm, kept: Kept) -> Result<(), RanksError> {
        self.rebuilds += 1;
        let still = (0..self.part.bodies.len()).filter(|k| !self.dynamic[self.part.bodies[*k] as usize]);
        for (k, m) in still.collect::<Vec<_>>().into_iter().zip(&kept.fixed) {
            self.part.put(k, m);
        }
        self.settle(comm, kept.bodies, kept.contacts, 0.0, None)
    }

    /// What each own body costs, where space is to be cut anew.
    fn weights(&self, comm: &dyn Comm, own: usize, seconds: f64) -> Option<Vec<i64>> {
        if self.age < RECUT || comm.size() == 1 {
            return None;
        }
        let mut most = [seconds];
        comm.most(&mut most);
        let mut sums = [(1e6 * seconds) as i64, own as i64];
        comm.add(&mut sums);
        let (mean, bodies) = (1e-6 * sums[0] as f64, sums[1] as f64);
        if !(most[0] * comm.size() as f64 > BALANCED * mean) || bodies == 0.0 {
            return None;
        }
        let own = own.max(1);
        let cost = (seconds / own as f64) / (mean / bodies);
        Some(vec![(WEIGHT * cost.clamp(0.2, 5.0)) as i64; own])
    }

    /// Makes the part of this rank from what ranks own now.
    fn settle(
        &mut self,
        comm: &dyn Comm,
        bodies: Vec<BodyMotion>,
        contacts: Vec<Contact>,
        more: f64,
        weights: Option<Vec<i64>>,
    ) -> Result<(), RanksError> {
        if let Some(weights) = weights {
            let placed: Vec<_> = bodies.iter().zip(weights).map(|(b, w)| (b.position, w)).collect();
            (self.cut, self.age) = (Some(Cut::new(comm, &placed)), 0);
        }
        let (mut bodies, contacts) = self.migrate(comm, bodies, contacts);
        bodies.sort_unstable_by_key(|b| self.order[b.slot as usize]);
        // Bodies that are not dynamic are where everybody knows them to be.
        let now = if self.rebuilds == 0 { self.whole.state() } else { self.part.world.state() };
        let (time, step) = (now.time, now.step);
        let fixed: Vec<BodyMotion> = (0..self.part.bodies.len())
            .filter(|k| !self.dynamic[self.part.bodies[*k] as usize])
            .map(|k| self.part.motion(k))
            .collect();
        self.whole.take_parts(time, step, &fixed, &[]);
        self.whole.take_parts(time, step, &bodies, &[]);
        let h = self.part.world.settings().h;
        let (ghosts, send) = self.ghosts(comm, &bodies, more);
        for list in &ghosts {
            self.whole.take_parts(time, step, list, &[]);
        }
        let own: Vec<u32> = bodies.iter().map(|b| b.slot).collect();
        let others = ghosts.iter().flatten().map(|g| g.slot);
        let still = (0..self.dynamic.len() as u32)
            .filter(|i| !self.dynamic[*i as usize] && self.whole.model().bodies[*i as usize].alive);
        let slots = self.in_order(own.iter().copied().chain(others).chain(still));
        self.part = self.whole.part(&slots).map_err(|e| RanksError::Refused(e.to_string()))?;
        self.part.world.set_stage_step(h);
        let place: HashMap<u32, u32> = self.part.colliders.iter().copied().zip(0u32..).collect();
        self.part.take_contacts(&contacts, |k| place.get(&k).copied());
        self.line_up(&own, &ghosts, &send);
        self.chosen = vec![(DVec3::ZERO, 0.0); slots.len()];
        let state = self.part.world.state();
        for slot in &self.movers.slots[..self.movers.own] {
            let k = *slot as usize;
            let m = self.part.motion(k);
            let skin = self.reach.with_skin(m.slot, &twist(&m), more);
            self.chosen[k] = (state.position[k], skin);
        }
        Ok(())
    }

    /// Bodies go to their owners, with what their contacts remember.
    fn migrate(
        &self,
        comm: &dyn Comm,
        bodies: Vec<BodyMotion>,
        contacts: Vec<Contact>,
    ) -> (Vec<BodyMotion>, Vec<Contact>) {
        let Some(cut) = self.cut.as_ref().filter(|_| comm.size() > 1) else { return (bodies, contacts) };
        let me = comm.rank();
        let mut to: Vec<Writer> = (0..comm.size()).map(|_| Writer::default()).collect();
        let mut goes: HashMap<u32, usize> = HashMap::with_capacity(bodies.len());
        let mut stay = Vec::with_capacity(bodies.len());
        let mut leaving = vec![Vec::new(); comm.size()];
        for b in bodies {
            let owner = cut.owner(b.position);
            goes.insert(b.slot, owner);
            if owner == me { stay.push(b) } else { leaving[owner].push(b) }
        }
        for (to, bodies) in to.iter_mut().zip(&leaving) {
            to.word(bodies.len() as u64);
            bodies.iter().for_each(|b| to.motion(b));
        }
        let colliders = &self.whole.model().colliders;
        let mut kept = Vec::with_capacity(contacts.len());
        for c in contacts {
            // Those of own bodies alone: others have theirs.
            let [a, b] = c.key.colliders.map(|k| goes.get(&colliders[k as usize].body).copied());
            for owner in [a, b.filter(|b| Some(*b) != a)].into_iter().flatten() {
                if owner == me { kept.push(c) } else { to[owner].contact(&c) }
            }
        }
        let mut out: Vec<Vec<u8>> = to.into_iter().map(|w| w.0).collect();
        out[me].clear();
        for letter in comm.swap(out).iter().filter(|letter| !letter.is_empty()) {
            let mut from = Reader(letter);
            let count = from.word();
            stay.extend((0..count).map(|_| from.motion()));
            while !from.is_empty() {
                kept.push(from.contact());
            }
        }
        (stay, kept)
    }

    /// Copies of bodies near the border, by the rank that they come from; and which own ones go where.
    fn ghosts(
        &self,
        comm: &dyn Comm,
        own: &[BodyMotion],
        more: f64,
    ) -> (Vec<Vec<BodyMotion>>, Vec<Vec<u32>>) {
        let (size, me) = (comm.size(), comm.rank());
        if size == 1 {
            return (vec![Vec::new()], vec![Vec::new()]);
        }
        let reach = &self.reach;
        let ball =
            |b: &BodyMotion| (b.position, reach.radius(b.slot) + reach.with_skin(b.slot, &twist(b), more));
        let balls: Vec<(DVec3, f64)> = own.iter().map(ball).collect();
        // By rank: the box of its own bodies' reach, as the largest of what is and what is turned round.
        let mut sides = vec![f64::NEG_INFINITY; 6 * size];
        for (x, r) in &balls {
            for axis in 0..3 {
                let side = &mut sides[6 * me..6 * me + 6];
                side[axis] = side[axis].max(r - x[axis]);
                side[3 + axis] = side[3 + axis].max(r + x[axis]);
            }
        }
        comm.most(&mut sides);
        let meets = |rank: usize, (x, r): &(DVec3, f64)| {
            let side = &sides[6 * rank..6 * rank + 6];
            (0..3).all(|axis| x[axis] + r >= -side[axis] && x[axis] - r <= side[3 + axis])
        };
        let mut send = vec![Vec::new(); size];
        let mut letters = vec![Vec::new(); size];
        for rank in (0..size).filter(|rank| *rank != me) {
            let mut to = Writer::default();
            for (b, _) in own.iter().zip(&balls).filter(|(_, ball)| meets(rank, ball)) {
                send[rank].push(b.slot);
                to.motion(b);
            }
            letters[rank] = to.0;
        }
        let from = comm.swap(letters);
        let read = |letter: &Vec<u8>| {
            let mut from = Reader(letter);
            let mut out = Vec::new();
            while !from.is_empty() {
                out.push(from.motion());
            }
            out
        };
        (from.iter().map(read).collect(), send)
    }

    /// Puts dynamic bodies in the order of the solver.
    fn line_up(&mut self, own: &[u32], ghosts: &[Vec<BodyMotion>], send: &[Vec<u32>]) {
        let local: HashMap<u32, u32> = self.part.bodies.iter().copied().zip(0u32..).collect();
        let mut border: Vec<u32> = send.iter().flatten().copied().collect();
        border.sort_unstable_by_key(|slot| self.order[*slot as usize]);
        border.dedup();
        let at_border: std::collections::HashSet<u32> = border.iter().copied().collect();
        let inner = own.iter().filter(|slot| !at_border.contains(slot));
        let mut m = Movers { border: border.len(), own: own.len(), ..Movers::default() };
        m.slots = border.iter().chain(inner).map(|slot| local[slot]).collect();
        m.slots.extend(ghosts.iter().flatten().map(|g| local[&g.slot]));
        let place: HashMap<u32, u32> = m.slots.iter().copied().zip(0u32..).collect();
        let mut next = m.own as u32;
        for (rank, (sends, comes)) in send.iter().zip(ghosts).enumerate() {
            if sends.is_empty() && comes.is_empty() {
                continue;
            }
            m.sends.extend(sends.iter().map(|slot| place[&local[slot]]));
            m.receives.extend(next..next + comes.len() as u32);
            next += comes.len() as u32;
            m.neighbours.push(Neighbour { rank, sends: 6 * sends.len(), receives: 6 * comes.len() });
        }
        self.own = vec![false; self.part.bodies.len()];
        m.slots[..m.own].iter().for_each(|slot| self.own[*slot as usize] = true);
        self.movers = m;
    }

    /// Brings the whole world, at rank 0, to where steps have come; and another one of the same bodies.
    pub fn fetch(&mut self, comm: &dyn Comm, other: Option<&mut World>) {
        let mut to = Writer::default();
        let own = &self.movers.slots[..self.movers.own];
        to.word(own.len() as u64);
        own.iter().for_each(|slot| to.motion(&self.part.motion(*slot as usize)));
        // Each contact once, from the owner of its first body.
        let first = self.part.world.contacts().iter().map(|c| self.own[c.bodies[0] as usize]);
        for (c, _) in self.part.contacts().zip(first).filter(|(_, mine)| *mine) {
            to.contact(&c);
        }
        let letters = comm.gather(to.0);
        let state = self.part.world.state();
        let (mut moved, mut contacts) = (Vec::new(), Vec::new());
        for letter in letters.iter().filter(|letter| !letter.is_empty()) {
            let mut from = Reader(letter);
            let count = from.word();
            moved.extend((0..count).map(|_| from.motion()));
            while !from.is_empty() {
                contacts.push(from.contact());
            }
        }
        let still = (0..self.part.bodies.len()).filter(|k| !self.dynamic[self.part.bodies[*k] as usize]);
        moved.extend(still.map(|k| self.part.motion(k)));
        self.whole.take_parts(state.time, state.step, &moved, &contacts);
        if let Some(other) = other {
            other.take_parts(state.time, state.step, &moved, &contacts);
        }
    }
}

/// What a rank may have to go back to.
pub struct Kept {
    bodies: Vec<BodyMotion>,
    fixed: Vec<BodyMotion>,
    contacts: Vec<Contact>,
}

impl Kept {
    /// Impulses times a factor: for a step of another length.
    pub fn scale(&mut self, by: f64) {
        self.contacts.iter_mut().for_each(|c| c.impulse *= by);
    }
}

/// Velocities in world axes.
fn twist(m: &BodyMotion) -> [f64; 6] {
    let w = m.rotation * m.omega;
    [m.velocity.x, m.velocity.y, m.velocity.z, w.x, w.y, w.z]
}
