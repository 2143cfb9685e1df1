//! STL: text or binary, told apart by their length, since binary files may begin with "solid" too. The
//! normals of the file are passed over: the order of the corners says where outside is.

use glam::{DVec3, Vec3};

use super::{MeshError, Place, Surface, Weld, lines, shorten, three};

/// Bytes before the triangles of a binary file: a free text, and their number.
const HEADER: usize = 84;
/// Bytes of one: normal, three corners, and two that mean nothing.
const RECORD: usize = 50;

/// Reads the bytes of an STL file.
pub fn read_stl(bytes: &[u8]) -> Result<Surface, MeshError> {
    let told = told(bytes);
    let fits = told.is_some_and(|n| bytes.len() as u64 == HEADER as u64 + n as u64 * RECORD as u64);
    let text = bytes.trim_ascii_start();
    let says_solid = text.len() >= 5 && text[..5].eq_ignore_ascii_case(b"solid");
    if !fits && says_solid && !bytes[..bytes.len().min(1024)].contains(&0) {
        return read_text(bytes);
    }
    read_binary(bytes)
}

fn told(bytes: &[u8]) -> Option<u32> {
    let count = bytes.get(HEADER - 4..HEADER)?;
    Some(u32::from_le_bytes([count[0], count[1], count[2], count[3]]))
}

fn read_binary(bytes: &[u8]) -> Result<Surface, MeshError> {
    let whole = |message: String| MeshError::new(Place::Whole, message);
    if bytes.is_empty() {
        return Err(whole("the file is empty".into()));
    }
    let Some(count) = told(bytes) else {
        return Err(whole(format!(
            "neither text that begins with 'solid' nor a binary file, which has {HEADER} bytes or more; this has {}",
            bytes.len()
        )));
    };
    let body = &bytes[HEADER..];
    let there = body.len() / RECORD;
    let expected = HEADER as u64 + count as u64 * RECORD as u64;
    if (there as u64) < count as u64 {
        return Err(MeshError::new(
            Place::Triangle(there + 1),
            format!(
                "cut short: {count} triangles are promised, which takes {expected} bytes, there are {}",
                bytes.len()
            ),
        ));
    }
    if bytes.len() as u64 != expected {
        return Err(whole(format!(
            "{count} triangles are promised, which takes {expected} bytes, but there are {}",
            bytes.len()
        )));
    }
    let mut build = Build::default();
    for (k, record) in body.chunks_exact(RECORD).enumerate() {
        let place = Place::Triangle(k + 1);
        for corner in 1..4 {
            let x: [f32; 3] = std::array::from_fn(|axis| {
                let at = 12 * corner + 4 * axis;
                f32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
            });
            let v = Vec3::from_array(x);
            if !v.is_finite() {
                let text = format!("corner {corner} is not finite: {v}");
                return Err(MeshError::new(place, text));
            }
            if f64::from(v.abs().max_element()) > super::FARTHEST {
                let text =
                    format!("corner {corner} is out of range: {v}, must be within {:e}", super::FARTHEST);
                return Err(MeshError::new(place, text));
            }
            build.corner(v.as_dvec3());
        }
        build.close();
    }
    build.finish()
}

/// What a text file may say next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Facet,
    Loop,
    Vertex,
    EndLoop,
    EndFacet,
    Solid,
}

fn read_text(bytes: &[u8]) -> Result<Surface, MeshError> {
    let mut build = Build::default();
    let mut expect = Expect::Solid;
    let mut last = 0;
    for (number, line) in lines(bytes) {
        let mut words = line.split_whitespace();
        let Some(word) = words.next() else { continue };
        last = number;
        let wrong = |message: String| MeshError::new(Place::Line(number), message);
        let lower = word.to_ascii_lowercase();
        expect = match (expect, lower.as_str()) {
            (Expect::Solid, "solid") => Expect::Facet,
            (Expect::Facet, "facet") => Expect::Loop,
            (Expect::Facet, "endsolid") => Expect::Solid,
            (Expect::Loop, "outer") => Expect::Vertex,
            (Expect::Vertex, "vertex") => {
                build.corner(three(words, "a vertex").map_err(wrong)?);
                if build.open.len() == 3 {
                    build.close();
                    Expect::EndLoop
                } else {
                    Expect::Vertex
                }
            }
            (Expect::EndLoop, "endloop") => Expect::EndFacet,
            (Expect::EndFacet, "endfacet") => Expect::Facet,
            (expected, _) => {
                let word = shorten(word);
                return Err(wrong(format!("expected {}, found '{word}'", expected.words())));
            }
        };
    }
    if expect != Expect::Solid {
        let message = format!("the file ends, expected {}: is it cut short?", expect.words());
        return Err(MeshError::new(Place::Line(last), message));
    }
    build.finish()
}

impl Expect {
    fn words(self) -> &'static str {
        match self {
            Expect::Facet => "'facet' or 'endsolid'",
            Expect::Loop => "'outer loop'",
            Expect::Vertex => "'vertex' and 3 numbers",
            Expect::EndLoop => "'endloop'",
            Expect::EndFacet => "'endfacet'",
            Expect::Solid => "'solid'",
        }
    }
}

/// Triangles as they come in.
#[derive(Default)]
struct Build {
    weld: Weld,
    open: Vec<u32>,
    triangles: Vec<[u32; 3]>,
}

impl Build {
    fn corner(&mut self, v: DVec3) {
        let index = self.weld.index(v);
        self.open.push(index);
    }

    fn close(&mut self) {
        if let &[a, b, c] = self.open.as_slice() {
            self.triangles.push([a, b, c]);
        }
        self.open.clear();
    }

    fn finish(mut self) -> Result<Surface, MeshError> {
        let repaired = super::repair::take_out_thin(&self.weld.vertices, &mut self.triangles);
        if repaired > 0 && self.triangles.is_empty() {
            return Err(MeshError::new(Place::Whole, "degenerate: all of its triangles are without area"));
        }
        let surface = Surface::new(self.weld.vertices, self.triangles)?;
        Ok(Surface { repaired, ..if repaired > 0 { surface.compact() } else { surface } })
    }
}
