//! Contacts and events as Python sees them.

use drystone::{BodyId, ColliderId, ContactInfo};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::body::Body;
use crate::collider::BodyCollider;
use crate::convert::array3;
use crate::joint::PyJoint;
use crate::world::PyWorld;

fn body(world: &Py<PyWorld>, py: Python<'_>, id: BodyId) -> Py<Body> {
    let body = Body { world: world.clone_ref(py), id };
    // It is a plain object: there is nothing to fail but memory.
    Py::new(py, body).unwrap_or_else(|e| panic!("{e}"))
}

pub fn collider(world: &Py<PyWorld>, py: Python<'_>, id: ColliderId) -> Py<BodyCollider> {
    Py::new(py, BodyCollider::of(world, py, id)).unwrap_or_else(|e| panic!("{e}"))
}

/// A contact of the last step, seen from one of its bodies.
#[pyclass(frozen, name = "Contact", module = "drystone", get_all)]
pub struct ContactSeen {
    /// The other body.
    other: Py<Body>,
    /// The colliders, of this body and of the other.
    colliders: (Py<BodyCollider>, Py<BodyCollider>),
    /// Half-way between the two surfaces, m.
    point: Py<PyArray1<f64>>,
    /// Unit, from the other body to this one.
    normal: Py<PyArray1<f64>>,
    /// Signed distance at the start of the step, m.
    gap: f64,
    /// Coefficient of friction.
    friction: f64,
    /// Impulse on this body during the step, N s.
    impulse: Py<PyArray1<f64>>,
    /// The same over the step, N.
    force: Py<PyArray1<f64>>,
}

impl ContactSeen {
    pub fn of(world: &Py<PyWorld>, py: Python<'_>, c: ContactInfo) -> Self {
        Self {
            other: body(world, py, c.bodies[1]),
            colliders: (collider(world, py, c.colliders[0]), collider(world, py, c.colliders[1])),
            point: array3(py, c.point).unbind(),
            normal: array3(py, c.normal).unbind(),
            gap: c.gap,
            friction: c.mu,
            impulse: array3(py, c.impulse).unbind(),
            force: array3(py, c.force).unbind(),
        }
    }
}

#[pymethods]
impl ContactSeen {
    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<contact with {}: gap {:.3e} m>", self.other.bind(py), self.gap)
    }
}

/// Two colliders that touch, or have ceased to.
#[pyclass(frozen, name = "ContactEvent", module = "drystone", get_all)]
pub struct ContactEvent {
    /// Number of the step that it happened in.
    step: u64,
    /// begin, persist or end.
    phase: &'static str,
    /// The two bodies, of which the first is dynamic.
    bodies: (Py<Body>, Py<Body>),
    /// Their colliders, in the same order.
    colliders: (Py<BodyCollider>, Py<BodyCollider>),
    /// Impulse on the first body during the step, N s; zero at the end.
    impulse: Py<PyArray1<f64>>,
    /// The same over the step, N.
    force: Py<PyArray1<f64>>,
    /// Mean of the contact points, m.
    point: Py<PyArray1<f64>>,
    /// Unit, from the second body to the first.
    normal: Py<PyArray1<f64>>,
}

impl ContactEvent {
    pub fn of(world: &Bound<'_, PyWorld>, (step, e): (u64, drystone::ContactEvent)) -> Self {
        let (py, world) = (world.py(), world.clone().unbind());
        Self {
            step,
            phase: e.phase.name(),
            bodies: (body(&world, py, e.bodies[0]), body(&world, py, e.bodies[1])),
            colliders: (collider(&world, py, e.colliders[0]), collider(&world, py, e.colliders[1])),
            impulse: array3(py, e.impulse).unbind(),
            force: array3(py, e.force).unbind(),
            point: array3(py, e.point).unbind(),
            normal: array3(py, e.normal).unbind(),
        }
    }
}

#[pymethods]
impl ContactEvent {
    fn __repr__(&self, py: Python<'_>) -> String {
        let (a, b) = (self.bodies.0.bind(py), self.bodies.1.bind(py));
        format!("<contact {} in step {}: {a} and {b}>", self.phase, self.step)
    }
}

/// Something in a sensor, or no longer.
#[pyclass(frozen, name = "SensorEvent", module = "drystone", get_all)]
pub struct SensorEvent {
    /// Number of the step that it happened in.
    step: u64,
    /// begin, persist or end.
    phase: &'static str,
    /// The body that has the sensor.
    sensor: Py<Body>,
    /// What overlaps it.
    other: Py<Body>,
    /// The sensor, and the collider that overlaps it.
    colliders: (Py<BodyCollider>, Py<BodyCollider>),
}

impl SensorEvent {
    pub fn of(world: &Bound<'_, PyWorld>, (step, e): (u64, drystone::SensorEvent)) -> Self {
        let (py, world) = (world.py(), world.clone().unbind());
        Self {
            step,
            phase: e.phase.name(),
            sensor: body(&world, py, e.sensor.0),
            other: body(&world, py, e.other.0),
            colliders: (collider(&world, py, e.sensor.1), collider(&world, py, e.other.1)),
        }
    }
}

#[pymethods]
impl SensorEvent {
    fn __repr__(&self, py: Python<'_>) -> String {
        let (sensor, other) = (self.sensor.bind(py), self.other.bind(py));
        format!("<sensor {} in step {}: {other} in {sensor}>", self.phase, self.step)
    }
}

/// A joint's coordinate at one of its limits, or no longer.
#[pyclass(frozen, name = "JointEvent", module = "drystone", get_all)]
pub struct JointEvent {
    /// Number of the step that it happened in.
    step: u64,
    /// begin, persist or end.
    phase: &'static str,
    /// The joint.
    joint: Py<PyJoint>,
    /// Which of its free coordinates.
    coordinate: usize,
    /// What the limit pushes with, N or N m; zero at the end.
    force: f64,
}

impl JointEvent {
    pub fn of(world: &Bound<'_, PyWorld>, (step, e): (u64, drystone::JointEvent)) -> Self {
        let joint = PyJoint { world: world.clone().unbind(), id: e.joint };
        Self {
            step,
            phase: e.phase.name(),
            joint: Py::new(world.py(), joint).unwrap_or_else(|e| panic!("{e}")),
            coordinate: e.coordinate,
            force: e.force,
        }
    }
}

#[pymethods]
impl JointEvent {
    fn __repr__(&self, py: Python<'_>) -> String {
        let (joint, coordinate) = (self.joint.bind(py), self.coordinate);
        format!("<limit {} in step {}: coordinate {coordinate} of {joint}>", self.phase, self.step)
    }
}
