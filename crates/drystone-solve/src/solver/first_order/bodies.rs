//! The space over a matrix-free problem. N is never formed: multipliers push forces onto bodies, F = D γ,
//! bodies turn them into velocities, v = v_free + M⁻¹ F, and blocks read these, u = Dᵀ v + b + C γ.
//! Extrapolation and differences are linear, so that y needs no pass of its own over the blocks, and
//!
//! ```text
//!     ⟨d, N d⟩ = ⟨Δv, ΔF⟩,      f(γ) = ½ ⟨F, v + v_free⟩ + ⟨b, γ⟩ + ½ ⟨γ, C γ⟩
//! ```
//!
//! are sums over bodies.

use crate::cone::{AdmissibleSet, MAX_ROWS, project_friction};
use crate::problem::{Bodies, Problem, WORLD, dot, symmetric};
use crate::simd::{Lanes, Table};
use crate::solver::contact::layout::{Row, Spheres};
use crate::solver::sweep::to_rows;

use super::lanes::{self, Geometry, SUMS, Writes};
use super::points::{self, Field, Gather, Residual, Scatter, Step};
use super::rows::{Masses, NOTHING, Reference, extrapolate, settle};
use super::{Products, Scaling, Space, Trial, Walk};

/// A vector over the blocks: world vectors of the points by component, then the rows of the general blocks.
#[derive(Debug, Default)]
struct Blocks {
    points: [Vec<f64>; 3],
    general: Vec<f64>,
}

impl Blocks {
    fn resize(&mut self, p: &Bodies) {
        self.points.iter_mut().for_each(|f| f.resize(p.points.len(), 0.0));
        self.general.resize(p.general.bias.len(), 0.0);
    }

    fn field(&self) -> Field<'_> {
        self.points.each_ref().map(Vec::as_slice)
    }

    fn field_mut(&mut self) -> [&mut [f64]; 3] {
        self.points.each_mut().map(Vec::as_mut_slice)
    }

    fn copy(&mut self, from: &Blocks) {
        for k in 0..3 {
            self.points[k].clone_from(&from.points[k]);
        }
        self.general.clone_from(&from.general);
    }

    fn parts(&self) -> impl Iterator<Item = &Vec<f64>> {
        self.points.iter().chain([&self.general])
    }

    fn toward(&mut self, other: &Blocks, alpha: f64) {
        for (x, z) in self.points.iter_mut().chain([&mut self.general]).zip(other.parts()) {
            x.iter_mut().zip(z).for_each(|(x, z)| *x += alpha * (z - *x));
        }
    }

    /// From the problem's rows, each block projected on its set.
    fn read_rows(&mut self, p: &Bodies, rows: &[f64]) {
        self.resize(p);
        for i in 0..p.points.len() {
            let mut local = [rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]];
            project_friction(p.points.mu[i], &mut local);
            self.set_local(p, i, local);
        }
        self.general.copy_from_slice(&rows[3 * p.points.len()..]);
        let g = &p.general;
        for i in 0..g.a.len() {
            g.set[i].project(&mut self.general[g.first_row[i] as usize..g.first_row[i + 1] as usize]);
        }
    }

    fn set_local(&mut self, p: &Bodies, i: usize, local: [f64; 3]) {
        let frame = p.points.frame(i);
        for k in 0..3 {
            self.points[k][i] = (0..3).map(|m| local[m] * frame[m][k]).sum();
        }
    }

    fn write_rows(&self, p: &Bodies, out: &mut Vec<f64>) {
        to_rows(&p.points, &self.points, out);
        out.extend_from_slice(&self.general);
    }
}

/// Multipliers with the forces and velocities they make.
#[derive(Debug, Default)]
struct Iterate {
    gamma: Blocks,
    /// F = D γ: force, torque about the centre of mass.
    force: Vec<Row>,
    /// v = v_free + M⁻¹ F.
    velocity: Vec<Row>,
    objective: f64,
}

