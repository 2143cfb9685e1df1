//! A problem of spheres in groups of eight contacts.

use crate::colour::{self, Span};
use crate::cone::project_friction;
use crate::crew::{self, Shared};
use crate::problem::{Bodies, Points, WORLD};
use crate::room;

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
    /// Points from this one on have no second body, and those before `alone` the rows from `still` on instead.
    two_end: u32,
    still: u32,
}

/// Contacts, or bodies, that are worked on at a time.
const PIECE: usize = 2048;
/// Groups of these.
pub(super) const PIECE_GROUPS: usize = PIECE / 8;

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
    /// 1/(1 + μ²).
    share: f32,
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
    /// The first row of each region, and the number of rows; empty where rows of regions are no runs.
    pub ranges: Vec<u32>,
    runs: Vec<Run>,
    balls: Vec<Ball>,
    put: Vec<Put>,
    bounds: Vec<[u32; 2]>,
    sums: Vec<f64>,
    nothing: Vec<()>,
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

/// What came of putting points in their places.
#[derive(Clone, Copy, Debug, Default)]
struct Put {
    /// One is no contact of spheres.
    other: bool,
    /// How often ω was halved, at most.
    halved: i32,
}

/// Where points are put, by several threads.
struct To {
    groups: Shared<Group>,
    balls: Shared<Ball>,
    drift: Shared<Vectors>,
    drifts: bool,
    /// One over the unit.
    speed: f64,
    mass: f64,
}

impl To {
    /// Puts the points of a piece of a run in their places.
    ///
    /// # Safety
    /// Nobody else works on their bodies or groups.
    unsafe fn put(&self, p: &Bodies, steps: Steps, run: &Run, piece: Span) -> Put {
        let points = &p.points;
        let (first, end) = (piece.start as usize, piece.end as usize);
        // Slices of one length: no index below needs a look.
        let [normal, arm_a, arm_b] = [&points.normal, &points.arm_a, &points.arm_b]
            .map(|field| field.each_ref().map(|f| &f[first..end]));
        let (bias, mu) = (&points.bias[first..end], &points.mu[first..end]);
        let (a, b) = (&points.a[first..end], &points.b[first..end]);
        let mut put = Put::default();
        for j in 0..end - first {
            let at = |f: &[&[f64]; 3]| [f[0][j], f[1][j], f[2][j]];
            let (n, slides) = (at(&normal), mu[j] != 0.0);
            let (mut g, mut bound) = (0.0, 0.0);
            let mut side = |body: u32, arm: [f64; 3], sign: f64| {
                let r = sign * dot(arm, n);
                let off = (0..3).map(|k| (arm[k] - sign * r * n[k]).abs()).fold(0.0, f64::max);
                let ball = unsafe { &mut *self.balls.at(body as usize) };
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
                return Put { other: true, ..put };
            }
            let (mut omega, mut halved) = (steps.omega, 0);
            while steps.safeguard && steps.lambda * omega * bound >= 2.0 * g {
                (omega, halved) = (0.5 * omega, halved + 1);
            }
            put.halved = put.halved.max(halved);
            let point = piece.start + j as u32;
            let place = (run.place + (point - run.first)) as usize;
            let (group, k) = (unsafe { &mut *self.groups.at(place / 8) }, place % 8);
            for c in 0..3 {
                group.n[c].0[k] = n[c] as f32;
            }
            group.bias.0[k] = (bias[j] * self.speed) as f32;
            group.step.0[k] = (omega / (g * self.mass)) as f32;
            group.a.0[k] = a[j] * ROW;
            group.b.0[k] = ROW
                * match b[j] {
                    WORLD if place < run.alone as usize => run.still + (point - run.two_end),
                    WORLD => p.bodies() as u32,
                    body => body,
                };
            if self.drifts {
                let drift = unsafe { &mut *self.drift.at(place / 8) };
                for c in 0..3 {
                    drift[c].0[k] = (points.drift[c][first + j] * self.speed) as f32;
                }
            }
        }
        put
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
        crew::zeros(&mut self.balls, p.bodies(), Ball::default());
        self.lay_out(points);
        self.frictionless = !steps.vectors && crew::all(points.len(), |i| points.mu[i] == 0.0);
        let Some(omega) = self.put_all(p, steps) else { return false };
        self.omega = omega;
        self.find_friction(points);
        self.find_ranges(points);
        let (speed, mass, balls, still) = (self.speed, self.mass, &self.balls, Row::default());
        crew::resize(&mut self.free, self.still as usize, still);
        crew::chunks(&mut self.free, PIECE, &mut self.nothing, |first, rows| {
            for (i, row) in (first..).zip(rows) {
                *row = match balls.get(i) {
                    Some(ball) if ball.radius > 0.0 => {
                        let v = &p.v_free[i];
                        let [m, j] = [ball.inv_mass, ball.turn].map(|x| mass * x);
                        let (s, t) = (1.0 / (speed * m), ball.radius / (speed * j));
                        let numbers = [s * v[0], s * v[1], s * v[2], m, t * v[3], t * v[4], t * v[5], j];
                        Row(numbers.map(|x| x as f32))
                    }
                    _ => still,
                };
            }
        });
        true
    }

