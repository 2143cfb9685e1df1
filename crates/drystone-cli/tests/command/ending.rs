//! Runs that do not end as planned: numbers that leave their range, Ctrl-C, overlaps at the start.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bodies::{ball, floor, length, snapshot, state};
use crate::scratch::{Scratch, holds, number, outcome};
#[cfg(target_os = "linux")]
use crate::signals::interrupted;

/// A ball so fast that it is further out than bodies may be in the 18th step of one second.
fn runaway() -> Value {
    let mut s = state(vec![ball([0.0, 0.0, 0.0])], vec![]);
    s["bodies"][0]["vel"] = json!([5.7e10, 0, 0]);
    s["h"] = 1.0.into();
    s["T"] = 40.0.into();
    s["snaps"] = json!([3, 10, 40]);
    s
}

/// Smooth steps are counted as such; the solver's line is about the others.
#[test]
fn the_summary_tells_smooth_steps_from_solved_ones() {
    let scratch = Scratch::new("ending-smooth");
    let o = scratch.run("run pendulum --tolerance 0 --steps 50");
    holds(&o.out, &["50 of 50 steps by rattle, which need no solver", "joints        off by at most"]);
    assert!(!o.out.contains("  solver  ") && !o.out.contains("  picked  "), "{}", o.out);
    let o = scratch.run("run pendulum --tolerance 0 --steps 50 --report -");
    let report: Value = serde_json::from_str(&o.out).unwrap();
    assert_eq!(report["solver"]["used"], json!({}), "no solver was asked");
    let o = scratch.run("run pendulum --integrator euler --tolerance 1e-6 --steps 50");
    holds(&o.out, &["of 50 steps within 1e-6 m/s"]);
    // Nothing was to be reached, so nothing is counted.
    let o = scratch.run("run stack --tolerance 0 --solver prox --steps 2");
    holds(&o.out, &["no tolerance to reach"]);
    assert!(!o.out.contains("within 0e0"), "{}", o.out);
    assert!(!o.out.contains("smooth"), "{}", o.out);
}

/// A bound that was found is shown; one that was wished for and not found has a reason.
#[test]
fn the_summary_tells_of_the_velocity_bound() {
    let scratch = Scratch::new("ending-bound");
    let line = "run stack --set n=2 --steps 3 --solver pgs";
    let o = scratch.run(&format!("{line} --bound 500 --report r.json"));
    let bound = number(&scratch.json("r.json"), "certificate.velocity_error_bound_last");
    holds(&o.out, &[&format!("velocity err. at most {bound:.2e} m/s"), "centres of mass"]);
    let o = scratch.run(&format!("{line} --bound 500 --model coulomb --report c.json"));
    holds(&o.out, &["velocity err. no bound: exact Coulomb friction"]);
    let reason = &scratch.json("c.json")["certificate"]["velocity_error_reason"];
    holds(reason.as_str().unwrap(), &["exact Coulomb friction"]);
    let o = scratch.run("run pendulum --steps 3 --integrator euler --bound 500 --compliance 0");
    holds(&o.out, &["velocity err. no bound: rigid joints"]);
    assert!(!scratch.run(line).out.contains("velocity err."), "not asked for");
    // Two problems, one after the other: a bound on the second is none on the step.
    let o = scratch.run(&format!("{line} --substeps 2 --bound 500"));
    holds(&o.out, &["velocity err. no bound: the last step was taken by 2 velocity problems"]);
    let bounce = "[settings]\nh = 0.005\nT = 0.5\nsolver = \"pgs\"\niterations = 5\ntolerance = 0\n\
        [materials]\nother = { restitution = 0.5, impact = \"poisson\" }\n\
        [[body]]\nmotion = \"static\"\nshape = { type = \"plane\" }\nmu = 0.5\n\
        [[body]]\nshape = { type = \"box\", half = [0.1, 0.1, 0.1] }\nmass = 1.0\nmu = 0.5\nvelocity = [0, 0, -1]\n\
        position = [0.0, 0.0, 0.1]\ncount = [1, 1, 3]\nspacing = [0, 0, 0.2]\n";
    for (name, text) in
        [("newton.toml", bounce.replace(", impact = \"poisson\"", "")), ("poisson.toml", bounce.into())]
    {
        scratch.write(name, text);
        let o = scratch.run(&format!("run {name} --steps 1 --bound 500 --report b.json"));
        let c = scratch.json("b.json")["certificate"].clone();
        let poisson = name == "poisson.toml";
        assert_eq!(c["velocity_error_bound_last"].is_null(), poisson, "{name}: {c}");
        assert_eq!(c["velocity_error_reason"].is_null(), !poisson, "{name}: {c}");
        assert_eq!(o.out.contains("no bound: the last step was taken by 2"), poisson, "{name}: {}", o.out);
    }
}

