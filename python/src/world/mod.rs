//! A world. Everything goes through a lock that is never held while Python runs, so that threads may share
//! one.

mod bodies;
pub mod debug;
mod events;
mod hooks;
mod joints;
mod motion;
mod queries;
pub mod record;
pub mod saved;
mod turns;
mod user_data;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use drystone::{BodyId, Settings, State, StepReport, World};
use drystone_cuda::backend::Backend;
use drystone_record::recording::Writer;
use drystone_record::report::{apart, contradiction};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

pub use bodies::{mass_properties, material, motion, motion_name};
use events::Past;
use hooks::Hooks;
use turns::Turns;
use user_data::Objects;

use crate::body::Body;
use crate::convert::{Times, Whole, shown, text};
use crate::errors::{argument, failed_with, input, spelled, step as failed, warn, world as refused};
use crate::lend::Inside;
use crate::report::PyReport;
use crate::settings;
use crate::threads::{detached, with_threads};

/// Steps are taken in one go for so long before somebody looks for Ctrl-C.
const WITHOUT_LOOKING: Duration = Duration::from_millis(50);

/// Bodies, joints, contacts and time.
///
/// Settings go by keyword, with the names and meanings of the command line: `step` (s), `gravity` (m/s²),
/// `model` ("ccp" or "coulomb"), `solver`, `tolerance` (m/s), `iterations`, `budget_ms`, `compliance`,
/// `substeps`, `max_substeps`, `integrator`, `stabilisation`, `position_iterations`, `envelope` (m),
/// `broadphase`, `warm_start`, `sleep`; `seed` starts its random numbers. `backend="cuda"` takes steps on a
/// GPU: whole ones where the world is one of balls among fixed or led shapes, else the solve alone. The
/// world is sent there and comes back with each call of `step(n)`.
#[pyclass(frozen, weakref, subclass, name = "World", module = "drystone")]
pub struct PyWorld {
    world: Mutex<Inside>,
    before: Hooks,
    after: Hooks,
    /// What was left with bodies and joints.
    pub objects: Objects,
    /// Who writes its steps down.
    record: Mutex<Option<Writer>>,
    /// Events of the steps before the last.
    past: Mutex<Past>,
    /// Whose turn it is to take steps.
    turns: Turns,
    /// Whether accelerations are asked for.
    accelerations: AtomicBool,
    /// Where it takes its steps, if that is a device.
    backend: Mutex<Backend>,
    /// Whether it was told that something contradicts itself, and that a joint is apart.
    told: [AtomicBool; 2],
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

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let bytes = detached(py, || self.0.save()).map_err(input)?;
        let make = py.import("drystone._drystone")?.getattr("_state")?;
        (make, (PyBytes::new(py, &bytes),)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!("<State at {:.6} s: step {}, {} bodies>", self.0.time, self.0.step, self.0.position.len())
    }
}

/// The state of a pickle.
#[pyfunction]
pub fn _state(bytes: &[u8]) -> PyResult<PyState> {
    State::load(bytes).map(PyState).map_err(input)
}

impl PyWorld {
    pub fn of(world: World) -> Self {
        Self {
            world: Mutex::new(Inside::new(world)),
            before: Hooks::default(),
            after: Hooks::default(),
            objects: Objects::default(),
            record: Mutex::new(None),
            past: Mutex::default(),
            turns: Turns::default(),
            accelerations: AtomicBool::new(false),
            backend: Mutex::default(),
            told: Default::default(),
        }
    }

