//! Reading recordings, finished ones and those that grow.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use glam::DVec3;

use super::RecordError;
use super::checkpoint::checkpoints;
use super::frame::{Bodies, COLUMNS, Catalogue, Contacts, Frame, Joints, StepRow};
use super::hdf5::Opened;
use super::lock::holder;
use super::store::Source;
use super::survey::{Fault, Found, Loss, last_segment, losses, reason, segment_name, survey};

/// The form of segments.
pub(super) const FORMAT: &str = "drystone recording";
pub(super) const VERSION: u32 = 1;
/// A file of this name says that the run has ended.
pub(super) const FINISHED: &str = "finished";

/// A frame without what is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Steps done.
    pub step: u64,
    /// s
    pub time: f64,
    /// Number of the segment that has it.
    pub(super) segment: usize,
    /// Rows of bodies, contacts and joints: where they begin, and how many.
    pub(super) rows: [(usize, usize); 3],
}

impl Moment {
    /// How many bodies, contacts and joints it has.
    pub fn counts(&self) -> [usize; 3] {
        self.rows.map(|(_, n)| n)
    }
}

/// A recording that is read. It can be sent to other threads, and each frame is read from the disk when it is
/// asked for.
#[derive(Clone, Debug)]
pub struct Recording {
    folder: PathBuf,
    /// Segments by number, whole or not.
    pub(super) found: Vec<Found>,
    /// Step of the last checkpoint.
    reached: Option<u64>,
    pub(super) moments: Vec<Moment>,
    steps: Vec<StepRow>,
    catalogue: Catalogue,
    scene: String,
    h: f64,
    pub(super) double: bool,
    gravity: Option<DVec3>,
    tolerance: Option<f64>,
    glass: Vec<usize>,
}

/// Who has just begun to record in a folder, of which nothing can be read yet.
pub fn begun(folder: &Path) -> Option<String> {
    let none = last_segment(folder).is_ok_and(|last| last.is_none());
    if none { holder(folder) } else { None }
}

