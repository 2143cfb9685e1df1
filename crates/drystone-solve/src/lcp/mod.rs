//! Linear complementarity problems: find z with
//!
//! ```text
//!     w = M z + q,     z ≥ 0,  w ≥ 0,  zᵀw = 0
//! ```
//!
//! dense and small: the reference beside the cone solvers, and what the hard-constraint papers before them
//! solved. A contact problem becomes one by cutting its friction cones into facets: see [`polyhedral()`].

mod basis;
mod crash;
mod lemke;
mod polyhedral;
mod psor;

pub use crash::Near;
pub use lemke::{Lemke, lemke};
pub use polyhedral::{Facets, Form, Polyhedral, polyhedral};
pub(crate) use polyhedral::{directions, polyhedral_while};
pub use psor::psor;

use serde::Serialize;

use crate::problem::Malformed;

/// A linear complementarity problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lcp {
    /// M by rows, n × n.
    pub m: Vec<f64>,
    /// q, n.
    pub q: Vec<f64>,
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LcpStatus {
    /// z solves the problem.
    Solved,
    /// The path of complementary bases went off along a ray: no solution, or none that this method can reach.
    Ray,
    /// The cap on pivots was reached first.
    Pivots,
    /// The cap on sweeps was reached first.
    Iterations,
    /// The numbers left their range, or rounding spoiled the basis.
    Failed,
}

/// What a solver of these problems returns.
#[derive(Clone, Debug)]
pub struct LcpSolution {
    /// z; finite and not negative, whatever the status.
    pub z: Vec<f64>,
    /// How it ended.
    pub status: LcpStatus,
    /// Pivots or sweeps done.
    pub iterations: usize,
}

impl Lcp {
    /// Number of unknowns.
    pub fn size(&self) -> usize {
        self.q.len()
    }

    /// M z + q.
    pub fn slack(&self, z: &[f64]) -> Vec<f64> {
        let n = self.size();
        let row = |i: usize| self.m[i * n..(i + 1) * n].iter().zip(z).map(|(m, z)| m * z).sum::<f64>();
        (0..n).map(|i| row(i) + self.q[i]).collect()
    }

    /// max |min(z, w)|: zero for a solution and for nothing else.
    pub fn residual(&self, z: &[f64]) -> f64 {
        let w = self.slack(z);
        z.iter().zip(&w).fold(0.0, |worst, (z, w)| {
            let e = z.min(*w).abs();
            if e <= worst { worst } else { e }
        })
    }

    /// |z - P(z - w)| = |min(z, w)|, the Euclidean norm.
    pub fn natural_map(&self, z: &[f64]) -> f64 {
        z.iter().zip(self.slack(z)).map(|(z, w)| z.min(w).powi(2)).sum::<f64>().sqrt()
    }

    /// Refuses wrong lengths and numbers that are not finite.
    pub fn check(&self) -> Result<(), Malformed> {
        let n = self.size();
        if self.m.len() != n * n {
            return Err(Malformed(format!("M has {} entries, q has {n}: M must be {n} x {n}", self.m.len())));
        }
        for (name, values) in [("M", &self.m), ("q", &self.q)] {
            if values.iter().any(|x| !x.is_finite()) {
                return Err(Malformed(format!("{name} has an entry that is not finite")));
            }
        }
        Ok(())
    }
}
