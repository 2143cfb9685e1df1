//! The few contacts that sweeps have left above the tolerance, solved one by one: `settle.rs` of
//! `drystone-solve`, which says why, over ranks.
//!
//! In a round contacts wait that have a body which has moved in the round before. They are looked at colour
//! by colour, and solved where they are above the tolerance. Colours of which no contact waits anywhere are
//! left out, so that a round costs as many messages as it has colours, however many contacts there are.

use glam::DVec3;

use crate::colours::Colours;
use crate::shares::{Shares, shares};
use crate::sweeps::{project, scales};
use crate::touch::{NOBODY, Touch};
use crate::walk::{Twist, Walk};

/// Contacts are left at this share of the tolerance or less.
const SHARE: f64 = 0.9;
/// Looks that may be taken, as a share of all contacts, and what is above the tolerance at first: more are
/// work for sweeps.
const LOOKS: i64 = 4;
const MANY: i64 = 32;
/// Rounds that are worth a try.
const ROUNDS: usize = 1000;
/// Numbers of a body: its velocity.
const NUMBERS: usize = 6;

/// Contacts on their way.
struct Settle<'w, 'a> {
    walk: &'w Walk<'a>,
    of: &'w Colours,
    shares: Vec<Shares>,
    /// By mover.
    v: Vec<Twist>,
    gamma: Vec<DVec3>,
    /// Contacts by mover: those of mover k from `first[k]` on.
    first: Vec<u32>,
    touching: Vec<u32>,
    /// Whether a contact waits for the next round, and those who do.
    waits: Vec<bool>,
    next: Vec<u32>,
    /// Whether contacts have one scale.
    one: bool,
}

/// Multipliers near these, of velocities `v` by mover, that leave nothing above the tolerance; None, on all
/// ranks, if there is too much above it.
pub fn settle(
    walk: &Walk,
    of: &Colours,
    gamma: Vec<DVec3>,
    v: Vec<Twist>,
    tolerance: f64,
) -> Option<Vec<(u32, DVec3)>> {
    let mut at = Settle::new(walk, of, gamma, v);
    if !at.go(tolerance) {
        return None;
    }
    let residual = |i: usize| {
        let e = walk.touches[i].residual(at.gamma[i], at.velocity(i));
        if e.is_finite() { e } else { f64::INFINITY }
    };
    let mut most = [(0..walk.touches.len()).map(residual).fold(0.0, f64::max)];
    walk.comm().most(&mut most);
    (most[0] <= tolerance).then(|| (0..).zip(at.gamma).collect())
}

impl<'w, 'a> Settle<'w, 'a> {
    fn new(walk: &'w Walk<'a>, of: &'w Colours, gamma: Vec<DVec3>, v: Vec<Twist>) -> Self {
        let movers = walk.movers();
        let ends = |t: &Touch| [t.a, t.b].into_iter().filter(|k| *k != NOBODY);
        let mut first = vec![0u32; movers.slots.len() + 1];
        walk.touches.iter().flat_map(ends).for_each(|k| first[k as usize + 1] += 1);
        (1..first.len()).for_each(|k| first[k] += first[k - 1]);
        let (mut next, mut touching) = (first.clone(), vec![0u32; first[movers.slots.len()] as usize]);
        for (i, t) in walk.touches.iter().enumerate() {
            for k in ends(t) {
                touching[next[k as usize] as usize] = i as u32;
                next[k as usize] += 1;
            }
        }
        let mut asks = [walk.touches.iter().map(Touch::asks).fold(0.0, f64::max)];
        walk.comm().most(&mut asks);
        Self {
            walk,
            of,
            shares: shares(walk, of, NUMBERS),
            v,
            gamma,
            first,
            touching,
            waits: vec![false; walk.touches.len()],
            next: Vec::new(),
            one: asks[0] > 0.0,
        }
    }

    fn velocity(&self, i: usize) -> DVec3 {
        let t = &self.walk.touches[i];
        t.relative(&self.v) + t.give(self.gamma[i])
    }

