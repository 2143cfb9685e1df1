//! Files that cases are made of, as parts of the program: it needs nothing beside itself.

/// A file's name, and what is in it.
pub type File = (&'static str, &'static [u8]);

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => { &[$(($name, include_bytes!(concat!($folder, $name)))),*] };
}

/// Scene files of the examples.
#[rustfmt::skip]
pub const EXAMPLES: &[File] = files!["../../../../examples/scenes/":
    "arm.toml", "bridge.toml", "column.toml", "conveyor.toml", "cradle.toml", "dominoes.toml",
    "drum.toml", "gears.toml", "hopper.toml", "house.toml", "quake.toml", "sieve.toml",
    "vehicle.toml",
];

/// What the examples read.
pub const BESIDE: &[File] =
    files!["../../../../examples/scenes/": "hopper.stl", "hills.csv", "quake.csv", "quake.toml"];

/// Scene files that something is wrong with.
#[rustfmt::skip]
pub const MALFORMED: &[File] = files!["../../../drystone-scene/tests/malformed/":
    "body-friction-negative.toml", "body-inertia-impossible.toml", "body-mass-and-density.toml",
    "body-mass-negative.toml", "body-motion-misspelt.toml", "body-no-mass.toml",
    "body-no-shape-no-mass.toml", "body-none.toml", "body-plane-falls.toml",
    "body-position-two-numbers.toml", "body-rotation-long.toml", "body-rotation-zero.toml",
    "body-static-with-mass.toml", "body-static-with-velocity.toml", "control-joint-misspelt.toml",
    "control-key-reserved.toml", "control-key-unknown.toml", "control-range-turned.toml",
    "copies-box-too-small.toml", "copies-kind-misspelt.toml", "emitter-box-turned.toml",
    "field-cutoff-missing.toml", "field-misspelt.toml",
    "field-unknown-at-top.toml", "formula-divided-by-zero.toml", "formula-not-closed.toml",
    "formula-unknown-name.toml", "function-file-missing.toml", "function-times-fall.toml",
    "function-two-kinds.toml", "gallery-parameter-unknown.toml", "gallery-with-bodies-and-formulas.toml",
    "gallery-with-bodies.toml", "include-itself.toml", "include-missing.toml",
    "joint-axis-missing.toml", "joint-axis-zero.toml", "joint-body-misspelt.toml",
    "joint-does-not-come-together.toml", "joint-limits-turned.toml", "joint-motor-two-commands.toml",
    "joint-to-itself.toml", "joint-two-bodies-of-one-name.toml", "json-comma.json", "json-cut-off.json",
    "json-list-at-top.json", "loop-not-whole.toml", "loop-too-many.toml", "material-pair-twice.toml",
    "parameter-out-of-range.toml", "parameter-reserved-name.toml", "probe-body-misspelt.toml",
    "record-every-bare-seconds.toml", "record-every-nothing.toml", "settings-end-negative.toml",
    "settings-gravity-number.toml", "settings-iterations-half.toml", "settings-no-end.toml",
    "settings-periodic-turned.toml", "settings-snap-after-end.toml", "settings-solver-misspelt.toml",
    "settings-step-text.toml", "settings-step-zero.toml", "several-errors.toml",
    "shape-field-of-another.toml", "shape-file-missing.toml", "shape-heights-ragged.toml",
    "shape-hull-flat.toml", "shape-no-type.toml", "shape-radius-missing.toml", "shape-radius-zero.toml",
    "shape-type-misspelt.toml", "stop-formula-unknown.toml", "text-empty.toml", "text-key-twice.toml",
    "text-list-not-closed.toml", "text-no-closing-quote.toml", "text-not-toml.toml",
];

/// None is forgotten.
#[test]
fn all_scene_files_are_seeds() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (folder, files) in [("../examples/scenes", EXAMPLES), ("drystone-scene/tests/malformed", MALFORMED)] {
        // The program may run where there is no source.
        let Ok(entries) = std::fs::read_dir(crates.join(folder)) else { continue };
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        let is_scene = |n: &String| n.ends_with(".toml") || n.ends_with(".json");
        let mut there: Vec<String> = names.filter(is_scene).collect();
        there.sort();
        assert_eq!(there, files.iter().map(|f| f.0).collect::<Vec<_>>(), "{folder}");
    }
}
