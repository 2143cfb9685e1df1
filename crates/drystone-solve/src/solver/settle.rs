//! The end of an iteration over balls: Gauss-Seidel steps in f64, and only where the tolerance is not met
//! yet.
//!
//! The certificate asks for the largest residual of all contacts. Sweeps with a momentum bring the whole of a
//! heap near its solution; here and there contacts that begin to stick, slide or open are thrown off for some
//! tens of sweeps. The more contacts there are, the longer is the wait for a moment at which none is: of
//! 128,000 with a tolerance of 1e-4 m/s some 20 are above it at any time from the 800th sweep to the 1500th,
//! in ever other places. So, once the residual is small on the whole,
//!
//! ```text
//!     root mean square ≤ SPREAD tolerance,     largest ≤ REACH tolerance      (the sweeps' own measure, m/s)
//! ```
//!
//! contacts above the tolerance are solved one by one, and after each of them those that share a body with it
//! are looked at, round by round until none is above: what is too much in one place is handed on to its
//! neighbours (Southwell's relaxation, by rounds). Each contact is solved exactly
//! (`docs/decisions/0019-two-scales-for-a-cone.md`), so that every step lowers the objective. The judge has
//! the last word: where it says no, or where too many looks would be taken, sweeps go on as if nothing had
//! been tried.
//!
//! Why not earlier? The velocities' error follows the root mean square, not the largest: where SPREAD is
//! larger, fewer sweeps leave larger errors within the same tolerance
//! (`docs/decisions/0020-fewer-multiplications.md`). With this one heaps of all sizes end alike.
//!
//! The rounds are one thread's work, in the order of contacts: the number of threads changes no bit.

use crate::certificate::Judge;
use crate::cone::{AdmissibleSet, MAX_ROWS};
use crate::parallel;
use crate::problem::{Bodies, Problem, WORLD, dot};

use super::Solution;
use super::fixed_point::PassStats;

/// The sweeps' measures, over the tolerance, below which it is tried: rms and largest.
const SPREAD: f64 = 0.4;
const REACH: f64 = 10.0;
/// Contacts are left at this share of the tolerance or less.
const SHARE: f64 = 0.9;
/// Among fewer contacts the largest residual is not far from the mean, and a sweep costs next to nothing: a
/// try costs some ten of them.
const LEAST: usize = 1024;
/// Looks that may be taken, as a share of all contacts, and what is above the tolerance at first: more are
/// work for sweeps.
const LOOKS: usize = 4;
const MANY: usize = 32;
/// Contacts that one thread looks at.
const PIECE: usize = 2048;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Settle {
    /// Contacts by body: those of body i from `first[i]` on.
    first: Vec<u32>,
    touching: Vec<u32>,
    sorted: bool,
    velocities: Vec<[f64; 6]>,
    /// This round's contacts and the next one's, which wait.
    now: Vec<u32>,
    next: Vec<u32>,
    waits: Vec<bool>,
    parts: Vec<Vec<u32>>,
    /// Σ of squares below which, or sweeps after which, it is tried again.
    below: f64,
    after: usize,
}

impl Settle {
    /// Another problem.
    pub fn restart(&mut self) {
        (self.sorted, self.below, self.after) = (false, f64::INFINITY, 0);
    }

    /// Whether to try after sweep `k`, which saw `stats` of so many blocks (the largest alone in f64). The
    /// next time is when that has fallen by half, or after half as many sweeps again.
    pub fn is_due(&mut self, k: usize, stats: &PassStats, blocks: usize, tolerance: f64) -> bool {
        let spread = SPREAD * tolerance;
        let due = tolerance > 0.0
            && blocks >= LEAST
            && stats.residual <= REACH * tolerance
            && stats.squares <= spread * spread * blocks as f64
            && (stats.squares < self.below || k >= self.after);
        if due {
            (self.below, self.after) = (0.25 * stats.squares, k + k / 2 + 16);
        }
        due
    }

