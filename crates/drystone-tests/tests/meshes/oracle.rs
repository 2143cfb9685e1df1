//! Contacts of convex bodies with bumpy ground, against parry's distances to every single triangle.

use std::sync::Arc;

use crate::mesh_common::{field, irregular, mesh};
use drystone::collide::midphase::Finder;
use drystone::random::Random;
use drystone::{Hull, Pose, Shape, TriMesh};
use glam::DVec3;
use parry3d_f64::math::Pose as Isometry;
use parry3d_f64::query;
use parry3d_f64::shape::{SharedShape, Triangle};

fn shapes() -> Vec<(&'static str, Shape, SharedShape)> {
    let mut random = Random::new(4);
    let points: Vec<DVec3> = (0..30).map(|_| random.unit_vector() * DVec3::new(0.3, 0.25, 0.2)).collect();
    let hull = Hull::new(&points).unwrap();
    let theirs: Vec<_> = points.iter().map(|p| p.to_array().into()).collect();
    // Cylinders of parry stand along y, and so does its cone, with the middle of its height at the origin.
    let upright = Isometry::new(
        DVec3::ZERO.to_array().into(),
        (DVec3::X * std::f64::consts::FRAC_PI_2).to_array().into(),
    );
    let cone = Isometry::new(
        (DVec3::Z * 0.1).to_array().into(),
        (DVec3::X * std::f64::consts::FRAC_PI_2).to_array().into(),
    );
    vec![
        ("ball", Shape::Sphere { radius: 0.2 }, SharedShape::ball(0.2)),
        ("box", Shape::Box { half: DVec3::new(0.3, 0.2, 0.15) }, SharedShape::cuboid(0.3, 0.2, 0.15)),
        ("capsule", Shape::Capsule { radius: 0.1, half_length: 0.25 }, SharedShape::capsule_z(0.25, 0.1)),
        (
            "cylinder",
            Shape::Cylinder { radius: 0.2, half_length: 0.25 },
            SharedShape::compound(vec![(upright, SharedShape::cylinder(0.25, 0.2))]),
        ),
        (
            "cone",
            Shape::Cone { radius: 0.2, height: 0.4 },
            SharedShape::compound(vec![(cone, SharedShape::cone(0.2, 0.2))]),
        ),
        ("hull", Shape::Hull(Arc::new(hull)), SharedShape::convex_hull(&theirs).unwrap()),
        (
            "rounded box",
            Shape::Rounded { core: Arc::new(Shape::Box { half: DVec3::new(0.2, 0.15, 0.1) }), radius: 0.05 },
            SharedShape::round_cuboid(0.2, 0.15, 0.1, 0.05),
        ),
    ]
}

fn isometry(pose: &Pose) -> Isometry {
    let (axis, angle) = pose.rotation.to_axis_angle();
    Isometry::new(pose.position.to_array().into(), (axis * angle).to_array().into())
}

