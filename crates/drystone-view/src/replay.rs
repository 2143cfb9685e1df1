//! A recording as frames: read and encoded when a page asks for them, and followed while it grows.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use drystone::Motion;
use drystone_record::export::Selection;
use drystone_record::recording::{COLUMNS, Frame, Loss, RecordError, Recording, StepRow};
use drystone_solve::disjoint::DisjointSets;
use glam::DVec3;

use crate::codec::Encoder;
use crate::frames::{ALL, Frames, Hello, KEY_EVERY};
use crate::snapshot::{CHANNELS, ContactLine, NUMBERS, Snapshot, strongest};
use crate::stage::{Stage, Told};

/// How often it looks for more.
const LOOK: Duration = Duration::from_millis(300);
/// A recording that nobody has written to for so long is one that was killed: segments are closed after a
/// minute at most.
const SILENT: Duration = Duration::from_secs(90);
/// The standard acceleration of gravity, m/s², for recordings that do not say theirs.
const GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.806_65);

/// Frames from a key frame on.
struct Group {
    number: usize,
    encoder: Encoder,
    frames: Vec<Arc<[u8]>>,
}

impl Group {
    fn bytes(&self) -> usize {
        self.frames.iter().map(|f| f.len()).sum()
    }
}

struct Inner {
    recording: Recording,
    selection: Option<Selection>,
    stage: Stage,
    /// Shapes and joints of the catalogue that the stage has.
    taken: [usize; 2],
    /// Least inner radius of the shapes of each body, m, and its weight, N; by number.
    sizes: Vec<f64>,
    weights: Vec<f64>,
    /// The last used is the last.
    groups: Vec<Group>,
    looked: Instant,
    grown: Instant,
    end: Option<String>,
}

/// A recording that is looked at.
pub struct Replay {
    inner: Mutex<Inner>,
    /// Bytes of encoded frames that it keeps.
    most: usize,
}

impl Replay {
    /// Opens a recording; keeps at most so many bytes of encoded frames, and reads others again.
    ///
    /// # Errors
    /// For what is no recording.
    pub fn open(path: &Path, most: usize) -> Result<Self, RecordError> {
        let mut recording = Recording::open(path)?;
        // First the mark, then the frames: those before the mark are all there.
        let end = recording.is_finished().then(String::new);
        recording.refresh()?;
        Ok(Self::new(recording, None, end, most))
    }

    /// Chosen frames and bodies of a recording as far as it has come.
    pub fn selected(recording: Recording, selection: Selection) -> Self {
        Self::new(recording, Some(selection), Some(String::new()), 0)
    }

    fn new(recording: Recording, selection: Option<Selection>, end: Option<String>, most: usize) -> Self {
        let now = Instant::now();
        let age = newest(&recording).unwrap_or_default();
        let mut inner = Inner {
            stage: Stage::of_catalogue(recording.catalogue(), recording.glass(), 1),
            recording,
            selection,
            taken: [0; 2],
            sizes: Vec::new(),
            weights: Vec::new(),
            groups: Vec::new(),
            looked: now,
            grown: now.checked_sub(age).unwrap_or(now),
            end,
        };
        inner.take_up();
        Self { inner: Mutex::new(inner), most }
    }

