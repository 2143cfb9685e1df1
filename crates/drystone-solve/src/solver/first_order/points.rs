//! The passes over contact points that first-order methods need, with world vectors throughout: the cone is
//! round, so that no tangents are chosen.

use crate::parallel::Shared;
use crate::problem::Points;
use crate::simd::vec3::{Vec3, add, dot, scale, sub};
use crate::simd::{F64Lanes, Table, TableMut};
use crate::solver::contact::layout::{Place, Row, Spheres, compliance};
use crate::solver::contact::update::{Friction, scaled_step, step};

use super::lanes::{SUMS, Seen, Work};

/// What all passes read.
#[derive(Clone, Copy)]
pub(super) struct Geometry<'a> {
    pub points: &'a Points,
    /// Filled in where all contacts are those of spheres.
    pub spheres: &'a Spheres,
}

impl Geometry<'_> {
    /// Bodies of the points from `i` on.
    fn ids(&self, i: usize) -> [*const u32; 2] {
        [self.points.a[i..].as_ptr(), self.points.b[i..].as_ptr()]
    }

    fn soft(&self) -> bool {
        !self.points.compliance[0].is_empty()
    }
}

/// The three components of a vector over the points, each as long as there are points.
pub(super) type Field<'a> = [&'a [f64]; 3];
/// The same, to be written by several threads.
pub(super) type FieldMut = [Shared<f64>; 3];

#[inline(always)]
fn read<V: F64Lanes>(field: &Field, i: usize) -> Vec3<V> {
    [V::load(field[0], i), V::load(field[1], i), V::load(field[2], i)]
}

/// # Safety
/// There are `COUNT` points from `i` on, which nobody else uses meanwhile.
#[inline(always)]
unsafe fn write<V: F64Lanes>(field: &FieldMut, i: usize, x: Vec3<V>) {
    // SAFETY: as the caller promises.
    unsafe {
        x[0].write(field[0].at(i));
        x[1].write(field[1].at(i));
        x[2].write(field[2].at(i));
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
    pub now: Field<'a>,
    pub before: Field<'a>,
    pub trial: FieldMut,
    /// Velocities at y.
    pub velocity: Table<'a, Row>,
    /// D z, starting from zero.
    pub force: TableMut<'a, Row>,
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

impl Work for Step<'_> {
    const MOST: [bool; SUMS] = [true, false, false, false, false];

    #[inline(always)]
    unsafe fn group<V: F64Lanes, const TWO: bool, const SPHERES: bool>(
        &self,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    ) {
        let (g, ids) = (&self.geometry, self.geometry.ids(i));
        let (now, before) = (read(&self.now, i), read(&self.before, i));
        let y = add(now, scale(V::splat(self.beta), sub(now, before)));
        // SAFETY: as the caller promises.
        unsafe {
            let place: Place<V> = Place::load::<TWO, SPHERES>(g.points, g.spheres, i);
            let mut u = add(place.gather::<TWO, SPHERES>(self.velocity, ids), place.bias);
            if g.soft() {
                u = add(u, compliance(g.points, i, place.n, y));
            }
            let z = self.update::<V, SPHERES>(i, slot, &place, [y, u], seen);
            write(&self.trial, i, z);
            seen.add(DESCENT, slot, dot(u, sub(z, now)));
            let mut work = dot(place.bias, z);
            if g.soft() {
                let d = sub(z, y);
                seen.add(SOFT, slot, dot(d, compliance(g.points, i, place.n, d)));
                work = work + V::splat(0.5) * dot(z, compliance(g.points, i, place.n, z));
            }
            seen.add(WORK, slot, work);
            place.push::<TWO, SPHERES>(z, self.force, ids);
        }
    }
}

impl Step<'_> {
    /// z of points `i .. i + COUNT` from y and u there, and how far it is.
    #[inline(always)]
    fn update<V: F64Lanes, const SPHERES: bool>(
        &self,
        i: usize,
        slot: usize,
        place: &Place<V>,
        [y, u]: [Vec3<V>; 2],
        seen: &mut Seen,
    ) -> Vec3<V> {
        let (eta, weight) = (V::splat(self.t) * V::load(self.step, i), V::load(self.weight, i));
        let mu = V::load(&self.geometry.points.mu, i);
        let (z, length, measure);
        if SPHERES {
            // Along the normal the step is κ times as long as across.
            let friction = Friction::scaled(mu, V::splat(self.kappa));
            let (un, more) = (dot(u, place.n), V::splat(self.kappa - 1.0));
            z = scaled_step(y, [u, place.n], un, eta, more, friction);
            let d = sub(z, y);
            let along = dot(d, place.n);
            let (sq, less) = (dot(d, d), along * along);
            let over = 1.0 / self.kappa;
            length = (sq - V::splat(1.0 - over) * less) * weight;
            measure = (sq - V::splat(1.0 - over * over) * less) * weight * weight;
        } else {
            z = step(y, u, place.n, eta, Friction::new(mu));
            let d = sub(z, y);
            length = dot(d, d) * weight;
            measure = length * weight;
        }
        seen.most(MEASURE, slot, measure);
        seen.add(LENGTH, slot, length);
        z
    }
}

