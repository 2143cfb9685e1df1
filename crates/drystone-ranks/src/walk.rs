//! Multipliers of a rank's contacts, and the velocities that belong to them: the same iterates on every rank,
//! to the last bit.
//!
//! All methods minimise f(γ) = ½ γᵀ(N + C)γ + rᵀγ over the friction cones by steps
//!
//! ```text
//!     z = P(y - t S u_y),     S = diag(η_i 1),     y = γ + β (γ - γ_before),     u_y = (N + C) y + r
//! ```
//!
//! with η_i from the trace of a contact's own block \[TasoraAnitescu2011, eq. 48\]. Velocities are linear in
//! γ: one sum over the contacts of each body for each step. A contact between bodies of two owners is worked
//! on by both.

use drystone::step::Staged;
use drystone_solve::parallel;
use drystone_solve::problem::WORLD;
use glam::DVec3;

use crate::comm::Comm;
use crate::domain::Movers;
use crate::exact::{Exact, WORDS};

/// Contacts, or bodies, that one thread works on at a time. No result depends on it.
const PIECE: usize = 1024;
/// No second body.
const NOBODY: u32 = u32::MAX;

/// The geometry of a contact.
#[derive(Clone, Copy)]
pub struct Touch {
    /// Places among the movers.
    a: u32,
    b: u32,
    frame: [DVec3; 3],
    arms: [DVec3; 2],
    /// Along the axes of the frame, m/s.
    bias: DVec3,
    /// Compliance along and across the normal, (m/s)/(N s).
    soft: [f64; 2],
    pub mu: f64,
    /// Mean diagonal, 1/kg, and its inverse.
    pub g: f64,
    eta: f64,
}

/// Multipliers of a contact.
#[derive(Clone, Copy, Default)]
struct Unknown {
    /// γ, γ_before and z, in turn.
    gamma: [DVec3; 3],
    /// The best so far.
    best: DVec3,
    /// z as a world vector.
    push: DVec3,
    /// Of the last step: |z - y|²/η, ⟨u, z - γ⟩, ⟨z - y, C (z - y)⟩, ⟨b, z⟩ + ½⟨z, C z⟩.
    terms: [f64; 4],
}

/// A body: impulses on it and velocities, of γ, γ_before and z, in turn.
#[derive(Clone, Copy, Default)]
struct Mover {
    impulse: [[DVec3; 2]; 3],
    v: [[DVec3; 2]; 3],
}

/// What does not change of a body.
#[derive(Clone, Copy)]
struct Mass {
    inv_mass: f64,
    inv_inertia: [f64; 6],
    free: [DVec3; 2],
}

/// What a step found, over all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trial {
    /// max |z_i - y_i| / (t η_i), m/s.
    pub measure: f64,
    /// Σ |z_i - y_i|² / η_i.
    pub length: f64,
    /// ⟨u_y, z - γ⟩, J.
    pub descent: f64,
    /// ⟨z - y, (N + C)(z - y)⟩, J.
    pub curvature: f64,
    /// f(z), J.
    pub objective: f64,
}

impl Trial {
    /// False once something overflowed.
    pub fn is_finite(&self) -> bool {
        [self.measure, self.length, self.descent, self.curvature, self.objective]
            .iter()
            .all(|x| x.is_finite())
    }
}

/// The walk of one problem.
pub struct Walk<'a> {
    comm: &'a dyn Comm,
    movers: &'a Movers,
    pub touches: Vec<Touch>,
    unknowns: Vec<Unknown>,
    bodies: Vec<Mover>,
    masses: Vec<Mass>,
    /// By own body: where its contacts begin in `entries`.
    first: Vec<u32>,
    /// Contact and side, in the global order of contacts.
    entries: Vec<u32>,
    /// Block of the problem of each contact.
    blocks: Vec<u32>,
    /// Which of three is γ, which γ_before and which z.
    now: usize,
    before: usize,
    next: usize,
    beta: f64,
    send: Vec<f64>,
    receive: Vec<f64>,
    parts: Vec<[Exact; 4]>,
    largest: Vec<f64>,
}

