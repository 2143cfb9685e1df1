//! Times iterations on the device for balls on a lattice, and prints the hash of what they leave.
//!
//! `lattice SIDE ITERATIONS [SIDE ITERATIONS ...]`; a lattice of 6 and 100 iterations is that of the tests.

#[path = "../tests/pretend/lattice.rs"]
mod lattice;

use std::time::Instant;

use drystone_cuda::{CudaSolver, Engine, Method, kernels};
use drystone_solve::solver::Spec;
use drystone_solve::{Problem, Solver, Stop};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let engine = Engine::shared()?;
    println!("{}", engine.device().name);
    for pair in numbers.chunks_exact(2) {
        let (problem, guess) = lattice::lattice(pair[0]);
        let stop = Stop { tolerance: 0.0, iterations: pair[1], ..Stop::default() };
        let Problem::Bodies(p) = &problem else { continue };
        for name in ["cuda-apgd", "cuda-pgj"] {
            let spec = Spec::parse(name)?;
            let method = if name == "cuda-pgj" { Method::pgj(&spec)? } else { Method::apgd(&spec)? };
            let mut solver = CudaSolver::new(engine.clone(), method)?;
            // The second time memory is there.
            solver.solve(&problem, Some(&guess), &stop)?;
            let (before, begun) = (engine.usage(), Instant::now());
            let found = solver.solve(&problem, Some(&guess), &stop)?;
            let (all, u) = (begun.elapsed().as_secs_f64(), engine.usage());
            let iterations = (u.iterations - before.iterations) as f64;
            let each = (u.iterate_s - before.iterate_s) / iterations;
            // Streamed once: see docs/guide/cuda.md.
            let bytes = 336.0 * p.points.len() as f64 + 524.0 * p.bodies() as f64;
            println!(
                "{name} side {} contacts {} bodies {}: {:.2} us an iteration, {:.0} GB/s; solve {:.2} ms (pack {:.2}, up {:.2}, down {:.2}); hash {:016x}",
                pair[0],
                p.points.len(),
                p.bodies(),
                1e6 * each,
                1e-9 * bytes / each,
                1e3 * all,
                1e3 * (u.pack_s - before.pack_s),
                1e3 * (u.upload_s - before.upload_s),
                1e3 * (u.download_s - before.download_s),
                kernels::hash(found.gamma.iter().flat_map(|x| x.to_bits().to_le_bytes())),
            );
        }
    }
    Ok(())
}
