//! A batch's numbers, number by number for eight islands: everything a pass reads, in the order in which it
//! reads it.
//!
//! ```text
//!     point:     n, r_A, (r_B), bias, (drift), μ, 1/(1 + μ²), η, 1/η
//!     bounded:   J, bias, C, lowest, highest, η, 1/η
//!     run:       J row by row, G⁻¹ on and right of the diagonal row by row, bias, (C)
//!     body:      1/m, I⁻¹
//! ```
//!
//! What is in brackets is there only if the slot has a second body, the problem drifting contacts or
//! compliant rows. η = 1/g [TasoraAnitescu2011, eq. 48]; G = J M⁻¹ Jᵀ + C as in `sweep/groups`. Empty lanes
//! are zeros.

use crate::cone::Set;
use crate::problem::{Bodies, WORLD};
use crate::simd::F64Lanes;

use super::super::schur::f64x8::On;
use super::super::sweep::MOST;
use super::plan::{Batch, EMPTY, LANES, Plan, Slot};

/// One number of eight islands.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Lane(pub [f64; LANES]);

pub(super) const ZERO: Lane = Lane([0.0; LANES]);

/// What a row is like: which of its twelve entries are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// (0, e, 0, -e): e.
    Turn,
    /// (n, s, -n, t): n, s, t.
    Pull,
    /// Against the world: the first six.
    One,
    Two,
}

impl Row {
    pub fn entries(self) -> usize {
        match self {
            Row::Turn => 3,
            Row::Pull => 9,
            Row::One => 6,
            Row::Two => 12,
        }
    }

    /// What this row is in all lanes.
    #[inline(always)]
    fn of(slot: &Slot, row: &[Lane; 12]) -> Self {
        let none = |k: usize| row[k].0 == ZERO.0;
        let opposite = |k: usize| (0..LANES).all(|l| row[6 + k].0[l] == -row[k].0[l]);
        if slot.bodies[1] == WORLD {
            Row::One
        } else if (0..3).all(|k| none(k) && none(6 + k)) && (3..6).all(opposite) {
            Row::Turn
        } else if (0..3).all(opposite) {
            Row::Pull
        } else {
            Row::Two
        }
    }
}

/// The numbers of a batch.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// What a pass reads.
    pub data: Vec<Lane>,
    /// What the rows are like, bounded ones first.
    pub kinds: Vec<Row>,
    /// v of the bodies, six each; γ of the points (world vectors), of bounded rows, and of runs.
    pub state: Vec<Lane>,
    /// Of the state before the last passes.
    pub saved: Vec<Lane>,
    /// D Δγ, by body.
    pub impulse: Vec<[Lane; 6]>,
    masses: Vec<Inverse>,
}

impl Numbers {
    /// Appends what is kept of a row.
    #[inline(always)]
    fn keep(&mut self, slot: &Slot, row: &[Lane; 12]) {
        let kind = Row::of(slot, row);
        self.kinds.push(kind);
        match kind {
            Row::Turn => self.data.extend(&row[3..6]),
            Row::Pull => {
                self.data.extend(&row[..6]);
                self.data.extend(&row[9..]);
            }
            Row::One => self.data.extend(&row[..6]),
            Row::Two => self.data.extend(row),
        }
    }
}

/// 1/m and I⁻¹ of a body.
type Inverse = [Lane; 7];

#[inline(always)]
fn lane(f: impl Fn(usize) -> f64) -> Lane {
    Lane(std::array::from_fn(f))
}

/// Where the lane has something.
#[inline(always)]
fn of(ids: &[u32; LANES], f: impl Fn(usize) -> f64) -> Lane {
    lane(|l| if ids[l] == EMPTY { 0.0 } else { f(ids[l] as usize) })
}

#[inline(always)]
fn over(x: &Lane) -> Lane {
    lane(|l| if x.0[l] > 0.0 { 1.0 / x.0[l] } else { 0.0 })
}

/// I⁻¹ x.
#[inline(always)]
fn turn<V: F64Lanes>(on: On<V>, body: &Inverse, x: [&Lane; 3]) -> [Lane; 3] {
    let at = [[1, 4, 5], [4, 2, 6], [5, 6, 3]];
    let mut out = [ZERO; 3];
    for r in 0..3 {
        for c in 0..3 {
            on.add(&mut out[r].0, &body[at[r][c]].0, &x[c].0);
        }
    }
    out
}

#[inline(always)]
fn cross<V: F64Lanes>(on: On<V>, a: &[Lane; 3], b: &[Lane; 3]) -> [Lane; 3] {
    let mut out = [ZERO; 3];
    for k in 0..3 {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        on.add(&mut out[k].0, &a[i].0, &b[j].0);
        on.take(&mut out[k].0, &a[j].0, &b[i].0);
    }
    out
}

