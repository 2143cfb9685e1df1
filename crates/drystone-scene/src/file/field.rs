//! One `[[field]]` of a scene file.

use drystone::Field;
use drystone::field::{Pair, Source};

use crate::Scene;
use crate::text::{At, Fault};

/// The fields of a field.
pub(super) const FIELDS: &[&str] = &["type", "source", "strength", "exponent", "cutoff", "core"];

/// Reads a field.
pub(super) fn read(at: &At) -> Result<Field, Fault> {
    at.need("type")?.choice(&[("pair", ())])?;
    at.only(FIELDS)?;
    let number = |key: &str, default: f64| at.get(key).map_or(Ok(default), |x| x.number());
    let pair = Pair {
        source: at.get("source").map_or(Ok(Source::Charge), |s| s.choice(&Source::NAMES))?,
        strength: at.need("strength")?.number()?,
        exponent: number("exponent", 2.0)?,
        cutoff: at.need("cutoff")?.number()?,
        core: number("core", 0.0)?,
    };
    pair.check().map_err(|e| {
        // The message begins with the field that it is about.
        let key = e.split(' ').next().unwrap_or_default();
        at.get(key).map_or_else(|| at.fault(&e), |x| x.fault(&e))
    })?;
    Ok(Field::Pair(pair))
}

/// Whether the fields fit into the periods of the scene.
pub(super) fn fit(list: &At, scene: &Scene) -> Result<(), Fault> {
    for (at, field) in list.items()?.zip(&scene.fields) {
        field.fits(scene.settings.periodic.as_ref()).map_err(|e| at.fault(e))?;
    }
    Ok(())
}
