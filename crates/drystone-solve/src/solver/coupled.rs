//! Masses that are coupled: M̂ = M + Σ A_e, where elements A_e join several bodies [Anitescu2005,
//! "Accommodating stiffness"].
//!
//! ```text
//!     v̂ = M̂⁻¹ (M v_free + Σ g_e),      u = (Dᵀ M̂⁻¹ D + C) γ + Dᵀ v̂ + b,      v⁺ = v̂ + M̂⁻¹ D γ
//! ```
//!
//! M̂ is factored over the bodies that elements name, six rows a body; two are neighbours where they share an
//! element. All other bodies keep their M. The matrix Dᵀ M̂⁻¹ D is dense over what is coupled, so that the
//! problem that comes of it is an explicit one, of moderate size.

use super::sparse::{Factor, Pattern, Symbolic};
use crate::cone::MAX_ROWS;
use crate::disjoint::DisjointSets;
use crate::problem::{Bodies, Csr, Explicit, Malformed, WORLD};

/// Rows on coupled bodies beyond which the explicit matrix would be too large.
pub const MOST_ROWS: usize = 6000;

/// A symmetric positive semidefinite matrix over some bodies, six rows each, and an impulse on them (N s, N m
/// s).
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// Bodies of the problem, each once.
    pub bodies: &'a [u32],
    /// By rows.
    pub matrix: &'a [f64],
    /// g
    pub impulse: &'a [f64],
}

const NOWHERE: u32 = u32::MAX;

/// M̂, factored.
#[derive(Debug, Default)]
pub struct Coupled {
    /// The bodies with elements, in rising order, and by body their place there.
    nodes: Vec<u32>,
    place: Vec<u32>,
    pattern: Pattern,
    symbolic: Symbolic,
    values: Vec<f64>,
    factor: Factor,
    /// M of each node, (linear, angular by rows).
    masses: Vec<(f64, [[f64; 3]; 3])>,
    impulse: Vec<f64>,
    /// v̂
    v_free: Vec<[f64; 6]>,
    work: Vec<f64>,
    moved: Vec<[f64; 6]>,
}

