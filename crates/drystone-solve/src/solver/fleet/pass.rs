//! Passes over one octet: every number below stands for one island a lane, and no lane looks at another.
//!
//! All blocks read the velocities of before and add to their bodies' impulses, which M⁻¹ turns into velocities once, at the
//! end; then Δγᵀ N Δγ, which A3 asks for, is the sum of impulse times change of velocity.

use crate::problem::WORLD;

use super::super::fixed_point::PassStats;
use super::super::sweep::kernel::{Three, minus, plus};
use super::super::sweep::vector::Vector;
use super::few::{STRIDE, add_multiple, add_products, added, cross_added, dot, few, project, taken};
use super::pack::{Numbers, Row};
use super::plan::{LANES, Octet, Plan, Slot};

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

/// Passes over an octet.
pub(super) struct Passes<'a> {
    pub plan: &'a Plan,
    pub octet: &'a Octet,
    pub numbers: &'a mut Numbers,
    pub drift: bool,
    pub soft: bool,
    pub omega: f64,
    pub lambda: f64,
}

impl Passes<'_> {
    /// As many as there are places for what they see.
    ///
    /// # Safety
    /// The machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn make<V: Vector>(&mut self, what: Do, seen: &mut [PassStats]) {
        for seen in seen.iter_mut() {
            let mut lanes = [[0.0; LANES]; 4];
            for at in (0..LANES).step_by(V::L) {
                let mut pass = One {
                    drift: self.drift,
                    soft: self.soft,
                    what,
                    // SAFETY: as the caller promises.
                    omega: unsafe { V::splat(self.omega) },
                    lambda: unsafe { V::splat(self.lambda) },
                    whole: self.lambda == 1.0,
                    rest: unsafe { V::splat(1.0 - self.lambda) },
                    weight: unsafe { V::splat(1.0 / (self.omega * self.lambda)) },
                    data: self.numbers.data.as_ptr().cast::<f64>().wrapping_add(at),
                    kinds: self.numbers.kinds.as_ptr(),
                    v: self.numbers.state.as_mut_ptr().cast::<f64>().wrapping_add(at),
                    gamma: self.numbers.state.as_mut_ptr().cast::<f64>().wrapping_add(at),
                    impulse: self.numbers.impulse.as_mut_ptr().cast::<f64>().wrapping_add(at),
                    seen: unsafe { [V::splat(0.0); 4] },
                };
                // SAFETY: the numbers were packed for this octet.
                unsafe {
                    pass.go(self.plan, self.octet);
                    for k in 0..4 {
                        pass.seen[k].store(lanes[k].as_mut_ptr().add(at));
                    }
                }
            }
            let sum = |k: usize| lanes[k].iter().sum::<f64>();
            // Not f64::max, which would hide a NaN.
            let most = lanes[0].iter().fold(0.0f64, |m, x| if *x <= m { m } else { *x });
            *seen = PassStats {
                residual: most.sqrt(),
                delta_sq: sum(1),
                weighted: sum(2),
                curvature: sum(3),
                turn: 0.0,
                squares: 0.0,
            };
        }
    }
}

/// One pass over the lanes of one vector.
struct One<V> {
    drift: bool,
    soft: bool,
    what: Do,
    omega: V,
    lambda: V,
    /// λ = 1; 1 - λ, 1/(λω).
    whole: bool,
    rest: V,
    weight: V,
    /// The next number, and what the next row is like.
    data: *const f64,
    kinds: *const Row,
    v: *mut f64,
    /// The next multiplier.
    gamma: *mut f64,
    impulse: *mut f64,
    /// max (|Δγ|/(λωη))², Σ |Δγ|², Σ |Δγ|²/(λωη), Δγᵀ(N + C)Δγ.
    seen: [V; 4],
}

/// Velocities of two bodies, or what is given to them: each one's own, and what the first has and the second has not (its
/// opposite).
struct Seen<V> {
    a: [V; 6],
    b: [V; 6],
    pull: Three<V>,
    turn: Three<V>,
}

impl<V: Vector> Seen<V> {
    #[inline(always)]
    unsafe fn none() -> Self {
        let zero = unsafe { V::splat(0.0) };
        Self { a: [zero; 6], b: [zero; 6], pull: [zero; 3], turn: [zero; 3] }
    }
}

