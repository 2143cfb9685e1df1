//! Joints by elimination, contacts by sweeps.
//!
//! Bilateral rows E need no projection: their multipliers follow from those of all other rows U. With S =
//! N_EE,
//!
//! ```text
//!     γ_E = -S⁻¹ (r_E + N_EU γ_U)
//!     N' = N_UU - N_UE S⁻¹ N_EU,      r' = r_U - N_UE S⁻¹ r_E,        K ∋ γ_U ⊥ N' γ_U + r' ∈ K*
//! ```
//!
//! which is the problem that is left when every mechanism moves as its joints let it. S falls apart into
//! mechanisms, each of which is factored on its own (`tree`, `factor`): S = L Lᵀ, Y = L⁻¹ N_EU, N' = N_UU -
//! YᵀY. N' falls apart into islands: mechanisms and bodies that touch each other. It is small and dense
//! there, and solved by block splitting [RenoufAcary2006, eq. 6], contact after contact, each exactly. A
//! sweep over N' knows what a joint passes on: a wheel carries its truck at once, where sweeps over all rows
//! pass the weight on from row to row.
//!
//! Where an island has too many rows for a dense matrix (a pile), and for matrices from files, another solver
//! does the work.

mod batch;
pub(super) mod f64x8;
mod factor;
mod island;
mod kinematic_tree;
mod newton;
mod sweeps;
#[cfg(test)]
mod tests;
mod tree;

use std::ops::Range;
use std::time::Instant;

use rayon::prelude::*;

use crate::certificate::Judge;
use crate::cone::Set;
use crate::disjoint::DisjointSets;
use crate::friction_law::FrictionLaw;
use crate::problem::islands::MECHANISM;
use crate::problem::{Bodies, Checked, Malformed, Problem, WORLD};
use crate::simd::dispatch;

use super::{BadSpec, Info, Record, Solution, Solver, Spec, Status, Stop, first_order};
use batch::{Groups, IslandBatch, LANES, SolveBatch};
use factor::Factor;
use island::{Ended, Island, Solve};
use tree::Tree;

pub(super) static INFO: Info = Info {
    name: "schur",
    title: "joints by elimination, contacts by block splitting on what is left",
    use_when: "mechanisms: trucks, robots, linkages, with up to about a hundred contacts each",
    models: &["ccp", "coulomb"],
    unit: "sweep",
    citation: "RenoufAcary2006, eq. 6; SilcowitzHansen2010, Algorithm 2",
    params: &[],
    make,
};

fn make(_: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    let other = super::nncg::INFO.name;
    Ok(Box::new(Schur {
        relaxed: Some(super::make(other)?),
        coulomb: Some(super::make(super::block::AC.name)?),
        ..Schur::default()
    }))
}

/// Groups of islands that are alike which are in work at once, where there are several threads.
const POOL: usize = 16;

/// Memory of those that are solved together: of several, and of one.
#[derive(Default)]
struct Place {
    several: IslandBatch<LANES>,
    single: IslandBatch<1>,
}

/// Without the two other solvers, problems that are not for this one come back untouched.
#[derive(Default)]
pub(super) struct Schur {
    tree: Tree,
    sets: DisjointSets,
    /// Island of each root; islands in the order in which they are met.
    island_of: Vec<u32>,
    /// By island: its blocks' numbers, and its mechanisms.
    islands: Vec<(Vec<u32>, Vec<u32>)>,
    used: usize,
    /// What the islands were found for, and whether all are small enough.
    known: Known,
    fits: bool,
    /// The island that is solved by itself, and the factors of its mechanisms.
    work: (Island, Vec<Factor>),
    groups: Groups,
    /// Those that are solved at the same time, and what each has to do: a range of `groups.order`.
    pool: [Place; POOL],
    tasks: Vec<Range<usize>>,
    relaxed: Option<Box<dyn Solver>>,
    coulomb: Option<Box<dyn Solver>>,
    judge: Judge,
    /// Whether what was judged last is what was returned.
    judged: bool,
}

/// Bodies of the contact points, and what sort each block has that is not bilateral.
#[derive(Default)]
struct Known {
    bodies: [Vec<u32>; 2],
    sorts: Vec<u8>,
}

impl Known {
    /// Takes over what there is; false if it is the same as before.
    fn renew(&mut self, p: &Bodies) -> bool {
        let points = p.points.mu.iter().map(|mu| if *mu == 0.0 { 1 } else { 0 });
        let general = p.general.set.iter().filter(|set| **set != Set::Free).map(|set| match set {
            Set::Friction3 { mu: 0.0 } => 1,
            Set::Friction3 { .. } => 0,
            Set::NonNegative => 2,
            Set::Interval { .. } => 3,
            Set::Free => 4,
            Set::Friction2 { .. } => 5,
            Set::Rolling5 { .. } => 6,
        });
        let sorts = points.chain(general);
        if self.bodies[0] == p.points.a
            && self.bodies[1] == p.points.b
            && sorts.clone().eq(self.sorts.iter().copied())
        {
            return false;
        }
        self.bodies[0].clone_from(&p.points.a);
        self.bodies[1].clone_from(&p.points.b);
        self.sorts.clear();
        self.sorts.extend(sorts);
        true
    }
}

