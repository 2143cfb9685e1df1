//! One body of a world.

use std::hash::{DefaultHasher, Hash, Hasher};

use drystone::{BodyId, Filter, World, WorldError};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::collider::{BodyCollider, PyCollider};
use crate::convert::{
    Bits, Q4, V3, Whole, array3, array4, body, finite, matrix3, maybe_name, name, near, number, quat, shown,
    vec3,
};
use crate::errors::{argument, input, world as refused};
use crate::events::ContactSeen;
use crate::world::saved::reduced;
use crate::world::{PyWorld, motion, motion_name};

/// A body. It stays the same thing however the world changes; once it is removed, every question is an error.
#[pyclass(frozen, weakref, name = "Body", module = "drystone")]
pub struct Body {
    pub world: Py<PyWorld>,
    pub id: BodyId,
}

impl Body {
    fn ask<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&World, BodyId) -> Result<R, WorldError> + Send,
    ) -> PyResult<R> {
        self.world.get().with(py, |w| f(w, self.id)).map_err(refused)
    }

    fn tell<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut World, BodyId) -> Result<R, WorldError> + Send,
    ) -> PyResult<R> {
        self.world.get().change(py, |w| f(w, self.id)).map_err(refused)
    }
}

/// What is to be a collider of a body's.
fn new_collider<'py>(value: &Bound<'py, PyAny>) -> PyResult<PyRef<'py, PyCollider>> {
    value.extract().map_err(|_| argument(format!("must be a collider (ds.Collider), got {}", shown(value))))
}

