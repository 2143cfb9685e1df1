//! Every way a flat state can be wrong, and where the error says it is.

use std::sync::atomic::{AtomicUsize, Ordering};

use drystone_scene::SceneError;
use drystone_scene::flat::FlatState;

const GOOD: &str = r#"{
  "name": "two", "h": 0.01, "T": 1.0, "gravity": [0, 0, -9.81],
  "mu": 0.4, "restitution": 0.0, "snaps": [0.5, 1],
  "statics": [{"shape": "plane", "half": [50, 50, 1], "pos": [0, 0, 0]},
              {"shape": "box", "half": [1, 1, 1], "pos": [5, 0, 1], "quat": [1, 0, 0, 0]}],
  "bodies": [
    {"shape": "sphere", "r": 0.5, "m": 1.0, "I": [0.1, 0.1, 0.1], "pos": [0, 0, 0.5], "quat": [1, 0, 0, 0], "vel": [0, 0, 0], "omega": [0, 0, 0], "group": 0},
    {"shape": "box", "half": [0.5, 0.5, 0.5], "m": 1, "I": [0.2, 0.2, 0.2], "pos": [0, 0, 1.5], "quat": [1, 0, 0, 0], "vel": [0, 0, 0], "omega": [0, 0, 0], "group": 0},
    {"shape": "none", "half": [1, 1, 1], "m": 1, "I": [0.2, 0.2, 0.2], "pos": [0, 0, 1.5], "quat": [1, 0, 0, 0], "vel": [0, 0, 0], "omega": [0, 0, 0], "group": 0}
  ],
  "joints": []
}"#;

/// The good text with one replacement, which must happen.
fn with(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from}");
    GOOD.replace(from, to)
}

