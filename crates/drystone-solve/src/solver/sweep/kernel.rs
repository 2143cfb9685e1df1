//! The update of a few contact points at once, and the choice of how many.

use crate::colour::Span;
use crate::problem::{Bodies, Points, WORLD};

use super::super::fixed_point::PassStats;
use super::vector::Vector;

/// A body's velocity as the sweep sees it, one cache line: v, 1/m, ω, and 1/I where the inertia is the same about every
/// axis (else 0).
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(in crate::solver) struct Row(pub(in crate::solver) [f64; 8]);

/// Whether the inertia is a multiple of the identity.
fn is_ball(i: &[f64; 6]) -> bool {
    i[0] == i[1] && i[1] == i[2] && i[3] == 0.0 && i[4] == 0.0 && i[5] == 0.0
}

/// m, kg, and the inertia, kg m²: xx, yy, zz, twice xy, xz, yz.
pub type Mass = [f64; 7];

impl Row {
    /// All numbers of all rows.
    pub fn flat(rows: &mut [Row]) -> &mut [f64] {
        // SAFETY: a row is eight numbers and nothing else.
        unsafe { std::slice::from_raw_parts_mut(rows.as_mut_ptr().cast(), 8 * rows.len()) }
    }

    pub fn new(v: &[f64; 6], inv_mass: f64, inertia: &[f64; 6]) -> Self {
        let ball = if is_ball(inertia) { inertia[0] } else { 0.0 };
        Self([v[0], v[1], v[2], inv_mass, v[3], v[4], v[5], ball])
    }

    pub fn parts(&self) -> ([f64; 3], [f64; 3]) {
        ([self.0[0], self.0[1], self.0[2]], [self.0[4], self.0[5], self.0[6]])
    }

    pub fn push(&mut self, inertia: &[f64; 6], force: [f64; 3], torque: [f64; 3]) {
        let turn = crate::problem::symmetric(inertia, torque);
        for k in 0..3 {
            self.0[k] += self.0[3] * force[k];
            self.0[4 + k] += turn[k];
        }
    }

    pub fn push_at(&mut self, inertia: &[f64; 6], impulse: [f64; 3], arm: [f64; 3]) {
        self.push(inertia, impulse, crate::problem::cross(arm, impulse));
    }

    /// Its mass and inertia, from the inverse one.
    pub fn mass(&self, inv_inertia: &[f64; 6]) -> Mass {
        if self.0[3] <= 0.0 {
            return [0.0; 7];
        }
        let m = 1.0 / self.0[3];
        // By cofactors.
        let [xx, yy, zz, xy, xz, yz] = *inv_inertia;
        let (cxx, cyy, czz) = (yy * zz - yz * yz, xx * zz - xz * xz, xx * yy - xy * xy);
        let (cxy, cxz, cyz) = (xz * yz - xy * zz, xy * yz - xz * yy, xy * xz - xx * yz);
        let det = xx * cxx + xy * cxy + xz * cxz;
        let trace = xx + yy + zz;
        if det <= 1e-14 * trace * trace * trace {
            // It turns about one axis only (or not at all): 1/I about that axis is the trace.
            let i = if trace > 0.0 { 1.0 / trace } else { 0.0 };
            return [m, i, i, i, 0.0, 0.0, 0.0];
        }
        [m, cxx / det, cyy / det, czz / det, 2.0 * cxy / det, 2.0 * cxz / det, 2.0 * cyz / det]
    }

    /// Δvᵀ M Δv.
    #[inline(always)]
    pub fn twice_energy_of_change(&self, before: &Row, mass: &Mass) -> f64 {
        let [m, xx, yy, zz, xy, xz, yz] = *mass;
        let d: [f64; 8] = std::array::from_fn(|k| self.0[k] - before.0[k]);
        let linear = m * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        let (x, y, z) = (d[4], d[5], d[6]);
        linear + x * (xx * x + xy * y + xz * z) + y * (yy * y + yz * z) + zz * z * z
    }
}

