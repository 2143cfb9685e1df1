//! Recognises multipliers that grow for ever: the mark of an infeasible (wedged) problem, whose dual objective has
//! no lower bound. A feasible problem's γ may also grow for a while on its way to the solution, but then its residual
//! falls. Looked at whenever the iteration count has doubled.

/// Watches |γ| and the residual.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    last: Option<(f64, f64)>,
    strikes: u32,
}

impl Growth {
    /// Whether iteration `k` (counted from 1) is one to look at.
    pub fn due(k: usize) -> bool {
        k >= 32 && k.is_power_of_two()
    }

    /// Tells |γ| and the residual at a due iteration. True once both of two successive doublings of the iteration
    /// count let |γ| grow by a third or more while the residual kept nine tenths of its size.
    pub fn tell(&mut self, multipliers: f64, residual: f64) -> bool {
        if let Some((m, r)) = self.last {
            let grows = multipliers >= 1.33 * m && residual >= 0.9 * r;
            self.strikes = if grows { self.strikes + 1 } else { 0 };
        }
        self.last = Some((multipliers, residual));
        self.strikes >= 2
    }
}

#[cfg(test)]
mod tests {
    use super::Growth;

    #[test]
    fn growth_needs_two_doublings_without_progress() {
        let mut g = Growth::default();
        assert!(!g.tell(1.0, 0.2));
        assert!(!g.tell(2.0, 0.2));
        assert!(g.tell(4.0, 0.2));
        let mut g = Growth::default();
        for k in 0..8 {
            // A slow but sound convergence: |γ| doubles while the residual halves.
            assert!(!g.tell(2f64.powi(k), 0.5f64.powi(k)));
        }
    }
}
