//! The local problem by projections: extragradient steps with a length that adapts itself \[HanLo2002\].
//!
//! ```text
//!     γ̄ = P(γ - ρ F(γ)),     γ ← P(γ - ρ F(γ̄)),     F(γ) = W γ + b (+ s(u) e_n)
//! ```
//!
//! ρ shrinks while ρ |F(γ) - F(γ̄)| > 0.9 |γ - γ̄| and grows after steps in which that ratio is below 0.3.

use super::{BlockSplitting, Local, One, Vector};
use crate::cone::norm;
use crate::solver::{BadSpec, Info, Param, Solver, Spec};

pub(in crate::solver) static INFO: Info = Info {
    name: "nsgs-proj",
    title: "block splitting, each contact by projections with an adaptive step",
    use_when: "hard problems from files, rolling friction: slower than nsgs-ac, but it needs no derivatives",
    models: &["ccp", "coulomb"],
    unit: "sweep",
    citation: "RenoufAcary2006, section 4.1; HanLo2002",
    params: &[LOCAL],
    make,
};

const LOCAL: Param =
    Param { name: "local", default: "50", help: "cap on the projections for one contact in one sweep" };

fn make(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    let most = spec.positive("local", 50.0, 1e6)?.ceil() as usize;
    Ok(Box::new(BlockSplitting::new(&INFO, Box::new(Projection { most }))))
}

struct Projection {
    most: usize,
}

impl Local for Projection {
    fn solve(&mut self, one: &One, gamma: &mut Vector) {
        extragradient(one, gamma, self.most, 1e-3);
    }
}

/// At most `most` steps, or until a step is `share` of the first one. Returns γ with the least residual seen.
pub(super) fn extragradient(one: &One, gamma: &mut Vector, most: usize, share: f64) {
    let n = one.rows;
    let size = |a: &Vector, b: &Vector| {
        let d: Vector = std::array::from_fn(|k| a[k] - b[k]);
        norm(&d[..n])
    };
    let mut rho = 1.0 / one.g;
    let mut first = 0.0;
    let mut x = *gamma;
    one.set_admissible(&mut x);
    let (mut best, mut least) = (x, one.residual(&x));
    for k in 0..most {
        if least == 0.0 {
            break;
        }
        let f = one.law(&x);
        let (mut bar, mut ratio, mut f_bar);
        let mut tries = 0;
        loop {
            bar = one.step(&x, &f, rho);
            f_bar = one.law(&bar);
            let way = size(&x, &bar);
            ratio = if way > 0.0 { rho * size(&f, &f_bar) / way } else { 0.0 };
            tries += 1;
            if ratio <= 0.9 || tries > 40 {
                break;
            }
            rho *= 2.0 / 3.0 * (1.0 / ratio).min(1.0);
        }
        let next = one.step(&x, &f_bar, rho);
        let way = size(&x, &next);
        x = next;
        let residual = one.residual(&x);
        if residual < least {
            (best, least) = (x, residual);
        }
        if k == 0 {
            first = way;
        }
        if way <= share * first || way <= 1e-15 * norm(&x[..n]) {
            break;
        }
        if ratio < 0.3 {
            rho *= 1.5;
        }
    }
    *gamma = best;
}

impl One {
    pub(super) fn set_admissible(&self, gamma: &mut Vector) {
        use crate::cone::AdmissibleSet;
        self.set.project(&mut gamma[..self.rows]);
    }
}