/// All a pass over the points needs. The pointers are to arrays as long as the problem says.
pub(super) struct PointsView<'a> {
    pub points: &'a Points,
    pub inertia: &'a [[f64; 6]],
    pub step: &'a [f64],
    pub lambda: f64,
    pub gamma: [*mut f64; 3],
    pub read: *const Row,
    pub write: *mut Row,
    pub jacobi: bool,
    /// Nothing is written: the pass only sees.
    pub measure: bool,
    /// Where all contacts are those of spheres: the arms as two numbers.
    pub spheres: Option<&'a Spheres>,
    /// μ = 0 everywhere, as in a position problem: multipliers lie along the normals.
    pub frictionless: bool,
    /// Exact Coulomb: μ |u_T| is added to the normal velocity.
    pub coulomb: bool,
}

/// The compact form of contacts between spheres (or of a sphere with a wall): both arms lie along the normal, and the
/// inertia is the same about every axis, so that
///
/// ```text
///     u = v_A - v_B - (r_A ω_A + r_B ω_B) × n + bias
/// ```
#[derive(Debug, Default)]
pub(in crate::solver) struct Spheres {
    /// r_A = -arm_A·n, r_B = arm_B·n, m.
    pub numbers: [Vec<f64>; 2],
}

impl Spheres {
    /// Fills in the numbers; false if some contact or body is not of this kind.
    pub fn fill(&mut self, p: &Bodies) -> bool {
        self.numbers.iter_mut().for_each(Vec::clear);
        if !p.inv_inertia.iter().all(is_ball) {
            return false;
        }
        let points = &p.points;
        for i in 0..points.len() {
            let at = |f: &[Vec<f64>; 3]| [f[0][i], f[1][i], f[2][i]];
            let n = at(&points.normal);
            let along = |x: [f64; 3]| {
                let s = x[0] * n[0] + x[1] * n[1] + x[2] * n[2];
                let off = (0..3).map(|k| (x[k] - s * n[k]).abs()).fold(0.0, f64::max);
                // Rounding of positions leaves a few ulps of the coordinates, which may be larger than the arm.
                (off <= 1e-11 * s.abs()).then_some(s)
            };
            let (Some(a), Some(b)) = (along(at(&points.arm_a)), along(at(&points.arm_b))) else {
                return false;
            };
            for (field, x) in self.numbers.iter_mut().zip([-a, b]) {
                field.push(x);
            }
        }
        true
    }
}

// SAFETY: threads write only rows and multipliers of points in their own chunk of one colour.
unsafe impl Sync for PointsView<'_> {}

pub(in crate::solver) type Three<V> = [V; 3];

#[inline(always)]
pub(in crate::solver) unsafe fn load3<V: Vector>(field: &[Vec<f64>; 3], i: usize) -> Three<V> {
    unsafe {
        [
            V::load(field[0].as_ptr().add(i)),
            V::load(field[1].as_ptr().add(i)),
            V::load(field[2].as_ptr().add(i)),
        ]
    }
}

#[inline(always)]
pub(in crate::solver) unsafe fn dot<V: Vector>(a: Three<V>, b: Three<V>) -> V {
    unsafe { a[0].mul(b[0]).add(a[1].mul(b[1])).add(a[2].mul(b[2])) }
}

#[inline(always)]
pub(in crate::solver) unsafe fn cross<V: Vector>(a: Three<V>, b: Three<V>) -> Three<V> {
    unsafe {
        [
            a[1].mul(b[2]).sub(a[2].mul(b[1])),
            a[2].mul(b[0]).sub(a[0].mul(b[2])),
            a[0].mul(b[1]).sub(a[1].mul(b[0])),
        ]
    }
}

#[inline(always)]
pub(in crate::solver) unsafe fn plus<V: Vector>(a: Three<V>, b: Three<V>) -> Three<V> {
    unsafe { [a[0].add(b[0]), a[1].add(b[1]), a[2].add(b[2])] }
}

#[inline(always)]
pub(in crate::solver) unsafe fn minus<V: Vector>(a: Three<V>, b: Three<V>) -> Three<V> {
    unsafe { [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2])] }
}

#[inline(always)]
pub(in crate::solver) unsafe fn times<V: Vector>(s: V, a: Three<V>) -> Three<V> {
    unsafe { [s.mul(a[0]), s.mul(a[1]), s.mul(a[2])] }
}

