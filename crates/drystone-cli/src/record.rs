//! `--record` and `--checkpoint`: what of a run is kept, and how often.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drystone::{StepReport, World};
use drystone_record::recording::{self, Checkpoint, Every, Lock, Loss, Options, RecordError, What, Writer};
use drystone_record::report::Recorder;
use drystone_scene::{Scene, memory};

use crate::failure::Failure;

/// What of a run is kept.
#[derive(clap::Args, Clone)]
pub struct Keep {
    /// Record the run in a folder: HDF5 that h5py, pandas, ParaView and `drystone export` read, while it grows and after a crash.
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
    /// A frame every N steps, or with an s every so many simulated seconds: 10, or 0.02s.
    #[arg(long, value_name = "N|SECONDSs", default_value = "10", requires = "record")]
    record_every: String,
    /// Frames also in steps in which bodies come or go, or two begin to push each other.
    #[arg(long, requires = "record")]
    record_events: bool,
    /// What a frame has beside the bodies: contacts, joints, both, or none (contacts,joints).
    #[arg(long, value_name = "LIST", default_value = "contacts,joints", requires = "record")]
    record_what: String,
    /// Precision of the numbers in frames: f32 or f64. Steps and the catalogue are always in f64.
    #[arg(long, value_name = "f32|f64", default_value = "f32", requires = "record")]
    record_precision: String,
    /// Write a checkpoint into the recording every N steps, or with an s every so many seconds of wall time: 1000, or 60s. `drystone
    /// resume` goes on from the last one. (There is one at the end, and after Ctrl-C, in any case.)
    #[arg(long, value_name = "STEPS|SECONDSs", requires = "record")]
    checkpoint: Option<String>,
}

/// When a checkpoint is due.
#[derive(Clone, Copy)]
enum When {
    Steps(u64),
    Wall(Duration),
    AtTheEnd,
}

/// `12`, or `0.5s`.
fn count_or_seconds(option: &str, text: &str) -> Result<Result<u64, f64>, Failure> {
    let wrong = || {
        Failure::input(format!(
            "{option} {text}: expected a number of steps, or of seconds with an s (100, 0.5s)"
        ))
    };
    match text.strip_suffix('s') {
        Some(seconds) => {
            let s = seconds.trim().parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0);
            s.map(Err).ok_or_else(wrong)
        }
        None => text.parse().ok().filter(|n| *n > 0).map(Ok).ok_or_else(wrong),
    }
}

impl Keep {
    /// Checks the options; None without `--record`.
    pub fn plan(&self, scene: &str, h: f64) -> Result<Option<Options>, Failure> {
        let every = match count_or_seconds("--record-every", &self.record_every)? {
            Ok(n) => Every::Steps(n),
            Err(s) => Every::Seconds(s),
        };
        let double = match self.record_precision.as_str() {
            "f32" => false,
            "f64" => true,
            other => return Err(Failure::input(format!("--record-precision {other}: expected f32 or f64"))),
        };
        let mut what = What { contacts: false, joints: false };
        for word in self.record_what.split(',').map(str::trim).filter(|w| !w.is_empty() && *w != "none") {
            match word {
                "bodies" => {}
                "contacts" => what.contacts = true,
                "joints" => what.joints = true,
                other => {
                    return Err(Failure::input(format!(
                        "--record-what {other}: expected bodies, contacts, joints, or none"
                    )));
                }
            }
        }
        self.when()?;
        let Some(folder) = self.record.clone() else { return Ok(None) };
        let (scene, events) = (scene.to_string(), self.record_events);
        Ok(Some(Options { folder, every, events, what, double, scene, h }))
    }

    fn when(&self) -> Result<When, Failure> {
        Ok(match &self.checkpoint {
            None => When::AtTheEnd,
            Some(text) => match count_or_seconds("--checkpoint", text)? {
                Ok(n) => When::Steps(n),
                Err(s) => When::Wall(Duration::from_secs_f64(s.min(1e9))),
            },
        })
    }
}

/// Opens a recording, and tells what is lost of it.
pub fn open(path: &Path) -> Result<recording::Recording, Failure> {
    let recording = recording::Recording::open(path).map_err(Failure::input)?;
    warn(path, &recording.losses());
    Ok(recording)
}

