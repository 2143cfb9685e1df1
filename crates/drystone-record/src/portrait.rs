//! A picture of a world as it stands.

use std::collections::BTreeMap;

use drystone::joint::{Kind, WORLD_BODY};
use drystone::shape::{HeightField, Hull};
use drystone::{Motion, Pose, Shape, World};
use glam::{DQuat, DVec3};

use crate::picture::{CATEGORIES, Item, Legend, Picture, Rgb, Solid, View, bounds, category, distinct};

/// What colour means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colouring {
    /// Speed of the centre, m/s.
    Speed,
    /// Shape and size.
    Kind,
    /// Sum of normal contact forces over weight.
    Force,
    /// What the scene itself has to show: see [`Portrait::shown`]. Speed, if it has nothing.
    Scene,
}

impl Colouring {
    /// The names.
    pub const NAMES: &'static [&'static str] = &["speed", "kind", "force", "scene"];

    /// By name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "speed" => Colouring::Speed,
            "kind" => Colouring::Kind,
            "force" => Colouring::Force,
            "scene" => Colouring::Scene,
            _ => return None,
        })
    }
}

/// What to draw and how.
pub struct Portrait<'a> {
    /// From where.
    pub view: View,
    /// What colour means.
    pub colouring: Colouring,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// A line in the corner.
    pub title: Option<String>,
    /// Slots of bodies to draw as glass.
    pub glass: &'a [usize],
    /// For [`Colouring::Scene`].
    pub shown: Option<Shown>,
    /// Leaves out shapes whose origin is below this: axis (0, 1, 2) and coordinate, m.
    pub cut: Option<(usize, f64)>,
}

/// A quantity of a scene's own, by body slot.
pub struct Shown {
    /// What it is.
    pub label: String,
    /// Its unit; empty for a bare number.
    pub unit: String,
    /// One value for each slot; one that is not a number leaves the body grey.
    pub values: Vec<f64>,
}

const STONE: Rgb = Rgb([0.62, 0.60, 0.57]);
const EARTH: Rgb = Rgb([0.66, 0.60, 0.47]);

/// Composes the picture.
pub fn portrait(world: &World, how: &Portrait) -> Picture {
    let (model, state) = (world.model(), world.state());
    let shown = how.shown.as_ref().filter(|_| how.colouring == Colouring::Scene);
    let values = shown.map_or_else(|| values(world, how.colouring), |s| s.values.clone());
    let top = values.iter().copied().fold(0.0, f64::max);
    let legend = match how.colouring {
        Colouring::Kind => None,
        Colouring::Scene if shown.is_some() => {
            let low = values.iter().copied().fold(0.0, f64::min);
            let low = if low < 0.0 { -nice(-low) } else { 0.0 };
            shown.map(|s| Legend::new(&s.label, low, nice(top), &s.unit))
        }
        Colouring::Speed | Colouring::Scene => Some(Legend::new("speed", 0.0, nice(top), "m/s")),
        Colouring::Force => Some(Legend::new("contact force / weight", 0.0, nice(top), "")),
    };
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut items = Vec::new();
    for (k, c) in model.colliders.iter().enumerate() {
        let Some(pose) = model.collider_pose(state, k) else { continue };
        let in_front = |(axis, value): (usize, f64)| pose.position[axis] < value;
        if how.cut.is_some_and(in_front) && !matches!(c.shape, Shape::HalfSpace) {
            continue;
        }
        let body = c.body as usize;
        let moves = model.bodies[body].motion != Motion::Static;
        let nothing = legend.is_some() && values.get(body).is_none_or(|x| x.is_nan());
        let colour = match (&legend, moves) {
            (_, false) if matches!(c.shape, Shape::HeightField(_)) => EARTH,
            _ if nothing => STONE,
            (_, false) => STONE,
            (Some(l), true) => l.colour(values[body]),
            (None, true) => {
                let next = kinds.len();
                kind_colour(*kinds.entry(kind(&c.shape)).or_insert(next))
            }
        };
        let opacity = if how.glass.contains(&body) { 0.12 } else { 1.0 };
        let first = items.len() as u32;
        for (local, solid) in solids(&c.shape) {
            let at = pose.compose(&local);
            let piece = (items.len() as u32 > first).then_some(first);
            let item = Item::new(solid, at.position, colour).rotated(at.rotation);
            items.push(item.with_opacity(opacity).piece_of(piece));
        }
    }
    links(world, &mut items);
    // A lone body on a plane would fill the picture: give it room to show where it stands.
    let alone = |i: &&Item| !matches!(i.solid, Solid::Ground) && i.piece_of.is_none();
    let room = (items.iter().filter(alone).count() == 1).then(|| bounds(&items)).flatten();
    let mut picture = Picture::of(items, how.view, how.width, how.height);
    picture.legend = legend;
    match room {
        Some((low, high)) => {
            let margin = LONE * (high - low).max_element();
            picture.look_at(&[(low - margin, high + margin)], how.view);
        }
        None => picture.look_at_all(how.view),
    }
    picture.title.clone_from(&how.title);
    picture
}

