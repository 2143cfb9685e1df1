//! Shapes of bodies: what is to be added, and what a living body has.

use std::hash::{DefaultHasher, Hash, Hasher};

use drystone::{Collider, ColliderId, Filter, Pose, World, WorldError};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::body::Body;
use crate::convert::{Bits, Q4, V3, array3, array4, flag, maybe_name, pose, quat, vec3, wxyz};
use crate::errors::world as refused;
use crate::shape::PyShape;
use crate::world::PyWorld;
use crate::world::saved::reduced;

/// A shape fixed to a body: its place (m) and rotation in the body's frame, friction, material, layers and
/// mask, which are those that `add_body` is given where it names none. A sensor reports what overlaps it and
/// pushes nothing.
#[pyclass(frozen, name = "Collider", module = "drystone")]
pub struct PyCollider {
    /// With friction 0, in layer 1, colliding with all, where nothing else is said.
    pub collider: Collider,
    pub named: Named,
}

/// What a collider says of itself, in place of its body.
#[derive(Clone, Default)]
pub struct Named {
    pub friction: Option<f64>,
    pub material: Option<String>,
    pub layers: Option<u32>,
    pub mask: Option<u32>,
}

impl PyCollider {
    fn of(shape: PyShape, local: Pose, sensor: bool, named: Named) -> Self {
        let filter = Filter { layers: named.layers.unwrap_or(1), mask: named.mask.unwrap_or(u32::MAX) };
        let own = Collider::new(shape.0, named.friction.unwrap_or(0.0)).at(local);
        Self { collider: Collider { filter, sensor, ..own }, named }
    }
}

#[pymethods]
impl PyCollider {
    #[allow(clippy::too_many_arguments)]
    #[new]
    #[pyo3(signature = (shape, *, position=None, rotation=None, friction=None, material=None, layers=None, mask=None, sensor=false))]
    fn new(
        shape: PyShape,
        position: Option<V3>,
        rotation: Option<Q4>,
        #[pyo3(from_py_with = crate::convert::maybe_friction)] friction: Option<f64>,
        #[pyo3(from_py_with = maybe_name)] material: Option<String>,
        layers: Option<Bits>,
        mask: Option<Bits>,
        #[pyo3(from_py_with = flag)] sensor: bool,
    ) -> Self {
        let named = Named { friction, material, layers: layers.map(|b| b.0), mask: mask.map(|b| b.0) };
        Self::of(shape, pose(position, rotation), sensor, named)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("drystone._drystone")?.getattr("_new_collider")?;
        let (c, local, named) = (&self.collider, &self.collider.local, &self.named);
        let flags = (named.layers, named.mask, c.sensor);
        let place = (local.position.to_array(), wxyz(local.rotation));
        let shape = PyShape(c.shape.clone());
        (make, (shape, place, named.friction, named.material.clone(), flags)).into_pyobject(py)
    }
}

/// The collider of a pickle.
#[pyfunction]
pub fn _new_collider(
    shape: PyShape,
    place: ([f64; 3], [f64; 4]),
    friction: Option<f64>,
    material: Option<String>,
    flags: (Option<u32>, Option<u32>, bool),
) -> PyCollider {
    let (layers, mask, sensor) = flags;
    let local = pose(Some(V3(place.0)), Some(Q4(place.1)));
    PyCollider::of(shape, local, sensor, Named { friction, material, layers, mask })
}

/// A shape that a living body has. It stays the same thing however the world changes; once it is removed,
/// every question is an error.
#[pyclass(frozen, weakref, name = "BodyCollider", module = "drystone")]
pub struct BodyCollider {
    pub world: Py<PyWorld>,
    pub id: ColliderId,
}

impl BodyCollider {
    pub fn of(world: &Py<PyWorld>, py: Python<'_>, id: ColliderId) -> Self {
        Self { world: world.clone_ref(py), id }
    }

    fn ask<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&World, ColliderId) -> Result<R, WorldError> + Send,
    ) -> PyResult<R> {
        self.world.get().with(py, |w| f(w, self.id)).map_err(refused)
    }

    fn tell<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut World, ColliderId) -> Result<R, WorldError> + Send,
    ) -> PyResult<R> {
        self.world.get().change(py, |w| f(w, self.id)).map_err(refused)
    }
}