/// See the module.
#[derive(Debug, Default)]
pub(in crate::solver) struct BodySpace {
    now: Iterate,
    before: Iterate,
    trial: Iterate,
    best: Blocks,
    /// A product.
    u: Blocks,
    beta: f64,
    /// F and v at y.
    force: Vec<Row>,
    velocity: Vec<Row>,
    /// By block: η and 1/η of the metric, across the normals, 1/g and g of the certificate.
    step: Vec<f64>,
    weight: Vec<f64>,
    eta: Vec<f64>,
    diagonal: Vec<f64>,
    /// κ = η_n / η_t of all points.
    kappa: f64,
    bound: f64,
    spheres: Spheres,
    all_spheres: bool,
    masses: Masses,
    parts: Vec<[f64; SUMS]>,
    body_parts: Vec<[f64; 2]>,
}

fn bodies(problem: &Problem) -> &Bodies {
    let Problem::Bodies(p) = problem else { unreachable!("chosen by the form of the problem") };
    p
}

/// The points, with what is known of them as contacts of spheres and whether that is all.
fn geometry<'a>(p: &'a Bodies, (spheres, all_spheres): (&'a Spheres, bool)) -> Geometry<'a> {
    Geometry { points: &p.points, bodies: p.bodies(), spheres, all_spheres }
}

/// The smallest κ of contacts of spheres, how much more a push across the normal moves them than one along
/// it; one where some do not rub, yield, or are not alone.
pub(in crate::solver) fn least_kappa(p: &Bodies) -> f64 {
    let points = &p.points;
    if points.is_empty() || !p.general.a.is_empty() || !points.compliance[0].is_empty() {
        return 1.0;
    }
    let parts = |body: u32, arm: &[Vec<f64>; 3], i: usize| match body {
        WORLD => [0.0; 2],
        _ => {
            let (k, arm) = (body as usize, [arm[0][i], arm[1][i], arm[2][i]]);
            [p.inv_mass[k], dot(arm, arm) * p.inv_inertia[k][0]]
        }
    };
    let stiffness = |i: usize| {
        let (a, b) = (parts(points.a[i], &points.arm_a, i), parts(points.b[i], &points.arm_b, i));
        let [mass, turn] = [a[0] + b[0], a[1] + b[1]];
        if points.mu[i] > 0.0 { mass / (mass + turn) } else { 1.0 }
    };
    // Not f64::max, which would hide a NaN.
    let stiffest = (0..points.len()).map(stiffness).fold(0.0, f64::larger);
    if stiffest > 0.0 { 1.0 / stiffest } else { 1.0 }
}

impl BodySpace {
    /// g of every block, the metric, and the bound on its Lipschitz constant: N ≤ 2 Σ over the two sides of
    /// each block, so that no eigenvalue exceeds the largest, over bodies, of the sum of the traces η_i tr(J
    /// M⁻¹ Jᵀ) of its blocks (doubled where a second body moves too).
    fn measure(&mut self, p: &Bodies, scaling: Scaling) {
        let (n, blocks) = (p.points.len(), p.points.len() + p.general.a.len());
        for field in [&mut self.step, &mut self.weight, &mut self.eta, &mut self.diagonal] {
            field.clear();
            field.reserve(blocks);
        }
        let kappa = if scaling == Scaling::Cone && self.all_spheres { least_kappa(p) } else { 1.0 };
        let across = (2.0 + 1.0 / kappa) / 3.0;
        self.kappa = kappa;
        let sums = &mut self.force;
        sums.clear();
        sums.resize(p.bodies(), NOTHING);
        let mut softest = 0.0f64;
        for i in 0..blocks {
            let (a, b, shares, soft, rows) = if i < n {
                let three = |f: &[Vec<f64>; 3]| [f[0][i], f[1][i], f[2][i]];
                let share = |body: u32, arm: [f64; 3]| {
                    let (m, j) = (p.inv_mass[body as usize], &p.inv_inertia[body as usize]);
                    3.0 * m + dot(arm, arm) * (j[0] + j[1] + j[2]) - dot(arm, symmetric(j, arm))
                };
                let (a, b) = (p.points.a[i], p.points.b[i]);
                let other = if b == WORLD { 0.0 } else { share(b, three(&p.points.arm_b)) };
                let [cn, ct] = &p.points.compliance;
                let soft = if cn.is_empty() { [0.0; 2] } else { [cn[i] + 2.0 * ct[i], cn[i].max(ct[i])] };
                (a, b, [share(a, three(&p.points.arm_a)), other], soft, 3.0)
            } else {
                let g = &p.general;
                let (a, b) = (g.a[i - n], g.b[i - n]);
                let rows = g.first_row[i - n] as usize..g.first_row[i - n + 1] as usize;
                let share = |body: u32, part: usize| {
                    let k = body as usize;
                    let row = |j: &[f64; 12]| {
                        let (v, w) =
                            ([j[part], j[part + 1], j[part + 2]], [j[part + 3], j[part + 4], j[part + 5]]);
                        p.inv_mass[k] * dot(v, v) + dot(w, symmetric(&p.inv_inertia[k], w))
                    };
                    g.jacobian[rows.clone()].iter().map(row).sum::<f64>()
                };
                let other = if b == WORLD { 0.0 } else { share(b, 6) };
                let soft = g.compliance.get(rows.clone()).unwrap_or(&[]);
                let soft = [soft.iter().sum(), soft.iter().copied().fold(0.0, f64::max)];
                (a, b, [share(a, 0), other], soft, rows.len() as f64)
            };
            let g = (shares[0] + shares[1] + soft[0]) / rows;
            let [mut step, mut weight] = scaling.factors(g);
            let mut shares = shares;
            if i < n {
                // η tr(J M⁻¹ Jᵀ), with η_n in place of η along the normal.
                (step, weight) = (across * step, weight / across);
                shares[0] += (kappa - 1.0) * p.inv_mass[a as usize];
                shares[1] += if b == WORLD { 0.0 } else { (kappa - 1.0) * p.inv_mass[b as usize] };
            }
            self.step.push(step);
            self.weight.push(weight);
            self.eta.push(if g > 0.0 { 1.0 / g } else { 0.0 });
            self.diagonal.push(g);
            let both = if shares[0] > 0.0 && shares[1] > 0.0 { 2.0 } else { 1.0 };
            sums[a as usize].0[0] += both * step * shares[0];
            if b != WORLD {
                sums[b as usize].0[0] += both * step * shares[1];
            }
            softest = softest.max(step * soft[1]);
        }
        self.bound = softest + sums.iter().map(|s| s.0[0]).fold(0.0, f64::max);
    }

    /// u of row `j` of general block `i` for velocities `rows`, without C.
    fn general_velocity(p: &Bodies, i: usize, j: usize, rows: &[Row]) -> f64 {
        let g = &p.general;
        let row = &g.jacobian[j];
        let mut u = 0.0;
        for (body, part) in [(g.a[i], 0), (g.b[i], 6)] {
            if body != WORLD {
                let v = &rows[body as usize].0;
                for m in 0..3 {
                    u += row[part + m] * v[m] + row[part + 3 + m] * v[4 + m];
                }
            }
        }
        u
    }

    fn general_push(p: &Bodies, i: usize, j: usize, x: f64, force: &mut [Row]) {
        let g = &p.general;
        let row = &g.jacobian[j];
        for (body, part) in [(g.a[i], 0), (g.b[i], 6)] {
            if body != WORLD {
                let f = &mut force[body as usize].0;
                for m in 0..3 {
                    f[m] += row[part + m] * x;
                    f[4 + m] += row[part + 3 + m] * x;
                }
            }
        }
    }

    /// The part of a step that is about general blocks; adds to the sums of the points.
    fn step_general(&mut self, p: &Bodies, t: f64, sums: &mut [f64; SUMS]) {
        let g = &p.general;
        for i in 0..g.a.len() {
            let block = p.points.len() + i;
            let (step, weight) = (t * self.step[block], self.weight[block]);
            let rows = g.first_row[i] as usize..g.first_row[i + 1] as usize;
            let (mut y, mut u, mut z) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS], [0.0; MAX_ROWS]);
            for (k, j) in rows.clone().enumerate() {
                let (now, before) = (self.now.gamma.general[j], self.before.gamma.general[j]);
                y[k] = now + self.beta * (now - before);
                let soft = g.compliance.get(j).copied().unwrap_or(0.0);
                u[k] = Self::general_velocity(p, i, j, &self.velocity) + g.bias[j] + soft * y[k];
                z[k] = y[k] - step * u[k];
            }
            g.set[i].project(&mut z[..rows.len()]);
            let mut length = 0.0;
            for (k, j) in rows.enumerate() {
                let soft = g.compliance.get(j).copied().unwrap_or(0.0);
                let d = z[k] - y[k];
                length += d * d;
                sums[points::DESCENT] += u[k] * (z[k] - self.now.gamma.general[j]);
                sums[points::SOFT] += soft * d * d;
                sums[points::WORK] += g.bias[j] * z[k] + 0.5 * soft * z[k] * z[k];
                self.trial.gamma.general[j] = z[k];
                Self::general_push(p, i, j, z[k], &mut self.trial.force);
            }
            sums[points::LENGTH] += length * weight;
            sums[points::MEASURE] = sums[points::MEASURE].larger(length * weight * weight);
        }
    }

    /// F = D x into `force`; returns ⟨b, x⟩ + ½ ⟨x, C x⟩.
    fn scatter(
        p: &Bodies,
        spheres: (&Spheres, bool),
        parts: &mut Vec<[f64; SUMS]>,
        x: &Blocks,
        force: &mut Vec<Row>,
    ) -> f64 {
        force.clear();
        force.resize(p.bodies(), NOTHING);
        let work = Scatter { x: x.field() };
        let mut sum = lanes::all(&work, geometry(p, spheres), Writes::new(None, force), parts)[0];
        let g = &p.general;
        for i in 0..g.a.len() {
            for j in g.first_row[i] as usize..g.first_row[i + 1] as usize {
                let soft = g.compliance.get(j).copied().unwrap_or(0.0);
                sum += g.bias[j] * x.general[j] + 0.5 * soft * x.general[j] * x.general[j];
                Self::general_push(p, i, j, x.general[j], force);
            }
        }
        sum
    }

    /// u = (N + C) x for the x in the trial's multipliers.
    fn product(&mut self, p: &Bodies) {
        let spheres = (&self.spheres, self.all_spheres);
        let (trial, u) = (&mut self.trial, &mut self.u);
        u.resize(p);
        Self::scatter(p, spheres, &mut self.parts, &trial.gamma, &mut trial.force);
        let free = Reference { force: &trial.force, velocity: &self.masses.free };
        settle(p, &self.masses, &trial.force, free, &mut trial.velocity, &mut self.body_parts);
        for (v, free) in trial.velocity.iter_mut().zip(&self.masses.free) {
            (0..8).for_each(|k| v.0[k] -= free.0[k]);
        }
        let work = Gather { x: trial.gamma.field(), velocity: Table(&trial.velocity) };
        let writes = Writes::new(Some(u.field_mut()), &mut []);
        lanes::all(&work, geometry(p, spheres), writes, &mut self.parts);
        let g = &p.general;
        for i in 0..g.a.len() {
            for j in g.first_row[i] as usize..g.first_row[i + 1] as usize {
                let soft = g.compliance.get(j).copied().unwrap_or(0.0);
                u.general[j] =
                    Self::general_velocity(p, i, j, &trial.velocity) + soft * trial.gamma.general[j];
            }
        }
    }

    /// Forces, velocities and objective of `now`.
    fn refresh(&mut self, p: &Bodies) {
        let now = &mut self.now;
        let spheres = (&self.spheres, self.all_spheres);
        let work = Self::scatter(p, spheres, &mut self.parts, &now.gamma, &mut now.force);
        let free = Reference { force: &now.force, velocity: &self.masses.free };
        let parts = &mut self.body_parts;
        let [_, kinetic] = settle(p, &self.masses, &now.force, free, &mut now.velocity, parts);
        now.objective = kinetic + work;
    }

    /// y = γ.
    fn stand_still(&mut self) {
        self.beta = 0.0;
        self.force.clone_from(&self.now.force);
        self.velocity.clone_from(&self.now.velocity);
    }
}

