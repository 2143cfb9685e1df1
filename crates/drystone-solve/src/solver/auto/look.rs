//! What a problem is like, and who is to try it in which order.

use crate::cone::Set;
use crate::crew::{self, Shared};
use crate::model::Model;
use crate::problem::{Bodies, Problem, WORLD, dot};
use crate::solver::Stop;
use crate::solver::first_order::least_kappa;

/// Which solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// `schur`.
    Elimination,
    /// `prox`.
    Factors,
    /// `prox` on the relaxed problem, judged by the law that was asked for.
    Relaxed,
    /// `ipm`.
    Interior,
    /// `apgd`.
    Gradients,
    /// `nncg`.
    Conjugate,
    /// `admm`.
    Splitting,
    /// `pgs`.
    Sweeps,
    /// `nsgs-ac`.
    Blocks,
}

impl Pick {
    /// How many sweeps one iteration takes the time of, as far as the cap on iterations is concerned. (What a factorisation
    /// takes depends on the problem: see [`operations`].)
    pub fn weight(self, model: Model) -> f64 {
        match self {
            Pick::Gradients => 1.5,
            // Sweeps that carry the exact law are dearer by themselves.
            Pick::Conjugate if model == Model::Coulomb => 1.5,
            Pick::Conjugate => 2.0,
            Pick::Elimination
            | Pick::Factors
            | Pick::Relaxed
            | Pick::Interior
            | Pick::Splitting
            | Pick::Sweeps
            | Pick::Blocks => 1.0,
        }
    }
}

/// One solver's turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turn {
    pub pick: Pick,
    /// Share of the cap on iterations that it may use.
    pub share: f64,
    /// And no more sweeps' worth than this.
    pub most: f64,
}

const fn turn(pick: Pick, share: f64) -> Turn {
    Turn { pick, share, most: f64::INFINITY }
}

const fn short(pick: Pick, share: f64, most: f64) -> Turn {
    Turn { pick, share, most }
}

/// Where all iterations are asked for.
pub(super) const ALL_SWEEPS: &[Turn] = &[turn(Pick::Sweeps, 1.0)];
/// Mechanisms: sweeps over contacts alone may be stopped early where they are slow.
const MECHANISMS: &[Turn] =
    &[turn(Pick::Elimination, 0.25), turn(Pick::Factors, 0.5), turn(Pick::Gradients, 1.0)];
