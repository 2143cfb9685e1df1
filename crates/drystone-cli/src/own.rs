//! What a result may take the place of: a result of its own kind, known by its content. What people and other
//! programs write stays.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::de::IgnoredAny;

/// What a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Report,
    Snapshots,
    /// What was driven in a live run.
    Inputs,
    /// A flat state.
    State,
    /// A problem that a run has written.
    Problem,
    /// A table, as .csv or .parquet.
    Table,
    Png,
    Svg,
    Html,
    Gltf,
    /// Surfaces, or their list.
    Vtk,
    Film,
    /// The parts of a mesh.
    Obj,
    /// A scene file that `import` made.
    Imported,
    /// One of those above that nothing is written to: files with numbers behind its name.
    Numbered,
}

/// How a kind is called, and by what it is known: each text of one of the lists is in a file's first or last
/// bytes.
const MARKS: &[(Kind, &str, &[&[&str]])] = &[
    (Kind::Snapshots, "a file of snapshots", &[&["\"engine\":\"drystone\"", "\"setting\":", "\"snaps\":["]]),
    (Kind::Inputs, "a file of inputs", &[&["\"drystone_inputs\":", "\"events\":"]]),
    (Kind::Problem, "a problem", &[&["\"W\":", "\"source\":\"drystone "], &["\u{fffd}HDF"]]),
    (Kind::Table, "a table", &[&["step,time_s,"], &["PAR1", "drystone "]]),
    (Kind::Png, "a picture", &[&["PNG", "Software\0drystone"]]),
    (Kind::Svg, "a plot", &[&["<svg", "\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\""]]),
    (Kind::Html, "a page", &[&["<meta name=\"generator\" content=\"drystone\">"]]),
    (Kind::Gltf, "an animation", &[&["\"generator\":\"drystone "]]),
    (Kind::Vtk, "a surface", &[&["<VTKFile", "<!-- drystone -->"]]),
    (Kind::Film, "a film", &[&["ftyp", "drystone"]]),
    (Kind::Obj, "parts of a mesh", &[&["# convex parts, made by drystone decompose; "]]),
    (Kind::Imported, "a scene file of drystone import", &[&["# Made of ", " by drystone import.\n"]]),
];
/// Keys at the top of the JSON that commands write, of an object or of the first one in a list.
const KEYS: &[(Kind, &str, &[&[&str]])] = &[
    (Kind::State, "a flat state", &[&["name", "h", "T", "gravity", "bodies"]]),
    (
        Kind::Report,
        "a report",
        &[
            // run, solve, compare (a scene, problems), study, zoo, bench, lcp tables, races.
            &["status", "scene", "version", "backend"],
            &["status", "name", "kind", "model", "solver"],
            &["scene", "time_s", "bodies", "contacts", "rows", "entries"],
            &["model", "tolerance", "solvers", "asked", "problems", "fastest"],
            &["scene", "arguments", "vary", "measure", "curves"],
            &["version", "seed", "count", "checked", "scenes"],
            &["name", "title", "solver", "ms_total", "ns_per_contact_iteration"],
            &["facets", "form", "pyramids", "differences"],
            &["solver", "size", "asked", "wall_ms", "cpu_ms"],
            &["scene", "solver", "cpu_us_per_sweep_and_contact"],
        ],
    ),
];
/// Bytes that are looked at, from the beginning and before the end.
const LOOKED_AT: u64 = 1 << 14;

/// Endings of files that people write and no result has.
const WRITTEN: &[(&str, &str)] = &[
    ("toml", "a scene file"),
    ("urdf", "a robot"),
    ("mjcf", "a robot"),
    ("xml", "a robot"),
    ("sdf", "a robot"),
    ("stl", "a mesh"),
    ("obj", "a mesh"),
    ("ply", "a mesh"),
    ("dae", "a mesh"),
    ("py", "a program"),
    ("rs", "a program"),
    ("sh", "a program"),
    ("ipynb", "a notebook"),
    ("md", "a text"),
];

