//! What scene files can say beside plain tables: parameters, formulas, loops, includes, copies by a rule,
//! stop conditions; and every way to get them wrong.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use drystone::Shape;
use drystone_scene::{Scene, SceneError, check, load, parameters};
use glam::DVec3;

/// A folder that goes when the test does.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("drystone-language-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read(text: &str, set: &[(&str, &str)]) -> Result<Scene, SceneError> {
    let folder = Folder::new();
    let set: Vec<_> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    load(&folder.write("s.toml", text), &set)
}

/// Refused at the line of `needle`, with these words.
#[track_caller]
fn refused(text: &str, needle: &str, words: &[&str]) {
    let Err(e) = read(text, &[]) else { panic!("must be refused") };
    let line = text[..text.find(needle).unwrap()].matches('\n').count() + 1;
    assert_eq!(e.place.map(|p| p.0), Some(line), "{e}");
    words.iter().for_each(|w| assert!(e.to_string().contains(w), "'{w}' is not in: {e}"));
}

const BALL: &str = "[[body]]\nname = \"ball\"\nshape = { type = \"sphere\", r = 0.1 }\nmass = 1\nmu = 0.3\n";

fn with_ball(more: &str) -> String {
    format!("[settings]\nT = 1\n{BALL}{more}\n")
}

fn positions(scene: &Scene) -> Vec<DVec3> {
    scene.bodies.iter().map(|b| b.position).collect()
}

const TOWER: &str = r#"
[parameters]
n = { default = 3, whole = true, range = [1, 10], about = "balls" }
r = { default = 0.1, unit = "m", range = [0.01, 1] }
gap = "= r / 10"
kind = { default = "dry", choices = ["dry", "wet"] }

[settings]
T = "= 0.5 * n"

[[body]]
for = { i = "n" }
name = "ball ${i} (${kind})"
shape = { type = "sphere", r = "= r" }
density = 1000
mu = "= if(i == 0, 0.5, 0.25)"
position = [0, 0, "= r + i * (2 * r + gap)"]
"#;

#[test]
fn parameters_work_with_set_and_in_formulas() {
    let scene = read(TOWER, &[]).unwrap();
    assert_eq!((scene.bodies.len(), scene.duration), (3, 1.5));
    assert_eq!(scene.bodies[1].name.as_deref(), Some("ball 1 (dry)"));
    assert!((scene.bodies[2].position.z - (0.1 + 2.0 * 0.21)).abs() < 1e-12);
    assert_eq!((scene.bodies[0].colliders[0].mu, scene.bodies[1].colliders[0].mu), (0.5, 0.25));
    let scene = read(TOWER, &[("n", "5"), ("r", "0.2"), ("kind", "wet")]).unwrap();
    assert_eq!((scene.bodies.len(), scene.duration), (5, 2.5));
    assert!(matches!(scene.bodies[0].colliders[0].shape, Shape::Sphere { radius } if radius == 0.2));
    assert_eq!(scene.bodies[4].name.as_deref(), Some("ball 4 (wet)"));
    // A derived one can be set as well, and what every file has still works.
    let scene = read(TOWER, &[("gap", "0.5"), ("h", "0.002")]).unwrap();
    assert!((scene.bodies[1].position.z - 0.8).abs() < 1e-12);
    assert_eq!(scene.settings.h, 0.002);
    let wrong = |key: &str, value: &str| read(TOWER, &[(key, value)]).err().unwrap().to_string();
    assert_eq!(wrong("n", "20"), "n: must be from 1 to 10, got 20");
    assert_eq!(wrong("n", "2.5"), "n: must be a whole number, got 2.5");
    assert_eq!(wrong("r", "x"), "r: must be a number, got 'x'");
    assert_eq!(wrong("r", "5"), "r: must be from 0.01 to 1 m, got 5");
    assert_eq!(wrong("kind", "damp"), "kind: must be one of dry, wet, got 'damp'");
    assert_eq!(
        wrong("gop", "1"),
        "the file has no parameter 'gop'; did you mean 'gap'? (valid: n, r, gap, kind, h, T, mu, seed)"
    );
    let folder = Folder::new();
    let all = parameters(&folder.write("s.toml", TOWER), &[("n".into(), "4".into())]).unwrap();
    let names: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["n", "r", "gap", "kind"]);
    assert_eq!((all[0].default.as_str(), all[0].value.as_str()), ("3", "4"));
    assert_eq!((all[1].unit.as_str(), all[1].range), ("m", Some([0.01, 1.0])));
    assert_eq!(all[2].default, "0.01");
}