impl Solver for Schur {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        let pool = self.pool.iter().map(|p| p.several.bytes() + p.single.bytes()).sum::<usize>();
        let others = pool + self.relaxed.iter().chain(&self.coulomb).map(|s| s.bytes()).sum::<usize>();
        let panels = |work: &Island| work.n.len() + work.y.iter().map(|p| p.y.len()).sum::<usize>();
        64 * panels(&self.work.0) + others
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        let jointed = matches!(problem, Problem::Bodies(p) if !p.general.a.is_empty());
        // Who asks this solver by name will want a word on the solution, and its velocities; elsewhere
        // somebody else judges. Numbers that are not finite are seen by the judge, too.
        if !(jointed && self.relaxed.is_some()) {
            let checked = first_order::check(problem, guess)?;
            return self.solve_checked(checked, guess, stop);
        }
        let checked = problem.checked_form()?;
        first_order::check_guess(problem, guess)?;
        let mut out = self.solve_checked(checked, guess, stop)?;
        let known = out.certificate.take().filter(|_| self.judged);
        let c = known.unwrap_or_else(|| self.judge.judge(problem, &out.gamma));
        if out.status == Status::Diverged || !c.dual_objective.is_finite() {
            problem.check()?;
        }
        (out.certificate, self.judged) = (Some(c), true);
        Ok(out)
    }

    fn solve_checked(
        &mut self,
        problem: Checked,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        first_order::fits(problem, guess);
        let problem = problem.problem();
        self.judged = false;
        let fits = match problem {
            Problem::Bodies(p) => {
                // Mechanisms stand on the same wheels for many steps.
                let changed = self.tree.load(p);
                if self.known.renew(p) || changed {
                    self.fits = self.find_islands(problem, p);
                    self.groups.find(problem, p, &self.tree, &self.islands[..self.used]);
                }
                self.fits
            }
            Problem::Explicit(_) => false,
        };
        let Problem::Bodies(p) = problem else { return self.hand_over(problem, guess, stop) };
        if !fits {
            return self.hand_over(problem, guess, stop);
        }
        if !stop.history {
            return Ok(self.run(problem, p, guess, stop));
        }
        // Islands are done one after the other: what all of them have after k sweeps takes a solve of its
        // own.
        let mut history = Vec::new();
        let mut before = Solution::start(problem, guess).gamma;
        loop {
            let cap =
                Stop { iterations: (history.len() + 1).min(stop.iterations), history: false, ..stop.clone() };
            let mut out = self.run(problem, p, guess, &cap);
            let c = self.judge.judge(problem, &out.gamma);
            let change = out.gamma.iter().zip(&before).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
            if stop.iterations > 0 {
                history.push(Record {
                    residual: c.residual_max,
                    constraint_violation: c.constraint_violation,
                    delta_gamma: change,
                    objective: c.dual_objective,
                });
            }
            if history.len() >= stop.iterations || out.status != Status::Iterations {
                out.iterations = history.len();
                out.history = history;
                return Ok(out);
            }
            before.clone_from(&out.gamma);
        }
    }

    fn velocities(&self) -> Option<&[[f64; 6]]> {
        self.judged.then(|| self.judge.velocities())
    }

    fn judge(&mut self) -> Option<&mut Judge> {
        self.judged = false;
        Some(&mut self.judge)
    }
}

impl Solution {
    /// The worst of all islands is the word on the whole.
    fn add(&mut self, ended: &Ended) {
        self.iterations = self.iterations.max(ended.sweeps);
        if ended.status.badness() > self.status.badness() {
            self.status = ended.status;
        }
    }
}

impl Schur {
    fn hand_over(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        let other = if problem.model() == FrictionLaw::Ccp { &mut self.relaxed } else { &mut self.coulomb };
        match other {
            Some(solver) => solver.solve(problem, guess, stop),
            None => Ok(Solution::start(problem, guess)),
        }
    }

    /// Which mechanisms and blocks belong together; false if some island is too large.
    fn find_islands(&mut self, problem: &Problem, p: &Bodies) -> bool {
        let (points, general) = (&p.points, &p.general);
        self.sets.reset(p.bodies());
        for node in self.tree.nodes.iter().filter(|n| n.bodies[1] != WORLD) {
            self.sets.join(node.bodies[0], node.bodies[1]);
        }
        for i in 0..points.len() {
            if points.b[i] != WORLD {
                self.sets.join(points.a[i], points.b[i]);
            }
        }
        for i in 0..general.a.len() {
            if general.b[i] != WORLD {
                self.sets.join(general.a[i], general.b[i]);
            }
        }
        self.island_of.clear();
        self.island_of.resize(p.bodies(), WORLD);
        self.used = 0;
        for m in 0..self.tree.mechanisms.len() {
            let body = self.tree.nodes[self.tree.mechanisms[m].start].bodies[0];
            let island = self.island(body);
            self.islands[island].1.push(m as u32);
        }
        for i in 0..points.len() {
            let island = self.island(points.a[i]);
            self.islands[island].0.push(i as u32);
        }
        for i in (0..general.a.len()).filter(|i| general.set[*i] != Set::Free) {
            let island = self.island(general.a[i]);
            self.islands[island].0.push((points.len() + i) as u32);
        }
        let rows = |island: &(Vec<u32>, Vec<u32>)| {
            island.0.iter().map(|i| problem.block(*i as usize).len()).sum::<usize>()
        };
        self.islands[..self.used].iter().all(|island| rows(island) <= MECHANISM)
    }

