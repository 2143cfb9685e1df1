//! Projected successive over-relaxation [CottlePangStone1992, section 5.2]: row after row,
//!
//! ```text
//!     z_i ← max(0, z_i - ω (M z + q)_i / M_ii)
//! ```
//!
//! Sure for symmetric positive M with 0 < ω < 2; for others it may circle, and says so by its status. Rows
//! without a positive diagonal cannot be relaxed and end it at once.

use super::{Lcp, LcpSolution, LcpStatus};
use crate::problem::Malformed;

/// Sweeps until |min(z, w)| is at most `tolerance`, at most `iterations` of them.
pub fn psor(lcp: &Lcp, omega: f64, tolerance: f64, iterations: usize) -> Result<LcpSolution, Malformed> {
    lcp.check()?;
    if !(omega > 0.0 && omega < 2.0) {
        return Err(Malformed(format!("omega must lie between 0 and 2, got {omega}")));
    }
    let n = lcp.size();
    let mut z = vec![0.0; n];
    let end = |z, status, iterations| Ok(LcpSolution { z, status, iterations });
    if lcp.natural_map(&z) <= tolerance {
        return end(z, LcpStatus::Solved, 0);
    }
    if (0..n).any(|i| lcp.m[i * n + i] <= 0.0) {
        return end(z, LcpStatus::Failed, 0);
    }
    for k in 1..=iterations {
        for i in 0..n {
            let row = &lcp.m[i * n..(i + 1) * n];
            let w: f64 = lcp.q[i] + row.iter().zip(&z).map(|(m, z)| m * z).sum::<f64>();
            z[i] = (z[i] - omega * w / row[i]).max(0.0);
        }
        if z.iter().any(|x| !x.is_finite()) {
            return end(vec![0.0; n], LcpStatus::Failed, k);
        }
        if lcp.natural_map(&z) <= tolerance {
            return end(z, LcpStatus::Solved, k);
        }
    }
    end(z, LcpStatus::Iterations, iterations)
}
