//! Bare contact problems from files: no bodies, just the matrix.
//!
//! ```text
//!     u = W r + q,     K ∋ r ⊥ u ∈ K*          rows of a contact normal first: (n, t), (n, t, t) or (n, t, t, m, m)
//! ```
//!
//! There W, r, q are what the papers call N, γ, r. Three forms are read: a uniform JSON, the text form of
//! Siconos (`.dat`), and FCLib's HDF5; the first and the last are written, too. Problems given by bodies, M v
//! = f + H r and u = Hᵀ v + w, are reduced to W = Hᵀ M⁻¹ H and q = Hᵀ M⁻¹ f + w. After the rows of the
//! contacts there may be those of other blocks: bilateral rows (joints) in JSON and HDF5, limits and motors
//! in JSON alone.

mod eliminate;
mod export;
mod fclib;
mod hdf5;
mod json;
mod judge;
mod siconos;

use std::path::Path;

use drystone_solve::cone::{AdmissibleSet, MAX_ROWS};
use drystone_solve::friction_law::{FrictionLaw, slip_term};
use drystone_solve::lcp::Lcp;
use drystone_solve::problem::{Csr, Explicit};
use drystone_solve::{Problem, Set};
use serde::Serialize;

pub use judge::{Outcome, Report, judge, reach};

use crate::SceneError;
use crate::text::{Format, Source};

/// What a file's problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// W and q are given.
    Fc,
    /// M, H, f and w are given.
    Gfc,
    /// Like `Fc`, with rolling friction.
    Rfc,
    /// Like `Gfc`, with rolling friction.
    Grfc,
}

impl Kind {
    /// Every kind by its name.
    pub const NAMES: &'static [(&'static str, Kind)] =
        &[("fc", Kind::Fc), ("gfc", Kind::Gfc), ("rfc", Kind::Rfc), ("grfc", Kind::Grfc)];

    /// Whether the file gives bodies (M and H).
    pub fn is_global(self) -> bool {
        matches!(self, Kind::Gfc | Kind::Grfc)
    }

    /// Whether there is rolling friction.
    pub fn is_rolling(self) -> bool {
        matches!(self, Kind::Rfc | Kind::Grfc)
    }
}

/// Shares of the largest number that rounding may leave.
const ROUNDING: f64 = 1e-12;
/// Numbers whose squares, and a few times their product with others, are numbers.
const MIN_NUMBER: f64 = 1e-60;
const MAX_NUMBER: f64 = 1e60;

/// A contact problem as its file has it.
#[derive(Clone, Debug)]
pub struct ContactProblem {
    /// The name it gives itself, or the file's.
    pub name: String,
    /// What the file gives.
    pub kind: Kind,
    /// Rows of a contact: 2, 3 or 5.
    pub dimension: usize,
    /// W, not necessarily symmetric.
    pub w: Csr,
    /// q.
    pub q: Vec<f64>,
    /// Coefficient of friction of every contact.
    pub mu: Vec<f64>,
    /// Coefficient of rolling friction of every contact; empty where there is none.
    pub mu_r: Vec<f64>,
    /// What follows the contacts in W and q: bilateral rows, limits, motors, contacts of another dimension.
    pub others: Vec<Set>,
    /// r to start from, as a simulation had it, and the r that it went on with; empty where the file has
    /// none.
    pub guess: Vec<f64>,
    /// See `guess`.
    pub solution: Vec<f64>,
}

impl ContactProblem {
    /// Number of contacts.
    pub fn contacts(&self) -> usize {
        self.mu.len()
    }

    /// Number of blocks: the contacts and what follows them.
    pub fn blocks(&self) -> usize {
        self.mu.len() + self.others.len()
    }

