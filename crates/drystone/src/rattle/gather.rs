//! What a mechanism without contacts is made of at one configuration: equations, forces, and what must stay
//! slack.

use glam::{DQuat, DVec3};

use crate::joint::equation::{Coordinate, Equations, MOST_ROWS};
use crate::joint::law::{Command, Law};
use crate::joint::slot::LAW_ROWS;
use crate::joint::{Joint, JointState, Sort};
use crate::model::Model;
use crate::state::State;

/// A joint of a mechanism.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub slot: u32,
    /// The places of its bodies in the mechanism; `usize::MAX` for the world.
    pub ends: [usize; 2],
}

impl Link {
    /// The place of the joint's body in a slot.
    pub fn place(&self, joint: &Joint, slot: usize) -> usize {
        self.ends[usize::from(joint.bodies[0] as usize != slot)]
    }
}

/// Positions and velocities of a mechanism's bodies, by place; angular velocities in body axes.
#[derive(Clone, Debug, Default)]
pub(super) struct Motion {
    pub x: Vec<DVec3>,
    pub q: Vec<DQuat>,
    pub v: Vec<DVec3>,
    pub w: Vec<DVec3>,
}

impl Motion {
    /// The bodies of these slots as they are.
    pub fn take(&mut self, slots: &[u32], s: &State) {
        let slots = || slots.iter().map(|i| *i as usize);
        self.x.clear();
        self.x.extend(slots().map(|i| s.position[i]));
        self.q.clear();
        self.q.extend(slots().map(|i| s.rotation[i]));
        self.v.clear();
        self.v.extend(slots().map(|i| s.velocity[i]));
        self.w.clear();
        self.w.extend(slots().map(|i| s.omega[i]));
    }

    /// J v of a joint's row.
    pub fn rate(&self, link: &Link, joint: &Joint, row: &[f64; 12]) -> f64 {
        joint.rate(row, |slot| self.twist(link.place(joint, slot)))
    }

    /// (v, ω) in world axes.
    pub fn twist(&self, i: usize) -> [f64; 6] {
        let (v, w) = (self.v[i], self.q[i] * self.w[i]);
        [v.x, v.y, v.z, w.x, w.y, w.z]
    }

    /// As much of `other` as there is, without a new allocation where the sizes agree.
    pub fn copy(&mut self, other: &Motion) {
        self.x.clone_from(&other.x);
        self.q.clone_from(&other.q);
        self.v.clone_from(&other.v);
        self.w.clone_from(&other.w);
    }

    /// The equations of a joint with the bodies here.
    pub fn equations(&self, link: &Link, joint: &Joint, memory: &JointState, time: f64) -> Equations {
        let at = |slot: usize| link.place(joint, slot);
        joint.kind.equations(&joint.place_at(|i| (self.x[at(i)], self.q[at(i)]), memory, [time; 2]))
    }
}

/// What an equation is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Goal {
    /// Ψ(q, t) = 0.
    Place,
    /// J(q) v = 0.
    Rolling,
    /// ẋ = f(t) of the joint's coordinate `k`: x is held to the integral of f.
    Speed { k: usize },
}

/// One rigid equation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Equation {
    /// Which of the mechanism's joints.
    pub joint: u32,
    /// Which of the joint's multipliers.
    pub place: u8,
    pub goal: Goal,
    /// Ψ, or the coordinate itself under [`Goal::Speed`], m.
    pub error: f64,
    /// ∂Ψ/∂t, m/s.
    pub rate: f64,
    pub jacobian: [f64; 12],
}

/// One force: value - damping J v, along J.
#[derive(Clone, Copy, Debug)]
pub(super) struct Push {
    pub joint: u32,
    pub place: u8,
    pub jacobian: [f64; 12],
    pub value: f64,
    pub stiffness: f64,
    pub damping: f64,
}

/// Something unilateral that is not active.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slack {
    pub joint: u32,
    pub place: u8,
    /// m
    pub gap: f64,
    /// Its gradient.
    pub jacobian: [f64; 12],
    /// -1 for the upper end of a limit, whose force is told along the coordinate.
    pub sign: f64,
    /// Its coefficient, where an impact is known to be nothing but a rebound along it.
    pub restitution: Option<f64>,
    /// How fast it opens, m/s.
    pub rate: f64,
}

/// What [`walk`] finds.
pub(super) enum Found {
    Equation(Equation),
    Push(Push),
    Slack(Slack),
    /// What only the half-implicit scheme can do.
    Stop,
}

