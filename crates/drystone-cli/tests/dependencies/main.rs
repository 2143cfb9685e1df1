//! Arrows point down only: every crate of the workspace may use just the crates below it. Comments fit the
//! page.

mod circles;

use std::collections::BTreeMap;
use std::path::Path;

/// From the bottom up; a crate may depend on those before it that its row names.
const ALLOWED: &[(&str, &[&str])] = &[
    ("drystone-solve", &[]),
    ("drystone-memory", &[]),
    // Its tests solve the problems of scenes.
    ("drystone-cuda", &["drystone", "drystone-solve", "drystone-scene"]),
    ("drystone", &["drystone-solve"]),
    ("drystone-tests", &["drystone", "drystone-solve"]),
    ("drystone-ranks", &["drystone", "drystone-solve"]),
    ("drystone-record", &["drystone", "drystone-solve"]),
    ("drystone-scene", &["drystone", "drystone-solve", "drystone-record"]),
    ("drystone-view", &["drystone", "drystone-solve", "drystone-record", "drystone-scene"]),
    (
        "drystone-cli",
        &[
            "drystone",
            "drystone-solve",
            "drystone-cuda",
            "drystone-memory",
            "drystone-record",
            "drystone-scene",
            "drystone-view",
        ],
    ),
    ("drystone-mpi", &["drystone", "drystone-solve", "drystone-memory", "drystone-ranks", "drystone-cli"]),
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

/// Most characters of a line of comment, as of code.
const WIDTH: usize = 110;

/// Whether a comment may be longer: tables, formulas and code are indented by four or begin with a bar.
fn is_set_apart(comment: &str) -> bool {
    let text = comment.trim_start_matches(['/', '!']);
    text.trim_start().starts_with('|') || text.starts_with("    ")
}

/// The lines of a source file that are longer than they may be, with their numbers.
fn too_long(source: &str) -> Vec<usize> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(source.lines()) {
        let comment = line.trim_start();
        if !comment.starts_with("//") {
            in_code = false;
            continue;
        }
        in_code ^= comment.trim_start_matches(['/', '!', ' ']).starts_with("```");
        if line.chars().count() > WIDTH && !in_code && !is_set_apart(comment) {
            found.push(number);
        }
    }
    found
}

#[test]
fn comments_fit_the_page() {
    let long = "x ".repeat(60);
    assert_eq!(too_long(&format!("// {long}\n// | {long}\n//     {long}\nlet {long}\n/// {long}")), [1, 5]);
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    folders.push(folders[0].join("../python"));
    let (mut files, mut found) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !["target", "node_modules"].contains(&name) {
                folders.push(path);
            } else if name.ends_with(".rs") {
                files += 1;
                let lines = too_long(&std::fs::read_to_string(&path).unwrap());
                found.extend(lines.iter().map(|line| format!("{}:{line}", path.display())));
            }
        }
    }
    assert!(files > 300, "{files} files");
    assert!(found.is_empty(), "comments of more than {WIDTH} characters:\n{}", found.join("\n"));
}
