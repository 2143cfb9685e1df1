//! A part of a problem of balls, as its caller gives it: in colours, units and friction that the whole of it
//! has in common.

use crate::colour::Span;
use crate::parallel::{self, Shared};
use crate::problem::WORLD;
use crate::simd::{Row32, Vectors};

use super::{Group, PIECE, Pack, Packed, ROW};

/// A ball of equal inertia about every axis.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ball {
    /// m
    pub radius: f64,
    /// 1/kg; zero where it does not move.
    pub inv_mass: f64,
    /// 1/(kg m²)
    pub inv_inertia: f64,
    /// Free velocity, linear and angular, m/s and rad/s, world axes.
    pub free: [f64; 6],
}

/// A contact of balls, or of a ball with the world.
#[derive(Clone, Copy, Debug)]
pub struct BallContact {
    /// First body, second body or [`WORLD`].
    pub bodies: [u32; 2],
    /// Unit normal from the second to the first.
    pub normal: [f64; 3],
    /// Along the normal, m/s.
    pub bias: f64,
    /// Across it, m/s, world axes.
    pub drift: [f64; 3],
    /// Coefficient of friction.
    pub mu: f64,
}

/// What all parts of a problem have in common.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// The largest speed, m/s, and a mass, kg: both above zero.
    pub speed: f64,
    /// See there.
    pub mass: f64,
    /// The friction of all contacts, if it is the same.
    pub mu: Option<f64>,
    /// Whether there is any friction.
    pub friction: bool,
    /// Whether anything drifts.
    pub drifts: bool,
    /// The smallest κ ([`BallContact::shares`]) of all contacts, or one.
    pub kappa: f64,
}

impl BallContact {
    /// What a push along the normal moves, and a bound of what one moves at all, 1/kg.
    pub fn shares(&self, balls: &[Ball]) -> [f64; 2] {
        let there = self.bodies.into_iter().filter(|k| *k != WORLD).map(|k| &balls[k as usize]);
        let (mut along, mut most) = (0.0, 0.0);
        for ball in there {
            along += ball.inv_mass;
            let turn = ball.radius * ball.radius * ball.inv_inertia;
            most += ball.inv_mass + if self.mu != 0.0 { turn } else { 0.0 };
        }
        [along, most]
    }
}

impl Pack {
    /// Takes contacts `order` in `spans`: those of one span share no body that moves. Places, by position in
    /// `order`, go to `places`. Groups have contacts of two bodies or with the world, never of both, so that
    /// what comes of a contact does not depend on which others there are.
    pub(in super::super) fn give(
        &mut self,
        balls: &[Ball],
        contact: impl Fn(u32) -> BallContact + Sync,
        order: &[u32],
        spans: &[Span],
        units: &Units,
        places: &mut Vec<u32>,
    ) {
        let Units { speed, mass, .. } = *units;
        (self.speed, self.mass, self.kappa, self.omega) = (speed, mass, units.kappa, 1.0);
        self.frictionless = !units.friction;
        self.mu = units.mu.unwrap_or(0.0) as f32;
        self.share = 1.0 / (1.0 + self.mu * self.mu);
        self.spans.clear();
        self.regions.clear();
        self.ranges.clear();
        self.runs.clear();
        places.clear();
        let mut place = 0;
        for s in spans {
            let start = place;
            places.extend(place..place + (s.two_end - s.start));
            place = (place + (s.two_end - s.start)).next_multiple_of(8);
            let two_end = place;
            places.extend(place..place + (s.end - s.two_end));
            place = (place + (s.end - s.two_end)).next_multiple_of(8);
            self.spans.push(Span { start, two_end, end: place, serial: false });
        }
        let groups = place as usize / 8;
        // Places that are left over have a row of their own; the first is everybody's who is never looked
        // for.
        let bodies = balls.len() as u32;
        let mut free = bodies + 1;
        parallel::fill(&mut self.groups, groups, Group::default());
        let mut leave = |from: u32, to: u32, groups: &mut [Group]| {
            for place in from..to {
                let (group, k) = (&mut groups[place as usize / 8], place as usize % 8);
                (group.step.0[k], group.a.0[k], group.b.0[k]) = (1.0, free * ROW, free * ROW);
                free += 1;
            }
        };
        for (s, to) in spans.iter().zip(&self.spans) {
            leave(to.start + (s.two_end - s.start), to.two_end, &mut self.groups);
            leave(to.two_end + (s.end - s.two_end), to.end, &mut self.groups);
        }
        self.still = free;
        self.drift.clear();
        self.drift.resize(if units.drifts { groups } else { 0 }, Vectors::default());
        self.each_mu.clear();
        self.each_mu.resize(if units.mu.is_none() { groups } else { 0 }, Packed::default());
        // First contacts, first places and numbers of contacts, of which no two share a group.
        let mut pieces: Vec<[u32; 3]> = Vec::new();
        for (s, to) in spans.iter().zip(&self.spans) {
            for (first, end, place) in [(s.start, s.two_end, to.start), (s.two_end, s.end, to.two_end)] {
                let starts = (first..end).step_by(PIECE);
                pieces.extend(starts.map(|k| [k, place + (k - first), (end - k).min(PIECE as u32)]));
            }
        }
        let (groups, drift) = (Shared(self.groups.as_mut_ptr()), Shared(self.drift.as_mut_ptr()));
        let each_mu = Shared(self.each_mu.as_mut_ptr());
        parallel::for_each(pieces.len(), |piece| {
            let [first, place, count] = pieces[piece];
            for j in 0..count {
                let (c, place) = (contact(order[(first + j) as usize]), (place + j) as usize);
                let ([_, most], k) = (c.shares(balls), place % 8);
                // SAFETY: there are such groups, and no two pieces share one; so below.
                let group = unsafe { &mut *groups.at(place / 8) };
                (0..3).for_each(|axis| group.n[axis].0[k] = c.normal[axis] as f32);
                group.bias.0[k] = (c.bias / speed) as f32;
                group.step.0[k] = (1.0 / (most * mass)) as f32;
                group.a.0[k] = c.bodies[0] * ROW;
                group.b.0[k] = if c.bodies[1] == WORLD { bodies } else { c.bodies[1] } * ROW;
                if units.drifts {
                    let drift = unsafe { &mut *drift.at(place / 8) };
                    (0..3).for_each(|axis| drift[axis].0[k] = (c.drift[axis] / speed) as f32);
                }
                if units.mu.is_none() {
                    unsafe { (*each_mu.at(place / 8)).0[k] = c.mu as f32 };
                }
            }
        });
        parallel::resize(&mut self.free, self.still as usize, Row32::default());
        parallel::map_chunks(&mut self.free, PIECE, &mut self.nothing, |first, rows| {
            for (i, row) in (first..).zip(rows) {
                *row = match balls.get(i) {
                    Some(ball) if ball.inv_mass > 0.0 && ball.radius > 0.0 => {
                        let turn = ball.radius * ball.radius * ball.inv_inertia;
                        let [m, j] = [ball.inv_mass, turn].map(|x| mass * x);
                        let (v, s, t) = (&ball.free, 1.0 / (speed * m), ball.radius / (speed * j));
                        let numbers = [s * v[0], s * v[1], s * v[2], m, t * v[3], t * v[4], t * v[5], j];
                        Packed(numbers.map(|x| x as f32))
                    }
                    _ => Row32::default(),
                };
            }
        });
    }
}
