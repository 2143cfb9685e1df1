//! How fast a sweep takes its contacts from memory, against how fast this machine can [Williams2009].
//!
//! A sweep does some fifty operations a contact on what it streams, so that the bandwidth of wherever its
//! contacts are (a cache, or memory) is its roof. That roof is measured in the same run, on as many bytes as
//! the contacts take and by as many threads: y ← y + s x, two numbers read and one written.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::Serialize;

/// Seconds that a measurement goes on for.
const TIME: Duration = Duration::from_millis(100);
/// Numbers a task takes at a time.
const CHUNK: usize = 1 << 13;

/// One line of the roofline.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Roofline {
    /// Read and written of a contact in one sweep; velocities of bodies, which stay in the cache, are not
    /// counted.
    pub bytes_per_contact_iteration: f64,
    /// That, over the time of a contact and iteration, preparing the solve included.
    pub gb_per_s: f64,
    /// What a plain loop reaches on as many bytes.
    pub stream_gb_per_s: f64,
    /// The one over the other.
    pub share: f64,
}

/// What a sweep of `pgs` reads and writes a contact, bytes: 40 and 12 of them again for grains in f32, 120
/// and 24 of them again in f64. None for solvers that sweep differently.
pub fn bytes(solver: &str, grains: bool) -> Option<f64> {
    let (name, parameters) = solver.split_once(':').unwrap_or((solver, ""));
    let single = grains && !parameters.contains("precision=double");
    match (name, single) {
        ("pgs", true) => Some(40.0 + 12.0),
        ("pgs", false) => Some(120.0 + 24.0),
        _ => None,
    }
}

impl Roofline {
    /// From what was measured of a solver.
    pub fn new(bytes: f64, ns_per_contact_iteration: f64, contacts: usize) -> Self {
        let stream = stream(contacts * bytes as usize);
        let gb_per_s = bytes / ns_per_contact_iteration;
        Self {
            bytes_per_contact_iteration: bytes,
            gb_per_s,
            stream_gb_per_s: stream,
            share: gb_per_s / stream,
        }
    }
}

/// Bandwidth of y ← y + s x over about `bytes` of memory, GB/s: the best of several passes, since all that
/// can happen to one is to be disturbed.
pub fn stream(bytes: usize) -> f64 {
    let n = (bytes / 16).max(CHUNK);
    let x = vec![1.0f64; n];
    let mut y = vec![0.5f64; n];
    let pass = |y: &mut [f64], s: f64| {
        let start = Instant::now();
        let one = |y: &mut [f64], x: &[f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y += s * x);
        if rayon::current_num_threads() == 1 {
            one(y, black_box(&x));
        } else {
            y.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).for_each(|(y, x)| one(y, black_box(x)));
        }
        black_box(y);
        start.elapsed()
    };
    let (begin, mut best) = (Instant::now(), Duration::MAX);
    while begin.elapsed() < TIME {
        // Several passes at a time: one over a small array is shorter than the clock can tell.
        let repeats = (1 << 20) / n + 1;
        let sum: Duration = (0..repeats).map(|_| pass(&mut y, 1e-9)).sum();
        best = best.min(sum / repeats as u32);
    }
    24.0 * n as f64 / best.as_secs_f64() * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_has_a_bandwidth() {
        let small = stream(1 << 16);
        assert!(small > 0.1 && small < 1e5, "{small} GB/s");
    }

    #[test]
    fn bytes_are_those_of_the_form() {
        assert_eq!(bytes("pgs", true), Some(52.0));
        assert_eq!(bytes("pgs:precision=double", true), Some(144.0));
        assert_eq!(bytes("pgs:omega=0.9", false), Some(144.0));
        assert_eq!(bytes("apgd", true), None);
    }

    #[test]
    fn share_is_one_over_the_other() {
        let r = Roofline::new(52.0, 5.2, 1000);
        assert!((r.gb_per_s - 10.0).abs() < 1e-12);
        assert!((r.share * r.stream_gb_per_s - 10.0).abs() < 1e-9);
    }
}
