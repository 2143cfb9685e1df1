//! Contact problems from other people's simulations, against reference objectives: every solver that is fit
//! for accuracy, and both readers.
//!
//! The collection is not part of the repository: DRYSTONE_PROBLEMS names its folder. Without it the tests say
//! so.

use std::path::PathBuf;

use drystone_scene::problem::{self, ContactProblem};
use drystone_solve::FrictionLaw;
use drystone_solve::certificate::certificate;
use drystone_solve::lcp::{LcpStatus, lemke};
use drystone_solve::solver::{Status, Stop, make};
use serde_json::Value;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("DRYSTONE_PROBLEMS").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: DRYSTONE_PROBLEMS is not set, so the published contact problems are not tested");
    }
    folder
}

fn files(folder: PathBuf, end: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.to_string_lossy().ends_with(end));
    files.sort();
    files
}

#[test]
fn published_problems_agree_with_their_references() {
    let Some(folder) = folder() else { return };
    let text = std::fs::read_to_string(folder.join("reference.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    // How many of the 53 each must solve within the work allowed here; given more, apgd solves all but one.
    for (solver, least) in
        [("pgs", 38), ("apgd", 47), ("bb", 42), ("nncg", 45), ("cpg", 43), ("nsgs-ac", 38), ("nsgs-proj", 36)]
    {
        let (mut solved, mut compared, mut files_read) = (0, 0, 0);
        for path in files(folder.join("json"), ".json") {
            files_read += 1;
            let name = path.file_stem().unwrap().to_str().unwrap().to_string();
            let file = problem::read(&path, None).unwrap();
            let relaxed = file.ccp();
            // A large one that needs more must say so by its status.
            let iterations = (40_000_000 / file.w.data.len().max(1)).clamp(100, 20_000);
            let stop = Stop { tolerance: 1e-9 * file.scale(), iterations, ..Stop::default() };
            let s = make(solver).unwrap().solve(&relaxed, None, &stop).unwrap();
            let c = certificate(&relaxed, &s.gamma);
            let finite = s.gamma.iter().all(|x| x.is_finite()) && c.dual_objective.is_finite();
            assert!(finite, "{solver}, {name}: not finite");
            assert!(c.cone_violation <= 1e-12 * (1.0 + c.multipliers), "{solver}, {name}: outside its cones");
            let honest = s.status != Status::Converged || c.residual_max <= stop.tolerance;
            assert!(honest, "{solver}, {name}: claims too much");
            assert!(
                !matches!(s.status, Status::Wedged | Status::Diverged),
                "{solver}, {name}: {:?}",
                s.status
            );
            let entry = &reference["problems"][&name];
            let Some(best) = entry["ccp"]["objective"].as_f64() else { continue };
            // Where rounding made W indefinite the reference clipped its eigenvalues: the value is less sharp
            // there.
            let clipped = entry["ccp"]["psd_clip_rel"].as_f64().unwrap_or(0.0) > 0.0;
            let slack = if clipped { 1e-4 } else { 1e-6 } * best.abs() + 1e-12;
            compared += 1;
            if s.status == Status::Converged {
                solved += 1;
                let close = (c.dual_objective - best).abs() <= slack || entry.get("note").is_some();
                assert!(close, "{solver}, {name}: {} against {best}", c.dual_objective);
            } else if !clipped {
                let above = c.dual_objective >= best - slack;
                assert!(above, "{solver}, {name}: below the least value, {} < {best}", c.dual_objective);
            }
        }
        println!("{solver}: {solved} of {compared} problems solved to 1e-9 |q|, {files_read} read");
        assert!(compared >= 40 && solved >= least, "{solver}: {solved} of {compared} solved");
    }
}

/// |r - P(r - (u + mu |u_T| e_N))| <= 1e-8 |q| with W as it is, on every problem whose reference was solved. The first
/// must do all of them; what it left elsewhere the next one takes.
#[test]
fn published_problems_have_coulomb_solutions() {
    let Some(folder) = folder() else { return };
    let text = std::fs::read_to_string(folder.join("reference.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    let (mut solved, mut missing) = ([0; 5], Vec::new());
    let mut all = 0;
    for path in files(folder.join("json"), ".json") {
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let file = problem::read(&path, None).unwrap();
        let exact = file.coulomb();
        let known = reference["problems"][&name]["coulomb"]["solved"] == Value::Bool(true);
        let goal = 1e-8 * file.scale();
        let mut done = false;
        for (k, solver) in ["ipm", "prox", "apgd", "pgs", "nsgs-ac"].into_iter().enumerate() {
            let most = if k < 2 { 500 } else { 60_000 };
            let iterations = (60_000_000 / file.w.data.len().max(1)).clamp(100, most);
            let (mut tolerance, mut guess, mut left) = (goal, None::<Vec<f64>>, iterations);
            let mut u = Vec::new();
            let mut solver_ = make(solver).unwrap();
            // The solver's own measure has another scale for each contact.
            for _ in 0..6 {
                let stop = Stop { tolerance, iterations: left, ..Stop::default() };
                let s = solver_.solve(&exact, guess.as_deref(), &stop).unwrap();
                assert!(s.gamma.iter().all(|x| x.is_finite()), "{solver}, {name}: not finite");
                let c = certificate(&exact, &s.gamma);
                let honest = s.status != Status::Converged || c.residual_max <= tolerance;
                assert!(honest, "{solver}, {name}: claims too much");
                assert!(
                    c.cone_violation <= 1e-12 * (1.0 + c.multipliers),
                    "{solver}, {name}: outside its cones"
                );
                assert!(!matches!(s.status, Status::Wedged | Status::Diverged), "{solver}, {name}");
                exact.apply(&s.gamma, &mut u);
                let reached = file.natural_map(FrictionLaw::Coulomb, &s.gamma, &u);
                if reached <= goal {
                    solved[k] += known as usize;
                    done = true;
                    break;
                }
                left = left.saturating_sub(s.iterations);
                if s.status != Status::Converged || left == 0 {
                    break;
                }
                tolerance *= (0.3 * goal / reached).min(0.3);
                guess = Some(s.gamma);
            }
            if done {
                break;
            }
        }
        all += known as usize;
        if known && !done {
            missing.push(name);
        }
    }
    println!(
        "coulomb: of {all} with a solved reference ipm, prox, apgd, pgs, nsgs-ac solved {solved:?}; by none: {missing:?}"
    );
    assert!(all >= 44, "{all} references");
    assert!(solved[0] == all, "ipm solved {}", solved[0]);
    assert!(missing.is_empty(), "not solved to 1e-8 |q| by any: {missing:?}");
}

#[test]
fn published_linear_complementarity_problems() {
    let Some(folder) = folder() else { return };
    let text = std::fs::read_to_string(folder.join("reference.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    let mut read = 0;
    for path in files(folder.join("lcp"), ".dat") {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let lcp = problem::read_lcp(&path).unwrap();
        let s = lemke(&lcp, 10_000).unwrap();
        let expected = match reference["lcp"][&name]["lemke_lex"]["status"].as_str() {
            Some("ray") => LcpStatus::Ray,
            _ => LcpStatus::Solved,
        };
        assert_eq!(s.status, expected, "{name}");
        if s.status == LcpStatus::Solved {
            let size = lcp.q.iter().fold(1.0f64, |m, q| m.max(q.abs()));
            assert!(lcp.residual(&s.z) <= 1e-9 * size, "{name}: {}", lcp.residual(&s.z));
        }
        read += 1;
    }
    assert_eq!(read, 14);
}

#[test]
fn all_readers_see_the_same_problems() {
    let Some(folder) = folder() else { return };
    let mut compared = 0;
    let mut originals = files(folder.join("original"), ".dat");
    originals.extend(files(folder.join("original"), ".hdf5"));
    for path in originals {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let text = problem::read(&path, None).unwrap_or_else(|e| panic!("{e}"));
        let json = problem::read(folder.join("json").join(format!("{name}.json")), None).unwrap();
        assert_eq!((text.kind, text.dimension), (json.kind, json.dimension), "{name}");
        let near = |what: &str, a: &[f64], b: &[f64]| {
            assert_eq!(a.len(), b.len(), "{name}: {what}");
            let size = b.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            for (x, y) in a.iter().zip(b) {
                assert!((x - y).abs() <= 1e-11 * size, "{name}: {what}, {x} against {y}");
            }
        };
        near("q", &text.q, &json.q);
        near("mu", &text.mu, &json.mu);
        near("mu_r", &text.mu_r, &json.mu_r);
        // W by what it does: a stored zero is no difference.
        for probe in 0..3 {
            near("W", &times(&text, probe), &times(&json, probe));
        }
        compared += 1;
    }
    assert!(compared >= 40, "{compared} files");
}

fn times(p: &ContactProblem, probe: usize) -> Vec<f64> {
    let x: Vec<f64> = (0..p.q.len()).map(|i| ((7 * i * (probe + 1) + 3) % 11) as f64 - 5.0).collect();
    (0..p.q.len()).map(|i| p.w.row_dot(i, &x)).collect()
}

/// The default solver on the whole collection: objectives and velocities of the relaxed problems, and the
/// published test for exact Coulomb on every problem with a reference.
#[test]
fn auto_solves_the_published_problems() {
    let Some(folder) = folder() else { return };
    let text = std::fs::read_to_string(folder.join("reference.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    let (mut missing, mut worse, mut relaxed, mut exact) = (Vec::new(), Vec::new(), 0, 0);
    for path in files(folder.join("json"), ".json") {
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let file = problem::read(&path, None).unwrap();
        let entry = &reference["problems"][&name];
        // Entries with a note have q at the level of rounding: they must not fail, and have no numbers to
        // compare.
        let robustness = entry.get("note").is_some();
        for model in [FrictionLaw::Ccp, FrictionLaw::Coulomb] {
            let begun = std::time::Instant::now();
            // Velocities are compared under the relaxed law alone: a digit more.
            let goal = if model == FrictionLaw::Ccp { 1e-9 } else { 1e-8 };
            let (r, u, attempts) = to_goal("auto", &file, model, goal, 100_000);
            let reached = file.natural_map(model, &r, &u) / file.scale();
            println!(
                "{name} {} {reached:.1e} {:.3} s {attempts}",
                model.name(),
                begun.elapsed().as_secs_f64()
            );
            if model == FrictionLaw::Coulomb {
                let known = entry["coulomb"]["solved"] == Value::Bool(true);
                exact += (known && reached <= 1e-8) as usize;
                if known && reached > 1e-8 {
                    missing.push(format!("{name}, coulomb: {reached:.1e}"));
                }
                continue;
            }
            let Some(best) = entry["ccp"]["objective"].as_f64().filter(|_| !robustness) else { continue };
            let c = certificate(&file.ccp(), &r);
            let off = (c.dual_objective - best).abs() / best.abs();
            let vectors: Value = serde_json::from_str(
                &std::fs::read_to_string(folder.join("ref").join(format!("{name}.ref.json"))).unwrap(),
            )
            .unwrap();
            let u_ref: Vec<f64> =
                vectors["ccp_u"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
            let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
            let far = norm(&mut u.iter().zip(&u_ref).map(|(x, y)| x - y));
            // A velocity that vanishes is no scale: 1e-8 |q|, which is what was asked for, is nothing.
            let scale = norm(&mut u_ref.iter().copied()).max(1e-3 * file.scale());
            let mut near = far <= 1e-5 * scale;
            if !near && reference_is_worse(&file, &vectors, &u, scale) {
                worse.push(name.clone());
                near = true;
            }
            relaxed += 1;
            if !(off <= 1e-6) || !near {
                missing.push(format!("{name}, ccp: objective off by {off:.1e}, u by {:.1e}", far / scale));
            }
        }
    }
    println!("auto: {relaxed} relaxed and {exact} exact problems compared; missing {missing:#?}");
    assert!(relaxed >= 40 && exact >= 44, "{relaxed}, {exact}");
    assert!(missing.is_empty(), "{missing:#?}");
    // Its reference has |r - P(r - u)| = 6.7e-7 |q| and an objective that is 1.7e-9 too high; u by auto, ipm,
    // prox and apgd agree to 5e-9 with each other, and to 8e-7 with the reference's own solver (clarabel)
    // once the problem is scaled.
    assert!(worse.iter().all(|n| n == "Spheres-i099-356-679.hdf5"), "references that are worse: {worse:?}");
}

/// Whether the reference, not `u`, is what is far off: its own multipliers are further from solving the
/// problem than the whole difference needs, their objective is higher, and another method agrees with `u`.
fn reference_is_worse(file: &ContactProblem, vectors: &Value, u: &[f64], scale: f64) -> bool {
    let numbers =
        |key: &str| vectors[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
    let (r_ref, u_ref) = (numbers("ccp_r_one_optimum"), numbers("ccp_u"));
    let (r_other, u_other, _) = to_goal("ipm", file, FrictionLaw::Ccp, 1e-12, 300);
    let far = u.iter().zip(&u_other).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
    let natural = |r: &[f64], u: &[f64]| file.natural_map(FrictionLaw::Ccp, r, u) / file.scale();
    let objective = |r: &[f64]| certificate(&file.ccp(), r).dual_objective;
    far <= 1e-7 * scale
        && natural(&r_other, &u_other) <= 1e-10
        && natural(&r_ref, &u_ref) >= 1e-7
        && objective(&r_ref) > objective(&r_other)
}

/// Solves until the published test is met, as `drystone solve` does; r, u and who did it.
fn to_goal(
    solver: &str,
    file: &ContactProblem,
    model: FrictionLaw,
    tolerance: f64,
    iterations: usize,
) -> (Vec<f64>, Vec<f64>, String) {
    let (posed, goal) = (file.under(model), tolerance * file.scale());
    let mut solver_ = make(solver).unwrap();
    let (mut asked, mut left, mut guess, mut told) = (goal, iterations, None::<Vec<f64>>, String::new());
    let mut u = Vec::new();
    loop {
        let stop = Stop { tolerance: asked, iterations: left, ..Stop::default() };
        let s = solver_.solve(&posed, guess.as_deref(), &stop).unwrap();
        s.attempts.iter().for_each(|a| told += &format!("{} {} ", a.solver, a.iterations));
        let c = certificate(&posed, &s.gamma);
        let honest = s.status != Status::Converged || c.residual_max <= asked;
        assert!(honest && c.cone_violation <= 1e-12 * (1.0 + c.multipliers), "{}: {:?}", file.name, s.status);
        assert!(s.gamma.iter().all(|x| x.is_finite()), "{}: not finite", file.name);
        posed.apply(&s.gamma, &mut u);
        let reached = file.natural_map(model, &s.gamma, &u);
        left = left.saturating_sub(s.iterations);
        let next = asked * (0.3 * goal / reached).min(0.3);
        if reached <= goal || s.status != Status::Converged || left == 0 || !(next > 0.0) {
            return (s.gamma, u, told);
        }
        (asked, guess) = (next, Some(s.gamma));
    }
}
