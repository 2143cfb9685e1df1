//! Passes over the bodies: forces to velocities, and the inner products that are sums over bodies. Chunks of
//! fixed size, eight partial sums each (one for every number of a row), added up in one order.

use rayon::prelude::*;

use crate::problem::{Bodies, symmetric};
use crate::simd::{F64Lanes, Kernel, Lanes, Simd, dispatch};
use crate::solver::contact::layout::Row;

/// Bodies per chunk.
const CHUNK: usize = 1024;

pub(super) const NOTHING: Row = Row([0.0; 8]);

/// v_free and M⁻¹ as rows.
#[derive(Debug, Default)]
pub(super) struct Masses {
    pub free: Vec<Row>,
    /// 1/m three times, the diagonal of I⁻¹.
    inverse: Vec<Row>,
    /// Whether no inertia has anything off the diagonal.
    diagonal: bool,
}

impl Masses {
    pub fn fill(&mut self, p: &Bodies) {
        self.free.clear();
        self.free.extend(p.v_free.iter().map(|v| Row([v[0], v[1], v[2], 0.0, v[3], v[4], v[5], 0.0])));
        self.inverse.clear();
        self.inverse.extend(
            p.inv_mass.iter().zip(&p.inv_inertia).map(|(&m, j)| Row([m, m, m, 0.0, j[0], j[1], j[2], 0.0])),
        );
        self.diagonal = p.inv_inertia.iter().all(|j| j[3..] == [0.0; 3]);
    }
}

/// F and v at y, which [`settle`] compares with.
#[derive(Clone, Copy)]
pub(super) struct Reference<'a> {
    pub force: &'a [Row],
    pub velocity: &'a [Row],
}

/// The numbers of a row, `COUNT` at a time: the pieces that are not there stay unused.
#[inline(always)]
fn pieces<V: F64Lanes>(row: &Row) -> [V; 8] {
    let mut x = [V::zero(); 8];
    let mut k = 0;
    while k < 8 / V::COUNT {
        x[k] = V::load(&row.0, k * V::COUNT);
        k += 1;
    }
    x
}

#[inline(always)]
fn total<V: F64Lanes>(x: [V; 8]) -> f64 {
    let mut lanes = [0.0; 8];
    let mut k = 0;
    while k < 8 / V::COUNT {
        x[k].store(&mut lanes, k * V::COUNT);
        k += 1;
    }
    lanes.iter().sum()
}

/// v = v_free + M⁻¹ F where `inverse` is given (else v is there already), and the sums of [`settle`].
struct Settle<'a> {
    free: &'a [Row],
    inverse: Option<&'a [Row]>,
    force: &'a [Row],
    y: Reference<'a>,
    velocity: &'a mut [Row],
}

impl Kernel for Settle<'_> {
    type Out = [f64; 2];

    #[inline(always)]
    fn run<S: Simd>(self) -> [f64; 2] {
        self.sums::<S::F64>()
    }
}

impl Settle<'_> {
    #[inline(always)]
    fn sums<V: F64Lanes>(self) -> [f64; 2] {
        let n = self.velocity.len();
        let (free, force) = (&self.free[..n], &self.force[..n]);
        let (f_y, v_y) = (&self.y.force[..n], &self.y.velocity[..n]);
        let (mut change, mut kinetic) = ([V::zero(); 8], [V::zero(); 8]);
        for i in 0..n {
            let (free, f): ([V; 8], [V; 8]) = (pieces(&free[i]), pieces(&force[i]));
            let (f_y, v_y): ([V; 8], [V; 8]) = (pieces(&f_y[i]), pieces(&v_y[i]));
            let mut v: [V; 8] = pieces(&self.velocity[i]);
            if let Some(inverse) = self.inverse {
                let m: [V; 8] = pieces(&inverse[i]);
                let mut k = 0;
                while k < 8 / V::COUNT {
                    v[k] = free[k] + m[k] * f[k];
                    v[k].store(&mut self.velocity[i].0, k * V::COUNT);
                    k += 1;
                }
            }
            let mut k = 0;
            while k < 8 / V::COUNT {
                change[k] = change[k] + (f[k] - f_y[k]) * (v[k] - v_y[k]);
                kinetic[k] = kinetic[k] + f[k] * (v[k] + free[k]);
                k += 1;
            }
        }
        [total(change), total(kinetic)]
    }
}

