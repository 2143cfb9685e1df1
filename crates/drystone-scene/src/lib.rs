//! Scenes: the gallery of named ones, scene files, and flat states.
//!
//! A [`Scene`] is data: bodies, settings, and what to measure. [`load`] makes one from a gallery name or a
//! file.

mod check;
pub mod control;
mod expression;
mod file;
pub mod flat;
pub mod gallery;
pub mod import;
pub mod inputs;
mod load;
mod measure;
mod measurement;
pub mod memory;
pub mod mesh;
mod probe;
pub mod problem;
pub mod record;
mod text;
pub mod zoo;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use drystone::{BodyDef, JointDef, Settings, World};
use serde_json::Value;

pub use check::{Assembled, assemble, check, overlaps, placed};
pub use file::{Parameter, change_settings, limit_bodies, schema};
pub use load::{FileKind, files, kind_of, load, parameters, sum_of_files};
pub use measurement::Measurement;
pub use memory::Memory;

/// `--set KEY=VALUE` in the order given.
pub(crate) type Overrides = Vec<(String, String)>;

/// Moves the kinematic bodies of a scene: called before every step. It may depend on the world alone, so that
/// a run goes on from a saved state as it would have.
pub type Drive = Arc<dyn Fn(&mut World) + Send + Sync>;

/// What a scene does beside its bodies: measures while it runs and says at the end (the report's
/// `scene_results`), moves what is driven, and tells pictures what to show.
pub trait Probe: Send {
    /// Called before the first step, if the run is not resumed.
    fn begin(&mut self, _world: &World) {}
    /// Called after every step.
    fn observe(&mut self, _world: &World) {}
    /// Whether it has to see every step: a world on a device stays there for those that have not.
    fn observes(&self) -> bool {
        true
    }
    /// Shows everything that [`Probe::observe`] changes, so that a run can be resumed; nothing where it
    /// changes nothing.
    fn memory(&mut self, memory: &mut Memory);
    /// Called at the end.
    fn results(&mut self, world: &World) -> BTreeMap<String, Value>;
    /// Names of what it has for a row of a table, with units.
    fn columns(&self) -> Vec<String> {
        Vec::new()
    }
    /// The values of [`Probe::columns`] now; NaN for what is not known. Rates are means since the row before.
    fn row(&mut self, _world: &World) -> Vec<f64> {
        Vec::new()
    }
    /// What moves its kinematic bodies, if their velocities change.
    fn drive(&self) -> Option<Drive> {
        None
    }
    /// What joins the scene's bodies: body number i of the scene is `BodyId { slot: i, generation: 0 }`.
    fn joints(&self) -> Vec<JointDef> {
        Vec::new()
    }
    /// Laws of contact beside the friction that its bodies say themselves.
    fn materials(&self) -> drystone::Materials {
        Default::default()
    }
    /// What comes and goes while it runs.
    fn flow(&self) -> drystone::Flow {
        Default::default()
    }
    /// Force fields beside gravity.
    fn fields(&self) -> Vec<drystone::Field> {
        Vec::new()
    }
    /// What a driver can move, in a live run.
    fn controls(&self) -> Vec<control::Control> {
        Vec::new()
    }
    /// Why the run is to end before its time; asked after [`Probe::observe`].
    fn stop(&self) -> Option<String> {
        None
    }
    /// What pictures show by `--colour scene`, if the scene has something to show.
    fn paint(&self, _world: &World) -> Option<Paint> {
        None
    }
}

/// A quantity for pictures, by body slot.
#[derive(Clone, Debug, PartialEq)]
pub struct Paint {
    /// What it is.
    pub label: String,
    /// Its unit; empty for a bare number.
    pub unit: String,
    /// One value for each slot; one that is not a number leaves the body grey.
    pub values: Vec<f64>,
}

