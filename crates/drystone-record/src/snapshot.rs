//! Snapshots in the form that drivers of other engines write, so that one script judges all.
//!
//! The file is whole JSON after every snapshot: what ends it is written again behind the next one. Of a
//! `.json.gz` every piece is a member of its own, which readers of gzip put together.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use drystone::{Motion, World};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::export::Frames;
use crate::recording::{Bodies, Catalogue, Frame, RecordError};
use crate::report::Laps;

/// Who ran what, for the file.
#[derive(Clone, Debug)]
pub struct Header {
    /// The scene's name.
    pub scene: String,
    /// The solver.
    pub setting: String,
    /// In the pool.
    pub threads: usize,
}

enum Target {
    File(File),
    /// Standard output, a pipe: written once, at the end.
    Stream(PathBuf, Vec<u8>),
}

/// Moments to keep, and the file they are kept in.
pub struct Snapshots {
    wanted: Vec<f64>,
    to: Target,
    gzip: bool,
    header: Header,
    /// Where the last snapshot ends, bytes.
    end: u64,
    /// Its time, s.
    last: Option<f64>,
}

/// Says what is wrong with a file's name.
///
/// # Errors
/// For an ending that is neither `.json` nor `.json.gz`.
pub fn check_name(path: &Path) -> Result<(), String> {
    let name = path.to_string_lossy();
    let fits = name == "-" || name.ends_with(".json") || name.ends_with(".json.gz");
    let stream = std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir());
    if fits || stream { Ok(()) } else { Err("the name must end in .json or .json.gz".into()) }
}

