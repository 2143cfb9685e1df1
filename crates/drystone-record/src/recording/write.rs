//! Writing recordings: the run hands over frames, a thread of its own writes them down.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use drystone::{StepReport, World};

use super::RecordError;
use super::catalogue::Tracker;
use super::checkpoint::{Checkpoint, checkpoints};
use super::frame::{Catalogue, Frame, StepRow, What, step_row};
use super::hdf5::Hdf5;
use super::index::Index;
use super::lock::Lock;
use super::read::{FINISHED, FORMAT, Recording, VERSION};
use super::segment::Segment;
use super::store::{Part, Store};
use super::sum::seal;
use super::survey::{Found, Loss, SUMMED, last_segment, losses, segment_name, survey};

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
    losses: Vec<Loss>,
    /// Held as long as the thread writes.
    _lock: Lock,
}

impl Writer {
    /// Begins a recording of about so many bodies.
    ///
    /// # Errors
    /// For a folder that cannot be made, has a recording already, or is written by another process.
    pub fn create(options: Options, bodies: usize) -> Result<Self, RecordError> {
        let folder = options.folder.clone();
        let bad = |e: std::io::Error| RecordError::File { file: folder.clone(), text: e.to_string() };
        std::fs::create_dir_all(&options.folder).map_err(bad)?;
        let lock = Lock::take(&options.folder)?;
        if last_segment(&options.folder)?.is_some() || !checkpoints(&options.folder)?.is_empty() {
            let text = "there is a recording already: give another folder, take its place with --record-replace, or go on with it by \
                        `drystone resume`";
            return Err(RecordError::File { file: options.folder, text: text.into() });
        }
        let _ = std::fs::remove_file(options.folder.join(FINISHED));
        // Whether files can be made in it is better known now than after hours.
        crate::file::check_writable(&options.folder.join(".drystone")).map_err(bad)?;
        Ok(Self::start(lock, options, Tracker::default(), Worker::default(), bodies))
    }

    /// Goes on with a recording after `step`: what it has of later steps is removed. What is missing or damaged of the steps before stays
    /// so, and is told by [`Self::losses`].
    ///
    /// # Errors
    /// For a folder that cannot be read, and files that cannot be removed.
    pub fn resume(lock: Lock, options: Options, step: u64, world: &World) -> Result<Self, RecordError> {
        let folder = &options.folder;
        let mut found = survey(folder, 0)?;
        let (kept, number) = place_after(&found, step);
        let later = found.split_off(kept);
        let remove = |path: &Path| {
            std::fs::remove_file(path)
                .map_err(|e| RecordError::File { file: path.into(), text: e.to_string() })
        };
        for f in later.iter().rev() {
            let path = folder.join(segment_name(f.number));
            if path.exists() {
                remove(&path)?;
            }
        }
        let mut recording = Recording::empty(folder);
        found.into_iter().try_for_each(|f| recording.add(f))?;
        let catalogue = recording.catalogue();
        let mut worker = Worker { number, ..Worker::default() };
        (worker.shapes, worker.materials) = (catalogue.shapes.len(), catalogue.materials.len());
        for m in recording.moments() {
            worker.index.times.push(m.time);
            worker.index.counts.push(m.rows[0].1);
        }
        for own in recording.moments().chunk_by(|a, b| a.segment == b.segment) {
            let rows = own.iter().map(|m| m.rows[0].1).sum();
            worker.index.parts.push(Part { file: segment_name(own[0].segment), rows });
        }
        let marker = folder.join(FINISHED);
        if marker.is_file() {
            remove(&marker)?;
        }
        // Indices that count more frames than will be there are of another future.
        for (_, path) in indices(folder).iter().filter(|(n, _)| *n > recording.len()) {
            remove(path)?;
        }
        let (tracker, losses) = (Tracker::of(catalogue), losses(&recording.found, Some(step)));
        let mut writer = Self::start(lock, options, tracker, worker, world.model().bodies.len());
        writer.losses = losses;
        writer.settings(world)?;
        writer.note(world);
        Ok(writer)
    }

