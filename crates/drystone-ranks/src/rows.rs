//! Rows of joints, motors and limits as the walk sees them: one or two bodies, a Jacobian, a set of numbers.
//!
//! A joint between bodies of two owners is worked on by both, as a contact is.

use drystone_solve::cone::{AdmissibleSet, Set};
use drystone_solve::parallel;
use glam::DVec3;

use crate::posed::Posed;
use crate::touch::NOBODY;
use crate::walk::Twist;

/// Rows that one thread works on at a time.
const PIECE: usize = 256;

/// The geometry of a row.
#[derive(Clone, Copy)]
pub struct Row {
    /// Places among the movers.
    pub a: u32,
    pub b: u32,
    jacobian: [Twist; 2],
    /// m/s
    pub bias: f64,
    /// Compliance, (m/s)/(N s).
    pub soft: f64,
    pub set: Set,
    /// Diagonal, 1/kg, and its inverse.
    pub g: f64,
    pub eta: f64,
    /// Which of the problem's rows of joints it is.
    of_problem: u32,
}

/// What is unknown of a row.
#[derive(Clone, Copy, Default)]
struct Unknown {
    /// γ, γ_before and z, in turn.
    gamma: [f64; 3],
    best: f64,
    /// What z does to the first body, and to the second one.
    impulses: [Twist; 2],
    /// Of the last step: |z - y|²/η, u (z - γ), (z - y) C (z - y), b z + ½ z C z.
    terms: [f64; 4],
}

/// All rows of a rank.
#[derive(Default)]
pub struct Rows {
    rows: Vec<Row>,
    unknown: Vec<Unknown>,
    /// By own body: where its rows begin in `entries`.
    first: Vec<u32>,
    /// Row and side.
    entries: Vec<u32>,
    /// Rows that the problem has, others' included.
    of_problem: usize,
    largest: Vec<f64>,
}

/// Linear and angular part of a side of a Jacobian.
fn side(jacobian: &[f64; 12], at: usize) -> Twist {
    [DVec3::from_slice(&jacobian[at..]), DVec3::from_slice(&jacobian[at + 3..])]
}

impl Row {
    /// J v + b of velocities of all bodies.
    #[inline(always)]
    pub fn relative(&self, v: &[Twist]) -> f64 {
        let along = |j: &Twist, v: &Twist| j[0].dot(v[0]) + j[1].dot(v[1]);
        let mut u = along(&self.jacobian[0], &v[self.a as usize]);
        if self.b != NOBODY {
            u += along(&self.jacobian[1], &v[self.b as usize]);
        }
        u + self.bias
    }

    /// The nearest multiplier that its set allows.
    #[inline(always)]
    pub fn project(&self, x: f64) -> f64 {
        let mut x = [x];
        self.set.project(&mut x);
        x[0]
    }

    #[inline(always)]
    fn impulses(&self, gamma: f64) -> [Twist; 2] {
        self.jacobian.map(|side| side.map(|x| gamma * x))
    }

    /// Whether it asks for a motion of bodies at rest.
    pub fn asks(&self) -> bool {
        let speed = match self.set {
            Set::Free => self.bias.abs(),
            Set::NonNegative => -self.bias,
            // What is bounded can refuse.
            _ => 0.0,
        };
        speed > 1e-12 * (1.0 + self.bias.abs())
    }

    /// Whether rest bounds what its multiplier can come to: it neither gives way nor ends.
    pub fn is_rigid(&self) -> bool {
        self.soft == 0.0 && self.set.is_cone()
    }
}

impl Rows {
    /// Takes the rows of a posed problem that are about own bodies and of whose first movers `takes` says so.
    /// `known` is what they start from, in all rows of the problem; `diagonal` is what a Jacobian's side
    /// comes to at a body.
    pub fn new(
        posed: &Posed,
        known: Option<&[f64]>,
        takes: impl Fn(u32) -> bool,
        diagonal: impl Fn(u32, &Twist) -> f64,
    ) -> Self {
        let (general, own) = (&posed.staged.problem.general, posed.movers.own);
        let of_problem = general.jacobian.len();
        if of_problem == 0 {
            return Self { first: vec![0; own + 1], ..Self::default() };
        }
        let is_own = |body: u32| (body as usize) < own;
        let row = |i: usize| {
            let [a, b] = posed.row(i);
            let jacobian = [0, 6].map(|at| side(&general.jacobian[i], at));
            let soft = general.compliance.get(i).copied().unwrap_or(0.0);
            let sides = [a, b].into_iter().zip(&jacobian).filter(|(body, _)| *body != NOBODY);
            let g = soft + sides.map(|(body, side)| diagonal(body, side)).sum::<f64>();
            let eta = if g > 0.0 { 1.0 / g } else { 0.0 };
            let (bias, set) = (general.bias[i], general.set[i]);
            Row { a, b, jacobian, bias, soft, set, g, eta, of_problem: i as u32 }
        };
        let taken = |i: &usize| posed.is_own(posed.row(*i)) && takes(posed.row(*i)[0]);
        let mut order: Vec<usize> = (0..of_problem).filter(taken).collect();
        order.sort_unstable_by_key(|i| (posed.staged.keys[*i], *i));
        let rows: Vec<Row> = order.into_iter().map(row).collect();
        let mut first = vec![0u32; own + 1];
        for body in rows.iter().flat_map(|r| [r.a, r.b]).filter(|body| is_own(*body)) {
            first[body as usize + 1] += 1;
        }
        (0..own).for_each(|k| first[k + 1] += first[k]);
        let mut entries = vec![0u32; first[own] as usize];
        let mut at_body = first.clone();
        for (i, r) in rows.iter().enumerate() {
            for (side, body) in [r.a, r.b].into_iter().enumerate().filter(|(_, body)| is_own(*body)) {
                let to = &mut at_body[body as usize];
                entries[*to as usize] = (i as u32) << 1 | side as u32;
                *to += 1;
            }
        }
        let points = 3 * posed.blocks.len();
        let start = |r: &Row| r.project(known.map_or(0.0, |gamma| gamma[points + r.of_problem as usize]));
        let unknown = rows.iter().map(|r| Unknown { gamma: [start(r); 3], ..Unknown::default() }).collect();
        Self { rows, unknown, first, entries, of_problem, largest: Vec::new() }
    }