#[test]
fn wrong_parameters_and_formulas_name_their_places() {
    let with = |parameters: &str| format!("[parameters]\n{parameters}\n{}", with_ball(""));
    refused(
        &with("n = { default = 3, range = [5, 1] }"),
        "n =",
        &["parameters.n.range", "least and the most"],
    );
    refused(&with("n = { default = 3, range = [5, 9] }"), "n =", &["parameters.n.default", "from 5 to 9"]);
    refused(&with("n = { unit = \"m\" }"), "n =", &["parameters.n", "'default' is missing"]);
    refused(&with("n = { default = 1, least = 2 }"), "n =", &["unknown field 'least'"]);
    refused(&with("a = \"= b\"\nb = 1"), "a =", &["parameters.a", "there is no 'b'"]);
    refused(&with("pi = 3"), "pi =", &["'pi' has a meaning in formulas"]);
    refused(&with("\"a b\" = 3"), "\"a b\"", &["'a b' is no name"]);
    refused(&with("n = [1]"), "n =", &["must be a number or a string, got an array"]);
    let formula = |f: &str| with("n = 3\nw = \"word\"").replace("mu = 0.3", &format!("mu = \"{f}\""));
    refused(&formula("= m"), "mu =", &["body[0].mu", "there is no 'm' (known: n, w)"]);
    refused(&formula("= n +"), "mu =", &["found the end at character 5", "in the formula 'n +'"]);
    refused(&formula("= 1 / 0"), "mu =", &["comes out as inf"]);
    refused(&formula("= w + 1"), "mu =", &["'w' is a word, not a number"]);
    refused(&formula("= w"), "mu =", &["must be a number, got a string"]);
    refused(&formula("${n"), "mu =", &["a ${ has no }"]);
    refused(
        &with_ball("").replace("mu = 0.3", "mu = \"= n\""),
        "mu =",
        &["there is no 'n' (the file declares no parameters)"],
    );
}

#[test]
fn loops_make_copies_in_the_order_of_the_file() {
    let text =
        with_ball("for = { b = 2, a = { from = 1, to = 2, step = 0.5 } }\nposition = [\"= a\", \"= b\", 0]");
    let expected = [(1.0, 0.0), (1.5, 0.0), (2.0, 0.0), (1.0, 1.0), (1.5, 1.0), (2.0, 1.0)];
    let found: Vec<(f64, f64)> = positions(&read(&text, &[]).unwrap()).iter().map(|p| (p.x, p.y)).collect();
    assert_eq!(found, expected);
    // Lists, words, conditions, and loops within lists of shapes.
    let text = "[settings]\nT = 1\n[[body]]\nname = \"${k}\"\nfor = { k = [\"a\", \"b\"], i = 3 }\nif = \"i != 1\"\nmass = 1\n\
        shape = [{ for = { j = 4 }, type = \"sphere\", r = 0.1, position = [\"= j\", 0, 0] }]\n";
    let scene = read(text, &[]).unwrap();
    let names: Vec<&str> = scene.bodies.iter().filter_map(|b| b.name.as_deref()).collect();
    assert_eq!(names, ["a", "a", "b", "b"]);
    assert_eq!(scene.bodies[0].colliders.len(), 4);
    let looped = |what: &str| with_ball(&format!("for = {what}"));
    refused(&looped("{ i = 2.5 }"), "for =", &["body[0].for.i", "whole number from 0"]);
    refused(&looped("{ i = -1 }"), "for =", &["whole number from 0"]);
    refused(&looped("{ i = \"k\" }"), "for =", &["there is no 'k'"]);
    refused(&looped("3"), "for =", &["must be a table of loop variables"]);
    refused(&looped("{ i = { to = 3, step = 0 } }"), "for =", &["must not be 0"]);
    refused(&looped("{ i = 2000, j = 2000 }"), "[[body]]", &["more than 1000000 copies"]);
    refused(&with_ball("if = \"x\""), "if =", &["there is no 'x'"]);
    // A JSON file can do the same.
    let folder = Folder::new();
    let json = r#"{"settings": {"T": 1}, "body": [{"for": {"i": 3}, "mass": 1, "mu": 0.1,
        "shape": {"type": "sphere", "r": 0.1}, "position": ["= i", 0, 0]}]}"#;
    assert_eq!(load(&folder.write("s.json", json), &[]).unwrap().bodies.len(), 3);
}