#[pymethods]
impl BodyCollider {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        reduced(py, "_collider", &self.world, [self.id.slot, self.id.generation])
    }

    /// The body that has it.
    #[getter]
    fn body(&self, py: Python<'_>) -> PyResult<Body> {
        let id = self.ask(py, |w, id| w.collider_body(id))?;
        Ok(Body { world: self.world.clone_ref(py), id })
    }

    /// Its number among the colliders of the world.
    #[getter]
    fn index(&self) -> u32 {
        self.id.slot
    }

    /// Whether it is still there.
    #[getter]
    fn alive(&self, py: Python<'_>) -> bool {
        self.world.get().with(py, |w| w.model().contains_collider(self.id))
    }

    /// Its shape. Setting it leaves it where it is, and the body's mass as it is.
    #[getter]
    fn shape(&self, py: Python<'_>) -> PyResult<PyShape> {
        Ok(PyShape(self.ask(py, |w, id| Ok(w.collider(id)?.shape.clone()))?))
    }

    #[setter]
    fn set_shape(&self, py: Python<'_>, shape: PyShape) -> PyResult<()> {
        self.tell(py, |w, id| w.set_collider_shape(id, shape.0))
    }

    /// Where it is in the body's frame, m.
    #[getter]
    fn position<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array3(py, self.ask(py, |w, id| w.collider_place(id))?.position))
    }

    #[setter]
    fn set_position(&self, py: Python<'_>, position: V3) -> PyResult<()> {
        self.tell(py, |w, id| {
            let place = Pose { position: vec3(position), ..w.collider_place(id)? };
            w.set_collider_place(id, place)
        })
    }

    /// How it is turned in the body's frame, (w, x, y, z).
    #[getter]
    fn rotation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array4(py, self.ask(py, |w, id| w.collider_place(id))?.rotation))
    }

    #[setter]
    fn set_rotation(&self, py: Python<'_>, rotation: Q4) -> PyResult<()> {
        self.tell(py, |w, id| {
            let place = Pose { rotation: quat(rotation), ..w.collider_place(id)? };
            w.set_collider_place(id, place)
        })
    }

    /// Coefficient of friction.
    #[getter]
    fn friction(&self, py: Python<'_>) -> PyResult<f64> {
        self.ask(py, |w, id| Ok(w.collider(id)?.mu))
    }

    #[setter]
    fn set_friction(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = crate::convert::friction)] friction: f64,
    ) -> PyResult<()> {
        self.tell(py, |w, id| w.set_collider_friction(id, friction))
    }

    /// Name of its material; None if it has none.
    #[getter]
    fn material(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.ask(py, |w, id| {
            let named = |m: drystone::MaterialId| w.materials().names().get(m.0 as usize).cloned();
            Ok(w.collider(id)?.material.and_then(named))
        })
    }

    #[setter]
    fn set_material(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = maybe_name)] material: Option<String>,
    ) -> PyResult<()> {
        self.ask(py, |w, id| w.collider(id).map(drop))?;
        let named = material.map(|name| crate::world::material(self.world.get(), py, &name)).transpose()?;
        self.tell(py, |w, id| w.set_collider_material(id, named))
    }

    /// The layers that it is in, a bit for each.
    #[getter]
    fn layers(&self, py: Python<'_>) -> PyResult<u32> {
        self.ask(py, |w, id| Ok(w.collider(id)?.filter.layers))
    }

    /// The layers that it collides with.
    #[getter]
    fn mask(&self, py: Python<'_>) -> PyResult<u32> {
        self.ask(py, |w, id| Ok(w.collider(id)?.filter.mask))
    }

    /// Sets layers and mask: two shapes collide if each is in a layer that the other's mask has.
    fn set_filter(&self, py: Python<'_>, layers: Bits, mask: Bits) -> PyResult<()> {
        self.tell(py, |w, id| w.set_collider_filter(id, Filter { layers: layers.0, mask: mask.0 }))
    }

    /// Whether it reports what overlaps it and pushes nothing.
    #[getter]
    fn sensor(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, |w, id| w.is_sensor(id))
    }

    #[setter]
    fn set_sensor(&self, py: Python<'_>, #[pyo3(from_py_with = flag)] sensor: bool) -> PyResult<()> {
        self.tell(py, |w, id| w.set_collider_sensor(id, sensor))
    }

    /// Whatever you leave with it: any object, None if there is none.
    #[getter]
    fn user_data(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.ask(py, |w, id| w.collider(id).map(drop))?;
        Ok(self.world.get().objects.get(py, self.id))
    }

    #[setter]
    fn set_user_data(&self, py: Python<'_>, object: Py<PyAny>) -> PyResult<()> {
        self.ask(py, |w, id| w.collider(id).map(drop))?;
        self.world.get().objects.set(py, self.id, object);
        Ok(())
    }

    /// Takes it off its body; the body's mass stays.
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, |w, id| w.remove_collider(id))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<BodyCollider>().is_ok_and(|o| o.get().id == self.id && o.get().world.is(&self.world))
    }

    fn __hash__(&self) -> u64 {
        let mut h = DefaultHasher::new();
        (self.id, self.world.as_ptr() as usize).hash(&mut h);
        h.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.ask(py, |w, id| {
            let c = w.collider(id)?;
            Ok((c.shape.name(), w.model().describe(c.body)))
        }) {
            Ok((shape, body)) => format!("<collider {}, a {shape} of {body}>", self.id.slot),
            Err(_) => format!("<collider {}, removed>", self.id.slot),
        }
    }
}
