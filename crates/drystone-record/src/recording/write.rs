//! Writing recordings: the run hands over frames, a thread of its own writes them down.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use drystone::{StepReport, World};

use super::RecordError;
use super::catalogue::Tracker;
use super::checkpoint::Checkpoint;
use super::frame::{Catalogue, Frame, StepRow, What, step_row};
use super::hdf5::Hdf5;
use super::index::Index;
use super::read::{FINISHED, FORMAT, Recording, VERSION, segment_name};
use super::segment::Segment;
use super::store::{Part, Store};

/// Segments are closed at about this size, bytes.
const LARGE: usize = 32 << 20;
/// And when they are this old, at least and at most: a share of the run's age in between, so that their number stays small.
const OLD: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
const SHARE: u32 = 20;
/// Bytes of frames that may wait for the thread that writes; steps and small frames are counted as a 64th of that.
const WAITING: usize = 256 << 20;
/// Indices that are kept: one that is being opened is not taken away.
const INDICES: usize = 3;

/// How often there is a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    /// Every so many steps.
    Steps(u64),
    /// Every so many simulated seconds.
    Seconds(f64),
}

impl Every {
    /// Whether the step that ended now is one of them.
    pub fn is_due(self, step: u64, time: f64, h: f64) -> bool {
        match self {
            Every::Steps(n) => step.is_multiple_of(n.max(1)),
            // Times are sums of steps, and not exact.
            Every::Seconds(t) => ((time + 0.5 * h) / t).floor() > ((time - 0.5 * h) / t).floor(),
        }
    }
}

/// What is recorded, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder; it is made.
    pub folder: PathBuf,
    /// How often.
    pub every: Every,
    /// Also whenever bodies come or go, or two begin to push each other.
    pub events: bool,
    /// Which parts.
    pub what: What,
    /// Numbers of frames in double precision; single takes half.
    pub double: bool,
    /// Name of the scene.
    pub scene: String,
    /// s
    pub h: f64,
}

enum Message {
    Remark(&'static str, String),
    News(Catalogue),
    Frame(Box<Frame>),
    Step(Box<StepRow>),
    Checkpoint(Box<Checkpoint>),
}

/// A recording that grows.
pub struct Writer {
    options: Options,
    tracker: Tracker,
    /// Pairs of colliders that pushed each other in the last step, sorted; bodies that there were.
    pairs: Vec<[u32; 2]>,
    bodies: (usize, Vec<u64>, Vec<u64>),
    to: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<Result<(), RecordError>>>,
}

impl Writer {
    /// Begins a recording of about so many bodies.
    ///
    /// # Errors
    /// For a folder that cannot be made, or has a recording already.
    pub fn create(options: Options, bodies: usize) -> Result<Self, RecordError> {
        let folder = options.folder.clone();
        let bad = |e: std::io::Error| RecordError::File { file: folder.clone(), text: e.to_string() };
        std::fs::create_dir_all(&options.folder).map_err(bad)?;
        if options.folder.join(segment_name(0)).exists() {
            let text = "there is a recording already: give another folder, remove it, or go on with it by \
                        `drystone resume`";
            return Err(RecordError::File { file: options.folder, text: text.into() });
        }
        let _ = std::fs::remove_file(options.folder.join(FINISHED));
        // Whether files can be made in it is better known now than after hours.
        crate::file::check_writable(&options.folder.join(".drystone")).map_err(bad)?;
        Ok(Self::start(options, Tracker::default(), Worker::default(), bodies))
    }

    /// Goes on with a recording after `step`: what it has of later steps is removed.
    ///
    /// # Errors
    /// For files that cannot be read or removed.
    pub fn resume(options: Options, step: u64, world: &World) -> Result<Self, RecordError> {
        let folder = &options.folder;
        let mut worker = Worker::default();
        let mut number = 0;
        loop {
            let path = folder.join(segment_name(number));
            if !path.is_file() || Worker::last_step(&path)? > step {
                break;
            }
            number += 1;
        }
        let remove = |path: &Path| {
            std::fs::remove_file(path)
                .map_err(|e| RecordError::File { file: path.into(), text: e.to_string() })
        };
        let mut tracker = Tracker::default();
        // Indices that count more frames than will be there are of another future.
        let mut frames = 0;
        let later: Vec<PathBuf> =
            (number..).map(|k| folder.join(segment_name(k))).take_while(|p| p.is_file()).collect();
        later.iter().rev().try_for_each(|path| remove(path))?;
        if number > 0 {
            let recording = Recording::open(folder)?;
            tracker = Tracker::of(recording.catalogue());
            frames = recording.len();
            worker.shapes = recording.catalogue().shapes.len();
            for m in recording.moments() {
                worker.index.times.push(m.time);
                worker.index.counts.push(m.rows[0].1);
            }
            worker.index.parts = (0..number)
                .map(|k| {
                    let own = recording.moments().iter().filter(|m| m.segment == k);
                    Part { file: segment_name(k), rows: own.map(|m| m.rows[0].1).sum() }
                })
                .collect();
        }
        for (n, path) in indices(folder) {
            if n > frames {
                remove(&path)?;
            }
        }
        worker.number = number;
        let marker = folder.join(FINISHED);
        if marker.is_file() {
            remove(&marker)?;
        }
        let mut writer = Self::start(options, tracker, worker, world.model().bodies.len());
        writer.settings(world)?;
        writer.note(world);
        Ok(writer)
    }