    /// Its contacts wait.
    fn moved(&mut self, k: u32) {
        let [from, to] = [k, k + 1].map(|k| self.first[k as usize] as usize);
        for i in &self.touching[from..to] {
            if !std::mem::replace(&mut self.waits[*i as usize], true) {
                self.next.push(*i);
            }
        }
    }

    /// Round after round; true if the last one left nothing to do.
    fn go(&mut self, tolerance: f64) -> bool {
        let (touches, comm) = (&self.walk.touches, self.walk.comm());
        let (masses, own) = (self.walk.masses(), self.walk.movers().own as u32);
        // Each contact is its first body's owner's to count.
        let mine = touches.iter().filter(|t| t.a < own).count() as i64;
        let above = |at: &Self, i: usize, limit: f64| {
            let u = at.velocity(i);
            // Not the other way round, which would hide what is no number.
            (!(touches[i].residual(at.gamma[i], u) <= limit)).then_some(u)
        };
        let mut now: Vec<u32> =
            (0..touches.len() as u32).filter(|i| above(self, *i as usize, tolerance).is_some()).collect();
        let mut looks = i64::MAX;
        for round in 0..ROUNDS {
            // By colour how many wait, and how many contacts there are.
            let mut counts = vec![0i64; self.of.count + 1];
            for i in now.iter().filter(|i| touches[**i as usize].a < own) {
                counts[usize::from(self.of.of[*i as usize])] += 1;
            }
            counts[self.of.count] = mine;
            comm.add(&mut counts);
            let (waiting, all) = (counts[..self.of.count].iter().sum::<i64>(), counts[self.of.count]);
            if round == 0 {
                if waiting > all / MANY + MANY {
                    return false;
                }
                looks = all / LOOKS + MANY;
            }
            if waiting == 0 || waiting > looks {
                return waiting == 0;
            }
            looks -= waiting;
            now.sort_unstable_by_key(|i| (self.of.of[*i as usize], *i));
            now.iter().for_each(|i| self.waits[*i as usize] = false);
            let mut rest = &now[..];
            for colour in (0..self.of.count).filter(|c| counts[*c] > 0) {
                let count =
                    rest.iter().take_while(|i| usize::from(self.of.of[**i as usize]) <= colour).count();
                let (here, others) = rest.split_at(count);
                rest = others;
                for i in here.iter().map(|i| *i as usize) {
                    let Some(u) = above(self, i, SHARE * tolerance) else { continue };
                    let t = &touches[i];
                    let [n, across] = scales(t, masses, self.one);
                    if !(n > 0.0) {
                        continue;
                    }
                    let old = self.gamma[i];
                    let free = DVec3::new(old.x - u.x / n, old.y - u.y / across, old.z - u.z / across);
                    self.gamma[i] = project(t.mu, across / n, free);
                    let pushes = t.impulses(self.gamma[i] - old);
                    for (k, push) in [t.a, t.b].into_iter().zip(pushes).filter(|(k, _)| *k != NOBODY) {
                        let [linear, turn] = masses[k as usize].change(&push);
                        let v = &mut self.v[k as usize];
                        (v[0], v[1]) = (v[0] + linear, v[1] + turn);
                        self.moved(k);
                    }
                }
                self.tell(colour);
            }
            std::mem::swap(&mut now, &mut self.next);
            self.next.clear();
        }
        false
    }

    /// Velocities that a colour has changed at borders go to those who have the bodies as ghosts.
    fn tell(&mut self, colour: usize) {
        let share = &self.shares[colour];
        let send: Vec<f64> = (share.sends.iter())
            .flat_map(|k| self.v[*k as usize].iter().flat_map(|x| x.to_array()).collect::<Vec<_>>())
            .collect();
        let mut heard = vec![0.0; NUMBERS * share.receives.len()];
        self.walk.comm().exchange(&share.neighbours, &send, &mut heard, &mut || {});
        for (k, x) in share.receives.clone().into_iter().zip(heard.chunks(NUMBERS)) {
            let v = [DVec3::from_slice(x), DVec3::from_slice(&x[3..])];
            if v != self.v[k as usize] {
                self.v[k as usize] = v;
                self.moved(k);
            }
        }
    }
}
