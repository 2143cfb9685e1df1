//! The gallery's scenes that are files, too (`examples/gallery`), are the built-in ones: the same bodies,
//! joints, controls and settings, and the same first steps.

use std::path::{Path, PathBuf};

use drystone::{BodyId, Motion, Shape, World};
use drystone_scene::control::Control;
use drystone_scene::{Scene, check, gallery, load};
use glam::{DMat3, DVec3};

/// Steps that are compared.
const STEPS: usize = 20;
/// Of lengths, masses and moments, over their own size: formulas are evaluated in another order.
const CLOSE: f64 = 1e-9;
/// Of places after the steps, m over the scene's size: contacts that open and close amplify rounding.
const AFTER: f64 = 1e-6;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gallery")
}

fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|f| f.unwrap().path());
    let mut all: Vec<String> = files
        .filter(|f| f.extension().is_some_and(|e| e == "toml"))
        .map(|f| f.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    all.sort();
    all
}

type Set = &'static [(&'static str, &'static str)];

/// What is compared beside the defaults: set in the gallery, and in the file.
fn variants(name: &str) -> Vec<(Set, Set)> {
    let both = |set: Set| (set, set);
    match name {
        "shaker" => vec![both(&[("n", "400")]), both(&[("n", "150"), ("r", "0.1"), ("seed", "7")])],
        "hopper" => vec![both(&[("n", "430"), ("seed", "3")]), both(&[("n", "300"), ("angle_deg", "40")])],
        "packing" => vec![both(&[]), both(&[("n", "400"), ("fraction", "0.5"), ("seed", "9")])],
        "penetrometer" | "shear" => vec![both(&[("n", "300"), ("seed", "4")]), both(&[("n", "211")])],
        "wheel" => vec![both(&[("n", "500"), ("slip", "0.1")])],
        "stack" => vec![both(&[]), (&[("shape", "box"), ("ratio", "2")], &[("box", "1"), ("ratio", "2")])],
        "pyramid" => vec![both(&[("layers", "6")])],
        "incline" => vec![both(&[]), (&[("angle_deg", "30")], &[("angle", "30")])],
        "wall" => vec![
            both(&[]),
            both(&[("width", "5"), ("height", "3"), ("settle", "-0.1"), ("joint", "0.02"), ("part", "0.3")]),
        ],
        "arch" => vec![
            both(&[]),
            (&[("blocks", "7"), ("thickness_ratio", "0.3")], &[("blocks", "7"), ("thickness", "0.3")]),
        ],
        "cradle" => vec![both(&[]), both(&[("n", "3"), ("e", "0.5"), ("gap", "0")])],
        "four-bar" => vec![both(&[]), both(&[("n", "4"), ("speed", "2")])],
        "conveyor" => vec![both(&[]), both(&[("speed", "-0.5"), ("rate", "20")])],
        "cam" => vec![both(&[]), both(&[("mu", "0.2"), ("mass", "0.7")])],
        // Two thirds of the whole run, and the other way round.
        "andrews" => vec![both(&[]), both(&[("h", "0.001")]), both(&[("torque", "-0.05"), ("h", "0.0005")])],
        // A whole period of the gait within the steps that are compared.
        "spider" => vec![
            both(&[]),
            both(&[("period", "0.2"), ("stride", "0.2"), ("lift", "0.4")]),
            both(&[("limbs", "2"), ("inertia", "1.5"), ("mu", "0.8")]),
        ],
        _ => vec![both(&[])],
    }
}

