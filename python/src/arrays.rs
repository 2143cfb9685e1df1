//! States and contacts of all bodies as NumPy arrays. Row i of a state is the body with `index` i; rows of
//! removed bodies are NaN.

use drystone::limits::{FARTHEST, FASTEST, STRONGEST};
use drystone::{BodyId, Contact, Pose, World};
use glam::{DQuat, DVec3};
use numpy::ndarray::Dimension;
use numpy::{Ix2, PyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;

use crate::convert::{Q4, quat, shown, unit, wxyz};
use crate::errors::{argument, input, world as refused};
use crate::lend::{self, What};
use crate::world::PyWorld;

/// An array of real numbers with as many dimensions as `D`, as handed in: anything that NumPy makes one of.
pub struct In<'py, D: Dimension = Ix2>(pub PyReadonlyArray<'py, f64, D>);

impl<'py, D: Dimension + 'static> FromPyObject<'_, 'py> for In<'py, D> {
    type Error = PyErr;
    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let wrong = |got: String| {
            let n = D::NDIM.unwrap_or_default();
            argument(format!("must be an array of real numbers with {n} dimensions, got {got}"))
        };
        let py = value.py();
        let numpy = py.import("numpy")?;
        let all = numpy.call_method1("asarray", (value,)).map_err(|_| wrong(shown(&value)))?;
        let kind: String = all.getattr("dtype")?.getattr("kind")?.extract()?;
        if !"fiu".contains(&kind) {
            return Err(wrong(format!("numbers of the type {}", all.getattr("dtype")?)));
        }
        let all = numpy.call_method1("asarray", (all, "float64"))?;
        let shape = all.getattr("shape")?;
        let found = all.cast_into::<PyArray<f64, D>>().map_err(|_| wrong(format!("the shape {shape}")))?;
        Ok(Self(found.try_readonly().map_err(|e| argument(format!("cannot be read: {e}")))?))
    }
}

/// Rows that one thread copies at a time.
const RUN: usize = 1 << 14;

/// Which numbers of a body.
#[derive(Clone, Copy, PartialEq)]
pub enum Column {
    Position,
    Rotation,
    Velocity,
    AngularVelocity,
}

impl Column {
    const NAMES: [(&'static str, Column); 4] = [
        ("positions", Column::Position),
        ("rotations", Column::Rotation),
        ("velocities", Column::Velocity),
        ("angular_velocities", Column::AngularVelocity),
    ];

    pub fn parse(name: &str) -> PyResult<Self> {
        let found = Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, c)| *c);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::NAMES.iter().map(|(n, _)| *n).collect();
            input(format!("there is no array '{name}' (valid: {})", names.join(", ")))
        })
    }

    pub fn width(self) -> usize {
        if self == Column::Rotation { 4 } else { 3 }
    }

    /// Writes the rows of all slots.
    pub fn fill(self, w: &World, out: &mut [f64]) {
        let s = w.state();
        match self {
            Column::Position => {
                each(out, &s.position, |_, x| x.to_array());
                for &i in w.off_centre().iter() {
                    let i = i as usize;
                    let origin = s.position[i] - s.rotation[i] * w.model().bodies[i].mass.centre;
                    out[3 * i..3 * i + 3].copy_from_slice(&origin.to_array());
                }
            }
            Column::Rotation => each(out, &s.rotation, |_, q| wxyz(*q)),
            Column::Velocity => each(out, &s.velocity, |_, v| v.to_array()),
            Column::AngularVelocity => each(out, &s.omega, |i, omega| (s.rotation[i] * *omega).to_array()),
        }
        for &i in w.model().empty_slots() {
            let (i, width) = (i as usize, self.width());
            out[width * i..width * (i + 1)].fill(f64::NAN);
        }
    }
}

/// Writes a row of N numbers for each of `from`.
fn each<T: Sync, const N: usize>(out: &mut [f64], from: &[T], row: impl Fn(usize, &T) -> [f64; N] + Sync) {
    let (out, _) = out.as_chunks_mut::<N>();
    let run = |first: usize, out: &mut [[f64; N]], from: &[T]| {
        for (k, (to, x)) in out.iter_mut().zip(from).enumerate() {
            *to = row(first + k, x);
        }
    };
    if from.len() < 2 * RUN {
        return run(0, out, from);
    }
    let runs = out.par_chunks_mut(RUN).zip(from.par_chunks(RUN)).enumerate();
    runs.for_each(|(k, (out, from))| run(k * RUN, out, from));
}

