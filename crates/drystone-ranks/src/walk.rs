//! Multipliers of a rank's contacts and joints, and the velocities that belong to them: the same iterates on
//! every rank, to the last bit.
//!
//! All methods minimise f(γ) = ½ γᵀ(N + C)γ + rᵀγ over the friction cones by steps
//!
//! ```text
//!     z = P(y - t S u_y),     S = diag(η_i 1),     y = γ + β (γ - γ_before),     u_y = (N + C) y + r
//! ```
//!
//! with η_i from the trace of a contact's own block \[TasoraAnitescu2011, eq. 48\]. Velocities are linear in
//! γ: one sum over the contacts of each body for each step, and over its joints' rows (`rows.rs`). A contact
//! between bodies of two owners is worked on by both.

use drystone_solve::parallel::{self, Shared};
use drystone_solve::problem::WORLD;
use glam::DVec3;

use crate::comm::Comm;
use crate::domain::Movers;
use crate::exact::{self, Exact};
use crate::posed::Posed;
use crate::rows::Rows;
use crate::touch::{NOBODY, Touch, project};

/// Bodies that one thread works on at a time. No result depends on it.
const PIECE: usize = 1024;
/// Contacts of one run, and runs that one thread works on at a time.
const RUN: usize = 64;
const RUNS: usize = 16;

/// Linear and angular part: of a velocity in world axes, m/s and rad/s, or of an impulse, N s and N m s.
pub type Twist = [DVec3; 2];

/// What is unknown of some contacts on their way down the objective, one after the other in each list.
#[derive(Clone)]
struct Run {
    /// γ, γ_before and z, in turn.
    gamma: [[DVec3; RUN]; 3],
    /// What z does to the first bodies, and to the second ones.
    impulses: [[Twist; RUN]; 2],
    /// Of the last step: |z - y|²/η, ⟨u, z - γ⟩, ⟨z - y, C (z - y)⟩, ⟨b, z⟩ + ½⟨z, C z⟩.
    terms: [[f64; 4]; RUN],
}

impl Default for Run {
    fn default() -> Self {
        let nothing = [DVec3::ZERO; RUN];
        let impulses = [[[DVec3::ZERO; 2]; RUN]; 2];
        Self { gamma: [nothing; 3], impulses, terms: [[0.0; 4]; RUN] }
    }
}

/// A body on its way: impulses on it and velocities, of γ, γ_before and z, in turn.
#[derive(Clone, Copy, Default)]
struct Mover {
    impulse: [Twist; 3],
    v: [Twist; 3],
}

/// Where γ and its impulses are.
#[derive(Clone, Copy)]
struct Unknowns<'b> {
    gamma: &'b [DVec3],
    impulses: &'b [Twist],
    runs: &'b [Run],
    bodies: &'b [Mover],
    now: usize,
}

impl<'b> Unknowns<'b> {
    /// The multiplier of contact `i`.
    #[inline(always)]
    fn gamma(self, i: usize) -> DVec3 {
        match self.runs.is_empty() {
            true => self.gamma[i],
            false => self.runs[i / RUN].gamma[self.now][i % RUN],
        }
    }

    /// The impulse of γ on own body `k`.
    fn impulse(self, k: usize) -> &'b Twist {
        if self.bodies.is_empty() { &self.impulses[k] } else { &self.bodies[k].impulse[self.now] }
    }
}

/// What does not change of a body.
#[derive(Clone, Copy)]
pub struct Mass {
    pub inv_mass: f64,
    pub inv_inertia: [f64; 6],
    pub free: Twist,
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
    /// γ, and the best so far if one was kept.
    gamma: Vec<DVec3>,
    best: Vec<DVec3>,
    /// Impulses of γ on own bodies.
    impulses: Vec<Twist>,
    /// From [`Walk::set_out`] to [`Walk::finish`] γ and its impulses are in these.
    runs: Vec<Run>,
    bodies: Vec<Mover>,
    /// Velocities by body: of γ, and on the way of y.
    at_y: Vec<Twist>,
    masses: Vec<Mass>,
    /// By own body: where its contacts begin in `entries`.
    first: Vec<u32>,
    /// Contact and side, in the global order of contacts.
    entries: Vec<u32>,
    /// Of joints.
    pub joints: Rows,
    /// Block of the problem of each contact that is taken.
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

#[inline(always)]
fn symmetric(m: &[f64; 6], x: DVec3) -> DVec3 {
    DVec3::new(
        m[0] * x.x + m[3] * x.y + m[4] * x.z,
        m[3] * x.x + m[1] * x.y + m[5] * x.z,
        m[4] * x.x + m[5] * x.y + m[2] * x.z,
    )
}

impl Mass {
    #[inline(always)]
    fn velocity(&self, impulse: &Twist) -> Twist {
        let [linear, turn] = self.change(impulse);
        [self.free[0] + linear, self.free[1] + turn]
    }

