//! `run`: its options, and the report with every key that readers rely on.

use serde_json::Value;

use crate::bodies::{ball, floor, state};
use crate::scratch::{Scratch, number};

/// What a key holds.
#[derive(Clone, Copy, Debug)]
enum Is {
    Text,
    Number,
    NumberOrNull,
    Whole,
    Flag,
    List,
    Table,
}

const STAGES: &[&str] = &[
    "total",
    "broadphase",
    "narrowphase",
    "assemble",
    "solve",
    "correct",
    "integrate",
    "certificate",
    "record",
];

const KEYS: &[(&str, Is)] = &[
    ("status", Is::Text),
    ("scene", Is::Text),
    ("version", Is::Text),
    ("backend", Is::Text),
    ("threads", Is::Whole),
    ("seed", Is::Whole),
    ("sleep", Is::Flag),
    ("asleep.mean", Is::Number),
    ("asleep.max", Is::Whole),
    ("asleep.last", Is::Whole),
    ("model", Is::Text),
    ("integrator", Is::Text),
    ("smooth_steps", Is::Whole),
    ("stabilisation", Is::Text),
    ("envelope_m", Is::Number),
    ("bodies", Is::Whole),
    ("steps", Is::Whole),
    ("time_s", Is::Number),
    ("step_s", Is::Number),
    ("substeps", Is::Whole),
    ("wall_s", Is::Number),
    ("cpu_s", Is::Number),
    ("contacts.mean", Is::Number),
    ("contacts.max", Is::Whole),
    ("contacts.last", Is::Whole),
    ("contacts.touching_last", Is::Whole),
    ("bilaterals", Is::Whole),
    ("solver.name", Is::Text),
    ("solver.unit", Is::Text),
    ("solver.iterations_mean", Is::Number),
    ("solver.iterations_max", Is::Whole),
    ("solver.tolerance", Is::Number),
    ("solver.converged_steps", Is::Whole),
    ("cpu_ms_per_step_last100", Is::Number),
    ("certificate.residual_max", Is::Number),
    ("certificate.residual_mean", Is::Number),
    ("certificate.residual_last", Is::NumberOrNull),
    ("certificate.constraint_violation_last", Is::NumberOrNull),
    ("certificate.duality_gap_last", Is::NumberOrNull),
    ("certificate.velocity_error_bound_last", Is::NumberOrNull),
    ("certificate.velocity_error_least_last", Is::NumberOrNull),
    ("certificate.velocity_error_multiplications", Is::NumberOrNull),
    ("penetration_m.max", Is::Number),
    ("penetration_m.mean", Is::Number),
    ("penetration_m.last_max", Is::Number),
    ("penetration_m.last_mean", Is::Number),
    ("joint_error.position_m", Is::Number),
    ("joint_error.velocity_m_s", Is::Number),
    ("energy_j.kinetic_last", Is::Number),
    ("energy_j.potential_last", Is::Number),
    ("energy_j.kinetic_per_body_last", Is::Number),
    ("speed_m_s.max_last", Is::Number),
    ("speed_m_s.mean_last", Is::Number),
    ("state_hash", Is::Text),
    ("peak_rss_mib", Is::Number),
    ("warnings", Is::List),
    ("scene_results", Is::Table),
];

fn check_keys(report: &Value, line: &str) {
    let stages = ["ms_per_step", "ms_per_step_last100"];
    let timed = stages.iter().flat_map(|k| STAGES.iter().map(move |s| (format!("{k}.{s}"), Is::Number)));
    for (path, is) in KEYS.iter().map(|(path, is)| (path.to_string(), *is)).chain(timed) {
        let mut found = report;
        for key in path.split('.') {
            found = found.get(key).unwrap_or_else(|| panic!("run {line}: the report has no {path}"));
        }
        let fits = match is {
            Is::Text => found.is_string(),
            Is::Number => found.is_number(),
            Is::NumberOrNull => found.is_number() || found.is_null(),
            Is::Whole => found.is_u64(),
            Is::Flag => found.is_boolean(),
            Is::List => found.is_array(),
            Is::Table => found.is_object(),
        };
        assert!(fits, "run {line}: {path} must be {is:?}, got {found}");
    }
}

