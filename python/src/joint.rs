//! Joints and their motors.

use drystone::joint::{Bushing, Kind, Law, Limits, Spring};
use drystone::{BodyId, Function, JointDef, JointId, Motor, World, WorldError};
use glam::DVec3;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::body::Body;
use crate::convert::{Q4, V3, array3, count, direction, function, near, number, quat, unit, vec3};
use crate::errors::{input, world as refused};
use crate::world::PyWorld;
use crate::world::saved::reduced;

/// A joint between two bodies, or one body and the world.
#[pyclass(frozen, weakref, name = "Joint", module = "drystone")]
pub struct PyJoint {
    pub world: Py<PyWorld>,
    pub id: JointId,
}

const KINDS: &[&str] = &[
    "fixed",
    "revolute",
    "prismatic",
    "cylindrical",
    "ball",
    "universal",
    "planar",
    "point_on_line",
    "point_on_plane",
    "distance",
    "rope",
    "spring",
    "screw",
    "gear",
    "rack_and_pinion",
    "pulley",
    "bushing",
    "trajectory",
    "knife_edge",
    "rolling_disc",
];

/// What was said of a new joint.
pub struct Asked<'a> {
    pub kind: &'a str,
    pub position: V3,
    pub axis: V3,
    pub rotation: Option<Q4>,
    pub axis_b: Option<V3>,
    pub position_b: Option<V3>,
    pub length: Option<f64>,
    /// By axis; a spring takes the first.
    pub stiffness: DVec3,
    pub damping: DVec3,
    pub angular_stiffness: DVec3,
    pub angular_damping: DVec3,
    pub pitch: Option<f64>,
    pub ratio: f64,
    pub radius: Option<f64>,
    pub points: Option<[V3; 2]>,
    pub follow: Option<[Function; 3]>,
    pub turn: Option<[Function; 3]>,
}