/// Thickness of lines over the size of what is drawn.
const LINE: f64 = 0.003;
const INK: Rgb = Rgb([0.15, 0.15, 0.18]);

/// Joints as thin lines: between their two ends where those are apart, over the points of pulleys, and from
/// the end to the centre of a body that has no shape to show.
fn links(world: &World, items: &mut Vec<Item>) {
    let (model, state) = (world.model(), world.state());
    let mut lines: Vec<[DVec3; 2]> = Vec::new();
    for id in world.joints() {
        let (Ok(joint), Ok(frames)) = (world.joint(id), world.joint_frames(id)) else { continue };
        let [a, b] = frames.map(|f| f.position);
        match joint.kind {
            Kind::Pulley { points: [over_a, over_b], .. } => {
                lines.extend([[a, over_a], [over_a, over_b], [over_b, b]]);
            }
            // Frames that only say directions.
            Kind::Gear { .. }
            | Kind::RackAndPinion { .. }
            | Kind::RollingDisc { .. }
            | Kind::Trajectory(_) => {}
            _ => lines.push([a, b]),
        }
        for (body, end) in joint.bodies.into_iter().zip([a, b]) {
            let bare = |k: u32| !model.colliders.iter().any(|c| c.body == k);
            if body != WORLD_BODY && bare(body) {
                lines.push([state.position[body as usize], end]);
            }
        }
    }
    let all = bounds(items).into_iter().flat_map(|(l, h)| [l, h]).chain(lines.iter().flatten().copied());
    let (low, high) = all.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    let thickness = LINE * (high - low).max_element();
    for [a, b] in lines {
        let length = a.distance(b);
        if length > thickness && length.is_finite() {
            let solid = Solid::Capsule { radius: thickness, half_length: 0.5 * length };
            let turn = DQuat::from_rotation_arc(DVec3::Z, (b - a) / length);
            // A piece of the first item: a line is not a body of its own.
            let whole = (!items.is_empty()).then_some(0);
            items.push(Item::new(solid, 0.5 * (a + b), INK).rotated(turn).piece_of(whole));
        }
    }
}

/// Room around a body alone on a plane, in its longest side.
const LONE: f64 = 0.8;

/// Edges of meshes that turn by less than this look round, degrees.
const CREASE: f64 = 25.0;

/// What a shape looks like, with places in its frame.
pub fn solids(shape: &Shape) -> Vec<(Pose, Solid)> {
    let one = |solid: Solid| vec![(Pose::IDENTITY, solid)];
    match shape {
        Shape::Sphere { radius } => one(Solid::Sphere { radius: *radius }),
        Shape::Box { half } => one(Solid::Box { half: *half }),
        Shape::Capsule { radius, half_length } => {
            one(Solid::Capsule { radius: *radius, half_length: *half_length })
        }
        Shape::HalfSpace => one(Solid::Ground),
        Shape::Cylinder { radius, half_length } => {
            one(Solid::Cylinder { radius: *radius, half_length: *half_length })
        }
        Shape::Cone { radius, height } => one(Solid::Cone { radius: *radius, height: *height }),
        Shape::Ellipsoid { half } => one(Solid::Ellipsoid { half: *half }),
        Shape::Hull(hull) => one(convex(hull)),
        Shape::Rounded { core, radius } => solids(core)
            .into_iter()
            .map(|(pose, core)| (pose, Solid::Rounded { core: Box::new(core), radius: *radius }))
            .collect(),
        Shape::Mesh(mesh) => one(Solid::Mesh {
            vertices: mesh.vertices().to_vec(),
            triangles: mesh.triangles().to_vec(),
            crease: CREASE,
        }),
        Shape::HeightField(field) => one(earth(field)),
        Shape::Compound(compound) => compound
            .parts()
            .iter()
            .flat_map(|(pose, part)| solids(part).into_iter().map(|(p, s)| (pose.compose(&p), s)))
            .collect(),
    }
}