impl<V: Vector> One<V> {
    #[inline(always)]
    unsafe fn go(&mut self, plan: &Plan, octet: &Octet) {
        unsafe {
            let bodies = octet.bodies.len();
            self.gamma = self.gamma.add(6 * bodies * STRIDE);
            for k in 0..6 * bodies {
                V::splat(0.0).store(self.impulse.add(k * STRIDE));
            }
            for slot in &plan.points[octet.points.clone()] {
                if slot.bodies[1] == WORLD { self.point::<false>(slot) } else { self.point::<true>(slot) }
            }
            for slot in &plan.bounded[octet.bounded.clone()] {
                self.bounded(slot);
            }
            for slot in &plan.runs[octet.runs.clone()] {
                self.run(slot);
            }
            if self.what != Do::Measure {
                for k in 0..bodies {
                    self.body(k);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn next(&mut self) -> V {
        unsafe {
            let x = V::load(self.data);
            self.data = self.data.add(STRIDE);
            x
        }
    }

    #[inline(always)]
    unsafe fn next3(&mut self) -> Three<V> {
        unsafe { [self.next(), self.next(), self.next()] }
    }

    /// Six numbers of a body.
    #[inline(always)]
    unsafe fn six(from: *const f64, body: u32) -> [V; 6] {
        unsafe { few(from.add(6 * body as usize * STRIDE)) }
    }

    #[inline(always)]
    unsafe fn push(&self, body: u32, x: [V; 6]) {
        let at = self.impulse.wrapping_add(6 * body as usize * STRIDE);
        for k in 0..6 {
            unsafe { V::load(at.add(k * STRIDE)).add(x[k]).store(at.add(k * STRIDE)) };
        }
    }

    /// Takes note of Δγ of a point or a bounded row with |Δγ|² = `sq` and g = 1/η.
    #[inline(always)]
    unsafe fn saw(&mut self, sq: V, g: V) {
        unsafe {
            let weight = self.weight.mul(g);
            let weighted = sq.mul(weight);
            self.saw_residual(weighted.mul(weight));
            self.seen[1] = self.seen[1].add(sq);
            self.seen[2] = self.seen[2].add(weighted);
        }
    }

    #[inline(always)]
    unsafe fn saw_residual(&mut self, square: V) {
        unsafe { self.seen[0] = square.select_le(self.seen[0], self.seen[0], square) }
    }

    /// λ x + (1 - λ) old.
    #[inline(always)]
    unsafe fn relaxed(&self, x: V, old: V) -> V {
        unsafe { if self.whole { x } else { self.lambda.mul_add(x, self.rest.mul(old)) } }
    }

    #[inline(always)]
    unsafe fn point<const TWO: bool>(&mut self, slot: &Slot) {
        unsafe {
            let (n, arm_a) = (self.next3(), self.next3());
            let arm_b = if TWO { self.next3() } else { arm_a };
            let bias = self.next();
            let drift = if self.drift { Some(self.next3()) } else { None };
            let (mu, cone, eta, g) = (self.next(), self.next(), self.next(), self.next());
            let old: Three<V> = few(self.gamma);
            let delta = if self.what == Do::Start {
                old
            } else {
                let [x, y, z, p, q, r] = Self::six(self.v, slot.bodies[0]);
                let mut u = cross_added([p, q, r], arm_a, added(bias, n, [x, y, z]));
                if let Some(drift) = drift {
                    u = plus(u, drift);
                }
                if TWO {
                    let [x, y, z, p, q, r] = Self::six(self.v, slot.bodies[1]);
                    u = cross_added(arm_b, [p, q, r], minus(u, [x, y, z]));
                }
                let step = self.omega.mul(eta);
                let aim = taken(step, u, old);
                let to = project(aim, n, mu, cone);
                let new =
                    [self.relaxed(to[0], old[0]), self.relaxed(to[1], old[1]), self.relaxed(to[2], old[2])];
                let delta = minus(new, old);
                self.saw(dot(delta, delta), g);
                if self.what == Do::Pass {
                    new[0].store(self.gamma);
                    new[1].store(self.gamma.add(STRIDE));
                    new[2].store(self.gamma.add(2 * STRIDE));
                }
                delta
            };
            self.gamma = self.gamma.add(3 * STRIDE);
            if self.what == Do::Measure {
                return;
            }
            let none = [V::splat(0.0); 3];
            let torque = cross_added(arm_a, delta, none);
            self.push(slot.bodies[0], [delta[0], delta[1], delta[2], torque[0], torque[1], torque[2]]);
            if TWO {
                // Back, and Δ × r is minus r × Δ.
                let (back, torque) = (minus(none, delta), cross_added(delta, arm_b, none));
                self.push(slot.bodies[1], [back[0], back[1], back[2], torque[0], torque[1], torque[2]]);
            }
        }
    }

    /// Adds J v of the next row, read from `at` on, to `u`.
    #[inline(always)]
    unsafe fn approach(at: &mut *const f64, kind: Row, seen: &Seen<V>, mut u: V) -> V {
        unsafe {
            match kind {
                Row::Turn => add_products(at, seen.turn, u),
                Row::Pull => {
                    u = add_products(at, seen.pull, u);
                    u = add_products(at, [seen.a[3], seen.a[4], seen.a[5]], u);
                    add_products(at, [seen.b[3], seen.b[4], seen.b[5]], u)
                }
                Row::One => add_products(at, seen.a, u),
                Row::Two => {
                    u = add_products(at, seen.a, u);
                    add_products(at, seen.b, u)
                }
            }
        }
    }

    /// Adds Jᵀ d of the next row to what both bodies are given.
    #[inline(always)]
    unsafe fn give(at: &mut *const f64, kind: Row, d: V, to: &mut Seen<V>) {
        unsafe {
            match kind {
                Row::Turn => add_multiple(at, d, &mut to.turn),
                Row::Pull => {
                    add_multiple(at, d, &mut to.pull);
                    let [a, b] = [&mut to.a, &mut to.b].map(|x| x.last_chunk_mut::<3>());
                    if let (Some(a), Some(b)) = (a, b) {
                        add_multiple(at, d, a);
                        add_multiple(at, d, b);
                    }
                }
                Row::One => add_multiple(at, d, &mut to.a),
                Row::Two => {
                    add_multiple(at, d, &mut to.a);
                    add_multiple(at, d, &mut to.b);
                }
            }
        }
    }

    /// What the rows between two bodies see.
    #[inline(always)]
    unsafe fn between(&self, slot: &Slot) -> Seen<V> {
        unsafe {
            let a = Self::six(self.v, slot.bodies[0]);
            let b =
                if slot.bodies[1] == WORLD { [V::splat(0.0); 6] } else { Self::six(self.v, slot.bodies[1]) };
            let pull = minus([a[0], a[1], a[2]], [b[0], b[1], b[2]]);
            Seen { a, b, pull, turn: minus([a[3], a[4], a[5]], [b[3], b[4], b[5]]) }
        }
    }

    #[inline(always)]
    unsafe fn push_both(&self, slot: &Slot, x: Seen<V>) {
        unsafe {
            let [p, q] = [x.pull, x.turn];
            let mut a = x.a;
            let mut b = x.b;
            for k in 0..3 {
                a[k] = a[k].add(p[k]);
                a[3 + k] = a[3 + k].add(q[k]);
                b[k] = b[k].sub(p[k]);
                b[3 + k] = b[3 + k].sub(q[k]);
            }
            self.push(slot.bodies[0], a);
            if slot.bodies[1] != WORLD {
                self.push(slot.bodies[1], b);
            }
        }
    }

    #[inline(always)]
    unsafe fn bounded(&mut self, slot: &Slot) {
        unsafe {
            let kind = *self.kinds;
            self.kinds = self.kinds.add(1);
            let row = self.data;
            self.data = self.data.add(kind.entries() * STRIDE);
            let (bias, compliance) = (self.next(), self.next());
            let (low, high, eta, g) = (self.next(), self.next(), self.next(), self.next());
            let old = V::load(self.gamma);
            let delta = if self.what == Do::Start {
                old
            } else {
                let u =
                    Self::approach(&mut { row }, kind, &self.between(slot), compliance.mul_add(old, bias));
                let x = self.omega.mul(eta).take_from(u, old);
                let x = x.select_le(low, low, x);
                let x = high.select_le(x, high, x);
                let new = self.relaxed(x, old);
                let delta = new.sub(old);
                let sq = delta.mul(delta);
                self.saw(sq, g);
                if self.what == Do::Pass {
                    new.store(self.gamma);
                    self.seen[3] = compliance.mul_add(sq, self.seen[3]);
                }
                delta
            };
            self.gamma = self.gamma.add(STRIDE);
            if self.what != Do::Measure {
                let mut push = Seen::none();
                Self::give(&mut { row }, kind, delta, &mut push);
                self.push_both(slot, push);
            }
        }
    }

    #[inline(always)]
    unsafe fn run(&mut self, slot: &Slot) {
        unsafe {
            match slot.rows {
                1 => self.rows::<1>(slot),
                2 => self.rows::<2>(slot),
                3 => self.rows::<3>(slot),
                4 => self.rows::<4>(slot),
                5 => self.rows::<5>(slot),
                _ => self.rows::<6>(slot),
            }
        }
    }

    /// A run of N bilateral rows at once: Δγ = -λω G⁻¹ u.
    #[inline(always)]
    unsafe fn rows<const N: usize>(&mut self, slot: &Slot) {
        unsafe {
            let (kinds, jacobian) = (self.kinds, self.data);
            self.kinds = kinds.add(N);
            let entries = (0..N).map(|r| (*kinds.add(r)).entries()).sum::<usize>();
            let inverse = jacobian.add(entries * STRIDE);
            let bias = inverse.add(N * (N + 1) / 2 * STRIDE);
            let compliance = bias.add(N * STRIDE);
            self.data = if self.soft { compliance.add(N * STRIDE) } else { compliance };
            let zero = V::splat(0.0);
            let old: [V; N] = few(self.gamma);
            let mut d = old;
            if self.what != Do::Start {
                let seen = self.between(slot);
                let mut u: [V; N] = few(bias);
                let mut at = jacobian;
                for r in 0..N {
                    u[r] = Self::approach(&mut at, *kinds.add(r), &seen, u[r]);
                }
                if self.soft {
                    for r in 0..N {
                        u[r] = V::load(compliance.add(r * STRIDE)).mul_add(old[r], u[r]);
                    }
                }
                d = [zero; N];
                let mut at = inverse;
                for r in 0..N {
                    for c in r..N {
                        let x = V::load(at);
                        at = at.add(STRIDE);
                        d[r] = x.take_from(u[c], d[r]);
                        if c != r {
                            d[c] = x.take_from(u[r], d[c]);
                        }
                    }
                }
                let share = self.lambda.mul(self.omega);
                for r in 0..N {
                    d[r] = share.mul(d[r]);
                    self.saw_residual(u[r].mul(u[r]));
                    self.seen[1] = d[r].mul_add(d[r], self.seen[1]);
                    self.seen[2] = d[r].take_from(u[r], self.seen[2]);
                    if self.what == Do::Pass {
                        old[r].add(d[r]).store(self.gamma.add(r * STRIDE));
                        if self.soft {
                            let c = V::load(compliance.add(r * STRIDE));
                            self.seen[3] = c.mul_add(d[r].mul(d[r]), self.seen[3]);
                        }
                    }
                }
            }
            self.gamma = self.gamma.add(N * STRIDE);
            if self.what != Do::Measure {
                let (mut push, mut at) = (Seen::none(), jacobian);
                for r in 0..N {
                    Self::give(&mut at, *kinds.add(r), d[r], &mut push);
                }
                self.push_both(slot, push);
            }
        }
    }

    /// v += M⁻¹ times the impulse.
    #[inline(always)]
    unsafe fn body(&mut self, k: usize) {
        unsafe {
            let m = self.next();
            let (xx, yy, zz, xy, xz, yz) =
                (self.next(), self.next(), self.next(), self.next(), self.next(), self.next());
            let f = Self::six(self.impulse, k as u32);
            let change = [
                m.mul(f[0]),
                m.mul(f[1]),
                m.mul(f[2]),
                xx.mul_add(f[3], xy.mul_add(f[4], xz.mul(f[5]))),
                xy.mul_add(f[3], yy.mul_add(f[4], yz.mul(f[5]))),
                xz.mul_add(f[3], yz.mul_add(f[4], zz.mul(f[5]))),
            ];
            for x in 0..6 {
                let v = self.v.add((6 * k + x) * STRIDE);
                self.seen[3] = f[x].mul_add(change[x], self.seen[3]);
                V::load(v).add(change[x]).store(v);
            }
        }
    }
}
