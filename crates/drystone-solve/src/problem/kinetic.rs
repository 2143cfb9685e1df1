//! Momentum and kinetic energy of the bodies of a problem, which knows inverse masses alone.

use super::{Bodies, cross, dot};

impl Bodies {
    /// M v of body `i`, kg m/s and kg m²/s; zero along what is locked.
    pub fn momentum(&self, i: usize, v: &[f64; 6]) -> [f64; 6] {
        let m = self.inv_mass[i];
        if m <= 0.0 {
            return [0.0; 6];
        }
        let turn = solve(&self.inv_inertia[i], [v[3], v[4], v[5]]);
        [v[0] / m, v[1] / m, v[2] / m, turn[0], turn[1], turn[2]]
    }

    /// ⟨v, M w⟩ of body `i`, twice an energy for v = w, J.
    pub fn inertia_product(&self, i: usize, v: &[f64; 6], w: &[f64; 6]) -> f64 {
        self.momentum(i, w).iter().zip(v).map(|(p, v)| p * v).sum()
    }
}

/// A⁻¹ x for a symmetric A (xx, yy, zz, xy, xz, yz), by Cramer's rule; 0 where A has no inverse: such
/// rotations are locked.
fn solve(a: &[f64; 6], x: [f64; 3]) -> [f64; 3] {
    let columns = [[a[0], a[3], a[4]], [a[3], a[1], a[5]], [a[4], a[5], a[2]]];
    let cofactors =
        [cross(columns[1], columns[2]), cross(columns[2], columns[0]), cross(columns[0], columns[1])];
    let determinant = dot(columns[0], cofactors[0]);
    let scale = columns.iter().map(|c| dot(*c, *c)).fold(0.0, f64::max).sqrt();
    let minor = cofactors.iter().map(|c| dot(*c, *c)).fold(0.0, f64::max).sqrt();
    if !(determinant > 0.0 && minor > 1e-13 * scale * scale) {
        // One axis alone may turn: a body that is locked to a plane. Of a slanted one rounding leaves minors,
        // and a determinant of either sign.
        let trace = a[0] + a[1] + a[2];
        if trace <= 0.0 {
            return [0.0; 3];
        }
        // A = t e eᵀ with t its trace.
        let along: [f64; 3] = std::array::from_fn(|k| dot(columns[k], x));
        return along.map(|y| y / (trace * trace));
    }
    std::array::from_fn(|k| dot(cofactors[k], x) / determinant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn momentum_is_the_inverse_of_the_inverse_inertia() {
        let a = [3.0, 2.0, 1.5, 0.3, -0.2, 0.4];
        let y = solve(&a, [1.0, -2.0, 0.5]);
        let back = super::super::symmetric(&a, y);
        assert!(back.iter().zip([1.0, -2.0, 0.5]).all(|(x, y)| (x - y).abs() < 1e-12), "{back:?}");
        // About one axis alone: A = 2 e eᵀ, e = (0.6, 0, 0.8).
        let e = [0.6, 0.0, 0.8];
        let locked = [2.0 * e[0] * e[0], 0.0, 2.0 * e[2] * e[2], 0.0, 2.0 * e[0] * e[2], 0.0];
        let y = solve(&locked, [1.2, 0.0, 1.6]);
        assert!(y.iter().zip(e).all(|(y, e)| (y - e).abs() < 1e-12), "{y:?}");
        assert_eq!(solve(&[0.0; 6], [1.0; 3]), [0.0; 3]);
    }
}
