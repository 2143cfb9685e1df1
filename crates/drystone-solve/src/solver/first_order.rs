//! What the first-order methods for the relaxed problem share: the spaces in which they walk, and the watch
//! over their progress.
//!
//! All of them minimise f(γ) = ½ γᵀ(N + C)γ + rᵀγ over K, whose gradient is u = (N + C)γ + r. Their steps are
//!
//! ```text
//!     z = P(y - t S u_y),     S = diag(η_i I),      y = γ + β (γ - γ_before)
//! ```
//!
//! S is a change of variables with one positive number for each block, which maps every cone on itself: with
//! η_i = 1/g_i of [TasoraAnitescu2011, eq. 48] the matrix S^½ N S^½ has a mean diagonal of 1 in every block,
//! whatever the masses; S = I is the plain method. Lengths are measured alike: |d|² stands for Σ |d_i|² /
//! η_i, and a Lipschitz constant L for the largest eigenvalue of S^½ (N + C) S^½.
//!
//! Contacts of spheres have two numbers, η_n along the normal and η_t across, κ = η_n / η_t apart: a push
//! across turns the spheres, too, and moves them κ times as far as one along the normal (3.5 times, if they
//! are solid), so that S^½ N S^½ has a diagonal of ones. The round cone becomes another round cone, of
//! friction μ√κ, and P the projection in that metric (`docs/decisions/0019-two-scales-for-a-cone.md`).

mod bodies;
mod explicit;
mod lanes;
mod points;
mod rows;
mod watch;

pub(super) use bodies::BodySpace;
pub(super) use explicit::ExplicitSpace;
pub(super) use watch::{Notebook, Watch};

use crate::problem::{Checked, Malformed, Problem, all_finite};

use super::sphere_contacts::SphereSpace;
use super::{BadSpec, Param, Spec};

/// Where S comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scaling {
    /// η_i = 1/g_i, shared out among normal and tangents where all contacts are those of spheres and rest is
    /// possible.
    Cone,
    /// η_i = 1/g_i.
    Trace,
    /// S = I.
    None,
}

pub(super) const SCALING: Param = Param {
    name: "scaling",
    default: "trace",
    help: "trace: one factor for each block, from its diagonal (eq. 48); none: the plain method",
};

/// Where two factors may be used.
pub(super) const CONE_SCALING: Param = Param {
    name: "scaling",
    default: "cone",
    help: "cone: two factors for each contact of spheres, along its normal and across, where all could rest, else trace; trace: one factor for each block, from its diagonal (eq. 48); none: the plain method",
};

impl Scaling {
    pub fn parse(spec: &Spec) -> Result<Self, BadSpec> {
        match spec.text("scaling") {
            None | Some("trace") => Ok(Scaling::Trace),
            Some("none") => Ok(Scaling::None),
            Some(other) => Err(BadSpec::unknown("scaling", other, &["trace", "none"])),
        }
    }

    /// The same where two factors may be used.
    pub fn parse_cone(spec: &Spec) -> Result<Self, BadSpec> {
        match spec.text("scaling") {
            None | Some("cone") => Ok(Scaling::Cone),
            Some("trace" | "none") => Self::parse(spec),
            Some(other) => Err(BadSpec::unknown("scaling", other, &["cone", "trace", "none"])),
        }
    }

    /// What is meant for `problem`. Where walls move or bodies bounce, contacts may contradict each other,
    /// and multipliers grow until the cap: the quicker, the better they are scaled.
    fn of(self, problem: &Problem) -> Self {
        match self {
            Scaling::Cone if !problem.rest_is_feasible() => Scaling::Trace,
            other => other,
        }
    }

    /// η and 1/η of the metric for a block with mean diagonal `g`; zero where nothing can move.
    fn factors(self, g: f64) -> [f64; 2] {
        match self {
            _ if g <= 0.0 => [0.0; 2],
            Scaling::Cone | Scaling::Trace => [1.0 / g, g],
            Scaling::None => [1.0; 2],
        }
    }
}

/// What a step from y to z = P(y - t S u_y) found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trial {
    /// max |z_i - y_i| / (t η_i), m/s where S is the trace's: for t ≤ 1 at least the natural-map residual at
    /// y.
    pub measure: f64,
    /// |z - y|².
    pub length: f64,
    /// ⟨u_y, z - γ⟩, J.
    pub descent: f64,
    /// ⟨z - y, (N + C)(z - y)⟩, J.
    pub curvature: f64,
    /// f(z), J.
    pub objective: f64,
}

impl Trial {
    /// False once something overflowed.
    pub fn is_finite(&self) -> bool {
        [self.measure, self.length, self.descent, self.curvature, self.objective]
            .iter()
            .all(|x| x.is_finite())
    }
}