/// Goes through the rows of one joint, always in the same order.
pub(super) fn walk(j: usize, joint: &Joint, e: &Equations, time: f64, mut each: impl FnMut(Found)) {
    for (k, row) in e.rows().iter().enumerate() {
        let (j, place, jacobian) = (j as u32, k as u8, row.jacobian);
        let soft =
            joint.compliance[row.angular as usize] * if row.angular { joint.length.powi(2) } else { 1.0 };
        let equation =
            Equation { joint: j, place, goal: Goal::Place, error: row.error, rate: row.rate, jacobian };
        let push = |stiffness: f64, damping: f64| {
            Found::Push(Push { joint: j, place, jacobian, value: -stiffness * row.error, stiffness, damping })
        };
        each(match row.sort {
            Sort::Holonomic if soft == 0.0 => Found::Equation(equation),
            Sort::Holonomic => push(1.0 / soft, 0.0),
            Sort::Elastic { stiffness, damping } => push(stiffness, damping),
            Sort::Nonholonomic if soft == 0.0 => {
                Found::Equation(Equation { goal: Goal::Rolling, ..equation })
            }
            Sort::Nonholonomic => Found::Stop,
            Sort::Unilateral => Found::Slack(Slack {
                joint: j,
                place,
                gap: row.error,
                jacobian,
                sign: 1.0,
                restitution: None,
                rate: 0.0,
            }),
        });
    }
    for (k, (c, law)) in e.coordinates().iter().zip(&joint.laws).enumerate() {
        if !law.is_empty() {
            along(j as u32, k, c, law, joint, time, &mut each);
        }
    }
}

/// Motor, limits, friction and spring along a free coordinate. Rows of angles are multiplied by L.
fn along(
    j: u32,
    k: usize,
    c: &Coordinate,
    law: &Law,
    joint: &Joint,
    time: f64,
    each: &mut impl FnMut(Found),
) {
    let scale = if c.angular { joint.length } else { 1.0 };
    let jacobian = c.jacobian.map(|x| scale * x);
    let place = |what: usize| (MOST_ROWS + k * LAW_ROWS + what) as u8;
    if let Some(motor) = &law.motor {
        let equation = |goal: Goal, error: f64, rate: f64| {
            Found::Equation(Equation { joint: j, place: place(0), goal, error, rate, jacobian })
        };
        each(match &motor.command {
            Command::Force(f) => {
                let value = f.value(time).clamp(-motor.limit, motor.limit) / scale;
                Found::Push(Push { joint: j, place: place(0), jacobian, value, stiffness: 0.0, damping: 0.0 })
            }
            _ if motor.limit < f64::INFINITY => Found::Stop,
            Command::Position(f) => {
                let [wanted, slope] = f.both(time);
                equation(Goal::Place, scale * (c.value - wanted), -scale * slope)
            }
            Command::Speed(f) => equation(Goal::Speed { k }, scale * c.value, -scale * f.value(time)),
        });
    }
    if let Some(limits) = &law.limits {
        for (gap, sign) in [(c.value - limits.lower, 1.0), (limits.upper - c.value, -1.0)] {
            if gap < f64::INFINITY {
                each(Found::Slack(Slack {
                    joint: j,
                    place: place(1),
                    gap: scale * gap,
                    jacobian: jacobian.map(|x| sign * x),
                    sign,
                    restitution: (!joint.kind.is_led()).then_some(limits.restitution),
                    rate: 0.0,
                }));
            }
        }
    }
    if law.friction > 0.0 {
        each(Found::Stop);
    }
    if let Some(s) = &law.spring {
        let (stiffness, damping) = (s.stiffness / (scale * scale), s.damping / (scale * scale));
        let value = -stiffness * scale * (c.value - s.rest);
        each(Found::Push(Push { joint: j, place: place(3), jacobian, value, stiffness, damping }));
    }
}

/// ∫ f dt over a part of the step for a motor that imposes a speed, in the units of its row, by Simpson's
/// rule.
pub(super) fn way(joint: &Joint, k: usize, from: f64, to: f64) -> f64 {
    let Some(Command::Speed(f)) = joint.laws.get(k).and_then(|l| l.motor.as_ref()).map(|m| &m.command) else {
        return 0.0;
    };
    let scale = if joint.kind.coordinates()[k] { joint.length } else { 1.0 };
    let middle = f.value(0.5 * (from + to));
    scale * (to - from) / 6.0 * (f.value(from) + 4.0 * middle + f.value(to))
}

