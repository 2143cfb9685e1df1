//! The passes over contact points that first-order methods need, with world vectors throughout: the cone is
//! round, so that no tangents are chosen.

use crate::simd::vec3::{Vec3, add, dot, scale, sub};
use crate::simd::{F64Lanes, Table};
use crate::solver::contact::layout::{Place, Row, Run, read3};
use crate::solver::contact::update::{Friction, scaled_step, step};

use super::lanes::{Own, SUMS, Seen, Work};

/// The three components of a vector over the points, each as long as there are points.
pub(super) type Field<'a> = [&'a [f64]; 3];

/// z = P(y - t S u_y) with y = γ + β (γ - γ_before), which is written, and D z added to the bodies. Sums:
/// see the constants.
pub(super) struct Step<'a> {
    pub t: f64,
    pub beta: f64,
    /// κ = η_n / η_t, where all contacts are those of spheres.
    pub kappa: f64,
    /// η_t and 1/η_t of the metric.
    pub step: &'a [f64],
    pub weight: &'a [f64],
    pub now: Field<'a>,
    pub before: Field<'a>,
    /// Velocities at y.
    pub velocity: Table<'a, Row>,
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
    fn group<V: F64Lanes, const TWO: bool, const SPHERES: bool>(
        &self,
        own: &mut Own,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    ) {
        let at = own.run.first + i;
        let (now, before) = (read3(&self.now, at), read3(&self.before, at));
        let y = add(now, scale(V::splat(self.beta), sub(now, before)));
        let (run, soft) = (&own.run, own.run.is_soft());
        let place: Place<V> = Place::load::<TWO, SPHERES>(run, i);
        let mut u = add(place.gather::<TWO, SPHERES>(self.velocity, &run.ends, i), place.bias);
        if soft {
            u = add(u, run.compliance(i, place.n, y));
        }
        let z = self.update::<V, SPHERES>(run, i, slot, &place, [y, u], seen);
        seen.add(DESCENT, slot, dot(u, sub(z, now)));
        let mut work = dot(place.bias, z);
        if soft {
            let d = sub(z, y);
            seen.add(SOFT, slot, dot(d, run.compliance(i, place.n, d)));
            work = work + V::splat(0.5) * dot(z, run.compliance(i, place.n, z));
        }
        seen.add(WORK, slot, work);
        own.write(i, z);
        if let Some(rows) = &mut own.rows {
            place.push::<TWO, SPHERES>(z, rows, i);
        }
    }
}

impl Step<'_> {
    /// z of points `i .. i + COUNT` of a run from y and u there, and how far it is.
    #[inline(always)]
    fn update<V: F64Lanes, const SPHERES: bool>(
        &self,
        run: &Run,
        i: usize,
        slot: usize,
        place: &Place<V>,
        [y, u]: [Vec3<V>; 2],
        seen: &mut Seen,
    ) -> Vec3<V> {
        let at = run.first + i;
        let (eta, weight) = (V::splat(self.t) * V::load(self.step, at), V::load(self.weight, at));
        let mu = run.mu(i);
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
    /// 1/g and g of the certificate.
    pub eta: &'a [f64],
    pub diagonal: &'a [f64],
    pub gamma: Field<'a>,
    pub velocity: Table<'a, Row>,
}

impl Work for Residual<'_> {
    const MOST: [bool; SUMS] = [true, false, false, false, false];

    #[inline(always)]
    fn group<V: F64Lanes, const TWO: bool, const SPHERES: bool>(
        &self,
        own: &mut Own,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    ) {
        let (run, at) = (&own.run, own.run.first + i);
        let gamma = read3(&self.gamma, at);
        let place: Place<V> = Place::load::<TWO, SPHERES>(run, i);
        let mut u = add(place.gather::<TWO, SPHERES>(self.velocity, &run.ends, i), place.bias);
        if run.is_soft() {
            u = add(u, run.compliance(i, place.n, gamma));
        }
        let (eta, diagonal) = (V::load(self.eta, at), V::load(self.diagonal, at));
        // |γ - Π(γ - u/g)| g, squared.
        let e = sub(gamma, step(gamma, u, place.n, eta, Friction::new(run.mu(i))));
        seen.most(0, slot, dot(e, e) * diagonal * diagonal);
    }
}

/// D x added to the bodies; sum 0 is ⟨b, x⟩ + ½ ⟨x, C x⟩.
pub(super) struct Scatter<'a> {
    pub x: Field<'a>,
}

impl Work for Scatter<'_> {
    const MOST: [bool; SUMS] = [false; SUMS];

    #[inline(always)]
    fn group<V: F64Lanes, const TWO: bool, const SPHERES: bool>(
        &self,
        own: &mut Own,
        i: usize,
        slot: usize,
        seen: &mut Seen,
    ) {
        let x = read3(&self.x, own.run.first + i);
        let place: Place<V> = Place::load::<TWO, SPHERES>(&own.run, i);
        let mut work = dot(place.bias, x);
        if own.run.is_soft() {
            work = work + V::splat(0.5) * dot(x, own.run.compliance(i, place.n, x));
        }
        seen.add(0, slot, work);
        if let Some(rows) = &mut own.rows {
            place.push::<TWO, SPHERES>(x, rows, i);
        }
    }
}

/// u = Dᵀ v + C x, which is written.
pub(super) struct Gather<'a> {
    pub x: Field<'a>,
    pub velocity: Table<'a, Row>,
}

impl Work for Gather<'_> {
    const MOST: [bool; SUMS] = [false; SUMS];

    #[inline(always)]
    fn group<V: F64Lanes, const TWO: bool, const SPHERES: bool>(
        &self,
        own: &mut Own,
        i: usize,
        _: usize,
        _: &mut Seen,
    ) {
        let run = &own.run;
        let place: Place<V> = Place::load::<TWO, SPHERES>(run, i);
        let mut u = place.gather::<TWO, SPHERES>(self.velocity, &run.ends, i);
        if run.is_soft() {
            u = add(u, run.compliance(i, place.n, read3(&self.x, run.first + i)));
        }
        own.write(i, u);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::{self, Geometry, Writes};
    use super::*;
    use crate::colour::Span;
    use crate::problem::{Points, WORLD};
    use crate::simd::{Kernel, Simd, every_width};
    use crate::solver::contact::layout::Spheres;

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
                t: 0.4,
                beta: 0.8,
                kappa: self.kappa,
                step: &step,
                weight: &weight,
                now: now.each_ref().map(Vec::as_slice),
                before: before.each_ref().map(Vec::as_slice),
                velocity: Table(&velocity),
            };
            let Self { points, bodies, spheres: all_spheres, .. } = self;
            let geometry = Geometry { points, bodies, spheres: &compact, all_spheres };
            let writes = Writes::new(Some(trial.each_mut().map(Vec::as_mut_slice)), &mut force);
            let sums = lanes::one_chunk::<S, _>(&work, geometry, &writes, 21);
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
