//! A few numbers of eight islands at a time: rows of numbers one lane behind the other, world vectors, and
//! the friction cone. Products are added rounded once.

use crate::simd::F64Lanes;
use crate::simd::vec3::{Vec3, scale};

use super::pack::Lane;

/// Takes the first `N` numbers off a list.
#[inline(always)]
pub(super) fn take<'a, const N: usize>(from: &mut &'a [Lane]) -> &'a [Lane; N] {
    let Some((first, rest)) = from.split_first_chunk() else { unreachable!("packed for these blocks") };
    *from = rest;
    first
}

/// Numbers of the lanes from `lane` on.
#[inline(always)]
pub(super) fn load<V: F64Lanes, const N: usize>(from: &[Lane; N], lane: usize) -> [V; N] {
    let mut out = [V::splat(0.0); N];
    for k in 0..N {
        out[k] = V::load(&from[k].0, lane);
    }
    out
}

/// sum + the next few numbers times `x`.
#[inline(always)]
pub(super) fn add_products<V: F64Lanes, const N: usize>(
    at: &mut &[Lane],
    lane: usize,
    x: [V; N],
    mut sum: V,
) -> V {
    let row = load::<V, N>(take(at), lane);
    for k in 0..N {
        sum = row[k].mul_add(x[k], sum);
    }
    sum
}

/// Adds d times the next few numbers.
#[inline(always)]
pub(super) fn add_multiple<V: F64Lanes, const N: usize>(
    at: &mut &[Lane],
    lane: usize,
    d: V,
    to: &mut [V; N],
) {
    let row = load::<V, N>(take(at), lane);
    for k in 0..N {
        to[k] = row[k].mul_add(d, to[k]);
    }
}

/// sum + a × b.
#[inline(always)]
pub(super) fn cross_added<V: F64Lanes>(a: Vec3<V>, b: Vec3<V>, sum: Vec3<V>) -> Vec3<V> {
    [
        a[1].mul_add(b[2], a[2].neg_mul_add(b[1], sum[0])),
        a[2].mul_add(b[0], a[0].neg_mul_add(b[2], sum[1])),
        a[0].mul_add(b[1], a[1].neg_mul_add(b[0], sum[2])),
    ]
}

/// sum + s a.
#[inline(always)]
pub(super) fn added<V: F64Lanes>(s: V, a: Vec3<V>, sum: Vec3<V>) -> Vec3<V> {
    [s.mul_add(a[0], sum[0]), s.mul_add(a[1], sum[1]), s.mul_add(a[2], sum[2])]
}

/// from - s a.
#[inline(always)]
pub(super) fn taken<V: F64Lanes>(s: V, a: Vec3<V>, from: Vec3<V>) -> Vec3<V> {
    [s.neg_mul_add(a[0], from[0]), s.neg_mul_add(a[1], from[1]), s.neg_mul_add(a[2], from[2])]
}

#[inline(always)]
pub(super) fn dot<V: F64Lanes>(a: Vec3<V>, b: Vec3<V>) -> V {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

/// Projection on the friction cone about `n`, with `cone` = 1/(1 + μ²); see cone::friction.
#[inline(always)]
pub(super) fn project<V: F64Lanes>(d: Vec3<V>, n: Vec3<V>, mu: V, cone: V) -> Vec3<V> {
    let dn = dot(d, n);
    let dt = taken(dn, n, d);
    let r = dot(dt, dt).sqrt();
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let slide_n = mu.mul_add(r, dn) * cone;
    let slide_t = mu * slide_n / r.select_le(zero, one, r);
    let (mu_r, minus_dn, mu_dn) = (mu * r, zero - dn, mu * dn);
    let pn = mu_r.select_le(minus_dn, zero, r.select_le(mu_dn, dn, slide_n));
    let pt = mu_r.select_le(minus_dn, zero, r.select_le(mu_dn, one, slide_t));
    added(pn, n, scale(pt, dt))
}