#[test]
fn included_files_come_first_and_lose_against_the_file() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.0.join("parts")).unwrap();
    folder.write(
        "parts/corner.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
    );
    folder.write(
        "parts/floor.toml",
        "[parameters]\nmu = 0.5\n[settings]\nh = 0.002\nT = 9\n[[body]]\nname = \"floor\"\nmotion = \"static\"\n\
         shape = { type = \"mesh\", file = \"corner.obj\" }\nmu = \"= mu\"\n",
    );
    let main = format!("include = [\"parts/floor.toml\"]\n{}", with_ball("position = [0, 0, 5]"));
    let path = folder.write("s.toml", &main);
    let scene = load(&path, &[("mu".into(), "0.7".into())]).unwrap();
    assert_eq!((scene.bodies.len(), scene.duration, scene.settings.h), (2, 1.0, 0.002));
    assert_eq!((scene.bodies[1].name.as_deref(), scene.bodies[1].colliders[0].mu), (Some("floor"), 0.7));
    // An error in an included file names that file and its line.
    folder.write("parts/floor.toml", "[[body]]\nname = \"floor\"\nmotion = \"fixed\"\n");
    let e = load(&path, &[]).err().unwrap();
    assert!(e.to_string().contains("floor.toml:3:10: body[0].motion"), "{e}");
    let e = load(&folder.write("none.toml", "include = \"gone.toml\"\n"), &[]).err().unwrap();
    assert!(e.to_string().contains("none.toml:1:11: include: ") && e.message.contains("gone.toml"), "{e}");
    folder.write("round.toml", "include = \"round.toml\"\n");
    let e = load(&folder.0.join("round.toml").to_string_lossy(), &[]).err().unwrap();
    assert!(e.message.contains("is it a circle?"), "{e}");
    let e = load(&folder.write("broken.toml", "include = \"bad.toml\"\n"), &[]);
    assert!(e.is_err());
}

#[test]
fn copies_follow_their_rules() {
    let made = |rule: &str| read(&with_ball(&format!("copies = {rule}")), &[]).unwrap();
    let grid = made("{ type = \"grid\", count = [2, 3, 1], spacing = [1, 2, 3] }");
    assert_eq!((grid.bodies.len(), grid.bodies[5].position), (6, DVec3::new(1.0, 4.0, 0.0)));
    assert_eq!(grid.bodies[5].name.as_deref(), Some("ball[1,2,0]"));
    // Nearest neighbours of a crystal are as far apart as was asked for, and as many as it has.
    for (cell, inner) in [("sc", 6), ("bcc", 8), ("fcc", 12), ("hcp", 12)] {
        let all = positions(&made(&format!(
            "{{ type = \"lattice\", cell = \"{cell}\", spacing = 0.5, min = [0, 0, 0], max = [3, 3, 3] }}"
        )));
        let near = |a: &DVec3| all.iter().filter(|b| *b != a && a.distance(**b) < 0.5 + 1e-9).count();
        let least = all.iter().flat_map(|a| all.iter().filter(move |b| *b != a).map(|b| a.distance(*b)));
        assert!((least.fold(f64::INFINITY, f64::min) - 0.5).abs() < 1e-9, "{cell}");
        assert_eq!(all.iter().map(near).max(), Some(inner), "{cell}");
    }
    let random =
        "{ type = \"random\", count = 150, min = [0, 0, 0], max = [2, 2, 2], gap = 0.01, turned = true }";
    let scene = made(random);
    let all = positions(&scene);
    for (i, a) in all.iter().enumerate() {
        assert!(a.min_element() >= 0.105 - 1e-12 && a.max_element() <= 1.895 + 1e-12);
        assert!(all[..i].iter().all(|b| a.distance(*b) >= 0.21 - 1e-12));
    }
    assert_ne!(scene.bodies[0].rotation, scene.bodies[1].rotation);
    assert_eq!(positions(&made(random)), all, "the same again");
    // Sizes keep the density, and two tables keep clear of each other.
    let text = with_ball(
        "copies = { type = \"random\", count = 60, min = [0, 0, 0], max = [2, 2, 2], sizes = [0.5, 1.5] }\n[[body]]\n\
         shape = { type = \"box\", half = [0.1, 0.1, 0.1] }\nmass = 1\n\
         copies = { type = \"random\", count = 40, min = [0, 0, 0], max = [2, 2, 2], seed = 9 }",
    );
    let scene = read(&text, &[]).unwrap();
    for b in &scene.bodies[..60] {
        let Shape::Sphere { radius } = b.colliders[0].shape else { panic!("a ball") };
        assert!((0.05..=0.15).contains(&radius));
        assert!((b.mass.mass / radius.powi(3) - 1000.0).abs() < 1e-6);
        let reach = radius + 0.1 * 3f64.sqrt();
        assert!(scene.bodies[60..].iter().all(|x| x.position.distance(b.position) >= reach - 1e-12));
    }
    // A lattice, shaken: two cells along x and three along y, and nothing in a ball about the origin.
    let jittered =
        "{ type = \"jittered\", count = 40, across = [2, 3], cell = [0.3, 0.4, 0.5], jitter = 0.02 }";
    let all = positions(&made(jittered));
    for (k, x) in all.iter().enumerate() {
        let number = DVec3::new((k % 2) as f64 - 0.5, (k / 2 % 3) as f64 - 1.0, (k / 6) as f64 + 0.5);
        let off = (*x - number * DVec3::new(0.3, 0.4, 0.5)).abs();
        assert!(off.max_element() <= 0.02 && off.max_element() > 0.0, "{k}: {x}");
    }
    assert_eq!(positions(&made(jittered)), all, "the same again");
    assert_ne!(positions(&made(&jittered.replace(" }", ", seed = 2 }"))), all);
    let clear = positions(&made(&jittered.replace(" }", ", clear = { at = [0, 0, 0], r = 0.7 } }")));
    assert_eq!(clear.len(), 40);
    assert!(clear.iter().all(|x| x.length() > 0.7) && all.iter().any(|x| x.length() < 0.7));
    // Half of a box is full, and nothing overlaps.
    let strewn = positions(&made("{ type = \"strewn\", count = 119, size = [1, 1, 1], seed = 3 }"));
    for (i, a) in strewn.iter().enumerate() {
        assert!(a.min_element() >= -0.4 - 1e-12 && a.truncate().max_element() <= 0.4 + 1e-12);
        assert!((0.1 - 1e-12..=0.9 + 1e-12).contains(&a.z), "{a}");
        assert!(strewn[..i].iter().all(|b| a.distance(*b) >= 0.2));
    }
    let curve =
        positions(&made("{ type = \"curve\", points = [[0, 0, 0], [3, 0, 0], [3, 4, 0]], spacing = 1 }"));
    assert_eq!((curve.len(), curve[4]), (8, DVec3::new(3.0, 1.0, 0.0)));
    let ring = positions(&made(
        "{ type = \"curve\", points = [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], count = 16, closed = true, smooth = true }",
    ));
    assert_eq!(ring.len(), 16);
    let apart: Vec<f64> = (0..16).map(|k| ring[k].distance(ring[(k + 1) % 16])).collect();
    assert!(apart.iter().all(|d| (d / apart[0] - 1.0).abs() < 0.02), "{apart:?}");
    let folder = Folder::new();
    folder.write("places.csv", "name,x,y,z,vz\nfirst,100,0,0,1\n,0,200,0,-1\n");
    let path = folder
        .write("s.toml", &with_ball("copies = { type = \"csv\", file = \"places.csv\", scale = 0.01 }"));
    let scene = load(&path, &[]).unwrap();
    assert_eq!(positions(&scene), [DVec3::X, 2.0 * DVec3::Y]);
    assert_eq!((scene.bodies[0].name.as_deref(), scene.bodies[1].velocity.z), (Some("first"), -1.0));
}