/// The numbers of a batch; velocities are free ones, γ the guess.
#[inline(always)]
pub(super) fn pack<V: F64Lanes>(
    on: On<V>,
    p: &Bodies,
    plan: &Plan,
    batch: &Batch,
    guess: Option<&[f64]>,
    to: &mut Numbers,
) {
    let bodies = &plan.bodies[batch.bodies.clone()];
    to.data.clear();
    to.state.clear();
    to.kinds.clear();
    to.impulse.resize(bodies.len(), [ZERO; 6]);
    let mut masses = std::mem::take(&mut to.masses);
    masses.resize(bodies.len(), [ZERO; 7]);
    for (ids, mass) in bodies.iter().zip(&mut masses) {
        mass[0] = of(ids, |b| p.inv_mass[b]);
        for k in 0..6 {
            mass[1 + k] = of(ids, |b| p.inv_inertia[b][k]);
            to.state.push(of(ids, |b| p.v_free[b][k]));
        }
    }
    for slot in &plan.points[batch.points.clone()] {
        point(on, p, slot, &masses, guess, to);
    }
    let base = 3 * p.points.len();
    let row = |block: usize| p.general.first_row[block] as usize;
    let guessed = |ids: &[u32; LANES], r: usize| {
        guess.map_or(ZERO, |guess| of(ids, |block| guess[base + row(block) + r]))
    };
    for slot in &plan.bounded[batch.bounded.clone()] {
        bounded(on, p, slot, &masses, to);
        to.state.push(guessed(&slot.ids, 0));
    }
    for slot in &plan.runs[batch.runs.clone()] {
        run(on, p, slot, &masses, to);
        to.state.extend((0..slot.rows as usize).map(|r| guessed(&slot.ids, r)));
    }
    to.data.extend(masses.as_flattened());
    to.masses = masses;
}

#[inline(always)]
fn point<V: F64Lanes>(
    on: On<V>,
    p: &Bodies,
    slot: &Slot,
    masses: &[Inverse],
    guess: Option<&[f64]>,
    to: &mut Numbers,
) {
    let points = &p.points;
    let three = |f: &[Vec<f64>; 3]| -> [Lane; 3] { std::array::from_fn(|k| of(&slot.ids, |i| f[k][i])) };
    let normal = three(&points.normal);
    to.data.extend(normal);
    // The sum of the block's diagonal in any frame, Σ_k |r × e_k|² weighed by I⁻¹ and thrice 1/m, or without
    // friction its normal's alone.
    let (mut trace, mut along) = (ZERO, ZERO);
    for (side, body) in slot.bodies.into_iter().enumerate().filter(|(_, body)| *body != WORLD) {
        let arm = three(if side == 0 { &points.arm_a } else { &points.arm_b });
        to.data.extend(arm);
        let [m, xx, yy, zz, xy, xz, yz] = &masses[body as usize];
        let torque = cross(on, &arm, &normal);
        let turned = turn(on, &masses[body as usize], [&torque[0], &torque[1], &torque[2]]);
        let squares = [0, 1, 2].map(|k| Lane(on.times(&arm[k].0, &arm[k].0)));
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let (own, other) = ([xx, yy, zz][k], [yz, xz, xy][k]);
            let across = lane(|l| -2.0 * arm[i].0[l] * arm[j].0[l]);
            on.add(&mut trace.0, &own.0, &squares[i].0);
            on.add(&mut trace.0, &own.0, &squares[j].0);
            on.add(&mut trace.0, &other.0, &across.0);
            on.add(&mut along.0, &torque[k].0, &turned[k].0);
        }
        for l in 0..LANES {
            trace.0[l] += 3.0 * m.0[l];
            along.0[l] += m.0[l];
        }
    }
    to.data.push(of(&slot.ids, |i| points.bias[i]));
    if !points.drift[0].is_empty() {
        to.data.extend(three(&points.drift));
    }
    let mu = of(&slot.ids, |i| points.mu[i]);
    let g = lane(|l| match slot.ids[l] {
        EMPTY => 0.0,
        _ if mu.0[l] == 0.0 => along.0[l],
        _ => trace.0[l] / 3.0,
    });
    to.data.extend([mu, lane(|l| 1.0 / (1.0 + mu.0[l] * mu.0[l])), over(&g), g]);
    let mut world = [ZERO; 3];
    if let Some(guess) = guess {
        for l in (0..LANES).filter(|l| slot.ids[*l] != EMPTY) {
            let i = slot.ids[l] as usize;
            let impulse = points.world(i, &guess[3 * i..3 * i + 3]);
            (0..3).for_each(|k| world[k].0[l] = impulse[k]);
        }
    }
    to.state.extend(world);
}