/// Few bodies, whose limbs may wedge each other: that is all but degenerate, which an interior point does not mind.
const SMALL_MECHANISMS: &[Turn] = &[
    turn(Pick::Elimination, 0.25),
    short(Pick::Factors, 0.1, 20.0),
    short(Pick::Interior, 0.3, 60.0),
    turn(Pick::Factors, 0.3),
    turn(Pick::Gradients, 1.0),
];
/// The same with a cap that is no more than a few sweeps.
const SHORT_MECHANISMS: &[Turn] = &[turn(Pick::Elimination, 1.0), turn(Pick::Sweeps, 1.0)];
/// Walls, uneven masses, few bodies.
const STIFF: &[Turn] = &[turn(Pick::Factors, 0.5), turn(Pick::Gradients, 1.0)];
/// Masses beyond what gradients can do anything about: they end with what factors left, if anything.
const STEEP: &[Turn] = &[
    short(Pick::Factors, 0.1, 20.0),
    turn(Pick::Interior, 0.2),
    turn(Pick::Factors, 0.6),
    turn(Pick::Gradients, 1.0),
];
/// The same under the exact law: the interior point has the slip in its Newton step.
const STEEP_COULOMB: &[Turn] = &[
    short(Pick::Relaxed, 0.1, 20.0),
    turn(Pick::Interior, 0.5),
    turn(Pick::Factors, 0.25),
    turn(Pick::Conjugate, 1.0),
];
/// The same two where accuracy is meant.
const PATIENT_STEEP: &[Turn] = &[
    short(Pick::Factors, 0.1, 40.0),
    short(Pick::Interior, 0.2, 300.0),
    turn(Pick::Factors, 0.2),
    turn(Pick::Splitting, 0.3),
    turn(Pick::Gradients, 0.5),
    turn(Pick::Sweeps, 1.0),
];
const PATIENT_COULOMB_STEEP: &[Turn] = &[
    short(Pick::Factors, 0.2, 40.0),
    short(Pick::Interior, 0.3, 250.0),
    turn(Pick::Factors, 0.2),
    turn(Pick::Splitting, 0.3),
    turn(Pick::Gradients, 0.5),
    turn(Pick::Sweeps, 1.0),
];
/// Grains, with a cap that lets gradients converge.
const LOOSE: &[Turn] = &[turn(Pick::Gradients, 1.0)];
/// The same of balls, whose sweeps are quick: a multiplication takes the time of two.
const LOOSE_BALLS: &[Turn] = &[turn(Pick::Gradients, 0.75)];
/// The same of balls whose cones gradients are scaled to, see [`calm`]: 70 multiplications leave as much as 100 with one scale.
const CALM_BALLS: &[Turn] = &[turn(Pick::Gradients, 0.525)];
/// Grains, with a cap that gradients could make little of.
const LARGE: &[Turn] = &[turn(Pick::Conjugate, 1.0)];
/// Walls, uneven masses, few bodies under the exact law: a fixed point on the slip contracts soon or not at all.
/// What rests has been found by then.
const STIFF_COULOMB: &[Turn] = &[
    short(Pick::Relaxed, 0.25, 30.0),
    short(Pick::Factors, 0.1, 20.0),
    short(Pick::Interior, 0.3, 60.0),
    turn(Pick::Conjugate, 1.0),
];
/// Grains under the exact law: sweeps know it, and need no outer iteration on the slip.
const LOOSE_COULOMB: &[Turn] = &[turn(Pick::Conjugate, 1.0)];
/// A cap that leaves room for everybody: accuracy is meant.
const PATIENT: &[Turn] = &[turn(Pick::Gradients, 0.3), turn(Pick::Factors, 0.1), turn(Pick::Sweeps, 1.0)];
/// The same, factors first.
const PATIENT_STIFF: &[Turn] =
    &[turn(Pick::Factors, 0.2), turn(Pick::Gradients, 0.5), turn(Pick::Sweeps, 1.0)];
/// The same for mechanisms.
const PATIENT_MECHANISMS: &[Turn] = &[
    turn(Pick::Elimination, 0.2),
    turn(Pick::Factors, 0.2),
    turn(Pick::Gradients, 0.5),
    turn(Pick::Sweeps, 1.0),
];
/// Exact Coulomb where accuracy is meant: gradients are quick where little slides, and the interior point where much does.
const PATIENT_COULOMB: &[Turn] = &[
    short(Pick::Gradients, 0.3, 1200.0),
    short(Pick::Interior, 0.3, 250.0),
    turn(Pick::Factors, 0.1),
    turn(Pick::Gradients, 0.5),
    turn(Pick::Sweeps, 1.0),
];
/// The same with joints, walls, uneven masses or few bodies.
const PATIENT_COULOMB_STIFF: &[Turn] = &[
    short(Pick::Factors, 0.2, 40.0),
    short(Pick::Interior, 0.3, 250.0),
    turn(Pick::Factors, 0.2),
    turn(Pick::Gradients, 0.5),
    turn(Pick::Sweeps, 1.0),
];
/// Problems from files: a cap that is meant for sweeps is far too many factorisations.
const FILE: &[Turn] = &[
    turn(Pick::Factors, 0.005),
    short(Pick::Interior, 0.01, 100.0),
    turn(Pick::Gradients, 0.3),
    turn(Pick::Splitting, 0.3),
    turn(Pick::Sweeps, 0.2),
    turn(Pick::Blocks, 1.0),
];

