//! Who touches whom, and how: layers and masks of shapes, materials and their pairs, the bounds and periods
//! of the world.

use drystone::collide::Periodic;
use drystone::{Bounds, Combine, Filter, Impact, Leaving, Materials, PairLaw};
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

/// The fields of `[materials]`.
pub(super) const MATERIALS: &[&str] = &["combine", "pair", "other"];
/// The fields of a row, beside those of [`LAW`].
pub(super) const PAIR: &[&str] = &["between", "mu", "mu_kinetic", "stick_speed"];

/// `[materials]`: the rule for pairs without a row, and the rows.
pub(super) fn materials(at: &At) -> Result<Materials, Fault> {
    at.only(MATERIALS)?;
    let mut materials = Materials::default();
    if let Some(rule) = at.get("combine") {
        materials.combine = rule.choice(&Combine::NAMES)?;
    }
    if let Some(other) = at.get("other") {
        other.only(LAW)?;
        materials.set_other(law(&other)?).map_err(|e| other.fault(e))?;
    }
    let Some(rows) = at.get("pair") else { return Ok(materials) };
    for row in rows.items()? {
        let mut fields = PAIR.to_vec();
        fields.extend(LAW);
        row.only(&fields)?;
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
        let mut pair = law(&row)?;
        pair.mu = not_negative(&row.need("mu")?, "")?;
        pair.mu_kinetic = row.get("mu_kinetic").map(|x| not_negative(&x, "")).transpose()?;
        if let Some(x) = row.get("stick_speed") {
            pair.stick_speed = not_negative(&x, "m/s")?;
        }
        materials.set_pair(a, b, pair).map_err(|e| row.fault(e))?;
    }
    Ok(materials)
}

/// What a pair may have beside friction.
pub(super) const LAW: &[&str] = &[
    "restitution",
    "impact",
    "bounce_speed",
    "rolling",
    "spinning",
    "cohesion",
    "stiffness",
    "damping",
    "K",
];

/// The fields of [`LAW`].
fn law(at: &At) -> Result<PairLaw, Fault> {
    let number = |key: &str, unit: &str| at.get(key).map(|x| not_negative(&x, unit)).transpose();
    Ok(PairLaw {
        restitution: number("restitution", "")?.unwrap_or(0.0),
        impact: at.get("impact").map_or(Ok(Impact::Newton), |i| i.choice(&Impact::NAMES))?,
        bounce_speed: number("bounce_speed", "m/s")?,
        rolling: number("rolling", "m")?.unwrap_or(0.0),
        spinning: number("spinning", "m")?.unwrap_or(0.0),
        cohesion: number("cohesion", "N")?.unwrap_or(0.0),
        stiffness: number("stiffness", "N/m")?,
        damping: number("damping", "N s/m")?.unwrap_or(0.0),
        k: number("K", "")?,
        ..PairLaw::default()
    })
}

/// `bounds = { min = [..], max = [..], leaving = "remove" }`; a corner that is not given is infinitely far.
pub(super) fn bounds(at: &At) -> Result<Bounds, Fault> {
    at.only(BOUNDS)?;
    let corner = |key: &str, far: f64| at.get(key).map_or(Ok(DVec3::splat(far)), |v| v.vector());
    let bounds = Bounds {
        min: corner("min", f64::NEG_INFINITY)?,
        max: corner("max", f64::INFINITY)?,
        leaving: at.get("leaving").map_or(Ok(Leaving::Report), |l| l.choice(&Leaving::NAMES))?,
    };
    bounds.check().map_err(|e| at.fault(e))?;
    Ok(bounds)
}

/// The fields of `periodic`.
pub(super) const PERIODIC: &[&str] = &["min", "max", "axes"];
/// The fields of `bounds`.
pub(super) const BOUNDS: &[&str] = &["min", "max", "leaving"];

/// `periodic = { min = [..], max = [..], axes = ["x", "y"] }`.
pub(super) fn periodic(at: &At) -> Result<Periodic, Fault> {
    at.only(PERIODIC)?;
    let mut axes = [false; 3];
    for axis in at.need("axes")?.items()? {
        axes[axis.choice(&[("x", 0), ("y", 1), ("z", 2)])?] = true;
    }
    let periodic = Periodic { min: at.need("min")?.vector()?, max: at.need("max")?.vector()?, axes };
    periodic.check().map_err(|e| at.fault(e))?;
    Ok(periodic)
}
