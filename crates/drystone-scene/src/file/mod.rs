//! Scene files: TOML or JSON with the same fields, described in `docs/guide/scene-files.md`. Either a gallery
//! scene with other parameters, or settings and bodies of its own.

mod body;
mod control;
mod copies;
mod expand;
mod field;
mod flow;
mod function;
mod heap;
mod heights;
mod include;
mod joint;
mod library;
mod mass;
mod parameters;
mod probe;
mod record;
mod rules;
mod schema;
mod series;
mod settings;
mod shape;
mod stop;

use std::cell::RefCell;

pub use copies::limit_bodies;
use drystone::Motion;
use library::Library;
pub use parameters::Parameter;
pub use schema::schema;
pub use settings::change_settings;

use crate::probe::Support;
use crate::text::{At, Fault, Node, Source, Value};
use crate::{Measurement, Overrides, Scene, SceneError, gallery};

/// The fields at the top.
pub(crate) const FIELDS: &[&str] = &[
    "name",
    "title",
    "citation",
    "scene",
    "parameters",
    "settings",
    "materials",
    "body",
    "joint",
    "emitter",
    "sink",
    "field",
    "control",
    "record",
    "probe",
    "stop",
    "include",
];

/// A file with all that it includes.
pub(crate) fn tree<'t>(source: &'t Source, root: Node<'t>) -> Result<Node<'t>, SceneError> {
    let (root, wrong) = include::resolve(source, root);
    wrong.into_iter().next().map_or(Ok(root), Err)
}

/// A file with what of its includes can be read, and what is wrong with the others.
pub(crate) fn tree_and_errors<'t>(source: &'t Source, root: Node<'t>) -> (Node<'t>, Vec<SceneError>) {
    include::resolve(source, root)
}

/// What a file declares, with the values that `--set` gives it; what belongs to the gallery is declared
/// there.
pub(crate) fn parameters(
    source: &Source,
    root: &Node,
    set: &Overrides,
) -> Result<Vec<Parameter>, SceneError> {
    if root.get("scene").is_some() {
        return Ok(Vec::new());
    }
    parameters::read(source, &At::root(root), set).map(|(list, _)| list)
}

/// The tree with values in place of formulas, and copies in place of loops.
pub(crate) fn plain<'t>(source: &Source, root: &Node<'t>, set: &Overrides) -> Result<Node<'t>, SceneError> {
    let at = At::root(root);
    let scope = match at.get("scene") {
        Some(_) => Default::default(),
        None => parameters::read(source, &at, set)?.1,
    };
    expand::expand(&at, &scope).map_err(|fault| source.error(fault))
}

/// Makes the scene of a file with all that it includes, with `--set` overrides.
pub(crate) fn scene_of(source: &Source, root: &Node, set: &Overrides) -> Result<Scene, SceneError> {
    let root = plain(source, root, set)?;
    let at = At::root(&root);
    let place = |fault: Fault| source.error(fault);
    at.only(FIELDS).map_err(place)?;
    let mut scene = match at.get("scene") {
        Some(name) => from_gallery(source, &at, &name, set)?,
        None => own(&at, &Library::of(source)).map_err(place)?,
    };
    if let Some(name) = at.get("name") {
        scene.name = name.text().map_err(place)?.into();
    } else if scene.name.is_empty() {
        let stem = source.file.as_deref().and_then(|f| f.file_stem());
        scene.name = stem.map_or("scene".into(), |s| s.to_string_lossy().into_owned());
    }
    if let Some(title) = at.get("title") {
        scene.title = title.text().map_err(place)?.into();
    }
    if let Some(citation) = at.get("citation") {
        scene.citation = Some(citation.text().map_err(place)?.into());
    }
    if let Some(table) = at.get("settings") {
        settings::apply(&table, &mut scene).map_err(place)?;
    }
    if let Some(list) = at.get("field") {
        // Only now is it known whether the world repeats.
        field::fit(&list, &scene).map_err(place)?;
    }
    if let Some(table) = at.get("record") {
        scene.record = record::read(&table, &Library::of(source)).map_err(place)?;
    }
    if let Some(list) = at.get("probe") {
        probe::add(&list, &mut scene).map_err(place)?;
    }
    if let Some(table) = at.get("stop") {
        stop::apply(&table, &mut scene).map_err(place)?;
    }
    Ok(scene)
}

