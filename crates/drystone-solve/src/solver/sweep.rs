//! Passes over a matrix-free problem: the hot loop of the engine.
//!
//! Contact points of one colour share no moving body, so eight of them (four, one) are updated at once, one
//! per lane of an AVX-512 (AVX2, scalar) register: one source over [`crate::simd`], chosen at run time, the
//! same bits from all. Long colours are cut into chunks of fixed size that threads may share; the chunks'
//! sums are added in their order.
//!
//! Per point, with world vectors [TasoraAnitescu2011, Algorithm 2 (23)-(26)]:
//!
//! ```text
//!     u  = v_A + ω_A × r_A - v_B - ω_B × r_B + bias + C γ
//!     γ' = λ Π(γ - ωη u) + (1 - λ) γ,      Δ = γ' - γ
//!     v_A += Δ / m_A,   ω_A += I_A⁻¹ (r_A × Δ),   v_B -= Δ / m_B,   ω_B -= I_B⁻¹ (r_B × Δ)
//! ```

use crate::colour::{self, Span};
use crate::friction_law::FrictionLaw;
use crate::parallel::{self, Shared};
use crate::problem::{Bodies, Points, Problem, WORLD, cross, dot};
use crate::simd::{SharedRows, Table};

use super::contact::layout::{Mass, Row, Spheres};
use super::fixed_point::{Pass, PassStats, Sweeper};

mod groups;
mod joints;
mod kernel;
pub(super) mod momentum;

use groups::Groups;
pub(super) use groups::MOST;
use kernel::PointsView;

#[derive(Debug, Default)]
pub(super) struct BodySweeper {
    rows: Vec<Row>,
    rows_before: Vec<Row>,
    gamma: [Vec<f64>; 3],
    gamma_before: [Vec<f64>; 3],
    general: Vec<f64>,
    general_before: Vec<f64>,
    groups: Groups,
    pub step: Vec<f64>,
    spheres: Spheres,
    all_spheres: bool,
    frictionless: bool,
    /// p of the conjugate gradient, and what it does to the velocities.
    direction: [Vec<f64>; 3],
    direction_general: Vec<f64>,
    direction_rows: Vec<Row>,
    best: [Vec<f64>; 3],
    best_general: Vec<f64>,
    best_rows: Vec<Row>,
    /// Of the bodies, for Jacobi passes.
    masses: Vec<Mass>,
    /// Scratch of the walk over the colours.
    parts: Vec<PassStats>,
    /// Whether γ and velocities are those of before.
    marked: bool,
    /// Whether γ was extrapolated before the last pass.
    ahead: bool,
}

/// Numbers that one thread works on at a time.
const PIECE: usize = 4096;

fn bodies(problem: &Problem) -> &Bodies {
    let Problem::Bodies(p) = problem else { unreachable!("chosen by the form of the problem") };
    p
}

impl BodySweeper {
    /// Copies γ and velocities to the places of before.
    fn remember(&mut self) {
        parallel::copy(&mut self.rows_before, &self.rows);
        parallel::copy(&mut self.general_before, &self.general);
        for k in 0..3 {
            parallel::copy(&mut self.gamma_before[k], &self.gamma[k]);
        }
    }

    /// Buffers over blocks; the bodies' rows are not counted.
    pub fn bytes(&self) -> usize {
        let fields = [&self.gamma, &self.gamma_before, &self.direction, &self.best];
        let vectors = fields.into_iter().flatten().chain(&self.spheres.numbers).chain([
            &self.general,
            &self.general_before,
            &self.direction_general,
            &self.best_general,
            &self.step,
        ]);
        vectors.map(|v| size_of_val(v.as_slice())).sum::<usize>() + self.groups.bytes()
    }

