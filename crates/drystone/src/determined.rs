//! Which forces of contacts can be trusted, and the smallest ones.
//!
//! The velocities of a step are unique, its multipliers need not be: a table has four legs, a ball in a
//! groove two walls with friction [Negrut2017, section 6]. Of all multipliers that give the same velocities
//! one has the smallest norm,
//!
//! ```text
//!     min ½ Σ |γ_i|²   over γ ∈ K  with  N γ = N γ*
//! ```
//!
//! which is the limit of the same problem with a compliance that goes to zero: it is solved with 1e-6 of
//! the mean diagonal of N. Forces that are determined come out the same to about that share times the
//! condition of N.
//!
//! Whether a force is determined is a matter of the face of its cone that solutions can move in, given the
//! velocities u: none where the contact parts, the ray against the slip where it slides, all directions
//! where it sticks. A force is determined if it takes no part in any combination of those directions that
//! does nothing to the bodies, M⁻¹ D δ = 0. (A combination may be there that the cones do not admit: "not
//! determined" is said too often then, never too seldom.)

use drystone_solve::cone::{MAX_ROWS, Set};
use drystone_solve::problem::islands::Islands;
use drystone_solve::solver::{Stop, make};
use drystone_solve::{FrictionLaw, Problem};
use glam::DVec3;

use crate::joint::redundancy::dependent;
use crate::world::World;

/// Compliance of the problem of the smallest multipliers, over the mean diagonal of N.
const SOFT: f64 = 1e-6;
/// Velocities below this share of the largest free one are zero.
const MAX_SPEED: f64 = 1e-6;
/// Islands with more directions than this are not looked at: the work grows with the cube.
const MAX_DIRECTIONS: usize = 900;

/// The forces of the contacts, by contact.
#[derive(Clone, Debug, PartialEq)]
pub struct SmallestForces {
    /// The smallest forces that give the step's velocities, on the contact's first body, N, world axes.
    pub force: Vec<DVec3>,
    /// Whether the force could not be another one; None where the island is too large to tell.
    pub determined: Vec<Option<bool>>,
    /// The same of its normal part alone.
    pub normal_determined: Vec<Option<bool>>,
    /// Largest change of a body's velocity against the step's own solution, m/s.
    pub off: f64,
}

impl World {
    /// The smallest contact forces that give the velocities of the last step, and which of them are
    /// determined. None where the step's solution was not kept ([`World::keep_solutions`]), is that of
    /// several problems, or has springs on several bodies in it.
    pub fn smallest_forces(&self) -> Option<SmallestForces> {
        let kept = self.kept().filter(|_| self.asleep() == 0)?;
        let (problem, gamma) = (&kept.problem, kept.gamma.as_slice());
        let contacts = self.work.collision.contacts.len();
        let (small, off) = smallest(problem, gamma)?;
        let (all, normal) = determined(problem, gamma, &small)?;
        let mut out = SmallestForces {
            force: kept.impulses(&small, contacts).into_iter().map(|x| x / self.settings.h).collect(),
            determined: vec![Some(true); contacts],
            normal_determined: vec![Some(true); contacts],
            off,
        };
        for block in 0..problem.blocks() {
            if let Some(i) = kept.contact_of(block).filter(|i| *i < contacts) {
                out.determined[i] = all[block];
                out.normal_determined[i] = normal[block];
            }
        }
        Some(out)
    }
}

/// The multipliers of the smallest norm, and by how much their velocities are off, m/s.
fn smallest(problem: &Problem, gamma: &[f64]) -> Option<(Vec<f64>, f64)> {
    let Problem::Bodies(p) = problem else { return None };
    let mut soft = p.clone();
    let (points, rows) = (soft.points.len(), soft.general.bias.len());
    let count = problem.blocks().max(1) as f64;
    let mean = (0..problem.blocks()).map(|i| problem.block_diagonal(i)[0]).sum::<f64>() / count;
    let more = SOFT * mean;
    soft.points.compliance.iter_mut().for_each(|c| {
        c.resize(points, 0.0);
        c.iter_mut().for_each(|c| *c += more);
    });
    soft.general.compliance.resize(rows, 0.0);
    soft.general.compliance.iter_mut().for_each(|c| *c += more);
    if p.model == FrictionLaw::Coulomb {
        // With the slip that is known the exact law is a cone problem, too.
        soft.model = FrictionLaw::Ccp;
        let (mut v, mut u) = (Vec::new(), [0.0; MAX_ROWS]);
        p.velocities(gamma, &mut v);
        for i in 0..points {
            problem.block_velocity(i, &v, gamma, &mut u);
            soft.points.bias[i] +=
                drystone_solve::friction_law::slip_term(problem.set(i), &u[..problem.block(i).len()]);
        }
    }
    let speed = p.v_free.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    let stop = Stop { tolerance: 1e-11 * speed.max(1e-3), iterations: 500, ..Stop::default() };
    let found = make("ipm").ok()?.solve(&Problem::Bodies(soft), Some(gamma), &stop).ok()?;
    let [mut mine, mut theirs] = [Vec::new(), Vec::new()];
    p.velocities(gamma, &mut theirs);
    p.velocities(&found.gamma, &mut mine);
    let pairs = mine.iter().zip(&theirs).flat_map(|(a, b)| a[..3].iter().zip(&b[..3]));
    let off = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    Some((found.gamma, off))
}