impl Asked<'_> {
    /// Refuses what this kind of joint has no use for: it would be taken without a word.
    fn check_unused(&self) -> PyResult<()> {
        let takes: &[&str] = match self.kind {
            "universal" | "knife_edge" => &["axis_b"],
            "gear" => &["axis_b", "ratio"],
            "screw" => &["pitch"],
            "rack_and_pinion" => &["axis_b", "radius"],
            "distance" | "rope" => &["position_b", "length"],
            "spring" => &["position_b", "length", "stiffness", "damping"],
            "pulley" => &["position_b", "points", "ratio"],
            "bushing" => &["stiffness", "damping", "angular_stiffness", "angular_damping"],
            "trajectory" => &["follow", "turn"],
            "rolling_disc" => &["position_b", "axis_b", "radius"],
            "fixed" | "revolute" | "prismatic" | "cylindrical" | "ball" | "planar" | "point_on_line"
            | "point_on_plane" => &[],
            // Refused by its name below.
            _ => return Ok(()),
        };
        let given = [
            ("axis_b", self.axis_b.is_some()),
            ("position_b", self.position_b.is_some()),
            ("length", self.length.is_some()),
            ("stiffness", self.stiffness != DVec3::ZERO),
            ("damping", self.damping != DVec3::ZERO),
            ("angular_stiffness", self.angular_stiffness != DVec3::ZERO),
            ("angular_damping", self.angular_damping != DVec3::ZERO),
            ("pitch", self.pitch.is_some()),
            ("ratio", self.ratio != 1.0),
            ("radius", self.radius.is_some()),
            ("points", self.points.is_some()),
            ("follow", self.follow.is_some()),
            ("turn", self.turn.is_some()),
        ];
        let unused = given.iter().find(|(name, given)| *given && !takes.contains(name));
        let Some((name, _)) = unused else { return Ok(()) };
        let hint = if name.ends_with("stiffness") || name.ends_with("damping") {
            "; a spring along its coordinate is set by joint.set_spring"
        } else {
            ""
        };
        Err(input(format!("{} joint: has no {name}{hint}", self.kind)))
    }

    /// An axis, which has a direction and whose length is that of a number.
    fn direction(&self, name: &str, v: V3) -> PyResult<DVec3> {
        let x = direction(name, v)?;
        Ok(x / x.abs().max_element())
    }

    pub fn def(&self, a: Option<BodyId>, b: Option<BodyId>) -> PyResult<JointDef> {
        self.check_unused()?;
        let (at, axis) = (near("position", self.position)?, self.direction("axis", self.axis)?);
        let axis_b = self.axis_b.map(|v| self.direction("axis_b", v)).transpose()?;
        if let (Some(b), "universal" | "knife_edge") = (axis_b, self.kind)
            && axis.normalize().cross(b.normalize()).length() < 1e-9
        {
            return Err(input(format!("{} joint: axis_b must not be along axis", self.kind)));
        }
        let needs = |name: &str| input(format!("{}: {name} is missing", self.kind));
        let both = || -> PyResult<(BodyId, BodyId)> {
            a.zip(b).ok_or_else(|| input(format!("{}: needs two bodies", self.kind)))
        };
        let mut def = match self.kind {
            "fixed" => JointDef::fixed(a, b, at),
            "revolute" => JointDef::revolute(a, b, at, axis),
            "prismatic" => JointDef::prismatic(a, b, at, axis),
            "cylindrical" => JointDef::cylindrical(a, b, at, axis),
            "ball" => JointDef::ball(a, b, at),
            "universal" => JointDef::universal(a, b, at, axis, axis_b.ok_or_else(|| needs("axis_b"))?),
            "planar" => JointDef::planar(a, b, at, axis),
            "point_on_line" => JointDef::point_on_line(a, b, at, axis),
            "point_on_plane" => JointDef::point_on_plane(a, b, at, axis),
            "screw" => JointDef::screw(a, b, at, axis, self.pitch.ok_or_else(|| needs("pitch"))?),
            "gear" => {
                let (a, b) = both()?;
                JointDef::gear((a, axis), (b, axis_b.unwrap_or(axis)), self.ratio)
            }
            "rack_and_pinion" => {
                let (a, b) = both()?;
                let rack = axis_b.ok_or_else(|| needs("axis_b"))?;
                let radius = self.radius.ok_or_else(|| needs("radius"))?;
                JointDef::rack_and_pinion((a, axis), (b, rack), radius)
            }
            "distance" | "rope" | "spring" => {
                let end = self.position_b.ok_or_else(|| needs("position_b"))?;
                let now = (vec3(end) - at).length();
                let length = self.length.unwrap_or(now);
                let kind = match self.kind {
                    "distance" => Kind::Distance { length },
                    "rope" => Kind::Rope { length },
                    _ => Kind::Spring { length, stiffness: self.stiffness.x, damping: self.damping.x },
                };
                let mut def = JointDef::new(kind, a, b, at, glam::DQuat::IDENTITY);
                let place = |x: DVec3| drystone::Pose::at(x);
                def.frames = drystone::joint::Frames::Worlds(place(at), place(vec3(end)));
                def
            }
            "pulley" => {
                let (a, b) = both()?;
                let points = self.points.ok_or_else(|| needs("points"))?.map(vec3);
                let end = self.position_b.ok_or_else(|| needs("position_b"))?;
                JointDef::pulley((a, at), (b, vec3(end)), points, self.ratio)
            }
            "bushing" => {
                let bushing = Bushing {
                    stiffness: self.stiffness,
                    damping: self.damping,
                    angular_stiffness: self.angular_stiffness,
                    angular_damping: self.angular_damping,
                };
                JointDef::bushing(a, b, at, bushing)
            }
            "trajectory" => {
                let b = b.ok_or_else(|| needs("the second body"))?;
                let way = self.follow.clone().ok_or_else(|| needs("follow"))?;
                JointDef::trajectory(a, (b, at), way, self.turn.clone())
            }
            "knife_edge" => {
                let up = axis_b.ok_or_else(|| needs("axis_b (which way is up)"))?;
                JointDef::knife_edge(a, b, at, axis, up)
            }
            "rolling_disc" => {
                let b = b.ok_or_else(|| needs("the second body"))?;
                let centre = self.position_b.ok_or_else(|| needs("position_b"))?;
                let turns = axis_b.ok_or_else(|| needs("axis_b"))?;
                let radius = self.radius.ok_or_else(|| needs("radius"))?;
                JointDef::rolling_disc(a, (at, axis), b, (vec3(centre), turns), radius)
            }
            other => {
                let hint = drystone_solve::solver::nearest(other, KINDS)
                    .map(|n| format!("; did you mean '{n}'?"))
                    .unwrap_or_default();
                return Err(input(format!(
                    "there is no joint '{other}'{hint} (valid: {})",
                    KINDS.join(", ")
                )));
            }
        };
        if let Some(q) = self.rotation {
            def.frames =
                drystone::joint::Frames::World(drystone::Pose::new(at, unit(quat(q)).map_err(input)?));
        }
        Ok(def)
    }
}

