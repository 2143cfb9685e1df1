//! `drystone solve`: reports, exit status, refusals.

use serde_json::Value;

use crate::scratch::{Scratch, holds, number};

/// Three blocks in a row on one another: W couples neighbours, the lowest contact carries all.
fn tower() -> String {
    let (mut indptr, mut indices, mut data) = (vec![0], Vec::new(), Vec::new());
    let n = 9usize;
    for i in 0..n {
        for j in 0..n {
            let (a, b) = (i / 3, j / 3);
            if i % 3 == j % 3 && a.abs_diff(b) <= 1 {
                indices.push(j);
                data.push(if a != b {
                    -1.0
                } else if a == 0 {
                    1.0
                } else {
                    2.0
                });
            }
        }
        indptr.push(indices.len());
    }
    // Contact 0 is with the floor: -1 on the block's normal velocity; the others start with the same speed.
    format!(
        r#"{{"name": "tower", "kind": "fc", "d": 3, "nc": 3, "W": {{"shape": [9, 9], "indptr": {indptr:?},
        "indices": {indices:?}, "data": {data:?}}}, "q": [-1, 0.2, 0, 0, 0.1, 0, 0, 0, 0], "mu": [0.5, 0.5, 0.5]}}"#
    )
}

/// The same without anything to do.
fn still() -> String {
    tower().replace("[-1, 0.2, 0, 0, 0.1, 0, 0, 0, 0]", "[0, 0, 0, 0, 0, 0, 0, 0, 0]")
}

