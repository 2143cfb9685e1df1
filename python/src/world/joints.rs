//! Joints of a world.

use drystone::Function;
use glam::DVec3;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::PyWorld;
use crate::body::Body;
use crate::convert::{
    Q4, V3, flag, maybe_body, maybe_functions, maybe_name, maybe_number, maybe_points, number, shown, text,
    two, vec3,
};
use crate::errors::{argument, input, world as refused};
use crate::joint::{Asked, PyJoint};

/// A name that does not say who is meant.
pub fn several(count: usize, what: &str, name: &str) -> PyErr {
    pyo3::exceptions::PyKeyError::new_err(format!(
        "there are {count} {what} '{name}': go through world.{what} and choose one"
    ))
}

/// A number for all axes, or one for each; zero where nothing is said.
fn axes(name: &str, value: Option<Bound<'_, PyAny>>) -> PyResult<DVec3> {
    let Some(value) = value else { return Ok(DVec3::ZERO) };
    let one = number(&value).map(DVec3::splat);
    one.or_else(|_| value.extract::<V3>().map(vec3))
        .map_err(|_| argument(format!("{name} must be a number or three, got {}", shown(&value))))
}

#[pymethods]
impl PyWorld {
    /// Joins two bodies (None is the world): fixed, revolute, prismatic, cylindrical, ball, universal,
    /// planar, point_on_line, point_on_plane, distance, rope, spring, screw, gear, rack_and_pinion, pulley,
    /// bushing, trajectory, knife_edge, rolling_disc.
    ///
    /// `position` (m) and `axis` are in the world as the bodies are now. universal takes `axis_b`; distance,
    /// rope and spring go to `position_b` and have a `length` (m; as now if not given), a spring `stiffness`
    /// (N/m) and `damping` (N s/m); screw a `pitch` (m a turn); gear a `ratio`; rack_and_pinion `axis_b` and
    /// `radius` (m).
    ///
    /// A pulley's rope goes from `position` on A over the two `points` of the world to `position_b` on B,
    /// whose side counts `ratio` times. A bushing has `stiffness` (N/m) and `damping` (N s/m),
    /// `angular_stiffness` (N m/rad) and `angular_damping` (N m s/rad), each a number or one for each axis.
    /// trajectory takes `follow`, three functions of time (m) along the axes of A, for the point `position`
    /// of B (its own frame), and perhaps `turn`, three functions for the rotation vector (rad). knife_edge is
    /// a blade along `axis`, with `axis_b` up. rolling_disc has its `position_b` (centre), `axis_b` and
    /// `radius` (m) on the plane through `position` with the normal `axis`. `compliance` is in m/N and rad/(N
    /// m).
    ///
    /// >>> import drystone as ds
    /// >>> world = ds.World()
    /// >>> rod = world.add_body(ds.capsule(0.02, 0.5), mass=1.0, position=[0.5, 0, 0])
    /// >>> hinge = world.add_joint('revolute', None, rod, axis=[0, 1, 0])
    /// >>> hinge.set_motor(speed=2.0, limit=100.0)
    /// >>> _ = world.step()
    /// >>> round(float(hinge.rates[0]), 3)
    /// 2.0
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (kind, a, b, *, position=V3([0.0; 3]), axis=V3([0.0, 0.0, 1.0]), rotation=None, axis_b=None, position_b=None,
        length=None, stiffness=None, damping=None, angular_stiffness=None, angular_damping=None, pitch=None, ratio=1.0, radius=None,
        points=None, follow=None, turn=None, collide=false, compliance=[0.0; 2], name=None))]
    fn add_joint(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = text)] kind: &str,
        #[pyo3(from_py_with = maybe_body)] a: Option<&Bound<'_, Body>>,
        #[pyo3(from_py_with = maybe_body)] b: Option<&Bound<'_, Body>>,
        position: V3,
        axis: V3,
        rotation: Option<Q4>,
        axis_b: Option<V3>,
        position_b: Option<V3>,
        #[pyo3(from_py_with = maybe_number)] length: Option<f64>,
        stiffness: Option<Bound<'_, PyAny>>,
        damping: Option<Bound<'_, PyAny>>,
        angular_stiffness: Option<Bound<'_, PyAny>>,
        angular_damping: Option<Bound<'_, PyAny>>,
        #[pyo3(from_py_with = maybe_number)] pitch: Option<f64>,
        #[pyo3(from_py_with = number)] ratio: f64,
        #[pyo3(from_py_with = maybe_number)] radius: Option<f64>,
        #[pyo3(from_py_with = maybe_points)] points: Option<[V3; 2]>,
        #[pyo3(from_py_with = maybe_functions)] follow: Option<[Function; 3]>,
        #[pyo3(from_py_with = maybe_functions)] turn: Option<[Function; 3]>,
        #[pyo3(from_py_with = flag)] collide: bool,
        #[pyo3(from_py_with = two)] compliance: [f64; 2],
        #[pyo3(from_py_with = maybe_name)] name: Option<String>,
    ) -> PyResult<PyJoint> {
        let what = Asked {
            kind,
            position,
            axis,
            rotation,
            axis_b,
            position_b,
            length,
            stiffness: axes("stiffness", stiffness)?,
            damping: axes("damping", damping)?,
            angular_stiffness: axes("angular_stiffness", angular_stiffness)?,
            angular_damping: axes("angular_damping", angular_damping)?,
            pitch,
            ratio,
            radius,
            points,
            follow,
            turn,
        };
        if a.is_none() && b.is_none() {
            return Err(input(format!("{kind} joint: a and b are both None, so there is nothing to join")));
        }
        let own = |b: Option<&Bound<'_, Body>>| b.map(|b| Self::own(slf, b)).transpose();
        let mut def = what.def(own(a)?, own(b)?)?;
        (def.collide, def.compliance, def.name) = (collide, compliance, name);
        let id = slf.get().change(slf.py(), |w| w.add_joint(def)).map_err(refused)?;
        Ok(PyJoint { world: slf.clone().unbind(), id })
    }

    /// All joints.
    #[getter]
    fn joints<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let ids: Vec<_> = slf.get().with(slf.py(), |w| w.joints().collect());
        let all = ids.into_iter().map(|id| PyJoint { world: slf.clone().unbind(), id });
        PyList::new(slf.py(), all)
    }

    /// The joint of this name.
    fn joint(slf: &Bound<'_, Self>, #[pyo3(from_py_with = text)] name: &str) -> PyResult<PyJoint> {
        let found: Vec<_> = slf.get().with(slf.py(), |w| {
            w.joints().filter(|id| w.joint(*id).is_ok_and(|j| j.name.as_deref() == Some(name))).collect()
        });
        match found[..] {
            [id] => Ok(PyJoint { world: slf.clone().unbind(), id }),
            [] => Err(pyo3::exceptions::PyKeyError::new_err(format!("there is no joint '{name}'"))),
            _ => Err(several(found.len(), "joints", name)),
        }
    }

    /// How far the joints are off: m and m/s.
    #[getter]
    fn joint_error(&self, py: Python<'_>) -> (f64, f64) {
        let e = self.with(py, |w| w.joint_error());
        (e.position, e.velocity)
    }
}