    /// The largest speed that is asked for or there, and the first contact's mass.
    fn find_units(&mut self, p: &Bodies) {
        let most = |m: f64, x: &f64| m.max(x.abs());
        let [bodies, points] = [p.bodies(), p.points.len()];
        self.sums.clear();
        self.sums.resize(bodies.max(points).div_ceil(PIECE), 0.0);
        let to = Shared(self.sums.as_mut_ptr());
        crew::each(self.sums.len(), |k| {
            let range = |n: usize| (k * PIECE).min(n)..((k + 1) * PIECE).min(n);
            let free = p.v_free[range(bodies)].iter().flat_map(|v| &v[..3]).fold(0.0, most);
            let bias = p.points.bias[range(points)].iter().fold(free, most);
            let drift = p.points.drift.iter().filter(|d| !d.is_empty()).flat_map(|d| &d[range(points)]);
            // SAFETY: every piece once.
            unsafe { *to.at(k) = drift.fold(bias, most) };
        });
        let speed = self.sums.iter().fold(0.0, most);
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
            let (place, count) = (at, s.end - s.start);
            self.runs.push(Run {
                first: s.start,
                place,
                count,
                alone: two_end,
                two_end: s.two_end,
                still: 0,
            });
            at += (s.end - s.start).next_multiple_of(8);
            self.spans.push(Span { start, two_end: two_end.min(at), end: at, serial: false });
        }
        crew::resize(&mut self.groups, at as usize / 8, Group::default());
        // The first of them is everybody's who is never looked for.
        self.still = self.balls.len() as u32 + 1;
        for run in &mut self.runs {
            for place in run.place + run.count..(run.place + run.count).next_multiple_of(8) {
                let (group, k) = (&mut self.groups[place as usize / 8], place as usize % 8);
                group.n.iter_mut().for_each(|n| n.0[k] = 0.0);
                (group.bias.0[k], group.step.0[k]) = (0.0, 1.0);
                (group.a.0[k], group.b.0[k]) = (self.still * ROW, self.still * ROW);
                self.still += 1;
            }
            run.still = self.still;
            let ends = run.place + (run.two_end - run.first);
            self.still += run.alone.min(run.place + run.count) - ends;
        }
        self.drift.clear();
        if !points.drift[0].is_empty() {
            self.drift.resize(self.groups.len(), Vectors::default());
        }
    }

    /// Puts all points in their places; the smallest ω, or None if one is no contact of spheres.
    fn put_all(&mut self, p: &Bodies, steps: Steps) -> Option<f64> {
        let points = &p.points;
        let (groups, balls) = (Shared(self.groups.as_mut_ptr()), Shared(self.balls.as_mut_ptr()));
        let to = To {
            groups,
            balls,
            drift: Shared(self.drift.as_mut_ptr()),
            drifts: !self.drift.is_empty(),
            speed: 1.0 / self.speed,
            mass: self.mass,
        };
        let runs = &self.runs;
        let visit = |piece: Span| {
            let at = runs.partition_point(|run| run.first <= piece.start) - 1;
            // SAFETY: the problem was checked: no two points of a piece, and no two pieces or regions that are visited at a
            // time, share a body; pieces begin with a group of their own.
            unsafe { to.put(p, steps, &runs[at], piece) }
        };
        let add = |all: &mut Put, part: Put| {
            all.other |= part.other;
            all.halved = all.halved.max(part.halved);
        };
        let put = colour::walk(&points.spans, &points.regions, false, &mut self.put, visit, add);
        (!put.other).then_some(steps.omega * 0.5f64.powi(put.halved))
    }

    /// Bodies of a region are runs of rows, where they are numbered along a curve.
    fn find_ranges(&mut self, points: &Points) {
        self.ranges.clear();
        let rows = self.still;
        let Some((_, regions)) = points.regions.split_last() else { return };
        self.bounds.clear();
        self.bounds.resize(regions.len(), [0; 2]);
        let bounds = Shared(self.bounds.as_mut_ptr());
        crew::each(regions.len(), |k| {
            let [first, end] = [k, k + 1].map(|k| points.regions[k] as usize);
            let mut seen = [u32::MAX, 0];
            if first < end {
                let range = points.spans[first].start as usize..points.spans[end - 1].end as usize;
                let bodies = points.a[range.clone()].iter().chain(&points.b[range]);
                for &body in bodies.filter(|body| **body != WORLD) {
                    seen = [seen[0].min(body), seen[1].max(body)];
                }
            }
            // SAFETY: each region once.
            unsafe { *bounds.at(k) = seen };
        });
        if self.bounds.windows(2).all(|w| w[0][1] < w[1][0]) && self.bounds.iter().all(|b| b[0] <= b[1]) {
            self.ranges.push(0);
            self.ranges.extend(self.bounds[1..].iter().map(|b| b[0]));
            self.ranges.push(rows);
        }
    }

    fn find_friction(&mut self, points: &Points) {
        self.mu = points.mu[0] as f32;
        self.share = 1.0 / (1.0 + self.mu * self.mu);
        self.each_mu.clear();
        if !crew::all(points.len(), |i| points.mu[i] == points.mu[0]) {
            self.each_mu.resize(self.groups.len(), Octet::default());
            for run in &self.runs {
                for j in 0..run.count {
                    let place = (run.place + j) as usize;
                    self.each_mu[place / 8].0[place % 8] = points.mu[(run.first + j) as usize] as f32;
                }
            }
        }
    }

    /// [μ, 1/(1 + μ²)] where it is the same for all points.
    ///
    /// # Safety
    /// The machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn same_friction<V: Eight>(&self) -> [V; 2] {
        unsafe { [V::splat(self.mu), V::splat(self.share)] }
    }

    /// [μ, 1/(1 + μ²)] of the points of group `g`.
    ///
    /// # Safety
    /// There is such a group, and a next one where `V` is two eights; the machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn friction<V: Eight>(&self, g: usize) -> [V; 2] {
        unsafe {
            if self.each_mu.is_empty() {
                return self.same_friction();
            }
            let mu = V::load(self.each_mu.get_unchecked(g), size_of::<Octet>());
            let one = V::splat(1.0);
            [mu, one.div(one.add(mu.mul(mu)))]
        }
    }

    /// Calls `visit` with (point, place) of every contact; the pieces do not share a group.
    fn each(&self, visit: impl Fn(usize, usize) + Sync) {
        let pieces = |run: &Run| (run.count as usize).div_ceil(PIECE);
        let all = self.runs.iter().map(pieces).sum::<usize>();
        let one = |run: &Run, piece: usize| {
            let (first, place) = (run.first as usize, run.place as usize);
            let range = piece * PIECE..(run.count as usize).min((piece + 1) * PIECE);
            range.for_each(|j| visit(first + j, place + j));
        };
        if all < 4 {
            return self.runs.iter().for_each(|run| (0..pieces(run)).for_each(|k| one(run, k)));
        }
        // Runs are short and many, or few and long.
        let share = self.runs.len().div_ceil(64);
        crew::each(self.runs.len().div_ceil(share), |t| {
            let runs = &self.runs[t * share..self.runs.len().min((t + 1) * share)];
            runs.iter().filter(|run| pieces(run) == 1).for_each(|run| one(run, 0));
        });
        for run in self.runs.iter().filter(|run| pieces(run) > 1) {
            crew::each(pieces(run), |k| one(run, k));
        }
    }

    /// Multipliers from the problem's rows (zero if none), in this form's units.
    pub fn read(&self, p: &Bodies, rows: Option<&[f64]>, to: &mut Vec<Vectors>) {
        let Some(rows) = rows else {
            return crew::zeros(to, self.groups.len(), Vectors::default());
        };
        crew::resize(to, self.groups.len(), Vectors::default());
        // Only places that are left over are not written below.
        for run in self.runs.iter().filter(|run| run.count % 8 > 0) {
            to[(run.place + run.count) as usize / 8] = Vectors::default();
        }
        let unit = 1.0 / (self.speed * self.mass);
        let to = Shared(to.as_mut_ptr());
        self.each(|i, place| {
            let local = [rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]];
            // SAFETY: no two threads work on one group.
            let (group, k) = (unsafe { &mut *to.at(place / 8) }, place % 8);
            if self.frictionless {
                (group[0].0[k], group[1].0[k], group[2].0[k]) = ((unit * local[0].max(0.0)) as f32, 0.0, 0.0);
                return;
            }
            let frame = p.points.frame(i);
            for c in 0..3 {
                let x: f64 = (0..3).map(|m| local[m] * frame[m][c]).sum();
                group[c].0[k] = (unit * x) as f32;
            }
        });
    }

    /// The largest multiplier over the masses it moves: a speed, m/s.
    pub fn pressed(&self, gamma: &[Vectors]) -> f64 {
        let most = self.fold(|g, most: &mut f32| {
            let (group, gamma) = (&self.groups[g], &gamma[g]);
            for k in 0..8 {
                let largest = gamma.iter().map(|c| c.0[k].abs()).fold(0.0, f32::max);
                *most = most.max(largest / group.step.0[k]);
            }
        });
        f64::from(most.into_iter().fold(0.0, f32::max)) * self.speed
    }

    /// What `visit` makes of the groups of each piece, from its default.
    pub fn fold<T: Default + Send>(&self, visit: impl Fn(usize, &mut T) + Sync) -> Vec<T> {
        let (groups, mut parts) = (self.groups.len(), Vec::new());
        parts.resize_with(groups.div_ceil(PIECE_GROUPS), T::default);
        let to = Shared(parts.as_mut_ptr());
        crew::each(groups.div_ceil(PIECE_GROUPS), |k| {
            // SAFETY: every piece once.
            let part = unsafe { &mut *to.at(k) };
            (k * PIECE_GROUPS..groups.min((k + 1) * PIECE_GROUPS)).for_each(|g| visit(g, part));
        });
        parts
    }

    /// The reverse of `read`; what is written is inside the cones, exactly.
    pub fn write(&self, p: &Bodies, gamma: &[Vectors], rows: &mut Vec<f64>) {
        let count = 3 * p.points.len();
        rows.clear();
        room::more(rows, count);
        let unit = self.speed * self.mass;
        let to = Shared(rows.as_mut_ptr().cast::<[f64; 3]>());
        self.each(|i, place| {
            let (group, k) = (&gamma[place / 8], place % 8);
            let local = if self.frictionless {
                [unit * f64::from(group[0].0[k].max(0.0)), 0.0, 0.0]
            } else {
                let x = group.map(|c| unit * f64::from(c.0[k]));
                let mut local = p.points.frame(i).map(|axis| dot(axis, x));
                project_friction(p.points.mu[i], &mut local);
                local
            };
            // SAFETY: there is room, and every point is visited once.
            unsafe { to.at(i).write(local) };
        });
        // SAFETY: all have been written.
        unsafe { rows.set_len(count) };
    }

    /// Memory over contacts, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.groups.as_slice())
            + size_of_val(self.each_mu.as_slice())
            + size_of_val(self.drift.as_slice())
    }
}
