//! Flat states written by the tests themselves.

use serde_json::{Value, json};

/// A ball of radius 0.5 m and mass 1 kg at rest.
pub fn ball(pos: [f64; 3]) -> Value {
    ball_of(pos, 0.5, 1.0)
}

/// A homogeneous ball at rest.
pub fn ball_of(pos: [f64; 3], r: f64, m: f64) -> Value {
    json!({"shape": "sphere", "r": r, "m": m, "I": [0.4 * m * r * r, 0.4 * m * r * r, 0.4 * m * r * r], "pos": pos,
           "quat": [1, 0, 0, 0], "vel": [0, 0, 0], "omega": [0, 0, 0], "group": 0})
}

/// The half-space below z = 0.
pub fn floor() -> Value {
    json!({"shape": "plane", "pos": [0, 0, 0]})
}

/// A state with h = 0.01 s, T = 0.5 s and friction 0.4.
pub fn state(bodies: Vec<Value>, statics: Vec<Value>) -> Value {
    json!({"name": "made", "h": 0.01, "T": 0.5, "gravity": [0, 0, -9.81], "mu": 0.4, "restitution": 0,
           "statics": statics, "bodies": bodies, "joints": []})
}

/// The 13 numbers of each body at a snapshot, by the snapshot's number.
pub fn snapshot(file: &Value, k: usize) -> Vec<[f64; 13]> {
    let rows = file["snaps"][k][1].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let row: Vec<f64> = row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
            row.try_into().unwrap_or_else(|r: Vec<f64>| panic!("{} numbers instead of 13", r.len()))
        })
        .collect()
}

/// Length of three numbers.
pub fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}