fn owned(set: Set) -> Vec<(String, String)> {
    set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

fn near(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= CLOSE * scale.max(1e-12)
}

/// Which body of B is which of A: that of its name where both worlds have the same names and each once, that
/// of its number otherwise. A loop of a file makes all femora before all shins, a program leg by leg.
fn pairs(a: &World, b: &World) -> Vec<usize> {
    let names = |w: &World| -> Option<Vec<(String, usize)>> {
        let named = w.model().bodies.iter().enumerate();
        let mut all: Vec<_> =
            named.map(|(i, b)| b.name.as_deref().map(|n| (n.to_string(), i))).collect::<Option<_>>()?;
        all.sort();
        all.windows(2).all(|n| n[0].0 != n[1].0).then_some(all)
    };
    let mut of: Vec<usize> = (0..a.model().bodies.len()).collect();
    if let (Some(x), Some(y)) = (names(a), names(b))
        && x.len() == y.len()
        && x.iter().zip(&y).all(|(x, y)| x.0 == y.0)
    {
        x.iter().zip(&y).for_each(|(x, y)| of[x.1] = y.1);
    }
    of
}

/// The same matter at the same places.
fn same_worlds(what: &str, a: &World, b: &World, of: &[usize]) {
    let (m, n) = (a.model(), b.model());
    assert_eq!(m.bodies.len(), n.bodies.len(), "{what}: bodies");
    for (i, &j) in of.iter().enumerate() {
        let (x, y) = (&m.bodies[i], &n.bodies[j]);
        let what = format!("{what}: body {i} ({:?}, {:?})", x.name, y.name);
        assert_eq!((x.motion, x.group), (y.motion, y.group), "{what}");
        let [p, q] = [(a, i), (b, j)]
            .map(|(w, k)| (w.state().position[k], w.state().velocity[k], w.state().world_omega(k)));
        assert!((p.0 - q.0).length() <= CLOSE * p.0.length().max(1e-3), "{what}: {} {}", p.0, q.0);
        assert!((p.1 - q.1).length() <= CLOSE * (1.0 + p.1.length()), "{what}: {} {}", p.1, q.1);
        assert!((p.2 - q.2).length() <= CLOSE * (1.0 + p.2.length()), "{what}: {} {}", p.2, q.2);
        if x.motion == Motion::Dynamic {
            assert!(near(x.mass.mass, y.mass.mass, x.mass.mass), "{what}: {} {}", x.mass.mass, y.mass.mass);
            // In the world's axes.
            let turned = |w: &World, k: usize| {
                let r = DMat3::from_quat(w.state().rotation[k]);
                (r * w.model().bodies[k].mass.inertia * r.transpose()).to_cols_array()
            };
            let (p, q) = (turned(a, i), turned(b, j));
            let size = p.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            assert!(p.iter().zip(q).all(|(p, q)| near(*p, q, size)), "{what}: {p:?} {q:?}");
        }
    }
    assert_eq!(m.colliders.len(), n.colliders.len(), "{what}: shapes");
    let shapes = |w: &World, body: usize| -> Vec<usize> {
        let all = w.model().colliders.iter().enumerate();
        all.filter(|(_, c)| c.body as usize == body).map(|(k, _)| k).collect()
    };
    let of_bodies = of.iter().enumerate().flat_map(|(i, &j)| {
        let (k, l) = (shapes(a, i), shapes(b, j));
        assert_eq!(k.len(), l.len(), "{what}: shapes of body {i}");
        k.into_iter().zip(l)
    });
    for (k, l) in of_bodies {
        let (c, d) = (&m.colliders[k], &n.colliders[l]);
        let what = format!("{what}: shape {k} of body {}", c.body);
        assert_eq!((c.shape.name(), c.filter), (d.shape.name(), d.filter), "{what}");
        assert!(near(c.mu, d.mu, 1.0), "{what}: {} {}", c.mu, d.mu);
        assert_eq!(c.surface_velocity, d.surface_velocity, "{what}");
        let radius = c.shape.bounding_radius();
        if radius.is_finite() {
            assert!(near(c.shape.volume(), d.shape.volume(), c.shape.volume()), "{what}");
            // As boxes: a wrong order of sides has the same volume.
            let boxed = |w: &World, shape: &Shape, k: usize| {
                shape.aabb(&w.model().collider_pose(w.state(), k).unwrap())
            };
            let (p, q) = (boxed(a, &c.shape, k), boxed(b, &d.shape, l));
            let off = (p.min - q.min).length() + (p.max - q.max).length();
            assert!(off <= 10.0 * CLOSE * (radius + p.max.length()), "{what}: {off:e} m");
        }
    }
}

fn same_settings(what: &str, a: &Scene, b: &Scene) {
    assert!(near(a.duration, b.duration, a.duration), "{what}: T");
    assert_eq!(format!("{:?}", a.settings), format!("{:?}", b.settings), "{what}");
    // The cradle of the gallery hangs its balls up in its first step.
    if a.name != "cradle" {
        assert_eq!(a.joints.len(), b.joints.len(), "{what}: joints");
    }
    assert_eq!((a.flow.emitters.len(), a.flow.sinks.len()), (b.flow.emitters.len(), b.flow.sinks.len()));
    assert_eq!(a.seed, b.seed, "{what}");
    assert_eq!(controls(a), controls(b), "{what}");
}

/// What each key does to which joint: a program may command with one control what takes two in a file.
fn controls(scene: &Scene) -> Vec<String> {
    let name = |id: Option<BodyId>| id.map(|id| scene.bodies[id.slot as usize].name.clone());
    let one = |c: &Control| {
        let how = format!("{:?}", (&c.unit, c.range, c.start, c.rate, c.hold, &c.keys, &c.gamepad));
        let to = c.targets.iter().map(|t| {
            let joint = &scene.joints[t.joint as usize];
            let between = (name(joint.a), joint.kind.name(), name(joint.b));
            format!("{:?} {how}", (between, t.coordinate, t.quantity, t.scale))
        });
        to.collect::<Vec<_>>()
    };
    let mut all: Vec<String> = scene.controls.iter().flat_map(one).collect();
    all.sort();
    all
}

#[test]
fn files_are_the_built_in_scenes() {
    let all = names();
    assert!(all.len() >= 23, "{all:?}");
    // Of the pendulum the gallery shows where it is after equal times, too: those shapes are not in the file.
    for name in all.iter().filter(|n| *n != "pendulum") {
        let path = folder().join(format!("{name}.toml")).to_string_lossy().into_owned();
        for (of_gallery, of_file) in variants(name) {
            let what = format!("{name} {of_file:?}");
            let built_in = gallery::find(name).unwrap().scene(&owned(of_gallery)).unwrap();
            let from_file = load(&path, &owned(of_file)).unwrap_or_else(|e| panic!("{what}: {e}"));
            same_settings(&what, &built_in, &from_file);
            let [mut a, mut b] =
                [&built_in, &from_file].map(|scene| scene.world(scene.settings.clone()).unwrap());
            let of = pairs(&a, &b);
            same_worlds(&what, &a, &b, &of);
            for _ in 0..STEPS {
                a.step().unwrap();
                b.step().unwrap();
            }
            let size = a.state().position.iter().map(|x| x.length()).fold(0.1, f64::max);
            assert_eq!(a.state().position.len(), b.state().position.len(), "{what}");
            // What an emitter has added comes behind the others.
            let apart =
                |(i, x): (usize, &DVec3)| x.distance(b.state().position[of.get(i).copied().unwrap_or(i)]);
            let off = a.state().position.iter().enumerate().map(apart).fold(0.0, f64::max);
            println!("{what}: {off:e} m apart after {STEPS} steps");
            assert!(off <= AFTER * size, "{what}: {off:e} m apart after {STEPS} steps");
        }
    }
}

#[test]
fn files_are_read_without_a_note_and_listed() {
    let list = std::fs::read_to_string(folder().join("README.md")).unwrap();
    for name in names() {
        let said = check(folder().join(format!("{name}.toml"))).unwrap_or_else(|e| panic!("{e}"));
        let known = ["overlap at the start"];
        let note = said.lines().find(|l| l.contains("note:") && !known.iter().any(|k| l.contains(k)));
        assert_eq!(note, None, "{name}");
        assert!(list.contains(&format!("[{name}.toml]({name}.toml)")), "{name} is not in README.md");
    }
    // All others are there with a reason.
    for entry in gallery::ENTRIES {
        let named = [format!("| `{}` |", entry.name), format!("[{}.toml]", entry.name)];
        assert!(named.iter().any(|n| list.contains(n)), "{} is not in README.md", entry.name);
    }
}
