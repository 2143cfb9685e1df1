//! An island once more, with another right-hand side: its factor and N' stay.
//!
//! ```text
//!     r' = r_U - Yᵀ L⁻¹ r_E
//! ```

use crate::cone::MAX_ROWS;
use crate::problem::{Bodies, Problem};

use super::super::sweep::vector::Vector;
use super::factor::Factor;
use super::island::{Island, counted};
use super::tree::{SIZE, Tree};
use super::wide::{On, WIDE};

impl Island {
    /// Takes the right-hand side of `problem` over; contacts whose friction is gone keep their normal row alone. Multipliers
    /// start from zero.
    #[inline(always)]
    pub(super) fn renew<V: Vector>(
        &mut self,
        on: On<V>,
        problem: &Problem,
        p: &Bodies,
        tree: &Tree,
        factors: &mut [Factor],
        mechanisms: &[u32],
    ) {
        self.rhs.fill(0.0);
        let mut u = [0.0; MAX_ROWS];
        for block in &mut self.blocks {
            let (rows, set) = counted(problem, block.number as usize);
            if rows < block.one.rows {
                (block.one.rows, block.one.set, block.one.g) = (rows, set, block.one.w[0][0]);
                block.g = (0..12).map(|k| block.jacobian[0][k] * block.effect[0][k]).sum::<f64>()
                    + problem.compliance(block.number as usize, problem.block(block.number as usize).start);
            }
            p.block_relative(block.number as usize, &p.v_free, &mut u);
            self.rhs[block.first as usize..][..rows].copy_from_slice(&u[..rows]);
        }
        let (rhs, _) = self.rhs.as_chunks_mut::<WIDE>();
        for (at, m) in mechanisms.iter().enumerate() {
            let (m, factor, own) = (*m as usize, &mut factors[at], &mut self.y[at]);
            factor.take_rhs(on, p, &tree.nodes[tree.mechanisms[m].clone()]);
            self.x.clone_from(&factor.rhs);
            factor.forward_one(on, tree, m, &mut self.x);
            let last = (own.which.len() - 1) * own.height;
            let rows = self.x.iter().flat_map(|x| &x[..SIZE]);
            for (y, x) in own.y[last..].iter_mut().zip(rows) {
                y[self.rows % WIDE] = *x;
            }
            for (panel, which) in own.which.iter().enumerate() {
                // Sums that do not wait for each other.
                let mut sums = [[0.0; WIDE]; SIZE];
                for (x, y) in self.x.iter().zip(own.of(panel).as_chunks::<SIZE>().0) {
                    (0..SIZE).for_each(|t| on.take_all(&mut sums[t], x[t], &y[t]));
                }
                let to = &mut rhs[*which as usize];
                sums.iter().for_each(|sum| (0..WIDE).for_each(|r| to[r] += sum[r]));
            }
        }
        self.rhs[self.rows..].fill(0.0);
        self.u.clone_from(&self.rhs);
        self.gamma.fill(0.0);
    }
}
