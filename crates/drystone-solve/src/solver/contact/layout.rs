//! Contacts in f64: general ones, with an arm for each body, and those of spheres, whose arms lie along the
//! normal.

use std::ops::Range;

use crate::problem::{Bodies, Points};
use crate::simd::vec3::{Vec3, add, add_scaled, cross, dot, scale, sub};
use crate::simd::{Ends, F64Lanes, OwnRows, Table};

/// A body's velocity: v, 1/m, ω, and 1/I where the inertia is the same about every axis (else 0).
pub(in crate::solver) use crate::simd::Row64 as Row;

/// Whether the inertia is a multiple of the identity.
pub(in crate::solver) fn is_ball(i: &[f64; 6]) -> bool {
    i[0] == i[1] && i[1] == i[2] && i[3] == 0.0 && i[4] == 0.0 && i[5] == 0.0
}

/// m, kg, and the inertia, kg m²: xx, yy, zz, twice xy, xz, yz.
pub(in crate::solver) type Mass = [f64; 7];

impl Row {
    pub fn new(v: &[f64; 6], inv_mass: f64, inertia: &[f64; 6]) -> Self {
        let ball = if is_ball(inertia) { inertia[0] } else { 0.0 };
        Self([v[0], v[1], v[2], inv_mass, v[3], v[4], v[5], ball])
    }

    pub fn parts(&self) -> ([f64; 3], [f64; 3]) {
        ([self.0[0], self.0[1], self.0[2]], [self.0[4], self.0[5], self.0[6]])
    }

    pub fn push(&mut self, inertia: &[f64; 6], force: [f64; 3], torque: [f64; 3]) {
        let turn = crate::problem::symmetric(inertia, torque);
        for k in 0..3 {
            self.0[k] += self.0[3] * force[k];
            self.0[4 + k] += turn[k];
        }
    }

    pub fn push_at(&mut self, inertia: &[f64; 6], impulse: [f64; 3], arm: [f64; 3]) {
        self.push(inertia, impulse, crate::problem::cross(arm, impulse));
    }

    /// Its mass and inertia, from the inverse one.
    pub fn mass(&self, inv_inertia: &[f64; 6]) -> Mass {
        if self.0[3] <= 0.0 {
            return [0.0; 7];
        }
        let m = 1.0 / self.0[3];
        // By cofactors.
        let [xx, yy, zz, xy, xz, yz] = *inv_inertia;
        let (cxx, cyy, czz) = (yy * zz - yz * yz, xx * zz - xz * xz, xx * yy - xy * xy);
        let (cxy, cxz, cyz) = (xz * yz - xy * zz, xy * yz - xz * yy, xy * xz - xx * yz);
        let det = xx * cxx + xy * cxy + xz * cxz;
        let trace = xx + yy + zz;
        if det <= 1e-14 * trace * trace * trace {
            // It turns about one axis only (or not at all): 1/I about that axis is the trace.
            let i = if trace > 0.0 { 1.0 / trace } else { 0.0 };
            return [m, i, i, i, 0.0, 0.0, 0.0];
        }
        [m, cxx / det, cyy / det, czz / det, 2.0 * cxy / det, 2.0 * cxz / det, 2.0 * cyz / det]
    }

    /// Δvᵀ M Δv.
    #[inline(always)]
    pub fn twice_energy_of_change(&self, before: &Row, mass: &Mass) -> f64 {
        let [m, xx, yy, zz, xy, xz, yz] = *mass;
        let d: [f64; 8] = std::array::from_fn(|k| self.0[k] - before.0[k]);
        let linear = m * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        let (x, y, z) = (d[4], d[5], d[6]);
        linear + x * (xx * x + xy * y + xz * z) + y * (yy * y + yz * z) + zz * z * z
    }
}

/// The compact form of contacts between spheres (or of a sphere with a wall): both arms lie along the normal,
/// and the inertia is the same about every axis, so that
///
/// ```text
///     u = v_A - v_B - (r_A ω_A + r_B ω_B) × n + bias
/// ```
#[derive(Debug, Default)]
pub(in crate::solver) struct Spheres {
    /// r_A = -arm_A·n, r_B = arm_B·n, m.
    pub numbers: [Vec<f64>; 2],
}

