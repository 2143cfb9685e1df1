//! Which methods an island is given, in which order and with how much of each.
//!
//! ```text
//!     mechanism   bilateral rows and       elimination, factors, interior point, gradients
//!                 few contacts
//!     stiff       few bodies, faces,       factors (of heaps of few bodies and uneven masses if at rest), sweeps with momentum,
//!                 uneven masses            interior point, gradients
//!     grains      all others               sweeps with momentum, interior point, gradients
//! ```
//!
//! Measured over the gallery and the peers' states (docs/decisions/0020, 0021): sweeps with momentum are the
//! quickest to 1e-4 m/s on everything that moves and has no joints; a warm-started factorisation is as quick,
//! and has ten times the digits, on what rests, which is told by a guess that is within twice the
//! tolerance, or a hundred times where faces touch; an interior point takes 15 to 25 factorisations whatever
//! the problem. So a method that may be the quickest is tried for as long as the next one would take at most:
//! the sum is then never far above the best of them.

use crate::cone::Set;
use crate::friction_law::FrictionLaw;
use crate::parallel;
use crate::problem::islands::MECHANISM;
use crate::problem::{Bodies, Explicit, Problem, WORLD};

use super::small::BLOCKS;

/// A solver that the policy may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// `schur`.
    Elimination,
    /// `prox`.
    Factors,
    /// `prox` on the relaxed problem, judged by the law that was asked for.
    Relaxed,
    /// `ipm`.
    Interior,
    /// `apgs`.
    Momentum,
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

impl Method {
    /// Whether it factors a matrix.
    pub fn factors(self) -> bool {
        matches!(self, Method::Factors | Method::Relaxed | Method::Interior | Method::Splitting)
    }
}

/// One method's turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stage {
    pub method: Method,
    /// Most iterations.
    pub iterations: usize,
    /// Most operations of one factorisation; a method that needs more is passed over.
    pub operations: f64,
    /// It only adds digits to a solution that is within the tolerance.
    pub polishes: bool,
    /// It ends where it is not expected to arrive within its iterations.
    pub looks_ahead: bool,
}

/// As many iterations as the caller allows.
const REST: usize = usize::MAX;

/// Operations of a factorisation that take as long as one multiplication by N takes for one block (20 ns and
/// 0.5 ns).
const MULTIPLICATION: f64 = 40.0;
/// What rests is solved by one or two warm-started factorisations, and what moves not at all by twice as
/// many.
const FEW_FACTORISATIONS: usize = 4;
/// A factorisation is tried first where it takes no longer than so many multiplications: four of them are
/// then the 200 that gradients need at least where something moves.
const CHEAP: f64 = 50.0;
/// An interior point takes some 20 factorisations; on islands of a hundred bodies that is as long as so many
/// multiplications. Sweeps that are not expected to arrive within them end when that is seen (`outlook`).
const TRIAL: usize = 2000;
/// Factorisations of an interior point that arrives at all.
const INTERIOR: usize = 60;
/// Its factorisation may take as long as so many multiplications: twenty of them take four trials then.
const DEAR: f64 = 400.0;
/// Sweeps of elimination, of which a mechanism needs a few.
pub(super) const ELIMINATION: usize = 100;

/// Sweeps with momentum have no proof: what they have not solved by then, gradients, which have one, go on
/// with.
const SWEEPS: usize = 5000;

/// So many bodies are few: their factors are small whatever touches what.
const FEW_BODIES: usize = 64;
/// Points for each pair of bodies that touch: more are faces and edges.
const POINTS: f64 = 1.25;
/// A guess whose residual is less than so many times the tolerance is that of something at rest.
const RESTS: f64 = 2.0;
/// And that of bricks of which none has begun to fall.
const CREEPS: f64 = 100.0;
/// A ratio of masses beyond which gradients take too long.
const UNEVEN: f64 = 30.0;

fn stage(method: Method, iterations: usize, p: &Bodies, multiplications: f64) -> Stage {
    let operations = multiplications * MULTIPLICATION * p.blocks() as f64;
    Stage { method, iterations, operations, polishes: false, looks_ahead: false }
}

/// What a solve starts from.
pub(super) struct Guess<F> {
    /// Nothing is known.
    pub is_cold: bool,
    /// Its residual over the tolerance.
    pub residual: F,
}

