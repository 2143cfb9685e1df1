//! Answers to questions about where things are, and who is asked.

use drystone::collide::query::{CastHit, ClosestPoints, Projection, RayHit};
use drystone::{BodyId, Filter, Found, Motion, QueryFilter, World};
use glam::DVec3;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::body::Body;
use crate::convert::array3;
use crate::world::{PyWorld, motion};

/// What a question found.
#[pyclass(frozen, name = "Hit", module = "drystone", get_all)]
pub struct Hit {
    /// The body.
    body: Py<Body>,
    /// Distance, m; negative inside or where shapes overlap.
    distance: f64,
    /// Where, m.
    point: Py<PyArray1<f64>>,
    /// Unit outward normal there.
    normal: Py<PyArray1<f64>>,
}

impl Hit {
    fn new(w: &Bound<'_, PyWorld>, id: BodyId, distance: f64, point: DVec3, normal: DVec3) -> Self {
        let py = w.py();
        let body = Body { world: w.clone().unbind(), id };
        Self {
            body: Py::new(py, body).unwrap_or_else(|e| panic!("{e}")),
            distance,
            point: array3(py, point).unbind(),
            normal: array3(py, normal).unbind(),
        }
    }

    pub fn ray(w: &Bound<'_, PyWorld>, f: &Found<RayHit>) -> Self {
        Self::new(w, f.body, f.hit.distance, f.hit.point, f.hit.normal)
    }

    pub fn cast(w: &Bound<'_, PyWorld>, f: &Found<CastHit>) -> Self {
        Self::new(w, f.body, f.hit.distance, f.hit.point, f.hit.normal)
    }

    /// The point on what was found, and the normal out of it.
    pub fn closest(w: &Bound<'_, PyWorld>, f: &Found<ClosestPoints>) -> Self {
        Self::new(w, f.body, f.hit.distance, f.hit.on_b, f.hit.normal)
    }

    pub fn projection(w: &Bound<'_, PyWorld>, f: &Found<Projection>) -> Self {
        Self::new(w, f.body, f.hit.distance, f.hit.point, f.hit.normal)
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
    pub fn new(
        layers: Option<u32>,
        mask: Option<u32>,
        motion: Option<&str>,
        exclude: Option<Vec<PyRef<'_, Body>>>,
        sensors: bool,
    ) -> PyResult<Self> {
        let filter = (layers.is_some() || mask.is_some())
            .then(|| Filter { layers: layers.unwrap_or(u32::MAX), mask: mask.unwrap_or(u32::MAX) });
        Ok(Self {
            filter,
            motion: motion.map(self::motion).transpose()?,
            exclude: exclude.unwrap_or_default().iter().map(|b| b.id).collect(),
            sensors,
        })
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
