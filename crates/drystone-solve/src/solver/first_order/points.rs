//! The passes over contact points that first-order methods need, with world vectors throughout: the cone is round, so
//! that no tangents are chosen.

use crate::problem::Points;
use crate::solver::sweep::kernel::{Row, Spheres, Three, dot, minus, plus, project, project_parts, times};
use crate::solver::sweep::vector::Vector;

use super::lanes::{Place, SUMS, Seen, Work};

/// What all passes read.
#[derive(Clone, Copy)]
pub(super) struct Geometry<'a> {
    pub points: &'a Points,
    /// Filled in where all contacts are those of spheres.
    pub spheres: &'a Spheres,
}

impl Geometry<'_> {
    #[inline(always)]
    unsafe fn ids(&self, i: usize) -> [*const u32; 2] {
        unsafe { [self.points.a.as_ptr().add(i), self.points.b.as_ptr().add(i)] }
    }

    /// C x of points `i .. i + L`; zero where all is rigid.
    #[inline(always)]
    unsafe fn compliance<V: Vector>(&self, i: usize, n: Three<V>, x: Three<V>) -> Three<V> {
        let [normal, tangent] = &self.points.compliance;
        unsafe {
            let (cn, ct) = (V::load(normal.as_ptr().add(i)), V::load(tangent.as_ptr().add(i)));
            plus(times(ct, x), times(cn.sub(ct).mul(dot(x, n)), n))
        }
    }

    fn soft(&self) -> bool {
        !self.points.compliance[0].is_empty()
    }
}

/// The three components of a vector over the points.
pub(super) type Field = [*const f64; 3];

#[inline(always)]
unsafe fn read<V: Vector>(field: Field, i: usize) -> Three<V> {
    unsafe { [V::load(field[0].add(i)), V::load(field[1].add(i)), V::load(field[2].add(i))] }
}

#[inline(always)]
unsafe fn write<V: Vector>(field: [*mut f64; 3], i: usize, x: Three<V>) {
    unsafe {
        x[0].store(field[0].add(i));
        x[1].store(field[1].add(i));
        x[2].store(field[2].add(i));
    }
}

/// |γ - P(γ - u/g)| g, squared.
#[inline(always)]
unsafe fn natural<V: Vector>(gamma: Three<V>, u: Three<V>, n: Three<V>, mu: V, [eta, g]: [V; 2]) -> V {
    unsafe {
        let e = minus(gamma, project(minus(gamma, times(eta, u)), n, mu));
        dot(e, e).mul(g).mul(g)
    }
}

/// z = P(y - t S u_y) with y = γ + β (γ - γ_before), and D z added to the bodies. Sums: see the constants.
pub(super) struct Step<'a> {
    pub geometry: Geometry<'a>,
    pub t: f64,
    pub beta: f64,
    /// κ = η_n / η_t, where all contacts are those of spheres.
    pub kappa: f64,
    /// η_t and 1/η_t of the metric.
    pub step: &'a [f64],
    pub weight: &'a [f64],
    pub now: Field,
    pub before: Field,
    pub trial: [*mut f64; 3],
    /// Velocities at y.
    pub velocity: *const Row,
    /// D z, starting from zero.
    pub force: *mut Row,
}

/// max |S⁻¹ (z - y)|².
pub(super) const MEASURE: usize = 0;
/// Σ ⟨z - y, S⁻¹ (z - y)⟩.
pub(super) const LENGTH: usize = 1;
/// Σ ⟨u_y, z - γ⟩.
pub(super) const DESCENT: usize = 2;
/// Σ ⟨z - y, C (z - y)⟩.
pub(super) const SOFT: usize = 3;
/// Σ ⟨b, z⟩ + ½ ⟨z, C z⟩.
pub(super) const WORK: usize = 4;

// SAFETY: threads write only forces and multipliers of points in their own chunk of one colour.
unsafe impl Sync for Step<'_> {}

