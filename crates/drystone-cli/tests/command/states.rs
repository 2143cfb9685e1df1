//! `state` and `--snapshots`: what other engines start from and what one script judges all engines by.

use serde_json::Value;

use crate::bodies::{ball, floor, length, snapshot, state};
use crate::scratch::{Scratch, holds, number};

#[test]
fn a_state_has_every_field_and_passes_its_own_check() {
    let scratch = Scratch::new("states-fields");
    for shape in ["sphere", "box", "capsule", "hull", "mixed"] {
        scratch.good(&format!("state packing --set n=60 --set shape={shape} --at-time 0.3 --to s.json"));
        holds(&scratch.good("check s.json"), &["flat state", "packing", "60 dynamic", "5 others"]);
        let s = scratch.json("s.json");
        for (key, good) in [
            ("name", s["name"].is_string()),
            ("h", s["h"] == 0.01),
            ("T", s["T"].is_number()),
            ("gravity", s["gravity"].as_array().is_some_and(|g| g.len() == 3)),
            ("mu", s["mu"] == 0.4),
            ("restitution", s["restitution"].is_number()),
            ("statics", s["statics"].as_array().is_some_and(|w| w.len() == 5)),
            ("joints", s["joints"].as_array().is_some_and(|j| j.is_empty())),
        ] {
            assert!(good, "{shape}: {key} is {}", s[key]);
        }
        let bodies = s["bodies"].as_array().unwrap();
        assert_eq!(bodies.len(), 60);
        for b in bodies {
            for key in ["shape", "m", "I", "pos", "quat", "vel", "omega", "group"] {
                assert!(b.get(key).is_some(), "{shape}: a body has no {key}");
            }
            let own: &[&str] = match b["shape"].as_str().unwrap() {
                "sphere" => &["r"],
                "box" => &["half"],
                "capsule" => &["r", "half_length"],
                "convex" => &["points"],
                other => panic!("{other}"),
            };
            assert!(own.iter().all(|key| b.get(*key).is_some()), "{shape}: {b}");
        }
        assert!(
            bodies.iter().any(|b| b["vel"][2].as_f64().unwrap() < -0.5),
            "{shape}: nothing fell in 0.3 s"
        );
    }
}

#[test]
fn a_run_goes_on_from_a_state() {
    let scratch = Scratch::new("states-continue");
    scratch.good("state packing --set n=60 --at-time 0.4 --to s.json");
    scratch.good("state packing --set n=60 --at-time 0.4 --to s.json.gz");
    assert_eq!(std::fs::read(scratch.at("s.json.gz")).unwrap()[..2], [0x1f, 0x8b], "not gzip");
    let plain = scratch.report("s.json --steps 20");
    assert_eq!(plain["state_hash"], scratch.report("s.json.gz --steps 20")["state_hash"]);
    // The state is the one the run passes through.
    scratch.report("packing --set n=60 --time 0.4 --snapshots at.json");
    let (file, state) = (scratch.json("at.json"), scratch.json("s.json"));
    for (row, body) in snapshot(&file, 0).iter().zip(state["bodies"].as_array().unwrap()) {
        let written = ["pos", "quat", "vel", "omega"].iter().flat_map(|k| body[*k].as_array().unwrap());
        for (a, b) in row.iter().zip(written) {
            assert_eq!(*a, b.as_f64().unwrap());
        }
    }
    // Only the memory of the multipliers is lost: solved well, the next steps are the same.
    let exact = "--set n=20 --tolerance 1e-9 --iterations 20000";
    scratch.good(&format!("state packing --at-time 0.4 --to s.json {exact}"));
    scratch.report("s.json --steps 5 --snapshots on.json --tolerance 1e-9 --iterations 20000");
    scratch.report(&format!("packing --steps 45 --snapshots whole.json {exact}"));
    let (on, whole) = (snapshot(&scratch.json("on.json"), 0), snapshot(&scratch.json("whole.json"), 0));
    let apart = on
        .iter()
        .zip(&whole)
        .map(|(a, b)| length(&[a[0] - b[0], a[1] - b[1], a[2] - b[2]]))
        .fold(0.0, f64::max);
    assert!(apart < 1e-6, "{apart} m apart after 5 steps");
}

#[test]
fn from_its_first_state_a_scene_runs_bit_for_bit_the_same() {
    let scratch = Scratch::new("states-bits");
    scratch.good("state packing --set n=60 --to s.json");
    let (a, b) = (scratch.report("packing --set n=60 --steps 40"), scratch.report("s.json --steps 40"));
    assert!(number(&a, "contacts.last") > 0.0);
    assert_eq!(a["state_hash"], b["state_hash"]);
}