/// to = x + β (x - x_before).
struct Extrapolate<'a> {
    x: &'a [Row],
    before: &'a [Row],
    beta: f64,
    to: &'a mut [Row],
}

impl Kernel for Extrapolate<'_> {
    type Out = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let n = self.to.len();
        let (x, before) = (&self.x[..n], &self.before[..n]);
        let beta = S::F64::splat(self.beta);
        for i in 0..n {
            let (x, b): ([S::F64; 8], [S::F64; 8]) = (pieces(&x[i]), pieces(&before[i]));
            let mut k = 0;
            while k < 8 / S::F64::COUNT {
                (x[k] + beta * (x[k] - b[k])).store(&mut self.to[i].0, k * S::F64::COUNT);
                k += 1;
            }
        }
    }
}

/// Runs `work` on every chunk of `to` and adds up what it returns.
fn chunks(
    to: &mut [Row],
    parts: &mut Vec<[f64; 2]>,
    work: impl Fn(usize, &mut [Row]) -> [f64; 2] + Sync,
) -> [f64; 2] {
    let add = |sum: [f64; 2], part: &[f64; 2]| [sum[0] + part[0], sum[1] + part[1]];
    if to.len() >= 4 * CHUNK && rayon::current_num_threads() > 1 {
        parts.clear();
        parts.resize(to.len().div_ceil(CHUNK), [0.0; 2]);
        to.par_chunks_mut(CHUNK)
            .zip(parts.par_iter_mut())
            .enumerate()
            .for_each(|(c, (to, part))| *part = work(c * CHUNK, to));
        parts.iter().fold([0.0; 2], add)
    } else {
        to.chunks_mut(CHUNK).enumerate().map(|(c, to)| work(c * CHUNK, to)).fold([0.0; 2], |s, x| add(s, &x))
    }
}

/// v = v_free + M⁻¹ F into `velocity`. Returns ⟨v - v_y, F - F_y⟩ and ½ ⟨F, v + v_free⟩.
pub(super) fn settle(
    p: &Bodies,
    masses: &Masses,
    force: &[Row],
    y: Reference,
    velocity: &mut Vec<Row>,
    parts: &mut Vec<[f64; 2]>,
) -> [f64; 2] {
    velocity.resize(force.len(), NOTHING);
    let [change, kinetic] = chunks(velocity, parts, |at, v| {
        let y = Reference { force: &y.force[at..], velocity: &y.velocity[at..] };
        let (free, force) = (&masses.free[at..], &force[at..]);
        if masses.diagonal {
            let inverse = &masses.inverse[at..];
            let n = v.len();
            return dispatch(Settle { free, inverse: Some(&inverse[..n]), force, y, velocity: v });
        }
        for (i, v) in v.iter_mut().enumerate() {
            let (f, u) = (&force[i].0, &free[i].0);
            let turn = symmetric(&p.inv_inertia[at + i], [f[4], f[5], f[6]]);
            let m = p.inv_mass[at + i];
            *v = Row([
                u[0] + m * f[0],
                u[1] + m * f[1],
                u[2] + m * f[2],
                0.0,
                u[4] + turn[0],
                u[5] + turn[1],
                u[6] + turn[2],
                0.0,
            ]);
        }
        dispatch(Settle { free, inverse: None, force, y, velocity: v })
    });
    [change, 0.5 * kinetic]
}

/// to = x + β (x - x_before).
pub(super) fn extrapolate(
    x: &[Row],
    before: &[Row],
    beta: f64,
    to: &mut Vec<Row>,
    parts: &mut Vec<[f64; 2]>,
) {
    to.resize(x.len(), NOTHING);
    chunks(to, parts, |at, to| {
        dispatch(Extrapolate { x: &x[at..], before: &before[at..], beta, to });
        [0.0; 2]
    });
}
