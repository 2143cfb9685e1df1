//! The `[settings]` of a scene file.

use std::time::Duration;

use drystone::collide::broadphase;
use drystone::{Integrator, Settings, Sleep, Stabilisation, limits};
use drystone_solve::FrictionLaw;
use drystone_solve::solver::{self, nearest};

use super::record::every;
use super::rules;
use crate::text::{At, Fault, Format, Source, Value};
use crate::{Scene, SceneError};

pub(super) const FIELDS: &[&str] = &[
    "h",
    "T",
    "gravity",
    "model",
    "solver",
    "tolerance",
    "iterations",
    "budget_ms",
    "compliance",
    "substeps",
    "max_substeps",
    "integrator",
    "stabilisation",
    "position_iterations",
    "envelope",
    "broadphase",
    "warm_start",
    "bounds",
    "periodic",
    "sleep",
    "seed",
    "snaps",
];

/// Whole numbers up to here survive a double.
const LARGEST_WHOLE: i64 = 1 << 53;

/// A scene of its own must say how long it runs.
pub(super) fn require_duration(root: &At) -> Result<(), Fault> {
    root.need("settings")?.need("T").map(|_| ())
}

/// What `[settings]` says of a scene, and of how it steps.
pub(super) fn apply(at: &At, scene: &mut Scene) -> Result<(), Fault> {
    at.only(FIELDS)?;
    if let Some(t) = at.get("T") {
        scene.duration = positive(&t, "s")?;
    }
    if let Some(n) = at.get("seed") {
        scene.seed = n.whole(0, LARGEST_WHOLE)? as u64;
    }
    change(at, &mut scene.settings)?;
    if let Some(times) = at.get("snaps") {
        let (h, duration) = (scene.settings.h, scene.duration);
        scene.snaps = match &times.node.value {
            Value::Text(_) => every(&times)?.times(h, duration).map_err(|e| times.fault(e))?,
            _ => times.items()?.map(|t| snap(&t, duration)).collect::<Result<_, _>>()?,
        };
    }
    Ok(())
}

/// Changes how something steps: `table` is a JSON object with fields of `[settings]`. The error names the
/// field and has no place.
///
/// ```
/// let mut settings = drystone::Settings::default();
/// drystone_scene::change_settings(&mut settings, r#"{"h": 0.002, "solver": "pgs:omega=1"}"#)?;
/// assert_eq!(settings.h, 0.002);
/// let wrong = drystone_scene::change_settings(&mut settings, r#"{"solver": "pgss"}"#).unwrap_err();
/// assert!(wrong.to_string().starts_with("solver: ") && wrong.to_string().contains("did you mean 'pgs'"));
/// # Ok::<(), drystone_scene::SceneError>(())
/// ```
pub fn change_settings(settings: &mut Settings, table: &str) -> Result<(), SceneError> {
    let source = Source::new(None, table.into(), Format::Json);
    let root = source.parse()?;
    let wrong = |f: Fault| SceneError {
        field: Some(f.field).filter(|f| !f.is_empty()),
        ..SceneError::new(f.message)
    };
    let mut changed = settings.clone();
    change(&At::root(&root), &mut changed).map_err(wrong)?;
    changed.check().map_err(SceneError::new)?;
    *settings = changed;
    Ok(())
}

