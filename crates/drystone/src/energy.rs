//! Islands do not gain energy that nobody put in.
//!
//! Without rows that ask for a motion the velocity problem projects v_free on a convex set that has rest in
//! it: energy does not grow. Walls, belts and motors do work. What else asks for a motion is the scheme:
//! restitution of contacts and of limits, several at once, and joints along arcs. With γ₁ the solution of all
//! that is asked for, and γ₀ that of what is driven alone, whose work is W₀,
//!
//! ```text
//!     γ(s) = γ₀ + s (γ₁ - γ₀),    v(s) = v₀ + s (v₁ - v₀),    2 E(s) = |v(s)|²_M ≤ 2 E_had + 2 · 2 W₀
//! ```
//!
//! with v less what a free rotation does after the kick (`gyration.rs`), is in the cones and parts every
//! contact at s times the speed that was asked for at least; E(s) is a quadratic. An island that has more
//! energy than it had takes the largest s in [0, 1] for which E(s) is within what it had and twice the work
//! of what is driven: what bounces off a wall takes up to 1 + e times the impulse of what stops at it. What
//! it had is E(v₀) and the work of the forces f h = M (v_free - v₀) along the way it goes: of an island that
//! bounces
//!
//! ```text
//!     2 E_had = |v₀|²_M + max(h fᵀ (v₀ + v(s)), 2 h fᵀ v(s))
//! ```
//!
//! by the mean velocity, for which a ball in flight keeps its energy, or by that of the end, along which the
//! scheme moves it; both are linear in s. Of others it is the larger of the energies of v₀ and v_free. Steps
//! with bounces know γ₀, from which they start; others solve for it where some island has more than it had
//! and what is driven explains.

use drystone_solve::certificate::Certificate;
use drystone_solve::problem::Bodies;
use drystone_solve::problem::islands::Islands;
use drystone_solve::solver::Solution;
use drystone_solve::{Malformed, Problem};

use crate::formulation::velocity::{Asks, formulate, rest};
use crate::gyration::Gyration;
use crate::settings::Settings;
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::{Collision, FreeMotion, Velocity};

/// What rounding and the tolerance may add to an energy, as a share of it.
const ENERGY_TOLERANCE: f64 = 1e-6;

/// Energies by island, J, each twice what it is.
#[derive(Default)]
struct Energies {
    /// The most that is there without the problem's own rows.
    had: Vec<f64>,
    /// After the solve.
    now: Vec<f64>,
    /// At the start of the step, |v₀|²_M, and h fᵀ v₀: of islands that bounce.
    bounces: Vec<Option<[f64; 2]>>,
}

/// Where things bounce off what is driven, its impulses, and with them the energy that a row gives, are up to
/// 1 + e times those without a bounce.
const REBOUND_FACTOR: f64 = 2.0;

impl Energies {
    /// `v`, `free_v`: the new and the free velocities, without what a free rotation does after the kick.
    fn of(
        from: &Velocity,
        islands: &Islands,
        v: &[[f64; 6]],
        free_v: &[[f64; 6]],
        bounces: impl Fn(usize) -> bool,
    ) -> Self {
        let mut all = Self::default();
        let Problem::Bodies(p) = &from.assembler.problem else { return all };
        for k in 0..islands.len() {
            let [mut start, mut free, mut now, mut pushed, mut goes] = [0.0; 5];
            for i in islands.bodies(k).iter().map(|b| *b as usize) {
                let twice = |v: &[f64; 6]| p.inertia_product(i, v, v);
                start += twice(&from.pace[i]);
                free += twice(&free_v[i]);
                now += twice(&v[i]);
                let force = difference(&free_v[i], &from.pace[i]);
                pushed += p.inertia_product(i, &force, &from.pace[i]);
                goes += p.inertia_product(i, &force, &v[i]);
            }
            let bounces = bounces(k).then_some([start, pushed]);
            all.had.push(match bounces {
                Some(_) => start + f64::max(pushed + goes, 2.0 * goes),
                None => f64::max(start, free),
            });
            all.now.push(now);
            all.bounces.push(bounces);
        }
        all
    }

    /// Whether island `k` has more than it had and `more`.
    fn grows(&self, k: usize, more: f64) -> bool {
        self.now[k] > self.had[k] + more + ENERGY_TOLERANCE * self.now[k]
    }
}

/// What work is reckoned from.
#[derive(Clone, Copy)]
struct Work<'a> {
    settings: &'a Settings,
    collision: &'a Collision,
    posed: &'a Velocity,
    /// What the posed problem asks for.
    asks: Asks,
    islands: &'a Islands,
}