#[test]
fn a_wall_is_whole_and_stands_on_itself() {
    let text = "[settings]\nT = 1\n[[body]]\nname = \"brick\"\nshape = { type = \"box\", half = [0.1, 0.05, 0.03] }\n\
        density = 2000\nmu = 0.6\nposition = [0, 0, 0.03]\ncopies = { type = \"wall\", count = [5, 4] }\n";
    let scene = read(text, &[]).unwrap();
    assert_eq!(scene.bodies.len(), 5 + 6 + 5 + 6);
    let total: f64 = scene.bodies.iter().map(|b| b.mass.mass).sum();
    assert!((total - 2000.0 * 1.0 * 0.1 * 0.24).abs() < 1e-9, "{total}");
    // Every row is as long as the others.
    for row in 0..4 {
        let z = 0.03 + 0.06 * row as f64;
        let ends = scene.bodies.iter().filter(|b| (b.position.z - z).abs() < 1e-9).map(|b| {
            let Shape::Box { half } = b.colliders[0].shape else { panic!("a box") };
            (b.position.x - half.x, b.position.x + half.x)
        });
        let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        assert!((low + 0.1).abs() < 1e-9 && (high - 0.9).abs() < 1e-9, "row {row}: {low} {high}");
    }
    let toothed = read(&text.replace("[5, 4]", "[5, 4], ends = \"toothed\""), &[]).unwrap();
    assert_eq!(toothed.bodies.len(), 20);
}

