//! A few vectors at a time: rows of numbers one lane behind the other, world vectors, and the friction cone.

use super::super::sweep::kernel::{Three, times};
use super::super::sweep::vector::Vector;
use super::pack::Lane;

/// Numbers from one lane's to the next one's.
pub(super) const STRIDE: usize = size_of::<Lane>() / size_of::<f64>();

/// sum + the next few numbers times `x`.
#[inline(always)]
pub(super) unsafe fn add_products<V: Vector, const N: usize>(
    at: &mut *const f64,
    x: [V; N],
    mut sum: V,
) -> V {
    for k in 0..N {
        sum = unsafe { V::load(at.add(k * STRIDE)).mul_add(x[k], sum) };
    }
    *at = at.wrapping_add(N * STRIDE);
    sum
}

/// Adds d times the next few numbers.
#[inline(always)]
pub(super) unsafe fn add_multiple<V: Vector, const N: usize>(at: &mut *const f64, d: V, to: &mut [V; N]) {
    for k in 0..N {
        to[k] = unsafe { V::load(at.add(k * STRIDE)).mul_add(d, to[k]) };
    }
    *at = at.wrapping_add(N * STRIDE);
}

/// Numbers that follow each other.
#[inline(always)]
pub(super) unsafe fn few<V: Vector, const N: usize>(from: *const f64) -> [V; N] {
    unsafe {
        let mut out = [V::splat(0.0); N];
        for k in 0..N {
            out[k] = V::load(from.add(k * STRIDE));
        }
        out
    }
}

/// sum + a × b.
#[inline(always)]
pub(super) unsafe fn cross_added<V: Vector>(a: Three<V>, b: Three<V>, sum: Three<V>) -> Three<V> {
    unsafe {
        [
            a[1].mul_add(b[2], a[2].take_from(b[1], sum[0])),
            a[2].mul_add(b[0], a[0].take_from(b[2], sum[1])),
            a[0].mul_add(b[1], a[1].take_from(b[0], sum[2])),
        ]
    }
}

/// sum + s a.
#[inline(always)]
pub(super) unsafe fn added<V: Vector>(s: V, a: Three<V>, sum: Three<V>) -> Three<V> {
    unsafe { [s.mul_add(a[0], sum[0]), s.mul_add(a[1], sum[1]), s.mul_add(a[2], sum[2])] }
}

/// from - s a.
#[inline(always)]
pub(super) unsafe fn taken<V: Vector>(s: V, a: Three<V>, from: Three<V>) -> Three<V> {
    unsafe { [s.take_from(a[0], from[0]), s.take_from(a[1], from[1]), s.take_from(a[2], from[2])] }
}

#[inline(always)]
pub(super) unsafe fn dot<V: Vector>(a: Three<V>, b: Three<V>) -> V {
    unsafe { a[0].mul_add(b[0], a[1].mul_add(b[1], a[2].mul(b[2]))) }
}

/// Projection on the friction cone about `n`, with `cone` = 1/(1 + μ²); see cone::friction.
#[inline(always)]
pub(super) unsafe fn project<V: Vector>(d: Three<V>, n: Three<V>, mu: V, cone: V) -> Three<V> {
    unsafe {
        let dn = dot(d, n);
        let dt = taken(dn, n, d);
        let r = dot(dt, dt).sqrt();
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        let slide_n = mu.mul_add(r, dn).mul(cone);
        let slide_t = mu.mul(slide_n).div(r.select_le(zero, one, r));
        let (mu_r, minus_dn, mu_dn) = (mu.mul(r), zero.sub(dn), mu.mul(dn));
        let pn = mu_r.select_le(minus_dn, zero, r.select_le(mu_dn, dn, slide_n));
        let pt = mu_r.select_le(minus_dn, zero, r.select_le(mu_dn, one, slide_t));
        added(pn, n, times(pt, dt))
    }
}