fn symmetric(m: &[f64; 6], x: DVec3) -> DVec3 {
    DVec3::new(
        m[0] * x.x + m[3] * x.y + m[4] * x.z,
        m[3] * x.x + m[1] * x.y + m[5] * x.z,
        m[4] * x.x + m[5] * x.y + m[2] * x.z,
    )
}

/// Projects on the friction cone, normal first.
#[inline]
pub fn project(mu: f64, x: DVec3) -> DVec3 {
    let across = (x.y * x.y + x.z * x.z).sqrt();
    if mu * across <= -x.x {
        return DVec3::ZERO;
    }
    if across <= mu * x.x {
        return x;
    }
    let along = (mu * across + x.x) / (mu * mu + 1.0);
    let scale = if across > 0.0 { mu * along / across } else { 0.0 };
    DVec3::new(along, x.y * scale, x.z * scale)
}

impl Mass {
    fn velocity(&self, impulse: &[DVec3; 2]) -> [DVec3; 2] {
        let [linear, turn] = self.change(impulse);
        [self.free[0] + linear, self.free[1] + turn]
    }

    fn change(&self, impulse: &[DVec3; 2]) -> [DVec3; 2] {
        [self.inv_mass * impulse[0], symmetric(&self.inv_inertia, impulse[1])]
    }
}

impl Touch {
    fn place(&self, x: DVec3) -> DVec3 {
        self.frame[0] * x.x + self.frame[1] * x.y + self.frame[2] * x.z
    }

    /// C x.
    fn give(&self, x: DVec3) -> DVec3 {
        DVec3::new(self.soft[0] * x.x, self.soft[1] * x.y, self.soft[1] * x.z)
    }

    /// ⟨γ, C γ⟩, J.
    pub fn soft(&self, gamma: DVec3) -> f64 {
        gamma.dot(self.give(gamma))
    }

    /// ⟨γ, b⟩, J.
    pub fn work(&self, gamma: DVec3) -> f64 {
        gamma.dot(self.bias)
    }

    /// 1 if it gives way.
    pub fn is_soft(&self) -> f64 {
        f64::from(u8::from(self.soft != [0.0; 2]))
    }

    /// 1 if it asks for a motion of bodies at rest.
    pub fn asks(&self) -> f64 {
        let across = self.bias.y.hypot(self.bias.z);
        f64::from(u8::from(self.bias.x - self.mu * across < -1e-12 * (1.0 + self.bias.x.abs())))
    }

    /// Dᵀv + b of velocities of the two bodies.
    fn relative(&self, velocity: impl Fn(u32) -> [DVec3; 2]) -> DVec3 {
        let [v, w] = velocity(self.a);
        let mut u = v + w.cross(self.arms[0]);
        if self.b != NOBODY {
            let [v, w] = velocity(self.b);
            u -= v + w.cross(self.arms[1]);
        }
        DVec3::new(self.frame[0].dot(u), self.frame[1].dot(u), self.frame[2].dot(u)) + self.bias
    }
}