/// One column of a world, into an array of the caller's where there is one.
pub fn read<'py>(
    world: &Bound<'py, PyWorld>,
    column: Column,
    out: Option<Bound<'py, PyArray2<f64>>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (py, this) = (world.py(), world.get());
    let (n, width) = (this.with(py, |w| w.model().bodies.len()), column.width());
    let given = out.is_some();
    let out = match out {
        Some(out) if out.shape() != [n, width] => {
            return Err(input(format!("out must have the shape ({n}, {width}), got {:?}", out.shape())));
        }
        // The other order is contiguous, too, but its rows are columns.
        Some(out) if !out.is_c_contiguous() => return Err(input("out must be contiguous, row by row")),
        Some(out) => out,
        // SAFETY: every number is written below.
        None => unsafe { PyArray2::new(py, [n, width], false) },
    };
    let fits = {
        let mut to = out.try_readwrite().map_err(|e| input(format!("out: {e}")))?;
        let to = to.as_slice_mut().map_err(|_| input("out must be contiguous, row by row"))?;
        let fits = this.with(py, |w| {
            let fits = w.model().bodies.len() == n;
            if fits {
                column.fill(w, to);
            }
            fits
        });
        if !fits && given {
            return Err(input("bodies were added by another thread meanwhile: out has no rows for them"));
        }
        fits
    };
    // Another thread has added bodies meanwhile.
    if fits { Ok(out) } else { read(world, column, None) }
}

fn check_rows(name: &str, a: &In<'_>, width: usize, rows: Option<usize>) -> PyResult<()> {
    let shape = a.0.shape();
    if shape[1] != width || rows.is_some_and(|n| n != shape[0]) {
        let n = rows.map_or("n".into(), |n| n.to_string());
        return Err(input(format!(
            "{name} must have the shape ({n}, {width}), got ({}, {})",
            shape[0], shape[1]
        )));
    }
    Ok(())
}

pub fn rows3(name: &str, a: &In<'_>, rows: Option<usize>) -> PyResult<Vec<DVec3>> {
    check_rows(name, a, 3, rows)?;
    Ok(a.0.as_array().outer_iter().map(|r| DVec3::new(r[0], r[1], r[2])).collect())
}

pub fn rows4(name: &str, a: &In<'_>, rows: Option<usize>) -> PyResult<Vec<DQuat>> {
    check_rows(name, a, 4, rows)?;
    Ok(a.0.as_array().outer_iter().map(|r| quat(Q4([r[0], r[1], r[2], r[3]]))).collect())
}

/// Sets positions, rotations, velocities and angular velocities of all living bodies; those that are not
/// given stay.
pub fn write(world: &PyWorld, py: Python<'_>, given: [Option<&In<'_>>; 4]) -> PyResult<()> {
    let n = Some(world.with(py, |w| w.model().bodies.len()));
    let names = Column::NAMES.map(|(name, _)| name);
    let x = given[0].map(|a| rows3(names[0], a, n)).transpose()?;
    let q = given[1].map(|a| rows4(names[1], a, n)).transpose()?;
    let v = given[2].map(|a| rows3(names[2], a, n)).transpose()?;
    let omega = given[3].map(|a| rows3(names[3], a, n)).transpose()?;
    let rows = Rows { x: x.as_deref(), q: q.as_deref(), v: v.as_deref(), omega: omega.as_deref() };
    // All rows are looked at before the first is set.
    world.change(py, |w| check(w, rows).and_then(|()| set(w, rows))).map_err(input)
}

/// Positions, rotations, velocities and angular velocities of all rows, as far as they are given.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    pub x: Option<&'a [DVec3]>,
    pub q: Option<&'a [DQuat]>,
    pub v: Option<&'a [DVec3]>,
    pub omega: Option<&'a [DVec3]>,
}

fn living(w: &World) -> Vec<BodyId> {
    w.model().slots().filter_map(|i| w.model().id(i as u32)).collect()
}

/// Says which row cannot be set.
pub fn check(w: &World, Rows { x, q, v, omega }: Rows<'_>) -> Result<(), String> {
    for (i, id) in living(w).iter().map(|id| (id.slot as usize, *id)) {
        if let Some(x) = x {
            within(&format!("row {i}: position"), x[i], FARTHEST, "m of the origin")?;
        }
        if let Some(q) = q {
            unit(q[i]).map_err(|e| format!("row {i}: {e}"))?;
        }
        if w.motion(id).map_err(|e| e.to_string())? == drystone::Motion::Static {
            for (what, rows) in [("velocity", v), ("angular velocity", omega)] {
                if rows.is_some_and(|rows| rows[i] != DVec3::ZERO) {
                    let body = w.model().describe(id.slot);
                    return Err(format!(
                        "row {i}: {what}: {body} is static and has none: give its row zeros"
                    ));
                }
            }
            continue;
        }
        if let Some(v) = v {
            within(&format!("row {i}: velocity"), v[i], FASTEST, "m/s")?;
        }
        if let Some(omega) = omega {
            within(&format!("row {i}: angular velocity"), omega[i], FASTEST, "rad/s")?;
        }
    }
    Ok(())
}

