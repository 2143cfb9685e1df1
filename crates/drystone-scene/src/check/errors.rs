//! All errors of a scene file at once: what is wrong is taken out of the tree, and the rest read again.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::text::{Entry, Node, Source, Value};
use crate::{Scene, SceneError, file};

/// After so many errors the rest is hardly worth reading.
const MOST: usize = 50;

/// The scene of a tree with all that it includes, or everything that is wrong with it.
pub(super) fn scene_or_errors(source: &Source, root: &Node) -> Result<Scene, Vec<SceneError>> {
    let mut errors: Vec<SceneError> = Vec::new();
    let mut rest = root.clone();
    let mut taken: Vec<Taken> = Vec::new();
    loop {
        let error = match file::scene_of(source, &rest, &Vec::new()) {
            Ok(scene) if errors.is_empty() => return Ok(scene),
            Ok(_) => return Err(errors),
            Err(error) => error,
        };
        let follows = taken.iter().any(|t| t.explains(&error));
        let error = renumbered(error, &taken);
        if errors.contains(&error) || errors.len() >= MOST {
            return Err(errors);
        }
        let place = (error.file.clone(), error.place);
        let missing = missing(&error.message).map(String::from);
        if !follows {
            errors.push(error);
        }
        // A scene without an end is read on as if it had one.
        if missing.as_deref() == Some("T") && give_end(&mut rest) {
            continue;
        }
        match take_out(&mut rest, source, &place) {
            Some(what) => taken.push(what),
            None => return Err(errors),
        }
    }
}

/// The field that is said to be missing.
fn missing(message: &str) -> Option<&str> {
    message.strip_prefix("the field '")?.strip_suffix("' is missing")
}

/// What was taken out.
struct Taken {
    /// The key, or the list and the number in it.
    key: String,
    index: Option<usize>,
    /// The name that other tables may know it by.
    name: Option<String>,
}

impl Taken {
    /// Whether an error only says that this is not there.
    fn explains(&self, error: &SceneError) -> bool {
        let named = |n: &String| error.message.contains(&format!("named '{n}'"));
        missing(&error.message) == Some(&self.key) || self.name.as_ref().is_some_and(named)
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

fn give_end(root: &mut Node) -> bool {
    let Value::Table(entries) = &mut root.value else { return false };
    let Some(settings) = entries.iter_mut().find(|e| e.key == "settings") else { return false };
    let Value::Table(list) = &mut settings.node.value else { return false };
    let node = Node { offset: settings.node.offset, value: Value::Number(1.0) };
    list.push(Entry { key: Cow::Borrowed("T"), offset: settings.offset, node });
    true
}

type Spot = (Option<PathBuf>, Option<(usize, usize)>);

enum Found {
    Nothing,
    /// It is this node: whoever holds it takes it out.
    Here,
    Done(Taken),
}

fn take_out(root: &mut Node, source: &Source, spot: &Spot) -> Option<Taken> {
    spot.1?;
    let is = |offset: usize| {
        let (file, place) = source.spot(offset);
        file == spot.0 && Some(place) == spot.1
    };
    let Value::Table(entries) = &mut root.value else { return None };
    match in_table(entries, &is) {
        Found::Done(taken) => Some(taken),
        _ => None,
    }
}

fn in_table(entries: &mut Vec<Entry>, is: &dyn Fn(usize) -> bool) -> Found {
    for k in 0..entries.len() {
        let e = &mut entries[k];
        let found = if is(e.offset) { Found::Here } else { in_node(&mut e.node, &e.key, is) };
        match found {
            Found::Nothing => {}
            Found::Here => {
                let key = entries.remove(k).key.into_owned();
                return Found::Done(Taken { key, index: None, name: None });
            }
            done => return done,
        }
    }
    Found::Nothing
}

fn in_node(node: &mut Node, key: &str, is: &dyn Fn(usize) -> bool) -> Found {
    match &mut node.value {
        Value::Array(list) => {
            for k in 0..list.len() {
                let table = matches!(list[k].value, Value::Table(_));
                let here = is(list[k].offset);
                match if here { Found::Here } else { in_node(&mut list[k], key, is) } {
                    Found::Nothing => {}
                    Found::Here if table => return Found::Done(take_item(list, k, key)),
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
            in_table(entries, is)
        }
        _ if is(node.offset) => Found::Here,
        _ => Found::Nothing,
    }
}

/// Takes an item out of a list. A body is replaced by one that nothing is wrong with: joints may name it.
fn take_item(list: &mut Vec<Node>, k: usize, key: &str) -> Taken {
    let name = match list[k].get("name").map(|n| &n.value) {
        Some(Value::Text(t)) => Some(t.to_string()),
        _ => None,
    };
    let key = key.to_string();
    if key != "body" {
        list.remove(k);
        return Taken { key, index: Some(k), name };
    }
    let offset = list[k].offset;
    let number = |x: f64| Node { offset, value: Value::Number(x) };
    let mut entries = vec![("mass", number(1.0))];
    entries.push(("inertia", Node { offset, value: Value::Array(vec![number(1.0), number(1.0), number(1.0)]) }));
    if let Some(name) = &name {
        entries.push(("name", Node { offset, value: Value::Text(name.clone().into()) }));
    }
    let entry = |(key, node): (&'static str, Node<'static>)| Entry { key: key.into(), offset, node };
    list[k].value = Value::Table(entries.into_iter().map(entry).collect());
    Taken { key: "body of which nothing is left".into(), index: None, name: None }
}
