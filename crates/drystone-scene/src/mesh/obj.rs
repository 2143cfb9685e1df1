//! Wavefront OBJ: vertices, and faces of three or more corners. Normals, textures and materials are passed
//! over; what would be geometry of another kind (curves, free-form surfaces) is refused by name.

use std::fmt::Write;

use glam::DVec3;

use super::{MeshError, Place, Surface, Weld, lines, polygon, shorten, three};

/// Statements that say nothing about where the surface is.
const PASSED_OVER: &[&str] = &[
    "vt",
    "vn",
    "s",
    "mg",
    "usemtl",
    "mtllib",
    "usemap",
    "maplib",
    "lod",
    "bevel",
    "c_interp",
    "d_interp",
    "shadow_obj",
    "trace_obj",
    "l",
    "p",
];

/// Reads the text of an OBJ file.
pub fn read_obj(bytes: &[u8]) -> Result<Surface, MeshError> {
    let mut reader = Reader::default();
    let mut held = String::new();
    let mut first = 0;
    for (number, line) in lines(bytes) {
        let line = line.split('#').next().unwrap_or_default();
        first = if held.is_empty() { number } else { first };
        if let Some(start) = line.trim_end().strip_suffix('\\') {
            // A statement may go on in the next line.
            held.push_str(start);
            held.push(' ');
            continue;
        }
        let at = |message: String| MeshError::new(Place::Line(first), message);
        if held.is_empty() {
            reader.statement(line, number).map_err(at)?;
        } else {
            held.push_str(line);
            reader.statement(&held, number).map_err(at)?;
            held.clear();
        }
    }
    if !held.is_empty() {
        return Err(MeshError::new(Place::Line(first), "the file ends inside a statement: is it cut short?"));
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    /// By the numbers of the file.
    positions: Vec<DVec3>,
    weld: Weld,
    triangles: Vec<[u32; 3]>,
    /// Line of each triangle.
    line: Vec<u32>,
    groups: Vec<(String, usize)>,
    face: Vec<u32>,
}

impl Reader {
    fn statement(&mut self, text: &str, number: usize) -> Result<(), String> {
        let mut words = text.split_whitespace();
        match words.next() {
            None => Ok(()),
            // A fourth number is a weight of free-form surfaces, four to six are colours: neither moves the
            // corner.
            Some("v") => {
                if self.positions.len() == u32::MAX as usize {
                    return Err("more vertices than can be counted".into());
                }
                self.positions.push(three(words, "a vertex")?);
                Ok(())
            }
            Some("f" | "fo") => {
                self.face.clear();
                for word in words {
                    let index = self.index(word)?;
                    self.face.push(self.weld.index(self.positions[index]));
                }
                self.add_face(number)
            }
            Some("o" | "g") => {
                let name = words.collect::<Vec<_>>().join(" ");
                self.groups.push((name, self.triangles.len()));
                Ok(())
            }
            Some(word) if PASSED_OVER.contains(&word) => Ok(()),
            Some(word) => Err(format!(
                "unknown statement '{}': only vertices (v), faces (f) and their groups are read",
                shorten(word)
            )),
        }
    }

    /// `7`, `7/1`, `7//3`, `7/1/3`; below 0 counts back from the last vertex.
    fn index(&self, word: &str) -> Result<usize, String> {
        let text = word.split('/').next().unwrap_or_default();
        let number: i64 =
            text.parse().map_err(|_| format!("'{}' is not the number of a vertex", shorten(word)))?;
        let count = self.positions.len() as i64;
        let index = if number < 0 { count.saturating_add(number) } else { number - 1 };
        if number == 0 || !(0..count).contains(&index) {
            return Err(format!("there is no vertex {number}: {count} are defined above, counted from 1"));
        }
        Ok(index as usize)
    }

    fn add_face(&mut self, number: usize) -> Result<(), String> {
        let n = self.face.len();
        if n < 3 {
            return Err(format!("a face needs 3 or more corners, got {n}"));
        }
        let mut sorted = self.face.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
            let at = self.weld.vertices[twice[0] as usize];
            return Err(format!("degenerate: the face comes twice to the corner {at}"));
        }
        let before = self.triangles.len();
        if let &[a, b, c] = self.face.as_slice() {
            self.triangles.push([a, b, c]);
        } else {
            polygon::triangulate_face(&self.weld.vertices, &self.face, &mut self.triangles)?;
        }
        self.line.resize(self.triangles.len(), number as u32);
        for t in &self.triangles[before..] {
            let [a, b, c] = t.map(|i| self.weld.vertices[i as usize]);
            if super::is_thin(a, b, c) {
                return Err(format!("degenerate, without area: its corners are {a}, {b} and {c}"));
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Surface, MeshError> {
        if self.triangles.is_empty() {
            let vertices = self.positions.len();
            let text = format!("there are no faces in it ({vertices} vertices): is it cut short?");
            return Err(MeshError::new(Place::Whole, text));
        }
        let surface = Surface {
            vertices: self.weld.vertices,
            triangles: self.triangles,
            groups: self.groups,
            repaired: 0,
        };
        surface.check(&|t| Place::Line(self.line[t] as usize))?;
        Ok(surface)
    }
}

/// The text of an OBJ file with one object for each surface. Every bit of a coordinate comes back.
pub fn write_obj<'a>(pieces: impl IntoIterator<Item = (&'a str, &'a Surface)>) -> String {
    let mut text = String::new();
    let mut before = 0;
    for (name, surface) in pieces {
        // A name with a line break in it would be read as a statement.
        let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(text, "o {name}");
        for v in &surface.vertices {
            let _ = writeln!(text, "v {} {} {}", v.x, v.y, v.z);
        }
        for t in &surface.triangles {
            let [a, b, c] = t.map(|i| i as usize + 1 + before);
            let _ = writeln!(text, "f {a} {b} {c}");
        }
        before += surface.vertices.len();
    }
    text
}
