//! Gauss-Seidel sweeps over ranks, with Nesterov's momentum or without: `apgs` of `drystone-solve`, in double
//! precision.
//!
//! A sweep goes through contacts colour by colour (`colours.rs`). Those of one colour share no body, so that
//! all may be solved at once; after each colour the velocities of bodies at borders that it has moved go to
//! those who have them as ghosts. A contact has two scales, g_n and g_t, with which the metric
//! diag(g_n, g_t, g_t) is nowhere below its own block of N + C, so that every step lowers the objective;
//! contacts of balls are solved exactly by one (docs/decisions/0019-two-scales-for-a-cone.md).
//!
//! Contacts of balls are first swept in single precision (`balls.rs`). Once the residual is small on the
//! whole, the few contacts above the tolerance are solved one by one (`settle.rs`).

use drystone_solve::memory::prefetch_item;
use drystone_solve::parallel::{self, Shared};
use glam::DVec3;

use crate::balls;
use crate::colours::{Colours, colours};
use crate::comm::{Comm, Neighbour};
use crate::domain::Movers;
use crate::exact::{self, Exact};
use crate::methods::Stop;
use crate::posed::Posed;
use crate::settle::settle;
use crate::touch::{NOBODY, Touch};
use crate::walk::{Mass, Twist, Walk};

/// Contacts of one colour that one thread works on at a time. No result depends on it.
const PIECE: usize = 512;
/// Contacts whose bodies are called for while those before them are at work.
const CALLED: usize = 8;
/// Residuals are looked at below so many tolerances, after every so many sweeps: momentum starts a sweep
/// elsewhere than where it ends.
pub const NEAR: f64 = 3.0;
pub const EVERY: usize = 4;
/// Rounds are tried where the sweeps' measures, over the tolerance, are below these: rms and largest.
pub const SPREAD: f64 = 0.4;
pub const REACH: f64 = 10.0;

/// A contact on its way: what a sweep reads and writes of it.
#[derive(Clone, Copy)]
struct Point {
    /// Places among the movers.
    ends: [u32; 2],
    /// Which of the walk's contacts it is.
    index: u32,
    /// Its normal and the first axis across.
    axes: [DVec3; 2],
    arms: [DVec3; 2],
    /// Along the normal, m/s.
    bias: f64,
    mu: f64,
    /// 1/g_n and 1/g_t, kg; none where nothing can move.
    step: [f64; 2],
    /// γ, and γ before the last sweep, N s.
    gamma: [DVec3; 2],
}

/// What few problems have: velocities across the normal, m/s, and compliances, (m/s)/(N s).
#[derive(Clone, Copy)]
struct Extra {
    drift: [f64; 2],
    soft: [f64; 2],
}

/// A body in one line of a cache: its velocity, and what an impulse does to it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Body {
    v: Twist,
    inv_mass: f64,
    /// The inverse of its moment of inertia, if that is the same about all axes; else no number.
    inv_inertia: f64,
}

impl Body {
    const NOBODY: Self = Self { v: [DVec3::ZERO; 2], inv_mass: 0.0, inv_inertia: 0.0 };

    fn new(mass: &Mass, v: Twist) -> Self {
        let [x, y, z, rest @ ..] = mass.inv_inertia;
        let round = x == y && y == z && rest == [0.0; 3];
        Self { v, inv_mass: mass.inv_mass, inv_inertia: if round { x } else { f64::NAN } }
    }

    /// Its velocity after an impulse.
    #[inline(always)]
    fn pushed(&self, mass: &Mass, push: &Twist) -> Twist {
        let [linear, turn] = match self.inv_inertia.is_nan() {
            false => [self.inv_mass * push[0], self.inv_inertia * push[1]],
            true => mass.change(push),
        };
        [self.v[0] + linear, self.v[1] + turn]
    }
}

/// What a sweep saw.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// The largest step of a contact times its scales, m/s.
    largest: f64,
    /// Σ of the squares of all of them, (m/s)².
    squares: Exact,
    /// Σ ⟨Δγ, γ - γ_before⟩ in the metric of the scales, J: negative where momentum led away.
    turn: Exact,
}

impl Seen {
    fn join(&mut self, other: &Self) {
        self.largest = self.largest.max(other.largest);
        self.squares.merge(&other.squares);
        self.turn.merge(&other.turn);
    }
}