impl Coupled {
    /// Factors M̂ for the masses of `p` and these elements, and works out v̂.
    pub fn factor<'a>(
        &mut self,
        p: &Bodies,
        elements: impl Iterator<Item = Element<'a>> + Clone,
    ) -> Result<(), Malformed> {
        self.nodes.clear();
        self.nodes.extend(elements.clone().flat_map(|e| e.bodies.iter().copied()));
        self.nodes.sort_unstable();
        self.nodes.dedup();
        self.place.clear();
        self.place.resize(p.bodies(), NOWHERE);
        self.masses.clear();
        for (k, &body) in self.nodes.iter().enumerate() {
            let there = p.inv_mass.get(body as usize).filter(|m| **m > 0.0);
            let inertia = there.and_then(|_| inverse(&p.inv_inertia[body as usize]));
            let (Some(inv_mass), Some(inertia)) = (there, inertia) else {
                return Err(Malformed(format!("body {body} of an element has no finite mass and inertia")));
            };
            self.place[body as usize] = k as u32;
            self.masses.push((1.0 / inv_mass, inertia));
        }
        let place = &self.place;
        let mut pairs = Vec::new();
        for e in elements.clone() {
            let n = 6 * e.bodies.len();
            if e.matrix.len() != n * n || e.impulse.len() != n {
                return Err(Malformed(format!("an element of {} bodies has the wrong size", e.bodies.len())));
            }
            for (k, i) in e.bodies.iter().enumerate() {
                pairs.extend(e.bodies[k + 1..].iter().map(|j| (place[*i as usize], place[*j as usize])));
            }
        }
        let pattern = Pattern::new(vec![6; self.nodes.len()], pairs);
        if pattern != self.pattern {
            self.symbolic = Symbolic::new(&pattern);
            self.pattern = pattern;
        }
        self.fill(elements);
        let most = (0..self.nodes.len()).flat_map(|i| (0..6).map(move |k| (i, k)));
        let most = most.map(|(i, k)| self.values[self.pattern.start[i] + 7 * k]).fold(0.0, f64::max);
        if self.factor.compute(&self.symbolic, &self.values, 1e-300 * most, &|| true) != Some(0) {
            return Err(Malformed("masses and stiffness together are not positive definite".into()));
        }
        let mut v = std::mem::take(&mut self.v_free);
        v.clone_from(&p.v_free);
        self.divide(&mut v, true);
        self.v_free = v;
        Ok(())
    }

    /// The values of M̂ and the impulses.
    fn fill<'a>(&mut self, elements: impl Iterator<Item = Element<'a>>) {
        let Self { pattern, values, impulse, masses, place, .. } = self;
        values.clear();
        values.resize(pattern.values(), 0.0);
        impulse.clear();
        impulse.resize(6 * masses.len(), 0.0);
        for (i, (mass, inertia)) in masses.iter().enumerate() {
            let at = pattern.start[i];
            for r in 0..3 {
                values[at + 7 * r] += mass;
                for c in 0..3 {
                    values[at + 6 * (3 + r) + 3 + c] += inertia[r][c];
                }
            }
        }
        for e in elements {
            let n = 6 * e.bodies.len();
            for (a, i) in e.bodies.iter().enumerate() {
                let i = place[*i as usize];
                for (x, g) in impulse[6 * i as usize..].iter_mut().zip(&e.impulse[6 * a..6 * a + 6]) {
                    *x += g;
                }
                for (b, j) in e.bodies.iter().enumerate() {
                    let j = place[*j as usize];
                    // A pair's block is stored once, with the rows of its lower node.
                    let at = match i.cmp(&j) {
                        std::cmp::Ordering::Equal => pattern.start[i as usize],
                        std::cmp::Ordering::Less => pattern.pair(i, j),
                        std::cmp::Ordering::Greater => continue,
                    };
                    for r in 0..6 {
                        for c in 0..6 {
                            values[at + 6 * r + c] += e.matrix[(6 * a + r) * n + 6 * b + c];
                        }
                    }
                }
            }
        }
    }

    /// Replaces v by M̂⁻¹ (M v), or by M̂⁻¹ (M v + g).
    fn divide(&mut self, v: &mut [[f64; 6]], with_impulse: bool) {
        let Self { nodes, masses, impulse, work, factor, symbolic, .. } = self;
        work.clear();
        for (k, (&body, (mass, inertia))) in nodes.iter().zip(masses.iter()).enumerate() {
            let v = &v[body as usize];
            let add = |r: usize| if with_impulse { impulse[6 * k + r] } else { 0.0 };
            work.extend((0..3).map(|r| mass * v[r] + add(r)));
            work.extend((0..3).map(|r| (0..3).map(|c| inertia[r][c] * v[3 + c]).sum::<f64>() + add(3 + r)));
        }
        factor.solve(symbolic, work);
        for (&body, x) in nodes.iter().zip(work.chunks(6)) {
            v[body as usize].copy_from_slice(x);
        }
    }

    /// The problem with M̂ in it: blocks and rows are those of `p`.
    pub fn condense(&mut self, p: &Bodies) -> Result<Explicit, Malformed> {
        let n = p.blocks();
        let mut on: Vec<Vec<u32>> = vec![Vec::new(); p.bodies()];
        for i in 0..n {
            for body in p.sides(i).into_iter().filter(|b| *b != WORLD) {
                on[body as usize].push(i as u32);
            }
        }
        // A push on one coupled body moves all of those that hang together with it.
        let parts = self.parts();
        let mut on_part: Vec<Vec<u32>> =
            vec![Vec::new(); parts.iter().map(|p| *p as usize + 1).max().unwrap_or(0)];
        for (k, body) in self.nodes.iter().enumerate() {
            on_part[parts[k] as usize].extend_from_slice(&on[*body as usize]);
        }
        for list in &mut on_part {
            list.sort_unstable();
            list.dedup();
            let rows: usize = list.iter().map(|&i| p.block(i as usize).len()).sum();
            if rows > MOST_ROWS {
                return Err(Malformed(format!(
                    "{rows} rows of contacts and joints act on bodies that stiff forces couple; at most {MOST_ROWS} can be solved"
                )));
            }
        }
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); p.rows()];
        let mut v = vec![[0.0; 6]; p.bodies()];
        let (mut u, mut bias) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        let mut others: Vec<u32> = Vec::new();
        for j in 0..n {
            let columns = p.block(j);
            let sides = p.sides(j);
            others.clear();
            let mut couples = false;
            for body in sides.into_iter().filter(|b| *b != WORLD) {
                match self.place[body as usize] {
                    NOWHERE => others.extend_from_slice(&on[body as usize]),
                    node => {
                        couples = true;
                        others.extend_from_slice(&on_part[parts[node as usize] as usize]);
                    }
                }
            }
            others.sort_unstable();
            others.dedup();
            for (k, column) in columns.clone().enumerate() {
                let mut unit = [0.0; MAX_ROWS];
                unit[k] = 1.0;
                p.move_block(j, &unit[..columns.len()], &mut v);
                if couples {
                    self.divide(&mut v, false);
                }
                for &i in &others {
                    p.block_relative(i as usize, &v, &mut u);
                    p.block_bias(i as usize, &mut bias);
                    for (r, row) in p.block(i as usize).enumerate() {
                        rows[row].push((column as u32, u[r] - bias[r]));
                    }
                }
                for body in sides.into_iter().filter(|b| *b != WORLD) {
                    v[body as usize] = [0.0; 6];
                }
                if couples {
                    self.nodes.iter().for_each(|b| v[*b as usize] = [0.0; 6]);
                }
            }
        }
        let mut q = Vec::with_capacity(p.rows());
        for i in 0..n {
            p.block_relative(i, &self.v_free, &mut u);
            q.extend_from_slice(&u[..p.block(i).len()]);
        }
        let sets = (0..n).map(|i| p.set(i)).collect();
        let mut explicit = Explicit::new(Csr::from_rows(p.rows(), rows).symmetric_part(), q, sets);
        let soft = (0..n).flat_map(|i| p.block(i).map(move |row| (i, row)));
        let compliance: Vec<f64> = soft.map(|(i, row)| p.compliance(i, row)).collect();
        if compliance.iter().any(|c| *c != 0.0) {
            explicit.compliance = compliance;
        }
        explicit.model = p.model;
        Ok(explicit)
    }

    /// v⁺ = v̂ + M̂⁻¹ D γ.
    pub fn velocities(&mut self, p: &Bodies, gamma: &[f64]) -> &[[f64; 6]] {
        let mut v = std::mem::take(&mut self.moved);
        v.clear();
        v.resize(p.bodies(), [0.0; 6]);
        for i in 0..p.blocks() {
            p.move_block(i, &gamma[p.block(i)], &mut v);
        }
        self.divide(&mut v, false);
        for (v, free) in v.iter_mut().zip(&self.v_free) {
            v.iter_mut().zip(free).for_each(|(v, f)| *v += f);
        }
        self.moved = v;
        &self.moved
    }

    /// For each node, the lowest number of what hangs together with it by elements, renumbered without gaps.
    fn parts(&self) -> Vec<u32> {
        let mut sets = DisjointSets::new(self.nodes.len());
        for &(i, j) in &self.pattern.pairs {
            sets.join(i, j);
        }
        let mut number = vec![NOWHERE; self.nodes.len()];
        let mut next = 0;
        (0..self.nodes.len() as u32)
            .map(|i| {
                let r = sets.root(i) as usize;
                if number[r] == NOWHERE {
                    number[r] = next;
                    next += 1;
                }
                number[r]
            })
            .collect()
    }
}

