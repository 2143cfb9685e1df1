//! Sweeps over contacts of balls alone, in single precision and eight at a time: the kernels of
//! `drystone-solve`, colour by colour. What they come to is judged in double precision, and goes on in it
//! where digits are missing (`sweeps.rs`).
//!
//! What a contact comes to follows from its bodies' numbers, whichever contacts stand beside it in a group of
//! eight. Sums over contacts are of terms that are rounded to whole units first, so that they may be added up
//! in any order.
//!
//! After each colour the momenta of bodies at borders go to those ranks that have them as ghosts and do not
//! know the contact that has changed them: those who do have come to the same momentum themselves.

use drystone_solve::colour::Span;
use drystone_solve::problem::WORLD;
use drystone_solve::solver::{Ball, BallContact, BallSweeps, Seen, Units};
use glam::DVec3;

use crate::colours::Colours;
use crate::comm::Comm;
use crate::methods::Stop;
use crate::posed::Posed;
use crate::settle::settle;
use crate::shares::{Shares, shares};
use crate::sweeps::{EVERY, NEAR, REACH, SPREAD};
use crate::touch::{NOBODY, Touch, project};
use crate::walk::Walk;

/// Classes of contacts of a colour: with a body at a border and this rank's to count, the same and another's,
/// and the others.
const CLASSES: usize = 3;
const OTHERS: usize = 1;
const INNER: usize = 2;
/// Rows of bodies are made anew of multipliers after so many sweeps: those that are extrapolated are rounded
/// otherwise. As often it is asked whether single precision has more to say.
const REFRESH: usize = 64;
/// Double precision goes on where the residual has not fallen by a tenth for as many sweeps as it took to get
/// there, and more than these.
const STALLED: usize = 300;
/// The largest term of a sum that is counted, over the largest of the sweep before, and over the tolerance.
const GROWTH: f64 = 4.0;
const LARGEST: f64 = 16.0;
/// To the digits of single precision a contact of balls has its arms along the normal, and as long as the
/// balls' radii.
const ASKEW: f64 = 1e-7;
const LONGER: f64 = 2e-7;

/// Sweeps over the contacts of a walk.
struct Balls<'a> {
    comm: &'a dyn Comm,
    sweeps: BallSweeps,
    /// The walk's contacts in the order of the sweeps.
    order: Vec<u32>,
    /// By colour.
    shares: Vec<Shares>,
    /// Doubles that a body's numbers go as.
    numbers: usize,
    send: Vec<f64>,
    receive: Vec<f64>,
}

/// What is done with a colour's contacts of a class.
#[derive(Clone, Copy)]
enum Pass {
    /// A sweep under momentum β.
    Beyond(f64),
    Plain,
    Push,
}

/// Two numbers of single precision as one, and back.
fn both(a: f32, b: f32) -> f64 {
    f64::from_bits(u64::from(a.to_bits()) << 32 | u64::from(b.to_bits()))
}

fn apart(x: f64) -> [f32; 2] {
    [f32::from_bits((x.to_bits() >> 32) as u32), f32::from_bits(x.to_bits() as u32)]
}

/// The movers as balls; what is none has no radius.
fn balls_of(posed: &Posed, walk: &Walk) -> Vec<Ball> {
    let radii = posed.radii();
    let one = |(mass, radius): (&crate::walk::Mass, f64)| {
        let [x, y, z, rest @ ..] = mass.inv_inertia;
        let is_round = x == y && y == z && rest == [0.0; 3] && x > 0.0 && mass.inv_mass > 0.0;
        let [v, w] = mass.free;
        let free = [v.x, v.y, v.z, w.x, w.y, w.z];
        let radius = if is_round { radius } else { 0.0 };
        Ball { radius, inv_mass: mass.inv_mass, inv_inertia: x, free }
    };
    walk.masses().iter().zip(radii).map(one).collect()
}

/// Whether it is a contact of balls that neither gives way nor has other arms than these.
fn is_of_balls(t: &Touch, balls: &[Ball]) -> bool {
    let fits = |body: u32, arm: DVec3, sign: f64| {
        let (n, radius) = (t.frame[0], balls[body as usize].radius);
        let r = sign * arm.dot(n);
        let off = (arm - sign * r * n).abs().max_element();
        radius > 0.0 && off <= ASKEW * r && (r - radius).abs() <= LONGER * radius
    };
    t.soft == [0.0; 2] && fits(t.a, t.arms[0], -1.0) && (t.b == NOBODY || fits(t.b, t.arms[1], 1.0))
}

