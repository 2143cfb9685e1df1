//! What is missing is named, with what to do about it.

mod pretend;

use drystone_cuda::{Engine, Error};
use drystone_solve::{Solver, Stop};
use pretend::{open, problem, solver};

#[test]
fn no_driver() {
    let e = Engine::open(std::path::Path::new("libcuda-that-is-not-there.so.1")).err().unwrap();
    assert!(matches!(&e, Error::NoDriver { library, .. } if library.contains("not-there")), "{e}");
    let text = e.to_string();
    assert!(
        text.contains("no CUDA driver") && text.contains("install") && text.contains("--backend cpu"),
        "{text}"
    );
}

#[test]
fn an_old_driver() {
    let e = open("old", &["-DVERSION=12040", "-DNO_KERNELS"]).err().unwrap();
    let text = e.to_string();
    assert!(text.contains("12.4") && text.contains("13.0") && text.contains("update"), "{text}");
}

#[test]
fn no_device() {
    let e = open("none", &["-DDEVICES=0", "-DNO_KERNELS"]).err().unwrap();
    let text = e.to_string();
    assert!(text.contains("no CUDA device") && text.contains("CUDA_ERROR_NO_DEVICE"), "{text}");
    assert!(text.contains("nvidia-smi") && text.contains("CUDA_VISIBLE_DEVICES"), "{text}");
}

#[test]
fn an_old_device() {
    let e = open("aged", &["-DMAJOR=6", "-DNO_KERNELS"]).err().unwrap();
    assert!(e.to_string().contains("compute capability 6.0"), "{e}");
}

#[test]
fn too_little_memory() {
    let engine = open("small", &["-DMEMORY=100000"]).unwrap();
    let (problem, _) = problem("packing", &[("n", "220")], 40);
    let e = solver(&engine, "cuda-apgd").solve(&problem, None, &Stop::default()).unwrap_err();
    assert!(e.0.contains("too little device memory") && e.0.contains("MiB"), "{e}");
    assert!(matches!(engine.failure(), Some(Error::Memory { .. })));
}