/// Of a symmetric 3 x 3 matrix (xx, yy, zz, xy, xz, yz); None if it is singular.
fn inverse(m: &[f64; 6]) -> Option<[[f64; 3]; 3]> {
    let [a, b, c, d, e, f] = *m;
    let (xx, xy, xz) = (b * c - f * f, e * f - d * c, d * f - e * b);
    let det = a * xx + d * xy + e * xz;
    let size = a.abs().max(b.abs()).max(c.abs());
    if !(det > 1e-12 * size * size * size) {
        return None;
    }
    let (yy, yz, zz) = (a * c - e * e, d * e - a * f, a * b - d * d);
    Some([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]].map(|row| row.map(|x| x / det)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cone::Set;
    use crate::problem::General;

    fn dice(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        }
    }

    /// Solves a dense system by Gauss' method.
    fn solve(a: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
        let n = b.len();
        let mut m: Vec<Vec<f64>> = a.iter().zip(b).map(|(row, b)| [row.as_slice(), &[*b]].concat()).collect();
        for k in 0..n {
            let p = (k..n).max_by(|i, j| m[*i][k].abs().total_cmp(&m[*j][k].abs())).unwrap();
            m.swap(k, p);
            for i in k + 1..n {
                let f = m[i][k] / m[k][k];
                for j in k..=n {
                    m[i][j] -= f * m[k][j];
                }
            }
        }
        let mut x = vec![0.0; n];
        for k in (0..n).rev() {
            x[k] = (m[k][n] - (k + 1..n).map(|j| m[k][j] * x[j]).sum::<f64>()) / m[k][k];
        }
        x
    }

    /// Five bodies, elements over (0, 1, 3) and (3, 4), rows on all: matrix, right side and velocities
    /// against dense algebra.
    #[test]
    fn the_explicit_problem_is_the_dense_one() {
        let mut r = dice(5);
        let n = 5;
        let mut p = Bodies::default();
        for _ in 0..n {
            p.inv_mass.push(1.0 + r());
            p.inv_inertia.push([2.0 + r(), 1.5 + r(), 3.0 + r(), 0.2 * r(), 0.2 * r(), 0.2 * r()]);
            p.v_free.push(std::array::from_fn(|_| r()));
        }
        let pairs = [(0, WORLD), (0, 1), (2, 3), (4, 2), (1, WORLD), (2, WORLD)];
        p.general = General::default();
        for pair in pairs {
            let mut row: [f64; 12] = std::array::from_fn(|_| r());
            if pair.1 == WORLD {
                row[6..].fill(0.0);
            }
            p.general.push(pair, Set::Free, &[row], &[r()]);
        }
        p.general.compliance = vec![0.0, 0.3, 0.0, 0.0, 0.1, 0.0];
        let mut element = |bodies: &[u32]| {
            let n = 6 * bodies.len();
            let b: Vec<f64> = (0..n * n).map(|_| 3.0 * r()).collect();
            let matrix: Vec<f64> =
                (0..n * n).map(|k| (0..n).map(|m| b[k / n * n + m] * b[k % n * n + m]).sum()).collect();
            (bodies.to_vec(), matrix, (0..n).map(|_| r()).collect::<Vec<f64>>())
        };
        let elements = [element(&[3, 0, 1]), element(&[3, 4])];
        let list = elements.iter().map(|(b, m, g)| Element { bodies: b, matrix: m, impulse: g });
        let mut coupled = Coupled::default();
        coupled.factor(&p, list).unwrap();
        let found = coupled.condense(&p).unwrap();

        let mut hat = vec![vec![0.0; 6 * n]; 6 * n];
        let mut right = vec![0.0; 6 * n];
        for b in 0..n {
            let inertia = inverse(&p.inv_inertia[b]).unwrap();
            for i in 0..3 {
                hat[6 * b + i][6 * b + i] = 1.0 / p.inv_mass[b];
                right[6 * b + i] = p.v_free[b][i] / p.inv_mass[b];
                for j in 0..3 {
                    hat[6 * b + 3 + i][6 * b + 3 + j] = inertia[i][j];
                    right[6 * b + 3 + i] += inertia[i][j] * p.v_free[b][3 + j];
                }
            }
        }
        for (bodies, matrix, g) in &elements {
            let at = |k: usize| 6 * bodies[k / 6] as usize + k % 6;
            for i in 0..g.len() {
                right[at(i)] += g[i];
                for j in 0..g.len() {
                    hat[at(i)][at(j)] += matrix[i * g.len() + j];
                }
            }
        }
        let rows: Vec<Vec<f64>> = pairs
            .iter()
            .zip(&p.general.jacobian)
            .map(|(pair, row)| {
                let mut whole = vec![0.0; 6 * n];
                for (body, part) in [(pair.0, 0), (pair.1, 6)].into_iter().filter(|(b, _)| *b != WORLD) {
                    whole[6 * body as usize..6 * body as usize + 6].copy_from_slice(&row[part..part + 6]);
                }
                whole
            })
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let free = solve(&hat, &right);
        let images: Vec<Vec<f64>> = rows.iter().map(|row| solve(&hat, row)).collect();
        for i in 0..pairs.len() {
            assert!((found.q[i] - dot(&rows[i], &free) - p.general.bias[i]).abs() < 1e-12);
            for j in 0..pairs.len() {
                let entry: f64 = found.w.row(i).filter(|(c, _)| *c == j).map(|(_, x)| x).sum();
                assert!((entry - dot(&rows[i], &images[j])).abs() < 1e-12, "{i} {j}");
            }
        }
        assert_eq!(found.compliance, p.general.compliance);
        let gamma = [0.3, -0.5, 1.0, 0.2, -0.1, 0.7];
        let v = coupled.velocities(&p, &gamma);
        for k in 0..6 * n {
            let wanted = free[k] + (0..6).map(|i| gamma[i] * images[i][k]).sum::<f64>();
            assert!((v[k / 6][k % 6] - wanted).abs() < 1e-12, "{k}");
        }
    }

    #[test]
    fn bodies_without_inertia_are_refused() {
        let mut p = Bodies::default();
        p.inv_mass.push(1.0);
        p.inv_inertia.push([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        p.v_free.push([0.0; 6]);
        let (matrix, impulse) = ([0.0; 36], [0.0; 6]);
        let element = Element { bodies: &[0], matrix: &matrix, impulse: &impulse };
        let said = Coupled::default().factor(&p, [element].into_iter()).unwrap_err();
        assert!(said.0.contains("body 0"), "{said}");
    }
}
