//! The thread that makes segments of what a run hands over, and a second one behind it that puts them in
//! their places.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::RecordError;
use super::checkpoint::Checkpoint;
use super::frame::{Catalogue, Frame, StepRow};
use super::hdf5::Hdf5;
use super::index::Index;
use super::publish::{Job, Publisher, beside};
use super::room::{Closing, Room};
use super::segment::Segment;
use super::store::Store;
use super::survey::{SUMMED, segment_name};

/// Segments are closed when they are about this large in memory, bytes.
const SEGMENT_BYTES: usize = 128 << 20;
/// And when they are this old, at least and at most: a share of the run's age in between, so that their
/// number stays small.
const OLD: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
const SHARE: u32 = 20;
/// How much the threads give way to those that simulate (nice).
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// What the run hands over.
pub(super) enum Message {
    Remark(&'static str, String),
    News(Catalogue),
    Frame(Box<Frame>),
    Step(Box<StepRow>),
    Checkpoint(Box<Checkpoint>),
}

/// What became of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Written {
    /// Frames that can be read, those before it was resumed included.
    pub frames: usize,
    /// Segments that they are in.
    pub segments: usize,
    /// Bytes of segments and indices that were written since it was begun or resumed.
    pub bytes: u64,
    /// How long the slower of the two threads that write was busy with that, s.
    pub busy_s: f64,
    /// Checkpoints since then.
    pub checkpoints: usize,
    /// Bytes of the last of them.
    pub checkpoint_bytes: u64,
    /// How long it took to write all of them, s.
    pub checkpoint_write_s: f64,
    /// How long the run waited for them, s.
    pub wait_s: f64,
}

/// What the thread has in hand.
pub(super) struct Worker {
    pub folder: PathBuf,
    pub double: bool,
    pub compress: bool,
    pub notes: Vec<(&'static str, String)>,
    /// Number of the next segment, and what came before it.
    pub number: usize,
    pub shapes: usize,
    pub materials: usize,
    pub index: Index,
    /// Of what waits for it.
    pub room: Arc<Room>,
    pub segment: Segment,
    pub begun: Instant,
    pub opened: Instant,
    pub busy: Duration,
}

impl Default for Worker {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            folder: PathBuf::new(),
            double: false,
            compress: true,
            notes: Vec::new(),
            number: 0,
            shapes: 0,
            materials: 0,
            index: Index::default(),
            room: Arc::default(),
            segment: Segment::default(),
            begun: now,
            opened: now,
            busy: Duration::ZERO,
        }
    }
}

/// What simulates goes first where there are fewer cores than threads. Threads that this one starts are as
/// modest.
fn give_way() {
    #[cfg(target_os = "linux")]
    // SAFETY: a system call without memory; on Linux it is about the calling thread alone. If it is refused
    // nothing is lost.
    unsafe {
        let now = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, now + NICE);
    }
}

impl Worker {
    pub fn work(mut self, from: Receiver<Message>) -> Result<Written, RecordError> {
        give_way();
        let index = std::mem::take(&mut self.index);
        let (folder, double) = (self.folder.clone(), self.double);
        let publisher = Publisher { folder, double, index, ..Publisher::default() };
        let (to, jobs) = sync_channel(1);
        let thread = std::thread::spawn(move || publisher.work(jobs));
        let closing = Closing(self.room.clone());
        let made = self.take_all(from, &to);
        drop((closing, to));
        let panicked = || RecordError::Form("the thread that writes the recording panicked".into());
        let (published, ended) = thread.join().map_err(|_| panicked())?;
        let (frames, segments) = (published.index.times.len(), published.index.parts.len());
        // What the second could not do is why the first had to end.
        match ended.and(made) {
            Ok(()) => Ok(Written {
                frames,
                segments,
                bytes: published.bytes,
                busy_s: self.busy.max(published.busy).as_secs_f64(),
                checkpoints: published.checkpoints,
                checkpoint_bytes: published.checkpoint_bytes,
                checkpoint_write_s: published.checkpointing.as_secs_f64(),
                wait_s: 0.0,
            }),
            Err(e) => {
                let folder = self.folder;
                Err(RecordError::Stopped { why: e.to_string(), frames, segments, folder })
            }
        }
    }

    fn take_all(&mut self, from: Receiver<Message>, to: &SyncSender<Job>) -> Result<(), RecordError> {
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
                Message::Frame(frame) => {
                    self.room.give(frame.bytes());
                    self.segment.add(*frame);
                }
                Message::Checkpoint(checkpoint) => {
                    self.close(to)?;
                    let bytes = checkpoint.bytes();
                    hand_on(to, Job::Checkpoint(checkpoint))?;
                    self.room.give(bytes);
                }
            }
            let old = (self.begun.elapsed() / SHARE).clamp(OLD.0, OLD.1);
            if self.segment.bytes() > SEGMENT_BYTES || self.opened.elapsed() > old {
                self.close(to)?;
            }
        }
        self.close(to)?;
        hand_on(to, Job::Finish)
    }

    /// Writes the segment, and hands it on to be put in its place.
    fn close(&mut self, to: &SyncSender<Job>) -> Result<(), RecordError> {
        if self.segment.is_empty() {
            return Ok(());
        }
        let begun = Instant::now();
        let segment = std::mem::take(&mut self.segment);
        let ((times, counts), span) = (segment.moments(), segment.span());
        let (shapes, materials) = (segment.news.shapes.len(), segment.news.materials.len());
        let name = segment_name(self.number);
        let tables = segment.tables(self.double, self.shapes);
        drop(segment);
        let mut notes = self.notes.clone();
        notes.push(("first_shape", self.shapes.to_string()));
        notes.push(("first_material", self.materials.to_string()));
        notes.push((SUMMED.0, SUMMED.1.into()));
        let place = beside(&self.folder, &name);
        let written = Hdf5 { compress: self.compress }.write(&place, &notes, &tables);
        self.busy += begun.elapsed();
        if written.is_err() {
            let _ = std::fs::remove_file(place);
            return written;
        }
        self.number += 1;
        self.shapes += shapes;
        self.materials += materials;
        hand_on(to, Job::Segment { name, span, times, counts })
    }
}

fn hand_on(to: &SyncSender<Job>, job: Job) -> Result<(), RecordError> {
    // Why it ended is known by the thread itself.
    to.send(job).map_err(|_| RecordError::Form("nothing more can be put in its place".into()))
}
