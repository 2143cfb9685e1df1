//! Passes over one batch: every number below stands for one island a lane, and no lane looks at another.
//!
//! All blocks read the velocities of before and add to their bodies' impulses, which M⁻¹ turns into
//! velocities once, at the end; then Δγᵀ N Δγ, which A3 asks for, is the sum of impulse times change of
//! velocity.

use crate::problem::WORLD;
use crate::simd::vec3::{Vec3, add, sub};
use crate::simd::{F64Lanes, Lanes};

use super::super::fixed_point::PassStats;
use super::pack::{Lane, Numbers, Row, ZERO};
use super::plan::{Batch, LANES, Plan, Slot};
use super::rows::{add_multiple, add_products, added, cross_added, dot, load, project, take, taken};

/// What is done with γ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Do {
    /// v = v_free + M⁻¹ D γ.
    Start,
    /// A Jacobi pass.
    Pass,
    /// Nothing: what every block would be asked to do now.
    Measure,
}

/// Passes over a batch.
pub(super) struct Passes<'a> {
    pub plan: &'a Plan,
    pub batch: &'a Batch,
    pub numbers: &'a mut Numbers,
    pub drift: bool,
    pub soft: bool,
    pub omega: f64,
    pub lambda: f64,
}

impl Passes<'_> {
    /// As many as there are places for what they see.
    #[inline(always)]
    pub fn make<V: F64Lanes>(&mut self, what: Do, seen: &mut [PassStats]) {
        let bodies = self.batch.bodies.len();
        for seen in seen.iter_mut() {
            let mut lanes = [[0.0; LANES]; 4];
            for lane in (0..LANES).step_by(V::COUNT) {
                let (v, gamma) = self.numbers.state.split_at_mut(6 * bodies);
                let mut pass = One {
                    drift: self.drift,
                    soft: self.soft,
                    what,
                    omega: V::splat(self.omega),
                    lambda: V::splat(self.lambda),
                    whole: self.lambda == 1.0,
                    rest: V::splat(1.0 - self.lambda),
                    weight: V::splat(1.0 / (self.omega * self.lambda)),
                    lane,
                    data: &self.numbers.data,
                    kinds: &self.numbers.kinds,
                    v: v.as_chunks_mut().0,
                    gamma,
                    next: 0,
                    impulse: &mut self.numbers.impulse,
                    seen: [V::splat(0.0); 4],
                };
                pass.go(self.plan, self.batch);
                for k in 0..4 {
                    pass.seen[k].store(&mut lanes[k], lane);
                }
            }
            let sum = |k: usize| lanes[k].iter().sum::<f64>();
            *seen = PassStats {
                residual: lanes[0].iter().fold(0.0f64, |m, x| m.larger(*x)).sqrt(),
                delta_sq: sum(1),
                weighted: sum(2),
                curvature: sum(3),
                turn: 0.0,
                squares: 0.0,
            };
        }
    }
}

/// One pass over a few lanes.
struct One<'a, V> {
    drift: bool,
    soft: bool,
    what: Do,
    omega: V,
    lambda: V,
    /// λ = 1; 1 - λ, 1/(λω).
    whole: bool,
    rest: V,
    weight: V,
    /// The first of the lanes.
    lane: usize,
    /// The numbers from the next on, and what the rows from the next on are like.
    data: &'a [Lane],
    kinds: &'a [Row],
    v: &'a mut [[Lane; 6]],
    gamma: &'a mut [Lane],
    /// The next multiplier.
    next: usize,
    impulse: &'a mut [[Lane; 6]],
    /// max (|Δγ|/(λωη))², Σ |Δγ|², Σ |Δγ|²/(λωη), Δγᵀ(N + C)Δγ.
    seen: [V; 4],
}

/// Velocities of two bodies, or what is given to them: each one's own, and what the first has and the second
/// has not (its opposite).
struct Seen<V> {
    a: [V; 6],
    b: [V; 6],
    pull: Vec3<V>,
    turn: Vec3<V>,
}

