//! A problem of spheres in groups of eight contacts.

use crate::colour::Span;
use crate::cone::project_friction;
use crate::problem::{Bodies, Points, WORLD};

use super::LEAST;
use super::eight::{Eight, Octet, Row, Vectors};

/// Bytes of a row.
const ROW: u32 = size_of::<Row>() as u32;

/// Eight contacts of one colour. Places that are left over have no normal and bodies of their own that do not move.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub(super) struct Group {
    /// Unit normals from B to A.
    pub n: Vectors,
    /// Along the normal, in units of the problem's speed.
    pub bias: Octet,
    /// ωη, in units of the problem's mass.
    pub step: Octet,
    /// Where the rows of the bodies are, in bytes from the first.
    pub a: Octet<u32>,
    pub b: Octet<u32>,
}

/// Points `first .. first + count` are in the places from `place` on.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u32,
    place: u32,
    count: u32,
    /// From this place on nobody looks for a second body.
    alone: u32,
}

/// What contacts need to know of a body.
#[derive(Clone, Copy, Debug, Default)]
struct Ball {
    /// Zero as long as no contact has been seen, m.
    radius: f64,
    inv_mass: f64,
    /// r²/I.
    turn: f64,
}

/// How steps follow from a block's diagonal: ω/g, with ω halved where λω times the largest eigenvalue of the block is
/// twice g or more, if asked for (see `fixed_point`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    pub omega: f64,
    pub lambda: f64,
    pub safeguard: bool,
    /// Whether multipliers are to be world vectors even where there is no friction.
    pub vectors: bool,
}

