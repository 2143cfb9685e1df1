//! The shapes of a `[[body]]`.

use std::cell::RefCell;

use drystone::{Collider, Filter, MaterialId, Materials, Motion, Pose, Shape};
use glam::{DQuat, DVec3};

use super::body::rotation;
use super::heights;
use super::library::Library;
use super::rules;
use super::settings::{not_negative, positive};
use crate::mesh::Target;
use crate::text::{At, Fault, Value};

/// A collider, and what its matter is made of in the body's frame: the shapes whose mass it has. These differ
/// where a solid is collided with by parts that stand for it.
pub(super) struct Read {
    pub collider: Collider,
    pub matter: Vec<(Pose, Shape)>,
}

/// What a shape has beside its form: the body's, unless it says otherwise.
pub(super) struct Surface<'a> {
    mu: f64,
    material: Option<MaterialId>,
    filter: Filter,
    velocity: DVec3,
    materials: &'a RefCell<Materials>,
}

impl<'a> Surface<'a> {
    /// What a body or a shape may say of it.
    pub const FIELDS: &'static [&'static str] = &["mu", "material", "layers", "mask", "surface_velocity"];

    pub fn new(materials: &'a RefCell<Materials>) -> Self {
        Self { mu: 0.0, material: None, filter: Filter::default(), velocity: DVec3::ZERO, materials }
    }

    /// With what `at` says.
    pub fn over(&self, at: &At) -> Result<Self, Fault> {
        let material = match at.get("material") {
            None => self.material,
            Some(name) => {
                let text = name.text()?;
                Some(self.materials.borrow_mut().add(text).map_err(|e| name.fault(e))?)
            }
        };
        Ok(Self {
            mu: at.get("mu").map_or(Ok(self.mu), |m| not_negative(&m, ""))?,
            material,
            filter: rules::filter(at, self.filter)?,
            velocity: at.get("surface_velocity").map_or(Ok(self.velocity), |v| v.vector())?,
            materials: self.materials,
        })
    }
}

/// A shape in its own frame, and its matter there.
pub(super) struct Made {
    pub shape: Shape,
    pub matter: Vec<(Pose, Shape)>,
}

impl From<Shape> for Made {
    fn from(shape: Shape) -> Self {
        Self { matter: vec![(Pose::IDENTITY, shape.clone())], shape }
    }
}

/// One shape as a table, or several as an array of tables.
pub(super) fn read(at: &At, base: &Surface, motion: Motion, library: &Library) -> Result<Vec<Read>, Fault> {
    let Some(given) = at.get("shape") else { return Ok(Vec::new()) };
    let one = |s: &At| {
        let (pose, made) = placed(s, &[Surface::FIELDS, &["sensor"]].concat(), motion, library)?;
        let surface = base.over(s)?;
        let sensor = s.get("sensor").map_or(Ok(false), |x| x.boolean())?;
        let collider = Collider {
            shape: made.shape,
            local: pose,
            mu: surface.mu,
            material: surface.material,
            filter: surface.filter,
            surface_velocity: surface.velocity,
            sensor,
        };
        // What only reports has no mass.
        let matter =
            made.matter.into_iter().filter(|_| !sensor).map(|(p, s)| (pose.compose(&p), s)).collect();
        Ok(Read { collider, matter })
    };
    match given.node.value {
        Value::Array(_) => given.items()?.map(|s| one(&s)).collect(),
        _ => Ok(vec![one(&given)?]),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sphere,
    Box,
    Capsule,
    Cylinder,
    Cone,
    Ellipsoid,
    Hull,
    Plane,
    Mesh,
    Decomposed,
    HeightField,
    Compound,
}

pub(super) const KINDS: &[(&str, Kind)] = &[
    ("sphere", Kind::Sphere),
    ("box", Kind::Box),
    ("capsule", Kind::Capsule),
    ("cylinder", Kind::Cylinder),
    ("cone", Kind::Cone),
    ("ellipsoid", Kind::Ellipsoid),
    ("hull", Kind::Hull),
    ("plane", Kind::Plane),
    ("mesh", Kind::Mesh),
    ("decomposed", Kind::Decomposed),
    ("height_field", Kind::HeightField),
    ("compound", Kind::Compound),
];

impl Kind {
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Kind::Sphere => &["r"],
            Kind::Box => &["half", "rounding"],
            Kind::Capsule => &["r", "half_length"],
            Kind::Cylinder => &["r", "half_length", "rounding"],
            Kind::Cone => &["r", "height", "rounding"],
            Kind::Ellipsoid => &["half"],
            Kind::Hull => &["points", "file", "scale", "rounding"],
            Kind::Plane => &[],
            Kind::Mesh => &["file", "scale"],
            Kind::Decomposed => &["file", "scale", "parts", "threshold"],
            Kind::HeightField => &["heights", "file", "spacing", "scale"],
            Kind::Compound => &["shapes"],
        }
    }

    /// What a dynamic body can have in its stead, where it cannot have this.
    fn refusal(self) -> Option<&'static str> {
        match self {
            Kind::Plane => Some("a plane cannot be dynamic; motion = \"static\" can have one"),
            Kind::HeightField => Some("a height field cannot be dynamic; motion = \"static\" can have one"),
            Kind::Mesh => Some(
                "a mesh cannot be dynamic: type = \"decomposed\" makes convex parts of it, type = \"hull\" wraps it",
            ),
            _ => None,
        }
    }
}

