//! Bushing with full matrices: forces along one axis from displacements along or about any other.
//!
//! ```text
//!     f = -K ξ - C ξ̇,     ξ = (a₁·d, a₂·d, a₃·d, φ₁, φ₂, φ₃),     φ = (-a₂·b₃, a₁·b₃, -a₁·b₂)
//! ```
//!
//! Two positive semidefinite matrices have common modes: K = Σ k_m t_m t_mᵀ, C = Σ c_m t_m t_mᵀ with k_m, c_m
//! ≥ 0 (from a factor of their sum, and the eigenvectors of K in its coordinates) [GolubVanLoan2013, §8.7].
//! Each is a spring and damper along t_m·ξ, one elastic row; none couples with another. The forces follow
//! from the potential ½ ξᵀKξ and conserve energy at any angle.

use super::equation::{Placed, Row, Sink, Sort};
use crate::stiff::psd::{Factor, eigen};

/// Stiffness and damping of a bushing, six by six: along x, y, z, then about them.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CoupledBushing {
    /// N/m, N/rad; N m/m, N m/rad
    stiffness: [[f64; 6]; 6],
    /// N s/m and so on.
    damping: [[f64; 6]; 6],
    modes: Vec<Mode>,
}

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Mode {
    along: [f64; 6],
    stiffness: f64,
    damping: f64,
}

impl CoupledBushing {
    /// The error says which matrix is not finite, symmetric and positive semidefinite.
    pub fn new(stiffness: [[f64; 6]; 6], damping: [[f64; 6]; 6]) -> Result<Self, String> {
        for (name, m) in [("stiffness", &stiffness), ("damping", &damping)] {
            let all = m.as_flattened();
            let size = all.iter().fold(0.0f64, |s, x| s.max(x.abs()));
            if all.iter().any(|x| !x.is_finite()) {
                return Err(format!("{name} must be finite"));
            }
            for i in 0..6 {
                for j in 0..i {
                    if (m[i][j] - m[j][i]).abs() > 1e-9 * size {
                        return Err(format!(
                            "{name} must be symmetric, but row {i} has {} in column {j} and row {j} has {} in column {i}",
                            m[i][j], m[j][i]
                        ));
                    }
                }
            }
            if !Factor::default().compute(all, 6) {
                return Err(format!(
                    "{name} must be positive semidefinite: some displacement would be pushed on"
                ));
            }
        }
        let modes = modes(&stiffness, &damping);
        Ok(Self { stiffness, damping, modes })
    }

    /// K.
    pub fn stiffness(&self) -> &[[f64; 6]; 6] {
        &self.stiffness
    }

    /// C.
    pub fn damping(&self) -> &[[f64; 6]; 6] {
        &self.damping
    }

    #[inline(always)]
    pub(super) fn equations(&self, p: &Placed, out: &mut impl Sink) {
        let along = [0, 1, 2].map(|k| p.along(p.a(k)));
        // L times the small angles.
        let turns = [
            (-1.0, p.align(p.a(1), p.b(2))),
            (1.0, p.align(p.a(0), p.b(2))),
            (-1.0, p.align(p.a(0), p.b(1))),
        ];
        for mode in &self.modes {
            let mut row = Row::default();
            let mut add = |by: f64, part: &Row| {
                row.error += by * part.error;
                row.jacobian.iter_mut().zip(part.jacobian).for_each(|(x, y)| *x += by * y);
            };
            let weights: [f64; 6] =
                std::array::from_fn(|k| mode.along[k] / if k < 3 { 1.0 } else { p.length });
            let size = weights.iter().fold(0.0f64, |s, x| s.max(x.abs()));
            for k in 0..3 {
                add(weights[k] / size, &along[k]);
                add(turns[k].0 * weights[3 + k] / size, &turns[k].1);
            }
            let (stiffness, damping) = (mode.stiffness * size * size, mode.damping * size * size);
            row.sort = Sort::Elastic { stiffness, damping };
            out.push(row);
        }
    }
}

