//! Problems of a simulation as files: the uniform JSON form, and FCLib's HDF5.

use std::path::{Path, PathBuf};

use drystone_solve::{Problem, Set};
use serde_json::json;

use super::{ContactProblem, Kind, fclib};
use crate::SceneError;

impl ContactProblem {
    /// A problem of contacts with friction, all of one dimension; W is formed.
    pub fn from_problem(name: impl Into<String>, problem: &Problem) -> Result<Self, SceneError> {
        let explicit = problem.to_explicit();
        let (mut mu, mut mu_r, mut dimension) = (Vec::new(), Vec::new(), None);
        for (i, set) in explicit.sets.iter().enumerate() {
            let d = match *set {
                Set::Friction2 { mu: m } => {
                    mu.push(m);
                    2
                }
                Set::Friction3 { mu: m } => {
                    mu.push(m);
                    3
                }
                Set::Rolling5 { mu: m, mu_r: r } => {
                    mu.push(m);
                    mu_r.push(r);
                    5
                }
                Set::Free | Set::NonNegative | Set::Interval { .. } => 0,
            };
            if d == 0 || *dimension.get_or_insert(d) != d {
                let text = format!(
                    "block {i} is {set:?}: the file forms hold contacts with friction alone, all of one dimension"
                );
                return Err(SceneError::new(text));
            }
        }
        let dimension = dimension.unwrap_or(3);
        let kind = if dimension == 5 { Kind::Rfc } else { Kind::Fc };
        Ok(Self { name: name.into(), kind, dimension, w: explicit.w, q: explicit.q, mu, mu_r })
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
        value.to_string() + "\n"
    }

    /// FCLib's HDF5 form.
    pub fn to_fclib(&self) -> Vec<u8> {
        fclib::file(self)
    }

    /// Writes `NAME.json` and `NAME.hdf5` into a folder, which is made if need be.
    pub fn save(&self, folder: &Path) -> Result<(), SceneError> {
        let fail = |path: PathBuf, e: std::io::Error| SceneError {
            file: Some(path),
            ..SceneError::new(format!("cannot be written: {e}"))
        };
        std::fs::create_dir_all(folder).map_err(|e| fail(folder.into(), e))?;
        let (json, hdf5) =
            (folder.join(format!("{}.json", self.name)), folder.join(format!("{}.hdf5", self.name)));
        std::fs::write(&json, self.to_json()).map_err(|e| fail(json.clone(), e))?;
        std::fs::write(&hdf5, self.to_fclib()).map_err(|e| fail(hdf5.clone(), e))
    }
}