#[test]
fn every_solver_reports_the_same_solution() {
    let scratch = Scratch::new("solve-all");
    scratch.write("tower.json", tower());
    let solvers: Value = serde_json::from_str(&scratch.good("solvers --json")).unwrap();
    let mut first: Option<Value> = None;
    for solver in solvers.as_array().unwrap() {
        let name = solver["name"].as_str().unwrap();
        if solver["facets"] == true {
            continue;
        }
        let line = format!("solve tower.json --solver {name} --tolerance 1e-10 --vectors --report -");
        let r: Value = serde_json::from_str(&scratch.good(&line)).unwrap();
        for (key, value) in
            [("name", "tower"), ("kind", "fc"), ("model", "ccp"), ("status", "solved"), ("solver", name)]
        {
            assert_eq!(r[key], value, "{name}");
        }
        assert_eq!((r["contacts"].as_u64(), r["unit"].clone()), (Some(3), solver["unit"].clone()), "{name}");
        assert!(number(&r, "residual_over_q") <= 1e-10, "{name}: {r}");
        assert!(
            number(&r, "duality_gap_rel") <= 1e-8 && number(&r, "cone_violation") <= 1e-12,
            "{name}: {r}"
        );
        assert!(number(&r, "iterations") >= 1.0 && number(&r, "wall_s") >= 0.0 && number(&r, "cpu_s") >= 0.0);
        let vector = |key: &str| -> Vec<f64> {
            r[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
        };
        // By hand: the objective is ½ qᵀr at the solution, and the blocks come to rest on the floor.
        let (r_, u) = (vector("r"), vector("u"));
        let q = [-1.0, 0.2, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0];
        let half: f64 = r_.iter().zip(q).map(|(r, q)| 0.5 * r * q).sum();
        assert!((number(&r, "objective") - half).abs() < 1e-8, "{name}: {r}");
        assert!(u[0].abs() < 1e-8 && r_[0] > 0.0, "{name}: {u:?}");
        let f = first.get_or_insert_with(|| r.clone());
        assert!((number(f, "objective") - number(&r, "objective")).abs() < 1e-9, "{name}");
    }
    // Without --vectors none, and a file instead of the screen.
    let text = scratch.good("solve tower.json --report report.json");
    holds(&text, &["tower solved", "auto", "prox", "objective"]);
    let r = scratch.json("report.json");
    assert!(r.get("r").is_none() && r.get("u").is_none());
}

/// A body of 1 kg that a motor of at most 2 N s should bring from 5 m/s to rest, and one that a motor which
/// can pull alone holds: both objectives, by hand, are the same at the solution.
#[test]
fn a_motor_at_its_limit_has_no_duality_gap() {
    let scratch = Scratch::new("solve-motor");
    let problem = |others: &str| {
        format!(
            r#"{{"name": "motor", "kind": "fc", "d": 3, "nc": 0, "W": {{"shape": [1, 1], "indptr": [0, 1], "indices": [0],
            "data": [1.0]}}, "q": [-5.0], "mu": [], "others": [{others}]}}"#
        )
    };
    for (others, r, objective) in [
        (r#"{"set": "interval", "lo": -2, "hi": 2}"#, 2.0, -8.0),
        (r#"{"set": "interval", "lo": 1}"#, 5.0, -12.5),
        (r#"{"set": "interval", "lo": 6}"#, 6.0, -12.0),
        (r#"{"set": "interval", "hi": 2}"#, 2.0, -8.0),
    ] {
        scratch.write("motor.json", problem(others));
        for solver in ["auto", "pgs", "prox", "ipm"] {
            let line = format!("solve motor.json --solver {solver} --tolerance 1e-9 --vectors --report -");
            let report: Value = serde_json::from_str(&scratch.good(&line)).unwrap();
            assert!((report["r"][0].as_f64().unwrap() - r).abs() < 1e-8, "{others} {solver}: {report}");
            assert!((number(&report, "objective") - objective).abs() < 1e-7, "{others} {solver}: {report}");
            assert!(number(&report, "duality_gap_rel") < 1e-8, "{others} {solver}: {report}");
            assert!(number(&report, "dual_cone_violation") < 1e-8, "{others} {solver}: {report}");
        }
    }
}

#[test]
fn problems_are_compared_by_profiles() {
    let scratch = Scratch::new("solve-profiles");
    scratch.write("tower.json", tower());
    scratch.write("rest.json", tower().replace("-1, 0.2", "-1, 0.1"));
    let line = "compare tower.json rest.json --solvers pgs,prox,auto";
    let table = scratch.good(&format!("{line} --plot p.svg --report r.json"));
    holds(&table, &["2 problems", "tower", "fastest", "prox"]);
    holds(&scratch.read("p.svg"), &["performance profiles", "auto"]);
    let r = scratch.json("r.json");
    assert_eq!(r["solved"], serde_json::json!([2, 2, 2]));
    // The caps are said, and who ran into the one on time.
    holds(&table, &["at most 5000 ms", "100000 iterations"]);
    assert_eq!((number(&r, "budget_ms"), number(&r, "iterations")), (5000.0, 1e5));
    holds(&scratch.good("compare --help"), &["--budget-ms [default: 5000"]);
    let text =
        scratch.good("compare tower.json --solvers pgj --tolerance 1e-12 --budget-ms 0 --report t.json");
    holds(&text, &["at most 0 ms", " time\n"]);
    assert_eq!(scratch.json("t.json")["problems"][0]["results"][0]["status"], "budget");
    let fastest: u64 = r["fastest"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    assert!(fastest >= 2, "{r}");
    holds(&scratch.bad("compare packing tower.json"), &["tower.json", "alone"]);
    // What is left out is named.
    scratch.write("zero.json", still().replace("tower", "zero"));
    let line = "compare tower.json zero.json --solvers prox";
    holds(&scratch.good(line), &["1 problems", "q = 0", "nothing to solve: zero"]);
    let r: Value = serde_json::from_str(&scratch.good(&format!("{line} --report -"))).unwrap();
    assert_eq!(r["nothing_to_solve"], serde_json::json!(["zero"]));
    std::fs::create_dir(scratch.at("folder")).unwrap();
    scratch.write("folder/tower.json", tower());
    scratch.write("folder/lcp_one.dat", "2\n0 2 2\n2 2\n1 0 0 1\n-1 2\n");
    holds(&scratch.good("compare folder --solvers prox"), &["1 linear complementarity problems left out"]);
    // A broken file is not left out of a folder in silence.
    for broken in [tower().replace("-1, 0.2", "NaN, 0.2"), tower()[..40].to_string()] {
        scratch.write("folder/broken.json", broken);
        holds(&scratch.bad("compare folder --solvers prox"), &["broken.json"]);
    }
}

#[test]
fn the_exit_status_says_whether_the_tolerance_was_reached() {
    let scratch = Scratch::new("solve-exit");
    scratch.write("tower.json", tower());
    let o = scratch.run("solve tower.json --solver pgj --tolerance 1e-12 --iterations 3 --report r.json");
    assert_eq!((o.code, scratch.json("r.json")["status"].as_str()), (3, Some("iterations")));
    assert_eq!(scratch.json("r.json")["iterations"], 3);
    // Tolerance 0 asks for all iterations, whatever comes.
    let r: Value =
        serde_json::from_str(&scratch.good("solve tower.json --tolerance 0 --iterations 50 --report -"))
            .unwrap();
    assert_eq!(number(&r, "iterations"), 50.0);
    // r = 0 leaves u outside the dual cone: rᵀu = 0 is no gap.
    let o = scratch.run("solve tower.json --iterations 0 --report r.json");
    assert_eq!((o.code, &scratch.json("r.json")["duality_gap_rel"]), (3, &Value::Null));
    holds(&o.out, &["duality gap   none: u lies outside the dual cone"]);
    // Nothing to do is solved at once.
    scratch.write("rest.json", still());
    let r: Value = serde_json::from_str(&scratch.good("solve rest.json --report -")).unwrap();
    assert_eq!((r["status"].as_str(), number(&r, "iterations")), (Some("solved"), 0.0));
    assert_eq!(r["residual_over_q"], 0.0);
}

/// Three contacts by themselves, with `w` on W's diagonal and q times `size`.
fn alone(w: [f64; 3], size: f64) -> String {
    let data: Vec<f64> = w.iter().flat_map(|x| [*x; 3]).collect();
    let (rows, columns): (Vec<usize>, Vec<usize>) = ((0..=9).collect(), (0..9).collect());
    let q: Vec<f64> = [-1.0, 0.01, 0.0].repeat(3).iter().map(|x| x * size).collect();
    format!(
        r#"{{"name": "alone", "kind": "fc", "d": 3, "nc": 3, "W": {{"shape": [9, 9], "indptr": {rows:?},
        "indices": {columns:?}, "data": {data:?}}}, "q": {q:?}, "mu": [0.5, 0.5, 0.5]}}"#
    )
}