/// Cubes of a search among copies are numbered, and those at the end of all numbers have no neighbour.
#[test]
fn copies_may_be_asked_for_beyond_all_places() {
    let far = "{ type = \"random\", count = 4, min = [0, 0, 0], max = [1e19, 1, 1] }";
    // Whether a step may go there is not the file's to say.
    assert!(read(&with_ball(&format!("copies = {far}")), &[]).is_ok());
}

#[test]
fn wrong_copies_name_their_places() {
    let rule = |r: &str| with_ball(&format!("copies = {r}"));
    let at = "copies =";
    refused(&rule("{ type = \"gird\" }"), at, &["body[0].copies.type", "did you mean 'grid'?"]);
    refused(&rule("{ type = \"grid\", count = [1, 2] }"), at, &["must have 3 numbers, got 2"]);
    refused(&rule("{ type = \"grid\", cell = \"sc\" }"), at, &["unknown field 'cell'"]);
    refused(&rule("{ type = \"wall\", count = [3, 3] }"), at, &["one shape, a box"]);
    refused(&rule("{ type = \"curve\", points = [[0, 0, 0]], count = 3 }"), at, &["two points or more"]);
    refused(&rule("{ type = \"curve\", points = [[0, 0, 0], [1, 0, 0]] }"), at, &["'count' or 'spacing'"]);
    refused(
        &rule("{ type = \"lattice\", cell = \"sc\", spacing = 1, min = [0, 0, 0], max = [-1, 0, 0] }"),
        at,
        &["copies.max", "must not be below 'min'"],
    );
    refused(
        &rule("{ type = \"random\", count = 1000, min = [0, 0, 0], max = [1, 1, 1] }"),
        at,
        &["copies.count", "of 1000 bodies fit into the box"],
    );
    refused(
        &rule("{ type = \"random\", count = 1, min = [0, 0, 0], max = [1, 1, 0.1] }"),
        at,
        &["too narrow"],
    );
    let jittered = |more: &str| rule(&format!("{{ type = \"jittered\", count = 5, {more} }}"));
    refused(
        &jittered("across = [2], cell = [1, 1, 1]"),
        at,
        &["copies.across", "must have 2 numbers, got 1"],
    );
    refused(&jittered("across = [2, 2], cell = [1, 0, 1]"), at, &["copies.cell[1]", "above 0"]);
    refused(&jittered("across = [2, 2], cell = [1, 1, 1], jitter = -1"), at, &["copies.jitter"]);
    refused(
        &jittered("across = [2, 2], cell = [1, 1, 1], clear = { at = [0, 0, 0], r = 1e9 }"),
        at,
        &["'clear' leaves too little room"],
    );
    refused(
        &rule("{ type = \"strewn\", count = 500, size = [1, 1, 1] }"),
        at,
        &["copies.count", "would fill 209 % of the box"],
    );
    refused(&rule("{ type = \"strewn\", count = 1, size = [1, 1, 0.1] }"), at, &["is larger than"]);
    refused(&rule("{ type = \"csv\", file = \"gone.csv\" }"), at, &["gone.csv: cannot be read"]);
    refused(&with_ball("count = [2, 2, 2]\ncopies = { type = \"grid\" }"), "count", &["not both"]);
}

fn steps_until_stop(scene: &mut Scene) -> (usize, Option<String>) {
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let most = (scene.duration / scene.settings.h).round() as usize;
    for k in 1..=most {
        world.step().unwrap();
        scene.probe.observe(&world);
        if let Some(why) = scene.probe.stop() {
            return (k, Some(why));
        }
    }
    (most, None)
}

#[test]
fn runs_stop_at_rest_or_when_a_formula_holds() {
    let floor = "[[body]]\nmotion = \"static\"\nshape = { type = \"plane\" }\nmu = 0.3\n";
    let text = |stop: &str| {
        with_ball(&format!("position = [0, 0, 0.1]\n{floor}[stop]\n{stop}"))
            .replace("T = 1", "T = 2\nh = 0.01")
    };
    // It rests from the beginning: half a second later the run is over.
    let (n, why) = steps_until_stop(&mut read(&text("rest = true"), &[]).unwrap());
    assert_eq!(n, 51);
    assert!(why.unwrap().contains("at rest: nothing faster than 0.001 m/s for 0.5 s"));
    let (n, _) = steps_until_stop(&mut read(&text("rest = { speed = 0.1, time = 0.2 }"), &[]).unwrap());
    assert_eq!(n, 21);
    let falling = text("when = \"ball.z < 5 and ball.vz < 0\"").replace("[0, 0, 0.1]", "[0, 0, 6]");
    let (n, why) = steps_until_stop(&mut read(&falling, &[]).unwrap());
    // 1 m under gravity takes 0.452 s.
    assert!((44..=46).contains(&n), "{n}");
    assert_eq!(why.as_deref(), Some("ball.z < 5 and ball.vz < 0"));
    let (n, why) = steps_until_stop(&mut read(&text("when = \"t > 10\""), &[]).unwrap());
    assert_eq!((n, why), (200, None));
    let (n, _) =
        steps_until_stop(&mut read(&text("when = \"ball.force > 9 and kinetic < 1e-6\""), &[]).unwrap());
    assert_eq!(n, 1);
    refused(
        &text("when = \"bal.z < 1\""),
        "when",
        &["stop.when", "no body named 'bal'; did you mean 'ball'?"],
    );
    refused(&text("when = \"ball.height < 1\""), "when", &["a body has no 'height'"]);
    refused(&text("when = \"kinetics < 1\""), "when", &["did you mean 'kinetic'?"]);
    refused(&text("when = \"t <\""), "when", &["found the end at character 4"]);
    refused(&text("rest = { speed = 0 }"), "rest", &["stop.rest.speed", "above 0"]);
    refused(&text("rust = true"), "rust", &["unknown field 'rust'; did you mean 'rest'?"]);
}

