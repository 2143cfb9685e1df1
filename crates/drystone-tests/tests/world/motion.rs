//! Forces, torques, mass properties and moving obstacles.

use drystone::{BodyDef, MassProperties, Settings, Shape, World};
use glam::{DMat3, DQuat, DVec3};

const H: f64 = 1e-3;

fn weightless() -> World {
    World::new(Settings { h: H, gravity: DVec3::ZERO, ..Settings::default() }).unwrap()
}

fn precise() -> World {
    World::new(Settings { h: H, tolerance: 1e-10, iterations: 20_000, ..Settings::default() }).unwrap()
}

#[test]
fn force_acts_for_one_step_at_its_point() {
    let mut w = weightless();
    let mass = MassProperties::principal(2.0, DVec3::new(0.5, 1.0, 1.25));
    let id = w.add_body(BodyDef::bare(mass).at(DVec3::new(1.0, 2.0, 3.0))).unwrap();
    w.apply_force(id, DVec3::X * 10.0, None).unwrap();
    w.step().unwrap();
    assert_eq!(w.velocity(id).unwrap(), DVec3::X * 10.0 * H / 2.0);
    assert_eq!(w.angular_velocity(id).unwrap(), DVec3::ZERO);
    w.step().unwrap();
    assert_eq!(w.velocity(id).unwrap(), DVec3::X * 10.0 * H / 2.0, "for one step only");

    w.set_velocity(id, DVec3::ZERO, DVec3::ZERO).unwrap();
    let at = w.position(id).unwrap() + DVec3::Y * 0.5;
    w.apply_force(id, DVec3::X * 10.0, Some(at)).unwrap();
    w.step().unwrap();
    let turn = w.angular_velocity(id).unwrap();
    assert!((turn - DVec3::Z * (-0.5 * 10.0 * H / 1.25)).length() < 1e-15, "{turn}");
}

#[test]
fn forces_and_torques_add_up() {
    let mut w = weightless();
    let id = w.add_body(BodyDef::bare(MassProperties::principal(2.0, DVec3::new(0.5, 1.0, 1.25)))).unwrap();
    for _ in 0..3 {
        w.apply_torque(id, DVec3::new(1.0, 2.0, 0.0)).unwrap();
        w.apply_force(id, DVec3::Y, None).unwrap();
    }
    w.step().unwrap();
    let turn = w.angular_velocity(id).unwrap();
    // Kicked, then free for a step: Euler's equations turn ω by what is of third order in H.
    assert!((turn - 3.0 * H * DVec3::new(2.0, 2.0, 0.0)).length() < 100.0 * H.powi(3), "{turn}");
    assert!((w.velocity(id).unwrap() - 1.5 * H * DVec3::Y).length() < 1e-15);
}

/// A torque in world axes on a turned body goes through the inertia in world axes.
#[test]
fn torque_meets_the_turned_inertia() {
    let mut w = weightless();
    let q = DQuat::from_euler(glam::EulerRot::XYZ, 0.4, -1.0, 0.7);
    let moments = DVec3::new(0.5, 1.0, 1.25);
    let id = w.add_body(BodyDef::bare(MassProperties::principal(2.0, moments)).turned(q)).unwrap();
    let torque = DVec3::new(1.0, -2.0, 0.5);
    w.apply_torque(id, torque).unwrap();
    w.step().unwrap();
    let exact = H * (q * ((q.conjugate() * torque) / moments));
    let off = (w.angular_velocity(id).unwrap() - exact).length();
    assert!(off < 100.0 * H.powi(3), "{off:e}");
}

/// A ball whose centre of mass lies `d` below its middle rocks like a compound pendulum:
/// ω² = m g d / (I + m (r - d)²).
#[test]
fn weighted_ball_rocks_at_its_frequency() {
    let (r, d, m, i) = (0.2, 0.08, 1.5, 0.02);
    let mut w = precise();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(1.0)).unwrap();
    let mass =
        MassProperties { mass: m, centre: DVec3::Z * -d, inertia: DMat3::from_diagonal(DVec3::splat(i)) };
    let tilt = 0.05;
    let ball = BodyDef::dynamic(Shape::Sphere { radius: r }, m).mass(mass).friction(1.0);
    let ball = w.add_body(ball.at(DVec3::Z * r).turned(DQuat::from_rotation_y(tilt))).unwrap();
    let mut crossings = Vec::new();
    let mut last = tilt;
    while crossings.len() < 7 {
        w.step().unwrap();
        let q = w.rotation(ball).unwrap();
        let now = 2.0 * q.y.atan2(q.w);
        if last * now < 0.0 {
            crossings.push(w.state().time - H * now / (now - last));
        }
        last = now;
        assert!(w.state().time < 10.0, "it does not rock");
    }
    let period = (crossings[6] - crossings[0]) / 3.0;
    let exact = std::f64::consts::TAU * ((i + m * (r - d) * (r - d)) / (m * 9.81 * d)).sqrt();
    println!("weighted ball: period {period:.6} s, exact {exact:.6} s");
    assert!((period / exact - 1.0).abs() < 2e-3, "period {period}, exact {exact}");
    assert!((w.position(ball).unwrap().z - r).abs() < 1e-4, "the middle of the ball keeps its height");
}