#[test]
fn what_has_no_solution_and_what_has_no_squares() {
    let scratch = Scratch::new("solve-odd");
    scratch.write("held.json", alone([1.0, 0.0, 1.0], 1.0));
    for solver in ["auto", "pgs", "ipm"] {
        let o = scratch.run(&format!("solve held.json --solver {solver} --report r.json"));
        let r = scratch.json("r.json");
        assert_eq!((o.code, r["status"].as_str(), number(&r, "cannot_move")), (3, Some("wedged"), 1.0));
        assert!(o.out.contains("contact 1 cannot move"), "{}", o.out);
        assert!(number(&r, "residual_scaled") >= 1.0 && r["duality_gap_rel"].is_null(), "{r}");
    }
    scratch.write("indefinite.json", alone([1.0, -1.0, 1.0], 1.0));
    holds(
        &scratch.bad("solve indefinite.json"),
        &["indefinite.json", "W", "not positive semidefinite", "row 3"],
    );
    // The closed form of a contact that sticks: r = -q / w.
    for size in [1e-170, 1.0, 1e160] {
        scratch.write("sized.json", alone([1.0, 2.0, 4.0], size));
        let line = "solve sized.json --tolerance 1e-10 --vectors --report -";
        let r: Value = serde_json::from_str(&scratch.good(line)).unwrap();
        for (i, w) in [1.0, 2.0, 4.0].into_iter().enumerate() {
            let normal = r["r"][3 * i].as_f64().unwrap() / size;
            assert!((normal * w - 1.0).abs() < 1e-8, "{size}: {normal} for {w}");
        }
        assert!(number(&r, "residual_over_q") <= 1e-10);
    }
}

