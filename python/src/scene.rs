//! Scenes: the gallery, files, and runs with a report.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use drystone::World;
use drystone_cuda::backend::{Backend, Stepper};
use drystone_record::report::{Identity, Recorder};
use drystone_record::usage;
use drystone_scene::{Scene, gallery};
use drystone_solve::solver;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::convert::{MOST_STEPS, Whole, flag, maybe_name, maybe_number, name, text};
use crate::errors::{failed_with, input, scene as refused};
use crate::settings;
use crate::threads::detached;
use crate::world::PyWorld;

/// Bodies, settings and what to measure: data from which worlds are made.
#[pyclass(frozen, name = "Scene", module = "drystone")]
pub struct PyScene {
    what: String,
    /// As they were given.
    parameters: Vec<(String, String)>,
    scene: Mutex<Scene>,
}

impl PyScene {
    fn with<R>(&self, f: impl FnOnce(&Scene) -> R) -> R {
        f(&self.scene.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// From a gallery name or a file, with parameters as texts.
#[pyfunction]
pub fn load(
    py: Python<'_>,
    #[pyo3(from_py_with = name)] what: String,
    parameters: Vec<(String, String)>,
) -> PyResult<PyScene> {
    let scene = detached(py, || drystone_scene::load(&what, &parameters)).map_err(refused)?;
    Ok(PyScene { what, parameters, scene: Mutex::new(scene) })
}

#[pymethods]
impl PyScene {
    /// Its name.
    #[getter]
    fn name(&self) -> String {
        self.with(|s| s.name.clone())
    }

    /// One line.
    #[getter]
    fn title(&self) -> String {
        self.with(|s| s.title.clone())
    }

    /// How long it runs, s.
    #[getter]
    fn duration(&self) -> f64 {
        self.with(|s| s.duration)
    }

    /// How many bodies it has.
    #[getter]
    fn body_count(&self) -> usize {
        self.with(|s| s.bodies.len())
    }

    /// How it steps: keywords of `World`.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = self.with(|s| s.settings.clone());
        settings::told(py, &settings)
    }

    /// A world at time zero, with settings (see `World`) that may differ from the scene's own. Bodies deep in
    /// each other are refused unless `allow_overlap`.
    #[pyo3(signature = (*, allow_overlap=false, **settings))]
    fn world(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = flag)] allow_overlap: bool,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyWorld> {
        self.build(py, allow_overlap, settings, &Backend::default())
    }

    /// A pickle is the name or the path with the parameters: a file is read again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("drystone._drystone")?.getattr("load")?;
        // Another process may work in another folder.
        let path = std::path::Path::new(&self.what);
        let what = match path.exists().then(|| std::path::absolute(path)) {
            Some(Ok(path)) => path.to_string_lossy().into_owned(),
            _ => self.what.clone(),
        };
        (make, (what, self.parameters.clone())).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        self.with(|s| format!("<Scene {}: {} bodies, {} s>", s.name, s.bodies.len(), s.duration))
    }
}

impl PyScene {
    fn build(
        &self,
        py: Python<'_>,
        allow_overlap: bool,
        settings: Option<&Bound<'_, PyDict>>,
        backend: &Backend,
    ) -> PyResult<PyWorld> {
        let mut s = self.with(|s| s.settings.clone());
        settings::apply(&mut s, settings)?;
        s.solver = backend.solver(&s.solver).map_err(input)?;
        detached(py, || {
            let scene = self.scene.lock().unwrap_or_else(PoisonError::into_inner);
            let mut world = scene.world(s).map_err(|e| drystone_scene::placed(&self.what, e))?;
            match drystone_scene::overlaps(&mut world) {
                Some(text) if !allow_overlap => {
                    return Err(drystone_scene::SceneError::new(format!("{}: {text}", self.what)));
                }
                _ => {}
            }
            drystone_scene::assemble(&mut world, &self.what)?;
            Ok(PyWorld::of(world))
        })
        .map_err(refused)
    }
}

/// What a file holds, in one line and notes; an error says what is wrong with it.
#[pyfunction]
pub fn check(py: Python<'_>, #[pyo3(from_py_with = name)] path: String) -> PyResult<String> {
    detached(py, || drystone_scene::check(&path)).map_err(refused)
}

/// The gallery: (name, one line, parameters with their defaults and what they are).
#[pyfunction]
pub fn scenes() -> Vec<(String, String, Vec<(String, String, String)>)> {
    let entry = |e: &gallery::Entry| {
        let parameters = e
            .params
            .iter()
            .map(|p| (p.name.into(), p.default.into(), format!("{} {}", p.help, p.unit).trim().into()));
        (e.name.into(), e.title.into(), parameters.collect())
    };
    gallery::ENTRIES.iter().map(entry).collect()
}

/// Every solver: (name, what it is, unit of its iterations).
#[pyfunction]
pub fn solvers() -> Vec<(String, String, String)> {
    solver::known().into_iter().map(|i| (i.name.into(), i.title.into(), i.unit.into())).collect()
}

/// A scene under way, with its report.
#[pyclass(frozen, name = "_Run", module = "drystone")]
pub struct Run {
    scene: Mutex<Scene>,
    recorder: Mutex<Recorder>,
    backend: Backend,
    /// Who takes the steps, from the first one on.
    stepper: Mutex<Option<Stepper>>,
    world: Py<PyWorld>,
    /// Steps to take in all.
    #[pyo3(get)]
    steps: u64,
}

