//! The explicit form of a matrix-free problem: N block by block, for files and for reference solvers.

use super::{Bodies, Csr, Explicit, Problem, WORLD};
use crate::cone::MAX_ROWS;

impl Problem {
    /// The same problem with an explicit matrix; a copy where it has one already.
    pub fn to_explicit(&self) -> Explicit {
        match self {
            Problem::Explicit(p) => p.clone(),
            Problem::Bodies(p) => p.to_explicit(self),
        }
    }
}

impl Bodies {
    /// The two bodies of a block.
    pub(crate) fn sides(&self, block: usize) -> [u32; 2] {
        match block.checked_sub(self.points.len()) {
            None => [self.points.a[block], self.points.b[block]],
            Some(i) => [self.general.a[i], self.general.b[i]],
        }
    }

    fn to_explicit(&self, problem: &Problem) -> Explicit {
        let n = problem.blocks();
        let mut on: Vec<Vec<u32>> = vec![Vec::new(); self.bodies()];
        for i in 0..n {
            for body in self.sides(i).into_iter().filter(|b| *b != WORLD) {
                on[body as usize].push(i as u32);
            }
        }
        // D_jᵀ v of block j for velocities that are zero but on two bodies: block_relative without the bias.
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); problem.rows()];
        let mut v = vec![[0.0; 6]; self.bodies()];
        let (mut u, mut bias) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        let zero = v.clone();
        for j in 0..n {
            let columns = problem.block(j);
            let sides = self.sides(j);
            let mut others: Vec<u32> =
                sides.iter().filter(|b| **b != WORLD).flat_map(|b| on[*b as usize].iter().copied()).collect();
            others.sort_unstable();
            others.dedup();
            for (k, column) in columns.clone().enumerate() {
                let mut unit = [0.0; MAX_ROWS];
                unit[k] = 1.0;
                self.move_block(j, &unit[..columns.len()], &mut v);
                for &i in &others {
                    self.block_relative(i as usize, &v, &mut u);
                    self.block_relative(i as usize, &zero, &mut bias);
                    for (r, row) in problem.block(i as usize).enumerate() {
                        rows[row].push((column as u32, u[r] - bias[r]));
                    }
                }
                for body in sides.into_iter().filter(|b| *b != WORLD) {
                    v[body as usize] = [0.0; 6];
                }
            }
        }
        let mut q = Vec::new();
        problem.rhs(&mut q);
        let sets = (0..n).map(|i| problem.set(i)).collect();
        let mut explicit = Explicit::new(Csr::from_rows(problem.rows(), rows), q, sets);
        let soft = (0..n).flat_map(|i| problem.block(i).map(move |row| (i, row)));
        let compliance: Vec<f64> = soft.map(|(i, row)| problem.compliance(i, row)).collect();
        if compliance.iter().any(|c| *c != 0.0) {
            explicit.compliance = compliance;
        }
        explicit.model = problem.model();
        explicit
    }
}
