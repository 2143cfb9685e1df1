//! What a result may take the place of: a result of its own kind. What people write stays.

use std::io::Read;
use std::path::Path;

/// What a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A report, or snapshots.
    Json,
    /// What was driven in a live run.
    Inputs,
    /// A flat state.
    State,
    /// A table, as .csv or .parquet.
    Table,
    Png,
    Svg,
    Html,
    /// The parts of a mesh.
    Obj,
    /// A scene file that `import` made.
    Imported,
    /// Whatever its ending says.
    Export,
}

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
pub fn foreign(path: &Path, kind: Kind) -> Option<&'static str> {
    let size = std::fs::metadata(path).ok().filter(|m| m.is_file())?.len();
    if size == 0 {
        return None;
    }
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(4096).read_to_end(&mut head).ok()?;
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let kind = match kind {
        Kind::Export => match ending.as_str() {
            "csv" | "parquet" => Kind::Table,
            "html" => Kind::Html,
            // Pictures, films and surfaces: nobody writes them by hand.
            _ => return None,
        },
        kind => kind,
    };
    let is_own = match kind {
        Kind::Json | Kind::Inputs | Kind::State => ending == "gz" || text.starts_with(['{', '[']),
        Kind::Table => text.starts_with("step,time_s") || head.starts_with(b"PAR1"),
        Kind::Png => head.starts_with(b"\x89PNG"),
        Kind::Svg => text.contains("<svg"),
        Kind::Html => text.get(..9).is_some_and(|t| t.eq_ignore_ascii_case("<!doctype")),
        Kind::Obj => text.contains("\no part_1\n") || text.starts_with("o part_1\n"),
        Kind::Imported => text
            .lines()
            .next()
            .is_some_and(|l| l.starts_with("# Made of ") && l.ends_with("by drystone import.")),
        Kind::Export => true,
    };
    if is_own && matches!(kind, Kind::Json | Kind::Inputs | Kind::State) {
        if let Some((_, what)) = WRITTEN.iter().find(|(e, _)| *e == ending) {
            return Some(what);
        }
        let driven = text.contains("\"drystone_inputs\"");
        return match drystone_scene::kind_of(path) {
            Some(drystone_scene::FileKind::Scene) => Some("a scene file"),
            Some(drystone_scene::FileKind::State) if kind != Kind::State => Some("a flat state"),
            _ if driven && kind != Kind::Inputs => Some("a file of inputs"),
            _ => None,
        };
    }
    if is_own {
        return None;
    }
    let written = WRITTEN.iter().find(|(e, _)| *e == ending).map(|(_, what)| *what);
    Some(match (kind, written) {
        (Kind::Imported, _) => "a file that drystone import has not made",
        (_, Some(what)) => what,
        (Kind::Table, None) => "a table that no run has written",
        _ => "something else",
    })
}