#[test]
fn what_a_state_cannot_hold_or_be_called_is_refused() {
    let scratch = Scratch::new("states-refused");
    holds(&scratch.bad("state packing --to s.txt"), &["s.txt", ".json"]);
    // The plane of the incline is tilted, and a flat state has only level ones.
    let said = scratch.bad("state incline --to s.json");
    holds(&said, &["flat state"]);
    // Joints and motion that a scene makes while it runs would be lost.
    for scene in ["cradle", "wall"] {
        holds(&scratch.bad(&format!("state {scene} --to s.json")), &[scene, "driven"]);
    }
    holds(&scratch.bad("state brazil-nut --to s.json"), &["floor", "kinematic"]);
    assert!(!scratch.at("s.json").exists());
}

#[test]
fn snapshots_are_what_the_drivers_of_other_engines_write() {
    let scratch = Scratch::new("states-snapshots");
    let mut fall = state(vec![ball([0.0, 0.0, 10.0]), ball([3.0, 0.0, 0.5])], vec![floor()]);
    fall["snaps"] = serde_json::json!([0.1, 0.25, 0.5]);
    fall["bodies"][0]["vel"] = serde_json::json!([1, 0, 0]);
    fall["bodies"][0]["omega"] = serde_json::json!([0, 0, 2]);
    scratch.write("fall.json", fall.to_string());
    scratch.report("fall.json --snapshots s.json --threads 1 --solver pgs:omega=0.9");
    let s = scratch.json("s.json");
    assert_eq!(
        (&s["engine"], &s["scene"], &s["cut"]),
        (&"drystone".into(), &"made".into(), &Value::Bool(false))
    );
    assert_eq!((s["threads"].as_u64(), s["steps"].as_u64()), (Some(1), Some(50)));
    holds(s["setting"].as_str().unwrap(), &["pgs:omega=0.9"]);
    for key in ["ms_last100", "ms_last100_med", "ms_last100_min", "ms_all", "cpu_last100", "cpu_all"] {
        assert!(number(&s, key) >= 0.0, "{key}");
    }
    assert!(number(&s, "ms_last100_min") <= number(&s, "ms_last100_med"));
    assert!(s["extra"]["contacts"].is_u64());
    let times: Vec<f64> = s["snaps"].as_array().unwrap().iter().map(|x| x[0].as_f64().unwrap()).collect();
    assert_eq!(times.len(), 3, "{times:?}");
    for (k, wanted) in [0.1, 0.25, 0.5].into_iter().enumerate() {
        assert!((times[k] - wanted).abs() < 1e-9, "{times:?}");
        let rows = snapshot(&s, k);
        assert_eq!(rows.len(), 2);
        let [x, _, z, w, _, _, qz, vx, _, vz, _, _, oz] = rows[0];
        // Half-implicit Euler: v falls by g h a step, and z by the new v.
        let n = (wanted / 0.01_f64).round();
        assert!((vx - 1.0).abs() < 1e-12 && (x - wanted).abs() < 1e-9 && (oz - 2.0).abs() < 1e-9);
        assert!((vz + 9.81 * wanted).abs() < 1e-9);
        assert!((z - (10.0 - 9.81 * 1e-4 * n * (n + 1.0) / 2.0)).abs() < 1e-9);
        assert!(
            (w - wanted.cos()).abs() < 1e-9 && (qz - wanted.sin()).abs() < 1e-9,
            "turned by 2 rad/s about z"
        );
        assert!((rows[1][2] - 0.5).abs() < 1e-4, "the other one rests");
    }
}

#[test]
fn without_wished_times_the_end_is_kept() {
    let scratch = Scratch::new("states-end");
    scratch.report("packing --set n=60 --steps 12 --snapshots s.json");
    let s = scratch.json("s.json");
    assert_eq!(s["snaps"].as_array().unwrap().len(), 1);
    assert!((s["snaps"][0][0].as_f64().unwrap() - 0.12).abs() < 1e-9);
    assert_eq!(snapshot(&s, 0).len(), 60);
    assert_eq!(s["cut"], Value::Bool(false));
}

#[test]
fn a_snapshot_at_the_start_is_the_start() {
    let scratch = Scratch::new("states-start");
    let mut fall = state(vec![ball([0.0, 0.0, 10.0])], vec![floor()]);
    fall["snaps"] = serde_json::json!([0, 0.5]);
    scratch.write("fall.json", fall.to_string());
    scratch.report("fall.json --snapshots s.json");
    let s = scratch.json("s.json");
    assert_eq!(s["snaps"][0][0].as_f64(), Some(0.0));
    assert_eq!(snapshot(&s, 0)[0][2], 10.0);
}