/// The least distance to any of the triangles, 0 where one is cut.
fn by_force(theirs: &SharedShape, pose: &Pose, triangles: &[[DVec3; 3]]) -> f64 {
    let place = isometry(pose);
    triangles
        .iter()
        .map(|t| {
            let [a, b, c] = t.map(|p| p.to_array().into());
            let triangle = Triangle::new(a, b, c);
            query::distance(&place, theirs.as_ref(), &Isometry::identity(), &triangle).unwrap().distance
        })
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn the_least_gap_is_the_distance() {
    let bumps = |x: f64, y: f64| 0.2 * (4.0 * x).sin() * (3.0 * y).cos() + 0.03 * (19.0 * x + 7.0 * y).sin();
    let terrain = irregular(3.0, 16, 5, bumps);
    let hills = field(25, 25, 0.125, bumps);
    let corners = |m: &TriMesh| (0..m.triangles().len()).map(|k| m.triangle(k)).collect::<Vec<_>>();
    let Shape::HeightField(heights) = &hills else { unreachable!() };
    let field_triangles: Vec<_> = (0..heights.triangle_count()).map(|k| heights.triangle(k)).collect();
    let grounds =
        [("mesh", corners(&terrain), mesh(terrain.clone())), ("field", field_triangles, hills.clone())];
    let mut finder = Finder::default();
    let mut random = Random::new(9);
    let reach = 0.1;
    for (ground_name, triangles, ground) in &grounds {
        for (name, ours, theirs) in shapes() {
            let (mut apart, mut cut) = (0, 0);
            for _ in 0..150 {
                let turn = random.rotation();
                let p = random.in_box(DVec3::new(-0.7, -0.7, 0.0), DVec3::new(0.7, 0.7, 0.0));
                let top = bumps(p.x, p.y);
                let pose = Pose::new(p.with_z(top + random.range(0.15, 0.6)), turn);
                let expected = by_force(&theirs, &pose, triangles);
                let found = finder.find(&ours, &pose, ground, &Pose::IDENTITY, reach);
                let least = found.iter().map(|c| c.point.gap).fold(f64::INFINITY, f64::min);
                if expected > 1e-6 && expected < reach - 1e-6 {
                    apart += 1;
                    // Patches may say up to 1 - cos 2° of the gap too much.
                    assert!(
                        (least - expected).abs() < 1e-6 + 7e-4 * expected,
                        "{name} over {ground_name} at {pose:?}: gap {least}, distance {expected}"
                    );
                } else if expected == 0.0 {
                    cut += 1;
                    assert!(least < 1e-6, "{name} cuts {ground_name} at {pose:?}: gap {least}");
                }
                for c in found {
                    assert!((c.point.normal.length() - 1.0).abs() < 1e-12);
                    let off = c.point.on_a - c.point.on_b - c.point.normal * c.point.gap;
                    assert!(off.length() < 0.04 * c.point.gap.abs() + 1e-9, "{name}: {c:?}");
                }
            }
            assert!(apart > 10 && cut > 10, "{name} over {ground_name}: {apart} apart, {cut} cut");
        }
    }
}

/// A body that is pushed along each contact as far as it asks soon overlaps no longer.
#[test]
fn overlaps_are_undone_by_what_the_contacts_say() {
    let bumps = |x: f64, y: f64| 0.1 * (3.0 * x).sin() * (2.0 * y).cos();
    let terrain = irregular(3.0, 16, 5, bumps);
    let triangles: Vec<_> = (0..terrain.triangles().len()).map(|k| terrain.triangle(k)).collect();
    let ground = mesh(terrain);
    let mut finder = Finder::default();
    let mut random = Random::new(2);
    for (name, ours, theirs) in shapes() {
        for _ in 0..60 {
            let p = random.in_box(DVec3::new(-0.7, -0.7, 0.0), DVec3::new(0.7, 0.7, 0.0));
            let start = p.with_z(bumps(p.x, p.y) + random.range(0.05, 0.2));
            let mut pose = Pose::new(start, random.rotation());
            let mut least = f64::NEG_INFINITY;
            for _ in 0..60 {
                let found = finder.find(&ours, &pose, &ground, &Pose::IDENTITY, 0.0);
                let deepest = found.iter().min_by(|a, b| a.point.gap.total_cmp(&b.point.gap));
                let Some(c) = deepest else {
                    least = 0.0;
                    break;
                };
                least = c.point.gap;
                if least > -1e-4 {
                    break;
                }
                pose.position += c.point.normal * (1e-5 - c.point.gap);
            }
            assert!(least >= -1e-4, "{name} from {start}: still {least}");
            let clear = Pose { position: pose.position + DVec3::Z * 2e-3, ..pose };
            assert!(
                by_force(&theirs, &clear, &triangles) > 0.0,
                "{name} from {start} is not out at {pose:?}"
            );
            let way = pose.position.distance(start);
            assert!(way < 0.7, "{name} from {start} went {way} m");
        }
    }
}
