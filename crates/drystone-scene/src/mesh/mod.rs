//! Triangle surfaces from files: Wavefront OBJ and STL, what can be wrong with them, the mass of what they
//! enclose, and convex parts of concave ones.
//!
//! [`read`] takes a file by its ending and refuses, by line or triangle, what is no surface. Whether the
//! surface encloses a solid is a second question, asked only where volume matters: [`Surface::check_solid`].

mod candidates;
mod cut;
mod decompose;
mod obj;
mod parts;
mod piece;
mod polygon;
mod quick;
mod repair;
mod solid;
mod stl;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use glam::DVec3;

pub use decompose::{Decomposition, Part, Target, decompose};
pub use obj::{read_obj, write_obj};
pub use parts::{Origin, cache_path, parts_of};
pub use stl::read_stl;

/// Coordinates beyond this are taken for a slip, m.
pub const FARTHEST: f64 = 1e9;

/// Files with more triangles than this are refused: contacts could not name them apart.
pub const MOST_TRIANGLES: usize = drystone::shape::MOST_PARTS;

/// A triangle with a height below this share of its longest side has no normal to speak of.
const THINNEST: f64 = 1e-12;

/// Triangles over shared corners, counter-clockwise seen from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Corners, each place once, m.
    pub vertices: Vec<DVec3>,
    /// Indices of the corners of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Named pieces, in the order of the file: the name, and how many triangles come before it.
    pub groups: Vec<(String, usize)>,
    /// Triangles without area that the file had, and this has no longer.
    pub repaired: usize,
}

/// A mesh file that cannot be used; says where and why.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshError {
    /// The file, if it came from one.
    pub file: Option<PathBuf>,
    /// Where in it.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Where in a mesh file something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Everywhere.
    Whole,
    /// A line of a text file, from 1.
    Line(usize),
    /// A triangle, from 1, in the order of the file.
    Triangle(usize),
}

impl MeshError {
    pub(crate) fn new(place: Place, message: impl Into<String>) -> Self {
        Self { file: None, place, message: message.into() }
    }

    fn in_file(mut self, path: &Path) -> Self {
        self.file = Some(path.into());
        self
    }
}

impl fmt::Display for MeshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
            match self.place {
                Place::Line(line) => write!(f, ":{line}: ")?,
                _ => write!(f, ": ")?,
            }
        } else if let Place::Line(line) = self.place {
            write!(f, "line {line}: ")?;
        }
        if let Place::Triangle(triangle) = self.place {
            write!(f, "triangle {triangle}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for MeshError {}

/// Reads a mesh file, `.obj` or `.stl`, and stretches it by `scale` along its axes.
///
/// A scale below 0 mirrors; triangles are then turned over so that outside stays outside.
pub fn read(path: impl AsRef<Path>, scale: DVec3) -> Result<Surface, MeshError> {
    let path = path.as_ref();
    read_bytes(path, &load(path)?, scale)
}

/// The bytes of a mesh file.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, MeshError> {
    let refuse = |message: String| MeshError::new(Place::Whole, message).in_file(path);
    kind(path).ok_or_else(|| refuse("the name of a mesh file must end in .obj or .stl".into()))?;
    std::fs::read(path).map_err(|e| refuse(format!("cannot be read: {e}")))
}

/// [`read`] with the bytes at hand.
pub(crate) fn read_bytes(path: &Path, bytes: &[u8], scale: DVec3) -> Result<Surface, MeshError> {
    let surface = match kind(path) {
        Some(Kind::Stl) => read_stl(bytes),
        _ => read_obj(bytes),
    };
    surface.and_then(|s| s.scaled(scale)).map_err(|e| e.in_file(path))
}

enum Kind {
    Obj,
    Stl,
}

fn kind(path: &Path) -> Option<Kind> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "obj" => Some(Kind::Obj),
        "stl" => Some(Kind::Stl),
        _ => None,
    }
}

impl Surface {
    /// A surface of triangles; refuses corners that are not finite or not there, and triangles without area.
    pub fn new(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        let surface = Self { vertices, triangles, ..Self::default() };
        surface.check(&|triangle| Place::Triangle(triangle + 1))?;
        Ok(surface)
    }

    /// The corners of a triangle.
    pub fn corners(&self, triangle: usize) -> [DVec3; 3] {
        self.triangles[triangle].map(|i| self.vertices[i as usize])
    }

