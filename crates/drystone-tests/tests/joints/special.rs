//! The joints beyond the usual ones, against closed forms.

use drystone::joint::{Bushing, CoupledBushing, Motor};
use drystone::{BodyDef, BodyId, Function, JointDef, MassProperties, Settings, World};
use glam::{DQuat, DVec3};

use crate::basic::exact;

fn ball(world: &mut World, mass: f64, at: DVec3) -> BodyId {
    world.add_body(BodyDef::bare(MassProperties::principal(mass, DVec3::splat(0.1 * mass))).at(at)).unwrap()
}

fn steps(world: &mut World, n: usize) {
    for _ in 0..n {
        world.step().unwrap();
    }
}

/// A nut on a vertical screw sinks with a = g / (1 + I (2π/p)²/m), turning as the pitch says.
#[test]
fn a_nut_turns_down_its_screw() {
    let mut world = World::new(exact()).unwrap();
    let nut = ball(&mut world, 2.0, DVec3::ZERO);
    let pitch = 0.5;
    let screw = world.add_joint(JointDef::screw(None, nut, DVec3::ZERO, DVec3::Z, pitch)).unwrap();
    steps(&mut world, 300);
    let k = std::f64::consts::TAU / pitch;
    let a = 9.81 / (1.0 + 0.1 * k * k);
    let z = world.position(nut).unwrap().z;
    assert!((z + 0.5 * a * 3.0 * 3.0).abs() < 1e-9, "{z}");
    let angle = world.joint_coordinates(screw).unwrap()[0];
    assert!((angle - k * z).abs() < 1e-5 && angle < -3.2, "turns are counted: {angle}");
}

/// Wheels in bearings: a torque τ on A of a train with ratio i gives α_A = τ/(I_A + i² I_B).
#[test]
fn gears_share_the_torque() {
    let mut world = World::new(exact()).unwrap();
    let (a, b) = (ball(&mut world, 1.0, DVec3::ZERO), ball(&mut world, 3.0, DVec3::X));
    let ratio = -2.5;
    let on_a = JointDef::revolute(None, a, DVec3::ZERO, DVec3::Y).motor(0, Motor::force(0.7));
    let on_a = world.add_joint(on_a).unwrap();
    let on_b = world.add_joint(JointDef::revolute(None, b, DVec3::X, DVec3::Y)).unwrap();
    world.add_joint(JointDef::gear((a, DVec3::Y), (b, DVec3::Y), ratio)).unwrap();
    steps(&mut world, 200);
    let alpha = 0.7 / (0.1 + ratio * ratio * 0.3);
    let (wa, wb) = (world.joint_rates(on_a).unwrap()[0], world.joint_rates(on_b).unwrap()[0]);
    assert!((wa - alpha * 2.0).abs() < 1e-6 && (wb - ratio * wa).abs() < 1e-6, "{wa} {wb}");
    let turned = world.joint_coordinates(on_b).unwrap()[0];
    assert!((turned - ratio * world.joint_coordinates(on_a).unwrap()[0]).abs() < 1e-6);
    assert!((world.joint_reaction(on_a).unwrap().motor[0] - 0.7).abs() < 1e-12);
}

/// A torque τ on the pinion of radius r pushes rack and pinion with a = (τ/r)/(m + I/r²).
#[test]
fn a_pinion_drives_its_rack() {
    let mut world = World::new(Settings { gravity: DVec3::ZERO, ..exact() }).unwrap();
    let (pinion, rack) = (ball(&mut world, 1.0, DVec3::ZERO), ball(&mut world, 2.0, DVec3::Z));
    let turn = JointDef::revolute(None, pinion, DVec3::ZERO, DVec3::Y).motor(0, Motor::force(0.5));
    world.add_joint(turn).unwrap();
    let guide = world.add_joint(JointDef::prismatic(None, rack, DVec3::Z, DVec3::X)).unwrap();
    let r = 0.4;
    world.add_joint(JointDef::rack_and_pinion((pinion, DVec3::Y), (rack, DVec3::X), r)).unwrap();
    steps(&mut world, 100);
    let a = 0.5 / r / (2.0 + 0.1 / (r * r));
    assert!((world.joint_rates(guide).unwrap()[0] - a).abs() < 1e-6);
    let s = world.joint_coordinates(guide).unwrap()[0];
    assert!((s - 0.5 * a).abs() < 1e-9, "{s}");
}

