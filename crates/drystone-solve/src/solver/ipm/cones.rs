//! The symmetric cones behind the admissible sets, and their Nesterov-Todd scaling.
//!
//! γ ∈ K is written as s = G γ + g ∈ S with S a product of half-lines and second-order cones { s₀ ≥ |s₁| },
//! both their own duals; then u = Gᵀ z with z ∈ S:
//!
//! ```text
//!     γ ≥ 0             s = γ                          lo ≤ γ ≤ hi     s = γ - lo, s = hi - γ
//!     |γ_T| ≤ μ γ_n     s = (μ γ_n, γ_T)               5 rows          s = (μ γ_n, γ_T), s = (μ_r γ_n, γ_M)
//! ```
//!
//! Rows that have one value only (μ = 0, lo = hi) are fixed. At s, z inside S the scaling W is symmetric with
//! W z = W⁻¹ s = λ [NesterovTodd1997]; for the second-order cone, with J = diag(1, -1, ...)
//! [Vandenberghe2010, §4.2],
//!
//! ```text
//!     W = η [ w₀  w₁ᵀ ; w₁  1 + w₁w₁ᵀ/(1 + w₀) ],    W⁻² = (2 J w wᵀ J - J) / η²,    η⁴ = sᵀJs / zᵀJz,
//!     w = (s̄ + J z̄) / √(2 (1 + s̄ᵀz̄)),               s̄ = s/√(sᵀJs),  z̄ = z/√(zᵀJz)
//! ```

use crate::cone::{MAX_ROWS, Set};
use crate::solver::system::small::Small;

/// Rows of the largest cone.
const MOST: usize = 3;

/// A point of a cone.
pub(super) type Vector = [f64; MOST];

/// Which rows of γ a cone looks at.
#[derive(Clone, Copy, Debug)]
enum Map {
    /// s = sign γ_row + offset.
    Line { row: usize, sign: f64, offset: f64 },
    /// s = (μ γ_normal, γ_tangent, γ_tangent + 1).
    Round { normal: usize, mu: f64, tangent: usize, tangents: usize },
}

/// One cone with its point, its multiplier and their scaling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cone {
    /// The block it belongs to.
    pub block: usize,
    map: Map,
    pub s: Vector,
    pub z: Vector,
    pub lambda: Vector,
    w: Vector,
    eta: f64,
    /// z₁/|z₁| under the exact law, zero under the relaxed one: see [`Cone::turn`].
    slide: [f64; 2],
}

/// x₀² - |x₁|² without cancellation.
fn determinant(x: &Vector) -> f64 {
    let t = (x[1] * x[1] + x[2] * x[2]).sqrt();
    (x[0] - t) * (x[0] + t)
}

pub(super) fn dot(x: &Vector, y: &Vector) -> f64 {
    x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
}

impl Cone {
    fn new(block: usize, map: Map) -> Self {
        let zero = [0.0; MOST];
        Self { block, map, s: zero, z: zero, lambda: zero, w: zero, eta: 1.0, slide: [0.0; 2] }
    }

    /// The cones of a block whose rows begin at `first`; rows with one value only are marked and set.
    pub fn of(
        block: usize,
        set: Set,
        first: usize,
        fixed: &mut [bool],
        gamma: &mut [f64],
        cones: &mut Vec<Self>,
    ) {
        let mut round = |mu: f64, tangent: usize, tangents: usize, cones: &mut Vec<Self>| {
            if mu > 0.0 {
                cones.push(Self::new(
                    block,
                    Map::Round { normal: first, mu, tangent: first + tangent, tangents },
                ));
                return true;
            }
            for row in first + tangent..first + tangent + tangents {
                fixed[row] = true;
                gamma[row] = 0.0;
            }
            false
        };
        let line = |sign: f64, offset: f64| Self::new(block, Map::Line { row: first, sign, offset });
        match set {
            Set::Free => {}
            Set::NonNegative => cones.push(line(1.0, 0.0)),
            Set::Interval { lo, hi } if lo == hi => {
                fixed[first] = true;
                gamma[first] = lo;
            }
            Set::Interval { lo, hi } => {
                if lo.is_finite() {
                    cones.push(line(1.0, -lo));
                }
                if hi.is_finite() {
                    cones.push(line(-1.0, hi));
                }
            }
            Set::Friction2 { mu } => {
                if !round(mu, 1, 1, cones) {
                    cones.push(line(1.0, 0.0));
                }
            }
            Set::Friction3 { mu } => {
                if !round(mu, 1, 2, cones) {
                    cones.push(line(1.0, 0.0));
                }
            }
            Set::Rolling5 { mu, mu_r } => {
                let slips = round(mu, 1, 2, cones);
                if !round(mu_r, 3, 2, cones) && !slips {
                    cones.push(line(1.0, 0.0));
                }
            }
        }
    }

