//! One `[[joint]]` of a scene file. Places are in the world, at time zero.

use drystone::joint::{
    Bushing, Command, CoupledBushing, Frames, Kind, Law, Limits, Motor, Spring, Trajectory, frame,
};
use drystone::{BodyDef, BodyId, Function, JointDef, Pose};
use drystone_solve::solver::nearest;
use glam::{DMat3, DQuat, DVec3};

use super::function;
use super::library::Library;
use super::settings::not_negative;
use crate::text::{At, Fault};

/// The fields of every joint.
pub(super) const COMMON: &[&str] = &[
    "type",
    "name",
    "a",
    "b",
    "anchor",
    "anchor_a",
    "anchor_b",
    "compliance",
    "collide",
    "length_scale",
    "K",
];
/// What may act along a free coordinate.
pub(super) const LAW: &[&str] = &["motor", "limits", "restitution", "friction", "spring"];

/// The types, and the fields that each has beside the common ones.
pub(super) const TYPES: &[(&str, &[&str])] = &[
    ("fixed", &[]),
    ("revolute", &["axis"]),
    ("prismatic", &["axis"]),
    ("cylindrical", &["axis"]),
    ("ball", &[]),
    ("universal", &["axis", "axis_b"]),
    ("planar", &["axis"]),
    ("point_on_line", &["axis"]),
    ("point_on_plane", &["axis"]),
    ("distance", &["length"]),
    ("rope", &["length"]),
    ("spring", &["length", "stiffness", "damping"]),
    ("screw", &["axis", "pitch"]),
    ("gear", &["axis", "axis_b", "ratio"]),
    ("rack_and_pinion", &["axis", "axis_b", "radius"]),
    ("pulley", &["points", "ratio", "length"]),
    ("bushing", &["stiffness", "damping", "angular_stiffness", "angular_damping"]),
    ("trajectory", &["position", "rotation"]),
    ("knife_edge", &["axis", "up"]),
    ("rolling_disc", &["axis", "axis_b", "radius"]),
];