/// `scene = "packing"`: parameters come from the file, and from `--set` over them.
fn from_gallery(source: &Source, at: &At, name: &At, set: &Overrides) -> Result<Scene, SceneError> {
    let place = |fault: Fault| source.error(fault);
    if let Some(body) = at.get("body") {
        return Err(place(
            body.fault("a scene of the gallery brings its own bodies: leave out 'scene' or 'body'"),
        ));
    }
    if let Some(joint) = at.get("joint") {
        return Err(place(joint.fault("a scene of the gallery brings its own joints")));
    }
    if let Some(control) = at.get("control") {
        return Err(place(control.fault("a scene of the gallery brings its own controls")));
    }
    for field in ["emitter", "sink"] {
        if let Some(list) = at.get(field) {
            return Err(place(list.fault("a scene of the gallery brings its own emitters and sinks")));
        }
    }
    for field in ["materials", "field"] {
        if let Some(table) = at.get(field) {
            let what = if field == "field" { "force fields" } else { field };
            return Err(place(table.fault(format!("a scene of the gallery brings its own {what}"))));
        }
    }
    let wanted = name.text().map_err(place)?;
    let entry = gallery::find(wanted).map_err(|e| place(name.fault(e.message)))?;
    let mut given: Overrides = Vec::new();
    if let Some(table) = at.get("parameters") {
        let names: Vec<&str> = entry.params.iter().map(|p| p.name).collect();
        table.only(&names).map_err(place)?;
        if let Value::Table(entries) = &table.node.value {
            for e in entries {
                let text = match &e.node.value {
                    Value::Number(x) => x.to_string(),
                    Value::Text(t) => t.to_string(),
                    Value::Bool(b) => b.to_string(),
                    _ => {
                        let what = table.get(&e.key).map(|v| v.fault("must be a number or a string"));
                        return Err(place(what.unwrap_or_else(|| table.fault("must be a table of numbers"))));
                    }
                };
                given.push((e.key.to_string(), text));
            }
        }
    }
    given.extend(set.iter().cloned());
    entry.scene(&given).map_err(|mut e| match &e.field {
        Some(field) if !set.iter().any(|(key, _)| key == field) => {
            e.field = Some(format!("parameters.{field}"));
            source.locate(at.node, e)
        }
        _ => e,
    })
}

/// A file with bodies of its own.
fn own(at: &At, library: &Library) -> Result<Scene, Fault> {
    if let (Some(p), None) = (at.get("parameters"), at.get("body")) {
        let text = "of what? There is no [[body]], and no scene of the gallery is named (scene = \"...\")";
        return Err(p.fault(text));
    }
    let materials =
        RefCell::new(at.get("materials").map_or(Ok(Default::default()), |m| rules::materials(&m))?);
    let mut bodies = Vec::new();
    for table in at.need("body")?.items()? {
        body::read(&table, library, &materials, &mut bodies)?;
        let most = copies::most_bodies();
        if bodies.len() as i64 > most {
            return Err(table.fault(format!("with this one the file makes more than {most} bodies")));
        }
    }
    // The order of the file is kept among those that move and among those that do not.
    let order = record::order(bodies.iter().map(|b| b.def.motion == Motion::Static));
    bodies.sort_by_key(|b| b.def.motion == Motion::Static);
    let any_static = bodies.iter().any(|b| b.def.motion != Motion::Dynamic);
    settings::require_duration(at)?;
    let glass = (0..bodies.len()).filter(|&i| bodies[i].glass).collect();
    let bodies: Vec<drystone::BodyDef> = bodies.into_iter().map(|b| b.def).collect();
    let joints = match at.get("joint") {
        Some(list) => list.items()?.map(|j| joint::read(&j, &bodies, library)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let controls = match at.get("control") {
        Some(list) => list.items()?.map(|c| control::read(&c, &joints)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let flow = flow::read(at, library, &materials)?;
    let fields = match at.get("field") {
        Some(list) => list.items()?.map(|f| field::read(&f)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    Ok(Scene {
        name: String::new(),
        title: format!("{} bodies from a scene file", bodies.len()),
        citation: None,
        settings: Default::default(),
        duration: 0.0,
        seed: 1,
        snaps: Vec::new(),
        materials: materials.into_inner(),
        flow,
        fields,
        glass,
        bodies,
        joints,
        controls,
        order,
        record: Default::default(),
        probe: Measurement::of(Box::new(Support { on: any_static })),
    })
}
