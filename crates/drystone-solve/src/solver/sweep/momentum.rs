//! Nesterov's momentum over sweeps in f64: starting points beyond the last result.

use crate::parallel;
use crate::problem::Bodies;

use super::super::contact::layout::Row;
use super::{BodySweeper, PIECE};

/// d ← β (x - last), last ← x, x ← x + d.
pub(in crate::solver) fn extrapolate(x: &mut [f64], last: &mut [f64], d: &mut [f64], beta: f64) {
    for ((x, last), d) in x.iter_mut().zip(last).zip(d) {
        *d = beta * (*x - *last);
        *last = *x;
        *x += *d;
    }
}

/// ⟨x - (last + d), x - last⟩: what a sweep from last + d to x did, along what changed altogether.
pub(in crate::solver) fn turn(x: &[f64], last: &[f64], d: &[f64]) -> f64 {
    let terms = x.iter().zip(last).zip(d).map(|((x, last), d)| (x - last - d) * (x - last));
    terms.sum()
}

/// [`extrapolate`] by several threads.
fn extrapolate_all(x: &mut [f64], last: &mut [f64], d: &mut [f64], beta: f64) {
    parallel::for_each_run(x.len(), [x, last, d], PIECE, |_, [x, last, d]| extrapolate(x, last, d, beta));
}

impl BodySweeper {
    /// See [`super::Sweeper::extrapolate`].
    pub(super) fn look_ahead(&mut self, beta: f64) {
        let Self { gamma, gamma_before, direction, .. } = self;
        for ((x, last), d) in gamma.iter_mut().zip(gamma_before).zip(direction) {
            extrapolate_all(x, last, d, beta);
        }
        extrapolate(&mut self.general, &mut self.general_before, &mut self.direction_general, beta);
        // 1/m and 1/I are in the rows too, and do not change: their difference is zero.
        let [rows, last, d] =
            [&mut self.rows, &mut self.rows_before, &mut self.direction_rows].map(|rows| Row::flat(rows));
        extrapolate_all(rows, last, d, beta);
    }

    /// λ times what [`super::PassStats`] calls turn, J.
    pub(super) fn turn(&self, p: &Bodies) -> f64 {
        let n = p.points.len();
        let mut parts = Vec::new();
        parallel::map_ranges(n, PIECE, &mut parts, |range| {
            let mut sum = 0.0;
            for i in range {
                let step = self.step[i];
                let term = |c: usize| {
                    let change = self.gamma[c][i] - self.gamma_before[c][i];
                    (change - self.direction[c][i]) * change
                };
                let all = term(0) + term(1) + term(2);
                sum += if step > 0.0 { all / step } else { 0.0 };
            }
            sum
        });
        let g = &p.general;
        let joints = (0..g.a.len()).filter(|i| self.step[n + i] > 0.0).map(|i| {
            let rows = g.first_row[i] as usize..g.first_row[i + 1] as usize;
            let [x, last, d] =
                [&self.general, &self.general_before, &self.direction_general].map(|v| &v[rows.clone()]);
            turn(x, last, d) / self.step[n + i]
        });
        parts.iter().sum::<f64>() + joints.sum::<f64>()
    }
}
