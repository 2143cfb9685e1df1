//! World vectors, one a lane: the algebra of contacts.

use super::Lanes;

/// A world vector a lane.
pub(crate) type Vec3<V> = [V; 3];

/// a · b.
#[inline(always)]
pub(crate) fn dot<V: Lanes>(a: Vec3<V>, b: Vec3<V>) -> V {
    (a[0] * b[0]).add_product(a[1], b[1]).add_product(a[2], b[2])
}

/// x + a · b.
#[inline(always)]
pub(crate) fn add_dot<V: Lanes>(x: V, a: Vec3<V>, b: Vec3<V>) -> V {
    x.add_product(a[0], b[0]).add_product(a[1], b[1]).add_product(a[2], b[2])
}

/// a × b.
#[inline(always)]
pub(crate) fn cross<V: Lanes>(a: Vec3<V>, b: Vec3<V>) -> Vec3<V> {
    [
        (a[1] * b[2]).sub_product(a[2], b[1]),
        (a[2] * b[0]).sub_product(a[0], b[2]),
        (a[0] * b[1]).sub_product(a[1], b[0]),
    ]
}

/// a - b × c, one product after the other.
#[inline(always)]
pub(crate) fn sub_cross<V: Lanes>(a: Vec3<V>, b: Vec3<V>, c: Vec3<V>) -> Vec3<V> {
    [
        a[0].sub_product(b[1], c[2]).add_product(b[2], c[1]),
        a[1].sub_product(b[2], c[0]).add_product(b[0], c[2]),
        a[2].sub_product(b[0], c[1]).add_product(b[1], c[0]),
    ]
}

/// a + b.
#[inline(always)]
pub(crate) fn add<V: Lanes>(a: Vec3<V>, b: Vec3<V>) -> Vec3<V> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// a - b.
#[inline(always)]
pub(crate) fn sub<V: Lanes>(a: Vec3<V>, b: Vec3<V>) -> Vec3<V> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// s a.
#[inline(always)]
pub(crate) fn scale<V: Lanes>(s: V, a: Vec3<V>) -> Vec3<V> {
    [s * a[0], s * a[1], s * a[2]]
}

/// a + s b.
#[inline(always)]
pub(crate) fn add_scaled<V: Lanes>(a: Vec3<V>, s: V, b: Vec3<V>) -> Vec3<V> {
    [a[0].add_product(s, b[0]), a[1].add_product(s, b[1]), a[2].add_product(s, b[2])]
}

/// a - s b.
#[inline(always)]
pub(crate) fn sub_scaled<V: Lanes>(a: Vec3<V>, s: V, b: Vec3<V>) -> Vec3<V> {
    [a[0].sub_product(s, b[0]), a[1].sub_product(s, b[1]), a[2].sub_product(s, b[2])]
}
