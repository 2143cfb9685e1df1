//! The flat state that every engine starts from, and the file of snapshots that every engine leaves.

use serde::{Deserialize, Serialize};

/// Bodies, joints and the times at which to look at them. SI units, z up.
#[derive(Deserialize)]
pub struct State {
    pub name: String,
    pub h: f64,
    #[serde(rename = "T")]
    pub time: f64,
    pub gravity: [f64; 3],
    pub mu: f64,
    pub restitution: f64,
    #[serde(default)]
    pub snaps: Vec<f64>,
    pub statics: Vec<Static>,
    pub bodies: Vec<Body>,
    #[serde(default)]
    pub joints: Vec<Joint>,
}

#[derive(Deserialize)]
pub struct Static {
    pub shape: String,
    #[serde(default)]
    pub half: [f64; 3],
    pub pos: [f64; 3],
    #[serde(default = "identity")]
    pub quat: [f64; 4],
}

#[derive(Deserialize)]
pub struct Body {
    pub shape: String,
    #[serde(default)]
    pub r: f64,
    #[serde(default)]
    pub half: [f64; 3],
    pub m: f64,
    /// Principal moments of inertia.
    #[serde(rename = "I")]
    pub inertia: [f64; 3],
    pub pos: [f64; 3],
    /// w, x, y, z.
    pub quat: [f64; 4],
    pub vel: [f64; 3],
    pub omega: [f64; 3],
    /// Bodies of one group other than 0 pass through each other.
    pub group: u32,
}

/// Anchor and axis in the world, at the start; -1 is the world.
#[derive(Deserialize)]
pub struct Joint {
    #[serde(rename = "type")]
    pub kind: String,
    pub a: i64,
    pub b: i64,
    pub anchor: [f64; 3],
    pub axis: [f64; 3],
    pub drive: Option<Drive>,
}

#[derive(Deserialize)]
pub struct Drive {
    pub mode: String,
    pub target: f64,
    pub kp: f64,
    pub kd: f64,
    pub fmax: f64,
}

/// Position, quaternion (w first), velocity and angular velocity in the world.
pub type Row = [f64; 13];

#[derive(Serialize)]
pub struct Snapshots {
    pub engine: &'static str,
    pub setting: String,
    pub scene: String,
    pub threads: usize,
    pub steps: usize,
    pub cut: bool,
    /// Mean CPU milliseconds of the last hundred steps, and of all.
    pub cpu_last100: f64,
    pub cpu_all: f64,
    pub snaps: Vec<(f64, Vec<Row>)>,
    pub extra: Extra,
}

#[derive(Serialize)]
pub struct Extra {
    /// Points with a normal impulse in the last step, where the engine lists each once.
    pub contacts: Option<usize>,
    /// Largest friction force beyond mu times the normal force in the last substep, N.
    pub friction_excess_n: f64,
}

fn identity() -> [f64; 4] {
    [1.0, 0.0, 0.0, 0.0]
}

/// Milliseconds of processor time this process has used.
pub fn cpu_ms() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec; the clock is one that every Linux has.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 * 1e-6
}
