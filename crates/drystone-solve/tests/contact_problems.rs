//! Contact problems from other people's simulations, in the form with an explicit matrix, against reference objectives.
//!
//! The collection is not part of the repository: DRYSTONE_PROBLEMS names its folder. Without it the test says so.

use std::path::Path;

use drystone_solve::certificate::certificate;
use drystone_solve::problem::{Csr, Explicit};
use drystone_solve::solver::{Status, Stop, make};
use drystone_solve::{Problem, Set};
use serde_json::Value;

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().into_iter().flatten().map(|x| x.as_f64().unwrap()).collect()
}

/// The relaxed problem: with the symmetric part of W, as the references have it.
fn read(path: &Path) -> Problem {
    let text = std::fs::read_to_string(path).unwrap();
    let v: Value = serde_json::from_str(&text).unwrap();
    let (q, mu) = (numbers(&v["q"]), numbers(&v["mu"]));
    let (indptr, indices, data) =
        (numbers(&v["W"]["indptr"]), numbers(&v["W"]["indices"]), numbers(&v["W"]["data"]));
    let n = q.len();
    let mut rows = vec![std::collections::BTreeMap::<u32, f64>::new(); n];
    for i in 0..n {
        for k in indptr[i] as usize..indptr[i + 1] as usize {
            let j = indices[k] as usize;
            *rows[i].entry(j as u32).or_default() += 0.5 * data[k];
            *rows[j].entry(i as u32).or_default() += 0.5 * data[k];
        }
    }
    let mut w = Csr { columns: n, indptr: vec![0], ..Csr::default() };
    for row in rows {
        for (j, x) in row {
            w.indices.push(j);
            w.data.push(x);
        }
        w.indptr.push(w.indices.len());
    }
    let set = |i: usize| match v["d"].as_u64() {
        Some(2) => Set::Friction2 { mu: mu[i] },
        Some(3) => Set::Friction3 { mu: mu[i] },
        Some(5) => Set::Rolling5 { mu: mu[i], mu_r: v["mu_r"][i].as_f64().unwrap() },
        d => panic!("{}: dimension {d:?}", path.display()),
    };
    let sets = (0..mu.len()).map(set).collect();
    Problem::Explicit(Explicit::new(w, q, sets))
}

#[test]
fn published_problems_agree_with_their_references() {
    let Some(folder) = std::env::var_os("DRYSTONE_PROBLEMS") else {
        eprintln!("SKIPPED: DRYSTONE_PROBLEMS is not set, so the published contact problems are not tested");
        return;
    };
    let folder = Path::new(&folder);
    let text = std::fs::read_to_string(folder.join("reference.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("json")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let (mut solved, mut compared) = (0, 0);
    for path in &files {
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let problem = read(path);
        // Enough for the small ones; a large one that needs more must say so by its status.
        let iterations = (40_000_000 / (problem.rows() * problem.rows()).max(2000)).clamp(100, 20_000);
        let mut q = Vec::new();
        problem.rhs(&mut q);
        let scale = q.iter().map(|x| x * x).sum::<f64>().sqrt();
        let stop = Stop { tolerance: 1e-9 * scale, iterations, ..Stop::default() };
        let s = make("pgs").unwrap().solve(&problem, None, &stop).unwrap();
        let c = certificate(&problem, &s.gamma);
        assert!(s.gamma.iter().all(|x| x.is_finite()) && c.dual_objective.is_finite(), "{name}: not finite");
        assert!(c.cone_violation <= 1e-12 * (1.0 + c.multipliers), "{name}: outside its cones");
        assert!(s.status != Status::Converged || c.residual_max <= stop.tolerance, "{name}: claims too much");
        let entry = &reference["problems"][&name];
        let Some(best) = entry["ccp"]["objective"].as_f64() else { continue };
        // Where rounding made W indefinite the reference clipped its eigenvalues: the value is less sharp there.
        let clipped = entry["ccp"]["psd_clip_rel"].as_f64().unwrap_or(0.0) > 0.0;
        let slack = if clipped { 1e-4 } else { 1e-6 } * best.abs() + 1e-12;
        compared += 1;
        if s.status == Status::Converged {
            solved += 1;
            let off = (c.dual_objective - best).abs();
            assert!(
                off <= slack || entry.get("note").is_some(),
                "{name}: {} against {best}",
                c.dual_objective
            );
        } else if !clipped {
            assert!(
                c.dual_objective >= best - slack,
                "{name}: below the least value, {} < {best}",
                c.dual_objective
            );
        }
    }
    println!("{solved} of {compared} problems solved by pgs to 1e-9 |q|, {} read", files.len());
    assert!(compared >= 40 && solved >= 15, "{solved} of {compared} solved");
}