    fn points(&mut self, p: &Bodies, pass: Pass, lambda: f64) -> PassStats {
        let points = &p.points;
        let view = PointsView {
            points,
            inertia: Table(&p.inv_inertia),
            step: &self.step[..points.len()],
            lambda,
            gamma: self.gamma.each_mut().map(|g| {
                assert_eq!(g.len(), points.len());
                Shared(g.as_mut_ptr())
            }),
            before: Table(if pass == Pass::Jacobi { &self.rows_before } else { &[] }),
            rows: SharedRows::new(&mut self.rows),
            jacobi: pass == Pass::Jacobi,
            measure: pass == Pass::Measure,
            spheres: &self.spheres,
            all_spheres: self.all_spheres,
            frictionless: self.frictionless,
            coulomb: p.model == FrictionLaw::Coulomb,
        };
        let backward = pass == Pass::Backward;
        // SAFETY: the problem was checked: no two points of a span share a body, no two regions do, and
        // pieces do not overlap, so no two calls at a time touch the same row or multiplier.
        let visit = |piece: Span| unsafe { kernel::pass(&view, piece, backward) };
        colour::walk(&points.spans, &points.regions, backward, &mut self.parts, visit, PassStats::add)
    }

    /// Δγᵀ(N + C)Δγ after a Jacobi pass: the kinetic energy (twice) of the change of velocity, and the
    /// springs'.
    fn curvature(&self, p: &Bodies) -> f64 {
        let mut sum = 0.0;
        for ((row, before), mass) in self.rows.iter().zip(&self.rows_before).zip(&self.masses) {
            sum += row.twice_energy_of_change(before, mass);
        }
        let [cn, ct] = &p.points.compliance;
        for i in 0..cn.len() {
            let n: [f64; 3] = std::array::from_fn(|k| p.points.normal[k][i]);
            let d: [f64; 3] = std::array::from_fn(|k| self.gamma[k][i] - self.gamma_before[k][i]);
            let dn = n[0] * d[0] + n[1] * d[1] + n[2] * d[2];
            let all = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            sum += cn[i] * dn * dn + ct[i] * (all - dn * dn);
        }
        for (j, c) in p.general.compliance.iter().enumerate() {
            let d = self.general[j] - self.general_before[j];
            sum += c * d * d;
        }
        sum
    }
}

impl PassStats {
    pub(super) fn add(&mut self, other: PassStats) {
        self.residual = self.residual.max(other.residual);
        self.delta_sq += other.delta_sq;
        self.weighted += other.weighted;
        self.turn += other.turn;
        self.squares += other.squares;
    }
}

impl Sweeper for BodySweeper {
    fn start(&mut self, problem: &Problem, guess: Option<&[f64]>, step: Vec<f64>) {
        let p = bodies(problem);
        self.step = step;
        let n = p.points.len();
        self.groups.fill(p, &self.step[n..]);
        (self.marked, self.ahead) = (false, false);
        self.masses.clear();
        self.general.clear();
        match guess {
            None => {
                self.gamma.iter_mut().for_each(|g| g.clear());
                self.gamma.iter_mut().for_each(|g| g.resize(n, 0.0));
                self.general.resize(p.general.bias.len(), 0.0);
            }
            Some(guess) => {
                self.gamma.iter_mut().for_each(|g| g.resize(n, 0.0));
                let to = self.gamma.each_mut().map(Vec::as_mut_slice);
                parallel::for_each_run(n, to, PIECE, |first, [x, y, z]| {
                    for (j, i) in (first..first + x.len()).enumerate() {
                        let frame = p.points.frame(i);
                        let along = |k: usize| (0..3).map(|m| guess[3 * i + m] * frame[m][k]).sum();
                        (x[j], y[j], z[j]) = (along(0), along(1), along(2));
                    }
                });
                self.general.extend_from_slice(&guess[3 * n..]);
            }
        }
        self.rows.clear();
        self.rows.extend((0..p.bodies()).map(|i| Row::new(&p.v_free[i], p.inv_mass[i], &p.inv_inertia[i])));
        self.all_spheres = self.spheres.fill(p);
        self.frictionless = p.points.mu.iter().all(|mu| *mu == 0.0);
        let (gamma, rows) = (&self.gamma, Shared(self.rows.as_mut_ptr()));
        let push = |piece: Span| {
            for i in piece.start as usize..piece.end as usize {
                let three = |f: &[Vec<f64>; 3]| [f[0][i], f[1][i], f[2][i]];
                let impulse = three(gamma);
                if impulse == [0.0; 3] {
                    continue;
                }
                for (body, arm, sign) in
                    [(p.points.a[i], &p.points.arm_a, 1.0), (p.points.b[i], &p.points.arm_b, -1.0)]
                {
                    let Some(inertia) = p.inv_inertia.get(body as usize) else { continue };
                    // SAFETY: the problem was checked: what is visited at a time shares no body, and there
                    // are as many rows as bodies.
                    let row = unsafe { &mut *rows.at(body as usize) };
                    row.push_at(inertia, impulse.map(|x| sign * x), three(arm));
                }
            }
        };
        if guess.is_some() {
            colour::walk(&p.points.spans, &p.points.regions, false, &mut Vec::new(), push, |_, _| ());
        }
        if guess.is_some() {
            p.push_joints(&self.general, |body, f| {
                let (force, torque) = ([f[0], f[1], f[2]], [f[3], f[4], f[5]]);
                self.rows[body as usize].push(&p.inv_inertia[body as usize], force, torque);
            });
        }
    }