    /// G x (+ g if `affine`).
    pub fn image(&self, x: &[f64], affine: bool) -> Vector {
        match self.map {
            Map::Line { row, sign, offset } => [sign * x[row] + if affine { offset } else { 0.0 }, 0.0, 0.0],
            Map::Round { normal, mu, tangent, tangents } => {
                let second = if tangents > 1 { x[tangent + 1] } else { 0.0 };
                [mu * x[normal], x[tangent], second]
            }
        }
    }

    /// Takes the exact law's side of the cone at z: from here on B stands for Gᵀ, B y = Gᵀ y - μ ⟨z₁,
    /// y₁⟩/|z₁| e_n.
    pub fn turn(&mut self, share: f64) {
        let t = (self.z[1] * self.z[1] + self.z[2] * self.z[2]).sqrt();
        self.slide = if t > 0.0 { [share * self.z[1] / t, share * self.z[2] / t] } else { [0.0; 2] };
    }

    /// out += Gᵀ y, or B y.
    pub fn transpose(&self, y: &Vector, out: &mut [f64]) {
        match self.map {
            Map::Line { row, sign, .. } => out[row] += sign * y[0],
            Map::Round { normal, mu, tangent, tangents } => {
                out[normal] += mu * (y[0] - (self.slide[0] * y[1] + self.slide[1] * y[2]));
                for k in 0..tangents {
                    out[tangent + k] += y[1 + k];
                }
            }
        }
    }

    /// A point well inside, `size` in the units of γ.
    pub fn interior(&self, size: f64, gamma: &mut [f64], lone: bool) {
        match self.map {
            // Between two ends: their middle. Beside one: a step away from it.
            Map::Line { row, sign, offset } if lone => gamma[row] = sign * (size - offset),
            Map::Line { row, sign, offset } => gamma[row] += 0.5 * sign * -offset,
            Map::Round { normal, mu, .. } => gamma[normal] = gamma[normal].max(size / mu.min(1.0)),
        }
    }

    /// s⁻¹ times `mu`: the centred multiplier.
    pub fn centred(&self, mu: f64) -> Vector {
        let d = determinant(&self.s);
        [mu * self.s[0] / d, -mu * self.s[1] / d, -mu * self.s[2] / d]
    }

    /// Computes W and λ. False where a point has left its cone.
    pub fn scale(&mut self) -> bool {
        let (ds, dz) = (determinant(&self.s), determinant(&self.z));
        if !(ds > 0.0 && dz > 0.0 && self.s[0] > 0.0 && self.z[0] > 0.0) {
            return false;
        }
        let (rs, rz) = (ds.sqrt(), dz.sqrt());
        self.eta = (rs / rz).sqrt();
        let s = self.s.map(|x| x / rs);
        let z = self.z.map(|x| x / rz);
        let scale = 1.0 / (2.0 * (1.0 + dot(&s, &z))).sqrt();
        self.w = [(s[0] + z[0]) * scale, (s[1] - z[1]) * scale, (s[2] - z[2]) * scale];
        self.lambda = self.times_w(&self.z);
        self.lambda[0] > 0.0
    }

    /// W x.
    pub fn times_w(&self, x: &Vector) -> Vector {
        let w = &self.w;
        let t = w[1] * x[1] + w[2] * x[2];
        let along = x[0] + t / (1.0 + w[0]);
        [self.eta * (w[0] * x[0] + t), self.eta * (x[1] + along * w[1]), self.eta * (x[2] + along * w[2])]
    }

    /// W⁻¹ x.
    pub fn over_w(&self, x: &Vector) -> Vector {
        let w = &self.w;
        let t = w[1] * x[1] + w[2] * x[2];
        let along = -x[0] + t / (1.0 + w[0]);
        let e = 1.0 / self.eta;
        [e * (w[0] * x[0] - t), e * (x[1] + along * w[1]), e * (x[2] + along * w[2])]
    }

