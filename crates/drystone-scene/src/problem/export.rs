//! Problems of a simulation as files: the uniform JSON form, and FCLib's HDF5.

use std::path::{Path, PathBuf};

use drystone_solve::cone::AdmissibleSet;
use drystone_solve::problem::Csr;
use drystone_solve::{Problem, Set};
use serde_json::{Value, json};

use super::{ContactProblem, Kind, fclib};
use crate::SceneError;

impl ContactProblem {
    /// Any problem; W is formed, compliance included. The contacts of the dimension that most of them have
    /// come first.
    pub fn from_problem(name: impl Into<String>, problem: &Problem) -> Self {
        Self::from_step(name, problem, &[], &[])
    }

    /// The same with multipliers to start from and those that were found, in the problem's own order of rows;
    /// either may be empty.
    pub fn from_step(name: impl Into<String>, problem: &Problem, guess: &[f64], solution: &[f64]) -> Self {
        let explicit = problem.to_explicit();
        let dimension_of = |set: &Set| match set {
            Set::Friction2 { .. } | Set::Friction3 { .. } | Set::Rolling5 { .. } => Some(set.rows()),
            Set::Free | Set::NonNegative | Set::Interval { .. } => None,
        };
        let count = |d: usize| explicit.sets.iter().filter(|s| dimension_of(s) == Some(d)).count();
        // Of equal counts the last one counts: round cones.
        let dimension = [2, 5, 3].into_iter().max_by_key(|d| count(*d)).unwrap_or(3);
        let (contacts, rest): (Vec<usize>, Vec<usize>) =
            (0..explicit.sets.len()).partition(|&i| dimension_of(&explicit.sets[i]) == Some(dimension));
        let (mut mu, mut mu_r) = (Vec::new(), Vec::new());
        for &i in &contacts {
            match explicit.sets[i] {
                Set::Friction2 { mu: m } | Set::Friction3 { mu: m } => mu.push(m),
                Set::Rolling5 { mu: m, mu_r: r } => {
                    mu.push(m);
                    mu_r.push(r);
                }
                Set::Free | Set::NonNegative | Set::Interval { .. } => {}
            }
        }
        let others = rest.iter().map(|&i| explicit.sets[i]).collect();
        let order: Vec<usize> = contacts.into_iter().chain(rest).flat_map(|i| problem.block(i)).collect();
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new as u32;
        }
        let row = |&old: &usize| {
            let soft = explicit.compliance.get(old).copied().filter(|c| *c != 0.0);
            let entries = explicit.w.row(old).map(|(j, x)| (place[j], x));
            entries.chain(soft.map(|c| (place[old], c))).collect()
        };
        let w = Csr::from_rows(order.len(), order.iter().map(row).collect());
        let q = order.iter().map(|&old| explicit.q[old]).collect();
        let kind = if dimension == 5 { Kind::Rfc } else { Kind::Fc };
        let ordered = |r: &[f64]| order.iter().filter_map(|&old| r.get(old).copied()).collect();
        let (guess, solution) = (ordered(guess), ordered(solution));
        Self { name: name.into(), kind, dimension, w, q, mu, mu_r, others, guess, solution }
    }

    /// The uniform JSON form.
    pub fn to_json(&self) -> String {
        let mut value = json!({
            "name": self.name,
            "kind": self.kind,
            "d": self.dimension,
            "nc": self.contacts(),
            "W": {
                "shape": [self.w.rows(), self.w.columns],
                "indptr": self.w.indptr,
                "indices": self.w.indices,
                "data": self.w.data,
            },
            "q": self.q,
            "mu": self.mu,
            "source": concat!("drystone ", env!("CARGO_PKG_VERSION")),
        });
        if !self.mu_r.is_empty() {
            value["mu_r"] = json!(self.mu_r);
        }
        if !self.others.is_empty() {
            value["others"] = self.others.iter().map(other).collect();
        }
        for (key, r) in [("guess", &self.guess), ("solution", &self.solution)] {
            if !r.is_empty() {
                value[key] = json!(r);
            }
        }
        value.to_string() + "\n"
    }

    /// What FCLib's form has no words for, where there is such a thing: it has contacts of one dimension and
    /// bilateral rows.
    pub fn beyond_fclib(&self) -> Option<&'static str> {
        self.others.iter().find_map(|set| match set {
            Set::Free => None,
            Set::NonNegative => Some("limits"),
            // Friction in a joint and resistance to spinning are rows of this kind, too.
            Set::Interval { .. } => {
                Some("multipliers between bounds (motors, friction in joints, spinning friction)")
            }
            Set::Friction2 { .. } | Set::Friction3 { .. } | Set::Rolling5 { .. } => {
                Some("contacts with and without rolling friction side by side")
            }
        })
    }

    /// FCLib's HDF5 form; None where it cannot say all.
    pub fn to_fclib(&self) -> Option<Vec<u8>> {
        self.beyond_fclib().is_none().then(|| fclib::file(self))
    }

    /// Writes `NAME.json` and, where that form can hold it, `NAME.hdf5` into a folder, which is made if need
    /// be. Returns whether there are two.
    pub fn save(&self, folder: &Path) -> Result<bool, SceneError> {
        let fail = |path: PathBuf, e: std::io::Error| SceneError {
            file: Some(path),
            ..SceneError::new(format!("cannot be written: {e}"))
        };
        std::fs::create_dir_all(folder).map_err(|e| fail(folder.into(), e))?;
        let (json, hdf5) =
            (folder.join(format!("{}.json", self.name)), folder.join(format!("{}.hdf5", self.name)));
        std::fs::write(&json, self.to_json()).map_err(|e| fail(json.clone(), e))?;
        let Some(bytes) = self.to_fclib() else { return Ok(false) };
        std::fs::write(&hdf5, bytes).map_err(|e| fail(hdf5.clone(), e))?;
        Ok(true)
    }
}

/// A block after the contacts; a side of an interval that is open is left out.
fn other(set: &Set) -> Value {
    match *set {
        Set::Free => json!({"set": "free"}),
        Set::NonNegative => json!({"set": "non_negative"}),
        Set::Interval { lo, hi } => {
            let mut value = json!({"set": "interval"});
            for (key, side) in [("lo", lo), ("hi", hi)] {
                if side.is_finite() {
                    value[key] = json!(side);
                }
            }
            value
        }
        Set::Friction2 { mu } => json!({"set": "friction2", "mu": mu}),
        Set::Friction3 { mu } => json!({"set": "friction3", "mu": mu}),
        Set::Rolling5 { mu, mu_r } => json!({"set": "rolling5", "mu": mu, "mu_r": mu_r}),
    }
}