/// Everything at one configuration, with M⁻¹ Jᵀ of each row.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    pub equations: Vec<Equation>,
    pub pushes: Vec<Push>,
    /// J and M⁻¹ Jᵀ of the equations, both in world axes.
    pub rows: Vec<[f64; 12]>,
    pub weighted: Vec<[f64; 12]>,
    /// M⁻¹ Jᵀ of the pushes.
    pub moved: Vec<[f64; 12]>,
    /// From the centres of the second bodies to the joints, by joint.
    pub arms: Vec<DVec3>,
    pub slacks: Vec<Slack>,
    /// Whether a joint asks for the half-implicit scheme, or has something unilateral that is active.
    pub stops: bool,
}

impl Gathered {
    /// Gathers the joints of a mechanism, whose first `count` bodies are dynamic; angles in `memory` are
    /// brought up to date.
    pub fn at(
        &mut self,
        model: &Model,
        links: &[Link],
        count: usize,
        motion: &Motion,
        memory: &mut [JointState],
        time: f64,
    ) {
        self.equations.clear();
        self.pushes.clear();
        self.arms.clear();
        self.slacks.clear();
        self.stops = false;
        for (j, link) in links.iter().enumerate() {
            let joint = &model.joints[link.slot as usize];
            let e = motion.equations(link, joint, &memory[j], time);
            memory[j].angle = e.angles();
            let second = motion.q.get(link.ends[1]);
            self.arms.push(second.map_or(DVec3::ZERO, |q| *q * joint.frames[1].position));
            let first = self.equations.len();
            walk(j, joint, &e, time, |found| match found {
                Found::Equation(e) => self.equations.push(e),
                Found::Push(p) => self.pushes.push(p),
                Found::Slack(slack) => {
                    self.stops |= !(slack.gap > 0.0);
                    self.slacks.push(Slack { rate: motion.rate(link, joint, &slack.jacobian), ..slack });
                }
                Found::Stop => self.stops = true,
            });
            if joint.kind.is_led() {
                self.led_rates(first, link, joint, motion, &memory[j], time);
            }
        }
        let weighted = |j: u32, row: &[f64; 12]| weighted(model, motion, count, &links[j as usize], row);
        self.rows.clear();
        self.rows.extend(self.equations.iter().map(|e| e.jacobian));
        self.weighted.clear();
        self.weighted.extend(self.equations.iter().map(|e| weighted(e.joint, &e.jacobian)));
        self.moved.clear();
        self.moved.extend(self.pushes.iter().map(|p| weighted(p.joint, &p.jacobian)));
    }

    /// The rates of the slacks for other velocities.
    pub fn renew_rates(&mut self, model: &Model, links: &[Link], motion: &Motion) {
        for s in &mut self.slacks {
            let link = &links[s.joint as usize];
            s.rate = motion.rate(link, &model.joints[link.slot as usize], &s.jacobian);
        }
    }

    /// Rates of equations that are functions of time, by central differences.
    fn led_rates(
        &mut self,
        first: usize,
        link: &Link,
        joint: &Joint,
        motion: &Motion,
        memory: &JointState,
        time: f64,
    ) {
        let apart = 1e-5;
        let [before, after] = [time - apart, time + apart].map(|t| motion.equations(link, joint, memory, t));
        for e in &mut self.equations[first..] {
            if let (Some(a), Some(b)) =
                (before.rows().get(e.place as usize), after.rows().get(e.place as usize))
            {
                e.rate = (b.error - a.error) / (2.0 * apart);
            }
        }
    }
}

/// M⁻¹ Jᵀ in world axes; nothing for bodies that are not dynamic.
pub(super) fn weighted(
    model: &Model,
    motion: &Motion,
    count: usize,
    link: &Link,
    jacobian: &[f64; 12],
) -> [f64; 12] {
    let mut out = [0.0; 12];
    for (side, end) in link.ends.into_iter().enumerate().filter(|(_, end)| *end < count) {
        let body = &model.bodies[model.joints[link.slot as usize].bodies[side] as usize];
        let at = 6 * side;
        let mut force = DVec3::from_slice(&jacobian[at..at + 3]);
        if let Some(plane) = &body.planar {
            force = plane.within(force);
        }
        let q = motion.q[end];
        let turn = q * (*body.inv_inertia * (q.conjugate() * DVec3::from_slice(&jacobian[at + 3..at + 6])));
        (body.inv_mass * force).write_to_slice(&mut out[at..at + 3]);
        turn.write_to_slice(&mut out[at + 3..at + 6]);
    }
    out
}