impl<'a> Walk<'a> {
    /// Takes a problem that was posed, and starts from the guess, or from nothing.
    pub fn new(comm: &'a dyn Comm, movers: &'a Movers, staged: &Staged, guess: bool) -> Self {
        let p = staged.problem;
        let (count, points) = (staged.order.len(), &p.points);
        let mut place = vec![NOBODY; p.inv_mass.len()];
        movers.slots.iter().zip(0u32..).for_each(|(slot, k)| place[*slot as usize] = k);
        let free = |x: &[f64; 6]| [DVec3::new(x[0], x[1], x[2]), DVec3::new(x[3], x[4], x[5])];
        let masses: Vec<Mass> = movers
            .slots
            .iter()
            .map(|slot| {
                let i = *slot as usize;
                Mass { inv_mass: p.inv_mass[i], inv_inertia: p.inv_inertia[i], free: free(&p.v_free[i]) }
            })
            .collect();
        let mut blocks = vec![0u32; count];
        staged.order.iter().zip(0u32..).for_each(|(contact, block)| blocks[*contact as usize] = block);
        let at = |field: &[Vec<f64>; 3], i: usize| DVec3::new(field[0][i], field[1][i], field[2][i]);
        let touch = |block: &u32| {
            let i = *block as usize;
            let frame = points.frame(i).map(DVec3::from_array);
            let a = place[points.a[i] as usize];
            let b = if points.b[i] == WORLD { NOBODY } else { place[points.b[i] as usize] };
            let drift = if points.drift[0].is_empty() { DVec3::ZERO } else { at(&points.drift, i) };
            let bias = DVec3::new(points.bias[i], frame[1].dot(drift), frame[2].dot(drift));
            let soft = [0, 1].map(|k| points.compliance[k].get(i).copied().unwrap_or(0.0));
            let arms = [at(&points.arm_a, i), at(&points.arm_b, i)];
            let mut own = [soft[0], soft[1], soft[1]];
            for (body, arm) in [(a, arms[0]), (b, arms[1])].into_iter().filter(|(body, _)| *body != NOBODY) {
                let mass = &masses[body as usize];
                for (g, axis) in own.iter_mut().zip(frame) {
                    let turn = arm.cross(axis);
                    *g += mass.inv_mass + turn.dot(symmetric(&mass.inv_inertia, turn));
                }
            }
            let mu = points.mu[i];
            let g = if mu == 0.0 { own[0] } else { (own[0] + own[1] + own[2]) / 3.0 };
            let eta = if g > 0.0 { 1.0 / g } else { 0.0 };
            Touch { a, b, frame, arms, bias, soft, mu, g, eta }
        };
        let touches: Vec<Touch> = blocks.iter().map(touch).collect();
        let own = movers.own;
        let mut first = vec![0u32; own + 1];
        for body in touches.iter().flat_map(|t| [t.a, t.b]).filter(|k| (*k as usize) < own) {
            first[body as usize + 1] += 1;
        }
        (0..own).for_each(|k| first[k + 1] += first[k]);
        let mut entries = vec![0u32; first[own] as usize];
        let mut at_body = first.clone();
        for (i, t) in touches.iter().enumerate() {
            for (side, body) in [t.a, t.b].into_iter().enumerate().filter(|(_, k)| (*k as usize) < own) {
                let to = &mut at_body[body as usize];
                entries[*to as usize] = (i as u32) << 1 | side as u32;
                *to += 1;
            }
        }
        let start = |block: &u32| {
            let i = 3 * *block as usize;
            if guess { DVec3::from_slice(&staged.guess[i..]) } else { DVec3::ZERO }
        };
        let unknowns = blocks
            .iter()
            .zip(&touches)
            .map(|(block, t)| Unknown { gamma: [project(t.mu, start(block)); 3], ..Unknown::default() })
            .collect();
        let mut out = Self {
            comm,
            movers,
            touches,
            unknowns,
            bodies: vec![Mover::default(); movers.slots.len()],
            masses,
            first,
            entries,
            blocks,
            now: 0,
            before: 1,
            next: 2,
            beta: 0.0,
            send: Vec::new(),
            receive: Vec::new(),
            parts: Vec::new(),
            largest: Vec::new(),
        };
        out.refresh();
        out
    }

    /// Sums over all ranks.
    fn total<const N: usize>(&self, mut sums: [Exact; N]) -> [f64; N] {
        let mut words: Vec<i64> = sums.iter_mut().flat_map(|s| *s.words()).collect();
        self.comm.add(&mut words);
        let mut at = words.chunks(WORDS);
        std::array::from_fn(|_| at.next().map_or(0.0, |w| Exact::from_words(w).value()))
    }