/// Atwood's machine with a tackle: a_A = g (m_A - m_B/i)/(m_A + m_B/i²) down.
#[test]
fn a_pulley_weighs_two_bodies() {
    let mut world = World::new(exact()).unwrap();
    let (a, b) = (ball(&mut world, 3.0, DVec3::ZERO), ball(&mut world, 2.0, DVec3::X));
    let over = [DVec3::new(0.0, 0.0, 20.0), DVec3::new(1.0, 0.0, 20.0)];
    let rope = JointDef::pulley((a, DVec3::ZERO), (b, DVec3::X), over, 2.0);
    let rope = world.add_joint(rope).unwrap();
    steps(&mut world, 100);
    let acceleration = 9.81 * (3.0 - 2.0 / 2.0) / (3.0 + 2.0 / 4.0);
    assert!((world.velocity(a).unwrap().z + acceleration).abs() < 1e-6);
    assert!((world.velocity(b).unwrap().z - 0.5 * acceleration).abs() < 1e-6);
    let tension = world.joint_reaction(rope).unwrap().force.z;
    assert!((tension - 2.0 * 3.0 * (9.81 - acceleration)).abs() < 1e-5, "{tension}");
}

/// A weight on a bushing sinks by m g/k and tilts by m g c/κ.
#[test]
fn a_bushing_gives_way() {
    let mut world = World::new(exact()).unwrap();
    let id = ball(&mut world, 2.0, DVec3::X * 0.3);
    let bushing = Bushing {
        stiffness: DVec3::splat(1e5),
        damping: DVec3::splat(1e3),
        angular_stiffness: DVec3::splat(2e4),
        angular_damping: DVec3::splat(2e2),
    };
    let joint = world.add_joint(JointDef::bushing(None, id, DVec3::ZERO, bushing)).unwrap();
    steps(&mut world, 1000);
    let (weight, tilt) = (2.0 * 9.81, 2.0 * 9.81 * 0.3 / 2e4);
    let turn = world.rotation(id).unwrap().to_scaled_axis();
    assert!((turn - DVec3::Y * tilt).length() < 1e-7, "{turn}");
    let sunk = world.joint_position(joint).unwrap();
    assert!((sunk.z + weight / 1e5).abs() < 1e-7, "{sunk}");
    let r = world.joint_reaction(joint).unwrap();
    assert!((r.force.z - weight).abs() < 1e-4 && (r.torque.y + weight * 0.3).abs() < 1e-4, "{r:?}");
}

fn matrix(size: f64, seed: u64) -> [[f64; 6]; 6] {
    let mut r = drystone::random::Random::new(seed);
    let b: [[f64; 6]; 6] = std::array::from_fn(|_| std::array::from_fn(|_| r.range(-1.0, 1.0)));
    let product = |i: usize, j: usize| (0..6).map(|k| b[i][k] * b[j][k]).sum::<f64>();
    std::array::from_fn(|i| std::array::from_fn(|j| size * (product(i, j) + f64::from(u8::from(i == j)))))
}