/// max (natural-map residual)², as sum 0.
pub(super) struct Residual<'a> {
    pub geometry: Geometry<'a>,
    /// 1/g and g of the certificate.
    pub eta: &'a [f64],
    pub diagonal: &'a [f64],
    pub gamma: Field<'a>,
    pub velocity: Table<'a, Row>,
}

impl Work for Residual<'_> {
    const MOST: [bool; SUMS] = [true, false, false, false, false];

    #[inline(always)]
    unsafe fn group<V: F64Lanes, const TWO: bool, const SPHERES: bool>(
        &self,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    ) {
        let g = &self.geometry;
        let gamma = read(&self.gamma, i);
        // SAFETY: as the caller promises.
        let (place, u) = unsafe {
            let place: Place<V> = Place::load::<TWO, SPHERES>(g.points, g.spheres, i);
            let mut u = add(place.gather::<TWO, SPHERES>(self.velocity, g.ids(i)), place.bias);
            if g.soft() {
                u = add(u, compliance(g.points, i, place.n, gamma));
            }
            (place, u)
        };
        let (eta, diagonal) = (V::load(self.eta, i), V::load(self.diagonal, i));
        // |γ - Π(γ - u/g)| g, squared.
        let friction = Friction::new(V::load(&g.points.mu, i));
        let e = sub(gamma, step(gamma, u, place.n, eta, friction));
        seen.most(0, slot, dot(e, e) * diagonal * diagonal);
    }
}

/// D x added to the bodies; sum 0 is ⟨b, x⟩ + ½ ⟨x, C x⟩.
pub(super) struct Scatter<'a> {
    pub geometry: Geometry<'a>,
    pub x: Field<'a>,
    pub force: TableMut<'a, Row>,
}

impl Work for Scatter<'_> {
    const MOST: [bool; SUMS] = [false; SUMS];

    #[inline(always)]
    unsafe fn group<V: F64Lanes, const TWO: bool, const SPHERES: bool>(
        &self,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    ) {
        let (g, x) = (&self.geometry, read(&self.x, i));
        // SAFETY: as the caller promises.
        unsafe {
            let place: Place<V> = Place::load::<TWO, SPHERES>(g.points, g.spheres, i);
            let mut work = dot(place.bias, x);
            if g.soft() {
                work = work + V::splat(0.5) * dot(x, compliance(g.points, i, place.n, x));
            }
            seen.add(0, slot, work);
            place.push::<TWO, SPHERES>(x, self.force, g.ids(i));
        }
    }
}

