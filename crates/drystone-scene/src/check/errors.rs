//! All errors of a scene file at once: what is wrong is taken out of the tree, and the rest read again.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::text::{Entry, Node, Source, Value};
use crate::{Scene, SceneError, file};

/// After so many errors the rest is hardly worth reading.
const MAX_ERRORS: usize = 50;

/// The scene of a tree with all that it includes, or everything that is wrong with it; `missing` is what is
/// wrong with the includes: what only follows from them is not told.
pub(super) fn scene_or_errors(
    source: &Source,
    root: &Node,
    mut missing: Vec<SceneError>,
) -> Result<Scene, Vec<SceneError>> {
    if missing.is_empty() {
        return whole_or_errors(source, root);
    }
    let mut rest = root.clone();
    if rest.get("scene").is_none() && rest.get("body").is_none() {
        give_body(&mut rest);
    }
    let follows = |e: &SceneError| {
        ["named '", "there is no ", "' is missing", "needs '", "of what?"]
            .iter()
            .any(|w| e.message.contains(w))
    };
    missing.extend(whole_or_errors(source, &rest).err().into_iter().flatten().filter(|e| !follows(e)));
    Err(missing)
}

fn whole_or_errors(source: &Source, root: &Node) -> Result<Scene, Vec<SceneError>> {
    let mut errors: Vec<SceneError> = Vec::new();
    let mut rest = root.clone();
    let mut taken: Vec<Taken> = Vec::new();
    while taken.len() < 2 * MAX_ERRORS {
        let error = match file::scene_of(source, &rest, &Vec::new()) {
            Ok(scene) if errors.is_empty() => return Ok(scene),
            Ok(_) => return Err(errors),
            Err(error) => error,
        };
        let error = renumbered(error, &taken);
        let follows = taken.iter().any(|t| t.explains(&error));
        let place = (error.file.clone(), error.place);
        // What took the place of something may be wrong in the same way: then nothing does.
        let known = errors.contains(&error);
        if errors.len() >= MAX_ERRORS || known && taken.iter().filter(|t| t.place == place).count() != 1 {
            return Err(errors);
        }
        let field = error.field.clone().unwrap_or_default();
        let missing = missing(&error.message).map(String::from);
        // A control says all that is wrong with it, not what it lacks alone.
        let lacking = missing.clone().filter(|_| field.starts_with("control["));
        let needed = error.message.split("needs '").nth(1).and_then(|rest| rest.split('\'').next());
        let needed = needed.map(String::from);
        if !follows && !known {
            errors.push(error);
        }
        if missing.as_deref() == Some("body") && field.is_empty() {
            give_body(&mut rest);
            continue;
        }
        // A scene without an end is read on as if it had one.
        if missing.as_deref() == Some("T") && give_end(&mut rest) {
            continue;
        }
        if needed.is_some_and(|key| give(&mut rest, source, &place, &key)) {
            continue;
        }
        if lacking.is_some_and(|key| give(&mut rest, source, &place, &key)) {
            continue;
        }
        let again = taken.iter().any(|t| t.place == place);
        match take_out(&mut rest, source, &place, again) {
            Some((key, index, name)) => taken.push(Taken { key, index, name, field, place }),
            None => break,
        }
    }
    Err(errors)
}

/// The field that is said to be missing.
fn missing(message: &str) -> Option<&str> {
    message.strip_prefix("the field '")?.strip_suffix("' is missing")
}

type Spot = (Option<PathBuf>, Option<(usize, usize)>);

/// What was taken out, or replaced.
struct Taken {
    /// The key, or the list and the number in it.
    key: String,
    index: Option<usize>,
    /// The name that other tables may know it by.
    name: Option<String>,
    /// As the error called it, and where that was.
    field: String,
    place: Spot,
}

impl Taken {
    /// Whether an error only says that this is not there.
    fn explains(&self, error: &SceneError) -> bool {
        let named = |n: &String| error.message.contains(&format!("named '{n}'"));
        // What a table says about itself once one of its fields is gone and nothing took its place.
        let field = error.field.as_deref().unwrap_or_default();
        let gone = stand_in(&self.key, 0).is_none();
        // A table of a list, not the list: what the list says of itself is another matter.
        let around = gone
            && !field.is_empty()
            && self.field.strip_prefix(field).is_some_and(|inside| inside.starts_with('.'));
        match missing(&error.message) {
            Some(key) => key == self.key && self.field.starts_with(field),
            None => around || self.is_unknown(error) || self.name.as_ref().is_some_and(named),
        }
    }
}

