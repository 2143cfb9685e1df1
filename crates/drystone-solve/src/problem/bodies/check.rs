//! Whether the data make sense, and whether rest is allowed.

use crate::colour;
use crate::cone::{AdmissibleSet, MAX_ROWS, Set};
use crate::parallel;
use crate::problem::algebra::{all_finite, dot};

use super::points::at;
use super::{Bodies, PIECE};

impl Bodies {
    /// Whether v = 0 satisfies every constraint.
    pub(in crate::problem) fn rest_is_feasible(&self) -> bool {
        let p = &self.points;
        let still = |x: f64| x == 0.0;
        let feasible = |i: usize| {
            let (bias, n) = (p.world_bias(i), at(&p.normal, i));
            let normal = dot(bias, n);
            let tangent = std::array::from_fn::<f64, 3, _>(|k| bias[k] - normal * n[k]);
            // Rounding of a pure normal bias leaves tangential dust that is not a slip velocity.
            normal - p.mu[i] * dot(tangent, tangent).sqrt() >= -1e-12 * (1.0 + normal.abs())
        };
        let points = match p.drift[0].is_empty() {
            true => parallel::all(p.len(), |i| p.bias[i] >= -1e-12 * (1.0 + p.bias[i].abs())),
            false => parallel::all(p.len(), feasible),
        };
        points
            && (0..self.general.a.len()).all(|i| {
                let g = &self.general;
                let rows = g.first_row[i] as usize..g.first_row[i + 1] as usize;
                let bias = &g.bias[rows.clone()];
                match g.set[i] {
                    Set::Free => bias.iter().copied().all(still),
                    set => {
                        let mut minus = [0.0; MAX_ROWS];
                        minus.iter_mut().zip(bias).for_each(|(m, b)| *m = -b);
                        set.support(&minus[..bias.len()]).is_finite()
                    }
                }
            })
    }

    /// Says what is wrong. Without `numbers` those that are finite wherever their products with multipliers
    /// are, are not looked at.
    pub(in crate::problem) fn check(&self, numbers: bool) -> Result<(), String> {
        let n = self.bodies();
        let finite = |x: &[f64]| !numbers || all_finite(x);
        if self.inv_inertia.len() != n || self.v_free.len() != n {
            return Err(format!(
                "{n} bodies, {} inertias, {} velocities",
                self.inv_inertia.len(),
                self.v_free.len()
            ));
        }
        let of_body = |i: usize| self.inv_inertia[i].iter().chain(&self.v_free[i]).chain([&self.inv_mass[i]]);
        let sound = parallel::all_tasks(n.div_ceil(PIECE), |k| {
            let range = k * PIECE..n.min((k + 1) * PIECE);
            finite(self.inv_inertia[range.clone()].as_flattened())
                && finite(self.v_free[range.clone()].as_flattened())
                && all_finite(&self.inv_mass[range.clone()])
                && self.inv_mass[range].iter().all(|m| *m >= 0.0)
        });
        for i in 0..if sound { 0 } else { n } {
            if of_body(i).any(|x| !x.is_finite()) {
                return Err(format!("body {i} has a mass, inertia or velocity that is not finite"));
            }
            if self.inv_mass[i] < 0.0 {
                return Err(format!("body {i} has a negative mass"));
            }
        }
        let p = &self.points;
        let all = [&p.normal, &p.arm_a, &p.arm_b];
        let drifts = p.drift.iter().any(|f| !f.is_empty());
        if p.b.len() != p.len()
            || p.mu.len() != p.len()
            || p.bias.len() != p.len()
            || all.iter().any(|f| f.iter().any(|x| x.len() != p.len()))
            || (drifts && p.drift.iter().any(|f| f.len() != p.len()))
            || (p.compliance.iter().any(|c| !c.is_empty()) && p.compliance.iter().any(|c| c.len() != p.len()))
        {
            return Err("the arrays of the contact points differ in length".into());
        }
        let mut soft = p.compliance.iter().flatten().chain(&self.general.compliance);
        if soft.any(|c| !(c.is_finite() && *c >= 0.0)) {
            return Err("a compliance is negative or not finite".into());
        }
        let columns =
            || all.into_iter().chain([&p.drift]).flatten().chain([&p.bias]).filter(|f| !f.is_empty());
        let friction = |i: usize| Set::Friction3 { mu: p.mu[i] }.check();
        let runs = p.len().div_ceil(PIECE);
        let sound = parallel::all_tasks(runs, |k| {
            let range = k * PIECE..p.len().min((k + 1) * PIECE);
            columns().all(|f| finite(&f[range.clone()])) && range.into_iter().all(|i| friction(i).is_ok())
        });
        for i in 0..if sound { 0 } else { p.len() } {
            if all.iter().any(|f| at(f, i).iter().any(|x| !x.is_finite()))
                || p.world_bias(i).iter().any(|x| !x.is_finite())
            {
                return Err(format!("contact point {i} has a normal, arm or bias that is not finite"));
            }
            friction(i).map_err(|e| format!("contact point {i}: {e}"))?;
        }
        if !colour::sound(n, &p.a, &p.b, &p.spans, &p.regions) {
            colour::verify(n, &p.a, &p.b, &p.spans, &p.regions)
                .map_err(|e| format!("contact points: {e}"))?;
        }
        let g = &self.general;
        if g.b.len() != g.a.len()
            || g.set.len() != g.a.len()
            || (!g.a.is_empty() && g.first_row.len() != g.a.len() + 1)
            || g.bias.len() != g.jacobian.len()
            || (!g.compliance.is_empty() && g.compliance.len() != g.bias.len())
        {
            return Err("the arrays of the general blocks differ in length".into());
        }
        let rows_of = |i: usize| g.first_row[i + 1].checked_sub(g.first_row[i]).map(|n| n as usize);
        let set = |s: &Set| *s == Set::Free || s.check().is_ok();
        let sound = g.first_row.last().is_none_or(|n| *n as usize <= g.jacobian.len())
            && (0..g.a.len()).all(|i| rows_of(i) == Some(g.set[i].rows()) && set(&g.set[i]))
            && finite(g.jacobian.as_flattened())
            && finite(&g.bias);
        for i in 0..if sound { 0 } else { g.a.len() } {
            let rows = g.first_row[i] as usize..g.first_row[i + 1] as usize;
            if rows.len() != g.set[i].rows() || rows.end > g.jacobian.len() {
                return Err(format!("block {i} has {} rows, its set wants {}", rows.len(), g.set[i].rows()));
            }
            g.set[i].check().map_err(|e| format!("block {i}: {e}"))?;
            // Nothing times a number is nothing.
            let nothing = |j: usize| g.jacobian[j].iter().fold(0.0 * g.bias[j], |sum, x| sum + 0.0 * x);
            if rows.clone().any(|j| nothing(j) != 0.0) {
                return Err(format!("block {i} has a Jacobian or bias that is not finite"));
            }
        }
        colour::verify(n, &g.a, &g.b, &g.spans, &[]).map_err(|e| format!("general blocks: {e}"))
    }
}
