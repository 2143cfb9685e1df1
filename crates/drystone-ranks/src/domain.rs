//! What a rank owns, what it has copies of, and how bodies go from one to another.

use std::collections::{HashMap, HashSet};

use drystone::{BodyMotion, Contact, JointMotion, Motion, Part, World};
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
/// What a body costs without any contact, in contacts.
const ALONE: u32 = 2;
/// How much dearer or cheaper a rank's bodies may be than all, of as many contacts.
const RATIO: f64 = 4.0;

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
    /// Whether bodies have come or gone since the whole was last brought somewhere.
    flowed: bool,
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

impl Movers {
    /// Tells neighbours some numbers of all own bodies that they have copies of, by mover, and takes theirs.
    pub fn tell<const N: usize>(&self, comm: &dyn Comm, of: &mut [[f64; N]]) {
        let some = |x: &Neighbour| {
            let [sends, receives] = [x.sends, x.receives].map(|n| n / 6 * N);
            Neighbour { sends, receives, ..x.clone() }
        };
        let neighbours: Vec<Neighbour> = self.neighbours.iter().map(some).collect();
        let send: Vec<f64> = self.sends.iter().flat_map(|k| of[*k as usize]).collect();
        let mut heard = vec![0.0; N * self.receives.len()];
        comm.exchange(&neighbours, &send, &mut heard, &mut || {});
        for (k, x) in self.receives.iter().zip(heard.chunks(N)) {
            of[*k as usize].copy_from_slice(x);
        }
    }
}

impl Domain {
    /// Spreads a world over the ranks; every one of them is given all of it.
    pub fn new(comm: &dyn Comm, mut whole: World) -> Result<Self, RanksError> {
        whole.check_parts().map_err(RanksError::Refused)?;
        whole.assemble_if_loose().map_err(|e| RanksError::Refused(e.to_string()))?;
        let order = whole.global_order();
        let model = whole.model();
        let dynamic = model.bodies.iter().map(|b| b.alive && b.motion == Motion::Dynamic).collect();
        let part = whole.part(&[], |_| false).map_err(|e| RanksError::Refused(e.to_string()))?;
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
            flowed: false,
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
        let known: HashSet<u32> = mine.iter().copied().collect();
        let model = out.whole.model();
        let joints =
            model.joint_slots().filter(|j| model.joints[*j].bodies.iter().any(|b| known.contains(b)));
        let joints = joints.map(|j| Joined {
            motion: out.whole.joint_motion(j as u32),
            places: model.joints[j]
                .bodies
                .map(|b| state.position.get(b as usize).copied().unwrap_or_default()),
        });
        let kept = Kept { bodies, fixed: Vec::new(), contacts, joints: joints.collect() };
        out.settle(comm, kept, 0.0, Some(vec![1; mine.len()]))?;
        Ok(out)
    }

    /// The place in the global order of a body of the part.
    pub fn order_of(&self, slot: u32) -> u32 {
        self.order[self.part.bodies[slot as usize] as usize]
    }

    /// Slots of the whole in the global order.
    fn in_order(&self, slots: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut slots: Vec<u32> = slots.collect();
        slots.sort_unstable_by_key(|slot| self.order[*slot as usize]);
        slots
    }

    /// Whether some own body of some rank may meet a body that its rank has no copy of, in a step at
    /// velocities `v` and with contacts looked for `more` further, m, by slot of the part.
    pub fn is_short(
        &self,
        comm: &dyn Comm,
        v: impl Fn(usize) -> [f64; 6],
        more: impl Fn(usize) -> f64,
    ) -> bool {
        if comm.size() == 1 {
            return false;
        }
        let state = self.part.world.state();
        let slots = &self.movers.slots[..self.movers.own];
        let short = slots.iter().any(|slot| {
            let k = *slot as usize;
            let (x, room) = &self.chosen[k];
            let reach = self.reach.of(self.part.bodies[k], &v(k)) + more(k);
            // Turned round, so that no number counts as short.
            !(state.position[k].distance(*x) + reach <= *room)
        });
        let mut any = [f64::from(u8::from(short))];
        comm.most(&mut any);
        any[0] > 0.0
    }

    /// What gravity adds to the ways that skins are chosen by, m.
    pub fn falls(&self) -> f64 {
        let s = self.whole.settings();
        4.0 * s.gravity.length() * s.h * s.h
    }

    /// Whether it is time to see how even the load is.
    pub fn is_time(&self) -> bool {
        self.age > 0 && self.age.is_multiple_of(RECUT)
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
        let weights = self.weights(comm, seconds);
        if weights.is_some() {
            self.recuts += 1;
        }
        self.settle(comm, kept, more, weights)
    }

