//! Which multipliers are not unique: equations of joints that repeat each other.
//!
//! The velocities of a step are unique, the multipliers only if Jᵀλ = 0 has no solution but zero. The rows of
//! J, in the norm of the masses (J M^-½), are made orthogonal one after the other, island by island; a row of
//! which nothing is left is a sum of others, and its coefficients tell which multipliers may be exchanged for
//! each other. Compliant rows do not take part: with compliance every multiplier is unique.

use drystone_solve::disjoint::DisjointSets;
use drystone_solve::problem::WORLD;

use super::JointId;
use crate::formulation::rows::Purpose;
use crate::settings::Stabilisation;
use crate::world::World;

/// Islands with more rows than this are not looked at: the work grows with the cube.
const MAX_ROWS_EXAMINED: usize = 600;
/// What is left of a row that depends on others, over its length.
const DEPENDENT: f64 = 1e-9;

/// What the rank of the joints' equations says about their multipliers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Redundancy {
    /// Rigid bilateral rows: equations of joints, and motors that impose positions or speeds without a limit.
    pub rows: usize,
    /// How many of them are independent.
    pub rank: usize,
    /// The multipliers that are not unique: joint and number of the row in [`super::JointState::impulse`].
    pub not_unique: Vec<(JointId, usize)>,
    /// Rows in islands too large to look at: they count as independent.
    pub skipped: usize,
}

impl World {
    /// Finds the joints' equations that repeat each other in the present positions.
    pub fn redundancy(&mut self) -> Redundancy {
        let mut found = Redundancy::default();
        if self.model.joint_slots().next().is_none() {
            return found;
        }
        let v: Vec<[f64; 6]> = (0..self.model.bodies.len()).map(|i| self.state.twist(i)).collect();
        let h = self.settings.h;
        let empty: &[crate::Contact] = &[];
        let row = |_: usize, _: &crate::Contact| crate::formulation::Row::default();
        self.work.velocity.assembler.build(&self.model, &self.state, empty, &v, &[], row);
        let purpose = Purpose::Velocity {
            h,
            stabilisation: Stabilisation::None,
            follow: 1.0,
            laws: true,
            theta: 1.0,
            bends: true,
            bounce: None,
        };
        self.work.velocity.assembler.stage_rows(&self.model, &self.state, &v, purpose);
        let p = self.work.velocity.assembler.bodies();
        let weights: Vec<[[f64; 3]; 3]> = p.inv_inertia.iter().map(lower_factor).collect();
        // Rows by island, in the order of joints.
        let mut islands = DisjointSets::new(self.model.bodies.len());
        let mut rows: Vec<_> = self.work.velocity.assembler.rows.rigid().collect();
        for (a, b) in rows.iter().map(|(r, _)| r.pair).filter(|(_, b)| *b != WORLD) {
            islands.join(a, b);
        }
        rows.sort_by_key(|(r, _)| r.joint);
        found.rows = rows.len();
        let mut by_island: Vec<(u32, usize)> =
            rows.iter().enumerate().map(|(k, (r, _))| (islands.root(r.pair.0), k)).collect();
        by_island.sort_unstable();
        for island in by_island.chunk_by(|a, b| a.0 == b.0) {
            if island.len() > MAX_ROWS_EXAMINED {
                found.skipped += island.len();
                found.rank += island.len();
                continue;
            }
            let mut bodies: Vec<u32> = Vec::new();
            for &(_, k) in island {
                bodies.push(rows[k].0.pair.0);
                bodies.extend(Some(rows[k].0.pair.1).filter(|b| *b != WORLD));
            }
            bodies.sort_unstable();
            bodies.dedup();
            let vectors: Vec<Vec<f64>> = island
                .iter()
                .map(|&(_, k)| {
                    let mut x = vec![0.0; 6 * bodies.len()];
                    for (body, part) in [(rows[k].0.pair.0, 0), (rows[k].0.pair.1, 6)] {
                        let Ok(at) = bodies.binary_search(&body) else { continue };
                        // Masses of a problem are by rank, bodies of staged rows by slot.
                        let rank = self.state.order.rank(body) as usize;
                        let (m, w) = (p.inv_mass[rank].sqrt(), &weights[rank]);
                        for i in 0..3 {
                            x[6 * at + i] = m * rows[k].1[part + i];
                            x[6 * at + 3 + i] = (0..3).map(|j| w[j][i] * rows[k].1[part + 3 + j]).sum();
                        }
                    }
                    x
                })
                .collect();
            let (rank, exchangeable) = dependent(&vectors);
            found.rank += rank;
            for (i, _) in exchangeable.iter().enumerate().filter(|(_, yes)| **yes) {
                let r = rows[island[i].1].0;
                let generation = self.model.joints.get(r.joint as usize).map_or(0, |j| j.generation);
                found.not_unique.push((JointId { slot: r.joint, generation }, r.row as usize));
            }
        }
        // Locks of planar bodies have no joint to name.
        found.not_unique.retain(|(id, _)| (id.slot as usize) < self.model.joints.len());
        found.not_unique.sort_unstable();
        found
    }
}