/// Exact Coulomb from a file: factors serve by outer iterations on the slip, which may converge slowly where sweeps, which
/// know the law, do not.
const FILE_COULOMB: &[Turn] = &[
    turn(Pick::Factors, 0.001),
    turn(Pick::Conjugate, 0.012),
    short(Pick::Interior, 0.01, 100.0),
    turn(Pick::Factors, 0.005),
    turn(Pick::Gradients, 0.3),
    turn(Pick::Sweeps, 0.3),
    turn(Pick::Blocks, 1.0),
];
/// The same with a small matrix: sweeps cost next to nothing, and of all sweeps the conjugate ones need the fewest.
const FILE_COULOMB_SMALL: &[Turn] = &[
    turn(Pick::Conjugate, 0.012),
    turn(Pick::Factors, 0.0004),
    short(Pick::Interior, 0.01, 100.0),
    turn(Pick::Gradients, 0.02),
    turn(Pick::Sweeps, 0.1),
    turn(Pick::Factors, 0.005),
    turn(Pick::Gradients, 0.3),
    turn(Pick::Blocks, 1.0),
];
/// Entries of a small matrix.
const SMALL: usize = 12_000;

/// Below this cap neither factors nor gradients have time to come to anything.
const SHORT: usize = 16;
/// From this cap on accuracy is meant.
const PATIENCE: usize = 1000;
/// A solve with factors takes about five factorisations. One of them may take as long as a tenth of the cap's sweeps: about
/// so many operations for each block and sweep of the cap.
const OPERATIONS: f64 = 15.0;
/// And no less than this is nothing.
const NOTHING: f64 = 1e6;
/// Operations of a factorisation in a second, roughly: only where there is a time cap.
const SPEED: f64 = 1e9;

/// So many bodies are few.
const FEW: usize = 64;
/// Points for each pair of bodies that touch: more are faces and edges.
const POINTS: f64 = 1.25;
/// A ratio of masses beyond which sweeps and gradients take too long.
const UNEVEN: f64 = 30.0;
/// And one beyond which factors of the usual kind may be, too.
const STEEPNESS: f64 = 1e4;
/// Gradients carry impulses through a heap of n contacts in some n^(1/3) iterations, and need several times as many to
/// make something of it.
const CROSSINGS: f64 = 8.0;

/// The square of the sine of an angle that is none.
const ALONG: f64 = 1e-10;

/// How many operations a factorisation may take.
pub(super) fn operations(problem: &Problem, stop: &Stop) -> f64 {
    let Problem::Bodies(_) = problem else { return f64::INFINITY };
    let most = OPERATIONS * problem.blocks() as f64 * stop.iterations as f64;
    let in_time = stop.budget.map_or(f64::INFINITY, |b| 0.2 * SPEED * b.as_secs_f64());
    most.max(NOTHING).min(in_time)
}

/// Whether there are joints to eliminate.
pub(super) fn is_mechanism(problem: &Problem) -> bool {
    matches!(problem, Problem::Bodies(p) if p.general.set.contains(&Set::Free))
}

/// Who is to try `problem`.
pub(super) fn turns(problem: &Problem, stop: &Stop, pairs: &mut Vec<u64>) -> &'static [Turn] {
    let p = match problem {
        Problem::Bodies(p) => p,
        Problem::Explicit(_) if problem.model() == Model::Ccp => return FILE,
        Problem::Explicit(e) if e.w.data.len() <= SMALL => return FILE_COULOMB_SMALL,
        Problem::Explicit(_) => return FILE_COULOMB,
    };
    let patient = stop.iterations >= PATIENCE;
    let joints = is_mechanism(problem);
    if stop.iterations < SHORT {
        return if joints { SHORT_MECHANISMS } else { ALL_SWEEPS };
    }
    if joints {
        return match patient {
            true => PATIENT_MECHANISMS,
            false if p.bodies() <= FEW => SMALL_MECHANISMS,
            false => MECHANISMS,
        };
    }
    let exact = p.model == Model::Coulomb;
    let stiff = stiff(p, pairs);
    if stiff && apart(p, STEEPNESS, false) {
        return match (patient, exact) {
            (false, false) => STEEP,
            (false, true) => STEEP_COULOMB,
            (true, false) => PATIENT_STEEP,
            (true, true) => PATIENT_COULOMB_STEEP,
        };
    }
    match stiff {
        true if exact && !patient => STIFF_COULOMB,
        false if exact && !patient => LOOSE_COULOMB,
        true if patient && exact => PATIENT_COULOMB_STIFF,
        false if patient && exact => PATIENT_COULOMB,
        true if patient => PATIENT_STIFF,
        true => STIFF,
        false if patient => PATIENT,
        false
            if stop.iterations as f64 / Pick::Gradients.weight(p.model)
                < CROSSINGS * (p.points.len() as f64).cbrt() =>
        {
            LARGE
        }
        false if round(p) && calm(p) && problem.rest_is_feasible() => CALM_BALLS,
        false if round(p) => LOOSE_BALLS,
        false => LOOSE,
    }
}

