//! The solver without the engine: a cone complementarity problem built by hand, two solvers, one judge.
//!
//! A tower of three balls of 1, 2 and 4 kg, the lowest on the ground, is pushed sideways at the top. The
//! multipliers are the contact impulses of one step of 10 ms.
//!
//! Run with `cargo run --release --example solve_problem`.

use drystone::solve::Problem;
use drystone::solve::certificate::certificate;
use drystone::solve::colour::Colouring;
use drystone::solve::problem::{Bodies, WORLD};
use drystone::solve::solver::{Stop, make};

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (h, radius) = (0.01, 0.1);
    let mut bodies = Bodies::default();
    for mass in [4.0, 2.0, 1.0f64] {
        let i = 1.0 / (0.4 * mass * radius * radius);
        bodies.inv_mass.push(1.0 / mass);
        bodies.inv_inertia.push([i, i, i, 0.0, 0.0, 0.0]);
        // What each body would do without contacts: fall for one step from rest.
        bodies.v_free.push([0.0, 0.0, -9.81 * h, 0.0, 0.0, 0.0]);
    }
    bodies.v_free[2][0] = 0.05;

    // Blocks go in by colour: blocks of one colour share no body, so a sweep may do them side by side.
    let pairs = [(0, WORLD), (1, 0), (2, 1)];
    let mut colouring = Colouring::default();
    colouring.run(3, pairs.iter().copied());
    for &i in &colouring.order {
        let (normal, arm, mu) = ([0.0, 0.0, 1.0], [0.0, 0.0, -radius], 0.5);
        let arm_b = if pairs[i as usize].1 == WORLD { [0.0; 3] } else { [0.0, 0.0, radius] };
        bodies.points.push(pairs[i as usize], normal, arm, arm_b, [0.0; 3], mu);
    }
    bodies.points.spans = colouring.spans.clone();
    let problem = Problem::Bodies(bodies);

    for name in ["pgs", "pgj:omega=0.5"] {
        let stop = Stop { tolerance: 1e-9, iterations: 10_000, ..Stop::default() };
        let solution = make(name)?.solve(&problem, None, &stop)?;
        // The certificate looks at the multipliers alone and judges every solver alike.
        let judged = certificate(&problem, &solution.gamma);
        println!("{name}: {:?} after {} sweeps", solution.status, solution.iterations);
        println!("  residual            {:.2e} m/s", judged.residual_max);
        println!("  cone violation      {:.2e} N s", judged.cone_violation);
        println!("  complementarity     {:.2e} J", judged.complementarity);
        println!("  objective           {:.9} J", judged.dual_objective);
        for contact in 0..pairs.len() as u32 {
            let block = colouring.order.iter().position(|&i| i == contact).unwrap_or_default();
            let g = &solution.gamma[3 * block..3 * block + 3];
            let friction = g[1].hypot(g[2]);
            println!("  contact {contact}: normal {:.6} N s, friction {friction:.6} N s", g[0]);
        }
    }
    println!("weight of all three over one step: {:.6} N s", 7.0 * 9.81 * h);
    Ok(())
}