impl Walk for BodySpace {
    fn residual(&mut self, problem: &Problem) -> f64 {
        let p = bodies(problem);
        let work = Residual {
            eta: &self.eta,
            diagonal: &self.diagonal,
            gamma: self.now.gamma.field(),
            velocity: Table(&self.now.velocity),
        };
        let geometry = geometry(p, (&self.spheres, self.all_spheres));
        let worst = lanes::all(&work, geometry, Writes::new(None, &mut []), &mut self.parts)[0];
        let mut worst = worst.sqrt();
        let g = &p.general;
        for i in 0..g.a.len() {
            let rows = g.first_row[i] as usize..g.first_row[i + 1] as usize;
            let mut u = [0.0; MAX_ROWS];
            for (k, j) in rows.clone().enumerate() {
                let soft = g.compliance.get(j).copied().unwrap_or(0.0);
                u[k] = Self::general_velocity(p, i, j, &self.now.velocity)
                    + g.bias[j]
                    + soft * self.now.gamma.general[j];
            }
            let (gamma, u) = (&self.now.gamma.general[rows.clone()], &u[..rows.len()]);
            let diagonal = self.diagonal[p.points.len() + i];
            worst = worst.larger(crate::certificate::natural_residual(g.set[i], gamma, u, diagonal));
        }
        worst
    }

