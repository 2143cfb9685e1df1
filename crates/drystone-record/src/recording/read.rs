//! Reading recordings, finished ones and those that grow.

use std::path::{Path, PathBuf};

use glam::DVec3;

use super::RecordError;
use super::frame::{Bodies, COLUMNS, Catalogue, Contacts, Frame, Joints, StepRow};
use super::hdf5::Opened;
use super::store::Source;

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
    /// Which segment has it.
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

/// A recording that is read. It can be sent to other threads, and each frame is read from the disk when it is asked for.
#[derive(Clone, Debug)]
pub struct Recording {
    folder: PathBuf,
    pub(super) segments: Vec<PathBuf>,
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

/// The name of a segment.
pub(super) fn segment_name(number: usize) -> String {
    format!("run.{number:05}.h5")
}

/// The segments in a folder, in their order.
fn segments(folder: &Path) -> Vec<PathBuf> {
    (0..).map(|k| folder.join(segment_name(k))).take_while(|path| path.is_file()).collect()
}

impl Recording {
    /// Opens a recording: its folder, or a file in it.
    ///
    /// # Errors
    /// For a folder without segments, and files that are no segments or of a newer form.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let folder = if path.is_file() { path.parent().unwrap_or(Path::new(".")) } else { path };
        let mut recording = Self {
            folder: folder.into(),
            segments: Vec::new(),
            moments: Vec::new(),
            steps: Vec::new(),
            catalogue: Catalogue::default(),
            scene: String::new(),
            h: f64::NAN,
            double: false,
            gravity: None,
            tolerance: None,
            glass: Vec::new(),
        };
        recording.refresh()?;
        if recording.segments.is_empty() {
            let file = folder.into();
            let text = format!("is no recording: there is no {} in it", segment_name(0));
            return Err(RecordError::File { file, text });
        }
        Ok(recording)
    }

    /// Looks for what was written since; true if there is more.
    ///
    /// # Errors
    /// For segments that cannot be read.
    pub fn refresh(&mut self) -> Result<bool, RecordError> {
        let known = self.segments.len();
        for path in segments(&self.folder).into_iter().skip(known) {
            self.add(path)?;
        }
        Ok(self.segments.len() > known)
    }

    fn add(&mut self, path: PathBuf) -> Result<(), RecordError> {
        let bad = |text: String| RecordError::File { file: path.clone(), text };
        let file = Opened::open(&path)?;
        if file.note("format")? != FORMAT {
            return Err(bad("is no segment of a drystone recording".into()));
        }
        let version = file.note("version")?;
        if version.parse::<u32>().map_or(true, |v| v > VERSION) {
            return Err(bad(format!(
                "is of form {version}, and this version of drystone reads up to form {VERSION}: take a newer one"
            )));
        }
        self.scene = file.note("scene")?;
        self.h = file.note("step_s")?.parse().unwrap_or(f64::NAN);
        self.double = file.note("precision")? == "f64";
        // Older recordings do not say.
        let numbers = |name: &str| -> Option<Vec<f64>> {
            file.note(name).ok()?.split_whitespace().map(|x| x.parse().ok()).collect()
        };
        self.gravity = numbers("gravity").filter(|g| g.len() == 3).map(|g| DVec3::from_slice(&g));
        self.tolerance = numbers("tolerance").and_then(|t| t.first().copied());
        self.glass = numbers("glass").unwrap_or_default().into_iter().map(|x| x as usize).collect();
        let frames = file.rows("frames/step")?;
        let (steps, times) = (file.whole("frames/step", 0, frames)?, file.reals("frames/time", 0, frames)?);
        let mut counts = Vec::new();
        for name in ["frames/bodies", "frames/contacts", "frames/joints"] {
            counts.push(file.whole(name, 0, frames)?);
        }
        let mut start = [0; 3];
        for k in 0..frames {
            let rows = [0, 1, 2].map(|i| (start[i], counts[i][k] as usize));
            start = rows.map(|(first, n)| first + n);
            let segment = self.segments.len();
            self.moments.push(Moment { step: steps[k] as u64, time: times[k], segment, rows });
        }
        let rows = file.rows("steps/step")?;
        let mut columns = Vec::new();
        for name in COLUMNS {
            columns.push(file.reals(&format!("steps/{name}"), 0, rows)?);
        }
        self.steps.extend((0..rows).map(|r| std::array::from_fn(|k| columns[k][r])));
        self.catalogue.extend(Catalogue::read(&file)?);
        self.segments.push(path);
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
        let file = Opened::open(&self.segments[moment.segment])?;
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
