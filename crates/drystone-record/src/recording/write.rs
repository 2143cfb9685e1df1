//! Writing recordings: the run hands over frames, a thread of its own writes them down.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use drystone::{StepReport, World};

use super::RecordError;
use super::catalogue::Tracker;
use super::checkpoint::{Checkpoint, checkpoints};
use super::frame::{Frame, What, step_row};
use super::lock::Lock;
use super::publish::{indices, sweep};
use super::read::{FINISHED, FORMAT, Recording, VERSION};
use super::room::Room;
use super::store::Part;
use super::survey::{Found, Loss, last_segment, losses, segment_name, survey};
use super::worker::{Message, Worker, Written};

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

    /// All times of a run with steps of `h` up to `end`, s, the start not among them.
    ///
    /// # Errors
    /// For more than a hundred million.
    pub fn times(self, h: f64, end: f64) -> Result<Vec<f64>, String> {
        let between = match self {
            Every::Steps(n) => n as f64 * h,
            Every::Seconds(t) => t,
        };
        let count = ((end + 0.5 * h) / between).floor();
        if !(count <= 1e8) {
            return Err(format!("{count:.0e} times are too many"));
        }
        Ok((1..=count as u64).map(|k| k as f64 * between).collect())
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
    /// Whether long tables are compressed: half the bytes, several times the work.
    pub compress: bool,
    /// Name of the scene.
    pub scene: String,
    /// s
    pub h: f64,
}

/// A recording that grows.
pub struct Writer {
    options: Options,
    tracker: Tracker,
    /// Pairs of colliders that pushed each other in the last step, sorted; bodies that there were.
    pairs: Vec<[u32; 2]>,
    bodies: (usize, Vec<u64>, Vec<u64>),
    to: Option<Sender<Message>>,
    room: Arc<Room>,
    thread: Option<JoinHandle<Result<Written, RecordError>>>,
    /// How long the run waited for the thread.
    waited: Duration,
    losses: Vec<Loss>,
    /// Held as long as the thread writes.
    _lock: Lock,
}

impl Writer {
    /// Begins a recording.
    ///
    /// # Errors
    /// For a folder that cannot be made, has a recording already, or is written by another process.
    pub fn create(options: Options) -> Result<Self, RecordError> {
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
        sweep(&options.folder);
        // Whether files can be made in it is better known now than after hours.
        crate::file::check_writable(&options.folder.join(".drystone")).map_err(bad)?;
        Ok(Self::start(lock, options, Tracker::default(), Worker::default()))
    }

    /// Goes on with a recording after `step`: what it has of later steps is removed. What is missing or
    /// damaged of the steps before stays so, and is told by [`Self::losses`].
    ///
    /// # Errors
    /// For a folder that cannot be read, and files that cannot be removed.
    pub fn resume(lock: Lock, options: Options, step: u64, world: &World) -> Result<Self, RecordError> {
        let folder = &options.folder;
        sweep(folder);
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
        let mut writer = Self::start(lock, options, tracker, worker);
        writer.losses = losses;
        writer.settings(world)?;
        writer.note(world);
        Ok(writer)
    }

    /// What is lost of the recording that is gone on with.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    fn start(lock: Lock, options: Options, tracker: Tracker, worker: Worker) -> Self {
        let worker = Worker {
            folder: options.folder.clone(),
            double: options.double,
            compress: options.compress,
            notes: vec![
                ("format", FORMAT.into()),
                ("version", VERSION.to_string()),
                ("scene", options.scene.clone()),
                ("step_s", format!("{:e}", options.h)),
                ("precision", if options.double { "f64" } else { "f32" }.into()),
            ],
            ..worker
        };
        let (room, (to, from)) = (worker.room.clone(), channel());
        let thread = Some(std::thread::spawn(move || worker.work(from)));
        let (pairs, bodies, losses) = (Vec::new(), Default::default(), Vec::new());
        Self {
            options,
            tracker,
            pairs,
            bodies,
            to: Some(to),
            room,
            thread,
            waited: Duration::ZERO,
            losses,
            _lock: lock,
        }
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

    /// Records the step that was just done, and the world if a frame is due. Where the report has the
    /// figures of the step, the world may be an older one unless this step [looks](Writer::looks) at it.
    ///
    /// # Errors
    /// Where the recording has stopped.
    pub fn step(&mut self, world: &World, report: &StepReport, wall: f64) -> Result<(), RecordError> {
        self.send(Message::Step(Box::new(step_row(world, report, wall))))?;
        let time = report.figures.map_or(world.state().time, |f| f.time);
        let event = self.options.events && self.note(world);
        if self.is_due(report.step, time) || event { self.frame(world) } else { Ok(()) }
    }

    fn is_due(&self, step: u64, time: f64) -> bool {
        self.options.every.is_due(step, time, self.options.h)
    }

    /// Whether the step that came to this time, s, needs the world where it is then: for a frame, or to see
    /// whether there is to be one.
    pub fn looks(&self, step: u64, time: f64) -> bool {
        self.options.events || self.is_due(step, time)
    }

    /// Writes a checkpoint once all that was recorded until then is on the disk.
    ///
    /// # Errors
    /// Where the recording has stopped.
    pub fn checkpoint(&mut self, checkpoint: Checkpoint) -> Result<(), RecordError> {
        self.waited += self.room.take(checkpoint.bytes());
        self.send(Message::Checkpoint(Box::new(checkpoint)))
    }

    /// Waits until all is on the disk.
    ///
    /// # Errors
    /// Saying what is kept where not all of it could be written.
    pub fn finish(mut self) -> Result<Written, RecordError> {
        let begun = Instant::now();
        let written = self.join()?;
        Ok(Written { wait_s: (self.waited + begun.elapsed()).as_secs_f64(), ..written })
    }

    fn join(&mut self) -> Result<Written, RecordError> {
        self.to = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(done)) => done,
            Some(Err(_)) => Err(RecordError::Form("the thread that writes the recording panicked".into())),
            None => Ok(Written::default()),
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
        let frame = Frame::of(world, self.options.what);
        self.waited += self.room.take(frame.bytes());
        self.send(Message::Frame(Box::new(frame)))
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

/// How many segments stay when a recording is gone on with after a step, and the number of the next. What is
/// lost of the steps before is never written over: its numbers stay free.
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
    sweep(folder);
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

#[cfg(test)]
mod tests {
    #[test]
    fn times_of_a_run() {
        assert_eq!(Every::Seconds(0.5).times(0.01, 1.6).unwrap(), [0.5, 1.0, 1.5]);
        assert_eq!(Every::Steps(2).times(0.25, 1.0).unwrap(), [0.5, 1.0]);
        assert!(Every::Seconds(2.0).times(0.01, 1.0).unwrap().is_empty());
        assert!(Every::Seconds(1e-12).times(0.01, 1.0).is_err());
    }

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
