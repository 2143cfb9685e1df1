//! Mesh files: what is read, what is refused and where, and that no damage to a file makes a reader stumble.

use crate::solids::{BRACKET, Folder, beaker, binary_stl, prism, ring, surface, text_stl};
use drystone::random::Random;
use drystone_scene::mesh::{self, Place, Surface, read_obj, read_stl, write_obj};
use glam::DVec3;

fn wrong(text: &str) -> (Place, String) {
    let e = read_obj(text.as_bytes()).expect_err(text);
    (e.place, e.message)
}

/// Refused in that line, saying this.
#[track_caller]
fn line(text: &str, number: usize, says: &str) {
    let (place, message) = wrong(text);
    assert_eq!(place, Place::Line(number), "{message}");
    assert!(message.contains(says), "{message}");
}

const TETRAHEDRON: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";

#[test]
fn polygons_become_triangles_of_the_same_solid() {
    let bracket = surface(&prism(BRACKET, 1.0));
    assert_eq!((bracket.vertices.len(), bracket.triangles.len()), (12, 20));
    bracket.check_solid().unwrap();
    let m = bracket.moments();
    // Boxes [0,2]x[0,1] and [0,1]x[1,3].
    assert!((m.volume - 4.0).abs() < 1e-14);
    assert!(
        (m.centroid - DVec3::new((2.0 * 1.0 + 2.0 * 0.5) / 4.0, (2.0 * 0.5 + 2.0 * 2.0) / 4.0, 0.5)).length()
            < 1e-14
    );
}

#[test]
fn moments_are_those_of_the_boxes() {
    use drystone::{Pose, Shape, shape::Moments};
    let bracket = surface(&prism(BRACKET, 1.0)).scaled(DVec3::new(0.3, -2.0, 1.7)).unwrap();
    let scale = DVec3::new(0.3, -2.0, 1.7);
    let place = |low: DVec3, high: DVec3| {
        let half = (0.5 * (high - low) * scale).abs();
        Shape::Box { half }.moments().placed(&Pose::at(0.5 * (low + high) * scale))
    };
    let boxes = [place(DVec3::ZERO, DVec3::new(2.0, 1.0, 1.0)), place(DVec3::Y, DVec3::new(1.0, 3.0, 1.0))];
    let (found, known) = (bracket.moments(), Moments::sum(boxes.into_iter()));
    assert!((found.volume / known.volume - 1.0).abs() < 1e-13, "{found:?} {known:?}");
    assert!((found.centroid - known.centroid).length() < 1e-13);
    assert!(found.second.abs_diff_eq(known.second, 1e-12 * known.volume));
    bracket.check_solid().unwrap();
}

#[test]
fn the_dialects_of_obj() {
    let plain = surface(TETRAHEDRON);
    let dialects = [
        // Textures, normals, colours, comments, groups, other line ends.
        "mtllib x.mtl\r\no t\r\nv 0 0 0 1 1 1\r\nv 1 0 0\r\nv 0 1 0\r\nv 0 0 1\r\nvn 0 0 1\r\nvt 0 0\r\nusemtl steel\r\ns off\r\nf 1/1 3/1 2/1\r\nf 1//1 2//1 4//1\r\nf 2/1/1 3/1/1 4/1/1 # side\r\nf 3 1 4\r\n",
        // Counted back, continued lines, vertices after faces.
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -1 -2\nv 0 0 1\nf 1 \\\n 2 4\nf 2 3 4\nf 3 1 4",
        // Every corner on its own.
        "v 0 0 0\nv 0 1 0\nv 1 0 0\nf 1 2 3\nv 0 0 -0\nv 1 0 0\nv 0 0 1\nf 4 5 6\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 7 8 9\nv 0 1 0\nv 0 0 0\nv 0 0 1\nf 10 11 12\n",
    ];
    for text in dialects {
        let read = surface(text);
        assert_eq!(read.triangles.len(), 4);
        for k in 0..4 {
            assert_eq!(read.corners(k), plain.corners(k), "{text}");
        }
        read.check_solid().unwrap();
    }
    let comment = [TETRAHEDRON.as_bytes(), b"# M\xfcller\n"].concat();
    assert_eq!(read_obj(&comment).unwrap(), plain);
}