    /// The lock, for threads that do not hold the interpreter's.
    pub fn lock(&self) -> MutexGuard<'_, Inside> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f` with the world behind its lock. Who has to wait for it lets Python go on meanwhile.
    pub fn locked<R: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut Inside) -> R + Send) -> R {
        let ask = |mut world: MutexGuard<'_, Inside>| {
            let world: &mut Inside = &mut world;
            with_threads(|| f(world))
        };
        match self.world.try_lock() {
            Ok(world) => ask(world),
            Err(TryLockError::Poisoned(world)) => ask(world.into_inner()),
            Err(TryLockError::WouldBlock) => py.detach(|| ask(self.lock())),
        }
    }

    /// The same without the interpreter, for what takes long. The lock comes before the threads of the pool:
    /// one of them that waited for it would be missing to who has it, and both would wait for ever.
    pub fn at_length<R: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut Inside) -> R + Send) -> R {
        py.detach(|| {
            let mut world = self.lock();
            let world: &mut Inside = &mut world;
            with_threads(|| f(world))
        })
    }

    /// Calls `f` with the world, to look at it.
    pub fn with<R: Send>(&self, py: Python<'_>, f: impl FnOnce(&World) -> R + Send) -> R {
        self.locked(py, |world| f(world))
    }

    /// Calls `f` with the world, to change it.
    pub fn change<R: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut World) -> R + Send) -> R {
        self.locked(py, |world| f(world))
    }

    /// Whether something is to be called or written down at every step.
    pub fn is_watched(&self) -> bool {
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        self.before.any() || self.after.any() || record.is_some()
    }

    /// Takes `n` steps, or fewer if `each` says so by false; the last one's report. Hooks are called, and
    /// signals looked at.
    pub fn take_steps(
        slf: &Bound<'_, Self>,
        n: u64,
        each: impl FnMut(&World, &StepReport) -> bool + Send,
    ) -> PyResult<Option<StepReport>> {
        let this = slf.get();
        let _turn = this.turns.take(slf.py())?;
        if this.on_device() && !this.is_watched() {
            return Self::take_steps_there(slf, n, each);
        }
        Self::take_own_steps(slf, n, |world| world.step().map_err(failed), each)
    }

    /// The same on a device, from where the world is back at the end, however that is.
    fn take_steps_there(
        slf: &Bound<'_, Self>,
        n: u64,
        each: impl FnMut(&World, &StepReport) -> bool + Send,
    ) -> PyResult<Option<StepReport>> {
        let (py, this) = (slf.py(), slf.get());
        let backend = this.backend.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let whole = this.with(py, |w| !w.records_events()) && !this.accelerations.load(Ordering::Relaxed);
        let mut stepper = this.change(py, |w| backend.stepper(w, whole)).map_err(input)?;
        let step = |world: &mut World| stepper.step(world).map_err(failed_with);
        let taken = Self::take_own_steps(slf, n, step, each);
        let fetched = py.detach(|| stepper.fetch(&mut this.lock())).map_err(failed_with);
        let report = taken?;
        fetched.map(|()| report)
    }

    /// Whether a device is to take the steps.
    pub fn on_device(&self) -> bool {
        self.backend.lock().unwrap_or_else(PoisonError::into_inner).is_device()
    }

    /// Takes steps by `step`.
    pub fn take_steps_by(
        slf: &Bound<'_, Self>,
        n: u64,
        step: impl FnMut(&mut World) -> PyResult<StepReport> + Send,
        each: impl FnMut(&World, &StepReport) -> bool + Send,
    ) -> PyResult<Option<StepReport>> {
        let _turn = slf.get().turns.take(slf.py())?;
        Self::take_own_steps(slf, n, step, each)
    }

    /// The same for who has the turn.
    fn take_own_steps(
        slf: &Bound<'_, Self>,
        n: u64,
        mut step: impl FnMut(&mut World) -> PyResult<StepReport> + Send,
        mut each: impl FnMut(&World, &StepReport) -> bool + Send,
    ) -> PyResult<Option<StepReport>> {
        let (py, this) = (slf.py(), slf.get());
        let (mut left, mut last) = (n, None);
        *this.past() = Past::default();
        let told = |hooks: &Hooks| {
            this.past().in_hook = true;
            let told = hooks.call(slf);
            this.past().in_hook = false;
            told
        };
        while left > 0 {
            py.check_signals()?;
            let hooked = this.before.any() || this.after.any();
            if hooked {
                told(&this.before)?;
            }
            let report = py.detach(|| {
                // The lock first: a thread of the pool that waits within a step may take up another one's
                // job, and must not find it waiting for this world.
                let mut world = this.lock();
                let world: &mut World = &mut world;
                let mut record = this.record.lock().unwrap_or_else(PoisonError::into_inner);
                let record: &mut Option<Writer> = &mut record;
                let mut run = || {
                    let begun = Instant::now();
                    loop {
                        let started = record.as_ref().map(|_| Instant::now());
                        let report = step(world)?;
                        if let (Some(writer), Some(started)) = (record.as_mut(), started) {
                            writer.step(world, &report, started.elapsed().as_secs_f64()).map_err(input)?;
                        }
                        left = if each(world, &report) { left - 1 } else { 0 };
                        if world.records_events() {
                            let mut past = this.past();
                            past.last = world.state().step;
                            if left > 0 {
                                past.note(world);
                            }
                        }
                        if left == 0 || hooked || begun.elapsed() > WITHOUT_LOOKING {
                            return Ok::<_, PyErr>(report);
                        }
                    }
                };
                with_threads(|| rayon::scope(|_| run()))
            });
            last = Some(report?);
            if hooked {
                told(&this.after)?;
            }
        }
        Ok(last)
    }

    /// To be said after a state was restored.
    pub fn forget_events(&self) {
        self.past().forget();
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of a body that is this world's.
    pub fn own(slf: &Bound<'_, Self>, body: &Bound<'_, Body>) -> PyResult<BodyId> {
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

/// A backend that a world can have.
fn own_backend(name: &str) -> PyResult<Backend> {
    if name == "auto" {
        return Err(input(
            "backend: 'auto' compares both over a run, which ds.run does; a world takes 'cpu' or 'cuda'",
        ));
    }
    Backend::choose(name).map_err(input)
}

#[pymethods]
impl PyWorld {
    #[new]
    #[pyo3(signature = (*, seed=Whole(1), backend="cpu", **settings))]
    fn new(
        seed: Whole,
        #[pyo3(from_py_with = text)] backend: &str,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut s = Settings::default();
        settings::apply(&mut s, settings)?;
        let backend = own_backend(backend)?;
        s.solver = backend.solver(&s.solver).map_err(input)?;
        let world = Self::of(World::with_seed(s, seed.0).map_err(refused)?);
        *world.backend.lock().unwrap_or_else(PoisonError::into_inner) = backend;
        Ok(world)
    }

    /// Where it takes its steps: cpu or cuda.
    #[getter]
    fn backend(&self) -> &'static str {
        if self.on_device() { "cuda" } else { "cpu" }
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
        let backend = self.backend.lock().unwrap_or_else(PoisonError::into_inner).clone();
        s.solver = backend.solver(&s.solver).map_err(input)?;
        self.change(py, |w| w.set_settings(s)).map_err(refused)
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

    /// Takes `n` steps and returns the last one's report. Python goes on in other threads meanwhile, hooks
    /// are called, Ctrl-C works. Another thread that steps the world, too, waits until these steps are taken.
    /// Events are those of all of them: see `contact_events`.
    ///
    /// The first step in which constraints contradict each other, and the first in which a joint is far
    /// apart, are a `UserWarning`, once for each world.
    ///
    /// >>> import drystone as ds
    /// >>> world = ds.World(gravity=[0, 0, 0])
    /// >>> world.step(3).step
    /// 3
    #[pyo3(signature = (n=Times(1)))]
    fn step(slf: &Bound<'_, Self>, n: Times) -> PyResult<PyReport> {
        let (told, mut warnings) = (&slf.get().told, Vec::new());
        let last = Self::take_steps(slf, n.0, |w, r| {
            if !r.contradiction.is_empty() && !told[0].swap(true, Ordering::Relaxed) {
                warnings.push(contradiction(w, r));
            }
            if let Some(drift) = r.apart.as_ref().filter(|_| !told[1].swap(true, Ordering::Relaxed)) {
                warnings.push(apart(w, r, drift));
            }
            true
        });
        for told in warnings {
            warn(slf.py(), &format!("step {}: {}", told.step, spelled(&told.text)))?;
        }
        last?.map(|report| PyReport::of(&report)).ok_or_else(|| input("n must be at least 1"))
    }

    /// Calls `hook(world)` before every step; returns it, so that it can decorate.
    fn before_step(&self, py: Python<'_>, hook: Py<PyAny>) -> PyResult<Py<PyAny>> {
        self.before.add(py, &hook)?;
        Ok(hook)
    }

    /// Calls `hook(world)` after every step; returns it, so that it can decorate.
    fn after_step(&self, py: Python<'_>, hook: Py<PyAny>) -> PyResult<Py<PyAny>> {
        self.after.add(py, &hook)?;
        Ok(hook)
    }

    /// Forgets all hooks.
    fn clear_hooks(&self) {
        self.before.set(Vec::new());
        self.after.set(Vec::new());
    }

    /// The complete state: restored, the run goes on bit for bit.
    fn save_state(&self, py: Python<'_>) -> PyState {
        PyState(self.with(py, |w| w.state().clone()))
    }

    /// Goes back to a saved state of these same bodies: of this world, of one that it was copied or loaded
    /// from, or of one that was made in the same way. Bodies that came and went since do not matter; others
    /// are an error.
    ///
    /// Positions, velocities, applied forces, time, random numbers and warm starts are the state's. Settings,
    /// masses, shapes, materials, motors and limits stay as they are now, and so do hooks; a body that is
    /// static by now has no velocity. No events are pending afterwards, and `contacts` are still those of the
    /// last step that was taken.
    fn restore(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let wrong = |_| argument(format!("state must be one of save_state(), got {}", shown(state)));
        let state = state.cast::<PyState>().map_err(wrong)?.get().0.clone();
        self.change(py, |w| w.restore(state)).map_err(refused)?;
        self.forget_events();
        Ok(())
    }

    /// Moves a mechanism to a nearby state of rest.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        self.at_length(py, |world| world.settle().map(drop)).map_err(refused)
    }

    /// Makes positions and velocities fit the joints; the first step does this by itself.
    fn assemble(&self, py: Python<'_>) -> PyResult<()> {
        self.at_length(py, |world| world.assemble_joints()).map_err(refused)
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
        let p = self.at_length(py, |world| world.penetration());
        (p.max, p.mean)
    }

    /// How many bodies sleep.
    #[getter]
    fn asleep(&self, py: Python<'_>) -> usize {
        self.with(py, |w| w.asleep())
    }

    /// Wakes everything.
    fn wake_all(&self, py: Python<'_>) {
        self.change(py, |w| w.wake_all());
    }

    /// Forgets forces and torques applied since the last step. After a step that failed they are still there,
    /// and one that is too large makes the next one fail, too, until they are forgotten.
    fn clear_forces(&self, py: Python<'_>) {
        self.change(py, |w| w.clear_forces());
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.before.traverse(&visit)?;
        self.after.traverse(&visit)?;
        self.objects.traverse(&visit)
    }

    fn __clear__(&self) {
        self.before.set(Vec::new());
        self.after.set(Vec::new());
        self.objects.replace(Vec::new());
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (time, bodies, joints) = self.with(py, |w| {
            (w.state().time, w.model().bodies.len() - w.model().empty_slots().len(), w.joints().count())
        });
        format!("<World at {time:.6} s: {bodies} bodies, {joints} joints>")
    }
}