impl Taken {
    /// Whether an error only says that a loop that was taken out has no variable.
    fn is_unknown(&self, error: &SceneError) -> bool {
        self.key == "for" && error.message.starts_with("there is no '")
    }
}

/// Fields with the numbers that they have in the file, not in what is left of it.
fn renumbered(mut error: SceneError, taken: &[Taken]) -> SceneError {
    let Some(field) = &error.field else { return error };
    let Some((list, rest)) = field.split_once('[') else { return error };
    let Some((number, rest)) = rest.split_once(']') else { return error };
    let Ok(mut number) = number.parse::<usize>() else { return error };
    let mut gone: Vec<usize> = taken.iter().filter(|t| t.key == list).filter_map(|t| t.index).collect();
    // The last taken was counted with those before it gone.
    while let Some(index) = gone.pop() {
        number += usize::from(index <= number);
    }
    error.field = Some(format!("{list}[{number}]{rest}"));
    error
}

/// Gives a table what it needs, if it has none and something does for it.
fn give(root: &mut Node, source: &Source, spot: &Spot, key: &str) -> bool {
    let is = |offset: usize| {
        let (file, place) = source.spot(offset);
        file == spot.0 && Some(place) == spot.1
    };
    let Some(value) = stand_in(key, root.offset).or_else(|| stand_in_control(key, root.offset)) else {
        return false;
    };
    let Some(list) = table_at(root, &is).filter(|list| list.iter().all(|e| e.key != key)) else {
        return false;
    };
    let offset = list.first().map_or(0, |e| e.offset);
    list.push(Entry { key: Cow::Owned(key.into()), offset, node: Node { offset, value } });
    true
}

fn table_at<'n, 't>(node: &'n mut Node<'t>, is: &dyn Fn(usize) -> bool) -> Option<&'n mut Vec<Entry<'t>>> {
    let here = is(node.offset);
    match &mut node.value {
        Value::Table(list) => {
            if here {
                return Some(list);
            }
            list.iter_mut().find_map(|e| table_at(&mut e.node, is))
        }
        Value::Array(list) => list.iter_mut().find_map(|n| table_at(n, is)),
        _ => None,
    }
}

/// A body that nothing is wrong with, for a file that has none.
fn give_body(root: &mut Node) {
    let offset = root.offset;
    if let Value::Table(entries) = &mut root.value {
        let mut list = vec![Node { offset, value: Value::Table(Vec::new()) }];
        take_item(&mut list, 0, "body", false);
        entries.push(Entry { key: "body".into(), offset, node: Node { offset, value: Value::Array(list) } });
    }
}

fn give_end(root: &mut Node) -> bool {
    let Value::Table(entries) = &mut root.value else { return false };
    let Some(settings) = entries.iter_mut().find(|e| e.key == "settings") else { return false };
    let Value::Table(list) = &mut settings.node.value else { return false };
    let node = Node { offset: settings.node.offset, value: Value::Number(1.0) };
    list.push(Entry { key: Cow::Borrowed("T"), offset: settings.offset, node });
    true
}

/// Key, number in a list, and name of what was taken out.
type What = (String, Option<usize>, Option<String>);

enum Found {
    Nothing,
    /// It is this node: whoever holds it takes it out.
    Here,
    Done(What),
}

/// Takes out what stands at a place. Where tables cannot do without it, something that nothing is wrong with
/// takes its place, unless that was tried.
fn take_out(root: &mut Node, source: &Source, spot: &Spot, again: bool) -> Option<What> {
    spot.1?;
    let is = |offset: usize| {
        let (file, place) = source.spot(offset);
        file == spot.0 && Some(place) == spot.1
    };
    let Value::Table(entries) = &mut root.value else { return None };
    match in_table(entries, &is, again) {
        Found::Done(what) => Some(what),
        _ => None,
    }
}

