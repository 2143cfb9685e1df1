//! Shapes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use drystone::{BodyDef, Compound, HeightField, Hull, MassProperties, Settings, Shape, TriMesh, World};
use glam::DVec3;
use numpy::{PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::convert::{Q4, V3, array3, matrix3, number, place, pose, shown, vec3};
use crate::errors::{argument, input};

/// A collision shape: geometry in its own frame, lengths in metres.
#[pyclass(frozen, eq, name = "Shape", module = "drystone")]
#[derive(Clone, PartialEq)]
pub struct PyShape(pub Shape);

impl FromPyObject<'_, '_> for PyShape {
    type Error = PyErr;
    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let wrong = |_| argument(format!("must be a shape (ds.sphere(0.5), ...), got {}", shown(&value)));
        value.cast::<PyShape>().map(|shape| shape.get().clone()).map_err(wrong)
    }
}

/// A world whose only body has the shape: worlds are saved to the last bit.
fn saved(shape: &Shape) -> PyResult<Vec<u8>> {
    let mut world = World::new(Settings::default()).map_err(input)?;
    world.add_body(BodyDef::fixed(shape.clone())).map_err(input)?;
    world.save().map_err(input)
}

/// The shape of a pickle.
#[pyfunction]
pub fn _shape(bytes: &[u8]) -> PyResult<PyShape> {
    let world = World::load(bytes).map_err(input)?;
    let shape = world.model().colliders.first().map(|c| PyShape(c.shape.clone()));
    shape.ok_or_else(|| input("this is no shape's pickle"))
}

fn made(shape: Shape) -> PyResult<PyShape> {
    shape.check().map_err(input)?;
    Ok(PyShape(shape))
}

#[pymethods]
impl PyShape {
    /// Its kind, as scene files spell it.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.name()
    }

    /// Volume, m³; infinite for a half-space or a height field.
    #[getter]
    fn volume(&self) -> f64 {
        self.0.volume()
    }

    /// Centroid in its own frame, m.
    #[getter]
    fn centroid<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        array3(py, self.0.centroid())
    }

    /// Radius of the largest ball about the centroid inside it, m: what overlaps are measured by.
    #[getter]
    fn inner_radius(&self) -> f64 {
        self.0.inner_radius()
    }

    /// Radius of the ball about its origin that holds it, m.
    #[getter]
    fn bounding_radius(&self) -> f64 {
        self.0.bounding_radius()
    }

    /// Inertia tensor (3, 3) about the centroid of a homogeneous body of this mass (kg), kg m².
    fn inertia<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number)] mass: f64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if !(mass.is_finite() && mass > 0.0) {
            return Err(input(format!("mass must be positive and finite, got {mass}")));
        }
        matrix3(py, MassProperties::of_shape(&self.0, mass).inertia)
    }

    /// The smallest and the largest corner of the box around it at a pose, m.
    #[pyo3(signature = (position=None, rotation=None))]
    fn bounds<'py>(
        &self,
        py: Python<'py>,
        position: Option<V3>,
        rotation: Option<Q4>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let b = self.0.aabb(&place(position, rotation)?);
        Ok((array3(py, b.min), array3(py, b.max)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("drystone._drystone")?.getattr("_shape")?;
        (make, (PyBytes::new(py, &saved(&self.0)?),)).into_pyobject(py)
    }

    // Equal ones hash alike.
    fn __hash__(&self) -> u64 {
        let mut to = DefaultHasher::new();
        self.0.name().hash(&mut to);
        self.0.volume().to_bits().hash(&mut to);
        to.finish()
    }

    fn __repr__(&self) -> String {
        match &self.0 {
            Shape::Sphere { radius } => format!("sphere({radius})"),
            Shape::Box { half } => format!("box([{}, {}, {}])", half.x, half.y, half.z),
            Shape::Capsule { radius, half_length } => format!("capsule({radius}, {half_length})"),
            Shape::Cylinder { radius, half_length } => format!("cylinder({radius}, {half_length})"),
            Shape::Cone { radius, height } => format!("cone({radius}, {height})"),
            Shape::Ellipsoid { half } => format!("ellipsoid([{}, {}, {}])", half.x, half.y, half.z),
            Shape::HalfSpace => "half_space()".into(),
            other => format!("<drystone.Shape {}>", other.name()),
        }
    }
}

