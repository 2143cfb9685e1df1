//! Where a set's boundary lets multipliers go: the projections that active-set methods need.
//!
//! At γ in K, the tangent cone T(γ) holds every direction that does not leave K at once, and the face of γ
//! spans those along which the constraints that hold γ keep holding it. For the round cone there are three
//! faces: the apex (nothing moves; T = K), the interior (everything moves) and the side, with its outward
//! normal
//!
//! ```text
//!     m = (-μ, γ_T/|γ_T|) / √(1 + μ²),     T = { d : ⟨m, d⟩ ≤ 0 },     face { d : ⟨m, d⟩ = 0 }.
//! ```
//!
//! μ = 0 leaves the half-line of normal multipliers; the five-dimensional cone has two sides that may hold at
//! once.

use super::{AdmissibleSet, MAX_ROWS, Set, norm};

/// How near to a side counts as on it, relative to the normal multiplier: a few units in the last place of a
/// projection.
const NEAR: f64 = 1e-12;

/// The outward unit normals of the sides that hold a multiplier away from the apex.
#[derive(Default)]
struct Sides {
    normals: [[f64; MAX_ROWS]; 2],
    count: usize,
}

impl Sides {
    /// Adds the side of the tangential rows `rows` with coefficient `mu`, if γ is on it. Rows that are held
    /// at zero altogether (μ = 0) are struck out of `d`.
    fn add(&mut self, rows: std::ops::Range<usize>, mu: f64, gamma: &[f64], d: &mut [f64]) {
        if mu == 0.0 {
            d[rows].fill(0.0);
            return;
        }
        let t = norm(&gamma[rows.clone()]);
        if t < mu * gamma[0] * (1.0 - NEAR) {
            return;
        }
        let scale = 1.0 / (1.0 + mu * mu).sqrt();
        let m = &mut self.normals[self.count];
        m[0] = -mu * scale;
        for j in rows {
            m[j] = gamma[j] / t * scale;
        }
        self.count += 1;
    }

    fn of(set: Set, gamma: &[f64], d: &mut [f64]) -> Self {
        let mut sides = Sides::default();
        match set {
            Set::Friction2 { mu } => sides.add(1..2, mu, gamma, d),
            Set::Friction3 { mu } => sides.add(1..3, mu, gamma, d),
            Set::Rolling5 { mu, mu_r } => {
                sides.add(1..3, mu, gamma, d);
                sides.add(3..5, mu_r, gamma, d);
            }
            Set::Free | Set::NonNegative | Set::Interval { .. } => {}
        }
        sides
    }

    fn dot(&self, k: usize, d: &[f64]) -> f64 {
        d.iter().zip(&self.normals[k]).map(|(d, m)| d * m).sum()
    }

    fn subtract(&self, k: usize, much: f64, d: &mut [f64]) {
        d.iter_mut().zip(&self.normals[k]).for_each(|(d, m)| *d -= much * m);
    }

    /// Projects d on the intersection of the half-spaces ⟨m, d⟩ ≤ 0, or of the planes ⟨m, d⟩ = 0 for those
    /// sides that `plane` says.
    fn project(&self, plane: [bool; 2], d: &mut [f64]) {
        let part = |k: usize, x: f64| if plane[k] { x } else { x.max(0.0) };
        match self.count {
            0 => {}
            1 => self.subtract(0, part(0, self.dot(0, d)), d),
            _ => {
                let (a, b) = (self.dot(0, d), self.dot(1, d));
                let c: f64 = self.normals[0].iter().zip(&self.normals[1]).map(|(x, y)| x * y).sum();
                // Multipliers of the two sides: each alone if that satisfies the other, else both.
                let (first, second) = (part(0, a), part(1, b));
                let fits = |k: usize, left: f64| if plane[k] { left == 0.0 } else { left <= 0.0 };
                let (x, y) = if fits(1, b - c * first) {
                    (first, 0.0)
                } else if fits(0, a - c * second) {
                    (0.0, second)
                } else {
                    ((a - c * b) / (1.0 - c * c), (b - c * a) / (1.0 - c * c))
                };
                self.subtract(0, x, d);
                self.subtract(1, y, d);
            }
        }
    }
}

impl Set {
    fn at_apex(&self, gamma: &[f64]) -> bool {
        matches!(self, Set::Friction2 { .. } | Set::Friction3 { .. } | Set::Rolling5 { .. })
            && gamma[0] <= 0.0
    }

