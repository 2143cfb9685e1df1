//! Copies of problems into memory that is already there: a derived `clone_from` would allocate anew in every
//! step.

use super::{Bodies, Explicit, General, Points, Problem};

impl Problem {
    /// Becomes a copy of `from`; memory is kept where both have the same form.
    pub fn copy_from(&mut self, from: &Problem) {
        match (&mut *self, from) {
            (Problem::Bodies(to), Problem::Bodies(from)) => to.copy_from(from),
            (Problem::Explicit(to), Problem::Explicit(from)) => to.copy_from(from),
            (to, from) => *to = from.clone(),
        }
    }

    /// Adds to the first (normal) row of every block `i` the number `change[i]`.
    pub(crate) fn shift_normal_bias(&mut self, change: &[f64]) {
        match self {
            Problem::Bodies(p) => {
                let n = p.points.len();
                p.points.bias.iter_mut().zip(change).for_each(|(b, s)| *b += s);
                for (&row, s) in p.general.first_row.iter().zip(&change[n..]) {
                    p.general.bias[row as usize] += s;
                }
            }
            Problem::Explicit(p) => {
                for (&row, s) in p.first_row.iter().zip(change) {
                    p.q[row as usize] += s;
                }
            }
        }
    }
}

impl Bodies {
    fn copy_from(&mut self, from: &Self) {
        let Bodies { inv_mass, inv_inertia, v_free, points, general, model } = from;
        self.inv_mass.clone_from(inv_mass);
        self.inv_inertia.clone_from(inv_inertia);
        self.v_free.clone_from(v_free);
        self.points.copy_from(points);
        self.general.copy_from(general);
        self.model = *model;
    }
}

impl Points {
    fn copy_from(&mut self, from: &Self) {
        let Points { a, b, normal, arm_a, arm_b, bias, drift, mu, compliance, spans, regions } = from;
        self.a.clone_from(a);
        self.b.clone_from(b);
        self.normal.clone_from(normal);
        self.arm_a.clone_from(arm_a);
        self.arm_b.clone_from(arm_b);
        self.bias.clone_from(bias);
        self.drift.clone_from(drift);
        self.mu.clone_from(mu);
        self.compliance.clone_from(compliance);
        self.spans.clone_from(spans);
        self.regions.clone_from(regions);
    }
}

impl General {
    fn copy_from(&mut self, from: &Self) {
        let General { a, b, set, first_row, jacobian, bias, compliance, spans } = from;
        self.a.clone_from(a);
        self.b.clone_from(b);
        self.set.clone_from(set);
        self.first_row.clone_from(first_row);
        self.jacobian.clone_from(jacobian);
        self.bias.clone_from(bias);
        self.compliance.clone_from(compliance);
        self.spans.clone_from(spans);
    }
}

impl Explicit {
    fn copy_from(&mut self, from: &Self) {
        let Explicit { w, q, sets, first_row, compliance, model } = from;
        self.w.columns = w.columns;
        self.w.indptr.clone_from(&w.indptr);
        self.w.indices.clone_from(&w.indices);
        self.w.data.clone_from(&w.data);
        self.q.clone_from(q);
        self.sets.clone_from(sets);
        self.first_row.clone_from(first_row);
        self.compliance.clone_from(compliance);
        self.model = *model;
    }
}