/// A shape with its `position` and `rotation`; `more` are further fields that it may have here.
fn placed(at: &At, more: &[&str], motion: Motion, library: &Library) -> Result<(Pose, Made), Fault> {
    let kind = at.need("type")?.choice(KINDS)?;
    let known: Vec<&str> =
        ["type", "position", "rotation"].iter().chain(more).chain(kind.fields()).copied().collect();
    at.only(&known)?;
    if let (Motion::Dynamic, Some(why)) = (motion, kind.refusal()) {
        return Err(at.fault(why));
    }
    let made = shape(at, kind, motion, library)?;
    let position = at.get("position").map_or(Ok(DVec3::ZERO), |v| v.vector())?;
    let turn = at.get("rotation").map_or(Ok(DQuat::IDENTITY), |r| rotation(&r))?;
    Ok((Pose::new(position, turn), made))
}

fn shape(at: &At, kind: Kind, motion: Motion, library: &Library) -> Result<Made, Fault> {
    let length = |name: &str| at.need(name).and_then(|r| positive(&r, "m"));
    let plain = match kind {
        Kind::Sphere => Shape::Sphere { radius: length("r")? },
        Kind::Capsule => {
            Shape::Capsule { radius: length("r")?, half_length: not_negative(&at.need("half_length")?, "m")? }
        }
        Kind::Plane => Shape::HalfSpace,
        Kind::Ellipsoid => Shape::Ellipsoid { half: extents(&at.need("half")?)? },
        Kind::Box => rounded(at, Shape::Box { half: extents(&at.need("half")?)? })?,
        Kind::Cylinder => {
            rounded(at, Shape::Cylinder { radius: length("r")?, half_length: length("half_length")? })?
        }
        Kind::Cone => rounded(at, Shape::Cone { radius: length("r")?, height: length("height")? })?,
        Kind::Hull => rounded(at, hull(at, library)?)?,
        Kind::Mesh => library.mesh(&at.need("file")?, scale(at)?)?,
        Kind::HeightField => heights::read(at, library)?,
        Kind::Decomposed => {
            let mut target = Target::default();
            if let Some(n) = at.get("parts") {
                target.parts = n.whole(1, Target::MOST_PARTS as i64)? as usize;
            }
            if let Some(x) = at.get("threshold") {
                target.threshold = not_negative(&x, "")?;
            }
            return library.decomposed(&at.need("file")?, scale(at)?, &target);
        }
        Kind::Compound => return compound(at, motion, library),
    };
    Ok(plain.into())
}

/// `shapes`: a list of convex shapes with places of their own.
fn compound(at: &At, motion: Motion, library: &Library) -> Result<Made, Fault> {
    let list = at.need("shapes")?;
    let mut parts = Vec::new();
    let mut matter = Vec::new();
    for item in list.items()? {
        let (pose, made) = placed(&item, &[], motion, library)?;
        if matches!(made.shape, Shape::HalfSpace | Shape::Mesh(_) | Shape::HeightField(_)) {
            let name = made.shape.name();
            let text = format!("a {name} cannot be part of a compound: give the body several shapes instead");
            return Err(item.fault(text));
        }
        matter.extend(made.matter.into_iter().map(|(p, s)| (pose.compose(&p), s)));
        parts.push((pose, made.shape));
    }
    let shape = Shape::compound(parts).map_err(|e| list.fault(e))?;
    Ok(Made { shape, matter })
}

fn hull(at: &At, library: &Library) -> Result<Shape, Fault> {
    match (at.get("points"), at.get("file")) {
        (Some(_), Some(file)) => Err(file.fault("give points or file, not both")),
        (None, Some(file)) => library.hull(&file, scale(at)?),
        (Some(list), None) => {
            if let Some(scale) = at.get("scale") {
                return Err(scale.fault("is for a file; points are in metres"));
            }
            let points: Vec<DVec3> = list.items()?.map(|p| p.vector()).collect::<Result<_, _>>()?;
            Shape::hull(&points).map_err(|e| list.fault(e))
        }
        (None, None) => Err(at.fault("a hull needs 'points' (m) or the 'file' of a mesh")),
    }
}

/// `rounding`: the shape grown by a ball.
fn rounded(at: &At, core: Shape) -> Result<Shape, Fault> {
    let Some(given) = at.get("rounding") else { return Ok(core) };
    let radius = not_negative(&given, "m")?;
    if radius == 0.0 {
        return Ok(core);
    }
    Shape::rounded(core, radius).map_err(|e| given.fault(e))
}

/// `half`: three lengths above 0.
fn extents(half: &At) -> Result<DVec3, Fault> {
    for (i, extent) in half.items()?.enumerate() {
        if i < 3 {
            positive(&extent, "m")?;
        }
    }
    half.vector()
}

/// `scale`: one number, or one along each axis; below 0 mirrors.
fn scale(at: &At) -> Result<DVec3, Fault> {
    let Some(given) = at.get("scale") else { return Ok(DVec3::ONE) };
    let scale = match given.node.value {
        Value::Array(_) => given.vector()?,
        _ => DVec3::splat(given.number()?),
    };
    if scale.cmpeq(DVec3::ZERO).any() {
        return Err(given.fault("must not be 0"));
    }
    Ok(scale)
}