#[test]
fn check_reads_as_an_engineer_would_and_names_all_errors_at_once() {
    let folder = Folder::new();
    let good = folder.write(
        "good.toml",
        &format!("{}position = [0, 0, 0.1]\n[[body]]\nname = \"floor\"\nmotion = \"static\"\nshape = {{ type = \"plane\" }}\nmu = 40\n", with_ball("")),
    );
    let said = check(&good).unwrap();
    for words in [
        "scene file 'good', 1 dynamic bodies and 1 others",
        "mass: 1 kg in all, each 1 kg",
        "size of shapes that move: 0.2 m",
        "extent: [-0.1, -0.1, 0] to [0.1, 0.1, 0.2] m",
        "energy: 0.981 J (kinetic 0, potential 0.981)",
        "contacts at the start: 1 pair (body 0 (ball) and body 1 (floor))",
        "note: a coefficient of friction of 40 is more than rubber has on concrete: 'floor'",
    ] {
        assert!(said.contains(words), "'{words}' is not in\n{said}");
    }
    assert!(!said.contains("nothing is said about"));
    let silent = check(folder.write("silent.toml", &with_ball("").replace("mu = 0.3\n", ""))).unwrap();
    assert!(silent.contains("note: nothing is said about the friction of 'ball': it is 0"), "{silent}");
    let made = std::fs::read_to_string(&good).unwrap();
    let made = made.replace("mu = 0.3", "material = \"oak\"").replace("mu = 40", "material = \"stone\"");
    let said = check(folder.write("made.toml", &made)).unwrap();
    assert!(
        said.contains("note: nothing is said about the friction between 'oak' and 'stone': it is 0"),
        "{said}"
    );
    let row = "[[materials.pair]]\nbetween = [\"stone\", \"oak\"]\nmu = 0.5\n";
    let said = check(folder.write("paired.toml", &(made + row))).unwrap();
    assert!(!said.contains("nothing is said about"), "{said}");
    // What is declared is used, or said to be for nothing.
    let set = format!(
        "[parameters]\nx = 3\ny = {{ default = 2, about = \"y and z\" }}\nz = \"= y\"\n{}",
        with_ball("velocity = [\"= x\", 0, 0]\n")
    );
    let said = check(folder.write("set.toml", &set)).unwrap();
    assert!(said.contains("note: a parameter is declared and used nowhere: 'z'"), "{said}");
    let lapped = with_ball("position = [0, 0, 0]")
        + &BALL.replace("\"ball\"", "\"other\"")
        + "position = [0.195, 0, 0]\n";
    let said = check(folder.write("lapped.toml", &lapped)).unwrap();
    assert!(said.contains("note: 1 pair of bodies overlap at the start, the deepest"), "{said}");

    let wrong = "[settings]\nh = -1\nsolver = \"magic\"\n[[body]]\nname = \"a\"\nmass = \"heavy\"\nmas = 1\nposition = [0, \"x\", 0]\n\
        [[body]]\nname = \"b\"\nshape = { type = \"spere\" }\nmass = 1\n[[joint]]\ntype = \"revolute\"\na = \"a\"\nb = \"c\"\n\
        [[joint]]\ntype = \"hinge\"\na = \"a\"\nb = \"b\"\n[[sink]]\nmin = [0, 0]\n";
    let e = check(folder.write("wrong.toml", wrong)).unwrap_err().to_string();
    for words in [
        "wrong.toml:7:1: body[0]: unknown field 'mas'",
        "wrong.toml:6:8: body[0].mass: must be a number",
        "wrong.toml:8:16: body[0].position[1]: must be a number",
        "wrong.toml:11:18: body[1].shape.type: 'spere' is not known; did you mean 'sphere'?",
        "settings: the field 'T' is missing",
        "wrong.toml:16:5: joint[0].b: there is no body named 'c'",
        "wrong.toml:18:8: joint[1].type: 'hinge' is not known",
        "wrong.toml:22:7: sink[0].min: must have 3 numbers",
        "wrong.toml:2:5: settings.h: must be above 0 s",
        "wrong.toml:3:10: settings.solver",
    ] {
        assert!(e.contains(words), "'{words}' is not in\n{e}");
    }
    assert!(e.contains("joint[0]: the field 'axis' is missing"), "{e}");
    assert!(e.contains("body[0]: a body without shape needs 'inertia'"), "{e}");
    assert_eq!(e.lines().count(), 12, "{e}");
}

