//! A solver of one's own, named in the settings like the built-in ones: sweeps over the contacts, forwards
//! and backwards in turn.
//!
//! Run with `cargo run --release --example custom_solver`.

use drystone::solve::certificate::certificate;
use drystone::solve::cone::{AdmissibleSet, MAX_ROWS};
use drystone::solve::solver::{self, Info};
use drystone::solve::{Malformed, Problem, Solution, Solver, Status, Stop};
use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

#[derive(Default)]
struct ThereAndBack {
    v: Vec<[f64; 6]>,
}

static INFO: Info = Info {
    name: "there-and-back",
    title: "projected sweeps, forwards and backwards in turn",
    use_when: "to show how a solver is added",
    models: &["ccp"],
    unit: "sweep",
    citation: "",
    params: &[],
    make: |_| Ok(Box::new(ThereAndBack::default())),
};

impl ThereAndBack {
    /// γ ← P(γ - u / λ) for one block, with λ a bound on its largest eigenvalue; the bodies' velocities
    /// follow.
    fn relax(&mut self, problem: &Problem, i: usize, gamma: &mut [f64]) {
        let rows = problem.block(i);
        let mut u = [0.0; MAX_ROWS];
        problem.block_velocity(i, &self.v, gamma, &mut u);
        let [_, bound] = problem.block_diagonal(i);
        if bound <= 0.0 {
            return;
        }
        let before: Vec<f64> = gamma[rows.clone()].to_vec();
        for (g, u) in gamma[rows.clone()].iter_mut().zip(u) {
            *g -= u / bound;
        }
        problem.set(i).project(&mut gamma[rows.clone()]);
        let change: Vec<f64> = gamma[rows].iter().zip(before).map(|(now, before)| now - before).collect();
        problem.move_block(i, &change, &mut self.v);
    }
}

impl Solver for ThereAndBack {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn bytes(&self) -> usize {
        size_of_val(self.v.as_slice())
    }

    fn solve(
        &mut self,
        problem: &Problem,
        guess: Option<&[f64]>,
        stop: &Stop,
    ) -> Result<Solution, Malformed> {
        problem.check()?;
        let mut gamma = guess.map_or_else(|| vec![0.0; problem.rows()], <[f64]>::to_vec);
        problem.velocities(&gamma, &mut self.v);
        for sweep in 1..=stop.iterations {
            for k in 0..problem.blocks() {
                let i = if sweep % 2 == 1 { k } else { problem.blocks() - 1 - k };
                self.relax(problem, i, &mut gamma);
            }
            // The judge's word, every few sweeps: it is the same for all solvers.
            if sweep % 8 == 0 && certificate(problem, &gamma).residual_max <= stop.tolerance {
                return Ok(Solution::new(gamma, Status::Converged, sweep));
            }
        }
        Ok(Solution::new(gamma, Status::Iterations, stop.iterations))
    }
}

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    solver::install(&INFO);
    for name in ["there-and-back", "pgs", "auto"] {
        let mut world = World::new(Settings { solver: name.into(), ..Settings::default() })?;
        world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5))?;
        for k in 0..5 {
            let at = DVec3::Z * (0.1 + 0.2 * f64::from(k));
            world.add_body(BodyDef::dynamic(Shape::cuboid(DVec3::splat(0.1)), 1.0).at(at).friction(0.5))?;
        }
        let (mut sweeps, mut worst) = (0, 0.0f64);
        for _ in 0..50 {
            let report = world.step()?;
            sweeps += report.iterations;
            worst = worst.max(report.certificate.residual_max);
        }
        println!(
            "{name:15} {:6.1} iterations a step, worst residual {worst:.1e} m/s",
            f64::from(sweeps as u32) / 50.0
        );
        assert!(worst <= 1e-4, "every step is judged, whoever solved it");
    }
    Ok(())
}