/// What stands at a place that a result of this kind must not take, in words; none: nothing, or a result of
/// the same kind.
pub fn foreign(path: &Path, kind: Kind) -> Option<String> {
    let size = std::fs::metadata(path).ok().filter(|m| m.is_file())?.len();
    if size == 0 || kind == Kind::Numbered {
        return None;
    }
    let own = own(path, kind);
    if own.is_some_and(|(own, _)| own == kind) {
        return None;
    }
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let written = WRITTEN.iter().find(|(e, _)| *e == ending).map(|(_, what)| *what);
    let is_scene = || drystone_scene::kind_of(path) == Some(drystone_scene::FileKind::Scene);
    Some(match (own, written) {
        (Some((_, name)), _) => name.into(),
        _ if kind == Kind::Imported => "a file that drystone import has not made".into(),
        (None, Some(what)) => what.into(),
        _ if matches!(kind, Kind::Png | Kind::Film) => format!("{} that is not by drystone", name(kind)),
        _ if is_scene() => "a scene file".into(),
        _ => format!("something else than {} by drystone", name(kind)),
    })
}

fn name(kind: Kind) -> &'static str {
    MARKS.iter().chain(KEYS).find(|(k, ..)| *k == kind).map_or("a result", |(_, name, _)| name)
}

/// Which of our results a file is, the wanted kind first.
fn own(path: &Path, wanted: Kind) -> Option<(Kind, &'static str)> {
    let text = ends(path)?;
    let has = |lists: &[&[&str]], has: &dyn Fn(&str) -> bool| lists.iter().any(|l| l.iter().all(|w| has(w)));
    // Where nothing is at the top of a document but what is asked for.
    let begins = |kind: Kind, word: &str| match kind {
        Kind::Table if word != "drystone " => text.starts_with(word),
        Kind::Obj => text.starts_with(word),
        _ => text.contains(word),
    };
    let marked = |(kind, name, lists): &(Kind, &'static str, &[&[&str]])| {
        has(lists, &|word| begins(*kind, word)).then_some((*kind, *name))
    };
    if let Some(found) = MARKS.iter().filter(|m| m.0 == wanted).find_map(marked) {
        return Some(found);
    }
    if wanted == Kind::Gltf && contains(path, b"\"generator\":\"drystone ") {
        return Some((wanted, name(wanted)));
    }
    if text.trim_start().starts_with(['{', '[']) || path.extension().is_some_and(|e| e == "gz") {
        let keys = keys(path).unwrap_or_default();
        let keyed = |(kind, name, lists): &(Kind, &'static str, &[&[&str]])| {
            has(lists, &|key| keys.contains_key(key)).then_some((*kind, *name))
        };
        if let Some(found) = KEYS.iter().find_map(keyed) {
            return Some(found);
        }
        // A race that was interrupted before its first row.
        if wanted == Kind::Report && text.trim() == "[]" {
            return Some((wanted, name(wanted)));
        }
    }
    MARKS.iter().filter(|m| m.0 != Kind::Problem).find_map(marked)
}

/// The first and the last bytes of a file, as text; what is packed is unpacked.
fn ends(path: &Path) -> Option<String> {
    let mut bytes = drystone_record::snapshot::head(path, LOOKED_AT).ok()?;
    let mut file = std::fs::File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    if length > LOOKED_AT {
        file.seek(SeekFrom::Start((length - LOOKED_AT).max(LOOKED_AT))).ok()?;
        file.read_to_end(&mut bytes).ok()?;
    }
    Some(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').into())
}

type Keys = BTreeMap<String, IgnoredAny>;

/// The keys at the top of a JSON file.
fn keys(path: &Path) -> Option<Keys> {
    let read = || drystone_record::snapshot::open(path).ok().map(BufReader::new);
    match serde_json::from_reader::<_, Keys>(read()?) {
        Ok(keys) => Some(keys),
        Err(_) => serde_json::from_reader::<_, Vec<Keys>>(read()?).ok()?.into_iter().next(),
    }
}

/// Whether a file has some bytes, wherever.
fn contains(path: &Path, word: &[u8]) -> bool {
    let Ok(mut file) = std::fs::File::open(path) else { return false };
    let (mut part, mut kept) = (vec![0; 1 << 20], 0);
    while let Ok(n) = file.read(&mut part[kept..])
        && n > 0
    {
        let filled = kept + n;
        if part[..filled].windows(word.len()).any(|w| w == word) {
            return true;
        }
        kept = filled.min(word.len() - 1);
        part.copy_within(filled - kept..filled, 0);
    }
    false
}
