//! The judge's passes over contact points: the round cone needs lengths and angles only, so that everything
//! is done on world vectors and no frame is made twice.
//!
//! Roots and divisions are most of the work. Points are looked at in runs, without branches, so that the
//! compiler makes lanes of them as wide as the machine has; what they say is added up one by one in their
//! order, so that neither the width nor anything else changes a bit.

use std::cell::RefCell;
use std::ops::Range;

use crate::friction_law::FrictionLaw;
use crate::problem::{Bodies, WORLD, basis, cross, dot, symmetric};
use crate::simd::{Kernel, Simd, dispatch};

use super::{Tally, unknown};

/// How near to a side counts as on it, relative to the normal multiplier.
const NEAR: f64 = 1e-12;
/// Points of a run.
const RUN: usize = 32;
/// Lanes of the widest registers.
const WIDEST: usize = 8;

type Lanes = [f64; RUN];

/// A run of points, and the bodies they are on; nothing moves, and nothing has a mass, where there is no
/// second one.
struct Run {
    normal: [Lanes; 3],
    arms: [[Lanes; 3]; 2],
    bias: Lanes,
    drift: [Lanes; 3],
    mu: Lanes,
    compliance: [Lanes; 2],
    gamma: [Lanes; 3],
    v: [[Lanes; 6]; 2],
    inv_mass: [Lanes; 2],
    inv_inertia: [[Lanes; 6]; 2],
}

/// What is seen of them.
struct Seen {
    residual: Lanes,
    /// Distances of u from K*, of γ from K, and from a solution.
    apart: Lanes,
    outside: Lanes,
    back: Lanes,
    /// ⟨γ, u⟩, ⟨γ, Cγ⟩, ⟨b, γ⟩, |γ|².
    work: Lanes,
    spring: Lanes,
    bias: Lanes,
    multipliers: Lanes,
    /// The rigid velocity: along the normal, and across it.
    rigid: [Lanes; 2],
}

const NOTHING: Lanes = [0.0; RUN];

// Arrays' own `map` and `from_fn` are at times calls, which no lanes are made of.

/// The numbers of `lane`.
#[inline(always)]
fn at(x: &[Lanes; 3], lane: usize) -> [f64; 3] {
    [x[0][lane], x[1][lane], x[2][lane]]
}

#[inline(always)]
fn at_six(x: &[Lanes; 6], lane: usize) -> [f64; 6] {
    [x[0][lane], x[1][lane], x[2][lane], x[3][lane], x[4][lane], x[5][lane]]
}

#[inline(always)]
fn three(number: impl Fn(usize) -> f64) -> [f64; 3] {
    [number(0), number(1), number(2)]
}

impl Run {
    const NONE: Self = Self {
        normal: [NOTHING; 3],
        arms: [[NOTHING; 3]; 2],
        bias: NOTHING,
        drift: [NOTHING; 3],
        mu: NOTHING,
        compliance: [NOTHING; 2],
        gamma: [NOTHING; 3],
        v: [[NOTHING; 6]; 2],
        inv_mass: [NOTHING; 2],
        inv_inertia: [[NOTHING; 6]; 2],
    };

    /// Takes the points of `range`, at most [`RUN`]; lanes that are left over keep what they had, which may
    /// be another problem's.
    fn load(&mut self, p: &Bodies, range: Range<usize>, gamma: &[f64], v: &[[f64; 6]]) {
        let points = &p.points;
        let m = range.len();
        let copy = |to: &mut Lanes, from: &Vec<f64>| match from.is_empty() {
            true => to[..m].fill(0.0),
            false => to[..m].copy_from_slice(&from[range.clone()]),
        };
        for k in 0..3 {
            copy(&mut self.normal[k], &points.normal[k]);
            copy(&mut self.arms[0][k], &points.arm_a[k]);
            copy(&mut self.arms[1][k], &points.arm_b[k]);
            copy(&mut self.drift[k], &points.drift[k]);
        }
        copy(&mut self.bias, &points.bias);
        copy(&mut self.mu, &points.mu);
        (0..2).for_each(|k| copy(&mut self.compliance[k], &points.compliance[k]));
        for (lane, x) in gamma[3 * range.start..3 * range.end].as_chunks::<3>().0.iter().enumerate().take(RUN)
        {
            (0..3).for_each(|k| self.gamma[k][lane] = x[k]);
        }
        for (side, ids) in [&points.a, &points.b].into_iter().enumerate() {
            let (to, turns) = (&mut self.v[side], &mut self.inv_inertia[side]);
            for (lane, &body) in ids[range.clone()].iter().enumerate().take(RUN) {
                let none = [0.0; 6];
                let (v, mass, turn) = match body {
                    WORLD => (&none, 0.0, &none),
                    i => (&v[i as usize], p.inv_mass[i as usize], &p.inv_inertia[i as usize]),
                };
                self.inv_mass[side][lane] = mass;
                for k in 0..6 {
                    to[k][lane] = v[k];
                    turns[k][lane] = turn[k];
                }
            }
        }
    }

