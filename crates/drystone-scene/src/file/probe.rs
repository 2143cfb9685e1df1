//! `[[probe]]` of a scene file.

use drystone::{BodyDef, BodyId};
use drystone_record::recording::Every;
use drystone_solve::solver::nearest;
use glam::DVec3;

use super::record::every;
use super::settings::{not_negative, positive};
use crate::Scene;
use crate::measure::{Force, Meter, Meters, Named, Passing, Region, Slope, SlopeShape, Which, is_called};
use crate::text::{At, Fault};

/// Readings of a probe over the duration of a scene, if it does not say how often.
const READINGS: f64 = 100.0;

/// Fields of all kinds.
pub(super) const COMMON: &[&str] = &["name", "type", "every", "start"];

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Flow,
    Force,
    Region,
    Slope,
    Body,
    Energy,
    Emitted,
    Sunk,
}

pub(super) const KINDS: &[(&str, Kind)] = &[
    ("flow", Kind::Flow),
    ("force", Kind::Force),
    ("region", Kind::Region),
    ("slope", Kind::Slope),
    ("body", Kind::Body),
    ("energy", Kind::Energy),
    ("emitted", Kind::Emitted),
    ("sunk", Kind::Sunk),
];

impl Kind {
    /// Its own fields.
    pub(super) fn fields(self) -> &'static [&'static str] {
        match self {
            Kind::Flow => &["point", "normal", "radius", "bodies"],
            Kind::Force => &["body", "about"],
            Kind::Region => &["min", "max", "bodies"],
            Kind::Slope => &["min", "max", "cells", "along", "centre", "bodies"],
            Kind::Body => &["body"],
            Kind::Energy => &[],
            Kind::Emitted => &["emitter"],
            Kind::Sunk => &["sink"],
        }
    }
}

/// Puts the meters of a list over what the scene measures already.
pub(super) fn add(list: &At, scene: &mut Scene) -> Result<(), Fault> {
    let mut meters: Vec<Named> = Vec::new();
    for at in list.items()? {
        let meter = read(&at, scene)?;
        if meters.iter().any(|m| m.name == meter.name) {
            let name = at.need("name")?;
            return Err(name.fault(format!("there is a probe named '{}' already", meter.name)));
        }
        meters.push(meter);
    }
    scene.probe.add(Meters { meters });
    Ok(())
}

fn read(at: &At, scene: &Scene) -> Result<Named, Fault> {
    let name = at.need("name")?;
    let text = name.text()?;
    if text.is_empty() || text.contains(['.', ',', '"', '\n']) {
        return Err(name.fault("must not be empty, nor have dots, commas or quotes: it heads columns"));
    }
    let kind = at.need("type")?.choice(KINDS)?;
    at.only(&[COMMON, kind.fields()].concat())?;
    let meter = match kind {
        Kind::Flow => Meter::Passing(passing(at, scene)?),
        Kind::Force => {
            let body = at.need("body")?;
            let about = at.get("about").map(|a| a.vector()).transpose()?;
            Meter::Force(Force::new(find(&body, scene)?, about))
        }
        Kind::Region => {
            let (min, max) = corners(at)?;
            Meter::Region(Region { min, max, which: which(at, scene)? })
        }
        Kind::Slope => Meter::Slope(slope(at, scene)?),
        Kind::Body => {
            let body = at.need("body")?;
            match find(&body, scene)?.as_slice() {
                [one] => Meter::Body(*one),
                many => {
                    let message = format!("{} bodies are called so: name one of them", many.len());
                    return Err(body.fault(message));
                }
            }
        }
        Kind::Energy => Meter::Energy,
        Kind::Emitted => Meter::Emitted(one_of(at, "emitter", scene.flow.emitters.len())?),
        Kind::Sunk => Meter::Sunk(one_of(at, "sink", scene.flow.sinks.len())?),
    };
    let often = match at.get("every") {
        Some(e) => every(&e)?,
        None => Every::Seconds((scene.duration / READINGS).max(scene.settings.h)),
    };
    let start = at.get("start").map_or(Ok(0.0), |s| not_negative(&s, "s"))?;
    if let Some(given) = at.get("start").filter(|_| start > scene.duration) {
        return Err(given.fault(format!("is after the end: T = {} s, got {start}", scene.duration)));
    }
    Ok(Named::new(text, meter, often, start))
}

