//! Where frames come from, and the store that a simulated scene fills.

use std::sync::{Arc, PoisonError, RwLock};

use drystone::{StepReport, World};
use drystone_scene::Scene;
use drystone_scene::control::Control;
use serde::Serialize;
use serde_json::{Value, json};

use crate::codec::{Encoder, VERSION};
use crate::snapshot::{CHANNELS, NUMBERS, Snapshot};
use crate::stage::{Stage, Told};

/// Every so many frames one is a key frame, from which a page can go on.
pub const KEY_EVERY: usize = 32;
/// All channels.
pub const ALL: u16 = (1 << CHANNELS.len()) - 1;

/// A parameter of a live run, as a page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Parameter {
    /// As `--set` calls it.
    pub name: String,
    /// Its value now; empty: as the scene says.
    pub value: String,
    /// Empty for bare numbers and words.
    pub unit: String,
    /// One line.
    pub about: String,
    /// Least and most, for a slider.
    pub range: Option<[f64; 2]>,
    /// The words that it may be.
    pub choices: Vec<String>,
    /// Whole numbers alone.
    pub whole: bool,
    /// Whether a page may change it. A word that the scene lists no choices for may be the name of a file,
    /// which is not for pages to say.
    pub open: bool,
}

/// What a page is told first.
#[derive(Clone, Debug, Default)]
pub struct Hello {
    /// Of the scene.
    pub name: String,
    /// One line.
    pub title: String,
    /// Step, s.
    pub step_s: f64,
    /// How long it is meant to run, s.
    pub duration_s: f64,
    /// Largest residual that was asked for, m/s.
    pub tolerance: f64,
    /// Which way is down, m/s².
    pub gravity: [f64; 3],
    /// A live run and not one to look at.
    pub live: bool,
    /// Of a recording, which may still grow.
    pub recording: bool,
    /// Parameters of a live run.
    pub parameters: Vec<Parameter>,
    /// What can be driven.
    pub controls: Vec<Control>,
    /// What in the scene's file is allowed but hardly meant, a line each.
    pub notes: Vec<String>,
}

impl Hello {
    /// Of a scene and its world.
    pub fn of(scene: &Scene, world: &World) -> Self {
        let s = world.settings();
        Self {
            name: scene.name.clone(),
            title: scene.title.clone(),
            step_s: s.h,
            duration_s: scene.duration,
            tolerance: s.tolerance,
            gravity: s.gravity.to_array(),
            ..Self::default()
        }
    }

    /// The message's text.
    pub fn json(&self) -> Value {
        let pairs = |all: &mut dyn Iterator<Item = (&str, &str)>| {
            all.map(|(name, unit)| json!({ "name": name, "unit": unit })).collect::<Vec<_>>()
        };
        json!({
            "version": VERSION,
            "program": format!("drystone {}", env!("CARGO_PKG_VERSION")),
            "name": self.name,
            "title": self.title,
            "step_s": self.step_s,
            "duration_s": self.duration_s,
            "tolerance": self.tolerance,
            "gravity": self.gravity,
            "live": self.live,
            "recording": self.recording,
            "key_every": KEY_EVERY,
            "channels": pairs(&mut CHANNELS.iter().map(|c| (c.name, c.unit))),
            "numbers": pairs(&mut NUMBERS.iter().copied()),
            "parameters": self.parameters,
            "controls": self.controls,
            "notes": self.notes,
        })
    }
}

/// Frames of a run, by number; more may come while one looks.
pub trait Frames: Send + Sync {
    /// What to tell a page first.
    fn hello(&self) -> Hello;
    /// What a page does not know yet of shapes, names and joints.
    fn stage(&self, told: &mut Told) -> Option<Vec<u8>>;
    /// Frames that there are.
    fn count(&self) -> usize;
    /// A frame as its message. Every [`KEY_EVERY`]-th can be read without those before it.
    fn frame(&self, number: usize) -> Option<Arc<[u8]>>;
    /// Whether no more will come, and what is to be said about it.
    fn end(&self) -> Option<String>;
}