/// Rank, and for every vector whether it takes part in a combination that vanishes.
pub(crate) fn dependent(vectors: &[Vec<f64>]) -> (usize, Vec<bool>) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    // vectors[kept[j]] = Σ upper[j][i] basis[i], i ≤ j
    let (mut kept, mut upper): (Vec<usize>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    let mut exchangeable = vec![false; vectors.len()];
    for (k, vector) in vectors.iter().enumerate() {
        let length = dot(vector, vector).sqrt();
        let mut rest = vector.clone();
        let mut coefficients = vec![0.0; basis.len()];
        // Twice is enough.
        for _ in 0..2 {
            for (c, q) in coefficients.iter_mut().zip(&basis) {
                let much = dot(&rest, q);
                *c += much;
                rest.iter_mut().zip(q).for_each(|(r, q)| *r -= much * q);
            }
        }
        let left = dot(&rest, &rest).sqrt();
        if left > DEPENDENT * length {
            rest.iter_mut().for_each(|r| *r /= left);
            basis.push(rest);
            coefficients.push(left);
            kept.push(k);
            upper.push(coefficients);
            continue;
        }
        exchangeable[k] = true;
        // vector = Σ x_j vectors[kept[j]]: back substitution.
        for j in (0..kept.len()).rev() {
            let x = coefficients[j] / upper[j][j];
            for i in 0..=j {
                coefficients[i] -= x * upper[j][i];
            }
            let scale = dot(&vectors[kept[j]], &vectors[kept[j]]).sqrt();
            exchangeable[kept[j]] |= (x * scale).abs() > 1e-7 * length;
        }
    }
    (kept.len(), exchangeable)
}

/// L with L Lᵀ = the symmetric matrix (xx, yy, zz, xy, xz, yz), which may be singular.
fn lower_factor(m: &[f64; 6]) -> [[f64; 3]; 3] {
    let a = [[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]];
    let mut l = [[0.0; 3]; 3];
    let dust = 1e-14 * (m[0] + m[1] + m[2]);
    for j in 0..3 {
        let pivot = a[j][j] - (0..j).map(|k| l[j][k] * l[j][k]).sum::<f64>();
        if pivot <= dust {
            continue;
        }
        l[j][j] = pivot.sqrt();
        for i in j + 1..3 {
            l[i][j] = (a[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>()) / l[j][j];
        }
    }
    l
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_that_vanish_are_found() {
        let vectors =
            [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [3.0, 1.0, 0.0]].map(|v| v.to_vec());
        let (rank, which) = dependent(&vectors);
        assert_eq!((rank, which), (3, vec![true, true, false, true]));
        let (rank, which) = dependent(&vectors[..3]);
        assert_eq!((rank, which), (3, vec![false; 3]));
    }

    #[test]
    fn factors_multiply_to_the_matrix() {
        for m in [[2.0, 3.0, 4.0, 0.5, -0.3, 0.2], [0.0, 0.0, 2.0, 0.0, 0.0, 0.0]] {
            let l = lower_factor(&m);
            let a = [[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]];
            for i in 0..3 {
                for j in 0..3 {
                    let sum: f64 = (0..3).map(|k| l[i][k] * l[j][k]).sum();
                    assert!((sum - a[i][j]).abs() < 1e-14);
                }
            }
        }
    }
}