/// Slips of joints, controls, materials and copies.
#[test]
fn check_notes_what_is_hardly_meant() {
    let says = |text: &str, words: &[&str], not: &[&str]| {
        let folder = Folder::new();
        let said = check(folder.write("s.toml", text)).unwrap();
        words.iter().for_each(|w| assert!(said.contains(w), "'{w}' is not in\n{said}"));
        not.iter().for_each(|w| assert!(!said.contains(w), "'{w}' is in\n{said}"));
    };
    let settings = "[settings]\nh = 0.01\nT = 1\ngravity = [0, 0, 0]\n";
    let ball = |name: &str, x: f64, more: &str| {
        format!(
            "[[body]]\nname = \"{name}\"\nshape = {{ type = \"sphere\", r = 0.1 }}\nmass = 1\nposition = [{x}, 0, 0]\n{more}\n"
        )
    };
    let gear = "[[joint]]\nname = \"teeth\"\ntype = \"gear\"\na = \"a\"\nb = \"b\"\naxis = [0, 0, 1]\naxis_b = [0, 0, 1]\nratio = 2\n";
    let bearing = |b: &str, x: f64| {
        format!(
            "[[joint]]\ntype = \"revolute\"\na = \"world\"\nb = \"{b}\"\nanchor = [{x}, 0, 0]\naxis = [0, 0, 1]\n"
        )
    };
    let wheels = ball("a", 0.0, "mu = 0") + &ball("b", 1.0, "mu = 0");
    let held = bearing("a", 0.0) + &bearing("b", 1.0);
    says(&format!("{settings}{wheels}{gear}"), &["joint 'teeth' couples how 'a' turns", "'b' turns"], &[]);
    says(&format!("{settings}{wheels}{gear}{held}"), &[], &["bearing"]);
    // A hinge whose halves are two metres from each other: told with its name and how far.
    let apart = "[[joint]]\nname = \"hinge\"\ntype = \"ball\"\na = \"world\"\nb = \"a\"\nanchor_a = [0, 0, 2]\nanchor_b = [0, 0, 0]\n";
    says(
        &format!("{settings}{wheels}{apart}"),
        &["(hinge) did not fit", "body 0 (a) was moved by 2.000e0 m"],
        &[],
    );
    let near = apart.replace("[0, 0, 2]", "[0, 0, 0.0001]");
    says(&format!("{settings}{wheels}{near}"), &[], &["did not fit"]);
    // A motor on keys that the page has, or that are bound twice.
    let control = |name: &str, keys: &str| {
        format!(
            "[[control]]\nname = \"{name}\"\njoint = \"spin\"\ncommands = \"speed\"\nrange = [-1, 1]\nkeys = {keys}\n"
        )
    };
    let motor = bearing("a", 0.0) + "name = \"spin\"\nmotor = { speed = 0 }\n";
    let driven = |keys: [&str; 2]| {
        format!("{settings}{wheels}{motor}{}{}", control("one", keys[0]), control("two", keys[1]))
    };
    says(&driven(["[\"KeyS\"]", "[\"KeyI\"]"]), &["KeyS is the control 'one'", "screenshot"], &["KeyI"]);
    says(&driven(["[\"KeyI\"]", "[\"KeyI\"]"]), &["KeyI moves two controls, 'one' and 'two'"], &[]);
    // What an emitter makes is made of something; what nothing is made of is still told.
    let pair = "[[materials.pair]]\nbetween = [\"steel\", \"ice\"]\nmu = 0.1\n";
    let emitter = "[[emitter]]\nmin = [0, 0, 1]\nmax = [1, 1, 2]\nrate = 1\n[[emitter.body]]\nshape = { type = \"sphere\", r = 0.1 }\nmass = 1\nmaterial = \"steel\"\n";
    says(&format!("{settings}{wheels}{pair}{emitter}"), &["nothing is made of 'ice'"], &["'steel'"]);
    // The same body twice: pushed apart and told as an overlap, or not pushed apart and told as such.
    let twice = |more: &str| settings.to_string() + &ball("a", 0.0, more) + &ball("b", 0.0, more);
    says(&twice("mu = 0"), &["overlap by"], &["not pushed apart"]);
    says(&twice("mu = 0\ngroup = 1"), &["not pushed apart: 'a' and 'b'"], &[]);
}

