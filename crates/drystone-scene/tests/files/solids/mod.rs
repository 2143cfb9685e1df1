//! Closed surfaces to test with, made by code, and folders that go when the test does.

use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use drystone_scene::mesh::{Surface, read_obj};
use glam::DVec3;

/// A folder that goes when the test does.
pub struct Folder(pub PathBuf);

#[allow(dead_code)]
impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("drystone-mesh-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A polygon, counter-clockwise, drawn up to a height: the text of an OBJ file with whole polygons as faces.
pub fn prism(polygon: &[(f64, f64)], height: f64) -> String {
    let n = polygon.len();
    let mut text = String::from("# a prism\n");
    for z in [0.0, height] {
        polygon.iter().for_each(|(x, y)| text += &format!("v {x} {y} {z}\n"));
    }
    let face = |corners: &mut dyn Iterator<Item = usize>| {
        corners.fold("f".to_string(), |t, i| format!("{t} {}", i + 1)) + "\n"
    };
    text += &face(&mut (0..n).rev());
    text += &face(&mut (n..2 * n));
    for i in 0..n {
        let j = (i + 1) % n;
        text += &face(&mut [i, j, n + j, n + i].into_iter());
    }
    text
}

/// An angle bracket: two boxes, volume 4.
pub const BRACKET: &[(f64, f64)] = &[(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 3.0), (0.0, 3.0)];

#[allow(dead_code)]
pub fn surface(obj: &str) -> Surface {
    read_obj(obj.as_bytes()).unwrap()
}

/// A closed profile (radius, height), counter-clockwise, turned about z. Points on the axis are not allowed.
#[allow(dead_code)]
pub fn revolved(profile: &[(f64, f64)], around: usize) -> Surface {
    let m = profile.len();
    let mut vertices = Vec::new();
    for i in 0..around {
        let (sin, cos) = (TAU * i as f64 / around as f64).sin_cos();
        vertices.extend(profile.iter().map(|&(r, z)| DVec3::new(r * cos, r * sin, z)));
    }
    let mut triangles = Vec::new();
    for i in 0..around {
        let j = (i + 1) % around;
        for k in 0..m {
            let l = (k + 1) % m;
            let [a, b, c, d] = [i * m + k, j * m + k, j * m + l, i * m + l].map(|x| x as u32);
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    Surface::new(vertices, triangles).unwrap()
}

/// A torus of radii 1 and 0.3.
#[allow(dead_code)]
pub fn ring(around: usize, across: usize) -> Surface {
    let point = |k: usize| {
        let (sin, cos) = (TAU * k as f64 / across as f64).sin_cos();
        (1.0 + 0.3 * cos, 0.3 * sin)
    };
    revolved(&(0..across).map(point).collect::<Vec<_>>(), around)
}

/// A beaker: a cone frustum with a blind hole, closed by fans at the axis.
#[allow(dead_code)]
pub fn beaker(around: u32) -> Surface {
    let profile = [(1.0, 0.0), (1.1, 2.0), (1.0, 2.0), (0.9, 0.15)];
    let mut vertices = vec![DVec3::ZERO, DVec3::Z * 0.15];
    for i in 0..around {
        let (sin, cos) = (TAU * f64::from(i) / f64::from(around)).sin_cos();
        vertices.extend(profile.iter().map(|&(r, z)| DVec3::new(r * cos, r * sin, z)));
    }
    let mut triangles = Vec::new();
    for i in 0..around {
        let (a, b) = (2 + 4 * i, 2 + 4 * ((i + 1) % around));
        triangles.push([0, b, a]);
        for k in 0..3 {
            triangles.extend([[a + k, b + k, b + k + 1], [a + k, b + k + 1, a + k + 1]]);
        }
        triangles.push([a + 3, b + 3, 1]);
    }
    Surface::new(vertices, triangles).unwrap()
}

/// The bytes of a binary STL file.
#[allow(dead_code)]
pub fn binary_stl(surface: &Surface) -> Vec<u8> {
    let mut bytes = vec![b' '; 80];
    bytes.extend((surface.triangles.len() as u32).to_le_bytes());
    for k in 0..surface.triangles.len() {
        bytes.extend([0; 12]);
        for v in surface.corners(k) {
            v.to_array().iter().for_each(|x| bytes.extend((*x as f32).to_le_bytes()));
        }
        bytes.extend([0; 2]);
    }
    bytes
}

/// The text of an STL file.
#[allow(dead_code)]
pub fn text_stl(surface: &Surface) -> String {
    let mut text = String::from("solid made by code\n");
    for k in 0..surface.triangles.len() {
        text += "  facet normal 0 0 0\n    outer loop\n";
        for v in surface.corners(k) {
            text += &format!("      vertex {} {} {}\n", v.x, v.y, v.z);
        }
        text += "    endloop\n  endfacet\n";
    }
    text + "endsolid made by code\n"
}

/// Folders of the repository with files to read.
#[allow(dead_code)]
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenes").join(name)
}
