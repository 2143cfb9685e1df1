//! `--record` and `--checkpoint`: what of a run is kept, and how often.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drystone::{StepReport, World};
use drystone_record::recording::{
    self, Checkpoint, Every, Lock, Loss, Options, RecordError, What, Writer, Written,
};
use drystone_record::report::Recorder;
use drystone_scene::{Scene, sum_of_files};

use crate::failure::Failure;

/// What of a run is kept.
#[derive(clap::Args, Clone)]
pub struct Keep {
    /// Record the run in a folder: HDF5 that h5py, pandas, ParaView and `drystone export` read, while it
    /// grows and after a crash.
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
    /// A frame every N steps, or with an s every so many simulated seconds, as 0.02s [default: the scene's
    /// own, 10].
    #[arg(long, value_name = "N|SECONDSs")]
    record_every: Option<String>,
    /// Frames also in steps in which bodies come or go, or two begin to push each other.
    #[arg(long)]
    record_events: bool,
    /// Take the place of a recording that is in the folder; without it that is an error.
    #[arg(long)]
    record_replace: bool,
    /// What a frame has beside the bodies: contacts, joints, both, or none [default: the scene's own,
    /// contacts,joints].
    #[arg(long, value_name = "LIST")]
    record_what: Option<String>,
    /// Precision of the numbers in frames: f32 or f64. Steps and the catalogue are always in f64 [default:
    /// the scene's own, f32].
    #[arg(long, value_name = "f32|f64")]
    record_precision: Option<String>,
    /// Compression of long tables: deflate, or none for disks that are faster than processors.
    #[arg(long, value_name = "deflate|none")]
    record_compression: Option<String>,
    /// Write a checkpoint into the recording every N steps, or with an s every so many seconds of wall time:
    /// 1000, or 60s; end: none before the end. `drystone resume` goes on from the last one. There is one at
    /// the end, and after Ctrl-C, in any case [default: the scene's own, every 60 s, and seldomer where that
    /// would take more than 2 % of the time].
    #[arg(long, value_name = "STEPS|SECONDSs|end")]
    checkpoint: Option<String>,
}

/// When a checkpoint is due.
#[derive(Clone, Copy)]
pub enum When {
    Steps(u64),
    Wall(Duration),
    /// Every minute, if it costs little.
    Now,
    AtTheEnd,
}

/// Between two checkpoints that nobody asked for; and how many times as long as one takes.
const MINUTE: Duration = Duration::from_secs(60);
const SELDOM: u32 = 50;

/// `12`, or `0.5s`.
pub fn every(option: &str, text: &str) -> Result<Every, Failure> {
    let wrong = || {
        Failure::input(format!(
            "{option} {text}: expected a number of steps, or of seconds with an s (100, 0.5s)"
        ))
    };
    match text.strip_suffix('s') {
        Some(seconds) => {
            let s = seconds.trim().parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0);
            s.map(Every::Seconds).ok_or_else(wrong)
        }
        None => text.parse().ok().filter(|n| *n > 0).map(Every::Steps).ok_or_else(wrong),
    }
}

impl Keep {
    /// Checks the options against what the scene says; None if nothing is recorded.
    pub fn plan(&self, scene: &Scene, h: f64) -> Result<Option<Options>, Failure> {
        let own = &scene.record;
        let every = match &self.record_every {
            Some(text) => every("--record-every", text)?,
            None => own.every.unwrap_or(Every::Steps(10)),
        };
        let double = match self.record_precision.as_deref() {
            None => own.double.unwrap_or(false),
            Some("f32") => false,
            Some("f64") => true,
            Some(other) => {
                return Err(Failure::input(format!("--record-precision {other}: expected f32 or f64")));
            }
        };
        let compress = match self.record_compression.as_deref() {
            None => own.compress.unwrap_or(true),
            Some("deflate") => true,
            Some("none") => false,
            Some(other) => {
                return Err(Failure::input(format!(
                    "--record-compression {other}: expected deflate or none"
                )));
            }
        };
        let what = match &self.record_what {
            Some(list) => what(list)?,
            None => own.what.unwrap_or(What { contacts: true, joints: true }),
        };
        self.when(scene)?;
        let Some(folder) = self.record.clone().or_else(|| own.folder.clone()) else {
            let given = [
                ("--record-every", self.record_every.is_some()),
                ("--record-events", self.record_events),
                ("--record-replace", self.record_replace),
                ("--record-what", self.record_what.is_some()),
                ("--record-precision", self.record_precision.is_some()),
                ("--record-compression", self.record_compression.is_some()),
                ("--checkpoint", self.checkpoint.is_some()),
            ];
            return match given.iter().find(|(_, given)| *given) {
                Some((option, _)) => Err(Failure::input(format!("{option} needs --record FOLDER"))),
                None => Ok(None),
            };
        };
        if folder.is_file() {
            return Err(Failure::input(format!(
                "--record {}: is a file, and no folder of a recording: choose another name, or remove it",
                folder.display()
            )));
        }
        let events = self.record_events || own.events.unwrap_or(false);
        let scene = scene.name.clone();
        Ok(Some(Options { folder, every, events, what, double, compress, scene, h }))
    }

    /// When checkpoints are due.
    pub fn when(&self, scene: &Scene) -> Result<When, Failure> {
        let asked = match &self.checkpoint {
            Some(text) if text == "end" => return Ok(When::AtTheEnd),
            Some(text) => Some(every("--checkpoint", text)?),
            None => scene.record.checkpoint,
        };
        Ok(match asked {
            None => When::Now,
            Some(Every::Steps(n)) => When::Steps(n),
            Some(Every::Seconds(s)) => When::Wall(Duration::from_secs_f64(s.min(1e9))),
        })
    }
}

