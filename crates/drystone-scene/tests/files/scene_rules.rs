//! Layers, materials, planes, bounds and periods in scene files.

use drystone::World;
use drystone_scene::Scene;

fn load(name: &str, text: &str) -> Result<Scene, String> {
    let folder = std::env::temp_dir().join(format!("drystone-scene-rules-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.toml"));
    std::fs::write(&path, text).unwrap();
    drystone_scene::load(path.to_str().unwrap(), &Vec::new()).map_err(|e| e.to_string())
}

fn world(name: &str, text: &str) -> World {
    let scene = load(name, text).unwrap();
    scene.world(scene.settings.clone()).unwrap()
}

const FLOOR: &str = r#"
[[body]]
motion = "static"
shape = { type = "plane" }
mu = 0.2
material = "stone"
layers = [0, 5]
"#;

#[test]
fn materials_of_bodies_and_shapes_meet_in_the_table() {
    let text = format!(
        r#"
[settings]
T = 1
h = 0.001
[materials]
combine = "max"
pair = [{{ between = ["oak", "stone"], mu = 0.05 }}]
{FLOOR}
[[body]]
name = "slow"
mass = 1
mu = 0.8
shape = {{ type = "box", half = [0.5, 0.5, 0.1], material = "cork" }}
material = "oak"
position = [0, 0, 0.1]
velocity = [2, 0, 0]
[[body]]
name = "fast"
mass = 1
mu = 0.8
shape = {{ type = "box", half = [0.5, 0.5, 0.1] }}
material = "oak"
position = [0, 3, 0.1]
velocity = [2, 0, 0]
"#
    );
    let mut w = world("materials", &text);
    for _ in 0..1000 {
        w.step().unwrap();
    }
    let x: Vec<f64> = w.model().dynamic().map(|i| w.state().position[i].x).collect();
    let stops = |mu: f64| 2.0 * 2.0 / (2.0 * mu * 9.81);
    assert!((x[0] / stops(0.8) - 1.0).abs() < 0.01, "the rule: {x:?}");
    assert!((x[1] - (2.0 - 0.5 * 0.05 * 9.81)).abs() < 0.01, "the row: {x:?}");
}

#[test]
fn laws_of_pairs_reach_the_world() {
    let text = r#"
[settings]
T = 1
integrator = "moreau"
[materials]
other = { restitution = 0.25, impact = "poisson", bounce_speed = 0.1 }
pair = [
  { between = ["steel", "oil"], mu = 0.4, mu_kinetic = 0.1, stick_speed = 0.01, rolling = 0.001, spinning = 0.002, cohesion = 3 },
  { between = ["steel", "foam"], mu = 0.4, stiffness = 1e4, damping = 20 },
  { between = ["oil", "foam"], mu = 0.4, K = 0.3 },
]
[[body]]
motion = "static"
shape = { type = "plane" }
material = "oil"
surface_velocity = [2, 0, 0]
[[body]]
mass = 1
shape = { type = "sphere", r = 0.5 }
"#;
    let w = world("laws", text);
    let m = w.materials();
    let [steel, oil, foam] = ["steel", "oil", "foam"].map(|name| m.find(name).unwrap());
    let plain = drystone::PairLaw::friction(0.4);
    assert_eq!(
        m.pair(steel, oil).unwrap(),
        drystone::PairLaw {
            mu_kinetic: Some(0.1),
            stick_speed: 0.01,
            rolling: 0.001,
            spinning: 0.002,
            cohesion: 3.0,
            ..plain
        }
    );
    let soft = drystone::PairLaw { stiffness: Some(1e4), damping: 20.0, ..plain };
    assert_eq!(m.pair(foam, steel), Some(soft));
    assert_eq!(m.pair(foam, oil), Some(drystone::PairLaw { k: Some(0.3), ..plain }));
    let other = m.other();
    assert_eq!((other.restitution, other.impact), (0.25, drystone::Impact::Poisson));
    assert_eq!(other.bounce_speed, Some(0.1));
    assert_eq!(w.settings().integrator, drystone::Integrator::Moreau { theta: 0.5 });
    let belt = w.model().colliders.iter().find(|c| c.material == Some(oil)).unwrap();
    assert_eq!(belt.belt(), glam::DVec3::new(2.0, 0.0, 0.0));
}

#[test]
fn guides_emitters_and_sinks_reach_the_world() {
    let text = r#"
[settings]
T = 1
[[body]]
motion = "kinematic"
shape = { type = "box", half = [1, 1, 0.1] }
position = [0, 0, -0.1]
guide = [
  { along = [0, 0, 1], way = { sine = { amplitude = 0.02, frequency = 5 } } },
  { about = [0, 0, 2], angle = { ramp = { to = 3, end = 3 } } },
]
[[emitter]]
min = [-0.5, -0.5, 0.5]
max = [0.5, 0.5, 1.0]
rate = 20
limit = 10
turned = true
[[emitter.body]]
shape = { type = "box", half = [0.05, 0.05, 0.05] }
density = 800
[[sink]]
max = [9, 9, -1]
"#;
    let mut w = world("flow", text);
    for _ in 0..100 {
        w.step().unwrap();
    }
    assert_eq!((w.emitted(), w.sunk()), ([10].as_slice(), [0].as_slice()));
    let (x, q) = (w.state().position[0], w.state().rotation[0]);
    assert!((x.z + 0.1 - 0.02 * (10.0 * std::f64::consts::PI).sin()).abs() < 1e-9, "{x}");
    assert!((q * glam::DVec3::X - glam::DVec3::new(1f64.cos(), 1f64.sin(), 0.0)).length() < 1e-9);
}