/// Of every block whether its multipliers, and whether its first one, are the only ones.
fn determined(
    problem: &Problem,
    gamma: &[f64],
    small: &[f64],
) -> Option<(Vec<Option<bool>>, Vec<Option<bool>>)> {
    let Problem::Bodies(p) = problem else { return None };
    let mut v = Vec::new();
    p.velocities(gamma, &mut v);
    let speed = p.v_free.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    let still = MAX_SPEED * speed.max(1e-9);
    let mut islands = Islands::default();
    islands.find(p);
    let (mut all, mut normal) = (vec![Some(true); problem.blocks()], vec![Some(true); problem.blocks()]);
    let mut moved = vec![[0.0; 6]; p.bodies()];
    for k in 0..islands.len() {
        // (block, whether it is the normal's direction, the direction)
        let mut directions: Vec<(usize, bool, [f64; MAX_ROWS])> = Vec::new();
        for block in islands.blocks(k).iter().map(|b| *b as usize) {
            let mut u = [0.0; MAX_ROWS];
            problem.block_velocity(block, &v, gamma, &mut u);
            directions.extend(face(problem, block, &u, small, still).into_iter().map(|(n, d)| (block, n, d)));
        }
        let blocks = || islands.blocks(k).iter().map(|b| *b as usize);
        if directions.len() > MAX_DIRECTIONS {
            blocks().for_each(|b| (all[b], normal[b]) = (None, None));
            continue;
        }
        let bodies = islands.bodies(k);
        let vectors: Vec<Vec<f64>> = directions
            .iter()
            .map(|(block, _, d)| {
                bodies.iter().for_each(|b| moved[*b as usize] = [0.0; 6]);
                problem.move_block(*block, &d[..problem.block(*block).len()], &mut moved);
                let of = |b: &u32| {
                    let (m, i) = (p.inv_mass[*b as usize], &p.inv_inertia[*b as usize]);
                    let turn = ((i[0] + i[1] + i[2]) / 3.0).max(f64::MIN_POSITIVE);
                    let x = moved[*b as usize];
                    let m = m.max(f64::MIN_POSITIVE);
                    (0..6).map(move |k| if k < 3 { x[k] / m.sqrt() } else { x[k] / turn.sqrt() })
                };
                bodies.iter().flat_map(of).collect()
            })
            .collect();
        let (_, exchangeable) = dependent(&vectors);
        for ((block, is_normal, _), yes) in directions.iter().zip(exchangeable) {
            if yes {
                all[*block] = Some(false);
                if *is_normal {
                    normal[*block] = Some(false);
                }
            }
        }
    }
    Some((all, normal))
}

/// Directions in which the multipliers of a block can be changed where its rows move at `u`; whether each
/// is the normal's.
fn face(
    problem: &Problem,
    block: usize,
    u: &[f64; MAX_ROWS],
    small: &[f64],
    still: f64,
) -> Vec<(bool, [f64; MAX_ROWS])> {
    let rows = problem.block(block);
    let unit = |k: usize| {
        let mut d = [0.0; MAX_ROWS];
        d[k] = 1.0;
        d
    };
    let every = || (0..rows.len()).map(|k| (k == 0, unit(k))).collect::<Vec<_>>();
    let along = || {
        // Against the slip, on the edge of the cone: the normal goes with it.
        let mut d = [0.0; MAX_ROWS];
        let size = small[rows.clone()].iter().map(|x| x * x).sum::<f64>().sqrt();
        rows.clone().enumerate().for_each(|(k, row)| d[k] = small[row] / size.max(f64::MIN_POSITIVE));
        vec![(true, d)]
    };
    let compliant = (0..rows.len()).any(|k| problem.compliance(block, rows.start + k) > 0.0);
    if compliant {
        // With compliance a multiplier is unique.
        return Vec::new();
    }
    match problem.set(block) {
        Set::Free => every(),
        Set::NonNegative => {
            if u[0] > still {
                Vec::new()
            } else {
                every()
            }
        }
        Set::Interval { .. } => {
            if u[0].abs() > still {
                Vec::new()
            } else {
                every()
            }
        }
        Set::Friction2 { mu } | Set::Friction3 { mu } | Set::Rolling5 { mu, .. } => {
            let slips = u[1..rows.len()].iter().map(|x| x * x).sum::<f64>().sqrt() > still;
            let lifts = match problem.model() {
                FrictionLaw::Ccp => mu * u[1..rows.len().min(3)].iter().map(|x| x * x).sum::<f64>().sqrt(),
                FrictionLaw::Coulomb => 0.0,
            };
            match (u[0] > lifts + still, slips) {
                (true, _) => Vec::new(),
                (false, true) => along(),
                (false, false) if mu == 0.0 => vec![(true, unit(0))],
                (false, false) => every(),
            }
        }
    }
}
