//! What was done to a run while it went on, by step: kept, written, read, and done again to the same bits.
//!
//! ```json
//! {"drystone_inputs": 1, "scene": "forklift", "set": [["program", "drive"]], "step_s": 0.005,
//!  "events": [[40, {"control": [0, 1.0]}], [900, "release"]],
//!  "end": {"step": 1200, "state_hash": "89ab..."}}
//! ```
//!
//! An event belongs to the step that it comes before: 0 is the first.

use std::path::Path;

use drystone::{BodyDef, BodyId, Shape, World};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::SceneError;
use crate::control::{Control, Driver};

/// Something that a driver does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Moves the control of this number to -1 to 1.
    Control(usize, f64),
    /// Pulls a body by a spring: its slot and generation, the point in its axes from its centre of mass, and
    /// where to (world), m.
    Drag(u32, u32, [f64; 3], [f64; 3]),
    /// Lets go of it.
    Release,
    /// Adds a ball (radius) or cube (half its edge) at a place with a velocity: m, m/s.
    Add {
        /// Whether it is a cube.
        cube: bool,
        /// m
        size: f64,
        /// m
        at: [f64; 3],
        /// m/s
        velocity: [f64; 3],
    },
    /// Caps the iterations of every island from now on: what keeps a run in real time.
    Iterations(usize),
    /// Gravity from now on, m/s².
    Gravity([f64; 3]),
}

/// Where a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Steps done.
    pub step: u64,
    /// The state's hash, hexadecimal.
    pub state_hash: String,
}

/// All that was done, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputLog {
    /// Version of the file: 1.
    pub drystone_inputs: u32,
    /// The scene, as on the command line.
    pub scene: String,
    /// Its parameters that were set.
    pub set: Vec<(String, String)>,
    /// Tells the content of the scene's file, and of what it includes, from others, hexadecimal; none for
    /// scenes of the gallery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene_sum: Option<String>,
    /// s
    pub step_s: f64,
    /// Step that it comes before, and what.
    pub events: Vec<(u64, Input)>,
    /// Where it ended, once it has.
    #[serde(default)]
    pub end: Option<End>,
}

fn sum(scene: &str) -> Option<String> {
    crate::sum_of_files(scene).map(|sum| format!("{sum:016x}"))
}

/// Most events that are kept or read.
pub const MOST_EVENTS: usize = 5_000_000;

impl InputLog {
    /// Nothing done yet.
    pub fn new(scene: &str, set: &[(String, String)], step_s: f64) -> Self {
        let (scene_sum, set) = (sum(scene), set.to_vec());
        Self {
            drystone_inputs: 1,
            scene: scene.to_string(),
            set,
            scene_sum,
            step_s,
            events: Vec::new(),
            end: None,
        }
    }

    /// Whether the scene's file has changed since; false where nobody has noted what it was.
    pub fn is_of_another_file(&self) -> bool {
        self.scene_sum.is_some() && self.scene_sum != sum(&self.scene)
    }

    /// Notes where the run is.
    pub fn finish(&mut self, world: &World) {
        let s = world.state();
        self.end = Some(End { step: s.step, state_hash: format!("{:016x}", s.hash()) });
    }

    /// The file's text.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, SceneError> {
        let fail = |message: String| SceneError { file: Some(path.into()), ..SceneError::new(message) };
        let text = std::fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
        let log: Self = serde_json::from_str(&text).map_err(|e| {
            fail(format!("not a file of inputs, as `drystone live --inputs` writes them: {e}"))
        })?;
        if log.drystone_inputs != 1 {
            return Err(fail(format!("inputs of version {}, this program reads 1", log.drystone_inputs)));
        }
        if let Some(w) = log.events.windows(2).find(|w| w[0].0 > w[1].0) {
            return Err(fail(format!("the steps of events must not fall, got {} then {}", w[0].0, w[1].0)));
        }
        if log.events.len() > MOST_EVENTS {
            return Err(fail(format!("{} events are too many: at most {MOST_EVENTS}", log.events.len())));
        }
        Ok(log)
    }
}

/// A spring between a point of a body and a point of the world.
#[derive(Clone, Copy, Debug)]
struct Pull {
    body: BodyId,
    point: DVec3,
    to: DVec3,
}

/// How stiff the spring is: rad/s of a body that hangs on it, and at most this over the step.
const PULL: [f64; 2] = [12.0, 0.3];
/// Largest force of the spring, in weights of the body on earth.
const STRONGEST: f64 = 60.0 * 9.81;

/// The body at rest that [`Input::Add`] adds.
pub fn added(cube: bool, size: f64, at: [f64; 3]) -> BodyDef {
    let shape = match cube {
        true => Shape::Box { half: DVec3::splat(size) },
        false => Shape::Sphere { radius: size },
    };
    BodyDef::solid(shape, 1000.0).at(at.into()).friction(0.5)
}

