//! Flat ground made of triangles is flat ground.

mod mesh_common;

use drystone::{BodyDef, Shape};
use glam::{DQuat, DVec3};
use mesh_common::{field, irregular, mesh, movers, run, world};

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
