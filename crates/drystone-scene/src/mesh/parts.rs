//! Convex parts of a mesh file, kept beside it so that they are found once.
//!
//! The file is called `NAME.parts-KEY.obj`, where KEY is made of the bytes of the mesh, the scale and the
//! target: it is never out of date, and any viewer of OBJ files shows it. It is written whole or not at all,
//! and read only if its own sum is right. A folder that cannot be written to costs the time of finding the
//! parts again, nothing else.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drystone::shape::Hull;
use glam::DVec3;

use super::piece::hull_volume;
use super::{Decomposition, MeshError, Part, Place, Surface, Target, decompose, load, read_bytes, three};

/// To be raised when the same mesh and target would give other parts.
const VERSION: u64 = 1;

const HEADER: &str = "# convex parts, made by drystone decompose; sum ";

/// Where parts came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Read from this file.
    Kept(PathBuf),
    /// Found now, and kept in this file.
    Found(PathBuf),
    /// Found now, and not kept, for this reason.
    NotKept(String),
}

/// The surface of a mesh file and its convex parts, from the file beside it where there is one.
pub fn parts_of(
    path: impl AsRef<Path>,
    scale: DVec3,
    target: &Target,
) -> Result<(Surface, Decomposition, Origin), MeshError> {
    let path = path.as_ref();
    let refuse = |e: MeshError| MeshError { file: Some(path.into()), ..e };
    let bytes = load(path)?;
    let surface = read_bytes(path, &bytes, scale)?;
    // A cached answer must not hide what is wrong with the question.
    target.check().map_err(|e| refuse(MeshError::new(Place::Whole, e)))?;
    surface.check_solid().map_err(refuse)?;
    let volume = surface.moments().volume;
    let keep = cache_path(path, &bytes, scale, target);
    if let Some(parts) = std::fs::read_to_string(&keep).ok().and_then(|text| parse(&text)) {
        return Ok((surface, Decomposition { parts, volume }, Origin::Kept(keep)));
    }
    let found = decompose(&surface, target).map_err(refuse)?;
    let text = found.to_obj();
    // Through the text and back, so that kept parts and fresh ones are the same to the last bit.
    let parts = parse(&text).unwrap_or(found.parts);
    let origin = match drystone_record::file::write(&keep, text.as_bytes()) {
        Ok(()) => Origin::Found(keep),
        Err(e) => Origin::NotKept(format!("{}: {e}", keep.display())),
    };
    Ok((surface, Decomposition { parts, volume }, origin))
}

/// Where the parts of a mesh are kept.
pub fn cache_path(mesh: &Path, bytes: &[u8], scale: DVec3, target: &Target) -> PathBuf {
    let mut hash = Fnv::default();
    hash.add(&VERSION.to_le_bytes());
    hash.add(bytes);
    scale.to_array().iter().for_each(|x| hash.add(&x.to_le_bytes()));
    hash.add(&(target.parts as u64).to_le_bytes());
    hash.add(&target.threshold.to_le_bytes());
    let stem = mesh.file_stem().unwrap_or_default().to_string_lossy();
    mesh.with_file_name(format!("{stem}.parts-{:016x}.obj", hash.short()))
}

impl Decomposition {
    /// The text of an OBJ file, one object a part.
    pub fn to_obj(&self) -> String {
        let mut body = String::new();
        let mut before = 1;
        for (k, part) in self.parts.iter().enumerate() {
            let _ = writeln!(body, "o part_{}", k + 1);
            for v in part.hull.vertices() {
                let _ = writeln!(body, "v {} {} {}", v.x, v.y, v.z);
            }
            for f in 0..part.hull.faces().len() {
                body.push('f');
                for i in part.hull.face_vertices(f) {
                    let _ = write!(body, " {}", before + *i as usize);
                }
                body.push('\n');
            }
            before += part.hull.vertices().len();
        }
        format!("{HEADER}{:016x}\n{body}", sum(&body))
    }
}

fn sum(body: &str) -> u64 {
    let mut hash = Fnv::default();
    hash.add(body.as_bytes());
    hash.short()
}

/// The parts of a kept text; `None` if anything about it is not as it was written.
fn parse(text: &str) -> Option<Vec<Part>> {
    let (header, body) = text.split_once('\n')?;
    let told = u64::from_str_radix(header.strip_prefix(HEADER)?, 16).ok()?;
    if told != sum(body) {
        return None;
    }
    let mut clouds: Vec<Vec<DVec3>> = Vec::new();
    for line in body.lines() {
        if line.starts_with("o ") {
            clouds.push(Vec::new());
        } else if let Some(numbers) = line.strip_prefix("v ") {
            clouds.last_mut()?.push(three(numbers.split(' '), "a vertex").ok()?);
        }
    }
    let part = |points: &Vec<DVec3>| {
        let hull = Arc::new(Hull::new(points).ok()?);
        Some(Part { volume: hull_volume(&hull), hull })
    };
    Some(clouds.iter().map(part).collect::<Option<Vec<_>>>()?).filter(|parts| !parts.is_empty())
}

/// FNV-1a with 128 bits \[FNV\]: not against malice, only against yesterday's file.
struct Fnv(u128);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u128::from(*b)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    fn short(&self) -> u64 {
        (self.0 >> 64) as u64 ^ self.0 as u64
    }
}
