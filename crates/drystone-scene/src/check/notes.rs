//! What a scene is, in the numbers that an engineer would look at first, and what in it looks like a slip.

use std::collections::HashMap;
use std::path::Path;

use drystone::joint::Kind;
use drystone::{JointDef, Motion, Settings, World};
use glam::DVec3;

use crate::Scene;
use crate::control::{Control, PAGE_KEYS};
use crate::mesh;
use crate::text::{Node, Source, Value};

/// Friction beyond this is hardly meant: rubber on dry concrete has about 1.
const ROUGH: f64 = 2.0;
/// A body heavier than this is hardly meant, kg: ten thousand tonnes.
const HEAVY: f64 = 1e7;
/// A part from a file that is longer than this may be in millimetres, m.
const LONG: f64 = 50.0;
/// The share of the smaller inner radius from which on an overlap is noted.
const OVERLAP: f64 = 0.01;
/// The share of the smaller inner radius (of 1 m at most) up to which a gap counts as none.
const TOUCHING: f64 = 1e-3;
/// A step whose contacts are those of the start, s: bodies fall by 10 µm in it.
const SHORT: f64 = 1e-3;
/// Names that a note lists before it says how many there are.
const NAMED: usize = 3;

/// Lines with masses, sizes, extent, energy and contacts at the start.
pub(super) fn figures(scene: &Scene, world: &World) -> Vec<String> {
    let mut lines = Vec::new();
    let (model, s) = (world.model(), world.state());
    let masses: Vec<(f64, u32)> = model.dynamic().map(|i| (model.bodies[i].mass.mass, i as u32)).collect();
    if let (Some(least), Some(most)) =
        (masses.iter().min_by(|a, b| a.0.total_cmp(&b.0)), masses.iter().max_by(|a, b| a.0.total_cmp(&b.0)))
    {
        let total: f64 = masses.iter().map(|m| m.0).sum();
        let name = |slot: u32| model.describe(slot);
        lines.push(match least.0 == most.0 {
            true => format!("mass: {} kg in all, each {} kg", short(total), short(least.0)),
            false => format!(
                "mass: {} kg in all, from {} kg ({}) to {} kg ({})",
                short(total),
                short(least.0),
                name(least.1),
                short(most.0),
                name(most.1)
            ),
        });
    }
    let mut sizes = (f64::INFINITY, 0.0f64);
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for c in &model.colliders {
        let i = c.body as usize;
        let pose = drystone::Pose::new(s.position[i], s.rotation[i]).compose(&c.place());
        let bounds = c.shape.aabb(&pose);
        if !(bounds.min.is_finite() && bounds.max.is_finite()) {
            continue;
        }
        (low, high) = (low.min(bounds.min), high.max(bounds.max));
        if model.bodies[i].motion == Motion::Dynamic {
            let size = (bounds.max - bounds.min).max_element();
            sizes = (sizes.0.min(size), sizes.1.max(size));
        }
    }
    if sizes.1 > 0.0 {
        let [a, b] = [sizes.0, sizes.1].map(short);
        lines.push(if a == b {
            format!("size of shapes that move: {a} m")
        } else {
            format!("size of shapes that move: {a} to {b} m")
        });
    }
    if low.cmple(high).all() {
        let show = |v: DVec3| v.to_array().map(short).join(", ");
        lines.push(format!("extent: [{}] to [{}] m", show(low), show(high)));
    }
    let energy = world.energy();
    let total = energy.kinetic + energy.potential;
    lines.push(format!(
        "energy: {} J (kinetic {}, potential {})",
        short(total),
        short(energy.kinetic),
        short(energy.potential)
    ));
    let touching = touching(scene);
    let model = world.model();
    lines.push(match touching.as_slice() {
        [] => "contacts at the start: none".into(),
        all => {
            let pair = |[a, b]: &[u32; 2]| format!("{} and {}", model.describe(*a), model.describe(*b));
            let shown: Vec<String> = all.iter().take(NAMED).map(pair).collect();
            let (s, more) =
                (if all.len() == 1 { "" } else { "s" }, if all.len() > NAMED { "; ..." } else { "" });
            format!("contacts at the start: {} pair{s} ({}{more})", all.len(), shown.join("; "))
        }
    });
    lines
}

