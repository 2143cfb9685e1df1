//! Bodies pressed into a box slightly too small: no arrangement without overlap exists near by, and none is
//! to explode.

use serde_json::{Value, json};

use crate::bodies::{ball_of, length, snapshot, state};
use crate::scratch::{Scratch, holds, number};

/// Balls of 1 m in a cubic lattice of side `n`, in a closed box that is `short` of their size in every
/// direction.
fn pressed(n: usize, short: f64) -> Value {
    let side = n as f64 - short;
    let pitch = side / n as f64;
    let at = |i: usize| pitch * (i as f64 + 0.5);
    let mut bodies = Vec::new();
    for i in 0..n * n * n {
        bodies.push(ball_of([at(i % n), at(i / n % n), at(i / n / n)], 0.5, 10.0));
    }
    let (mid, thick) = (0.5 * side, 1.0);
    let mut statics = Vec::new();
    for axis in 0..3 {
        for sign in [-1.0, 1.0] {
            let mut half = [mid + 2.0 * thick; 3];
            half[axis] = thick;
            let mut pos = [mid; 3];
            pos[axis] = mid + sign * (mid + thick);
            statics.push(json!({"shape": "box", "half": half, "pos": pos}));
        }
    }
    let mut s = state(bodies, statics);
    s["snaps"] = (1..=50).map(|k| 0.01 * k as f64).collect::<Vec<f64>>().into();
    s
}

fn fastest(file: &Value) -> f64 {
    let snaps = file["snaps"].as_array().unwrap().len();
    (0..snaps).flat_map(|k| snapshot(file, k)).map(|row| length(&row[7..10])).fold(0.0, f64::max)
}

#[test]
fn the_default_stays_calm() {
    let scratch = Scratch::new("squeeze-default");
    scratch.write("pressed.json", pressed(5, 0.1).to_string());
    let r = scratch.report("pressed.json --snapshots s.json");
    assert_eq!((&r["status"], &r["bodies"]), (&"ok".into(), &125.into()));
    assert!(number(&r, "energy_j.kinetic_last").is_finite());
    // The overlap that geometry forces, 0.02 m a contact, is still shared out: not heaped up, not shot out.
    assert!(number(&r, "penetration_m.last_max") < 0.1, "{}", r["penetration_m"]);
    let speed = fastest(&scratch.json("s.json"));
    assert!(speed < 1.0, "a ball reaches {speed} m/s");
    for row in snapshot(&scratch.json("s.json"), 49) {
        assert!(row[..3].iter().all(|x| (-0.1..5.0).contains(x)), "a ball left the box: {row:?}");
    }
}

#[test]
fn without_correction_nothing_moves() {
    let scratch = Scratch::new("squeeze-none");
    scratch.write("pressed.json", pressed(4, 0.1).to_string());
    scratch.report("pressed.json --stabilisation none --snapshots s.json");
    let speed = fastest(&scratch.json("s.json"));
    assert!(speed < 0.2, "a ball reaches {speed} m/s");
}

#[test]
fn contradicting_contacts_are_reported_and_stay_finite() {
    let scratch = Scratch::new("squeeze-wedged");
    scratch.write("pressed.json", pressed(5, 0.1).to_string());
    for stabilisation in ["scaled:K=1", "clamped:A=10"] {
        let r = scratch.report(&format!("pressed.json --stabilisation {stabilisation} --snapshots s.json"));
        let (kinetic, speed) = (number(&r, "energy_j.kinetic_last"), fastest(&scratch.json("s.json")));
        assert!(kinetic.is_finite() && speed < 100.0, "{stabilisation}: {speed} m/s");
        let wedged: Vec<&Value> =
            r["warnings"].as_array().unwrap().iter().filter(|w| w["kind"] == "wedged").collect();
        assert!(!wedged.is_empty(), "{stabilisation}: walls pushed against each other without a warning");
        for w in wedged {
            assert!(w["step"].as_u64().is_some_and(|s| (1..=50).contains(&s)), "{w}");
            let bodies = w["bodies"].as_array().unwrap();
            assert!(bodies.len() == 2 && bodies.iter().all(|b| b.as_u64().is_some_and(|b| b < 131)), "{w}");
            holds(w["text"].as_str().unwrap(), &["body"]);
        }
    }
}

#[test]
fn many_warnings_are_counted_not_listed() {
    let scratch = Scratch::new("squeeze-many");
    scratch.write("pressed.json", pressed(3, 0.1).to_string());
    let line = "pressed.json --stabilisation scaled:K=1 --steps 400 --iterations 400";
    let r = scratch.report(line);
    let listed = r["warnings"].as_array().unwrap().len();
    // A hundred, and the word on the run as a whole.
    assert!((1..=101).contains(&listed), "{listed} warnings in full");
    let summary = scratch.good(&format!("run {line}"));
    holds(&summary, &["contradicted  in ", "warning       step 1: constraints contradict", " more like it)"]);
    assert_eq!(summary.matches("constraints contradict each other").count(), 1, "{summary}");
    assert!(summary.lines().count() < 30, "a screenful, not one line a warning");
}

const MOTORS: &str = r#"
name = "motors"
[settings]
T = 0.1
h = 0.005
[[body]]
name = "wheel"
shape = {type = "box", half = [0.1, 0.1, 0.1]}
mass = 1
position = [0, 0, 1]
[[joint]]
name = "forward"
type = "revolute"
b = "wheel"
anchor = [0, 0, 1]
axis = [0, 1, 0]
motor = {speed = 1}
[[joint]]
name = "back"
type = "revolute"
b = "wheel"
anchor = [0, 0, 1]
axis = [0, 1, 0]
motor = {speed = -1}
"#;

#[test]
fn contradicting_motors_are_named_counted_and_held() {
    let scratch = Scratch::new("squeeze-motors");
    scratch.write("motors.toml", MOTORS);
    for solver in ["auto", "cpg", "ipm", "schur"] {
        let r = scratch.report(&format!("motors.toml --solver {solver}"));
        assert_eq!(number(&r, "solver.contradictory_steps"), 20.0, "{solver}");
        assert_eq!(number(&r, "solver.converged_steps"), 20.0, "{solver}");
        assert!(number(&r, "joint_error.position_m") < 1e-3, "{solver}: {}", r["joint_error"]);
        let w = &r["warnings"][0];
        assert_eq!((&w["kind"], &w["bodies"]), (&"wedged".into(), &json!([0])), "{solver}");
        holds(w["text"].as_str().unwrap(), &["(forward)", "(back)", "(wheel)"]);
    }
    // The rigid problem of the same scene has no solution, and says so.
    let o = scratch.run("run motors.toml --compliance 0 --report rigid.json");
    assert_eq!(o.code, 1, "{}", o.err);
    holds(&o.err, &["the rigid problem has no solution", "(forward)", "(back)"]);
}