    /// Impulses and velocities of z for own bodies, and with them the velocities of ghosts; the four sums of
    /// a step from y.
    fn gather(&mut self) -> [Exact; 4] {
        let Self { comm, movers, unknowns, bodies, masses, first, entries, touches, parts, .. } = self;
        let (now, before, next, beta) = (self.now, self.before, self.next, self.beta);
        let (unknowns, touches, masses) = (&*unknowns, &*touches, &*masses);
        let mut sums = [Exact::default(); 4];
        let mut work = |from: usize, run: &mut [Mover]| {
            parallel::map_chunks(run, PIECE, parts, |k, run| {
                let mut sums = [Exact::default(); 4];
                for (i, body) in (from + k..).zip(run) {
                    let mut terms = [0.0f64; 4];
                    let mut sum = [DVec3::ZERO; 2];
                    for entry in &entries[first[i] as usize..first[i + 1] as usize] {
                        let (c, side) = ((entry >> 1) as usize, (entry & 1) as usize);
                        let (u, t) = (&unknowns[c], &touches[c]);
                        let push = if side == 0 { u.push } else { -u.push };
                        sum[0] += push;
                        sum[1] += t.arms[side].cross(push);
                        if side == 0 {
                            (0..4).for_each(|k| terms[k] += u.terms[k]);
                        }
                    }
                    body.impulse[next] = sum;
                    body.v[next] = masses[i].velocity(&sum);
                    let along = |k: usize| {
                        let [p, q] = [body.impulse[now][k], body.impulse[before][k]];
                        sum[k] - (p + beta * (p - q))
                    };
                    let step = [along(0), along(1)];
                    let energy = |p: &[DVec3; 2]| {
                        let v = masses[i].change(p);
                        p[0].dot(v[0]) + p[1].dot(v[1])
                    };
                    let free = sum[0].dot(masses[i].free[0]) + sum[1].dot(masses[i].free[1]);
                    sums[0].add(terms[0]);
                    sums[1].add(terms[1]);
                    sums[2].add(terms[2] + energy(&step));
                    sums[3].add(terms[3] + (0.5 * energy(&sum) + free));
                }
                sums
            });
            for part in parts.iter() {
                sums.iter_mut().zip(part).for_each(|(a, b)| a.merge(b));
            }
        };
        let (own, ghosts) = bodies.split_at_mut(movers.own);
        let (border, inner) = own.split_at_mut(movers.border);
        work(0, &mut *border);
        self.send.clear();
        for k in &movers.sends {
            let [v, w] = border[*k as usize].v[next];
            self.send.extend_from_slice(&[v.x, v.y, v.z, w.x, w.y, w.z]);
        }
        self.receive.resize(6 * movers.receives.len(), 0.0);
        comm.exchange(&movers.neighbours, &self.send, &mut self.receive, &mut || {
            work(movers.border, &mut *inner)
        });
        for (k, x) in movers.receives.iter().zip(self.receive.chunks(6)) {
            ghosts[*k as usize - movers.own].v[next] = [DVec3::from_slice(x), DVec3::from_slice(&x[3..])];
        }
        sums
    }

    /// Takes impulses and velocities of γ from γ itself; γ_before and z are γ.
    fn refresh(&mut self) {
        let (now, touches) = (self.now, &self.touches);
        parallel::map_chunks(&mut self.unknowns, PIECE, &mut self.largest, |k, run| {
            for (u, t) in run.iter_mut().zip(&touches[k..]) {
                u.gamma = [u.gamma[now]; 3];
                (u.push, u.terms) = (t.place(u.gamma[0]), [0.0; 4]);
            }
            0.0
        });
        self.gather();
        let next = self.next;
        for body in &mut self.bodies {
            (body.impulse, body.v) = ([body.impulse[next]; 3], [body.v[next]; 3]);
        }
        self.beta = 0.0;
    }

    /// f(γ), J.
    pub fn objective(&self) -> f64 {
        let mut sum = Exact::default();
        let (now, unknowns, touches, masses) = (self.now, &self.unknowns, &self.touches, &self.masses);
        for (i, body) in self.bodies[..self.movers.own].iter().enumerate() {
            let mut terms = 0.0;
            for entry in &self.entries[self.first[i] as usize..self.first[i + 1] as usize] {
                let (c, x) = ((entry >> 1) as usize, unknowns[(entry >> 1) as usize].gamma[now]);
                if entry & 1 == 0 {
                    terms += touches[c].bias.dot(x) + 0.5 * x.dot(touches[c].give(x));
                }
            }
            let (p, v) = (&body.impulse[now], masses[i].change(&body.impulse[now]));
            let free = &masses[i].free;
            let energy = 0.5 * (p[0].dot(v[0]) + p[1].dot(v[1])) + (p[0].dot(free[0]) + p[1].dot(free[1]));
            sum.add(terms + energy);
        }
        self.total([sum])[0]
    }