#[test]
fn check_knows_what_is_odd_about_meshes() {
    let folder = Folder::new();
    // A tetrahedron of 100 "millimetres" with a triangle without area, and a fin on an edge.
    let facet = |t: [[f64; 3]; 3]| {
        let corner = |v: [f64; 3]| format!("vertex {} {} {}\n", v[0], v[1], v[2]);
        format!("facet normal 0 0 0\nouter loop\n{}endloop\nendfacet\n", t.map(corner).concat())
    };
    let (o, x, y, z) = ([0.0; 3], [100.0, 0.0, 0.0], [0.0, 100.0, 0.0], [0.0, 0.0, 100.0]);
    let faces = [[o, y, x], [o, x, z], [o, z, y], [x, y, z], [o, o, x]];
    let text: String = faces.iter().map(|t| facet(*t)).collect();
    folder.write("part.stl", &format!("solid part\n{text}endsolid part\n"));
    let fin = text + &facet([o, x, [50.0, -50.0, -50.0]]);
    folder.write("fin.stl", &format!("solid fin\n{fin}endsolid fin\n"));
    let scene = |file: &str, more: &str| {
        format!(
            "[settings]\nT = 1\n[[body]]\nname = \"part\"\nshape = {{ type = \"hull\", file = \"{file}\"{more} }}\ndensity = 7800\nmu = 0.3\n"
        )
    };
    let said = check(folder.write("mm.toml", &scene("part.stl", ""))).unwrap();
    assert!(said.contains("part.stl: 1 triangle without area taken out"), "{said}");
    assert!(
        said.contains("part.stl: is 100 m long; if it was drawn in millimetres, scale = 0.001 is missing"),
        "{said}"
    );
    assert!(said.contains("note: more than 1e7 kg: body 0 (part) has 1.300e9 kg"), "{said}");
    let said = check(folder.write("m.toml", &scene("fin.stl", ", scale = 0.001"))).unwrap();
    assert!(said.contains("fin.stl: 1 edge of more than two triangles"), "{said}");
    assert!(!said.contains("millimetres") && !said.contains("1e7 kg"), "{said}");
}

#[test]
fn what_drystone_new_writes_is_a_scene() {
    let text = include_str!("../../drystone-cli/src/new.toml").replace("NAME", "start");
    let folder = Folder::new();
    let said = check(folder.write("start.toml", &text)).unwrap();
    assert!(!said.contains("note:"), "{said}");
    let mut scene =
        load(&folder.0.join("start.toml").to_string_lossy(), &[("rows".into(), "3".into())]).unwrap();
    assert_eq!(scene.name, "start");
    let (n, _) = steps_until_stop(&mut scene);
    assert!(n > 10);
}

#[test]
fn the_documented_examples_load() {
    let text = include_str!("../../../docs/guide/scene-files.md");
    let blocks: Vec<&str> =
        text.split("```toml\n").skip(3).take(3).map(|b| b.split("```").next().unwrap()).collect();
    let bodies = blocks.iter().map(|b| read(b, &[]).unwrap_or_else(|e| panic!("{e}")).bodies.len());
    assert_eq!(bodies.collect::<Vec<_>>(), [1, 4 * 9 - 6, 1]);
}

/// In a step of 0.8 s bodies fall by three metres, and all of them are candidates for all contacts.
#[test]
fn check_of_a_long_step_looks_at_the_start_alone() {
    let column = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scenes/column.toml");
    let text = std::fs::read_to_string(column).unwrap();
    let step = text.lines().find(|line| line.starts_with("h = ")).unwrap();
    let folder = Folder::new();
    let begun = std::time::Instant::now();
    let said = ["h = 0.8", step].map(|h| check(folder.write("column.toml", &text.replace(step, h))).unwrap());
    let contacts = said.map(|said| said.lines().find(|l| l.starts_with("contacts at")).map(str::to_string));
    assert_eq!(contacts[0], contacts[1]);
    // A minute and more where all pairs are looked at.
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}