/// The bias as a world vector.
#[inline(always)]
pub(in crate::solver) unsafe fn load_bias<V: Vector>(p: &Points, n: Three<V>, i: usize) -> Three<V> {
    unsafe {
        let along = times(V::load(p.bias.as_ptr().add(i)), n);
        if p.drift[0].is_empty() { along } else { plus(along, load3(&p.drift, i)) }
    }
}

/// I⁻¹ torque for the bodies `ids`.
#[inline(always)]
unsafe fn turn<V: Vector>(view: &PointsView, ids: *const u32, x: Three<V>) -> Three<V> {
    unsafe {
        let [xx, yy, zz, xy, xz, yz] = V::gather_inertias(view.inertia.as_ptr(), ids);
        [
            xx.mul(x[0]).add(xy.mul(x[1])).add(xz.mul(x[2])),
            xy.mul(x[0]).add(yy.mul(x[1])).add(yz.mul(x[2])),
            xz.mul(x[0]).add(yz.mul(x[1])).add(zz.mul(x[2])),
        ]
    }
}

/// Squares of this size are those of multipliers of no account.
const NEXT_TO_NONE: f64 = 1e-290;

/// Projection on the friction cone about `n`, as a world vector; see cone::friction.
#[inline(always)]
pub(in crate::solver) unsafe fn project<V: Vector>(d: Three<V>, n: Three<V>, mu: V) -> Three<V> {
    unsafe {
        let dn = dot(d, n);
        project_parts(dn, minus(d, times(dn, n)), n, [mu; 2])
    }
}

/// The same of dn n + dt, where lengths along `n` count κ times less than across, with [μ, κμ].
#[inline(always)]
pub(in crate::solver) unsafe fn project_parts<V: Vector>(
    dn: V,
    dt: Three<V>,
    n: Three<V>,
    [mu, pull]: [V; 2],
) -> Three<V> {
    unsafe {
        let sq = dot(dt, dt);
        let r = sq.sqrt();
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        // 1/r = r / r²: no division waits for the root. What is too small to be divided by is none.
        let over_r = r.mul(one.div(sq.select_le(V::splat(NEXT_TO_NONE), one, sq)));
        let share = one.div(one.add(mu.mul(pull)));
        let (mu_r, minus_dn, mu_dn) = (pull.mul(r), zero.sub(dn), mu.mul(dn));
        let slide_n = dn.add(mu_r).mul(share);
        let slide_t = mu.mul(share).mul(pull.add(dn.mul(over_r)));
        let pn = mu_r.select_le(minus_dn, zero, r.select_le(mu_dn, dn, slide_n));
        let pt = mu_r.select_le(minus_dn, zero, r.select_le(mu_dn, one, slide_t));
        plus(times(pn, n), times(pt, dt))
    }
}

/// What a chunk has seen: max (|Δγ| / (λωη))², Σ |Δγ|², Σ |Δγ|² / (λωη).
type Seen = [f64; 3];

/// Updates points `i .. i + L`, all of one colour and all with (TWO) or without a second body.
#[inline(always)]
unsafe fn group<
    V: Vector,
    const TWO: bool,
    const JACOBI: bool,
    const SPHERES: bool,
    const FRICTIONLESS: bool,
