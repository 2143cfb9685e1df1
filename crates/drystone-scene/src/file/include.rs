//! `include = ["parts.toml"]`: lists of the included files come first, and of two values the including file's
//! counts.

use std::path::{Path, PathBuf};

use crate::SceneError;
use crate::text::{At, Entry, Fault, Node, Source, Value};

/// Files that include files, at most.
const MAX_DEPTH: usize = 8;
/// After so many errors the rest is hardly worth reading.
const MOST_WRONG: usize = 50;

/// Puts what the file includes into its tree, and says what is wrong with that; what cannot be included is
/// left out.
pub(super) fn resolve<'t>(source: &Source, root: Node<'t>) -> (Node<'t>, Vec<SceneError>) {
    let folder = source.file.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_path_buf();
    let mut wrong = Vec::new();
    let root = within(source, root, &folder, 0, &mut wrong);
    wrong.reverse();
    (root, wrong)
}

/// Errors from the last to the first.
fn within<'t>(
    source: &Source,
    mut root: Node<'t>,
    folder: &Path,
    depth: usize,
    wrong: &mut Vec<SceneError>,
) -> Node<'t> {
    let paths = wanted(&root, folder).unwrap_or_else(|fault| {
        wrong.push(source.error(fault));
        Vec::new()
    });
    let Value::Table(entries) = &mut root.value else { return root };
    entries.retain(|e| e.key != "include");
    // The last is nearest to the file's own: it wins over those before.
    for (path, fault) in paths.into_iter().rev() {
        if depth == MAX_DEPTH {
            let message = format!("files include each other {MAX_DEPTH} deep: is it a circle?");
            wrong.push(source.error(Fault { message, ..fault }));
            break;
        }
        let other = match source.include(&path) {
            Ok(other) => other,
            Err(e) => {
                // One that could not be read at all: say who wants it.
                let message = format!("{}: {}", path.display(), e.message);
                wrong.push(if e.place.is_some() { e } else { source.error(Fault { message, ..fault }) });
                continue;
            }
        };
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        if let Value::Table(more) = within(source, other, &folder, depth + 1, wrong).value {
            merge(entries, more);
        }
        if wrong.len() > MOST_WRONG {
            break;
        }
    }
    root
}

/// Paths, each with a fault at the place that names it.
fn wanted(root: &Node, folder: &Path) -> Result<Vec<(PathBuf, Fault)>, Fault> {
    let at = At::root(root);
    let Some(given) = at.get("include") else { return Ok(Vec::new()) };
    let one = |at: &At| Ok((folder.join(at.text()?), at.fault("")));
    match given.node.value {
        Value::Array(_) => given.items()?.map(|i| one(&i)).collect(),
        _ => Ok(vec![one(&given)?]),
    }
}

fn merge<'t>(into: &mut Vec<Entry<'t>>, from: Vec<Entry<'t>>) {
    for entry in from {
        let Some(own) = into.iter_mut().find(|e| e.key == entry.key) else {
            into.push(entry);
            continue;
        };
        match (&mut own.node.value, entry.node.value) {
            (Value::Array(own), Value::Array(mut other)) => {
                other.append(own);
                *own = other;
            }
            (Value::Table(own), Value::Table(other)) => merge(own, other),
            _ => {}
        }
    }
}