    /// The island of a body, a new one if need be.
    fn island(&mut self, body: u32) -> usize {
        let root = self.sets.root(body) as usize;
        if self.island_of[root] == WORLD {
            self.island_of[root] = self.used as u32;
            if self.used == self.islands.len() {
                self.islands.push(Default::default());
            }
            self.islands[self.used].0.clear();
            self.islands[self.used].1.clear();
            self.used += 1;
        }
        self.island_of[root] as usize
    }

    fn run(&mut self, problem: &Problem, p: &Bodies, guess: Option<&[f64]>, stop: &Stop) -> Solution {
        let mut out = Solution::start(problem, guess);
        out.status = Status::Converged;
        let begun = Instant::now();
        let mut dropped = 0;
        let plain = stop.tolerance > 0.0 && stop.iterations > 0;
        self.tasks.clear();
        let mut at = 0;
        for run in &self.groups.runs {
            let end = at + *run as usize;
            self.tasks.extend((at..end).step_by(LANES).map(|from| from..end.min(from + LANES)));
            at = end;
        }
        // One thread by itself is better off with one group's memory, which stays in its cache.
        let at_once = if rayon::current_num_threads() == 1 { 1 } else { POOL };
        for first in (0..self.tasks.len()).step_by(at_once) {
            let Self { tree, islands, groups, pool, tasks, .. } = &mut *self;
            let tasks = &tasks[first..tasks.len().min(first + at_once)];
            let gamma = &out.gamma;
            pool[..tasks.len()].par_iter_mut().zip(tasks).for_each(|(Place { several, single }, task)| {
                (several.ended, single.ended) = (Default::default(), Default::default());
                let which = &groups.order[task.clone()];
                // By itself one is worth it where nothing fills in: its numbers are as many as one lane's.
                // What is not worth it alone is not done for several either: an island has the same bits
                // whatever else there is.
                let worth = groups.apt[which[0] as usize] && tree.is_open(&islands[which[0] as usize].1);
                if plain && worth && which.len() > 1 {
                    let work = several;
                    dispatch(SolveBatch { problem, p, tree, work, which, islands, groups, gamma, stop });
                } else if plain && worth {
                    let work = single;
                    dispatch(SolveBatch { problem, p, tree, work, which, islands, groups, gamma, stop });
                }
            });
            for k in 0..tasks.len() {
                let which = &self.groups.order[self.tasks[first + k].clone()];
                let (Place { several, single }, gamma) = (&self.pool[k], &mut out.gamma);
                match which.len() {
                    1 => single.hand_back(problem, p, &self.tree, which, &self.islands, gamma),
                    _ => several.hand_back(problem, p, &self.tree, which, &self.islands, gamma),
                }
                for l in 0..which.len() {
                    let Place { several, single } = &self.pool[k];
                    let ended = if l == 0 { single.ended[0].or(several.ended[0]) } else { several.ended[l] };
                    let ended = match ended {
                        Some(ended) => ended,
                        None => {
                            let island = self.groups.order[self.tasks[first + k].start + l];
                            self.one(problem, p, island as usize, &mut out.gamma, stop, begun)
                        }
                    };
                    dropped += ended.dropped;
                    out.add(&ended);
                }
            }
        }
        if out.gamma.iter().any(|x| !x.is_finite()) {
            out = Solution {
                status: Status::Diverged,
                iterations: out.iterations,
                ..Solution::start(problem, guess)
            };
        }
        // Rows that repeat others hold if those do, unless they contradict each other.
        if dropped > 0 && out.status == Status::Converged && stop.tolerance > 0.0 {
            let c = self.judge.judge(problem, &out.gamma);
            if !(c.residual_max <= stop.tolerance) {
                out.status = Status::Iterations;
            }
            (out.certificate, self.judged) = (Some(c), true);
        }
        out
    }

    /// One island by itself.
    fn one(
        &mut self,
        problem: &Problem,
        p: &Bodies,
        island: usize,
        gamma: &mut [f64],
        stop: &Stop,
        begun: Instant,
    ) -> Ended {
        let Self { tree, islands, work: (work, factors), .. } = self;
        let (blocks, mechanisms) = &islands[island];
        if factors.len() < mechanisms.len() {
            factors.resize_with(mechanisms.len(), Factor::default);
        }
        dispatch(Solve { problem, p, tree, factors, work, blocks, mechanisms, gamma, stop, begun })
    }
}