/// Bytes from one group to the next.
pub(super) const GROUP: usize = size_of::<Group>();
pub(super) const VECTORS: usize = size_of::<Vectors>();

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pack {
    pub groups: Vec<Group>,
    /// Colours; numbers are places, eight to a group.
    pub spans: Vec<Span>,
    pub regions: Vec<u32>,
    /// The friction of all contacts, or of each where they differ.
    pub mu: f32,
    pub each_mu: Vec<Octet>,
    /// Bias across the normals; empty where nothing slides by itself.
    pub drift: Vec<Vectors>,
    /// m v_free, 1/m, I ω_free / r, r²/I; at the end rows that do not move.
    pub free: Vec<Row>,
    /// Without friction a multiplier is one number, kept as the first of three.
    pub frictionless: bool,
    /// Units, m/s and kg.
    pub speed: f64,
    pub mass: f64,
    /// The smallest ω.
    pub omega: f64,
    runs: Vec<Run>,
    balls: Vec<Ball>,
    /// Bodies, and one more for every place that is left over or has a second body that does not move.
    still: u32,
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn is_ball(i: &[f64; 6]) -> bool {
    i[0] == i[1] && i[1] == i[2] && i[3] == 0.0 && i[4] == 0.0 && i[5] == 0.0
}

impl Ball {
    /// Body `i` with a contact at `radius`; nothing where it is none of equal inertia about every axis.
    fn new(p: &Bodies, i: usize, radius: f64) -> Self {
        let (inertia, inv_mass) = (&p.inv_inertia[i], p.inv_mass[i]);
        if !(is_ball(inertia) && inertia[0] > 0.0 && inv_mass > 0.0) {
            return Self::default();
        }
        Self { radius, inv_mass, turn: radius * radius * inertia[0] }
    }
}

impl Pack {
    /// Takes over `p`; false if it is not of this kind, or too small to be worth it.
    pub fn fill(&mut self, p: &Bodies, steps: Steps) -> bool {
        let points = &p.points;
        if points.len() < LEAST
            || !p.general.a.is_empty()
            || !points.compliance[0].is_empty()
            || points.spans.iter().any(|s| s.serial)
            || p.bodies() + points.len() >= (u32::MAX / ROW) as usize / 2
        {
            return false;
        }
        self.find_units(p);
        self.balls.clear();
        self.balls.resize(p.bodies(), Ball::default());
        self.lay_out(points);
        self.frictionless = !steps.vectors && points.mu.iter().all(|mu| *mu == 0.0);
        self.omega = steps.omega;
        for k in 0..self.runs.len() {
            if !self.put(p, steps, self.runs[k]) {
                return false;
            }
        }
        self.find_friction(points);
        self.free.clear();
        let still = Row::default();
        self.free.extend(self.balls.iter().enumerate().map(|(i, ball)| match ball.radius > 0.0 {
            true => {
                let v = &p.v_free[i];
                let [m, j] = [ball.inv_mass, ball.turn].map(|x| self.mass * x);
                let (s, t) = (1.0 / (self.speed * m), ball.radius / (self.speed * j));
                let numbers = [s * v[0], s * v[1], s * v[2], m, t * v[3], t * v[4], t * v[5], j];
                Row(numbers.map(|x| x as f32))
            }
            false => still,
        }));
        self.free.resize(self.still as usize, still);
        true
    }

    /// The largest speed that is asked for or there, and the first contact's mass.
    fn find_units(&mut self, p: &Bodies) {
        let most = |m: f64, x: &f64| m.max(x.abs());
        let free = p.v_free.iter().flat_map(|v| &v[..3]).fold(0.0, most);
        let drift = p.points.drift.iter().flatten().fold(0.0, most);
        let bias = p.points.bias.iter().fold(0.0, most);
        let speed = free.max(drift).max(bias);
        self.speed = if speed > 0.0 { speed } else { 1.0 };
        let typical = p.inv_mass[p.points.a[0] as usize];
        self.mass = if typical > 0.0 { 1.0 / typical } else { 1.0 };
    }

    /// Places for all points: every colour begins with a group of its own.
    fn lay_out(&mut self, points: &Points) {
        self.runs.clear();
        self.spans.clear();
        self.regions.clone_from(&points.regions);
        let mut at = 0;
        for s in &points.spans {
            let start = at;
            // A group of both kinds is treated as one of two bodies: who has none gets one that does not move.
            let two_end = at + (s.two_end - s.start).next_multiple_of(8);
            self.runs.push(Run { first: s.start, place: at, count: s.end - s.start, alone: two_end });
            at += (s.end - s.start).next_multiple_of(8);
            self.spans.push(Span { start, two_end: two_end.min(at), end: at, serial: false });
        }
        let empty = Group { step: Octet([1.0; 8]), ..Group::default() };
        self.groups.clear();
        self.groups.resize(at as usize / 8, empty);
        // The first of them is everybody's who is never looked for.
        self.still = self.balls.len() as u32 + 1;
        for run in &self.runs {
            for place in run.place + run.count..(run.place + run.count).next_multiple_of(8) {
                let (group, k) = (&mut self.groups[place as usize / 8], place as usize % 8);
                (group.a.0[k], group.b.0[k]) = (self.still * ROW, self.still * ROW);
                self.still += 1;
            }
        }
        self.drift.clear();
        if !points.drift[0].is_empty() {
            self.drift.resize(self.groups.len(), Vectors::default());
        }
    }

    /// Puts the points of a run in their places; false if one is no contact of spheres.
    fn put(&mut self, p: &Bodies, steps: Steps, run: Run) -> bool {
        let points = &p.points;
        let (first, end) = (run.first as usize, (run.first + run.count) as usize);
        // Slices of one length: no index below needs a look.
        let [normal, arm_a, arm_b] = [&points.normal, &points.arm_a, &points.arm_b]
            .map(|field| field.each_ref().map(|f| &f[first..end]));
        let (bias, mu) = (&points.bias[first..end], &points.mu[first..end]);
        let (a, b) = (&points.a[first..end], &points.b[first..end]);
        let (speed, mass) = (1.0 / self.speed, self.mass);
        for j in 0..end - first {
            let at = |f: &[&[f64]; 3]| [f[0][j], f[1][j], f[2][j]];
            let (n, slides) = (at(&normal), mu[j] != 0.0);
            let (mut g, mut bound) = (0.0, 0.0);
            let mut side = |body: u32, arm: [f64; 3], sign: f64| {
                let r = sign * dot(arm, n);
                let off = (0..3).map(|k| (arm[k] - sign * r * n[k]).abs()).fold(0.0, f64::max);
                let ball = &mut self.balls[body as usize];
                if ball.radius == 0.0 {
                    *ball = Ball::new(p, body as usize, r);
                }
                g += ball.inv_mass + if slides { 2.0 / 3.0 * ball.turn } else { 0.0 };
                bound += ball.inv_mass + if slides { ball.turn } else { 0.0 };
                // To the digits of f32.
                off <= 1e-7 * r && (r - ball.radius).abs() <= 2e-7 * ball.radius
            };
            let spheres = side(a[j], at(&arm_a), -1.0) && (b[j] == WORLD || side(b[j], at(&arm_b), 1.0));
            if !spheres || !(g > 0.0) {
                return false;
            }
            let mut omega = steps.omega;
            while steps.safeguard && steps.lambda * omega * bound >= 2.0 * g {
                omega *= 0.5;
            }
            self.omega = self.omega.min(omega);
            let place = run.place as usize + j;
            let (group, k) = (&mut self.groups[place / 8], place % 8);
            for c in 0..3 {
                group.n[c].0[k] = n[c] as f32;
            }
            group.bias.0[k] = (bias[j] * speed) as f32;
            group.step.0[k] = (omega / (g * mass)) as f32;
            group.a.0[k] = a[j] * ROW;
            group.b.0[k] = if b[j] != WORLD {
                b[j] * ROW
            } else {
                self.still += u32::from(place < run.alone as usize);
                (self.still - 1) * ROW
            };
            if !self.drift.is_empty() {
                for c in 0..3 {
                    self.drift[place / 8][c].0[k] = (points.drift[c][first + j] * speed) as f32;
                }
            }
        }
        true
    }

    fn find_friction(&mut self, points: &Points) {
        self.mu = points.mu[0] as f32;
        self.each_mu.clear();
        if points.mu.iter().any(|mu| *mu != points.mu[0]) {
            self.each_mu.resize(self.groups.len(), Octet::default());
            for run in &self.runs {
                for j in 0..run.count {
                    let place = (run.place + j) as usize;
                    self.each_mu[place / 8].0[place % 8] = points.mu[(run.first + j) as usize] as f32;
                }
            }
        }
    }

    /// [μ, 1/(1 + μ²)] of the points of group `g`.
    ///
    /// # Safety
    /// There is such a group, and a next one where `V` is two eights; the machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn friction<V: Eight>(&self, g: usize) -> [V; 2] {
        unsafe {
            if self.each_mu.is_empty() {
                return [V::splat(self.mu), V::splat(1.0 / (1.0 + self.mu * self.mu))];
            }
            let mu = V::load(self.each_mu.get_unchecked(g), size_of::<Octet>());
            let one = V::splat(1.0);
            [mu, one.div(one.add(mu.mul(mu)))]
        }
    }

    /// (point, place) of all contacts, in the order of the points.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let each = |run: &Run| {
            let (first, place) = (run.first as usize, run.place as usize);
            (0..run.count as usize).map(move |j| (first + j, place + j))
        };
        self.runs.iter().flat_map(each)
    }

    /// Multipliers from the problem's rows (zero if none), in this form's units.
    pub fn read(&self, p: &Bodies, rows: Option<&[f64]>, to: &mut Vec<Vectors>) {
        to.clear();
        to.resize(self.groups.len(), Vectors::default());
        let Some(rows) = rows else { return };
        let unit = 1.0 / (self.speed * self.mass);
        for (i, place) in self.places() {
            let local = [rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]];
            let (group, k) = (&mut to[place / 8], place % 8);
            if self.frictionless {
                group[0].0[k] = (unit * local[0].max(0.0)) as f32;
                continue;
            }
            let frame = p.points.frame(i);
            for c in 0..3 {
                let x: f64 = (0..3).map(|m| local[m] * frame[m][c]).sum();
                group[c].0[k] = (unit * x) as f32;
            }
        }
    }

    /// The largest multiplier over the masses it moves: a speed, m/s.
    pub fn pressed(&self, gamma: &[Vectors]) -> f64 {
        let mut most = 0.0f32;
        for (group, gamma) in self.groups.iter().zip(gamma) {
            for k in 0..8 {
                let largest = gamma.iter().map(|c| c.0[k].abs()).fold(0.0, f32::max);
                most = most.max(largest / group.step.0[k]);
            }
        }
        f64::from(most) * self.speed
    }

    /// The reverse of `read`; what is written is inside the cones, exactly.
    pub fn write(&self, p: &Bodies, gamma: &[Vectors], rows: &mut Vec<f64>) {
        rows.clear();
        rows.resize(3 * p.points.len(), 0.0);
        let unit = self.speed * self.mass;
        for (i, place) in self.places() {
            let (group, k) = (&gamma[place / 8], place % 8);
            let local = &mut rows[3 * i..3 * i + 3];
            if self.frictionless {
                local[0] = unit * f64::from(group[0].0[k].max(0.0));
                continue;
            }
            let x = group.map(|c| unit * f64::from(c.0[k]));
            for (to, axis) in local.iter_mut().zip(p.points.frame(i)) {
                *to = dot(axis, x);
            }
            project_friction(p.points.mu[i], local);
        }
    }

    /// Memory over contacts, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.groups.as_slice())
            + size_of_val(self.each_mu.as_slice())
            + size_of_val(self.drift.as_slice())
    }
}
