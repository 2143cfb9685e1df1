//! Snapshot files (`drystone run --snapshots`): positions and velocities at a few times. Shapes are those of
//! the scene.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use drystone::{Motion, World};
use drystone_scene::{Scene, SceneError};
use glam::{DQuat, DVec3};
use serde_json::Value;

use crate::frames::{Hello, Recorder, Store};
use crate::snapshot::Snapshot;

/// A time and 13 numbers for each body that is not static.
type Snap = (f64, Vec<[f64; 13]>);

/// What a snapshot file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshots {
    /// Name of the scene.
    pub scene: String,
    snaps: Vec<Snap>,
}

/// Whether a file looks like one of snapshots; false for what cannot be read.
pub fn is_snapshots(path: &Path) -> bool {
    let read = || {
        let mut text = Vec::new();
        open(path).ok()?.take(4096).read_to_end(&mut text).ok()?;
        // Scenes and states have no engine.
        let word = b"\"engine\"";
        Some(text.windows(word.len()).any(|w| w == word))
    };
    path.is_file() && read().unwrap_or(false)
}

/// A file, unpacked if its name says that it is packed.
fn open(path: &Path) -> std::io::Result<Box<dyn Read>> {
    let file = std::fs::File::open(path)?;
    let packed = path.extension().is_some_and(|e| e == "gz");
    Ok(if packed { Box::new(flate2::read::MultiGzDecoder::new(file)) } else { Box::new(file) })
}

impl Snapshots {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, SceneError> {
        let fail = |message: String| SceneError { file: Some(path.into()), ..SceneError::new(message) };
        let mut text = String::new();
        open(path).and_then(|mut f| f.read_to_string(&mut text)).map_err(|e| fail(e.to_string()))?;
        let file: Value = serde_json::from_str(&text).map_err(|e| fail(e.to_string()))?;
        let scene = file["scene"].as_str().ok_or_else(|| fail("the field 'scene' is missing".into()))?;
        let snaps: Vec<Snap> = serde_json::from_value(file["snaps"].clone())
            .map_err(|e| fail(format!("snaps: must be [time, [13 numbers a body]]: {e}")))?;
        if snaps.is_empty() {
            return Err(fail("there is no snapshot in it".into()));
        }
        Ok(Self { scene: scene.into(), snaps })
    }

    /// Frames of the snapshots, with the shapes of a scene's world.
    pub fn frames(&self, scene: &Scene, world: &World) -> Result<Arc<Store>, SceneError> {
        let hello = Hello { title: format!("{} snapshots", self.snaps.len()), ..Hello::of(scene, world) };
        let store = Arc::new(Store::new(hello, usize::MAX));
        let mut recorder: Option<Recorder> = None;
        let model = world.model();
        let moving: Vec<usize> =
            model.slots().filter(|&i| model.bodies[i].motion != Motion::Static).collect();
        for (time, rows) in &self.snaps {
            if rows.len() != moving.len() {
                return Err(SceneError::new(format!(
                    "the snapshot at {time} s has {} bodies, the scene {}: name the scene with --scene, with the parameters it was run with",
                    rows.len(),
                    moving.len()
                )));
            }
            let fresh = recorder.is_none();
            let to = recorder.get_or_insert_with(|| Recorder::new(store.clone(), world, &scene.glass, 0.0));
            let mut now = Snapshot::of(to.stage(), world, None);
            (now.time, now.step) = (*time, (time / world.settings().h).round() as u64);
            for (slot, row) in moving.iter().zip(rows) {
                let Some(i) = to.stage().number(*slot) else { continue };
                now.position[i] = DVec3::new(row[0], row[1], row[2]);
                now.rotation[i] = DQuat::from_xyzw(row[4], row[5], row[6], row[3]);
                now.values[0][i] = DVec3::new(row[7], row[8], row[9]).length() as f32;
            }
            // The recorder has begun with the scene's own start: a snapshot of that time says the same.
            if !(fresh && *time == 0.0) {
                to.keep(&now);
            }
        }
        store.close("snapshots of a run: no contacts, and nothing between them");
        Ok(store)
    }
}