    fn pass(&mut self, problem: &Problem, pass: Pass, lambda: f64) -> PassStats {
        let p = bodies(problem);
        self.marked &= pass == Pass::Measure;
        if pass == Pass::Jacobi {
            self.remember();
            if self.masses.is_empty() {
                let masses = self.rows.iter().zip(&p.inv_inertia);
                self.masses.extend(masses.map(|(row, inertia)| row.mass(inertia)));
            }
        }
        let mut stats = PassStats::default();
        // The paper's order: contacts, then joints; a backward sweep is the exact reverse.
        if pass == Pass::Backward {
            stats.add(self.joints(p, pass, lambda));
            stats.add(self.points(p, pass, lambda));
        } else {
            stats.add(self.points(p, pass, lambda));
            stats.add(self.joints(p, pass, lambda));
        }
        if pass == Pass::Jacobi {
            stats.curvature = self.curvature(p);
        }
        if self.ahead && pass != Pass::Measure {
            stats.turn = self.turn(p) / lambda;
        }
        stats
    }

    fn reject(&mut self) {
        self.rows.clone_from(&self.rows_before);
        self.general.clone_from(&self.general_before);
        for k in 0..3 {
            self.gamma[k].clone_from(&self.gamma_before[k]);
        }
    }

    fn rescale(&mut self, factor: f64) {
        self.step.iter_mut().for_each(|s| *s *= factor);
        self.groups.rescale(factor);
    }

    fn gamma(&mut self, problem: &Problem, out: &mut Vec<f64>) {
        to_rows(&bodies(problem).points, &self.gamma, out);
        out.extend_from_slice(&self.general);
    }

    fn mark(&mut self, restart: bool) {
        if !self.marked {
            self.remember();
        }
        self.ahead = false;
        if restart {
            for (p, g) in self.direction.iter_mut().zip(&self.gamma) {
                p.clear();
                p.resize(g.len(), 0.0);
            }
            self.direction_general.clear();
            self.direction_general.resize(self.general.len(), 0.0);
            self.direction_rows.clear();
            self.direction_rows.resize(self.rows.len(), Row([0.0; 8]));
        }
    }

    fn conjugate(&mut self, beta: f64) {
        let Self { gamma, gamma_before, direction, .. } = self;
        for ((x, before), p) in gamma.iter_mut().zip(gamma_before).zip(direction) {
            conjugate_and_mark(x, before, p, beta);
        }
        conjugate_and_mark(&mut self.general, &mut self.general_before, &mut self.direction_general, beta);
        // 1/m and 1/I are in the rows too, and do not change: their difference is zero.
        let [rows, before, p] =
            [&mut self.rows, &mut self.rows_before, &mut self.direction_rows].map(|rows| Row::flat(rows));
        conjugate_and_mark(rows, before, p, beta);
        self.marked = true;
    }

    fn extrapolate(&mut self, beta: f64) {
        self.ahead = true;
        self.look_ahead(beta);
    }

