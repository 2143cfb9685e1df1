//! A picture of a world as it stands.

use drystone::{Motion, Shape, World};

use crate::picture::{Camera, Item, Legend, Picture, Rgb, Solid, View, bounds, category};

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

/// Composes the picture.
pub fn portrait(world: &World, how: &Portrait) -> Picture {
    let (model, state) = (world.model(), world.state());
    let shown = how.shown.as_ref().filter(|_| how.colouring == Colouring::Scene);
    let values = shown.map_or_else(|| values(world, how.colouring), |s| s.values.clone());
    let top = values.iter().copied().fold(0.0, f64::max);
    let legend = match how.colouring {
        Colouring::Kind => None,
        Colouring::Scene if shown.is_some() => shown.map(|s| Legend::new(&s.label, 0.0, nice(top), &s.unit)),
        Colouring::Speed | Colouring::Scene => Some(Legend::new("speed", 0.0, nice(top), "m/s")),
        Colouring::Force => Some(Legend::new("contact force / weight", 0.0, nice(top), "")),
    };
    let mut kinds: Vec<String> = Vec::new();
    let mut items = Vec::new();
    for (k, c) in model.colliders.iter().enumerate() {
        let Some(pose) = model.collider_pose(state, k) else { continue };
        let body = c.body as usize;
        let moves = model.bodies[body].motion != Motion::Static;
        let solid = match &c.shape {
            Shape::Sphere { radius } => Solid::Sphere { radius: *radius },
            Shape::Box { half } => Solid::Box { half: *half },
            Shape::Capsule { radius, half_length } => {
                Solid::Capsule { radius: *radius, half_length: *half_length }
            }
            Shape::HalfSpace => Solid::Ground,
            _ => continue,
        };
        let nothing = legend.is_some() && values.get(body).is_none_or(|x| x.is_nan());
        let colour = match (&legend, moves) {
            _ if nothing => STONE,
            (_, false) => STONE,
            (Some(l), true) => l.colour(values[body]),
            (None, true) => {
                let kind = format!("{:?}", c.shape);
                let index = kinds.iter().position(|x| *x == kind).unwrap_or_else(|| {
                    kinds.push(kind);
                    kinds.len() - 1
                });
                category(index)
            }
        };
        let opacity = if how.glass.contains(&body) { 0.12 } else { 1.0 };
        items.push(Item::new(solid, pose.position, colour).rotated(pose.rotation).with_opacity(opacity));
    }
    // A lone body on a plane would fill the picture: give it room to show where it stands.
    let room = (items.iter().filter(|i| !matches!(i.solid, Solid::Ground)).count() == 1)
        .then(|| bounds(&items))
        .flatten();
    let mut picture = Picture::of(items, how.view, how.width, how.height);
    if let Some((low, high)) = room {
        let margin = 1.5 * (high - low).max_element();
        let aspect = how.width as f64 / how.height as f64;
        picture.camera = Camera::fit(low - margin, high + margin, how.view, aspect);
    }
    picture.legend = legend;
    picture.title.clone_from(&how.title);
    picture
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
fn nice(x: f64) -> f64 {
    if !(x.is_finite() && x > 0.0) {
        return 1.0;
    }
    let decade = 10f64.powf(x.log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * decade).find(|t| *t >= x).unwrap_or(x)
}