impl Work for Step<'_> {
    const MOST: [bool; SUMS] = [true, false, false, false, false];

    #[inline(always)]
    unsafe fn group<V: Vector, const TWO: bool, const SPHERES: bool>(
        &self,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    ) {
        let g = &self.geometry;
        unsafe {
            let ids = g.ids(i);
            let place = Place::<V>::load::<TWO, SPHERES>(g.points, g.spheres, i);
            let (now, before) = (read(self.now, i), read(self.before, i));
            let y = plus(now, times(V::splat(self.beta), minus(now, before)));
            let mut u = plus(place.velocity::<TWO, SPHERES>(self.velocity, ids), place.bias());
            if g.soft() {
                u = plus(u, g.compliance(i, place.n, y));
            }
            let step = V::splat(self.t).mul(V::load(self.step.as_ptr().add(i)));
            let mu = V::load(g.points.mu.as_ptr().add(i));
            let weight = V::load(self.weight.as_ptr().add(i));
            let (z, d, length, measure);
            if SPHERES {
                // Along the normal the step is κ times as long as across.
                let (to, un) = (minus(y, times(step, u)), dot(u, place.n));
                let dn = dot(to, place.n);
                let pressed = dn.sub(V::splat(self.kappa - 1.0).mul(step).mul(un));
                let across = minus(to, times(dn, place.n));
                z = project_parts(pressed, across, place.n, [mu, V::splat(self.kappa).mul(mu)]);
                d = minus(z, y);
                let along = dot(d, place.n);
                let (sq, less) = (dot(d, d), along.mul(along));
                let over = 1.0 / self.kappa;
                length = sq.sub(V::splat(1.0 - over).mul(less)).mul(weight);
                measure = sq.sub(V::splat(1.0 - over * over).mul(less)).mul(weight).mul(weight);
            } else {
                z = project(minus(y, times(step, u)), place.n, mu);
                d = minus(z, y);
                length = dot(d, d).mul(weight);
                measure = length.mul(weight);
            }
            write(self.trial, i, z);
            seen.most(MEASURE, slot, measure);
            seen.add(LENGTH, slot, length);
            seen.add(DESCENT, slot, dot(u, minus(z, now)));
            let mut work = dot(place.bias(), z);
            if g.soft() {
                seen.add(SOFT, slot, dot(d, g.compliance(i, place.n, d)));
                work = work.add(V::splat(0.5).mul(dot(z, g.compliance(i, place.n, z))));
            }
            seen.add(WORK, slot, work);
            place.push::<TWO, SPHERES>(z, self.force, ids);
        }
    }
}

/// max (natural-map residual)², as sum 0.
pub(super) struct Residual<'a> {
    pub geometry: Geometry<'a>,
    /// 1/g and g of the certificate.
    pub eta: &'a [f64],
    pub diagonal: &'a [f64],
    pub gamma: Field,
    pub velocity: *const Row,
}

// SAFETY: reads only.
unsafe impl Sync for Residual<'_> {}

impl Work for Residual<'_> {
    const MOST: [bool; SUMS] = [true, false, false, false, false];

    #[inline(always)]
    unsafe fn group<V: Vector, const TWO: bool, const SPHERES: bool>(
        &self,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    ) {
        let g = &self.geometry;
        unsafe {
            let place = Place::<V>::load::<TWO, SPHERES>(g.points, g.spheres, i);
            let gamma = read(self.gamma, i);
            let mut u = plus(place.velocity::<TWO, SPHERES>(self.velocity, g.ids(i)), place.bias());
            if g.soft() {
                u = plus(u, g.compliance(i, place.n, gamma));
            }
            let scale = [V::load(self.eta.as_ptr().add(i)), V::load(self.diagonal.as_ptr().add(i))];
            let mu = V::load(g.points.mu.as_ptr().add(i));
            seen.most(0, slot, natural(gamma, u, place.n, mu, scale));
        }
    }
}

/// D x added to the bodies; sum 0 is ⟨b, x⟩ + ½ ⟨x, C x⟩.
pub(super) struct Scatter<'a> {
    pub geometry: Geometry<'a>,
    pub x: Field,
    pub force: *mut Row,
}

// SAFETY: threads write only forces of points in their own chunk of one colour.
unsafe impl Sync for Scatter<'_> {}

impl Work for Scatter<'_> {
    const MOST: [bool; SUMS] = [false; SUMS];

    #[inline(always)]
    unsafe fn group<V: Vector, const TWO: bool, const SPHERES: bool>(
        &self,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    ) {
        let g = &self.geometry;
        unsafe {
            let place = Place::<V>::load::<TWO, SPHERES>(g.points, g.spheres, i);
            let x = read(self.x, i);
            let mut work = dot(place.bias(), x);
            if g.soft() {
                work = work.add(V::splat(0.5).mul(dot(x, g.compliance(i, place.n, x))));
            }
            seen.add(0, slot, work);
            place.push::<TWO, SPHERES>(x, self.force, g.ids(i));
        }
    }
}