/// The stages of one island.
pub(super) fn stages<F: FnOnce() -> f64>(p: &Bodies, pairs: &mut Vec<u64>, guess: Guess<F>) -> Vec<Stage> {
    let s = |method, iterations, multiplications| stage(method, iterations, p, multiplications);
    let any = f64::INFINITY;
    let exact = p.model == FrictionLaw::Coulomb;
    let last = if exact { s(Method::Conjugate, REST, any) } else { s(Method::Gradients, REST, any) };
    if is_mechanism(p) {
        return vec![
            s(Method::Elimination, ELIMINATION, any),
            s(if exact { Method::Relaxed } else { Method::Factors }, 5 * FEW_FACTORISATIONS, DEAR),
            s(Method::Interior, INTERIOR, DEAR),
            s(Method::Factors, INTERIOR, DEAR),
            last,
        ];
    }
    let stiff = is_stiff(p, pairs);
    let mut all = Vec::new();
    if exact {
        // Where nothing slides the relaxed problem's solution obeys the exact law, too.
        if is_uneven(p) {
            all.push(s(Method::Relaxed, 5 * FEW_FACTORISATIONS, DEAR));
            all.push(s(Method::Interior, 2 * INTERIOR, DEAR));
            all.push(s(Method::Factors, INTERIOR, DEAR));
        } else if stiff {
            all.push(s(Method::Relaxed, 5 * FEW_FACTORISATIONS, CHEAP));
            all.push(s(Method::Factors, 5 * FEW_FACTORISATIONS, CHEAP));
        } else {
            all.push(s(Method::Conjugate, TRIAL, any));
        }
    } else {
        // Few contacts cost next to nothing, and walls of bricks, which move along their own weight, need
        // more digits than the tolerance.
        let flat = stiff && is_flat(p, pairs);
        let few = if !stiff {
            0
        } else if p.points.len() <= BLOCKS {
            TRIAL
        } else if guess.is_cold {
            FEW_FACTORISATIONS
        } else {
            match (guess.residual)() {
                times if flat && (times <= CREEPS || is_uneven(p)) => FEW_FACTORISATIONS,
                times if times <= RESTS => FEW_FACTORISATIONS / 2,
                _ => 0,
            }
        };
        if few > 0 {
            all.push(s(Method::Factors, few, CHEAP));
            all.push(Stage { polishes: true, ..s(Method::Factors, REST, CHEAP) });
        }
        let sweeps = if stiff { TRIAL } else { SWEEPS };
        all.push(Stage { looks_ahead: stiff, ..s(Method::Momentum, sweeps, any) });
    }
    all.push(s(Method::Interior, INTERIOR, DEAR));
    if stiff && !exact {
        // Where an interior point is too dear, or has not arrived, sweeps that made room for it go on.
        all.push(s(Method::Momentum, SWEEPS, any));
    }
    all.push(last);
    all
}

/// Whether an island is one for elimination: it has joints, and no more contacts than that takes. A wheel on
/// sand is a heap that has a few joints.
fn is_mechanism(p: &Bodies) -> bool {
    let g = &p.general;
    let others = (0..g.set.len()).filter(|i| g.set[*i] != Set::Free).map(|i| g.rows(i).len());
    g.set.contains(&Set::Free) && 3 * p.points.len() + others.sum::<usize>() <= MECHANISM
}

/// Whether an island is one for factors.
fn is_stiff(p: &Bodies, pairs: &mut Vec<u64>) -> bool {
    p.bodies() <= FEW_BODIES || is_uneven(p) || is_flat(p, pairs)
}

/// Whether some contact joins masses that differ by more than [`UNEVEN`].
fn is_uneven(p: &Bodies) -> bool {
    !parallel::all(p.points.len(), |i| {
        let (a, b) = (p.points.a[i], p.points.b[i]);
        b == WORLD || {
            let (x, y) = (p.inv_mass[a as usize], p.inv_mass[b as usize]);
            !(x > UNEVEN * y || y > UNEVEN * x)
        }
    })
}

/// Whether pairs of bodies mostly touch in more than one point.
fn is_flat(p: &Bodies, pairs: &mut Vec<u64>) -> bool {
    let points = &p.points;
    pairs.clear();
    pairs.extend(
        points.a.iter().zip(&points.b).map(|(a, b)| u64::from(*a.min(b)) << 32 | u64::from(*a.max(b))),
    );
    pairs.sort_unstable();
    let different = pairs.chunk_by(|x, y| x == y).count();
    points.len() as f64 > POINTS * different as f64
}

/// Entries of a small matrix of a file.
const SMALL: usize = 12_000;

/// The stages of a problem from a file, with these shares of `cap`: a cap that is meant for sweeps is far too
/// many factorisations.
pub(super) fn file_stages(problem: &Problem, e: &Explicit, cap: usize) -> Vec<Stage> {
    let share = |x: f64| ((x * cap as f64) as usize).max(1);
    let s = |method, iterations| Stage {
        method,
        iterations,
        operations: f64::INFINITY,
        polishes: false,
        looks_ahead: false,
    };
    if problem.model() == FrictionLaw::Ccp {
        return vec![
            s(Method::Factors, share(0.005)),
            s(Method::Interior, share(0.01).min(100)),
            s(Method::Gradients, share(0.3)),
            s(Method::Splitting, share(0.3)),
            s(Method::Sweeps, share(0.2)),
            s(Method::Blocks, REST),
        ];
    }
    // Factors serve by outer iterations on the slip, which may converge slowly where sweeps, which know the
    // law, do not. Over a small matrix sweeps cost next to nothing, and of all sweeps the conjugate ones need
    // the fewest.
    if e.w.data.len() <= SMALL {
        return vec![
            s(Method::Conjugate, share(0.012)),
            s(Method::Factors, share(0.0004)),
            s(Method::Interior, share(0.01).min(100)),
            s(Method::Gradients, share(0.02)),
            s(Method::Sweeps, share(0.1)),
            s(Method::Factors, share(0.005)),
            s(Method::Gradients, share(0.3)),
            s(Method::Blocks, REST),
        ];
    }
    vec![
        s(Method::Factors, share(0.001)),
        s(Method::Conjugate, share(0.012)),
        s(Method::Interior, share(0.01).min(100)),
        s(Method::Factors, share(0.005)),
        s(Method::Gradients, share(0.3)),
        s(Method::Sweeps, share(0.3)),
        s(Method::Blocks, REST),
    ]
}
