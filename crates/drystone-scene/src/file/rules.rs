//! Who touches whom, and how: layers and masks of shapes, materials and their pairs, the bounds and periods of the world.

use drystone::collide::Periodic;
use drystone::{Bounds, Combine, Filter, Leaving, Materials, PairLaw};
use glam::DVec3;

use super::settings::not_negative;
use crate::text::{At, Fault};

/// `layers = [0, 3]`, `mask = [0, 1]`: numbers from 0 to 31. What is not given is as in `base`.
pub(super) fn filter(at: &At, base: Filter) -> Result<Filter, Fault> {
    let bits = |key: &str, base: u32| match at.get(key) {
        None => Ok(base),
        Some(list) => list.items()?.try_fold(0, |bits, n| Ok(bits | 1 << n.whole(0, 31)?)),
    };
    Ok(Filter { layers: bits("layers", base.layers)?, mask: bits("mask", base.mask)? })
}

/// `[materials]`: the rule for pairs without a row, and the rows.
pub(super) fn materials(at: &At) -> Result<Materials, Fault> {
    at.only(&["combine", "pair"])?;
    let mut materials = Materials::default();
    if let Some(rule) = at.get("combine") {
        materials.combine = rule.choice(&Combine::NAMES)?;
    }
    let Some(rows) = at.get("pair") else { return Ok(materials) };
    for row in rows.items()? {
        row.only(&["between", "mu"])?;
        let between = row.need("between")?;
        let names: Vec<&str> = between.items()?.map(|n| n.text()).collect::<Result<_, _>>()?;
        let &[a, b] = names.as_slice() else {
            return Err(between.fault(format!("must be two materials, got {}", names.len())));
        };
        let (a, b) = (
            materials.add(a).map_err(|e| between.fault(e))?,
            materials.add(b).map_err(|e| between.fault(e))?,
        );
        if materials.pair(a, b).is_some() {
            return Err(between.fault("this pair has a row already"));
        }
        let mu = not_negative(&row.need("mu")?, "")?;
        materials.set_pair(a, b, PairLaw { mu }).map_err(|e| row.fault(e))?;
    }
    Ok(materials)
}

/// `bounds = { min = [..], max = [..], leaving = "remove" }`; a corner that is not given is infinitely far.
pub(super) fn bounds(at: &At) -> Result<Bounds, Fault> {
    at.only(&["min", "max", "leaving"])?;
    let corner = |key: &str, far: f64| at.get(key).map_or(Ok(DVec3::splat(far)), |v| v.vector());
    let bounds = Bounds {
        min: corner("min", f64::NEG_INFINITY)?,
        max: corner("max", f64::INFINITY)?,
        leaving: at.get("leaving").map_or(Ok(Leaving::Report), |l| l.choice(&Leaving::NAMES))?,
    };
    bounds.check().map_err(|e| at.fault(e))?;
    Ok(bounds)
}

/// `periodic = { min = [..], max = [..], axes = ["x", "y"] }`.
pub(super) fn periodic(at: &At) -> Result<Periodic, Fault> {
    at.only(&["min", "max", "axes"])?;
    let mut axes = [false; 3];
    for axis in at.need("axes")?.items()? {
        axes[axis.choice(&[("x", 0), ("y", 1), ("z", 2)])?] = true;
    }
    let periodic = Periodic { min: at.need("min")?.vector()?, max: at.need("max")?.vector()?, axes };
    periodic.check().map_err(|e| at.fault(e))?;
    Ok(periodic)
}
