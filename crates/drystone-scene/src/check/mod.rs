//! `drystone check`: what a file holds, and what in it is allowed but hardly meant.

mod assembled;
mod errors;
mod notes;

use std::path::Path;

use drystone::shape::TriMesh;
use drystone::{Shape, World};
use drystone_solve::solver::nearest;

pub use assembled::Assembled;

use crate::load::{is_flat, load};
use crate::text::Source;
use crate::{Scene, SceneError, file};

/// The share of the smaller inner radius from which on an overlap is refused unless it is asked for.
const DEEP_OVERLAP: f64 = 0.5;

/// Reads a file as [`load`] would and builds its world. Says what it holds in a line, then masses, sizes,
/// extent, energy and contacts, and in a line each what looks like a slip: friction that is left out or out
/// of proportion, parameters without a use, bodies in each other, meshes that are open, inside out or in
/// millimetres, pairs of
/// materials that nothing is made of, joints whose bodies had to be moved, gears without bearings, keys that
/// the page has a use for.
///
/// # Errors
/// All that is wrong with a scene file: the first as the error's fields, the others on lines of their own.
pub fn check(path: impl AsRef<Path>) -> Result<String, SceneError> {
    let path = path.as_ref();
    let shown = path.to_string_lossy();
    let source = Source::open(path)?;
    let root = source.parse()?;
    let is_state = is_flat(&source, &root);
    let (scene, tree, unused) = if is_state {
        (load(&shown, &[])?, None, None)
    } else {
        let (root, missing) = file::tree_and_errors(&source, root);
        let scene = errors::scene_or_errors(&source, &root, missing).map_err(joined)?;
        (scene, Some(file::plain(&source, &root, &Vec::new())?), notes::unused(&root))
    };
    let (time, h) = (scene.duration, scene.settings.h);
    if time > 0.0 && time < (1.0 - 1e-9) * h {
        let message = format!("{time} s are less than a step of {h:e} s: nothing to run");
        let field = if is_state { None } else { Some("settings.T".into()) };
        return Err(placed(&shown, SceneError { field, ..SceneError::new(message) }));
    }
    let mut world = scene.world(scene.settings.clone()).map_err(|e| placed(&shown, e))?;
    let moving = world.model().dynamic().count();
    let moved = assemble(&mut world, &shown)?;
    let mut text = format!(
        "{}: {} '{}', {moving} dynamic bodies and {} others, h = {} s, T = {} s",
        path.display(),
        if is_state { "flat state" } else { "scene file" },
        scene.name,
        scene.bodies.len() - moving,
        notes::number(scene.settings.h),
        notes::number(scene.duration)
    );
    for line in notes::figures(&scene, &world) {
        text += &format!("\n{line}");
    }
    let mut all: Vec<String> = overlaps(&mut world).into_iter().collect();
    all.extend(notes::overlaps(&mut world, DEEP_OVERLAP));
    all.extend(notes::coincident(&scene, &mut world));
    all.extend(moved.map(|m| m.text));
    all.extend(notes::bearings(&scene));
    all.extend(notes::keys(&scene));
    all.extend(notes::amounts(&scene, &world));
    if let Some(tree) = &tree {
        all.extend(notes::friction(tree));
        all.extend(notes::pairs(tree));
        all.extend(unused);
        all.extend(notes::meshes(&source, tree));
    }
    for note in all.into_iter().chain(meshes(&world)).chain(materials(&scene)) {
        text += &format!("\nnote: {note}");
    }
    Ok(text)
}

/// Several errors as one: the first, and the others below it.
fn joined(errors: Vec<SceneError>) -> SceneError {
    let mut all = errors.into_iter();
    let mut first = all.next().unwrap_or_else(|| SceneError::new("the file cannot be read"));
    for other in all {
        first.message += &format!("\n{other}");
    }
    first
}