/// A value that does for a field that a table needs.
fn stand_in(key: &str, offset: usize) -> Option<Value<'static>> {
    let number = |x: f64| Node { offset, value: Value::Number(x) };
    let entry = |key: &'static str, node: Node<'static>| Entry { key: key.into(), offset, node };
    match key {
        // Without a rate a lever would lack one.
        "mass" | "density" | "rate" => Some(Value::Number(1.0)),
        "inertia" => Some(Value::Array(vec![number(1.0), number(1.0), number(1.0)])),
        "shape" => {
            let kind = Node { offset, value: Value::Text("sphere".into()) };
            Some(Value::Table(vec![entry("type", kind), entry("r", number(1.0))]))
        }
        _ => None,
    }
}

/// A value that does for a field that a control needs.
fn stand_in_control(key: &str, offset: usize) -> Option<Value<'static>> {
    let number = |x: f64| Node { offset, value: Value::Number(x) };
    match key {
        "name" => Some(Value::Text("unnamed".into())),
        "commands" => Some(Value::Text("position".into())),
        // A start of any size is within it.
        "range" => Some(Value::Array(vec![number(-1e300), number(1e300)])),
        _ => None,
    }
}

fn in_table(entries: &mut Vec<Entry>, is: &dyn Fn(usize) -> bool, again: bool) -> Found {
    for k in 0..entries.len() {
        let e = &mut entries[k];
        let found = if is(e.offset) { Found::Here } else { in_node(&mut e.node, &e.key, is, again) };
        match found {
            Found::Nothing => {}
            Found::Here => {
                let e = &mut entries[k];
                let key = e.key.to_string();
                match stand_in(&key, e.node.offset).filter(|_| !again) {
                    Some(value) => e.node.value = value,
                    None => drop(entries.remove(k)),
                }
                return Found::Done((key, None, None));
            }
            done => return done,
        }
    }
    Found::Nothing
}

fn in_node(node: &mut Node, key: &str, is: &dyn Fn(usize) -> bool, again: bool) -> Found {
    match &mut node.value {
        Value::Array(list) => {
            for k in 0..list.len() {
                let table = matches!(list[k].value, Value::Table(_));
                let here = is(list[k].offset);
                match if here { Found::Here } else { in_node(&mut list[k], key, is, again) } {
                    Found::Nothing => {}
                    Found::Here if table => return Found::Done(take_item(list, k, key, again)),
                    // A number of a vector: the vector is no longer one.
                    other => return other,
                }
            }
            if is(node.offset) { Found::Here } else { Found::Nothing }
        }
        Value::Table(entries) => {
            if is(node.offset) {
                return Found::Here;
            }
            let inside = |e: &Entry| is(e.offset) || is(e.node.offset) || holds(&e.node, is);
            if key == "for"
                && !again
                && let Some(e) = entries.iter_mut().find(|e| inside(e))
            {
                // One turn: formulas know the variable.
                e.node.value = Value::Number(1.0);
                return Found::Done((e.key.to_string(), None, None));
            }
            in_table(entries, is, again)
        }
        _ if is(node.offset) => Found::Here,
        _ => Found::Nothing,
    }
}

/// Whether something below a node stands at a place.
fn holds(node: &Node, is: &dyn Fn(usize) -> bool) -> bool {
    match &node.value {
        Value::Array(list) => list.iter().any(|n| is(n.offset) || holds(n, is)),
        Value::Table(list) => list.iter().any(|e| is(e.offset) || is(e.node.offset) || holds(&e.node, is)),
        _ => false,
    }
}

/// Takes an item out of a list. A body or a shape is replaced by one that nothing is wrong with, unless that
/// was tried: joints may name it.
fn take_item(list: &mut Vec<Node>, k: usize, key: &str, again: bool) -> What {
    let name = match list[k].get("name").map(|n| &n.value) {
        Some(Value::Text(t)) => Some(t.to_string()),
        _ => None,
    };
    let offset = list[k].offset;
    if let Some(value) = stand_in("shape", offset).filter(|_| key == "shape" && !again) {
        list[k].value = value;
        return (key.into(), None, None);
    }
    if key != "body" || again {
        list.remove(k);
        return (key.into(), Some(k), name);
    }
    let mut entries = Vec::new();
    for key in ["mass", "inertia"] {
        if let Some(value) = stand_in(key, offset) {
            entries.push(Entry { key: key.into(), offset, node: Node { offset, value } });
        }
    }
    if let Some(name) = name {
        let node = Node { offset, value: Value::Text(name.into()) };
        entries.push(Entry { key: "name".into(), offset, node });
    }
    list[k].value = Value::Table(entries);
    (key.into(), None, None)
}
