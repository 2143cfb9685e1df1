//! Scene files in TOML and JSON: the documented example, and every way to get one wrong.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use drystone::{Motion, Shape};
use drystone_scene::{Scene, SceneError, load};
use glam::DVec3;

/// A file that goes when the test does.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("drystone-files-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
    fn load(&self, set: &[(&str, &str)]) -> Result<Scene, SceneError> {
        let set: Vec<_> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        load(&self.0.to_string_lossy(), &set)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = self.0.parent().map(std::fs::remove_dir_all);
    }
}

/// The `number`-th TOML block of the documentation.
fn documented(number: usize) -> String {
    let text = include_str!("../../../../docs/guide/scene-files.md");
    let block = text.split("```toml\n").nth(number + 1).unwrap();
    block.split("```").next().unwrap().to_string()
}

#[track_caller]
fn refused(name: &str, text: &str) -> SceneError {
    match File::new(name, text).load(&[]) {
        Ok(_) => panic!("must be refused"),
        Err(e) => e,
    }
}

/// Refused at the line and column of `needle`, for this field, saying this.
#[track_caller]
fn check(name: &str, text: &str, needle: &str, field: &str, message: &str) {
    let e = refused(name, text);
    assert_eq!(e.field.as_deref().unwrap_or(""), field, "{e}");
    assert!(e.message.contains(message), "{e}");
    let at = text.find(needle).unwrap();
    let line = text[..at].matches('\n').count() + 1;
    let column = at - text[..at].rfind('\n').map_or(0, |i| i + 1) + 1;
    assert_eq!(e.place, Some((line, column)), "{e}");
    assert!(e.to_string().contains(&format!("{name}:{line}:{column}: ")), "{e}");
}

#[test]
fn the_documented_example_loads_and_runs() {
    let file = File::new("doc-bodies.toml", &documented(1));
    let scene = file.load(&[]).unwrap();
    assert_eq!((scene.name.as_str(), scene.seed, scene.duration), ("two bricks and a ball", 7, 2.0));
    assert_eq!(scene.settings.h, 0.005);
    assert_eq!((scene.settings.solver.as_str(), scene.settings.iterations), ("pgs:omega=1", 300));
    assert_eq!(scene.snaps, [1.0, 2.0]);
    assert_eq!(scene.bodies.len(), 5);
    // Those that move first.
    assert_eq!(scene.bodies[4].motion, Motion::Static);
    assert_eq!(scene.bodies[1].position.z, 0.09);
    assert_eq!(scene.bodies[1].name.as_deref(), Some("brick[0,0,1]"));
    let brick = &scene.bodies[0];
    assert!((brick.mass.mass - 1800.0 * 8.0 * 0.1 * 0.05 * 0.03).abs() < 1e-12);
    assert!((brick.rotation * DVec3::X - DVec3::Y).length() < 1e-15);
    let bell = &scene.bodies[3];
    assert_eq!(bell.colliders.len(), 3);
    assert!(bell.mass.centre.length() < 1e-15);
    let mut world = scene.world(scene.settings.clone()).unwrap();
    for _ in 0..10 {
        world.step().unwrap();
    }
    let line = drystone_scene::check(&file.0).unwrap();
    assert!(line.contains("scene file 'two bricks and a ball', 4 dynamic bodies and 1 others"), "{line}");
}

#[test]
fn the_documented_gallery_file_loads() {
    let file = File::new("doc-gallery.toml", &documented(0));
    let scene = file.load(&[]).unwrap();
    assert_eq!((scene.name.as_str(), scene.settings.iterations), ("tall packing", 500));
    assert_eq!(scene.bodies[0].colliders[0].mu, 0.2);
    let top = scene.bodies[..220].iter().map(|b| b.position.z + 1.6).fold(0.0, f64::max);
    assert!((top - 60.0).abs() < 1e-9);
    // The command line counts more.
    let scene =
        file.load(&[("mu", "0.1"), ("n", "30"), ("h", "0.002"), ("T", "3"), ("fraction", "0.05")]).unwrap();
    assert_eq!(scene.bodies[0].colliders[0].mu, 0.1);
    assert_eq!((scene.bodies.len(), scene.settings.h, scene.duration), (35, 0.002, 3.0));
    let e = file.load(&[("mu", "x")]).err().unwrap();
    assert_eq!((e.place, e.field.as_deref()), (None, Some("mu")));
}

#[test]
fn json_has_the_same_fields() {
    let text = r#"{"settings": {"T": 1, "broadphase": "sap", "stabilisation": "clamped:A=2"},
      "body": [{"shape": {"type": "box", "half": [1, 2, 3]}, "mass": 2, "group": 4, "glass": true},
               {"motion": "static", "shape": {"type": "plane"}}]}"#;
    let scene = File::new("own.json", text).load(&[("mu", "0.7"), ("seed", "9"), ("h", "0.1")]).unwrap();
    assert_eq!((scene.name.as_str(), scene.seed, scene.settings.h), ("own", 9, 0.1));
    assert_eq!(scene.glass, [0]);
    assert_eq!(scene.bodies[0].group, 4);
    assert!(scene.bodies.iter().all(|b| b.colliders[0].mu == 0.7));
    assert_eq!(scene.bodies[0].mass.inertia, Shape::Box { half: DVec3::new(1.0, 2.0, 3.0) }.inertia(2.0));
    check("bad.json", &text.replace("mass", "maas"), "\"maas\"", "body[0]", "did you mean 'mass'");
}