/// Sets what [`check`] found in order.
pub fn set(w: &mut World, Rows { x, q, v, omega }: Rows<'_>) -> Result<(), String> {
    let ids = living(w);
    let said = |e: drystone::WorldError| e.to_string();
    let of = |e: drystone::WorldError, row: u32| format!("row {row}: {e}");
    if x.is_some() || q.is_some() {
        let mut poses = Vec::with_capacity(ids.len());
        for id in &ids {
            let i = id.slot as usize;
            let place = match x {
                Some(x) => x[i],
                None => w.position(*id).map_err(said)?,
            };
            poses.push((*id, Pose::new(place, q.map_or(w.state().rotation[i], |q| q[i]))));
        }
        w.set_poses(&poses).map_err(said)?;
    }
    if v.is_some() || omega.is_some() {
        for id in ids {
            let i = id.slot as usize;
            let v = v.map_or(w.state().velocity[i], |v| v[i]);
            let omega = omega.map_or(w.state().world_omega(i), |o| o[i]);
            if w.motion(id).map_err(said)? != drystone::Motion::Static {
                w.set_velocity(id, v, omega).map_err(|e| of(e, id.slot))?;
            }
        }
    }
    Ok(())
}

pub fn apply_forces(
    world: &PyWorld,
    py: Python<'_>,
    forces: &In<'_>,
    torques: Option<&In<'_>>,
) -> PyResult<()> {
    let n = Some(world.with(py, |w| w.model().bodies.len()));
    let f = rows3("forces", forces, n)?;
    let t = torques.map(|t| rows3("torques", t, n)).transpose()?;
    // All rows are looked at before the first is applied; those that are no bodies may hold anything.
    let alive = world.with(py, |w| w.model().bodies.iter().map(|b| b.alive).collect::<Vec<_>>());
    for i in (0..f.len()).filter(|i| alive.get(*i) == Some(&true)) {
        within(&format!("row {i}: force"), f[i], STRONGEST, "N").map_err(input)?;
        if let Some(t) = &t {
            within(&format!("row {i}: torque"), t[i], STRONGEST, "N m").map_err(input)?;
        }
    }
    world.change(py, |w| {
        let ids: Vec<_> = w.model().dynamic().filter_map(|i| w.model().id(i as u32)).collect();
        for id in ids {
            let i = id.slot as usize;
            w.apply_force(id, f[i], None).map_err(refused)?;
            if let Some(t) = &t {
                w.apply_torque(id, t[i]).map_err(refused)?;
            }
        }
        Ok(())
    })
}

/// Refuses what is not finite or beyond the bound.
fn within(what: &str, x: DVec3, most: f64, unit: &str) -> Result<(), String> {
    let largest = x.abs().max_element();
    if !x.is_finite() {
        Err(format!("{what} must be finite, got {:?}", x.to_array()))
    } else if largest > most {
        Err(format!("{what} must be within {most:e} {unit}, got {largest:e}"))
    } else {
        Ok(())
    }
}

/// An (n, 3) array.
pub fn from_rows<'py>(py: Python<'py>, rows: &[DVec3]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let flat: Vec<f64> = rows.iter().flat_map(|r| r.to_array()).collect();
    PyArray1::from_vec(py, flat).reshape([rows.len(), 3])
}

/// The memory of a world's state as it is, without copies: see `World.arrays`.
#[pyclass(frozen, name = "Arrays", module = "drystone")]
pub struct Arrays(pub Py<PyWorld>);

impl Arrays {
    fn vectors(&self, py: Python<'_>, what: What) -> PyResult<Py<PyArray2<f64>>> {
        self.0.get().locked(py, |w| lend::vectors(w, what)).table(py)
    }
}

#[pymethods]
impl Arrays {
    /// Centres of mass, (n, 3), m; of bodies that are not dynamic, the origins of their frames.
    #[getter]
    fn centres(&self, py: Python<'_>) -> PyResult<Py<PyArray2<f64>>> {
        self.vectors(py, What::Centres)
    }

