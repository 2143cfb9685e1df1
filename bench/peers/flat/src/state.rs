//! The flat state that every engine starts from, and the file of snapshots that every engine leaves.

use serde::{Deserialize, Serialize};

use crate::frame::{Quaternion, Vector, dot, minus, normalized, rotated};

/// Bodies, joints and the times at which to look at them. SI units, z up.
#[derive(Deserialize)]
pub struct State {
    pub name: String,
    pub h: f64,
    #[serde(rename = "T")]
    pub time: f64,
    pub gravity: Vector,
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
    pub half: Vector,
    pub pos: Vector,
    #[serde(default = "identity")]
    pub quat: Quaternion,
}

/// A static box.
pub struct Solid {
    pub half: Vector,
    pub pos: Vector,
    pub quat: Quaternion,
}

impl State {
    /// The statics as boxes, for engines without half-spaces: a plane is the upper face of a box of its `half`, or
    /// where it has none of one that reaches well beyond the bodies.
    pub fn solids(&self) -> Result<Vec<Solid>, String> {
        let farthest = self.bodies.iter().map(|b| dot(b.pos, b.pos).sqrt()).fold(0.0, f64::max);
        let beyond = 2.0 * farthest + 10.0;
        self.statics.iter().map(|s| s.solid([beyond, beyond, 1.0])).collect()
    }
}

impl Static {
    fn solid(&self, beyond: Vector) -> Result<Solid, String> {
        let quat = normalized(self.quat);
        match self.shape.as_str() {
            "box" => Ok(Solid { half: self.half, pos: self.pos, quat }),
            "plane" => {
                let half = if self.half == [0.0; 3] { beyond } else { self.half };
                Ok(Solid { half, pos: minus(self.pos, rotated(quat, [0.0, 0.0, half[2]])), quat })
            }
            other => Err(format!("statics: shape {other} is not supported")),
        }
    }
}

#[derive(Deserialize)]
pub struct Body {
    pub shape: String,
    #[serde(default)]
    pub r: f64,
    #[serde(default)]
    pub half: Vector,
    pub m: f64,
    /// Principal moments of inertia.
    #[serde(rename = "I")]
    pub inertia: Vector,
    pub pos: Vector,
    /// w, x, y, z.
    pub quat: Quaternion,
    pub vel: Vector,
    pub omega: Vector,
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
    pub anchor: Vector,
    pub axis: Vector,
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
    /// Largest friction force beyond mu times the normal force in the last substep, N, where the engine gives forces.
    pub friction_excess_n: Option<f64>,
}

fn identity() -> Quaternion {
    [1.0, 0.0, 0.0, 0.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(statics: &str) -> State {
        let text = format!(
            r#"{{"name": "", "h": 0.01, "T": 1, "gravity": [0, 0, -9.81], "mu": 0.5, "restitution": 0, "bodies": [], "statics": {statics}}}"#
        );
        serde_json::from_str(&text).expect("a flat state")
    }

    #[test]
    fn a_plane_is_the_upper_face_of_its_box() {
        let known = r#"[{"shape": "plane", "half": [5, 6, 2], "pos": [1, 2, 3]}]"#;
        let solid = &state(known).solids().expect("a box")[0];
        assert_eq!((solid.half, solid.pos), ([5.0, 6.0, 2.0], [1.0, 2.0, 1.0]));
        let endless = &state(r#"[{"shape": "plane", "pos": [0, 0, 3]}]"#).solids().expect("a box")[0];
        assert_eq!(endless.pos[2] + endless.half[2], 3.0);
        assert!(endless.half.iter().all(|&x| x > 0.0));
    }

    #[test]
    fn other_statics_are_refused() {
        assert!(state(r#"[{"shape": "torus", "pos": [0, 0, 0]}]"#).solids().is_err());
    }
}
