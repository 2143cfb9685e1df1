//! What a pass does to eight points, or twice eight.

use super::super::eight::{
    Eight, along, apart, cross, dot, less_cross, load3, minus, plus, project, store3, times,
};
use super::super::pack::{GROUP, VECTORS};
use super::{View, What};

/// Velocities below this share of the problem's largest are none.
const TINY: f32 = 1e-13;

/// v_A - v_B and w_A + w_B of eight points.
#[inline(always)]
pub(super) unsafe fn relative<V: Eight, const TWO: bool>(view: &View, g: usize) -> [[V; 3]; 2] {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        V::relative::<TWO, true>(view.rows, [&raw const points.a, &raw const points.b], GROUP)
    }
}

/// Adds what an impulse `d` does to the bodies of eight points.
#[inline(always)]
unsafe fn push<V: Eight, const TWO: bool>(view: &View, g: usize, n: [V; 3], d: [V; 3]) {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        let places = [&raw const points.a, &raw const points.b];
        V::exchange_both::<TWO>(d, cross(d, n), view.rows, places, GROUP);
    }
}

/// Updates eight points [TasoraAnitescu2011, Algorithm 2 (23)-(26)], whose relative velocities are known. Where there is a `next`
/// group, its velocities are read before any are written: points of a colour share no body, and what is read after a write waits
/// for it. PLAIN: nothing drifts, friction is one number for all, and it is a whole sweep of the relaxed law.
#[inline(always)]
pub(super) unsafe fn group<V: Eight, const TWO: bool, const PLAIN: bool>(
    view: &View,
    g: usize,
    next: Option<usize>,
    [seen, turn]: [[V; 3]; 2],
    acc: &mut [V; 3],
) -> [[V; 3]; 2] {
    unsafe {
        let pack = view.pack;
        let points = pack.groups.get_unchecked(g);
        let n: [V; 3] = load3(&points.n, GROUP);
        let mut u = along(less_cross(seen, turn, n), V::load(&points.bias, GROUP), n);
        if !PLAIN && !pack.drift.is_empty() {
            u = plus(u, load3(pack.drift.get_unchecked(g), VECTORS));
        }
        let tiny = V::splat(TINY);
        u = [u[0].flush(tiny), u[1].flush(tiny), u[2].flush(tiny)];
        let mu = if PLAIN { pack.same_friction::<V>() } else { pack.friction::<V>(g) };
        if !PLAIN && view.coulomb {
            let slip = apart(u, dot(u, n), n);
            u = along(u, mu[0].mul(dot(slip, slip).sqrt()), n);
        }
        let (old, mut step): ([V; 3], V) = (view.start(g), V::load(&points.step, GROUP));
        if !PLAIN {
            step = step.mul(V::splat(view.wider));
        }
        let mut new = project(apart(old, step, u), n, mu);
        let mut delta = minus(new, old);
        if !PLAIN && view.lambda != 1.0 {
            delta = times(V::splat(view.lambda), delta);
            new = plus(old, delta);
        }
        see(view, dot(delta, delta), step, acc);
        let ahead = match next {
            Some(next) => relative::<V, TWO>(view, next),
            None => [seen, turn],
        };
        if PLAIN || view.what != What::Measure {
            store3(new, view.gamma.add(g), VECTORS);
            push::<V, TWO>(view, g, n, delta);
        }
        ahead
    }
}

#[inline(always)]
unsafe fn see<V: Eight>(view: &View, sq: V, step: V, acc: &mut [V; 3]) {
    unsafe {
        let weight = V::splat(1.0).div(V::splat(view.lambda).mul(step));
        let weighted = sq.mul(weight);
        let measure = weighted.mul(weight);
        acc[0] = measure.select_le(acc[0], acc[0], measure);
        acc[1] = acc[1].add(sq);
        acc[2] = acc[2].add(weighted);
    }
}

/// Adds what the multipliers of eight points do to the rows.
#[inline(always)]
pub(super) unsafe fn load<V: Eight, const TWO: bool>(view: &View, g: usize) {
    unsafe {
        let n = load3(&view.pack.groups.get_unchecked(g).n, GROUP);
        push::<V, TWO>(view, g, n, load3(view.gamma.add(g), VECTORS));
    }
}

/// The same without friction: multipliers lie along the normals, and so do the arms, so that nothing turns.
#[inline(always)]
pub(super) unsafe fn press<V: Eight, const TWO: bool>(view: &View, g: usize) {
    unsafe {
        let n = load3(&view.pack.groups.get_unchecked(g).n, GROUP);
        shift::<V, TWO>(view, g, times(V::load(view.gamma.add(g).cast(), VECTORS), n));
    }
}

#[inline(always)]
unsafe fn shift<V: Eight, const TWO: bool>(view: &View, g: usize, d: [V; 3]) {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        let places = [&raw const points.a, &raw const points.b];
        V::exchange::<TWO>(d, view.rows, places, GROUP);
    }
}

/// n · (v_A - v_B) of eight points.
#[inline(always)]
pub(super) unsafe fn approach<V: Eight, const TWO: bool>(view: &View, g: usize) -> V {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        let n: [V; 3] = load3(&points.n, GROUP);
        let a = V::gather(view.rows, &points.a, GROUP, 0);
        let along = a[3].mul(dot([a[0], a[1], a[2]], n));
        if !TWO {
            return along;
        }
        let b = V::gather(view.rows, &points.b, GROUP, 0);
        along.less(b[3], dot([b[0], b[1], b[2]], n))
    }
}

/// The same as [`group`] without friction.
#[inline(always)]
pub(super) unsafe fn frictionless<V: Eight, const TWO: bool>(
    view: &View,
    g: usize,
    next: Option<usize>,
    seen: V,
    acc: &mut [V; 3],
) -> V {
    unsafe {
        let points = view.pack.groups.get_unchecked(g);
        let u = seen.add(V::load(&points.bias, GROUP)).flush(V::splat(TINY));
        let (old, step) = (view.start_along::<V>(g), V::load(&points.step, GROUP));
        let zero = V::splat(0.0);
        let moved = old.less(step, u);
        let mut new = moved.select_le(zero, zero, moved);
        let mut delta = new.sub(old);
        if view.lambda != 1.0 {
            delta = V::splat(view.lambda).mul(delta);
            new = old.add(delta);
        }
        see(view, delta.mul(delta), step, acc);
        let ahead = match next {
            Some(next) => approach::<V, TWO>(view, next),
            None => seen,
        };
        if view.what != What::Measure {
            new.store(view.gamma.add(g).cast(), VECTORS);
            shift::<V, TWO>(view, g, times(delta, load3(&points.n, GROUP)));
        }
        ahead
    }
}