/// u = Dᵀ v + C x.
pub(super) struct Gather<'a> {
    pub geometry: Geometry<'a>,
    pub x: Field<'a>,
    pub velocity: Table<'a, Row>,
    pub u: FieldMut,
}

impl Work for Gather<'_> {
    const MOST: [bool; SUMS] = [false; SUMS];

    #[inline(always)]
    unsafe fn group<V: F64Lanes, const TWO: bool, const SPHERES: bool>(
        &self,
        i: usize,
        _: usize,
        _: &mut Seen,
    ) {
        let g = &self.geometry;
        // SAFETY: as the caller promises.
        unsafe {
            let place: Place<V> = Place::load::<TWO, SPHERES>(g.points, g.spheres, i);
            let mut u = place.gather::<TWO, SPHERES>(self.velocity, g.ids(i));
            if g.soft() {
                u = add(u, compliance(g.points, i, place.n, read(&self.x, i)));
            }
            write(&self.u, i, u);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes;
    use super::*;
    use crate::colour::Span;
    use crate::problem::WORLD;
    use crate::simd::{Kernel, Simd, every_width};

    /// Points on bodies of their own, 21 with two bodies and 16 with one: whole groups and single ones of
    /// both kinds.
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

    /// A step over the points above, and everything it wrote.
    struct Whole<'a> {
        points: &'a Points,
        bodies: usize,
        spheres: bool,
        kappa: f64,
    }

    impl Kernel for Whole<'_> {
        type Out = Vec<u64>;

        #[inline(always)]
        fn run<S: Simd>(self) -> Vec<u64> {
            let numbers = [0.5, 0.4].map(|r| (0..37).map(|i| r + 0.01 * i as f64).collect());
            let compact = Spheres { numbers };
            let wave = |k: f64| (0..37).map(|i| (k * i as f64 + k).sin()).collect::<Vec<f64>>();
            let now: [Vec<f64>; 3] = [wave(0.3), wave(1.1), wave(2.3)];
            let before: [Vec<f64>; 3] = [wave(0.4), wave(1.2), wave(2.0)];
            let velocity: Vec<Row> =
                (0..self.bodies).map(|b| Row(std::array::from_fn(|k| ((3 * b + k) as f64).sin()))).collect();
            let (step, weight) = (vec![0.7; 37], vec![1.0 / 0.7; 37]);
            let mut trial: [Vec<f64>; 3] = std::array::from_fn(|_| vec![0.0; 37]);
            let mut force = vec![Row([0.0; 8]); self.bodies];
            let work = Step {
                geometry: Geometry { points: self.points, spheres: &compact },
                t: 0.4,
                beta: 0.8,
                kappa: self.kappa,
                step: &step,
                weight: &weight,
                now: now.each_ref().map(Vec::as_slice),
                before: before.each_ref().map(Vec::as_slice),
                trial: trial.each_mut().map(|f| Shared(f.as_mut_ptr())),
                velocity: Table::new(&velocity),
                force: TableMut::new(&mut force),
            };
            // SAFETY: every vector has 37 entries, every row a body, and no two points share one.
            let sums = unsafe { lanes::one_chunk::<S, _>(&work, self.spheres, [0, 21, 37]) };
            let numbers = trial.iter().flatten().chain(force.iter().flat_map(|f| &f.0)).chain(&sums);
            numbers.map(|x| x.to_bits()).collect::<Vec<u64>>()
        }
    }

    #[test]
    fn every_width_gives_the_same_bits() {
        for (spheres, soft) in [(true, false), (false, false), (true, true)] {
            let (points, bodies) = points(soft);
            let kappa = if soft { 1.0 } else { 3.5 };
            let all = every_width(|| Whole { points: &points, bodies, spheres, kappa });
            assert!(all[0].iter().any(|x| *x != 0));
            assert!(all.iter().all(|x| *x == all[0]), "spheres {spheres}, soft {soft}");
        }
    }
}