impl Work<'_> {
    /// What the scheme asks of a contact, m/s: not a number where it has a spring.
    fn scheme(&self, contact: usize) -> f64 {
        let (c, h) = (&self.collision.contacts[contact], self.settings.h);
        let all = self.asks != Asks::Driven;
        let arc = || if all { self.collision.predictor.arc(&c.key) / h } else { 0.0 };
        if !self.collision.laws.on() {
            // A gap that closes is nobody's work.
            return self.settings.stabilisation.bias(c.gap, h).max(0.0) + arc();
        }
        let row = self.collision.laws.get(contact);
        let arc = if row.bias < row.resting { 0.0 } else { arc() };
        let bias = if all { row.bias } else { row.resting };
        if row.compliance > 0.0 { f64::NAN } else { bias - row.resting.min(0.0) + arc }
    }

    /// Twice the work of what is driven in island `k`, J: of rows that give energy, and of rows that take it.
    fn of(&self, k: usize, gamma: &[f64], v: &[[f64; 6]]) -> [f64; 2] {
        let asks = &self.posed.asks;
        // What a compliance is about is no motion that anybody asks for.
        let about = |block: u32| match asks.binary_search_by_key(&block, |ask| ask.block) {
            Ok(at) => asks[at].compliance * asks[at].about,
            Err(_) => 0.0,
        };
        let of = |i: &u32| {
            self.posed.assembler.work(*i as usize, gamma, v, about(*i), |contact| self.scheme(contact))
        };
        let sum = |[give, take]: [f64; 2], x: f64| [give + 2.0 * x.max(0.0), take + 2.0 * x.min(0.0)];
        self.islands.blocks(k).iter().map(of).fold([0.0; 2], sum)
    }
}

/// Holds every island to the energy it had: see the module. The least share that one took, where that is not
/// all.
pub(crate) fn limit(
    setup: Setup,
    state: &State,
    free: &FreeMotion,
    collision: &Collision,
    to: &mut Velocity,
    solution: &mut Solution,
    driven: Option<Solution>,
) -> Result<Option<f64>, Malformed> {
    let v_free = free.v.as_slice();
    let gyration = Gyration::new(setup.settings, &free.turned, &free.jointed);
    let kicked = |v: &[[f64; 6]]| {
        let mut v = v.to_vec();
        gyration.take_off(setup.model, state, &mut v);
        v
    };
    let rows = &to.assembler.rows;
    let bounces = collision.laws.hits() || rows.bounces;
    // Where nothing but walls, belts and motors asks for a motion there is nothing to look at.
    if !(bounces || rows.bent > 0.0) {
        return Ok(None);
    }
    let mut islands = std::mem::take(&mut to.islands);
    let Problem::Bodies(p) = to.posed() else { return Ok(None) };
    islands.find(p);
    let mut v = Vec::new();
    p.velocities(&solution.gamma, &mut v);
    let bouncing =
        |k: usize| bounces && islands.blocks(k).iter().any(|i| bounces_in(collision, to, *i as usize));
    let (now, free_now) = (kicked(&v), kicked(&p.v_free));
    let all = Energies::of(to, &islands, &now, &free_now, bouncing);
    let work = Work { settings: setup.settings, collision, posed: to, asks: Asks::All, islands: &islands };
    // Where nothing bounces, what is driven does the work it would do without arcs: if that is all that an
    // island gains, arcs give nothing.
    let driven_work = |k: usize| match bounces {
        true => 0.0,
        false => work.of(k, &solution.gamma, &v).iter().sum::<f64>().max(0.0),
    };
    let over: Vec<usize> =
        (0..islands.len()).filter(|k| all.grows(*k, 0.0) && all.grows(*k, driven_work(*k))).collect();
    if over.is_empty() {
        to.islands = islands;
        return Ok(None);
    }
    // The word on a blend is that on the worse of the two that it is between, each on its own problem.
    let first = judged(to, solution);
    let known = driven.is_some();
    let mut driven = match driven {
        Some(driven) => {
            formulate(setup, state, v_free, collision, to, Asks::Driven, None)?;
            driven
        }
        None => rest(setup, state, v_free, collision, to)?,
    };
    let second = judged(to, &mut driven);
    let work = Work { settings: setup.settings, collision, posed: to, asks: Asks::Driven, islands: &islands };
    let least = blend(work, &over, &all, solution, &driven, &now, &free_now, kicked);
    formulate(setup, state, v_free, collision, to, Asks::All, known.then_some(driven.gamma.as_slice()))?;
    to.islands = islands;
    let _ = to.solver.judge(); // What it has at hand is not the solution.
    if least == 1.0 {
        solution.certificate = Some(first);
        return Ok(None);
    }
    solution.iterations += driven.iterations;
    solution.certificate = Some(if second.residual_max > first.residual_max { second } else { first });
    Ok(Some(least))
}

