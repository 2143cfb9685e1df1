//! `include = ["parts.toml"]`: lists of the included files come first, and of two values the including file's
//! counts.

use std::path::{Path, PathBuf};

use crate::SceneError;
use crate::text::{At, Entry, Fault, Node, Source, Value};

/// Files that include files, at most.
const DEEPEST: usize = 8;

/// Puts what the file includes into its tree.
pub(super) fn resolve<'t>(source: &Source, root: Node<'t>) -> Result<Node<'t>, SceneError> {
    let folder = source.file.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_path_buf();
    within(source, root, &folder, 0)
}

fn within<'t>(
    source: &Source,
    mut root: Node<'t>,
    folder: &Path,
    depth: usize,
) -> Result<Node<'t>, SceneError> {
    let paths = wanted(&root, folder).map_err(|fault| source.error(fault))?;
    let Value::Table(entries) = &mut root.value else { return Ok(root) };
    entries.retain(|e| e.key != "include");
    // The last is nearest to the file's own: it wins over those before.
    for (path, fault) in paths.into_iter().rev() {
        if depth == DEEPEST {
            let message = format!("files include each other {DEEPEST} deep: is it a circle?");
            return Err(source.error(Fault { message, ..fault }));
        }
        let other = source.include(&path).map_err(|e| match e.place {
            Some(_) => e,
            // It could not be read at all: say who wants it.
            None => source.error(Fault { message: format!("{}: {}", path.display(), e.message), ..fault }),
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        if let Value::Table(more) = within(source, other, &folder, depth + 1)?.value {
            merge(entries, more);
        }
    }
    Ok(root)
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