impl Spheres {
    /// Fills in the numbers; false if some contact or body is not of this kind.
    pub fn fill(&mut self, p: &Bodies) -> bool {
        self.numbers.iter_mut().for_each(Vec::clear);
        if !p.inv_inertia.iter().all(is_ball) {
            return false;
        }
        let points = &p.points;
        for i in 0..points.len() {
            let at = |f: &[Vec<f64>; 3]| [f[0][i], f[1][i], f[2][i]];
            let n = at(&points.normal);
            let along = |x: [f64; 3]| {
                let s = x[0] * n[0] + x[1] * n[1] + x[2] * n[2];
                let off = (0..3).map(|k| (x[k] - s * n[k]).abs()).fold(0.0, f64::max);
                // Rounding of positions leaves a few ulps of the coordinates, which may be larger than the
                // arm.
                (off <= 1e-11 * s.abs()).then_some(s)
            };
            let (Some(a), Some(b)) = (along(at(&points.arm_a)), along(at(&points.arm_b))) else {
                return false;
            };
            for (field, x) in self.numbers.iter_mut().zip([-a, b]) {
                field.push(x);
            }
        }
        true
    }
}

/// Points of a run, all with or all without a second body. The fields are of one length, so that the reads of
/// a group look once whether it is within.
pub(in crate::solver) struct Run<'a> {
    /// The number of the first point.
    pub first: usize,
    pub len: usize,
    pub ends: Ends<'a>,
    normal: [&'a [f64]; 3],
    arms: [[&'a [f64]; 3]; 2],
    bias: &'a [f64],
    drift: Option<[&'a [f64]; 3]>,
    /// See [`Spheres::numbers`].
    radii: [&'a [f64]; 2],
    mu: &'a [f64],
    compliance: Option<[&'a [f64]; 2]>,
}

impl<'a> Run<'a> {
    /// Points `range` of a problem of so many bodies; `s` is filled in where they are SPHERES.
    #[inline(always)]
    pub fn new<const TWO: bool, const SPHERES: bool>(
        p: &'a Points,
        s: &'a Spheres,
        bodies: usize,
        range: Range<usize>,
    ) -> Self {
        macro_rules! three {
            ($field:expr) => {
                [&$field[0][range.clone()], &$field[1][range.clone()], &$field[2][range.clone()]]
            };
        }
        macro_rules! two {
            ($field:expr) => {
                [&$field[0][range.clone()], &$field[1][range.clone()]]
            };
        }
        Self {
            first: range.start,
            len: range.len(),
            ends: Ends::new([&p.a[range.clone()], if TWO { &p.b[range.clone()] } else { &[] }], bodies),
            normal: three!(p.normal),
            arms: [three!(p.arm_a), three!(p.arm_b)],
            bias: &p.bias[range.clone()],
            drift: if p.drift[0].is_empty() { None } else { Some(three!(p.drift)) },
            radii: if SPHERES { two!(s.numbers) } else { [&[]; 2] },
            mu: &p.mu[range.clone()],
            compliance: if p.compliance[0].is_empty() { None } else { Some(two!(p.compliance)) },
        }
    }

    /// Whether anything gives.
    #[inline(always)]
    pub fn is_soft(&self) -> bool {
        self.compliance.is_some()
    }

    /// Friction of points `i .. i + COUNT` of the run.
    #[inline(always)]
    pub fn mu<V: F64Lanes>(&self, i: usize) -> V {
        V::load(self.mu, i)
    }

    /// C x of points `i .. i + COUNT` of the run, whose normals are `n`; nothing where nothing gives.
    #[inline(always)]
    pub fn compliance<V: F64Lanes>(&self, i: usize, n: Vec3<V>, x: Vec3<V>) -> Vec3<V> {
        let Some([normal, tangent]) = self.compliance else { return [V::zero(); 3] };
        let (cn, ct) = (V::load(normal, i), V::load(tangent, i));
        add_scaled(scale(ct, x), (cn - ct) * dot(x, n), n)
    }
}

/// Numbers `i .. i + COUNT` of three fields.
#[inline(always)]
pub(in crate::solver) fn read3<V: F64Lanes>(field: &[&[f64]; 3], i: usize) -> Vec3<V> {
    [V::load(field[0], i), V::load(field[1], i), V::load(field[2], i)]
}

/// Where a few contacts are: normals, biases, and arms as vectors or as radii along the normal.
#[derive(Clone, Copy)]
pub(in crate::solver) struct Place<V> {
    pub n: Vec3<V>,
    pub arm_a: Vec3<V>,
    pub arm_b: Vec3<V>,
    /// b, the world vector, m/s.
    pub bias: Vec3<V>,
    pub radius_a: V,
    pub radius_b: V,
}

impl<V: F64Lanes> Place<V> {
    /// Points `i .. i + COUNT` of a run.
    #[inline(always)]
    pub fn load<const TWO: bool, const SPHERES: bool>(run: &Run, i: usize) -> Self {
        let n: Vec3<V> = read3(&run.normal, i);
        let mut bias = scale(V::load(run.bias, i), n);
        if let Some(drift) = &run.drift {
            bias = add(bias, read3(drift, i));
        }
        let mut place = Self { n, arm_a: n, arm_b: n, bias, radius_a: n[0], radius_b: n[0] };
        if SPHERES {
            place.radius_a = V::load(run.radii[0], i);
            if TWO {
                place.radius_b = V::load(run.radii[1], i);
            }
        } else {
            place.arm_a = read3(&run.arms[0], i);
            if TWO {
                place.arm_b = read3(&run.arms[1], i);
            }
        }
        place
    }

    /// What the bodies' turning and the second body's motion add to `start`, the first body's velocity (and
    /// the bias): `a` and `b` are columns of rows. Without SLIDES only the part along the normal counts.
    #[inline(always)]
    pub fn velocity<const TWO: bool, const SPHERES: bool, const SLIDES: bool>(
        &self,
        start: Vec3<V>,
        a: &[V; 8],
        b: &[V; 8],
    ) -> Vec3<V> {
        let (wa, vb, wb) = ([a[4], a[5], a[6]], [b[0], b[1], b[2]], [b[4], b[5], b[6]]);
        let mut u = start;
        if SPHERES {
            let mut w = scale(self.radius_a, wa);
            if TWO {
                w = add(w, scale(self.radius_b, wb));
                u = sub(u, vb);
            }
            if SLIDES { sub(u, cross(w, self.n)) } else { u }
        } else {
            u = add(u, cross(wa, self.arm_a));
            if TWO {
                u = sub(sub(u, vb), cross(wb, self.arm_b));
            }
            u
        }
    }

    /// Dᵀ v: the relative velocity of the bodies of contacts `i .. i + COUNT`.
    #[inline(always)]
    pub fn gather<const TWO: bool, const SPHERES: bool>(
        &self,
        rows: Table<Row>,
        ends: &Ends,
        i: usize,
    ) -> Vec3<V> {
        let a: [V; 8] = rows.gather(ends, 0, i);
        let b = if TWO { rows.gather(ends, 1, i) } else { a };
        self.velocity::<TWO, SPHERES, true>([a[0], a[1], a[2]], &a, &b)
    }

    /// Adds D z to the (force, torque) rows of the bodies of contacts `i .. i + COUNT`.
    #[inline(always)]
    pub fn push<const TWO: bool, const SPHERES: bool>(&self, z: Vec3<V>, rows: &mut OwnRows, i: usize) {
        let zero = V::zero();
        // Spheres: the arm of A is -r_A n, that of B is r_B n, so both torques turn the same way.
        let twist = if SPHERES { cross(z, self.n) } else { z };
        let t = if SPHERES { scale(self.radius_a, twist) } else { cross(self.arm_a, z) };
        rows.add([z[0], z[1], z[2], zero, t[0], t[1], t[2], zero], 0, i);
        if TWO {
            let t = if SPHERES { scale(self.radius_b, twist) } else { cross(z, self.arm_b) };
            let z = sub([zero; 3], z);
            rows.add([z[0], z[1], z[2], zero, t[0], t[1], t[2], zero], 1, i);
        }
    }
}