fn change(at: &At, s: &mut Settings) -> Result<(), Fault> {
    if let Some(h) = at.get("h") {
        s.h = positive(&h, "s")?;
        if !limits::STEPS.contains(&s.h) {
            let (least, most) = (limits::STEPS.start(), limits::STEPS.end());
            return Err(h.fault(format!("must be from {least:e} to {most:e} s, got {:e}", s.h)));
        }
    }
    if let Some(g) = at.get("gravity") {
        s.gravity = g.vector()?;
        let largest = s.gravity.abs().max_element();
        if largest > limits::GRAVITY {
            return Err(g.fault(format!("must be within {:e} m/s², got {largest:e}", limits::GRAVITY)));
        }
    }
    if let Some(name) = at.get("model") {
        s.model = FrictionLaw::parse(name.text()?).map_err(|e| name.fault(e.0))?;
    }
    if let Some(name) = at.get("solver") {
        let text = name.text()?;
        solver::make(text).map_err(|e| name.fault(e.0))?;
        s.solver = text.into();
    }
    if let Some(x) = at.get("tolerance") {
        s.tolerance = not_negative(&x, "m/s")?;
    }
    if let Some(n) = at.get("iterations") {
        s.iterations = n.whole(0, LARGEST_WHOLE)? as usize;
    }
    if let Some(ms) = at.get("budget_ms") {
        s.budget = Some(Duration::from_secs_f64(positive(&ms, "ms")?.min(1e12) * 1e-3));
    }
    if let Some(c) = at.get("compliance") {
        s.compliance = not_negative(&c, "")?;
        if s.compliance > 1.0 {
            return Err(c.fault(format!("must be from 0 to 1, got {}", s.compliance)));
        }
    }
    if let Some(n) = at.get("substeps") {
        s.substeps = n.whole(1, 1000)? as usize;
    }
    if let Some(n) = at.get("max_substeps") {
        s.max_substeps = n.whole(1, 65536)? as usize;
    }
    if let Some(name) = at.get("integrator") {
        s.integrator = Integrator::parse(name.text()?).map_err(|e| name.fault(e.0))?;
    }
    if let Some(name) = at.get("stabilisation") {
        s.stabilisation = Stabilisation::parse(name.text()?).map_err(|e| name.fault(e.0))?;
    }
    if let Some(n) = at.get("position_iterations") {
        s.position_iterations = n.whole(0, LARGEST_WHOLE)? as usize;
    }
    if let Some(x) = at.get("envelope") {
        let e = not_negative(&x, "m")?;
        if e > limits::FARTHEST {
            return Err(x.fault(format!("must be at most {:e} m, got {e:e}", limits::FARTHEST)));
        }
        s.envelope = Some(e);
    }
    if let Some(name) = at.get("broadphase") {
        let (text, valid) = (name.text()?, broadphase::Kind::NAMES);
        let hint = || nearest(text, &valid).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        s.broadphase = Some(broadphase::Kind::from_name(text).ok_or_else(|| {
            name.fault(format!("unknown broad phase '{text}'{} (valid: {})", hint(), valid.join(", ")))
        })?);
    }
    if let Some(table) = at.get("bounds") {
        s.bounds = Some(rules::bounds(&table)?);
    }
    if let Some(table) = at.get("periodic") {
        s.periodic = Some(rules::periodic(&table)?);
    }
    if let Some(sleep) = at.get("sleep") {
        // True, or thresholds as the command line takes them.
        s.sleep = match sleep.boolean() {
            Ok(asked) => asked.then(Sleep::default),
            Err(_) => Some(Sleep::parse(sleep.text()?).map_err(|e| sleep.fault(e.0))?),
        };
    }
    if let Some(b) = at.get("warm_start") {
        s.warm_start = b.boolean()?;
    }
    Ok(())
}

/// A time for a snapshot.
fn snap(at: &At, end: f64) -> Result<f64, Fault> {
    let t = not_negative(at, "s")?;
    if t > end * (1.0 + 1e-9) {
        return Err(at.fault(format!("is after the end: T = {end} s, got {t}")));
    }
    Ok(t)
}

pub(super) fn positive(at: &At, unit: &str) -> Result<f64, Fault> {
    let x = at.number()?;
    if x > 0.0 { Ok(x) } else { Err(at.fault(format!("must be above 0 {unit}, got {x}"))) }
}

pub(super) fn not_negative(at: &At, unit: &str) -> Result<f64, Fault> {
    let x = at.number()?;
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    if x >= 0.0 { Ok(x) } else { Err(at.fault(format!("must not be below 0{unit}, got {x}"))) }
}