/// Row `r` of a slot's blocks.
#[inline(always)]
fn row<V: F64Lanes>(on: On<V>, p: &Bodies, slot: &Slot, r: usize) -> [Lane; 12] {
    let g = &p.general;
    let none = [0.0; 12];
    let mut out = on
        .turned(std::array::from_fn(|l| match slot.ids[l] {
            EMPTY => &none,
            block => &g.jacobian[g.first_row[block as usize] as usize + r],
        }))
        .map(Lane);
    if slot.bodies[1] == WORLD {
        out[6..].fill(ZERO);
    }
    out
}

/// M⁻¹Jᵀ of a row.
#[inline(always)]
fn effect<V: F64Lanes>(on: On<V>, slot: &Slot, masses: &[Inverse], row: &[Lane; 12]) -> [Lane; 12] {
    let mut out = [ZERO; 12];
    for (side, body) in slot.bodies.into_iter().enumerate().filter(|(_, body)| *body != WORLD) {
        let (s, mass) = (6 * side, &masses[body as usize]);
        let turned = turn(on, mass, [&row[s + 3], &row[s + 4], &row[s + 5]]);
        for k in 0..3 {
            out[s + k] = Lane(on.times(&mass[0].0, &row[s + k].0));
            out[s + 3 + k] = turned[k];
        }
    }
    out
}

/// A number by row.
#[inline(always)]
fn by_row(p: &Bodies, slot: &Slot, r: usize, numbers: &[f64]) -> Lane {
    if numbers.is_empty() {
        return ZERO;
    }
    of(&slot.ids, |block| numbers[p.general.first_row[block] as usize + r])
}

#[inline(always)]
fn bounded<V: F64Lanes>(on: On<V>, p: &Bodies, slot: &Slot, masses: &[Inverse], to: &mut Numbers) {
    let g = &p.general;
    let row = row(on, p, slot, 0);
    let effect = effect(on, slot, masses, &row);
    let compliance = by_row(p, slot, 0, &g.compliance);
    let mut own = compliance;
    for k in 0..12 {
        on.add(&mut own.0, &effect[k].0, &row[k].0);
    }
    to.keep(slot, &row);
    let bound = |which: usize| {
        of(&slot.ids, |block| match g.set[block] {
            Set::Interval { lo, hi } => [lo, hi][which],
            _ => [0.0, f64::INFINITY][which],
        })
    };
    to.data.extend([by_row(p, slot, 0, &g.bias), compliance, bound(0), bound(1), over(&own), own]);
}

#[inline(always)]
fn run<V: F64Lanes>(on: On<V>, p: &Bodies, slot: &Slot, masses: &[Inverse], to: &mut Numbers) {
    let (g, n) = (&p.general, slot.rows as usize);
    let mut rows = [[ZERO; 12]; MOST];
    let mut block = [[ZERO; MOST]; MOST];
    for r in 0..n {
        rows[r] = row(on, p, slot, r);
        to.keep(slot, &rows[r]);
        let effect = effect(on, slot, masses, &rows[r]);
        for c in 0..=r {
            let mut sum = if c == r { by_row(p, slot, r, &g.compliance) } else { ZERO };
            for k in 0..12 {
                on.add(&mut sum.0, &effect[k].0, &rows[c][k].0);
            }
            (block[r][c], block[c][r]) = (sum, sum);
        }
    }
    invert(on, &mut block, n);
    for r in 0..n {
        to.data.extend(&block[r][r..n]);
    }
    to.data.extend((0..n).map(|r| by_row(p, slot, r, &g.bias)));
    if !g.compliance.is_empty() {
        to.data.extend((0..n).map(|r| by_row(p, slot, r, &g.compliance)));
    }
}

/// The inverse by Gauss-Jordan elimination. A row of which nothing is left depends on those before it: its
/// row and column become zero, and its multiplier stays as it is.
#[inline(always)]
fn invert<V: F64Lanes>(on: On<V>, a: &mut [[Lane; MOST]; MOST], n: usize) {
    let diagonal: [Lane; MOST] = std::array::from_fn(|i| a[i][i]);
    for p in 0..n {
        let left = a[p][p];
        let pivot = lane(|l| if left.0[l] <= 1e-11 * diagonal[p].0[l] { 0.0 } else { 1.0 / left.0[l] });
        a[p][p] = Lane([1.0; LANES]);
        for k in 0..n {
            let x = a[p][k];
            a[p][k] = Lane(on.times(&x.0, &pivot.0));
        }
        for i in (0..n).filter(|i| *i != p) {
            let factor = std::mem::replace(&mut a[i][p], ZERO);
            for k in 0..n {
                let x = a[p][k];
                on.take(&mut a[i][k].0, &factor.0, &x.0);
            }
        }
    }
}