#[derive(Default)]
struct Kept {
    stage: Stage,
    frames: Vec<Arc<[u8]>>,
    bytes: usize,
    end: Option<String>,
}

/// Encoded frames in memory.
pub struct Store {
    hello: Hello,
    kept: RwLock<Kept>,
    /// Bytes that it keeps at most.
    most: usize,
}

impl Store {
    /// An empty store that keeps at most so many bytes.
    pub fn new(hello: Hello, most: usize) -> Self {
        Self { hello, kept: RwLock::default(), most }
    }

    /// Bytes of all frames.
    pub fn bytes(&self) -> usize {
        self.read().bytes
    }

    /// No more will come.
    pub fn close(&self, why: impl Into<String>) {
        self.write().end.get_or_insert(why.into());
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Frames for Store {
    fn hello(&self) -> Hello {
        self.hello.clone()
    }
    fn stage(&self, told: &mut Told) -> Option<Vec<u8>> {
        self.read().stage.news(told)
    }
    fn count(&self) -> usize {
        self.read().frames.len()
    }
    fn frame(&self, number: usize) -> Option<Arc<[u8]>> {
        self.read().frames.get(number).cloned()
    }
    fn end(&self) -> Option<String> {
        self.read().end.clone()
    }
}

/// Puts a world's moments into a store.
pub struct Recorder {
    store: Arc<Store>,
    stage: Stage,
    encoder: Encoder,
    /// Least time between two frames, s.
    interval: f64,
    next: f64,
    /// Time of the last frame, s.
    kept: f64,
}

impl Recorder {
    /// Begins with the world as it is now.
    pub fn new(store: Arc<Store>, world: &World, glass: &[usize], interval: f64) -> Self {
        let stage = Stage::new(world, glass, 1);
        let now = world.state().time;
        let mut recorder = Self { store, stage, encoder: Encoder::default(), interval, next: now, kept: now };
        recorder.keep(&Snapshot::of(&recorder.stage, world, None));
        recorder
    }

    /// Keeps the moment after a step, if it is due. False once the store is full.
    pub fn observe(&mut self, world: &World, report: &StepReport) -> bool {
        let (time, h) = (world.state().time, world.settings().h);
        if time + 0.5 * h < self.next {
            return true;
        }
        self.stage.follow(world);
        self.keep(&Snapshot::of(&self.stage, world, Some(report)))
    }

    /// Keeps the last moment of a run, unless it is there: the end is seen, also where no frame is due.
    pub fn finish(&mut self, world: &World, report: &StepReport) {
        if world.state().time > self.kept && self.store.end().is_none() {
            self.stage.follow(world);
            self.keep(&Snapshot::of(&self.stage, world, Some(report)));
        }
    }

    /// Keeps a moment.
    pub fn keep(&mut self, now: &Snapshot) -> bool {
        (self.kept, self.next) = (now.time, now.time + self.interval);
        if (self.encoder.frames() as usize).is_multiple_of(KEY_EVERY) {
            self.encoder.restart();
        }
        let frame: Arc<[u8]> = self.encoder.encode(now, ALL, true).into();
        let mut kept = self.store.write();
        if kept.stage.epoch() != self.stage.epoch() || kept.stage.bodies() != self.stage.bodies() {
            kept.stage = self.stage.clone();
        }
        kept.bytes += frame.len();
        kept.frames.push(frame);
        let fits = kept.bytes < self.store.most;
        if !fits {
            let mib = kept.bytes >> 20;
            kept.end.get_or_insert(format!(
                "{mib} MiB of frames are as many as --memory allows: t = {:.2} s",
                now.time
            ));
        }
        fits
    }

    /// The stage so far.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Decoder;

    fn recorded(scene: &str, set: &[(&str, &str)], steps: usize, most: usize) -> (World, Arc<Store>) {
        let set: Vec<(String, String)> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let scene = drystone_scene::load(scene, &set).unwrap();
        let mut world = scene.world(scene.settings.clone()).unwrap();
        let store = Arc::new(Store::new(Hello::of(&scene, &world), most));
        let mut recorder = Recorder::new(store.clone(), &world, &scene.glass, 0.0);
        for _ in 0..steps {
            let report = world.step().unwrap();
            if !recorder.observe(&world, &report) {
                break;
            }
        }
        (world, store)
    }

    #[test]
    fn frames_are_the_worlds_moments() {
        let (world, store) = recorded("packing", &[("n", "60")], 40, usize::MAX);
        assert_eq!(store.count(), 41);
        // From the last key frame on, as a page would that has jumped there.
        let mut decoder = Decoder::default();
        let last = (KEY_EVERY..41).map(|k| decoder.read(&store.frame(k).unwrap()).unwrap()).last().unwrap();
        assert_eq!(last.time, world.state().time);
        let quantum = store.read().stage.quantum();
        for i in 0..60 {
            let off = (last.position[i] - world.state().position[i]).abs().max_element();
            assert!(off <= quantum, "{off} {quantum}");
            let v = world.state().velocity[i].length() as f32;
            assert!((last.values[0][i] - v).abs() <= 1e-3 * v + 1e-6);
        }
        assert_eq!(last.contacts.len(), world.contacts().len());
        let force = |f: glam::DVec3| f.length();
        let seen: f64 = last.contacts.iter().map(|c| force(c.force)).sum();
        let real: f64 = world.contacts().iter().map(|c| force(c.impulse) / world.settings().h).sum();
        assert!((seen - real).abs() <= 1e-3 * real, "{seen} {real}");
    }

    #[test]
    fn bodies_that_come_and_go_keep_their_numbers() {
        let (world, store) = recorded("hopper", &[("n", "60")], 120, usize::MAX);
        let mut told = Told::default();
        assert!(store.stage(&mut told).is_some());
        assert!(store.stage(&mut told).is_none(), "everything was told");
        let mut decoder = Decoder::default();
        let last =
            (0..store.count()).map(|k| decoder.read(&store.frame(k).unwrap()).unwrap()).last().unwrap();
        assert_eq!(last.alive.iter().filter(|a| **a).count(), world.model().slots().count());
    }

    #[test]
    fn the_end_is_a_frame_once() {
        let scene = drystone_scene::load("packing", &[("n".into(), "20".into())]).unwrap();
        let mut world = scene.world(scene.settings.clone()).unwrap();
        let store = Arc::new(Store::new(Hello::of(&scene, &world), usize::MAX));
        let h = world.settings().h;
        let mut recorder = Recorder::new(store.clone(), &world, &scene.glass, 4.0 * h);
        // Frames of steps 0, 4 and 8 are due; the run ends with step 10.
        let report = (0..10)
            .map(|_| {
                let report = world.step().unwrap();
                recorder.observe(&world, &report);
                report
            })
            .last()
            .unwrap();
        let due = store.count();
        recorder.finish(&world, &report);
        assert_eq!(store.count(), due + 1);
        let mut decoder = Decoder::default();
        let times: Vec<f64> =
            (0..=due).map(|k| decoder.read(&store.frame(k).unwrap()).unwrap().time).collect();
        assert!((times[due] - 10.0 * h).abs() < 1e-12 && times[due - 1] < times[due], "{times:?}");
        recorder.finish(&world, &report);
        assert_eq!(store.count(), due + 1, "what is there does not come again");
    }

    #[test]
    fn a_full_store_says_so() {
        let (_, store) = recorded("packing", &[("n", "60")], 40, 20_000);
        assert!(store.count() < 41 && store.end().unwrap().contains("--memory"));
    }
}