    fn keep(&mut self) {
        for k in 0..3 {
            parallel::copy(&mut self.best[k], &self.gamma[k]);
        }
        parallel::copy(&mut self.best_general, &self.general);
        parallel::copy(&mut self.best_rows, &self.rows);
    }

    fn restore(&mut self, _: &Problem) {
        self.marked = false;
        std::mem::swap(&mut self.gamma, &mut self.best);
        std::mem::swap(&mut self.general, &mut self.best_general);
        std::mem::swap(&mut self.rows, &mut self.best_rows);
    }

    fn objective(&self, problem: &Problem) -> f64 {
        let p = bodies(problem);
        let points = &p.points;
        // v + v_free of a body.
        let both = |body: u32| {
            let (v, w) = self.rows[body as usize].parts();
            let free = &p.v_free[body as usize];
            let sum = |x: [f64; 3], at: usize| std::array::from_fn::<f64, 3, _>(|k| x[k] + free[at + k]);
            (sum(v, 0), sum(w, 3))
        };
        let mut twice = 0.0;
        for i in 0..points.len() {
            let three = |f: &[Vec<f64>; 3]| [f[0][i], f[1][i], f[2][i]];
            let (g, n) = (three(&self.gamma), three(&points.normal));
            let mut sum = points.world_bias(i).map(|b| 2.0 * b);
            for (body, arm, sign) in
                [(points.a[i], three(&points.arm_a), 1.0), (points.b[i], three(&points.arm_b), -1.0)]
            {
                if body != WORLD {
                    let (v, w) = both(body);
                    let turn = cross(w, arm);
                    (0..3).for_each(|k| sum[k] += sign * (v[k] + turn[k]));
                }
            }
            twice += dot(g, sum);
            if let (Some(cn), Some(ct)) = (points.compliance[0].get(i), points.compliance[1].get(i)) {
                let along = dot(g, n);
                twice += ct * dot(g, g) + (cn - ct) * along * along;
            }
        }
        let g = &p.general;
        for i in 0..g.a.len() {
            for j in g.first_row[i] as usize..g.first_row[i + 1] as usize {
                let row = &g.jacobian[j];
                let mut sum = 2.0 * g.bias[j] + g.compliance.get(j).copied().unwrap_or(0.0) * self.general[j];
                for (body, part) in [(g.a[i], 0), (g.b[i], 6)] {
                    if body != WORLD {
                        let (v, w) = both(body);
                        for m in 0..3 {
                            sum += row[part + m] * v[m] + row[part + 3 + m] * w[m];
                        }
                    }
                }
                twice += self.general[j] * sum;
            }
        }
        0.5 * twice
    }
}

/// x ← x + β p, then p ← β p + (x - x_before) with the old x.
pub(super) fn conjugate(x: &mut [f64], before: &[f64], p: &mut [f64], beta: f64) {
    for ((x, before), p) in x.iter_mut().zip(before).zip(p) {
        let (delta, along) = (*x - before, beta * *p);
        *x += along;
        *p = along + delta;
    }
}

/// The same by several threads, and x_before ← x.
fn conjugate_and_mark(x: &mut [f64], before: &mut [f64], p: &mut [f64], beta: f64) {
    parallel::for_each_run(x.len(), [x, before, p], PIECE, |_, [x, before, p]| {
        conjugate(x, before, p, beta);
        before.copy_from_slice(x);
    });
}

/// World vectors to (n, t₁, t₂); replaces `out`.
pub(super) fn to_rows(points: &Points, world: &[Vec<f64>; 3], out: &mut Vec<f64>) {
    out.resize(3 * points.len(), 0.0);
    parallel::map_chunks(out.as_chunks_mut().0, PIECE, &mut Vec::<()>::new(), |first, rows| {
        for (i, local) in (first..).zip(rows) {
            let g = [world[0][i], world[1][i], world[2][i]];
            *local = points.frame(i).map(|axis| axis[0] * g[0] + axis[1] * g[1] + axis[2] * g[2]);
            // The change of frame rounds: put the multipliers back inside their cone exactly.
            crate::cone::project_friction(points.mu[i], local);
        }
    });
}
