//! Worlds as bytes: for files, pickles and copies.

use drystone::{BodyId, ColliderId, JointId, World};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use super::PyWorld;
use super::user_data::Key;
use crate::body::Body;
use crate::collider::BodyCollider;
use crate::convert::shown;
use crate::errors::{argument, input};
use crate::joint::PyJoint;

/// What a pickle holds: the bytes of `save`, hooks before and after steps, attributes of a class of the
/// user's own, and what was left with bodies and joints.
type Pickled<'py> =
    (Bound<'py, PyBytes>, Vec<Py<PyAny>>, Vec<Py<PyAny>>, Option<Bound<'py, PyDict>>, Vec<(Key, Py<PyAny>)>);

#[pymethods]
impl PyWorld {
    /// The whole world as bytes: settings, bodies, joints, motion, warm starts; hooks are not in it.
    ///
    /// >>> import drystone as ds
    /// >>> world = ds.World()
    /// >>> ball = world.add_body(ds.sphere(0.5), mass=1.0, position=[0, 0, 2])
    /// >>> _ = world.step(10)
    /// >>> other = ds.World.load(world.save())
    /// >>> world.step(10).step == other.step(10).step, world.state_hash == other.state_hash
    /// (True, True)
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.at_length(py, |world| world.save()).map_err(input)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A world from the bytes that `save` made: it goes on to the same bits.
    #[staticmethod]
    fn load(bytes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wrong = |_| argument(format!("bytes must be those of save(), got {}", shown(bytes)));
        let bytes: &[u8] = bytes.extract().map_err(wrong)?;
        Ok(Self::of(World::load(bytes).map_err(input)?))
    }

    fn __getstate__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let own = match slf.get_type().is(py.get_type::<Self>()) {
            true => None,
            false => Some(slf.getattr("__dict__")?.cast_into::<PyDict>()?),
        };
        Ok((this.save(py)?, this.before.all(py), this.after.all(py), own, this.objects.all(py)))
    }

    fn __setstate__(slf: &Bound<'_, Self>, state: Pickled<'_>) -> PyResult<()> {
        let (bytes, before, after, own, objects) = state;
        let (this, world) = (slf.get(), World::load(bytes.as_bytes()).map_err(input)?);
        slf.py().detach(|| **this.lock() = world);
        this.before.set(before);
        this.after.set(after);
        this.objects.replace(objects);
        match own {
            Some(own) => slf.getattr("__dict__")?.cast_into::<PyDict>()?.update(own.as_mapping()),
            None => Ok(()),
        }
    }
}

/// The body of a pickle.
#[pyfunction]
pub fn _body(world: Py<PyWorld>, slot: u32, generation: u32) -> Body {
    Body { world, id: BodyId { slot, generation } }
}

/// The collider of a pickle.
#[pyfunction]
pub fn _collider(world: Py<PyWorld>, slot: u32, generation: u32) -> BodyCollider {
    BodyCollider { world, id: ColliderId { slot, generation } }
}

/// The joint of a pickle.
#[pyfunction]
pub fn _joint(world: Py<PyWorld>, slot: u32, generation: u32) -> PyJoint {
    PyJoint { world, id: JointId { slot, generation } }
}

/// What makes an object again that is this one of a world: a function of this module, and what it is called
/// with.
pub fn reduced<'py>(
    py: Python<'py>,
    function: &str,
    world: &Py<PyWorld>,
    [slot, generation]: [u32; 2],
) -> PyResult<Bound<'py, PyTuple>> {
    let make = py.import("drystone._drystone")?.getattr(function)?;
    (make, (world.clone_ref(py), slot, generation)).into_pyobject(py)
}
