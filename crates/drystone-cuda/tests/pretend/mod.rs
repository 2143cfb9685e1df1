//! A driver that runs the kernel text on the CPU, compiled for the tests.

// Each of the tests uses its part.
#![allow(dead_code)]

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use drystone_cuda::{CudaSolver, Engine, Error, Method, kernels};
use drystone_scene::load;
use drystone_solve::Problem;
use drystone_solve::solver::Spec;

/// Compiles the driver with options of its own, unless that was done before with the same sources; each name
/// has its own library.
pub fn library(name: &str, options: &[&str]) -> PathBuf {
    let source = include_str!("../driver/libcuda.c");
    let texts = kernels::SOURCES.iter().chain(options).chain([&source]);
    let hash = kernels::hash(texts.flat_map(|text| text.bytes()));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("driver-{name}-{hash:016x}"));
    std::fs::create_dir_all(&folder).unwrap();
    let out = folder.join("libcuda.so.1");
    if out.exists() {
        return out;
    }
    // Several tests may want the same library at the same time: each compiles its own, and the last one
    // stays.
    let own = folder.join(format!("{}-{:?}.so", std::process::id(), std::thread::current().id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/driver/libcuda.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let done = Command::new(compiler)
        .args(["-std=gnu11", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"])
        .args(options)
        .arg(source)
        .args(["-lm", "-lpthread", "-o"])
        .arg(&own)
        .status();
    assert!(done.expect("a C compiler is there").success(), "the kernel text compiles as C");
    std::fs::rename(&own, &out).unwrap();
    out
}

/// The device of a driver.
pub fn open(name: &str, options: &[&str]) -> Result<Arc<Engine>, Error> {
    Engine::open(&library(name, options)).map(Arc::new)
}

/// `cuda-apgd` or `cuda-pgj`.
pub fn solver(engine: &Arc<Engine>, text: &str) -> CudaSolver {
    let spec = Spec::parse(text).unwrap();
    let method = match spec.name.as_str() {
        "cuda-pgj" => Method::pgj(&spec),
        _ => Method::apgd(&spec),
    };
    CudaSolver::new(engine.clone(), method.unwrap()).unwrap()
}

/// The velocity problem of a scene's step, and the guess that warm-starts it.
pub fn problem(scene: &str, set: &[(&str, &str)], steps: usize) -> (Problem, Vec<f64>) {
    let set: Vec<(String, String)> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let mut scene = load(scene, &set).unwrap();
    let settings = scene.settings.clone();
    let mut world = scene.take_world(settings).unwrap();
    for _ in 1..steps {
        world.step().unwrap();
    }
    let (_, problem, guess) = world.step_keeping_problem().unwrap();
    (problem, guess)
}
