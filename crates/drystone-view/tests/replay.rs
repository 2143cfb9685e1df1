//! Recordings in the viewer show what the run itself would have shown, and are followed while they grow.

use std::path::PathBuf;
use std::sync::Arc;

use drystone::World;
use drystone_record::export::Selection;
use drystone_record::recording::{Every, Options, Recording, What, Writer};
use drystone_view::codec::{Decoded, Decoder};
use drystone_view::replay::Replay;
use drystone_view::{Frames, Hello, NUMBERS, Recorder, Store, Told};

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("drystone-replay-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn options(folder: &std::path::Path, h: f64) -> Options {
    Options {
        folder: folder.into(),
        every: Every::Steps(1),
        events: false,
        what: What { contacts: true, joints: true },
        double: true,
        compress: true,
        scene: "test".into(),
        h,
    }
}

/// A scene of the gallery after some steps: recorded on disk, and as the viewer keeps frames itself.
fn both(name: &str, scene: &str, set: &[(&str, &str)], steps: usize) -> (Arc<Store>, Replay, World, PathBuf) {
    let set: Vec<(String, String)> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let scene = drystone_scene::load(scene, &set).unwrap();
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let folder = folder(name);
    let store = Arc::new(Store::new(Hello::of(&scene, &world), usize::MAX));
    let mut keep = Recorder::new(store.clone(), &world, &scene.glass, 0.0);
    let mut writer = Writer::create(options(&folder, world.settings().h)).unwrap();
    writer.begin(&world).unwrap();
    writer.glass(&scene.glass).unwrap();
    for _ in 0..steps {
        let report = world.step().unwrap();
        keep.observe(&world, &report);
        writer.step(&world, &report, 1e-3).unwrap();
    }
    writer.finish().unwrap();
    let replay = Replay::open(&folder, usize::MAX).unwrap();
    (store, replay, world, folder)
}

fn last(frames: &dyn Frames) -> Decoded {
    let mut decoder = Decoder::default();
    (0..frames.count()).map(|k| decoder.read(&frames.frame(k).unwrap()).unwrap()).last().unwrap()
}

fn close(a: f64, b: f64, slack: f64) -> bool {
    (a - b).abs() <= slack * a.abs().max(b.abs()) + 1e-9
}

#[test]
fn a_recording_shows_what_the_run_shows() {
    let (store, replay, world, folder) = both("same", "packing", &[("n", "60")], 70);
    assert_eq!((store.count(), replay.count(), replay.end()), (71, 71, Some(String::new())));
    let (a, b) = (last(store.as_ref()), last(&replay));
    assert_eq!((a.time, a.step, a.alive.len()), (b.time, b.step, b.alive.len()));
    for i in 0..a.alive.len() {
        assert_eq!(a.alive[i], b.alive[i], "{i}");
        // Both are rounded, to the same grid.
        assert!((a.position[i] - b.position[i]).length() < 1e-12, "{i}");
        assert!(a.rotation[i].angle_between(b.rotation[i]) < 1e-3, "{i}");
    }
    for channel in [0, 1, 2, 4] {
        for (i, (x, y)) in a.values[channel].iter().zip(&b.values[channel]).enumerate() {
            assert!(close(f64::from(*x), f64::from(*y), 2e-3), "channel {channel}, body {i}: {x} {y}");
        }
    }
    assert_eq!(a.contacts.len(), b.contacts.len());
    assert!(a.contacts.len() > 60);
    for (x, y) in a.contacts.iter().zip(&b.contacts) {
        assert_eq!(x.bodies, y.bodies);
        assert!((x.force - y.force).length() <= 1e-3 * x.force.length() + 1e-6);
    }
    // A frame a step: the numbers are those of the step.
    for (k, (name, _)) in NUMBERS.iter().enumerate().filter(|(k, _)| ![7, 12].contains(k) && *k < 13) {
        let (x, y) = (f64::from(a.numbers[k]), f64::from(b.numbers[k]));
        assert!(close(x, y, 1e-5), "{name}: {x} {y}");
    }
    let hello = replay.hello();
    assert_eq!(hello.gravity, world.settings().gravity.to_array());
    assert_eq!(hello.tolerance, world.settings().tolerance);
    // Shapes, names and glass are the same bytes.
    assert_eq!(store.stage(&mut Told::default()), replay.stage(&mut Told::default()));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn joints_are_where_they_were() {
    let (store, replay, _, folder) = both("joints", "four-bar", &[], 3);
    assert_eq!(store.stage(&mut Told::default()), replay.stage(&mut Told::default()));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn frames_are_read_in_any_order_with_little_memory() {
    let (_, replay, _, folder) = both("order", "packing", &[("n", "20")], 70);
    let small = Replay::open(&folder, 1).unwrap();
    for k in [70, 3, 33, 0, 64] {
        assert_eq!(small.frame(k), replay.frame(k), "{k}");
    }
    assert!(small.frame(71).is_none());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn bodies_that_come_and_go_are_there_when_they_were() {
    let (store, replay, _, folder) = both("flow", "hopper", &[("n", "60")], 120);
    let (a, b) = (last(store.as_ref()), last(&replay));
    let there = |d: &Decoded| d.alive.iter().filter(|a| **a).count();
    assert_eq!(there(&a), there(&b));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_selection_has_its_frames_and_bodies() {
    let (_, replay, _, folder) = both("some", "packing", &[("n", "20")], 40);
    let recording = Recording::open(&folder).unwrap();
    let selection = Selection::new(&recording, (0.0, f64::INFINITY), 10, &[]).unwrap();
    let some = Replay::selected(recording, selection);
    assert_eq!(some.count(), 5);
    let (a, b) = (last(&replay), last(&some));
    assert_eq!((a.step, a.time), (b.step, b.time));
    // Of the steps between two frames the worst counts.
    assert!(b.numbers[3] >= a.numbers[3] && b.numbers[2] >= a.numbers[2]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_recording_is_followed_while_it_grows() {
    let scene = drystone_scene::load("packing", &[("n".into(), "20".into())]).unwrap();
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let folder = folder("grows");
    let mut writer = Writer::create(options(&folder, world.settings().h)).unwrap();
    writer.begin(&world).unwrap();
    let mut go = |writer: &mut Writer, steps: usize| {
        for _ in 0..steps {
            let report = world.step().unwrap();
            writer.step(&world, &report, 1e-3).unwrap();
        }
    };
    go(&mut writer, 5);
    // Segments are closed after two seconds.
    let first = folder.join("run.00000.h5");
    while !first.is_file() {
        std::thread::sleep(std::time::Duration::from_millis(300));
        go(&mut writer, 1);
    }
    let replay = Replay::open(&folder, usize::MAX).unwrap();
    let early = replay.count();
    assert!(early > 5 && replay.end().is_none(), "{early} {:?}", replay.end());
    assert!(replay.frame(early - 1).is_some() && replay.frame(early).is_none());
    go(&mut writer, 10);
    writer.finish().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert!(replay.count() >= early + 10);
    assert_eq!(replay.end(), Some(String::new()));
    assert_eq!(last(&replay).step, replay.count() as u64 - 1);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = folder("none");
    std::fs::create_dir_all(&folder).unwrap();
    let error = Replay::open(&folder, 0).err().unwrap().to_string();
    assert!(error.contains("is no recording"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}