    /// Orientations, (n, 4), as the engine keeps them and `scipy.spatial.transform` has them: the scalar
    /// comes last, (x, y, z, w). Everywhere else it comes first: `world.rotations` is a copy in that order.
    #[getter]
    fn quaternions_xyzw(&self, py: Python<'_>) -> PyResult<Py<PyArray2<f64>>> {
        self.0.get().locked(py, lend::rotations).table(py)
    }

    /// Velocities of the centres of mass, (n, 3), m/s.
    #[getter]
    fn velocities(&self, py: Python<'_>) -> PyResult<Py<PyArray2<f64>>> {
        self.vectors(py, What::Velocities)
    }

    /// Angular velocities in the bodies' own axes, (n, 3), rad/s.
    #[getter]
    fn spins(&self, py: Python<'_>) -> PyResult<Py<PyArray2<f64>>> {
        self.vectors(py, What::Spins)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Arrays of {} rows>", self.0.get().with(py, |w| w.model().bodies.len()))
    }
}

/// The contacts of the last step, without copies: arrays stay what they were when they were asked for.
#[pyclass(frozen, name = "Contacts", module = "drystone")]
pub struct Contacts {
    /// Rows of the two bodies, (n, 2).
    #[pyo3(get)]
    bodies: Py<PyArray2<u32>>,
    /// Half-way between the two surfaces, (n, 3), m.
    #[pyo3(get)]
    points: Py<PyArray2<f64>>,
    /// From the second body to the first, (n, 3).
    #[pyo3(get)]
    normals: Py<PyArray2<f64>>,
    /// Signed distances at the start of the step, (n,), m.
    #[pyo3(get)]
    gaps: Py<PyArray1<f64>>,
    /// Coefficients of friction, (n,).
    #[pyo3(get)]
    friction: Py<PyArray1<f64>>,
    /// Impulses on the first body, (n, 3), N s.
    #[pyo3(get)]
    impulses: Py<PyArray2<f64>>,
    /// The step, s.
    h: f64,
}

impl Contacts {
    pub fn of(world: &PyWorld, py: Python<'_>) -> PyResult<Self> {
        let (bodies, vectors, numbers, h) = world.locked(py, |w| {
            let vectors: [fn(&Contact) -> &DVec3; 3] = [|c| &c.point, |c| &c.normal, |c| &c.impulse];
            let numbers: [fn(&Contact) -> &f64; 2] = [|c| &c.gap, |c| &c.mu];
            (
                lend::contacts(w, |c| &c.bodies),
                vectors.map(|field| lend::contacts(w, field)),
                numbers.map(|field| lend::contacts(w, field)),
                w.settings().h,
            )
        });
        let ([points, normals, impulses], [gaps, friction]) = (vectors, numbers);
        Ok(Self {
            bodies: bodies.table(py)?,
            points: points.table(py)?,
            normals: normals.table(py)?,
            gaps: gaps.numbers(py)?,
            friction: friction.numbers(py)?,
            impulses: impulses.table(py)?,
            h,
        })
    }
}

/// The contacts of a pickle: its arrays are copies, and stay what they are, too.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn _contacts(
    py: Python<'_>,
    bodies: Py<PyArray2<u32>>,
    points: Py<PyArray2<f64>>,
    normals: Py<PyArray2<f64>>,
    gaps: Py<PyArray1<f64>>,
    friction: Py<PyArray1<f64>>,
    impulses: Py<PyArray2<f64>>,
    h: f64,
) -> PyResult<Contacts> {
    let frozen = |a: &Bound<'_, PyAny>| a.call_method1("setflags", (false,)).map(drop);
    frozen(bodies.bind(py))?;
    [&points, &normals, &impulses].iter().try_for_each(|a| frozen(a.bind(py)))?;
    [&gaps, &friction].iter().try_for_each(|a| frozen(a.bind(py)))?;
    Ok(Contacts { bodies, points, normals, gaps, friction, impulses, h })
}

#[pymethods]
impl Contacts {
    /// Forces on the first body, mean values over the step, (n, 3), N: the impulses divided by the step.
    #[getter]
    fn forces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.impulses.bind(py).as_any().div(self.h)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.gaps.bind(py).len()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("drystone._drystone")?.getattr("_contacts")?;
        let columns = (
            self.bodies.clone_ref(py),
            self.points.clone_ref(py),
            self.normals.clone_ref(py),
            self.gaps.clone_ref(py),
            self.friction.clone_ref(py),
            self.impulses.clone_ref(py),
            self.h,
        );
        (make, columns).into_pyobject(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<{} contacts>", self.__len__(py))
    }
}