    fn objective(&self) -> f64 {
        self.now.objective
    }

    fn keep(&mut self) {
        self.best.copy(&self.now.gamma);
    }

    fn rows(&self, problem: &Problem, best: bool, out: &mut Vec<f64>) {
        if best { &self.best } else { &self.now.gamma }.write_rows(bodies(problem), out);
    }
}

impl Space for BodySpace {
    fn start(&mut self, problem: &Problem, guess: Option<&[f64]>, scaling: Scaling) {
        let p = bodies(problem);
        self.all_spheres = self.spheres.fill(p);
        self.measure(p, scaling);
        self.masses.fill(p);
        for x in [&mut self.before.gamma, &mut self.trial.gamma, &mut self.best] {
            x.resize(p);
        }
        let gamma = &mut self.now.gamma;
        match guess {
            None => {
                gamma.resize(p);
                gamma.points.iter_mut().chain([&mut gamma.general]).for_each(|f| f.fill(0.0));
            }
            Some(rows) => gamma.read_rows(p, rows),
        }
        self.refresh(p);
        self.before.gamma.copy(&self.now.gamma);
        self.stand_still();
    }

    fn lipschitz(&mut self, problem: &Problem) -> [f64; 2] {
        let p = bodies(problem);
        let gamma = &mut self.trial.gamma;
        (0..p.points.len()).for_each(|i| gamma.set_local(p, i, [1.0; 3]));
        gamma.general.fill(1.0);
        self.product(p);
        let u = &self.u;
        let (mut top, mut bottom) = (0.0, 0.0);
        for i in 0..p.points.len() {
            let [u, n] = [&u.points, &p.points.normal].map(|f| [f[0][i], f[1][i], f[2][i]]);
            top += self.step[i] * (dot(u, u) + (self.kappa - 1.0) * dot(u, n).powi(2));
            bottom += (2.0 + 1.0 / self.kappa) * self.weight[i];
        }
        let g = &p.general;
        for i in 0..g.a.len() {
            let block = p.points.len() + i;
            for j in g.first_row[i] as usize..g.first_row[i + 1] as usize {
                top += self.step[block] * u.general[j] * u.general[j];
                bottom += self.weight[block];
            }
        }
        [if bottom > 0.0 { (top / bottom).sqrt() } else { 0.0 }, self.bound]
    }

