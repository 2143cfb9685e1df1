//! The local problem on a cone of facets: by lexicographic Lemke [RenoufAcary2006, section 4.2], or as a
//! quadratic program over the cone's edges by an active-set method that survives degeneracy (section 4.3).
//!
//! What is found is the solution for the facets. On the round cone it leaves a residual of about μ (π/ν)² of
//! the sliding speed, which the certificate shows: these solvers are for comparison with the paper.

use super::newton::linear_solve;
use super::{BlockSplitting, Local, Matrix, One, Vector};
use crate::cone::{MAX_ROWS, norm};
use crate::friction_law::FrictionLaw;
use crate::lcp::{self, Facets, Lcp, LcpStatus, directions};
use crate::solver::{BadSpec, Info, Param, Solver, Spec};

pub(in crate::solver) static LEMKE: Info = Info {
    name: "nsgs-lemke",
    title: "block splitting on cones of facets, each contact by lexicographic Lemke",
    use_when: "comparisons with the paper; the cone has facets, so its residual does not vanish",
    models: &["polyhedral"],
    unit: "sweep",
    citation: "RenoufAcary2006, section 4.2",
    params: &[FACETS, CONE],
    make: make_lemke,
};

pub(in crate::solver) static QP: Info = Info {
    name: "nsgs-qp",
    title: "block splitting on cones of facets, each contact by an active-set quadratic program",
    use_when: "comparisons with the paper; the cone has facets, so its residual does not vanish",
    models: &["polyhedral"],
    unit: "sweep",
    citation: "RenoufAcary2006, section 4.3",
    params: &[FACETS, CONE],
    make: make_qp,
};

pub(in crate::solver) const FACETS: Param =
    Param { name: "facets", default: "8", help: "facets of the cone, 3 to 64" };
pub(in crate::solver) const CONE: Param =
    Param { name: "cone", default: "inner", help: "inner: edges on the round cone; outer: faces on it" };

/// The facets that a solver is asked for.
pub(in crate::solver) fn parse(spec: &Spec) -> Result<Facets, BadSpec> {
    let count = spec.positive("facets", 8.0, 64.0)?;
    if count.fract() != 0.0 || count < 3.0 {
        let text = format!("parameter 'facets' of '{}' must be whole, 3 to 64, got {count}", spec.name);
        return Err(BadSpec(text));
    }
    let outer = match spec.text("cone") {
        None | Some("inner") => false,
        Some("outer") => true,
        Some(other) => return Err(BadSpec::unknown("cone", other, &["inner", "outer"])),
    };
    Ok(Facets { count: count as usize, outer })
}

/// γ back on the round cone: edges of the outer one lie beyond it.
fn accept(one: &One, found: Vector, gamma: &mut Vector) {
    if found.iter().all(|x| x.is_finite()) {
        *gamma = found;
        one.set_admissible(gamma);
    }
}

struct Lemke {
    facets: Facets,
    lemke: lcp::Lemke,
    lcp: Lcp,
}

fn make_lemke(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(BlockSplitting::new(
        &LEMKE,
        Box::new(Lemke { facets: parse(spec)?, lemke: lcp::Lemke::default(), lcp: Lcp::default() }),
    )))
}

