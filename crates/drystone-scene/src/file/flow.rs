//! `[[emitter]]` and `[[sink]]` of a scene file.

use std::cell::RefCell;

use drystone::{Emitter, Flow, Materials, Sink};
use glam::DVec3;

use super::body;
use super::library::Library;
use super::settings::not_negative;
use crate::text::{At, Fault};

/// The fields of an emitter.
pub(super) const EMITTER: &[&str] = &["min", "max", "rate", "start", "limit", "turned", "body"];
/// And of a sink.
pub(super) const SINK: &[&str] = &["min", "max", "rate", "start"];

/// Both lists, where they are given.
pub(super) fn read(root: &At, library: &Library, materials: &RefCell<Materials>) -> Result<Flow, Fault> {
    let mut flow = Flow::default();
    if let Some(list) = root.get("emitter") {
        for at in list.items()? {
            flow.emitters.push(emitter(&at, library, materials)?);
        }
    }
    if let Some(list) = root.get("sink") {
        for at in list.items()? {
            at.only(SINK)?;
            let corner = |key: &str, far: f64| at.get(key).map_or(Ok(DVec3::splat(far)), |v| v.vector());
            let sink = Sink {
                min: corner("min", f64::NEG_INFINITY)?,
                max: corner("max", f64::INFINITY)?,
                rate: at.get("rate").map(|rate| not_negative(&rate, "1/s")).transpose()?,
                start: at.get("start").map_or(Ok(0.0), |t| not_negative(&t, "s"))?,
            };
            if let (None, Some(start)) = (sink.rate, at.get("start")) {
                return Err(start.fault("a sink without a rate takes all that comes from the beginning"));
            }
            sink.check().map_err(|e| at.fault(e))?;
            flow.sinks.push(sink);
        }
    }
    Ok(flow)
}

fn emitter(at: &At, library: &Library, materials: &RefCell<Materials>) -> Result<Emitter, Fault> {
    at.only(EMITTER)?;
    let mut bodies = Vec::new();
    for table in at.need("body")?.items()? {
        body::read(&table, library, materials, &mut bodies)?;
    }
    let emitter = Emitter {
        min: at.need("min")?.vector()?,
        max: at.need("max")?.vector()?,
        rate: not_negative(&at.need("rate")?, "1/s")?,
        start: at.get("start").map_or(Ok(0.0), |t| not_negative(&t, "s"))?,
        limit: at.get("limit").map(|n| n.whole(0, i64::MAX)).transpose()?.map(|n| n as u64),
        turned: at.get("turned").map_or(Ok(false), |b| b.boolean())?,
        bodies: bodies.into_iter().map(|b| b.def).collect(),
    };
    emitter.check().map_err(|e| at.fault(e))?;
    Ok(emitter)
}
