//! The update of a few contact points at once, in f64: Gauss-Seidel, Jacobi, or a look without a change.

use std::ops::Range;

use crate::colour::Span;
use crate::parallel::Shared;
use crate::problem::{Points, WORLD};
use crate::simd::vec3::{Vec3, add, cross, dot, scale, sub};
use crate::simd::{Ends, F64Lanes, Kernel, Lanes, OwnRows, SharedRows, Simd, Table, dispatch};

use super::super::contact::layout::{Place, Row, Run, Spheres};
use super::super::contact::update::{Friction, add_slip, press, step};
use super::super::fixed_point::PassStats;

/// All a pass over the points needs; what is shared is as long as the problem says.
pub(super) struct PointsView<'a> {
    pub points: &'a Points,
    /// Of the bodies.
    pub inertia: Table<'a, [f64; 6]>,
    pub step: &'a [f64],
    pub lambda: f64,
    pub gamma: [Shared<f64>; 3],
    /// What a Jacobi pass reads.
    pub before: Table<'a, Row>,
    pub rows: SharedRows<'a>,
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

/// A run of points that one thread works on, with their multipliers and the rows of their bodies.
struct Own<'a> {
    run: Run<'a>,
    rows: OwnRows<'a>,
    gamma: [&'a mut [f64]; 3],
    step: &'a [f64],
}

impl<'a> PointsView<'a> {
    /// Points `range`, which all have (TWO) or have not a second body.
    ///
    /// # Safety
    /// Nobody else works on these points or their bodies as long as the result is there.
    #[inline(always)]
    unsafe fn own<const TWO: bool, const SPHERES: bool>(&self, range: Range<usize>) -> Own<'a> {
        let bodies = self.inertia.0.len();
        let run = Run::new::<TWO, SPHERES>(self.points, self.spheres, bodies, range.clone());
        let [x, y, z] = &self.gamma;
        // SAFETY: as the caller promises; there are as many multipliers as points, and the run has found its
        // points there.
        unsafe {
            Own {
                rows: self.rows.own(run.ends),
                gamma: [x, y, z].map(|field| field.slice(range.start, range.len())),
                step: &self.step[range],
                run,
            }
        }
    }
}

/// I⁻¹ x for the bodies of points `i .. i + COUNT` on one side.
#[inline(always)]
fn turn<V: F64Lanes>(view: &PointsView, ends: &Ends, side: usize, i: usize, x: Vec3<V>) -> Vec3<V> {
    let [xx, yy, zz, xy, xz, yz] = view.inertia.gather::<V>(ends, side, i);
    [dot([xx, xy, xz], x), dot([xy, yy, yz], x), dot([xz, yz, zz], x)]
}

/// What a chunk has seen: max (|Δγ| / (λωη))², Σ |Δγ|², Σ |Δγ|² / (λωη).
type Seen<V> = [V; 3];

/// Updates points `i .. i + COUNT` of a run, all of one colour and all with (TWO) or without a second body.
#[inline(always)]
fn group<V: F64Lanes, const TWO: bool, const JACOBI: bool, const SPHERES: bool, const FRICTIONLESS: bool>(
    view: &PointsView,
    own: &mut Own,
    i: usize,
    acc: &mut Seen<V>,
) {
    let Own { run, rows, gamma: [x, y, z], step: etas } = own;
    let place = Place::<V>::load::<TWO, SPHERES>(run, i);
    let n = place.n;
    macro_rules! read {
        ($side:literal) => {
            if JACOBI { view.before.gather(&run.ends, $side, i) } else { rows.gather($side, i) }
        };
    }
    let a: [V; 8] = read!(0);
    let b: [V; 8] = if TWO { read!(1) } else { a };
    let start = add(place.bias, [a[0], a[1], a[2]]);
    let mut u = match FRICTIONLESS {
        true => place.velocity::<TWO, SPHERES, false>(start, &a, &b),
        false => place.velocity::<TWO, SPHERES, true>(start, &a, &b),
    };
    let old = [V::load(x, i), V::load(y, i), V::load(z, i)];
    if run.is_soft() {
        u = add(u, run.compliance(i, n, old));
    }
    let eta = V::load(etas, i);
    let projected = if FRICTIONLESS {
        scale(press(dot(old, n), dot(u, n), eta), n)
    } else {
        let mu = run.mu(i);
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
    new[0].store(x, i);
    new[1].store(y, i);
    new[2].store(z, i);
    let twist = if SPHERES { cross(n, delta) } else { delta };
    let to = if JACOBI { rows.gather(0, i) } else { a };
    let v = add([to[0], to[1], to[2]], scale(to[3], delta));
    let w = [to[4], to[5], to[6]];
    let w = if SPHERES && FRICTIONLESS {
        w // The arms lie along the normal too: no torque.
    } else if SPHERES {
        sub(w, scale(to[7] * place.radius_a, twist))
    } else {
        add(w, turn(view, &run.ends, 0, i, cross(place.arm_a, delta)))
    };
    rows.scatter([v[0], v[1], v[2], to[3], w[0], w[1], w[2], to[7]], 0, i);
    if TWO {
        let to = if JACOBI { rows.gather(1, i) } else { b };
        let v = sub([to[0], to[1], to[2]], scale(to[3], delta));
        let w = [to[4], to[5], to[6]];
        let w = if SPHERES && FRICTIONLESS {
            w
        } else if SPHERES {
            sub(w, scale(to[7] * place.radius_b, twist))
        } else {
            sub(w, turn(view, &run.ends, 1, i, cross(place.arm_b, delta)))
        };
        rows.scatter([v[0], v[1], v[2], to[3], w[0], w[1], w[2], to[7]], 1, i);
    }
}

/// Points `start..two_end` with two bodies and `two_end..end` with one. Whoever makes one promises what
/// [`pass`] asks for.
struct Chunk<'a> {
    view: &'a PointsView<'a>,
    piece: Span,
}