/// A diagonal matrix is the plain bushing; a full one gives way by K⁻¹ f, along other axes than the load's.
#[test]
fn a_coupled_bushing_gives_way_across_the_load() {
    let plain = Bushing {
        stiffness: DVec3::new(1e5, 2e5, 3e5),
        damping: DVec3::splat(1e3),
        angular_stiffness: DVec3::new(2e4, 1e4, 3e4),
        angular_damping: DVec3::splat(2e2),
    };
    let diagonal = |v: DVec3, w: DVec3| {
        let all = [v.x, v.y, v.z, w.x, w.y, w.z];
        std::array::from_fn(|i| std::array::from_fn(|j| if i == j { all[i] } else { 0.0 }))
    };
    let full = CoupledBushing::new(
        diagonal(plain.stiffness, plain.angular_stiffness),
        diagonal(plain.damping, plain.angular_damping),
    );
    let after = |def: &dyn Fn(drystone::BodyId) -> JointDef, count: usize| {
        let mut world = World::new(exact()).unwrap();
        let id = ball(&mut world, 2.0, DVec3::X * 0.3);
        world.add_joint(def(id)).unwrap();
        steps(&mut world, count);
        (world.position(id).unwrap(), world.rotation(id).unwrap().to_scaled_axis())
    };
    let a = after(&|id| JointDef::bushing(None, id, DVec3::ZERO, plain), 40);
    let b = after(&|id| JointDef::coupled_bushing(None, id, DVec3::ZERO, full.clone().unwrap()), 40);
    assert!((a.0 - b.0).length() < 1e-9 && (a.1 - b.1).length() < 1e-9, "{a:?} {b:?}");

    let k = matrix(1e5, 4);
    let coupled = CoupledBushing::new(k, matrix(3e3, 5)).unwrap();
    let at = DVec3::X * 0.3;
    let (x, turn) = after(&|id| JointDef::coupled_bushing(None, id, at, coupled.clone()), 2000);
    let d = x - at;
    let xi = [d.x, d.y, d.z, turn.x, turn.y, turn.z];
    for (i, row) in k.iter().enumerate() {
        let force: f64 = row.iter().zip(xi).map(|(k, x)| k * x).sum();
        let wanted = if i == 2 { -2.0 * 9.81 } else { 0.0 };
        assert!((force - wanted).abs() < 0.02, "{i}: {force}");
    }
    assert!(d.x.abs() > 1e-6 && turn.length() > 1e-6, "{xi:?}");
}

/// From its place of rest the joint and a stiff force with the same matrices do the same, at 1e9 N/m and 10
/// ms too.
#[test]
fn a_coupled_bushing_is_a_stiff_force() {
    for size in [1e4, 1e9] {
        let (k, c) = (matrix(size, 6), matrix(1e-3 * size, 7));
        let after = |joint: bool| {
            let settings = drystone::Settings { h: 0.01, integrator: drystone::Integrator::Euler, ..exact() };
            let mut world = World::new(settings).unwrap();
            let id = ball(&mut world, 2.0, DVec3::X);
            world.set_velocity(id, DVec3::new(1.0, 2.0, -1.0), DVec3::new(3.0, -1.0, 0.5)).unwrap();
            if joint {
                let bushing = CoupledBushing::new(k, c).unwrap();
                world.add_joint(JointDef::coupled_bushing(None, id, DVec3::X, bushing)).unwrap();
            } else {
                let force = drystone::StiffForce::new("same", &[id], move |_, _, out| {
                    out.stiffness.copy_from_slice(k.as_flattened());
                    out.damping.copy_from_slice(c.as_flattened());
                    let v = [1.0, 2.0, -1.0, 3.0, -1.0, 0.5];
                    for i in 0..6 {
                        out.force[i] = -(0..6).map(|j| c[i][j] * v[j]).sum::<f64>();
                    }
                });
                world.add_stiff_force(force).unwrap();
            }
            steps(&mut world, 1);
            (world.velocity(id).unwrap(), world.angular_velocity(id).unwrap())
        };
        let (a, b) = (after(true), after(false));
        assert!((a.0 - b.0).length() < 1e-10 && (a.1 - b.1).length() < 1e-10, "{size}: {a:?} {b:?}");
        assert!((a.0 - DVec3::new(1.0, 2.0, -1.0)).length() > 0.3);
    }
}