#[test]
fn the_report_has_every_key_for_every_scene_and_length() {
    let scratch = Scratch::new("report-keys");
    scratch.write("one.json", state(vec![ball([0.0, 0.0, 0.5])], vec![floor()]).to_string());
    for line in [
        "packing --set n=100 --steps 40",
        "packing --set n=100 --steps 0",
        "shaker --set n=200 --steps 5",
        "stack --steps 5",
        "pyramid --steps 5",
        "incline --steps 5",
        "slide --steps 5",
        "one.json --steps 120",
    ] {
        let r = scratch.report(line);
        check_keys(&r, line);
        assert_eq!(r["status"], "ok");
        assert!(r.get("reason").is_none_or(Value::is_null), "nothing went wrong in {line}");
        assert_eq!(r["steps"], line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
        let hash = r["state_hash"].as_str().unwrap();
        assert!(hash.len() >= 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()), "{hash}");
    }
}

#[test]
fn the_figures_of_a_report_agree_with_each_other() {
    let scratch = Scratch::new("report-figures");
    let r = scratch.report("packing --set n=100 --steps 120 --threads 2 --set seed=7");
    assert_eq!(r["scene"], "packing");
    assert_eq!((&r["backend"], &r["model"], &r["sleep"]), (&"cpu".into(), &"ccp".into(), &false.into()));
    assert_eq!((&r["threads"], &r["seed"], &r["bodies"]), (&2.into(), &7.into(), &100.into()));
    assert_eq!(r["version"], env!("CARGO_PKG_VERSION"));
    let n = |path: &str| number(&r, path);
    assert!((n("time_s") - 1.2).abs() < 1e-9 && n("step_s") == 0.01);
    assert!(n("contacts.mean") > 0.0 && n("contacts.mean") <= n("contacts.max"));
    assert!(
        n("contacts.last") <= n("contacts.max") && n("contacts.touching_last") <= n("contacts.last") + 1.0
    );
    assert!(["sweep", "multiplication", "iteration"].contains(&r["solver"]["unit"].as_str().unwrap()));
    assert!(n("solver.iterations_mean") <= n("solver.iterations_max"));
    assert!(n("solver.converged_steps") <= n("steps"));
    assert!(n("certificate.residual_last") <= n("certificate.residual_max"));
    assert!(n("certificate.residual_mean") <= n("certificate.residual_max"));
    assert!(n("penetration_m.last_max") <= n("penetration_m.max"));
    assert!(n("penetration_m.last_mean") <= n("penetration_m.last_max"));
    assert!(n("speed_m_s.mean_last") <= n("speed_m_s.max_last") && n("speed_m_s.max_last") > 0.0);
    let per_body = n("energy_j.kinetic_last") / 100.0;
    assert!((n("energy_j.kinetic_per_body_last") - per_body).abs() <= 1e-12 * per_body);
    for group in ["ms_per_step", "ms_per_step_last100"] {
        let parts: f64 = STAGES[1..].iter().map(|s| n(&format!("{group}.{s}"))).sum();
        let total = n(&format!("{group}.total"));
        assert!((parts - total).abs() <= 1e-6 * total.max(1e-3), "{group}: {parts} of {total}");
    }
    assert!(n("wall_s") * 1e3 >= 0.99 * 120.0 * n("ms_per_step.total"));
    assert!(n("peak_rss_mib") > 1.0 && n("cpu_s") > 0.0);
}

#[test]
fn what_no_step_computed_is_null() {
    let r = Scratch::new("report-null").report("packing --set n=100 --steps 0");
    for key in ["residual_last", "constraint_violation_last", "duality_gap_last", "velocity_error_bound_last"]
    {
        assert!(r["certificate"][key].is_null(), "{key} without a step is {}", r["certificate"][key]);
    }
    assert_eq!(number(&r, "time_s"), 0.0);
}

