//! Jacobi passes over batches: many islands with the same joints, eight at a time, one in each lane of a
//! vector.
//!
//! What `sweep` does block by block, with everything that eight trucks need for a pass one number behind the
//! other. Islands do not know of each other, so a batch can make several passes while its numbers are in the
//! cache. But the safeguard's word (A3) and the judge's are about all of them: passes are made ahead of their
//! time, what each of them saw is kept until it is asked for, and where the iteration takes another turn in
//! between, the batches go back to where they were saved and make fewer.

mod pack;
mod pass;
mod plan;
mod rows;
#[cfg(test)]
mod tests;

use crate::cone::project_friction;
use crate::friction_law::FrictionLaw;
use crate::parallel::{self, PerRun, Shared};
use crate::problem::{Bodies, Problem, dot};
use crate::simd::{Kernel, Simd, dispatch};

use super::fixed_point::{Pass, PassStats, Sweeper};
use super::schur::f64x8::On;
use pack::{Lane, Numbers, pack};
use pass::{Do, Passes};
use plan::{Batch, EMPTY, LANES, Plan};

/// Most passes made ahead: a batch comes from memory for each such run, and some of it is in vain where
/// somebody looks or a pass is rejected; at first, and after the first rejection, where another is not to be
/// expected.
const AHEAD: usize = 5;
const FAR_AHEAD: usize = 20;

#[derive(Default)]
pub(super) struct BatchSweeper {
    plan: Plan,
    numbers: Vec<Numbers>,
    omega: f64,
    lambda: f64,
    drift: bool,
    soft: bool,
    /// What each pass of the last run saw, by batch, and summed up.
    parts: Vec<PassStats>,
    seen: Vec<PassStats>,
    /// How many of these have been asked for.
    taken: usize,
    /// Passes that may be asked for yet.
    left: usize,
    /// How many to make the next time; it grows while nobody looks in between. It decides on the time it
    /// takes, never on a result.
    ahead: usize,
    /// Passes asked for since the problem was taken, and how many of them there were when one was rejected
    /// first, if one was.
    asked: usize,
    rejected: Option<usize>,
}

/// What a batch has to do.
struct Task<'a> {
    plan: &'a Plan,
    batch: &'a Batch,
    numbers: &'a mut Numbers,
    /// To pack first, and the guess.
    fresh: Fresh<'a>,
    drift: bool,
    soft: bool,
    omega: f64,
    lambda: f64,
    what: Do,
    seen: &'a mut [PassStats],
}

/// A problem that has not been packed yet, and its guess.
type Fresh<'a> = Option<(&'a Bodies, Option<&'a [f64]>)>;

impl Kernel for Task<'_> {
    type Out = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Self { plan, batch, numbers, fresh, drift, soft, omega, lambda, what, seen } = self;
        let mut passes = Passes { plan, batch, numbers, drift, soft, omega, lambda };
        if let Some((p, guess)) = fresh {
            pack(On::<S::F64>::new(), p, plan, batch, guess, passes.numbers);
            if guess.is_some() {
                passes.make::<S::F64>(Do::Start, &mut [PassStats::default()]);
            }
        }
        if what == Do::Pass {
            passes.numbers.saved.clone_from(&passes.numbers.state);
        }
        passes.make::<S::F64>(what, seen);
    }
}

fn bodies(problem: &Problem) -> &Bodies {
    let Problem::Bodies(p) = problem else { unreachable!("batches are bodies") };
    p
}

impl BatchSweeper {
    /// Takes the problem, if it is one of a batch; `iterations` is the most that will be asked for.
    pub fn begin(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        [omega, lambda]: [f64; 2],
        iterations: usize,
    ) -> bool {
        let Problem::Bodies(p) = problem else { return false };
        if p.model != FrictionLaw::Ccp || !self.plan.make(p) {
            return false;
        }
        (self.omega, self.lambda) = (omega, lambda);
        (self.drift, self.soft) = (!p.points.drift[0].is_empty(), !p.general.compliance.is_empty());
        (self.taken, self.left, self.asked) = (0, iterations, 0);
        // A batch goes on as it did: what was in vain in the last step would be in this one.
        if let Some(last) = self.rejected.take() {
            self.ahead = last.min(AHEAD);
        }
        self.seen.clear();
        self.numbers.resize_with(self.plan.batches.len(), Numbers::default);
        if iterations > 0 {
            // While a batch's numbers are in the cache.
            self.hurry(Some((p, guess)));
        } else {
            self.run(Some((p, guess)), Do::Pass, 0);
        }
        true
    }

    /// So many passes over all batches.
    fn run(&mut self, fresh: Fresh, what: Do, passes: usize) {
        self.parts.clear();
        self.parts.resize(passes * self.plan.batches.len(), PassStats::default());
        let (plan, omega, lambda) = (&self.plan, self.omega, self.lambda);
        let (drift, soft) = (self.drift, self.soft);
        let columns = (&mut self.numbers[..], PerRun(&mut self.parts, passes));
        parallel::for_each_run(plan.batches.len(), columns, 1, |k, (numbers, PerRun(seen, _))| {
            let (batch, numbers) = (&plan.batches[k], &mut numbers[0]);
            dispatch(Task { plan, batch, numbers, fresh, drift, soft, omega, lambda, what, seen });
        });
    }