    /// Mean diagonal of the block of N: Σ 1/m + (tr(I⁻¹)|r|² - rᵀI⁻¹r)/3 over both bodies, or its normal
    /// entry where there is no friction.
    #[inline(always)]
    fn diagonal(&self, side: usize, lane: usize, n: [f64; 3], mu: f64) -> f64 {
        let arm = at(&self.arms[side], lane);
        let inertia = at_six(&self.inv_inertia[side], lane);
        let turn = cross(arm, n);
        let smooth = dot(turn, symmetric(&inertia, turn));
        let trace = inertia[0] + inertia[1] + inertia[2];
        let rough = (trace * dot(arm, arm) - dot(arm, symmetric(&inertia, arm))) / 3.0;
        self.inv_mass[side][lane] + if mu == 0.0 { smooth } else { rough }
    }

    /// Looks at the first lanes, of which `count` are asked for.
    #[inline(always)]
    fn look<const COULOMB: bool>(&self, count: usize, to: &mut Seen) {
        // Whole registers: a lane that is left over costs nothing, and one of its own as much as eight.
        for lane in 0..count.next_multiple_of(WIDEST).min(RUN) {
            let (n, mu) = (at(&self.normal, lane), self.mu[lane]);
            let [t1, t2] = basis(n);
            let x = at(&self.gamma, lane);
            let f = three(|k| x[0] * n[k] + x[1] * t1[k] + x[2] * t2[k]);
            let drift = at(&self.drift, lane);
            let bias = three(|k| n[k] * self.bias[lane] + drift[k]);
            let (a, b) = (at_six(&self.v[0], lane), at_six(&self.v[1], lane));
            let turn_a = cross([a[3], a[4], a[5]], at(&self.arms[0], lane));
            let turn_b = cross([b[3], b[4], b[5]], at(&self.arms[1], lane));
            let u = three(|k| bias[k] + a[k] + turn_a[k] - (b[k] + turn_b[k]));
            let rigid = self.diagonal(0, lane, n, mu) + self.diagonal(1, lane, n, mu);
            to.bias[lane] = dot(bias, f);
            // Normal and tangential parts; the rigid velocity, then the compliant one.
            let gamma_n = dot(f, n);
            let gamma_t = three(|k| f[k] - gamma_n * n[k]);
            let rigid_n = dot(u, n);
            let rigid_t = three(|k| u[k] - rigid_n * n[k]);
            let gamma_tt = dot(gamma_t, gamma_t);
            let (cn, ct) = (self.compliance[0][lane], self.compliance[1][lane]);
            let mut u_n = rigid_n + cn * gamma_n;
            let u_t = three(|k| rigid_t[k] + ct * gamma_t[k]);
            let g = rigid + if mu == 0.0 { cn } else { (cn + 2.0 * ct) / 3.0 };
            to.spring[lane] = cn * gamma_n * gamma_n + ct * gamma_tt;
            let slip = dot(u_t, u_t).sqrt();
            let model = if COULOMB { FrictionLaw::Coulomb } else { FrictionLaw::Ccp };
            let approach = model.approach(mu, u_n);
            if COULOMB {
                u_n += mu * slip;
            }
            to.multipliers[lane] = gamma_n * gamma_n + gamma_tt;
            let along = dot(gamma_t, u_t);
            to.work[lane] = gamma_n * u_n + along;
            let one = 1.0 + mu * mu;
            let side = one.sqrt();
            // |γ - P(γ - u/g)| g.
            let eta = 1.0 / g;
            let x_n = gamma_n - u_n * eta;
            let x_t = three(|k| gamma_t[k] - u_t[k] * eta);
            let length = dot(x_t, x_t).sqrt();
            let (below, within) = (mu * length <= -x_n, length <= mu * x_n);
            let edge = (mu * length + x_n) / one;
            let shrink = if length > 0.0 { mu * edge / length } else { 0.0 };
            let p_n = if within { x_n } else { edge };
            let p_n = if below { 0.0 } else { p_n };
            let scale = if within { 1.0 } else { shrink };
            let scale = if below { 0.0 } else { scale };
            let d_t = three(|k| gamma_t[k] - scale * x_t[k]);
            let d_n = gamma_n - p_n;
            let e = (d_n * d_n + dot(d_t, d_t)).sqrt() * g;
            // Distances from K* and from K.
            let speed = (u_n * u_n + slip * slip).sqrt();
            let apart = if slip <= -mu * u_n { speed } else { (mu * slip - u_n) / side };
            let apart = if mu * slip <= u_n { 0.0 } else { apart };
            let apart = apart.max(approach);
            to.apart[lane] = apart;
            let pull = gamma_tt.sqrt();
            let e = e.max(apart.max(unknown(g, gamma_n.abs() + pull)));
            // Bodies that cannot move have been let touch.
            to.residual[lane] = if g > 0.0 { e } else { 0.0 };
            let outside = if mu * pull <= -gamma_n {
                (gamma_n * gamma_n + gamma_tt).sqrt()
            } else {
                (pull - mu * gamma_n) / side
            };
            let outside = if pull <= mu * gamma_n { 0.0 } else { outside };
            // The change of frame rounds.
            let dust = 4.0 * f64::EPSILON * (gamma_n.abs() + pull);
            to.outside[lane] = if outside > dust { outside } else { 0.0 };
            // |P_T(-u)|, T the tangent cone at γ: on the side ⟨m, -u⟩ with the outward normal m = (-μ, γ_T/|γ_T|)/√(1 + μ²) is taken out
            // of it where it is positive.
            let out = ((mu * u_n - along / pull) / side).max(0.0);
            let back = (u_n * u_n + slip * slip - out * out).max(0.0).sqrt();
            let back = if pull < mu * gamma_n * (1.0 - NEAR) { speed } else { back };
            let back = if mu == 0.0 { u_n.abs() } else { back };
            let back = if gamma_n <= 0.0 { apart } else { back };
            to.back[lane] = if g > 0.0 { back } else { 0.0 };
            to.rigid[0][lane] = rigid_n;
            to.rigid[1][lane] = dot(rigid_t, rigid_t).sqrt();
        }
    }
}

