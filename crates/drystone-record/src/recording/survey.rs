//! Which segments a recording has, and what is lost of it.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use rayon::prelude::*;

use super::RecordError;
use super::hdf5::Opened;
use super::store::Source;
use super::sum::{self, Seal, Span};

/// The note of a segment that has sums behind its end.
pub(super) const SUMMED: (&str, &str) = ("sum", "crc32");

/// What is wrong with a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is none, and something later is there.
    Missing,
    /// It is not what was written, or cannot be read: why.
    Damaged(String),
}

/// Segments that cannot be read, and the steps that are lost with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Numbers of the segments, one after the other, and what is wrong with each.
    pub segments: Vec<(usize, Fault)>,
    /// The first step that is lost.
    pub first: u64,
    /// The first step after it that is not; None if nothing later is known. Not above `first` if no step is
    /// lost.
    pub until: Option<u64>,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut told = Vec::new();
        for group in self.segments.chunk_by(|(_, a), (_, b)| a == b) {
            let (first, last) = (group[0].0, group[group.len() - 1].0);
            let (which, are) = match first == last {
                true => (format!("segment {first}"), "is"),
                false => (format!("segments {first} to {last}"), "are"),
            };
            told.push(match &group[0].1 {
                Fault::Missing => format!("{which} {are} missing"),
                Fault::Damaged(why) => format!("{which} {are} damaged ({why})"),
            });
        }
        let steps = match self.until {
            None => format!("steps from {} on are lost", self.first),
            Some(until) if until <= self.first => "no step is lost".into(),
            Some(until) if until == self.first + 1 => format!("step {} is lost", self.first),
            Some(until) => format!("steps {} to {} are lost", self.first, until - 1),
        };
        write!(f, "{}: {steps}", told.join(", "))?;
        // Whoever was there from the beginning is introduced in the first segment.
        match self.segments[0].0 {
            0 => f.write_str(", and the names and shapes of the bodies there were at the start"),
            _ => Ok(()),
        }
    }
}

/// A segment as it was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub number: usize,
    pub state: Result<(), Fault>,
    /// Its steps, where they can be believed.
    pub span: Option<Span>,
}

/// The name of a segment.
pub(super) fn segment_name(number: usize) -> String {
    format!("run.{number:05}.h5")
}

/// The highest number of a segment in a folder.
///
/// # Errors
/// For a folder that cannot be read; one that is not there has none.
pub(super) fn last_segment(folder: &Path) -> Result<Option<usize>, RecordError> {
    let bad = |e: std::io::Error| RecordError::File { file: folder.into(), text: e.to_string() };
    let entries = match std::fs::read_dir(folder) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        entries => entries.map_err(bad)?,
    };
    let mut last = None;
    for entry in entries {
        let name = entry.map_err(bad)?.file_name();
        let digits = name.to_str().and_then(|n| n.strip_prefix("run.")?.strip_suffix(".h5"));
        last = last.max(digits.and_then(|d| d.parse().ok()));
    }
    Ok(last)
}

/// Looks at all segments from a number on: each is read whole, and compared with its sums.
///
/// # Errors
/// For a folder that cannot be read.
pub(super) fn survey(folder: &Path, from: usize) -> Result<Vec<Found>, RecordError> {
    let Some(last) = last_segment(folder)? else { return Ok(Vec::new()) };
    // A list of names that was read while files came may lack some: each is looked up.
    let numbers: Vec<usize> = (from..=last).collect();
    let mut found: Vec<Found> =
        numbers.into_par_iter().map(|k| look(k, &folder.join(segment_name(k)))).collect();
    while found.last().is_some_and(|f| f.state == Err(Fault::Missing)) {
        found.pop();
    }
    Ok(found)
}

fn look(number: usize, path: &Path) -> Found {
    let damaged = |why: String| Err(Fault::Damaged(why));
    let (state, span) = match sum::check(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => (Err(Fault::Missing), None),
        Err(e) => (damaged(e.to_string()), None),
        Ok(Seal::Whole(span)) => (Ok(()), Some(span)),
        Ok(Seal::Broken(span)) => (damaged("its sum is not that of its bytes".into()), Some(span)),
        Ok(Seal::Absent) => match unsealed(path) {
            Ok(span) => (Ok(()), Some(span)),
            Err(e) => (damaged(reason(e)), None),
        },
    };
    Found { number, state, span }
}

/// What went wrong, without the name of the file.
pub(super) fn reason(e: RecordError) -> String {
    match e {
        RecordError::File { text, .. } => text,
        other => other.to_string(),
    }
}

