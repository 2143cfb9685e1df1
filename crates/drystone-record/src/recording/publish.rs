//! The thread that puts whole segments in their places, one after the other, while the next one is being
//! made.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::RecordError;
use super::checkpoint::Checkpoint;
use super::hdf5::Hdf5;
use super::index::Index;
use super::read::FINISHED;
use super::store::Part;
use super::sum::{Span, seal};

/// Indices that are kept: one that is being opened is not taken away.
const INDICES: usize = 3;

/// What is to be published, in this order.
pub(super) enum Job {
    /// A segment that is written under another name.
    Segment {
        name: String,
        span: Span,
        times: Vec<f64>,
        counts: Vec<usize>,
    },
    Checkpoint(Box<Checkpoint>),
    /// The run has ended.
    Finish,
}

/// What is in its place.
#[derive(Default)]
pub(super) struct Publisher {
    pub folder: PathBuf,
    pub double: bool,
    pub index: Index,
    /// Bytes of segments and indices.
    pub bytes: u64,
    pub busy: Duration,
    pub checkpoints: usize,
    /// Of the last one.
    pub checkpoint_bytes: u64,
    pub checkpointing: Duration,
}

/// Where a file is until it has its name.
pub(super) fn beside(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.tmp"))
}

fn bad(file: &Path, e: std::io::Error) -> RecordError {
    RecordError::File { file: file.into(), text: e.to_string() }
}

impl Publisher {
    /// Until nothing more comes, or something cannot be written.
    pub fn work(mut self, jobs: Receiver<Job>) -> (Self, Result<(), RecordError>) {
        for job in jobs {
            let (begun, saves) = (Instant::now(), matches!(job, Job::Checkpoint(_)));
            let done = self.publish(job);
            let took = if saves { &mut self.checkpointing } else { &mut self.busy };
            *took += begun.elapsed();
            if done.is_err() {
                return (self, done);
            }
        }
        (self, Ok(()))
    }

    fn publish(&mut self, job: Job) -> Result<(), RecordError> {
        match job {
            Job::Checkpoint(checkpoint) => {
                self.checkpoint_bytes = checkpoint.write(&self.folder)?;
                self.checkpoints += 1;
                Ok(())
            }
            // Whoever follows the recording need not wait for more.
            Job::Finish => {
                self.put(FINISHED, |to| std::fs::write(to, "").map_err(|e| bad(to, e))).map(|_| ())
            }
            Job::Segment { name, span, times, counts } => {
                self.bytes += self.put(&name, |to| seal(to, span).map_err(|e| bad(to, e)))?;
                let frames = times.len();
                self.index.parts.push(Part { file: name, rows: counts.iter().sum() });
                self.index.times.extend(times);
                self.index.counts.extend(counts);
                if frames > 0 { self.renew_index() } else { Ok(()) }
            }
        }
    }

    fn renew_index(&mut self) -> Result<(), RecordError> {
        let name = format!("run-{:06}.vtkhdf", self.index.times.len());
        self.bytes += self.put(&name, |to| self.index.write(&Hdf5 { compress: true }, to, self.double))?;
        let all = indices(&self.folder);
        let old = all.len().saturating_sub(INDICES);
        all.iter().take(old).for_each(|(_, path)| drop(std::fs::remove_file(path)));
        Ok(())
    }

    /// Ends a file beside its place, then puts it there; its bytes.
    fn put(
        &self,
        name: &str,
        end: impl FnOnce(&Path) -> Result<(), RecordError>,
    ) -> Result<u64, RecordError> {
        let (from, to) = (beside(&self.folder, name), self.folder.join(name));
        let length = || std::fs::metadata(&to).map(|m| m.len());
        let renamed = end(&from)
            .and_then(|()| std::fs::rename(&from, &to).and_then(|()| length()).map_err(|e| bad(&to, e)));
        if renamed.is_err() {
            let _ = std::fs::remove_file(&from);
        }
        renamed
    }
}

/// Removes what a process that was killed had begun to write; nobody else may be writing.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|e| Some(e.ok()?.path())) {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let ours = [".run.", ".run-", ".checkpoint-", ".finished."];
        if name.ends_with(".tmp") && ours.iter().any(|begin| name.starts_with(begin)) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Indices in a folder, with the number of their frames.
pub(super) fn indices(folder: &Path) -> Vec<(usize, PathBuf)> {
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