    /// Tries to bring all of `gamma`, which is in its cones, below the tolerance; true if the judge says so.
    /// Contacts must be of balls.
    pub fn run(&mut self, problem: &Problem, judge: &mut Judge, gamma: &mut [f64], tolerance: f64) -> bool {
        let Problem::Bodies(p) = problem else { return false };
        p.velocities(gamma, &mut self.velocities);
        self.find(problem, p, gamma, tolerance);
        if self.now.len() > p.points.len() / MANY + MANY {
            return false;
        }
        self.sort(p);
        self.go(problem, p, gamma, tolerance) && judge.judge(problem, gamma).residual_max <= tolerance
    }

    /// Contacts above the tolerance.
    fn find(&mut self, problem: &Problem, p: &Bodies, gamma: &[f64], tolerance: f64) {
        let v = &self.velocities;
        let moves = |i: usize| {
            let u = p.point_relative(i, v);
            // Not the other way round, which would hide what is no number.
            !(dot(u, u) <= tolerance * tolerance)
        };
        parallel::map_ranges(problem.blocks(), PIECE, &mut self.parts, |range| {
            let found = range.filter(|i| moves(*i) && above(problem, *i, v, gamma, tolerance).is_some());
            found.map(|i| i as u32).collect()
        });
        self.now.clear();
        self.now.extend(self.parts.drain(..).flatten());
    }

    /// Sorts contacts by body.
    fn sort(&mut self, p: &Bodies) {
        if std::mem::replace(&mut self.sorted, true) {
            return;
        }
        let ends = |i: usize| [p.points.a[i], p.points.b[i]].into_iter().filter(|body| *body != WORLD);
        let contacts = 0..p.points.len();
        self.first.clear();
        self.first.resize(p.bodies() + 1, 0);
        contacts.clone().flat_map(ends).for_each(|body| self.first[body as usize] += 1);
        let mut sum = 0;
        for count in &mut self.first {
            sum += *count;
            *count = sum;
        }
        self.touching.clear();
        self.touching.resize(sum as usize, 0);
        for i in contacts.rev() {
            for body in ends(i) {
                let place = &mut self.first[body as usize];
                *place -= 1;
                self.touching[*place as usize] = i as u32;
            }
        }
        self.waits.clear();
        self.waits.resize(p.points.len(), false);
    }

    /// Round after round; true if the last one left nothing to do.
    fn go(&mut self, problem: &Problem, p: &Bodies, gamma: &mut [f64], tolerance: f64) -> bool {
        let Self { first, touching, velocities, now, next, waits, .. } = self;
        let mut looks = p.points.len() / LOOKS + MANY;
        while !now.is_empty() && looks >= now.len() {
            looks -= now.len();
            for &i in now.iter() {
                let i = i as usize;
                waits[i] = false;
                let Some(u) = above(problem, i, velocities, gamma, SHARE * tolerance) else { continue };
                let block = &mut gamma[problem.block(i)];
                let new = solve(problem, p.points.mu[i], i, u, block);
                let delta: [f64; 3] = std::array::from_fn(|c| new[c] - block[c]);
                block.copy_from_slice(&new);
                problem.move_block(i, &delta, velocities);
                for body in [p.points.a[i], p.points.b[i]].into_iter().filter(|body| *body != WORLD) {
                    let body = body as usize;
                    for &j in &touching[first[body] as usize..first[body + 1] as usize] {
                        if !std::mem::replace(&mut waits[j as usize], true) {
                            next.push(j);
                        }
                    }
                }
            }
            next.sort_unstable();
            std::mem::swap(now, next);
            next.clear();
        }
        let done = now.is_empty();
        now.drain(..).for_each(|i| waits[i as usize] = false);
        done
    }

    /// The last record of a history, which was made before all was settled.
    pub fn record(&self, problem: &Problem, judge: &mut Judge, solution: &mut Solution) {
        if let Some(last) = solution.history.last_mut() {
            let c = judge.judge(problem, &solution.gamma);
            (last.residual, last.constraint_violation) = (c.residual_max, c.constraint_violation);
            last.objective = c.dual_objective;
        }
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.touching.as_slice()) + size_of_val(self.velocities.as_slice()) + self.waits.len()
    }
}

