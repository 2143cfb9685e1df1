//! Ground of triangles that moves by itself.

use crate::mesh_common::{box_mesh, field, irregular, mesh, run};
use drystone::{BodyDef, BodyId, Settings, Shape, World};
use glam::{DQuat, DVec3};

fn with_ground(ground: BodyDef, body: BodyDef) -> (World, BodyId) {
    let mut w = World::new(Settings { h: 0.005, tolerance: 1e-9, ..Settings::default() }).unwrap();
    w.add_body(ground.friction(0.8)).unwrap();
    let id = w.add_body(body.friction(0.8)).unwrap();
    (w, id)
}

#[test]
fn a_platform_of_triangles_carries_what_lies_on_it() {
    let grounds = [
        mesh(box_mesh(DVec3::new(1.0, 1.0, 0.1), 6)),
        mesh(irregular(2.0, 7, 3, |_, _| 0.0)),
        field(9, 9, 0.25, |_, _| 0.0),
    ];
    for ground in grounds {
        let name = ground.name();
        let top = if let Shape::Mesh(m) = &ground {
            m.vertices().iter().map(|v| v.z).fold(0.0, f64::max)
        } else {
            0.0
        };
        let platform =
            BodyDef::kinematic(ground).moving(DVec3::new(0.4, 0.0, 0.3), DVec3::new(0.0, 0.0, 0.5));
        let cargo = BodyDef::dynamic(Shape::Box { half: DVec3::new(0.2, 0.1, 0.1) }, 2.0)
            .at(DVec3::new(0.4, 0.0, top + 0.1))
            .moving(DVec3::new(0.4, 0.2, 0.3), DVec3::new(0.0, 0.0, 0.5));
        let (mut w, id) = with_ground(platform, cargo);
        run(&mut w, 400);
        let p = w.position(id).unwrap();
        let carried =
            DVec3::new(0.8, 0.0, 0.6) + DQuat::from_rotation_z(1.0) * DVec3::new(0.4, 0.0, top + 0.1);
        assert!(p.distance(carried) < 0.01, "{name}: at {p} instead of {carried}");
    }
}

/// The bounds of ground that has no end say nothing about where it turns to within a step.
#[test]
fn turning_ground_lifts_what_is_far_from_its_axis() {
    for (ground, x, height) in [(Shape::HalfSpace, 100.0, 0.3), (field(401, 3, 0.5, |_, _| 0.0), 99.0, 0.3)] {
        let name = ground.name();
        // The far end rises by 0.5 m in each step of 5 ms, the ball is 0.3 m above it.
        let tray = BodyDef::kinematic(ground).moving(DVec3::ZERO, DVec3::new(0.0, -1.0, 0.0));
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::new(x, 0.1, 0.1 + height));
        let (mut w, id) = with_ground(tray, ball);
        run(&mut w, 1);
        let p = w.position(id).unwrap();
        assert!(w.contacts().len() == 1 && p.z > 0.55, "{name}: {} contacts, at {p}", w.contacts().len());
    }
}