    /// Everything of this rank that a step changes.
    pub fn keep(&self) -> Kept {
        let own = &self.movers.slots[..self.movers.own];
        let still = (0..self.part.bodies.len()).filter(|k| !self.dynamic[self.part.bodies[*k] as usize]);
        Kept {
            bodies: own.iter().map(|slot| self.part.motion(*slot as usize)).collect(),
            fixed: still.map(|k| self.part.motion(k)).collect(),
            contacts: self.part.contacts().collect(),
            joints: (0..self.part.joints.len()).map(|k| self.joined(k)).collect(),
        }
    }

    /// Joint `k` of the part, with where its bodies are.
    fn joined(&self, k: usize) -> Joined {
        let world = &self.part.world;
        let place = |b: u32| world.state().position.get(b as usize).copied().unwrap_or_default();
        Joined { motion: self.part.joint(k), places: world.model().joints[k].bodies.map(place) }
    }

    /// The ranks that own the bodies of a joint, by the bodies' places; none for what is not dynamic.
    fn owners(&self, cut: &Cut, joint: &Joined) -> [Option<usize>; 2] {
        let bodies = self.whole.model().joints[joint.motion.slot as usize].bodies;
        let owner = |side: usize| {
            let moves = self.dynamic.get(bodies[side] as usize) == Some(&true);
            moves.then(|| cut.owner(joint.places[side]))
        };
        [owner(0), owner(1)]
    }

    /// Goes back to what was kept, whoever owns what by now.
    pub fn put_back(&mut self, comm: &dyn Comm, kept: Kept) -> Result<(), RanksError> {
        self.rebuilds += 1;
        let still = (0..self.part.bodies.len()).filter(|k| !self.dynamic[self.part.bodies[*k] as usize]);
        for (k, m) in still.collect::<Vec<_>>().into_iter().zip(&kept.fixed) {
            self.part.put(k, m);
        }
        self.settle(comm, kept, 0.0, None)
    }

    /// Whether ranks differ so much in what they have computed since space was cut, `seconds`, that it is to
    /// be cut anew.
    pub fn is_uneven(&self, comm: &dyn Comm, seconds: f64) -> bool {
        if self.age < RECUT || comm.size() == 1 {
            return false;
        }
        let (mut most, mut sum) = ([seconds], [(1e6 * seconds) as i64]);
        comm.most(&mut most);
        comm.add(&mut sum);
        most[0] * comm.size() as f64 > BALANCED * 1e-6 * sum[0] as f64
    }

    /// What each own body costs, where space is to be cut anew: by its contacts, and by how long this rank
    /// took for all of them.
    fn weights(&self, comm: &dyn Comm, seconds: f64) -> Option<Vec<i64>> {
        if !self.is_uneven(comm, seconds) {
            return None;
        }
        let mut costs = vec![ALONE; self.part.bodies.len()];
        let contacts = self.part.world.contacts().iter();
        contacts.flat_map(|c| c.bodies).for_each(|slot| costs[slot as usize] += 1);
        let own = self.movers.slots[..self.movers.own].iter().map(|slot| costs[*slot as usize]);
        let mine: f64 = own.clone().map(f64::from).sum();
        let mut sums = [(1e6 * seconds) as i64, mine as i64, self.movers.own as i64];
        comm.add(&mut sums);
        let [all, costs, bodies] = sums.map(|x| x as f64);
        if !(all > 0.0 && bodies > 0.0) {
            return None;
        }
        let ratio = (1e6 * seconds / mine.max(1.0)) / (all / costs);
        let scale = WEIGHT * bodies / costs * ratio.clamp(1.0 / RATIO, RATIO);
        Some(own.map(|cost| (scale * f64::from(cost)) as i64).collect())
    }

    /// Whether this rank owns a place.
    pub fn owns(&self, comm: &dyn Comm, place: DVec3) -> bool {
        self.cut.as_ref().is_none_or(|cut| cut.owner(place) == comm.rank())
    }

    /// Takes over which bodies the whole world has now.
    pub fn take_bodies(&mut self) {
        let bodies = &self.whole.model().bodies;
        self.dynamic = bodies.iter().map(|b| b.alive && b.motion == Motion::Dynamic).collect();
        // Who comes later has the place of its slot.
        self.order.extend(self.order.len() as u32..bodies.len() as u32);
        self.reach = Reach::new(&self.whole);
        self.reach.step(&self.part.world);
        self.rebuilds += 1;
        self.flowed = true;
    }