/// Does inputs to a world.
#[derive(Clone, Debug)]
pub struct Steering {
    driver: Driver,
    pull: Option<Pull>,
}

impl Steering {
    /// Of a scene with these controls.
    pub fn new(controls: Vec<Control>, world: &World) -> Self {
        Self { driver: Driver::new(controls, world), pull: None }
    }

    /// The controls and where they are.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// The point that is pulled and where to, m.
    pub fn pulled(&self, world: &World) -> Option<[DVec3; 2]> {
        let p = self.pull?;
        world.model().contains(p.body).then(|| {
            let (s, i) = (world.state(), p.body.slot as usize);
            [s.position[i] + s.rotation[i] * p.point, p.to]
        })
    }

    /// Takes an input, between steps. What cannot be done (a body that is gone, one that does not fit) is
    /// told and left.
    pub fn take(&mut self, world: &mut World, input: &Input) -> Result<(), String> {
        match input {
            Input::Control(number, value) => self.driver.set(world, *number, *value),
            Input::Drag(slot, generation, point, to) => {
                let body = BodyId { slot: *slot, generation: *generation };
                self.pull = Some(Pull { body, point: (*point).into(), to: (*to).into() });
            }
            Input::Release => self.pull = None,
            Input::Add { cube, size, at, velocity } => {
                let body = added(*cube, *size, *at).moving((*velocity).into(), DVec3::ZERO);
                world.add_body(body).map_err(|e| e.to_string())?;
            }
            Input::Iterations(n) => {
                let settings = drystone::Settings { iterations: *n, ..world.settings().clone() };
                world.set_settings(settings).map_err(|e| e.to_string())?;
            }
            Input::Gravity(g) => {
                let settings = drystone::Settings { gravity: (*g).into(), ..world.settings().clone() };
                world.set_settings(settings).map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    }

    /// Commands and forces of the next step: call it before every one.
    pub fn before_step(&mut self, world: &mut World) {
        self.driver.before_step(world);
        let Some(pull) = self.pull else { return };
        if !world.model().contains(pull.body) {
            self.pull = None;
            return;
        }
        let i = pull.body.slot as usize;
        let mass = world.model().bodies[i].mass.mass;
        if world.model().bodies[i].inv_mass == 0.0 {
            return;
        }
        let omega = PULL[0].min(PULL[1] / world.settings().h);
        let s = world.state();
        let at = s.position[i] + s.rotation[i] * pull.point;
        let v = s.velocity_at(i, at);
        let force = mass * (omega * omega * (pull.to - at) - 2.0 * omega * v);
        let force = force.clamp_length_max(STRONGEST * mass);
        let _ = world.wake(pull.body);
        let _ = world.apply_force(pull.body, force, Some(at));
    }
}

/// Does the inputs of a log again, each before its step.
pub struct Replay {
    log: InputLog,
    next: usize,
    steering: Steering,
}

impl Replay {
    /// On a world at its start.
    pub fn new(log: InputLog, controls: Vec<Control>, world: &World) -> Self {
        Self { log, next: 0, steering: Steering::new(controls, world) }
    }

    /// Steps of the log, if it says where it ended.
    pub fn end(&self) -> Option<&End> {
        self.log.end.as_ref()
    }

    /// Call it before every step.
    pub fn before_step(&mut self, world: &mut World) -> Result<(), String> {
        while let Some((step, input)) = self.log.events.get(self.next).filter(|e| e.0 <= world.state().step) {
            let told = self.known(world, input).and_then(|()| self.steering.take(world, input));
            told.map_err(|e| format!("inputs: event {} before step {step}: {e}", self.next))?;
            self.next += 1;
        }
        self.steering.before_step(world);
        Ok(())
    }

    /// Refuses controls and bodies that there are not: a live run notes none.
    fn known(&self, world: &World, input: &Input) -> Result<(), String> {
        match input {
            Input::Control(number, _) if *number >= self.steering.driver().controls().len() => {
                let count = self.steering.driver().controls().len();
                Err(format!("there is no control {number}: the scene has {count}, numbered from 0"))
            }
            Input::Drag(slot, generation, ..)
                if !world.model().contains(BodyId { slot: *slot, generation: *generation }) =>
            {
                Err(format!("there is no body {slot} of generation {generation}"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the run ended as the log says; None while it is not at that step.
    pub fn agrees(&self, world: &World) -> Option<bool> {
        let end = self.end().filter(|e| e.step == world.state().step)?;
        Some(end.state_hash == format!("{:016x}", world.state().hash()))
    }
}