#[pymethods]
impl Body {
    /// The world it belongs to.
    #[getter]
    fn world(&self, py: Python<'_>) -> Py<PyWorld> {
        self.world.clone_ref(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        reduced(py, "_body", &self.world, [self.id.slot, self.id.generation])
    }

    /// Its row in the arrays of the world.
    #[getter]
    fn index(&self) -> u32 {
        self.id.slot
    }

    /// Whether it is still there.
    #[getter]
    fn alive(&self, py: Python<'_>) -> bool {
        self.world.get().with(py, |w| w.model().contains(self.id))
    }

    /// Its name, for messages and pictures.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.ask(py, |w, id| {
            w.motion(id)?;
            Ok(w.model().bodies[id.slot as usize].name.as_deref().map(String::from))
        })
    }

    #[setter]
    fn set_name(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = maybe_name)] name: Option<String>,
    ) -> PyResult<()> {
        self.tell(py, |w, id| w.set_name(id, name))
    }

    /// Whatever you leave with it: any object, None if there is none. Copies and pickles of the world have
    /// it, too.
    #[getter]
    fn user_data(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.ask(py, |w, id| w.motion(id).map(drop))?;
        Ok(self.world.get().objects.get(py, self.id))
    }

    #[setter]
    fn set_user_data(&self, py: Python<'_>, object: Py<PyAny>) -> PyResult<()> {
        self.ask(py, |w, id| w.motion(id).map(drop))?;
        self.world.get().objects.set(py, self.id, object);
        Ok(())
    }

    /// Origin of its frame, m.
    #[getter]
    fn position<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array3(py, self.ask(py, |w, id| w.position(id))?))
    }

    #[setter]
    fn set_position(&self, py: Python<'_>, position: V3) -> PyResult<()> {
        self.tell(py, |w, id| w.set_pose(id, vec3(position), w.rotation(id)?))
    }

    /// Orientation (w, x, y, z), unit.
    #[getter]
    fn rotation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array4(py, self.ask(py, |w, id| w.rotation(id))?))
    }

    #[setter]
    fn set_rotation(&self, py: Python<'_>, rotation: Q4) -> PyResult<()> {
        self.tell(py, |w, id| w.set_pose(id, w.position(id)?, quat(rotation)))
    }

    /// Puts it somewhere else: origin of its frame (m) and orientation. Velocities stay; its contacts begin
    /// anew.
    fn set_pose(&self, py: Python<'_>, position: V3, rotation: Q4) -> PyResult<()> {
        self.tell(py, |w, id| w.set_pose(id, vec3(position), quat(rotation)))
    }

    /// Velocity of its centre of mass, m/s.
    #[getter]
    fn velocity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array3(py, self.ask(py, |w, id| w.velocity(id))?))
    }

    #[setter]
    fn set_velocity(&self, py: Python<'_>, velocity: V3) -> PyResult<()> {
        self.tell(py, |w, id| w.set_velocity(id, vec3(velocity), w.angular_velocity(id)?))
    }

    /// Angular velocity in world axes, rad/s.
    #[getter]
    fn angular_velocity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array3(py, self.ask(py, |w, id| w.angular_velocity(id))?))
    }

    #[setter]
    fn set_angular_velocity(&self, py: Python<'_>, angular_velocity: V3) -> PyResult<()> {
        self.tell(py, |w, id| w.set_velocity(id, w.velocity(id)?, vec3(angular_velocity)))
    }

    /// Velocity of its point that is now at a world point, m/s.
    fn velocity_at<'py>(&self, py: Python<'py>, point: V3) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let point = near("point", point)?;
        Ok(array3(py, self.ask(py, |w, id| w.velocity_at(id, point))?))
    }

    /// Mean acceleration of the centre of mass in the last step, m/s²; None unless the world records
    /// accelerations.
    #[getter]
    fn acceleration<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        Ok(self.ask(py, |w, id| w.acceleration(id))?.map(|(a, _)| array3(py, a)))
    }

    /// Mean angular acceleration in the last step, rad/s², world axes; None unless recorded.
    #[getter]
    fn angular_acceleration<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        Ok(self.ask(py, |w, id| w.acceleration(id))?.map(|(_, a)| array3(py, a)))
    }

    /// Mass, kg. Setting it scales the inertia.
    #[getter]
    fn mass(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.ask(py, |w, id| w.mass(id))?.mass)
    }

    /// The inertia goes with it.
    #[setter]
    fn set_mass(&self, py: Python<'_>, #[pyo3(from_py_with = number)] mass: f64) -> PyResult<()> {
        self.tell(py, |w, id| {
            let mut m = w.mass(id)?;
            m.inertia *= mass / m.mass;
            m.mass = mass;
            w.set_mass(id, m)
        })
    }

    /// Inertia tensor (3, 3) about the centre of mass, body axes, kg m².
    #[getter]
    fn inertia<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix3(py, self.ask(py, |w, id| w.mass(id))?.inertia)
    }

    /// Centre of mass in its own frame, m.
    #[getter]
    fn centre_of_mass<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array3(py, self.ask(py, |w, id| w.mass(id))?.centre))
    }

    /// Sets mass (kg), inertia (three moments or a (3, 3) tensor about the centre, kg m²) and centre of mass
    /// (its frame, m).
    #[pyo3(signature = (mass, *, inertia, centre=V3([0.0; 3])))]
    fn set_mass_properties(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] mass: f64,
        inertia: &Bound<'_, PyAny>,
        centre: V3,
    ) -> PyResult<()> {
        let m = crate::world::mass_properties(&[], Some(mass), None, Some(centre), Some(inertia))?;
        self.tell(py, |w, id| w.set_mass(id, m))
    }

    /// How it moves: dynamic, kinematic or static.
    #[getter]
    fn motion(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(motion_name(self.ask(py, |w, id| w.motion(id))?))
    }

    #[setter]
    fn set_motion(&self, py: Python<'_>, #[pyo3(from_py_with = name)] motion: String) -> PyResult<()> {
        let motion = self::motion(&motion)?;
        self.tell(py, |w, id| w.set_motion(id, motion))
    }

    /// Coefficient of friction of its shapes (the first one's is told).
    #[getter]
    fn friction(&self, py: Python<'_>) -> PyResult<f64> {
        self.ask(py, |w, id| {
            let own = w.colliders_of(id)?;
            own.first().map_or(Ok(0.0), |c| Ok(w.collider(*c)?.mu))
        })
    }

    #[setter]
    fn set_friction(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = crate::convert::friction)] friction: f64,
    ) -> PyResult<()> {
        self.tell(py, |w, id| w.set_friction(id, friction))
    }

    /// Sets layers and mask of all its shapes: two shapes collide if each is in a layer that the other's mask
    /// has.
    fn set_filter(&self, py: Python<'_>, layers: Bits, mask: Bits) -> PyResult<()> {
        self.tell(py, |w, id| w.set_filter(id, Filter { layers: layers.0, mask: mask.0 }))
    }

    /// Lets its surfaces run over it, m/s, body axes: a belt.
    fn set_surface_velocity(&self, py: Python<'_>, velocity: V3) -> PyResult<()> {
        self.tell(py, |w, id| w.set_surface_velocity(id, vec3(velocity)))
    }

    /// Adds a force (N) at a world point (m; at the centre of mass if none is given) for the next step only.
    #[pyo3(signature = (force, point=None))]
    fn apply_force(&self, py: Python<'_>, force: V3, point: Option<V3>) -> PyResult<()> {
        let (force, point) = (finite("force", force)?, point.map(|p| finite("point", p)).transpose()?);
        self.tell(py, |w, id| w.apply_force(id, force, point))
    }

    /// Adds a torque (N m, world axes) for the next step only.
    fn apply_torque(&self, py: Python<'_>, torque: V3) -> PyResult<()> {
        let torque = finite("torque", torque)?;
        self.tell(py, |w, id| w.apply_torque(id, torque))
    }

    /// Changes its velocities at once by an impulse (N s) at a world point (m; the centre of mass if none is
    /// given).
    #[pyo3(signature = (impulse, point=None))]
    fn apply_impulse(&self, py: Python<'_>, impulse: V3, point: Option<V3>) -> PyResult<()> {
        let (impulse, point) = (finite("impulse", impulse)?, point.map(|p| finite("point", p)).transpose()?);
        self.tell(py, |w, id| w.apply_impulse(id, impulse, point))
    }

    /// Changes its angular velocity at once by an angular impulse (N m s, world axes).
    fn apply_angular_impulse(&self, py: Python<'_>, impulse: V3) -> PyResult<()> {
        let impulse = finite("impulse", impulse)?;
        self.tell(py, |w, id| w.apply_angular_impulse(id, impulse))
    }

    /// Sum of the contact forces on it in the last step, N.
    #[getter]
    fn contact_force<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array3(py, self.ask(py, |w, id| w.contact_force(id))?.0))
    }

    /// Contact force of another body on it in the last step, N.
    fn force_from<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = body)] other: &Bound<'_, Body>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let other = other.get();
        if !other.world.is(&self.world) {
            return Err(input(format!("body {} belongs to another world", other.id.slot)));
        }
        let other = other.id;
        Ok(array3(py, self.ask(py, |w, id| w.force_between(id, other))?))
    }

    /// Its contacts in the last step, seen from it.
    #[getter]
    fn contacts(&self, py: Python<'_>) -> PyResult<Vec<ContactSeen>> {
        let found = self.ask(py, |w, id| w.contacts_of(id))?;
        Ok(found.into_iter().map(|c| ContactSeen::of(&self.world, py, c)).collect())
    }

    /// Whether it sleeps.
    #[getter]
    fn is_asleep(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, |w, id| w.is_asleep(id))
    }

    /// Wakes it and its island.
    fn wake(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, |w, id| w.wake(id))
    }

    /// Its shapes.
    #[getter]
    fn shapes(&self, py: Python<'_>) -> PyResult<Vec<crate::shape::PyShape>> {
        self.ask(py, |w, id| {
            let own = w.colliders_of(id)?;
            own.iter().map(|c| Ok(crate::shape::PyShape(w.collider(*c)?.shape.clone()))).collect()
        })
    }

    /// Its shapes as things that can be asked, changed and removed.
    #[getter]
    fn colliders(&self, py: Python<'_>) -> PyResult<Vec<BodyCollider>> {
        let own = self.ask(py, |w, id| w.colliders_of(id))?;
        Ok(own.into_iter().map(|id| BodyCollider::of(&self.world, py, id)).collect())
    }

    /// Adds a shape, sensor or not. Mass, inertia and centre of mass stay as they are: `mass` or
    /// `set_mass_properties` changes them.
    fn add_collider(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = new_collider)] collider: PyRef<'_, PyCollider>,
    ) -> PyResult<BodyCollider> {
        let mut new = collider.collider.clone();
        if let Some(name) = &collider.named.material {
            self.ask(py, |w, id| w.motion(id))?;
            new.material = Some(crate::world::material(self.world.get(), py, name)?);
        }
        let new = self.tell(py, |w, id| w.add_collider(id, new))?;
        Ok(BodyCollider::of(&self.world, py, new))
    }

    /// Removes one of its shapes: one of `colliders`, or its number among them. The body's mass stays.
    fn remove_collider(&self, py: Python<'_>, which: &Bound<'_, PyAny>) -> PyResult<()> {
        let own = self.ask(py, |w, id| w.colliders_of(id))?;
        let id = match which.cast::<BodyCollider>() {
            Ok(c) if c.get().world.is(&self.world) => own.iter().find(|id| **id == c.get().id),
            Ok(_) => None,
            Err(_) => {
                let wrong =
                    |_| argument(format!("a collider goes by itself or its number, got {}", shown(which)));
                let Whole(index) = which.extract().map_err(wrong)?;
                own.get(index as usize)
            }
        };
        match id {
            Some(id) => self.tell(py, |w, _| w.remove_collider(*id)),
            None => Err(input(format!("there is no collider {which}, the body has {}", own.len()))),
        }
    }

    /// A point of its frame in world coordinates, m.
    fn to_world<'py>(&self, py: Python<'py>, point: V3) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let point = near("point", point)?;
        Ok(array3(py, self.ask(py, |w, id| Ok(w.pose(id)?.point(point)))?))
    }

    /// A world point in its frame, m.
    fn to_local<'py>(&self, py: Python<'py>, point: V3) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let point = near("point", point)?;
        Ok(array3(py, self.ask(py, |w, id| Ok(w.pose(id)?.inverse_point(point)))?))
    }

    /// Takes it out of the world, with its joints.
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, |w, id| w.remove_body(id))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Body>().is_ok_and(|o| o.get().id == self.id && o.get().world.is(&self.world))
    }

    fn __hash__(&self) -> u64 {
        let mut h = DefaultHasher::new();
        (self.id, self.world.as_ptr() as usize).hash(&mut h);
        h.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.ask(py, |w, id| Ok((w.model().describe(id.slot), w.motion(id)?, w.position(id)?))) {
            Ok((name, motion, x)) => {
                format!("<{name}, {}, at [{:.6}, {:.6}, {:.6}] m>", motion_name(motion), x.x, x.y, x.z)
            }
            Err(_) => format!("<body {}, removed>", self.id.slot),
        }
    }
}
