//! Checkpoints of a recording: what a run can be resumed from. The last two are kept.

use std::io::Write;
use std::path::{Path, PathBuf};

use drystone::seal;
use serde::{Deserialize, Serialize};

use super::RecordError;

const KIND: &str = "checkpoint";
const VERSION: u32 = 1;
/// How many are kept: if one is damaged there is the one before.
const KEPT: usize = 2;

/// A run as it was after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Steps done.
    pub step: u64,
    /// The command that began the run, word by word.
    pub command: Vec<String>,
    /// The folder that its paths are relative to.
    pub folder: PathBuf,
    /// Of the scene file's bytes; None for a scene of the gallery.
    pub scene_sum: Option<u64>,
    /// Of the program that wrote it; empty where it did not say.
    #[serde(default)]
    pub version: String,
    /// How many steps were to be done in all.
    pub steps: u64,
    /// [`drystone::World::save`].
    #[serde(with = "bytes")]
    pub world: Vec<u8>,
    /// What the scene's probe has seen.
    #[serde(with = "bytes")]
    pub probe: Vec<u8>,
    /// [`crate::report::Recorder::save`].
    #[serde(with = "bytes")]
    pub totals: Vec<u8>,
    /// Bytes of other files that were written until then, in the order of the command's options.
    pub written: Vec<u64>,
}

/// Lists of bytes as such, not as lists of numbers.
mod bytes {
    use serde::{Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl de::Visitor<'_> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: de::Error>(self, v: &[u8]) -> Result<Vec<u8>, E> {
                Ok(v.to_vec())
            }
        }
        from.deserialize_bytes(Bytes)
    }
}

fn bad(file: &Path, e: impl std::fmt::Display) -> RecordError {
    RecordError::File { file: file.into(), text: e.to_string() }
}

/// The checkpoints of a recording, the last first.
pub fn checkpoints(folder: &Path) -> Result<Vec<(u64, PathBuf)>, RecordError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| bad(folder, e))? {
        let path = entry.map_err(|e| bad(folder, e))?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let digits = name.strip_prefix("checkpoint-").and_then(|n| n.strip_suffix(".drystone"));
        if let Some(step) = digits.and_then(|d| d.parse().ok()) {
            found.push((step, path));
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found)
}

impl Checkpoint {
    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.world.len() + self.probe.len() + self.totals.len()
    }

    /// Writes it into a recording, beside and renamed, and removes all but the last two; its bytes.
    ///
    /// # Errors
    /// Naming the file that could not be written; those before it are untouched.
    pub fn write(&self, folder: &Path) -> Result<u64, RecordError> {
        let to = folder.join(format!("checkpoint-{:012}.drystone", self.step));
        let packed = rmp_serde::to_vec_named(self).map_err(|e| bad(&to, e))?;
        let beside = folder.join(format!(".checkpoint-{}.tmp", std::process::id()));
        let sealed = seal::close(KIND, VERSION, &packed);
        drop(packed);
        let written = std::fs::File::create(&beside)
            .and_then(|mut file| {
                file.write_all(&sealed)?;
                file.sync_all()
            })
            .and_then(|()| std::fs::rename(&beside, &to));
        if let Err(e) = written {
            let _ = std::fs::remove_file(&beside);
            return Err(bad(&to, e));
        }
        let older = checkpoints(folder)?.into_iter().filter(|(step, _)| *step <= self.step).skip(KEPT);
        older.for_each(|(_, path)| drop(std::fs::remove_file(path)));
        Ok(sealed.len() as u64)
    }

    /// Reads one.
    ///
    /// # Errors
    /// Saying what is wrong with it.
    pub fn read(file: &Path) -> Result<Self, RecordError> {
        let all = std::fs::read(file).map_err(|e| bad(file, e))?;
        let packed = seal::open(KIND, VERSION, &all).map_err(|e| bad(file, e))?;
        rmp_serde::from_slice(packed).map_err(|e| bad(file, e))
    }

    /// The last one of a recording that is whole, and what is wrong with those after it.
    ///
    /// # Errors
    /// Where there is none.
    pub fn last(folder: &Path) -> Result<(Self, Vec<RecordError>), RecordError> {
        let mut wrong = Vec::new();
        for (_, path) in checkpoints(folder)? {
            match Self::read(&path) {
                Ok(checkpoint) => return Ok((checkpoint, wrong)),
                Err(e) => wrong.push(e),
            }
        }
        Err(match wrong.first() {
            Some(e) => RecordError::Form(format!("{e}; and there is no whole checkpoint before it")),
            None => bad(folder, "there is no checkpoint: record with --checkpoint to be able to resume"),
        })
    }
}
