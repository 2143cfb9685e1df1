//! Cone complementarity problems solved on an NVIDIA GPU.
//!
//! The crate builds without CUDA and needs nothing but NVIDIA's driver where it runs: kernels are shipped as
//! PTX, which the driver compiles for the device that it finds. [`devices`] says what there is, [`install`]
//! makes `cuda-apgd`, `cuda-pgj` and `cuda-auto` known to [`drystone_solve::solver::make`], and an [`Error`]
//! says which of driver, device and memory is missing and what to do.
//!
//! Certificates are in f64; worlds of balls iterate in f32, all other problems in f64. No sum depends on the
//! launch geometry, nothing is contracted to fused multiply-adds, and the tests run the same kernel text as
//! plain C, bit for bit: see `docs/guide/cuda.md`.

pub mod backend;
mod driver;
mod engine;
mod error;
mod grains;
pub mod kernels;
mod layout;
mod matrix;
mod pack;
mod solids;
mod solver;
mod usage;
mod watch;
mod world;

pub use driver::Device;
pub use engine::{Engine, devices};
pub use error::Error;
pub use grains::{GrainMethod, GrainsError, GrainsOnDevice};
pub use solids::SolidsOnDevice;
pub use solver::{APGD, AUTO, CudaSolver, Geometry, Method, PGJ};
pub use usage::Usage;

/// Opens the first device and makes its solvers known by name.
pub fn install() -> Result<std::sync::Arc<Engine>, Error> {
    let engine = Engine::shared()?;
    drystone_solve::solver::install(&APGD);
    drystone_solve::solver::install(&PGJ);
    drystone_solve::solver::install(&AUTO);
    Ok(engine)
}
