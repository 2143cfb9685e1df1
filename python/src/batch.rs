//! Many worlds, stepped side by side.

use std::time::{Duration, Instant};

use drystone::joint::Law;
use drystone::limits::{FARTHEST, FASTEST, STRONGEST};
use drystone::{JointId, Motor, State, StepError, World};
use numpy::{Ix3, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::arrays::{Column, In, Rows, check, set};
use crate::convert::{Q4, Times, Whole, flag, is_truth, number, quat, shown, text};
use crate::errors::{argument, failed_with, input};
use crate::lend::Inside;
use crate::threads::{forks, with_threads};
use crate::world::{PyState, PyWorld};

/// Worlds that one thread takes at a time.
const MOST: usize = 16;
/// Steps are taken in one go for about so long before somebody looks for Ctrl-C.
const WITHOUT_LOOKING: Duration = Duration::from_millis(100);

/// Worlds of the same number of bodies, stepped in parallel: each by one thread.
#[pyclass(frozen, subclass, name = "Batch", module = "drystone")]
pub struct Batch {
    worlds: Vec<Py<PyWorld>>,
    /// Their numbers, in the order in which they are locked.
    order: Vec<usize>,
    first: Vec<State>,
    pool: ThreadPool,
    /// What `forks` said when it was made: in a forked process the pool has no threads.
    forks: u32,
    bodies: usize,
}

impl Batch {
    /// Calls `change` with every world and its number, in parallel, once `check` has refused none of them:
    /// else nothing changes. What the first one that is refused says is raised.
    fn each(
        &self,
        py: Python<'_>,
        check: impl Fn(usize, &World) -> Result<(), String> + Sync,
        change: impl Fn(usize, &mut World) -> Result<(), String> + Sync,
    ) -> PyResult<()> {
        let first = |told: Vec<(usize, String)>| told.into_iter().next().map_or(Ok(()), Err);
        let told = self.locked(py, |worlds| {
            let all = worlds.par_iter_mut().enumerate().with_max_len(MOST);
            first(all.filter_map(|(k, w)| check(k, w).err().map(|e| (k, e))).collect())?;
            let all = worlds.par_iter_mut().enumerate().with_max_len(MOST);
            first(all.filter_map(|(k, w)| change(k, w).err().map(|e| (k, e))).collect())
        });
        told.map_err(|(k, e)| {
            let of = if e.starts_with("row ") { "," } else { ":" };
            input(format!("world {k}{of} {e}"))
        })
    }

    /// Calls `f` in the pool with all worlds. Their locks are taken before: a thread of the pool that waits
    /// within a step may take up another job, and must not find it waiting for a world. They are taken in one
    /// order, whatever the batch, so that two batches cannot wait for each other.
    fn locked<R: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut [&mut Inside]) -> R + Send) -> R {
        let worlds: Vec<&PyWorld> = self.worlds.iter().map(|w| w.get()).collect();
        py.detach(|| {
            let mut locks: Vec<_> = self.order.iter().map(|&k| (k, worlds[k].lock())).collect();
            locks.sort_unstable_by_key(|(k, _)| *k);
            let mut all: Vec<&mut Inside> = locks.iter_mut().map(|(_, lock)| &mut **lock).collect();
            match self.forks == forks() {
                true => self.pool.install(|| f(&mut all)),
                false => with_threads(|| f(&mut all)),
            }
        })
    }

    /// The same, writing a row of numbers for each.
    fn fill(&self, py: Python<'_>, out: &mut [f64], row: usize, f: impl Fn(&World, &mut [f64]) + Sync) {
        if row == 0 {
            return;
        }
        self.locked(py, |worlds| {
            let rows = out.par_chunks_mut(row).zip(worlds).with_max_len(64);
            rows.for_each(|(to, w)| f(w, to));
        });
    }

    fn state<'py>(&self, py: Python<'py>, column: Column) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (n, width) = (self.bodies, column.width());
        self.unchanged(py)?;
        let out = PyArray3::zeros(py, [self.worlds.len(), n, width], false);
        {
            let mut to = out.readwrite();
            let to = to.as_slice_mut().map_err(input)?;
            self.fill(py, to, n * width, |w, to| column.fill(w, to));
        }
        Ok(out)
    }

    /// Arrays have one row for each body: all worlds must still have as many.
    fn unchanged(&self, py: Python<'_>) -> PyResult<()> {
        let wrong = |(k, w): (usize, &&mut Inside)| {
            let n = w.model().bodies.len();
            (n != self.bodies).then_some((k, n))
        };
        let wrong = self.locked(py, |worlds| worlds.iter().enumerate().find_map(wrong));
        wrong.map_or(Ok(()), |(k, n)| {
            Err(input(format!("world {k} has {n} bodies, the batch {}", self.bodies)))
        })
    }

    fn joint(&self, slot: u32, w: &World) -> Option<JointId> {
        w.joints().find(|j| j.slot == slot)
    }
}

