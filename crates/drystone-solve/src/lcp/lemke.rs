//! Lemke's method with lexicographic pivoting [CottlePangStone1992, algorithm 4.4.5 with section 4.9], as
//! [RenoufAcary2006, section 4.2] asks for: contact problems are degenerate, and without an order among ties
//! pivots cycle.
//!
//! ```text
//!     w - M z - c z₀ = q
//!     1   z₀ enters, the row with the lexicographically least (q, 1)/c leaves: now all of q is ≥ 0
//!     2   the complement of what left enters; among rows with a positive entry d the lexicographically least
//!         (q, B⁻¹)/d leaves, z₀ whenever it ties
//!     3   z₀ left: solved. No positive entry: a ray. Else 2.
//! ```
//!
//! B⁻¹ is kept and made anew (see `basis`), because whether two rows tie is asked of its entries: after some
//! hundred exchanges without that, the order among ties is noise and the path goes round in circles. What is
//! found is solved for anew from the last basis, with refinement, and called a solution only if w = M z + q
//! says so. Where rounding lost the path all the same (a basis comes back, or no longer has q ≥ 0), it is
//! begun again: with a closer look at ties, then with covering vectors c of uneven entries, which leave
//! hardly any ties but make paths longer. A path may begin at another basis than that of w: see `crash`.

use super::basis::Basis;
use super::{Lcp, LcpSolution, LcpStatus};
use crate::problem::Malformed;

/// Entries below this, relative to the column's largest, are no pivots.
const PIVOT: f64 = 1e-9;
/// Values of basic variables below this, relative to q, are zeros that exchanges have rounded: on one path
/// after the other.
const ZERO: [f64; 4] = [1e-10, 1e-12, 1e-11, 1e-11];
/// Entries of B⁻¹ that differ by less than this, relative to their rows' pivots, tie.
const TIE: f64 = 1e-9;
/// max |min(z, w)|, relative to q, of what may be called a solution.
const SOLVED: f64 = 1e-9;

impl Lcp {
    /// The largest |q|.
    fn largest(&self) -> f64 {
        self.q.iter().fold(0.0, |m, x| m.max(x.abs()))
    }

    /// Whether max |min(z, w)| is small enough.
    pub(super) fn is_solved(&self, z: &[f64]) -> bool {
        self.residual(z) <= SOLVED * self.largest().max(1.0)
    }
}

