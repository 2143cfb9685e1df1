//! What a pass does to a group of contacts, or to two.

use crate::simd::vec3::{Vec3, add, cross, dot, scale, sub};
use crate::simd::{F32Lanes, load3, store3};

use super::super::super::contact::update::{add_slip, press, step};
use super::super::groups::GroupPass;
use super::super::pack::TINY;
use super::{Own, View, What};

/// Relative velocities: v_A - v_B and w_A + w_B.
pub(super) type Relative<V> = [Vec3<V>; 2];

/// Sums of a sweep: max |Δγ|²/(λη)², Σ |Δγ|², Σ |Δγ|²/(λη).
pub(super) const SUMS: usize = 3;

/// Updates contacts [TasoraAnitescu2011, Algorithm 2 (23)-(26)]. PLAIN: nothing drifts, friction is one
/// number for all, and it is a whole sweep of the relaxed law.
pub(super) struct Update<'a, const PLAIN: bool>(pub &'a View<'a>, pub Own<'a>);

impl<const PLAIN: bool> GroupPass<SUMS> for Update<'_, PLAIN> {
    type Ahead<V: F32Lanes> = Relative<V>;

    #[inline(always)]
    fn read<V: F32Lanes, const TWO: bool>(&self, g: usize) -> Relative<V> {
        V::relative::<_, TWO, true>(&self.1.contacts, g)
    }

    #[inline(always)]
    fn group<V: F32Lanes, const TWO: bool>(
        &mut self,
        g: usize,
        next: Option<usize>,
        seen: Relative<V>,
        acc: &mut [V; SUMS],
    ) -> Relative<V> {
        let Self(view, own) = self;
        let (pack, at) = (view.pack, own.first + g);
        let (contacts, old) = (own.contacts.groups::<V>(g), own.start::<V>(view, g));
        let n: Vec3<V> = load3(contacts, |c| &c.n);
        let mut u = pack.velocity::<V, PLAIN>(at, contacts, n, seen);
        let friction = if PLAIN { pack.same_friction() } else { pack.friction(at) };
        if !PLAIN && view.coulomb {
            (u, _) = add_slip(u, dot(u, n), n, friction.mu);
        }
        let mut eta = V::load(contacts, |c| &c.step);
        if !PLAIN {
            eta = eta * V::splat(view.wider);
        }
        let mut new = step(old, u, n, eta, friction);
        let mut delta = sub(new, old);
        if !PLAIN && view.lambda != 1.0 {
            delta = scale(V::splat(view.lambda), delta);
            new = add(old, delta);
        }
        measure(view, dot(delta, delta), eta, acc);
        let ahead = match next {
            Some(next) => V::relative::<_, TWO, true>(&own.contacts, next),
            None => seen,
        };
        if PLAIN || view.what != What::Measure {
            store3(new, &mut own.gamma[g..g + V::EIGHTS]);
            V::exchange_both::<_, TWO>(delta, cross(delta, n), &mut own.contacts, g);
        }
        ahead
    }
}

#[inline(always)]
fn measure<V: F32Lanes>(view: &View, sq: V, eta: V, acc: &mut [V; SUMS]) {
    let weight = V::one() / (V::splat(view.lambda) * eta);
    let weighted = sq * weight;
    acc[0] = acc[0].larger(weighted * weight);
    acc[1] = acc[1] + sq;
    acc[2] = acc[2] + weighted;
}

/// The same without friction: multipliers lie along the normals, and so do the arms, so that nothing turns.
pub(super) struct UpdateNormal<'a>(pub &'a View<'a>, pub Own<'a>);

impl GroupPass<SUMS> for UpdateNormal<'_> {
    /// n · (v_A - v_B).
    type Ahead<V: F32Lanes> = V;

    #[inline(always)]
    fn read<V: F32Lanes, const TWO: bool>(&self, g: usize) -> V {
        let contacts = &self.1.contacts;
        let n: Vec3<V> = load3(contacts.groups::<V>(g), |c| &c.n);
        let a: [V; 4] = V::gather(contacts, g, 0, 0);
        let along = a[3] * dot([a[0], a[1], a[2]], n);
        if !TWO {
            return along;
        }
        let b: [V; 4] = V::gather(contacts, g, 1, 0);
        along.sub_product(b[3], dot([b[0], b[1], b[2]], n))
    }

    #[inline(always)]
    fn group<V: F32Lanes, const TWO: bool>(
        &mut self,
        g: usize,
        next: Option<usize>,
        seen: V,
        acc: &mut [V; SUMS],
    ) -> V {
        let Self(view, own) = self;
        let (contacts, old): (_, V) = (own.contacts.groups::<V>(g), own.start_along(view, g));
        let u = (seen + V::load(contacts, |c| &c.bias)).flush(V::splat(TINY));
        let eta = V::load(contacts, |c| &c.step);
        let mut new = press(old, u, eta);
        let mut delta = new - old;
        if view.lambda != 1.0 {
            delta = V::splat(view.lambda) * delta;
            new = old + delta;
        }
        measure(view, delta * delta, eta, acc);
        let ahead = match next {
            Some(next) => self.read::<V, TWO>(next),
            None => seen,
        };
        let Self(view, own) = self;
        if view.what != What::Measure {
            new.store(&mut own.gamma[g..g + V::EIGHTS], |x| &mut x[0]);
            let force = scale(delta, load3(contacts, |c| &c.n));
            V::exchange::<_, TWO>(force, &mut own.contacts, g);
        }
        ahead
    }
}

/// Adds what the multipliers do to the rows. NORMAL: without friction, where they are one number each.
pub(super) struct Push<'a, const NORMAL: bool>(pub Own<'a>);

impl<const NORMAL: bool> GroupPass<SUMS> for Push<'_, NORMAL> {
    type Ahead<V: F32Lanes> = ();

    #[inline(always)]
    fn read<V: F32Lanes, const TWO: bool>(&self, _: usize) {}

    #[inline(always)]
    fn group<V: F32Lanes, const TWO: bool>(&mut self, g: usize, _: Option<usize>, (): (), _: &mut [V; SUMS]) {
        let Own { contacts, gamma, .. } = &mut self.0;
        let gamma = &gamma[g..g + V::EIGHTS];
        let n: Vec3<V> = load3(contacts.groups::<V>(g), |c| &c.n);
        if NORMAL {
            let along = V::load(gamma, |x| &x[0]);
            V::exchange::<_, TWO>(scale(along, n), contacts, g);
        } else {
            let d = load3(gamma, |x| x);
            V::exchange_both::<_, TWO>(d, cross(d, n), contacts, g);
        }
    }
}
