//! Answers to questions about where things are, and who is asked.

use drystone::collide::query::{CastHit, ClosestPoints, Projection, RayHit};
use drystone::{BodyId, Filter, Found, Motion, QueryFilter, World};
use glam::DVec3;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::body::Body;
use crate::collider::BodyCollider;
use crate::convert::{Bits, array3, shown};
use crate::errors::argument;
use crate::events::collider;
use crate::world::{PyWorld, motion};

/// What a question found.
#[pyclass(frozen, name = "Hit", module = "drystone", get_all)]
pub struct Hit {
    /// The body.
    body: Py<Body>,
    /// Which of its shapes.
    collider: Py<BodyCollider>,
    /// Distance, m; negative inside or where shapes overlap.
    distance: f64,
    /// Where, m.
    point: Py<PyArray1<f64>>,
    /// Unit outward normal there.
    normal: Py<PyArray1<f64>>,
}

impl Hit {
    fn new<T>(w: &Bound<'_, PyWorld>, f: &Found<T>, distance: f64, point: DVec3, normal: DVec3) -> Self {
        let (py, world) = (w.py(), w.as_unbound());
        let body = Body { world: world.clone_ref(py), id: f.body };
        Self {
            body: Py::new(py, body).unwrap_or_else(|e| panic!("{e}")),
            collider: collider(world, py, f.collider),
            distance,
            point: array3(py, point).unbind(),
            normal: array3(py, normal).unbind(),
        }
    }

    pub fn ray(w: &Bound<'_, PyWorld>, f: &Found<RayHit>) -> Self {
        Self::new(w, f, f.hit.distance, f.hit.point, f.hit.normal)
    }

    pub fn cast(w: &Bound<'_, PyWorld>, f: &Found<CastHit>) -> Self {
        Self::new(w, f, f.hit.distance, f.hit.point, f.hit.normal)
    }

    /// The point on what was found, and the normal out of it.
    pub fn closest(w: &Bound<'_, PyWorld>, f: &Found<ClosestPoints>) -> Self {
        Self::new(w, f, f.hit.distance, f.hit.on_b, f.hit.normal)
    }

    pub fn projection(w: &Bound<'_, PyWorld>, f: &Found<Projection>) -> Self {
        Self::new(w, f, f.hit.distance, f.hit.point, f.hit.normal)
    }
}

#[pymethods]
impl Hit {
    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<hit at {:.6} m: {}>", self.distance, self.body.bind(py))
    }
}

/// Who is asked.
pub struct Asked {
    filter: Option<Filter>,
    motion: Option<Motion>,
    exclude: Vec<BodyId>,
    sensors: bool,
}

impl Asked {
    const NAMES: &[&str] = &["layers", "mask", "motion", "exclude", "sensors"];

    /// From the keywords that all questions have.
    pub fn new(world: &Bound<'_, PyWorld>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let (mut layers, mut mask) = (None, None);
        let mut asked = Self { filter: None, motion: None, exclude: Vec::new(), sensors: false };
        for (key, value) in given.into_iter().flat_map(|d| d.iter()) {
            let key: String = key.extract()?;
            if value.is_none() && Self::NAMES.contains(&key.as_str()) {
                continue;
            }
            let wrong = |wanted: &str| argument(format!("{key} must be {wanted}, got {}", shown(&value)));
            match key.as_str() {
                "layers" | "mask" => {
                    let Bits(bits) = value.extract().map_err(|_| wrong("32 bits, from 0 to 0xffffffff"))?;
                    *(if key == "layers" { &mut layers } else { &mut mask }) = Some(bits);
                }
                "motion" => {
                    let name: String = value.extract().map_err(|_| wrong("the name of a motion"))?;
                    asked.motion = Some(motion(&name)?);
                }
                "exclude" => {
                    let bodies: Vec<Bound<'_, Body>> =
                        value.extract().map_err(|_| wrong("a list of bodies"))?;
                    asked.exclude = bodies.iter().map(|b| PyWorld::own(world, b)).collect::<PyResult<_>>()?;
                }
                "sensors" => asked.sensors = value.extract().map_err(|_| wrong("True or False"))?,
                other => {
                    let hint = drystone_solve::solver::nearest(other, Self::NAMES)
                        .map(|n| format!("; did you mean '{n}'?"))
                        .unwrap_or_default();
                    return Err(argument(format!(
                        "there is no keyword '{other}'{hint} (valid: {})",
                        Self::NAMES.join(", ")
                    )));
                }
            }
        }
        asked.filter = (layers.is_some() || mask.is_some())
            .then(|| Filter { layers: layers.unwrap_or(u32::MAX), mask: mask.unwrap_or(u32::MAX) });
        Ok(asked)
    }

    /// Asks a world.
    pub fn with<R: Send>(
        &self,
        w: &Bound<'_, PyWorld>,
        ask: impl FnOnce(&World, &QueryFilter) -> R + Send,
    ) -> R {
        w.get().with(w.py(), |w| {
            let filter = QueryFilter {
                filter: self.filter,
                motion: self.motion,
                exclude: &self.exclude,
                sensors: self.sensors,
                accept: None,
            };
            ask(w, &filter)
        })
    }
}
