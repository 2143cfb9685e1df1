//! Joints in scene files and flat states.

use drystone::joint::{Kind, Law};
use drystone_scene::flat::{self, FlatState};
use drystone_scene::{Scene, SceneError, load};

fn toml(name: &str, text: &str) -> Result<Scene, SceneError> {
    let dir = std::env::temp_dir().join(format!("drystone-joints-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("scene.toml");
    std::fs::write(&path, text).unwrap();
    let scene = load(&path.to_string_lossy(), &[]);
    std::fs::remove_dir_all(&dir).unwrap();
    scene
}

/// The crank turns at its commanded speed, the piston goes from one dead point to the other.
#[test]
fn the_documented_mechanism_runs() {
    let text = include_str!("../../../../docs/guide/scene-files.md");
    let block = text.split("```toml\n").find(|b| b.starts_with("name = \"crank")).unwrap();
    let scene = toml("crank", block.split("```").next().unwrap()).unwrap();
    assert_eq!(scene.joints.len(), 4);
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let ids: Vec<_> = world.joints().collect();
    let (mut least, mut most) = (0f64, 0f64);
    for _ in 0..200 {
        world.step().unwrap();
        let s = world.joint_coordinates(ids[3]).unwrap()[0];
        (least, most) = (least.min(s), most.max(s));
        assert!(world.joint_error().position < 1e-4, "{:?}", world.joint_error());
    }
    assert!((world.joint_rates(ids[0]).unwrap()[0] - 6.0).abs() < 1e-3);
    assert!((least + 0.6).abs() < 0.01 && most < 1e-3, "the stroke is twice the crank: {least} {most}");
}

const TWO: &str = r#"
[settings]
T = 1
[[body]]
name = "p"
mass = 1
inertia = [1, 1, 1]
[[body]]
name = "q"
mass = 1
inertia = [1, 1, 1]
position = [1, 0, 0]
[[joint]]
"#;

#[test]
fn every_type_is_read() {
    let with = |lines: &str| {
        let scene = toml("types", &format!("{TWO}{lines}\n")).unwrap();
        scene.world(scene.settings.clone()).unwrap().step().unwrap();
        scene.joints[0].kind.clone()
    };
    let pair = "a = \"p\"\nb = \"q\"\n";
    for (kind, more) in [
        ("fixed", ""),
        ("ball", "anchor = [0.5, 0, 0]"),
        ("revolute", "axis = [0, 0, 1]"),
        ("prismatic", "axis = [0, 0, 1]\nspring = { stiffness = 10 }"),
        ("cylindrical", "axis = [0, 1, 1]\ncoordinates = [{ friction = 1 }, { motor = { speed = 1 } }]"),
        ("universal", "axis = [1, 0, 0]\naxis_b = [0, 1, 0]"),
        ("planar", "axis = [0, 0, 1]"),
        ("point_on_line", "axis = [0, 0, 1]"),
        ("point_on_plane", "axis = [0, 0, 1]"),
        ("distance", ""),
        ("rope", "length = 2"),
        ("spring", "stiffness = 100\ndamping = 1"),
        ("screw", "axis = [0, 0, 1]\npitch = 0.1"),
        ("gear", "axis = [0, 0, 1]\naxis_b = [0, 0, 1]\nratio = -2"),
        ("rack_and_pinion", "axis = [0, 0, 1]\naxis_b = [1, 0, 0]\nradius = 0.2"),
        ("pulley", "points = [[0, 0, 5], [1, 0, 5]]"),
        ("bushing", "stiffness = [100, 100, 100]\nangular_stiffness = [10, 10, 10]"),
        ("knife_edge", "axis = [1, 0, 0]"),
        ("rolling_disc", "anchor_a = [0, 0, -0.5]\naxis = [0, 0, 1]\naxis_b = [0, 1, 0]\nradius = 0.5"),
    ] {
        assert_eq!(with(&format!("type = \"{kind}\"\n{pair}{more}")).name(), kind);
    }
    let way = "type = \"trajectory\"\nb = \"q\"\nposition = [{ sine = { mean = 1, amplitude = 0.1, frequency = 1 } }, \
               { table = { points = [[0, 0], [1, 1]], interpolation = \"cubic\" } }, 0]";
    assert!(matches!(with(way), Kind::Trajectory(_)));
}

#[test]
fn joints_are_checked_in_place() {
    let refuse = |lines: &str, field: &str, message: &str| {
        let e = toml("errors", &format!("{TWO}{lines}\n")).err().expect("must be refused");
        assert_eq!(e.field.as_deref(), Some(field), "{e}");
        assert!(e.message.contains(message), "{e}");
        assert!(e.place.is_some(), "{e}");
    };
    refuse("type = \"hinge\"", "joint[0].type", "valid: fixed");
    refuse("type = \"ball\"\nb = \"r\"", "joint[0].b", "no body named 'r'");
    refuse("type = \"ball\"\nb = \"wrld\"", "joint[0].b", "did you mean 'world'");
    refuse("type = \"fixed\"\na = \"q\"\nb = \"q\"", "joint[0].b", "joins a body to itself");
    refuse("type = \"ball\"\nanchor = [0, 0, 0]", "joint[0]", "joins the world to itself");
    let eye = |x: f64| {
        let row = |i: usize| {
            let one = |j: usize| if i == j { x } else { 0.0 }.to_string();
            format!("[{}]", (0..6).map(one).collect::<Vec<_>>().join(", "))
        };
        format!("[{}]", (0..6).map(row).collect::<Vec<_>>().join(", "))
    };
    let bushing = |lines: &str| format!("type = \"bushing\"\nb = \"q\"\n{lines}");
    let minus = bushing(&format!("stiffness = {}", eye(-1.0)));
    refuse(&minus, "joint[0].stiffness", "positive semidefinite");
    refuse(&bushing("stiffness = [[1, 2], [2, 1]]"), "joint[0].stiffness[0]", "must have 6 numbers");
    let both = bushing(&format!("stiffness = {}\nangular_damping = [1, 1, 1]", eye(1.0)));
    refuse(&both, "joint[0].angular_damping", "are matrices");
    let full = bushing(&format!("stiffness = {}\ndamping = {}", eye(50.0), eye(2.0)));
    let scene = toml("full", &format!("{TWO}{full}\n")).unwrap();
    assert!(matches!(&scene.joints[0].kind, Kind::CoupledBushing(b) if b.damping()[5][5] == 2.0));
    refuse("type = \"revolute\"\nb = \"q\"", "joint[0]", "'axis' is missing");
    refuse("type = \"revolute\"\nb = \"q\"\naxis = [0, 0, 0]", "joint[0].axis", "no direction");
    refuse("type = \"ball\"\nb = \"q\"\npitch = 1", "joint[0]", "unknown field 'pitch'");
    refuse("type = \"ball\"\nb = \"q\"\nfriction = 1", "joint[0]", "no free coordinate 0");
    let hinge = "type = \"revolute\"\nb = \"q\"\naxis = [0, 0, 1]\n";
    refuse(&format!("{hinge}motor = {{ limit = 1 }}"), "joint[0].motor", "one of 'position'");
    refuse(
        &format!("{hinge}motor = {{ speed = {{ ramp = {{ to = 1, end = 0 }} }} }}"),
        "joint[0].motor.speed",
        "end",
    );
    refuse(&format!("{hinge}limits = [1, 0]"), "joint[0].limits", "lower");
    refuse(&format!("{hinge}restitution = 0.5"), "joint[0].restitution", "needs 'limits'");
    refuse("type = \"screw\"\nb = \"q\"\naxis = [0, 0, 1]\npitch = 0", "joint[0]", "pitch");
}

const FLAT: &str = r#"{"name": "arm", "h": 0.01, "T": 1, "gravity": [0, 0, -9.81], "mu": 0, "restitution": 0, "statics": [],
 "bodies": [
  {"shape": "none", "m": 1, "I": [0.01, 0.1, 0.1], "pos": [0.5, 0, 0], "quat": [1, 0, 0, 0], "vel": [0, 0, 0], "omega": [0, 0, 0], "group": 0},
  {"shape": "none", "m": 1, "I": [0.01, 0.1, 0.1], "pos": [1.5, 0, 0], "quat": [1, 0, 0, 0], "vel": [0, 0, 0], "omega": [0, 0, 0], "group": 0}],
 "joints": [
  {"type": "revolute", "a": -1, "b": 0, "anchor": [0, 0, 0], "axis": [0, 1, 0], "drive": {"mode": "position", "target": -0.4, "kp": 0, "kd": 0, "fmax": 400}},
  {"type": "revolute", "a": 0, "b": 1, "anchor": [1, 0, 0], "axis": [0, 1, 0], "drive": {"mode": "velocity", "target": 0.5, "kp": 0, "kd": 0, "fmax": 100}}]}"#;

/// Two welds that disagree: `check` does what the first step would, and finds the line.
#[test]
fn joints_that_contradict_each_other_do_not_pass() {
    let dir = std::env::temp_dir().join(format!("drystone-joints-{}-welds", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("welds.toml");
    let weld = "type = \"fixed\"\nname = \"first\"\nb = \"q\"\n";
    let other = weld.replace("first", "second") + "anchor_a = [3, 0, 0]\nanchor_b = [1, 0, 0]\n";
    std::fs::write(&path, format!("{TWO}{weld}")).unwrap();
    assert!(drystone_scene::check(&path).is_ok());
    std::fs::write(&path, format!("{TWO}{weld}[[joint]]\n{other}")).unwrap();
    let e = drystone_scene::check(&path).unwrap_err();
    std::fs::remove_dir_all(&dir).unwrap();
    let lines = [13, 17].map(|n| format!("welds.toml:{n}:"));
    let text = e.to_string();
    assert!(lines.iter().any(|l| text.contains(l)) && text.contains("cannot be assembled"), "{text}");
    assert!(e.field.is_some_and(|f| f.starts_with("joint[")), "{text}");
}

/// Drives hold their commands, one that starts far from it included; the state written on the way runs on.
#[test]
fn drives_hold_their_targets() {
    let scene = FLAT.parse::<FlatState>().unwrap().scene().unwrap();
    let settings = drystone::Settings { tolerance: 1e-7, iterations: 2000, ..scene.settings.clone() };
    let mut world = scene.world(settings.clone()).unwrap();
    let ids: Vec<_> = world.joints().collect();
    for _ in 0..60 {
        world.step().unwrap();
    }
    let written = flat::of_world(&world, "arm", 1.0, &[]).unwrap();
    let angle = world.joint_coordinates(ids[0]).unwrap()[0];
    let target = written.joints[0].drive.unwrap().target;
    assert!((target + angle + 0.4).abs() < 1e-12, "what is left of the way: {target}");
    let mut other = written.scene().unwrap().world(settings).unwrap();
    for _ in 0..140 {
        world.step().unwrap();
        other.step().unwrap();
    }
    let angle = world.joint_coordinates(ids[0]).unwrap()[0];
    assert!((angle + 0.4).abs() < 1e-5, "{angle}");
    assert!((world.joint_rates(ids[1]).unwrap()[0] - 0.5).abs() < 1e-4);
    let (x, y) = (world.state().position[1], other.state().position[1]);
    assert!((x - y).length() < 1e-3, "{x} {y}");
    assert!(scene.joints[0].laws[0] != Law::default());
}
