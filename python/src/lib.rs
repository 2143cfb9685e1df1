//! drystone for Python: what `import drystone` finds. The names, types and docstrings are in
//! `python/drystone`.

mod arrays;
mod batch;
mod body;
mod collider;
mod convert;
mod errors;
mod events;
mod joint;
mod lend;
mod query;
mod recording;
mod report;
mod scene;
mod settings;
mod shape;
mod solve;
mod threads;
mod world;

use pyo3::prelude::*;

use convert::count;

/// As the command has it: what is the interpreter's or NumPy's stays with them.
#[global_allocator]
static ALLOCATOR: drystone_memory::Memory = drystone_memory::Memory;

/// How many threads there are: one a core unless [`set_threads`] said otherwise.
#[pyfunction(name = "threads")]
fn number_of_threads() -> usize {
    threads::number()
}

/// Sets the number of threads, before the first step.
#[pyfunction]
fn set_threads(#[pyo3(from_py_with = count)] n: usize) -> PyResult<()> {
    if n == 0 || n > 512 {
        return Err(errors::input(format!("threads must be between 1 and 512, got {n}")));
    }
    match threads::set_number(n) {
        true => Ok(()),
        false => Err(errors::input("threads can be set once, before the first step")),
    }
}

/// GPUs that solvers whose names begin with `cuda-` can use: name, memory and so on, as `drystone devices`
/// tells them. None if there is no driver.
#[pyfunction]
fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let Ok((_, all)) = drystone_cuda::devices() else { return Ok(Vec::new()) };
    let read = py.import("json")?.getattr("loads")?;
    all.iter().map(|d| read.call1((serde_json::to_string(d).map_err(errors::input)?,))).collect()
}

#[pymodule]
fn _drystone(m: &Bound<'_, PyModule>) -> PyResult<()> {
    threads::imported(m.py())?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("SETTINGS", settings::NAMES.to_vec())?;
    m.add_class::<world::PyWorld>()?;
    m.add_class::<world::PyState>()?;
    m.add_class::<collider::PyCollider>()?;
    m.add_class::<collider::BodyCollider>()?;
    m.add_class::<body::Body>()?;
    m.add_class::<joint::PyJoint>()?;
    m.add_class::<shape::PyShape>()?;
    m.add_class::<report::PyReport>()?;
    m.add_class::<arrays::Arrays>()?;
    m.add_class::<arrays::Contacts>()?;
    m.add_class::<events::ContactSeen>()?;
    m.add_class::<events::ContactEvent>()?;
    m.add_class::<events::SensorEvent>()?;
    m.add_class::<events::JointEvent>()?;
    m.add_class::<query::Hit>()?;
    m.add_class::<world::debug::Drawing>()?;
    m.add_class::<recording::PyRecording>()?;
    m.add_class::<scene::PyScene>()?;
    m.add_class::<scene::Run>()?;
    m.add_class::<solve::Solution>()?;
    m.add_class::<batch::Batch>()?;
    for f in [
        wrap_pyfunction!(shape::sphere, m)?,
        wrap_pyfunction!(shape::cuboid, m)?,
        wrap_pyfunction!(shape::capsule, m)?,
        wrap_pyfunction!(shape::cylinder, m)?,
        wrap_pyfunction!(shape::cone, m)?,
        wrap_pyfunction!(shape::ellipsoid, m)?,
        wrap_pyfunction!(shape::half_space, m)?,
        wrap_pyfunction!(shape::rounded, m)?,
        wrap_pyfunction!(shape::hull, m)?,
        wrap_pyfunction!(shape::mesh, m)?,
        wrap_pyfunction!(shape::height_field, m)?,
        wrap_pyfunction!(shape::compound, m)?,
        wrap_pyfunction!(scene::load, m)?,
        wrap_pyfunction!(scene::check, m)?,
        wrap_pyfunction!(scene::scenes, m)?,
        wrap_pyfunction!(scene::solvers, m)?,
        wrap_pyfunction!(solve::solve_file, m)?,
        wrap_pyfunction!(solve::solve_matrix, m)?,
        wrap_pyfunction!(solve::check_kind, m)?,
        wrap_pyfunction!(world::_state, m)?,
        wrap_pyfunction!(shape::_shape, m)?,
        wrap_pyfunction!(report::_report, m)?,
        wrap_pyfunction!(solve::_solution, m)?,
        wrap_pyfunction!(arrays::_contacts, m)?,
        wrap_pyfunction!(collider::_new_collider, m)?,
        wrap_pyfunction!(errors::spelled, m)?,
        wrap_pyfunction!(world::saved::_body, m)?,
        wrap_pyfunction!(world::saved::_collider, m)?,
        wrap_pyfunction!(world::saved::_joint, m)?,
        wrap_pyfunction!(world::record::recording_page, m)?,
        wrap_pyfunction!(devices, m)?,
        wrap_pyfunction!(threads::_forked, m)?,
        wrap_pyfunction!(number_of_threads, m)?,
        wrap_pyfunction!(set_threads, m)?,
    ] {
        m.add_function(f)?;
    }
    Ok(())
}
