//! Looks for a contradiction on purpose, and softens problems that have one.
//!
//! Solvers meet a proof only by the way, where their multipliers run off (`growth.rs`). A [`Referee`] asks for it: give every
//! row a little compliance C = δ g, and the problem has a solution whatever its constraints are,
//!
//! ```text
//!     min ½ |v|²_M + ½ Σ dist²(Dᵢᵀv + bᵢ, Kᵢ*) / (δ gᵢ),        γ_i = P_K(-u_i) / (δ g_i)
//! ```
//!
//! the least motion among those that miss the constraints by the least squares, up to δ. If some velocity satisfies all, γ stays what it
//! is as δ → 0. If none does, the distances stay, γ grows like 1/δ, and Dγ = Mv does not: d = γ is Farkas' ray, with
//! |v|_M ≥ -⟨b, d⟩ / √⟨d, Nd⟩ ≈ Σ dist²/g / (δ |v|_M) for every v that satisfied the constraints. The proof is judged by
//! `growth.rs` and does not depend on how well that problem was solved; semismooth Newton steps solve it in a few tens of factorisations.
//! The blocks that d is made of are those that contradict each other. Problems of many blocks are shown to accelerated gradients before,
//! which see for less whether multipliers grow at all; where factors would be too large, strong growth must do.
//!
//! Free velocities do not matter for whether constraints can be satisfied: they are left out. So are friction under the exact law, and what bounded
//! multipliers can do.
//!
//! [`give_way`] is the rule by which such a problem is softened: blocks that are not satisfied at rest get the compliance,
//! all others stay rigid. Rest satisfies those, so that the softened problem has a solution, and its multipliers are bounded.

use crate::certificate::Judge;
use crate::cone::{AdmissibleSet, MAX_ROWS, Set, norm};
use crate::crew;
use crate::model::Model;
use crate::problem::{Bodies, Malformed, Problem, WORLD, dot, symmetric};

use super::growth::{Growth, recession};
use super::prox::Prox;
use super::{Solver, Status, Stop};

/// δ: small enough for a proof, large enough for its solution to have some digits.
const SOFT: f64 = 1e-11;
/// The first ε of the proximal steps.
const FIRST: f64 = 1e-6;
/// Share of what is asked for to which the compliant problem is solved.
const ROUGHLY: f64 = 1e-3;
/// Distances that are left, over what is asked for, where all constraints can be satisfied.
const NONE_LEFT: f64 = 1e-2;
/// Up to so many blocks factors are asked at once.
const FEW: usize = 64;
/// Multiplications of an opinion: enough for growth to be told from slowness; and, where multipliers do grow, for that to mean something.
const OPINIONS: [usize; 3] = [160, 640, 2560];
/// Growth is taken for a contradiction where the multipliers prove that any solution would need a mean speed of more than so many
/// times what is asked for, for each body between one and the ground: in a free column of n bodies the last moves n times
/// as fast as each contact asks for. Only where a problem is too large for factors.
const FAR: f64 = 2.0;
/// Operations of a factorisation, and factorisations, at most.
const OPERATIONS: f64 = 2e6;
const FACTORISATIONS: usize = 120;
/// Blocks with smaller shares in the contradiction than this, over the largest, are not named.
const NAMED: f64 = 1e-2;

/// What a referee says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Blocks that contradict each other, those that press hardest first; empty where no contradiction was found.
    pub blocks: Vec<usize>,
    /// Whether there is a proof, or velocities that satisfy the constraints. Otherwise there are strong signs, or none.
    pub decided: bool,
}

impl Verdict {
    /// Whether no velocity satisfies the constraints.
    pub fn is_contradiction(&self) -> bool {
        !self.blocks.is_empty()
    }
}

/// See the module.
pub struct Referee {
    gradients: Option<Box<dyn Solver>>,
    prox: Prox,
    judge: Judge,
    growth: Growth,
    /// The problem about constraints alone, and the same with compliance.
    bare: Problem,
    soft: Problem,
}