/// From a file, as the command line does it: what the engine lacks is found only when a scene is made.
fn refused(text: &str) -> SceneError {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("drystone-errors-{}-{number}.json", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let result = drystone_scene::check(&path);
    std::fs::remove_file(&path).unwrap();
    let e = result.expect_err("must be refused");
    assert_eq!(e.file.as_deref(), Some(path.as_path()));
    e
}

/// What the replacement gives: field and message, and a place that is where the replacement begins (plus
/// `shift`).
#[track_caller]
fn check(from: &str, to: &str, shift: usize, field: &str, message: &str) {
    let text = with(from, to);
    let e = refused(&text);
    assert_eq!(e.field.as_deref().unwrap_or(""), field, "{e:?}");
    assert!(e.message.contains(message), "{e:?}");
    let at = text.find(to).unwrap() + shift;
    let line = text[..at].matches('\n').count() + 1;
    let column = at - text[..at].rfind('\n').map_or(0, |i| i + 1) + 1;
    assert_eq!(e.place, Some((line, column)), "{e:?}");
}

#[test]
fn the_good_one_is_good() {
    let state: FlatState = GOOD.parse().unwrap();
    assert_eq!((state.bodies.len(), state.statics.len()), (3, 2));
    let scene = state.scene().unwrap();
    assert_eq!(scene.bodies.len(), 5);
    assert!(scene.bodies[2].colliders.is_empty());
    assert_eq!(scene.snaps, [0.5, 1.0]);
}

#[test]
fn unknown_fields_are_named_with_the_nearest() {
    check(r#""restitution": 0.0"#, r#""restitutoin": 0.0"#, 0, "", "did you mean 'restitution'");
    check(r#""r": 0.5, "m""#, r#""radius": 0.5, "m""#, 0, "bodies[0]", "unknown field 'radius'");
    check(r#""pos": [5, 0, 1]"#, r#""pso": [5, 0, 1]"#, 0, "statics[1]", "did you mean 'pos'");
}

#[test]
fn known_extras_are_no_errors() {
    let text = with(r#""joints": []"#, r#""joints": [], "bodies_per_vehicle": 3"#);
    assert_eq!(text.parse::<FlatState>().unwrap().bodies_per_vehicle, Some(3));
    let text = with(r#" "snaps": [0.5, 1],"#, "");
    assert_eq!(text.parse::<FlatState>().unwrap().snaps, None);
}

#[test]
fn missing_fields_are_named() {
    for field in [r#""h": 0.01,"#, r#""T": 1.0,"#, r#""gravity": [0, 0, -9.81],"#, r#""mu": 0.4,"#] {
        let name = field.split('"').nth(1).unwrap();
        assert!(refused(&with(field, "")).message.contains(&format!("'{name}' is missing")));
    }
    let e = refused(&with(r#"0.1, 0.1], "pos": [0, 0, 0.5],"#, "0.1, 0.1],"));
    assert_eq!((e.field.as_deref(), e.place), (Some("bodies[0]"), Some((7, 5))));
    let e = refused(&with(r#""sphere", "r": 0.5,"#, r#""sphere","#));
    assert!(e.message.contains("'r' is missing"), "{e}");
    assert!(refused(&with(",\n  \"joints\": []", "")).message.contains("'joints' is missing"));
}

#[test]
fn bare_words_for_numbers_are_named_with_their_field() {
    check("0.5, 0.5, 0.5]", "0.5, NaN, 0.5]", 5, "bodies[1].half[1]", "NaN is not a number");
    check("-9.81]", "-Infinity]", 0, "gravity[2]", "-Infinity is not a number");
    check(r#""mu": 0.4"#, r#""mu": Infinity"#, 6, "mu", "Infinity is not a number");
    check(r#""mu": 0.4"#, r#""mu": 1e999"#, 6, "mu", "too large");
}

#[test]
fn wrong_types_are_named_with_their_path() {
    check("[5, 0, 1]", r#"[5, "x", 1]"#, 4, "statics[1].pos[1]", "must be a number, got a string");
    check("[5, 0, 1]", "[5, 0]", 0, "statics[1].pos", "must have 3 numbers, got 2");
    check(r#""h": 0.01"#, r#""h": "fast""#, 5, "h", "must be a number");
    check(r#""name": "two""#, r#""name": 2"#, 8, "name", "must be a string");
    check(r#""joints": []"#, r#""joints": {}"#, 10, "joints", "must be an array");
    check(r#"{"shape": "none""#, r#"{"shape": "nome""#, 10, "bodies[2].shape", "did you mean 'none'");
    assert!(refused("[1]").message.contains("must be a table"));
}

#[test]
fn truncated_files_end_where_they_end() {
    for cut in [1, 10, 100, 400, GOOD.len() - 2] {
        let e = refused(&GOOD[..cut]);
        let text = &GOOD[..cut];
        let line = text.matches('\n').count() + 1;
        assert!(e.message.contains("cut short"), "{cut}: {e:?}");
        assert_eq!(e.place.unwrap().0, line, "{e:?}");
    }
}

#[test]
fn impossible_numbers_are_refused_where_they_stand() {
    check(r#""h": 0.01"#, r#""h": 0"#, 5, "h", "above 0 s");
    check(r#""T": 1.0"#, r#""T": -1.0"#, 5, "T", "above 0 s");
    check(r#""mu": 0.4"#, r#""mu": -0.4"#, 6, "mu", "negative");
    check("[0.5, 1],", "[0.5, -1],", 6, "snaps[1]", "before the start");
    check("[0.5, 1],", "[0.5, 2],", 6, "snaps[1]", "after the end, T = 1 s");
    check(r#""r": 0.5"#, r#""r": -0.5"#, 5, "bodies[0].r", "above 0 m");
    check("[0.5, 0.5, 0.5]", "[0.5, 0, 0.5]", 6, "bodies[1].half[1]", "above 0 m");
    check("[1, 1, 1], \"pos\"", "[1, 1, 0], \"pos\"", 7, "statics[1].half[2]", "above 0 m");
    check(r#""m": 1.0"#, r#""m": 0.0"#, 5, "bodies[0].m", "above 0 kg");
    check("[0.1, 0.1, 0.1]", "[0.1, 0.3, 0.1]", 6, "bodies[0].I[1]", "triangle inequality");
    check("[0.1, 0.1, 0.1]", "[0.1, 0.1, 0]", 11, "bodies[0].I[2]", "above 0 kg m²");
    check(
        "0.5], \"quat\": [1, 0, 0, 0]",
        "0.5], \"quat\": [0, 0, 0, 0]",
        14,
        "bodies[0].quat",
        "zero quaternion",
    );
    check(
        "0.5], \"quat\": [1, 0, 0, 0]",
        "0.5], \"quat\": [1.1, 0, 0, 0]",
        14,
        "bodies[0].quat",
        "unit quaternion",
    );
    check(r#""r": 0.5"#, r#""r": 0.5, "half": [1, 1, 1]"#, 18, "bodies[0].half", "a sphere has no 'half'");
    let tilted = r#""pos": [0, 0, 0], "quat": [0.6, 0.8, 0, 0]"#;
    check(r#""pos": [0, 0, 0]"#, tilted, 26, "statics[0].quat", "cannot be tilted");
}

#[test]
fn groups_are_whole_numbers() {
    let text = GOOD.replacen(r#""group": 0"#, r#""group": 1.5"#, 1);
    let e = refused(&text);
    assert_eq!(e.field.as_deref(), Some("bodies[0].group"));
    assert!(e.message.contains("whole number"));
}

#[test]
fn slightly_long_quaternions_are_normalised() {
    let text = with("0.5], \"quat\": [1, 0, 0, 0]", "0.5], \"quat\": [1.0005, 0, 0, 0]");
    let scene = text.parse::<FlatState>().unwrap().scene().unwrap();
    assert_eq!(scene.bodies[0].rotation, glam::DQuat::IDENTITY);
}

#[test]
fn what_the_engine_lacks_is_refused_by_name() {
    check(r#""restitution": 0.0"#, r#""restitution": 1.5"#, 15, "restitution", "0 to 1");
}

#[test]
fn hulls_without_volume_are_refused_where_they_stand() {
    let convex = |points: &str| {
        let text = GOOD.replace(r#""sphere", "r": 0.5"#, &format!(r#""convex", "points": {points}"#));
        let e = refused(&text);
        assert_eq!(e.field.as_deref().map(|f| f.starts_with("bodies[0]")), Some(true), "{e:?}");
        (e.field.unwrap_or_default(), e.place.unwrap().0, e.message)
    };
    let (field, line, message) = convex("[[0, 0, 0]]");
    assert_eq!((field.as_str(), line), ("bodies[0].points", 7));
    assert!(message.contains("at least 4 points"), "{message}");
    assert!(convex("[[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]").2.contains("in one plane"));
    assert_eq!(convex("[[0, 0, 0], [1, 0]]").0, "bodies[0].points[1]");
    let text = GOOD.replace(r#""sphere", "r": 0.5"#, r#""cylinder", "r": 0.5"#);
    assert!(refused(&text).message.contains("'half_length' is missing: a cylinder needs it"));
    let text = GOOD.replace(r#""sphere", "r": 0.5"#, r#""cylinder", "r": 0.5, "half_length": 0"#);
    let e = refused(&text);
    assert_eq!(e.field.as_deref(), Some("bodies[0].half_length"), "{e:?}");
    assert!(e.message.contains("above 0 m"), "{e:?}");
}

#[test]
fn joints_are_checked() {
    let joint = |inside: &str| with(r#""joints": []"#, &format!(r#""joints": [{{{inside}}}]"#));
    let e = refused(&joint(r#""type": "hinge""#));
    assert_eq!(e.field.as_deref(), Some("joints[0]"), "{e:?}");
    let base = r#""a": 0, "b": 9, "anchor": [0, 0, 0], "axis": [0, 0, 1], "type": "ball", "drive": null"#;
    let e = refused(&joint(base));
    assert_eq!((e.field.as_deref(), e.message.contains("no body 9")), (Some("joints[0].b"), true), "{e:?}");
    let drive = r#"{"mode": "speed", "target": 1, "kp": 0, "kd": 0, "fmax": 1}"#;
    let e = refused(&joint(&base.replace("null", drive)));
    assert_eq!(e.field.as_deref(), Some("joints[0].drive.mode"), "{e:?}");
    let base = base.replace("9", "-1");
    let drive = r#"{"mode": "velocity", "target": 1, "kp": 0, "kd": 0, "fmax": -1}"#;
    let e = refused(&joint(&base.replace("null", drive)));
    assert_eq!(e.field.as_deref(), Some("joints[0].drive"), "{e:?}");
    let e = refused(&joint(&base.replace("null", drive).replace("ball", "revolute")));
    assert_eq!(e.field.as_deref(), Some("joints[0].drive.fmax"), "{e:?}");
}

#[test]
fn errors_print_like_a_compiler() {
    let dir = std::env::temp_dir().join(format!("drystone-flat-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("bad.json");
    std::fs::write(&path, with(r#""mu": 0.4"#, r#""mu": NaN"#)).unwrap();
    let e = drystone_scene::check(&path).unwrap_err();
    assert_eq!(e.to_string(), format!("{}:3:9: mu: {}", path.display(), e.message));
    std::fs::write(&path, [b'{', b'"', 0xff, b'"']).unwrap();
    assert!(drystone_scene::check(&path).unwrap_err().to_string().contains("bad.json:1:3: not UTF-8"));
    let gz = dir.join("bad.json.gz");
    std::fs::write(&gz, "not gzip").unwrap();
    assert!(drystone_scene::check(&gz).unwrap_err().message.contains("decompressed"));
    assert!(drystone_scene::check(dir.join("none.json")).unwrap_err().message.contains("cannot be read"));
    std::fs::remove_dir_all(&dir).unwrap();
}