    fn start(options: Options, tracker: Tracker, worker: Worker, bodies: usize) -> Self {
        let worker = Worker {
            folder: options.folder.clone(),
            double: options.double,
            notes: vec![
                ("format", FORMAT.into()),
                ("version", VERSION.to_string()),
                ("scene", options.scene.clone()),
                ("step_s", format!("{:e}", options.h)),
                ("precision", if options.double { "f64" } else { "f32" }.into()),
            ],
            ..worker
        };
        // A body has 13 numbers of its own, and about five contacts of 13.
        let frame = 8 * 13 * if options.what.contacts { 6 } else { 1 } * bodies.max(1);
        let (to, from) = sync_channel((WAITING / frame).clamp(2, 64));
        let thread = Some(std::thread::spawn(move || worker.work(from)));
        Self { options, tracker, pairs: Vec::new(), bodies: Default::default(), to: Some(to), thread }
    }

    /// Records the world before its first step.
    ///
    /// # Errors
    /// Where the recording has stopped.
    pub fn begin(&mut self, world: &World) -> Result<(), RecordError> {
        self.settings(world)?;
        self.note(world);
        self.frame(world)
    }

    /// What of a world's settings whoever looks at it wants to know.
    fn settings(&mut self, world: &World) -> Result<(), RecordError> {
        let s = world.settings();
        let [x, y, z] = s.gravity.to_array();
        self.remark("gravity", format!("{x:e} {y:e} {z:e}"))?;
        self.remark("tolerance", format!("{:e}", s.tolerance))
    }

    /// The slots of bodies that are not to hide others in pictures.
    ///
    /// # Errors
    /// Where the recording has stopped.
    pub fn glass(&mut self, slots: &[usize]) -> Result<(), RecordError> {
        let slots: Vec<String> = slots.iter().map(usize::to_string).collect();
        self.remark("glass", slots.join(" "))
    }

    /// A note in this segment and all that follow.
    fn remark(&mut self, name: &'static str, text: String) -> Result<(), RecordError> {
        self.send(Message::Remark(name, text))
    }

    /// Records the step that was just done, and the world if a frame is due.
    ///
    /// # Errors
    /// Where the recording has stopped.
    pub fn step(&mut self, world: &World, report: &StepReport, wall: f64) -> Result<(), RecordError> {
        self.send(Message::Step(Box::new(step_row(world, report, wall))))?;
        let s = world.state();
        let due = self.options.every.is_due(s.step, s.time, self.options.h);
        let event = self.options.events && self.note(world);
        if due || event { self.frame(world) } else { Ok(()) }
    }

    /// Writes a checkpoint once all that was recorded until then is on the disk.
    ///
    /// # Errors
    /// Where the recording has stopped.
    pub fn checkpoint(&mut self, checkpoint: Checkpoint) -> Result<(), RecordError> {
        self.send(Message::Checkpoint(Box::new(checkpoint)))
    }

    /// Waits until all is on the disk.
    ///
    /// # Errors
    /// Saying what is kept where not all of it could be written.
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.join()
    }

    fn join(&mut self) -> Result<(), RecordError> {
        self.to = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(done)) => done,
            Some(Err(_)) => Err(RecordError::Form("the thread that writes the recording panicked".into())),
            None => Ok(()),
        }
    }

    /// Looks at who pushes whom and who is there; true if that is news.
    fn note(&mut self, world: &World) -> bool {
        if !self.options.events {
            return false;
        }
        let s = world.state();
        let pushing = s.multipliers.iter().filter(|m| m.impulse != glam::DVec3::ZERO);
        let mut pairs: Vec<[u32; 2]> = pushing.map(|m| m.key.colliders).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let bodies = (world.model().slots().count(), s.emitted.clone(), s.sunk.clone());
        let news = bodies != self.bodies || pairs.iter().any(|pair| self.pairs.binary_search(pair).is_err());
        (self.pairs, self.bodies) = (pairs, bodies);
        news
    }

    fn frame(&mut self, world: &World) -> Result<(), RecordError> {
        let news = self.tracker.news(world);
        if !news.is_empty() {
            self.send(Message::News(news))?;
        }
        self.send(Message::Frame(Box::new(Frame::of(world, self.options.what))))
    }

    fn send(&mut self, message: Message) -> Result<(), RecordError> {
        let sent = self.to.as_ref().is_some_and(|to| to.send(message).is_ok());
        if sent {
            Ok(())
        } else {
            Err(self.join().err().unwrap_or(RecordError::Form("the recording has ended".into())))
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.join();
    }
}