const BALL: &str = "[settings]\nT = 1\n\n[[body]]\nmass = 1.0\nshape = { type = \"sphere\", r = 0.5 }\n";

#[test]
fn settings_are_checked_in_place() {
    let with = |line: &str| BALL.replace("T = 1\n", &format!("T = 1\n{line}\n"));
    check("s.toml", &with("tolerence = 1"), "tolerence", "settings", "did you mean 'tolerance'");
    check("s.toml", &with("h = 0"), "0\n\n", "settings.h", "above 0 s");
    check("s.toml", &with("h = nan"), "nan", "settings.h", "finite");
    check("s.toml", &with("h = \"x\""), "\"x\"", "settings.h", "must be a number");
    check("s.toml", &with("solver = \"pgss\""), "\"pgss\"", "settings.solver", "did you mean 'pgs'");
    check(
        "s.toml",
        &with("stabilisation = \"pots\""),
        "\"pots\"",
        "settings.stabilisation",
        "did you mean 'post'",
    );
    check("s.toml", &with("broadphase = \"gird\""), "\"gird\"", "settings.broadphase", "did you mean 'grid'");
    check("s.toml", &with("iterations = 1.5"), "1.5", "settings.iterations", "whole number");
    check("s.toml", &with("gravity = [0, 0]"), "[0, 0]", "settings.gravity", "must have 3 numbers");
    check("s.toml", &with("envelope = -1"), "-1", "settings.envelope", "below 0 m");
    check("s.toml", &with("snaps = [1, -2]"), "-2", "settings.snaps[1]", "below 0 s");
    check("s.toml", &with("snaps = [1, 1.5]"), "1.5", "settings.snaps[1]", "after the end: T = 1 s");
    for theta in ["0", "0.4", "1.5", "-1"] {
        let text = format!("\"moreau:theta={theta}\"");
        let line = with(&format!("integrator = {text}"));
        check("s.toml", &line, &text, "settings.integrator", "must be from 0.5 to 1");
    }
    assert!(refused("s.toml", &BALL.replace("T = 1", "")).message.contains("'T' is missing"));
    let no_settings = BALL.replace("[settings]\nT = 1\n", "");
    assert!(refused("s.toml", &no_settings).message.contains("'settings' is missing"));
}

#[test]
fn bodies_are_checked_in_place() {
    let with = |line: &str| format!("{BALL}{line}\n");
    let shape = |s: &str| BALL.replace("{ type = \"sphere\", r = 0.5 }", s);
    check("b.toml", &with("postion = [0, 0, 1]"), "postion", "body[0]", "did you mean 'position'");
    check("b.toml", &with("position = [0, 0, \"1\"]"), "\"1\"", "body[0].position[2]", "must be a number");
    check("b.toml", &with("rotation = [0, 0, 0, 0]"), "[0, 0, 0, 0]", "body[0].rotation", "zero quaternion");
    check("b.toml", &with("rotation = [2, 0, 0, 0]"), "[2, 0, 0, 0]", "body[0].rotation", "unit quaternion");
    check(
        "b.toml",
        &with("rotation = { axis = [0, 0, 0], angle_deg = 1 }"),
        "[0, 0, 0]",
        "body[0].rotation.axis",
        "zero",
    );
    check(
        "b.toml",
        &with("motion = \"fixed\""),
        "\"fixed\"",
        "body[0].motion",
        "valid: dynamic, kinematic, static",
    );
    check("b.toml", &with("mu = -1"), "-1", "body[0].mu", "below 0");
    check("b.toml", &with("density = 1234"), "1234", "body[0].density", "not both");
    check("b.toml", &with("centre = [0, 0, 1]"), "[0, 0, 1]", "body[0].centre", "needs 'inertia'");
    check("b.toml", &with("inertia = [1, 1, 3]"), "[1, 1, 3]", "body[0].inertia", "triangle");
    check("b.toml", &with("spacing = [1, 1, 1]"), "[1, 1, 1]", "body[0].spacing", "needs 'count'");
    check("b.toml", &with("count = [0, 1, 1]"), "0, 1, 1]", "body[0].count[0]", "whole number from 1");
    check("b.toml", &with("group = -1"), "-1", "body[0].group", "whole number");
    check("b.toml", &shape("{ type = \"sphere\" }"), "{ type", "body[0].shape", "'r' is missing");
    check("b.toml", &shape("{ type = \"sphere\", r = 0 }"), "0 }", "body[0].shape.r", "above 0 m");
    check(
        "b.toml",
        &shape("{ type = \"sphere\", half = 1 }"),
        "half",
        "body[0].shape",
        "unknown field 'half'",
    );
    check("b.toml", &shape("{ type = \"plane\" }"), "{ type", "body[0].shape", "cannot be dynamic");
    check(
        "b.toml",
        &shape("{ type = \"shpere\" }"),
        "\"shpere\"",
        "body[0].shape.type",
        "did you mean 'sphere'",
    );
    check("b.toml", &BALL.replace("mass = 1.0\n", ""), "[[body]]", "body[0]", "needs 'mass'");
    check("b.toml", &BALL.replace("mass = 1.0", "mass = 0.0"), "0.0", "body[0].mass", "above 0 kg");
    let still = format!("{}velocity = [1, 0, 0]\nmotion = \"static\"\n", BALL.replace("mass = 1.0\n", ""));
    check("b.toml", &still, "[1, 0, 0]", "body[0].velocity", "kinematic");
    check("b.toml", &with("motion = \"static\""), "1.0", "body[0].mass", "only a dynamic body has mass");
}

