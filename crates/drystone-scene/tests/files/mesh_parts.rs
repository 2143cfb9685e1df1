//! Convex parts: exact where they can be, never smaller than the solid, better than voxels, the same every
//! time, and kept beside the mesh.

use std::time::{Duration, Instant};

use crate::solids::{BRACKET, Folder, beaker, binary_stl, prism, revolved, ring, surface};
use drystone::random::Random;
use drystone_scene::mesh::{Decomposition, Origin, Surface, Target, decompose, parts_of, write_obj};
use glam::DVec3;

fn target(parts: usize, threshold: f64) -> Target {
    Target { parts, threshold }
}

fn solid_distance(d: &Decomposition, p: DVec3) -> f64 {
    let outside = |part: &drystone_scene::mesh::Part| {
        part.hull.faces().iter().map(|f| f.normal.dot(p) - f.offset).fold(f64::NEG_INFINITY, f64::max)
    };
    d.parts.iter().map(outside).fold(f64::INFINITY, f64::min)
}

/// Every vertex, edge and triangle of the surface, at some points, lies in a part.
fn covers(d: &Decomposition, s: &Surface) {
    let mut random = Random::new(4);
    let (low, high) = s.bounds();
    let hair = 1e-9 * (high - low).length();
    for k in 0..s.triangles.len() {
        let [a, b, c] = s.corners(k);
        for _ in 0..8 {
            let (u, v) = (random.uniform(), random.uniform());
            let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
            let p = a + u * (b - a) + v * (c - a);
            assert!(solid_distance(d, p) < hair, "{p} is left out by {}", solid_distance(d, p));
        }
    }
}

#[test]
fn clean_cuts_are_found() {
    // A bracket of two boxes, a channel of three, a cross of three, a step pyramid of three.
    let channel =
        [(0.0, 0.0), (3.0, 0.0), (3.0, 2.0), (2.0, 2.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)];
    let cross = [
        (1.0, 0.0),
        (2.0, 0.0),
        (2.0, 1.0),
        (3.0, 1.0),
        (3.0, 2.0),
        (2.0, 2.0),
        (2.0, 3.0),
        (1.0, 3.0),
        (1.0, 2.0),
        (0.0, 2.0),
        (0.0, 1.0),
        (1.0, 1.0),
    ];
    let steps = [
        (0.0, 0.0),
        (5.0, 0.0),
        (5.0, 1.0),
        (4.0, 1.0),
        (4.0, 2.0),
        (3.0, 2.0),
        (3.0, 3.0),
        (2.0, 3.0),
        (2.0, 2.0),
        (1.0, 2.0),
        (1.0, 1.0),
        (0.0, 1.0),
    ];
    for (polygon, parts) in [(BRACKET, 2), (&channel, 3), (&cross, 3), (&steps, 3)] {
        // Turned out of the axes, so that no lucky slice along them helps.
        let turn = glam::DQuat::from_euler(glam::EulerRot::XYZ, 0.3, -0.7, 1.1);
        let mut s = surface(&prism(polygon, 0.7));
        s.vertices.iter_mut().for_each(|v| *v = turn * *v + 3.0);
        let d = decompose(&s, &target(16, 0.01)).unwrap();
        assert_eq!(d.parts.len(), parts, "{polygon:?}");
        assert!(d.error().abs() < 1e-9, "{}", d.error());
        assert!(d.parts.iter().all(|p| p.hull.vertices().len() == 8));
        covers(&d, &s);
    }
}

#[test]
fn round_things_reach_their_target_and_nothing_is_left_out() {
    let pipe = revolved(&[(1.0, 0.0), (1.0, 2.0), (0.8, 2.0), (0.8, 0.0)], 16);
    for (name, s) in [("ring", ring(16, 8)), ("beaker", beaker(16)), ("pipe", pipe)] {
        let d = decompose(&s, &target(32, 0.04)).unwrap();
        assert!((0.0..=0.04).contains(&d.error()), "{name}: {} in {} parts", d.error(), d.parts.len());
        assert!(d.parts.len() <= 32);
        assert!((d.volume - s.moments().volume).abs() < 1e-12);
        covers(&d, &s);
        assert!(d.parts.windows(2).all(|w| w[0].volume >= w[1].volume));
    }
}

#[test]
fn the_number_of_parts_is_a_promise() {
    let s = ring(16, 8);
    let mut last = f64::INFINITY;
    for parts in [1, 4, 8, 12] {
        let d = decompose(&s, &target(parts, 0.0)).unwrap();
        assert!(d.parts.len() <= parts, "{} for {parts}", d.parts.len());
        assert!(d.error() < last, "{parts} parts leave {}", d.error());
        last = d.error();
        covers(&d, &s);
    }
    // One part is the hull.
    let hull = drystone::Shape::hull(&s.vertices).unwrap().volume();
    let one = decompose(&s, &target(1, 0.0)).unwrap();
    assert!((one.parts[0].volume / hull - 1.0).abs() < 1e-9);
    // What is convex stays whole.
    let block = surface(&prism(&[(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)], 1.0));
    assert_eq!(decompose(&block, &Target::default()).unwrap().parts.len(), 1);
}