#[test]
fn a_failed_run_says_why_and_keeps_what_it_has() {
    let scratch = Scratch::new("ending-failed");
    scratch.write("runaway.json", runaway().to_string());
    let line = "run runaway.json --report r.json --snapshots s.json --body-forces b.csv";
    let o = scratch.run(line);
    assert_eq!(o.code, 1, "{}", o.err);
    holds(&o.err, &["body 0", "position must be within 1e12 m of the origin"]);
    assert!(!o.err.contains("panicked"));
    let r = scratch.json("r.json");
    assert_eq!(r["status"], "failed");
    let steps = r["steps"].as_u64().unwrap();
    assert!((10..40).contains(&steps));
    holds(
        r["reason"].as_str().unwrap(),
        &[&format!("step {}", steps + 1), "body 0", "position must be within 1e12 m"],
    );
    assert!((number(&r, "time_s") - steps as f64).abs() < 1e-9);
    let s = scratch.json("s.json");
    assert_eq!((&s["cut"], s["steps"].as_u64()), (&Value::Bool(true), Some(steps)));
    let times: Vec<f64> = s["snaps"].as_array().unwrap().iter().map(|x| x[0].as_f64().unwrap()).collect();
    assert_eq!(times, [3.0, 10.0, steps as f64], "the wished ones, and the last");
    assert!((snapshot(&s, 1)[0][0] / 5.7e11 - 1.0).abs() < 1e-9);
    let rows = scratch.read("b.csv");
    assert_eq!(rows.lines().count() as u64, 1 + steps);
    // With the report on standard output it is still pure JSON, and the reason is on standard error.
    let o = scratch.run("run runaway.json --report -");
    let piped: Value = serde_json::from_str(&o.out).unwrap();
    assert_eq!((o.code, &piped["status"], o.err.is_empty()), (1, &"failed".into(), false));
}

#[test]
fn the_last_state_of_a_failed_run_is_finite() {
    let scratch = Scratch::new("ending-finite");
    scratch.write("runaway.json", runaway().to_string());
    assert_eq!(scratch.run("run runaway.json --quiet --report r.json --snapshots s.json").code, 1);
    assert_eq!(scratch.json("r.json")["steps"], 17);
    assert_eq!(snapshot(&scratch.json("s.json"), 2).len(), 1);
}

#[test]
fn steps_too_long_for_numbers_fail_and_do_not_panic() {
    let scratch = Scratch::new("ending-numbers");
    for line in [
        "packing --set n=60 --solver pgj:omega=1e300,safeguard=off --steps 60",
        "packing --set n=60 --solver pgj:eta=1e300 --steps 60",
    ] {
        let o = scratch.run(&format!("run {line} --quiet --report r.json"));
        assert_eq!(o.code, 1, "{line}: {}", o.err);
        holds(&o.err, &["step"]);
        assert!(
            ["not finite", "must be within"].iter().any(|told| o.err.contains(told)),
            "{line}: {}",
            o.err
        );
        assert_eq!(scratch.json("r.json")["status"], "failed", "{line}");
    }
    // A day in one step throws the balls beyond all bounds: no such step is called solved.
    let o = scratch.run("run packing --set n=60 --step 1e7 --steps 300 --quiet --report r.json");
    assert_eq!(o.code, 1, "{}", o.err);
    holds(&o.err, &["must be within 1e12 m"]);
    assert_eq!(scratch.json("r.json")["status"], "failed");
    for step in ["1e10", "1e150", "1e300", "1e-16"] {
        let text = scratch.bad(&format!("run packing --set n=60 --step {step} --steps 3"));
        holds(&text, &["h (the step) must be from 1e-15 to 1e9 s"]);
    }
}