impl Default for Referee {
    fn default() -> Self {
        let mut prox = Prox::down_to(FIRST, SOFT);
        prox.limit_operations(OPERATIONS);
        let empty = || Problem::Bodies(Bodies::default());
        Self {
            gradients: super::make("apgd").ok(),
            prox,
            judge: Judge::default(),
            growth: Growth::default(),
            bare: empty(),
            soft: empty(),
        }
    }
}

impl Referee {
    /// The same as [`Referee::ask`] for the relaxed law, whatever the problem's own is: under that friction has a part in what can be
    /// proved. For the exact law it decides nothing.
    pub fn ask_relaxed(&mut self, problem: &Problem) -> Result<Verdict, Malformed> {
        let mut relaxed = Problem::Bodies(Bodies::default());
        relaxed.copy_from(problem);
        relaxed.set_model(Model::Ccp);
        Ok(Verdict { decided: false, ..self.ask(&relaxed)? })
    }

    /// Looks for a contradiction.
    pub fn ask(&mut self, problem: &Problem) -> Result<Verdict, Malformed> {
        let none = Verdict { blocks: Vec::new(), decided: true };
        let asked = asked(problem);
        if !(asked > 0.0) || problem.rest_is_feasible() {
            return Ok(none);
        }
        let Self { gradients, prox, judge, growth, bare, soft } = self;
        bare.copy_from(problem);
        strip(bare);
        let stop =
            Stop { tolerance: ROUGHLY * asked, iterations: FACTORISATIONS, budget: None, history: false };
        let few = bare.blocks() <= FEW;
        // Many problems are soon satisfied; and multipliers that do not grow need no closer look.
        if let Some(gradients) = gradients.as_mut().filter(|_| !few) {
            let opinion = gradients.solve(bare, None, &Stop { iterations: OPINIONS[0], ..stop.clone() })?;
            match opinion.status {
                Status::Converged => return Ok(none),
                Status::Wedged => {
                    return Ok(Verdict { blocks: pressing(bare, &opinion.gamma), decided: true });
                }
                _ if !opinion.grows => return Ok(Verdict::default()),
                _ => (),
            }
        }
        soft.copy_from(bare);
        add_compliance(soft, |_| SOFT);
        let solution = prox.solve(soft, None, &stop)?;
        if growth.is_proof(bare, judge, &solution.gamma) {
            return Ok(Verdict { blocks: pressing(bare, &solution.gamma), decided: true });
        }
        // C γ = δ g γ is the distance that is left.
        let left = (0..bare.blocks())
            .map(|i| SOFT * bare.block_diagonal(i)[0] * norm(&solution.gamma[bare.block(i)]))
            .fold(0.0, f64::max);
        if solution.status == Status::Converged && left <= NONE_LEFT * asked {
            return Ok(none);
        }
        let Some(gradients) = gradients.as_mut().filter(|_| !few) else { return Ok(Verdict::default()) };
        let (mass, far) = (mass(bare), FAR * depth(bare) as f64 * asked);
        for iterations in OPINIONS {
            let opinion = gradients.solve(bare, None, &Stop { iterations, ..stop.clone() })?;
            match opinion.status {
                Status::Converged => return Ok(none),
                Status::Wedged => {
                    return Ok(Verdict { blocks: pressing(bare, &opinion.gamma), decided: true });
                }
                _ if !opinion.grows => break,
                _ => (),
            }
            let needed = judge.judge(bare, &opinion.gamma).least_feasible_speed(mass);
            if needed.is_some_and(|needed| needed > far) {
                return Ok(Verdict { blocks: pressing(bare, &opinion.gamma), decided: false });
            }
        }
        Ok(Verdict::default())
    }
}

/// Blocks that the direction is made of, those with the largest parts first.
pub fn pressing(problem: &Problem, d: &[f64]) -> Vec<usize> {
    let part =
        |i: usize| problem.block_diagonal(i)[0] * d[problem.block(i)].iter().map(|x| x * x).sum::<f64>();
    let mut parts: Vec<(f64, usize)> = (0..problem.blocks()).map(|i| (part(i), i)).collect();
    let most = parts.iter().map(|p| p.0).fold(0.0, f64::max);
    parts.retain(|p| p.0 > 0.0 && p.0 >= NAMED * NAMED * most);
    parts.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
    parts.into_iter().map(|p| p.1).collect()
}