/// Reads a joint between bodies that are known by name.
pub(super) fn read(at: &At, bodies: &[BodyDef], library: &Library) -> Result<JointDef, Fault> {
    let names: Vec<(&str, usize)> = TYPES.iter().enumerate().map(|(i, (name, _))| (*name, i)).collect();
    let (name, own) = TYPES[at.need("type")?.choice(&names)?];
    let mut known: Vec<&str> = COMMON.to_vec();
    known.extend(own);
    known.extend(LAW);
    known.push("coordinates");
    at.only(&known)?;
    let body = |key: &str| at.get(key).map_or(Ok(None), |b| find(&b, bodies));
    let (a, b) = (body("a")?, body("b")?);
    if a == b {
        let what = if a.is_some() { "a body to itself" } else { "the world to itself: name a body" };
        return Err(at.get("b").unwrap_or(*at).fault(format!("joins {what}")));
    }
    let place = |side: &str, body: Option<BodyId>| -> Result<DVec3, Fault> {
        match at.get(side).or_else(|| at.get("anchor")) {
            Some(v) => v.vector(),
            // Where a body is, if nothing else is said.
            None => body
                .map(|id| bodies[id.slot as usize].position)
                .ok_or_else(|| at.fault(format!("the field 'anchor' (or '{side}') is missing"))),
        }
    };
    let is_centred = ["gear", "rack_and_pinion"].contains(&name);
    let (pa, pb) = if is_centred || ["distance", "rope", "spring", "pulley"].contains(&name) {
        (place("anchor_a", a)?, place("anchor_b", b)?)
    } else if name == "trajectory" {
        // The point of B, and the origin of the axes in which its way is given.
        (at.get("anchor_a").map_or(Ok(DVec3::ZERO), |v| v.vector())?, place("anchor_b", b)?)
    } else if name == "rolling_disc" {
        (place("anchor_a", None)?, place("anchor_b", b)?)
    } else {
        let needed = at.get("anchor").is_some();
        let first = place("anchor_a", if needed { None } else { b.or(a) })?;
        (first, at.get("anchor_b").map_or(Ok(first), |v| v.vector())?)
    };
    let axis = |key: &str| -> Result<DVec3, Fault> {
        let v = at.need(key)?;
        v.vector()?.try_normalize().ok_or_else(|| v.fault("a zero vector is no direction"))
    };
    let number = |key: &str| at.need(key)?.number();
    let optional = |key: &str, default: f64| at.get(key).map_or(Ok(default), |v| v.number());
    let vector = |key: &str| at.get(key).map_or(Ok(DVec3::ZERO), |v| v.vector());
    let apart = (pa - pb).length();
    let plain = Frames::Worlds(Pose::new(pa, DQuat::IDENTITY), Pose::new(pb, DQuat::IDENTITY));
    let one = |axis: DVec3| Frames::Worlds(frame(pa, axis), frame(pb, axis));
    let (kind, frames) = match name {
        "fixed" => (Kind::Fixed, plain),
        "ball" => (Kind::Ball, plain),
        "revolute" => (Kind::Revolute, one(axis("axis")?)),
        "prismatic" => (Kind::Prismatic, one(axis("axis")?)),
        "cylindrical" => (Kind::Cylindrical, one(axis("axis")?)),
        "planar" => (Kind::Planar, one(axis("axis")?)),
        "point_on_line" => (Kind::PointOnLine, one(axis("axis")?)),
        "point_on_plane" => (Kind::PointOnPlane, one(axis("axis")?)),
        "screw" => (Kind::Screw { pitch: number("pitch")? }, one(axis("axis")?)),
        "universal" => {
            let turn = across(at, axis("axis")?, axis("axis_b")?, "axis_b")?;
            (Kind::Universal, Frames::Worlds(Pose::new(pa, turn), Pose::new(pb, turn)))
        }
        "distance" => (Kind::Distance { length: optional("length", apart)? }, plain),
        "rope" => (Kind::Rope { length: optional("length", apart)? }, plain),
        "spring" => {
            let (stiffness, damping) = (number("stiffness")?, optional("damping", 0.0)?);
            (Kind::Spring { length: optional("length", apart)?, stiffness, damping }, plain)
        }
        "gear" | "rack_and_pinion" => {
            let frames = Frames::Worlds(frame(pa, axis("axis")?), frame(pb, axis("axis_b")?));
            if name == "gear" {
                (Kind::Gear { ratio: number("ratio")? }, frames)
            } else {
                (Kind::RackAndPinion { radius: number("radius")? }, frames)
            }
        }
        "pulley" => {
            let list = at.need("points")?;
            let points: Vec<DVec3> = list.items()?.map(|p| p.vector()).collect::<Result<_, _>>()?;
            let &[over_a, over_b] = points.as_slice() else {
                return Err(list.fault(format!("must be two points, got {}", points.len())));
            };
            let ratio = optional("ratio", 1.0)?;
            let length = (pa - over_a).length() + ratio * (pb - over_b).length();
            (Kind::Pulley { points: [over_a, over_b], ratio, length: optional("length", length)? }, plain)
        }
        "bushing" if is_matrix(at, "stiffness") || is_matrix(at, "damping") => {
            for key in ["angular_stiffness", "angular_damping"] {
                if let Some(given) = at.get(key) {
                    return Err(given.fault("is part of 'stiffness' and 'damping' where they are matrices"));
                }
            }
            let matrix = |key: &str| at.get(key).map_or(Ok([[0.0; 6]; 6]), |m| matrix(&m));
            let bushing = CoupledBushing::new(matrix("stiffness")?, matrix("damping")?);
            let bushing = bushing.map_err(|e| {
                let key = e.split(' ').next().unwrap_or_default();
                at.get(key).map_or_else(|| at.fault(&e), |x| x.fault(&e))
            })?;
            (Kind::CoupledBushing(Box::new(bushing)), plain)
        }
        "bushing" => {
            let bushing = Bushing {
                stiffness: vector("stiffness")?,
                damping: vector("damping")?,
                angular_stiffness: vector("angular_stiffness")?,
                angular_damping: vector("angular_damping")?,
            };
            (Kind::Bushing(Box::new(bushing)), plain)
        }
        "trajectory" => {
            let position = functions(&at.need("position")?, library)?;
            let rotation = at.get("rotation").map(|r| functions(&r, library)).transpose()?;
            (Kind::Trajectory(Box::new(Trajectory { position, rotation })), plain)
        }
        "knife_edge" => {
            let blade = axis("axis")?;
            let up = at.get("up").map_or(Ok(DVec3::Z), |v| v.vector())?;
            let turn = across(at, blade, up.cross(blade), "up")?;
            (Kind::KnifeEdge, Frames::Worlds(Pose::new(pa, turn), Pose::new(pb, turn)))
        }
        _ => {
            let frames = Frames::Worlds(frame(pa, axis("axis")?), frame(pb, axis("axis_b")?));
            (Kind::RollingDisc { radius: number("radius")? }, frames)
        }
    };
    let mut def = JointDef::new(kind, a, b, DVec3::ZERO, DQuat::IDENTITY);
    def.frames = frames;
    def.name = at.get("name").map(|n| n.text()).transpose()?.map(Into::into);
    if let Some(c) = at.get("compliance") {
        def.compliance = c.numbers()?;
    }
    def.collide = at.get("collide").map_or(Ok(false), |c| c.boolean())?;
    def.length = at.get("length_scale").map(|l| l.number()).transpose()?;
    def.k = at.get("K").map(|k| k.number()).transpose()?;
    def.laws = match at.get("coordinates") {
        Some(list) => {
            if let Some(law) = LAW.iter().find_map(|key| at.get(key)) {
                return Err(law.fault("belongs into 'coordinates' where that is given"));
            }
            let entry = |c: At| {
                c.only(LAW)?;
                law(&c, library)
            };
            list.items()?.map(entry).collect::<Result<_, _>>()?
        }
        None => vec![law(at, library)?],
    };
    def.check().map_err(|e| at.fault(e))?;
    Ok(def)
}

