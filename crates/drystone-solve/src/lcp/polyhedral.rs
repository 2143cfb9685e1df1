//! Contact problems with cones of facets, as linear complementarity problems. With directions D = [d₁ ...
//! d_ν] in the tangent plane, γ_T = D β, and a slip speed λ [StewartTrinkle1996; Anitescu2005]:
//!
//! ```text
//!     ρ = u_n (- μ λ)      ≥ 0   ⊥   γ_n ≥ 0
//!     σ = Dᵀ u_T + λ e     ≥ 0   ⊥   β   ≥ 0
//!     ζ = μ γ_n - eᵀ β     ≥ 0   ⊥   λ   ≥ 0
//! ```
//!
//! The term in brackets makes the matrix positive semidefinite: it is the convex form, equivalent to a
//! quadratic program and, as ν grows, to the relaxed cone problem. Without it, it is Stewart and Trinkle's,
//! whose limit is Coulomb's law. The facets' cone lies inside the round one (its edges touch) or outside (its
//! faces touch, |d| = 1/cos(π/ν)).

use super::{Lcp, Near};
use crate::cone::Set;
use crate::problem::{Malformed, Problem};

/// Which law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Coulomb's law on the facets \[StewartTrinkle1996\].
    StewartTrinkle,
    /// The convex relaxation \[Anitescu2005\].
    Convex,
}

/// How a round cone is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facets {
    /// ν, at least 3; a planar contact always has 2 directions.
    pub count: usize,
    /// Whether the faces touch the round cone, in place of the edges.
    pub outer: bool,
}

/// A contact problem as an LCP, with the way back.
#[derive(Clone, Debug)]
pub struct Polyhedral {
    /// The problem.
    pub lcp: Lcp,
    rows: usize,
    /// First multiplier row and unknown of each contact, and its directions.
    contacts: Vec<(usize, usize, Vec<[f64; 2]>)>,
    /// μ of each contact.
    coefficients: Vec<f64>,
}

/// The directions of a set; None where there is no such cone.
pub(crate) fn directions(set: Set, facets: Facets) -> Option<(f64, Vec<[f64; 2]>)> {
    match set {
        Set::NonNegative => Some((0.0, Vec::new())),
        Set::Friction2 { mu } if mu > 0.0 => Some((mu, vec![[1.0, 0.0], [-1.0, 0.0]])),
        Set::Friction3 { mu } if mu > 0.0 => {
            let n = facets.count;
            let step = std::f64::consts::TAU / n as f64;
            let size = if facets.outer { 1.0 / (0.5 * step).cos() } else { 1.0 };
            let direction = |k: usize| {
                let (sin, cos) = (k as f64 * step).sin_cos();
                [size * cos, size * sin]
            };
            Some((mu, (0..n).map(direction).collect()))
        }
        Set::Friction2 { .. } | Set::Friction3 { .. } => Some((0.0, Vec::new())),
        Set::Free | Set::Interval { .. } | Set::Rolling5 { .. } => None,
    }
}

/// Cuts the cones of a contact problem into facets. N is formed, column by column: for small problems.
pub fn polyhedral(problem: &Problem, form: Form, facets: Facets) -> Result<Polyhedral, Malformed> {
    polyhedral_while(problem, form, facets, &|| true)
}

/// The same until `more`, asked at every contact, says no: then the matrix is not finished, and of no use.
pub(crate) fn polyhedral_while(
    problem: &Problem,
    form: Form,
    facets: Facets,
    more: &dyn Fn() -> bool,
) -> Result<Polyhedral, Malformed> {
    problem.check()?;
    if facets.count < 3 {
        return Err(Malformed(format!("a cone needs at least 3 facets, got {}", facets.count)));
    }
    let rows = problem.rows();
    let mut contacts = Vec::new();
    let mut coefficients = Vec::new();
    let mut size = 0;
    for i in 0..problem.blocks() {
        let (mu, d) = directions(problem.set(i), facets).ok_or_else(|| {
            let what = match problem.set(i) {
                Set::Rolling5 { .. } => "a contact with rolling friction",
                Set::Free => "a bilateral row",
                _ => "a motor or friction in a joint",
            };
            Malformed(format!(
                "block {i} is {what}: only contacts with friction in 2D or 3D, or without, become an LCP"
            ))
        })?;
        let unknowns = if d.is_empty() { 1 } else { d.len() + 2 };
        contacts.push((problem.block(i).start, size, d));
        coefficients.push(mu);
        size += unknowns;
    }
    let (mut q, mut r, mut u) = (vec![0.0; size], Vec::new(), Vec::new());
    problem.rhs(&mut r);
    let mut m = vec![0.0; size * size];
    // What the rows of u mean to those of the LCP.
    let project = |u: &[f64], place: &mut dyn FnMut(usize, f64)| {
        for (row, at, d) in &contacts {
            place(*at, u[*row]);
            for (k, d) in d.iter().enumerate() {
                let second = if d[1] == 0.0 { 0.0 } else { d[1] * u[row + 2] };
                place(at + 1 + k, d[0] * u[row + 1] + second);
            }
        }
    };
    project(&r, &mut |j, x| q[j] = x);
    let mut gamma = vec![0.0; rows];
    let mut column = |gamma: &[f64], c: usize, m: &mut [f64]| {
        problem.apply(gamma, &mut u);
        u.iter_mut().zip(&r).for_each(|(u, r)| *u -= r);
        project(&u, &mut |j, x| m[j * size + c] = x);
    };
    for (i, (row, at, d)) in contacts.iter().enumerate() {
        if !more() {
            break;
        }
        gamma[*row] = 1.0;
        column(&gamma, *at, &mut m);
        gamma[*row] = 0.0;
        for (k, dir) in d.iter().enumerate() {
            gamma[row + 1] = dir[0];
            if dir[1] != 0.0 {
                gamma[row + 2] = dir[1];
            }
            column(&gamma, at + 1 + k, &mut m);
            gamma[row + 1] = 0.0;
            if dir[1] != 0.0 {
                gamma[row + 2] = 0.0;
            }
        }
        if d.is_empty() {
            continue;
        }
        let (lambda, mu) = (at + 1 + d.len(), coefficients[i]);
        for k in 0..d.len() {
            m[(at + 1 + k) * size + lambda] = 1.0;
            m[lambda * size + at + 1 + k] = -1.0;
        }
        m[lambda * size + at] = mu;
        if form == Form::Convex {
            m[at * size + lambda] = -mu;
        }
    }
    Ok(Polyhedral { lcp: Lcp { m, q }, rows, contacts, coefficients })
}

