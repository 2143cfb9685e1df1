//! Flat states through scenes and worlds and back, and what the format cannot hold.

use drystone::{BodyDef, Collider, MassProperties, Pose, Settings, Shape, World};
use drystone_scene::flat::{self, FlatState};
use glam::{DMat3, DQuat, DVec3};

const STATE: &str = r#"{"name": "odd numbers", "h": 0.003, "T": 0.7, "gravity": [0.1, 0, -9.81], "mu": 0.30000000000000004,
  "restitution": 0, "snaps": [0.1, 0.30000000000000004],
  "statics": [{"shape": "plane", "pos": [0, 0, -0.1]},
              {"shape": "box", "half": [1, 2.2, 0.7], "pos": [9, 0.1, 1], "quat": [0.8, 0, 0.6, 0]}],
  "bodies": [
    {"shape": "sphere", "r": 0.1, "m": 4.188790204786391, "I": [0.01675516081914557, 0.01675516081914557, 0.01675516081914557],
     "pos": [-0.559665794249, -0.560754872045, 1.0996848368131], "quat": [1, 0, 0, 0], "vel": [0.1, -0.7, 1e-17],
     "omega": [3.3, 0.1, -1e-9], "group": 4294967295},
    {"shape": "box", "half": [0.1, 0.30000000000000004, 0.5], "m": 1e-3, "I": [0.002, 0.0031, 0.0041], "pos": [0, 2, 3],
     "quat": [0.8, 0, 0.6, 0], "vel": [1, 2, 3], "omega": [0, 0, 0], "group": 3},
    {"shape": "capsule", "r": 0.2, "half_length": 0.30000000000000004, "m": 2, "I": [1, 1, 0.5], "pos": [4, 2, 3],
     "quat": [1, 0, 0, 0], "vel": [0, 0, 0], "omega": [0, 0, 0], "group": 0},
    {"shape": "cylinder", "r": 0.2, "half_length": 0.30000000000000004, "m": 2, "I": [1, 1, 0.5], "pos": [4, 4, 3],
     "quat": [0.8, 0, 0.6, 0], "vel": [0.1, 0, 0], "omega": [0, 0, 0], "group": 0},
    {"shape": "convex", "points": [[0.1, 0, 0], [-0.1, 0.30000000000000004, 0], [-0.1, -0.3, 0.1], [0, 0, 0.7], [0, 0.1, -0.3]],
     "m": 2, "I": [1, 1.25, 0.5], "pos": [4, 6, 3], "quat": [0.6, 0, 0, 0.8], "vel": [0.1, 0, 0], "omega": [0, 0, 0],
     "group": 0},
    {"shape": "none", "m": 2, "I": [1, 1, 0.5], "pos": [4, 2, 3], "quat": [1, 0, 0, 0], "vel": [0, 0, 0],
     "omega": [0, 0, 0], "group": 0}],
  "joints": []}"#;

fn world_of(state: &FlatState) -> World {
    let scene = state.scene().unwrap();
    scene.world(scene.settings.clone()).unwrap()
}

fn again(state: &FlatState) -> FlatState {
    flat::of_world(&world_of(state), &state.name, state.duration, state.snaps.as_deref().unwrap_or(&[]))
        .unwrap()
}

#[test]
fn comes_back_bit_for_bit() {
    let state: FlatState = STATE.parse().unwrap();
    let back = again(&state);
    assert_eq!(serde_json::to_string(&back).unwrap(), serde_json::to_string(&state).unwrap());
    assert_eq!(world_of(&back).state().hash(), world_of(&state).state().hash());
}