/// The velocity of contact `i`, m/s, if its natural-map residual is above `limit`, m/s.
fn above(problem: &Problem, i: usize, v: &[[f64; 6]], gamma: &[f64], limit: f64) -> Option<[f64; 3]> {
    let mut rows = [0.0; MAX_ROWS];
    problem.block_velocity(i, v, gamma, &mut rows);
    let u = [rows[0], rows[1], rows[2]];
    // P is nonexpansive: the residual is no more than |u|.
    if dot(u, u) <= limit * limit {
        return None;
    }
    let g = problem.block_diagonal(i)[0];
    let old = &gamma[problem.block(i)];
    let mut new: [f64; 3] = std::array::from_fn(|c| old[c] - u[c] / g);
    problem.set(i).project(&mut new);
    let square = (0..3).map(|c| (new[c] - old[c]).powi(2)).sum::<f64>();
    // Not the other way round, which would hide what is no number.
    let within = square * g * g <= limit * limit;
    (g > 0.0 && !within).then_some(u)
}

/// The multipliers that solve contact `i` of balls, of velocity `u` and multipliers `old`, as long as nothing
/// else changes: the least of ½ w_n (x_n - p_n)² + ½ w_t |x_t - p_t|² over its cone, p = γ - N_ii⁻¹ u.
fn solve(problem: &Problem, mu: f64, i: usize, u: [f64; 3], old: &[f64]) -> [f64; 3] {
    // The mean diagonal is (w_n + 2 w_t) / 3.
    let [mean, across] = problem.block_diagonal(i);
    let along = 3.0 * mean - 2.0 * across;
    let p = [old[0] - u[0] / along, old[1] - u[1] / across, old[2] - u[2] / across];
    let pull = p[1].hypot(p[2]);
    if pull <= mu * p[0] {
        return p;
    }
    let n = ((along * p[0] + across * mu * pull) / (along + across * mu * mu)).max(0.0);
    let share = if pull > 0.0 { mu * n / pull } else { 0.0 };
    [n, share * p[1], share * p[2]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::Colouring;

    /// Balls of 1 kg on a floor, side by side and on top of each other, that have fallen for 5 ms.
    fn block(side: u32) -> Problem {
        let mut p = Bodies::default();
        for i in 0..side * side * side {
            p.inv_mass.push(1.0);
            p.inv_inertia.push([250.0, 250.0, 250.0, 0.0, 0.0, 0.0]);
            p.v_free.push([0.003 * f64::from(i % 7), 0.0, -0.05, 0.0, 0.02 * f64::from(i % 5), 0.0]);
        }
        let mut pairs = Vec::new();
        for i in 0..side * side * side {
            let [x, y, z] = [i % side, i / side % side, i / (side * side)];
            pairs.push(match z {
                0 => (i, WORLD, [0.0, 0.0, 1.0]),
                _ => (i, i - side * side, [0.1, -0.2, 1.0]),
            });
            pairs.extend((x > 0).then(|| (i, i - 1, [1.0, 0.3, 0.4])));
            pairs.extend((y > 0).then(|| (i, i - side, [-0.2, 1.0, 0.1])));
        }
        let mut c = Colouring::default();
        c.run(p.inv_mass.len(), pairs.iter().map(|(a, b, _)| (*a, *b)));
        for &k in &c.order {
            let (a, b, n) = pairs[k as usize];
            let length = dot(n, n).sqrt();
            let [n, arm] = [1.0, -0.1].map(|s| n.map(|x| s * x / length));
            let other = if b == WORLD { [0.0; 3] } else { arm.map(|x| -x) };
            p.points.push((a, b), n, arm, other, [0.0; 3], 0.4);
        }
        p.points.spans = c.spans;
        Problem::Bodies(p)
    }

    /// One contact after the other, as long as one is above the limit.
    fn solution(problem: &Problem, limit: f64) -> Vec<f64> {
        let Problem::Bodies(p) = problem else { unreachable!() };
        let (mut gamma, mut v) = (vec![0.0; problem.rows()], p.v_free.clone());
        for _ in 0..20_000 {
            let mut done = true;
            for i in 0..p.points.len() {
                let Some(u) = above(problem, i, &v, &gamma, limit) else { continue };
                step(problem, i, u, &mut gamma, &mut v);
                done = false;
            }
            if done {
                return gamma;
            }
        }
        panic!("contacts do not settle");
    }

    fn step(problem: &Problem, i: usize, u: [f64; 3], gamma: &mut [f64], v: &mut [[f64; 6]]) {
        let block = &mut gamma[3 * i..3 * i + 3];
        let new = solve(problem, 0.4, i, u, block);
        let delta: [f64; 3] = std::array::from_fn(|c| new[c] - block[c]);
        block.copy_from_slice(&new);
        problem.move_block(i, &delta, v);
    }

    #[test]
    fn one_step_solves_a_contact() {
        let problem = block(3);
        let Problem::Bodies(p) = &problem else { unreachable!() };
        let mut gamma = solution(&problem, 1e-8);
        gamma.iter_mut().for_each(|x| *x *= 0.7);
        let mut v = Vec::new();
        p.velocities(&gamma, &mut v);
        for i in 0..p.points.len() {
            let Some(u) = above(&problem, i, &v, &gamma, 1e-12) else { continue };
            step(&problem, i, u, &mut gamma, &mut v);
            assert!(above(&problem, i, &v, &gamma, 1e-12).is_none(), "contact {i}");
        }
    }

    #[test]
    fn few_contacts_are_settled_where_they_are_and_many_are_not() {
        let problem = block(12);
        let (before, judge, tolerance) = (solution(&problem, 1e-6), &mut Judge::default(), 1e-4);
        let mut settle = Settle::default();
        let disturbed = |every: usize| {
            let mut gamma = before.clone();
            gamma.chunks_exact_mut(3).step_by(every).for_each(|x| x[0] += 5e-4);
            gamma
        };
        settle.restart();
        let mut gamma = disturbed(900);
        let start = judge.judge(&problem, &gamma);
        assert!(start.residual_max > 2.0 * tolerance);
        assert!(settle.run(&problem, judge, &mut gamma, tolerance));
        let end = judge.judge(&problem, &gamma);
        assert!(end.residual_max <= tolerance && end.dual_objective < start.dual_objective);
        let same = gamma.iter().zip(&before).filter(|(x, y)| x == y).count();
        assert!(4 * same > 3 * gamma.len(), "{same} of {} as they were", gamma.len());
        assert!(!settle.run(&problem, judge, &mut disturbed(2), tolerance));
    }

    const N: usize = 2000;

    #[test]
    fn it_is_tried_where_little_is_left_and_not_over_and_over() {
        let mut settle = Settle::default();
        settle.restart();
        let stats = |rms: f64, most: f64| PassStats {
            squares: N as f64 * rms * rms,
            residual: most,
            ..PassStats::default()
        };
        assert!(!settle.is_due(10, &stats(0.5, 2.0), N, 1.0));
        assert!(!settle.is_due(10, &stats(0.1, 11.0), N, 1.0));
        assert!(!settle.is_due(10, &stats(0.0, 0.0), N, 0.0));
        assert!(!settle.is_due(10, &stats(0.0, 0.0), 500, 1.0));
        assert!(settle.is_due(10, &stats(0.3, 2.0), N, 1.0));
        assert!(!settle.is_due(11, &stats(0.2, 2.0), N, 1.0));
        assert!(settle.is_due(12, &stats(0.14, 2.0), N, 1.0));
        assert!(settle.is_due(34, &stats(0.14, 2.0), N, 1.0));
    }
}