impl<V: F64Lanes> Seen<V> {
    #[inline(always)]
    fn none() -> Self {
        let zero = V::splat(0.0);
        Self { a: [zero; 6], b: [zero; 6], pull: [zero; 3], turn: [zero; 3] }
    }
}

impl<V: F64Lanes> One<'_, V> {
    #[inline(always)]
    fn go(&mut self, plan: &Plan, batch: &Batch) {
        self.impulse.fill([ZERO; 6]);
        for slot in &plan.points[batch.points.clone()] {
            if slot.bodies[1] == WORLD { self.point::<false>(slot) } else { self.point::<true>(slot) }
        }
        for slot in &plan.bounded[batch.bounded.clone()] {
            self.bounded(slot);
        }
        for slot in &plan.runs[batch.runs.clone()] {
            self.run(slot);
        }
        if self.what != Do::Measure {
            for k in 0..batch.bodies.len() {
                self.body(k);
            }
        }
    }

    /// The next few numbers.
    #[inline(always)]
    fn numbers<const N: usize>(&mut self) -> [V; N] {
        load(take(&mut self.data), self.lane)
    }

    /// The next few multipliers.
    #[inline(always)]
    fn multipliers<const N: usize>(&self) -> [V; N] {
        load(take(&mut &self.gamma[self.next..]), self.lane)
    }

    /// Writes the next few multipliers.
    #[inline(always)]
    fn set_multipliers<const N: usize>(&mut self, x: [V; N]) {
        for k in 0..N {
            x[k].store(&mut self.gamma[self.next + k].0, self.lane);
        }
    }

    /// Velocities of a body.
    #[inline(always)]
    fn velocity(&self, body: u32) -> [V; 6] {
        load(&self.v[body as usize], self.lane)
    }

    #[inline(always)]
    fn push(&mut self, body: u32, x: [V; 6]) {
        let to = &mut self.impulse[body as usize];
        for k in 0..6 {
            (V::load(&to[k].0, self.lane) + x[k]).store(&mut to[k].0, self.lane);
        }
    }

    /// Takes note of Δγ of a point or a bounded row with |Δγ|² = `sq` and g = 1/η.
    #[inline(always)]
    fn saw(&mut self, sq: V, g: V) {
        let weight = self.weight * g;
        let weighted = sq * weight;
        self.seen[0] = self.seen[0].larger(weighted * weight);
        self.seen[1] = self.seen[1] + sq;
        self.seen[2] = self.seen[2] + weighted;
    }

    /// λ x + (1 - λ) old.
    #[inline(always)]
    fn relaxed(&self, x: V, old: V) -> V {
        if self.whole { x } else { self.lambda.mul_add(x, self.rest * old) }
    }

    #[inline(always)]
    fn point<const TWO: bool>(&mut self, slot: &Slot) {
        let (n, arm_a): (Vec3<V>, Vec3<V>) = (self.numbers(), self.numbers());
        let arm_b = if TWO { self.numbers() } else { arm_a };
        let [bias] = self.numbers();
        let drift = if self.drift { Some(self.numbers()) } else { None };
        let [mu, cone, eta, g] = self.numbers();
        let old: Vec3<V> = self.multipliers();
        let delta = if self.what == Do::Start {
            old
        } else {
            let [x, y, z, p, q, r] = self.velocity(slot.bodies[0]);
            let mut u = cross_added([p, q, r], arm_a, added(bias, n, [x, y, z]));
            if let Some(drift) = drift {
                u = add(u, drift);
            }
            if TWO {
                let [x, y, z, p, q, r] = self.velocity(slot.bodies[1]);
                u = cross_added(arm_b, [p, q, r], sub(u, [x, y, z]));
            }
            let to = project(taken(self.omega * eta, u, old), n, mu, cone);
            let new = [self.relaxed(to[0], old[0]), self.relaxed(to[1], old[1]), self.relaxed(to[2], old[2])];
            let delta = sub(new, old);
            self.saw(dot(delta, delta), g);
            if self.what == Do::Pass {
                self.set_multipliers(new);
            }
            delta
        };
        self.next += 3;
        if self.what == Do::Measure {
            return;
        }
        let none = [V::splat(0.0); 3];
        let torque = cross_added(arm_a, delta, none);
        self.push(slot.bodies[0], [delta[0], delta[1], delta[2], torque[0], torque[1], torque[2]]);
        if TWO {
            // Back, and Δ × r is minus r × Δ.
            let (back, torque) = (sub(none, delta), cross_added(delta, arm_b, none));
            self.push(slot.bodies[1], [back[0], back[1], back[2], torque[0], torque[1], torque[2]]);
        }
    }

    /// Adds J v of the next row, read from `at` on, to `u`.
    #[inline(always)]
    fn approach(&self, at: &mut &[Lane], kind: Row, seen: &Seen<V>, mut u: V) -> V {
        let lane = self.lane;
        match kind {
            Row::Turn => add_products(at, lane, seen.turn, u),
            Row::Pull => {
                u = add_products(at, lane, seen.pull, u);
                u = add_products(at, lane, [seen.a[3], seen.a[4], seen.a[5]], u);
                add_products(at, lane, [seen.b[3], seen.b[4], seen.b[5]], u)
            }
            Row::One => add_products(at, lane, seen.a, u),
            Row::Two => {
                u = add_products(at, lane, seen.a, u);
                add_products(at, lane, seen.b, u)
            }
        }
    }

    /// Adds Jᵀ d of the next row to what both bodies are given.
    #[inline(always)]
    fn give(&self, at: &mut &[Lane], kind: Row, d: V, to: &mut Seen<V>) {
        let lane = self.lane;
        match kind {
            Row::Turn => add_multiple(at, lane, d, &mut to.turn),
            Row::Pull => {
                add_multiple(at, lane, d, &mut to.pull);
                let [a, b] = [&mut to.a, &mut to.b].map(|x| x.last_chunk_mut::<3>());
                if let (Some(a), Some(b)) = (a, b) {
                    add_multiple(at, lane, d, a);
                    add_multiple(at, lane, d, b);
                }
            }
            Row::One => add_multiple(at, lane, d, &mut to.a),
            Row::Two => {
                add_multiple(at, lane, d, &mut to.a);
                add_multiple(at, lane, d, &mut to.b);
            }
        }
    }

    /// What the rows between two bodies see.
    #[inline(always)]
    fn between(&self, slot: &Slot) -> Seen<V> {
        let a = self.velocity(slot.bodies[0]);
        let b = if slot.bodies[1] == WORLD { [V::splat(0.0); 6] } else { self.velocity(slot.bodies[1]) };
        let pull = sub([a[0], a[1], a[2]], [b[0], b[1], b[2]]);
        Seen { a, b, pull, turn: sub([a[3], a[4], a[5]], [b[3], b[4], b[5]]) }
    }

    #[inline(always)]
    fn push_both(&mut self, slot: &Slot, x: Seen<V>) {
        let [p, q] = [x.pull, x.turn];
        let mut a = x.a;
        let mut b = x.b;
        for k in 0..3 {
            a[k] = a[k] + p[k];
            a[3 + k] = a[3 + k] + q[k];
            b[k] = b[k] - p[k];
            b[3 + k] = b[3 + k] - q[k];
        }
        self.push(slot.bodies[0], a);
        if slot.bodies[1] != WORLD {
            self.push(slot.bodies[1], b);
        }
    }

    #[inline(always)]
    fn bounded(&mut self, slot: &Slot) {
        let [kind] = self.rows_are();
        let row = self.data;
        self.data = &self.data[kind.entries()..];
        let [bias, compliance, low, high, eta, g] = self.numbers();
        let [old]: [V; 1] = self.multipliers();
        let delta = if self.what == Do::Start {
            old
        } else {
            let start = compliance.mul_add(old, bias);
            let u = self.approach(&mut { row }, kind, &self.between(slot), start);
            let x = (self.omega * eta).neg_mul_add(u, old).clamp(low, high);
            let new = self.relaxed(x, old);
            let delta = new - old;
            let sq = delta * delta;
            self.saw(sq, g);
            if self.what == Do::Pass {
                self.set_multipliers([new]);
                self.seen[3] = compliance.mul_add(sq, self.seen[3]);
            }
            delta
        };
        self.next += 1;
        if self.what != Do::Measure {
            let mut push = Seen::none();
            self.give(&mut { row }, kind, delta, &mut push);
            self.push_both(slot, push);
        }
    }

    /// What the next few rows are like.
    #[inline(always)]
    fn rows_are<const N: usize>(&mut self) -> [Row; N] {
        let Some((kinds, rest)) = self.kinds.split_first_chunk() else {
            unreachable!("packed for these blocks")
        };
        self.kinds = rest;
        *kinds
    }

    #[inline(always)]
    fn run(&mut self, slot: &Slot) {
        match slot.rows {
            1 => self.rows::<1>(slot),
            2 => self.rows::<2>(slot),
            3 => self.rows::<3>(slot),
            4 => self.rows::<4>(slot),
            5 => self.rows::<5>(slot),
            _ => self.rows::<6>(slot),
        }
    }

    /// A run of N bilateral rows at once: Δγ = -λω G⁻¹ u.
    #[inline(always)]
    fn rows<const N: usize>(&mut self, slot: &Slot) {
        let kinds: [Row; N] = self.rows_are();
        let jacobian = self.data;
        self.data = &self.data[kinds.iter().map(|kind| kind.entries()).sum::<usize>()..];
        let mut inverse = self.data;
        self.data = &self.data[N * (N + 1) / 2..];
        let bias: [V; N] = self.numbers();
        let zero = V::splat(0.0);
        let compliance: [V; N] = if self.soft { self.numbers() } else { [zero; N] };
        let old: [V; N] = self.multipliers();
        let mut d = old;
        if self.what != Do::Start {
            let seen = self.between(slot);
            let (mut u, mut at) = (bias, jacobian);
            for r in 0..N {
                u[r] = self.approach(&mut at, kinds[r], &seen, u[r]);
            }
            if self.soft {
                for r in 0..N {
                    u[r] = compliance[r].mul_add(old[r], u[r]);
                }
            }
            d = [zero; N];
            for r in 0..N {
                for c in r..N {
                    let [x] = load::<V, 1>(take(&mut inverse), self.lane);
                    d[r] = x.neg_mul_add(u[c], d[r]);
                    if c != r {
                        d[c] = x.neg_mul_add(u[r], d[c]);
                    }
                }
            }
            let share = self.lambda * self.omega;
            let mut new = old;
            for r in 0..N {
                d[r] = share * d[r];
                self.seen[0] = self.seen[0].larger(u[r] * u[r]);
                self.seen[1] = d[r].mul_add(d[r], self.seen[1]);
                self.seen[2] = d[r].neg_mul_add(u[r], self.seen[2]);
                if self.what == Do::Pass {
                    new[r] = old[r] + d[r];
                    if self.soft {
                        self.seen[3] = compliance[r].mul_add(d[r] * d[r], self.seen[3]);
                    }
                }
            }
            if self.what == Do::Pass {
                self.set_multipliers(new);
            }
        }
        self.next += N;
        if self.what != Do::Measure {
            let (mut push, mut at) = (Seen::none(), jacobian);
            for r in 0..N {
                self.give(&mut at, kinds[r], d[r], &mut push);
            }
            self.push_both(slot, push);
        }
    }

    /// v += M⁻¹ times the impulse.
    #[inline(always)]
    fn body(&mut self, k: usize) {
        let [m, xx, yy, zz, xy, xz, yz] = self.numbers();
        let f: [V; 6] = load(&self.impulse[k], self.lane);
        let change = [
            m * f[0],
            m * f[1],
            m * f[2],
            xx.mul_add(f[3], xy.mul_add(f[4], xz * f[5])),
            xy.mul_add(f[3], yy.mul_add(f[4], yz * f[5])),
            xz.mul_add(f[3], yz.mul_add(f[4], zz * f[5])),
        ];
        let v = &mut self.v[k];
        for x in 0..6 {
            self.seen[3] = f[x].mul_add(change[x], self.seen[3]);
            (V::load(&v[x].0, self.lane) + change[x]).store(&mut v[x].0, self.lane);
        }
    }
}