/// Numbers beyond what the engine carries name their field and the bound, wherever they are written.
#[test]
fn numbers_beyond_the_limits_are_refused_by_field() {
    let scratch = Scratch::new("ending-limits");
    let body = "[[body]]\nmotion = \"MOTION\"\nshape = { type = \"sphere\", r = 0.5 }\nLINE\n";
    for (settings, motion, line, told) in [
        ("gravity = [0, 0, 1e300]", "dynamic", "mass = 1.0", "gravity: must be within 1e12 m/s²"),
        ("h = 1e-20", "dynamic", "mass = 1.0", "h: must be from 1e-15 to 1e9 s"),
        ("envelope = 1e200", "dynamic", "mass = 1.0", "envelope: must be at most 1e12 m"),
        ("", "dynamic", "mass = 1.0\nvelocity = [0, 1e200, 0]", "velocity must be within 1e12 m/s"),
        ("", "dynamic", "mass = 1.0\nangular_velocity = [0, 1e13, 0]", "within 1e12 rad/s"),
        ("", "dynamic", "mass = 1.0\nposition = [0, 0, -1e13]", "position must be within 1e12 m"),
        ("", "static", "surface_velocity = [1e13, 0, 0]", "surface_velocity must be within 1e12 m/s"),
        ("", "static", "velocity = [1, 0, 0]", "body[0].velocity: a static body does not move"),
        (
            "",
            "static",
            "angular_velocity = [1, 0, 0]",
            "body[0].angular_velocity: a static body does not move",
        ),
    ] {
        let text = format!("name = \"far\"\n[settings]\nT = 1.0\n{settings}\n{body}");
        scratch.write("far.toml", text.replace("MOTION", motion).replace("LINE", line));
        holds(&scratch.bad("run far.toml"), &["far.toml", told]);
        holds(&scratch.bad("check far.toml"), &["far.toml", told]);
    }
}

/// Too few sweeps with too long steps for a mechanism with loops, whose errors the next step asks to be
/// undone at once: each step by itself looks sound.
#[test]
fn a_mechanism_that_comes_apart_ends_the_run() {
    let scratch = Scratch::new("ending-apart");
    let o = scratch.run(
        "run spider --solver pgs:omega=1.4 --iterations 5 --stabilisation scaled:K=1 --time 2 --quiet --report r.json",
    );
    assert_eq!(o.code, 1, "{}", o.err);
    holds(&o.err, &["come apart", "joint", "rad in a step", "not the right solver"]);
    let r = scratch.json("r.json");
    assert_eq!(r["status"], "failed");
    assert!(r["warnings"].as_array().unwrap().iter().any(|w| w["kind"] == "joints"));
    assert!(number(&r, "joint_error.position_m") < 1e3);
}

/// A ball that is hit is thrown into the next one within the step, where that may not be cut.
#[test]
fn deep_overlaps_are_in_the_report() {
    let scratch = Scratch::new("ending-deep");
    let ball = |name: &str, x: f64, mass: f64, speed: f64| {
        format!(
            "[[body]]\nname = \"{name}\"\nshape = {{ type = \"sphere\", r = 0.1 }}\nmass = {mass:?}\n\
             position = [{x:?}, 0.0, 0.0]\nvelocity = [{speed:?}, 0.0, 0.0]\n"
        )
    };
    let settings = "[settings]\nh = 0.01\nT = 0.06\ngravity = [0.0, 0.0, 0.0]\n";
    let balls = [ball("shot", -0.5, 10.0, 30.0), ball("hit", 0.0, 1.0, 0.0), ball("next", 0.25, 1.0, 0.0)];
    scratch.write("hit.toml", format!("{settings}{}", balls.concat()));
    let o = scratch.run("run hit.toml --max-substeps 1 --quiet --report r.json");
    assert_eq!(o.code, 0, "{}", o.err);
    let warnings = scratch.json("r.json")["warnings"].clone();
    let overlap = warnings.as_array().unwrap().iter().find(|w| w["kind"] == "overlap");
    holds(overlap.unwrap()["text"].as_str().unwrap(), &["hit", "next", "overlap by", "1.000e-1 m inside"]);
}

#[test]
fn a_run_that_ends_beyond_the_limits_is_not_ok() {
    let scratch = Scratch::new("ending-diverged");
    let mut s = state(vec![ball([0.0, 0.0, 0.5])], vec![floor()]);
    s["bodies"][0]["vel"] = json!([9e11, 0, 0]);
    s["T"] = 2.0.into();
    scratch.write("s.json", s.to_string());
    let o = scratch.run("run s.json --quiet --report r.json");
    assert_eq!((o.code, &scratch.json("r.json")["status"]), (1, &"failed".into()));
}