/// Indices in a folder, with the number of their frames.
fn indices(folder: &Path) -> Vec<(usize, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let number = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let n = name.strip_prefix("run-")?.strip_suffix(".vtkhdf")?.parse().ok()?;
        Some((n, path))
    };
    let mut found: Vec<(usize, PathBuf)> = entries.filter_map(|e| number(e.ok()?.path())).collect();
    found.sort();
    found
}

/// What the thread has in hand.
struct Worker {
    folder: PathBuf,
    double: bool,
    notes: Vec<(&'static str, String)>,
    segment: Segment,
    number: usize,
    shapes: usize,
    index: Index,
    begun: Instant,
    opened: Instant,
}

impl Default for Worker {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            folder: PathBuf::new(),
            double: false,
            notes: Vec::new(),
            segment: Segment::default(),
            number: 0,
            shapes: 0,
            index: Index::default(),
            begun: now,
            opened: now,
        }
    }
}

impl Worker {
    /// The last step that a segment knows of.
    fn last_step(path: &Path) -> Result<u64, RecordError> {
        use super::hdf5::Opened;
        use super::store::Source;
        let file = Opened::open(path)?;
        let (frames, rows) = (file.rows("frames/step")?, file.rows("steps/step")?);
        let frame = file.whole("frames/step", frames.saturating_sub(1), frames.min(1))?;
        let row = file.reals("steps/step", rows.saturating_sub(1), rows.min(1))?;
        Ok((frame.first().map_or(0, |s| *s as u64)).max(row.first().map_or(0, |s| *s as u64)))
    }

    fn work(mut self, from: Receiver<Message>) -> Result<(), RecordError> {
        self.take_all(from).map_err(|e| RecordError::Stopped {
            why: e.to_string(),
            frames: self.index.times.len(),
            segments: self.number,
            folder: self.folder.clone(),
        })
    }

    fn take_all(&mut self, from: Receiver<Message>) -> Result<(), RecordError> {
        for message in from {
            if self.segment.is_empty() {
                self.opened = Instant::now();
            }
            match message {
                Message::Remark(name, text) => {
                    self.notes.retain(|(known, _)| *known != name);
                    self.notes.push((name, text));
                }
                Message::News(news) => self.segment.news.extend(news),
                Message::Step(row) => self.segment.step(*row),
                Message::Frame(frame) => self.segment.add(&frame),
                Message::Checkpoint(checkpoint) => {
                    self.close()?;
                    checkpoint.write(&self.folder)?;
                }
            }
            let old = (self.begun.elapsed() / SHARE).clamp(OLD.0, OLD.1);
            if self.segment.bytes() > LARGE || self.opened.elapsed() > old {
                self.close()?;
            }
        }
        self.close()?;
        // Whoever follows the recording need not wait for more.
        self.put(FINISHED, |to| {
            std::fs::write(to, "").map_err(|e| RecordError::File { file: to.into(), text: e.to_string() })
        })
    }

    /// Puts the segment on the disk, and an index of all.
    fn close(&mut self) -> Result<(), RecordError> {
        if self.segment.is_empty() {
            return Ok(());
        }
        let segment = std::mem::take(&mut self.segment);
        let (frames, (times, counts)) = (segment.frames(), segment.moments());
        let (first_shape, news) = (self.shapes, segment.news.shapes.len());
        let name = segment_name(self.number);
        let tables = segment.tables(self.double, first_shape);
        self.put(&name, |to| Hdf5.write(to, &self.notes, &tables))?;
        self.number += 1;
        self.shapes += news;
        self.index.parts.push(Part { file: name, rows: counts.iter().sum() });
        self.index.times.extend(times);
        self.index.counts.extend(counts);
        if frames > 0 {
            let name = format!("run-{:06}.vtkhdf", self.index.times.len());
            self.put(&name, |to| self.index.write(&Hdf5, to, self.double))?;
            let all = indices(&self.folder);
            let old = all.len().saturating_sub(INDICES);
            all.iter().take(old).for_each(|(_, path)| drop(std::fs::remove_file(path)));
        }
        Ok(())
    }

    /// Writes a file beside its place, then puts it there.
    fn put(
        &self,
        name: &str,
        write: impl FnOnce(&Path) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let beside = self.folder.join(format!(".{name}.tmp"));
        let to = self.folder.join(name);
        let renamed = write(&beside).and_then(|()| {
            std::fs::rename(&beside, &to)
                .map_err(|e| RecordError::File { file: to.clone(), text: e.to_string() })
        });
        if renamed.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        renamed
    }
}