#[test]
fn what_is_wrong_with_an_obj_is_said_by_line() {
    let face = |f: &str| TETRAHEDRON.replace("f 2 3 4", f);
    line(&face("f 2 3 5"), 7, "there is no vertex 5: 4 are defined");
    line(&face("f 2 3 0"), 7, "there is no vertex 0");
    line(&face("f 2 3 -5"), 7, "there is no vertex -5");
    line(&face("f 2 3 99999999999999999999"), 7, "not the number of a vertex");
    line(&face("f 2 3 x/1"), 7, "'x/1' is not the number");
    line(&face("f 2 3"), 7, "3 or more corners, got 2");
    line(&face("f 2 3 3"), 7, "comes twice");
    line(&face("surf 0 1 0 1"), 7, "unknown statement 'surf'");
    let vertex = |v: &str| TETRAHEDRON.replace("v 0 1 0", v);
    line(&vertex("v 0 nan 0"), 3, "not a finite number");
    line(&vertex("v 0 -inf 0"), 3, "not a finite number");
    line(&vertex("v 0 1e999 0"), 3, "not a finite number");
    line(&vertex("v 0 1e10 0"), 3, "out of range");
    line(&vertex("v 0 1,5 0"), 3, "'1,5' is not a number");
    line(&vertex("v 0 1"), 3, "needs 3 numbers, got 2");
    // A line through three corners, and a polygon without area.
    line(&vertex("v 2 0 0"), 5, "degenerate, without area");
    line("v 0 0 0\nv 1 0 0\nv 2 0 0\nv 3 0 0\nf 1 2 3 4\n", 5, "no area");
    // A bow tie.
    line("v 0 0 0\nv 2 2 0\nv 2 0 0\nv 0 1 0\n\nf 1 2 3 4\n", 6, "crosses itself");
    line("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 \\", 4, "cut short");
    assert!(wrong("").1.contains("no faces in it (0 vertices)"));
    assert!(wrong("v 0 0 0\nv 1 0 0\n").1.contains("no faces in it (2 vertices): is it cut short?"));
}

#[test]
fn stl_text_and_binary_agree() {
    let bracket = surface(&prism(BRACKET, 1.0));
    for made in [&bracket, &ring(12, 8)] {
        let text = read_stl(text_stl(made).as_bytes()).unwrap();
        assert_eq!(text.vertices.len(), made.vertices.len());
        assert!((0..made.triangles.len()).all(|k| text.corners(k) == made.corners(k)));
        let mut binary = binary_stl(made);
        let read = read_stl(&binary).unwrap();
        assert_eq!(read.vertices.len(), made.vertices.len());
        let near = |a: DVec3, b: DVec3| (a - b).length() < 1e-6;
        assert!(
            (0..made.triangles.len()).all(|k| (0..3).all(|c| near(read.corners(k)[c], made.corners(k)[c])))
        );
        read.check_solid().unwrap();
        // Some programs begin binary files with the word.
        binary[..5].copy_from_slice(b"solid");
        assert_eq!(read_stl(&binary).unwrap(), read);
    }
    let shouted = text_stl(&bracket).to_uppercase().replace("E0", "e0");
    assert_eq!(read_stl(shouted.as_bytes()).unwrap().triangles.len(), 20);
}

