//! `compare`, `bench` and `study`: several runs side by side.

use serde_json::Value;

use crate::bodies::{ball, floor, state};
use crate::scratch::{Scratch, holds, number};

#[test]
fn compare_judges_every_solver_alike() {
    let scratch = Scratch::new("tables-compare");
    let line = "compare packing --set n=80 --at-time 0.8";
    let text =
        scratch.good(&format!("{line} --sweeps 60 --solvers pgs:omega=0.9,lambda=0.9,pgj,pssor --report -"));
    let c: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&c["scene"], &c["bodies"]), (&"packing".into(), &80.into()));
    assert!((number(&c, "time_s") - 0.8).abs() < 1e-9);
    assert_eq!(number(&c, "rows"), 3.0 * number(&c, "contacts"));
    let entries = c["entries"].as_array().unwrap();
    let names: Vec<&str> = entries.iter().map(|e| e["solver"].as_str().unwrap()).collect();
    assert_eq!(names, ["pgs:omega=0.9,lambda=0.9", "pgj", "pssor"]);
    for e in entries {
        assert_eq!(
            (number(e, "iterations"), e["history"].as_array().unwrap().len()),
            (60.0, 60),
            "{}",
            e["solver"]
        );
        for key in ["wall_ms", "residual", "constraint_violation", "cone_violation", "objective", "omega"] {
            assert!(number(e, key).is_finite(), "{}: {key}", e["solver"]);
        }
        let last = &e["history"][59];
        assert!(
            (number(last, "residual") - number(e, "residual")).abs() <= 1e-9 + 1e-6 * number(e, "residual")
        );
        for key in ["constraint_violation", "delta_gamma", "objective"] {
            assert!(last[key].is_number(), "{key}");
        }
        assert!(
            number(e, "residual") < 0.5 * number(&e["history"][0], "residual"),
            "{} solves nothing",
            e["solver"]
        );
    }
}

/// Without a tolerance it could not: it would be `pgs` under another name.
#[test]
fn compare_lets_auto_pick() {
    let scratch = Scratch::new("tables-auto");
    let line = "compare stack --set shape=box --at-time 0.5 --sweeps 100 --solvers auto,pgs --report -";
    let c: Value = serde_json::from_str(&scratch.good(line)).unwrap();
    let [auto, pgs] = [0, 1].map(|k| number(&c["entries"][k], "residual"));
    assert!(auto < 1e-6 && auto < 0.1 * pgs, "auto {auto}, pgs {pgs}");
}

/// What is asked of the comparison counts for the solvers compared.
#[test]
fn compare_holds_solvers_to_the_tolerance_and_the_cap() {
    let scratch = Scratch::new("tables-caps");
    let line = "compare stack --set n=3 --at-time 0.02 --solvers pgs,apgd --report -";
    let entries = |more: &str| -> Value {
        let c: Value = serde_json::from_str(&scratch.good(&format!("{line} {more}"))).unwrap();
        c["entries"].clone()
    };
    for e in entries("--tolerance 1e-3 --iterations 500").as_array().unwrap() {
        assert_eq!(e["status"], "converged", "{e}");
        assert!(number(e, "iterations") < 500.0 && number(e, "residual") <= 1e-3, "{e}");
    }
    for (more, count) in [("--iterations 7", 7.0), ("--iterations 7 --sweeps 9", 9.0), ("", 200.0)] {
        for e in entries(more).as_array().unwrap() {
            assert_eq!(number(e, "iterations"), count, "{more}: {e}");
        }
    }
}

#[test]
fn races_say_what_their_cells_are() {
    let scratch = Scratch::new("tables-race");
    let text = scratch.good("race stacks --sizes 3 --iterations 5 --solvers prox,pgs");
    holds(
        &text,
        &["iterations to a residual of 1e-6 m/s", "where 5 iterations or 20 s were not enough", " m/s\n"],
    );
    let line = "race errors --sizes 40 --at-time 0.5 --iterations 300 --solvers pgs,prox --report -";
    let rows: Value = serde_json::from_str(&scratch.good(line)).unwrap();
    let [pgs, prox] = [0, 1].map(|k| number(&rows[k], "velocity_error"));
    assert!(prox < 1e-9 && pgs > 1e-4, "prox {prox}, pgs {pgs}");
}

