//! Functions of time, and what follows them.

use drystone::function::{Beyond, Interpolation, Table};
use drystone::{Function, Guide};

use super::library::Library;
use super::series;
use crate::text::{At, Fault, Value};

/// The fields of a table, beside those of one in a file.
pub(super) const TABLE: &[&str] = &["points", "interpolation", "beyond"];

/// A number, or one of `{ ramp = .. }`, `{ sine = .. }`, `{ table = .. }`.
pub(super) fn read(at: &At, library: &Library) -> Result<Function, Fault> {
    if let Value::Number(_) = at.node.value {
        return at.number().map(Function::Constant);
    }
    at.only(&["ramp", "sine", "table"])?;
    let f = match (at.get("ramp"), at.get("sine"), at.get("table")) {
        (Some(r), None, None) => {
            r.only(&["from", "to", "start", "end"])?;
            let get = |key: &str| r.get(key).map_or(Ok(0.0), |x| x.number());
            let (to, end) = (r.need("to")?.number()?, r.need("end")?.number()?);
            Function::Ramp { from: get("from")?, to, start: get("start")?, end }
        }
        (None, Some(s), None) => {
            s.only(&["mean", "amplitude", "frequency", "phase"])?;
            let get = |key: &str| s.get(key).map_or(Ok(0.0), |x| x.number());
            let (amplitude, frequency) = (s.need("amplitude")?.number()?, s.need("frequency")?.number()?);
            Function::Sine { mean: get("mean")?, amplitude, frequency, phase: get("phase")? }
        }
        (None, None, Some(t)) => {
            let points = match t.get("file") {
                Some(_) => {
                    t.only(&[TABLE, series::FIELDS].concat())?;
                    if let Some(points) = t.get("points") {
                        return Err(points.fault("give points or file, not both"));
                    }
                    series::read(&t, library)?
                }
                None => {
                    t.only(TABLE)?;
                    t.need("points")?.items()?.map(|p| p.numbers()).collect::<Result<_, _>>()?
                }
            };
            let ways = [("linear", Interpolation::Linear), ("cubic", Interpolation::Cubic)];
            let ends = [("hold", Beyond::Hold), ("repeat", Beyond::Repeat)];
            let between = t.get("interpolation");
            Function::Table(Table {
                points,
                interpolation: between.map_or(Ok(Interpolation::Linear), |i| i.choice(&ways))?,
                beyond: t.get("beyond").map_or(Ok(Beyond::Hold), |b| b.choice(&ends))?,
            })
        }
        _ => return Err(at.fault("must be a number, or one of 'ramp', 'sine' and 'table'")),
    };
    f.check().map_err(|e| at.fault(e))?;
    Ok(f)
}

/// The fields of a guide.
pub(super) const GUIDE: &[&str] = &["along", "way", "about", "angle"];

/// `guide = { along = [0, 0, 1], way = .., about = [0, 1, 0], angle = .. }`, or a list of such.
pub(super) fn guide(at: &At, library: &Library) -> Result<Guide, Fault> {
    let mut guide = Guide::default();
    let mut one = |at: &At| -> Result<(), Fault> {
        at.only(GUIDE)?;
        if let Some(direction) = at.get("along") {
            guide.along.push((direction.vector()?, read(&at.need("way")?, library)?));
        } else if let Some(way) = at.get("way") {
            return Err(way.fault("needs a direction 'along' beside it"));
        }
        if let Some(axis) = at.get("about") {
            let unit = axis.vector()?.try_normalize();
            let unit = unit.ok_or_else(|| axis.fault("a zero vector is no direction"))?;
            if guide.about.is_some() {
                return Err(axis.fault("a body turns about one axis only"));
            }
            guide.about = Some((unit, read(&at.need("angle")?, library)?));
        } else if let Some(angle) = at.get("angle") {
            return Err(angle.fault("needs an axis 'about' beside it"));
        }
        Ok(())
    };
    match at.node.value {
        Value::Array(_) => at.items()?.try_for_each(|at| one(&at))?,
        _ => one(at)?,
    }
    Ok(guide)
}