    /// Told with which β the next step starts: y = γ + β (γ - γ_before).
    pub fn lean(&mut self, beta: f64) {
        self.beta = beta;
    }

    /// z = P(y - t S u_y).
    pub fn step(&mut self, t: f64) -> Trial {
        let (now, before, next, beta) = (self.now, self.before, self.next, self.beta);
        let (touches, bodies) = (&self.touches, &self.bodies);
        parallel::map_chunks(&mut self.unknowns, PIECE, &mut self.largest, |k, run| {
            let mut largest = 0.0f64;
            for (x, touch) in run.iter_mut().zip(&touches[k..]) {
                let velocity = |body: u32| {
                    let v = &bodies[body as usize].v;
                    [0, 1].map(|k| v[now][k] + beta * (v[now][k] - v[before][k]))
                };
                let y = x.gamma[now] + beta * (x.gamma[now] - x.gamma[before]);
                let u = touch.relative(velocity) + touch.give(y);
                let z = project(touch.mu, y - (t * touch.eta) * u);
                let step = z - y;
                x.gamma[next] = z;
                x.push = touch.place(z);
                x.terms = [
                    step.dot(step) * touch.g,
                    u.dot(z - x.gamma[now]),
                    step.dot(touch.give(step)),
                    touch.bias.dot(z) + 0.5 * z.dot(touch.give(z)),
                ];
                let size = step.length() * (touch.g / t);
                largest = if size.is_finite() { largest.max(size) } else { f64::INFINITY };
            }
            largest
        });
        let sums = self.gather();
        let [length, descent, curvature, objective] = self.total(sums);
        Trial { measure: self.most(), length, descent, curvature, objective }
    }

    /// The largest of what the last pass over contacts has found, over all ranks.
    fn most(&self) -> f64 {
        let mut most = [self.largest.iter().copied().fold(0.0, f64::max)];
        self.comm.most(&mut most);
        most[0]
    }

    /// Takes z for γ.
    pub fn accept(&mut self) {
        (self.now, self.before, self.next) = (self.next, self.now, self.before);
    }

    /// Takes γ + α (z - γ) for γ and y.
    pub fn blend(&mut self, alpha: f64) {
        let (now, next) = (self.now, self.next);
        if alpha != 1.0 {
            for x in &mut self.unknowns {
                let z = x.gamma[next];
                x.gamma[next] = x.gamma[now] + alpha * (z - x.gamma[now]);
            }
            for body in &mut self.bodies {
                for k in 0..2 {
                    let (p, v) = (body.impulse[now][k], body.v[now][k]);
                    body.impulse[next][k] = p + alpha * (body.impulse[next][k] - p);
                    body.v[next][k] = v + alpha * (body.v[next][k] - v);
                }
            }
        }
        self.accept();
        self.beta = 0.0;
    }

    /// Multipliers of contact `i`, and its velocity u = Dᵀv + b + Cγ.
    pub fn look(&self, i: usize) -> [DVec3; 2] {
        let (t, gamma) = (&self.touches[i], self.unknowns[i].gamma[self.now]);
        [gamma, t.relative(|body| self.bodies[body as usize].v[self.now]) + t.give(gamma)]
    }

