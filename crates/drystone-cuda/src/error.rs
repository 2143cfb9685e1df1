//! What can be missing, and what to do about it.

/// Why a device cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The driver's library could not be loaded.
    #[error(
        "no CUDA driver: {library} could not be loaded ({reason}); install NVIDIA's driver (580 or newer), or use --backend cpu"
    )]
    NoDriver {
        /// The library's name.
        library: String,
        /// What the system's loader said.
        reason: String,
    },
    /// The driver lacks a function or is older than the kernels.
    #[error(
        "the CUDA driver is too old: it supports CUDA {}, the kernels need {}; update NVIDIA's driver to 580 or newer, or use --backend cpu",
        version(*found), version(*needed)
    )]
    OldDriver {
        /// 1000 major + 10 minor.
        found: i32,
        /// The same, of the kernels.
        needed: i32,
    },
    /// There is a driver and no device.
    #[error(
        "no CUDA device: the driver sees none ({reason}); check that nvidia-smi lists one and that CUDA_VISIBLE_DEVICES does not hide it, or use --backend cpu"
    )]
    NoDevice {
        /// What the driver said.
        reason: String,
    },
    /// The device is older than the kernels.
    #[error(
        "the device is too old: {name} has compute capability {major}.{minor}, the kernels need 7.5 (Turing) or newer; use --backend cpu"
    )]
    OldDevice {
        /// The device.
        name: String,
        /// Compute capability.
        major: i32,
        /// Compute capability.
        minor: i32,
    },
    /// The problem does not fit.
    #[error(
        "too little device memory: this problem needs {} MiB more, {name} has {} MiB free; free some, make the scene smaller, or use --backend cpu",
        needed >> 20, free >> 20
    )]
    Memory {
        /// The device.
        name: String,
        /// Bytes that were asked for.
        needed: usize,
        /// Bytes that are free.
        free: usize,
    },
    /// A call of the driver failed.
    #[error("CUDA driver: {call} failed: {reason}; use --backend cpu if that stays")]
    Call {
        /// The function.
        call: &'static str,
        /// The driver's name for the error, and its text.
        reason: String,
    },
    /// The problem is of a kind that is not solved on devices.
    #[error("--backend cuda: {0}")]
    Unsupported(String),
}

fn version(v: i32) -> String {
    format!("{}.{}", v / 1000, v % 1000 / 10)
}