/// The longest of the shortest ways from a body to the ground, or to the first body of its island where there is none, in bodies: in a
/// free column of so many the last moves as many times as fast as each contact asks for. Blocks, for an explicit matrix.
pub fn depth(problem: &Problem) -> usize {
    let Problem::Bodies(p) = problem else { return problem.blocks() };
    let pairs = || {
        let joints = p.general.a.iter().zip(&p.general.b);
        p.points.a.iter().zip(&p.points.b).chain(joints).map(|(a, b)| (*a, *b))
    };
    const FAR_OFF: usize = usize::MAX;
    let mut level = vec![FAR_OFF; p.bodies()];
    let mut front = Vec::new();
    // Neighbours of body i: those from `first[i]` on.
    let mut first = vec![0u32; p.bodies() + 1];
    for (a, b) in pairs() {
        if b != WORLD {
            first[a as usize + 1] += 1;
            first[b as usize + 1] += 1;
        } else if level[a as usize] == FAR_OFF {
            level[a as usize] = 1;
            front.push(a);
        }
    }
    (0..p.bodies()).for_each(|i| first[i + 1] += first[i]);
    let mut neighbours = vec![0u32; first[p.bodies()] as usize];
    let mut at = first.clone();
    for (a, b) in pairs().filter(|(_, b)| *b != WORLD) {
        for (here, other) in [(a, b), (b, a)] {
            neighbours[at[here as usize] as usize] = other;
            at[here as usize] += 1;
        }
    }
    let (mut deepest, mut islands) = (1, 0..p.bodies());
    let mut next = Vec::new();
    loop {
        while !front.is_empty() {
            for &a in &front {
                deepest = deepest.max(level[a as usize]);
                for &b in &neighbours[first[a as usize] as usize..first[a as usize + 1] as usize] {
                    if level[b as usize] == FAR_OFF {
                        level[b as usize] = level[a as usize] + 1;
                        next.push(b);
                    }
                }
            }
            std::mem::swap(&mut front, &mut next);
            next.clear();
        }
        let Some(i) = islands.find(|&i| level[i] == FAR_OFF) else { return deepest };
        level[i] = 1;
        front.push(i as u32);
    }
}

/// Of all bodies that can move, kg; 0 where masses are not known.
fn mass(problem: &Problem) -> f64 {
    match problem {
        Problem::Bodies(p) => p.inv_mass.iter().filter(|m| **m > 0.0).map(|m| 1.0 / m).sum(),
        Problem::Explicit(_) => 0.0,
    }
}

/// The largest speed that a block asks of bodies at rest, m/s: how far b is from its dual cone. An explicit matrix cannot tell
/// b from the bodies' own motion: there it is the largest speed that a block sees without multipliers.
pub fn asked(problem: &Problem) -> f64 {
    largest(problem.blocks(), |i, most| demand(problem, i, most))
}

/// Whether some block asks for more than `speed`, m/s: one that does is enough.
pub fn asks_for(problem: &Problem, speed: f64) -> bool {
    (0..problem.blocks()).rev().any(|i| demand(problem, i, speed) > speed)
}

/// Whether some block with bounded multipliers, a motor of limited force, can give more than `speed` by itself, m/s: it asks for nothing that
/// could not be refused, and does work all the same. (Dry friction has no bias, and does none.)
pub fn pushes(problem: &Problem, speed: f64) -> bool {
    (0..problem.blocks()).rev().any(|i| {
        let Set::Interval { lo, hi } = problem.set(i) else { return false };
        let mut b = [0.0; MAX_ROWS];
        let drives = !problem.block_bias(i, &mut b) || norm(&b) > DUST;
        drives && lo.abs().max(hi.abs()) * problem.block_diagonal(i)[0] > speed
    })
}