/// Tilted by 40°, a homogeneous cube falls back on its face; with its centre of mass 0.2 towards the lower
/// edge, which tips from atan(0.3/0.5) = 31° on, it falls over.
#[test]
fn weighted_cube_falls_over_its_edge() {
    let fall = |offset: f64| {
        let mut w = World::new(Settings { h: 2e-3, ..Settings::default() }).unwrap();
        w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(1.0)).unwrap();
        let tilt = 40f64.to_radians();
        let shape = Shape::Box { half: DVec3::splat(0.5) };
        let mut mass = MassProperties::of_shape(&shape, 1.0);
        mass.centre = DVec3::X * offset;
        let z = 0.5 * (tilt.sin() + tilt.cos());
        let cube = BodyDef::dynamic(shape, 1.0).mass(mass).friction(1.0).at(DVec3::Z * z);
        let cube = w.add_body(cube.turned(DQuat::from_rotation_y(tilt))).unwrap();
        for _ in 0..1500 {
            w.step().unwrap();
        }
        assert!(w.speeds().0 < 1e-3, "still moving at {}", w.speeds().0);
        w.rotation(cube).unwrap() * DVec3::X
    };
    let (plain, weighted) = (fall(0.0), fall(0.2));
    assert!((plain - DVec3::X).length() < 1e-3, "falls back, x axis along {plain}");
    assert!((weighted + DVec3::Z).length() < 1e-3, "falls over, x axis along {weighted}");
}

/// A full inertia tensor is the principal one seen in turned axes: the motion is the same.
#[test]
fn full_inertia_moves_like_the_turned_principal_one() {
    let axes = DQuat::from_euler(glam::EulerRot::XYZ, 0.5, -0.8, 1.3);
    let q = DQuat::from_euler(glam::EulerRot::XYZ, -0.3, 0.2, 0.9);
    let moments = DVec3::new(0.02, 0.03, 0.04);
    let r = DMat3::from_quat(axes);
    let full = MassProperties {
        mass: 1.0,
        centre: DVec3::ZERO,
        inertia: r * DMat3::from_diagonal(moments) * r.transpose(),
    };
    let fly = |mass: MassProperties, turn: DQuat| {
        let mut w = precise();
        w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.2 }, 1.0).mass(mass).friction(0.5);
        let ball = ball.at(DVec3::Z * 0.5).turned(turn).moving(DVec3::X, DVec3::new(3.0, 5.0, -2.0));
        let id = w.add_body(ball).unwrap();
        let mut path = Vec::new();
        for _ in 0..600 {
            w.step().unwrap();
            path.push((w.position(id).unwrap(), w.angular_velocity(id).unwrap()));
        }
        path
    };
    let a = fly(full, q);
    let b = fly(MassProperties::principal(1.0, moments), q * axes);
    let off = a.iter().zip(&b).map(|(a, b)| (a.0 - b.0).length() + (a.1 - b.1).length()).fold(0.0, f64::max);
    println!("full against principal inertia: paths differ by {off:.1e}");
    assert!(off < 1e-7, "the two differ by {off}");
    assert!((a[599].1 - DVec3::new(3.0, 5.0, -2.0)).length() > 0.5, "it must have met the floor");
}

#[test]
fn kinematic_body_pushes_and_is_not_pushed() {
    let mut w = World::new(Settings::default()).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
    let plough = BodyDef::kinematic(Shape::Box { half: DVec3::new(0.1, 1.0, 0.3) });
    let plough = w.add_body(plough.at(DVec3::new(-1.0, 0.0, 0.3)).moving(DVec3::X, DVec3::ZERO)).unwrap();
    let balls: Vec<_> = (0..3)
        .map(|k| {
            let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.2 }, 10.0);
            w.add_body(ball.at(DVec3::new(0.4 * k as f64, 0.01 * k as f64, 0.2))).unwrap()
        })
        .collect();
    for _ in 0..200 {
        w.step().unwrap();
    }
    let at = w.position(plough).unwrap();
    assert!((at - DVec3::new(1.0, 0.0, 0.3)).length() < 1e-12, "the plough is at {at}");
    for (k, ball) in balls.iter().enumerate() {
        let (x, v) = (w.position(*ball).unwrap(), w.velocity(*ball).unwrap());
        assert!(x.x >= 1.3 - 1e-3, "ball {k} is at {x}");
        assert!(v.x >= 0.99, "ball {k} moves with {v}");
    }
}

#[test]
fn kinematic_belt_and_turntable_drag_by_friction() {
    let mut w = World::new(Settings { h: 2e-3, ..Settings::default() }).unwrap();
    let belt = BodyDef::kinematic(Shape::Box { half: DVec3::new(10.0, 1.0, 0.1) }).friction(0.5);
    w.add_body(belt.at(DVec3::Z * -0.1).moving(DVec3::X * 0.5, DVec3::ZERO)).unwrap();
    let cube = Shape::Box { half: DVec3::splat(0.1) };
    let rider = w.add_body(BodyDef::dynamic(cube.clone(), 1.0).at(DVec3::Z * 0.1).friction(0.5)).unwrap();
    let table = BodyDef::kinematic(Shape::Box { half: DVec3::new(1.0, 1.0, 0.1) }).friction(0.5);
    let turn = DVec3::Z * 0.5;
    w.add_body(table.at(DVec3::new(0.0, 5.0, -0.1)).moving(DVec3::ZERO, turn)).unwrap();
    let guest = BodyDef::dynamic(cube, 1.0).at(DVec3::new(0.5, 5.0, 0.1)).friction(0.5);
    let guest = w.add_body(guest.moving(turn.cross(DVec3::X * 0.5), turn)).unwrap();
    for _ in 0..1000 {
        w.step().unwrap();
    }
    let v = w.velocity(rider).unwrap();
    assert!((v - DVec3::X * 0.5).length() < 1e-3, "the rider moves with {v}");
    let arm = w.position(guest).unwrap() - DVec3::new(0.0, 5.0, 0.1);
    assert!((arm.length() - 0.5).abs() < 0.01, "the guest keeps its place, {arm}");
    let angle = arm.y.atan2(arm.x);
    assert!((angle - 1.0).abs() < 0.02, "and turned by 0.5 rad/s for 2 s: {angle}");
}