>(
    view: &PointsView,
    i: usize,
    acc: &mut [V; 3],
) {
    let p = view.points;
    unsafe {
        let (ids_a, ids_b) = (p.a.as_ptr().add(i), p.b.as_ptr().add(i));
        let n: Three<V> = load3(&p.normal, i);
        let a = V::gather(view.read, ids_a);
        let b = if TWO { V::gather(view.read, ids_b) } else { a };
        let (va, wa) = ([a[0], a[1], a[2]], [a[4], a[5], a[6]]);
        let (vb, wb) = ([b[0], b[1], b[2]], [b[4], b[5], b[6]]);
        // Arms: as vectors, or as radii along the normal.
        let (mut arm_a, mut arm_b, mut ra, mut rb) = (n, n, n[0], n[0]);
        let bias = load_bias(p, n, i);
        let mut u;
        if SPHERES && let Some(s) = view.spheres {
            ra = V::load(s.numbers[0].as_ptr().add(i));
            let mut w = times(ra, wa);
            u = plus(va, bias);
            if TWO {
                rb = V::load(s.numbers[1].as_ptr().add(i));
                w = plus(w, times(rb, wb));
                u = minus(u, vb);
            }
            if !FRICTIONLESS {
                u = minus(u, cross(w, n));
            }
        } else {
            arm_a = load3(&p.arm_a, i);
            u = plus(plus(bias, va), cross(wa, arm_a));
            if TWO {
                arm_b = load3(&p.arm_b, i);
                u = minus(minus(u, vb), cross(wb, arm_b));
            }
        }
        let old =
            [V::load(view.gamma[0].add(i)), V::load(view.gamma[1].add(i)), V::load(view.gamma[2].add(i))];
        if !p.compliance[0].is_empty() {
            let (cn, ct) =
                (V::load(p.compliance[0].as_ptr().add(i)), V::load(p.compliance[1].as_ptr().add(i)));
            let along = cn.sub(ct).mul(dot(old, n));
            u = plus(u, plus(times(ct, old), times(along, n)));
        }
        let step = V::load(view.step.as_ptr().add(i));
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        let projected = if FRICTIONLESS {
            let dn = dot(old, n).sub(step.mul(dot(u, n)));
            times(dn.select_le(zero, zero, dn), n)
        } else {
            let mu = V::load(p.mu.as_ptr().add(i));
            if view.coulomb {
                let slip = minus(u, times(dot(u, n), n));
                u = plus(u, times(mu.mul(dot(slip, slip).sqrt()), n));
            }
            project(minus(old, times(step, u)), n, mu)
        };
        let lambda = V::splat(view.lambda);
        let new = match view.lambda == 1.0 {
            true => projected,
            false => plus(times(lambda, projected), times(one.sub(lambda), old)),
        };
        let delta = minus(new, old);
        let sq = dot(delta, delta);
        let moved = lambda.mul(step);
        let weight = moved.select_le(zero, zero, one.div(moved));
        let measure = sq.mul(weight).mul(weight);
        acc[0] = measure.select_le(acc[0], acc[0], measure);
        acc[1] = acc[1].add(sq);
        acc[2] = acc[2].add(sq.mul(weight));
        if view.measure {
            return;
        }
        for (k, g) in view.gamma.iter().enumerate() {
            new[k].store(g.add(i));
        }

        let twist = if SPHERES { cross(n, delta) } else { delta };
        let to = if JACOBI { V::gather(view.write, ids_a) } else { a };
        let v = plus([to[0], to[1], to[2]], times(to[3], delta));
        let w = [to[4], to[5], to[6]];
        let w = if SPHERES && FRICTIONLESS {
            w // The arms lie along the normal too: no torque.
        } else if SPHERES {
            minus(w, times(to[7].mul(ra), twist))
        } else {
            plus(w, turn(view, ids_a, cross(arm_a, delta)))
        };
        V::scatter([v[0], v[1], v[2], to[3], w[0], w[1], w[2], to[7]], view.write, ids_a);
        if TWO {
            let to = if JACOBI { V::gather(view.write, ids_b) } else { b };
            let v = minus([to[0], to[1], to[2]], times(to[3], delta));
            let w = [to[4], to[5], to[6]];
            let w = if SPHERES && FRICTIONLESS {
                w
            } else if SPHERES {
                minus(w, times(to[7].mul(rb), twist))
            } else {
                minus(w, turn(view, ids_b, cross(arm_b, delta)))
            };
            V::scatter([v[0], v[1], v[2], to[3], w[0], w[1], w[2], to[7]], view.write, ids_b);
        }
    }
}