    /// What is lost of the recording: segments that are missing or damaged.
    pub fn losses(&self) -> Vec<Loss> {
        self.lock().recording.losses()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long ago its last segment was written.
fn newest(recording: &Recording) -> Option<Duration> {
    let times = std::fs::read_dir(recording.folder()).ok()?;
    let last: SystemTime = times.filter_map(|e| e.ok()?.metadata().ok()?.modified().ok()).max()?;
    last.elapsed().ok()
}

impl Inner {
    /// Looks for more, unless it just has.
    fn look(&mut self) {
        if self.end.is_some() || self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        let finished = self.recording.is_finished();
        match self.recording.refresh() {
            Ok(true) => {
                self.grown = Instant::now();
                let [colliders, joints] = self.taken;
                self.stage.follow_catalogue(self.recording.catalogue(), colliders, joints);
                self.take_up();
            }
            Ok(false) => {}
            Err(e) => self.end = Some(e.to_string()),
        }
        if finished {
            self.end.get_or_insert_default();
        } else if self.grown.elapsed() > SILENT {
            self.end.get_or_insert_with(|| "the recording has no end: the run was killed, or waits".into());
        }
    }

    fn len(&self) -> usize {
        self.selection.as_ref().map_or(self.recording.len(), |s| s.frames.len())
    }

    /// The recording's number of a frame.
    fn frame_of(&self, k: usize) -> usize {
        self.selection.as_ref().map_or(k, |s| s.frames[k])
    }

    fn has(&self, id: i64) -> bool {
        self.selection.as_ref().is_none_or(|s| s.has(id))
    }

    /// Sizes and weights of the bodies that came.
    fn take_up(&mut self) {
        let catalogue = self.recording.catalogue();
        let g = self.recording.gravity().unwrap_or(GRAVITY).length();
        let known = self.weights.len();
        let weight = |m: &f64| m * g;
        self.weights.extend(catalogue.bodies[known..].iter().map(|b| weight(&b.mass)));
        self.sizes.resize(self.weights.len(), f64::INFINITY);
        for c in &catalogue.colliders[self.taken[0]..] {
            let (Some(i), Some(shape)) = (self.stage.of_id(c.body), catalogue.shapes.get(c.shape)) else {
                continue;
            };
            self.sizes[i] = self.sizes[i].min(shape.inner_radius());
        }
        self.taken = [catalogue.colliders.len(), catalogue.joints.len()];
    }

    /// A frame, encoded after those between it and the key frame before it.
    fn frame(&mut self, number: usize, most: usize) -> Option<Arc<[u8]>> {
        if number >= self.len() {
            return None;
        }
        let group = number / KEY_EVERY;
        let mut at = match self.groups.iter().position(|g| g.number == group) {
            Some(k) => self.groups.remove(k),
            None => {
                let encoder = Encoder::from((group * KEY_EVERY) as u32);
                Group { number: group, encoder, frames: Vec::new() }
            }
        };
        while at.frames.len() <= number % KEY_EVERY {
            let k = group * KEY_EVERY + at.frames.len();
            match self.snapshot(k) {
                Ok(now) => at.frames.push(at.encoder.encode(&now, ALL, true).into()),
                Err(e) => {
                    self.end = Some(e.to_string());
                    return None;
                }
            }
        }
        let frame = at.frames[number % KEY_EVERY].clone();
        self.groups.push(at);
        while self.groups.len() > 1 && self.groups.iter().map(Group::bytes).sum::<usize>() > most {
            self.groups.remove(0);
        }
        Some(frame)
    }

    fn snapshot(&self, k: usize) -> Result<Snapshot, RecordError> {
        let frame = self.recording.frame(self.frame_of(k))?;
        let n = self.stage.bodies();
        let mut all = Snapshot {
            epoch: self.stage.epoch(),
            step: frame.step,
            time: frame.time,
            quantum: self.stage.quantum(),
            alive: vec![false; n],
            ball: self.stage.balls().to_vec(),
            values: vec![vec![0.0; n]; CHANNELS.len()],
            ..Snapshot::default()
        };
        // What does not move is in no frame.
        let catalogue = self.recording.catalogue();
        all.position = catalogue.bodies.iter().map(|b| b.pose.position).collect();
        all.rotation = catalogue.bodies.iter().map(|b| b.pose.rotation).collect();
        for (i, b) in catalogue.bodies.iter().enumerate().filter(|(_, b)| b.motion == Motion::Static) {
            all.alive[i] = b.step <= frame.step && self.has(b.id);
        }
        for (id, _) in catalogue.gone.iter().filter(|(_, step)| *step <= frame.step) {
            if let Some(i) = self.stage.of_id(*id) {
                all.alive[i] = false;
            }
        }
        for (row, id) in frame.bodies.id.iter().enumerate() {
            let Some(i) = self.stage.of_id(*id).filter(|_| self.has(*id)) else { continue };
            let pose = frame.bodies.pose(row);
            (all.position[i], all.rotation[i], all.alive[i]) = (pose.position, pose.rotation, true);
            all.values[0][i] = DVec3::from_array(frame.bodies.velocity[row]).length() as f32;
        }
        self.contacts(&frame, &mut all);
        self.islands(&frame, &mut all);
        let there = all.alive.iter().filter(|a| **a).count();
        all.numbers = self.numbers(k, &frame, there);
        Ok(all)
    }

    fn contacts(&self, frame: &Frame, all: &mut Snapshot) {
        let (c, h) = (&frame.contacts, self.recording.step_s());
        // Residuals of single contacts are not recorded.
        for (value, alive) in all.values[3].iter_mut().zip(&all.alive) {
            *value = if *alive { -99.0 } else { 0.0 };
        }
        let mut lines = Vec::with_capacity(c.gap.len());
        for k in 0..c.gap.len() {
            let there = |id: i64| self.stage.of_id(id).filter(|i| all.alive[*i]);
            let [Some(a), Some(b)] = c.bodies[k].map(there) else { continue };
            let impulse = DVec3::from_array(c.impulse[k]);
            let normal = impulse.dot(DVec3::from_array(c.normal[k])) / h;
            let size = self.sizes[a].min(self.sizes[b]);
            let deep = c.gap[k] < 0.0 && size > 0.0 && size.is_finite();
            let overlap = if deep { (-100.0 * c.gap[k] / size) as f32 } else { 0.0 };
            for i in [a, b] {
                let w = self.weights[i];
                all.values[1][i] += if w > 0.0 { (normal / w) as f32 } else { 0.0 };
                all.values[2][i] = all.values[2][i].max(overlap);
            }
            lines.push(ContactLine {
                bodies: [a as u32, b as u32],
                point: DVec3::from_array(c.point[k]),
                force: impulse / h,
                gap: c.gap[k],
            });
        }
        all.all_contacts = lines.len();
        all.contacts = strongest(lines);
    }

    /// Numbers the islands as [`Snapshot::of`] does.
    fn islands(&self, frame: &Frame, all: &mut Snapshot) {
        let catalogue = self.recording.catalogue();
        let number = |id: i64| {
            let i = self.stage.of_id(id)?;
            (catalogue.bodies[i].motion == Motion::Dynamic && all.alive[i]).then_some(i as u32)
        };
        let mut sets = DisjointSets::new(self.stage.bodies());
        let joints = catalogue.joints.iter().map(|j| j.bodies);
        for [a, b] in frame.contacts.bodies.iter().copied().chain(joints) {
            if let (Some(a), Some(b)) = (number(a), number(b)) {
                sets.join(a, b);
            }
        }
        for (i, b) in catalogue.bodies.iter().enumerate() {
            if b.motion == Motion::Dynamic && all.alive[i] {
                all.values[4][i] = (1 + sets.root(i as u32) % 65535) as f32;
            }
        }
    }

    /// What plots show: of the frame's own step, but the largest residual and overlap of all steps since the
    /// frame before.
    fn numbers(&self, k: usize, frame: &Frame, there: usize) -> Vec<f32> {
        let mut all = vec![0.0; NUMBERS.len()];
        let steps = self.recording.steps();
        let of = |row: &StepRow, name: &str| COLUMNS.iter().position(|c| *c == name).map_or(0.0, |c| row[c]);
        let after = |step: u64| steps.partition_point(|row| row[0] <= step as f64);
        let before = k.checked_sub(1).map_or(0, |k| self.recording.moments()[self.frame_of(k)].step);
        let since = &steps[after(before)..after(frame.step)];
        all[12] = there as f32;
        let Some(last) = since.last().or(steps.first()) else { return all };
        let names = [
            (0, "kinetic_j"),
            (1, "potential_j"),
            (4, "contacts"),
            (5, "touching"),
            (6, "iterations"),
            (7, "total_ms"),
            (8, "broadphase_ms"),
            (9, "narrowphase_ms"),
            (10, "solve_ms"),
            (11, "correct_ms"),
        ];
        names.iter().for_each(|(to, name)| all[*to] = of(last, name) as f32);
        let most = |name: &str| since.iter().map(|row| of(row, name)).fold(0.0, f64::max) as f32;
        (all[2], all[3]) = (most("overlap_max_m"), most("residual_m_s"));
        all
    }
}

impl Frames for Replay {
    fn hello(&self) -> Hello {
        let inner = self.lock();
        let r = &inner.recording;
        Hello {
            name: r.scene().into(),
            title: r.folder().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
            step_s: r.step_s(),
            duration_s: r.moments().last().map_or(0.0, |m| m.time),
            tolerance: r.tolerance().unwrap_or(0.0),
            gravity: r.gravity().unwrap_or(GRAVITY).to_array(),
            recording: true,
            ..Hello::default()
        }
    }
    fn stage(&self, told: &mut Told) -> Option<Vec<u8>> {
        self.lock().stage.news(told)
    }
    fn count(&self) -> usize {
        let mut inner = self.lock();
        inner.look();
        inner.len()
    }
    fn frame(&self, number: usize) -> Option<Arc<[u8]>> {
        self.lock().frame(number, self.most)
    }
    fn end(&self) -> Option<String> {
        self.lock().end.clone()
    }
}