/// The certificate of a solution of the posed problem.
fn judged(of: &mut Velocity, solution: &mut Solution) -> Certificate {
    match solution.certificate.take() {
        Some(certificate) => certificate,
        None => of.judge.judge(of.stiffness.posed(&of.assembler), &solution.gamma),
    }
}

/// γ(s) of the islands that are over; the least s. The driven problem is posed.
fn blend(
    work: Work,
    over: &[usize],
    all: &Energies,
    solution: &mut Solution,
    driven: &Solution,
    v: &[[f64; 6]],
    free_v: &[[f64; 6]],
    kicked: impl Fn(&[[f64; 6]]) -> Vec<[f64; 6]>,
) -> f64 {
    let (islands, problem) = (work.islands, &work.posed.assembler.problem);
    let Problem::Bodies(p) = problem else { return 1.0 };
    let mut posed = Vec::new();
    p.velocities(&driven.gamma, &mut posed);
    let v0 = kicked(&posed);
    let mut least = 1.0f64;
    for &k in over {
        let [square, linear, first] = products(p, islands.bodies(k), v, &v0);
        let [give, take] = work.of(k, &driven.gamma, &posed);
        let drives = REBOUND_FACTOR * give + take;
        // The largest share with E(s) ≤ `may` + s `more`.
        let share = |may: f64, more: f64| {
            let may = (may + drives + ENERGY_TOLERANCE * all.now[k]).max(first);
            largest_share(square, linear - 0.5 * more, first - may)
        };
        let s = match all.bounces[k] {
            None => share(all.had[k], 0.0),
            Some([start, pushed]) => {
                let [mut goes, mut more] = [0.0; 2];
                for i in islands.bodies(k).iter().map(|b| *b as usize) {
                    let force = difference(&free_v[i], &work.posed.pace[i]);
                    goes += p.inertia_product(i, &force, &v0[i]);
                    more += p.inertia_product(i, &force, &difference(&v[i], &v0[i]));
                }
                share(start + pushed + goes, more).max(share(start + 2.0 * goes, 2.0 * more))
            }
        };
        if s == 1.0 {
            continue;
        }
        least = least.min(s);
        for row in islands.blocks(k).iter().flat_map(|i| problem.block(*i as usize)) {
            let x = &mut solution.gamma[row];
            *x = driven.gamma[row] + s * (*x - driven.gamma[row]);
        }
    }
    least
}

/// dᵀ M d, dᵀ M v₀ and v₀ᵀ M v₀ of an island, with d = v - v₀, J.
fn products(p: &Bodies, bodies: &[u32], v: &[[f64; 6]], v0: &[[f64; 6]]) -> [f64; 3] {
    let [mut square, mut linear, mut first] = [0.0; 3];
    for i in bodies.iter().map(|b| *b as usize) {
        let d = difference(&v[i], &v0[i]);
        square += p.inertia_product(i, &d, &d);
        linear += p.inertia_product(i, &d, &v0[i]);
        first += p.inertia_product(i, &v0[i], &v0[i]);
    }
    [square, linear, first]
}

fn difference(a: &[f64; 6], b: &[f64; 6]) -> [f64; 6] {
    std::array::from_fn(|k| a[k] - b[k])
}

/// Whether a block is that of a contact or a limit that bounces in this step.
fn bounces_in(collision: &Collision, posed: &Velocity, block: usize) -> bool {
    match posed.assembler.contact_of(block) {
        Some(contact) => collision.laws.bounces(contact),
        None => posed.assembler.rows.is_bounce(block - posed.assembler.order.len()),
    }
}

/// The largest s of [0, 1] with a s² + 2 b s + c ≤ 0; 0 where there is none.
fn largest_share(a: f64, b: f64, c: f64) -> f64 {
    if a + 2.0 * b + c <= 0.0 {
        return 1.0;
    }
    if !(a > 0.0) {
        return 0.0;
    }
    let root = (b * b - a * c).max(0.0).sqrt();
    // The larger root, without the difference of two numbers that are alike.
    let s = if b > 0.0 { -c / (b + root) } else { (root - b) / a };
    s.clamp(0.0, 1.0)
}

/// What a compression leaves for an expansion to give back: Poisson's law for several contacts at once, with
/// friction, may give more.
pub(crate) struct Budget {
    /// By body of the problem: velocities after the compression.
    v: Vec<[f64; 6]>,
    /// The same without what a free rotation does after the kick.
    kicked: Vec<[f64; 6]>,
    /// By island of the compression: twice what there may be, J.
    had: Vec<f64>,
    islands: Islands,
}