    /// All rows.
    pub fn all(&self) -> &[Row] {
        &self.rows
    }

    /// The rows of own body `i`, each with the side that the body is on.
    #[inline(always)]
    fn of_body(&self, i: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let entries = &self.entries[self.first[i] as usize..self.first[i + 1] as usize];
        entries.iter().map(|entry| ((entry >> 1) as usize, (entry & 1) as usize))
    }

    /// The rows whose first body is own body `i`: each row is one owner's to count.
    pub fn counted(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        self.of_body(i).filter(|(_, side)| *side == 0).map(|(row, _)| row)
    }

    /// How many rows own body `i` has, of those that something gives way to.
    pub fn count(&self, i: usize) -> usize {
        self.of_body(i).filter(|(row, _)| self.rows[*row].g > 0.0).count()
    }

    /// Adds what z does to own body `i`, and the terms of the last step that are its to count.
    #[inline(always)]
    pub fn add(&self, i: usize, sum: &mut Twist, terms: &mut [f64; 4]) {
        for (row, side) in self.of_body(i) {
            let x = &self.unknown[row];
            sum[0] += x.impulses[side][0];
            sum[1] += x.impulses[side][1];
            if side == 0 {
                (0..4).for_each(|j| terms[j] += x.terms[j]);
            }
        }
    }

    /// Visits all; returns the largest of what each returns.
    fn each(&mut self, visit: impl Fn(&Row, &mut Unknown) -> f64 + Sync) -> f64 {
        let rows = &self.rows;
        parallel::map_chunks(&mut self.unknown, PIECE, &mut self.largest, |first, run| {
            run.iter_mut().zip(&rows[first..]).map(|(x, row)| visit(row, x)).fold(0.0, f64::max)
        });
        self.largest.iter().copied().fold(0.0, f64::max)
    }

    /// γ_before and z are γ, of which impulses are made.
    pub fn refresh(&mut self, now: usize) {
        self.each(|row, x| {
            x.gamma = [x.gamma[now]; 3];
            x.impulses = row.impulses(x.gamma[0]);
            x.terms = [0.0; 4];
            0.0
        });
    }

    /// z = P(y - t η u_y) from y = γ + β (γ - γ_before); returns max |z - y| / (t η), m/s.
    pub fn step(&mut self, [now, before, next]: [usize; 3], beta: f64, t: f64, at_y: &[Twist]) -> f64 {
        self.each(|row, x| {
            let gamma = x.gamma[now];
            let y = gamma + beta * (gamma - x.gamma[before]);
            let u = row.relative(at_y) + row.soft * y;
            let z = row.project(y - (t * row.eta) * u);
            let step = z - y;
            x.gamma[next] = z;
            x.impulses = row.impulses(z);
            x.terms = [
                step * step * row.g,
                u * (z - gamma),
                row.soft * step * step,
                row.bias * z + 0.5 * row.soft * z * z,
            ];
            let size = step.abs() * (row.g / t);
            if size.is_finite() { size } else { f64::INFINITY }
        })
    }

    /// γ + α (z - γ) in place of z.
    pub fn blend(&mut self, now: usize, next: usize, alpha: f64) {
        self.each(|_, x| {
            x.gamma[next] = x.gamma[now] + alpha * (x.gamma[next] - x.gamma[now]);
            0.0
        });
    }

    /// The largest natural-map residual of γ at velocities `v`, m/s.
    pub fn residual(&mut self, now: usize, v: &[Twist]) -> f64 {
        self.each(|row, x| {
            let u = row.relative(v) + row.soft * x.gamma[now];
            let e = (x.gamma[now] - row.project(x.gamma[now] - row.eta * u)).abs() * row.g;
            if e.is_finite() { e } else { f64::INFINITY }
        })
    }

    /// b γ + ½ γ C γ of a row, J.
    pub fn objective(&self, row: usize, now: usize) -> f64 {
        let (r, x) = (&self.rows[row], self.unknown[row].gamma[now]);
        r.bias * x + 0.5 * r.soft * x * x
    }

    /// The multiplier of a row.
    pub fn gamma(&self, row: usize, now: usize) -> f64 {
        self.unknown[row].gamma[now]
    }

    /// Remembers γ as the best so far.
    pub fn keep(&mut self, now: usize) {
        self.unknown.iter_mut().for_each(|x| x.best = x.gamma[now]);
    }

    /// Takes the best so far for γ.
    pub fn restore(&mut self, now: usize) {
        self.unknown.iter_mut().for_each(|x| x.gamma[now] = x.best);
    }

    /// How many rows of joints the problem has, others' included.
    pub fn of_problem(&self) -> usize {
        self.of_problem
    }

    /// Writes γ where rows are among those of the problem's joints.
    pub fn write(&self, now: usize, to: &mut [f64]) {
        self.rows.iter().zip(&self.unknown).for_each(|(r, x)| to[r.of_problem as usize] = x.gamma[now]);
    }
}