    /// What an impulse does to its velocity.
    #[inline(always)]
    pub fn change(&self, impulse: &Twist) -> Twist {
        [self.inv_mass * impulse[0], symmetric(&self.inv_inertia, impulse[1])]
    }
}

impl<'a> Walk<'a> {
    /// Takes the blocks of a posed problem of whose first movers `takes` says so, and starts from `gamma`, in
    /// the problem's rows, or from the problem's guess.
    pub fn new(posed: &Posed<'a>, gamma: Option<&[f64]>, takes: impl Fn(u32) -> bool) -> Self {
        let Posed { comm, movers, staged, place, .. } = posed;
        let (comm, movers) = (*comm, *movers);
        let (p, points) = (staged.problem, &staged.problem.points);
        let known = gamma.or(posed.guess);
        let free = |x: &[f64; 6]| [DVec3::new(x[0], x[1], x[2]), DVec3::new(x[3], x[4], x[5])];
        let masses: Vec<Mass> = movers
            .slots
            .iter()
            .map(|slot| {
                let i = *slot as usize;
                Mass { inv_mass: p.inv_mass[i], inv_inertia: p.inv_inertia[i], free: free(&p.v_free[i]) }
            })
            .collect();
        let taken = (0..posed.blocks.len()).filter(|i| takes(posed.contact(*i)[0]));
        let mut blocks: Vec<u32> = Vec::with_capacity(posed.blocks.len());
        blocks.extend(taken.map(|i| posed.blocks[i]));
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
            known.map_or(DVec3::ZERO, |gamma| DVec3::from_slice(&gamma[i..]))
        };
        let gamma = blocks.iter().zip(&touches).map(|(block, t)| project(t.mu, start(block))).collect();
        let diagonal = |body: u32, [linear, turn]: &Twist| {
            let mass = &masses[body as usize];
            mass.inv_mass * linear.length_squared() + turn.dot(symmetric(&mass.inv_inertia, *turn))
        };
        let joints = Rows::new(posed, known, takes, diagonal);
        let mut out = Self {
            comm,
            movers,
            touches,
            joints,
            gamma,
            best: Vec::new(),
            impulses: vec![[DVec3::ZERO; 2]; own],
            runs: Vec::new(),
            bodies: Vec::new(),
            at_y: vec![[DVec3::ZERO; 2]; movers.slots.len()],
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

    pub fn comm(&self) -> &'a dyn Comm {
        self.comm
    }

    pub fn movers(&self) -> &'a Movers {
        self.movers
    }

    pub fn masses(&self) -> &[Mass] {
        &self.masses
    }

    /// The block of the problem that contact `i` has.
    pub fn block(&self, i: usize) -> usize {
        self.blocks[i] as usize
    }

