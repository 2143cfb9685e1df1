//! Lemke's method from an advanced basis: what crash procedures do for it [DirkseFerris1997]. An approximate
//! solution says of each pair which one is basic; from that basis B the path goes on as from that of w, with
//! a covering vector c = B 1 that raises every basic variable by z₀.
//!
//! Where forces are not unique B is singular: more contacts bear a load than there are motions. So what is
//! solved is the proximal problem
//!
//! ```text
//!     w = (M + ε D) z + q - ε D z_k,     z ≥ 0  ⊥  w ≥ 0,     D: units of w over those of z, ε falling
//! ```
//!
//! in which every contact may bear load: no column of the guess has to be thrown out, and which of many
//! forces is found is that next to the guess. Its solution misses the problem by ε D (z - z_k), and the
//! next one, with a smaller ε, begins from there. What is returned as solved is so by w = M z + q.

use super::{Lcp, LcpSolution, LcpStatus, Lemke};
use crate::problem::Malformed;

/// ε of one problem after the other; where a path is lost, the second row from the beginning.
const EPSILON: [&[f64]; 2] = [&[1e-4, 1e-6, 1e-8, 1e-8], &[1e-2, 1e-4, 1e-6, 1e-8, 1e-8]];

/// What is known of a solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Near {
    /// z, about.
    pub z: Vec<f64>,
    /// Whether z_i is basic, w_i otherwise.
    pub basic: Vec<bool>,
    /// How much of w_i a unit of z_i makes, about; positive.
    pub units: Vec<f64>,
}

impl Lemke {
    /// Solves by at most `pivots` pivots, from what is near a solution if paths from there reach one, and
    /// otherwise from w.
    pub fn solve_near(&mut self, lcp: &Lcp, near: &Near, pivots: usize) -> Result<LcpSolution, Malformed> {
        self.solve_near_while(lcp, near, pivots, &|| true)
    }

    /// The same until `more` says no, as if the pivots had run out there.
    pub(crate) fn solve_near_while(
        &mut self,
        lcp: &Lcp,
        near: &Near,
        pivots: usize,
        more: &dyn Fn() -> bool,
    ) -> Result<LcpSolution, Malformed> {
        lcp.check()?;
        let n = lcp.size();
        for (name, length) in [("z", near.z.len()), ("basic", near.basic.len()), ("units", near.units.len())]
        {
            if length != n {
                return Err(Malformed(format!("{name} of what is near has {length} entries, q has {n}")));
            }
        }
        if near.units.iter().any(|x| !(x.is_finite() && *x > 0.0)) || near.z.iter().any(|x| !x.is_finite()) {
            return Err(Malformed("units of what is near must be positive, and z finite".into()));
        }
        let mut count = 0;
        for row in EPSILON {
            // A path that is about to find what is near has fewer pivots than there are unknowns.
            let end = pivots.min(count + n);
            if let Some(z) = self.proximal(lcp, near, row, end, &mut count, more) {
                return Ok(LcpSolution { z, status: LcpStatus::Solved, iterations: count });
            }
        }
        let plain = self.solve_while(lcp, pivots - count, more)?;
        Ok(LcpSolution { iterations: plain.iterations + count, ..plain })
    }

    /// The proximal problems, one after the other, until z solves the given one.
    fn proximal(
        &mut self,
        lcp: &Lcp,
        near: &Near,
        epsilon: &[f64],
        pivots: usize,
        count: &mut usize,
        more: &dyn Fn() -> bool,
    ) -> Option<Vec<f64>> {
        let n = lcp.size();
        let mut z = near.z.clone();
        let mut variables: Vec<usize> = (0..n).map(|i| if near.basic[i] { n + i } else { i }).collect();
        let mut shifted = lcp.clone();
        for epsilon in epsilon {
            for i in 0..n {
                let d = epsilon * near.units[i];
                shifted.m[i * n + i] = lcp.m[i * n + i] + d;
                shifted.q[i] = lcp.q[i] - d * z[i];
            }
            if self.path_from(&shifted, &variables, pivots, count, more) != LcpStatus::Solved {
                return None;
            }
            z = self.basis.solution();
            if lcp.is_solved(&z) {
                return Some(z);
            }
            variables.clone_from(&self.basis.variable);
        }
        None
    }
}
