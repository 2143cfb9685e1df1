//! Flat ground made of triangles is flat ground.

use crate::mesh_common::{field, irregular, mesh, movers, run, world};
use drystone::{BodyDef, Shape};
use glam::{DQuat, DVec3};

fn grounds() -> Vec<(&'static str, Shape)> {
    let flat = irregular(12.0, 12, 1, |_, _| 0.0);
    assert!(flat.triangles().len() > 200);
    vec![("mesh", mesh(flat)), ("height field", field(25, 25, 0.5, |_, _| 0.0))]
}

/// Runs the same body over the plane and over `ground`, both tilted alike, and compares all along.
fn compare(name: &str, ground: &Shape, tilt: DQuat, mu: f64, body: &BodyDef, steps: usize) {
    let (mut over_plane, a) = world(0.005, Shape::HalfSpace, (DVec3::ZERO, tilt), mu, body.clone());
    let (mut over_ground, b) = world(0.005, ground.clone(), (DVec3::ZERO, tilt), mu, body.clone());
    let mut travelled = 0.0f64;
    for step in 0..steps {
        run(&mut over_plane, 1);
        run(&mut over_ground, 1);
        let (p, q) = (over_plane.position(a).unwrap(), over_ground.position(b).unwrap());
        let (v, w) = (over_plane.velocity(a).unwrap(), over_ground.velocity(b).unwrap());
        let scale = 1.0 + v.length();
        assert!(
            p.distance(q) < 1e-6 && v.distance(w) < 1e-6 * scale,
            "{name}: step {step}: at {q} with {w} instead of {p} with {v}, {} contacts for {}",
            over_ground.contacts().len(),
            over_plane.contacts().len()
        );
        travelled = travelled.max(p.distance(body.position));
        let height = (tilt.conjugate() * q).z;
        assert!(height > 0.15, "{name}: step {step}: {height} m above the ground");
    }
    assert!(travelled > 1.0, "{name} only went {travelled} m: it crossed few triangles");
}

#[test]
fn bodies_slide_as_over_a_plane() {
    for (ground_name, ground) in grounds() {
        for (name, shape, height) in movers() {
            let turn =
                if name == "capsule" { DQuat::from_rotation_x(1.55) } else { DQuat::from_rotation_z(0.3) };
            let height = if name == "capsule" { 0.22 } else { height };
            let body = BodyDef::dynamic(shape, 2.0)
                .at(DVec3::new(-3.1, -1.7, height))
                .turned(turn)
                .moving(DVec3::new(6.0, 2.9, 0.0), DVec3::new(0.0, 0.0, 0.7));
            let mu = if name == "ball" { 0.0 } else { 0.35 };
            compare(&format!("{name} on {ground_name}"), &ground, DQuat::IDENTITY, mu, &body, 300);
        }
    }
}

#[test]
fn bodies_roll_and_tumble_as_over_a_plane() {
    let tilt = DQuat::from_rotation_y(0.2);
    for (ground_name, ground) in grounds() {
        for (name, shape, height) in movers() {
            let at = tilt * DVec3::new(-3.3, 0.4, height + 0.3);
            let body = BodyDef::dynamic(shape, 2.0)
                .at(at)
                .turned(DQuat::from_rotation_y(0.4))
                .moving(DVec3::new(2.0, 0.3, 0.0), DVec3::new(0.0, 3.0, 0.0));
            // Tumbling is chaotic: soon after the first hits rounding would be all that differs.
            let steps = if name == "ball" { 300 } else { 140 };
            compare(&format!("{name} on tilted {ground_name}"), &ground, tilt, 0.6, &body, steps);
        }
    }
}

#[test]
fn a_drum_rolls_on_its_side_as_over_a_plane() {
    let tilt = DQuat::from_rotation_y(0.1);
    let lying = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    for (ground_name, ground) in grounds() {
        for (name, shape, radius) in [
            ("drum", Shape::Cylinder { radius: 0.3, half_length: 0.4 }, 0.3),
            ("capsule", Shape::Capsule { radius: 0.3, half_length: 0.4 }, 0.3),
        ] {
            let body = BodyDef::dynamic(shape, 2.0)
                .at(tilt * DVec3::new(-4.0, 0.3, radius))
                .turned(tilt * lying)
                .moving(tilt * DVec3::X * 2.0, DVec3::Y * 2.0 / radius);
            compare(&format!("{name} on {ground_name}"), &ground, tilt, 0.5, &body, 300);
        }
    }
}

/// Warm starting depends on it: as long as a body lies flat its contacts have the same names, whatever
/// triangles it is on.
#[test]
fn contacts_keep_their_names_from_triangle_to_triangle() {
    for (ground_name, ground) in grounds() {
        for (name, shape, height) in movers() {
            // These do not lie flat, and a hull of many corners chooses four of them anew even on a plane.
            if ["capsule", "ellipsoid", "hull"].contains(&name) {
                continue;
            }
            let body = BodyDef::dynamic(shape, 2.0)
                .at(DVec3::new(-3.0, -1.0, height))
                .moving(DVec3::new(4.0, 1.9, 0.0), DVec3::ZERO);
            let (mut w, _) = world(0.005, ground.clone(), (DVec3::ZERO, DQuat::IDENTITY), 0.0, body);
            run(&mut w, 5);
            let names: Vec<_> = w.contacts().iter().map(|c| c.key).collect();
            assert!(!names.is_empty() && names.len() <= 4, "{name} on {ground_name}");
            for _ in 0..150 {
                run(&mut w, 1);
                let now: Vec<_> = w.contacts().iter().map(|c| c.key).collect();
                assert_eq!(now, names, "{name} on {ground_name}");
            }
        }
    }
}

/// Two halves of a floor whose triangles do not meet corner to corner: no edge has a neighbour across the
/// seam.
#[test]
fn a_seam_without_common_corners_is_not_felt() {
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for (x0, x1, n) in [(-4.0, 0.0, 7usize), (0.0, 4.0, 10)] {
        let first = vertices.len() as u32;
        for j in 0..=n {
            let y = 6.0 * j as f64 / n as f64 - 3.0;
            vertices.extend([DVec3::new(x0, y, 0.0), DVec3::new(x1, y, 0.0)]);
        }
        for j in 0..n as u32 {
            let [a, b, c, d] = [0, 1, 3, 2].map(|k| first + 2 * j + k);
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    let floor = mesh(drystone::TriMesh::new(vertices, triangles).unwrap());
    for (name, shape, height) in movers() {
        let turn = if name == "capsule" { DQuat::from_rotation_x(1.55) } else { DQuat::IDENTITY };
        let height = if name == "capsule" { 0.21 } else { height };
        let body = BodyDef::dynamic(shape, 2.0)
            .at(DVec3::new(-2.1, 0.3, height))
            .turned(turn)
            .moving(DVec3::new(5.0, 0.1, 0.0), DVec3::ZERO);
        compare(&format!("{name} over a seam"), &floor, DQuat::IDENTITY, 0.1, &body, 150);
    }
}