impl Local for Lemke {
    fn solve(&mut self, one: &One, gamma: &mut Vector) {
        let Some((mu, d)) = directions(one.set, self.facets) else {
            return super::projection::extragradient(one, gamma, 100, 1e-4);
        };
        let (n, w) = (d.len() + 2, &one.w);
        let Lcp { m, q } = &mut self.lcp;
        m.clear();
        m.resize(n * n, 0.0);
        q.clear();
        q.resize(n, 0.0);
        let lambda = n - 1;
        // Velocity of the edge's tangential row for a multiplier column.
        let along =
            |d: &[f64; 2], u: &dyn Fn(usize) -> f64| (1..one.rows).map(|k| d[k - 1] * u(k)).sum::<f64>();
        m[0] = w[0][0];
        q[0] = one.b[0];
        for (j, d) in d.iter().enumerate() {
            m[j + 1] = along(d, &|k| w[0][k]);
            m[(j + 1) * n] = along(d, &|k| w[k][0]);
            q[j + 1] = along(d, &|k| one.b[k]);
            m[(j + 1) * n + lambda] = 1.0;
            m[lambda * n + j + 1] = -1.0;
        }
        for i in 0..d.len() {
            for j in 0..d.len() {
                m[(i + 1) * n + j + 1] = along(&d[i], &|r| along(&d[j], &|c| w[r][c]));
            }
        }
        m[lambda * n] = mu;
        if one.model == FrictionLaw::Ccp {
            m[lambda] = -mu;
        }
        // Velocities to multipliers, so that all entries are near 1.
        let scale = 1.0 / one.g;
        for i in 0..lambda {
            q[i] *= scale;
            for j in 0..lambda {
                m[i * n + j] *= scale;
            }
        }
        let Ok(s) = self.lemke.solve(&self.lcp, 50 * n) else { return };
        if s.status != LcpStatus::Solved {
            return super::projection::extragradient(one, gamma, 100, 1e-4);
        }
        let mut found = [0.0; MAX_ROWS];
        found[0] = s.z[0];
        for (j, d) in d.iter().enumerate() {
            for k in 1..one.rows {
                found[k] += d[k - 1] * s.z[j + 1];
            }
        }
        accept(one, found, gamma);
    }
}

/// γ = Σ x_j (1, μ d_j), x ≥ 0: min ½ xᵀ(GᵀWG)x + (Gᵀ(b + s e_n))ᵀx, with the slip s that belongs to it.
///
/// Coulomb's law is this program where s = F(s), F(s) = μ max_j -d_j·u_T of its solution for s: its
/// conditions are then those of the LCP, with λ = s/μ. F is continuous, as the solution's velocity is, F(0) ≥
/// 0, and from some s on γ = 0 and F is constant. So F(s) - s changes its sign, and a bracket around that is
/// kept. A pass, s ← F(s), is a contraction where |F'| < 1 (in the plane where μ w_nt < w_nn and 3 μ w_nt <
/// w_nn + 2 μ² w_tt); F is linear in pieces, and otherwise secants through two passes and halvings end it.
struct Qp {
    facets: Facets,
}

fn make_qp(spec: &Spec) -> Result<Box<dyn Solver>, BadSpec> {
    Ok(Box::new(BlockSplitting::new(&QP, Box::new(Qp { facets: parse(spec)? }))))
}

/// Passes on s for Coulomb's law: three for each of the halvings of a bracket to rounding.
const PASSES: usize = 150;

impl Local for Qp {
    fn solve(&mut self, one: &One, gamma: &mut Vector) {
        let Some((mu, d)) = directions(one.set, self.facets) else {
            return super::projection::extragradient(one, gamma, 100, 1e-4);
        };
        let edges: Vec<Vector> = d
            .iter()
            .map(|d| {
                let mut g = [0.0; MAX_ROWS];
                g[0] = 1.0;
                (1..one.rows).for_each(|k| g[k] = mu * d[k - 1]);
                g
            })
            .collect();
        // The slip that the facets see: the largest speed against an edge.
        let slip = |u: &Vector| {
            let against = |d: &[f64; 2]| -(1..one.rows).map(|k| d[k - 1] * u[k]).sum::<f64>();
            mu * d.iter().map(against).fold(0.0, f64::max)
        };
        let coulomb = one.model == FrictionLaw::Coulomb;
        let mut s = if coulomb { slip(&one.velocity(gamma)) } else { 0.0 };
        // Where it opens, and from there on.
        let open = if coulomb { slip(&one.b) } else { 0.0 };
        let (mut low, mut high, mut last) = (f64::NEG_INFINITY, 1.01 * open.max(open - one.b[0]), None);
        for pass in 0..PASSES {
            let mut shifted = *one;
            shifted.b[0] += s;
            let found = active_set(&shifted, &edges);
            let next = if coulomb { slip(&one.velocity(&found)) } else { 0.0 };
            accept(one, found, gamma);
            let excess = next - s;
            if !(excess.abs() > 1e-12 * (next + norm(&one.b[..one.rows]))) {
                break;
            }
            (low, high) = if excess > 0.0 { (low.max(s), high) } else { (low, high.min(s)) };
            let secant = last.map(|(before, then)| s - excess * (s - before) / (excess - then));
            last = Some((s, excess));
            let within = |x: &f64| *x >= 0.0 && *x > low && *x < high;
            s = secant.filter(within).unwrap_or(next);
            // Every third pass halves the bracket.
            if !within(&s) || pass % 3 == 2 {
                s = 0.5 * (low.max(0.0) + high);
            }
        }
    }
}

