//! A problem of spheres in groups of eight contacts.

mod given;
mod layout;
mod put;

use crate::colour::Span;
use crate::cone::project_friction;
use crate::memory;
use crate::parallel::{self, Shared};
use crate::problem::{Bodies, Points};
use crate::simd::vec3::{Vec3, add, add_scaled, sub_cross};
use crate::simd::{F32Lanes, GroupEnds, Lanes, Packed, Row32, Vectors, load3};

use super::super::contact::update::Friction;
use super::LEAST;
pub use given::{Ball, BallContact, Units};
use layout::Run;
use put::Put;

/// Bytes of a row.
const ROW: u32 = size_of::<Row32>() as u32;

/// Eight contacts of one colour, where the pack is not [`Pack::close`]. Places that are left over have no
/// normal and bodies of their own that do not move.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub(super) struct Group {
    /// Unit normals from B to A.
    pub n: Vectors,
    /// Along the normal, in units of the problem's speed.
    pub bias: Packed,
    /// ωη, in units of the problem's mass.
    pub step: Packed,
    /// Where the rows of the bodies are, in bytes from the first.
    pub a: Packed<u32>,
    pub b: Packed<u32>,
}

impl GroupEnds for Group {
    #[inline(always)]
    fn ends(&self) -> [&Packed<u32>; 2] {
        [&self.a, &self.b]
    }
}

/// Contacts, or bodies, that are worked on at a time.
const PIECE: usize = 2048;
/// Groups of these.
pub(super) const PIECE_GROUPS: usize = PIECE / 8;

/// How steps follow from a block's diagonal: ω/g, with ω halved where λω times the largest eigenvalue of the
/// block is twice g or more, if asked for (see `fixed_point`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    pub omega: f64,
    pub lambda: f64,
    pub safeguard: bool,
    /// Whether multipliers are to be world vectors even where there is no friction.
    pub vectors: bool,
    /// Whether steps are one over a bound of the block's largest eigenvalue in place of ω/g: 1/w_t of balls.
    pub bounded: bool,
    /// Whether groups may have a body twice: no contact is looked at in the light of what another has done.
    pub repeats: bool,
}

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
    pub each_mu: Vec<Packed>,
    /// Bias across the normals; empty where nothing slides by itself.
    pub drift: Vec<Vectors>,
    /// m v_free, 1/m, I ω_free / r, r²/I; at the end rows that do not move.
    pub free: Vec<Row32>,
    /// Without friction a multiplier is one number, kept as the first of three.
    pub frictionless: bool,
    /// Units, m/s and kg.
    pub speed: f64,
    pub mass: f64,
    /// The smallest ω.
    pub omega: f64,
    /// The smallest κ of all contacts: how much more a push across the normal moves them than one along it;
    /// one without friction.
    pub kappa: f64,
    /// The first row of each region, and the number of rows; empty where rows of regions are no runs.
    pub ranges: Vec<u32>,
    /// Colours share groups, and everything is one thread's work.
    close: bool,
    runs: Vec<Run>,
    balls: Vec<put::Ball>,
    put: Vec<Put>,
    bounds: Vec<[u32; 2]>,
    sums: Vec<f64>,
    nothing: Vec<()>,
    /// Bodies, and one more for every place that is left over or has a second body that does not move.
    still: u32,
}

/// Velocities below this share of the problem's largest are none.
pub(super) const TINY: f32 = 1e-13;