#[test]
fn pieces_cavities_and_holes() {
    // Two blocks apart in one file; a cavity; a hole through; a cavity that a cut must open.
    let block = |x: f64| prism(&[(x, 0.0), (x + 1.0, 0.0), (x + 1.0, 1.0), (x, 1.0)], 1.0);
    let one = surface(&block(0.0));
    let shifted = |s: &Surface, by: DVec3, scale: f64, inside_out: bool| {
        let mut t = s.clone();
        t.vertices.iter_mut().for_each(|v| *v = (*v - 0.5) * scale + 0.5 + by);
        if inside_out {
            t.triangles.iter_mut().for_each(|t| t.swap(0, 1));
        }
        t
    };
    let both = |a: &Surface, b: &Surface| {
        let n = a.vertices.len() as u32;
        let triangles = a.triangles.iter().copied().chain(b.triangles.iter().map(|t| t.map(|i| i + n)));
        Surface::new([a.vertices.clone(), b.vertices.clone()].concat(), triangles.collect()).unwrap()
    };
    let apart = both(&one, &shifted(&one, DVec3::X * 3.0, 1.0, false));
    let d = decompose(&apart, &target(8, 0.01)).unwrap();
    assert_eq!((d.parts.len(), (d.error().abs() < 1e-12)), (2, true));
    let hollow = both(&one, &shifted(&one, DVec3::ZERO, 0.5, true));
    hollow.check_solid().unwrap();
    let d = decompose(&hollow, &target(8, 0.01)).unwrap();
    assert!((d.volume - 0.875).abs() < 1e-12);
    assert!(d.parts.len() <= 8 && d.error().abs() < 0.01, "{} parts, {}", d.parts.len(), d.error());
    covers(&d, &hollow);
    // The hollow itself stays free.
    assert!(solid_distance(&d, DVec3::splat(0.5)) > 0.2);
}

#[test]
fn what_is_no_solid_is_refused() {
    let mut open = ring(12, 8);
    open.triangles.pop();
    assert!(decompose(&open, &Target::default()).unwrap_err().message.contains("not closed"));
    let s = ring(12, 8);
    let refused = |t: Target| decompose(&s, &t).unwrap_err().message;
    assert!(refused(target(0, 0.1)).contains("parts must be from 1 to 256"));
    assert!(refused(target(257, 0.1)).contains("parts must be from 1 to 256"));
    assert!(refused(target(4, f64::NAN)).contains("threshold must be finite"));
    assert!(refused(target(4, -0.1)).contains("threshold must be finite and not negative"));
}

/// Surfaces through themselves and with flaws of every kind must not make it panic or run on.
#[test]
fn damaged_solids_do_no_harm() {
    let mut random = Random::new(9);
    for round in 0..16 {
        let mut s = if round % 2 == 0 { ring(8, 5) } else { beaker(6) };
        // Moved vertices keep it closed and let it cross itself.
        for _ in 0..1 + round % 5 {
            let k = random.next_u64() as usize % s.vertices.len();
            s.vertices[k] += 0.8 * random.in_ball();
        }
        if s.check_solid().is_ok() {
            let d = decompose(&s, &target(8, 0.05)).unwrap();
            assert!(!d.parts.is_empty() && d.parts.len() <= 8);
        }
    }
}

/// The voxel method at the same number of parts leaves more, on everything but what is convex.
#[test]
fn better_than_voxels() {
    use parry3d_f64::math::Vector;
    use parry3d_f64::transformation::vhacd::{VHACD, VHACDParameters};
    let gear: Vec<(f64, f64)> = (0..40)
        .map(|k| {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(k) / 40.0).sin_cos();
            let r = if k % 5 < 2 { 1.25 } else { 1.0 };
            (r * cos, r * sin)
        })
        .collect();
    for (name, s) in [
        ("bracket", surface(&prism(BRACKET, 1.0))),
        ("ring", ring(16, 8)),
        ("gear", surface(&prism(&gear, 0.4))),
    ] {
        let points: Vec<Vector> = s.vertices.iter().map(|v| Vector::new(v.x, v.y, v.z)).collect();
        let params = VHACDParameters { concavity: 0.003, ..Default::default() };
        let start = Instant::now();
        let theirs = VHACD::decompose(&params, &points, &s.triangles, true)
            .compute_exact_convex_hulls(&points, &s.triangles);
        let their_time = start.elapsed();
        let volume = |points: &[Vector]| {
            let points: Vec<DVec3> = points.iter().map(|p| DVec3::new(p.x, p.y, p.z)).collect();
            drystone::Shape::hull(&points).map_or(0.0, |h| h.volume())
        };
        let sum: f64 = theirs.iter().map(|(points, _)| volume(points)).sum();
        let their_error = sum / s.moments().volume - 1.0;
        let start = Instant::now();
        let ours = decompose(&s, &target(theirs.len().min(Target::MOST_PARTS), 0.0)).unwrap();
        println!(
            "{name}: {} parts {:+.3} % in {:.2?}, voxels {} parts {:+.3} % in {their_time:.2?}",
            ours.parts.len(),
            100.0 * ours.error(),
            start.elapsed(),
            theirs.len(),
            100.0 * their_error
        );
        assert!(ours.error() < their_error.abs(), "{name}");
        covers(&ours, &s);
    }
}