/// A point and a frame are where the functions say at the end of every step.
#[test]
fn trajectories_are_followed() {
    let mut world = World::new(exact()).unwrap();
    let id = ball(&mut world, 2.0, DVec3::X * 0.5);
    let sine = |amplitude, phase| Function::Sine { mean: 0.0, amplitude, frequency: 0.7, phase };
    let way = [sine(0.5, std::f64::consts::FRAC_PI_2), sine(0.5, 0.0), Function::Constant(0.0)];
    let turn = [
        Function::Constant(0.0),
        Function::Constant(0.0),
        Function::Ramp { from: 0.0, to: 6.0, start: 0.0, end: 3.0 },
    ];
    let def = JointDef::trajectory(None, (id, DVec3::ZERO), way.clone(), Some(turn));
    world.add_joint(def).unwrap();
    for _ in 0..200 {
        world.step().unwrap();
        let t = world.state().time;
        let at = DVec3::from_array([0, 1, 2].map(|k| way[k].value(t)));
        assert!((world.position(id).unwrap() - at).length() < 1e-6);
        let q = DQuat::from_rotation_z(2.0 * t);
        assert!(world.rotation(id).unwrap().dot(q).abs() > 1.0 - 1e-10);
    }
}

/// A skate on a horizontal plane with spin ω and speed v runs in a circle of radius v/ω; its energy stays.
#[test]
fn a_skate_runs_in_a_circle() {
    let mut world = World::new(Settings { h: 0.001, gravity: DVec3::ZERO, ..exact() }).unwrap();
    let (v, w) = (1.0, 2.0);
    let mass = MassProperties::principal(1.0, DVec3::splat(0.1));
    let id = world.add_body(BodyDef::bare(mass).moving(DVec3::X * v, DVec3::Z * w)).unwrap();
    world.add_joint(JointDef::planar(None, id, DVec3::ZERO, DVec3::Z)).unwrap();
    world.add_joint(JointDef::knife_edge(None, id, DVec3::ZERO, DVec3::X, DVec3::Z)).unwrap();
    let centre = DVec3::Y * v / w;
    for _ in 0..1570 {
        world.step().unwrap();
        let r = (world.position(id).unwrap() - centre).length();
        assert!((r - v / w).abs() < 2e-3, "{r}");
        assert!((world.velocity(id).unwrap().length() - v).abs() < 2e-3);
    }
}

/// Straight on, upright and fast a disc stays upright and keeps its speed; pushed across it leans and turns.
#[test]
fn a_disc_rolls_without_slip() {
    let mut world = World::new(Settings { h: 0.001, ..exact() }).unwrap();
    let (m, r, v) = (1.0, 0.3, 3.0);
    // About its axis y: ½ m r²; across: ¼ m r².
    let mass = MassProperties::principal(m, DVec3::new(0.25, 0.5, 0.25) * m * r * r);
    let start = BodyDef::bare(mass).at(DVec3::Z * r).moving(DVec3::X * v, DVec3::Y * v / r);
    let disc = world.add_body(start).unwrap();
    let roll = JointDef::rolling_disc(None, (DVec3::ZERO, DVec3::Z), disc, (DVec3::Z * r, DVec3::Y), r);
    world.add_joint(roll).unwrap();
    steps(&mut world, 1000);
    let at = world.position(disc).unwrap();
    assert!((at - DVec3::new(v, 0.0, r)).length() < 1e-5, "{at}");
    // A push across makes it lean and turn, never slip: the lowest point stays at rest.
    world.set_velocity(disc, world.velocity(disc).unwrap(), DVec3::new(0.3, v / r, 0.0)).unwrap();
    let energy = world.energy().total();
    steps(&mut world, 1000);
    let e = world.joint_error();
    assert!(e.position < 1e-6 && e.velocity < 0.02, "{e:?}");
    assert!(world.position(disc).unwrap().y.abs() > 1e-3, "it has turned");
    assert!((world.energy().total() / energy - 1.0).abs() < 0.02);
}