    fn step(&mut self, problem: &Problem, t: f64) -> Trial {
        let p = bodies(problem);
        self.trial.force.clear();
        self.trial.force.resize(p.bodies(), NOTHING);
        let work = Step {
            t,
            beta: self.beta,
            kappa: self.kappa,
            step: &self.step,
            weight: &self.weight,
            now: self.now.gamma.field(),
            before: self.before.gamma.field(),
            velocity: Table(&self.velocity),
        };
        let geometry = geometry(p, (&self.spheres, self.all_spheres));
        let Iterate { gamma, force, .. } = &mut self.trial;
        let writes = Writes::new(Some(gamma.field_mut()), force);
        let mut sums = lanes::all(&work, geometry, writes, &mut self.parts);
        self.step_general(p, t, &mut sums);
        let y = Reference { force: &self.force, velocity: &self.velocity };
        let trial = &mut self.trial;
        let [change, kinetic] =
            settle(p, &self.masses, &trial.force, y, &mut trial.velocity, &mut self.body_parts);
        trial.objective = kinetic + sums[points::WORK];
        Trial {
            measure: if t > 0.0 { sums[points::MEASURE].sqrt() / t } else { 0.0 },
            length: sums[points::LENGTH],
            descent: sums[points::DESCENT],
            curvature: change + sums[points::SOFT],
            objective: trial.objective,
        }
    }

