//! The update of a few contact points at once, in f64: Gauss-Seidel, Jacobi, or a look without a change.

use crate::colour::Span;
use crate::parallel::Shared;
use crate::problem::{Points, WORLD};
use crate::simd::vec3::{Vec3, add, cross, dot, scale, sub};
use crate::simd::{F64Lanes, Kernel, Lanes, Simd, Table, TableMut, dispatch};

use super::super::contact::layout::{Place, Row, Spheres, compliance};
use super::super::contact::update::{Friction, add_slip, press, step};
use super::super::fixed_point::PassStats;

/// All a pass over the points needs; what is shared is as long as the problem says.
pub(super) struct PointsView<'a> {
    pub points: &'a Points,
    pub inertia: Table<'a, [f64; 6]>,
    pub step: &'a [f64],
    pub lambda: f64,
    pub gamma: [Shared<f64>; 3],
    pub read: Table<'a, Row>,
    pub write: TableMut<'a, Row>,
    pub jacobi: bool,
    /// Nothing is written: the pass only sees.
    pub measure: bool,
    /// The arms as two numbers, where all contacts are those of spheres.
    pub spheres: &'a Spheres,
    pub all_spheres: bool,
    /// μ = 0 everywhere, as in a position problem: multipliers lie along the normals.
    pub frictionless: bool,
    /// Exact Coulomb: μ |u_T| is added to the normal velocity.
    pub coulomb: bool,
}

/// I⁻¹ x for the bodies `ids`.
///
/// # Safety
/// `ids` are `COUNT` bodies.
#[inline(always)]
unsafe fn turn<V: F64Lanes>(view: &PointsView, ids: *const u32, x: Vec3<V>) -> Vec3<V> {
    // SAFETY: as the caller promises.
    let [xx, yy, zz, xy, xz, yz] = unsafe { view.inertia.gather::<V>(ids) };
    [dot([xx, xy, xz], x), dot([xy, yy, yz], x), dot([xz, yz, zz], x)]
}

/// What a chunk has seen: max (|Δγ| / (λωη))², Σ |Δγ|², Σ |Δγ|² / (λωη).
type Seen<V> = [V; 3];

/// Updates points `i .. i + COUNT`, all of one colour and all with (TWO) or without a second body.
///
/// # Safety
/// The problem, which was checked, has them, and nobody else uses their bodies' rows or multipliers
/// meanwhile.
#[inline(always)]
unsafe fn group<
    V: F64Lanes,
    const TWO: bool,
    const JACOBI: bool,
    const SPHERES: bool,
    const FRICTIONLESS: bool,
>(
    view: &PointsView,
    i: usize,
    acc: &mut Seen<V>,
) {
    let p = view.points;
    // SAFETY: as the caller promises.
    unsafe {
        let (ids_a, ids_b) = (p.a.as_ptr().add(i), p.b.as_ptr().add(i));
        let place = Place::<V>::load::<TWO, SPHERES>(p, view.spheres, i);
        let n = place.n;
        let a: [V; 8] = view.read.gather(ids_a);
        let b: [V; 8] = if TWO { view.read.gather(ids_b) } else { a };
        let start = add(place.bias, [a[0], a[1], a[2]]);
        let mut u = match FRICTIONLESS {
            true => place.velocity::<TWO, SPHERES, false>(start, &a, &b),
            false => place.velocity::<TWO, SPHERES, true>(start, &a, &b),
        };
        let [x, y, z] = [view.gamma[0].at(i), view.gamma[1].at(i), view.gamma[2].at(i)];
        let old = [V::read(x), V::read(y), V::read(z)];
        if !p.compliance[0].is_empty() {
            u = add(u, compliance(p, i, n, old));
        }
        let eta = V::read(view.step.as_ptr().add(i));
        let projected = if FRICTIONLESS {
            scale(press(dot(old, n), dot(u, n), eta), n)
        } else {
            let mu = V::read(p.mu.as_ptr().add(i));
            if view.coulomb {
                (u, _) = add_slip(u, dot(u, n), n, mu);
            }
            step(old, u, n, eta, Friction::new(mu))
        };
        let (lambda, zero, one) = (V::splat(view.lambda), V::zero(), V::one());
        let new = match view.lambda == 1.0 {
            true => projected,
            false => add(scale(lambda, projected), scale(one - lambda, old)),
        };
        let delta = sub(new, old);
        let sq = dot(delta, delta);
        let moved = lambda * eta;
        let weight = moved.select_le(zero, zero, one / moved);
        acc[0] = acc[0].larger(sq * weight * weight);
        acc[1] = acc[1] + sq;
        acc[2] = acc[2] + sq * weight;
        if view.measure {
            return;
        }
        new[0].write(x);
        new[1].write(y);
        new[2].write(z);
        let twist = if SPHERES { cross(n, delta) } else { delta };
        let to = if JACOBI { view.write.gather(ids_a) } else { a };
        let v = add([to[0], to[1], to[2]], scale(to[3], delta));
        let w = [to[4], to[5], to[6]];
        let w = if SPHERES && FRICTIONLESS {
            w // The arms lie along the normal too: no torque.
        } else if SPHERES {
            sub(w, scale(to[7] * place.radius_a, twist))
        } else {
            add(w, turn(view, ids_a, cross(place.arm_a, delta)))
        };
        view.write.scatter([v[0], v[1], v[2], to[3], w[0], w[1], w[2], to[7]], ids_a);
        if TWO {
            let to = if JACOBI { view.write.gather(ids_b) } else { b };
            let v = sub([to[0], to[1], to[2]], scale(to[3], delta));
            let w = [to[4], to[5], to[6]];
            let w = if SPHERES && FRICTIONLESS {
                w
            } else if SPHERES {
                sub(w, scale(to[7] * place.radius_b, twist))
            } else {
                sub(w, turn(view, ids_b, cross(place.arm_b, delta)))
            };
            view.write.scatter([v[0], v[1], v[2], to[3], w[0], w[1], w[2], to[7]], ids_b);
        }
    }
}