#[test]
fn files_keep_every_bit() {
    let state: FlatState = STATE.parse().unwrap();
    let dir = std::env::temp_dir().join(format!("drystone-round-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for name in ["s.json", "s.json.gz"] {
        state.write(dir.join(name)).unwrap();
        assert_eq!(flat::read(dir.join(name)).unwrap(), state);
    }
    assert!(state.write(dir.join("s.txt")).unwrap_err().message.contains(".json"));
    let plain = std::fs::metadata(dir.join("s.json")).unwrap().len();
    assert!(std::fs::metadata(dir.join("s.json.gz")).unwrap().len() < plain / 2);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 2, "no part files left");
    let line = drystone_scene::check(dir.join("s.json")).unwrap();
    assert!(
        line.contains("flat state 'odd numbers', 6 dynamic bodies and 2 others, h = 0.003 s, T = 0.7 s"),
        "{line}"
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn turned_bodies_keep_their_motion() {
    // Body axes in the world's state, world axes in the file: there and back costs rounding, no more.
    let mut state: FlatState = STATE.parse().unwrap();
    let q = DQuat::from_euler(glam::EulerRot::XYZ, 0.3, -1.1, 2.0);
    state.bodies[1].quat = [q.w, q.x, q.y, q.z];
    state.bodies[1].omega = [0.3, -4.0, 5.5];
    let world = world_of(&state);
    let id = world.model().id(1).unwrap();
    let omega = world.angular_velocity(id).unwrap();
    assert!((omega - DVec3::new(0.3, -4.0, 5.5)).length() < 1e-14);
    let back = again(&state);
    for k in 0..4 {
        assert!((back.bodies[1].quat[k] - state.bodies[1].quat[k]).abs() < 3e-16);
    }
    let mut random = drystone::random::Random::new(1);
    for _ in 0..300 {
        let q = random.rotation();
        state.bodies[1].quat = [q.w, q.x, q.y, q.z];
        state.bodies[1].omega = (5.0 * random.in_ball()).to_array();
        let first = world_of(&state);
        let second = world_of(&flat::of_world(&first, "x", 1.0, &[]).unwrap());
        let (a, b) = (first.state(), second.state());
        assert!(
            (a.omega[1] - b.omega[1]).length() < 1e-14 && (a.rotation[1] - b.rotation[1]).length() < 1e-15
        );
    }
}

#[test]
fn serde_agrees_with_the_careful_reader() {
    let careful: FlatState = STATE.parse().unwrap();
    let plain: FlatState = serde_json::from_str(STATE).unwrap();
    assert_eq!(careful, plain);
}

#[test]
fn groups_filter() {
    let state: FlatState = STATE.parse().unwrap();
    let scene = state.scene().unwrap();
    assert_eq!(scene.bodies.iter().map(|b| b.group).collect::<Vec<_>>(), [4294967295, 3, 0, 0, 0, 0, 0, 0]);
}

fn refused(bodies: Vec<BodyDef>) -> String {
    let mut world = World::new(Settings::default()).unwrap();
    for body in bodies {
        world.add_body(body).unwrap();
    }
    flat::of_world(&world, "x", 1.0, &[]).expect_err("cannot be written").to_string()
}

#[test]
fn what_it_cannot_hold_is_refused_with_the_body() {
    let ball = || BodyDef::dynamic(Shape::Sphere { radius: 1.0 }, 1.0);
    let cube = Shape::Box { half: DVec3::ONE };
    let tilt = DQuat::from_rotation_y(0.3);
    let e = refused(vec![ball(), BodyDef::fixed(Shape::HalfSpace).turned(tilt).named("ramp")]);
    assert!(e.contains("body 1 (ramp)") && e.contains("normal +z"), "{e}");
    let e = refused(vec![ball(), ball().friction(0.5)]);
    assert!(e.contains("body 0 has 0") && e.contains("body 1 has 0.5"), "{e}");
    let mut two = ball();
    two.colliders.push(Collider::new(cube.clone(), 0.0));
    assert!(refused(vec![two]).contains("body 0: it has 2 shapes"));
    let mut off = ball();
    off.mass.centre = DVec3::X * 0.1;
    assert!(refused(vec![off]).contains("centre of mass"));
    let mut turned = BodyDef::dynamic(cube.clone(), 1.0);
    turned.colliders[0].local = Pose::new(DVec3::ZERO, tilt);
    assert!(refused(vec![turned]).contains("turned"));
    let r = DMat3::from_quat(tilt);
    let inertia = r * DMat3::from_diagonal(DVec3::new(1.0, 2.0, 2.5)) * r.transpose();
    let skew =
        BodyDef::dynamic(cube.clone(), 1.0).mass(MassProperties { mass: 1.0, centre: DVec3::ZERO, inertia });
    assert!(refused(vec![skew]).contains("not principal"));
    assert!(
        refused(vec![BodyDef::fixed(Shape::Sphere { radius: 1.0 })]).contains("box or a plane, not a sphere")
    );
    let tall = DVec3::new(0.1, 0.2, 0.3);
    let hull = Shape::hull(&[DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z]).unwrap();
    let apart =
        Shape::compound(vec![(Pose::IDENTITY, cube.clone()), (Pose::at(DVec3::X * 3.0), cube.clone())]);
    for (shape, name) in [
        (Shape::Cone { radius: 1.0, height: 1.0 }, "have no cone"),
        (Shape::Ellipsoid { half: tall }, "have no ellipsoid"),
        (Shape::rounded(cube.clone(), 0.1).unwrap(), "have no rounded box"),
        (Shape::rounded(hull.clone(), 0.1).unwrap(), "no rounded"),
        (apart.unwrap(), "have no compound"),
    ] {
        let e = refused(vec![BodyDef::dynamic(shape, 1.0).named("odd")]);
        assert!(e.contains("body 0 (odd)") && e.contains(name), "{e}");
    }
    let mesh = || Shape::mesh(vec![DVec3::ZERO, DVec3::X, DVec3::Y], vec![[0, 1, 2]]).unwrap();
    let ground = || Shape::height_field(2, 2, [1.0, 1.0], vec![0.0; 4]).unwrap();
    assert!(refused(vec![BodyDef::fixed(mesh())]).contains("box or a plane, not a mesh"));
    assert!(refused(vec![BodyDef::fixed(ground())]).contains("box or a plane, not a height field"));
    assert!(refused(vec![BodyDef::fixed(hull)]).contains("box or a plane, not a"));
    let mut flatlander = ball();
    flatlander.planar = Some(DVec3::Y);
    assert!(refused(vec![flatlander]).contains("body 0: it is locked to a plane"));
    let mut ghost = ball();
    ghost.colliders[0].filter.mask = 0;
    assert!(refused(vec![ghost]).contains("layers or a mask"));
    let belt = BodyDef::kinematic(cube.clone()).moving(DVec3::X, DVec3::ZERO);
    assert!(refused(vec![belt]).contains("kinematic"));
    let mut wall = BodyDef::fixed(cube);
    wall.group = 2;
    assert!(refused(vec![wall]).contains("group"));
}

#[test]
fn a_centre_of_mass_at_the_shape_is_held() {
    let mut world = World::new(Settings::default()).unwrap();
    let mut ball =
        BodyDef::dynamic(Shape::Sphere { radius: 1.0 }, 1.0).at(DVec3::Z).turned(DQuat::from_rotation_z(1.0));
    ball.colliders[0].local.position = DVec3::X;
    ball.mass.centre = DVec3::X;
    world.add_body(ball).unwrap();
    let flat = flat::of_world(&world, "x", 1.0, &[]).unwrap();
    let at = DVec3::from_array(flat.bodies[0].pos) - DVec3::new(1f64.cos(), 1f64.sin(), 1.0);
    assert!(at.length() < 1e-15);
}

#[test]
fn static_bodies_of_several_boxes_become_several_statics() {
    let mut world = World::new(Settings::default()).unwrap();
    let mut frame = BodyDef::fixed(Shape::Box { half: DVec3::ONE }).at(DVec3::Z * 3.0);
    let beside = Collider::new(Shape::Box { half: DVec3::ONE }, 0.0);
    frame.colliders.push(Collider { local: Pose::at(DVec3::X * 5.0), ..beside });
    world.add_body(frame).unwrap();
    let flat = flat::of_world(&world, "x", 1.0, &[]).unwrap();
    assert_eq!(flat.statics.iter().map(|s| s.pos).collect::<Vec<_>>(), [[0.0, 0.0, 3.0], [5.0, 0.0, 3.0]]);
}

/// A hull anywhere in its body, with any inertia, is written in the principal frame about the centre of mass,
/// and is the same body there: the same points, mass and motion in the world.
#[test]
fn hulls_are_written_in_their_principal_frame() {
    let mut random = drystone::random::Random::new(8);
    for round in 0..50 {
        let points: Vec<DVec3> =
            (0..12).map(|_| random.in_ball() * DVec3::new(1.0, 0.6, 0.3) + 0.4).collect();
        let shape = Shape::hull(&points).unwrap();
        let mut body = BodyDef::dynamic(shape.clone(), 3.0)
            .at(5.0 * random.in_ball())
            .turned(random.rotation())
            .moving(random.in_ball(), 4.0 * random.in_ball());
        if round % 2 == 0 {
            let local = Pose::new(random.in_ball(), random.rotation());
            body.colliders[0].local = local;
            let moments = shape.moments().placed(&local);
            body.mass = MassProperties { mass: 3.0, centre: moments.centroid, inertia: moments.inertia(3.0) };
        }
        let mut world = World::new(Settings::default()).unwrap();
        world.add_body(body).unwrap();
        let flat = flat::of_world(&world, "x", 1.0, &[]).unwrap();
        let back = world_of(&flat);
        let corners = |w: &World| {
            let pose = w.model().collider_pose(w.state(), 0).unwrap();
            let Shape::Hull(hull) = &w.model().colliders[0].shape else { panic!() };
            hull.vertices().iter().map(|v| pose.point(*v)).collect::<Vec<_>>()
        };
        for (a, b) in corners(&world).iter().zip(corners(&back)) {
            assert!((*a - b).length() < 1e-13, "{a} {b}");
        }
        let (s, t) = (world.state(), back.state());
        assert!((s.position[0] - t.position[0]).length() < 1e-15);
        assert!((s.world_omega(0) - t.world_omega(0)).length() < 1e-13);
        let tensor = |w: &World| {
            let r = DMat3::from_quat(w.state().rotation[0]);
            r * w.model().bodies[0].mass.inertia * r.transpose()
        };
        assert!(tensor(&world).abs_diff_eq(tensor(&back), 1e-13));
        // Once written, it stays as it is.
        let again = flat::of_world(&back, "x", 1.0, &[]).unwrap();
        assert_eq!(again.bodies[0].points, flat.bodies[0].points);
        assert_eq!(again.bodies[0].inertia, flat.bodies[0].inertia);
    }
}

#[test]
fn cylinders_and_hulls_move_as_before_they_were_written() {
    let mut world =
        World::new(Settings { tolerance: 1e-9, iterations: 2000, ..Settings::default() }).unwrap();
    let block: Vec<DVec3> = (0..8)
        .map(|k| DVec3::new((k & 1) as f64 - 0.5, (k >> 1 & 1) as f64 - 0.5, (k >> 2) as f64 - 0.5) * 0.4)
        .collect();
    let hull = Shape::hull(&block).unwrap();
    world.add_body(BodyDef::dynamic(hull, 1.0).at(DVec3::Z * 0.3).friction(0.4)).unwrap();
    let log = Shape::Cylinder { radius: 0.2, half_length: 0.3 };
    world.add_body(BodyDef::dynamic(log, 1.0).at(DVec3::new(1.0, 0.0, 0.4)).friction(0.4)).unwrap();
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
    let flat = flat::of_world(&world, "x", 1.0, &[]).unwrap();
    assert_eq!(flat.bodies[1].half_length, Some(0.3));
    let scene = flat.scene().unwrap();
    let mut other = scene.world(world.settings().clone()).unwrap();
    for _ in 0..100 {
        world.step().unwrap();
        other.step().unwrap();
    }
    assert_eq!(world.state().hash(), other.state().hash());
    assert!((world.state().position[0].z - 0.2).abs() < 1e-3, "{}", world.state().position[0]);
    assert!((world.state().position[1].z - 0.3).abs() < 1e-3, "{}", world.state().position[1]);
}

#[test]
fn friction_of_pairs_must_be_one() {
    use drystone::{Combine, PairLaw};
    let write = |mu: f64, combine: Combine, law: Option<f64>| {
        let mut world = World::new(Settings::default()).unwrap();
        let mut materials = drystone::Materials::default();
        materials.combine = combine;
        let oak = materials.add("oak").unwrap();
        let ice = materials.add("ice").unwrap();
        if let Some(mu) = law {
            materials.set_pair(oak, ice, PairLaw::friction(mu)).unwrap();
        }
        *world.materials_mut() = materials;
        for material in [oak, ice] {
            let mut ball = BodyDef::dynamic(Shape::Sphere { radius: 1.0 }, 1.0).friction(mu);
            ball.colliders[0].material = Some(material);
            world.add_body(ball.at(DVec3::X * 3.0 * f64::from(material.0))).unwrap();
        }
        flat::of_world(&world, "x", 1.0, &[]).map(|f| f.mu).map_err(|e| e.to_string())
    };
    assert_eq!(write(0.5, Combine::GeometricMean, None), Ok(0.5));
    // What a pair has, not what its surfaces have.
    assert_eq!(write(0.5, Combine::Product, None), Ok(0.25));
    assert_eq!(write(0.5, Combine::Mean, Some(0.5)), Ok(0.5));
    let e = write(0.5, Combine::Mean, Some(0.1)).unwrap_err();
    assert!(e.contains("between body 0 and body 1, 0.1"), "{e}");
}