#[test]
fn results_that_others_read_have_their_names() {
    let scratch = Scratch::new("report-results");
    let r = scratch.report("packing --set n=220 --time 2 --step 0.02");
    assert!(number(&r, "scene_results.mean_contacts") > 1.0);
    assert!((0.3..0.75).contains(&number(&r, "scene_results.packing_fraction")));
    for scene in ["stack", "pyramid"] {
        let r = scratch.report(&format!("{scene} --time 0.5"));
        assert_eq!(r["scene_results"]["standing"], true, "{scene}");
        assert!((number(&r, "scene_results.floor_force_over_weight") - 1.0).abs() < 0.02, "{scene}");
    }
    // Without friction it falls apart, and the report must say so.
    let r = scratch.report("pyramid --set mu=0 --time 1.5");
    assert_eq!(r["scene_results"]["standing"], false);
    // The relaxed model lifts a sliding body by mu h v: 0.3 * 0.001 s * 1.53 m/s after half a second.
    let gap = number(&scratch.report("slide"), "scene_results.hover_gap_m");
    assert!((gap - 0.459e-3).abs() < 0.01e-3, "{gap} m");
    assert!(scratch.report("incline --steps 100")["scene_results"].get("hover_gap_m").is_some());
}

#[test]
fn time_steps_and_step_size_decide_how_far_a_run_goes() {
    let scratch = Scratch::new("report-length");
    let ends = |line: &str| {
        let r = scratch.report(&format!("stack --set n=2 {line}"));
        (r["steps"].as_u64().unwrap(), number(&r, "step_s"), number(&r, "time_s"))
    };
    let near = |(n, h, t): (u64, f64, f64), (n0, h0, t0): (u64, f64, f64)| {
        assert!(n == n0 && h == h0 && (t - t0).abs() < 1e-9, "{n} steps of {h} s to {t} s");
    };
    near(ends("--time 0.25"), (25, 0.01, 0.25));
    near(ends("--steps 7"), (7, 0.01, 0.07));
    near(ends("--step 0.005 --time 0.25"), (50, 0.005, 0.25));
    near(ends("--set h=0.02 --set T=0.5"), (25, 0.02, 0.5));
    near(ends("--set h=0.02 --step 0.05 --set T=0.5"), (10, 0.05, 0.5));
    // The last of several counts.
    near(ends("--set h=0.02 --set h=0.04 --steps 2"), (2, 0.04, 0.08));
    // A file's own h and T are the defaults.
    let mut file = state(vec![ball([0.0, 0.0, 0.5])], vec![floor()]);
    file["h"] = 0.004.into();
    file["T"] = 0.1.into();
    scratch.write("own.json", file.to_string());
    let r = scratch.report("own.json");
    assert_eq!((r["steps"].as_u64(), number(&r, "step_s")), (Some(25), 0.004));
    assert_eq!(r["scene"], "made");
}

#[test]
fn solver_options_reach_the_solver() {
    let scratch = Scratch::new("report-solver");
    let run = |options: &str| scratch.report(&format!("packing --set n=100 --steps 30 {options}"));
    let r = run("--solver pgj:omega=0.3,lambda=0.9 --tolerance 0 --iterations 13");
    assert_eq!(r["solver"]["name"], "pgj");
    assert_eq!((number(&r, "solver.iterations_mean"), number(&r, "solver.tolerance")), (13.0, 0.0));
    assert_eq!(r["solver"]["iterations_max"], 13);
    let other = run("--solver pgj:omega=0.2,lambda=0.9 --tolerance 0 --iterations 13");
    assert_ne!(r["state_hash"], other["state_hash"], "omega changes nothing");
    // A tolerance everything meets costs the fewest iterations; one that nothing meets costs all.
    let loose = run("--tolerance 1000");
    assert_eq!(loose["solver"]["converged_steps"], 30);
    assert!(number(&loose, "solver.iterations_mean") < 5.0);
    let strict = run("--solver pgs --tolerance 1e-300 --iterations 17");
    assert_eq!(
        (&strict["solver"]["converged_steps"], number(&strict, "solver.iterations_max")),
        (&0.into(), 17.0)
    );
    // More sweeps, smaller residual.
    let few = run("--tolerance 0 --iterations 5");
    let many = run("--tolerance 0 --iterations 400");
    assert!(number(&many, "certificate.residual_mean") < 0.3 * number(&few, "certificate.residual_mean"));
    // A budget of nothing cuts the solve short and says so.
    let hurried = run("--budget-ms 0 --tolerance 1e-12 --iterations 100000");
    assert!(number(&hurried, "solver.iterations_max") < 1000.0);
    assert_eq!(hurried["status"], "ok");
}

