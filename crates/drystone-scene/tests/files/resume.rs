//! A run that is saved, loaded into a new world and gone on with is the run that never stopped, bit for bit:
//! over the whole gallery.

use drystone::{Settings, Sleep, World};
use drystone_scene::{Scene, gallery, load};

/// A scene in a size for tests, and how many steps are done before it is saved.
fn small(name: &str) -> (Vec<(&'static str, &'static str)>, u64) {
    match name {
        "packing" => (vec![("n", "150"), ("shape", "mixed")], 60),
        "shaker" => (vec![("n", "400")], 40),
        "pbr" => (vec![("n", "600")], 40),
        "brazil-nut" => (vec![("n", "60")], 12),
        "wall" => (vec![("width", "5"), ("height", "5")], 30),
        "shear" | "triaxial" => (vec![], 15),
        "wheel" => (vec![("n", "300"), ("settle", "0.02")], 20),
        "drum" => (vec![("n", "150")], 60),
        "hopper" => (vec![("n", "200")], 80),
        "ballast" => (vec![("n", "20")], 60),
        "conveyor" => (vec![], 250),
        "cradle" | "pendulum" | "top" | "four-bar" | "andrews" => (vec![], 150),
        _ => (vec![], 40),
    }
}

fn scene(name: &str, set: &[(&str, &str)]) -> Scene {
    let set: Vec<_> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    load(name, &set).unwrap()
}

/// Steps, and what the probe says at the end.
fn go_on(scene: &mut Scene, world: &mut World, steps: u64) {
    for _ in 0..steps {
        world.step().unwrap();
        scene.probe.observe(world);
    }
}

/// A new scene and world that go on where the others are.
fn copy(from: &mut Scene, world: &World, mut scene: Scene) -> (Scene, World) {
    let bytes = world.save().unwrap();
    let seen = from.probe.save().unwrap();
    let mut other = World::load(&bytes).unwrap();
    if let Some(drive) = scene.probe.drive() {
        other.before_step(move |world| drive(world));
    }
    scene.probe.load(&seen).unwrap();
    assert_eq!(other.save().unwrap(), bytes, "saved again, it is the same bytes");
    (scene, other)
}

fn check(name: &str, set: &[(&str, &str)], steps: u64, change: impl Fn(&mut Settings)) {
    let mut whole = scene(name, set);
    let mut settings = whole.settings.clone();
    change(&mut settings);
    let mut world = whole.world(settings).unwrap();
    go_on(&mut whole, &mut world, steps);
    let (mut second, mut other) = copy(&mut whole, &world, scene(name, set));
    go_on(&mut whole, &mut world, steps);
    go_on(&mut second, &mut other, steps);
    assert_eq!(other.state().hash(), world.state().hash(), "{name}: motion");
    assert!(other.state() == world.state(), "{name}: state");
    assert!(other.contacts() == world.contacts(), "{name}: contacts");
    let (a, b) = (whole.probe.results(&world), second.probe.results(&other));
    assert_eq!(serde_json::to_string(&a).unwrap(), serde_json::to_string(&b).unwrap(), "{name}: results");
}

#[test]
fn every_scene_goes_on_to_the_same_bits() {
    for entry in gallery::ENTRIES {
        let (set, steps) = small(entry.name);
        check(entry.name, &set, steps, |_| {});
    }
}

#[test]
fn sleepers_and_substeps_go_on_to_the_same_bits() {
    let sleep = |s: &mut Settings| s.sleep = Some(Sleep { speed: Some(0.05), time: 0.1 });
    check("packing", &[("n", "60"), ("height", "4")], 150, sleep);
    check("pyramid", &[], 40, sleep);
    check("spider", &[], 60, sleep);
    check("packing", &[("n", "60")], 60, |s| s.substeps = 3);
}

/// Thousands of bodies are worked on in the order of a curve, which is renewed now and then.
#[test]
fn the_order_of_many_bodies_is_kept() {
    check("shaker", &[("n", "5000")], 9, |_| {});
}

#[test]
fn drives_are_not_forgotten() {
    let scene = scene("wall", &[]);
    let world = scene.world(scene.settings.clone()).unwrap();
    let mut other = World::load(&world.save().unwrap()).unwrap();
    let text = other.step().unwrap_err().to_string();
    assert!(text.contains("1 before steps"), "{text}");
    other.forgo_hooks();
    other.step().unwrap();
}