    /// Makes the part of this rank from what ranks own now.
    pub fn settle(
        &mut self,
        comm: &dyn Comm,
        kept: Kept,
        more: f64,
        weights: Option<Vec<i64>>,
    ) -> Result<(), RanksError> {
        if let Some(weights) = weights {
            let placed: Vec<_> = kept.bodies.iter().zip(weights).map(|(b, w)| (b.position, w)).collect();
            (self.cut, self.age) = (Some(Cut::new(comm, &placed)), 0);
        }
        let Kept { mut bodies, contacts, joints, .. } = self.migrate(comm, kept);
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
        let (ghosts, send) = self.ghosts(comm, &bodies, &joints, more);
        for list in &ghosts {
            self.whole.take_parts(time, step, list, &[]);
        }
        let own: Vec<u32> = bodies.iter().map(|b| b.slot).collect();
        let others = ghosts.iter().flatten().map(|g| g.slot);
        let still = (0..self.dynamic.len() as u32)
            .filter(|i| !self.dynamic[*i as usize] && self.whole.model().bodies[*i as usize].alive);
        let slots = self.in_order(own.iter().copied().chain(others).chain(still));
        let mut mine = vec![false; self.dynamic.len()];
        own.iter().for_each(|slot| mine[*slot as usize] = true);
        let part = self.whole.part(&slots, |slot| mine[slot as usize]);
        self.part = part.map_err(|e| RanksError::Refused(e.to_string()))?;
        self.part.world.set_stage_step(h);
        let motions: Vec<JointMotion> = joints.iter().map(|j| j.motion).collect();
        self.part.take_joints(&motions);
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

    /// Bodies go to their owners, with what their contacts and joints remember.
    fn migrate(&self, comm: &dyn Comm, kept: Kept) -> Kept {
        let Some(cut) = self.cut.as_ref().filter(|_| comm.size() > 1) else { return kept };
        let Kept { bodies, fixed, contacts, joints } = kept;
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
        // Of two owners both know the joint.
        let mut joined = Vec::with_capacity(joints.len());
        let mut leaving = vec![Vec::new(); comm.size()];
        for j in joints {
            let [a, b] = self.owners(cut, &j);
            for owner in [a, b.filter(|_| b != a)].into_iter().flatten() {
                if owner == me { joined.push(j) } else { leaving[owner].push(j) }
            }
        }
        for (to, joints) in to.iter_mut().zip(&leaving) {
            to.word(joints.len() as u64);
            joints.iter().for_each(|j| to.joined(j));
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
            let count = from.word();
            joined.extend((0..count).map(|_| from.joined()));
            while !from.is_empty() {
                kept.push(from.contact());
            }
        }
        joined.sort_unstable_by_key(|j| j.motion.slot);
        joined.dedup_by_key(|j| j.motion.slot);
        Kept { bodies: stay, fixed, contacts: kept, joints: joined }
    }

    /// Copies of bodies near the border, and of those that joints hold to own ones, by the rank that they
    /// come from; and which own ones go where.
    fn ghosts(
        &self,
        comm: &dyn Comm,
        own: &[BodyMotion],
        joints: &[Joined],
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
        // Bodies and the ranks that own what they are joined to.
        let mut joined = HashSet::new();
        for j in joints {
            let owners = self.cut.as_ref().map_or([None; 2], |cut| self.owners(cut, j));
            let bodies = self.whole.model().joints[j.motion.slot as usize].bodies;
            for (side, other) in [(0, 1), (1, 0)].into_iter().filter(|(side, _)| owners[*side] == Some(me)) {
                joined.extend(owners[other].map(|rank| (rank, bodies[side])));
            }
        }
        let mut send = vec![Vec::new(); size];
        let mut letters = vec![Vec::new(); size];
        for rank in (0..size).filter(|rank| *rank != me) {
            let mut to = Writer::default();
            let goes = |(b, ball): &(&BodyMotion, &_)| meets(rank, ball) || joined.contains(&(rank, b.slot));
            for (b, _) in own.iter().zip(&balls).filter(goes) {
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
        let at_border: HashSet<u32> = border.iter().copied().collect();
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
        // Each joint and contact once, from the owner of its first body that moves.
        let model = self.part.world.model();
        let moves = |b: &&u32| model.bodies.get(**b as usize).is_some_and(|b| b.motion == Motion::Dynamic);
        let mine =
            |k: &usize| model.joints[*k].bodies.iter().find(moves).is_some_and(|b| self.own[*b as usize]);
        let joints: Vec<usize> = (0..self.part.joints.len()).filter(mine).collect();
        to.word(joints.len() as u64);
        joints.iter().for_each(|k| to.joint(&self.part.joint(*k)));
        let first = self.part.world.contacts().iter().map(|c| self.own[c.bodies[0] as usize]);
        for (c, _) in self.part.contacts().zip(first).filter(|(_, mine)| *mine) {
            to.contact(&c);
        }
        let letters = comm.gather(to.0);
        let state = self.part.world.state();
        let (mut moved, mut joints, mut contacts) = (Vec::new(), Vec::new(), Vec::new());
        for letter in letters.iter().filter(|letter| !letter.is_empty()) {
            let mut from = Reader(letter);
            let count = from.word();
            moved.extend((0..count).map(|_| from.motion()));
            let count = from.word();
            joints.extend((0..count).map(|_| from.joint()));
            while !from.is_empty() {
                contacts.push(from.contact());
            }
        }
        let still = (0..self.part.bodies.len()).filter(|k| !self.dynamic[self.part.bodies[*k] as usize]);
        moved.extend(still.map(|k| self.part.motion(k)));
        self.whole.take_parts(state.time, state.step, &moved, &contacts);
        self.whole.take_joints(&joints);
        let Some(other) = other else { return };
        if std::mem::take(&mut self.flowed) {
            other.take_over(&self.whole);
        }
        other.take_parts(state.time, state.step, &moved, &contacts);
        other.take_joints(&joints);
    }
}

/// What a rank may have to go back to.
pub struct Kept {
    pub bodies: Vec<BodyMotion>,
    fixed: Vec<BodyMotion>,
    contacts: Vec<Contact>,
    pub joints: Vec<Joined>,
}

/// A joint on its way, with where its bodies are: that says who owns them.
#[derive(Clone, Copy)]
pub struct Joined {
    pub motion: JointMotion,
    pub places: [DVec3; 2],
}

impl Kept {
    /// Impulses times a factor: for a step of another length.
    pub fn scale(&mut self, by: f64) {
        self.contacts.iter_mut().for_each(|c| c.impulse *= by);
        self.joints.iter_mut().flat_map(|j| &mut j.motion.state.impulse).for_each(|x| *x *= by);
    }
}

/// Velocities in world axes.
fn twist(m: &BodyMotion) -> [f64; 6] {
    let w = m.rotation * m.omega;
    [m.velocity.x, m.velocity.y, m.velocity.z, w.x, w.y, w.z]
}

#[cfg(test)]
mod tests {
    use drystone::{BodyDef, Settings, Shape};

    use super::*;
    use crate::threads;

    /// Balls that touch their neighbours in a row, and as many that touch nobody, above a floor far below.
    fn world() -> World {
        let mut world = World::new(Settings::default()).unwrap();
        world.add_body(BodyDef::fixed(Shape::HalfSpace).at(DVec3::Z * -100.0)).unwrap();
        for i in 0..40 {
            let x = if i < 20 { 0.2 * f64::from(i) } else { 10.0 + f64::from(i) };
            let ball = BodyDef::solid(Shape::Sphere { radius: 0.1 }, 1000.0);
            world.add_body(ball.at(DVec3::X * x)).unwrap();
        }
        world
    }

    #[test]
    fn bodies_weigh_what_their_contacts_and_their_ranks_cost() {
        let told = threads::run(2, |comm| {
            let mut domain = Domain::new(comm, world()).unwrap();
            domain.part.world.stage_predict().unwrap();
            let own = domain.own.clone();
            domain.part.world.stage_contacts(|[a, b]: [u32; 2]| own[a as usize] || own[b as usize]);
            let even = domain.weights(comm, 1.0);
            domain.age = RECUT;
            let balanced = domain.weights(comm, 1.0);
            let seconds = [3.0, 1.0][comm.rank()];
            let slots = &domain.movers.slots[..domain.movers.own];
            let touches = |slot: &u32| domain.part.bodies[*slot as usize] <= 20;
            let row: Vec<bool> = slots.iter().map(touches).collect();
            (even, balanced, domain.weights(comm, seconds).unwrap(), row)
        });
        for (early, balanced, weights, row) in &told {
            assert!(early.is_none() && balanced.is_none(), "only after some steps, and where ranks differ");
            let of =
                |touches: bool| weights.iter().zip(row).filter(move |(_, t)| **t == touches).map(|(w, _)| *w);
            if let (Some(light), Some(heavy)) = (of(false).max(), of(true).min()) {
                // To whole numbers.
                assert!(2 * heavy + 4 >= 3 * light, "{weights:?}");
            }
        }
        let sums: Vec<i64> = told.iter().map(|t| t.2.iter().sum()).collect();
        assert!(
            (sums[0] - 3 * sums[1]).abs() < sums[1] / 10,
            "the slower rank has the most to give: {sums:?}"
        );
    }
}