impl Snapshots {
    /// A new file, for snapshots at these times; with none, only the end is kept.
    ///
    /// # Errors
    /// For a file that cannot be written.
    pub fn create(path: &Path, wanted: Vec<f64>, header: Header) -> std::io::Result<Self> {
        let stream =
            path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir());
        let to = if stream {
            Target::Stream(path.into(), Vec::new())
        } else {
            crate::file::make_folder(path)?;
            Target::File(File::create(path)?)
        };
        let mut this = Self::of(path, wanted, header, to);
        let head = json!({
            "engine": "drystone",
            "setting": this.header.setting,
            "scene": this.header.scene,
            "threads": this.header.threads,
        });
        // The object stays open: the snapshots are next.
        let text = head.to_string();
        this.put(&format!("{},\"snaps\":[", text.trim_end_matches('}')))?;
        Ok(this)
    }

    /// Goes on with a file whose last snapshot ended at `end`, after the time `now`.
    ///
    /// # Errors
    /// For a file that is not there any more, or shorter.
    pub fn resume(
        path: &Path,
        wanted: Vec<f64>,
        header: Header,
        end: u64,
        now: f64,
    ) -> std::io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        let length = file.metadata()?.len();
        if length < end {
            let text = format!("has {length} bytes, and had {end} at the checkpoint");
            return Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, text));
        }
        let mut this = Self::of(path, wanted, header, Target::File(file));
        let taken = this.wanted.iter().take_while(|t| **t <= now).count();
        this.last = this.wanted.drain(..taken).next_back();
        this.end = end;
        Ok(this)
    }

    fn of(path: &Path, mut wanted: Vec<f64>, header: Header, to: Target) -> Self {
        wanted.sort_by(f64::total_cmp);
        let gzip = path.extension().is_some_and(|e| e == "gz");
        Self { wanted, to, gzip, header, end: 0, last: None }
    }

    /// Where the last snapshot ends, bytes.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether one is due at this time, s.
    pub fn is_due(&self, time: f64, world: &World) -> bool {
        self.wanted.first().is_some_and(|t| *t <= time + 0.5 * world.settings().h)
    }

    /// Takes a snapshot if one is due.
    ///
    /// # Errors
    /// For a disk that is full.
    pub fn observe(&mut self, world: &World) -> std::io::Result<()> {
        let now = world.state().time + 0.5 * world.settings().h;
        let due = self.wanted.iter().take_while(|t| **t <= now).count();
        if due == 0 {
            return Ok(());
        }
        self.wanted.drain(..due);
        self.take(world)?;
        let tail = self.tail(world, None, true);
        self.end_with(&tail)
    }

    fn take(&mut self, world: &World) -> std::io::Result<()> {
        let (model, s) = (world.model(), world.state());
        let rows = model.slots().filter(|&i| model.bodies[i].motion != Motion::Static).map(|i| {
            let (x, q, v, w) = (s.position[i], s.rotation[i], s.velocity[i], s.world_omega(i));
            [x.x, x.y, x.z, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z]
        });
        let text = serde_json::to_string(&(s.time, rows.collect::<Vec<_>>()))?;
        let comma = if self.last.is_some() { "," } else { "" };
        self.last = Some(s.time);
        self.put(&format!("{comma}{text}"))
    }

    /// Adds the last snapshot and what is known at the end of the run. `cut`: it ended before its time.
    ///
    /// # Errors
    /// For a disk that is full.
    pub fn finish(&mut self, world: &World, laps: Laps, cut: bool) -> std::io::Result<()> {
        if self.last.is_none_or(|t| t < world.state().time) {
            self.take(world)?;
        }
        let tail = self.tail(world, Some(laps), cut);
        self.end_with(&tail)?;
        if let Target::Stream(path, text) = &self.to {
            crate::file::write(path, text)?;
        }
        Ok(())
    }

    fn tail(&self, world: &World, laps: Option<Laps>, cut: bool) -> String {
        let laps =
            laps.map_or([None; 6], |l| [l.mean, l.median, l.least, l.mean_all, l.cpu, l.cpu_all].map(Some));
        let tail = json!({
            "steps": world.state().step,
            "cut": cut,
            "ms_last100": laps[0],
            "ms_last100_med": laps[1],
            "ms_last100_min": laps[2],
            "ms_all": laps[3],
            "cpu_last100": laps[4],
            "cpu_all": laps[5],
            "extra": {"contacts": world.contacts().len()},
        });
        format!("],{}", tail.to_string().trim_start_matches('{'))
    }

    /// Writes behind the last snapshot, which then ends there.
    fn put(&mut self, text: &str) -> std::io::Result<()> {
        let bytes = self.packed(text)?;
        match &mut self.to {
            Target::File(file) => {
                file.seek(SeekFrom::Start(self.end))?;
                file.write_all(&bytes)?;
            }
            Target::Stream(_, all) => {
                all.truncate(self.end as usize);
                all.extend_from_slice(&bytes);
            }
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Writes behind the last snapshot what the next one will take the place of.
    fn end_with(&mut self, tail: &str) -> std::io::Result<()> {
        let end = self.end;
        self.put(tail)?;
        if let Target::File(file) = &mut self.to {
            file.set_len(self.end)?;
        }
        self.end = end;
        Ok(())
    }

    fn packed(&self, text: &str) -> std::io::Result<Vec<u8>> {
        if !self.gzip {
            return Ok(text.as_bytes().to_vec());
        }
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(text.as_bytes())?;
        gzip.finish()
    }
}

/// Whether a file is one of snapshots; false for what cannot be read.
pub fn is_snapshots(path: &Path) -> bool {
    // Scenes and states have no engine.
    let word = b"\"engine\"";
    path.is_file() && head(path, 4096).is_ok_and(|head| head.windows(word.len()).any(|w| w == word))
}

/// The first bytes of a file, unpacked if its name says that it is packed.
///
/// # Errors
/// Of reading.
pub fn head(path: &Path, bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    open(path)?.take(bytes).read_to_end(&mut head)?;
    Ok(head)
}

/// A file, unpacked if its name says that it is packed.
///
/// # Errors
/// Of opening it.
pub fn open(path: &Path) -> std::io::Result<Box<dyn Read>> {
    let file = File::open(path)?;
    let packed = path.extension().is_some_and(|e| e == "gz");
    Ok(if packed { Box::new(flate2::read::MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// A time (s) and 13 numbers for each body that is not static.
pub type Snap = (f64, Vec<[f64; 13]>);

/// Reads the name of the scene, and the snapshots.
///
/// # Errors
/// Saying what is missing or wrong.
pub fn read(path: &Path) -> Result<(String, Vec<Snap>), RecordError> {
    let bad = |text: String| RecordError::File { file: path.into(), text };
    let mut text = String::new();
    open(path).and_then(|mut f| f.read_to_string(&mut text)).map_err(|e| bad(e.to_string()))?;
    let file: Value = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
    let scene = file["scene"].as_str().ok_or_else(|| bad("the field 'scene' is missing".into()))?;
    let snaps: Vec<Snap> = serde_json::from_value(file["snaps"].clone())
        .map_err(|e| bad(format!("snaps: must be [time, [13 numbers a body]]: {e}")))?;
    if snaps.is_empty() {
        return Err(bad("there is no snapshot in it".into()));
    }
    Ok((scene.into(), snaps))
}

/// Snapshots with the shapes of their scene.
pub struct Shown {
    scene: String,
    h: f64,
    catalogue: Catalogue,
    /// Numbers of the bodies that are not static.
    moving: Vec<i64>,
    snaps: Vec<Snap>,
}

impl Shown {
    /// Of a world that has the bodies that were run.
    ///
    /// # Errors
    /// For snapshots of another number of bodies.
    pub fn new(scene: &str, world: &World, snaps: Vec<Snap>) -> Result<Self, String> {
        let catalogue = Catalogue::of(world);
        let moves = |b: &&crate::recording::BodyInfo| b.motion != Motion::Static;
        let moving: Vec<i64> = catalogue.bodies.iter().filter(moves).map(|b| b.id).collect();
        if let Some((time, rows)) = snaps.iter().find(|(_, rows)| rows.len() != moving.len()) {
            return Err(format!(
                "the snapshot at {time} s has {} bodies, the scene {}: name the scene by --scene, with the parameters it was run \
                 with; what emitters and sinks have changed is in recordings",
                rows.len(),
                moving.len()
            ));
        }
        Ok(Self { scene: scene.into(), h: world.settings().h, catalogue, moving, snaps })
    }
}

impl Frames for Shown {
    fn scene(&self) -> &str {
        &self.scene
    }

    fn step_s(&self) -> f64 {
        self.h
    }

    fn times(&self) -> Vec<f64> {
        self.snaps.iter().map(|s| s.0).collect()
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn frame(&self, k: usize) -> Result<Frame, RecordError> {
        let snap = self.snaps.get(k).ok_or_else(|| RecordError::Form(format!("there is no snapshot {k}")))?;
        let (time, rows) = snap;
        let mut bodies = Bodies { id: self.moving.clone(), ..Bodies::default() };
        for r in rows {
            bodies.position.push([r[0], r[1], r[2]]);
            bodies.orientation.push([r[3], r[4], r[5], r[6]]);
            bodies.velocity.push([r[7], r[8], r[9]]);
            bodies.angular_velocity.push([r[10], r[11], r[12]]);
        }
        let step = (time / self.h).round() as u64;
        Ok(Frame { step, time: *time, bodies, ..Frame::default() })
    }

    fn has_contacts(&self) -> bool {
        false
    }
}