/// Tells what is lost of a recording.
fn warn(folder: &Path, losses: &[Loss]) {
    for loss in losses {
        eprintln!("drystone: warning: {}: {loss}", folder.display());
    }
}

/// What a checkpoint holds beside the world, and does not change.
#[derive(Clone)]
pub struct Origin {
    pub command: Vec<String>,
    pub folder: PathBuf,
    pub scene_sum: Option<u64>,
    pub steps: u64,
}

impl Origin {
    /// Of the command at hand, for a scene that may be a file.
    pub fn here(scene: &str, steps: u64) -> Result<Self, Failure> {
        Ok(Self {
            command: std::env::args().collect(),
            folder: std::env::current_dir().map_err(Failure::run)?,
            scene_sum: sum_of_file(scene),
            steps,
        })
    }
}

/// Tells one content of a scene file from another; None if it is no file.
pub fn sum_of_file(scene: &str) -> Option<u64> {
    let bytes = Path::new(scene).is_file().then(|| std::fs::read(scene).ok()).flatten()?;
    let fnv = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    Some(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fnv))
}

/// A recording in the making.
pub struct Recording {
    writer: Writer,
    when: When,
    last: Instant,
    /// The step of the last checkpoint.
    at: Option<u64>,
    pub origin: Origin,
    /// Why nothing can be resumed.
    pub unsaved: Option<String>,
}

impl Recording {
    /// Begins one.
    pub fn begin(options: Options, keep: &Keep, origin: Origin, world: &World) -> Result<Self, Failure> {
        let bodies = world.model().bodies.len();
        let mut writer = Writer::create(options, bodies).map_err(Failure::input)?;
        let when = keep.when()?;
        let unsaved = world.save().err().map(|e| e.to_string());
        if let (Some(why), false) = (&unsaved, matches!(when, When::AtTheEnd)) {
            return Err(Failure::input(format!("--checkpoint: {why}")));
        }
        writer.begin(world).map_err(Failure::run)?;
        Ok(Self { writer, when, last: Instant::now(), at: None, origin, unsaved })
    }

    /// Goes on with one.
    pub fn resume(
        lock: Lock,
        options: Options,
        keep: &Keep,
        origin: Origin,
        world: &World,
    ) -> Result<Self, Failure> {
        let (step, folder) = (world.state().step, options.folder.clone());
        let writer = Writer::resume(lock, options, step, world).map_err(Failure::run)?;
        warn(&folder, writer.losses());
        Ok(Self { writer, when: keep.when()?, last: Instant::now(), at: Some(step), origin, unsaved: None })
    }

    /// Takes a step, without what is said about it in a checkpoint.
    pub fn step(&mut self, world: &World, report: &StepReport, wall: f64) -> Result<(), RecordError> {
        self.writer.step(world, report, wall)
    }

    /// Whether a checkpoint is due after this step.
    pub fn is_due(&self, step: u64) -> bool {
        match self.when {
            When::Steps(n) => step.is_multiple_of(n),
            When::Wall(time) => self.last.elapsed() >= time,
            When::AtTheEnd => false,
        }
    }

    /// Writes one, unless there is one of this step.
    pub fn checkpoint(
        &mut self,
        world: &World,
        scene: &mut Scene,
        totals: &Recorder,
        written: Vec<u64>,
    ) -> Result<(), String> {
        let step = world.state().step;
        if self.at == Some(step) || self.unsaved.is_some() {
            return Ok(());
        }
        (self.last, self.at) = (Instant::now(), Some(step));
        let Origin { command, folder, scene_sum, steps } = self.origin.clone();
        let checkpoint = Checkpoint {
            step,
            command,
            folder,
            scene_sum,
            steps,
            world: world.save().map_err(|e| e.to_string())?,
            probe: memory::save(scene.probe.as_mut())?,
            totals: totals.save()?,
            written,
        };
        self.writer.checkpoint(checkpoint).map_err(|e| e.to_string())
    }

    /// Waits until all is on the disk.
    pub fn finish(self) -> Result<(), RecordError> {
        self.writer.finish()
    }
}
