//! Velocity error of several solvers at equal numbers of iterations, on the problem of one step of a scene, from zero
//! multipliers; and the time of an iteration beside a Gauss-Seidel sweep.
//!
//!     cargo run --release -p drystone-scene --example solver_race -- packing 5 pgs,apgd,apgd:scaling=none
//!
//! The scene, the time of the step, the solvers, and as many iterations as wanted (default 50,200,2000).

use std::time::Instant;

use drystone_solve::certificate::certificate;
use drystone_solve::problem::Bodies;
use drystone_solve::solver::{Stop, make};
use drystone_solve::{Problem, Solution};

/// √(Σ m |Δv|² / Σ m), m/s.
fn velocity_error(p: &Bodies, v: &[[f64; 6]], exact: &[[f64; 6]]) -> f64 {
    let (mut sum, mut mass) = (0.0, 0.0);
    for i in (0..v.len()).filter(|&i| p.inv_mass[i] > 0.0) {
        let m = 1.0 / p.inv_mass[i];
        sum += m * (0..3).map(|k| (v[i][k] - exact[i][k]).powi(2)).sum::<f64>();
        mass += m;
    }
    (sum / mass).sqrt()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let get = |i: usize, default: &str| args.get(i).cloned().unwrap_or_else(|| default.to_string());
    let time: f64 = get(1, "5").parse()?;
    let solvers: Vec<String> = get(2, "pgs;apgd").split(';').map(String::from).collect();
    let caps: Vec<usize> = get(3, "50,200,2000").split(',').map(str::parse).collect::<Result<_, _>>()?;
    let set: Vec<(String, String)> = args[4.min(args.len())..]
        .iter()
        .filter_map(|a| a.split_once('=').map(|(k, v)| (k.to_string(), v.to_string())))
        .collect();

    let scene = drystone_scene::load(&get(0, "packing"), &set)?;
    let mut world = scene.world(scene.settings.clone())?;
    for _ in 1..((time / world.settings().h).round() as usize) {
        world.step()?;
    }
    let (_, problem, _) = world.step_keeping_problem()?;
    let problem = &problem;
    let Problem::Bodies(p) = problem else { return Err("a scene's problem has bodies".into()) };
    let solve =
        |name: &str, tolerance: f64, iterations: usize| -> Result<Solution, Box<dyn std::error::Error>> {
            let stop = Stop { tolerance, iterations, ..Stop::default() };
            Ok(make(name)?.solve(problem, None, &stop)?)
        };
    let exact = solve("apgd", 1e-10, 100_000)?;
    let c = certificate(problem, &exact.gamma);
    println!(
        "{} bodies, {} contacts; reference: {:?} after {}, residual {:.1e} m/s",
        p.bodies(),
        p.points.len(),
        exact.status,
        exact.iterations,
        c.residual_max
    );
    let mut v_exact = Vec::new();
    p.velocities(&exact.gamma, &mut v_exact);

    for name in &solvers {
        print!("{name:<24}");
        for &cap in &caps {
            let s = solve(name, 0.0, cap)?;
            let mut v = Vec::new();
            p.velocities(&s.gamma, &mut v);
            let residual = certificate(problem, &s.gamma).residual_max;
            print!("  {cap}: {:.2e} ({residual:.1e})", velocity_error(p, &v, &v_exact));
        }
        println!();
    }

    // Interleaved, so that a machine whose speed changes treats all alike; the least of many laps, because other programs
    // only ever add time. The difference of two lengths leaves out what a solve costs before its first iteration.
    let mut least = vec![[f64::INFINITY; 2]; solvers.len()];
    for _ in 0..40 {
        for (name, least) in solvers.iter().zip(&mut least) {
            let mut solver = make(name)?;
            for (least, iterations) in least.iter_mut().zip([20, 120]) {
                let stop = Stop { tolerance: 0.0, iterations, ..Stop::default() };
                let begun = Instant::now();
                solver.solve(problem, None, &stop)?;
                *least = least.min(begun.elapsed().as_secs_f64());
            }
        }
    }
    for (name, [short, long]) in solvers.iter().zip(&least) {
        let contacts = p.points.len().max(1) as f64;
        let each = (long - short) / 100.0;
        println!(
            "{name:<24} {:.2} ns per contact and iteration, {:.0} before the first",
            1e9 * each / contacts,
            1e9 * (short - 20.0 * each) / contacts
        );
    }
    Ok(())
}