/// The published tables, small: Lemke solves what it says it does, and stops honestly where it is cut short.
#[test]
fn pyramids_by_lemke_and_on_round_cones() {
    let scratch = Scratch::new("tables-lcp");
    let line = "lcp --layers 4,6 --mu 0,0.8 --halvings 2 --solvers prox,apgd --report -";
    let t: Value = serde_json::from_str(&scratch.good(line)).unwrap();
    let pyramids = t["pyramids"].as_array().unwrap();
    assert_eq!(pyramids.len(), 4);
    for p in pyramids {
        assert_eq!(p["status"], "solved", "{p}");
        assert!(number(p, "residual") < 1e-8, "{p}");
        for key in ["best", "best_relaxed"] {
            let best = &p["cones"][p[key].as_u64().unwrap() as usize];
            assert!(number(best, "residual") <= 1e-8, "{best}");
        }
    }
    let bodies: Vec<f64> = pyramids.iter().map(|p| number(p, "bodies")).collect();
    assert_eq!(bodies, [10.0, 10.0, 21.0, 21.0]);
    let orders = t["differences"].as_array().unwrap();
    assert_eq!(orders.len(), 6);
    assert!(orders.iter().filter(|d| d["order"].is_number()).all(|d| number(d, "order") > 0.8), "{orders:?}");
    let t = scratch.good("lcp --layers 6 --mu 0.8 --halvings 0 --pivots 20 --solvers prox --report -");
    let t: Value = serde_json::from_str(&t).unwrap();
    assert_eq!(t["pyramids"][0]["status"], "pivots");
    assert!(number(&t["pyramids"][0], "residual") > 1e-6);
    let text = scratch.good("lcp --layers 3 --mu 0.5 --halvings 1 --solvers prox");
    holds(&text, &["Lemke ms", "solved", "difference, m", "by auto"]);
    // Refused before the head of the table.
    holds(&scratch.bad("lcp --mu 0.5,1e9"), &["mu", "1000000000"]);
}

#[test]
fn block_splitting_races_on_the_published_scenes() {
    let scratch = Scratch::new("tables-blocks");
    let line = "race blocks --sizes 2 --at-time 0.3 --iterations 5 --report -";
    let rows: Value = serde_json::from_str(&scratch.good(line)).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 15);
    let wall = rows.iter().filter(|r| r["scene"] == "wall");
    for r in wall {
        assert!(number(r, "contacts") > 100.0 && number(r, "sweeps") > 0.0, "{r}");
        assert!(number(r, "residual_max").is_finite() && number(r, "steps") == 2.0, "{r}");
    }
}

#[test]
fn block_splitting_races_over_whole_runs() {
    let scratch = Scratch::new("tables-runs");
    let line =
        "race runs --at-time 0.2 --iterations 8 --solvers nsgs-sphere,nsgs-qp --plot runs.svg --report -";
    let rows: Value = serde_json::from_str(&scratch.good(line)).unwrap();
    let rows = rows.as_array().unwrap();
    let named: Vec<_> =
        rows.iter().map(|r| (r["scene"].as_str().unwrap(), r["solver"].as_str().unwrap())).collect();
    let (sphere, qp) = ("nsgs-sphere", "nsgs-qp");
    assert_eq!(named, [("packing", sphere), ("packing", qp), ("brazil-nut", sphere), ("brazil-nut", qp)]);
    for r in rows {
        assert_eq!(number(r, "steps"), 20.0, "{r}");
        assert!(number(r, "cpu_ms_mean") > 0.0 && number(r, "cpu_ms_max") >= number(r, "cpu_ms_mean"), "{r}");
        assert!(number(r, "converged") <= 20.0 && r["ended"].is_null(), "{r}");
        assert!(r["course"].as_array().unwrap().len() == 20, "{r}");
    }
    // The large ball lies at the bottom of its bed.
    assert!((1.0..3.0).contains(&number(&rows[2], "at_the_end")), "{}", rows[2]);
    let nut: Value = serde_json::from_str(&scratch.good("race nut --at-time 0.3 --report -")).unwrap();
    assert_eq!((nut[0]["solver"].as_str(), number(&nut[0], "converged")), (Some("auto"), 3.0), "{nut}");
    let svg = scratch.read("runs.svg");
    holds(&svg, &["nsgs-sphere", "nsgs-qp", "packing", "brazil-nut", "iterations of a step", "contacts"]);
    holds(&scratch.bad("race stacks --sizes 3 --plot a.svg"), &["--plot is of the tables runs"]);
}