/// Points `start..two_end` with two bodies and `two_end..end` with one.
struct Chunk<'a> {
    view: &'a PointsView<'a>,
    piece: Span,
}

impl Kernel for Chunk<'_> {
    type Out = PassStats;

    #[inline(always)]
    fn run<S: Simd>(self) -> PassStats {
        let Self { view, piece } = self;
        // SAFETY: `chunk` has promised what `points` asks for.
        unsafe {
            match (view.jacobi, view.all_spheres, view.frictionless) {
                (false, true, true) => points::<S::F64, false, true, true>(view, piece),
                (false, true, false) => points::<S::F64, false, true, false>(view, piece),
                (false, false, true) => points::<S::F64, false, false, true>(view, piece),
                (false, false, false) => points::<S::F64, false, false, false>(view, piece),
                (true, _, _) => points::<S::F64, true, false, false>(view, piece),
            }
        }
    }
}

/// A chunk of one colour on the widest registers of this machine.
///
/// # Safety
/// The problem was checked, no two points of the piece share a body that moves, and no other thread works on
/// their rows or multipliers.
pub(super) unsafe fn chunk(view: &PointsView, piece: Span) -> PassStats {
    dispatch(Chunk { view, piece })
}

/// The points of a piece, `COUNT` at a time, half as many at a time where eight are many, and the rest one by
/// one.
///
/// # Safety
/// As [`chunk`].
#[inline(always)]
unsafe fn points<V: F64Lanes, const JACOBI: bool, const SPHERES: bool, const FRICTIONLESS: bool>(
    view: &PointsView,
    piece: Span,
) -> PassStats {
    let [mut i, two_end, end] = [piece.start, piece.two_end, piece.end].map(|x| x as usize);
    let mut wide = [V::zero(); 3];
    let mut half = [V::Half::zero(); 3];
    let mut single = [0.0; 3];
    macro_rules! points {
        ($two:literal, $end:ident) => {
            while i + V::COUNT <= $end {
                group::<V, $two, JACOBI, SPHERES, FRICTIONLESS>(view, i, &mut wide);
                i += V::COUNT;
            }
            if V::Half::COUNT > 1 && i + V::Half::COUNT <= $end {
                group::<V::Half, $two, JACOBI, SPHERES, FRICTIONLESS>(view, i, &mut half);
                i += V::Half::COUNT;
            }
            while i < $end {
                group::<f64, $two, JACOBI, SPHERES, FRICTIONLESS>(view, i, &mut single);
                i += 1;
            }
        };
    }
    // SAFETY: as the caller promises.
    unsafe {
        points!(true, two_end);
        points!(false, end);
    }
    // Of eight lanes, of four, and of one.
    let mut lanes = [[0.0; 13]; 3];
    for k in 0..3 {
        wide[k].store(&mut lanes[k], 0);
        half[k].store(&mut lanes[k], 8);
        lanes[k][12] = single[k];
    }
    let sum = |k: usize| lanes[k].iter().sum::<f64>();
    stats([lanes[0].iter().fold(0.0, |m: f64, x| m.larger(*x)), sum(1), sum(2)])
}

fn stats(seen: Seen<f64>) -> PassStats {
    PassStats { residual: seen[0].sqrt(), delta_sq: seen[1], weighted: seen[2], ..PassStats::default() }
}

/// Points that may share bodies: one after the other.
///
/// # Safety
/// The problem was checked, and no other thread works on the points' rows or multipliers.
pub(super) unsafe fn serial(view: &PointsView, span: Span, backward: bool) -> PassStats {
    let mut acc = [0.0f64; 3];
    for k in 0..span.end - span.start {
        let i = if backward { span.end - 1 - k } else { span.start + k } as usize;
        let two = view.points.b[i] != WORLD;
        // SAFETY: as the caller promises, one point at a time.
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
