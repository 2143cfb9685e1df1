//! From a name or a path to a scene.

use std::path::{Path, PathBuf};

use drystone_solve::solver::nearest;

use crate::flat::FlatState;
use crate::text::{Format, Node, Source, Value};
use crate::{Scene, SceneError, file, flat, gallery};

/// What `--set` can change in any file.
const FILE_KEYS: &[&str] = &["h", "T", "mu", "seed"];

/// Makes a scene of a gallery name, a scene file (`.toml`, `.json`) or a flat state (`.json`, `.json.gz`).
///
/// `set` overrides parameters of a gallery scene, those that a file declares, and its `h`, `T` (s), `mu` and
/// `seed`; the last of several with one key counts.
pub fn load(what: &str, set: &[(String, String)]) -> Result<Scene, SceneError> {
    if gallery::ENTRIES.iter().any(|e| e.name == what) {
        return gallery::find(what)?.scene(set);
    }
    let is_file = [".toml", ".json", ".json.gz"].iter().any(|end| what.ends_with(end));
    if !is_file && !Path::new(what).exists() {
        return Err(gallery::find(what).err().map_or_else(
            || SceneError::new("no such scene"),
            |e| SceneError::new(format!("{}; a file must end in .toml, .json or .json.gz", e.message)),
        ));
    }
    let source = Source::open(Path::new(what))?;
    let root = source.parse()?;
    let set = set.to_vec();
    if is_flat(&source, &root) {
        let mut scene = FlatState::scene_of(&source, &root)?;
        override_file(&mut scene, &set, &[])?;
        return Ok(scene);
    }
    let root = file::tree(&source, root)?;
    let mut scene = file::scene_of(&source, &root, &set)?;
    let declared = file::parameters(&source, &root, &set)?;
    if root.get("scene").is_some() {
        // The gallery has read them already; the file's own settings must not win over the command line.
        let again: Vec<_> =
            set.into_iter().filter(|(key, _)| ["h", "T", "seed"].contains(&key.as_str())).collect();
        override_file(&mut scene, &again, &[])?;
    } else {
        // What the file declares, it has read already.
        let rest: Vec<_> =
            set.into_iter().filter(|(key, _)| declared.iter().all(|p| p.name != *key)).collect();
        let names: Vec<&str> = declared.iter().map(|p| p.name.as_str()).collect();
        override_file(&mut scene, &rest, &names)?;
    }
    Ok(scene)
}

/// The files that a scene is made of, meshes left out: its own and those that it includes; none for a gallery
/// name.
///
/// # Errors
/// For files that cannot be read.
pub fn files(what: &str) -> Result<Vec<PathBuf>, SceneError> {
    if gallery::ENTRIES.iter().any(|e| e.name == what) {
        return Ok(Vec::new());
    }
    let source = Source::open(Path::new(what))?;
    let root = source.parse()?;
    if !is_flat(&source, &root) {
        file::tree(&source, root)?;
    }
    Ok(source.files())
}

/// Tells one content of a scene file, and of what it includes, from another; None if it is no file.
pub fn sum_of_files(what: &str) -> Option<u64> {
    let files = files(what).ok().filter(|files| !files.is_empty())?;
    let fnv = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    files
        .iter()
        .try_fold(0xcbf2_9ce4_8422_2325, |h, file| Some(std::fs::read(file).ok()?.iter().fold(h, fnv)))
}

/// What a scene file declares under `[parameters]`, in its order, with the values that `set` gives it;
/// nothing for a gallery name, a flat state, or a file of a gallery scene.
///
/// # Errors
/// For a file that cannot be read, and values that it does not allow.
pub fn parameters(what: &str, set: &[(String, String)]) -> Result<Vec<file::Parameter>, SceneError> {
    if gallery::ENTRIES.iter().any(|e| e.name == what) {
        return Ok(Vec::new());
    }
    let source = Source::open(Path::new(what))?;
    let root = source.parse()?;
    if is_flat(&source, &root) {
        return Ok(Vec::new());
    }
    let root = file::tree(&source, root)?;
    file::parameters(&source, &root, &set.to_vec())
}

/// What a file of a scene is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A scene file.
    Scene,
    /// A flat state.
    State,
}

/// Files larger than this are no scenes that anybody writes, bytes.
const MAX_FILE: u64 = 1 << 26;

/// Whether a file is a scene file or a flat state: JSON whose keys at the top are those of one, or TOML; None
/// for anything else and for what cannot be read.
pub fn kind_of(path: &Path) -> Option<FileKind> {
    if std::fs::metadata(path).ok()?.len() > MAX_FILE {
        return None;
    }
    let source = Source::open(path).ok()?;
    let root = source.parse().ok()?;
    let Value::Table(entries) = &root.value else { return None };
    let all = |fields: &[&str]| {
        !entries.is_empty() && entries.iter().all(|e| e.key == "$schema" || fields.contains(&e.key.as_ref()))
    };
    let tables = |key: &str| match root.get(key).map(|n| &n.value) {
        Some(Value::Array(list)) => list.iter().any(|n| matches!(n.value, Value::Table(_))),
        _ => false,
    };
    if source.format == Format::Toml || all(file::FIELDS) || tables("body") {
        return Some(FileKind::Scene);
    }
    (all(flat::FIELDS) || tables("bodies")).then_some(FileKind::State)
}

/// Both kinds of JSON file may be called `.json`: the keys at the top tell. A draw is a flat state if it has
/// a key that scene files have not.
pub(crate) fn is_flat(source: &Source, root: &Node) -> bool {
    let Value::Table(entries) = &root.value else { return true };
    let score = |fields: &[&str]| entries.iter().filter(|e| fields.contains(&e.key.as_ref())).count();
    let own = || {
        entries
            .iter()
            .any(|e| flat::FIELDS.contains(&e.key.as_ref()) && !file::FIELDS.contains(&e.key.as_ref()))
    };
    let [flat, scene] = [flat::FIELDS, file::FIELDS].map(score);
    source.format == Format::Json && (flat > scene || flat == scene && own())
}

fn override_file(scene: &mut Scene, set: &[(String, String)], declared: &[&str]) -> Result<(), SceneError> {
    for (key, text) in set {
        let refuse = |message: String| SceneError { field: Some(key.clone()), ..SceneError::new(message) };
        let number = |least: f64, above: bool, unit: &str| {
            let x = text
                .parse::<f64>()
                .ok()
                .filter(|x| x.is_finite() && if above { *x > least } else { *x >= least });
            let sign = if above { "above" } else { "from" };
            x.ok_or_else(|| refuse(format!("must be a number {sign} {least}{unit}, got '{text}'")))
        };
        match key.as_str() {
            "h" => scene.settings.h = number(0.0, true, " s")?,
            "T" => scene.duration = number(0.0, true, " s")?,
            "mu" => {
                let mu = number(0.0, false, "")?;
                scene.bodies.iter_mut().flat_map(|b| &mut b.colliders).for_each(|c| c.mu = mu);
            }
            "seed" => {
                scene.seed = text.parse().map_err(|_| {
                    refuse(format!("must be a whole number from 0 to {}, got '{text}'", u64::MAX))
                })?;
            }
            other => {
                let mut valid = [declared, FILE_KEYS].concat();
                let mut seen = std::collections::HashSet::new();
                valid.retain(|name| seen.insert(*name));
                let hint =
                    nearest(other, &valid).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
                return Err(SceneError::new(format!(
                    "the file has no parameter '{other}'{hint} (valid: {})",
                    valid.join(", ")
                )));
            }
        }
    }
    Ok(())
}
