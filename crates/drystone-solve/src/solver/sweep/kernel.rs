//! The lanes.

use std::ops::{Add, Div, Mul, Sub};

use crate::colour::Span;
use crate::problem::{Points, WORLD};

use super::super::fixed_point::PassStats;

/// A body's velocity as the sweep sees it, one cache line: v, 1/m, ω, and padding.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(in super::super) struct Row([f64; 8]);

impl Row {
    pub fn new(v: &[f64; 6], inv_mass: f64) -> Self {
        Self([v[0], v[1], v[2], inv_mass, v[3], v[4], v[5], 0.0])
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

    /// Δvᵀ M Δv.
    pub fn twice_energy_of_change(&self, before: &Row, inv_inertia: &[f64; 6]) -> f64 {
        if self.0[3] <= 0.0 {
            return 0.0;
        }
        let d: [f64; 8] = std::array::from_fn(|k| self.0[k] - before.0[k]);
        let linear = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / self.0[3];
        let w = [d[4], d[5], d[6]];
        // ωᵀ I ω with I the inverse of the stored inverse, by cofactors.
        let [xx, yy, zz, xy, xz, yz] = *inv_inertia;
        let (cxx, cyy, czz) = (yy * zz - yz * yz, xx * zz - xz * xz, xx * yy - xy * xy);
        let (cxy, cxz, cyz) = (xz * yz - xy * zz, xy * yz - xz * yy, xy * xz - xx * yz);
        let det = xx * cxx + xy * cxy + xz * cxz;
        if det <= 0.0 {
            return linear;
        }
        let turn = crate::problem::symmetric(&[cxx, cyy, czz, cxy, cxz, cyz], w);
        linear + (w[0] * turn[0] + w[1] * turn[1] + w[2] * turn[2]) / det
    }
}

/// All a pass over the points needs. The pointers are to arrays as long as the problem says.
pub(super) struct PointsView<'a> {
    pub points: &'a Points,
    pub inertia: &'a [[f64; 6]],
    pub step: &'a [f64],
    pub weight: &'a [f64],
    pub lambda: f64,
    pub gamma: [*mut f64; 3],
    pub read: *const Row,
    pub write: *mut Row,
    pub jacobi: bool,
}

// SAFETY: threads write only rows and multipliers of points in their own chunk of one colour.
unsafe impl Sync for PointsView<'_> {}

#[derive(Clone, Copy)]
struct Lanes<const L: usize>([f64; L]);

macro_rules! op {
    ($trait:ident, $f:ident, $o:tt) => {
        impl<const L: usize> $trait for Lanes<L> {
            type Output = Self;
            #[inline(always)]
            fn $f(self, other: Self) -> Self {
                let mut out = self;
                for k in 0..L {
                    out.0[k] = self.0[k] $o other.0[k];
                }
                out
            }
        }
    };
}
op!(Add, add, +);
op!(Sub, sub, -);
op!(Mul, mul, *);
op!(Div, div, /);

impl<const L: usize> Lanes<L> {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([x; L])
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let mut out = self;
        for k in 0..L {
            out.0[k] = self.0[k].sqrt();
        }
        out
    }
    /// `yes` where `self <= other`, else `no`, lane by lane.
    #[inline(always)]
    fn select_le(self, other: Self, yes: Self, no: Self) -> Self {
        let mut out = no;
        for k in 0..L {
            out.0[k] = if self.0[k] <= other.0[k] { yes.0[k] } else { no.0[k] };
        }
        out
    }
    #[inline(always)]
    unsafe fn load(from: *const f64, i: usize) -> Self {
        let mut out = [0.0; L];
        for (k, x) in out.iter_mut().enumerate() {
            *x = unsafe { *from.add(i + k) };
        }
        Self(out)
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64, i: usize) {
        for k in 0..L {
            unsafe { *to.add(i + k) = self.0[k] };
        }
    }
}

type Three<const L: usize> = [Lanes<L>; 3];

#[inline(always)]
unsafe fn load3<const L: usize>(field: &[Vec<f64>; 3], i: usize) -> Three<L> {
    unsafe { [Lanes::load(field[0].as_ptr(), i), Lanes::load(field[1].as_ptr(), i), Lanes::load(field[2].as_ptr(), i)] }
}