/// Everything needed to run, picture or write down a scene.
pub struct Scene {
    /// Gallery name, or the name a file gives itself.
    pub name: String,
    /// One line.
    pub title: String,
    /// Where it comes from, a key of REFERENCES.bib and a place.
    pub citation: Option<String>,
    /// The scene's own step, gravity and solver settings.
    pub settings: Settings,
    /// How long it runs, s.
    pub duration: f64,
    /// Seed of the world's random generator.
    pub seed: u64,
    /// Times at which snapshots are wanted, s.
    pub snaps: Vec<f64>,
    /// Materials that the bodies' shapes may name, and their pairs.
    pub materials: drystone::Materials,
    /// The bodies, those that can move first, then the static ones.
    pub bodies: Vec<BodyDef>,
    /// What joins them: body number i is `BodyId { slot: i, generation: 0 }`.
    pub joints: Vec<JointDef>,
    /// What comes and goes while it runs.
    pub flow: drystone::Flow,
    /// Force fields beside gravity.
    pub fields: Vec<drystone::Field>,
    /// What a driver can move, in a live run.
    pub controls: Vec<control::Control>,
    /// Indices of bodies that pictures leave out or draw as glass (walls in front of the camera).
    pub glass: Vec<usize>,
    /// Indices of bodies in the order of its file; empty where that is their own order.
    pub order: Vec<usize>,
    /// How it wants to be recorded.
    pub record: record::Record,
    /// What it measures.
    pub probe: Measurement,
}

/// A scene that cannot be loaded; says where and why.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.text())]
pub struct SceneError {
    /// The file, if it came from one.
    pub file: Option<PathBuf>,
    /// Line and column, from 1.
    pub place: Option<(usize, usize)>,
    /// The field, as a path: `bodies[3].m`.
    pub field: Option<String>,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl SceneError {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { file: None, place: None, field: None, message: message.into() }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(file) = &self.file {
            text += &file.display().to_string();
            if let Some((line, column)) = self.place {
                text += &format!(":{line}:{column}");
            }
            text += ": ";
        }
        if let Some(field) = &self.field {
            text += &format!("{field}: ");
        }
        text + &self.message
    }
}

impl Scene {
    /// The world at time zero, with settings that may differ from the scene's own.
    pub fn world(&self, settings: Settings) -> Result<World, SceneError> {
        self.world_of(self.bodies.iter().cloned(), settings)
    }

    /// The same from the scene's own bodies, which it has no longer afterwards: half of the memory where
    /// there are millions.
    pub fn take_world(&mut self, settings: Settings) -> Result<World, SceneError> {
        let bodies = std::mem::take(&mut self.bodies);
        self.world_of(bodies.into_iter(), settings)
    }

    fn world_of(
        &self,
        bodies: impl Iterator<Item = BodyDef>,
        settings: Settings,
    ) -> Result<World, SceneError> {
        let mut world = World::with_seed(settings, self.seed).map_err(|e| SceneError::new(e.to_string()))?;
        *world.materials_mut() = self.materials.clone();
        world.reserve(bodies.size_hint().0);
        for (i, body) in bodies.enumerate() {
            let name = body.name.clone();
            let field = |e: drystone::WorldError| SceneError {
                field: Some(name.unwrap_or_else(|| format!("bodies[{i}]"))),
                ..SceneError::new(e.to_string())
            };
            world.add_body(body).map_err(field)?;
        }
        for (i, joint) in self.joints.iter().enumerate() {
            let field = |e: drystone::WorldError| SceneError {
                field: Some(format!("joints[{i}]")),
                ..SceneError::new(e.to_string())
            };
            world.add_joint(joint.clone()).map_err(field)?;
        }
        for emitter in &self.flow.emitters {
            world.add_emitter(emitter.clone()).map_err(|e| SceneError::new(e.to_string()))?;
        }
        for sink in &self.flow.sinks {
            world.add_sink(*sink).map_err(|e| SceneError::new(e.to_string()))?;
        }
        for (i, field) in self.fields.iter().enumerate() {
            world.add_field(field.clone()).map_err(|e| SceneError {
                field: Some(format!("field[{i}]")),
                ..SceneError::new(e.to_string())
            })?;
        }
        if let Some(drive) = self.probe.drive() {
            world.before_step(move |world| drive(world));
        }
        Ok(world)
    }
}