    /// The sum of what all batches saw in pass `k` of `passes`.
    fn total(&self, k: usize, passes: usize) -> PassStats {
        let mut sum = PassStats::default();
        for part in self.parts.iter().skip(k).step_by(passes) {
            sum.add(*part);
            sum.curvature += part.curvature;
        }
        sum
    }

    /// Makes passes ahead.
    fn hurry(&mut self, fresh: Fresh) {
        let passes = self.ahead.clamp(1, self.left.max(1));
        self.run(fresh, Do::Pass, passes);
        self.seen = (0..passes).map(|k| self.total(k, passes)).collect();
        self.taken = 0;
        self.ahead = (2 * self.ahead.max(1)).min(AHEAD);
    }

    /// Brings all batches to where the iteration is, because somebody looks.
    fn settle(&mut self) {
        if self.taken < self.seen.len() {
            self.ahead = 1;
            self.back_to(self.taken);
        }
    }

    /// To where the batches were after so many of the last run's passes.
    fn back_to(&mut self, passes: usize) {
        for numbers in &mut self.numbers {
            std::mem::swap(&mut numbers.state, &mut numbers.saved);
        }
        self.seen.truncate(passes);
        self.taken = passes;
        if passes > 0 {
            self.run(None, Do::Pass, passes);
        }
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let lanes = |n: &Numbers| n.data.len() + n.state.len() + n.saved.len() + 6 * n.impulse.len();
        self.plan.bytes() + self.numbers.iter().map(lanes).sum::<usize>() * size_of::<Lane>()
    }
}

impl Sweeper for BatchSweeper {
    fn start(&mut self, _: &Problem, _: Option<&[f64]>, _: Vec<f64>) {
        unreachable!("a batch finds its steps by itself: see `begin`")
    }

    fn pass(&mut self, _: &Problem, pass: Pass, _: f64) -> PassStats {
        match pass {
            Pass::Jacobi => {
                if self.taken == self.seen.len() {
                    self.hurry(None);
                }
                self.taken += 1;
                self.asked += 1;
                self.left = self.left.saturating_sub(1);
                self.seen[self.taken - 1]
            }
            Pass::Measure => {
                self.settle();
                self.run(None, Do::Measure, 1);
                self.total(0, 1)
            }
            Pass::Forward | Pass::Backward => unreachable!("batches make Jacobi passes"),
        }
    }

    fn reject(&mut self) {
        if self.taken > 0 {
            self.back_to(self.taken - 1);
        }
        self.rejected.get_or_insert(self.asked);
        self.ahead = FAR_AHEAD;
    }

    fn rescale(&mut self, factor: f64) {
        self.settle();
        self.omega *= factor;
        // From here on another ω holds.
        self.seen.clear();
        self.taken = 0;
    }

    fn gamma(&mut self, problem: &Problem, out: &mut Vec<f64>) {
        self.settle();
        let p = bodies(problem);
        out.resize(p.rows(), 0.0);
        let (plan, numbers, rows, to) = (&self.plan, &self.numbers, out.len(), Shared(out.as_mut_ptr()));
        let put = |row: usize, x: f64| {
            assert!(row < rows, "row {row}, but there are {rows}");
            // SAFETY: there is such a row, and it is in one lane of one batch.
            unsafe { *to.at(row) = x };
        };
        parallel::for_each(plan.batches.len(), |k| {
            let batch = &plan.batches[k];
            let mut gamma = numbers[k].state[6 * batch.bodies.len()..].iter();
            let mut next = || gamma.next().map_or([0.0; LANES], |lane| lane.0);
            for slot in &plan.points[batch.points.clone()] {
                let world = [next(), next(), next()];
                for l in (0..LANES).filter(|l| slot.ids[*l] != EMPTY) {
                    let i = slot.ids[l] as usize;
                    let g = world.map(|x| x[l]);
                    let mut local = p.points.frame(i).map(|axis| dot(axis, g));
                    // The change of frame rounds: back inside the cone exactly.
                    project_friction(p.points.mu[i], &mut local);
                    (0..3).for_each(|k| put(3 * i + k, local[k]));
                }
            }
            let base = 3 * p.points.len();
            for slot in plan.bounded[batch.bounded.clone()].iter().chain(&plan.runs[batch.runs.clone()]) {
                for r in 0..slot.rows as usize {
                    let x = next();
                    for l in (0..LANES).filter(|l| slot.ids[*l] != EMPTY) {
                        put(base + p.general.first_row[slot.ids[l] as usize] as usize + r, x[l]);
                    }
                }
            }
        });
    }

    fn mark(&mut self, _: bool) {
        unreachable!("{NO_GRADIENT}")
    }

    fn conjugate(&mut self, _: f64) {
        unreachable!("{NO_GRADIENT}")
    }

    fn extrapolate(&mut self, _: f64) {
        unreachable!("{NO_GRADIENT}")
    }

    fn keep(&mut self) {
        unreachable!("{NO_GRADIENT}")
    }

    fn restore(&mut self, _: &Problem) {
        unreachable!("{NO_GRADIENT}")
    }

    fn objective(&self, _: &Problem) -> f64 {
        unreachable!("{NO_GRADIENT}")
    }
}

/// Conjugate gradients go over Gauss-Seidel sweeps.
const NO_GRADIENT: &str = "Jacobi passes have no conjugate gradient over them";