    /// Adds Gᵀ W⁻² G, a block whose rows begin at `first`.
    pub fn hessian(&self, first: usize, into: &mut Small) {
        let e = 1.0 / (self.eta * self.eta);
        match self.map {
            Map::Line { .. } => into[0][0] += e,
            Map::Round { normal, mu, tangent, tangents } => {
                let w = &self.w;
                let jw = [mu * w[0], -w[1], -w[2]];
                let j = [-mu * mu, 1.0, 1.0];
                let at = |k: usize| if k == 0 { normal - first } else { tangent - first + k - 1 };
                for a in 0..=tangents {
                    for b in 0..=tangents {
                        into[at(a)][at(b)] += e * 2.0 * jw[a] * jw[b];
                    }
                    into[at(a)][at(a)] += e * j[a];
                }
            }
        }
    }

    /// t = G⁻¹ W, so that t tᵀ = (Gᵀ W⁻² G)⁻¹, where this cone is the only one of its block and there is no
    /// compliance: without the cancellation that an inversion would suffer.
    pub fn root(&self, first: usize, into: &mut Small) {
        match self.map {
            Map::Line { .. } => into[0][0] = self.eta,
            Map::Round { normal, mu, tangent, tangents } => {
                let at = |k: usize| if k == 0 { normal - first } else { tangent - first + k - 1 };
                for c in 0..=tangents {
                    let mut e = [0.0; MOST];
                    e[c] = 1.0;
                    let column = self.times_w(&e);
                    for r in 0..=tangents {
                        into[at(r)][at(c)] = column[r] / if r == 0 { mu } else { 1.0 };
                    }
                }
            }
        }
    }

    /// Adds B W⁻² G, a block whose rows begin at `first`: what [`Cone::hessian`] is under the exact law.
    pub fn hessian_exact(&self, first: usize, into: &mut Small) {
        let Map::Round { normal, mu, tangent, tangents } = self.map else { return self.hessian(first, into) };
        let at = |k: usize| if k == 0 { normal - first } else { tangent - first + k - 1 };
        for c in 0..=tangents {
            let mut e = [0.0; MOST];
            e[c] = if c == 0 { mu } else { 1.0 };
            let y = self.over_w(&self.over_w(&e));
            into[at(0)][at(c)] += mu * (y[0] - (self.slide[0] * y[1] + self.slide[1] * y[2]));
            (1..=tangents).for_each(|r| into[at(r)][at(c)] += y[r]);
        }
    }

    /// r with t rᵀ = (B W⁻² G)⁻¹ for the t of [`Cone::root`]: r = G⁻¹ (1 + slide e₀ᵀ) W.
    pub fn root_exact(&self, first: usize, into: &mut Small) {
        let Map::Round { normal, mu, tangent, tangents } = self.map else { return self.root(first, into) };
        let at = |k: usize| if k == 0 { normal - first } else { tangent - first + k - 1 };
        for c in 0..=tangents {
            let mut e = [0.0; MOST];
            e[c] = 1.0;
            let column = self.times_w(&e);
            into[at(0)][at(c)] = column[0] / mu;
            (1..=tangents).for_each(|r| into[at(r)][at(c)] = column[r] + self.slide[r - 1] * column[0]);
        }
    }

    /// Whether all rows of the block are this cone's own.
    pub fn covers(&self, rows: usize, fixed: &[bool; MAX_ROWS]) -> bool {
        let free = (0..rows).filter(|k| !fixed[*k]).count();
        match self.map {
            Map::Line { .. } => free == 1,
            Map::Round { tangents, .. } => free == 1 + tangents,
        }
    }

    /// x with λ ∘ x = d.
    pub fn divide(&self, d: &Vector) -> Vector {
        let l = &self.lambda;
        match self.map {
            Map::Line { .. } => [d[0] / l[0], 0.0, 0.0],
            Map::Round { .. } => {
                let x = (l[0] * d[0] - l[1] * d[1] - l[2] * d[2]) / determinant(l);
                [x, (d[1] - x * l[1]) / l[0], (d[2] - x * l[2]) / l[0]]
            }
        }
    }

    /// x ∘ y.
    pub fn product(x: &Vector, y: &Vector) -> Vector {
        [dot(x, y), x[0] * y[1] + y[0] * x[1], x[0] * y[2] + y[0] * x[2]]
    }