#[test]
fn text_files_and_their_kinds() {
    let scratch = Scratch::new("solve-text");
    scratch.write("block.dat", "2 1\n0 2 2\n2 2\n2 0\n0 2\n0 2 2\n2 2\n1 0\n0 1\n-4 1\n0 0\n0.5\n");
    let r: Value = serde_json::from_str(
        &scratch.good("solve block.dat --kind gfc --tolerance 1e-10 --vectors --report -"),
    )
    .unwrap();
    assert_eq!((r["kind"].as_str(), r["name"].as_str()), (Some("gfc"), Some("block.dat")));
    assert!(
        (r["r"][0].as_f64().unwrap() - 4.0).abs() < 1e-8 && (r["r"][1].as_f64().unwrap() + 1.0).abs() < 1e-8
    );
    assert!((number(&r, "objective") + 0.5 * (16.0 + 1.0) / 2.0).abs() < 1e-8);
}

#[test]
fn refusals_help() {
    let scratch = Scratch::new("solve-refusals");
    scratch.write("tower.json", tower());
    scratch.write("bad.json", tower().replace("\"mu\": [0.5", "\"mu\": [-0.5"));
    scratch.write("lcp_one.dat", "2\n0 2 2\n2 2\n1 0 0 1\n-1 2\n");
    let cases: &[(&str, &[&str])] = &[
        ("solve tower.json --model lcp --facets 2", &["--facets", "3 and 64"]),
        ("solve tower.json --model lcp --form convx", &["'convx'", "did you mean 'convex'"]),
        ("solve tower.json --model lcp --solver pgs", &["'pgs'", "lemke, psor"]),
        ("solve tower.json --model cpp", &["'cpp'", "ccp"]),
        ("solve tower.json --kind lcp", &["tower.json", "n:", "whole number"]),
        ("solve tower.json --kind fcc", &["'fcc'", "did you mean 'fc'"]),
        ("solve tower.json --solver apdg", &["'apdg'", "did you mean 'apgd'"]),
        ("solve tower.json --solver apgd:scaling=trac", &["'trac'", "did you mean 'trace'"]),
        ("solve tower.json --solver bb:memory=1.5", &["memory", "whole"]),
        ("solve tower.json --tolerance=-1", &["--tolerance", "negative"]),
        ("solve tower.json --budget-ms nan", &["--budget-ms", "finite"]),
        ("solve tower.json --threads 0", &["--threads"]),
        ("solve tower.json --facets 4", &["--facets", "--model lcp"]),
        ("solve tower.json --form convex", &["--form", "--model lcp"]),
        ("solve tower.json --model coulomb --cone outer", &["--cone", "--model lcp"]),
        ("solve tower.json --model lcp --budget-ms 5", &["--budget-ms", "LCP"]),
        ("solve tower.json --model lcp --solver lemke:pivots=5 --iterations 5", &["two caps"]),
        ("solve lcp_one.dat --model ccp", &["--model ccp", "linear complementarity", "--kind fc"]),
        ("solve lcp_one.dat --facets 4", &["--facets", "bare LCP"]),
        ("solve tower.json --solver PGS", &["'PGS'", "did you mean 'pgs'"]),
        ("solve tower.json --solver nsgs", &["'nsgs'", "did you mean 'nsgs-"]),
        ("solve tower.json --solver pgs:", &["'pgs:'", "no parameters"]),
        ("compare tower.json --set n=3", &["--set", "tower.json holds contact problems"]),
        ("compare tower.json --at-time 3", &["--at-time", "holds contact problems"]),
        ("compare tower.json --sweeps 3", &["--sweeps", "--iterations"]),
        ("compare tower.json --solver pgs", &["--solver", "--solvers"]),
        ("compare lcp_one.dat", &["lcp_one.dat", "not compared", "solve"]),
        ("solve bad.json", &["bad.json:", "mu[0]", "not negative"]),
        ("solve nothing.json", &["nothing.json", "cannot be read"]),
        ("solve tower.txt", &["tower.txt", ".dat"]),
    ];
    for (line, say) in cases {
        let said = scratch.bad(line);
        holds(&said, say);
        assert!(!said.contains("panicked"), "{line}: {said}");
    }
}