#[test]
fn syntax_errors_have_places() {
    let e = refused("x.toml", "a = [1,\nb = 2\n");
    assert_eq!(e.place.unwrap().0, 2, "{e}");
    let e = refused("x.toml", "[settings]\nT = 1\nT = 2\n");
    assert_eq!(e.place, Some((3, 1)), "{e}");
    let e = refused("x.toml", "[settings]\nT = 1979-05-27\n");
    assert!(e.message.contains("date"), "{e}");
}

#[test]
fn gallery_files_are_checked_in_place() {
    check("g.toml", "scene = \"pakcing\"\n", "\"pakcing\"", "scene", "did you mean 'packing'");
    let with = |line: &str| format!("scene = \"packing\"\n[parameters]\n{line}\n");
    check("g.toml", &with("fractoin = 0.3"), "fractoin", "parameters", "did you mean 'fraction'");
    check("g.toml", &with("n = 0"), "0", "parameters.n", "whole number from 1");
    check("g.toml", &with("mu = [1]"), "[1]", "parameters.mu", "number or a string");
    check("g.toml", "[parameters]\nn = 1\n", "[parameters]", "parameters", "scene = ");
    let both = format!("scene = \"packing\"\n{BALL}");
    check("g.toml", &both, "[[body]]", "body", "leave out");
}

#[test]
fn inertia_can_be_a_tensor() {
    let text = format!("{BALL}inertia = [[2, 0.1, 0], [0.1, 2.5, 0], [0, 0, 3]]\ncentre = [0.1, 0, 0]\n");
    let scene = File::new("i.toml", &text).load(&[]).unwrap();
    assert_eq!(scene.bodies[0].mass.inertia.x_axis, DVec3::new(2.0, 0.1, 0.0));
    assert_eq!(scene.bodies[0].mass.centre, DVec3::new(0.1, 0.0, 0.0));
    let bad = format!("{BALL}inertia = [[2, 0.1, 0], [0.2, 2.5, 0], [0, 0, 3]]\n");
    check("i.toml", &bad, "[[2", "body[0].inertia", "symmetric");
}

#[test]
fn shapes_of_one_body_share_its_mass() {
    // Two halves of a rod are the rod.
    let half = |x: f64| format!("{{ type = \"box\", half = [0.5, 0.1, 0.2], position = [{x}, 0, 0] }}");
    let text = BALL.replace("{ type = \"sphere\", r = 0.5 }", &format!("[{}, {}]", half(0.0), half(1.0)));
    let scene = File::new("m.toml", &text).load(&[]).unwrap();
    let mass = scene.bodies[0].mass;
    let whole = Shape::Box { half: DVec3::new(1.0, 0.1, 0.2) }.inertia(1.0);
    assert!((mass.centre - DVec3::X * 0.5).length() < 1e-15);
    assert!(mass.inertia.abs_diff_eq(whole, 1e-14));
}

#[test]
fn names_and_paths_that_lead_nowhere() {
    let e = load("pakcing", &[]).err().unwrap().to_string();
    assert!(e.contains("did you mean 'packing'") && e.contains("shaker") && e.contains(".toml"), "{e}");
    assert!(load("nowhere.toml", &[]).err().unwrap().to_string().contains("cannot be read"));
    let odd = File::new("odd.yaml", "a: 1");
    assert!(odd.load(&[]).err().unwrap().message.contains("must end in"));
    let file = File::new("k.toml", BALL);
    let e = file.load(&[("nu", "1")]).err().unwrap().to_string();
    assert!(e.contains("did you mean 'mu'") && e.contains("h, T, mu, seed"), "{e}");
    assert!(
        file.load(&[("h", "-1")])
            .err()
            .unwrap()
            .to_string()
            .contains("h: must be a number above 0 s, got '-1'")
    );
    assert!(file.load(&[("seed", "-1")]).err().unwrap().to_string().contains("whole number"));
}