/// Numbers of worlds, or None for all.
fn chosen(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Whole>>> {
    if value.is_none() {
        return Ok(None);
    }
    let wrong = || argument(format!("must be numbers of worlds, got {}", shown(value)));
    let masks =
        || argument(format!("must be numbers of worlds (of a mask: np.flatnonzero), got {}", shown(value)));
    if value.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    let all: Vec<Bound<'_, PyAny>> = value.try_iter().map_err(|_| wrong())?.collect::<PyResult<_>>()?;
    if all.iter().any(is_truth) {
        return Err(masks());
    }
    all.iter().map(|k| k.extract().map_err(|_| wrong())).collect::<PyResult<_>>().map(Some)
}

/// The worlds of a new batch.
fn worlds(value: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyWorld>>> {
    let wrong = || argument(format!("must be a list of worlds, got {}", shown(value)));
    let all: Vec<Bound<'_, PyAny>> = value.try_iter().map_err(|_| wrong())?.collect::<PyResult<_>>()?;
    all.into_iter().map(|w| w.cast_into::<PyWorld>().map(Bound::unbind).map_err(|_| wrong())).collect()
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (worlds, *, threads=None, _first=None))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = worlds)] worlds: Vec<Py<PyWorld>>,
        threads: Option<Whole>,
        _first: Option<Vec<PyRef<'_, PyState>>>,
    ) -> PyResult<Self> {
        let threads = threads.map(|n| n.0 as usize);
        let counts: Vec<usize> =
            worlds.iter().map(|w| w.get().with(py, |w| w.model().bodies.len())).collect();
        let bodies = counts.first().copied().unwrap_or(0);
        if let Some(k) = counts.iter().position(|n| *n != bodies) {
            return Err(input(format!(
                "world {k} has {} bodies, world 0 has {bodies}: worlds of a batch have equally many",
                counts[k]
            )));
        }
        let place = |k: usize| worlds[k].as_ptr() as usize;
        let mut order: Vec<usize> = (0..worlds.len()).collect();
        order.sort_unstable_by_key(|&k| (place(k), k));
        if let Some(twice) = order.windows(2).find(|w| place(w[0]) == place(w[1])) {
            return Err(input(format!("world {} is in the batch twice", twice[1])));
        }
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        if threads == 0 || threads > 512 {
            return Err(input(format!("threads must be between 1 and 512, got {threads}")));
        }
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(input)?;
        let first: Vec<State> = match _first {
            Some(first) => first.iter().map(|s| s.0.clone()).collect(),
            None => worlds.iter().map(|w| w.get().with(py, |w| w.state().clone())).collect(),
        };
        if first.len() != worlds.len() {
            return Err(input("a batch has one first state for each world"));
        }
        Ok(Self { worlds, order, first, pool, forks: forks(), bodies })
    }

    fn __len__(&self) -> usize {
        self.worlds.len()
    }

    fn __getitem__(&self, py: Python<'_>, k: &Bound<'_, PyAny>) -> PyResult<Py<PyWorld>> {
        let k = (!is_truth(k))
            .then(|| k.extract::<isize>().ok())
            .flatten()
            .ok_or_else(|| argument(format!("a world of a batch goes by its number, got {}", shown(k))))?;
        let at = if k < 0 { k + self.worlds.len() as isize } else { k };
        let found = usize::try_from(at).ok().and_then(|at| self.worlds.get(at));
        let none = || pyo3::exceptions::PyIndexError::new_err(format!("there is no world {k}"));
        Ok(found.ok_or_else(none)?.clone_ref(py))
    }

    /// The worlds.
    #[getter]
    fn worlds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.worlds.iter().map(|w| w.clone_ref(py)))
    }

    /// How the worlds were when the batch was made: see `reset`.
    #[getter]
    fn _first(&self) -> Vec<PyState> {
        self.first.iter().cloned().map(PyState).collect()
    }

    /// How many threads step them.
    #[getter]
    fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Takes `n` steps of every world, in parallel; Ctrl-C is looked for a few times a second. A world whose
    /// step fails stays where it is, the others go on; then the error of the first of them is raised, which
    /// says which world it was.
    #[pyo3(signature = (n=Times(1)))]
    fn step(&self, py: Python<'_>, n: Times) -> PyResult<()> {
        // Who steps one of them just now has its writer: the interpreter does not wait for that.
        let worlds: Vec<&PyWorld> = self.worlds.iter().map(|w| w.get()).collect();
        if let Some(k) = py.detach(|| worlds.iter().position(|w| w.is_watched())) {
            return Err(input(format!(
                "world {k} has hooks or is being recorded, and a batch does not call hooks: step it alone"
            )));
        }
        let mut failures: Vec<Option<StepError>> = self.worlds.iter().map(|_| None).collect();
        // A world takes several steps while its memory is at hand.
        let (mut left, mut run) = (n.0, 1);
        while left > 0 {
            py.check_signals()?;
            let now = run.min(left);
            let begun = Instant::now();
            self.locked(py, |worlds| {
                let all = worlds.par_iter_mut().zip(&mut failures).with_max_len(MOST);
                all.for_each(|(w, failure)| {
                    let mut done = 0;
                    while done < now && failure.is_none() {
                        *failure = w.step().err();
                        done += 1;
                    }
                });
            });
            left -= now;
            run = if begun.elapsed() < WITHOUT_LOOKING { 2 * run } else { run };
        }
        let first = failures.into_iter().enumerate().find_map(|(k, failure)| Some((k, failure?)));
        first.map_or(Ok(()), |(k, e)| Err(failed_with(format!("world {k}: {e}"))))
    }

    /// Takes all worlds, or those of these numbers, back to how they were when the batch was made: positions,
    /// velocities, time and warm starts, as `World.restore` does. Motors, limits, masses and settings stay as
    /// they are now. A world whose bodies, shapes or joints are others by now is refused, and none of them
    /// goes back then.
    #[pyo3(signature = (which=None))]
    fn reset(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = chosen)] which: Option<Vec<Whole>>,
    ) -> PyResult<()> {
        let mut chosen = vec![which.is_none(); self.worlds.len()];
        for Whole(k) in which.unwrap_or_default() {
            *chosen.get_mut(k as usize).ok_or_else(|| input(format!("there is no world {k}")))? = true;
        }
        let fits = |k: usize, w: &World| match chosen[k] {
            true => w.check_state(&self.first[k]).map_err(|e| e.to_string()),
            false => Ok(()),
        };
        self.each(py, fits, |k, w| match chosen[k] {
            true => w.restore(self.first[k].clone()).map_err(|e| e.to_string()),
            false => Ok(()),
        })?;
        let worlds = self.worlds.iter().zip(&chosen).filter(|(_, chosen)| **chosen);
        worlds.for_each(|(w, _)| w.get().forget_events());
        Ok(())
    }

    /// Origins of the bodies' frames, (worlds, bodies, 3), m.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        self.state(py, Column::Position)
    }

    /// Orientations, (worlds, bodies, 4), (w, x, y, z).
    #[getter]
    fn rotations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        self.state(py, Column::Rotation)
    }

    /// Velocities of the centres of mass, (worlds, bodies, 3), m/s.
    #[getter]
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        self.state(py, Column::Velocity)
    }

    /// Angular velocities, world axes, (worlds, bodies, 3), rad/s.
    #[getter]
    fn angular_velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        self.state(py, Column::AngularVelocity)
    }

    /// Sets states of all bodies of all worlds, in the shapes in which they are read; what is not given
    /// stays. Nothing is set in any of them where a row of one is refused.
    #[pyo3(signature = (*, positions=None, rotations=None, velocities=None, angular_velocities=None))]
    fn set_bodies(
        &self,
        py: Python<'_>,
        positions: Option<In<'_, Ix3>>,
        rotations: Option<In<'_, Ix3>>,
        velocities: Option<In<'_, Ix3>>,
        angular_velocities: Option<In<'_, Ix3>>,
    ) -> PyResult<()> {
        self.unchanged(py)?;
        let (b, n) = (self.worlds.len(), self.bodies);
        let rows = |name: &str, a: &Option<In<'_, Ix3>>, width: usize| -> PyResult<Option<Vec<f64>>> {
            let Some(a) = a else { return Ok(None) };
            let a = &a.0;
            if a.shape() != [b, n, width] {
                let shape = a.shape();
                return Err(input(format!("{name} must have the shape ({b}, {n}, {width}), got {shape:?}")));
            }
            Ok(Some(a.as_array().iter().copied().collect()))
        };
        let x = rows("positions", &positions, 3)?;
        let q = rows("rotations", &rotations, 4)?;
        let v = rows("velocities", &velocities, 3)?;
        let omega = rows("angular_velocities", &angular_velocities, 3)?;
        let three = |a: &Option<Vec<f64>>, k: usize| {
            a.as_ref().map(|a| {
                let own = &a[3 * n * k..3 * n * (k + 1)];
                own.chunks_exact(3).map(glam::DVec3::from_slice).collect::<Vec<_>>()
            })
        };
        let four = |k: usize| {
            q.as_ref().map(|q| {
                let own = q[4 * n * k..4 * n * (k + 1)].chunks_exact(4);
                own.map(|r| quat(Q4([r[0], r[1], r[2], r[3]]))).collect::<Vec<_>>()
            })
        };
        let own = |k: usize| (three(&x, k), four(k), three(&v, k), three(&omega, k));
        self.each(
            py,
            |k, w| {
                let (x, q, v, omega) = own(k);
                let rows =
                    Rows { x: x.as_deref(), q: q.as_deref(), v: v.as_deref(), omega: omega.as_deref() };
                check(w, rows)
            },
            |k, w| {
                let (x, q, v, omega) = own(k);
                let rows =
                    Rows { x: x.as_deref(), q: q.as_deref(), v: v.as_deref(), omega: omega.as_deref() };
                set(w, rows)
            },
        )
    }

    /// Coordinates of joints, by slot: the first of each, (worlds, joints).
    fn joint_coordinates<'py>(
        &self,
        py: Python<'py>,
        joints: Vec<u32>,
        #[pyo3(from_py_with = flag)] rates: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let lacks = |(k, w): (usize, &&mut Inside)| {
            let slot = joints.iter().find(|slot| self.joint(**slot, w).is_none())?;
            Some((k, *slot))
        };
        let missing = self.locked(py, |worlds| worlds.iter().enumerate().find_map(lacks));
        if let Some((k, slot)) = missing {
            return Err(input(format!("world {k}: there is no joint {slot}")));
        }
        let out = PyArray2::zeros(py, [self.worlds.len(), joints.len()], false);
        {
            let mut to = out.readwrite();
            let to = to.as_slice_mut().map_err(input)?;
            self.fill(py, to, joints.len(), |w, to| {
                for (to, slot) in to.iter_mut().zip(&joints) {
                    let id = self.joint(*slot, w);
                    let read = |id| if rates { w.joint_rates(id) } else { w.joint_coordinates(id) };
                    let all = id.and_then(|id| read(id).ok()).unwrap_or_default();
                    *to = all.first().copied().unwrap_or(f64::NAN);
                }
            });
        }
        Ok(out)
    }

    /// Commands of motors on joints, by slot: (worlds, joints), on the first coordinate of each.
    fn set_motors(
        &self,
        py: Python<'_>,
        joints: Vec<u32>,
        commands: PyReadonlyArray2<'_, f64>,
        #[pyo3(from_py_with = text)] kind: &str,
        #[pyo3(from_py_with = number)] limit: f64,
    ) -> PyResult<()> {
        if commands.shape() != [self.worlds.len(), joints.len()] {
            let (b, m) = (self.worlds.len(), joints.len());
            return Err(input(format!(
                "commands must have the shape ({b}, {m}), got {:?}",
                commands.shape()
            )));
        }
        let (make, most, unit): (fn(f64) -> Motor, f64, &str) = match kind {
            "speed" => (|x| Motor::speed(x), FASTEST, "m/s or rad/s"),
            "position" => (|x| Motor::position(x), FARTHEST, "m or rad"),
            "force" => (|x| Motor::force(x), STRONGEST, "N or N m"),
            other => {
                return Err(input(format!("kind must be 'speed', 'position' or 'force', got '{other}'")));
            }
        };
        let all: Vec<f64> = commands.as_array().iter().copied().collect();
        let m = joints.len();
        // NaN is not within, either.
        let wrong = all.iter().position(|x| !(x.abs() <= most));
        if let Some(at) = wrong {
            let (k, j) = (at / m, at % m);
            return Err(input(format!("values[{k}, {j}] must be within {most:e} {unit}, got {:e}", all[at])));
        }
        if !(limit >= 0.0 && (limit <= STRONGEST || limit == f64::INFINITY)) {
            return Err(input(format!(
                "limit must be from 0 to {STRONGEST:e} N or N m, or infinite, got {limit:e}"
            )));
        }
        let motor = |x: f64| Some(make(x).limited(limit));
        let own = |k: usize| joints.iter().zip(&all[m * k..m * (k + 1)]);
        let fits = |k: usize, w: &World| {
            own(k).try_for_each(|(slot, x)| {
                let id = self.joint(*slot, w).ok_or_else(|| format!("there is no joint {slot}"))?;
                let joint = w.joint(id).map_err(|e| e.to_string())?;
                let what = w.model().describe_joint(*slot);
                let law = joint.laws.first().ok_or_else(|| format!("{what} has no free coordinate"))?;
                Law { motor: motor(*x), ..law.clone() }.check().map_err(|e| format!("{what}: {e}"))
            })
        };
        self.each(py, fits, |k, w| {
            own(k).try_for_each(|(slot, x)| match self.joint(*slot, w) {
                Some(id) => w.set_motor(id, 0, motor(*x)).map_err(|e| e.to_string()),
                None => Ok(()),
            })
        })
    }

    /// Time of each world, s.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mut times = vec![0.0; self.worlds.len()];
        self.fill(py, &mut times, 1, |w, to| to[0] = w.state().time);
        PyArray1::from_vec(py, times)
    }

    fn __repr__(&self) -> String {
        let (n, threads) = (self.worlds.len(), self.threads());
        format!("<Batch of {n} worlds of {} bodies, {threads} threads>", self.bodies)
    }
}