#[test]
fn exact_coulomb_and_facets() {
    let scratch = Scratch::new("solve-coulomb");
    scratch.write("tower.json", tower());
    let line = "solve tower.json --model coulomb --solver nsgs-ac --tolerance 1e-10 --vectors --report -";
    let r: Value = serde_json::from_str(&scratch.good(line)).unwrap();
    assert_eq!((r["model"].as_str(), r["status"].as_str()), (Some("coulomb"), Some("solved")));
    assert!(number(&r, "residual_over_q") <= 1e-10);
    assert!(
        r["objective"].is_null() && r["duality_gap_rel"].is_null(),
        "Coulomb's law minimises nothing: {r}"
    );
    // The slip is along a tangent, where an edge of the facets lies: both laws agree with the LCP's.
    let line = "solve tower.json --model lcp --facets 4 --vectors --report -";
    let l: Value = serde_json::from_str(&scratch.good(line)).unwrap();
    assert_eq!((l["status"].as_str(), l["model"].as_str()), (Some("solved"), Some("lcp")));
    for k in 0..9 {
        let (x, y) = (l["u"][k].as_f64().unwrap(), r["u"][k].as_f64().unwrap());
        assert!((x - y).abs() < 1e-8, "u[{k}]: {x} against {y}");
    }
    // A bare LCP: z = (1, 0), and one that has no solution.
    scratch.write("lcp_one.dat", "2\n0 2 2\n2 2\n1 0 0 1\n-1 2\n");
    let r: Value = serde_json::from_str(&scratch.good("solve lcp_one.dat --vectors --report -")).unwrap();
    assert_eq!((r["z"][0].as_f64(), r["z"][1].as_f64()), (Some(1.0), Some(0.0)));
    // What every report of `solve` has.
    assert!(number(&r, "cpu_s") >= 0.0 && number(&r, "residual_over_q") == 0.0 && r["objective"].is_null());
    assert!(number(&l, "cpu_s") >= 0.0 && number(&l, "residual_over_q") < 1e-12, "{l}");
    assert!(number(&l, "cone_violation") < 1e-12 && l["duality_gap_rel"].is_null(), "{l}");
    // Half a step of a sweep, by hand: z = (0.5, 0) and w = (-0.5, 2), so that |min(z, w)| is 0.5 and |q| the
    // root of 5.
    let o = scratch.run("solve lcp_one.dat --solver psor:omega=0.5 --iterations 1 --report half.json");
    let half = number(&scratch.json("half.json"), "residual_over_q");
    assert!(o.code == 3 && (half - 0.5 / 5f64.sqrt()).abs() < 1e-12, "{half}");
    // A name is a guess; what is said counts.
    scratch.write("lcp_block.dat", "2 1\n0 2 2\n2 2\n1 0\n0 1\n-1 0\n0.5\n");
    let r: Value = serde_json::from_str(&scratch.good("solve lcp_block.dat --kind fc --report -")).unwrap();
    assert_eq!(
        (r["kind"].as_str(), r["contacts"].as_u64(), r["model"].as_str()),
        (Some("fc"), Some(1), Some("ccp"))
    );
    // Why not.
    let o = scratch.run("solve tower.json --model lcp --solver psor --report r.json");
    assert_eq!((o.code, scratch.json("r.json")["status"].as_str()), (3, Some("failed")));
    holds(&o.out, &["diagonal", "lemke"]);
    let o = scratch.run("solve tower.json --model lcp --iterations 1");
    assert_eq!(o.code, 3);
    holds(&o.out, &["pivots", "1 pivots", "cap"]);
    scratch.write("none.dat", "1\n0 1 1\n1 1\n-1\n-1\n");
    let o = scratch.run("solve none.dat --kind lcp --report ray.json");
    assert_eq!((o.code, scratch.json("ray.json")["status"].as_str()), (3, Some("ray")));
}