/// Whether a field holds rows of numbers and not numbers.
fn is_matrix(at: &At, key: &str) -> bool {
    let first = |list: &At| list.items().ok().and_then(|mut items| items.next().map(|i| i.items().is_ok()));
    at.get(key).is_some_and(|list| first(&list).unwrap_or(false))
}

/// Six rows of six numbers.
fn matrix(at: &At) -> Result<[[f64; 6]; 6], Fault> {
    let rows: Vec<[f64; 6]> = at.items()?.map(|row| row.numbers()).collect::<Result<_, _>>()?;
    let n = rows.len();
    rows.try_into().map_err(|_| at.fault(format!("must have 6 rows, got {n}")))
}

/// x, and y made at a right angle to it.
fn across(at: &At, x: DVec3, y: DVec3, key: &str) -> Result<DQuat, Fault> {
    let z = x.cross(y).try_normalize();
    let z = z.ok_or_else(|| at.fault(format!("'{key}' must not be along 'axis'")))?;
    Ok(DQuat::from_mat3(&DMat3::from_cols(x, z.cross(x), z)))
}

/// A body by its name; "world" is none.
fn find(at: &At, bodies: &[BodyDef]) -> Result<Option<BodyId>, Fault> {
    let name = at.text()?;
    if name == "world" {
        return Ok(None);
    }
    let mut found = bodies.iter().enumerate().filter(|(_, b)| b.name.as_deref() == Some(name));
    let Some((slot, _)) = found.next() else {
        let names: Vec<&str> = bodies.iter().filter_map(|b| b.name.as_deref()).chain(["world"]).collect();
        let hint = nearest(name, &names).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        return Err(at.fault(format!("there is no body named '{name}'{hint} (\"world\" is the world)")));
    };
    if found.next().is_some() {
        return Err(at.fault(format!("several bodies are named '{name}'")));
    }
    Ok(Some(BodyId { slot: slot as u32, generation: 0 }))
}

/// What acts along a coordinate.
fn law(at: &At, library: &Library) -> Result<Law, Fault> {
    let restitution = at.get("restitution").map_or(Ok(0.0), |r| r.number())?;
    let limit = |l: At| -> Result<Limits, Fault> {
        let [lower, upper] = l.numbers()?;
        if lower > upper {
            return Err(l.fault(format!("lower must be at most upper, got {lower} and {upper}")));
        }
        Ok(Limits { lower, upper, restitution })
    };
    let limits = at.get("limits").map(limit).transpose()?;
    if let (None, Some(r)) = (&limits, at.get("restitution")) {
        return Err(r.fault("needs 'limits' beside it"));
    }
    let spring = |s: At| -> Result<Spring, Fault> {
        s.only(SPRING)?;
        let get = |key: &str| s.get(key).map_or(Ok(0.0), |x| x.number());
        Ok(Spring { rest: get("rest")?, stiffness: get("stiffness")?, damping: get("damping")? })
    };
    Ok(Law {
        motor: at.get("motor").map(|m| motor(&m, library)).transpose()?,
        limits,
        friction: at.get("friction").map_or(Ok(0.0), |f| not_negative(&f, ""))?,
        spring: at.get("spring").map(spring).transpose()?,
    })
}

/// The fields of a spring.
pub(super) const SPRING: &[&str] = &["rest", "stiffness", "damping"];
/// The fields of a motor.
pub(super) const MOTOR: &[&str] = &["position", "speed", "force", "limit"];

/// `{ speed = 3, limit = 300 }`, or `position` or `force` instead of `speed`.
fn motor(at: &At, library: &Library) -> Result<Motor, Fault> {
    at.only(MOTOR)?;
    let given = |key: &str| at.get(key).map(|f| function::read(&f, library)).transpose();
    let command = match (given("position")?, given("speed")?, given("force")?) {
        (Some(f), None, None) => Command::Position(f),
        (None, Some(f), None) => Command::Speed(f),
        (None, None, Some(f)) => Command::Force(f),
        (None, None, None) => return Err(at.fault("needs one of 'position', 'speed' and 'force'")),
        _ => return Err(at.fault("takes one of 'position', 'speed' and 'force', not several")),
    };
    let limit = at.get("limit").map_or(Ok(f64::INFINITY), |l| not_negative(&l, ""))?;
    Ok(Motor { command, limit })
}

fn functions(at: &At, library: &Library) -> Result<[Function; 3], Fault> {
    let all: Vec<Function> = at.items()?.map(|f| function::read(&f, library)).collect::<Result<_, _>>()?;
    let n = all.len();
    all.try_into().map_err(|_| at.fault(format!("must have 3 functions of time, got {n}")))
}