/// The largest speed that is left undone without any multipliers, m/s: their residual, or a little more. Where one block leaves more
/// than `enough`, others need not be asked.
pub fn undone(problem: &Problem, enough: f64) -> f64 {
    largest(problem.blocks(), |i, most| {
        if most > enough {
            return most;
        }
        let mut r = [0.0; MAX_ROWS];
        problem.block_rhs(i, &mut r);
        let (set, r) = (problem.set(i), &mut r[..problem.block(i).len()]);
        problem.model().correct(set, r);
        if set.is_cone() {
            r.iter_mut().for_each(|x| *x = -*x);
            set.project(r);
        }
        norm(r)
    })
}

/// The largest of `count` numbers; each is told the largest so far, and need not be right below it.
fn largest(count: usize, of: impl Fn(usize, f64) -> f64 + Sync) -> f64 {
    let mut parts = Vec::new();
    crew::ranges(count, PIECE, &mut parts, |range| range.fold(0.0, |most: f64, i| most.max(of(i, most))));
    parts.into_iter().fold(0.0, f64::max)
}

/// The speeds of the fastest body without multipliers and with velocities `v`, m/s: √(vᵀMv / m), rotation included. None for an
/// explicit matrix, which knows no bodies.
pub fn fastest(problem: &Problem, v: &[[f64; 6]]) -> Option<[f64; 2]> {
    let Problem::Bodies(p) = problem else { return None };
    // Squares, of both velocities of a body at once: its inertia is inverted once.
    let mut most = [0.0; 2];
    for (i, (free, now)) in p.v_free.iter().zip(v).enumerate() {
        let m = p.inv_mass[i];
        if m <= 0.0 {
            continue;
        }
        let inertia = Inertia::of(&p.inv_inertia[i]);
        for (most, v) in most.iter_mut().zip([free, now]) {
            let square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + m * inertia.energy([v[3], v[4], v[5]]);
            *most = if square <= *most { *most } else { square };
        }
    }
    Some(most.map(f64::sqrt))
}