#[test]
fn problems_of_a_run_can_be_read_back() {
    let scratch = Scratch::new("solve-dump");
    scratch.good("run stack --steps 4 --quiet --dump-problems 2:problems");
    let mut seen = Vec::new();
    for form in ["json", "hdf5"] {
        let line = format!("solve problems/stack-000004.{form} --tolerance 1e-10 --report -");
        let r: Value = serde_json::from_str(&scratch.good(&line)).unwrap();
        seen.push((number(&r, "contacts"), number(&r, "objective")));
    }
    assert!(seen[0] == seen[1] && seen[0].0 > 0.0, "{seen:?}");
    // What the run started from and went on with is there: the second solves the problem, the first is what
    // the step before left.
    let dumped = |step: usize| scratch.json(&format!("problems/stack-{step:06}.json"));
    let line = "solve problems/stack-000004.json --tolerance 1e-10 --vectors --report -";
    let known: Value = serde_json::from_str(&scratch.good(line)).unwrap();
    let numbers = |x: &Value| x.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<f64>>();
    let of = |x: Vec<f64>| x.iter().step_by(3).sum::<f64>();
    let (found, guess) = (of(numbers(&dumped(4)["solution"])), of(numbers(&dumped(4)["guess"])));
    let normal = of(numbers(&known["r"]));
    assert!(
        (found - normal).abs() < 1e-3 * normal && (guess - normal).abs() < 0.1 * normal,
        "{found} {guess}"
    );
    // Both files of a step are one problem, in a folder and by name.
    for list in
        ["problems", "problems/stack-000004.hdf5 problems/stack-000004.json problems/stack-000002.hdf5"]
    {
        let line = format!("compare {list} --solvers prox --report -");
        let c: Value = serde_json::from_str(&scratch.good(&line)).unwrap();
        let count = c["problems"].as_array().unwrap().len() as u64;
        assert_eq!((count, c["asked"].as_u64()), (2, Some(2)), "{list}");
        assert!(c["twice"].as_u64().unwrap() >= 1 && c["interrupted"] == false, "{list}");
    }
    holds(&scratch.good("compare problems --solvers prox"), &["2 files left out", "2 problems"]);
    scratch.bad("solve problems/stack-000003.json");
}

/// Joints, limits and motors are part of a step's problem, and of its file.
#[test]
fn problems_with_joints_can_be_read_back() {
    let scratch = Scratch::new("solve-joints");
    let text = scratch.good("run pendulum --integrator euler --steps 4 --dump-problems 2:swing");
    holds(&text, &["problems      2 in swing\n"]);
    let mut seen = Vec::new();
    for form in ["json", "hdf5"] {
        let line = format!(
            "solve swing/pendulum-000004.{form} --solver prox --tolerance 1e-10 --vectors --report -"
        );
        let r: Value = serde_json::from_str(&scratch.good(&line)).unwrap();
        assert_eq!((r["contacts"].as_u64(), r["status"].as_str()), (Some(0), Some("solved")), "{form}");
        let u = r["u"].as_array().unwrap();
        assert!(!u.is_empty() && u.iter().all(|u| u.as_f64().unwrap().abs() < 1e-8), "{form}: {r}");
        seen.push(number(&r, "objective"));
    }
    assert!((seen[0] - seen[1]).abs() <= 1e-9 * seen[0].abs() && seen[0] < 0.0, "{seen:?}");
    let text = scratch.good("run forklift --steps 2 --dump-problems 2:truck");
    holds(&text, &["1 in truck, 1 of them as JSON alone: FCLib's form has no", "motors"]);
    let spin = "[settings]\nh = 0.005\nT = 0.1\n[materials]\nother = { rolling = 0.01, spinning = 0.005 }\n\
        [[body]]\nmotion = \"static\"\nshape = { type = \"plane\" }\nmu = 0.5\n\
        [[body]]\nshape = { type = \"sphere\", r = 0.1 }\nmass = 1.0\nmu = 0.5\nposition = [0.0, 0.0, 0.1]\n";
    scratch.write("spin.toml", spin);
    holds(
        &scratch.good("run spin.toml --steps 2 --dump-problems 2:spun"),
        &["JSON alone", "spinning friction"],
    );
    let line = "solve truck/forklift-000002.json --tolerance 1e-8 --report -";
    let r: Value = serde_json::from_str(&scratch.good(line)).unwrap();
    assert!(number(&r, "rows") >= 3.0 * number(&r, "contacts") + 34.0, "{r}");
    // A folder that cannot be one is found before the first step.
    scratch.write("file", "");
    let said = scratch.bad("run stack --steps 1000000 --dump-problems 1:file/problems");
    holds(&said, &["--dump-problems 1:file/problems"]);
}