    /// Lower and upper corner of the box around it.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        self.vertices.iter().fold(start, |(low, high), &v| (low.min(v), high.max(v)))
    }

    /// Without vertices that no triangle uses, and without groups.
    fn compact(&self) -> Self {
        let mut weld = Weld::default();
        let mut corner = |i: u32| weld.index(self.vertices[i as usize]);
        let triangles = self.triangles.iter().map(|t| t.map(&mut corner)).collect();
        Self { vertices: weld.vertices, triangles, ..Self::default() }
    }

    /// Edges that more than two triangles have, each once.
    pub fn crowded_edges(&self) -> usize {
        let mut sides: HashMap<(u32, u32), u32> = HashMap::with_capacity(3 * self.triangles.len() / 2);
        for &[a, b, c] in &self.triangles {
            for (i, j) in [(a, b), (b, c), (c, a)] {
                *sides.entry((i.min(j), i.max(j))).or_default() += 1;
            }
        }
        sides.values().filter(|n| **n > 2).count()
    }

    /// Stretched along the axes. One number for all three keeps the shape; below 0 mirrors.
    pub fn scaled(mut self, scale: DVec3) -> Result<Self, MeshError> {
        if !(scale.is_finite() && scale.cmpne(DVec3::ZERO).all()) {
            return Err(MeshError::new(Place::Whole, format!("scale must be finite and not 0, got {scale}")));
        }
        if scale == DVec3::ONE {
            return Ok(self);
        }
        self.vertices.iter_mut().for_each(|v| *v *= scale);
        if scale.x * scale.y * scale.z < 0.0 {
            self.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        self.check(&|triangle| Place::Triangle(triangle + 1))?;
        Ok(self)
    }

    /// Says what no surface can have. `place` finds where in the file a triangle stands.
    fn check(&self, place: &dyn Fn(usize) -> Place) -> Result<(), MeshError> {
        if self.triangles.is_empty() {
            return Err(MeshError::new(Place::Whole, "there are no triangles in it"));
        }
        if self.triangles.len() > MOST_TRIANGLES {
            let count = self.triangles.len();
            return Err(MeshError::new(
                Place::Whole,
                format!("has {count} triangles, at most {MOST_TRIANGLES} are allowed: simplify it"),
            ));
        }
        for (k, triangle) in self.triangles.iter().enumerate() {
            let wrong = |message: String| Err(MeshError::new(place(k), message));
            for &i in triangle {
                let Some(v) = self.vertices.get(i as usize) else {
                    return wrong(format!("there is no vertex {i}, there are {}", self.vertices.len()));
                };
                if !v.is_finite() || v.abs().max_element() > FARTHEST {
                    return wrong(format!("a corner at {v}: must be finite and within {FARTHEST:e} m"));
                }
            }
            let [a, b, c] = self.corners(k);
            if is_thin(a, b, c) {
                return wrong(format!("degenerate, without area: its corners are {a}, {b} and {c}"));
            }
        }
        Ok(())
    }
}

/// Whether the corners lie on a line, as far as their digits can tell.
fn is_thin(a: DVec3, b: DVec3, c: DVec3) -> bool {
    let longest = (b - a).length_squared().max((c - b).length_squared()).max((a - c).length_squared());
    (b - a).cross(c - a).length() <= THINNEST * longest
}

/// Gives each place one index. Files that write a corner once a triangle, or again for another texture,
/// become connected; nothing is moved.
#[derive(Default)]
struct Weld {
    vertices: Vec<DVec3>,
    found: HashMap<[u64; 3], u32>,
}

impl Weld {
    fn index(&mut self, v: DVec3) -> u32 {
        // Adding 0 turns -0 into 0.
        let bits = v.to_array().map(|x| (x + 0.0).to_bits());
        let next = self.vertices.len() as u32;
        let index = *self.found.entry(bits).or_insert(next);
        if index == next {
            self.vertices.push(v);
        }
        index
    }
}

/// Three numbers of a text file, or what is wrong with them.
fn three<'a>(mut words: impl Iterator<Item = &'a str>, what: &str) -> Result<DVec3, String> {
    let mut v = [0.0_f64; 3];
    for (k, x) in v.iter_mut().enumerate() {
        let word = words.next().ok_or_else(|| format!("{what} needs 3 numbers, got {k}"))?;
        *x = word.parse().map_err(|_| format!("'{}' is not a number", shorten(word)))?;
        if !x.is_finite() {
            return Err(format!("'{}' is not a finite number", shorten(word)));
        }
        if x.abs() > FARTHEST {
            return Err(format!("{x} is out of range: coordinates must be within {FARTHEST:e}"));
        }
    }
    Ok(DVec3::from_array(v))
}

/// For messages: a damaged file can have words of a megabyte.
fn shorten(word: &str) -> String {
    if word.chars().count() <= 40 {
        return word.escape_debug().to_string();
    }
    word.chars().take(40).collect::<String>().escape_debug().to_string() + "..."
}

/// The lines of a text file with their numbers. Bytes that are not UTF-8 (old comments) become question
/// marks.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, std::borrow::Cow<'_, str>)> {
    let end = |line: &&[u8]| line.last() == Some(&b'\r');
    bytes.split(|&b| b == b'\n').enumerate().map(move |(k, line)| {
        let line = if end(&line) { &line[..line.len() - 1] } else { line };
        (k + 1, String::from_utf8_lossy(line))
    })
}