    /// What is lost of the recording that is gone on with.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    fn start(lock: Lock, options: Options, tracker: Tracker, worker: Worker, bodies: usize) -> Self {
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
        let (pairs, bodies, losses) = (Vec::new(), Default::default(), Vec::new());
        Self { options, tracker, pairs, bodies, to: Some(to), thread, losses, _lock: lock }
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

/// How many segments stay when a recording is gone on with after a step, and the number of the next. What is lost of the steps before is
/// never written over: its numbers stay free.
fn place_after(found: &[Found], step: u64) -> (usize, usize) {
    let last = |f: &Found| f.span.map_or(0, |s| s.last);
    let kept = found.iter().position(|f| last(f) > step).unwrap_or(found.len());
    // Segments are closed before a checkpoint: what follows the one that ends with it came later.
    if let Some(end) = found[..kept].iter().rposition(|f| f.span.is_some_and(|s| s.last == step)) {
        return (end + 1, end + 1);
    }
    // Steps before the checkpoint are lost. If not with a segment that has a number, they get one.
    let told = step == 0 || found[..kept].last().is_some_and(|f| f.span.is_none());
    (kept, if told { kept } else { kept + 1 })
}

/// Takes a recording out of a folder: its segments, indices, checkpoints and marks, and nothing else.
///
/// # Errors
/// Where another process writes into it, and for files that cannot be removed.
pub fn remove(folder: &Path) -> Result<(), RecordError> {
    if !folder.is_dir() {
        return Ok(());
    }
    let _lock = Lock::take(folder)?;
    let segments =
        (0..last_segment(folder)?.map_or(0, |last| last + 1)).map(|k| folder.join(segment_name(k)));
    let others = indices(folder).into_iter().map(|(_, path)| path);
    let others = others.chain(checkpoints(folder)?.into_iter().map(|(_, path)| path));
    for path in segments.chain(others).chain([folder.join(FINISHED)]).filter(|path| path.is_file()) {
        std::fs::remove_file(&path)
            .map_err(|e| RecordError::File { file: path.clone(), text: e.to_string() })?;
    }
    Ok(())
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
    materials: usize,
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
            materials: 0,
            index: Index::default(),
            begun: now,
            opened: now,
        }
    }
}

impl Worker {
    fn work(mut self, from: Receiver<Message>) -> Result<(), RecordError> {
        self.take_all(from).map_err(|e| RecordError::Stopped {
            why: e.to_string(),
            frames: self.index.times.len(),
            segments: self.index.parts.len(),
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
        let (frames, (times, counts), span) = (segment.frames(), segment.moments(), segment.span());
        let (shapes, materials) = (segment.news.shapes.len(), segment.news.materials.len());
        let name = segment_name(self.number);
        let tables = segment.tables(self.double, self.shapes);
        let mut notes = self.notes.clone();
        notes.push(("first_shape", self.shapes.to_string()));
        notes.push(("first_material", self.materials.to_string()));
        notes.push((SUMMED.0, SUMMED.1.into()));
        self.put(&name, |to| {
            Hdf5.write(to, &notes, &tables)?;
            seal(to, span).map_err(|e| RecordError::File { file: to.into(), text: e.to_string() })
        })?;
        self.number += 1;
        self.shapes += shapes;
        self.materials += materials;
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

#[cfg(test)]
mod tests {
    use super::super::sum::Span;
    use super::super::survey::Fault;
    use super::*;

    #[test]
    fn what_is_lost_is_never_written_over() {
        let of = |spans: &[Option<(u64, u64)>]| -> Vec<Found> {
            let found = |(number, steps): (usize, &Option<(u64, u64)>)| Found {
                number,
                state: if steps.is_some() { Ok(()) } else { Err(Fault::Missing) },
                span: steps.map(|(first, last)| Span { first, last }),
            };
            spans.iter().enumerate().map(found).collect()
        };
        let (a, b, c) = (Some((0, 10)), Some((11, 20)), Some((21, 30)));
        // Whole, and what came after the checkpoint goes.
        assert_eq!(place_after(&of(&[a, b, c]), 30), (3, 3));
        assert_eq!(place_after(&of(&[a, b, c]), 20), (2, 2));
        assert_eq!(place_after(&of(&[a, b, None]), 20), (2, 2));
        assert_eq!(place_after(&[], 0), (0, 0));
        // A hole stays one, be it in the middle or at the end.
        assert_eq!(place_after(&of(&[a, None, c]), 30), (3, 3));
        assert_eq!(place_after(&of(&[a, None, c]), 20), (2, 2));
        assert_eq!(place_after(&of(&[a, b]), 30), (2, 3));
        assert_eq!(place_after(&of(&[a, b, None]), 30), (3, 3));
        assert_eq!(place_after(&[], 30), (0, 1));
    }
}
