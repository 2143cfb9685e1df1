//! Recognises multipliers that grow for ever: the mark of an infeasible (wedged) problem, whose dual objective has
//! no lower bound. They run off along a direction d with N d = 0, so that ⟨γ, Nγ⟩ / |γ|² falls as |γ| grows. A feasible
//! problem's γ may also grow for a while on its way to the solution, but then its residual falls, or, where a solver's
//! steps are far too short, Nγ grows with γ. Looked at whenever the iteration count has doubled.

/// Watches |γ|, ⟨γ, Nγ⟩ and the residual.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    last: Option<(f64, f64, f64)>,
    strikes: u32,
}

impl Growth {
    /// Whether iteration `k` (counted from 1) is one to look at.
    pub fn due(k: usize) -> bool {
        k >= 32 && k.is_power_of_two()
    }

    /// Tells |γ|, ⟨γ, Nγ⟩ and the residual at a due iteration. True once both of two successive doublings of the iteration
    /// count let |γ| grow by a third or more while the residual kept nine tenths of its size and ⟨γ, Nγ⟩ / |γ|² lost a
    /// quarter of its own.
    pub fn tell(&mut self, multipliers: f64, curvature: f64, residual: f64) -> bool {
        let stiffness = curvature.max(0.0) / (multipliers * multipliers);
        if let Some((m, s, r)) = self.last {
            let grows = multipliers >= 1.33 * m && residual >= 0.9 * r && stiffness <= 0.75 * s;
            self.strikes = if grows { self.strikes + 1 } else { 0 };
        }
        self.last = Some((multipliers, stiffness, residual));
        self.strikes >= 2
    }
}

#[cfg(test)]
mod tests {
    use super::Growth;

    #[test]
    fn growth_needs_two_doublings_without_progress() {
        let mut g = Growth::default();
        assert!(!g.tell(1.0, 3.0, 0.2));
        assert!(!g.tell(2.0, 3.1, 0.2));
        assert!(g.tell(4.0, 3.2, 0.2));
        let mut g = Growth::default();
        for k in 0..8 {
            // A slow but sound convergence: |γ| doubles while the residual halves.
            assert!(!g.tell(2f64.powi(k), 1.0, 0.5f64.powi(k)));
        }
        let mut g = Growth::default();
        for k in 0..8 {
            // Steps that are far too short: |γ| doubles, the residual stays, and Nγ doubles as well.
            assert!(!g.tell(2f64.powi(k), 4f64.powi(k), 0.2));
        }
    }
}