/// κ of contacts (see `first_order`) from which on two scales are worth three multiplications in ten; solid balls have 3.5.
const SOLID: f64 = 3.0;
/// Friction for which they are.
const RUBS: std::ops::RangeInclusive<f64> = 0.01..=10.0;

/// Whether balls are solid ones that all rub.
fn calm(p: &Bodies) -> bool {
    let ball = |i: &[f64; 6]| i[0] == i[1] && i[1] == i[2] && i[3..] == [0.0; 3];
    p.inv_inertia.iter().all(ball)
        && p.points.mu.iter().all(|mu| RUBS.contains(mu))
        && least_kappa(p) >= SOLID
}

/// Whether all arms lie along normals, as those of balls do.
fn round(p: &Bodies) -> bool {
    let at = |field: &[Vec<f64>; 3], i: usize| field.each_ref().map(|c| c[i]);
    crew::all(p.points.len(), |i| {
        let n = at(&p.points.normal, i);
        let lies = |arm: [f64; 3]| {
            let (along, square) = (dot(arm, n), dot(arm, arm));
            square - along * along <= ALONG * square
        };
        lies(at(&p.points.arm_a, i)) && (p.points.b[i] == WORLD || lies(at(&p.points.arm_b, i)))
    })
}

fn stiff(p: &Bodies, pairs: &mut Vec<u64>) -> bool {
    p.bodies() <= FEW || !p.general.a.is_empty() || apart(p, UNEVEN, true) || flat(p, pairs)
}

/// Whether pairs of bodies mostly touch in more than one point. All points of a pair are in one region, or between regions.
fn flat(p: &Bodies, pairs: &mut Vec<u64>) -> bool {
    let (points, runs) = (&p.points, p.points.regions.len().max(1));
    pairs.resize(points.len(), 0);
    let to = Shared(pairs.as_mut_ptr());
    let mut different = Vec::new();
    let first = |k: usize| match points.regions.get(k).map(|span| points.spans.get(*span as usize)) {
        Some(Some(span)) => span.start as usize,
        _ if k == 0 => 0,
        _ => points.len(),
    };
    crew::ranges(runs, 1, &mut different, |k| {
        let range = first(k.start)..first(k.end);
        // SAFETY: runs of points do not overlap.
        let pairs = unsafe { std::slice::from_raw_parts_mut(to.at(range.start), range.len()) };
        let bodies = points.a[range.clone()].iter().zip(&points.b[range]);
        for (pair, (a, b)) in pairs.iter_mut().zip(bodies) {
            *pair = u64::from(*a.min(b)) << 32 | u64::from(*a.max(b));
        }
        pairs.sort_unstable();
        pairs.chunk_by(|x, y| x == y).count()
    });
    points.len() as f64 > POINTS * different.iter().sum::<usize>() as f64
}

/// Whether some contact joins masses that differ by more than this ratio; one that nothing moves counts as `held` says.
fn apart(p: &Bodies, ratio: f64, held: bool) -> bool {
    !crew::all(p.points.len(), |i| {
        let (a, b) = (p.points.a[i], p.points.b[i]);
        let (x, y) = (p.inv_mass[a as usize], if b == WORLD { 0.0 } else { p.inv_mass[b as usize] });
        b == WORLD || (!held && x * y == 0.0) || !(x > ratio * y || y > ratio * x)
    })
}