impl Kernel for Chunk<'_> {
    type Out = PassStats;

    #[inline(always)]
    fn run<S: Simd>(self) -> PassStats {
        let Self { view, piece } = self;
        match (view.jacobi, view.all_spheres, view.frictionless) {
            (false, true, true) => points::<S::F64, false, true, true>(view, piece),
            (false, true, false) => points::<S::F64, false, true, false>(view, piece),
            (false, false, true) => points::<S::F64, false, false, true>(view, piece),
            (false, false, false) => points::<S::F64, false, false, false>(view, piece),
            (true, _, _) => points::<S::F64, true, false, false>(view, piece),
        }
    }
}

/// A piece of one colour on the widest registers of this machine; one after the other, where its points may
/// share bodies.
///
/// # Safety
/// No other thread works on the points of this piece or their bodies, and no two of its points share a body
/// unless it is a serial one.
pub(super) unsafe fn pass(view: &PointsView, piece: Span, backward: bool) -> PassStats {
    if piece.serial { serial(view, piece, backward) } else { dispatch(Chunk { view, piece }) }
}

/// The points of a piece, `COUNT` at a time, half as many at a time where eight are many, and the rest one by
/// one.
#[inline(always)]
fn points<V: F64Lanes, const JACOBI: bool, const SPHERES: bool, const FRICTIONLESS: bool>(
    view: &PointsView,
    piece: Span,
) -> PassStats {
    let [start, two_end, end] = [piece.start, piece.two_end, piece.end].map(|x| x as usize);
    let mut wide = [V::zero(); 3];
    let mut half = [V::Half::zero(); 3];
    let mut single = [0.0; 3];
    macro_rules! points {
        ($two:literal, $range:expr) => {
            // SAFETY: these points are this thread's, as the caller of `pass` promises.
            let mut own = unsafe { view.own::<$two, SPHERES>($range) };
            let (mut i, len) = (0, own.run.len);
            while i + V::COUNT <= len {
                group::<V, $two, JACOBI, SPHERES, FRICTIONLESS>(view, &mut own, i, &mut wide);
                i += V::COUNT;
            }
            if V::Half::COUNT > 1 && i + V::Half::COUNT <= len {
                group::<V::Half, $two, JACOBI, SPHERES, FRICTIONLESS>(view, &mut own, i, &mut half);
                i += V::Half::COUNT;
            }
            while i < len {
                group::<f64, $two, JACOBI, SPHERES, FRICTIONLESS>(view, &mut own, i, &mut single);
                i += 1;
            }
        };
    }
    points!(true, start..two_end);
    points!(false, two_end..end);
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
fn serial(view: &PointsView, span: Span, backward: bool) -> PassStats {
    let mut acc = [0.0f64; 3];
    for k in 0..span.end - span.start {
        let i = if backward { span.end - 1 - k } else { span.start + k } as usize;
        macro_rules! point {
            ($two:literal) => {{
                // SAFETY: this point is this thread's, as the caller of `pass` promises.
                let mut own = unsafe { view.own::<$two, false>(i..i + 1) };
                match view.jacobi {
                    true => group::<f64, $two, true, false, false>(view, &mut own, 0, &mut acc),
                    false => group::<f64, $two, false, false, false>(view, &mut own, 0, &mut acc),
                }
            }};
        }
        if view.points.b[i] == WORLD { point!(false) } else { point!(true) }
    }
    stats(acc)
}
