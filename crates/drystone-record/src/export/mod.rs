//! Recordings in forms that other programs open.

mod film;
mod gltf;
mod table;
mod vtp;

use std::collections::{HashMap, HashSet};

use drystone_solve::solver::nearest;

use crate::recording::{BodyInfo, Catalogue, Frame, RecordError, Recording};

pub use film::{Film, Look};
pub use gltf::gltf;
pub use table::{Table, csv, parquet};
pub use vtp::vtp;

/// Moments of a run that can be read.
pub trait Frames {
    /// What was simulated.
    fn scene(&self) -> &str;
    /// The step h, s.
    fn step_s(&self) -> f64;
    /// When the frames are, s.
    fn times(&self) -> Vec<f64>;
    /// Bodies and shapes.
    fn catalogue(&self) -> &Catalogue;
    /// A frame by its number.
    ///
    /// # Errors
    /// For a frame that cannot be read.
    fn frame(&self, k: usize) -> Result<Frame, RecordError>;
    /// Whether contacts are among what is recorded.
    fn has_contacts(&self) -> bool;
}

impl Frames for Recording {
    fn scene(&self) -> &str {
        self.scene()
    }

    fn step_s(&self) -> f64 {
        self.step_s()
    }

    fn times(&self) -> Vec<f64> {
        self.moments().iter().map(|m| m.time).collect()
    }

    fn catalogue(&self) -> &Catalogue {
        self.catalogue()
    }

    fn frame(&self, k: usize) -> Result<Frame, RecordError> {
        self.frame(k)
    }

    fn has_contacts(&self) -> bool {
        self.moments().iter().any(|m| m.counts()[1] > 0)
    }
}

/// What of a recording is exported.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Frames, by number.
    pub frames: Vec<usize>,
    /// Numbers of bodies; None: all.
    pub bodies: Option<HashSet<i64>>,
    /// From when to when, s: steps are between two frames, and behind the last one.
    pub times: (f64, f64),
}

impl Selection {
    /// Every `every`-th of the frames between two times (s), and of those the bodies with these names
    /// (`brick` is all copies, `brick[0,0,1]` one of them); all bodies if none is named.
    ///
    /// # Errors
    /// For a name that no body has, and times without frames.
    pub fn new(
        recording: &dyn Frames,
        times: (f64, f64),
        every: usize,
        names: &[String],
    ) -> Result<Self, RecordError> {
        // Times are sums of steps, and not exact.
        let slack = 1e-6 * recording.step_s();
        let within = |t: f64| times.0 - slack <= t && t <= times.1 + slack;
        let all = recording.times();
        let moments = all.iter().enumerate().filter(|(_, t)| within(**t));
        let frames: Vec<usize> = moments.map(|(k, _)| k).step_by(every.max(1)).collect();
        if frames.is_empty() {
            let span = all.first().zip(all.last()).map_or("it has none yet".to_string(), |(a, b)| {
                // Times are sums of steps, and not exact.
                let [a, b] = [a, b].map(|t| (1e6 * t).round() / 1e6);
                format!("they are from {a} s to {b} s")
            });
            return Err(RecordError::Form(format!("no frame is between these times: {span}")));
        }
        let mut selection = Self { frames, bodies: None, times: (times.0 - slack, times.1 + slack) };
        for name in names {
            let called = called(recording.catalogue(), name)?;
            selection.bodies.get_or_insert_default().extend(called);
        }
        Ok(selection)
    }

    /// Keeps the frame alone that is nearest to a time, s.
    pub fn nearest(mut self, recording: &dyn Frames, time: f64) -> Self {
        let all = recording.times();
        let away = |k: &usize| (all[*k] - time).abs();
        let best = self.frames.iter().copied().min_by(|a, b| away(a).total_cmp(&away(b)));
        self.frames = best.into_iter().collect();
        self
    }

    /// Whether a body is among them.
    pub fn has(&self, body: i64) -> bool {
        self.bodies.as_ref().is_none_or(|b| b.contains(&body))
    }
}

/// Numbers of the bodies that a name means: those of this name, of copies of such a body, or the one that is
/// told apart from others so.
///
/// # Errors
/// For a name that no body has.
pub fn called(catalogue: &Catalogue, name: &str) -> Result<Vec<i64>, RecordError> {
    let known = Names::of(catalogue);
    let is_copy = |other: &str| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('['));
    let meant = |b: &&BodyInfo| b.name == name || is_copy(&b.name) || known.body(b.id) == name;
    let found: Vec<i64> = catalogue.bodies.iter().filter(meant).map(|b| b.id).collect();
    if found.is_empty() {
        let names: Vec<&str> =
            catalogue.bodies.iter().map(|b| b.name.as_str()).filter(|n| !n.is_empty()).collect();
        let hint = nearest(name, &names).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        return Err(RecordError::Form(format!("there is no body '{name}' in the recording{hint}")));
    }
    Ok(found)
}

/// Names that tell bodies and joints apart: their own where nobody else has it, else with their number.
pub struct Names {
    bodies: HashMap<i64, String>,
    joints: HashMap<i64, String>,
}

impl Names {
    /// Of all that a recording knows.
    pub fn of(catalogue: &Catalogue) -> Self {
        let bodies = catalogue.bodies.iter().map(|b| (b.id, b.name.as_str()));
        let joints = catalogue.joints.iter().map(|j| (j.id, j.name.as_str()));
        Self { bodies: told_apart("body", bodies), joints: told_apart("joint", joints) }
    }

    /// The name of a body; `world` for none.
    pub fn body(&self, id: i64) -> String {
        let unknown = || if id < 0 { "world".into() } else { format!("body {id}") };
        self.bodies.get(&id).cloned().unwrap_or_else(unknown)
    }

    /// The name of a joint.
    pub fn joint(&self, id: i64) -> String {
        self.joints.get(&id).cloned().unwrap_or_else(|| format!("joint {id}"))
    }
}

fn told_apart<'a>(what: &str, all: impl Iterator<Item = (i64, &'a str)> + Clone) -> HashMap<i64, String> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    all.clone().for_each(|(_, name)| *count.entry(name).or_default() += 1);
    // A slot that was given away again has a number of its own.
    let number = |id: i64| match id >> 32 {
        0 => format!("{id}"),
        generation => format!("{}.{generation}", id & 0xffff_ffff),
    };
    let named = |(id, name): (i64, &str)| match (name, count.get(name)) {
        ("", _) => (id, format!("{what} {}", number(id))),
        (name, Some(1)) => (id, name.to_string()),
        (name, _) => (id, format!("{name} {}", number(id))),
    };
    all.map(named).collect()
}

/// Where a body's row is in a frame.
fn rows(frame: &Frame) -> HashMap<i64, usize> {
    frame.bodies.id.iter().enumerate().map(|(row, id)| (*id, row)).collect()
}

/// Bytes as text of 64 characters [RFC 4648, §4].
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |w, k| w << 8 | u32::from(three.get(k).copied().unwrap_or(0)));
        for k in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * k)) as usize & 63];
            text.push(if k <= three.len() { digit as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_follows_the_published_vectors() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn names_tell_apart() {
        let all = [(0, "nut"), (1, ""), (2, "ball"), (1 << 32 | 2, "ball")];
        let names = told_apart("body", all.into_iter());
        let of = |id: i64| names[&id].as_str();
        assert_eq!((of(0), of(1), of(2), of(1 << 32 | 2)), ("nut", "body 1", "ball 2", "ball 2.1"));
    }
}