/// Velocities without those that are next to none.
#[inline(always)]
pub(super) fn flushed<V: F32Lanes>(u: Vec3<V>) -> Vec3<V> {
    let tiny = V::splat(TINY);
    [u[0].flush(tiny), u[1].flush(tiny), u[2].flush(tiny)]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
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
        parallel::fill(&mut self.balls, p.bodies(), put::Ball::default());
        self.lay_out(points, steps.repeats);
        self.frictionless = !steps.vectors && parallel::all(points.len(), |i| points.mu[i] == 0.0);
        let Some(omega) = self.put_all(p, steps) else { return false };
        self.omega = omega;
        self.find_friction(points);
        self.find_ranges(points);
        let (speed, mass, balls, still) = (self.speed, self.mass, &self.balls, Row32::default());
        parallel::resize(&mut self.free, self.still as usize, still);
        parallel::map_chunks(&mut self.free, PIECE, &mut self.nothing, |first, rows| {
            for (i, row) in (first..).zip(rows) {
                *row = match balls.get(i) {
                    Some(ball) if ball.radius > 0.0 => {
                        let v = &p.v_free[i];
                        let [m, j] = [ball.inv_mass, ball.turn].map(|x| mass * x);
                        let (s, t) = (1.0 / (speed * m), ball.radius / (speed * j));
                        let numbers = [s * v[0], s * v[1], s * v[2], m, t * v[3], t * v[4], t * v[5], j];
                        Packed(numbers.map(|x| x as f32))
                    }
                    _ => still,
                };
            }
        });
        if p.bodies() >= memory::MANY_BODIES {
            self.balls = Vec::new();
        }
        true
    }

    /// The largest speed that is asked for or there, and the first contact's mass.
    fn find_units(&mut self, p: &Bodies) {
        let most = |m: f64, x: &f64| m.max(x.abs());
        let [bodies, points] = [p.bodies(), p.points.len()];
        parallel::map_ranges(bodies.max(points), PIECE, &mut self.sums, |range| {
            let of = |n: usize| range.start.min(n)..range.end.min(n);
            let free = p.v_free[of(bodies)].iter().flat_map(|v| &v[..3]).fold(0.0, most);
            let bias = p.points.bias[of(points)].iter().fold(free, most);
            let drift = p.points.drift.iter().filter(|d| !d.is_empty()).flat_map(|d| &d[of(points)]);
            drift.fold(bias, most)
        });
        let speed = self.sums.iter().fold(0.0, most);
        self.speed = if speed > 0.0 { speed } else { 1.0 };
        let typical = p.inv_mass[p.points.a[0] as usize];
        self.mass = if typical > 0.0 { 1.0 / typical } else { 1.0 };
    }

    fn find_friction(&mut self, points: &Points) {
        self.mu = points.mu[0] as f32;
        self.share = 1.0 / (1.0 + self.mu * self.mu);
        self.each_mu.clear();
        if !parallel::all(points.len(), |i| points.mu[i] == points.mu[0]) {
            self.each_mu.resize(self.groups.len(), Packed::default());
            for run in &self.runs {
                for j in 0..run.count {
                    let place = (run.place + j) as usize;
                    self.each_mu[place / 8].0[place % 8] = points.mu[(run.first + j) as usize] as f32;
                }
            }
        }
    }

    /// The bias across the normals of groups `g .. g + EIGHTS`, if anything slides by itself.
    #[inline(always)]
    pub fn each_drift<V: F32Lanes>(&self, g: usize) -> Option<Vec3<V>> {
        if self.drift.is_empty() { None } else { Some(load3(&self.drift[g..g + V::EIGHTS], |drift| drift)) }
    }

    /// μ of the contacts of groups `g .. g + EIGHTS`, where it is not the same for all.
    #[inline(always)]
    pub fn each_friction<V: F32Lanes>(&self, g: usize) -> Option<V> {
        if self.each_mu.is_empty() { None } else { Some(V::load(&self.each_mu[g..g + V::EIGHTS], |mu| mu)) }
    }

    /// Where friction is the same for all contacts.
    #[inline(always)]
    pub fn same_friction<V: Lanes<Number = f32>>(&self) -> Friction<V> {
        let mu = V::splat(self.mu);
        Friction { mu, pull: mu, share: V::splat(self.share) }
    }

    /// Friction of the contacts of groups `g .. g + EIGHTS`.
    #[inline(always)]
    pub fn friction<V: F32Lanes>(&self, g: usize) -> Friction<V> {
        match self.each_friction(g) {
            Some(mu) => Friction::new(mu),
            None => self.same_friction(),
        }
    }

    /// u of the contacts of group `g`, whose bodies' relative velocities are `seen` and `turn`; PLAIN:
    /// nothing drifts.
    #[inline(always)]
    pub fn velocity<V: F32Lanes, const PLAIN: bool>(
        &self,
        g: usize,
        contacts: &[Group],
        n: Vec3<V>,
        [seen, turn]: [Vec3<V>; 2],
    ) -> Vec3<V> {
        let mut u = add_scaled(sub_cross(seen, turn, n), V::load(contacts, |c| &c.bias), n);
        if !PLAIN && let Some(drift) = self.each_drift(g) {
            u = add(u, drift);
        }
        flushed(u)
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
        if all < 4 || self.close {
            return self.runs.iter().for_each(|run| (0..pieces(run)).for_each(|k| one(run, k)));
        }
        // Runs are short and many, or few and long.
        let share = self.runs.len().div_ceil(64);
        parallel::for_each(self.runs.len().div_ceil(share), |t| {
            let runs = &self.runs[t * share..self.runs.len().min((t + 1) * share)];
            runs.iter().filter(|run| pieces(run) == 1).for_each(|run| one(run, 0));
        });
        for run in self.runs.iter().filter(|run| pieces(run) > 1) {
            parallel::for_each(pieces(run), |k| one(run, k));
        }
    }

    /// Multipliers from the problem's rows (zero if none), in this form's units.
    pub fn read(&self, p: &Bodies, rows: Option<&[f64]>, to: &mut Vec<Vectors>) {
        self.read_each(p, rows, to, |_, _| ());
    }

    /// The same, each projected on its cone.
    pub fn read_admissible(&self, p: &Bodies, rows: Option<&[f64]>, to: &mut Vec<Vectors>) {
        self.read_each(p, rows, to, |i, local| project_friction(p.points.mu[i], local));
    }

    fn read_each(
        &self,
        p: &Bodies,
        rows: Option<&[f64]>,
        to: &mut Vec<Vectors>,
        change: impl Fn(usize, &mut [f64; 3]) + Sync,
    ) {
        let Some(rows) = rows else {
            return parallel::fill(to, self.groups.len(), Vectors::default());
        };
        parallel::resize(to, self.groups.len(), Vectors::default());
        // Only places that are left over are not written below.
        for run in self.runs.iter().filter(|run| run.left > 0) {
            to[(run.place + run.count) as usize / 8] = Vectors::default();
        }
        let unit = 1.0 / (self.speed * self.mass);
        let to = Shared(to.as_mut_ptr());
        self.each(|i, place| {
            let mut local = [rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]];
            change(i, &mut local);
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
        let mut parts = Vec::new();
        parallel::map_ranges(self.groups.len(), PIECE_GROUPS, &mut parts, |range| {
            let mut part = T::default();
            range.for_each(|g| visit(g, &mut part));
            part
        });
        parts
    }

    /// The reverse of `read`; what is written is inside the cones, exactly.
    pub fn write(&self, p: &Bodies, gamma: &[Vectors], rows: &mut Vec<f64>) {
        let count = 3 * p.points.len();
        parallel::resize(rows, count, 0.0);
        let unit = self.speed * self.mass;
        let to = Shared(rows.as_chunks_mut::<3>().0.as_mut_ptr());
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
            // SAFETY: there is a place for every point, and it is visited once.
            unsafe { *to.at(i) = local };
        });
    }

    /// Memory over contacts, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.groups.as_slice())
            + size_of_val(self.each_mu.as_slice())
            + size_of_val(self.drift.as_slice())
    }
}