/// [`Run::look`] for the registers of this machine.
struct Look<'a, const COULOMB: bool> {
    run: &'a Run,
    count: usize,
    to: &'a mut Seen,
}

impl<const COULOMB: bool> Kernel for Look<'_, COULOMB> {
    type Out = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        self.run.look::<COULOMB>(self.count, self.to);
    }
}

fn look<const COULOMB: bool>(run: &Run, count: usize, to: &mut Seen) {
    dispatch(Look::<COULOMB> { run, count, to });
}

thread_local! {
    /// Zeros of so many numbers take longer than a look at a few points.
    static SCRATCH: RefCell<Box<(Run, Seen)>> = RefCell::new(Box::new((Run::NONE, Seen::NONE)));
}

/// The points of `range`, once each; `v` are the bodies' velocities.
pub(super) fn judge(p: &Bodies, range: Range<usize>, gamma: &[f64], v: &[[f64; 6]], t: &mut Tally) {
    let soft = !p.points.compliance[0].is_empty();
    SCRATCH.with_borrow_mut(|scratch| {
        let (run, seen) = &mut **scratch;
        for first in range.clone().step_by(RUN) {
            let part = first..range.end.min(first + RUN);
            run.load(p, part.clone(), gamma, v);
            match t.model {
                FrictionLaw::Ccp => look::<false>(run, part.len(), seen),
                FrictionLaw::Coulomb => look::<true>(run, part.len(), seen),
            }
            for lane in 0..part.len() {
                seen.add(lane, run, soft, t);
            }
        }
    });
}

impl Seen {
    const NONE: Self = Self {
        residual: NOTHING,
        apart: NOTHING,
        outside: NOTHING,
        back: NOTHING,
        work: NOTHING,
        spring: NOTHING,
        bias: NOTHING,
        multipliers: NOTHING,
        rigid: [NOTHING; 2],
    };