/// The contacts of one colour, and whom they move.
#[derive(Default)]
struct Class {
    /// In the list of contacts: those with a body at a border, then the others.
    start: usize,
    border: usize,
    end: usize,
    neighbours: Vec<Neighbour>,
    /// Movers whose velocities go and come.
    sends: Vec<u32>,
    receives: Vec<u32>,
}

/// The sweeps over the contacts of a walk.
struct Sweeps<'a> {
    comm: &'a dyn Comm,
    movers: &'a Movers,
    masses: &'a [Mass],
    /// The walk's contacts.
    touches: &'a [Touch],
    points: Vec<Point>,
    /// By index of the walk's contacts; empty if there is nothing in it.
    extra: Vec<Extra>,
    classes: Vec<Class>,
    /// By mover.
    bodies: Vec<Body>,
    /// By mover: velocities before the last sweep.
    before: Vec<Twist>,
    send: Vec<f64>,
    receive: Vec<f64>,
    parts: Vec<Seen>,
    largest: Vec<f64>,
}

/// What a pass does to a contact, at velocities `v`: its multiplier, and what came of that.
trait Visit: Sync {
    fn visit(&self, point: &mut Point, at: &At, seen: &mut Seen) -> DVec3;
}

/// Where a contact is visited: velocities of its bodies, and what else is known of it.
struct At<'a> {
    v: [Twist; 2],
    extra: Option<&'a Extra>,
    touch: &'a Touch,
}

/// g_n and g_t of a contact: no direction has more of its own block than the metric has.
pub fn scales(touch: &Touch, masses: &[Mass], one: bool) -> [f64; 2] {
    let mut n = [[0.0; 3]; 3];
    for (body, arm) in [(touch.a, touch.arms[0]), (touch.b, touch.arms[1])] {
        let Some(mass) = masses.get(body as usize) else { continue };
        let turns = touch.frame.map(|axis| arm.cross(axis));
        let led = turns.map(|turn| mass.change(&[DVec3::ZERO, turn])[1]);
        for (r, row) in n.iter_mut().enumerate() {
            for (c, x) in row.iter_mut().enumerate() {
                *x += turns[r].dot(led[c]) + if r == c { mass.inv_mass } else { 0.0 };
            }
        }
    }
    let [normal, across] = [n[0][0] + touch.soft[0], touch.soft[1]];
    if touch.mu == 0.0 {
        return [normal; 2];
    }
    let (x, y, z) = (n[1][1] + across, n[1][2], n[2][2] + across);
    let tangential = 0.5 * (x + z + ((x - z) * (x - z) + 4.0 * y * y).sqrt());
    // 2 x_n ⟨c, x_t⟩ ≤ |c| (x_n² + |x_t|²)
    let coupling = n[0][1].hypot(n[0][2]);
    let [normal, tangential] = [normal + coupling, tangential + coupling];
    if one { [normal.max(tangential); 2] } else { [normal, tangential] }
}

/// The point of the round cone that is next to `d` in the metric (1, κ, κ).
#[inline(always)]
pub fn project(mu: f64, kappa: f64, d: DVec3) -> DVec3 {
    let r = (d.y * d.y + d.z * d.z).sqrt();
    if kappa * mu * r <= -d.x {
        return DVec3::ZERO;
    }
    if r <= mu * d.x {
        return d;
    }
    let n = (d.x + kappa * mu * r) / (1.0 + kappa * mu * mu);
    let scale = if r > 0.0 { mu * n / r } else { 0.0 };
    DVec3::new(n, scale * d.y, scale * d.z)
}

impl Point {
    /// Its axes across.
    #[inline(always)]
    fn across(&self) -> [DVec3; 2] {
        [self.axes[1], self.axes[0].cross(self.axes[1])]
    }

    /// The multiplier that solves it alone, from `y` on.
    #[inline(always)]
    fn solved(&self, y: DVec3, at: &At) -> DVec3 {
        let [n, t] = self.step;
        if n == 0.0 {
            return y;
        }
        let [a, b] = &at.v;
        let w = (a[0] + a[1].cross(self.arms[0])) - (b[0] + b[1].cross(self.arms[1]));
        let across = self.across();
        let mut u = DVec3::new(self.axes[0].dot(w) + self.bias, across[0].dot(w), across[1].dot(w));
        if let Some(Extra { drift, soft }) = at.extra {
            u += DVec3::new(soft[0] * y.x, drift[0] + soft[1] * y.y, drift[1] + soft[1] * y.z);
        }
        project(self.mu, n / t, DVec3::new(y.x - n * u.x, y.y - t * u.y, y.z - t * u.z))
    }