/// The surface of a height field, with a skirt all round: it is solid below, and would look like a sheet.
fn earth(field: &HeightField) -> Solid {
    let (columns, rows) = (field.columns(), field.rows());
    let index = |i: usize, j: usize| (j * columns + i) as u32;
    let mut vertices: Vec<DVec3> =
        (0..columns * rows).map(|k| field.point(k % columns, k / columns)).collect();
    let mut triangles = Vec::with_capacity(field.triangle_count());
    for j in 0..rows - 1 {
        for i in 0..columns - 1 {
            // The diagonal of a cell is the one that bodies feel.
            let [a, b, c, d] = [index(i, j), index(i + 1, j), index(i + 1, j + 1), index(i, j + 1)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    let (low, high) =
        vertices.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v.z), h.max(v.z)));
    let foot = low - 0.15 * (high - low);
    // Round the border, counter-clockwise from above.
    let border = (0..columns - 1)
        .map(|i| index(i, 0))
        .chain((0..rows - 1).map(|j| index(columns - 1, j)))
        .chain((1..columns).rev().map(|i| index(i, rows - 1)))
        .chain((1..rows).rev().map(|j| index(0, j)))
        .collect::<Vec<u32>>();
    let first = vertices.len() as u32;
    for &k in &border {
        vertices.push(vertices[k as usize].with_z(foot));
    }
    let n = border.len() as u32;
    for k in 0..n {
        let next = (k + 1) % n;
        let (a, b) = (border[k as usize], border[next as usize]);
        triangles.extend([[a, first + k, first + next], [a, first + next, b]]);
    }
    Solid::Mesh { vertices, triangles, crease: CREASE }
}

fn convex(hull: &Hull) -> Solid {
    let faces = (0..hull.faces().len()).map(|f| hull.face_vertices(f).to_vec()).collect();
    Solid::Convex { vertices: hull.vertices().to_vec(), faces }
}

/// The palette for colour-blind eyes as far as it goes (black is hard to see the shape of), then an endless
/// one.
pub(crate) fn kind_colour(index: usize) -> Rgb {
    if index + 1 < CATEGORIES.len() { category(index) } else { distinct(index) }
}

/// Bodies with the same key get the same colour.
pub(crate) fn kind(shape: &Shape) -> String {
    match shape {
        // Written out, a mesh would be a megabyte: two of one volume and reach are taken for the same.
        Shape::Hull(_) | Shape::Mesh(_) | Shape::HeightField(_) | Shape::Compound(_) => {
            format!("{} {} {}", shape.name(), shape.volume(), shape.bounding_radius())
        }
        Shape::Rounded { core, radius } => format!("rounded {radius} {}", kind(core)),
        other => format!("{other:?}"),
    }
}

/// The value of each body slot that the colour shows.
fn values(world: &World, colouring: Colouring) -> Vec<f64> {
    let (model, state) = (world.model(), world.state());
    match colouring {
        Colouring::Kind => Vec::new(),
        Colouring::Speed | Colouring::Scene => state.velocity.iter().map(|v| v.length()).collect(),
        Colouring::Force => {
            let mut f = vec![0.0; model.bodies.len()];
            for c in world.contacts() {
                for b in c.bodies {
                    f[b as usize] += c.normal_impulse() / world.settings().h;
                }
            }
            let g = world.settings().gravity.length();
            for (f, b) in f.iter_mut().zip(&model.bodies) {
                let weight = b.mass.mass * g;
                *f = if weight > 0.0 && b.motion == Motion::Dynamic { *f / weight } else { 0.0 };
            }
            f
        }
    }
}

/// A round number at or above x, so that the legend reads well.
pub(crate) fn nice(x: f64) -> f64 {
    if !(x.is_finite() && x > 0.0) {
        return 1.0;
    }
    let decade = 10f64.powf(x.log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * decade).find(|t| *t >= x).unwrap_or(x)
}