/// Points `start..two_end` with two bodies and `two_end..end` with one, `L` at a time, half as many at a time where eight are many, and the
/// rest one by one.
#[inline(always)]
unsafe fn run<V: Vector, const JACOBI: bool, const SPHERES: bool, const FRICTIONLESS: bool>(
    view: &PointsView,
    start: u32,
    two_end: u32,
    end: u32,
) -> PassStats {
    let (mut i, two_end, end) = (start as usize, two_end as usize, end as usize);
    unsafe {
        let mut wide = [V::splat(0.0); 3];
        let mut half = [V::Half::splat(0.0); 3];
        let mut single = [0.0; 3];
        macro_rules! points {
            ($two:literal, $end:ident) => {
                while i + V::L <= $end {
                    group::<V, $two, JACOBI, SPHERES, FRICTIONLESS>(view, i, &mut wide);
                    i += V::L;
                }
                if V::Half::L > 1 && i + V::Half::L <= $end {
                    group::<V::Half, $two, JACOBI, SPHERES, FRICTIONLESS>(view, i, &mut half);
                    i += V::Half::L;
                }
                while i < $end {
                    group::<f64, $two, JACOBI, SPHERES, FRICTIONLESS>(view, i, &mut single);
                    i += 1;
                }
            };
        }
        points!(true, two_end);
        points!(false, end);
        // Of eight lanes, of four, and of one.
        let mut lanes = [[0.0; 13]; 3];
        for k in 0..3 {
            wide[k].store(lanes[k].as_mut_ptr());
            half[k].store(lanes[k].as_mut_ptr().add(8));
            lanes[k][12] = single[k];
        }
        let sum = |k: usize| lanes[k].iter().sum::<f64>();
        // Not f64::max, which would hide a NaN.
        let most = lanes[0].iter().fold(0.0, |m, x| if *x <= m { m } else { *x });
        stats([most, sum(1), sum(2)])
    }
}

fn stats(seen: Seen) -> PassStats {
    PassStats { residual: seen[0].sqrt(), delta_sq: seen[1], weighted: seen[2], ..PassStats::default() }
}

#[inline(always)]
unsafe fn either<V: Vector>(view: &PointsView, start: u32, two_end: u32, end: u32) -> PassStats {
    unsafe {
        match (view.jacobi, view.spheres.is_some(), view.frictionless) {
            (false, true, true) => run::<V, false, true, true>(view, start, two_end, end),
            (false, true, false) => run::<V, false, true, false>(view, start, two_end, end),
            (false, false, true) => run::<V, false, false, true>(view, start, two_end, end),
            (false, false, false) => run::<V, false, false, false>(view, start, two_end, end),
            (true, _, _) => run::<V, true, false, false>(view, start, two_end, end),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(view: &PointsView, start: u32, two_end: u32, end: u32) -> PassStats {
    unsafe { either::<std::arch::x86_64::__m512d>(view, start, two_end, end) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(view: &PointsView, start: u32, two_end: u32, end: u32) -> PassStats {
    unsafe { either::<std::arch::x86_64::__m256d>(view, start, two_end, end) }
}

/// A chunk of one colour, on the widest vectors this machine has.
///
/// # Safety
/// No two points in `start..end` share a body that moves, and no other thread works on their rows or multipliers.
pub(super) unsafe fn dispatch(view: &PointsView, start: u32, two_end: u32, end: u32) -> PassStats {
    #[cfg(target_arch = "x86_64")]
    unsafe {
        if is_x86_feature_detected!("avx512f") {
            return avx512(view, start, two_end, end);
        }
        if is_x86_feature_detected!("avx2") {
            return avx2(view, start, two_end, end);
        }
    }
    unsafe { either::<f64>(view, start, two_end, end) }
}

/// Points that may share bodies: one after the other.
pub(super) fn serial(view: &PointsView, span: Span, backward: bool) -> PassStats {
    let mut acc = [0.0f64; 3];
    for k in 0..span.end - span.start {
        let i = if backward { span.end - 1 - k } else { span.start + k } as usize;
        let two = view.points.b[i] != WORLD;
        // SAFETY: one point at a time on one thread; indices were checked with the problem.
        unsafe {
            match (two, view.jacobi) {
                (true, true) => group::<f64, true, true, false, false>(view, i, &mut acc),
                (true, false) => group::<f64, true, false, false, false>(view, i, &mut acc),
                (false, true) => group::<f64, false, true, false, false>(view, i, &mut acc),
                (false, false) => group::<f64, false, false, false, false>(view, i, &mut acc),
            }
        }
    }
    stats(acc)
}