    fn unknowns(&self) -> Unknowns<'_> {
        let Self { gamma, impulses, runs, bodies, now, .. } = self;
        Unknowns { gamma, impulses, runs, bodies, now: *now }
    }

    /// The multiplier of contact `i`.
    pub fn gamma(&self, i: usize) -> DVec3 {
        self.unknowns().gamma(i)
    }

    /// The velocities of γ, by body, but on the way.
    pub fn now(&self) -> Vec<Twist> {
        self.at_y.clone()
    }

    /// Takes these multipliers of contacts for γ, and velocities from them.
    pub fn take(&mut self, gamma: &[(u32, DVec3)]) {
        gamma.iter().for_each(|(i, x)| self.gamma[*i as usize] = *x);
        self.refresh();
    }

    /// Makes room for steps down the objective, which begin at γ.
    pub fn set_out(&mut self) {
        (self.now, self.before, self.next, self.beta) = (0, 1, 2, 0.0);
        self.runs = vec![Run::default(); self.gamma.len().div_ceil(RUN)];
        let (gamma, touches) = (&self.gamma, &self.touches);
        parallel::map_chunks(&mut self.runs, RUNS, &mut self.largest, |first, runs| {
            for (k, run) in (first..).zip(runs) {
                for (k, x) in gamma[k * RUN..].iter().take(RUN).enumerate() {
                    run.gamma.iter_mut().for_each(|of| of[k] = *x);
                }
            }
            0.0
        });
        each_run(&mut self.runs, touches, &mut self.largest, |x, touches| {
            for (k, t) in touches.iter().enumerate() {
                [x.impulses[0][k], x.impulses[1][k]] = t.impulses(x.gamma[0][k]);
            }
            0.0
        });
        let own = self.impulses.iter().map(|p| [*p; 3]);
        let impulses = own.chain(std::iter::repeat([[DVec3::ZERO; 2]; 3]));
        self.bodies = self.at_y.iter().zip(impulses).map(|(v, p)| Mover { impulse: p, v: [*v; 3] }).collect();
    }

    /// Sums over all ranks.
    fn total<const N: usize>(&self, sums: [Exact; N]) -> [f64; N] {
        exact::total(self.comm, sums)
    }

    /// Impulses and velocities of z for own bodies, and with them the velocities of ghosts; the four sums of
    /// a step from y.
    fn gather(&mut self) -> [Exact; 4] {
        let Self { comm, movers, runs, bodies, masses, first, entries, joints, parts, .. } = self;
        let (now, before, next, beta) = (self.now, self.before, self.next, self.beta);
        let (runs, masses, joints) = (&*runs, &*masses, &*joints);
        let mut sums = [Exact::default(); 4];
        let mut work = |from: usize, run: &mut [Mover]| {
            parallel::map_chunks(run, PIECE, parts, |k, run| {
                let mut sums = [Exact::default(); 4];
                for (i, body) in (from + k..).zip(run) {
                    let mut terms = [0.0f64; 4];
                    let mut sum = [DVec3::ZERO; 2];
                    for entry in &entries[first[i] as usize..first[i + 1] as usize] {
                        let (c, side) = ((entry >> 1) as usize, (entry & 1) as usize);
                        let (x, k) = (&runs[c / RUN], c % RUN);
                        let [push, turn] = x.impulses[side][k];
                        sum[0] += push;
                        sum[1] += turn;
                        if side == 0 {
                            (0..4).for_each(|j| terms[j] += x.terms[k][j]);
                        }
                    }
                    joints.add(i, &mut sum, &mut terms);
                    body.impulse[next] = sum;
                    body.v[next] = masses[i].velocity(&sum);
                    let along = |k: usize| {
                        let [p, q] = [body.impulse[now][k], body.impulse[before][k]];
                        sum[k] - (p + beta * (p - q))
                    };
                    let step = [along(0), along(1)];
                    let energy = |p: &Twist| {
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

    /// Takes impulses and velocities of γ from γ itself.
    fn refresh(&mut self) {
        self.joints.refresh(self.now);
        let Self {
            comm,
            movers,
            touches,
            gamma,
            impulses,
            at_y,
            masses,
            first,
            entries,
            joints,
            largest,
            ..
        } = self;
        let (touches, gamma, masses, joints) = (&*touches, &*gamma, &*masses, &*joints);
        let (own, ghosts) = at_y.split_at_mut(movers.own);
        let mut work = |from: usize, run: &mut [Twist], impulses: &mut [Twist]| {
            let impulses = Shared(impulses.as_mut_ptr());
            parallel::map_chunks(run, PIECE, largest, |k, run| {
                for (at, v) in (k..).zip(run) {
                    let (i, mut sum, mut terms) = (from + at, [DVec3::ZERO; 2], [0.0; 4]);
                    for entry in &entries[first[i] as usize..first[i + 1] as usize] {
                        let (c, side) = ((entry >> 1) as usize, (entry & 1) as usize);
                        let [push, turn] = touches[c].impulses(gamma[c])[side];
                        sum[0] += push;
                        sum[1] += turn;
                    }
                    joints.add(i, &mut sum, &mut terms);
                    *v = masses[i].velocity(&sum);
                    // SAFETY: there are as many, and each is visited once.
                    unsafe { *impulses.at(at) = sum };
                }
                0.0
            });
        };
        let (border, inner) = own.split_at_mut(movers.border);
        let (at_border, within) = impulses.split_at_mut(movers.border);
        work(0, &mut *border, at_border);
        self.send.clear();
        for k in &movers.sends {
            let [v, w] = border[*k as usize];
            self.send.extend_from_slice(&[v.x, v.y, v.z, w.x, w.y, w.z]);
        }
        self.receive.resize(6 * movers.receives.len(), 0.0);
        comm.exchange(&movers.neighbours, &self.send, &mut self.receive, &mut || {
            work(movers.border, &mut *inner, &mut *within);
        });
        for (k, x) in movers.receives.iter().zip(self.receive.chunks(6)) {
            ghosts[*k as usize - movers.own] = [DVec3::from_slice(x), DVec3::from_slice(&x[3..])];
        }
    }

    /// f(γ), J.
    pub fn objective(&self) -> f64 {
        let Self { touches, masses, entries, first, joints, now, .. } = self;
        let at = self.unknowns();
        let mut parts: Vec<Exact> = Vec::new();
        parallel::map_ranges(self.movers.own, PIECE, &mut parts, |range| {
            let mut sum = Exact::default();
            for i in range {
                let (p, mass) = (at.impulse(i), &masses[i]);
                let mut terms = 0.0;
                for entry in entries[first[i] as usize..first[i + 1] as usize].iter().filter(|e| *e & 1 == 0)
                {
                    let c = (entry >> 1) as usize;
                    let (x, t) = (at.gamma(c), &touches[c]);
                    terms += t.bias.dot(x) + 0.5 * x.dot(t.give(x));
                }
                terms += joints.counted(i).map(|row| joints.objective(row, *now)).sum::<f64>();
                let (v, free) = (mass.change(p), &mass.free);
                let energy =
                    0.5 * (p[0].dot(v[0]) + p[1].dot(v[1])) + (p[0].dot(free[0]) + p[1].dot(free[1]));
                sum.add(terms + energy);
            }
            sum
        });
        let mut sum = Exact::default();
        parts.iter().for_each(|part| sum.merge(part));
        self.total([sum])[0]
    }

    /// Told with which β the next step starts: y = γ + β (γ - γ_before).
    pub fn lean(&mut self, beta: f64) {
        self.beta = beta;
    }

    /// z = P(y - t S u_y).
    pub fn step(&mut self, t: f64) -> Trial {
        let (now, before, next, beta) = (self.now, self.before, self.next, self.beta);
        let bodies = &self.bodies;
        parallel::map_chunks(&mut self.at_y, PIECE, &mut self.largest, |first, at_y| {
            for (y, body) in at_y.iter_mut().zip(&bodies[first..]) {
                let (v, w) = (&body.v[now], &body.v[before]);
                *y = [v[0] + beta * (v[0] - w[0]), v[1] + beta * (v[1] - w[1])];
            }
            0.0
        });
        let at_y = &self.at_y;
        each_run(&mut self.runs, &self.touches, &mut self.largest, |x, touches| {
            let mut largest = 0.0f64;
            for (k, touch) in touches.iter().enumerate() {
                let gamma = x.gamma[now][k];
                let y = gamma + beta * (gamma - x.gamma[before][k]);
                let u = touch.relative(at_y) + touch.give(y);
                let z = project(touch.mu, y - (t * touch.eta) * u);
                let step = z - y;
                x.gamma[next][k] = z;
                [x.impulses[0][k], x.impulses[1][k]] = touch.impulses(z);
                x.terms[k] = [
                    step.dot(step) * touch.g,
                    u.dot(z - gamma),
                    step.dot(touch.give(step)),
                    touch.bias.dot(z) + 0.5 * z.dot(touch.give(z)),
                ];
                let size = step.length() * (touch.g / t);
                largest = if size.is_finite() { largest.max(size) } else { f64::INFINITY };
            }
            largest
        });
        let joints = self.joints.step([now, before, next], beta, t, &self.at_y);
        let sums = self.gather();
        let [length, descent, curvature, objective] = self.total(sums);
        Trial { measure: self.most(joints), length, descent, curvature, objective }
    }

    /// The largest of what the last pass over contacts has found and of `joints`, over all ranks.
    fn most(&self, joints: f64) -> f64 {
        let mut most = [self.largest.iter().copied().fold(joints, f64::max)];
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
            each_run(&mut self.runs, &self.touches, &mut self.largest, |x, touches| {
                for k in 0..touches.len() {
                    let (z, gamma) = (x.gamma[next][k], x.gamma[now][k]);
                    x.gamma[next][k] = gamma + alpha * (z - gamma);
                }
                0.0
            });
            self.joints.blend(now, next, alpha);
            parallel::map_chunks(&mut self.bodies, PIECE, &mut self.largest, |_, bodies| {
                for body in bodies {
                    for k in 0..2 {
                        let (p, v) = (body.impulse[now][k], body.v[now][k]);
                        body.impulse[next][k] = p + alpha * (body.impulse[next][k] - p);
                        body.v[next][k] = v + alpha * (body.v[next][k] - v);
                    }
                }
                0.0
            });
        }
        self.accept();
        self.beta = 0.0;
    }

    /// The velocities of γ, by body, for [`Walk::look`].
    pub fn prepare(&mut self) {
        let (now, bodies) = (self.now, &self.bodies);
        parallel::map_chunks(&mut self.at_y, PIECE, &mut self.largest, |first, at_y| {
            at_y.iter_mut().zip(bodies.get(first..).unwrap_or(&[])).for_each(|(y, body)| *y = body.v[now]);
            0.0
        });
    }

    /// Multipliers of contact `i`, and its velocity u = Dᵀv + b + Cγ, after [`Walk::prepare`].
    pub fn look(&self, i: usize) -> [DVec3; 2] {
        let (t, gamma) = (&self.touches[i], self.gamma(i));
        [gamma, t.relative(&self.at_y) + t.give(gamma)]
    }

    /// The multiplier of a joint's row, and its velocity u = Jv + b + Cγ, after [`Walk::prepare`].
    pub fn look_at_row(&self, i: usize) -> [f64; 2] {
        let (row, gamma) = (&self.joints.all()[i], self.joints.gamma(i, self.now));
        [gamma, row.relative(&self.at_y) + row.soft * gamma]
    }

    /// The largest natural-map residual of γ, m/s.
    pub fn residual(&mut self) -> f64 {
        self.prepare();
        let mut parts = std::mem::take(&mut self.largest);
        let (at, touches, v) = (self.unknowns(), &self.touches, &self.at_y);
        parallel::map_ranges(touches.len(), PIECE, &mut parts, |range| {
            let mut largest = 0.0f64;
            for (i, t) in range.clone().zip(&touches[range]) {
                let gamma = at.gamma(i);
                let e = t.residual(gamma, t.relative(v) + t.give(gamma));
                largest = if e.is_finite() { largest.max(e) } else { f64::INFINITY };
            }
            largest
        });
        self.largest = parts;
        let joints = self.joints.residual(self.now, &self.at_y);
        self.most(joints)
    }

    /// Remembers γ as the best so far.
    pub fn keep(&mut self) {
        self.joints.keep(self.now);
        self.best = (0..self.gamma.len()).map(|i| self.gamma(i)).collect();
    }

    /// Ends with γ, or with the best so far; velocities are made anew from it.
    pub fn finish(&mut self, best: bool) {
        if best {
            self.gamma = std::mem::take(&mut self.best);
            self.joints.restore(self.now);
        } else {
            self.gamma = (0..self.gamma.len()).map(|i| self.gamma(i)).collect();
        }
        (self.runs, self.bodies) = (Vec::new(), Vec::new());
        self.refresh();
    }

    /// Writes γ where its blocks have their rows in the problem.
    pub fn write_rows(&self, to: &mut [f64]) {
        for (i, block) in self.blocks.iter().enumerate() {
            let gamma = self.gamma(i);
            gamma.write_to_slice(&mut to[3 * *block as usize..]);
        }
        let points = to.len() - self.joints.of_problem();
        self.joints.write(self.now, &mut to[points..]);
    }

    /// Velocities by slot of the part; `others` are those of bodies that are not dynamic.
    pub fn velocities(&self, others: &[[f64; 6]]) -> Vec<[f64; 6]> {
        let mut out = others.to_vec();
        for (slot, [v, w]) in self.movers.slots.iter().zip(&self.at_y) {
            out[*slot as usize] = [v.x, v.y, v.z, w.x, w.y, w.z];
        }
        out
    }

    /// Sums over contacts and joints' rows, each counted once, by body and then without rounding; the squares
    /// and products of the whole.
    pub fn sum<const N: usize>(
        &self,
        term: impl Fn(usize) -> [f64; N],
        of_row: impl Fn(usize) -> [f64; N],
    ) -> [f64; N] {
        let mut sums = [Exact::default(); N];
        for i in 0..self.movers.own {
            for entry in &self.entries[self.first[i] as usize..self.first[i + 1] as usize] {
                if entry & 1 == 0 {
                    let terms = term((entry >> 1) as usize);
                    (0..N).for_each(|k| sums[k].add(terms[k]));
                }
            }
            for terms in self.joints.counted(i).map(&of_row) {
                (0..N).for_each(|k| sums[k].add(terms[k]));
            }
        }
        self.total(sums)
    }

    /// ⟨p, M⁻¹p⟩ and ⟨p, v_free⟩ of γ's impulses p, J.
    pub fn energies(&self) -> [f64; 2] {
        let mut sums = [Exact::default(); 2];
        for (k, mass) in self.masses[..self.movers.own].iter().enumerate() {
            let p = self.unknowns().impulse(k);
            let v = mass.change(p);
            sums[0].add(p[0].dot(v[0]) + p[1].dot(v[1]));
            sums[1].add(p[0].dot(mass.free[0]) + p[1].dot(mass.free[1]));
        }
        self.total(sums)
    }

    /// The largest of numbers of contacts and of joints' rows, over all ranks; those at borders are looked at
    /// twice.
    pub fn largest<const N: usize>(
        &self,
        of: impl Fn(usize) -> [f64; N],
        of_row: impl Fn(usize) -> [f64; N],
    ) -> [f64; N] {
        let mut most = [0.0f64; N];
        let rows = (0..self.joints.all().len()).map(of_row);
        for numbers in (0..self.touches.len()).map(of).chain(rows) {
            for (most, x) in most.iter_mut().zip(numbers) {
                *most = if x.is_nan() { f64::INFINITY } else { most.max(x) };
            }
        }
        self.comm.most(&mut most);
        most
    }

    /// No eigenvalue of S^½ (N + C) S^½ is above this: two bodies a contact, and three rows, or one of a
    /// joint, with what those give way by.
    pub fn bound(&self) -> f64 {
        let mut most = [0.0f64];
        for i in 0..self.movers.own {
            let mut sum = 2.0 * self.joints.count(i) as f64;
            for entry in &self.entries[self.first[i] as usize..self.first[i + 1] as usize] {
                sum += if self.touches[(entry >> 1) as usize].g > 0.0 { 6.0 } else { 0.0 };
            }
            most[0] = most[0].max(sum);
        }
        self.comm.most(&mut most);
        most[0] + 3.0
    }
}

/// Visits runs of contacts with their geometry; what each run returns is a part, and the largest of a run's
/// is kept.
fn each_run(
    runs: &mut [Run],
    touches: &[Touch],
    largest: &mut Vec<f64>,
    visit: impl Fn(&mut Run, &[Touch]) -> f64 + Sync,
) {
    parallel::map_chunks(runs, RUNS, largest, |first, runs| {
        let here = touches[first * RUN..].chunks(RUN);
        runs.iter_mut().zip(here).map(|(run, touches)| visit(run, touches)).fold(0.0, f64::max)
    });
}
