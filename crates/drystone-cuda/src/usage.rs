//! What a device was used for: counts, times and bytes.

use serde::Serialize;

/// Sums over all solves of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Problems solved.
    pub solves: u64,
    /// Iterations.
    pub iterations: u64,
    /// Σ of blocks times iterations.
    pub block_iterations: u64,
    /// Σ of bodies times iterations.
    pub body_iterations: u64,
    /// Writing problems into the form of the device, s.
    pub pack_s: f64,
    /// Copies to the device, s.
    pub upload_s: f64,
    /// Kernels, and waiting for them, s.
    pub iterate_s: f64,
    /// Copies of multipliers from the device, s.
    pub download_s: f64,
    /// The judge's time on the CPU, s.
    pub judge_s: f64,
    /// Bytes to the device.
    pub upload_bytes: u64,
    /// Bytes from the device.
    pub download_bytes: u64,
    /// Device memory held, most so far, bytes.
    pub device_bytes: u64,
}

impl Usage {
    /// Share of copies in the time of all solves.
    pub fn transfer_share(&self) -> f64 {
        let all = self.pack_s + self.upload_s + self.iterate_s + self.download_s + self.judge_s;
        if all > 0.0 { (self.upload_s + self.download_s) / all } else { 0.0 }
    }
}