    /// The set of block `i`; the contacts come first.
    pub fn set(&self, i: usize) -> Set {
        if let Some(k) = i.checked_sub(self.mu.len()) {
            return self.others[k];
        }
        let mu = self.mu[i];
        match self.dimension {
            2 => Set::Friction2 { mu },
            3 => Set::Friction3 { mu },
            _ => Set::Rolling5 { mu, mu_r: self.mu_r[i] },
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.dimension * self.contacts() + self.others.iter().map(AdmissibleSet::rows).sum::<usize>()
    }

    /// Says that a matrix of this size is not the problem's.
    fn misfit(&self, rows: usize, columns: usize) -> String {
        let more = match self.others.len() {
            0 => String::new(),
            n => format!(" and {n} other blocks"),
        };
        format!(
            "is {rows} x {columns}, but {} contacts of dimension {}{more} have {} rows",
            self.contacts(),
            self.dimension,
            self.rows()
        )
    }

    /// The relaxed problem. Its matrix is the symmetric part of W: only that has an objective.
    pub fn ccp(&self) -> Problem {
        let sets = (0..self.blocks()).map(|i| self.set(i)).collect();
        Problem::Explicit(Explicit::new(self.w.symmetric_part(), self.q.clone(), sets))
    }

    /// The problem with exact Coulomb friction, with W as it is.
    pub fn coulomb(&self) -> Problem {
        let sets = (0..self.blocks()).map(|i| self.set(i)).collect();
        let problem = Explicit::new(self.w.clone(), self.q.clone(), sets);
        Problem::Explicit(Explicit { model: FrictionLaw::Coulomb, ..problem })
    }

    /// The problem under either law.
    pub fn under(&self, model: FrictionLaw) -> Problem {
        match model {
            FrictionLaw::Ccp => self.ccp(),
            FrictionLaw::Coulomb => self.coulomb(),
        }
    }

    /// |W - Wᵀ| / |W| (Frobenius): above rounding, W is not that of an objective.
    pub fn asymmetry(&self) -> f64 {
        let norm = |x: &Csr| x.data.iter().map(|x| x * x).sum::<f64>().sqrt();
        let all = norm(&self.w);
        if all > 0.0 { 2.0 * norm(&self.w.skew_part()) / all } else { 0.0 }
    }

    /// |q|.
    pub fn scale(&self) -> f64 {
        self.q.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// Divides q by a power of two where its numbers are so large or so small that their squares are no
    /// numbers any more, and returns that power (1 elsewhere). The cones know no unit: r and u of the
    /// solution are divided by it, as limits of motors are, and nothing else changes.
    pub fn normalise(&mut self) -> f64 {
        let largest = self.q.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        if largest == 0.0 || (MIN_NUMBER..=MAX_NUMBER).contains(&largest) {
            return 1.0;
        }
        // Numbers below the smallest normal one have an exponent, too, but no reciprocal.
        let unit = largest.log2().round().clamp(-1000.0, 1000.0).exp2();
        self.q.iter_mut().chain(&mut self.guess).chain(&mut self.solution).for_each(|x| *x /= unit);
        for set in &mut self.others {
            if let Set::Interval { lo, hi } = set {
                (*lo, *hi) = (*lo / unit, *hi / unit);
            }
        }
        unit
    }

    /// The first contact with no entry in W although its q asks it to move: nothing can be done about that
    /// one.
    pub fn cannot_move(&self, model: FrictionLaw) -> Option<usize> {
        let d = self.dimension;
        (0..self.contacts()).find(|&i| {
            let rows = d * i..d * i + d;
            let held = rows.clone().all(|j| self.w.row(j).all(|(_, x)| x == 0.0));
            let mut p = [0.0; MAX_ROWS];
            for (p, q) in p.iter_mut().zip(&self.q[rows.clone()]) {
                *p = -q;
            }
            if model == FrictionLaw::Coulomb {
                p[0] -= slip_term(self.set(i), &self.q[rows]);
            }
            self.set(i).project(&mut p[..d]);
            held && p.iter().any(|x| *x != 0.0)
        })
    }

    /// |r - P(r - u)| over all blocks, with u + s(u) e_n for u under Coulomb's law: the published stopping test, where
    /// it is divided by |q|.
    pub fn natural_map(&self, model: FrictionLaw, r: &[f64], u: &[f64]) -> f64 {
        let (mut sum, mut first) = (0.0, 0);
        for i in 0..self.blocks() {
            let set = self.set(i);
            let rows = first..first + set.rows();
            let r = &r[rows.clone()];
            let mut law = [0.0; MAX_ROWS];
            let law = &mut law[..r.len()];
            law.copy_from_slice(&u[rows.clone()]);
            if model == FrictionLaw::Coulomb {
                law[0] += slip_term(set, &u[rows.clone()]);
            }
            let approach = model.approach(set.opening(), u[rows.start]);
            let natural = set.natural(r, law);
            // What rounding leaves unknown of u: less than that is nothing to see.
            let diagonal = |j| self.w.row(j).find(|(k, _)| *k == j).map_or(0.0, |(_, w)| w);
            let unknown = rows.clone().zip(r).map(|(j, r)| f64::EPSILON * diagonal(j) * r);
            let least = unknown.map(|x| x * x).sum::<f64>().max(approach * approach);
            // A number that is none must not be lost here.
            sum += if natural * natural < least { least } else { natural * natural };
            first = rows.end;
        }
        sum.sqrt()
    }

    /// From W, q and the friction of contacts of three rows each, normal first; five with rolling friction
    /// `mu_r`, two where the sizes say so.
    ///
    /// # Errors
    /// For sizes that do not fit, and numbers that no problem can have: it says which.
    pub fn new(w: Csr, q: Vec<f64>, mu: Vec<f64>, mu_r: Vec<f64>) -> Result<Self, SceneError> {
        let kind = if mu_r.is_empty() { Kind::Fc } else { Kind::Rfc };
        let dimension = match (kind, mu.len()) {
            (Kind::Rfc, _) => 5,
            (_, n) if n > 0 && q.len() == 2 * n => 2,
            _ => 3,
        };
        let name = "problem".into();
        let (others, guess, solution) = (Vec::new(), Vec::new(), Vec::new());
        let problem = Self { name, kind, dimension, w, q, mu, mu_r, others, guess, solution };
        problem.check()?;
        Ok(problem)
    }

    /// Checks sizes and numbers.
    fn check(&self) -> Result<(), SceneError> {
        let wrong = |field: &str, message: String| {
            Err(SceneError { field: Some(field.into()), ..SceneError::new(message) })
        };
        if ![2, 3, 5].contains(&self.dimension) {
            return wrong("d", format!("must be 2, 3 or 5, got {}", self.dimension));
        }
        if self.kind.is_rolling() != (self.dimension == 5) {
            return wrong("d", mismatch(self.kind, self.dimension));
        }
        let rows = self.rows();
        if self.w.rows() != rows || self.w.columns != rows {
            return wrong("W", self.misfit(self.w.rows(), self.w.columns));
        }
        if self.q.len() != rows {
            return wrong("q", format!("must have {rows} numbers, got {}", self.q.len()));
        }
        for (name, r) in [("guess", &self.guess), ("solution", &self.solution)] {
            if !r.is_empty() && (r.len() != rows || r.iter().any(|x| !x.is_finite())) {
                return wrong(name, format!("must have {rows} finite numbers, got {}", r.len()));
            }
        }
        for (i, set) in self.others.iter().enumerate() {
            if let Err(text) = set.check() {
                return wrong(&format!("others[{i}]"), text);
            }
        }
        let rolling = if self.dimension == 5 { self.contacts() } else { 0 };
        if self.mu_r.len() != rolling {
            let text =
                format!("dimension {} needs {rolling} numbers, got {}", self.dimension, self.mu_r.len());
            return wrong("mu_r", text);
        }
        for (name, values) in [("mu", &self.mu), ("mu_r", &self.mu_r)] {
            if let Some(i) = values.iter().position(|x| !(x.is_finite() && *x >= 0.0)) {
                return wrong(
                    &format!("{name}[{i}]"),
                    format!("must be finite and not negative, got {}", values[i]),
                );
            }
        }
        for (name, values) in [("W", &self.w.data), ("q", &self.q)] {
            if let Some(x) = values.iter().find(|x| !x.is_finite()) {
                return wrong(name, format!("has a number that is not finite: {x}"));
            }
        }
        self.check_definite().map_or(Ok(()), |text| wrong("W", text))
    }

    /// What the diagonal gives away: a matrix DᵀM⁻¹D has no negative numbers there, and nothing beside a
    /// zero.
    fn check_definite(&self) -> Option<String> {
        let largest = self.w.data.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for i in 0..self.w.rows() {
            let (mut diagonal, mut beside) = (0.0, 0.0f64);
            for (j, x) in self.w.row(i) {
                if j == i { diagonal += x } else { beside = beside.max(x.abs()) }
            }
            if diagonal < -ROUNDING * largest {
                return Some(format!("is not positive semidefinite: its diagonal has {diagonal} in row {i}"));
            }
            if diagonal <= 0.0 && beside > ROUNDING.sqrt() * largest {
                let text = "is not positive semidefinite: its diagonal has 0";
                return Some(format!("{text} in row {i}, where {beside} stands beside it"));
            }
        }
        None
    }
}

/// Says that contacts of a kind do not have this many rows.
fn mismatch(kind: Kind, dimension: usize) -> String {
    let rows = if kind.is_rolling() { "5" } else { "2 or 3" };
    format!("is {dimension}, but kind {kind:?} has {rows}").to_lowercase()
}

/// Reads a contact problem; `kind` where the content of a `.dat` file cannot tell (its name is asked
/// otherwise).
pub fn read(path: impl AsRef<Path>, kind: Option<Kind>) -> Result<ContactProblem, SceneError> {
    let path = path.as_ref();
    let refuse = |message: String| SceneError { file: Some(path.into()), ..SceneError::new(message) };
    let name = path.to_string_lossy();
    let problem = if name.ends_with(".json") || name.ends_with(".json.gz") {
        let source = Source::open(path)?;
        let root = source.parse()?;
        let problem = json::problem(&root).map_err(|fault| source.error(fault))?;
        problem.check().map_err(|e| source.locate(&root, e))?;
        if let Some(kind) = kind.filter(|k| *k != problem.kind) {
            return Err(refuse(
                format!("kind: the file says {:?}, --kind {kind:?}", problem.kind).to_lowercase(),
            ));
        }
        problem
    } else if name.ends_with(".dat") {
        let bytes = std::fs::read(path).map_err(|e| refuse(format!("cannot be read: {e}")))?;
        let text = String::from_utf8_lossy(&bytes);
        let stem = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let problem =
            siconos::problem(&text, &stem, kind).map_err(|e| SceneError { file: Some(path.into()), ..e })?;
        problem.check().map_err(|e| SceneError { file: Some(path.into()), ..e })?;
        problem
    } else if name.ends_with(".hdf5") || name.ends_with(".h5") {
        let bytes = std::fs::read(path).map_err(|e| refuse(format!("cannot be read: {e}")))?;
        let stem = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let problem = fclib::problem(&bytes, &stem)
            .map_err(|(field, text)| SceneError { field: Some(field), ..refuse(text) })?;
        problem.check().map_err(|e| SceneError { file: Some(path.into()), ..e })?;
        if let Some(kind) = kind.filter(|k| *k != problem.kind) {
            return Err(refuse(
                format!("kind: the file says {:?}, --kind {kind:?}", problem.kind).to_lowercase(),
            ));
        }
        problem
    } else {
        return Err(refuse("the name must end in .json, .json.gz, .dat, .hdf5 or .h5".into()));
    };
    Ok(problem)
}

/// Whether a file is a contact problem: by its name, or, where scenes may have such a name, by its keys. One
/// that cannot be read may be one: an error says more than silence.
pub fn is_one(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    let name = path.to_string_lossy();
    if [".dat", ".hdf5", ".h5"].iter().any(|end| name.ends_with(end)) {
        return true;
    }
    let Some(source) = Source::open(path).ok().filter(|s| s.format == Format::Json) else { return false };
    source.parse().map_or(true, |root| ["W", "q", "mu"].iter().all(|key| root.get(key).is_some()))
}

/// Reads a linear complementarity problem in the text form of Siconos.
pub fn read_lcp(path: impl AsRef<Path>) -> Result<Lcp, SceneError> {
    let path = path.as_ref();
    let in_file = |e: SceneError| SceneError { file: Some(path.into()), ..e };
    let bytes = std::fs::read(path).map_err(|e| in_file(SceneError::new(format!("cannot be read: {e}"))))?;
    siconos::lcp(&String::from_utf8_lossy(&bytes)).map_err(in_file)
}