    /// What a change of γ does to its bodies.
    #[inline(always)]
    fn pushes(&self, step: DVec3) -> [Twist; 2] {
        let across = self.across();
        let push = self.axes[0] * step.x + across[0] * step.y + across[1] * step.z;
        [[push, self.arms[0].cross(push)], [-push, self.arms[1].cross(-push)]]
    }
}

impl At<'_> {
    /// The natural-map residual of γ, m/s.
    #[inline(always)]
    fn residual(&self, gamma: DVec3) -> f64 {
        self.touch.residual(gamma, self.touch.between(&self.v) + self.touch.give(gamma))
    }
}

/// A step of every contact, from where momentum has led it.
struct Sweep {
    beta: f64,
    own: u32,
    /// Whether the sums are asked for, and that of squares, too.
    counts: bool,
    near: bool,
}

impl Visit for Sweep {
    #[inline(always)]
    fn visit(&self, point: &mut Point, at: &At, seen: &mut Seen) -> DVec3 {
        let [gamma, before] = point.gamma;
        let y = gamma + self.beta * (gamma - before);
        let z = point.solved(y, at);
        let step = z - y;
        point.gamma = [z, gamma];
        let [n, t] = point.step;
        if n > 0.0 {
            let (n, t) = (1.0 / n, 1.0 / t);
            let squares = n * n * step.x * step.x + t * t * (step.y * step.y + step.z * step.z);
            let size = squares.sqrt();
            seen.largest = if size.is_finite() { seen.largest.max(size) } else { f64::INFINITY };
            // Each contact is its first body's owner's to count.
            if self.counts && point.ends[0] < self.own {
                let led = z - gamma;
                if self.near {
                    seen.squares.add(squares);
                }
                seen.turn.add(n * step.x * led.x + t * (step.y * led.y + step.z * led.z));
            }
        }
        step
    }
}

impl<'a> Sweeps<'a> {
    fn new(walk: &'a Walk, of: &Colours) -> Self {
        let (movers, masses) = (walk.movers(), walk.masses());
        let (own, at_border) = (movers.own as u32, movers.border as u32);
        let mut asks = [walk.touches.iter().map(Touch::asks).fold(0.0, f64::max)];
        walk.comm().most(&mut asks);
        // Where contacts may contradict each other multipliers grow the faster the better they are scaled.
        let one = asks[0] > 0.0;
        let is_inner = |i: &u32| {
            let t = &walk.touches[*i as usize];
            [t.a, t.b].iter().all(|k| *k == NOBODY || (*k >= at_border && *k < own))
        };
        let mut order: Vec<u32> = (0..walk.touches.len() as u32).collect();
        order.sort_by_key(|i| (of.of[*i as usize], is_inner(i)));
        let point = |i: &u32| {
            let t = &walk.touches[*i as usize];
            Point {
                ends: [t.a, t.b],
                index: *i,
                axes: [t.frame[0], t.frame[1]],
                arms: t.arms,
                bias: t.bias.x,
                mu: t.mu,
                step: scales(t, masses, one).map(|g| if g > 0.0 { 1.0 / g } else { 0.0 }),
                gamma: [walk.gamma(*i as usize); 2],
            }
        };
        let extra = |t: &Touch| Extra { drift: [t.bias.y, t.bias.z], soft: t.soft };
        let is_plain = |t: &Touch| t.bias.y == 0.0 && t.bias.z == 0.0 && t.soft == [0.0; 2];
        let plain = walk.touches.iter().all(is_plain);
        let mut classes: Vec<Class> = Vec::with_capacity(of.count);
        let mut at = 0;
        for colour in 0..of.count {
            let rest = &order[at..];
            let count = rest.partition_point(|i| usize::from(of.of[*i as usize]) <= colour);
            let border = rest[..count].partition_point(|i| !is_inner(i));
            let mut class = Class { start: at, border: at + border, end: at + count, ..Class::default() };
            let moved = |k: &&u32| of.masks[**k as usize] >> colour & 1 == 1;
            let (mut sends, mut receives) = (&movers.sends[..], &movers.receives[..]);
            for x in &movers.neighbours {
                let (go, come);
                (go, sends) = sends.split_at(x.sends / 6);
                (come, receives) = receives.split_at(x.receives / 6);
                let [from, to] = [class.sends.len(), class.receives.len()];
                class.sends.extend(go.iter().filter(moved));
                class.receives.extend(come.iter().filter(moved));
                let counts = [class.sends.len() - from, class.receives.len() - to].map(|n| 6 * n);
                if counts != [0; 2] {
                    class.neighbours.push(Neighbour { rank: x.rank, sends: counts[0], receives: counts[1] });
                }
            }
            classes.push(class);
            at += count;
        }
        let before = walk.now();
        Self {
            comm: walk.comm(),
            movers,
            masses,
            touches: &walk.touches,
            points: order.iter().map(point).collect(),
            extra: walk.touches.iter().filter(|_| !plain).map(extra).collect(),
            classes,
            bodies: masses.iter().zip(&before).map(|(mass, v)| Body::new(mass, *v)).collect(),
            before,
            send: Vec::new(),
            receive: Vec::new(),
            parts: Vec::new(),
            largest: Vec::new(),
        }
    }