#[cfg(unix)]
#[test]
fn a_full_disk_still_leaves_a_report() {
    let scratch = Scratch::new("ending-full");
    // No file may grow beyond a few KiB: enough for the report, not for the forces.
    let program = env!("CARGO_BIN_EXE_drystone");
    let script = format!(
        "trap '' XFSZ; ulimit -f 16; exec {program} run packing --set n=60 --steps 200 --quiet --body-forces b.csv --report r.json"
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(scratch.at("."));
    let o = outcome(command);
    assert_eq!(o.code, 1, "{}", o.err);
    holds(&o.err, &["forces"]);
    assert_eq!(scratch.json("r.json")["status"], "failed");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_run_with_its_report() {
    let scratch = Scratch::new("ending-interrupt");
    let line = "run packing --set n=60 --time 100000 --report r.json --snapshots s.json --body-forces b.csv";
    let mut command = scratch.command(line);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Rows in the file mean that steps are being done, and that the handler is in place.
    let begun = Instant::now();
    while std::fs::metadata(scratch.at("b.csv")).map_or(0, |m| m.len()) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "no step in 30 s");
        std::thread::sleep(Duration::from_millis(10));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let interrupted = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if interrupted.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("still running 20 s after the interrupt");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let o = child.wait_with_output().unwrap();
    let err = String::from_utf8(o.stderr).unwrap();
    assert_eq!(o.status.code(), Some(130), "{err}");
    assert!(!err.contains("panicked"), "{err}");
    let r = scratch.json("r.json");
    assert_eq!(r["status"], "interrupted");
    let steps = r["steps"].as_u64().unwrap();
    assert!(steps > 0);
    let s = scratch.json("s.json");
    assert_eq!((&s["cut"], s["steps"].as_u64()), (&Value::Bool(true), Some(steps)));
    let rows = scratch.read("b.csv");
    assert!(rows.ends_with('\n') && rows.lines().count() as u64 == 1 + steps * 65, "every step has its rows");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_a_comparison_with_what_it_has() {
    let scratch = Scratch::new("ending-compare");
    scratch.good("run stack --steps 2 --quiet --dump-problems 1:problems");
    // A tolerance that nothing reaches: a second for each solver on each problem.
    let forever = "--solvers prox,pgs:lambda=0.5 --tolerance 1e-300 --iterations 1000000000 --budget-ms 1000";
    for (line, say) in [
        (format!("compare problems {forever}"), "of 2 problems done"),
        ("compare packing --set n=60 --at-time 100000".to_string(), "no solver had its turn"),
    ] {
        let o = interrupted(&scratch, &line);
        holds(&o.out, &["interrupted", say]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_leaves_a_report_of_solves_and_tables() {
    let scratch = Scratch::new("ending-tables");
    scratch.good("run stack --steps 2 --quiet --dump-problems 2:problems");
    let forever = "--solver pgs:lambda=0.5 --tolerance 1e-300 --iterations 1000000000";
    let o = interrupted(&scratch, &format!("solve problems/stack-000002.json {forever} --report r.json"));
    holds(&o.err, &["stack-000002", "interrupted after", "nothing found yet"]);
    let r = scratch.json("r.json");
    assert_eq!((&r["status"], &r["name"]), (&"interrupted".into(), &"stack-000002".into()));
    assert!(number(&r, "wall_s") >= 0.0 && r.get("objective").is_none());
    for line in ["race errors --at-time 10000", "lcp --layers 4,20"] {
        let o = interrupted(&scratch, &format!("{line} --report t.json"));
        holds(&o.out, &["interrupted"]);
        assert!(!scratch.json("t.json").is_null(), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_benches_with_what_they_have() {
    let scratch = Scratch::new("ending-bench");
    let o = interrupted(&scratch, "bench spheres-1e4 --report b.json");
    holds(&o.err, &["interrupted during spheres-1e4"]);
    assert_eq!(scratch.json("b.json"), Value::Array(Vec::new()));
}

/// A signal to the study alone ends its run too, and what was done before is told.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_a_study_and_its_run() {
    let scratch = Scratch::new("ending-study");
    // The first value is done at once, the second never.
    let line =
        "study packing --set n=60 --vary step=0.01,1e-9 --time 0.02 --measure contacts.last --report s.json";
    let mut command = scratch.command(line);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let begun = Instant::now();
    let run = loop {
        assert!(begun.elapsed() < Duration::from_secs(120), "no second run");
        // Rehearsals do no steps; what is not yet a run has the words of the study.
        let now = read(format!("/proc/{id}/task/{id}/children")).trim().to_string();
        let words = read(format!("/proc/{now}/cmdline"));
        if words.split('\0').nth(1) == Some("run") && words.contains("1e-9") && !words.contains("--steps") {
            break now;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let sent = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(!std::path::Path::new(&format!("/proc/{run}")).exists(), "its run has ended");
    let study = scratch.json("s.json");
    assert_eq!(study["interrupted"], true);
    assert_eq!(study["curves"][0]["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn deep_overlaps_are_refused_and_shallow_ones_are_not() {
    let scratch = Scratch::new("ending-overlap");
    // Overlap of 0.4 m: more than half of the radius 0.5 m. A third one touches nobody.
    let deep =
        state(vec![ball([9.0, 0.0, 0.5]), ball([0.0, 0.0, 0.5]), ball([0.6, 0.0, 0.5])], vec![floor()]);
    scratch.write("deep.json", deep.to_string());
    for command in ["run", "state --to s.json", "picture --to p.png --size 32x32", "compare"] {
        let said = scratch.bad(&format!("{command} deep.json"));
        holds(&said, &["body 1", "body 2", "0.4", "--allow-overlap"]);
    }
    let shallow = state(vec![ball([0.0, 0.0, 0.5]), ball([0.8, 0.0, 0.5])], vec![floor()]);
    scratch.write("shallow.json", shallow.to_string());
    assert_eq!(scratch.report("shallow.json --steps 2")["status"], "ok");
    let mut sunk = state(vec![ball([0.0, 0.0, 0.1])], vec![floor()]);
    scratch.write("sunk.json", sunk.to_string());
    holds(&scratch.bad("run sunk.json"), &["body 0", "0.4", "--allow-overlap"]);
    // Members of one group do not collide, so they may overlap.
    sunk = state(vec![ball([0.0, 0.0, 5.0]), ball([0.0, 0.0, 5.0])], vec![]);
    sunk["bodies"][0]["group"] = 3.into();
    sunk["bodies"][1]["group"] = 3.into();
    scratch.write("group.json", sunk.to_string());
    assert_eq!(scratch.report("group.json --steps 2")["status"], "ok");
}

#[test]
fn allowed_overlaps_are_separated_with_bounded_speed() {
    let scratch = Scratch::new("ending-allowed");
    for (name, second) in [("deep", [0.1, 0.0, 5.0]), ("concentric", [0.0, 0.0, 5.0])] {
        let mut s = state(vec![ball([0.0, 0.0, 5.0]), ball(second)], vec![]);
        s["gravity"] = json!([0, 0, 0]);
        s["T"] = 2.0.into();
        s["snaps"] = (1..=200).map(|k| 0.01 * k as f64).collect::<Vec<f64>>().into();
        scratch.write("s.json", s.to_string());
        scratch.bad("run s.json");
        let r = scratch.report("s.json --allow-overlap --snapshots snaps.json");
        assert!(number(&r, "speed_m_s.max_last") < 0.1, "{name}: separating left a speed behind");
        assert!(number(&r, "penetration_m.last_max") < 1e-3, "{name}: still overlapping");
        let file = scratch.json("snaps.json");
        let mut before = vec![[0.0, 0.0, 5.0], second];
        for k in 0..200 {
            let rows = snapshot(&file, k);
            for (row, old) in rows.iter().zip(&before) {
                // The correction of a step reaches a tenth of the radius: 0.05 m in 0.01 s.
                let moved = length(&[row[0] - old[0], row[1] - old[1], row[2] - old[2]]);
                assert!(moved < 0.06, "{name}: a body jumps {moved} m in step {}", k + 1);
                assert!(length(&row[7..10]) < 1.0, "{name}: thrown at {} m/s", length(&row[7..10]));
            }
            before = rows.iter().map(|r| [r[0], r[1], r[2]]).collect();
        }
        let apart = length(&[0, 1, 2].map(|i| before[0][i] - before[1][i]));
        assert!((0.999..1.1).contains(&apart), "{name}: {apart} m apart in the end");
    }
}