/// Twice the kinetic energy of the bodies without multipliers and with velocities `v`, J; None for an explicit matrix.
pub fn energies(problem: &Problem, v: &[[f64; 6]]) -> Option<[f64; 2]> {
    let Problem::Bodies(p) = problem else { return None };
    let energy = |v: &[[f64; 6]]| {
        let moving = v.iter().enumerate().filter(|(i, _)| p.inv_mass[*i] > 0.0);
        let of = |(i, v): (usize, &[f64; 6])| {
            (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / p.inv_mass[i]
                + spin_energy(&p.inv_inertia[i], [v[3], v[4], v[5]])
        };
        moving.map(of).sum::<f64>()
    };
    Some([energy(&p.v_free), energy(v)])
}

/// ωᵀIω from the inverse of I; 0 where rotation is locked.
fn spin_energy(inverse: &[f64; 6], omega: [f64; 3]) -> f64 {
    Inertia::of(inverse).energy(omega)
}

/// I as cofactors and determinant of its inverse.
struct Inertia {
    cofactors: [f64; 6],
    determinant: f64,
}

impl Inertia {
    #[inline(always)]
    fn of(inverse: &[f64; 6]) -> Self {
        let [xx, yy, zz, xy, xz, yz] = *inverse;
        let cofactors = [
            yy * zz - yz * yz,
            xx * zz - xz * xz,
            xx * yy - xy * xy,
            xz * yz - xy * zz,
            xy * yz - xz * yy,
            xy * xz - xx * yz,
        ];
        Self { cofactors, determinant: xx * cofactors[0] + xy * cofactors[3] + xz * cofactors[4] }
    }

    /// ωᵀIω; 0 where rotation is locked.
    #[inline(always)]
    fn energy(&self, omega: [f64; 3]) -> f64 {
        if !(self.determinant > 0.0) {
            return 0.0;
        }
        dot(omega, symmetric(&self.cofactors, omega)) / self.determinant
    }
}

/// Softens `problem` where it asks bodies at rest for a motion: contact points that do get a compliance of the first share of their
/// own diagonal of N, all other blocks of the second.
pub fn give_way(problem: &mut Problem, shares: [f64; 2]) {
    let points = match problem {
        Problem::Bodies(p) => p.points.len(),
        Problem::Explicit(_) => 0,
    };
    let shares: Vec<f64> = (0..problem.blocks())
        .map(|i| if demand(problem, i, 0.0) > 0.0 { shares[(i >= points) as usize] } else { 0.0 })
        .collect();
    add_compliance(problem, |i| shares[i]);
}

/// Blocks that one thread looks at in a row.
const PIECE: usize = 4096;
/// Dust that rounding leaves of a bias, m/s.
const DUST: f64 = 1e-12;

/// The speed that a block asks of bodies at rest, m/s; nothing where it is no more than `enough`.
fn demand(problem: &Problem, i: usize, enough: f64) -> f64 {
    if let Problem::Bodies(p) = problem
        && i < p.points.len()
        && p.points.drift[0].is_empty()
        && p.points.bias[i] >= 0.0
    {
        return 0.0;
    }
    // Rows of joints are many, and few of them ask for anything.
    if let Problem::Bodies(p) = problem
        && let Some(g) = i.checked_sub(p.points.len())
        && let [first, end] = p.general.first_row[g..g + 2]
        && end - first == 1
        && p.general.bias[first as usize].abs() <= enough
    {
        return 0.0;
    }
    let mut b = [0.0; MAX_ROWS];
    if !problem.block_bias(i, &mut b) {
        problem.block_rhs(i, &mut b);
    }
    let b = &mut b[..problem.block(i).len()];
    let size = norm(b);
    if size <= enough {
        return 0.0;
    }
    b.iter_mut().for_each(|x| *x = -*x);
    recession(problem.set(i), problem.model(), b);
    let distance = norm(b);
    // Of what cannot move nothing is asked: that takes longer to find out.
    let asks = distance > enough.max(DUST * (1.0 + size)) && !(problem.block_diagonal(i)[0] <= 0.0);
    if asks { distance } else { 0.0 }
}

/// Leaves of a problem what decides whether some velocity satisfies it.
fn strip(problem: &mut Problem) {
    let exact = problem.model() == Model::Coulomb;
    let bare = |set: Set| match set {
        Set::Interval { lo, hi } => Set::Interval {
            lo: if lo == f64::NEG_INFINITY { lo } else { 0.0 },
            hi: if hi == f64::INFINITY { hi } else { 0.0 },
        },
        Set::Friction2 { .. } if exact => Set::Friction2 { mu: 0.0 },
        Set::Friction3 { .. } if exact => Set::Friction3 { mu: 0.0 },
        Set::Rolling5 { .. } if exact => Set::Rolling5 { mu: 0.0, mu_r: 0.0 },
        set => set,
    };
    problem.set_model(Model::Ccp);
    match problem {
        Problem::Bodies(p) => {
            p.v_free.fill([0.0; 6]);
            if exact {
                p.points.mu.fill(0.0);
            }
            p.general.set.iter_mut().for_each(|s| *s = bare(*s));
        }
        Problem::Explicit(p) => p.sets.iter_mut().for_each(|s| *s = bare(*s)),
    }
}

/// Adds a share of its own diagonal to the compliance of every block.
fn add_compliance(problem: &mut Problem, share: impl Fn(usize) -> f64) {
    let add: Vec<f64> = (0..problem.blocks()).map(|i| share(i) * problem.block_diagonal(i)[0]).collect();
    match problem {
        Problem::Bodies(p) => {
            let n = p.points.len();
            for column in &mut p.points.compliance {
                column.resize(n, 0.0);
                column.iter_mut().zip(&add).for_each(|(c, x)| *c += x);
            }
            let g = &mut p.general;
            g.compliance.resize(g.bias.len(), 0.0);
            for (i, x) in add[n..].iter().enumerate() {
                let rows = g.first_row[i] as usize..g.first_row[i + 1] as usize;
                g.compliance[rows].iter_mut().for_each(|c| *c += x);
            }
        }
        Problem::Explicit(p) => {
            p.compliance.resize(p.q.len(), 0.0);
            for (i, x) in add.iter().enumerate() {
                let rows = p.first_row[i] as usize..p.first_row[i + 1] as usize;
                p.compliance[rows].iter_mut().for_each(|c| *c += x);
            }
        }
    }
}