impl PyJoint {
    fn ask<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&World, JointId) -> Result<R, WorldError> + Send,
    ) -> PyResult<R> {
        self.world.get().with(py, |w| f(w, self.id)).map_err(refused)
    }

    fn tell<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut World, JointId) -> Result<R, WorldError> + Send,
    ) -> PyResult<R> {
        self.world.get().change(py, |w| f(w, self.id)).map_err(refused)
    }

    /// Changes what acts along a free coordinate.
    fn change(&self, py: Python<'_>, k: usize, change: impl FnOnce(&mut Law) + Send) -> PyResult<()> {
        self.tell(py, |w, id| {
            let mut law = w.joint(id)?.laws.get(k).cloned().unwrap_or_default();
            change(&mut law);
            w.set_law(id, k, law)
        })
    }
}

#[pymethods]
impl PyJoint {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        reduced(py, "_joint", &self.world, [self.id.slot, self.id.generation])
    }

    /// Its number.
    #[getter]
    fn index(&self) -> u32 {
        self.id.slot
    }

    /// Its kind.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.ask(py, |w, id| Ok(w.joint(id)?.kind.name()))
    }

    /// Its name.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.ask(py, |w, id| Ok(w.joint(id)?.name.clone()))
    }

    /// Whatever you leave with it: any object, None if there is none. Copies and pickles of the world have
    /// it, too.
    #[getter]
    fn user_data(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.ask(py, |w, id| w.joint(id).map(drop))?;
        Ok(self.world.get().objects.get(py, self.id))
    }

    #[setter]
    fn set_user_data(&self, py: Python<'_>, object: Py<PyAny>) -> PyResult<()> {
        self.ask(py, |w, id| w.joint(id).map(drop))?;
        self.world.get().objects.set(py, self.id, object);
        Ok(())
    }

    /// Its bodies; None is the world.
    #[getter]
    fn bodies(&self, py: Python<'_>) -> PyResult<(Option<Body>, Option<Body>)> {
        let ids = self.ask(py, |w, id| Ok(w.joint(id)?.bodies.map(|b| w.model().id(b))))?;
        let [a, b] = ids.map(|id| id.map(|id| Body { world: self.world.clone_ref(py), id }));
        Ok((a, b))
    }

    /// Where it is (origin of frame B), m.
    #[getter]
    fn position<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array3(py, self.ask(py, |w, id| w.joint_position(id))?))
    }

    /// The free coordinates, m or rad; angles count turns.
    #[getter]
    fn coordinates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.ask(py, |w, id| w.joint_coordinates(id))?))
    }

    /// Their rates, m/s or rad/s.
    #[getter]
    fn rates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.ask(py, |w, id| w.joint_rates(id))?))
    }

    /// Coefficients of (v_A, ω_A, v_B, ω_B) for each free coordinate, (n, 12).
    #[getter]
    fn jacobian<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.ask(py, |w, id| w.joint_jacobian(id))?;
        let n = rows.len();
        PyArray1::from_vec(py, rows.into_iter().flatten().collect()).reshape([n, 12])
    }

    /// Force on B through the joint in the last step, N, world axes: all of it, motors, limits, friction and
    /// springs included. A gets the opposite.
    #[getter]
    fn force<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array3(py, self.ask(py, |w, id| w.joint_reaction(id))?.force))
    }

    /// Torque on B through the joint in the last step, about `position`, N m, world axes: what holds B on its
    /// axes together with motors, limits, friction and springs. Along the axis of a hinge it is thus the
    /// motor's (and friction's, and so on); `motor_forces` has the motors alone.
    #[getter]
    fn torque<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(array3(py, self.ask(py, |w, id| w.joint_reaction(id))?.torque))
    }

    /// Force or torque of the motors along the free coordinates, N or N m.
    #[getter]
    fn motor_forces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (reaction, n) = self.ask(py, |w, id| Ok((w.joint_reaction(id)?, w.joint(id)?.laws.len())))?;
        Ok(PyArray1::from_slice(py, &reaction.motor[..n]))
    }

    /// Puts a motor on a free coordinate that imposes a speed (m/s, rad/s), a position (m, rad) or a force
    /// (N, N m), up to `limit` (N, N m).
    ///
    /// The limit is infinite if nothing is said: then a speed or a position is reached in one step, however
    /// far away, with the force that it takes and through what is not touched yet. Limits of the joint and
    /// what is touched hold all the same; who contradicts them is named by `StepReport.contradiction`. A real
    /// motor has a limit: within it a position is driven at no faster than it can brake.
    ///
    /// A command is a number, or a function of time as scene files have them:
    /// `{'sine': {'amplitude': 1, 'frequency': 2}}`.
    #[pyo3(signature = (*, speed=None, position=None, force=None, limit=f64::INFINITY, coordinate=0))]
    fn set_motor(
        &self,
        py: Python<'_>,
        speed: Option<&Bound<'_, PyAny>>,
        position: Option<&Bound<'_, PyAny>>,
        force: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number)] limit: f64,
        #[pyo3(from_py_with = count)] coordinate: usize,
    ) -> PyResult<()> {
        let of = |name: &str, f| function(f).map_err(|e| input(format!("{name}: {}", e.value(py))));
        let motor = match (speed, position, force) {
            (Some(f), None, None) => Motor::speed(of("speed", f)?),
            (None, Some(f), None) => Motor::position(of("position", f)?),
            (None, None, Some(f)) => Motor::force(of("force", f)?),
            _ => return Err(input("motor: give one of speed, position and force")),
        };
        self.tell(py, |w, id| w.set_motor(id, coordinate, Some(motor.limited(limit))))
    }

    /// Takes the motor away.
    #[pyo3(signature = (coordinate=0))]
    fn remove_motor(&self, py: Python<'_>, #[pyo3(from_py_with = count)] coordinate: usize) -> PyResult<()> {
        self.tell(py, |w, id| w.set_motor(id, coordinate, None))
    }

    /// Sets the ends of a free coordinate, m or rad, with a coefficient of restitution; without numbers there
    /// are none.
    #[pyo3(signature = (lower=f64::NEG_INFINITY, upper=f64::INFINITY, *, restitution=0.0, coordinate=0))]
    fn set_limits(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] lower: f64,
        #[pyo3(from_py_with = number)] upper: f64,
        #[pyo3(from_py_with = number)] restitution: f64,
        #[pyo3(from_py_with = count)] coordinate: usize,
    ) -> PyResult<()> {
        let none = lower == f64::NEG_INFINITY && upper == f64::INFINITY;
        let limits = (!none).then_some(Limits { lower, upper, restitution });
        self.tell(py, |w, id| w.set_limits(id, coordinate, limits))
    }

    /// Puts a spring (N/m, N m/rad) with a damper (N s/m, N m s/rad) on a free coordinate; `rest` in m or
    /// rad.
    #[pyo3(signature = (stiffness, damping=0.0, *, rest=0.0, coordinate=0))]
    fn set_spring(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] stiffness: f64,
        #[pyo3(from_py_with = number)] damping: f64,
        #[pyo3(from_py_with = number)] rest: f64,
        #[pyo3(from_py_with = count)] coordinate: usize,
    ) -> PyResult<()> {
        self.change(py, coordinate, |law| law.spring = Some(Spring { rest, stiffness, damping }))
    }

    /// Sets the dry friction along a free coordinate, N or N m.
    #[pyo3(signature = (friction, *, coordinate=0))]
    fn set_friction(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] friction: f64,
        #[pyo3(from_py_with = count)] coordinate: usize,
    ) -> PyResult<()> {
        self.change(py, coordinate, |law| law.friction = friction)
    }

    /// Takes it out of the world.
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, |w, id| w.remove_joint(id))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyJoint>().is_ok_and(|o| o.get().id == self.id && o.get().world.is(&self.world))
    }

    fn __hash__(&self) -> u64 {
        u64::from(self.id.slot) << 32 | u64::from(self.id.generation)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.ask(py, |w, id| Ok((w.model().describe_joint(id.slot), w.joint(id)?.kind.name()))) {
            Ok((name, kind)) => format!("<{name}, {kind}>"),
            Err(_) => format!("<joint {}, removed>", self.id.slot),
        }
    }
}