    /// Replaces `d` by the nearest direction of the tangent cone at `gamma`, which is in the set.
    pub(crate) fn project_tangent(&self, gamma: &[f64], d: &mut [f64]) {
        match *self {
            Set::Free => {}
            Set::NonNegative if gamma[0] <= 0.0 => d[0] = d[0].max(0.0),
            Set::NonNegative => {}
            Set::Interval { lo, hi } => {
                if gamma[0] <= lo {
                    d[0] = d[0].max(0.0);
                }
                if gamma[0] >= hi {
                    d[0] = d[0].min(0.0);
                }
            }
            _ if self.at_apex(gamma) => self.project(d),
            _ => Sides::of(*self, gamma, d).project([false; 2], d),
        }
    }

    /// Replaces `d` by its part along the face of `gamma` against which `push` presses; sides from which
    /// `push` leads inward hold `d` back only from going out.
    pub(crate) fn project_face(&self, gamma: &[f64], push: &[f64], d: &mut [f64]) {
        match *self {
            Set::Free => {}
            Set::NonNegative if gamma[0] > 0.0 => {}
            Set::Interval { lo, hi } if gamma[0] > lo && gamma[0] < hi => {}
            Set::NonNegative | Set::Interval { .. } => d[0] = 0.0,
            _ if self.at_apex(gamma) => d.fill(0.0),
            _ => {
                let sides = Sides::of(*self, gamma, d);
                let presses = |k: usize| k < sides.count && sides.dot(k, push) >= 0.0;
                sides.project([presses(0), presses(1)], d);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sets() -> impl Strategy<Value = Set> {
        let mu = || prop_oneof![Just(0.0), 0.05..2.0f64];
        prop_oneof![
            Just(Set::Free),
            Just(Set::NonNegative),
            Just(Set::Interval { lo: -0.5, hi: 0.25 }),
            mu().prop_map(|mu| Set::Friction2 { mu }),
            mu().prop_map(|mu| Set::Friction3 { mu }),
            (mu(), mu()).prop_map(|(mu, mu_r)| Set::Rolling5 { mu, mu_r }),
        ]
    }

    fn vector() -> impl Strategy<Value = [f64; 5]> {
        prop::array::uniform5(-1.0..1.0f64)
    }

    proptest! {
        /// The projection on the tangent cone is the derivative of the projection on the set (Zarantonello).
        #[test]
        fn tangent_is_the_derivative_of_the_projection(set in sets(), x in vector(), d in vector()) {
            let n = set.rows();
            let mut gamma = x[..n].to_vec();
            set.project(&mut gamma);
            let mut tangent = d[..n].to_vec();
            set.project_tangent(&gamma, &mut tangent);
            // Away from a joint of two pieces a small step sees only one of them.
            let step = 1e-7;
            let mut moved: Vec<f64> = gamma.iter().zip(&d).map(|(g, d)| g + step * d).collect();
            set.project(&mut moved);
            for k in 0..n {
                prop_assume!(gamma[0].abs() > 1e-3 || gamma.iter().all(|g| *g == 0.0));
                let slope = (moved[k] - gamma[k]) / step;
                prop_assert!((slope - tangent[k]).abs() < 1e-4, "{set:?} at {gamma:?}: {slope} and {}", tangent[k]);
            }
        }

        /// What is along the face can be walked both ways without leaving the tangent cone, and is the
        /// nearest such.
        #[test]
        fn faces_are_subspaces_of_the_tangent_cone(set in sets(), x in vector(), d in vector()) {
            let n = set.rows();
            let mut gamma = x[..n].to_vec();
            set.project(&mut gamma);
            // From γ to the point of which it is the projection: outward, on all sides that hold γ.
            let push: Vec<f64> = x[..n].iter().zip(&gamma).map(|(x, g)| x - g).collect();
            let mut along = d[..n].to_vec();
            set.project_face(&gamma, &push, &mut along);
            for sign in [1.0, -1.0] {
                let direction: Vec<f64> = along.iter().map(|x| sign * x).collect();
                let mut kept = direction.clone();
                set.project_tangent(&gamma, &mut kept);
                for k in 0..n {
                    prop_assert!((kept[k] - direction[k]).abs() < 1e-9, "{set:?} at {gamma:?}");
                }
            }
            let off: f64 = (0..n).map(|k| (d[k] - along[k]) * along[k]).sum();
            prop_assert!(off.abs() < 1e-9, "{set:?} at {gamma:?}: not orthogonal, {off}");
        }
    }
}
