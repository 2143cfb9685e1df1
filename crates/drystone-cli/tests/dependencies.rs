//! Arrows point down only: every crate of the workspace may use just the crates below it.

use std::collections::BTreeMap;
use std::path::Path;

/// From the bottom up; a crate may depend on those before it that its row names.
const ALLOWED: &[(&str, &[&str])] = &[
    ("drystone-solve", &[]),
    // Its tests solve the problems of scenes.
    ("drystone-cuda", &["drystone", "drystone-solve", "drystone-scene"]),
    ("drystone", &["drystone-solve"]),
    ("drystone-ranks", &["drystone", "drystone-solve"]),
    ("drystone-record", &["drystone", "drystone-solve"]),
    ("drystone-scene", &["drystone", "drystone-solve", "drystone-record"]),
    ("drystone-view", &["drystone", "drystone-solve", "drystone-record", "drystone-scene"]),
    ("drystone-mpi", &["drystone", "drystone-solve", "drystone-ranks", "drystone-record", "drystone-scene"]),
    (
        "drystone-cli",
        &[
            "drystone",
            "drystone-solve",
            "drystone-cuda",
            "drystone-record",
            "drystone-scene",
            "drystone-view",
        ],
    ),
];

/// The workspace crates that a manifest names under any kind of dependencies.
fn uses(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_dependencies = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            in_dependencies = line.contains("dependencies");
            // [dependencies.drystone] names one in its header.
            if let Some(name) = line.trim_matches(['[', ']']).split("dependencies.").nth(1) {
                found.push(name.to_string());
            }
        } else if in_dependencies && let Some((name, _)) = line.split_once('=') {
            found.push(name.trim().split('.').next().unwrap_or_default().trim_matches('"').to_string());
        }
    }
    found.retain(|n| n.starts_with("drystone"));
    found
}

#[test]
fn arrows_point_down() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let mut seen = 0;
    for entry in std::fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(manifest) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let name = folder.file_name().unwrap().to_str().unwrap().to_string();
        let may = allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} has no row in this test"));
        for used in uses(&manifest) {
            assert!(may.contains(&used.as_str()), "{name} must not depend on {used}");
        }
        seen += 1;
    }
    assert_eq!(seen, ALLOWED.len());
}

#[test]
fn the_reader_sees_every_kind_of_dependency() {
    let manifest = "[dependencies]\ndrystone = { workspace = true }\n[dev-dependencies.drystone-cli]\npath = \"x\"\n\
                    [target.'cfg(unix)'.dependencies]\ndrystone-scene.workspace = true\n[package]\nname = \"drystone-x\"\n";
    assert_eq!(uses(manifest), ["drystone", "drystone-cli", "drystone-scene"]);
}