/// Pairs of bodies that touch before the first step, but for what a thousandth of their size hides.
fn touching(scene: &Scene) -> Vec<[u32; 2]> {
    // A step finds contacts; how well it is solved does not matter here. A long one would find pairs as far
    // apart as bodies fall in it.
    let h = scene.settings.h.min(SHORT);
    let quick =
        Settings { h, iterations: 1, position_iterations: 0, max_substeps: 1, ..scene.settings.clone() };
    let Ok(mut world) = scene.world(quick) else { return Vec::new() };
    let before = world.model().bodies.len() as u32;
    if world.step().is_err() {
        return Vec::new();
    }
    let model = world.model();
    let close = |c: &&drystone::Contact| {
        c.gap <= TOUCHING * model.pair_size(c.key.colliders[0], c.key.colliders[1]).min(1.0)
    };
    let mut all: Vec<[u32; 2]> = world.contacts().iter().filter(close).map(|c| c.bodies).collect();
    all.retain(|[a, b]| *a < before && *b < before);
    all.sort_unstable();
    all.dedup();
    all
}

/// Four digits, or fewer.
pub(super) fn number(x: f64) -> String {
    if x == 0.0 || (1e-6..1e9).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}

fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e6).contains(&x.abs()) {
        return format!("{x:.3e}");
    }
    let digits = (3 - x.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// `a, b, c and 7 more`.
fn several(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Overlaps that a run accepts.
pub(super) fn overlaps(world: &mut World, refused: f64) -> Option<String> {
    let all = world.deep_overlaps(OVERLAP);
    let (a, b, depth) = all.iter().max_by(|x, y| x.2.total_cmp(&y.2))?;
    if !world.deep_overlaps(refused).is_empty() {
        return None; // Another note says so.
    }
    let model = world.model();
    Some(format!(
        "{} pair{} of bodies overlap at the start, the deepest {} and {} by {} m: they are pushed apart",
        all.len(),
        if all.len() == 1 { "" } else { "s" },
        model.describe(a.slot),
        model.describe(b.slot),
        short(*depth)
    ))
}

/// Bodies of one shape at one place that do not push each other apart: the same twice, or one that was not
/// moved.
pub(super) fn coincident(scene: &Scene, world: &mut World) -> Option<String> {
    let overlapping = world.deep_overlaps(OVERLAP);
    let told = |i: usize, j: usize| {
        overlapping.iter().any(|(a, b, _)| [(i, j), (j, i)].contains(&(a.slot as usize, b.slot as usize)))
    };
    // Joints without length have their bodies at one place.
    let joined = |i: usize, j: usize| {
        let ends = |k: &JointDef| [k.a, k.b].map(|id| id.map(|id| id.slot as usize));
        scene.joints.iter().any(|k| ends(k).contains(&Some(i)) && ends(k).contains(&Some(j)))
    };
    let mut at: HashMap<[u64; 3], Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (j, b) in scene.bodies.iter().enumerate() {
        let here = at.entry(b.position.to_array().map(|x| (x + 0.0).to_bits())).or_default();
        let same = |i: &&usize| {
            let a = &scene.bodies[**i];
            a.rotation == b.rotation
                && a.colliders.len() == b.colliders.len()
                && a.colliders.iter().zip(&b.colliders).all(|(x, y)| x.shape == y.shape && x.local == y.local)
        };
        // The first will do: of a hundred at one place every one is told once.
        if let Some(&i) = here.iter().find(same)
            && !told(i, j)
            && !joined(i, j)
        {
            pairs.push(format!("{} and {}", named(scene, i), named(scene, j)));
        }
        if here.len() < NAMED {
            here.push(j);
        }
    }
    (!pairs.is_empty()).then(|| {
        format!(
            "at one place, of one shape, and not pushed apart: {}; is one of them too many?",
            several(&pairs)
        )
    })
}

/// Friction that is hardly meant, and masses.
pub(super) fn amounts(scene: &Scene, world: &World) -> Vec<String> {
    let mut notes = Vec::new();
    let name = |i: usize| named(scene, i);
    let rough: Vec<String> = (0..scene.bodies.len())
        .filter(|&i| scene.bodies[i].colliders.iter().any(|c| c.mu > ROUGH && c.material.is_none()))
        .map(name)
        .collect();
    if !rough.is_empty() {
        let of = |c: &drystone::Collider| if c.material.is_none() { c.mu } else { 0.0 };
        let most = scene.bodies.iter().flat_map(|b| &b.colliders).map(of).fold(0.0, f64::max);
        notes.push(format!(
            "a coefficient of friction of {most} is more than rubber has on concrete: {}",
            several(&rough)
        ));
    }
    let model = world.model();
    let heavy: Vec<String> = model
        .dynamic()
        .filter(|&i| model.bodies[i].mass.mass > HEAVY)
        .map(|i| format!("{} has {} kg", model.describe(i as u32), short(model.bodies[i].mass.mass)))
        .collect();
    if !heavy.is_empty() {
        notes.push(format!("more than {HEAVY:e} kg: {}", several(&heavy)));
    }
    notes
}

/// Wheels of gears that nothing holds: a gear couples how two bodies turn, and nothing else.
pub(super) fn bearings(scene: &Scene) -> Vec<String> {
    let couples = |k: &Kind| matches!(k, Kind::Gear { .. } | Kind::RackAndPinion { .. });
    let mut notes = Vec::new();
    for (k, joint) in scene.joints.iter().enumerate().filter(|(_, j)| couples(&j.kind)) {
        for id in [joint.a, joint.b].into_iter().flatten() {
            let slot = id.slot as usize;
            let held = |j: &JointDef| !couples(&j.kind) && [j.a, j.b].contains(&Some(id));
            let moves = scene.bodies.get(slot).is_some_and(|b| b.motion == Motion::Dynamic);
            if moves && !scene.joints.iter().any(held) {
                let joint =
                    joint.name.as_ref().map_or_else(|| format!("joint {k}"), |n| format!("joint '{n}'"));
                notes.push(format!(
                    "{joint} couples how {} turns, and no other joint holds it: it has no bearing",
                    named(scene, slot)
                ));
            }
        }
    }
    notes
}

/// Keys of controls that the page has a use for, or that several controls share, and names that several have.
/// Controls that share all of two keys or more act together, as the two sides of a vehicle that turns like a
/// tank: they are meant to.
pub(super) fn keys(scene: &Scene) -> Vec<String> {
    let mut notes = Vec::new();
    let mut seen: Vec<(&str, &Control)> = Vec::new();
    for control in &scene.controls {
        for key in control.keys.iter().filter(|k| !k.is_empty()) {
            if let Some((_, other)) = seen.iter().find(|(k, _)| k == key) {
                if control.keys.iter().any(|k| k.is_empty()) || control.keys != other.keys {
                    let (one, two) = (&other.name, &control.name);
                    notes.push(format!("the key {key} moves two controls, '{one}' and '{two}'"));
                }
            } else if let Some((_, what)) = PAGE_KEYS.iter().find(|(k, _)| k == key) {
                notes.push(format!(
                    "the key {key} is the control '{}' in a live run, and no longer the page's own: {what}",
                    control.name
                ));
            }
            seen.push((key, control));
        }
    }
    let mut names: Vec<&str> = scene.controls.iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    for group in names.chunk_by(|a, b| a == b).filter(|group| group.len() > 1) {
        notes.push(format!("{} controls have the name '{}'", group.len(), group[0]));
    }
    notes
}

fn named(scene: &Scene, i: usize) -> String {
    scene.bodies[i].name.clone().map_or_else(|| format!("body {i}"), |n| format!("'{n}'"))
}

/// Bodies of a scene file whose friction nobody has said.
pub(super) fn friction(root: &Node) -> Option<String> {
    let Some(Value::Array(bodies)) = root.get("body").map(|n| &n.value) else { return None };
    let says = |n: &Node| n.get("mu").is_some() || n.get("material").is_some();
    let mut silent = Vec::new();
    for (k, body) in bodies.iter().enumerate() {
        let shapes: Vec<&Node> = match body.get("shape") {
            None => continue,
            Some(shape) => match &shape.value {
                Value::Array(list) => list.iter().collect(),
                _ => vec![shape],
            },
        };
        let reports = |n: &Node| matches!(n.get("sensor").map(|s| &s.value), Some(Value::Bool(true)));
        if !says(body) && shapes.iter().any(|s| !says(s) && !reports(s)) {
            let name = match body.get("name").map(|n| &n.value) {
                Some(Value::Text(t)) => format!("'{t}'"),
                _ => format!("body[{k}]"),
            };
            if !silent.contains(&name) {
                silent.push(name);
            }
        }
    }
    (!silent.is_empty()).then(|| {
        format!(
            "nothing is said about the friction of {}: it is 0; mu = 0 says that this is meant",
            several(&silent)
        )
    })
}

/// The items of a list, if it is one.
fn list<'a, 't>(node: Option<&'a Node<'t>>) -> &'a [Node<'t>] {
    match node.map(|n| &n.value) {
        Some(Value::Array(all)) => all,
        _ => &[],
    }
}

/// Materials that say what a body's friction is, in pairs of which nothing is said: then it is 0.
pub(super) fn pairs(root: &Node) -> Option<String> {
    let word = |n: &Node, key: &str| match n.get(key).map(|n| &n.value) {
        Some(Value::Text(t)) => Some(t.to_string()),
        _ => None,
    };
    let mut rows: Vec<[String; 2]> = Vec::new();
    for row in list(root.get("materials").and_then(|m| m.get("pair"))) {
        if let [Value::Text(a), Value::Text(b)] =
            list(row.get("between")).iter().map(|n| &n.value).collect::<Vec<_>>()[..]
        {
            rows.push([a.to_string(), b.to_string()]);
        }
    }
    let is_known = |a: &str, b: &str| rows.iter().any(|[p, q]| p == a && q == b || p == b && q == a);
    // Of each material: whether all of it says its own friction, whether it moves, and how many bodies there
    // are of it.
    let mut used: Vec<(String, bool, bool, usize)> = Vec::new();
    for body in list(root.get("body")) {
        let moves = word(body, "motion").is_none_or(|m| m == "dynamic");
        let many = body.get("copies").is_some() || body.get("count").is_some();
        let shapes: Vec<&Node> = match body.get("shape") {
            Some(Node { value: Value::Array(all), .. }) => all.iter().collect(),
            one => one.into_iter().collect(),
        };
        for shape in shapes {
            let Some(material) = word(shape, "material").or_else(|| word(body, "material")) else {
                continue;
            };
            let mu = shape.get("mu").is_some() || body.get("mu").is_some();
            let bodies = if many { 2 } else { 1 };
            match used.iter_mut().find(|u| u.0 == material) {
                Some(u) => *u = (material, u.1 && mu, u.2 || moves, u.3 + bodies),
                None => used.push((material, mu, moves, bodies)),
            }
        }
    }
    let mut silent = Vec::new();
    for (i, a) in used.iter().enumerate() {
        for b in &used[i..] {
            let meet = (a.2 || b.2) && (a.0 != b.0 || a.3 > 1);
            if meet && !(a.1 && b.1) && !is_known(&a.0, &b.0) {
                silent.push(format!("'{}' and '{}'", a.0, b.0));
            }
        }
    }
    (!silent.is_empty()).then(|| {
        format!(
            "nothing is said about the friction between {}: it is 0; a row of [[materials.pair]] or mu of the bodies says it",
            several(&silent)
        )
    })
}

/// Parameters that a file declares and then has no use for: setting one changes nothing. `root` has its
/// formulas still.
pub(super) fn unused(root: &Node) -> Option<String> {
    // Those of a gallery scene are that scene's.
    if root.get("scene").is_some() {
        return None;
    }
    let Some(Value::Table(declared)) = root.get("parameters").map(|n| &n.value) else { return None };
    let mut words: Vec<String> = Vec::new();
    texts(root, &mut |text| {
        let inner = |c: char| c.is_alphanumeric() || c == '_';
        words.extend(text.split(|c| !inner(c)).filter(|w| !w.is_empty()).map(String::from));
    });
    let silent: Vec<String> = declared
        .iter()
        .filter(|e| !words.iter().any(|w| *w == e.key))
        .map(|e| format!("'{}'", e.key))
        .collect();
    (!silent.is_empty()).then(|| {
        format!(
            "{} declared and used nowhere: {}",
            if silent.len() == 1 { "a parameter is" } else { "parameters are" },
            several(&silent)
        )
    })
}

/// Calls `look` for each text of a tree that may be a formula.
fn texts(node: &Node, look: &mut dyn FnMut(&str)) {
    match &node.value {
        Value::Text(t) => look(t),
        Value::Array(list) => list.iter().for_each(|n| texts(n, look)),
        // What is said about a parameter is no use of it.
        Value::Table(entries) => {
            entries
                .iter()
                .filter(|e| !["about", "unit", "title"].contains(&e.key.as_ref()))
                .for_each(|e| texts(&e.node, look));
        }
        _ => {}
    }
}

/// Mesh files: what was repaired, what is odd, and what may be in millimetres.
pub(super) fn meshes(source: &Source, root: &Node) -> Vec<String> {
    let mut notes = Vec::new();
    let mut seen = Vec::new();
    let folders = source.folders();
    visit(root, &mut |table| {
        points(table, &mut notes);
        let (Some(kind), Some(file)) = (table.get("type"), table.get("file")) else { return };
        let (Value::Text(kind), Value::Text(name)) = (&kind.value, &file.value) else { return };
        if !["mesh", "hull", "decomposed"].contains(&kind.as_ref()) {
            return;
        }
        let folder = folders.iter().rev().find(|(from, _)| *from <= file.offset);
        let path = folder.map_or_else(|| Path::new(name.as_ref()).into(), |(_, f)| f.join(name.as_ref()));
        let plain = table.get("scale").is_none();
        if seen.contains(&(path.clone(), plain)) {
            return;
        }
        let Ok(surface) = mesh::read(&path, DVec3::ONE) else { return };
        let shown = path.display();
        let first = !seen.iter().any(|(p, _)| *p == path);
        seen.push((path.clone(), plain));
        if first && surface.repaired > 0 {
            let n = surface.repaired;
            let s = if n == 1 { "" } else { "s" };
            notes.push(format!("{shown}: {n} triangle{s} without area taken out"));
        }
        if first && surface.crowded_edges() > 0 {
            let n = surface.crowded_edges();
            let s = if n == 1 { "" } else { "s" };
            notes.push(format!("{shown}: {n} edge{s} of more than two triangles: parts of it touch there"));
        }
        let (low, high) = surface.bounds();
        let longest = (high - low).max_element();
        if plain && longest > LONG {
            notes.push(format!(
                "{shown}: is {} m long; if it was drawn in millimetres, scale = 0.001 is missing",
                short(longest)
            ));
        }
    });
    notes
}

/// A hull whose points may be in millimetres.
fn points(table: &Node, notes: &mut Vec<String>) {
    let Some(Value::Text(kind)) = table.get("type").map(|n| &n.value) else { return };
    if kind != "hull" {
        return;
    }
    let (mut low, mut high, mut count) = (DVec3::INFINITY, DVec3::NEG_INFINITY, 0);
    for point in list(table.get("points")) {
        if let [Value::Number(x), Value::Number(y), Value::Number(z)] =
            list(Some(point)).iter().map(|n| &n.value).collect::<Vec<_>>()[..]
        {
            let p = DVec3::new(*x, *y, *z);
            (low, high, count) = (low.min(p), high.max(p), count + 1);
        }
    }
    let longest = (high - low).max_element();
    if count > 0 && longest > LONG {
        let text = format!(
            "a hull of {count} points is {} m long; if they are in millimetres, a thousandth of them is meant: points are in metres",
            short(longest)
        );
        // Copies by loops are of one kind.
        if !notes.contains(&text) {
            notes.push(text);
        }
    }
}

fn visit(node: &Node, look: &mut dyn FnMut(&Node)) {
    match &node.value {
        Value::Table(entries) => {
            look(node);
            entries.iter().for_each(|e| visit(&e.node, look));
        }
        Value::Array(list) => list.iter().for_each(|n| visit(n, look)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.0, "0"),
            (1234.5, "1234"),
            (0.05, "0.05"),
            (2.0, "2"),
            (1e12, "1.000e12"),
            (-0.25, "-0.25"),
            (1e-9, "1.000e-9"),
            (100.0, "100"),
        ] {
            assert_eq!(short(x), text, "{x}");
        }
    }
}