/// The steps of a segment of an older version, which has no sums.
fn unsealed(path: &Path) -> Result<Span, RecordError> {
    let bad = |text: &str| RecordError::File { file: path.into(), text: text.into() };
    let file = Opened::open(path).map_err(|_| bad("it is cut off, or no HDF5"))?;
    if file.note(SUMMED.0).is_ok() {
        return Err(bad("its end is cut off or changed"));
    }
    let (frames, rows) = (file.rows("frames/step")?, file.rows("steps/step")?);
    let mut steps: Vec<u64> = Vec::new();
    for k in [0, frames.saturating_sub(1)] {
        steps.extend(file.whole("frames/step", k, frames.min(1))?.iter().map(|s| *s as u64));
    }
    for k in [0, rows.saturating_sub(1)] {
        steps.extend(file.reals("steps/step", k, rows.min(1))?.iter().map(|s| *s as u64));
    }
    Ok(Span::of(steps.into_iter()))
}

impl Span {
    /// Of any number of steps.
    pub fn of(steps: impl Iterator<Item = u64>) -> Self {
        steps.fold(Self { first: u64::MAX, last: 0 }, |s, step| Self {
            first: s.first.min(step),
            last: s.last.max(step),
        })
    }
}

/// What is lost among segments that follow each other from the first on, of a run that is known to have come
/// to a step.
pub(super) fn losses(found: &[Found], reached: Option<u64>) -> Vec<Loss> {
    let (mut all, mut open) = (Vec::new(), Vec::new());
    // The first step that nothing has told of yet.
    let mut first = 0;
    for f in found {
        let span = f.span.filter(|s| s.first <= s.last);
        match (&f.state, span) {
            (Err(fault), None) => open.push((f.number, fault.clone())),
            (state, Some(span)) => {
                if !open.is_empty() {
                    let segments = std::mem::take(&mut open);
                    all.push(Loss { segments, first, until: Some(span.first) });
                }
                if let Err(fault) = state {
                    let segments = vec![(f.number, fault.clone())];
                    all.push(Loss { segments, first: span.first, until: Some(span.last + 1) });
                }
                first = span.last + 1;
            }
            (Ok(()), None) => {}
        }
    }
    let until = reached.map(|step| step + 1).filter(|until| *until > first);
    if open.is_empty() && until.is_some() {
        open.push((found.len(), Fault::Missing));
    }
    if !open.is_empty() {
        all.push(Loss { segments: open, first, until });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(number: usize, fault: Option<Fault>, steps: Option<(u64, u64)>) -> Found {
        Found {
            number,
            state: fault.map_or(Ok(()), Err),
            span: steps.map(|(first, last)| Span { first, last }),
        }
    }

    #[test]
    fn losses_are_told_with_their_steps() {
        let (gone, cut) = (|| Some(Fault::Missing), || Some(Fault::Damaged("cut".into())));
        let told = |all: &[Found], reached| {
            losses(all, reached).iter().map(Loss::to_string).collect::<Vec<_>>().join("; ")
        };
        let whole = [found(0, None, Some((0, 9))), found(1, None, Some((10, 19)))];
        assert_eq!(told(&whole, Some(19)), "");
        assert_eq!(told(&whole, Some(30)), "segment 2 is missing: steps 20 to 30 are lost");
        let hole = [found(0, None, Some((0, 9))), found(1, gone(), None), found(2, None, Some((11, 19)))];
        assert_eq!(told(&hole, None), "segment 1 is missing: step 10 is lost");
        let several = [
            found(0, gone(), None),
            found(1, gone(), None),
            found(2, cut(), None),
            found(3, None, Some((30, 39))),
            found(4, cut(), Some((40, 49))),
            found(5, cut(), None),
        ];
        assert_eq!(
            told(&several, None),
            "segments 0 to 1 are missing, segment 2 is damaged (cut): steps 0 to 29 are lost, and the names and shapes of the \
             bodies there were at the start; segment 4 is damaged (cut): steps 40 to 49 are lost; segment 5 is damaged (cut): \
             steps from 50 on are lost"
        );
        assert!(told(&several, Some(60)).ends_with("segment 5 is damaged (cut): steps 50 to 60 are lost"));
        let nothing = [found(0, None, Some((0, 9))), found(1, gone(), None), found(2, None, Some((10, 19)))];
        assert_eq!(told(&nothing, None), "segment 1 is missing: no step is lost");
    }
}
