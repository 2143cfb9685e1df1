//! The cone complementarity problem [TasoraAnitescu2011, eq. 42], in two forms behind one interface.
//!
//! ```text
//!     u = N γ + r + C γ,      K ∋ γ ⊥ u ∈ K*
//! ```
//!
//! [`Bodies`] is matrix-free: blocks of D that touch one or two bodies, and a block-diagonal M⁻¹
//! [TasoraAnitescu2011, §5.1]; memory is linear in the number of blocks. [`Explicit`] holds a sparse N,
//! for problems that come from files (there called W, with q for r and r for γ).
//! C is an optional diagonal compliance: a linear spring-damper is a compliant row.
//!
//! Multipliers and velocities are flat arrays, block after block, normal row first.

mod algebra;
mod bodies;
mod copy;
mod explicit;
mod form;
pub mod islands;
mod kinetic;
mod regularise;

pub use algebra::basis;
pub(crate) use algebra::{all_finite, cross, dot, symmetric};
pub use bodies::{Bodies, General, Point, Points, WORLD};
pub use explicit::{Csr, Explicit};
pub use regularise::Ask;

use std::ops::Range;

use crate::cone::{MAX_ROWS, Set};
use crate::friction_law::FrictionLaw;
use crate::memory;

/// The problem data do not make sense: a field and what is wrong with it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("malformed problem: {0}")]
pub struct Malformed(pub String);

impl Malformed {
    /// What is said of a guess that is none.
    pub(crate) fn guess(rows: usize) -> Self {
        Self(format!("the guess needs {rows} finite multipliers"))
    }

    /// Whether it is the guess alone that is refused. Where the caller gave a finite one or none, a solver's
    /// own multipliers have left the range of numbers.
    #[doc(hidden)]
    pub fn is_about_guess(&self) -> bool {
        self.0.starts_with("the guess needs")
    }
}

/// A cone complementarity problem.
#[derive(Clone, Debug)]
pub enum Problem {
    /// Matrix-free, for the time step.
    Bodies(Bodies),
    /// With an explicit sparse matrix.
    Explicit(Explicit),
}

impl Problem {
    /// Number of constraint blocks.
    pub fn blocks(&self) -> usize {
        match self {
            Problem::Bodies(p) => p.blocks(),
            Problem::Explicit(p) => p.sets.len(),
        }
    }

    /// The contact law.
    pub fn model(&self) -> FrictionLaw {
        match self {
            Problem::Bodies(p) => p.model,
            Problem::Explicit(p) => p.model,
        }
    }

    /// Asks for another contact law.
    pub fn set_model(&mut self, model: FrictionLaw) {
        match self {
            Problem::Bodies(p) => p.model = model,
            Problem::Explicit(p) => p.model = model,
        }
    }

    /// Whether memory over its bodies and contacts is to be given back: see [`memory::MANY_BODIES`].
    pub(crate) fn has_many_bodies(&self) -> bool {
        matches!(self, Problem::Bodies(p) if p.bodies() >= memory::MANY_BODIES)
    }

    /// Number of rows: the length of γ and u.
    pub fn rows(&self) -> usize {
        match self {
            Problem::Bodies(p) => p.rows(),
            Problem::Explicit(p) => p.q.len(),
        }
    }

    /// The rows of block `i`.
    pub fn block(&self, i: usize) -> Range<usize> {
        match self {
            Problem::Bodies(p) => p.block(i),
            Problem::Explicit(p) => p.first_row[i] as usize..p.first_row[i + 1] as usize,
        }
    }

    /// The admissible set of block `i`.
    pub fn set(&self, i: usize) -> Set {
        match self {
            Problem::Bodies(p) => p.set(i),
            Problem::Explicit(p) => p.sets[i],
        }
    }

    /// C_jj for row `j`.
    pub fn compliance(&self, block: usize, row: usize) -> f64 {
        match self {
            Problem::Bodies(p) => p.compliance(block, row),
            Problem::Explicit(p) => p.compliance.get(row).copied().unwrap_or(0.0),
        }
    }

    /// v = v_free + M⁻¹ D γ, which [`Problem::block_velocity`] wants; empty for an explicit matrix.
    pub fn velocities(&self, gamma: &[f64], v: &mut Vec<[f64; 6]>) {
        match self {
            Problem::Bodies(p) => p.velocities(gamma, v),
            Problem::Explicit(_) => v.clear(),
        }
    }

    /// u = N γ + r + C γ of block `i`, into the first entries of `u`; `v` from [`Problem::velocities`].
    pub fn block_velocity(&self, i: usize, v: &[[f64; 6]], gamma: &[f64], u: &mut [f64; MAX_ROWS]) {
        match self {
            Problem::Bodies(p) => p.block_velocity(i, v, gamma, u),
            Problem::Explicit(p) => {
                for (k, row) in self.block(i).enumerate() {
                    u[k] = p.row(row, gamma);
                }
            }
        }
    }

