//! Rays, casts, overlaps and distances.

use drystone::BodyId;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::PyWorld;
use crate::body::Body;
use crate::convert::{Q4, V3, array3, body, direction as towards, near, number, place, reach};
use crate::errors::{input, world as refused};
use crate::query::{Asked, Hit};
use crate::shape::PyShape;

#[pymethods]
impl PyWorld {
    /// The first body that a ray hits within `max_distance` (m); None if there is none.
    ///
    /// Keywords of all questions say who is asked: only bodies of this `motion`, only shapes that would
    /// collide with a shape of these `layers` and this `mask`, none of `exclude`, and no `sensors` unless
    /// they are asked for. `mask=2` alone asks the shapes in layer 2, whatever their own masks say;
    /// `layers=2` alone those whose mask has layer 2. A bit is a layer: 4 is the third.
    ///
    /// >>> import drystone as ds
    /// >>> world = ds.World()
    /// >>> ball = world.add_body(ds.sphere(0.5), mass=1.0)
    /// >>> world.ray([0, 0, 3], [0, 0, -1]).distance
    /// 2.5
    #[pyo3(signature = (origin, direction, max_distance=f64::INFINITY, **which))]
    fn ray<'py>(
        slf: &Bound<'py, Self>,
        origin: V3,
        direction: V3,
        #[pyo3(from_py_with = number)] max_distance: f64,
        which: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Hit>> {
        let (asked, reach) = (Asked::new(slf, which)?, reach(max_distance)?);
        let (origin, direction) = (near("origin", origin)?, towards("direction", direction)?);
        let found = asked.with(slf, |w, f| w.ray_first(origin, direction, reach, f));
        Ok(found.map(|f| Hit::ray(slf, &f)))
    }

    /// All bodies that a ray hits, the nearest first.
    #[pyo3(signature = (origin, direction, max_distance=f64::INFINITY, **which))]
    fn ray_all<'py>(
        slf: &Bound<'py, Self>,
        origin: V3,
        direction: V3,
        #[pyo3(from_py_with = number)] max_distance: f64,
        which: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Hit>> {
        let (asked, reach) = (Asked::new(slf, which)?, reach(max_distance)?);
        let (origin, direction) = (near("origin", origin)?, towards("direction", direction)?);
        let found = asked.with(slf, |w, f| w.ray_all(origin, direction, reach, f));
        Ok(found.iter().map(|f| Hit::ray(slf, f)).collect())
    }

    /// The first body that a shape touches on its straight way from a pose along `direction`, by at most
    /// `max_distance` (m).
    #[pyo3(signature = (shape, direction, max_distance=f64::INFINITY, *, position=None, rotation=None, **which))]
    fn cast_shape<'py>(
        slf: &Bound<'py, Self>,
        shape: PyShape,
        direction: V3,
        #[pyo3(from_py_with = number)] max_distance: f64,
        position: Option<V3>,
        rotation: Option<Q4>,
        which: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Hit>> {
        let (asked, reach) = (Asked::new(slf, which)?, reach(max_distance)?);
        let (at, direction) = (place(position, rotation)?, towards("direction", direction)?);
        let found = asked.with(slf, |w, f| w.cast_shape(&shape.0, &at, direction, reach, f));
        Ok(found.map(|f| Hit::cast(slf, &f)))
    }

    /// All bodies that share a point with a shape at a pose.
    #[pyo3(signature = (shape, *, position=None, rotation=None, **which))]
    fn overlap<'py>(
        slf: &Bound<'py, Self>,
        shape: PyShape,
        position: Option<V3>,
        rotation: Option<Q4>,
        which: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Body>> {
        let asked = Asked::new(slf, which)?;
        let at = place(position, rotation)?;
        let found = asked.with(slf, |w, f| w.overlapping(&shape.0, &at, f));
        let mut bodies: Vec<BodyId> = found.into_iter().map(|f| f.0).collect();
        bodies.sort_unstable();
        bodies.dedup();
        Ok(bodies.into_iter().map(|id| Self::body(slf, id)).collect())
    }

    /// The body nearest to a shape at a pose, with the closest point on it; the distance (m) is negative by
    /// how deep they overlap. Bodies that have no distance from the shape (half-spaces, meshes and height
    /// fields from one of those) are not looked at.
    #[pyo3(signature = (shape, max_distance=f64::INFINITY, *, position=None, rotation=None, **which))]
    fn closest<'py>(
        slf: &Bound<'py, Self>,
        shape: PyShape,
        #[pyo3(from_py_with = number)] max_distance: f64,
        position: Option<V3>,
        rotation: Option<Q4>,
        which: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Hit>> {
        let (asked, reach) = (Asked::new(slf, which)?, reach(max_distance)?);
        let at = place(position, rotation)?;
        let found = asked.with(slf, |w, f| w.closest(&shape.0, &at, reach, f));
        Ok(found.map(|f| Hit::closest(slf, &f)))
    }

    /// The nearest point of a body's surface, with the distance of `point` from it, m: positive outside,
    /// negative inside.
    #[pyo3(signature = (point, max_distance=f64::INFINITY, **which))]
    fn project<'py>(
        slf: &Bound<'py, Self>,
        point: V3,
        #[pyo3(from_py_with = number)] max_distance: f64,
        which: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Hit>> {
        let (asked, reach) = (Asked::new(slf, which)?, reach(max_distance)?);
        let point = near("point", point)?;
        let found = asked.with(slf, |w, f| w.project_point(point, reach, f));
        Ok(found.map(|f| Hit::projection(slf, &f)))
    }

    /// Signed distance of two bodies, m: negative by how deep they overlap. Sensors do not count. Bodies that
    /// have none (one without shapes, two half-spaces, two of half-space, mesh and height field) are an
    /// error.
    fn distance(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = body)] a: &Bound<'_, Body>,
        #[pyo3(from_py_with = body)] b: &Bound<'_, Body>,
    ) -> PyResult<f64> {
        let (a, b) = (Self::own(slf, a)?, Self::own(slf, b)?);
        let ask = |w: &drystone::World| Ok((w.distance(a, b)?, [a, b].map(|b| w.model().describe(b.slot))));
        let (found, [first, second]) = slf.get().with(slf.py(), ask).map_err(refused)?;
        if found.is_finite() {
            return Ok(found);
        }
        Err(input(format!(
            "{first} and {second} have no distance: one has no shape but sensors, or both are half-spaces, \
             meshes or height fields (closest_points says None there)"
        )))
    }

    /// Signed distance of two bodies (m, negative by how deep they overlap) and the closest points of the
    /// first and the second; None where they have no distance: see `distance`.
    fn closest_points<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = body)] a: &Bound<'py, Body>,
        #[pyo3(from_py_with = body)] b: &Bound<'py, Body>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (py, a, b) = (slf.py(), Self::own(slf, a)?, Self::own(slf, b)?);
        let found = slf.get().with(py, |w| w.closest_points(a, b)).map_err(refused)?;
        found.map(|p| (p.distance, array3(py, p.on_a), array3(py, p.on_b)).into_pyobject(py)).transpose()
    }
}
