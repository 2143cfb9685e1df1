//! A world. Everything goes through a lock that is never held while Python runs, so that threads may share one.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use drystone::{
    BodyDef, BodyId, Collider, Filter, Guide, MassProperties, Motion, PairLaw, Settings, State, StepReport,
    World,
};
use glam::{DMat3, DVec3};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::arrays;
use crate::body::Body;
use crate::convert::{Q4, V3, array3, function, pose, quat, vec3};
use crate::errors::{input, step as failed, world as refused};
use crate::joint::PyJoint;
use crate::report::PyReport;
use crate::settings;
use crate::shape::PyShape;

/// Steps are taken in one go for so long before somebody looks for Ctrl-C.
const WITHOUT_LOOKING: Duration = Duration::from_millis(50);

/// Bodies, joints, contacts and time.
///
/// Settings go by keyword, with the names and meanings of the command line: `step` (s), `gravity` (m/s²), `model` ("ccp" or "coulomb"), `solver`,
/// `tolerance` (m/s), `iterations`, `budget_ms`, `compliance`, `substeps`, `max_substeps`, `integrator`, `stabilisation`,
/// `position_iterations`, `envelope` (m), `broadphase`, `warm_start`, `sleep`; `seed` starts its random numbers.
#[pyclass(frozen, weakref, subclass, name = "World", module = "drystone")]
pub struct PyWorld {
    world: Mutex<World>,
    before: Mutex<Vec<Py<PyAny>>>,
    after: Mutex<Vec<Py<PyAny>>>,
}

/// A saved state of a world: see `World.save_state`.
#[pyclass(frozen, name = "State", module = "drystone")]
pub struct PyState(pub State);

#[pymethods]
impl PyState {
    /// Time, s.
    #[getter]
    fn time(&self) -> f64 {
        self.0.time
    }

    /// Steps done.
    #[getter]
    fn step(&self) -> u64 {
        self.0.step
    }

    /// Of time and motion, bit for bit.
    #[getter]
    fn hash(&self) -> String {
        format!("{:016x}", self.0.hash())
    }
}

pub fn motion(name: &str) -> PyResult<Motion> {
    match name {
        "dynamic" => Ok(Motion::Dynamic),
        "kinematic" => Ok(Motion::Kinematic),
        "static" => Ok(Motion::Static),
        _ => Err(input(format!("motion must be 'dynamic', 'kinematic' or 'static', got '{name}'"))),
    }
}

pub fn motion_name(m: Motion) -> &'static str {
    match m {
        Motion::Dynamic => "dynamic",
        Motion::Kinematic => "kinematic",
        Motion::Static => "static",
    }
}

impl PyWorld {
    pub fn of(world: World) -> Self {
        Self { world: Mutex::new(world), before: Mutex::default(), after: Mutex::default() }
    }