fn direction(at: &At) -> Result<DVec3, Fault> {
    at.vector()?.try_normalize().ok_or_else(|| at.fault("a zero vector is no direction"))
}

fn corners(at: &At) -> Result<(DVec3, DVec3), Fault> {
    let (min, max) = (at.need("min")?.vector()?, at.need("max")?.vector()?);
    if !min.cmplt(max).all() {
        return Err(at
            .need("max")?
            .fault(format!("must be above min along every axis, got {max} and {min}")));
    }
    Ok((min, max))
}

fn passing(at: &At, scene: &Scene) -> Result<Passing, Fault> {
    let (point, normal) = (at.need("point")?.vector()?, direction(&at.need("normal")?)?);
    let radius = at.get("radius").map_or(Ok(f64::INFINITY), |r| positive(&r, "m"))?;
    Ok(Passing::new(point, normal, radius, which(at, scene)?))
}

fn slope(at: &At, scene: &Scene) -> Result<Slope, Fault> {
    let (min, max) = corners(at)?;
    let cells = match at.get("cells") {
        None => [20, 20],
        Some(cells) => {
            let n: Vec<i64> = cells.items()?.map(|n| n.whole(1, 10_000)).collect::<Result<_, _>>()?;
            let &[x, y] = n.as_slice() else {
                return Err(cells.fault(format!("must have 2 numbers, got {}", n.len())));
            };
            [x as usize, y as usize]
        }
    };
    let shape = match (at.get("along"), at.get("centre")) {
        (None, None) => SlopeShape::Plane,
        (Some(along), None) => {
            let flat = along.vector()?.with_z(0.0).try_normalize();
            SlopeShape::Along(flat.ok_or_else(|| along.fault("must have a horizontal part"))?)
        }
        (None, Some(centre)) => SlopeShape::Cone(centre.vector()?),
        (_, Some(centre)) => return Err(centre.fault("give 'along' or 'centre', not both")),
    };
    Ok(Slope { min, max, cells, shape, which: which(at, scene)? })
}

/// `emitter = 0`: one of several by its place in the file, or all.
fn one_of(at: &At, key: &str, count: usize) -> Result<Option<usize>, Fault> {
    if count == 0 {
        return Err(at.fault(format!("the scene has no {key}")));
    }
    at.get(key).map(|n| n.whole(0, count as i64 - 1).map(|n| n as usize)).transpose()
}

/// All names of bodies that there are, or may come.
fn names(scene: &Scene) -> impl Iterator<Item = &str> {
    let come = scene.flow.emitters.iter().flat_map(|e| &e.bodies);
    scene.bodies.iter().chain(come).filter_map(|b| b.name.as_deref())
}

/// `bodies = "grain"`: those that are called so.
fn which(at: &At, scene: &Scene) -> Result<Which, Fault> {
    let Some(bodies) = at.get("bodies") else { return Ok(Which(None)) };
    let wanted = bodies.text()?;
    if !names(scene).any(|name| is_called(name, wanted)) {
        return Err(unknown(&bodies, wanted, names(scene)));
    }
    Ok(Which(Some(wanted.into())))
}

/// A body of the scene by its name, or all copies of one.
fn find(at: &At, scene: &Scene) -> Result<Vec<BodyId>, Fault> {
    let wanted = at.text()?;
    let own = |b: &BodyDef, exact: bool| {
        let name = b.name.as_deref().unwrap_or_default();
        if exact { name == wanted } else { is_called(name, wanted) }
    };
    let all = |exact: bool| {
        let found = scene.bodies.iter().enumerate().filter(|(_, b)| own(b, exact));
        found.map(|(i, _)| BodyId { slot: i as u32, generation: 0 }).collect::<Vec<_>>()
    };
    let found = Some(all(true)).filter(|f| !f.is_empty()).unwrap_or_else(|| all(false));
    if found.is_empty() {
        return Err(unknown(at, wanted, scene.bodies.iter().filter_map(|b| b.name.as_deref())));
    }
    Ok(found)
}

fn unknown<'a>(at: &At, wanted: &str, names: impl Iterator<Item = &'a str>) -> Fault {
    let names: Vec<&str> = names.collect();
    let hint = nearest(wanted, &names).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
    at.fault(format!("there is no body named '{wanted}'{hint}"))
}