/// u = Dᵀ v + C x.
pub(super) struct Gather<'a> {
    pub geometry: Geometry<'a>,
    pub x: Field,
    pub velocity: *const Row,
    pub u: [*mut f64; 3],
}

// SAFETY: threads write only velocities of points in their own chunk.
unsafe impl Sync for Gather<'_> {}

impl Work for Gather<'_> {
    const MOST: [bool; SUMS] = [false; SUMS];

    #[inline(always)]
    unsafe fn group<V: Vector, const TWO: bool, const SPHERES: bool>(
        &self,
        i: usize,
        _: usize,
        _: &mut Seen,
    ) {
        let g = &self.geometry;
        unsafe {
            let place = Place::<V>::load::<TWO, SPHERES>(g.points, g.spheres, i);
            let mut u = place.velocity::<TWO, SPHERES>(self.velocity, g.ids(i));
            if g.soft() {
                u = plus(u, g.compliance(i, place.n, read(self.x, i)));
            }
            write(self.u, i, u);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes;
    use super::*;
    use crate::colour::Span;
    use crate::problem::WORLD;

    /// Points on bodies of their own, 21 with two bodies and 16 with one: whole groups and single ones of both kinds.
    fn points(soft: bool) -> (Points, usize) {
        let mut p = Points::default();
        let mut bodies = 0;
        for i in 0..37u32 {
            let x = f64::from(i);
            let n = [(0.7 * x).sin(), (0.7 * x).cos() * 0.6, (0.7 * x).cos() * 0.8];
            let pair = if i < 21 { (bodies, bodies + 1) } else { (bodies, WORLD) };
            bodies += if i < 21 { 2 } else { 1 };
            let along = |s: f64| n.map(|k| s * k);
            p.push(
                pair,
                n,
                along(-0.5 - 0.01 * x),
                along(0.4 + 0.01 * x),
                along((x - 18.0) * 0.03),
                0.1 * (i % 5) as f64,
            );
        }
        if soft {
            p.compliance = [vec![0.02; 37], vec![0.01; 37]];
        }
        p.spans = vec![Span { start: 0, two_end: 21, end: 37, serial: false }];
        (p, bodies as usize)
    }

    #[test]
    fn every_width_gives_the_same_bits() {
        for (spheres, soft) in [(true, false), (false, false), (true, true)] {
            let (p, bodies) = points(soft);
            let numbers = [0.5, 0.4].map(|r| (0..37).map(|i| r + 0.01 * i as f64).collect());
            let compact = Spheres { numbers };
            let wave = |k: f64| (0..37).map(|i| (k * i as f64 + k).sin()).collect::<Vec<f64>>();
            let now: [Vec<f64>; 3] = [wave(0.3), wave(1.1), wave(2.3)];
            let before: [Vec<f64>; 3] = [wave(0.4), wave(1.2), wave(2.0)];
            let velocity: Vec<Row> =
                (0..bodies).map(|b| Row(std::array::from_fn(|k| ((3 * b + k) as f64).sin()))).collect();
            let (step, weight) = (vec![0.7; 37], vec![1.0 / 0.7; 37]);
            let solve = |wide: bool| {
                let mut trial: [Vec<f64>; 3] = std::array::from_fn(|_| vec![0.0; 37]);
                let mut force = vec![Row([0.0; 8]); bodies];
                let work = Step {
                    geometry: Geometry { points: &p, spheres: &compact },
                    t: 0.4,
                    beta: 0.8,
                    kappa: if soft { 1.0 } else { 3.5 },
                    step: &step,
                    weight: &weight,
                    now: now.each_ref().map(|f| f.as_ptr()),
                    before: before.each_ref().map(|f| f.as_ptr()),
                    trial: trial.each_mut().map(|f| f.as_mut_ptr()),
                    velocity: velocity.as_ptr(),
                    force: force.as_mut_ptr(),
                };
                // SAFETY: every vector has 37 entries, every row a body, and no two points share one.
                let sums = unsafe {
                    if wide {
                        lanes::all(&work, &p, spheres, &mut Vec::new())
                    } else {
                        lanes::scalar(&work, spheres, [0, 21, 37])
                    }
                };
                let numbers = trial.iter().flatten().chain(force.iter().flat_map(|f| &f.0)).chain(&sums);
                numbers.map(|x| x.to_bits()).collect::<Vec<u64>>()
            };
            let (narrow, wide) = (solve(false), solve(true));
            assert!(narrow.iter().any(|x| *x != 0));
            assert_eq!(narrow, wide, "spheres {spheres}, soft {soft}");
        }
    }
}