    /// r of block `i`: the velocity that its rows would see without any multiplier.
    pub fn block_rhs(&self, i: usize, r: &mut [f64; MAX_ROWS]) {
        match self {
            Problem::Bodies(p) => p.block_relative(i, &p.v_free, r),
            Problem::Explicit(p) => {
                for (k, row) in self.block(i).enumerate() {
                    r[k] = p.q[row];
                }
            }
        }
    }

    /// b of block `i`: the part of r that is not the bodies' own motion. False for an explicit matrix, which
    /// cannot tell.
    pub fn block_bias(&self, i: usize, b: &mut [f64; MAX_ROWS]) -> bool {
        match self {
            Problem::Bodies(p) => {
                p.block_bias(i, b);
                true
            }
            Problem::Explicit(_) => false,
        }
    }

    /// u = N γ + r + C γ.
    pub fn apply(&self, gamma: &[f64], u: &mut Vec<f64>) {
        let mut v = Vec::new();
        self.velocities(gamma, &mut v);
        u.clear();
        let mut block = [0.0; MAX_ROWS];
        for i in 0..self.blocks() {
            self.block_velocity(i, &v, gamma, &mut block);
            u.extend_from_slice(&block[..self.block(i).len()]);
        }
    }

    /// r, all of it.
    pub fn rhs(&self, r: &mut Vec<f64>) {
        r.clear();
        let mut block = [0.0; MAX_ROWS];
        for i in 0..self.blocks() {
            self.block_rhs(i, &mut block);
            r.extend_from_slice(&block[..self.block(i).len()]);
        }
    }

    /// g = mean of the diagonal of block `i` of N + C [TasoraAnitescu2011, eq. 48], and a bound on that
    /// block's largest eigenvalue. η = 1 / g. Zero where no body can move.
    pub fn block_diagonal(&self, i: usize) -> [f64; 2] {
        match self {
            Problem::Bodies(p) => p.block_diagonal(i),
            Problem::Explicit(p) => p.block_diagonal(i),
        }
    }

    /// Block `i`'s own part of N + C, in the first rows and columns.
    pub fn block_matrix(&self, i: usize) -> [[f64; MAX_ROWS]; MAX_ROWS] {
        match self {
            Problem::Bodies(p) => p.block_matrix(i),
            Problem::Explicit(p) => p.block_matrix(i),
        }
    }

    /// v ← v + M⁻¹ D_i Δ for a change Δ of block `i`'s multipliers; nothing for an explicit matrix.
    pub fn move_block(&self, i: usize, delta: &[f64], v: &mut [[f64; 6]]) {
        if let Problem::Bodies(p) = self {
            p.move_block(i, delta, v);
        }
    }

    /// Whether v = 0 (all moving bodies at rest) satisfies every constraint: then the problem is feasible
    /// and its multipliers are bounded in effect, whatever the stabilisation.
    pub fn rest_is_feasible(&self) -> bool {
        match self {
            Problem::Bodies(p) => p.rest_is_feasible(),
            Problem::Explicit(_) => false,
        }
    }

    /// Refuses indices out of range, wrong lengths, non-finite numbers and impossible sets.
    pub fn check(&self) -> Result<(), Malformed> {
        match self {
            Problem::Bodies(p) => p.check(true),
            Problem::Explicit(p) => p.check(),
        }
        .map_err(Malformed)
    }

    /// The same, all but the numbers that every certificate is made of: its dual objective is finite only
    /// where those are.
    pub(crate) fn check_form(&self) -> Result<(), Malformed> {
        match self {
            Problem::Bodies(p) => p.check(false).map_err(Malformed),
            Problem::Explicit(_) => self.check(),
        }
    }

    /// The problem as one that was looked over, by [`Problem::check`].
    pub fn checked(&self) -> Result<Checked<'_>, Malformed> {
        self.check()?;
        Ok(Checked(self))
    }

    /// The same by its form alone: numbers that are not finite lead to no index.
    pub(crate) fn checked_form(&self) -> Result<Checked<'_>, Malformed> {
        self.check_form()?;
        Ok(Checked(self))
    }
}

/// A problem whose form was looked over: lengths fit, indices name what is there, and no two blocks of a
/// colour share a body. It stays as it is as long as this is there. Solvers that hand problems on to each
/// other look them over once.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a>(&'a Problem);

impl<'a> Checked<'a> {
    /// A problem that is known to be in form.
    ///
    /// # Safety
    /// [`Problem::check`] would find nothing wrong with lengths, indices and colours: what reads and writes
    /// by them does not look again.
    pub(crate) unsafe fn known(problem: &'a Problem) -> Self {
        Self(problem)
    }

    /// The problem.
    pub fn problem(self) -> &'a Problem {
        self.0
    }
}

impl std::ops::Deref for Checked<'_> {
    type Target = Problem;

    fn deref(&self) -> &Problem {
        self.0
    }
}