#[test]
fn the_default_solver_reports_whom_it_picked() {
    let scratch = Scratch::new("report-auto");
    let r = scratch.report("stack --set shape=box --steps 20");
    assert_eq!((&r["solver"]["name"], &r["solver"]["converged_steps"]), (&"auto".into(), &20.into()));
    assert_eq!(number(&r, "solver.used.prox.solves"), 20.0);
    assert!(number(&r, "certificate.residual_max") <= 1e-7);
    let r = scratch.report("packing --set n=100 --steps 30");
    assert_eq!((&r["solved"], &r["solver"]["converged_steps"]), (&true.into(), &30.into()));
    // A tolerance that nothing meets sends islands from method to method, and is told.
    let r = scratch.report("packing --set n=100 --steps 60 --tolerance 1e-300 --iterations 6000");
    assert!(number(&r, "solver.fallbacks") > 0.0);
    assert_eq!((&r["solved"], &r["warnings"][0]["kind"]), (&false.into(), &"unsolved".into()));
    // Sweeps as before where all iterations are asked for.
    let line = "packing --set n=100 --steps 30 --tolerance 0 --iterations 20";
    let (auto, pgs) = (scratch.report(line), scratch.report(&format!("{line} --solver pgs")));
    assert_eq!(auto["state_hash"], pgs["state_hash"]);
}

#[test]
fn stabilisation_broadphase_and_envelope_are_reported_as_used() {
    let scratch = Scratch::new("report-options");
    let run = |options: &str| scratch.report(&format!("packing --set n=100 --steps 60 {options}"));
    for (given, reported) in
        [("none", "none"), ("scaled:K=0.5", "scaled:K=0.5"), ("clamped:A=2", "clamped:A=2")]
    {
        let r = run(&format!("--stabilisation {given}"));
        assert_eq!(r["stabilisation"], reported);
    }
    assert!(run("")["stabilisation"].as_str().unwrap().starts_with("post"));
    let worst = |r: &Value| number(r, "penetration_m.last_max");
    assert!(
        worst(&run("--stabilisation post")) < 0.1 * worst(&run("--stabilisation none")),
        "overlaps are not removed"
    );
    assert_eq!(number(&run("--envelope 0.05"), "envelope_m"), 0.05);
    let wide = number(&run("--envelope 0.5"), "contacts.mean");
    assert!(
        wide > 1.2 * number(&run("--envelope 0"), "contacts.mean"),
        "an envelope of 0.5 m finds no more contacts"
    );
    for name in ["sap", "grid", "brute"] {
        assert_eq!(run(&format!("--broadphase {name}"))["broadphase"], name);
    }
}

#[test]
fn the_report_counts_who_sleeps() {
    let scratch = Scratch::new("report-sleep");
    let line = "stack --set n=4 --time 2";
    let (awake, asleep) = (scratch.report(line), scratch.report(&format!("{line} --sleep")));
    assert_eq!((&awake["sleep"], &awake["asleep"]["max"]), (&false.into(), &0.into()));
    assert_eq!((&asleep["sleep"], &asleep["asleep"]["last"]), (&true.into(), &4.into()));
    assert_eq!((&asleep["contacts"]["last"], &asleep["energy_j"]["kinetic_last"]), (&0.into(), &0.0.into()));
    assert_eq!(asleep["contacts"]["touching_last"], awake["contacts"]["touching_last"]);
    assert!((number(&asleep, "support_over_weight.last") - 1.0).abs() < 1e-3);
    let later = scratch.report(&format!("{line} --sleep=time=1.5"));
    let mean = |r: &Value| number(r, "asleep.mean");
    assert!(mean(&later) < mean(&asleep) - 1.0 && mean(&later) > 0.5, "{} {}", mean(&later), mean(&asleep));
}

#[test]
fn a_cold_start_takes_more_iterations() {
    let scratch = Scratch::new("report-cold");
    let line = "stack --set n=6 --solver pgs --tolerance 1e-6 --iterations 5000 --steps 30";
    let iterations = |line: &str| number(&scratch.report(line), "solver.iterations_mean");
    let (warm, cold) = (iterations(line), iterations(&format!("{line} --cold")));
    assert!(cold > 3.0 * warm, "{cold} cold, {warm} warm");
}