#[test]
fn what_is_wrong_with_an_stl_is_said_by_line_or_triangle() {
    let good = text_stl(&surface(TETRAHEDRON));
    let at = |text: &str, number: usize, says: &str| {
        let e = read_stl(text.as_bytes()).unwrap_err();
        assert_eq!(e.place, Place::Line(number), "{e}");
        assert!(e.message.contains(says), "{e}");
    };
    at(&good.replacen("vertex 0 0 0", "vertex 0 0", 1), 4, "needs 3 numbers, got 2");
    at(&good.replacen("vertex 0 0 0", "vertex 0 nan 0", 1), 4, "not a finite number");
    at(
        &good.replacen("vertex 0 0 0", "corner 0 0 0", 1),
        4,
        "expected 'vertex' and 3 numbers, found 'corner'",
    );
    let thin = read_stl(good.replacen("vertex 0 0 0", "vertex 0 1 0", 1).as_bytes()).unwrap();
    assert_eq!((thin.triangles.len(), thin.repaired), (3, 1));
    at(&good.replacen("    endloop\n", "", 1), 7, "expected 'endloop', found 'endfacet'");
    at(&good.replacen("outer loop\n", "", 1), 3, "expected 'outer loop', found 'vertex'");
    at(&good.replace("endsolid made by code\n", ""), 29, "the file ends, expected 'facet' or 'endsolid'");
    assert!(read_stl(b"solid x\nendsolid x\n").unwrap_err().message.contains("no triangles"));

    let binary = binary_stl(&surface(TETRAHEDRON));
    let says = |bytes: &[u8]| read_stl(bytes).unwrap_err().to_string();
    assert_eq!(says(b""), "the file is empty");
    assert!(says(b"what").contains("neither text that begins with 'solid' nor a binary file"));
    let cut = says(&binary[..binary.len() - 1]);
    assert!(
        cut.contains("triangle 4: cut short: 4 triangles are promised, which takes 284 bytes, there are 283"),
        "{cut}"
    );
    assert!(says(&[binary.as_slice(), b"x"].concat()).contains("but there are 285"));
    let mut none = binary[..84].to_vec();
    none[80..].fill(0);
    assert!(says(&none).contains("no triangles"));
    // A count that would ask for 200 GB if it were believed.
    let mut many = binary.clone();
    many[80..84].fill(255);
    assert!(says(&many).contains("triangle 5: cut short: 4294967295 triangles"));
    let mut nan = binary.clone();
    nan[84 + 50 + 12..84 + 50 + 16].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(says(&nan).contains("triangle 2: corner 1 is not finite"), "{}", says(&nan));
    let mut far = binary.clone();
    far[84 + 24..84 + 28].copy_from_slice(&1e20_f32.to_le_bytes());
    assert!(says(&far).contains("triangle 1: corner 2 is out of range"), "{}", says(&far));
    let mut thin = binary;
    thin.copy_within(84 + 12..84 + 24, 84 + 24);
    let mended = read_stl(&thin).unwrap();
    assert_eq!((mended.triangles.len(), mended.repaired), (3, 1));
    let mut all = thin.clone();
    for k in 0..4 {
        all.copy_within(84 + 50 * k + 12..84 + 50 * k + 24, 84 + 50 * k + 24);
    }
    assert!(says(&all).contains("degenerate: all of its triangles"));
}

#[test]
fn files_are_named() {
    let folder = Folder::new();
    let says = |name: &str| mesh::read(folder.0.join(name), DVec3::ONE).unwrap_err().to_string();
    assert!(says("none.obj").ends_with("none.obj: cannot be read: No such file or directory (os error 2)"));
    folder.write("a.ply", "ply");
    assert!(says("a.ply").ends_with("a.ply: the name of a mesh file must end in .obj or .stl"));
    folder.write("b.OBJ", TETRAHEDRON.replace("f 2 3 4", "f 2 3 9"));
    assert!(says("b.OBJ").contains("b.OBJ:7: there is no vertex 9"), "{}", says("b.OBJ"));
    folder.write("c.stl", "");
    assert!(says("c.stl").ends_with("c.stl: the file is empty"));
    let good = folder.write("d.obj", TETRAHEDRON);
    let refused = |s: DVec3| mesh::read(&good, s).unwrap_err().message;
    assert!(refused(DVec3::new(1.0, 0.0, 1.0)).contains("scale must be finite and not 0"));
    assert!(refused(DVec3::splat(f64::NAN)).contains("scale must be finite"));
    assert!(refused(DVec3::splat(1e12)).contains("must be finite and within"));
    assert!(refused(DVec3::new(1.0, 1.0, 1e-200)).contains("degenerate"));
}

#[test]
fn open_twisted_and_inverted_surfaces_are_no_solids() {
    let says = |s: &Surface| s.check_solid().unwrap_err().to_string();
    let open = surface(&TETRAHEDRON.replace("f 3 1 4\n", ""));
    assert!(
        says(&open).starts_with("triangle 1: the surface is not closed: the edge from"),
        "{}",
        says(&open)
    );
    assert!(says(&open).contains("has no triangle on its other side (3 such edges in all)"));
    let twisted = surface(&TETRAHEDRON.replace("f 3 1 4", "f 1 3 4"));
    assert!(says(&twisted).contains("neighbours disagree about where outside is"), "{}", says(&twisted));
    let mut inverted = surface(TETRAHEDRON);
    inverted.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    assert!(says(&inverted).starts_with("inside out"), "{}", says(&inverted));
    // A mirror turns the triangles over, so that outside stays outside.
    let mirrored = surface(TETRAHEDRON).scaled(DVec3::new(1.0, -1.0, 1.0)).unwrap();
    mirrored.check_solid().unwrap();
    assert!((mirrored.moments().volume - 1.0 / 6.0).abs() < 1e-15);
    // There and back along one path encloses nothing.
    let flat = surface("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 3 2 1\n");
    assert!(says(&flat).contains("encloses no volume"), "{}", says(&flat));
}