    /// Visits all contacts, colour by colour, and moves their bodies.
    fn pass(&mut self, visit: &impl Visit) -> Seen {
        let Self { comm, movers, points, classes, bodies, send, receive, parts, .. } = self;
        let (own, masses, touches, extra) = (movers.own, self.masses, self.touches, &self.extra);
        let mut all = Seen::default();
        for class in classes.iter() {
            let shared = Shared(bodies.as_mut_ptr());
            let mut work = |points: &mut [Point]| {
                parallel::map_chunks(points, PIECE, parts, |_, points| {
                    let mut seen = Seen::default();
                    for i in 0..points.len() {
                        for k in points.get(i + CALLED).into_iter().flat_map(|p| p.ends) {
                            prefetch_item(shared.0.wrapping_add(k as usize));
                        }
                        let point = &mut points[i];
                        let (ends, index) = (point.ends, point.index as usize);
                        // SAFETY: `ends` are movers, of which there are as many bodies, or nobody. Contacts
                        // of one colour share no body, so that nobody else has these two now.
                        let at = ends.map(|k| match k {
                            NOBODY => Body::NOBODY,
                            k => unsafe { *shared.at(k as usize) },
                        });
                        let v = at.map(|body| body.v);
                        let here = At { v, extra: extra.get(index), touch: &touches[index] };
                        let step = visit.visit(point, &here, &mut seen);
                        if step == DVec3::ZERO {
                            continue;
                        }
                        for ((k, body), push) in ends.into_iter().zip(at).zip(point.pushes(step)) {
                            if (k as usize) < own {
                                let v = body.pushed(&masses[k as usize], &push);
                                // SAFETY: as above.
                                unsafe { (*shared.at(k as usize)).v = v };
                            }
                        }
                    }
                    seen
                });
                parts.iter().for_each(|part| all.join(part));
            };
            let (border, inner) = points[class.start..class.end].split_at_mut(class.border - class.start);
            work(border);
            send.clear();
            for k in &class.sends {
                // SAFETY: movers, as above; no thread is at work.
                let [v, w] = unsafe { (*shared.at(*k as usize)).v };
                send.extend_from_slice(&[v.x, v.y, v.z, w.x, w.y, w.z]);
            }
            receive.resize(6 * class.receives.len(), 0.0);
            comm.exchange(&class.neighbours, send, receive, &mut || work(inner));
            for (k, x) in class.receives.iter().zip(receive.chunks(6)) {
                bodies[*k as usize].v = [DVec3::from_slice(x), DVec3::from_slice(&x[3..])];
            }
        }
        all
    }

    /// Goes on along what the last sweep has changed.
    fn lead(&mut self, beta: f64) {
        let Self { bodies, before, largest, .. } = self;
        let before = Shared(before.as_mut_ptr());
        parallel::map_chunks(bodies, 1024, largest, |first, run| {
            for (k, body) in (first..).zip(run) {
                // SAFETY: there are as many, and each is visited once.
                let before = unsafe { &mut *before.at(k) };
                let now = body.v;
                for (v, before) in body.v.iter_mut().zip(before.iter()) {
                    *v += beta * (*v - *before);
                }
                *before = now;
            }
            0.0
        });
    }

