//! Running scenes and reading their results.

use std::collections::BTreeMap;

use drystone::{Settings, World};
use drystone_scene::{Scene, load};
use serde_json::Value;

pub type Results = BTreeMap<String, Value>;

pub fn scene(name: &str, set: &[(&str, &str)]) -> Scene {
    let set: Vec<_> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    load(name, &set).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// To the scene's end.
pub fn run(scene: Scene) -> (World, Results) {
    let settings = scene.settings.clone();
    run_with(scene, settings)
}

/// To the scene's end, with settings that may differ from its own.
pub fn run_with(mut scene: Scene, settings: Settings) -> (World, Results) {
    let steps = (scene.duration / settings.h).round() as usize;
    let mut world = scene.world(settings).unwrap();
    for _ in 0..steps {
        world.step().unwrap();
        scene.probe.observe(&world);
    }
    let results = scene.probe.results(&world);
    (world, results)
}

pub fn number(results: &Results, key: &str) -> f64 {
    results[key].as_f64().unwrap_or_else(|| panic!("{key} in {results:?}"))
}

pub fn near(results: &Results, key: &str, expected: f64, share: f64) {
    let x = number(results, key);
    assert!((x - expected).abs() <= share * expected.abs(), "{key}: {x}, expected {expected}");
}