fn contact(t: &Touch) -> BallContact {
    BallContact {
        bodies: [t.a, if t.b == NOBODY { WORLD } else { t.b }],
        normal: t.frame[0].to_array(),
        bias: t.bias.x,
        drift: (t.frame[1] * t.bias.y + t.frame[2] * t.bias.z).to_array(),
        mu: t.mu,
    }
}

/// Units and friction of all ranks' contacts; None, on all ranks, if this is nothing for these sweeps.
fn units(walk: &Walk, balls: &[Ball], friction: bool) -> Option<Units> {
    let flag = |yes: bool| f64::from(u8::from(yes));
    let fits = walk.touches.iter().all(|t| is_of_balls(t, balls));
    let rubs = walk.touches.iter().any(|t| t.mu != 0.0);
    let mut most = [0.0; 8];
    (most[0], most[4], most[5]) = (flag(!fits || rubs && !friction), f64::NEG_INFINITY, f64::NEG_INFINITY);
    let [_, speed, inv_mass, stiffest, largest, least, drifts, asks] = &mut most;
    for ball in &balls[..walk.movers().own] {
        *speed = ball.free[..3].iter().fold(*speed, |most, x| most.max(x.abs()));
        *inv_mass = inv_mass.max(ball.inv_mass);
    }
    for t in walk.touches.iter().filter(|_| fits) {
        let [along, all] = contact(t).shares(balls);
        *stiffest = stiffest.max(along / all);
        *speed = t.bias.to_array().iter().fold(*speed, |most, x| most.max(x.abs()));
        (*largest, *least) = (largest.max(t.mu), least.max(-t.mu));
        *drifts = drifts.max(flag(t.bias.y != 0.0 || t.bias.z != 0.0));
        *asks = asks.max(t.asks());
    }
    walk.comm().most(&mut most);
    let [refused, speed, inv_mass, stiffest, largest, least, drifts, asks] = most;
    if refused > 0.0 || !(speed.is_finite() && inv_mass > 0.0 && largest.is_finite()) {
        return None;
    }
    Some(Units {
        speed: if speed > 0.0 { speed } else { 1.0 },
        mass: 1.0 / inv_mass,
        mu: (largest == -least).then_some(largest),
        friction,
        drifts: drifts > 0.0,
        // Where contacts may contradict each other multipliers grow the faster the better they are scaled.
        kappa: if friction && asks == 0.0 { 1.0 / stiffest } else { 1.0 },
    })
}

impl<'a> Balls<'a> {
    fn new(walk: &Walk<'a>, of: &Colours, balls: &[Ball], units: &Units) -> Self {
        let (touches, movers) = (&walk.touches, walk.movers());
        let (own, at_border) = (movers.own as u32, movers.border as u32);
        let class = |t: &Touch| {
            let is_inner = [t.a, t.b].iter().all(|k| *k == NOBODY || (*k >= at_border && *k < own));
            if is_inner { INNER } else { usize::from(t.a >= own) * OTHERS }
        };
        // By colour, class, and whether there is one body alone.
        let key = |i: usize| {
            let t = &touches[i];
            2 * (CLASSES * usize::from(of.of[i]) + class(t)) + usize::from(t.b == NOBODY)
        };
        let mut starts = vec![0u32; 2 * CLASSES * of.count + 1];
        (0..touches.len()).for_each(|i| starts[key(i) + 1] += 1);
        (1..starts.len()).for_each(|k| starts[k] += starts[k - 1]);
        let span = |s: &[u32]| Span { start: s[0], two_end: s[1], end: s[2], serial: false };
        let spans: Vec<Span> = (0..CLASSES * of.count).map(|k| span(&starts[2 * k..])).collect();
        let mut order = vec![0u32; touches.len()];
        for i in 0..touches.len() {
            let next = &mut starts[key(i)];
            order[*next as usize] = i as u32;
            *next += 1;
        }
        let mut sweeps = BallSweeps::new(balls, |i| contact(&touches[i as usize]), &order, &spans, units);
        sweeps.set(|i| {
            let (t, gamma) = (&touches[order[i] as usize], walk.gamma(order[i] as usize));
            if units.friction { t.place(gamma).to_array() } else { [gamma.x.max(0.0), 0.0, 0.0] }
        });
        let numbers = if units.friction { 3 } else { 2 };
        let shares = shares(walk, of, numbers);
        let (comm, send, receive) = (walk.comm(), Vec::new(), Vec::new());
        let mut out = Self { comm, sweeps, order, shares, numbers, send, receive };
        out.push();
        out
    }