    /// The largest natural-map residual of γ, m/s.
    pub fn residual(&mut self) -> f64 {
        let Self { touches, unknowns, bodies, now, largest, .. } = self;
        let (touches, unknowns, bodies, now) = (&*touches, &*unknowns, &*bodies, *now);
        parallel::map_ranges(touches.len(), PIECE, largest, |run| {
            run.map(|i| {
                let (gamma, t) = (unknowns[i].gamma[now], &touches[i]);
                let u = t.relative(|body| bodies[body as usize].v[now]) + t.give(gamma);
                let e = (gamma - project(t.mu, gamma - t.eta * u)).length() * t.g;
                if e.is_finite() { e } else { f64::INFINITY }
            })
            .fold(0.0, f64::max)
        });
        self.most()
    }

    /// Remembers γ as the best so far.
    pub fn keep(&mut self) {
        let now = self.now;
        self.unknowns.iter_mut().for_each(|x| x.best = x.gamma[now]);
    }

    /// Ends with γ, or with the best so far; velocities are made anew from it.
    pub fn finish(&mut self, best: bool) {
        let now = self.now;
        if best {
            self.unknowns.iter_mut().for_each(|x| x.gamma[now] = x.best);
        }
        self.refresh();
    }

    /// γ in the problem's rows.
    pub fn rows(&self) -> Vec<f64> {
        let mut out = vec![0.0; 3 * self.blocks.len()];
        for (block, x) in self.blocks.iter().zip(&self.unknowns) {
            x.gamma[self.now].write_to_slice(&mut out[3 * *block as usize..]);
        }
        out
    }

    /// Velocities by slot of the part; `others` are those of bodies that are not dynamic.
    pub fn velocities(&self, others: &[[f64; 6]]) -> Vec<[f64; 6]> {
        let mut out = others.to_vec();
        for (slot, body) in self.movers.slots.iter().zip(&self.bodies) {
            let [v, w] = body.v[self.now];
            out[*slot as usize] = [v.x, v.y, v.z, w.x, w.y, w.z];
        }
        out
    }

    /// Sums over contacts, each counted once, by body and then without rounding; the squares and products of
    /// the whole.
    pub fn sum<const N: usize>(&self, term: impl Fn(usize) -> [f64; N]) -> [f64; N] {
        let mut sums = [Exact::default(); N];
        for i in 0..self.movers.own {
            for entry in &self.entries[self.first[i] as usize..self.first[i + 1] as usize] {
                if entry & 1 == 0 {
                    let terms = term((entry >> 1) as usize);
                    (0..N).for_each(|k| sums[k].add(terms[k]));
                }
            }
        }
        self.total(sums)
    }

    /// ⟨p, M⁻¹p⟩ and ⟨p, v_free⟩ of γ's impulses p, J.
    pub fn energies(&self) -> [f64; 2] {
        let mut sums = [Exact::default(); 2];
        for (body, mass) in self.bodies[..self.movers.own].iter().zip(&self.masses) {
            let p = &body.impulse[self.now];
            let v = mass.change(p);
            sums[0].add(p[0].dot(v[0]) + p[1].dot(v[1]));
            sums[1].add(p[0].dot(mass.free[0]) + p[1].dot(mass.free[1]));
        }
        self.total(sums)
    }

    /// The largest of numbers of contacts, over all ranks; those at borders are looked at twice.
    pub fn largest<const N: usize>(&self, of: impl Fn(usize) -> [f64; N]) -> [f64; N] {
        let mut most = [0.0f64; N];
        for i in 0..self.touches.len() {
            for (most, x) in most.iter_mut().zip(of(i)) {
                *most = if x.is_nan() { f64::INFINITY } else { most.max(x) };
            }
        }
        self.comm.most(&mut most);
        most
    }

    /// No eigenvalue of S^½ (N + C) S^½ is above this: two bodies a contact, and three rows, with what those
    /// give way by.
    pub fn bound(&self) -> f64 {
        let mut most = [0.0f64];
        for i in 0..self.movers.own {
            let mut sum = 0.0;
            for entry in &self.entries[self.first[i] as usize..self.first[i + 1] as usize] {
                sum += if self.touches[(entry >> 1) as usize].g > 0.0 { 6.0 } else { 0.0 };
            }
            most[0] = most[0].max(sum);
        }
        self.comm.most(&mut most);
        most[0] + 3.0
    }
}