#[test]
fn a_bench_says_what_it_streams() {
    let scratch = Scratch::new("report-bench");
    let out = scratch.command("bench layer-1e3 --threads 1 --report -").output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let rows: Value = serde_json::from_slice(&out.stdout).unwrap();
    let n = |path: &str| number(&rows[0], path);
    assert_eq!((n("bodies"), n("roofline.bytes_per_contact_iteration")), (1000.0, 52.0));
    // The mean step is not faster than the fastest.
    let (rate, mean) = (n("roofline.gb_per_s"), 52.0 / n("ns_per_contact_iteration"));
    assert!(rate >= mean * (1.0 - 1e-9) && rate < 1e3, "{rate} {mean}");
    assert!((n("roofline.share") * n("roofline.stream_gb_per_s") - rate).abs() < 1e-9 * rate);
    assert!(n("setup_s") > 0.0 && n("peak_bytes_per_body") > 100.0);
}

/// A stack on stiff springs after ten sweeps a step: the certificate's own bound, and what is made of it
/// after the last step.
#[test]
fn the_bound_of_the_last_step_is_sharpened_where_there_is_one() {
    let scratch = Scratch::new("report-bound");
    let text = "[settings]\nh = 0.005\nT = 0.5\nsolver = \"pgs\"\niterations = 10\n\
        [materials]\nother = { stiffness = 1e5 }\n\
        [[body]]\nmotion = \"static\"\nshape = { type = \"plane\" }\nmu = 0.5\n\
        [[body]]\nshape = { type = \"box\", half = [0.1, 0.1, 0.1] }\nmass = 1.0\nmu = 0.5\n\
        position = [0.0, 0.0, 0.1]\ncount = [1, 1, 8]\nspacing = [0, 0, 0.2]\n";
    scratch.write("soft.toml", text);
    let (sharp, own) = (scratch.report("soft.toml"), scratch.report("soft.toml --bound 0"));
    let n = |r: &Value, key: &str| number(r, &format!("certificate.velocity_error_{key}"));
    let (upper, lower) = (n(&sharp, "bound_last"), n(&sharp, "least_last"));
    assert!(
        lower <= upper && upper < 0.5 * n(&own, "bound_last"),
        "{lower} {upper} {}",
        n(&own, "bound_last")
    );
    assert!(n(&sharp, "multiplications") <= 500.0);
    assert!(own["certificate"]["velocity_error_least_last"].is_null());
    // The run itself is the same.
    assert_eq!(number(&sharp, "certificate.residual_last"), number(&own, "certificate.residual_last"));
}

/// A cube on a floor has four forces, which could be others.
#[test]
fn forces_that_are_not_determined_are_told() {
    let scratch = Scratch::new("report-forces");
    let r = scratch.report("stack --set n=1 --set shape=box --steps 1 --forces unique");
    let forces = &r["contact_forces"];
    assert_eq!((&forces["pressed"], &forces["determined"]), (&4.into(), &0.into()), "{forces}");
    let contacts = forces["contacts"].as_array().unwrap();
    let up: f64 = contacts.iter().map(|c| c["force_n"][2].as_f64().unwrap().abs()).sum();
    assert!(up > 0.0 && forces["velocity_off_m_s"].as_f64().unwrap() < 1e-5, "{forces}");
    assert!(scratch.bad("run stack --forces all").contains("--forces"));
    assert!(scratch.report("stack --steps 3")["contact_forces"].is_null());
}

/// LCP time stepping: the pyramid stands, and every step's LCP is solved.
#[test]
fn runs_step_by_linear_complementarity_problems() {
    let scratch = Scratch::new("report-lcp");
    for more in ["lcp", "lcp:facets=6 --solver nsgs-qp", "lcp:form=convex"] {
        let r = scratch.report(&format!("pyramid --set h=0.05 --steps 10 --model {more}"));
        assert_eq!(r["scene_results"]["standing"], true, "{more}");
        if !more.contains("--solver") {
            assert_eq!(r["solver"]["converged_steps"], 10, "{more}");
            assert_eq!(r["solver"]["unit"], "pivot");
        }
    }
    for (more, word) in [
        ("lcp --solver pgs", "lemke"),
        ("lcp:facets=2", "facets"),
        ("lcp:form=round", "stewart"),
        ("lcp:facets=4 --solver nsgs-qp:facets=8", "same number"),
    ] {
        let told = scratch.bad(&format!("run pyramid --model {more}"));
        assert!(told.contains(word), "{more}: {told}");
    }
    let joints = scratch.run("run forklift --model lcp --steps 3 --quiet");
    assert!(joints.code != 0 && joints.err.contains("bilateral"), "{}", joints.err);
}