    /// The longest step from λ along `d` that stays in the cone.
    pub fn longest(&self, d: &Vector) -> f64 {
        let l = &self.lambda;
        if let Map::Line { .. } = self.map {
            return if d[0] < 0.0 { -l[0] / d[0] } else { f64::INFINITY };
        }
        // Roots of a α² + 2 b α + c, c > 0; the half-line s₀ ≥ 0 is left only beyond the first of them.
        let a = determinant(d);
        let b = l[0] * d[0] - l[1] * d[1] - l[2] * d[2];
        let c = determinant(l);
        let discriminant = b * b - a * c;
        if discriminant < 0.0 {
            return f64::INFINITY;
        }
        let root = discriminant.sqrt();
        let first = if b < 0.0 { c / (-b + root) } else { -(b + root) / a };
        if first > 0.0 && (a < 0.0 || b < 0.0) { first } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scaling_maps_both_points_to_one() {
        let mut c = Cone::new(0, Map::Round { normal: 0, mu: 0.4, tangent: 1, tangents: 2 });
        c.s = [1.0, 0.3, -0.9];
        c.z = [0.2, 0.1, 0.15];
        assert!(c.scale());
        let (a, b) = (c.times_w(&c.z), c.over_w(&c.s));
        for k in 0..3 {
            assert!((a[k] - b[k]).abs() < 1e-14, "{a:?} {b:?}");
        }
        let back = c.over_w(&c.times_w(&[0.3, 0.2, -0.7]));
        assert!((back[0] - 0.3).abs() < 1e-14 && (back[2] + 0.7).abs() < 1e-14);
        // G W⁻² G by definition, against the closed form and the root of its inverse.
        let (mut h, mut t) = ([[0.0; 5]; 5], [[0.0; 5]; 5]);
        c.hessian(0, &mut h);
        c.root(0, &mut t);
        let inverse = |m: usize, k: usize| (0..3).map(|s| t[m][s] * t[k][s]).sum::<f64>();
        for k in 0..3 {
            let mut e = [0.0; 3];
            e[k] = 1.0;
            let y = c.over_w(&c.over_w(&c.image(&e, false)));
            let mut column = [0.0; 3];
            c.transpose(&y, &mut column);
            for j in 0..3 {
                assert!((column[j] - h[j][k]).abs() < 1e-12 * h[0][0].abs());
                let sum: f64 = (0..3).map(|m| h[j][m] * inverse(m, k)).sum();
                assert!((sum - (j == k) as u8 as f64).abs() < 1e-11);
            }
        }
        // The same under the exact law: t rᵀ is the inverse of B W⁻² G.
        c.turn(1.0);
        let (mut h, mut r) = ([[0.0; 5]; 5], [[0.0; 5]; 5]);
        c.hessian_exact(0, &mut h);
        c.root_exact(0, &mut r);
        assert!((h[0][1] - h[1][0]).abs() > 0.01);
        for j in 0..3 {
            let mut e = [0.0; 3];
            e[j] = 1.0;
            let mut column = [0.0; 3];
            c.transpose(&c.over_w(&c.over_w(&c.image(&e, false))), &mut column);
            for k in 0..3 {
                assert!((column[k] - h[k][j]).abs() < 1e-12 * h[0][0].abs());
                let product = |m: usize| (0..3).map(|s| t[m][s] * r[k][s]).sum::<f64>();
                let sum: f64 = (0..3).map(|m| h[j][m] * product(m)).sum();
                assert!((sum - (j == k) as u8 as f64).abs() < 1e-11, "{j} {k}");
            }
        }
        let x = c.divide(&Cone::product(&c.lambda, &[0.5, -0.1, 0.3]));
        assert!((x[0] - 0.5).abs() < 1e-13 && (x[2] - 0.3).abs() < 1e-13);
    }

    #[test]
    fn the_longest_step_ends_on_the_boundary() {
        let mut c = Cone::new(0, Map::Round { normal: 0, mu: 1.0, tangent: 1, tangents: 2 });
        c.lambda = [1.0, 0.2, 0.1];
        for d in [[-1.0, 0.3, 0.2], [0.1, 1.0, -0.4], [-1.0, 0.0, 0.0], [0.5, -0.6, 0.1]] {
            let a = c.longest(&d);
            let at = |a: f64| [1.0 + a * d[0], 0.2 + a * d[1], 0.1 + a * d[2]];
            assert!(a.is_finite() && a > 0.0);
            assert!(determinant(&at(a)).abs() < 1e-12, "{d:?} {a}");
            assert!(determinant(&at(0.99 * a)) > 0.0 && at(0.99 * a)[0] > 0.0);
        }
        assert_eq!(c.longest(&[1.0, 0.2, 0.3]), f64::INFINITY);
    }
}
