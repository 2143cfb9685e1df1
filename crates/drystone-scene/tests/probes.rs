//! `[[probe]]` and `[record]` of scene files, against numbers that are known.

use drystone::World;
use drystone_record::recording::{Every, What};
use drystone_scene::Scene;
use serde_json::Value;

fn load(name: &str, text: &str) -> Result<Scene, String> {
    let folder = std::env::temp_dir().join(format!("drystone-probes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.toml"));
    std::fs::write(&path, text).unwrap();
    drystone_scene::load(path.to_str().unwrap(), &Vec::new()).map_err(|e| e.to_string())
}

fn steps(scene: &mut Scene, world: &mut World, n: usize) {
    if world.state().step == 0 {
        scene.probe.begin(world);
    }
    for _ in 0..n {
        world.step().unwrap();
        scene.probe.observe(world);
    }
}

/// Runs a scene to its end; what it measured.
fn results(name: &str, text: &str) -> Value {
    let mut scene = load(name, text).unwrap();
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let n = (scene.duration / scene.settings.h).round() as usize;
    steps(&mut scene, &mut world, n);
    serde_json::to_value(scene.probe.results(&world)).unwrap()
}

fn number(results: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(results, |v, key| &v[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is {found}"))
}

fn near(results: &Value, path: &str, wanted: f64, off: f64) {
    let found = number(results, path);
    assert!((found - wanted).abs() <= off, "{path}: {found}, not {wanted}");
}

/// Five balls of 2 kg, 0.1 m apart, at 1 m/s along x.
const TRAIN: &str = r#"
[settings]
T = 1
h = 0.01
gravity = [0, 0, 0]
[[body]]
name = "ball"
shape = { type = "sphere", r = 0.03 }
mass = 2
velocity = [1, 0, 0]
count = [5, 1, 1]
spacing = [0.1, 0, 0]
"#;

#[test]
fn mass_through_a_plane() {
    let text = format!(
        r#"{TRAIN}
[[probe]]
name = "all"
type = "flow"
point = [0.555, 0, 0]
normal = [2, 0, 0]
every = "0.1s"
[[probe]]
name = "back"
type = "flow"
point = [0.555, 0, 0]
normal = [-1, 0, 0]
[[probe]]
name = "beside"
type = "flow"
point = [0.555, 1, 0]
normal = [1, 0, 0]
radius = 0.9
[[probe]]
name = "one"
type = "flow"
point = [0.555, 0, 0]
normal = [1, 0, 0]
bodies = "ball[4,0,0]"
"#
    );
    let r = results("train", &text);
    near(&r, "all.mass_kg", 10.0, 1e-12);
    near(&r, "all.bodies", 5.0, 0.0);
    // One ball every 0.1 s between 0.155 and 0.555 s.
    let flow = r["all"]["series"]["mass_flow_kg_s"].as_array().unwrap();
    let flow: Vec<f64> = flow.iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect();
    assert!(flow[0].is_nan() && (flow[4] - 20.0).abs() < 1e-9 && flow[9] == 0.0, "{flow:?}");
    assert!((r["all"]["series"]["time_s"][3].as_f64().unwrap() - 0.3).abs() < 1e-9);
    near(&r, "all.greatest.mass_flow_kg_s", 20.0, 1e-9);
    near(&r, "back.mass_kg", -10.0, 1e-12);
    near(&r, "beside.bodies", 0.0, 0.0);
    near(&r, "one.mass_kg", 2.0, 0.0);
}

/// What leaves a periodic box on one side has not gone back through a plane in its middle.
#[test]
fn periods_are_no_passages() {
    let text = format!(
        r#"{}
[[probe]]
name = "round"
type = "flow"
point = [0.555, 0, 0]
normal = [1, 0, 0]
"#,
        TRAIN.replace(
            "gravity",
            "periodic = { min = [0, -1, -1], max = [0.8, 1, 1], axes = [\"x\"] }\ngravity"
        )
    );
    // In 1 s each goes 1 m: all pass at 0.555 m, and the one that began at 0.4 m again a period of 0.8 m
    // later.
    near(&results("round", &text), "round.bodies", 6.0, 0.0);
}

#[test]
fn forces_carry_weights() {
    let text = r#"
[settings]
T = 0.5
h = 0.01
tolerance = 1e-10
[[body]]
name = "floor"
motion = "static"
shape = { type = "plane" }
mu = 0.5
[[body]]
name = "brick"
shape = { type = "box", half = [0.1, 0.1, 0.1] }
mass = 3
mu = 0.5
position = [0.5, 0, 0.1]
count = [1, 1, 2]
spacing = [0, 0, 0.2]
[[probe]]
name = "floor"
type = "force"
body = "floor"
about = [0, 0, 0]
every = 1
start = 0.2
[[probe]]
name = "lower"
type = "force"
body = "brick[0,0,0]"
start = 0.2
[[probe]]
name = "both"
type = "force"
body = "brick"
start = 0.2
[[probe]]
name = "top"
type = "body"
body = "brick[0,0,1]"
[[probe]]
name = "energy"
type = "energy"
"#;
    let r = results("weights", text);
    near(&r, "floor.mean.fz_n", -6.0 * 9.81, 1e-3);
    near(&r, "floor.ty_nm", 0.5 * 6.0 * 9.81, 1e-2);
    near(&r, "lower.fz_n", 3.0 * 9.81, 1e-3);
    near(&r, "both.fz_n", 6.0 * 9.81, 1e-3);
    near(&r, "top.z_m", 0.3, 1e-4);
    near(&r, "energy.potential_j", 3.0 * 9.81 * 0.4, 1e-3);
    assert_eq!(r["floor"]["series"]["fz_n"].as_array().unwrap().len(), 31);
    assert!(r["floor_force_over_weight"].is_number(), "the scene's own results are still there");
}

#[test]
fn fractions_of_a_box() {
    let text = r#"
[settings]
T = 0.01
gravity = [0, 0, 0]
[[body]]
name = "in"
shape = { type = "sphere", r = 0.1 }
mass = 1
position = [0.5, 0.5, 0.5]
[[body]]
name = "half"
shape = { type = "sphere", r = 0.1 }
mass = 1
position = [0.9999, 0.2, 0.2]
[[body]]
name = "out"
shape = { type = "sphere", r = 0.1 }
mass = 1
position = [3, 0.2, 0.2]
[[probe]]
name = "box"
type = "region"
min = [0, 0, 0]
max = [1, 1, 1]
[[probe]]
name = "own"
type = "region"
min = [0, 0, 0]
max = [1, 1, 1]
bodies = "in"
"#;
    let r = results("box", text);
    let ball = 4.0 / 3.0 * std::f64::consts::PI * 1e-3;
    near(&r, "box.solid_fraction", 1.5 * ball, 0.01 * ball);
    near(&r, "own.solid_fraction", ball, 1e-12);
    near(&r, "box.bodies", 2.0, 0.0);
    near(&r, "box.mass_kg", 2.0, 0.0);
    near(&r, "box.number_fraction", 2.0 / 3.0, 1e-12);
    near(&r, "own.number_fraction", 1.0, 0.0);
}

/// Balls on planes and cones that rise by known angles.
#[test]
fn angles_of_surfaces() {
    let mut plane = String::from("[settings]\nT = 0.01\ngravity = [0, 0, 0]\n");
    let mut cone = plane.clone();
    let ball = |x: f64, y: f64, z: f64| {
        format!(
            "[[body]]\nshape = {{ type = \"sphere\", r = 0.02 }}\nmass = 1\nposition = [{x:?}, {y:?}, {z:?}]\n"
        )
    };
    for i in 0..10 {
        for j in 0..10 {
            let (x, y) = (0.1 * i as f64 + 0.05, 0.1 * j as f64 + 0.05);
            plane += &ball(x, y, 0.5 + 0.5 * x);
            plane += &ball(x, y, 0.1); // Below the surface, and not seen.
            cone += &ball(x, y, 2.0 - 0.4 * (x - 0.5).hypot(y - 0.5));
        }
    }
    let probe = |name: &str, more: &str| {
        format!(
            "[[probe]]\nname = \"{name}\"\ntype = \"slope\"\nmin = [0, 0, 0]\nmax = [1, 1, 5]\ncells = [10, 10]\n{more}\n"
        )
    };
    plane += &probe("plane", "");
    plane += &probe("along", "along = [1, 0, 0]");
    plane += &probe("across", "along = [0, 1, 0]");
    plane += &probe("down", "along = [-1, 0, 0]");
    let r = results("plane", &plane);
    let angle = 0.5f64.atan().to_degrees();
    near(&r, "plane.angle_deg", angle, 1e-9);
    near(&r, "plane.height_m", 0.5 + 0.25 + 0.02, 1e-9);
    near(&r, "along.angle_deg", angle, 1e-9);
    near(&r, "across.angle_deg", 0.0, 1e-9);
    near(&r, "down.angle_deg", -angle, 1e-9);
    cone += &probe("cone", "centre = [0.5, 0.5, 0]");
    near(&results("cone", &cone), "cone.angle_deg", 0.4f64.atan().to_degrees(), 1e-9);
}

const RAIN: &str = r#"
[settings]
T = 2
h = 0.005
[[body]]
name = "far floor"
motion = "static"
shape = { type = "plane" }
position = [0, 0, -9]
[[emitter]]
min = [-0.5, -0.5, 1]
max = [0.5, 0.5, 1.2]
rate = 20
limit = 20
[[emitter.body]]
name = "drop"
shape = { type = "sphere", r = 0.02 }
mass = 0.5
[[sink]]
max = [9, 9, -1]
[[probe]]
name = "in"
type = "emitted"
[[probe]]
name = "out"
type = "sunk"
sink = 0
[[probe]]
name = "through"
type = "flow"
point = [0, 0, 0]
normal = [0, 0, -1]
bodies = "drop"
"#;

#[test]
fn what_comes_and_goes_has_mass() {
    let r = results("rain", RAIN);
    near(&r, "in.bodies", 20.0, 0.0);
    near(&r, "in.mass_kg", 10.0, 1e-12);
    near(&r, "out.mass_kg", 10.0, 1e-12);
    near(&r, "through.mass_kg", 10.0, 1e-12);
    near(&r, "through.bodies", 20.0, 0.0);
}

/// Shapes of bodies that a sink has taken are nobody's: neither a slope nor the fastest point is looked for
/// on them.
#[test]
fn slopes_and_rest_do_not_see_what_has_gone() {
    let slope =
        "[[probe]]\nname = \"heap\"\ntype = \"slope\"\nmin = [-1, -1, -1]\nmax = [1, 1, 2]\nevery = 1\n";
    let mut scene = load("gone", &format!("{RAIN}{slope}[stop]\nrest = true\n")).unwrap();
    let mut world = scene.world(scene.settings.clone()).unwrap();
    steps(&mut scene, &mut world, 400);
    assert!(world.model().slots().count() < 21, "some have gone");
    let r = serde_json::to_value(scene.probe.results(&world)).unwrap();
    assert!(r["heap"]["series"]["angle_deg"].as_array().unwrap().iter().any(|x| x.is_number()), "{r}");
}

/// A run that is resumed has measured what a run that never stopped has, rows of tables included.
#[test]
fn meters_go_on() {
    let mut whole = load("go-on", RAIN).unwrap();
    let mut world = whole.world(whole.settings.clone()).unwrap();
    assert_eq!(whole.probe.columns()[0], "in.bodies");
    steps(&mut whole, &mut world, 101);
    whole.probe.row(&world);
    let bytes = world.save().unwrap();
    let seen = whole.probe.save().unwrap();
    let mut second = load("go-on", RAIN).unwrap();
    let mut other = World::load(&bytes).unwrap();
    second.probe.load(&seen).unwrap();
    steps(&mut whole, &mut world, 99);
    steps(&mut second, &mut other, 99);
    let [a, b] = [whole.probe.row(&world), second.probe.row(&other)];
    assert_eq!(a, b);
    assert!(a.iter().all(|x| x.is_finite()) && a.len() == 9, "{a:?}");
    let [a, b] = [whole.probe.results(&world), second.probe.results(&other)];
    assert_eq!(serde_json::to_string(&a).unwrap(), serde_json::to_string(&b).unwrap());
}

/// Probes and conditions to stop are layers over one scene: each has its say, in columns, rows, results and
/// memory, and what the scene itself brings (its drive here) is not hidden by them.
#[test]
fn probes_and_a_stop_go_together() {
    let text = format!(
        "{TRAIN}[[probe]]\nname = \"gate\"\ntype = \"flow\"\npoint = [0.405, 0, 0]\nnormal = [1, 0, 0]\n\
                        [[probe]]\nname = \"all\"\ntype = \"energy\"\n[stop]\nwhen = \"t > 0.255\"\nrest = true\n"
    );
    let mut whole = load("both", &text).unwrap();
    let columns = ["gate.mass_kg", "gate.bodies", "gate.mass_flow_kg_s", "all.kinetic_j", "all.potential_j"];
    assert_eq!(whole.probe.columns()[..5], columns);
    assert!(whole.probe.observes());
    let mut world = whole.world(whole.settings.clone()).unwrap();
    steps(&mut whole, &mut world, 13);
    // The first ball passes the gate within the first step: only `begin` can know that it was in front of it.
    let row = whole.probe.row(&world);
    assert_eq!((row.len(), row[0], row[1], row[3]), (6, 4.0, 2.0, 5.0));
    assert!((row[2] - 4.0 / 0.13).abs() < 1e-9, "mean flow since the start: {row:?}");
    assert_eq!(whole.probe.stop(), None);
    let seen = whole.probe.save().unwrap();
    let mut second = load("both", &text).unwrap();
    let mut other = World::load(&world.save().unwrap()).unwrap();
    second.probe.load(&seen).unwrap();
    for (scene, world) in [(&mut whole, &mut world), (&mut second, &mut other)] {
        let mut n = 13;
        while scene.probe.stop().is_none() {
            steps(scene, world, 1);
            n += 1;
        }
        assert_eq!((n, scene.probe.stop().as_deref()), (26, Some("t > 0.255")));
        assert_eq!(scene.probe.row(world)[1], 3.0);
    }
    let [a, b] = [whole.probe.results(&world), second.probe.results(&other)];
    assert_eq!(serde_json::to_string(&a).unwrap(), serde_json::to_string(&b).unwrap());
    assert!(a.contains_key("gate") && a.contains_key("all") && a["stopped"] == "t > 0.255", "{a:?}");
    let driven = "scene = \"cradle\"\n[stop]\nrest = true\n[[probe]]\nname = \"e\"\ntype = \"energy\"\n";
    let driven = load("driven", driven).unwrap().probe;
    assert!(driven.drive().is_some() && driven.columns().iter().any(|c| *c == "e.total_j"));
}

#[test]
fn gallery_scenes_take_probes() {
    let text = "scene = \"hopper\"\n[parameters]\nn = 60\n[settings]\nT = 0.02\n[[probe]]\nname = \"slope\"\n\
                type = \"force\"\nbody = \"slope +x\"\n";
    let r = results("hopper", text);
    assert!(r["flowed_out"].is_number() && r["slope"]["fz_n"].is_number(), "{r}");
}

#[test]
fn what_is_recorded() {
    let text = format!(
        "{TRAIN}\n[record]\nfolder = \"out/train\"\nevery = \"0.05s\"\nwhat = [\"contacts\"]\nprecision = \"f64\"\n\
         events = true\ncheckpoint = 100\n"
    );
    let record = load("record", &text).unwrap().record;
    assert_eq!(record.every, Some(Every::Seconds(0.05)));
    assert_eq!(record.what, Some(What { contacts: true, joints: false }));
    assert_eq!((record.double, record.events), (Some(true), Some(true)));
    assert_eq!(record.checkpoint, Some(Every::Steps(100)));
    // As with meshes, paths are relative to the file.
    assert!(record.folder.unwrap().ends_with("out/train"));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let probe = |more: &str| format!("{TRAIN}[[probe]]\nname = \"p\"\n{more}\n");
    for (name, text, parts) in [
        ("kind", probe("type = \"flows\""), vec!["probe[0].type", "did you mean 'flow'?", ":15:"]),
        ("name", format!("{TRAIN}[[probe]]\ntype = \"energy\""), vec!["probe[0]", "'name' is missing"]),
        (
            "dot",
            format!("{TRAIN}[[probe]]\nname = \"a.b\"\ntype = \"energy\""),
            vec!["probe[0].name", "dots"],
        ),
        (
            "twice",
            probe("type = \"energy\"\n[[probe]]\nname = \"p\"\ntype = \"energy\""),
            vec!["probe[1].name", "'p' already"],
        ),
        ("field", probe("type = \"energy\"\nradius = 1"), vec!["unknown field 'radius'"]),
        (
            "body",
            probe("type = \"body\"\nbody = \"bal[0,0,0]\""),
            vec!["probe[0].body", "did you mean 'ball[0,0,0]'?"],
        ),
        ("several", probe("type = \"body\"\nbody = \"ball\""), vec!["5 bodies are called so"]),
        (
            "which",
            probe("type = \"region\"\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nbodies = \"cube\""),
            vec!["no body named 'cube'"],
        ),
        (
            "corner",
            probe("type = \"region\"\nmin = [0, 0, 0]\nmax = [1, 0, 1]"),
            vec!["probe[0].max", "above min"],
        ),
        (
            "normal",
            probe("type = \"flow\"\npoint = [0, 0, 0]\nnormal = [0, 0, 0]"),
            vec!["probe[0].normal", "no direction"],
        ),
        ("sink", probe("type = \"sunk\""), vec!["the scene has no sink"]),
        ("late", probe("type = \"energy\"\nstart = 2"), vec!["probe[0].start", "after the end"]),
        ("often", probe("type = \"energy\"\nevery = \"often\""), vec!["probe[0].every", "0.02s"]),
        ("never", probe("type = \"energy\"\nevery = 0"), vec!["probe[0].every", "whole number of steps"]),
        ("what", format!("{TRAIN}[record]\nwhat = [\"contact\"]"), vec!["record.what[0]", "'contacts'?"]),
        ("precise", format!("{TRAIN}[record]\nprecision = \"f16\""), vec!["record.precision", "f32, f64"]),
    ] {
        let error = load(name, &text).err().unwrap_or_else(|| panic!("{name} was accepted"));
        for part in parts {
            assert!(error.contains(part), "{name}: '{part}' is missing in: {error}");
        }
    }
}