    fn accept(&mut self, beta: f64) {
        std::mem::swap(&mut self.before, &mut self.now);
        std::mem::swap(&mut self.now, &mut self.trial);
        self.beta = beta;
        let (now, before, parts) = (&self.now, &self.before, &mut self.body_parts);
        extrapolate(&now.force, &before.force, beta, &mut self.force, parts);
        extrapolate(&now.velocity, &before.velocity, beta, &mut self.velocity, parts);
    }

    fn blend(&mut self, alpha: f64, objective: f64) {
        if alpha == 1.0 {
            std::mem::swap(&mut self.now, &mut self.trial);
        } else {
            let (now, trial) = (&mut self.now, &self.trial);
            now.gamma.toward(&trial.gamma, alpha);
            for (x, z) in [(&mut now.force, &trial.force), (&mut now.velocity, &trial.velocity)] {
                for (x, z) in x.iter_mut().zip(z) {
                    (0..8).for_each(|k| x.0[k] += alpha * (z.0[k] - x.0[k]));
                }
            }
            now.objective = objective;
        }
        self.stand_still();
    }
}

impl Products for BodySpace {
    fn apply(&mut self, problem: &Problem, x: &[f64], out: &mut Vec<f64>) {
        let p = bodies(problem);
        let gamma = &mut self.trial.gamma;
        for i in 0..p.points.len() {
            gamma.set_local(p, i, [x[3 * i], x[3 * i + 1], x[3 * i + 2]]);
        }
        gamma.general.copy_from_slice(&x[3 * p.points.len()..]);
        self.product(p);
        let u = &self.u;
        out.clear();
        for i in 0..p.points.len() {
            let world = [u.points[0][i], u.points[1][i], u.points[2][i]];
            out.extend(p.points.frame(i).map(|axis| dot(axis, world)));
        }
        out.extend_from_slice(&u.general);
    }

    fn scales(&self, i: usize) -> [f64; 3] {
        [self.step[i], self.weight[i], self.diagonal[i]]
    }

    fn bytes(&self) -> usize {
        let iterates = [&self.now.gamma, &self.before.gamma, &self.trial.gamma, &self.best];
        let vectors = iterates.into_iter().flat_map(Blocks::parts).chain(&self.spheres.numbers);
        let scales = [&self.step, &self.weight, &self.eta, &self.diagonal];
        vectors.chain(scales).map(|v| size_of_val(v.as_slice())).sum()
    }
}