#[test]
fn threads_change_nothing() {
    let s = beaker(16);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| decompose(&s, &target(12, 0.02)).unwrap().to_obj())
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

#[test]
fn kept_parts_are_the_parts() {
    let folder = Folder::new();
    let mesh = folder.write("beaker.stl", binary_stl(&beaker(16)));
    let t = target(10, 0.05);
    let (_, fresh, origin) = parts_of(&mesh, DVec3::splat(0.1), &t).unwrap();
    let Origin::Found(kept) = origin else { panic!("{origin:?}") };
    assert_eq!(folder.names().len(), 2, "{:?}", folder.names());
    let name = kept.file_name().unwrap().to_str().unwrap().to_string();
    assert!(name.starts_with("beaker.parts-") && name.ends_with(".obj"), "{name}");
    let text = std::fs::read_to_string(&kept).unwrap();
    // Any viewer can open it: it is a good mesh file with an object for each part.
    let shown = drystone_scene::mesh::read(&kept, DVec3::ONE).unwrap();
    assert_eq!(shown.groups.len(), fresh.parts.len());

    let start = Instant::now();
    let (_, again, origin) = parts_of(&mesh, DVec3::splat(0.1), &t).unwrap();
    assert_eq!(origin, Origin::Kept(kept.clone()));
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(again.to_obj(), fresh.to_obj());
    assert_eq!(again.volume, fresh.volume);
    for (a, b) in again.parts.iter().zip(&fresh.parts) {
        assert_eq!((a.hull.vertices(), a.volume), (b.hull.vertices(), b.volume));
    }

    // Another scale, target or mesh is another file.
    let other = |scale: f64, t: &Target| parts_of(&mesh, DVec3::splat(scale), t).unwrap().2;
    assert!(matches!(other(0.2, &t), Origin::Found(_)));
    assert!(matches!(other(0.1, &target(9, 0.05)), Origin::Found(_)));
    assert!(matches!(other(0.1, &target(10, 0.06)), Origin::Found(_)));
    assert_eq!(folder.names().len(), 5);
    folder.write("beaker.stl", binary_stl(&beaker(15)));
    assert!(matches!(other(0.1, &t), Origin::Found(_)));

    // A damaged one is made again, whatever the damage.
    folder.write("beaker.stl", binary_stl(&beaker(16)));
    let number = text.find("v ").unwrap() + 3;
    let mut changed = text.clone().into_bytes();
    changed[number] ^= 1;
    let damaged: Vec<Vec<u8>> = vec![
        changed,
        text.as_bytes()[..text.len() / 2].to_vec(),
        text.replace("o part_2", "o part_two").into_bytes(),
        b"".to_vec(),
        vec![0xff; 100],
        // A good sum over nothing.
        Decomposition { parts: Vec::new(), volume: 1.0 }.to_obj().into_bytes(),
    ];
    for bytes in damaged {
        std::fs::write(&kept, &bytes).unwrap();
        let (_, mended, origin) = parts_of(&mesh, DVec3::splat(0.1), &t).unwrap();
        assert_eq!(origin, Origin::Found(kept.clone()));
        assert_eq!(mended.to_obj(), text);
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), text);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_no_error() {
    let folder = Folder::new();
    let mesh = folder.write("ring.obj", write_obj([("ring", &ring(10, 6))]));
    // A folder by the name of the file is in the way even of whoever may write anywhere.
    let bytes = std::fs::read(&mesh).unwrap();
    let t = target(6, 0.1);
    let kept = drystone_scene::mesh::cache_path(&mesh, &bytes, DVec3::ONE, &t);
    std::fs::create_dir(&kept).unwrap();
    let (_, found, origin) = parts_of(&mesh, DVec3::ONE, &t).unwrap();
    assert!(matches!(origin, Origin::NotKept(ref why) if why.contains("ring.parts-")), "{origin:?}");
    assert!(!found.parts.is_empty());
    assert_eq!(folder.names().len(), 2, "no temporary file is left: {:?}", folder.names());
}