impl From<Lcp> for Polyhedral {
    /// A problem that stands for itself: no contacts, no multipliers.
    fn from(lcp: Lcp) -> Self {
        Self { lcp, rows: 0, contacts: Vec::new(), coefficients: Vec::new() }
    }
}

impl Polyhedral {
    /// The multipliers that z stands for, in the problem's rows.
    pub fn multipliers(&self, z: &[f64]) -> Vec<f64> {
        let mut gamma = vec![0.0; self.rows];
        for (row, at, d) in &self.contacts {
            gamma[*row] = z[*at];
            for (k, d) in d.iter().enumerate() {
                gamma[row + 1] += d[0] * z[at + 1 + k];
                if d[1] != 0.0 {
                    gamma[row + 2] += d[1] * z[at + 1 + k];
                }
            }
        }
        gamma
    }

    /// The unknowns that multipliers, within the facets' cones, and their velocities u stand for, and which
    /// of them are basic by these: a contact is open, sticks or slides along one direction or between two.
    pub fn near(&self, problem: &Problem, gamma: &[f64]) -> Near {
        let n = self.lcp.size();
        let mut u = Vec::new();
        problem.apply(gamma, &mut u);
        let mut near = Near { z: vec![0.0; n], basic: vec![false; n], units: vec![1.0; n] };
        for (i, (row, at, d)) in self.contacts.iter().enumerate() {
            let diagonal = problem.block_diagonal(i)[0];
            let g = if diagonal > 0.0 && diagonal.is_finite() { diagonal } else { 1.0 };
            let lambda = at + 1 + d.len();
            let (normal, pressed) = (u[*row], gamma[*row].max(0.0));
            near.z[*at] = pressed;
            near.basic[*at] = g * pressed > normal.max(0.0);
            near.units[*at..lambda].fill(g);
            if d.is_empty() {
                continue;
            }
            near.units[lambda] = 1.0 / g;
            // A planar contact has no second tangent.
            let tangent = |x: &[f64], d: &[f64; 2]| {
                d[0] * x[row + 1] + if d[1] == 0.0 { 0.0 } else { d[1] * x[row + 2] }
            };
            shares(d, &|d| tangent(gamma, d), &mut near.z[at + 1..lambda]);
            let along: Vec<f64> = d.iter().map(|d| tangent(&u, d)).collect();
            let first = (0..d.len()).fold(0, |a, k| if along[k] < along[a] { k } else { a });
            let slip = (-along[first]).max(0.0);
            let room = self.coefficients[i] * pressed - near.z[at + 1..lambda].iter().sum::<f64>();
            let slides = slip > 0.0 && slip >= g * room;
            if slides {
                (near.z[lambda], near.basic[lambda]) = (slip, true);
            }
            for (k, along) in along.iter().enumerate() {
                near.basic[at + 1 + k] = g * near.z[at + 1 + k] > (along + near.z[lambda]).max(0.0);
            }
            // Whatever slides does so along some direction, if with no force.
            if slides && !near.basic[at + 1..lambda].contains(&true) {
                near.basic[at + 1 + first] = true;
            }
        }
        near
    }
}

/// A tangential force as a sum of not more than two of the directions, those it lies between; `along` is its
/// part along one.
fn shares(d: &[[f64; 2]], along: &dyn Fn(&[f64; 2]) -> f64, beta: &mut [f64]) {
    let n = d.len();
    let first = (0..n).fold(0, |a, k| if along(&d[k]) > along(&d[a]) { k } else { a });
    let f = along(&d[first]);
    if !(f > 0.0) {
        return;
    }
    let square = d[first][0] * d[first][0] + d[first][1] * d[first][1];
    beta[first] = f / square;
    if n == 2 {
        return;
    }
    let beside = [(first + 1) % n, (first + n - 1) % n];
    let second = if along(&d[beside[0]]) >= along(&d[beside[1]]) { beside[0] } else { beside[1] };
    // b₁ d₁ + b₂ d₂ with the same parts along both.
    let dot = d[first][0] * d[second][0] + d[first][1] * d[second][1];
    let determinant = square * square - dot * dot;
    let b = (square * along(&d[second]) - dot * f) / determinant;
    if b > 0.0 {
        beta[second] = b;
        beta[first] = ((f - dot * b) / square).max(0.0);
    }
}