/// Edges enter one at a time, the first that would lower the objective; with the others held at zero the free
/// ones are solved for, and those that would become negative leave. Taking the first, not the best, is what
/// keeps ties from cycling.
fn active_set(one: &One, edges: &[Vector]) -> Vector {
    let n = one.rows;
    let mut free: Vec<usize> = Vec::with_capacity(n + 1);
    let mut x: Vec<f64> = Vec::with_capacity(n + 1);
    let sum = |free: &[usize], x: &[f64]| {
        let mut gamma = [0.0; MAX_ROWS];
        for (&j, x) in free.iter().zip(x) {
            (0..n).for_each(|k| gamma[k] += x * edges[j][k]);
        }
        gamma
    };
    let size = norm(&one.b[..n]);
    for _ in 0..20 * edges.len() {
        let u = one.velocity(&sum(&free, &x));
        let slope = |j: usize| (0..n).map(|k| edges[j][k] * u[k]).sum::<f64>();
        let enters = (0..edges.len()).find(|j| !free.contains(j) && slope(*j) < -1e-13 * size);
        let Some(enters) = enters else { break };
        free.push(enters);
        x.push(0.0);
        loop {
            let Some(target) = stationary(one, edges, &free) else {
                // Dependent edges: the newcomer adds nothing that the others cannot do.
                free.pop();
                x.pop();
                return sum(&free, &x);
            };
            // As far as no x turns negative.
            let mut step = 1.0f64;
            for (x, t) in x.iter().zip(&target) {
                if *t < 0.0 {
                    step = step.min(x / (x - t));
                }
            }
            for (x, t) in x.iter_mut().zip(&target) {
                *x += step * (t - *x);
            }
            if step >= 1.0 {
                break;
            }
            let mut k = 0;
            while k < free.len() {
                if x[k] <= 0.0
                    || (target[k] < 0.0 && x[k] <= 1e-15 * x.iter().fold(0.0, |m: f64, v| m.max(*v)))
                {
                    free.remove(k);
                    x.remove(k);
                    break;
                }
                k += 1;
            }
            if free.is_empty() {
                break;
            }
        }
    }
    sum(&free, &x)
}

/// The free x at which the objective is stationary; None if their edges depend on each other.
fn stationary(one: &One, edges: &[Vector], free: &[usize]) -> Option<Vector> {
    let n = free.len();
    if n > one.rows {
        return None;
    }
    let (mut a, mut c): (Matrix, Vector) = ([[0.0; MAX_ROWS]; MAX_ROWS], [0.0; MAX_ROWS]);
    for (r, &i) in free.iter().enumerate() {
        for (s, &j) in free.iter().enumerate() {
            for k in 0..one.rows {
                a[r][s] +=
                    edges[i][k] * (0..one.rows).map(|m| one.w[k][m] * edges[j][m]).sum::<f64>() / one.g;
            }
        }
        c[r] = -(0..one.rows).map(|k| edges[i][k] * one.b[k]).sum::<f64>() / one.g;
    }
    linear_solve(n, a, c)
}