#[pymethods]
impl Run {
    #[new]
    #[pyo3(signature = (what, parameters, *, time=None, steps=None, allow_overlap=false, backend="cpu", **settings))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = name)] what: String,
        parameters: Vec<(String, String)>,
        #[pyo3(from_py_with = maybe_number)] time: Option<f64>,
        steps: Option<Whole>,
        #[pyo3(from_py_with = flag)] allow_overlap: bool,
        #[pyo3(from_py_with = text)] backend: &str,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let scene = load(py, what, parameters)?;
        let backend = Backend::choose(backend).map_err(input)?;
        let world = scene.build(py, allow_overlap, settings, &backend)?;
        let h = world.with(py, |w| w.settings().h);
        let scene = scene.scene.into_inner().unwrap_or_else(PoisonError::into_inner);
        if time.is_some() && steps.is_some() {
            return Err(input("time and steps: give one of the two"));
        }
        let time = time.unwrap_or(scene.duration);
        let steps = match steps {
            Some(Whole(n)) if n > MOST_STEPS => {
                return Err(input(format!("steps must be at most {MOST_STEPS}, got {n}")));
            }
            Some(n) => n.0,
            None if !(time.is_finite() && time >= 0.0) => {
                return Err(input(format!("time must be finite and not negative, got {time}")));
            }
            None if time > 0.0 && time < (1.0 - 1e-9) * h => {
                return Err(input(format!("{time} s are less than a step of {h:e} s: nothing to run")));
            }
            None if time / h > MOST_STEPS as f64 => {
                return Err(input(format!(
                    "time must be at most {:e} s, which is {MOST_STEPS} steps of {h:e} s, got {time:e}",
                    MOST_STEPS as f64 * h
                )));
            }
            None => (time / h).round() as u64,
        };
        let threads = crate::threads::number();
        let identity = Identity { scene: scene.name.clone(), seed: scene.seed, threads };
        Ok(Self {
            scene: Mutex::new(scene),
            recorder: Mutex::new(Recorder::new(identity)),
            backend,
            stepper: Mutex::new(None),
            world: Py::new(py, world)?,
            steps,
        })
    }

    /// Name of the scene.
    #[getter]
    fn name(&self) -> String {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner).name.clone()
    }

    /// The world that it runs.
    #[getter]
    fn world(&self, py: Python<'_>) -> Py<PyWorld> {
        self.world.clone_ref(py)
    }

    /// Takes up to `n` steps; (steps taken, contacts and residual of the last one), and whether the scene
    /// says that the run is at its end.
    fn advance(&self, py: Python<'_>, n: u64) -> PyResult<(u64, usize, f64, bool)> {
        let scene = &mut *self.scene.lock().unwrap_or_else(PoisonError::into_inner);
        let recorder = &mut *self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let stepper = &mut *self.stepper.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has to see every step's contacts, or to call Python, keeps the world here.
        let whole = !self.world.get().is_watched();
        let stepper = match stepper {
            Some(stepper) => stepper,
            none => {
                let new = self.world.get().change(py, |w| {
                    scene.probe.begin(w);
                    self.backend.stepper(w, whole)
                });
                none.insert(new.map_err(input)?)
            }
        };
        let observes = scene.probe.observes();
        let (mut taken, mut last) = (0, (Instant::now(), usage::cpu_seconds()));
        let step = |world: &mut World| {
            let mut taken = stepper.step(world);
            if taken.is_ok() && (observes || !whole) {
                taken = stepper.fetch(world).and(taken);
            }
            taken.map_err(|e| match self.backend.failure() {
                // A device that cannot begin is bad surroundings; one that fails on the way is a run that
                // failed.
                Some(why) if world.state().step == 0 => input(why),
                Some(why) => failed_with(why),
                None => failed_with(e),
            })
        };
        let report = PyWorld::take_steps_by(self.world.bind(py), n, step, |world, report| {
            taken += 1;
            scene.probe.observe(world);
            let now = (Instant::now(), usage::cpu_seconds());
            recorder.step(world, report, (now.0 - last.0).as_secs_f64(), now.1 - last.1);
            last = (Instant::now(), usage::cpu_seconds());
            scene.probe.stop().is_none()
        })?;
        let stopped = scene.probe.stop().is_some();
        let told = report.map_or((0, 0.0), |r| (r.contacts, r.certificate.residual_max));
        Ok((taken, told.0, told.1, stopped))
    }

    /// The report as JSON.
    fn report(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text)] status: &str,
        #[pyo3(from_py_with = maybe_name)] reason: Option<String>,
    ) -> PyResult<String> {
        let scene = &mut *self.scene.lock().unwrap_or_else(PoisonError::into_inner);
        let recorder = &mut *self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let status = match status {
            "ok" => "ok",
            "failed" => "failed",
            _ => "interrupted",
        };
        let stepper = &mut *self.stepper.lock().unwrap_or_else(PoisonError::into_inner);
        self.world.get().change(py, |w| {
            // Steps that do not come back from a device are told of as lost; the state is that before them.
            let fetched = stepper.as_mut().map_or(Ok(()), |s| s.fetch(w));
            let (status, reason) = match fetched {
                Ok(()) => (status, reason),
                Err(e) => ("failed", reason.or(Some(e))),
            };
            let results = if status == "failed" { Default::default() } else { scene.probe.results(w) };
            let mut report = recorder.report(w, status, reason, results);
            if let Some(stepper) = stepper {
                let computed = self.backend.told(stepper, report.bilaterals > 0);
                (report.backend, report.on_cpu, report.device) =
                    (computed.backend, computed.on_cpu, computed.device);
            }
            Ok(report.json())
        })
    }
}