    /// Visits all contacts, colour by colour, and tells what that has done to bodies at borders.
    fn pass(&mut self, pass: Pass) -> Seen {
        let Self { comm, sweeps, shares, numbers, send, receive, .. } = self;
        let mut all = Seen::default();
        for (colour, share) in shares.iter().enumerate() {
            let mut work = |sweeps: &mut BallSweeps, class: usize| {
                let colour = CLASSES * colour + class;
                let mut seen = Seen::default();
                match pass {
                    Pass::Beyond(beta) => seen = sweeps.sweep_beyond(colour, beta),
                    Pass::Plain => seen.largest = sweeps.sweep(colour),
                    Pass::Push => sweeps.push(colour),
                }
                if class == OTHERS {
                    seen.sums = [0; 2];
                }
                all.join(&seen);
            };
            (0..INNER).for_each(|class| work(sweeps, class));
            send.clear();
            for k in &share.sends {
                let [a, b, c, d, e, f] = sweeps.row(*k as usize);
                send.extend_from_slice(&[both(a, b), both(c, d), both(e, f)][..*numbers]);
            }
            receive.resize(*numbers * share.receives.len(), 0.0);
            comm.exchange(&share.neighbours, send, receive, &mut || work(sweeps, INNER));
            for (k, x) in share.receives.iter().zip(receive.chunks(*numbers)) {
                let at = |j: usize| x.get(j).map_or([0.0; 2], |x| apart(*x));
                let [[a, b], [c, d], [e, f]] = [at(0), at(1), at(2)];
                match *numbers {
                    3 => sweeps.put(*k as usize, [a, b, c, d, e, f]),
                    _ => {
                        let [.., d, e, f] = sweeps.row(*k as usize);
                        sweeps.put(*k as usize, [a, b, c, d, e, f]);
                    }
                }
            }
        }
        all
    }

    /// Rows of the multipliers, from none.
    fn push(&mut self) {
        self.sweeps.rest();
        self.pass(Pass::Push);
    }

    /// Rows anew: those of γ alone would leave the rounding of γ_last's to the momentum, which makes it grow.
    fn refresh(&mut self, momentum: bool) {
        self.push();
        if momentum {
            self.sweeps.swap();
            self.push();
            self.sweeps.swap();
        }
    }

    /// The largest residual of all ranks, as single precision sees it, m/s.
    fn measure(&mut self) -> f64 {
        let mut most = [(0..CLASSES * self.shares.len()).map(|k| self.sweeps.measure(k)).fold(0.0, f64::max)];
        self.comm.most(&mut most);
        most[0]
    }

    /// A residual below which single precision has nothing to say, m/s.
    fn floor(&self) -> f64 {
        let mut pressed = [self.sweeps.pressed()];
        self.comm.most(&mut pressed);
        self.sweeps.floor(pressed[0])
    }

    /// Leaves the walk with the multipliers that sweeps have come to.
    fn leave(&self, walk: &mut Walk, friction: bool) {
        let gamma: Vec<(u32, DVec3)> = (self.order.iter().enumerate())
            .map(|(i, index)| {
                let (t, x) = (&walk.touches[*index as usize], DVec3::from_array(self.sweeps.impulse(i)));
                let local = DVec3::new(t.frame[0].dot(x), t.frame[1].dot(x), t.frame[2].dot(x));
                let alone = DVec3::new(x.x.max(0.0), 0.0, 0.0);
                (*index, if friction { project(t.mu, local) } else { alone })
            })
            .collect();
        walk.take(&gamma);
    }
}

/// How the sweeps have ended.
pub struct Came {
    pub sweeps: usize,
    /// Whether the walk is solved; else single precision has said what it can, or all sweeps are done.
    pub solved: bool,
}