#[test]
fn compare_draws_every_quantity() {
    let scratch = Scratch::new("tables-plot");
    let line = "compare packing --set n=80 --at-time 0.5 --sweeps 20 --solvers pgs,pgj";
    let mut drawn = Vec::new();
    for quantity in ["residual", "violation", "delta", "objective"] {
        let table = scratch.good(&format!("{line} --quantity {quantity} --plot folder/p.svg"));
        holds(&table, &["pgs", "pgj", "residual", "80 bodies"]);
        let svg = scratch.read("folder/p.svg");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        holds(&svg, &["pgs", "pgj", "iterations", "packing"]);
        assert!(svg.matches("<path").count() + svg.matches("<polyline").count() >= 2, "two curves");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(!drawn.contains(&svg), "{quantity} looks like another");
        drawn.push(svg);
    }
    // In free fall there is nothing to solve.
    scratch.write("falling.json", state(vec![ball([0.0, 0.0, 100.0])], vec![floor()]).to_string());
    holds(&scratch.bad("compare falling.json"), &["no contacts"]);
}

#[test]
fn a_warm_start_is_ahead_of_a_cold_one() {
    let scratch = Scratch::new("tables-warm");
    let first = |warm: &str| {
        let line =
            format!("compare packing --set n=80 --at-time 10 --sweeps 3 --solvers pgs --report - {warm}");
        let c: Value = serde_json::from_str(&scratch.good(&line)).unwrap();
        number(&c["entries"][0]["history"][0], "residual")
    };
    assert!(first("--warm") < 0.2 * first(""), "at rest the last step's forces are nearly the next one's");
}

#[test]
fn a_bench_measures_and_reports() {
    let scratch = Scratch::new("tables-bench");
    let rows: Value = serde_json::from_str(&scratch.good("bench packing --threads 1 --report -")).unwrap();
    let [row] = rows.as_array().unwrap().as_slice() else { panic!("one bench was asked for: {rows}") };
    assert_eq!((&row["name"], &row["bodies"], &row["threads"]), (&"packing".into(), &220.into(), &1.into()));
    for key in [
        "ms_total",
        "ns_per_contact_iteration",
        "bytes_per_contact",
        "peak_rss_mib",
        "contacts",
        "cpu_ms_mean",
    ] {
        assert!(number(row, key) > 0.0, "{key}");
    }
    let stages = row["ms_stage"].as_object().unwrap();
    for stage in ["broadphase", "narrowphase", "assemble", "solve", "integrate", "correct", "certificate"] {
        assert!(stages[stage].as_f64().is_some_and(|ms| ms >= 0.0), "{stage}");
    }
    let names: Vec<String> = scratch
        .good("bench --list")
        .lines()
        .map(|l| l.split_whitespace().next().unwrap().to_string())
        .collect();
    assert!(names.len() >= 3 && names.contains(&"packing".to_string()), "{names:?}");
}

#[test]
fn a_study_is_the_runs_it_is_made_of() {
    let scratch = Scratch::new("tables-study");
    let line = "study packing --set n=60 --steps 20 --vary step=0.005,0.01 --for iterations=5,50 \
                --measure penetration_m.max --plot p.svg --report s.json --quiet";
    assert_eq!(scratch.good(line), "");
    let s = scratch.json("s.json");
    assert_eq!((&s["measure"], &s["interrupted"]), (&"penetration_m.max".into(), &Value::Bool(false)));
    let curves = s["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 2);
    for (curve, iterations) in curves.iter().zip([5, 50]) {
        let runs = curve["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 2);
        for (run, step) in runs.iter().zip(["0.005", "0.01"]) {
            let alone = scratch
                .report(&format!("packing --set n=60 --steps 20 --step {step} --iterations {iterations}"));
            assert_eq!((&run["status"], &run["x"]), (&"ok".into(), &step.into()));
            assert_eq!(number(run, "value"), number(&alone, "penetration_m.max"));
            assert_eq!(run["report"]["state_hash"], alone["state_hash"]);
        }
    }
    holds(&scratch.read("p.svg"), &["<svg", "</svg>", "step"]);
}