/// The common modes of two positive semidefinite matrices.
fn modes(stiffness: &[[f64; 6]; 6], damping: &[[f64; 6]; 6]) -> Vec<Mode> {
    let (k, c) = (stiffness.as_flattened(), damping.as_flattened());
    let size = |m: &[f64]| m.iter().fold(0.0f64, |s, x| s.max(x.abs())).max(f64::MIN_POSITIVE);
    let (of_k, of_c) = (size(k), size(c));
    let sum: Vec<f64> = k.iter().zip(c).map(|(k, c)| k / of_k + c / of_c).collect();
    let mut factor = Factor::default();
    factor.compute(&sum, 6);
    let rank = factor.pivots.len();
    // T = L √D, and K = T K' Tᵀ: two forward substitutions on the rows of the pivots.
    let (mut half, mut y) = (Vec::new(), Vec::new());
    for i in 0..6 {
        let mut row = k[6 * i..6 * i + 6].to_vec();
        factor.forward(&mut row, &mut y);
        half.push(y.clone());
    }
    let mut inner = vec![0.0; rank * rank];
    for a in 0..rank {
        let mut column: Vec<f64> = (0..6).map(|i| half[i][a]).collect();
        factor.forward(&mut column, &mut y);
        for b in 0..rank {
            inner[b * rank + a] = y[b] / (factor.pivots[a] * factor.pivots[b]).sqrt();
        }
    }
    crate::stiff::psd::symmetrise(&mut inner, rank);
    let (values, vectors) = eigen(&inner, rank);
    // Of what is left of a sum of one, rounding is no spring.
    let dust = |x: f64, size: f64| if x > 1e-13 * size { x } else { 0.0 };
    (0..rank)
        .map(|m| Mode {
            along: std::array::from_fn(|i| {
                (0..rank)
                    .map(|a| factor.columns[6 * a + i] * factor.pivots[a].sqrt() * vectors[a * rank + m])
                    .sum()
            }),
            stiffness: dust(values[m], of_k),
            damping: dust(of_c * (1.0 - values[m] / of_k), of_c),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn positive(rank: usize, size: f64, random: &mut Random) -> [[f64; 6]; 6] {
        let b: Vec<[f64; 6]> = (0..rank).map(|_| std::array::from_fn(|_| random.range(-1.0, 1.0))).collect();
        std::array::from_fn(|i| std::array::from_fn(|j| size * b.iter().map(|b| b[i] * b[j]).sum::<f64>()))
    }

    #[test]
    fn modes_give_both_matrices_back() {
        let mut random = Random::new(3);
        for (k, c, modes) in [(6, 6, 6), (6, 0, 6), (0, 6, 6), (2, 2, 4), (1, 6, 6), (0, 0, 0)] {
            let (stiffness, damping) = (positive(k, 1e6, &mut random), positive(c, 20.0, &mut random));
            let bushing = CoupledBushing::new(stiffness, damping).unwrap();
            assert_eq!(bushing.modes.len(), modes);
            let entry = |i: usize, j: usize, of: fn(&Mode) -> f64| {
                bushing.modes.iter().map(|m| of(m) * m.along[i] * m.along[j]).sum::<f64>()
            };
            for i in 0..6 {
                for j in 0..6 {
                    assert!((entry(i, j, |m| m.stiffness) - stiffness[i][j]).abs() < 1e-6, "{k} {c}");
                    assert!((entry(i, j, |m| m.damping) - damping[i][j]).abs() < 1e-10, "{k} {c}");
                }
            }
        }
    }

    #[test]
    fn what_would_make_energy_is_refused() {
        let mut k = [[0.0; 6]; 6];
        let zero = k;
        k[2][2] = -1.0;
        assert!(CoupledBushing::new(k, zero).unwrap_err().contains("stiffness must be positive"));
        k[2][2] = 1.0;
        k[0][4] = 3.0;
        assert!(CoupledBushing::new(zero, k).unwrap_err().contains("damping must be symmetric"));
        k[4][0] = 3.0;
        assert!(CoupledBushing::new(k, zero).unwrap_err().contains("semidefinite"));
        k[0][0] = f64::NAN;
        assert!(CoupledBushing::new(k, zero).unwrap_err().contains("finite"));
    }
}