/// Makes positions and velocities fit the joints, and says so where bodies were moved for it by more than a
/// drawing is off. Where they cannot be, the error says where in the file the joint is.
pub fn assemble(world: &mut World, what: &str) -> Result<Option<Assembled>, SceneError> {
    let before = world.state().position.clone();
    world.assemble_joints().map_err(|e| {
        let text = e.to_string();
        // Joints of a file are numbered as it has them, and the message begins with the one that does not
        // fit.
        let named = world.joints().find(|j| text.starts_with(&(world.model().describe_joint(j.slot) + " ")));
        let field = named.map(|j| format!("joints[{}]", j.slot));
        placed(what, SceneError { field, ..SceneError::new(text) })
    })?;
    Ok(assembled::of(world, &before))
}

/// An error with the place of its field, where the scene is a file.
pub fn placed(what: &str, mut e: SceneError) -> SceneError {
    let path = Path::new(what);
    let Ok(source) = Source::open(path) else { return e };
    let Ok(mut root) = source.parse() else { return e };
    if !is_flat(&source, &root) {
        // Numbers count what loops and included files have made.
        let Ok(whole) = file::tree(&source, root).and_then(|r| file::plain(&source, &r, &Vec::new())) else {
            return e;
        };
        root = whole;
        e.field =
            e.field.map(|f| if f.starts_with("joints[") { f.replacen("joints", "joint", 1) } else { f });
    }
    e.file = Some(path.into());
    source.locate(&root, e)
}

/// The deepest overlap at the start, if it is one that a run refuses.
pub fn overlaps(world: &mut World) -> Option<String> {
    let deep = world.deep_overlaps(DEEP_OVERLAP);
    let (a, b, depth) = deep.iter().max_by(|x, y| x.2.total_cmp(&y.2))?;
    let model = world.model();
    Some(format!(
        "{} and {} overlap by {depth:.4} m at the start, more than half a radius ({} such pair{}); \
         --allow-overlap starts anyway and separates them with bounded speed",
        model.describe(a.slot),
        model.describe(b.slot),
        deep.len(),
        if deep.len() == 1 { "" } else { "s" },
    ))
}

fn meshes(world: &World) -> Vec<String> {
    let mut notes = Vec::new();
    for c in &world.model().colliders {
        let Shape::Mesh(mesh) = &c.shape else { continue };
        let whose = world.model().describe(c.body);
        let open = open_edges(mesh);
        if open > 0 {
            notes.push(format!(
                "the mesh of {whose} is open ({open} edges with a triangle on one side only): it holds bodies up on \
                 the side that its triangles face, and lets them through from behind"
            ));
        } else if mesh.is_closed() && mesh.is_oriented() && mesh.signed_volume() < 0.0 {
            notes.push(format!(
                "the mesh of {whose} is inside out: its corners go clockwise seen from outside, so that it holds \
                 bodies in, not out"
            ));
        }
    }
    notes
}

fn open_edges(mesh: &TriMesh) -> usize {
    let edges = (0..mesh.triangles().len()).flat_map(|k| (0..3).map(move |edge| (k, edge)));
    edges.filter(|&(k, edge)| mesh.neighbour(k, edge).is_none()).count()
}

fn materials(scene: &Scene) -> Vec<String> {
    let emitted = scene.flow.emitters.iter().flat_map(|e| &e.bodies);
    let colliders = scene.bodies.iter().chain(emitted).flat_map(|b| &b.colliders);
    let used: Vec<_> = colliders.filter_map(|c| c.material).collect();
    let names = scene.materials.names();
    let (made, unused): (Vec<_>, Vec<_>) =
        (0..names.len()).partition(|&k| used.iter().any(|m| usize::from(m.0) == k));
    let made: Vec<&str> = made.into_iter().map(|k| names[k].as_str()).collect();
    let note = |k: usize| {
        let hint = nearest(&names[k], &made).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        format!("nothing is made of '{}', which has a row in materials.pair{hint}", names[k])
    };
    unused.into_iter().map(note).collect()
}