/// A ball of this radius, m.
///
/// >>> import drystone as ds
/// >>> round(ds.sphere(0.5).volume, 4)
/// 0.5236
#[pyfunction]
pub fn sphere(#[pyo3(from_py_with = number)] radius: f64) -> PyResult<PyShape> {
    made(Shape::Sphere { radius })
}

/// A box with these half extents, m.
///
/// >>> import drystone as ds
/// >>> ds.box([0.5, 1, 2]).volume
/// 8.0
#[pyfunction(name = "box")]
pub fn cuboid(half: V3) -> PyResult<PyShape> {
    made(Shape::Box { half: vec3(half) })
}

/// All points within `radius` of the segment from -`half_length` to `half_length` along z, m.
#[pyfunction]
pub fn capsule(
    #[pyo3(from_py_with = number)] radius: f64,
    #[pyo3(from_py_with = number)] half_length: f64,
) -> PyResult<PyShape> {
    made(Shape::Capsule { radius, half_length })
}

/// A cylinder about z with caps at ±`half_length`, m.
#[pyfunction]
pub fn cylinder(
    #[pyo3(from_py_with = number)] radius: f64,
    #[pyo3(from_py_with = number)] half_length: f64,
) -> PyResult<PyShape> {
    made(Shape::Cylinder { radius, half_length })
}

/// A cone about z, base at -height/4, apex at 3/4 height, m.
#[pyfunction]
pub fn cone(
    #[pyo3(from_py_with = number)] radius: f64,
    #[pyo3(from_py_with = number)] height: f64,
) -> PyResult<PyShape> {
    made(Shape::Cone { radius, height })
}

/// An ellipsoid with these semi-axes, m.
#[pyfunction]
pub fn ellipsoid(half: V3) -> PyResult<PyShape> {
    made(Shape::Ellipsoid { half: vec3(half) })
}

/// All points with z ≤ 0: a floor. Static and kinematic bodies only.
#[pyfunction]
pub fn half_space() -> PyShape {
    PyShape(Shape::HalfSpace)
}

/// All points within `radius` (m) of a box, cylinder, cone or hull.
#[pyfunction]
pub fn rounded(core: PyShape, #[pyo3(from_py_with = number)] radius: f64) -> PyResult<PyShape> {
    made(Shape::Rounded { core: Arc::new(core.0), radius })
}

fn points(name: &str, a: &PyReadonlyArray2<'_, f64>) -> PyResult<Vec<DVec3>> {
    if a.shape()[1] != 3 {
        return Err(input(format!(
            "{name} must have the shape (n, 3), got ({}, {})",
            a.shape()[0],
            a.shape()[1]
        )));
    }
    let a = a.as_array();
    Ok(a.outer_iter().map(|p| DVec3::new(p[0], p[1], p[2])).collect())
}

/// The convex hull of points.
#[pyfunction]
pub fn hull(points: PyReadonlyArray2<'_, f64>) -> PyResult<PyShape> {
    let points = self::points("points", &points)?;
    made(Shape::Hull(Arc::new(Hull::new(&points).map_err(input)?)))
}

/// A surface of triangles.
#[pyfunction]
pub fn mesh(vertices: PyReadonlyArray2<'_, f64>, triangles: PyReadonlyArray2<'_, u32>) -> PyResult<PyShape> {
    if triangles.shape()[1] != 3 {
        return Err(input("triangles must have the shape (n, 3)"));
    }
    let corners = triangles.as_array();
    let corners = corners.outer_iter().map(|t| [t[0], t[1], t[2]]).collect();
    let mesh = TriMesh::new(points("vertices", &vertices)?, corners).map_err(input)?;
    made(Shape::Mesh(Arc::new(mesh)))
}

/// Heights over a grid.
#[pyfunction]
pub fn height_field(heights: PyReadonlyArray2<'_, f64>, spacing: [f64; 2]) -> PyResult<PyShape> {
    let (rows, columns) = (heights.shape()[0], heights.shape()[1]);
    let heights = heights.as_array().iter().copied().collect();
    let field = HeightField::new(columns, rows, spacing, heights).map_err(input)?;
    made(Shape::HeightField(Arc::new(field)))
}

/// Convex parts with their places.
#[pyfunction]
pub fn compound(parts: Vec<(PyShape, V3, Q4)>) -> PyResult<PyShape> {
    let parts = parts.into_iter().map(|(s, x, q)| (pose(Some(x), Some(q)), s.0)).collect();
    made(Shape::Compound(Arc::new(Compound::new(parts).map_err(input)?)))
}