impl Recording {
    /// Opens a recording: its folder, or a file in it. Segments that are missing or damaged are left out; see
    /// [`Self::losses`].
    ///
    /// # Errors
    /// For a folder that cannot be read or has no segments, none of which is whole, or one of a newer form.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let beside = || path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = if path.is_file() { beside() } else { path };
        let bad = |text: String| Err(RecordError::File { file: path.into(), text });
        let mut recording = Self::empty(folder);
        recording.refresh()?;
        if let Some(who) = begun(folder) {
            return bad(format!(
                "{who} records here, and nothing of it is finished yet: try again in a while"
            ));
        }
        if recording.found.is_empty() {
            let place = if path.is_file() { "beside it" } else { "in it" };
            return bad(format!("is no recording: there is no {} {place}", segment_name(0)));
        }
        if recording.found.iter().all(|f| f.state.is_err()) {
            let lost: Vec<String> = recording.losses().iter().map(Loss::to_string).collect();
            return bad(format!("nothing of this recording can be read: {}", lost.join("; ")));
        }
        Ok(recording)
    }

    /// Nothing of it is read yet.
    pub(super) fn empty(folder: &Path) -> Self {
        Self {
            folder: folder.into(),
            found: Vec::new(),
            reached: None,
            moments: Vec::new(),
            steps: Vec::new(),
            catalogue: Catalogue::default(),
            scene: String::new(),
            h: f64::NAN,
            double: false,
            gravity: None,
            tolerance: None,
            glass: Vec::new(),
        }
    }

    /// Looks for what was written since; true if there is more.
    ///
    /// # Errors
    /// For a folder that cannot be read, and segments of a newer form.
    pub fn refresh(&mut self) -> Result<bool, RecordError> {
        let known = self.found.len();
        // Before the segments: what a checkpoint has seen is on the disk when it is.
        let reached = checkpoints(&self.folder).ok().and_then(|all| all.first().map(|(step, _)| *step));
        survey(&self.folder, known)?.into_iter().try_for_each(|found| self.add(found))?;
        self.reached = reached;
        Ok(self.found.len() > known)
    }

    /// How many bodies are seen: those that were introduced, and those who came in a segment that is lost and
    /// are in the next frame.
    pub fn bodies_seen(&self) -> usize {
        let mut seen: HashSet<i64> = self.catalogue.bodies.iter().map(|b| b.id).collect();
        let segment = |k: usize| self.moments.get(k).map(|m| m.segment);
        for k in 0..self.moments.len() {
            let after_a_gap = k == 0 || segment(k) > segment(k - 1).map(|s| s + 1);
            if after_a_gap && let Ok(frame) = self.frame(k) {
                seen.extend(&frame.bodies.id);
            }
        }
        seen.len()
    }

    /// What is lost: segments that are missing or damaged, and their steps.
    pub fn losses(&self) -> Vec<Loss> {
        losses(&self.found, self.reached)
    }

    /// Takes a segment, which is left out if it turns out not to be whole.
    ///
    /// # Errors
    /// For one of a newer form.
    pub(super) fn add(&mut self, mut found: Found) -> Result<(), RecordError> {
        let path = self.folder.join(segment_name(found.number));
        if found.state.is_ok() {
            let file = Opened::open(&path);
            let version = file.as_ref().ok().and_then(|file| file.note("version").ok()).unwrap_or_default();
            if version.parse::<u32>().is_ok_and(|v| v > VERSION) {
                let text = format!(
                    "is of form {version}, and this version of drystone reads up to form {VERSION}: take a newer one"
                );
                return Err(RecordError::File { file: path, text });
            }
            let read = file.and_then(|file| self.read(found.number, &file));
            found.state = read.map_err(|e| Fault::Damaged(reason(e)));
        }
        self.found.push(found);
        Ok(())
    }

    /// Reads what there is before the frames; nothing of a segment that is not whole stays.
    fn read(&mut self, segment: usize, file: &Opened) -> Result<(), RecordError> {
        if file.note("format")? != FORMAT {
            return Err(RecordError::Form("it is no segment of a drystone recording".into()));
        }
        let (scene, h, precision) = (file.note("scene")?, file.note("step_s")?, file.note("precision")?);
        // Older recordings do not say.
        let numbers = |name: &str| -> Option<Vec<f64>> {
            file.note(name).ok()?.split_whitespace().map(|x| x.parse().ok()).collect()
        };
        let gravity = numbers("gravity").filter(|g| g.len() == 3).map(|g| DVec3::from_slice(&g));
        let tolerance = numbers("tolerance").and_then(|t| t.first().copied());
        let glass = numbers("glass").unwrap_or_default().into_iter().map(|x| x as usize).collect();
        let frames = file.rows("frames/step")?;
        let (steps, times) = (file.whole("frames/step", 0, frames)?, file.reals("frames/time", 0, frames)?);
        let mut counts = Vec::new();
        for name in ["frames/bodies", "frames/contacts", "frames/joints"] {
            counts.push(file.whole(name, 0, frames)?);
        }
        let rows = file.rows("steps/step")?;
        let mut columns = Vec::new();
        for name in COLUMNS {
            columns.push(file.reals(&format!("steps/{name}"), 0, rows)?);
        }
        let news = Catalogue::read(file)?;
        let first = |name: &str| file.note(name).ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        self.catalogue.take(news, first("first_shape"), first("first_material"));
        self.steps.extend((0..rows).map(|r| std::array::from_fn(|k| columns[k][r])));
        let mut start = [0; 3];
        for k in 0..frames {
            let rows = [0, 1, 2].map(|i| (start[i], counts[i][k] as usize));
            start = rows.map(|(first, n)| first + n);
            self.moments.push(Moment { step: steps[k] as u64, time: times[k], segment, rows });
        }
        (self.scene, self.h, self.double) = (scene, h.parse().unwrap_or(f64::NAN), precision == "f64");
        (self.gravity, self.tolerance, self.glass) = (gravity, tolerance, glass);
        Ok(())
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What was simulated.
    pub fn scene(&self) -> &str {
        &self.scene
    }

    /// The step h, s.
    pub fn step_s(&self) -> f64 {
        self.h
    }

    /// m/s², where it is known.
    pub fn gravity(&self) -> Option<DVec3> {
        self.gravity
    }

    /// The largest residual that was asked for, m/s, where it is known.
    pub fn tolerance(&self) -> Option<f64> {
        self.tolerance
    }

    /// Slots of bodies that are not to hide others in pictures.
    pub fn glass(&self) -> &[usize] {
        &self.glass
    }

    /// Whether the run has ended and all of it is here. One that was killed never says so.
    pub fn is_finished(&self) -> bool {
        self.folder.join(FINISHED).is_file()
    }

    /// Whether numbers of frames are in double precision.
    pub fn is_double(&self) -> bool {
        self.double
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.moments.len()
    }

    /// Whether there is no frame yet.
    pub fn is_empty(&self) -> bool {
        self.moments.is_empty()
    }

    /// When the frames are.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Numbers of every step, whether it is a frame or not.
    pub fn steps(&self) -> &[StepRow] {
        &self.steps
    }

    /// A column of [`COLUMNS`].
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let k = COLUMNS.iter().position(|c| *c == name)?;
        Some(self.steps.iter().map(|row| row[k]).collect())
    }

    /// Bodies, shapes, joints and materials.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// A frame.
    ///
    /// # Errors
    /// For a number that there is not, and a segment that cannot be read.
    pub fn frame(&self, k: usize) -> Result<Frame, RecordError> {
        let moment = self.moments.get(k).ok_or_else(|| {
            RecordError::Form(format!("there is no frame {k}: the recording has {}", self.moments.len()))
        })?;
        let file = Opened::open(&self.folder.join(segment_name(moment.segment)))?;
        let [bodies, contacts, joints] = moment.rows;
        let whole = |path: &str, (start, n): (usize, usize)| file.whole(path, start, n);
        let reals = |path: &str, (start, n): (usize, usize)| file.reals(path, start, n);
        let triples = |path: &str, rows| reals(path, rows).map(|x| grouped::<f64, 3>(&x));
        Ok(Frame {
            step: moment.step,
            time: moment.time,
            bodies: Bodies {
                id: whole("bodies/id", bodies)?,
                position: triples("bodies/position", bodies)?,
                orientation: grouped(&reals("bodies/orientation", bodies)?),
                velocity: triples("bodies/velocity", bodies)?,
                angular_velocity: triples("bodies/angular_velocity", bodies)?,
            },
            contacts: Contacts {
                bodies: grouped(&whole("contacts/bodies", contacts)?),
                point: triples("contacts/point", contacts)?,
                normal: triples("contacts/normal", contacts)?,
                impulse: triples("contacts/impulse", contacts)?,
                gap: reals("contacts/gap", contacts)?,
                friction: reals("contacts/friction", contacts)?,
                materials: grouped(&whole("contacts/materials", contacts)?),
            },
            joints: Joints {
                id: whole("joints/id", joints)?,
                force: triples("joints/force", joints)?,
                torque: triples("joints/torque", joints)?,
                coordinates: triples("joints/coordinates", joints)?,
                motors: triples("joints/motors", joints)?,
            },
        })
    }
}

fn grouped<T: Copy + Default, const N: usize>(flat: &[T]) -> Vec<[T; N]> {
    flat.chunks_exact(N).map(|x| std::array::from_fn(|k| x[k])).collect()
}