#[test]
fn layers_bounds_and_planes_reach_the_world() {
    let text = format!(
        r#"
[settings]
T = 1
bounds = {{ min = [-9, -9, -1], max = [9, 9, 99], leaving = "remove" }}
{FLOOR}
[[body]]
mass = 1
shape = {{ type = "sphere", r = 0.5, mask = [5] }}
position = [0, 0, 0.5]
[[body]]
mass = 1
shape = {{ type = "sphere", r = 0.5 }}
mask = [3]
position = [3, 0, 0.5]
[[body]]
mass = 1
shape = {{ type = "box", half = [0.5, 0.2, 0.5] }}
planar = [0, 2, 0]
position = [6, 1, 2]
velocity = [0, 5, 0]
"#
    );
    let mut w = world("layers", &text);
    for _ in 0..100 {
        w.step().unwrap();
    }
    let left: Vec<usize> = w.model().dynamic().collect();
    assert_eq!(left, [0, 2], "the second fell through the floor and was taken out");
    assert_eq!(w.state().position[2].y, 1.0);
}

#[test]
fn periodic_box_reaches_the_world() {
    let text = r#"
[settings]
T = 1
gravity = [0, 0, 0]
periodic = { min = [0, 0, 0], max = [4, 4, 4], axes = ["x", "z"] }
[[body]]
mass = 1
shape = { type = "sphere", r = 0.5 }
position = [3, 1, 1]
velocity = [2, 2, -2]
"#;
    let mut w = world("periodic", text);
    for _ in 0..100 {
        w.step().unwrap();
    }
    let x = w.state().position[0];
    assert!((x - glam::DVec3::new(1.0, 3.0, 3.0)).length() < 1e-9, "{x}");
}

#[test]
fn slips_are_named_with_their_place() {
    let body = "[[body]]\nmass = 1\nshape = { type = \"sphere\", r = 0.5 }\n";
    for (name, settings, extra, wanted) in [
        ("upside", "bounds = { min = [1, 1, 1], max = [0, 0, 0] }", "", "bounds"),
        ("leaving", "bounds = { leaving = \"vanish\" }", "", "report"),
        ("axes", "periodic = { min = [0, 0, 0], max = [1, 1, 1], axes = [\"w\"] }", "", "axes[0]"),
        ("flat", "periodic = { min = [0, 0, 0], max = [0, 1, 1], axes = [\"x\"] }", "", "period"),
        ("layer", "", "layers = [32]", "layers[0]"),
        ("direction", "", "planar = [0, 0, 0]", "planar"),
        ("rule", "", "[materials]\ncombine = \"median\"", "mean"),
        ("three", "", "[materials]\npair = [{ between = [\"a\", \"b\", \"c\"], mu = 1 }]", "two materials"),
        (
            "twice",
            "",
            "[materials]\npair = [{ between = [\"a\", \"b\"], mu = 1 }, { between = [\"b\", \"a\"], mu = 2 }]",
            "already",
        ),
        ("friction", "", "[materials]\npair = [{ between = [\"a\", \"b\"], mu = -1 }]", "mu"),
        (
            "kinetic",
            "",
            "[materials]\npair = [{ between = [\"a\", \"b\"], mu = 1, mu_kinetic = 2 }]",
            "mu_kinetic",
        ),
        (
            "excluded",
            "",
            "[materials]\npair = [{ between = [\"a\", \"b\"], mu = 1, restitution = 0.5, stiffness = 1e4 }]",
            "between 'a' and 'b': restitution and stiffness",
        ),
        ("share", "", "[materials]\nother = { K = 1.5 }", "K must be above 0 and at most 1"),
        ("joint", "", "[[joint]]\ntype = \"ball\"\na = \"body[0]\"\nK = 0", "K must be"),
        ("other", "", "[materials]\nother = { restitution = 0.5, damping = 3 }", "damping needs a stiffness"),
        ("guide", "", "guide = { along = [0, 0, 1], way = 0 }", "kinematic"),
        ("emitter", "", "[[emitter]]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nrate = 1\nbody = []", "bodies"),
        ("sink", "", "[[sink]]\nmin = [1, 0, 0]\nmax = [0, 0, 0]", "sink"),
        ("integrator", "integrator = \"moreau:theta=0.3\"", "", "theta"),
    ] {
        let text = format!("[settings]\nT = 1\n{settings}\n{body}{extra}\n");
        let error = load(name, &text).map(|_| ()).unwrap_err();
        assert!(error.contains(wanted), "{name}: {error}");
        assert!(error.contains(&format!("{name}.toml:")), "{name}: no place in {error}");
    }
    let text = "[settings]\nT = 1\nperiodic = { min = [0, 0, 0], max = [1, 1, 1], axes = [\"x\"] }\n"
        .to_owned()
        + body;
    let scene = load("large", &text).unwrap();
    assert!(scene.world(scene.settings.clone()).map(|_| ()).unwrap_err().to_string().contains("period"));
}
