//! Scene files that something is wrong with, each with what `drystone check` says of it in the file beside
//! it.
//!
//! `DRYSTONE_REWRITE=1 cargo test -p drystone-scene --test malformed` writes those anew: read the difference
//! before it is kept.

use std::path::{Path, PathBuf};

/// What is said of a file, without the folder that it is in.
fn said(folder: &Path, path: &Path) -> String {
    let text = match drystone_scene::check(path) {
        Ok(text) => format!("read without an error:\n{text}"),
        Err(e) => e.to_string(),
    };
    text.replace(&format!("{}/", folder.display()), "") + "\n"
}

#[test]
fn malformed_files_are_refused_in_words_that_help() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/malformed");
    let is_scene = |p: &PathBuf| p.extension().is_some_and(|e| e == "toml" || e == "json");
    let mut scenes: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).filter(is_scene).collect();
    scenes.sort();
    assert!(scenes.len() >= 50, "{} files", scenes.len());
    let rewrite = std::env::var("DRYSTONE_REWRITE").is_ok();
    let mut wrong = Vec::new();
    for path in &scenes {
        let (name, said) = (path.file_name().unwrap().to_string_lossy().into_owned(), said(&folder, path));
        assert!(!said.starts_with("read without"), "{name}: {said}");
        // Every complaint begins with the file, and with line and column unless it is about the file as a
        // whole.
        assert!(said.lines().all(|l| l.starts_with(&name)), "{name}: {said}");
        let kept = path.with_extension("txt");
        if rewrite {
            std::fs::write(&kept, &said).unwrap();
        }
        let wanted = std::fs::read_to_string(&kept).unwrap_or_default();
        if wanted != said {
            wrong.push(format!("{name}: should say\n{wanted}and says\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
