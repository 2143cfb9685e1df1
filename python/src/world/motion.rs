//! Motion, forces and contacts of all bodies as arrays.

use drystone::Motion;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

use super::PyWorld;
use crate::arrays;
use crate::convert::text;
use crate::errors::input;

#[pymethods]
impl PyWorld {
    /// Which rows of the arrays are bodies.
    #[getter]
    fn alive<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let alive = self.with(py, |w| w.model().bodies.iter().map(|b| b.alive).collect::<Vec<_>>());
        PyArray1::from_vec(py, alive)
    }

    /// Masses, kg; infinite for bodies that are not dynamic.
    #[getter]
    fn masses<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mass = |b: &drystone::model::Body| match (b.alive, b.motion) {
            (false, _) => f64::NAN,
            (true, Motion::Dynamic) => b.mass.mass,
            _ => f64::INFINITY,
        };
        let masses = self.with(py, |w| w.model().bodies.iter().map(mass).collect::<Vec<_>>());
        PyArray1::from_vec(py, masses)
    }

    /// The engine's own memory as it is now: `centres`, `quaternions_xyzw`, `velocities` and `spins` are
    /// arrays that nobody can write to. Nothing is copied, unless the world goes on while an array is kept:
    /// it stays what it was. Rows of removed bodies hold anything: see `alive`.
    ///
    /// >>> import drystone as ds
    /// >>> world = ds.World()
    /// >>> ball = world.add_body(ds.sphere(0.5), mass=1.0, position=[0, 0, 2])
    /// >>> before = world.arrays.centres
    /// >>> _ = world.step(100)
    /// >>> float(before[0, 2]), round(float(world.arrays.centres[0, 2]), 2)
    /// (2.0, -2.95)
    #[getter]
    fn arrays(slf: &Bound<'_, Self>) -> arrays::Arrays {
        arrays::Arrays(slf.clone().unbind())
    }

    /// Origins of the bodies' frames, (n, 3), m: a copy. Row i is `world[i]`; rows of removed bodies are NaN.
    #[getter]
    fn positions<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::read(slf, arrays::Column::Position, None)
    }

    #[setter]
    fn set_positions(&self, py: Python<'_>, positions: arrays::In<'_>) -> PyResult<()> {
        arrays::write(self, py, [Some(&positions), None, None, None])
    }

    /// Orientations (n, 4), (w, x, y, z): a copy.
    #[getter]
    fn rotations<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::read(slf, arrays::Column::Rotation, None)
    }

    #[setter]
    fn set_rotations(&self, py: Python<'_>, rotations: arrays::In<'_>) -> PyResult<()> {
        arrays::write(self, py, [None, Some(&rotations), None, None])
    }

    /// Velocities of the centres of mass, (n, 3), m/s: a copy.
    #[getter]
    fn velocities<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::read(slf, arrays::Column::Velocity, None)
    }

    #[setter]
    fn set_velocities(&self, py: Python<'_>, velocities: arrays::In<'_>) -> PyResult<()> {
        arrays::write(self, py, [None, None, Some(&velocities), None])
    }

    /// Angular velocities in world axes, (n, 3), rad/s: a copy.
    #[getter]
    fn angular_velocities<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::read(slf, arrays::Column::AngularVelocity, None)
    }

    #[setter]
    fn set_angular_velocities(&self, py: Python<'_>, angular_velocities: arrays::In<'_>) -> PyResult<()> {
        arrays::write(self, py, [None, None, None, Some(&angular_velocities)])
    }

    /// One of positions, rotations, velocities, angular_velocities, into `out` where it is given: no memory
    /// is taken then.
    #[pyo3(signature = (what, out=None))]
    fn read<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = text)] what: &str,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let own = |out: Bound<'py, PyAny>| {
            let kind = out.get_type().name().map_or("something else".into(), |name| name.to_string());
            let dtype = out.getattr("dtype").map_or(kind, |dtype| dtype.to_string());
            out.cast_into()
                .map_err(|_| input(format!("out must be a float64 array of two dimensions, got {dtype}")))
        };
        arrays::read(slf, arrays::Column::parse(what)?, out.map(own).transpose()?)
    }

    /// Sets states of all bodies at once; what is not given stays. Contacts begin anew where positions or
    /// rotations are set. Nothing is set where a row is refused: static bodies have no velocity but zero.
    /// Rows of removed bodies may hold anything.
    #[pyo3(signature = (*, positions=None, rotations=None, velocities=None, angular_velocities=None))]
    fn set_bodies(
        &self,
        py: Python<'_>,
        positions: Option<arrays::In<'_>>,
        rotations: Option<arrays::In<'_>>,
        velocities: Option<arrays::In<'_>>,
        angular_velocities: Option<arrays::In<'_>>,
    ) -> PyResult<()> {
        let given = [&positions, &rotations, &velocities, &angular_velocities];
        arrays::write(self, py, given.map(Option::as_ref))
    }

    /// Adds forces (n, 3) in N at the centres of mass, and torques (n, 3) in N m, for the next step only.
    /// Rows of bodies that are not dynamic count for nothing, where `body.apply_force` refuses them: a force
    /// for all rows need not leave the ground out.
    #[pyo3(signature = (forces, torques=None))]
    fn apply_forces(
        &self,
        py: Python<'_>,
        forces: arrays::In<'_>,
        torques: Option<arrays::In<'_>>,
    ) -> PyResult<()> {
        arrays::apply_forces(self, py, &forces, torques.as_ref())
    }

    /// The contacts of the last step as arrays.
    #[getter]
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<arrays::Contacts> {
        arrays::Contacts::of(self, py)
    }

    /// Contact force on each body in the last step, (n, 3), N.
    #[getter]
    fn contact_forces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let forces = self.with(py, |w| w.contact_forces());
        arrays::from_rows(py, &forces)
    }
}