/// A variable's own number, all bits of it [SteeleLeaFlood2014, the mixing function].
fn mixed(variable: usize) -> u64 {
    let mut x = (variable as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The method with its buffers.
#[derive(Clone, Debug, Default)]
pub struct Lemke {
    pub(super) basis: Basis,
    cover: Vec<f64>,
    ties: Vec<usize>,
    column: Vec<f64>,
}

/// Solves by at most `pivots` pivots.
pub fn lemke(lcp: &Lcp, pivots: usize) -> Result<LcpSolution, Malformed> {
    Lemke::default().solve(lcp, pivots)
}

impl Lemke {
    /// Solves by at most `pivots` pivots.
    pub fn solve(&mut self, lcp: &Lcp, pivots: usize) -> Result<LcpSolution, Malformed> {
        self.solve_while(lcp, pivots, &|| true)
    }

    /// The same until `more` says no, as if the pivots had run out there.
    pub(crate) fn solve_while(
        &mut self,
        lcp: &Lcp,
        pivots: usize,
        more: &dyn Fn() -> bool,
    ) -> Result<LcpSolution, Malformed> {
        lcp.check()?;
        let n = lcp.size();
        if lcp.q.iter().all(|q| *q >= 0.0) {
            return Ok(LcpSolution { z: vec![0.0; n], status: LcpStatus::Solved, iterations: 0 });
        }
        let (mut count, mut status) = (0, LcpStatus::Failed);
        for (path, zero) in ZERO.iter().enumerate() {
            self.cover.clear();
            // Ones; then spread between 1 and 2 by the golden ratio's multiples, another stretch of them each
            // time.
            let spread = |i: usize| ((i + 1 + 7 * path * n) as f64 * 0.618_033_988_749_894_9).fract();
            self.cover.extend((0..n).map(|i| if path < 2 { 1.0 } else { 1.0 + spread(i) }));
            // Paths through ties have about n pivots; a far longer one has lost its way.
            let end = if path + 1 == ZERO.len() { pivots } else { pivots.min(count + 3 * n + 100) };
            status = self.path(lcp, end, *zero, &mut count, more);
            if status != LcpStatus::Solved && !more() {
                status = LcpStatus::Pivots;
                break;
            }
            let again = status == LcpStatus::Failed || (status == LcpStatus::Pivots && count < pivots);
            if !again {
                break;
            }
        }
        let z = self.basis.solution();
        Ok(LcpSolution { z, status, iterations: count })
    }

    /// One path. `Failed`: lost to rounding.
    fn path(
        &mut self,
        lcp: &Lcp,
        pivots: usize,
        zero: f64,
        count: &mut usize,
        more: &dyn Fn() -> bool,
    ) -> LcpStatus {
        self.basis.set(lcp, &self.cover);
        self.walk(lcp, pivots, zero, count, more)
    }

    /// A path from a given basis, one of each pair. `Failed`: lost to rounding, or the basis is singular.
    pub(super) fn path_from(
        &mut self,
        lcp: &Lcp,
        variables: &[usize],
        pivots: usize,
        count: &mut usize,
        more: &dyn Fn() -> bool,
    ) -> LcpStatus {
        self.cover.clear();
        self.cover.resize(lcp.size(), 1.0);
        self.basis.set(lcp, &self.cover);
        match self.basis.begin(variables, more) {
            true => self.walk(lcp, pivots, ZERO[2], count, more),
            false => LcpStatus::Failed,
        }
    }

    /// From the basis that is set, in which z₀ raises every variable by its entry of `cover`.
    fn walk(
        &mut self,
        lcp: &Lcp,
        pivots: usize,
        zero: f64,
        count: &mut usize,
        more: &dyn Fn() -> bool,
    ) -> LcpStatus {
        let n = lcp.size();
        let z0 = 2 * n;
        let largest = lcp.largest();
        if self.basis.value.iter().all(|x| *x >= -zero * largest) {
            return self.judged(lcp);
        }
        // 1: with rows (q, 1)/c the later one of a tie is the lesser.
        let ratio = |i: usize| self.basis.value[i] / self.cover[i];
        let mut row = (1..n).fold(0, |row, i| if ratio(i) <= ratio(row) { i } else { row });
        let mut entering = z0;
        // The basis as one number, and that of a while ago: looked back at from ever further, a circle is
        // found in some three times its length.
        let (mut here, mut there, mut next) = (0u64, 0u64, 1usize);
        let begun = *count;
        loop {
            if *count >= pivots || !more() {
                return LcpStatus::Pivots;
            }
            if !self.basis.enter(entering, more) {
                return LcpStatus::Failed;
            }
            // 2
            if entering != z0 {
                // Made anew, the values show whether the path is still one of feasible bases.
                if self.basis.value.iter().any(|x| !(*x >= -1e-7 * largest)) {
                    return LcpStatus::Failed;
                }
                match self.leaving_row(z0, zero * largest) {
                    Some(found) => row = found,
                    None => return LcpStatus::Ray,
                }
            }
            let leaving = self.step(row, entering, zero * largest);
            *count += 1;
            // 3
            if leaving == z0 {
                break;
            }
            here ^= mixed(leaving) ^ mixed(entering);
            if here == there {
                return LcpStatus::Failed;
            }
            if *count - begun == next {
                (there, next) = (here, 2 * next);
            }
            entering = if leaving < n { leaving + n } else { leaving - n };
        }
        if !self.basis.refactor(more) {
            return LcpStatus::Failed;
        }
        self.judged(lcp)
    }

    /// Whether the values of the basis are a solution.
    fn judged(&self, lcp: &Lcp) -> LcpStatus {
        match lcp.is_solved(&self.basis.solution()) {
            true => LcpStatus::Solved,
            false => LcpStatus::Failed,
        }
    }

    /// Values and basis after the exchange; the variable that left.
    fn step(&mut self, row: usize, entering: usize, zero: f64) -> usize {
        let b = &mut self.basis;
        let theta = b.value[row] / b.entering[row];
        for (x, d) in b.value.iter_mut().zip(&b.entering) {
            *x -= theta * d;
            if x.abs() <= zero {
                *x = 0.0;
            }
        }
        b.value[row] = theta;
        b.exchange(row, entering)
    }

    /// The lexicographic ratio test for the entering column; None for a ray.
    fn leaving_row(&mut self, z0: usize, zero: f64) -> Option<usize> {
        let Self { basis: b, ties, column, .. } = self;
        let (d, x) = (&b.entering, &b.value);
        let small = PIVOT * d.iter().fold(1.0, |m: f64, d| m.max(d.abs()));
        let ratio = |i: usize| x[i].max(0.0) / d[i];
        let able = |i: &usize| d[*i] > small;
        let least = (0..d.len()).filter(able).map(ratio).reduce(f64::min)?;
        ties.clear();
        // Equal up to the rounding of values: x - θ d is a zero.
        ties.extend((0..d.len()).filter(able).filter(|&i| x[i] - least * d[i] <= zero));
        if let Some(&i) = ties.iter().find(|&&i| b.variable[i] == z0) {
            return Some(i);
        }
        for j in 0..d.len() {
            if ties.len() == 1 {
                break;
            }
            column.clear();
            column.extend(ties.iter().map(|&i| b.since_origin(i, j)));
            let least = ties.iter().zip(&*column).map(|(&i, c)| c / d[i]).fold(f64::INFINITY, f64::min);
            let size = column.iter().fold(1.0, |m: f64, c| m.max(c.abs()));
            let mut entries = column.iter();
            ties.retain(|&i| entries.next().is_some_and(|c| c - least * d[i] <= TIE * size));
        }
        // What is left ties in every column to rounding: the safest pivot.
        ties.iter().copied().reduce(|a, i| if d[i] > d[a] { i } else { a })
    }
}