#[test]
fn written_files_keep_every_bit() {
    let mut ball = ring(9, 7);
    ball.vertices.iter_mut().for_each(|v| *v *= DVec3::new(0.1, 1.0 / 3.0, 1e-7));
    let text = write_obj([("a ring\nv 9", &ball), ("again", &ring(5, 5))]);
    let read = read_obj(text.as_bytes()).unwrap();
    assert_eq!(read.groups, [("a ring v 9".to_string(), 0), ("again".to_string(), ball.triangles.len())]);
    assert!((0..ball.triangles.len()).all(|k| read.corners(k) == ball.corners(k)));
}

/// Whatever is done to a file, it is read or refused: no panic, no endless work, and what is read is a
/// surface.
fn survives(read: fn(&[u8]) -> Result<Surface, mesh::MeshError>, good: &[u8], rounds: usize) {
    let check = |bytes: &[u8]| {
        if let Ok(s) = read(bytes) {
            assert!(!s.triangles.is_empty());
            assert!(s.triangles.iter().flatten().all(|&i| (i as usize) < s.vertices.len()));
            assert!(s.vertices.iter().all(|v| v.is_finite()));
            let _ = s.check_solid();
        }
    };
    check(good);
    assert!(read(good).is_ok());
    for cut in 0..good.len().min(4000) {
        check(&good[..cut]);
    }
    let mut random = Random::new(good.len() as u64);
    let mut below = |n: usize| random.next_u64() as usize % n.max(1);
    let spare: &[&[u8]] = &[
        b"nan",
        b"-",
        b"1e400",
        b"\n",
        b"\\\n",
        b" ",
        b"f",
        b"v",
        b"f 1 1 1\n",
        b"0",
        b"99999999999",
        b"\0",
        b"\xff",
        b"solid",
        b"endsolid\n",
        b"f 1 2 3 4 5 6 7 8 9 10 11 12\n",
        b"/",
        b"#",
        b"1e-320",
        b"f -1 -2 -3\n",
    ];
    for _ in 0..rounds {
        let mut bad = good.to_vec();
        for _ in 0..1 + below(4) {
            let at = below(bad.len());
            match below(6) {
                0 => bad[at] ^= 1 << below(8),
                1 => bad[at] = below(256) as u8,
                2 => {
                    bad.drain(at..(at + below(60)).min(bad.len()));
                }
                3 => {
                    bad.splice(at..at, spare[below(spare.len())].iter().copied());
                }
                4 => {
                    let piece = bad[at..(at + below(200)).min(bad.len())].to_vec();
                    let to = below(bad.len());
                    bad.splice(to..to, piece);
                }
                _ => bad.truncate(at),
            }
            if bad.is_empty() {
                break;
            }
        }
        check(&bad);
    }
}

#[test]
fn damaged_files_do_no_harm() {
    let bracket = prism(BRACKET, 1.0);
    survives(read_obj, bracket.as_bytes(), 4000);
    survives(read_obj, write_obj([("ring", &ring(6, 5))]).as_bytes(), 4000);
    survives(read_stl, text_stl(&surface(&bracket)).as_bytes(), 4000);
    survives(read_stl, &binary_stl(&surface(&bracket)), 4000);
    survives(read_stl, &binary_stl(&beaker(9)), 1000);
}

#[test]
fn a_face_of_a_million_corners_is_refused_at_once() {
    let mut text = String::new();
    (0..6000).for_each(|k| text += &format!("v {} {} 0\n", k, (k as f64).sin()));
    text += "f";
    (1..=6000).for_each(|k| text += &format!(" {k}"));
    assert!(wrong(&text).1.contains("6000 corners, at most 4096"));
}