    /// The largest natural-map residual, m/s.
    fn residual(&mut self) -> f64 {
        let Self { points, bodies, largest, comm, touches, .. } = self;
        let (bodies, touches) = (&*bodies, &**touches);
        parallel::map_chunks(points, PIECE, largest, |_, points| {
            let of = |k: u32| bodies.get(k as usize).unwrap_or(&Body::NOBODY).v;
            let residuals = points.iter().map(|p| {
                At { v: p.ends.map(of), extra: None, touch: &touches[p.index as usize] }.residual(p.gamma[0])
            });
            residuals.fold(0.0, |most, x| if x.is_finite() { x.max(most) } else { f64::INFINITY })
        });
        let mut most = [largest.iter().copied().fold(0.0, f64::max)];
        comm.most(&mut most);
        most[0]
    }
}

/// Sweeps over the contacts of a walk, whose `seeds` colours follow from; without momentum, if not
/// `accelerated`. Leaves the walk with the multipliers of the last sweep, and returns how many that took;
/// None if this is nothing for sweeps: joints, or a body with more contacts than there are colours.
pub fn sweep(posed: &Posed, walk: &mut Walk, seeds: &[u64], stop: &Stop, accelerated: bool) -> Option<usize> {
    let mut refused = [f64::from(u8::from(!walk.joints.all().is_empty())), walk.touches.len() as f64];
    walk.comm().most(&mut refused);
    if refused[0] > 0.0 {
        return None;
    }
    let pairs: Vec<[u32; 2]> = walk.touches.iter().map(|t| [t.a, t.b]).collect();
    let of = colours(walk.comm(), walk.movers(), &pairs, seeds)?;
    drop(pairs);
    let mut used = 0;
    if let Some(came) = balls::sweep(posed, walk, &of, stop, accelerated) {
        if came.solved || came.sweeps >= stop.iterations {
            return Some(came.sweeps);
        }
        used = came.sweeps;
    }
    let mut sweeps = Sweeps::new(walk, &of);
    let own = walk.movers().own as u32;
    let first = sweeps.points.iter().filter(|p| p.ends[0] < own).count();
    let mut blocks = [first as i64];
    walk.comm().add(&mut blocks);
    let spread = SPREAD * stop.tolerance;
    let (mut run, mut last) = (0u32, f64::INFINITY);
    // Rounds are tried again once Σ of squares has fallen by half, or after half as many sweeps again.
    let (mut below, mut after) = (f64::INFINITY, 0);
    let (mut look_below, mut look_at) = (stop.tolerance, 0);
    while used < stop.iterations {
        let beta = if accelerated { f64::from(run) / (f64::from(run) + 3.0) } else { 0.0 };
        if accelerated {
            sweeps.lead(beta);
        }
        let near = last <= 4.0 * REACH * stop.tolerance;
        let seen = sweeps.pass(&Sweep { beta, own, counts: accelerated, near });
        used += 1;
        let [squares, turn] = match accelerated {
            true => exact::total(walk.comm(), [seen.squares, seen.turn]),
            false => [0.0; 2],
        };
        let mut largest = [seen.largest];
        walk.comm().most(&mut largest);
        let [measure] = largest;
        if !measure.is_finite() {
            // The walk is where these sweeps began.
            return Some(used);
        }
        last = measure;
        run = if turn < 0.0 { 0 } else { run + 1 };
        if stop.tolerance == 0.0 {
            continue;
        }
        if accelerated
            && near
            && measure <= REACH * stop.tolerance
            && squares <= spread * spread * blocks[0] as f64
            && (squares < below || used >= after)
        {
            (below, after) = (0.25 * squares, used + used / 2 + 16);
            let mut gamma = vec![DVec3::ZERO; walk.touches.len()];
            sweeps.points.iter().for_each(|p| gamma[p.index as usize] = p.gamma[0]);
            let v = sweeps.bodies.iter().map(|body| body.v).collect();
            if let Some(gamma) = settle(walk, &of, gamma, v, stop.tolerance) {
                drop(sweeps);
                walk.take(&gamma);
                return Some(used);
            }
        }
        let close = accelerated && measure <= NEAR * stop.tolerance && used % EVERY == 0;
        if close || measure <= look_below || (measure <= stop.tolerance && used >= look_at) {
            let residual = sweeps.residual();
            if residual <= stop.tolerance {
                break;
            }
            look_below = (measure * stop.tolerance / residual).min(0.9 * measure);
            look_at = used + used / 4 + 8;
        }
    }
    let gamma: Vec<(u32, DVec3)> = sweeps.points.iter().map(|p| (p.index, p.gamma[0])).collect();
    drop(sweeps);
    walk.take(&gamma);
    Some(used)
}