/// Sweeps over the contacts of a walk, which is left with what they have come to; `accelerated`: under
/// Nesterov's momentum, and with friction. None, on all ranks and with nothing done, if these are not
/// contacts of balls alone.
pub fn sweep(posed: &Posed, walk: &mut Walk, of: &Colours, stop: &Stop, accelerated: bool) -> Option<Came> {
    let balls = balls_of(posed, walk);
    let units = units(walk, &balls, accelerated)?;
    let mut at = Balls::new(walk, of, &balls, &units);
    drop(balls);
    let own = walk.movers().own as u32;
    let mut blocks = [walk.touches.iter().filter(|t| t.a < own).count() as i64];
    walk.comm().add(&mut blocks);
    let tolerance = stop.tolerance;
    let spread = SPREAD * tolerance * SPREAD * tolerance * blocks[0] as f64;
    let largest = if tolerance > 0.0 { LARGEST * tolerance } else { units.speed };
    let mut size = f64::INFINITY;
    let (mut run, mut used, mut since) = (0u32, 0, 0);
    // Rounds are tried again once Σ of squares has fallen by half, or after half as many sweeps again.
    let (mut below, mut after) = (f64::INFINITY, 0);
    let (mut look_below, mut look_at, mut refreshed) = (tolerance, 0, false);
    let (mut mark, mut beaten, mut floor) = (f64::INFINITY, 0, at.floor());
    while used < stop.iterations {
        if accelerated && since == REFRESH {
            at.refresh(accelerated);
            since = 0;
        }
        let beta = f64::from(run) / (f64::from(run) + 3.0);
        let mut seen = if accelerated {
            at.sweeps.count_in(GROWTH * size, largest * largest);
            at.sweeps.lead(beta);
            let seen = at.pass(Pass::Beyond(beta));
            at.sweeps.swept();
            seen
        } else {
            at.pass(Pass::Plain)
        };
        (used, since) = (used + 1, since + 1);
        if accelerated {
            walk.comm().add(&mut seen.sums);
        }
        let mut most = [seen.largest, seen.size];
        walk.comm().most(&mut most);
        let measure = most[0];
        size = most[1];
        if !measure.is_finite() {
            // The walk is where it was last left.
            return Some(Came { sweeps: used, solved: false });
        }
        run = if seen.sums[0] < 0 { 0 } else { run + 1 };
        let squares = seen.sums[1] as f64 * at.sweeps.square();
        if accelerated
            && tolerance > 0.0
            && measure <= REACH * tolerance
            && squares <= spread
            && (squares < below || used >= after)
        {
            (below, after) = (0.25 * squares, used + used / 2 + 16);
            at.leave(walk, true);
            let gamma = (0..walk.touches.len()).map(|i| walk.gamma(i)).collect();
            if let Some(gamma) = settle(walk, of, gamma, walk.now(), tolerance) {
                walk.take(&gamma);
                return Some(Came { sweeps: used, solved: true });
            }
        }
        let close = accelerated && measure <= NEAR * tolerance && used % EVERY == 0;
        let due = close || measure <= look_below || (measure <= tolerance && used >= look_at);
        if tolerance > 0.0 && due {
            let mut residual = at.measure();
            if residual <= tolerance {
                let measured = residual;
                at.leave(walk, accelerated);
                residual = walk.residual();
                if residual <= tolerance {
                    return Some(Came { sweeps: used, solved: true });
                }
                if residual > 2.0 * measured {
                    // Rows that were carried on for long are made anew once; then single precision is at its
                    // end.
                    match refreshed {
                        false => at.refresh(accelerated),
                        true => floor = f64::INFINITY,
                    }
                    (refreshed, since) = (true, 0);
                }
            }
            look_below = (measure * tolerance / residual).min(0.9 * measure);
            look_at = used + used / 4 + 8;
        }
        if used % REFRESH == 0 {
            floor = floor.max(at.floor());
        }
        let seen = if accelerated && squares > 0.0 { squares.sqrt() } else { measure };
        if seen < 0.9 * mark {
            (mark, beaten) = (seen, used);
        }
        if measure <= floor || (accelerated && used > (2 * beaten).max(STALLED)) {
            break;
        }
    }
    at.leave(walk, accelerated);
    Some(Came { sweeps: used, solved: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = 1000;

    /// Balls of many sizes that hit each other in pairs, and a few the world.
    fn pairs() -> (Vec<Ball>, Vec<BallContact>) {
        let number = |i: u32, k: u32| (f64::from(i) * 0.618034 + f64::from(k) * 0.414214).fract() - 0.5;
        let ball = |i: u32| {
            let (radius, inv_mass) = (0.1 + 0.05 * number(i, 0), 1.0 + number(i, 1));
            let free = std::array::from_fn(|k| number(i, 2 + k as u32));
            Ball { radius, inv_mass, inv_inertia: 2.5 * inv_mass / (radius * radius), free }
        };
        let contact = |i: u32| BallContact {
            bodies: [2 * i, if i.is_multiple_of(7) { WORLD } else { 2 * i + 1 }],
            normal: DVec3::new(number(i, 9), number(i, 10), 1.0).normalize().to_array(),
            bias: 0.1 * number(i, 11),
            drift: [0.0; 3],
            mu: 0.4,
        };
        ((0..2 * N).map(ball).collect(), (0..N).map(contact).collect())
    }

    /// What two sweeps make of contacts in so many spans, every so many-th of them in each: multipliers by
    /// contact, rows by ball, and sums.
    fn swept(spans: u32, friction: bool) -> (Vec<[f64; 3]>, Vec<[f32; 6]>, [i64; 2]) {
        let (balls, contacts) = pairs();
        let (mut order, mut bounds) = (Vec::new(), Vec::new());
        for span in 0..spans {
            let start = order.len() as u32;
            let (two, one): (Vec<u32>, Vec<u32>) =
                (0..N).filter(|i| i % spans == span).partition(|i| contacts[*i as usize].bodies[1] != WORLD);
            order.extend(&two);
            let two_end = order.len() as u32;
            order.extend(&one);
            bounds.push(Span { start, two_end, end: order.len() as u32, serial: false });
        }
        let (mu, kappa) = (Some(if friction { 0.4 } else { 0.0 }), if friction { 3.5 } else { 1.0 });
        let units = Units { speed: 0.5, mass: 1.0, mu, friction, drifts: false, kappa };
        let of = |i: u32| BallContact { mu: mu.unwrap_or(0.0), ..contacts[i as usize] };
        let mut sweeps = BallSweeps::new(&balls, of, &order, &bounds, &units);
        sweeps.set(|_| [0.0; 3]);
        sweeps.count_in(1.0, 1.0);
        let mut sums = [0; 2];
        for beta in [0.0, 0.3] {
            if friction {
                sweeps.lead(beta);
            }
            for k in 0..bounds.len() {
                let seen = if friction { sweeps.sweep_beyond(k, beta) } else { Seen::default() };
                (0..2).for_each(|k| sums[k] += seen.sums[k]);
                if !friction {
                    sweeps.sweep(k);
                }
            }
            if friction {
                sweeps.swept();
            }
        }
        let mut by_contact = vec![[0.0; 3]; N as usize];
        order.iter().enumerate().for_each(|(i, k)| by_contact[*k as usize] = sweeps.impulse(i));
        (by_contact, (0..2 * N as usize).map(|k| sweeps.row(k)).collect(), sums)
    }

    #[test]
    fn who_stands_beside_a_contact_makes_no_difference() {
        for friction in [true, false] {
            let one = swept(1, friction);
            assert!(one.0.iter().filter(|x| **x != [0.0; 3]).count() > 300, "most contacts push");
            assert!(!friction || one.2.iter().all(|sum| *sum != 0), "{:?}", one.2);
            for spans in [2, 3, 13] {
                assert_eq!(swept(spans, friction), one, "{spans} spans");
            }
        }
    }

    #[test]
    fn a_sweep_solves_contacts_that_share_nothing() {
        let (balls, contacts) = pairs();
        let (impulses, ..) = swept(1, false);
        for (c, x) in contacts.iter().zip(impulses) {
            let along = |k: u32| {
                let free = &balls[k as usize].free;
                (0..3).map(|i| free[i] * c.normal[i]).sum::<f64>()
            };
            let [moved, _] = c.shares(&balls);
            let apart =
                along(c.bodies[0]) - if c.bodies[1] == WORLD { 0.0 } else { along(c.bodies[1]) } + c.bias;
            let wanted = (-apart / moved).max(0.0);
            assert!((x[0] - wanted).abs() < 1e-5 * (1.0 + wanted), "{} {wanted}", x[0]);
        }
    }

    #[test]
    fn two_numbers_travel_as_one() {
        for (a, b) in [(0.0, -0.0), (1.5e-39, f32::NAN), (f32::INFINITY, -3.0)] {
            let [x, y] = apart(both(a, b));
            assert_eq!((x.to_bits(), y.to_bits()), (a.to_bits(), b.to_bits()));
        }
    }
}