impl Budget {
    /// To be asked while the compression is posed and solved.
    pub fn of_expansion(
        setup: Setup,
        state: &State,
        free: &FreeMotion,
        collision: &Collision,
        posed: &Velocity,
        solution: &Solution,
    ) -> Self {
        let (mut v, mut islands, mut had) = (Vec::new(), Islands::default(), Vec::new());
        let mut kicked = Vec::new();
        if let Problem::Bodies(p) = posed.posed() {
            islands.find(p);
            p.velocities(&solution.gamma, &mut v);
            let gyration = Gyration::new(setup.settings, &free.turned, &free.jointed);
            let mut free_v = p.v_free.clone();
            kicked.clone_from(&v);
            gyration.take_off(setup.model, state, &mut kicked);
            gyration.take_off(setup.model, state, &mut free_v);
            let e = Energies::of(posed, &islands, &kicked, &free_v, |_| false);
            let work =
                Work { settings: setup.settings, collision, posed, asks: Asks::All, islands: &islands };
            let work = |k: usize| work.of(k, &solution.gamma, &v).iter().sum::<f64>().max(0.0);
            had.extend((0..islands.len()).map(|k| (e.had[k] + work(k)).max(e.now[k])));
        }
        Self { v, kicked, had, islands }
    }

    /// v(s) = v_c + s (v_e - v_c) of islands that the expansion gives more than they had: the least s. Free
    /// velocities and multipliers become those of the blend.
    pub fn hold_expansion(
        &self,
        state: &State,
        v_free: &mut [[f64; 6]],
        collision: &mut Collision,
        to: &mut Velocity,
        solution: &mut Solution,
    ) -> Option<f64> {
        let Velocity { assembler, solver, .. } = to;
        let Collision { laws, contacts, .. } = collision;
        let rows: Vec<std::ops::Range<usize>> =
            (0..assembler.problem.blocks()).map(|i| assembler.problem.block(i)).collect();
        let Problem::Bodies(p) = &mut assembler.problem else { return None };
        let mut v = Vec::new();
        p.velocities(&solution.gamma, &mut v);
        // What a free rotation does after the kick is the same before and after the expansion.
        let now: Vec<[f64; 6]> = (0..v.len())
            .map(|i| std::array::from_fn(|k| v[i][k] - self.v[i][k] + self.kicked[i][k]))
            .collect();
        let mut shares = vec![1.0; p.bodies()];
        let mut least = 1.0f64;
        for k in 0..self.islands.len() {
            let bodies = self.islands.bodies(k);
            let [square, linear, first] = products(p, bodies, &now, &self.kicked);
            if square + 2.0 * linear + first > (1.0 + ENERGY_TOLERANCE) * self.had[k] {
                let s = largest_share(square, linear, first - self.had[k]);
                least = least.min(s);
                self.islands.bodies(k).iter().for_each(|b| shares[*b as usize] = s);
            }
        }
        if least == 1.0 {
            return None;
        }
        for (i, s) in shares.iter().enumerate().filter(|(_, s)| **s < 1.0) {
            let free = &mut p.v_free[i];
            (0..6).for_each(|k| free[k] = self.v[i][k] + s * (free[k] - self.v[i][k]));
        }
        let share = |slot: u32| shares[state.order.rank(slot) as usize];
        for slot in 0..v_free.len() {
            let rank = state.order.rank(slot as u32) as usize;
            v_free[slot] = p.v_free[rank];
        }
        laws.scale_expansion(contacts, |c| c.bodies.map(share).into_iter().fold(1.0, f64::min));
        for (i, rows) in rows.into_iter().enumerate() {
            let a = if i < p.points.len() { p.points.a[i] } else { p.general.a[i - p.points.len()] };
            let s = shares[a as usize];
            if s < 1.0 {
                solution.gamma[rows].iter_mut().for_each(|x| *x *= s);
            }
        }
        solution.certificate = None;
        let _ = solver.judge();
        Some(least)
    }
}

#[cfg(test)]
mod tests {
    use super::largest_share;

    #[test]
    fn shares_are_the_larger_roots_within_one() {
        // s² + 2 b s + c with roots -1 and ½, and with ½ and 2.
        assert!((largest_share(1.0, 0.25, -0.5) - 0.5).abs() < 1e-15);
        assert_eq!(largest_share(1.0, 0.0, -4.0), 1.0);
        assert_eq!(largest_share(1.0, 1.0, 1.0), 0.0);
        assert_eq!(largest_share(0.0, 1.0, 0.0), 0.0);
        assert!((largest_share(1e-12, 1.0, -1.0) - 0.5).abs() < 1e-9);
    }
}