/// What the watch asks of whoever walks: about γ, where it stands.
pub(super) trait Walk {
    /// Largest natural-map residual of γ, m/s, as the certificate has it. About half a multiplication.
    fn residual(&mut self, problem: &Problem) -> f64;

    /// f(γ), J.
    fn objective(&self) -> f64;

    /// What rounding may do to f, as a share of it.
    fn rounding(&self) -> f64 {
        1e-13
    }

    /// Remembers γ as the best so far.
    fn keep(&mut self);

    /// γ, or the best so far, in the problem's rows.
    fn rows(&self, problem: &Problem, best: bool, out: &mut Vec<f64>);
}

/// Multipliers γ, those before, a trial z, and the velocities that belong to them, over one form of the
/// problem.
pub(super) trait Space: Walk {
    /// γ = P(guess) (zero if none), y = γ.
    fn start(&mut self, problem: &Problem, guess: Option<&[f64]>, scaling: Scaling);

    /// |(N + C) x| / |x| in the metric for the vector of ones, and an upper bound of the Lipschitz constant.
    fn lipschitz(&mut self, problem: &Problem) -> [f64; 2];

    /// Told with which β z will be accepted, if ⟨u_y, z - γ⟩ is not above zero (else with none): who knows
    /// may look ahead.
    fn plan(&mut self, _beta: f64) {}

    /// z = P(y - t S u_y). One multiplication by N.
    fn step(&mut self, problem: &Problem, t: f64) -> Trial;

    /// Takes z for γ; y = γ + β (γ - γ_before).
    fn accept(&mut self, beta: f64);

    /// Takes γ + α (z - γ), where f is `objective`, for γ and y.
    fn blend(&mut self, alpha: f64, objective: f64);
}

/// A space in which any vector can be multiplied.
pub(super) trait Products: Space {
    /// out = (N + C) x, in the problem's rows. Overwrites the trial.
    fn apply(&mut self, problem: &Problem, x: &[f64], out: &mut Vec<f64>);

    /// η of the metric, 1/η and g, of block `i`.
    fn scales(&self, i: usize) -> [f64; 3];

    /// Memory over blocks, bytes.
    fn bytes(&self) -> usize;
}

/// Refuses what no solver can start from.
pub(super) fn check<'a>(problem: &'a Problem, guess: Option<&[f64]>) -> Result<Checked<'a>, Malformed> {
    let checked = problem.checked()?;
    check_guess(problem, guess)?;
    Ok(checked)
}

/// Panics unless the guess has a number for every row.
pub(super) fn fits(problem: Checked, guess: Option<&[f64]>) {
    assert!(guess.is_none_or(|g| g.len() == problem.rows()), "a number for each of {} rows", problem.rows());
}

/// The same of the guess alone.
pub(super) fn check_guess(problem: &Problem, guess: Option<&[f64]>) -> Result<(), Malformed> {
    match guess {
        Some(g) if g.len() != problem.rows() || !all_finite(g) => Err(Malformed::guess(problem.rows())),
        _ => Ok(()),
    }
}

/// Both spaces; a problem uses the one of its form.
#[derive(Debug, Default)]
pub(super) struct Spaces {
    bodies: BodySpace,
    explicit: ExplicitSpace,
    grains: SphereSpace,
    /// Whether f32 may be used.
    single: bool,
}

impl Spaces {
    pub fn new(single: bool) -> Self {
        Self { single, ..Self::default() }
    }

    /// The same without the memory.
    pub fn anew(&self) -> Self {
        Self::new(self.single)
    }

    pub fn of(&mut self, problem: &Problem) -> &mut dyn Products {
        match problem {
            Problem::Bodies(_) => &mut self.bodies,
            Problem::Explicit(_) => &mut self.explicit,
        }
    }

    /// The quickest space for the problem, started; and the residual below which it has nothing to say, m/s.
    pub fn start(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        scaling: Scaling,
    ) -> (&mut dyn Space, f64) {
        let scaling = scaling.of(problem);
        if self.single && self.grains.begin(problem, guess, scaling) {
            let floor = self.grains.floor();
            return (&mut self.grains, floor);
        }
        let space = self.of(problem);
        space.start(problem, guess, scaling);
        (space, 0.0)
    }

    /// f32 has said what it can: on in f64 from there.
    pub fn hand_over(&mut self, problem: &Problem, scaling: Scaling, watch: &mut Watch) -> &mut dyn Space {
        let rows = watch.rows(&self.grains);
        self.bodies.start(problem, Some(rows), scaling.of(problem));
        watch.handed_over(&mut self.bodies);
        &mut self.bodies
    }

    pub fn bytes(&self) -> usize {
        self.bodies.bytes() + self.explicit.bytes() + self.grains.bytes()
    }
}
