//! N + C of a few contact points, entry by entry.

use crate::problem::algebra::{cross, dot, symmetric};

use super::points::at;
use super::{Bodies, WORLD};

/// A contact's way to one of its bodies.
struct Side {
    body: u32,
    /// 1 for A, -1 for B.
    sign: f64,
    /// Moments r × e of unit impulses along its three axes, m.
    moments: [[f64; 3]; 3],
    /// I⁻¹ of those.
    turns: [[f64; 3]; 3],
}

impl Bodies {
    /// N + C of the contact points, column by column: entry (r, c) at r + c · rows. Of size (3 · points)²,
    /// for a few of them.
    pub(crate) fn points_matrix(&self, to: &mut Vec<f64>) {
        let p = &self.points;
        let rows = 3 * p.len();
        to.clear();
        to.resize(rows * rows, 0.0);
        let side = |body: u32, sign: f64, arm: [f64; 3], axes: &[[f64; 3]; 3]| {
            let moments = axes.map(|axis| cross(arm, axis));
            let turns = moments.map(|m| symmetric(&self.inv_inertia[body as usize], m));
            Side { body, sign, moments, turns }
        };
        let mut all: Vec<([[f64; 3]; 3], Side, Option<Side>)> = Vec::with_capacity(p.len());
        for i in 0..p.len() {
            let axes = p.frame(i);
            let a = side(p.a[i], 1.0, at(&p.arm_a, i), &axes);
            let b = (p.b[i] != WORLD).then(|| side(p.b[i], -1.0, at(&p.arm_b, i), &axes));
            all.push((axes, a, b));
        }
        for (i, (axes, a, b)) in all.iter().enumerate() {
            for (j, (others, c, d)) in all[..=i].iter().enumerate() {
                let mut block = [[0.0; 3]; 3];
                for (x, y) in [
                    (Some(a), Some(c)),
                    (Some(a), d.as_ref()),
                    (b.as_ref(), Some(c)),
                    (b.as_ref(), d.as_ref()),
                ] {
                    let (Some(x), Some(y)) = (x, y) else { continue };
                    if x.body != y.body {
                        continue;
                    }
                    let sign = x.sign * y.sign;
                    let mass = sign * self.inv_mass[x.body as usize];
                    for r in 0..3 {
                        for s in 0..3 {
                            block[r][s] +=
                                mass * dot(axes[r], others[s]) + sign * dot(x.moments[r], y.turns[s]);
                        }
                    }
                }
                for r in 0..3 {
                    for s in 0..3 {
                        to[3 * i + r + (3 * j + s) * rows] = block[r][s];
                        to[3 * j + s + (3 * i + r) * rows] = block[r][s];
                    }
                }
            }
            for (k, c) in p.compliance_of(i).into_iter().enumerate() {
                to[(3 * i + k) * (rows + 1)] += c;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::problem::Problem;
    use crate::problem::bodies::Bodies;

    /// Every column is what the multiplication says of a unit multiplier.
    #[test]
    fn is_the_matrix_of_the_multiplication() {
        let mut p = Bodies {
            inv_mass: vec![1.0, 0.2],
            inv_inertia: vec![[3.0, 2.0, 5.0, 0.4, -0.3, 0.2], [0.5, 0.7, 0.6, 0.0, 0.1, -0.05]],
            v_free: vec![[0.0; 6]; 2],
            ..Bodies::default()
        };
        let third = (1.0f64 / 3.0).sqrt();
        let points = [
            ((0, 1), [0.0, 0.0, 1.0], [0.1, 0.2, -0.3], [0.0, -0.1, 0.4]),
            ((0, super::WORLD), [third; 3], [-0.2, 0.1, 0.3], [0.0; 3]),
            ((1, 0), [0.6, 0.0, -0.8], [0.3, 0.3, 0.1], [0.1, -0.4, 0.2]),
            ((1, super::WORLD), [0.0, 1.0, 0.0], [0.1, -0.3, 0.2], [0.0; 3]),
        ];
        for (bodies, n, a, b) in points {
            p.points.push(bodies, n, a, b, [0.0; 3], 0.5);
        }
        p.points.compliance = [vec![0.1, 0.0, 0.02, 0.3], vec![0.0, 0.05, 0.0, 0.0]];
        let mut dense = Vec::new();
        p.points_matrix(&mut dense);
        let problem = Problem::Bodies(p);
        let (mut v, mut u) = (Vec::new(), [0.0; crate::cone::MAX_ROWS]);
        for column in 0..12 {
            let mut gamma = vec![0.0; 12];
            gamma[column] = 1.0;
            problem.velocities(&gamma, &mut v);
            for i in 0..4 {
                problem.block_velocity(i, &v, &gamma, &mut u);
                for k in 0..3 {
                    let (is, said) = (dense[3 * i + k + 12 * column], u[k]);
                    assert!((is - said).abs() < 1e-14, "({}, {column}): {is} for {said}", 3 * i + k);
                }
            }
        }
    }
}