#[inline(always)]
fn dot<const L: usize>(a: Three<L>, b: Three<L>) -> Lanes<L> {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
fn cross<const L: usize>(a: Three<L>, b: Three<L>) -> Three<L> {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
fn plus<const L: usize>(a: Three<L>, b: Three<L>) -> Three<L> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
fn minus<const L: usize>(a: Three<L>, b: Three<L>) -> Three<L> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
fn times<const L: usize>(s: Lanes<L>, a: Three<L>) -> Three<L> {
    [s * a[0], s * a[1], s * a[2]]
}

/// The rows of `L` bodies, turned so that each component is one lane vector: v, 1/m, ω.
#[inline(always)]
unsafe fn gather<const L: usize>(rows: *const Row, ids: *const u32) -> [Lanes<L>; 7] {
    let mut out = [[0.0; L]; 7];
    for k in 0..L {
        let row = unsafe { &(*rows.add(*ids.add(k) as usize)).0 };
        for c in 0..7 {
            out[c][k] = row[c];
        }
    }
    out.map(Lanes)
}

#[inline(always)]
unsafe fn gather_inertia<const L: usize>(inertia: *const [f64; 6], ids: *const u32) -> [Lanes<L>; 6] {
    let mut out = [[0.0; L]; 6];
    for k in 0..L {
        let m = unsafe { &*inertia.add(*ids.add(k) as usize) };
        for c in 0..6 {
            out[c][k] = m[c];
        }
    }
    out.map(Lanes)
}

/// Writes new velocities, or adds to what is there.
#[inline(always)]
unsafe fn scatter<const L: usize>(rows: *mut Row, ids: *const u32, v: Three<L>, w: Three<L>) {
    for k in 0..L {
        let row = unsafe { &mut (*rows.add(*ids.add(k) as usize)).0 };
        for c in 0..3 {
            row[c] = v[c].0[k];
            row[4 + c] = w[c].0[k];
        }
    }
}

#[inline(always)]
fn turn<const L: usize>(m: [Lanes<L>; 6], x: Three<L>) -> Three<L> {
    [
        m[0] * x[0] + m[3] * x[1] + m[4] * x[2],
        m[3] * x[0] + m[1] * x[1] + m[5] * x[2],
        m[4] * x[0] + m[5] * x[1] + m[2] * x[2],
    ]
}

/// Updates points `i .. i + L`, all of one colour and all with (TWO) or without a second body.
#[inline(always)]
unsafe fn group<const L: usize, const TWO: bool, const JACOBI: bool>(
    view: &PointsView,
    i: usize,
    acc: &mut [Lanes<L>; 3],
) {
    let p = view.points;
    unsafe {
        let (ids_a, ids_b) = (p.a.as_ptr().add(i), p.b.as_ptr().add(i));
        let n: Three<L> = load3(&p.normal, i);
        let arm_a: Three<L> = load3(&p.arm_a, i);
        let a = gather::<L>(view.read, ids_a);
        let mut u = plus(plus(load3(&p.bias, i), [a[0], a[1], a[2]]), cross([a[4], a[5], a[6]], arm_a));
        let (mut b, mut arm_b) = (a, arm_a);
        if TWO {
            arm_b = load3(&p.arm_b, i);
            b = gather::<L>(view.read, ids_b);
            u = minus(minus(u, [b[0], b[1], b[2]]), cross([b[4], b[5], b[6]], arm_b));
        }
        let old: Three<L> =
            [Lanes::load(view.gamma[0], i), Lanes::load(view.gamma[1], i), Lanes::load(view.gamma[2], i)];
        if !p.compliance[0].is_empty() {
            let (cn, ct) =
                (Lanes::<L>::load(p.compliance[0].as_ptr(), i), Lanes::<L>::load(p.compliance[1].as_ptr(), i));
            let gn = dot(old, n);
            u = plus(u, plus(times(ct, old), times((cn - ct) * gn, n)));
        }
        // Projection on the friction cone, world vector, see cone::friction.
        let d = minus(old, times(Lanes::load(view.step.as_ptr(), i), u));
        let mu = Lanes::<L>::load(p.mu.as_ptr(), i);
        let dn = dot(d, n);
        let dt = minus(d, times(dn, n));
        let r = dot(dt, dt).sqrt();
        let (zero, one) = (Lanes::<L>::splat(0.0), Lanes::<L>::splat(1.0));
        let slide_n = (dn + mu * r) / (one + mu * mu);
        let slide_t = mu * slide_n / r.select_le(zero, one, r);
        let polar = |other: Lanes<L>| (mu * r).select_le(zero - dn, zero, other);
        let pn = polar(r.select_le(mu * dn, dn, slide_n));
        let pt = polar(r.select_le(mu * dn, one, slide_t));
        let lambda = Lanes::<L>::splat(view.lambda);
        let rest = one - lambda;
        let projected = plus(times(pn, n), times(pt, dt));
        let new = plus(times(lambda, projected), times(rest, old));
        for (k, g) in view.gamma.iter().enumerate() {
            new[k].store(*g, i);
        }
        let delta = minus(new, old);
        let sq = dot(delta, delta);
        let weight = Lanes::<L>::load(view.weight.as_ptr(), i);
        let measure = sq * weight * weight;
        acc[0] = measure.select_le(acc[0], acc[0], measure);
        acc[1] = acc[1] + sq;
        acc[2] = acc[2] + sq * weight;

        let ia = gather_inertia::<L>(view.inertia.as_ptr(), ids_a);
        let to = if JACOBI { gather::<L>(view.write, ids_a) } else { a };
        let v = plus([to[0], to[1], to[2]], times(to[3], delta));
        let w = plus([to[4], to[5], to[6]], turn(ia, cross(arm_a, delta)));
        scatter(view.write, ids_a, v, w);
        if TWO {
            let ib = gather_inertia::<L>(view.inertia.as_ptr(), ids_b);
            let to = if JACOBI { gather::<L>(view.write, ids_b) } else { b };
            let v = minus([to[0], to[1], to[2]], times(to[3], delta));
            let w = minus([to[4], to[5], to[6]], turn(ib, cross(arm_b, delta)));
            scatter(view.write, ids_b, v, w);
        }
    }
}

/// Points `start..two_end` with two bodies and `two_end..end` with one, eight at a time and the rest one by one.
#[inline(always)]
unsafe fn run<const JACOBI: bool>(view: &PointsView, start: u32, two_end: u32, end: u32) -> PassStats {
    const L: usize = 8;
    let mut wide = [Lanes::<L>::splat(0.0); 3];
    let mut single = [Lanes::<1>::splat(0.0); 3];
    let (mut i, two_end, end) = (start as usize, two_end as usize, end as usize);
    unsafe {
        while i + L <= two_end {
            group::<L, true, JACOBI>(view, i, &mut wide);
            i += L;
        }
        while i < two_end {
            group::<1, true, JACOBI>(view, i, &mut single);
            i += 1;
        }
        while i + L <= end {
            group::<L, false, JACOBI>(view, i, &mut wide);
            i += L;
        }
        while i < end {
            group::<1, false, JACOBI>(view, i, &mut single);
            i += 1;
        }
    }
    let sum = |k: usize| wide[k].0.iter().sum::<f64>() + single[k].0[0];
    let most = wide[0].0.iter().fold(single[0].0[0], |m, x| m.max(*x));
    PassStats { residual: most.sqrt(), delta_sq: sum(1), weighted: sum(2), curvature: 0.0 }
}

#[inline(always)]
unsafe fn either(view: &PointsView, start: u32, two_end: u32, end: u32) -> PassStats {
    unsafe {
        if view.jacobi { run::<true>(view, start, two_end, end) } else { run::<false>(view, start, two_end, end) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw")]
unsafe fn avx512(view: &PointsView, start: u32, two_end: u32, end: u32) -> PassStats {
    unsafe { either(view, start, two_end, end) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(view: &PointsView, start: u32, two_end: u32, end: u32) -> PassStats {
    unsafe { either(view, start, two_end, end) }
}

/// A chunk of one colour, on the widest vectors this machine has.
///
/// # Safety
/// No two points in `start..end` share a body that moves, and no other thread works on their rows or multipliers.
pub(super) unsafe fn dispatch(view: &PointsView, start: u32, two_end: u32, end: u32) -> PassStats {
    #[cfg(target_arch = "x86_64")]
    unsafe {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
        {
            return avx512(view, start, two_end, end);
        }
        if is_x86_feature_detected!("avx2") {
            return avx2(view, start, two_end, end);
        }
    }
    unsafe { either(view, start, two_end, end) }
}

/// Points that may share bodies: one after the other.
pub(super) fn serial(view: &PointsView, span: Span, backward: bool) -> PassStats {
    let mut stats = PassStats::default();
    let mut acc = [Lanes::<1>::splat(0.0); 3];
    let n = span.end - span.start;
    for k in 0..n {
        let i = if backward { span.end - 1 - k } else { span.start + k } as usize;
        let two = view.points.b[i] != WORLD;
        // SAFETY: one point at a time on one thread; indices were checked with the problem.
        unsafe {
            match (two, view.jacobi) {
                (true, true) => group::<1, true, true>(view, i, &mut acc),
                (true, false) => group::<1, true, false>(view, i, &mut acc),
                (false, true) => group::<1, false, true>(view, i, &mut acc),
                (false, false) => group::<1, false, false>(view, i, &mut acc),
            }
        }
    }
    stats.residual = acc[0].0[0].sqrt();
    stats.delta_sq = acc[1].0[0];
    stats.weighted = acc[2].0[0];
    stats
}