    /// The lock, for threads that do not hold the interpreter's.
    pub fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f` with the world. Who has to wait for it lets Python go on meanwhile.
    pub fn with<R: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut World) -> R + Send) -> R {
        match self.world.try_lock() {
            Ok(mut world) => f(&mut world),
            Err(TryLockError::Poisoned(world)) => f(&mut world.into_inner()),
            Err(TryLockError::WouldBlock) => py.detach(|| f(&mut self.lock())),
        }
    }

    fn call(slf: &Bound<'_, Self>, which: &Mutex<Vec<Py<PyAny>>>) -> PyResult<()> {
        let py = slf.py();
        let hooks: Vec<Py<PyAny>> =
            which.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|h| h.clone_ref(py)).collect();
        hooks.iter().try_for_each(|hook| hook.call1(py, (slf,)).map(drop))
    }

    fn has_hooks(&self) -> bool {
        let some =
            |hooks: &Mutex<Vec<Py<PyAny>>>| !hooks.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        some(&self.before) || some(&self.after)
    }

    /// Takes `n` steps; the last one's report. Hooks are called, and signals looked at.
    pub fn take_steps(
        slf: &Bound<'_, Self>,
        n: u64,
        mut each: impl FnMut(&World, &StepReport) + Send,
    ) -> PyResult<Option<StepReport>> {
        let (py, this) = (slf.py(), slf.get());
        let (mut left, mut last) = (n, None);
        while left > 0 {
            py.check_signals()?;
            let hooked = this.has_hooks();
            if hooked {
                Self::call(slf, &this.before)?;
            }
            let report = in_pool(py, || {
                let (begun, mut world) = (Instant::now(), this.lock());
                loop {
                    let report = world.step()?;
                    each(&world, &report);
                    left -= 1;
                    if left == 0 || hooked || begun.elapsed() > WITHOUT_LOOKING {
                        return Ok(report);
                    }
                }
            });
            last = Some(report.map_err(failed)?);
            if hooked {
                Self::call(slf, &this.after)?;
            }
        }
        Ok(last)
    }

    /// The id of a body that is this world's.
    fn own(slf: &Bound<'_, Self>, body: &Bound<'_, Body>) -> PyResult<BodyId> {
        let body = body.get();
        if body.world.is(slf) {
            Ok(body.id)
        } else {
            Err(input(format!("body {} belongs to another world", body.id.slot)))
        }
    }

    pub fn body(slf: &Bound<'_, Self>, id: BodyId) -> Body {
        Body { world: slf.clone().unbind(), id }
    }
}

/// Runs `f` without the interpreter, on a thread of the pool: this thread would be one more than there are cores.
pub fn in_pool<R: Send>(py: Python<'_>, f: impl FnOnce() -> R + Send) -> R {
    py.detach(|| rayon::scope(|_| f()))
}

/// Mass, centre of mass and inertia from what was said: moments (3), a tensor (3, 3), or those of the shapes.
pub fn mass_properties(
    shapes: &[Collider],
    mass: Option<f64>,
    density: Option<f64>,
    centre: Option<V3>,
    inertia: Option<&Bound<'_, PyAny>>,
) -> PyResult<MassProperties> {
    let solid: Vec<&Collider> = shapes.iter().filter(|c| !c.sensor).collect();
    let volume: f64 = solid.iter().map(|c| c.shape.volume()).sum();
    let mass = match (mass, density) {
        (Some(_), Some(_)) => return Err(input("mass and density: give one of the two")),
        (Some(mass), None) => mass,
        (None, Some(density)) => density * volume,
        (None, None) => 1.0,
    };
    let mut properties = MassProperties::principal(mass, DVec3::ONE);
    if let Some(inertia) = inertia {
        properties.inertia = match inertia.extract::<V3>() {
            Ok(moments) => DMat3::from_diagonal(vec3(moments)),
            Err(_) => {
                let rows: [V3; 3] = inertia.extract().map_err(|_| {
                    input("inertia must be three principal moments or a (3, 3) tensor, kg m²")
                })?;
                DMat3::from_cols_array_2d(&rows).transpose()
            }
        };
        properties.centre = centre.map_or(DVec3::ZERO, vec3);
        return Ok(properties);
    }
    if solid.is_empty() {
        return Err(input(
            "inertia: a body without solid shapes needs one (three moments or a (3, 3) tensor, kg m²)",
        ));
    }
    // Each with its share of the mass, about the common centre.
    let parts: Vec<(f64, DVec3, DMat3)> = solid
        .iter()
        .map(|c| {
            let share = if solid.len() == 1 { mass } else { mass * c.shape.volume() / volume };
            let turn = DMat3::from_quat(c.local.rotation);
            (share, c.local.point(c.shape.centroid()), turn * c.shape.inertia(share) * turn.transpose())
        })
        .collect();
    let middle: DVec3 = parts.iter().map(|(m, x, _)| *m * *x).sum::<DVec3>() / mass;
    let centre = centre.map_or(middle, vec3);
    properties.centre = centre;
    properties.inertia = parts.iter().fold(DMat3::ZERO, |sum, (m, x, i)| {
        let r = *x - centre;
        let outer = DMat3::from_cols(r * r.x, r * r.y, r * r.z);
        sum + *i + (DMat3::IDENTITY * r.length_squared() - outer) * *m
    });
    Ok(properties)
}

#[pymethods]
impl PyWorld {
    #[new]
    #[pyo3(signature = (*, seed=1, **settings))]
    fn new(seed: u64, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut s = Settings::default();
        settings::apply(&mut s, settings)?;
        Ok(Self::of(World::with_seed(s, seed).map_err(refused)?))
    }

    /// How it steps, as keywords.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let s = self.with(py, |w| w.settings().clone());
        settings::told(py, &s)
    }

    /// Changes how it steps, from the next step on: keywords of the constructor.
    #[pyo3(signature = (**settings))]
    fn configure(&self, py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let mut s = self.with(py, |w| w.settings().clone());
        settings::apply(&mut s, settings)?;
        self.with(py, |w| w.set_settings(s)).map_err(refused)
    }

    /// Time, s.
    #[getter]
    fn time(&self, py: Python<'_>) -> f64 {
        self.with(py, |w| w.state().time)
    }

    /// Steps done.
    #[getter]
    fn steps(&self, py: Python<'_>) -> u64 {
        self.with(py, |w| w.state().step)
    }

    /// A hash of time and motion, bit for bit.
    #[getter]
    fn state_hash(&self, py: Python<'_>) -> String {
        format!("{:016x}", self.with(py, |w| w.state().hash()))
    }

    /// Adds a body of a shape, or of several colliders.
    ///
    /// `mass` (kg) or `density` (kg/m³); inertia and centre of mass are those of a homogeneous body unless given. `position` (m) and `rotation` (w, x, y, z) are of the body's frame, `velocity` (m/s) of its centre of mass, `angular_velocity` (rad/s) in world axes. `friction`, `material`, `layers`, `mask` and `surface_velocity` (m/s) are those of `shape`. Bodies of one `group` other than 0 do not collide; `planar` is the normal of a plane that it is locked to.
    ///
    /// >>> import drystone as ds
    /// >>> world = ds.World()
    /// >>> brick = world.add_body(ds.box([0.1, 0.05, 0.04]), density=2000, position=[0, 0, 1])
    /// >>> round(brick.mass, 3)
    /// 3.2
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (shape=None, *, colliders=None, mass=None, density=None, inertia=None, centre=None,
        position=[0.0; 3], rotation=[1.0, 0.0, 0.0, 0.0], velocity=[0.0; 3], angular_velocity=[0.0; 3],
        friction=0.0, material=None, motion="dynamic", group=0, layers=1, mask=u32::MAX, planar=None, name=None,
        surface_velocity=None, charge=0.0))]
    fn add_body(
        slf: &Bound<'_, Self>,
        shape: Option<PyShape>,
        colliders: Option<Vec<PyRef<'_, PyCollider>>>,
        mass: Option<f64>,
        density: Option<f64>,
        inertia: Option<&Bound<'_, PyAny>>,
        centre: Option<V3>,
        position: V3,
        rotation: Q4,
        velocity: V3,
        angular_velocity: V3,
        friction: f64,
        material: Option<&str>,
        motion: &str,
        group: u32,
        layers: u32,
        mask: u32,
        planar: Option<V3>,
        name: Option<String>,
        surface_velocity: Option<V3>,
        charge: f64,
    ) -> PyResult<Body> {
        let (py, this) = (slf.py(), slf.get());
        let motion = self::motion(motion)?;
        let mut all: Vec<Collider> = Vec::new();
        if let Some(shape) = shape {
            all.push(Collider::new(shape.0, friction));
        }
        for c in colliders.unwrap_or_default() {
            all.push(c.collider.clone());
            if let Some(material) = &c.material {
                let id = this.with(py, |w| w.materials_mut().add(material)).map_err(input)?;
                all.last_mut().into_iter().for_each(|c| c.material = Some(id));
            }
        }
        let own = material.map(|m| this.with(py, |w| w.materials_mut().add(m))).transpose().map_err(input)?;
        if let Some(first) = all.first_mut().filter(|_| own.is_some() || layers != 1 || mask != u32::MAX) {
            (first.material, first.filter) = (own.or(first.material), Filter { layers, mask });
        }
        if let (Some(v), Some(first)) = (surface_velocity, all.first_mut()) {
            first.surface_velocity = vec3(v);
        }
        for c in &all {
            c.check(motion).map_err(input)?;
        }
        let properties = match motion {
            Motion::Dynamic => mass_properties(&all, mass, density, centre, inertia)?,
            _ => mass_properties(&all, mass, density, centre, inertia)
                .ok()
                .filter(|m| m.check().is_ok())
                .unwrap_or(MassProperties::principal(1.0, DVec3::ONE)),
        };
        let def = BodyDef {
            name,
            motion,
            mass: properties,
            position: vec3(position),
            rotation: quat(rotation),
            velocity: vec3(velocity),
            angular_velocity: vec3(angular_velocity),
            colliders: all,
            group,
            planar: planar.map(vec3),
            charge,
            ..BodyDef::bare(properties)
        };
        let id = this.with(py, |w| w.add_body(def)).map_err(refused)?;
        Ok(Self::body(slf, id))
    }

    /// Adds a body of one shape at each of these positions (n, 3), m; returns their rows in the arrays.
    #[pyo3(signature = (shape, positions, *, mass=None, density=None, rotations=None, velocities=None, friction=0.0,
        motion="dynamic", group=0))]
    fn add_bodies<'py>(
        &self,
        py: Python<'py>,
        shape: PyShape,
        positions: arrays::In<'py>,
        mass: Option<f64>,
        density: Option<f64>,
        rotations: Option<arrays::In<'py>>,
        velocities: Option<arrays::In<'py>>,
        friction: f64,
        motion: &str,
        group: u32,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let motion = self::motion(motion)?;
        let collider = Collider::new(shape.0, friction);
        collider.check(motion).map_err(input)?;
        let own = [collider];
        let properties = match motion {
            Motion::Dynamic => mass_properties(&own, mass, density, None, None)?,
            _ => MassProperties::principal(1.0, DVec3::ONE),
        };
        let x = arrays::rows3("positions", &positions, None)?;
        let q = rotations.as_ref().map(|q| arrays::rows4("rotations", q, Some(x.len()))).transpose()?;
        let v = velocities.as_ref().map(|v| arrays::rows3("velocities", v, Some(x.len()))).transpose()?;
        let slots = self.with(py, |w| {
            w.reserve(x.len());
            let mut slots = Vec::with_capacity(x.len());
            for k in 0..x.len() {
                let [collider] = own.clone();
                let mut def = BodyDef { motion, group, ..BodyDef::bare(properties).at(x[k]) };
                def.colliders.push(collider);
                if let Some(q) = &q {
                    def.rotation = q[k];
                }
                if let Some(v) = &v {
                    def.velocity = v[k];
                }
                let id = w.add_body(def).map_err(|e| input(format!("row {k}: {e}")));
                match id {
                    Ok(id) => slots.push(id.slot),
                    Err(e) => return Err(e),
                }
            }
            Ok(slots)
        })?;
        Ok(PyArray1::from_vec(py, slots))
    }

    /// All bodies, in the order of their rows.
    #[getter]
    fn bodies<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let ids: Vec<BodyId> =
            slf.get().with(slf.py(), |w| w.model().slots().filter_map(|i| w.model().id(i as u32)).collect());
        PyList::new(slf.py(), ids.into_iter().map(|id| Self::body(slf, id)))
    }

    /// How many bodies there are.
    #[getter]
    fn body_count(&self, py: Python<'_>) -> usize {
        self.with(py, |w| w.model().bodies.len() - w.model().empty_slots().len())
    }

    fn __getitem__(slf: &Bound<'_, Self>, which: &Bound<'_, PyAny>) -> PyResult<Body> {
        let py = slf.py();
        let found = if let Ok(name) = which.extract::<String>() {
            let named = |w: &mut World| {
                let at = w.model().bodies.iter().position(|b| b.alive && b.name.as_deref() == Some(&name))?;
                w.model().id(at as u32)
            };
            slf.get().with(py, named)
        } else {
            let row: u32 = which.extract()?;
            slf.get().with(py, |w| w.model().id(row))
        };
        match found {
            Some(id) => Ok(Self::body(slf, id)),
            None => Err(pyo3::exceptions::PyKeyError::new_err(format!("there is no body {which}"))),
        }
    }

    /// Takes a body out, with its joints.
    fn remove(slf: &Bound<'_, Self>, body: &Bound<'_, Body>) -> PyResult<()> {
        let id = Self::own(slf, body)?;
        slf.get().with(slf.py(), |w| w.remove_body(id)).map_err(refused)
    }

    /// Lets two bodies collide, or keeps them from it.
    #[pyo3(signature = (a, b, collide))]
    fn set_collides(
        slf: &Bound<'_, Self>,
        a: &Bound<'_, Body>,
        b: &Bound<'_, Body>,
        collide: bool,
    ) -> PyResult<()> {
        let (a, b) = (Self::own(slf, a)?, Self::own(slf, b)?);
        slf.get().with(slf.py(), |w| w.set_collides(a, b, collide)).map_err(refused)
    }

    /// Lets a kinematic body follow functions of time: (direction, way in m) and (axis, angle in rad). Without any it goes on by its own velocity.
    #[pyo3(signature = (body, *, along=None, about=None))]
    fn set_guide(
        slf: &Bound<'_, Self>,
        body: &Bound<'_, Body>,
        along: Option<(V3, Bound<'_, PyAny>)>,
        about: Option<(V3, Bound<'_, PyAny>)>,
    ) -> PyResult<()> {
        let mut guide = Guide::default();
        if let Some((direction, f)) = &along {
            guide.along.push((vec3(*direction), function(f)?));
        }
        if let Some((axis, f)) = &about {
            guide.about = Some((vec3(*axis), function(f)?));
        }
        let guide = (along.is_some() || about.is_some()).then_some(guide);
        let id = Self::own(slf, body)?;
        slf.get().with(slf.py(), |w| w.set_guide(id, guide)).map_err(refused)
    }

    /// Says what happens between two materials: friction, restitution, rolling and spinning resistance (arms, m), cohesion (N), stiffness (N/m) and damping (N s/m).
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (a, b, *, friction, kinetic_friction=None, restitution=0.0, rolling=0.0, spinning=0.0, cohesion=0.0,
        stiffness=None, damping=0.0))]
    fn set_pair(
        &self,
        py: Python<'_>,
        a: &str,
        b: &str,
        friction: f64,
        kinetic_friction: Option<f64>,
        restitution: f64,
        rolling: f64,
        spinning: f64,
        cohesion: f64,
        stiffness: Option<f64>,
        damping: f64,
    ) -> PyResult<()> {
        let law = PairLaw {
            mu: friction,
            mu_kinetic: kinetic_friction,
            restitution,
            rolling,
            spinning,
            cohesion,
            stiffness,
            damping,
            ..PairLaw::default()
        };
        self.with(py, |w| {
            let materials = w.materials_mut();
            let (a, b) = (materials.add(a)?, materials.add(b)?);
            materials.set_pair(a, b, law)
        })
        .map_err(input)
    }

    /// Names of the materials.
    #[getter]
    fn materials(&self, py: Python<'_>) -> Vec<String> {
        self.with(py, |w| w.materials().names().to_vec())
    }

    /// Takes `n` steps and returns the last one's report. Python goes on in other threads meanwhile, hooks are called, Ctrl-C works.
    ///
    /// >>> import drystone as ds
    /// >>> world = ds.World(gravity=[0, 0, 0])
    /// >>> world.step(3).step
    /// 3
    #[pyo3(signature = (n=1))]
    fn step(slf: &Bound<'_, Self>, n: u64) -> PyResult<PyReport> {
        let last = Self::take_steps(slf, n, |_, _| ())?;
        last.map(PyReport).ok_or_else(|| input("n must be at least 1, got 0"))
    }

    /// Calls `hook(world)` before every step; returns it, so that it can decorate.
    fn before_step(&self, hook: Py<PyAny>) -> Py<PyAny> {
        let mut hooks = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        hooks.push(hook);
        Python::attach(|py| hooks[hooks.len() - 1].clone_ref(py))
    }

    /// Calls `hook(world)` after every step; returns it, so that it can decorate.
    fn after_step(&self, hook: Py<PyAny>) -> Py<PyAny> {
        let mut hooks = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        hooks.push(hook);
        Python::attach(|py| hooks[hooks.len() - 1].clone_ref(py))
    }

    /// Forgets all hooks.
    fn clear_hooks(&self) {
        self.before.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.after.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The complete state: restored, the run goes on bit for bit.
    fn save_state(&self, py: Python<'_>) -> PyState {
        PyState(self.with(py, |w| w.state().clone()))
    }

    /// Goes back to a saved state of these same bodies.
    fn restore(&self, py: Python<'_>, state: PyRef<'_, PyState>) -> PyResult<()> {
        let state = state.0.clone();
        self.with(py, |w| w.restore(state)).map_err(refused)
    }

    /// Moves a mechanism to a nearby state of rest.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.lock().settle().map(drop)).map_err(refused)
    }

    /// Makes positions and velocities fit the joints; the first step does this by itself.
    fn assemble(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.lock().assemble_joints()).map_err(refused)
    }

    /// Kinetic and potential energy of the dynamic bodies, J.
    #[getter]
    fn energy(&self, py: Python<'_>) -> (f64, f64) {
        let e = self.with(py, |w| w.energy());
        (e.kinetic, e.potential)
    }

    /// Mass of the dynamic bodies, kg.
    #[getter]
    fn total_mass(&self, py: Python<'_>) -> f64 {
        self.with(py, |w| w.total_mass())
    }

    /// Deepest and mean overlap now, m.
    fn penetration(&self, py: Python<'_>) -> (f64, f64) {
        let p = py.detach(|| self.lock().penetration());
        (p.max, p.mean)
    }

    /// How many bodies sleep.
    #[getter]
    fn asleep(&self, py: Python<'_>) -> usize {
        self.with(py, |w| w.asleep())
    }

    /// Wakes everything.
    fn wake_all(&self, py: Python<'_>) {
        self.with(py, |w| w.wake_all());
    }

    /// Forgets forces applied since the last step.
    fn clear_forces(&self, py: Python<'_>) {
        self.with(py, |w| w.clear_forces());
    }

    // Arrays.

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

    /// Origins of the bodies' frames, (n, 3), m: a copy. Row i is `world[i]`; rows of removed bodies are NaN.
    #[getter]
    fn positions<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::read(slf, arrays::Column::Position, None)
    }

    #[setter]
    fn set_positions(&self, py: Python<'_>, rows: arrays::In<'_>) -> PyResult<()> {
        arrays::write(self, py, [Some(&rows), None, None, None])
    }

    /// Orientations (n, 4), (w, x, y, z): a copy.
    #[getter]
    fn rotations<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::read(slf, arrays::Column::Rotation, None)
    }

    #[setter]
    fn set_rotations(&self, py: Python<'_>, rows: arrays::In<'_>) -> PyResult<()> {
        arrays::write(self, py, [None, Some(&rows), None, None])
    }

    /// Velocities of the centres of mass, (n, 3), m/s: a copy.
    #[getter]
    fn velocities<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::read(slf, arrays::Column::Velocity, None)
    }

    #[setter]
    fn set_velocities(&self, py: Python<'_>, rows: arrays::In<'_>) -> PyResult<()> {
        arrays::write(self, py, [None, None, Some(&rows), None])
    }

    /// Angular velocities in world axes, (n, 3), rad/s: a copy.
    #[getter]
    fn angular_velocities<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::read(slf, arrays::Column::AngularVelocity, None)
    }

    #[setter]
    fn set_angular_velocities(&self, py: Python<'_>, rows: arrays::In<'_>) -> PyResult<()> {
        arrays::write(self, py, [None, None, None, Some(&rows)])
    }

    /// One of positions, rotations, velocities, angular_velocities, into `out` where it is given: no memory is taken then.
    #[pyo3(signature = (what, out=None))]
    fn read<'py>(
        slf: &Bound<'py, Self>,
        what: &str,
        out: Option<Bound<'py, PyArray2<f64>>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::read(slf, arrays::Column::parse(what)?, out)
    }

    /// Sets states of all bodies at once; what is not given stays. Contacts begin anew where positions or rotations are set.
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

    // Joints.

    /// Joins two bodies (None is the world): fixed, revolute, prismatic, cylindrical, ball, universal, planar, point_on_line, point_on_plane, distance, rope, spring, screw, gear, rack_and_pinion.
    ///
    /// `position` (m) and `axis` are in the world as the bodies are now. universal takes `axis_b`; distance, rope and spring go to `position_b` and have a `length` (m; as now if not given), a spring `stiffness` (N/m) and `damping` (N s/m); screw a `pitch` (m a turn); gear a `ratio`; rack_and_pinion `axis_b` and `radius` (m). `compliance` is in m/N and rad/(N m).
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
    #[pyo3(signature = (kind, a, b, *, position=[0.0; 3], axis=[0.0, 0.0, 1.0], rotation=None, axis_b=None, position_b=None,
        length=None, stiffness=0.0, damping=0.0, pitch=None, ratio=1.0, radius=None, collide=false, compliance=[0.0; 2], name=None))]
    fn add_joint(
        slf: &Bound<'_, Self>,
        kind: &str,
        a: Option<&Bound<'_, Body>>,
        b: Option<&Bound<'_, Body>>,
        position: V3,
        axis: V3,
        rotation: Option<Q4>,
        axis_b: Option<V3>,
        position_b: Option<V3>,
        length: Option<f64>,
        stiffness: f64,
        damping: f64,
        pitch: Option<f64>,
        ratio: f64,
        radius: Option<f64>,
        collide: bool,
        compliance: [f64; 2],
        name: Option<String>,
    ) -> PyResult<PyJoint> {
        let what = crate::joint::Asked {
            kind,
            position,
            axis,
            rotation,
            axis_b,
            position_b,
            length,
            stiffness,
            damping,
            pitch,
            ratio,
            radius,
        };
        let own = |b: Option<&Bound<'_, Body>>| b.map(|b| Self::own(slf, b)).transpose();
        let mut def = what.def(own(a)?, own(b)?)?;
        (def.collide, def.compliance, def.name) = (collide, compliance, name);
        let id = slf.get().with(slf.py(), |w| w.add_joint(def)).map_err(refused)?;
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
    fn joint(slf: &Bound<'_, Self>, name: &str) -> PyResult<PyJoint> {
        let found = slf.get().with(slf.py(), |w| {
            w.joints().find(|id| w.joint(*id).is_ok_and(|j| j.name.as_deref() == Some(name)))
        });
        match found {
            Some(id) => Ok(PyJoint { world: slf.clone().unbind(), id }),
            None => Err(pyo3::exceptions::PyKeyError::new_err(format!("there is no joint '{name}'"))),
        }
    }

    /// How far the joints are off: m and m/s.
    #[getter]
    fn joint_error(&self, py: Python<'_>) -> (f64, f64) {
        let e = self.with(py, |w| w.joint_error());
        (e.position, e.velocity)
    }

    // Questions.

    /// The first body that a ray hits within `max_distance` (m); None if there is none. Only bodies of this motion, of shapes that would collide with these layers and mask, none of `exclude`, and no sensors unless asked for.
    ///
    /// >>> import drystone as ds
    /// >>> world = ds.World()
    /// >>> ball = world.add_body(ds.sphere(0.5), mass=1.0)
    /// >>> world.ray([0, 0, 3], [0, 0, -1]).distance
    /// 2.5
    #[pyo3(signature = (origin, direction, max_distance=f64::INFINITY, *, layers=None, mask=None, motion=None, exclude=None, sensors=false))]
    fn ray<'py>(
        slf: &Bound<'py, Self>,
        origin: V3,
        direction: V3,
        max_distance: f64,
        layers: Option<u32>,
        mask: Option<u32>,
        motion: Option<&str>,
        exclude: Option<Vec<PyRef<'py, Body>>>,
        sensors: bool,
    ) -> PyResult<Option<crate::query::Hit>> {
        let asked = crate::query::Asked::new(layers, mask, motion, exclude, sensors)?;
        let found = asked.with(slf, |w, f| w.ray_first(vec3(origin), vec3(direction), max_distance, f));
        Ok(found.map(|f| crate::query::Hit::ray(slf, &f)))
    }

    /// All bodies that a ray hits, the nearest first.
    #[pyo3(signature = (origin, direction, max_distance=f64::INFINITY, *, layers=None, mask=None, motion=None, exclude=None, sensors=false))]
    fn ray_all<'py>(
        slf: &Bound<'py, Self>,
        origin: V3,
        direction: V3,
        max_distance: f64,
        layers: Option<u32>,
        mask: Option<u32>,
        motion: Option<&str>,
        exclude: Option<Vec<PyRef<'py, Body>>>,
        sensors: bool,
    ) -> PyResult<Vec<crate::query::Hit>> {
        let asked = crate::query::Asked::new(layers, mask, motion, exclude, sensors)?;
        let found = asked.with(slf, |w, f| w.ray_all(vec3(origin), vec3(direction), max_distance, f));
        Ok(found.iter().map(|f| crate::query::Hit::ray(slf, f)).collect())
    }

    /// The first body that a shape touches on its straight way from a pose along `direction`, by at most `max_distance` (m).
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (shape, direction, max_distance=f64::INFINITY, *, position=None, rotation=None, layers=None, mask=None, motion=None,
        exclude=None, sensors=false))]
    fn cast_shape<'py>(
        slf: &Bound<'py, Self>,
        shape: PyShape,
        direction: V3,
        max_distance: f64,
        position: Option<V3>,
        rotation: Option<Q4>,
        layers: Option<u32>,
        mask: Option<u32>,
        motion: Option<&str>,
        exclude: Option<Vec<PyRef<'py, Body>>>,
        sensors: bool,
    ) -> PyResult<Option<crate::query::Hit>> {
        let asked = crate::query::Asked::new(layers, mask, motion, exclude, sensors)?;
        let at = pose(position, rotation);
        let found = asked.with(slf, |w, f| w.cast_shape(&shape.0, &at, vec3(direction), max_distance, f));
        Ok(found.map(|f| crate::query::Hit::cast(slf, &f)))
    }

    /// All bodies that share a point with a shape at a pose.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (shape, *, position=None, rotation=None, layers=None, mask=None, motion=None, exclude=None, sensors=false))]
    fn overlap<'py>(
        slf: &Bound<'py, Self>,
        shape: PyShape,
        position: Option<V3>,
        rotation: Option<Q4>,
        layers: Option<u32>,
        mask: Option<u32>,
        motion: Option<&str>,
        exclude: Option<Vec<PyRef<'py, Body>>>,
        sensors: bool,
    ) -> PyResult<Vec<Body>> {
        let asked = crate::query::Asked::new(layers, mask, motion, exclude, sensors)?;
        let at = pose(position, rotation);
        let found = asked.with(slf, |w, f| w.overlapping(&shape.0, &at, f));
        let mut bodies: Vec<BodyId> = found.into_iter().map(|f| f.0).collect();
        bodies.sort_unstable();
        bodies.dedup();
        Ok(bodies.into_iter().map(|id| Self::body(slf, id)).collect())
    }

    /// The body nearest to a shape at a pose, with the closest point on it.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (shape, max_distance=f64::INFINITY, *, position=None, rotation=None, layers=None, mask=None, motion=None, exclude=None,
        sensors=false))]
    fn closest<'py>(
        slf: &Bound<'py, Self>,
        shape: PyShape,
        max_distance: f64,
        position: Option<V3>,
        rotation: Option<Q4>,
        layers: Option<u32>,
        mask: Option<u32>,
        motion: Option<&str>,
        exclude: Option<Vec<PyRef<'py, Body>>>,
        sensors: bool,
    ) -> PyResult<Option<crate::query::Hit>> {
        let asked = crate::query::Asked::new(layers, mask, motion, exclude, sensors)?;
        let at = pose(position, rotation);
        let found = asked.with(slf, |w, f| w.closest(&shape.0, &at, max_distance, f));
        Ok(found.map(|f| crate::query::Hit::closest(slf, &f)))
    }

    /// The nearest point of a body's surface; inside, the distance is negative (m).
    #[pyo3(signature = (point, max_distance=f64::INFINITY, *, layers=None, mask=None, motion=None, exclude=None, sensors=false))]
    fn project<'py>(
        slf: &Bound<'py, Self>,
        point: V3,
        max_distance: f64,
        layers: Option<u32>,
        mask: Option<u32>,
        motion: Option<&str>,
        exclude: Option<Vec<PyRef<'py, Body>>>,
        sensors: bool,
    ) -> PyResult<Option<crate::query::Hit>> {
        let asked = crate::query::Asked::new(layers, mask, motion, exclude, sensors)?;
        let found = asked.with(slf, |w, f| w.project_point(vec3(point), max_distance, f));
        Ok(found.map(|f| crate::query::Hit::projection(slf, &f)))
    }

    /// Signed distance of two bodies, m.
    fn distance(slf: &Bound<'_, Self>, a: &Bound<'_, Body>, b: &Bound<'_, Body>) -> PyResult<f64> {
        let (a, b) = (Self::own(slf, a)?, Self::own(slf, b)?);
        slf.get().with(slf.py(), |w| w.distance(a, b)).map_err(refused)
    }

    /// Signed distance of two bodies (m) and the closest points of the first and the second.
    fn closest_points<'py>(
        slf: &Bound<'py, Self>,
        a: &Bound<'py, Body>,
        b: &Bound<'py, Body>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (py, a, b) = (slf.py(), Self::own(slf, a)?, Self::own(slf, b)?);
        let found = slf.get().with(py, |w| w.closest_points(a, b)).map_err(refused)?;
        found.map(|p| (p.distance, array3(py, p.on_a), array3(py, p.on_b)).into_pyobject(py)).transpose()
    }

    // Events.

    /// Notes from now on what begins, goes on and ends in every step.
    #[pyo3(signature = (on=true))]
    fn record_events(&self, py: Python<'_>, on: bool) {
        self.with(py, |w| w.record_events(on));
    }

    /// Keeps velocities from before every step, for accelerations.
    #[pyo3(signature = (on=true))]
    fn record_accelerations(&self, py: Python<'_>, on: bool) {
        self.with(py, |w| w.record_accelerations(on));
    }

    /// What touched in the last step, began to, or ceased to.
    #[getter]
    fn contact_events(slf: &Bound<'_, Self>) -> Vec<crate::events::ContactEvent> {
        let told = slf.get().with(slf.py(), |w| w.contact_events().to_vec());
        told.into_iter().map(|e| crate::events::ContactEvent::of(slf, e)).collect()
    }

    /// What is in sensors, came in, or left.
    #[getter]
    fn sensor_events(slf: &Bound<'_, Self>) -> Vec<crate::events::SensorEvent> {
        let told = slf.get().with(slf.py(), |w| w.sensor_events().to_vec());
        told.into_iter().map(|e| crate::events::SensorEvent::of(slf, e)).collect()
    }

    /// Which joints were at their limits, came there, or left.
    #[getter]
    fn joint_events(slf: &Bound<'_, Self>) -> Vec<crate::events::JointEvent> {
        let told = slf.get().with(slf.py(), |w| w.joint_events().to_vec());
        told.into_iter().map(|e| crate::events::JointEvent::of(slf, e)).collect()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (time, bodies, joints) = self.with(py, |w| {
            (w.state().time, w.model().bodies.len() - w.model().empty_slots().len(), w.joints().count())
        });
        format!("<World at {time:.6} s: {bodies} bodies, {joints} joints>")
    }
}

/// A shape fixed to a body: its place (m) and rotation in the body's frame, friction, material, layers and mask. A sensor reports what overlaps it
/// and pushes nothing.
#[pyclass(frozen, name = "Collider", module = "drystone")]
pub struct PyCollider {
    pub collider: Collider,
    pub material: Option<String>,
}

#[pymethods]
impl PyCollider {
    #[allow(clippy::too_many_arguments)]
    #[new]
    #[pyo3(signature = (shape, *, position=None, rotation=None, friction=0.0, material=None, layers=1, mask=u32::MAX, sensor=false))]
    fn new(
        shape: PyShape,
        position: Option<V3>,
        rotation: Option<Q4>,
        friction: f64,
        material: Option<String>,
        layers: u32,
        mask: u32,
        sensor: bool,
    ) -> Self {
        let filter = Filter { layers, mask };
        let collider =
            Collider { filter, sensor, ..Collider::new(shape.0, friction).at(pose(position, rotation)) };
        Self { collider, material }
    }
}