/// `contacts,joints`
fn what(list: &str) -> Result<What, Failure> {
    let mut what = What { contacts: false, joints: false };
    for word in list.split(',').map(str::trim).filter(|w| !w.is_empty() && *w != "none") {
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
    Ok(what)
}

/// The folder of a recording, of which this is the folder or a file in it; None for anything else.
pub fn folder_of(path: &Path) -> Option<PathBuf> {
    let named = |p: &Path| {
        p.file_name().is_some_and(|n| {
            let name = n.to_string_lossy();
            let number = name.strip_prefix("run.").and_then(|n| n.strip_suffix(".h5"));
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        })
    };
    let is_segment = path.is_file() && named(path);
    let folder = match is_segment {
        true => path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        false if path.is_dir() => path,
        false => return None,
    };
    let mut all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    (is_segment || all.any(|f| named(&f.path()))).then(|| folder.to_path_buf())
}

/// Opens a recording, and tells what is lost of it.
pub fn open(path: &Path) -> Result<recording::Recording, Failure> {
    let recording = recording::Recording::open(path).map_err(Failure::input)?;
    warn(path, &recording.losses());
    Ok(recording)
}

/// Tells what is lost of a recording.
pub fn warn(folder: &Path, losses: &[Loss]) {
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
    /// Of the program.
    pub version: String,
    pub steps: u64,
}

/// Of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Origin {
    /// Of the command at hand, for a scene that may be a file.
    pub fn here(scene: &str, steps: u64) -> Result<Self, Failure> {
        Ok(Self {
            command: std::env::args().collect(),
            folder: std::env::current_dir().map_err(Failure::run)?,
            scene_sum: sum_of_files(scene),
            version: VERSION.into(),
            steps,
        })
    }
}

/// A recording in the making.
pub struct Recording {
    writer: Writer,
    when: When,
    last: Instant,
    /// How long the run stood still for the last checkpoint.
    cost: Duration,
    /// And for all of them, s.
    pub halted: f64,
    /// The step of the last checkpoint.
    at: Option<u64>,
    pub origin: Origin,
    /// Why nothing can be resumed.
    pub unsaved: Option<String>,
}

impl Recording {
    /// Begins one; in place of another, if that was asked for.
    pub fn begin(
        keep: &Keep,
        options: Options,
        when: When,
        origin: Origin,
        world: &World,
    ) -> Result<Self, Failure> {
        let unsaved = world.check_saving().err().map(|e| e.to_string());
        if let (Some(why), When::Steps(_) | When::Wall(_)) = (&unsaved, when) {
            return Err(Failure::input(format!("--checkpoint: {why}")));
        }
        if keep.record_replace {
            recording::remove(&options.folder).map_err(Failure::input)?;
        }
        let mut writer = Writer::create(options).map_err(Failure::input)?;
        writer.begin(world).map_err(Failure::run)?;
        Ok(Self {
            writer,
            when,
            last: Instant::now(),
            cost: Duration::ZERO,
            halted: 0.0,
            at: None,
            origin,
            unsaved,
        })
    }

    /// Goes on with one.
    pub fn resume(
        lock: Lock,
        options: Options,
        when: When,
        origin: Origin,
        world: &World,
    ) -> Result<Self, Failure> {
        let (step, folder) = (world.state().step, options.folder.clone());
        let writer = Writer::resume(lock, options, step, world).map_err(Failure::run)?;
        warn(&folder, writer.losses());
        let last = Instant::now();
        Ok(Self {
            writer,
            when,
            last,
            cost: Duration::ZERO,
            halted: 0.0,
            at: Some(step),
            origin,
            unsaved: None,
        })
    }

    /// The slots of bodies that are not to hide others in pictures.
    pub fn glass(&mut self, slots: &[usize]) -> Result<(), Failure> {
        self.writer.glass(slots).map_err(Failure::run)
    }

    /// Takes a step, without what is said about it in a checkpoint.
    pub fn step(&mut self, world: &World, report: &StepReport, wall: f64) -> Result<(), RecordError> {
        self.writer.step(world, report, wall)
    }

    /// Whether the step that came to this time, s, needs the world where it is then.
    pub fn looks(&self, step: u64, time: f64) -> bool {
        self.writer.looks(step, time)
    }

    /// Whether a checkpoint is due after this step.
    pub fn is_due(&self, step: u64) -> bool {
        match self.when {
            When::Steps(n) => step.is_multiple_of(n),
            When::Wall(time) => self.last.elapsed() >= time,
            When::Now => self.last.elapsed() >= MINUTE.max(SELDOM * self.cost),
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
        let begun = Instant::now();
        self.at = Some(step);
        let Origin { command, folder, scene_sum, version, steps } = self.origin.clone();
        let checkpoint = Checkpoint {
            step,
            command,
            folder,
            scene_sum,
            version,
            steps,
            world: world.save().map_err(|e| e.to_string())?,
            probe: scene.probe.save()?,
            totals: totals.save()?,
            written,
        };
        let kept = self.writer.checkpoint(checkpoint).map_err(|e| e.to_string());
        (self.last, self.cost) = (Instant::now(), begun.elapsed());
        self.halted += self.cost.as_secs_f64();
        kept
    }

    /// Waits until all is on the disk.
    pub fn finish(self) -> Result<Written, RecordError> {
        self.writer.finish()
    }
}