    /// Adds what was seen of a point of `run`.
    fn add(&self, lane: usize, run: &Run, soft: bool, t: &mut Tally) {
        let (work, spring) = (self.work[lane], self.spring[lane]);
        t.rhs += self.bias[lane];
        t.soft += spring;
        t.multipliers += self.multipliers[lane];
        t.c.complementarity += work.abs();
        t.c.constraint_violation = t.c.constraint_violation.max(self.apart[lane]);
        t.residual(self.residual[lane]);
        t.c.cone_violation = t.c.cone_violation.max(self.outside[lane]);
        t.c.backward_error = t.c.backward_error.max(self.back[lane]);
        let [cn, ct] = [run.compliance[0][lane], run.compliance[1][lane]];
        t.bias = t.bias.filter(|_| cn == 0.0 && ct == 0.0).map(|sum| sum + self.bias[lane]);
        // h of the rigid velocity.
        let (mu, [u_n, slip]) = (run.mu[lane], self.rigid.each_ref().map(|x| x[lane]));
        let h = if soft { cost(mu, u_n, slip, cn, ct) } else { (mu * slip <= u_n).then_some(0.0) };
        t.cost(h, work - 0.5 * spring);
    }
}

/// h of a point with compliance: see `penalty`, of which this is the round cone in terms of lengths.
fn cost(mu: f64, u_n: f64, slip: f64, cn: f64, ct: f64) -> Option<f64> {
    let pressed = (mu * slip - u_n).max(0.0);
    if cn == 0.0 {
        return (ct == 0.0 && pressed == 0.0).then_some(0.0);
    }
    if ct == 0.0 {
        return Some(0.5 * pressed * pressed / cn);
    }
    let (n, t, mu) = (-u_n / cn.sqrt(), slip / ct.sqrt(), mu * (ct / cn).sqrt());
    Some(if mu * t <= -n {
        0.0
    } else if t <= mu * n {
        0.5 * (n * n + t * t)
    } else {
        0.5 * (mu * t + n).powi(2) / (1.0 + mu * mu)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::Block;
    use crate::cone::MAX_ROWS;
    use crate::problem::Problem;

    /// Points between ten bodies and the world: without friction, with little, with next to no limit;
    /// pressed, sliding, apart, pulled.
    fn heap(model: FrictionLaw, soft: bool) -> (Problem, Vec<f64>) {
        let some = |i: usize, k: usize| ((17 * i + 5 * k) as f64).sin();
        let mut p = Bodies { model, ..Bodies::default() };
        p.inv_mass = vec![0.5; 10];
        p.inv_inertia = vec![[1.0, 2.0, 3.0, 0.1, 0.2, 0.3]; 10];
        p.v_free = (0..10).map(|i| std::array::from_fn(|k| some(i, k))).collect();
        let n = RUN + 13;
        for i in 0..n {
            let along = DIRECTIONS[i % 3];
            let arm = |k: usize| std::array::from_fn(|x| some(i, k + x));
            let b = if i % 4 == 0 { WORLD } else { (i as u32 + 3) % 10 };
            let arm_b = if b == WORLD { [0.0; 3] } else { arm(5) };
            let mu = [0.0, 0.4, 30.0][i % 3];
            p.points.push((i as u32 % 10, b), along, arm(2), arm_b, along.map(|x| x * some(i, 9)), mu);
            if soft {
                p.points.compliance[0].push(if i % 5 == 0 { 0.0 } else { 1e-3 });
                p.points.compliance[1].push(if i % 7 == 0 { 0.0 } else { 2e-3 });
            }
        }
        // Without friction there is nothing across the normal; a quarter are apart.
        let none = |k: usize| (!k.is_multiple_of(3) && p.points.mu[k / 3] == 0.0) || (k / 3) % 4 == 3;
        let gamma = (0..3 * n).map(|k| if none(k) { 0.0 } else { some(k, 3) + 0.3 }).collect();
        (Problem::Bodies(p), gamma)
    }

    const DIRECTIONS: [[f64; 3]; 3] = [[0.0, 0.6, 0.8], [0.0, 0.0, -1.0], [-0.48, 0.6, -0.64]];

    /// What is said of points is what is said of blocks of three rows with the same set.
    #[test]
    fn points_are_blocks() {
        for (model, soft) in [
            (FrictionLaw::Ccp, false),
            (FrictionLaw::Ccp, true),
            (FrictionLaw::Coulomb, false),
            (FrictionLaw::Coulomb, true),
        ] {
            let (problem, gamma) = heap(model, soft);
            let Problem::Bodies(p) = &problem else { unreachable!() };
            let v: Vec<[f64; 6]> = p.v_free.clone();
            let (mut points, mut blocks) = (Tally::new(model), Tally::new(model));
            judge(p, 0..p.points.len(), &gamma, &v, &mut points);
            for i in 0..p.points.len() {
                let (mut u, mut b) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
                problem.block_velocity(i, &v, &gamma, &mut u);
                problem.block_bias(i, &mut b);
                let compliance: [f64; 3] = std::array::from_fn(|k| problem.compliance(i, 3 * i + k));
                let x = &gamma[3 * i..3 * i + 3];
                let bias = x.iter().zip(&b).map(|(x, b)| x * b).sum::<f64>();
                blocks.rhs += bias;
                let (set, g) = (problem.set(i), problem.block_diagonal(i)[0]);
                blocks.add(&Block {
                    set,
                    gamma: x,
                    u: &u[..3],
                    compliance: &compliance,
                    g,
                    bias: Some(bias),
                });
            }
            let (a, b) = (points.finish(), blocks.finish());
            assert_eq!(a.worst_block, b.worst_block);
            for (name, x, y) in [
                ("residual", a.residual_max, b.residual_max),
                ("mean residual", a.residual_rms, b.residual_rms),
                ("violation", a.constraint_violation, b.constraint_violation),
                ("cone", a.cone_violation, b.cone_violation),
                ("complementarity", a.complementarity, b.complementarity),
                ("backward error", a.backward_error, b.backward_error),
                ("dual objective", a.dual_objective, b.dual_objective),
                ("multipliers", a.multipliers, b.multipliers),
            ] {
                assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "{model:?}, soft {soft}: {name} {x} {y}");
            }
            assert_eq!(a.primal_objective.is_some(), b.primal_objective.is_some());
        }
    }

    /// What a thread judged before leaves nothing behind: neither compliance nor drift nor further points.
    #[test]
    fn problems_do_not_see_each_other() {
        let (soft, many) = heap(FrictionLaw::Ccp, true);
        let Problem::Bodies(mut soft) = soft else { unreachable!() };
        soft.points.drift = [1.0, 2.0, 3.0].map(|x| vec![x; soft.points.len()]);
        let (rigid, gamma) = heap(FrictionLaw::Ccp, false);
        let Problem::Bodies(rigid) = &rigid else { unreachable!() };
        let say = |p: &Bodies, gamma: &[f64]| {
            let mut tally = Tally::new(FrictionLaw::Ccp);
            judge(p, 0..p.points.len().min(5), gamma, &p.v_free, &mut tally);
            format!("{:?}", tally.finish())
        };
        let alone = std::thread::scope(|s| s.spawn(|| say(rigid, &gamma)).join().unwrap());
        assert_ne!(say(&soft, &many), alone);
        assert_eq!(say(rigid, &gamma), alone);
    }

    /// The plain code and the widest lanes say the same, bit for bit.
    #[test]
    fn lanes_change_nothing() {
        fn compare<const COULOMB: bool>(model: FrictionLaw, soft: bool) {
            let (problem, gamma) = heap(model, soft);
            let Problem::Bodies(p) = &problem else { unreachable!() };
            let (mut run, mut wide, mut plain) = (Run::NONE, Seen::NONE, Seen::NONE);
            run.load(p, 0..RUN, &gamma, &p.v_free);
            look::<COULOMB>(&run, RUN, &mut wide);
            run.look::<COULOMB>(RUN, &mut plain);
            // Few points are looked at in fewer lanes.
            let mut few = Seen::NONE;
            look::<COULOMB>(&run, 3, &mut few);
            assert_eq!(few.residual[..8], plain.residual[..8]);
            assert_eq!(few.residual[8..], [0.0; RUN - 8]);
            let all = |s: &Seen| {
                let own = [s.residual, s.apart, s.outside, s.back, s.work, s.spring, s.bias, s.multipliers];
                own.into_iter().chain(s.rigid).flatten().map(f64::to_bits).collect::<Vec<_>>()
            };
            assert_eq!(all(&wide), all(&plain));
            assert!(wide.residual.iter().filter(|e| **e > 0.0).count() > RUN / 2, "most are not solved");
        }
        for soft in [false, true] {
            compare::<false>(FrictionLaw::Ccp, soft);
            compare::<true>(FrictionLaw::Coulomb, soft);
        }
    }
}
