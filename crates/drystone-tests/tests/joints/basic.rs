//! Single joints against closed forms.

use std::f64::consts::FRAC_PI_2;

use drystone::joint::{Kind, Limits, Motor};
use drystone::{BodyDef, BodyId, JointDef, MassProperties, Settings, Shape, World};
use glam::{DQuat, DVec3};

pub fn exact() -> Settings {
    Settings { tolerance: 1e-9, iterations: 5000, position_iterations: 500, ..Settings::default() }
}

pub fn bar(world: &mut World, at: DVec3) -> BodyId {
    let mass = MassProperties::principal(2.0, DVec3::new(0.02, 0.3, 0.31));
    world.add_body(BodyDef::bare(mass).at(at)).unwrap()
}

/// A hanging bar of length 2c swings with T = 2π √((I + m c²)/(m g c)) about a hinge, for small angles.
#[test]
fn a_hinged_bar_swings_with_its_period() {
    let mut world = World::new(Settings { h: 0.001, ..exact() }).unwrap();
    let (angle, c) = (0.02f64, 0.5);
    let at = DVec3::new(c * angle.sin(), 0.0, -c * angle.cos());
    let id = world
        .add_body(
            BodyDef::bare(MassProperties::principal(2.0, DVec3::new(0.02, 0.3, 0.31)))
                .at(at)
                .turned(DQuat::from_rotation_y(-angle)),
        )
        .unwrap();
    let hinge = world.add_joint(JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y)).unwrap();
    let period = std::f64::consts::TAU * ((0.3 + 2.0 * c * c) / (2.0 * 9.81 * c)).sqrt();
    // From one end to the middle is a quarter: the first crossing of zero.
    let mut time = 0.0;
    for _ in 0..3000 {
        let before = world.position(id).unwrap().x;
        world.step().unwrap();
        let after = world.position(id).unwrap().x;
        if before > 0.0 && after <= 0.0 {
            time = world.state().time - 0.001 * after / (after - before);
            break;
        }
    }
    assert!((time / (period / 4.0) - 1.0).abs() < 2e-3, "{time} for {}", period / 4.0);
    let e = world.joint_error();
    assert!(e.position < 1e-6 && e.velocity < 1e-3, "{e:?}");
    // At the bottom the hinge carries the weight and the centripetal force.
    let w = world.joint_rates(hinge).unwrap()[0];
    let r = world.joint_reaction(hinge).unwrap();
    assert!((r.force.z - 2.0 * (9.81 + w * w * c)).abs() < 0.02, "{r:?}");
    assert!(r.torque.length() < 1e-3, "a free hinge has no torque: {r:?}");
}

/// A chain of light links with a thousand times their mass at its end whips through its lowest point: steps
/// that would take its joints apart are taken in halves.
#[test]
fn a_chain_with_a_heavy_end_holds() {
    let mut world = World::new(Settings::default()).unwrap();
    let (mut last, mut substeps) = (None, 0);
    for k in 0..6 {
        let mass = if k < 5 { 0.1 } else { 100.0 };
        let at = DVec3::X * (0.1 * k as f64 + 0.05);
        let link = BodyDef::dynamic(Shape::Capsule { radius: 0.01, half_length: 0.04 }, mass).at(at);
        let link = world.add_body(link.turned(DQuat::from_rotation_y(FRAC_PI_2))).unwrap();
        let joint = JointDef::revolute(last, link, DVec3::X * (0.1 * k as f64), DVec3::Y);
        world.add_joint(joint).unwrap();
        last = Some(link);
    }
    for step in 0..500 {
        let report = world.step().unwrap();
        substeps += report.substeps;
        let off = world.joint_error().position;
        assert!(off < 1e-3, "step {step}: {off:e} m");
        assert_eq!(report.unresolved, None, "step {step}");
    }
    assert!(substeps > 0);
}

/// A bar held at one end: reaction force m g, torque m g c.
#[test]
fn a_weld_carries_weight_and_moment() {
    let mut world = World::new(exact()).unwrap();
    let id = bar(&mut world, DVec3::new(0.5, 0.0, 0.0));
    let weld = world.add_joint(JointDef::fixed(None, id, DVec3::ZERO)).unwrap();
    for _ in 0..20 {
        world.step().unwrap();
    }
    let r = world.joint_reaction(weld).unwrap();
    assert!((r.force - DVec3::Z * 2.0 * 9.81).length() < 1e-5, "{r:?}");
    assert!((r.torque - DVec3::new(0.0, -0.5 * 2.0 * 9.81, 0.0)).length() < 1e-5, "{r:?}");
    assert!((world.position(id).unwrap() - DVec3::X * 0.5).length() < 1e-8);
    // The other way round the reaction is the opposite.
    let mut world = World::new(exact()).unwrap();
    let id = bar(&mut world, DVec3::new(0.5, 0.0, 0.0));
    let weld = world.add_joint(JointDef::fixed(id, None, DVec3::ZERO)).unwrap();
    for _ in 0..20 {
        world.step().unwrap();
    }
    let r = world.joint_reaction(weld).unwrap();
    assert!((r.force + DVec3::Z * 2.0 * 9.81).length() < 1e-5, "{r:?}");
    assert!((r.torque - DVec3::new(0.0, 0.5 * 2.0 * 9.81, 0.0)).length() < 1e-5, "{r:?}");
}

/// On a slope of angle α a slider runs with g sin α; s = ½ a t (t + h) for the half-implicit step.
#[test]
fn a_slider_runs_down_its_slope() {
    let mut world = World::new(exact()).unwrap();
    let id = bar(&mut world, DVec3::ZERO);
    let axis = DVec3::new(3.0, 0.0, -4.0);
    let slider = world.add_joint(JointDef::prismatic(None, id, DVec3::new(0.1, 0.2, 0.0), axis)).unwrap();
    for _ in 0..100 {
        world.step().unwrap();
    }
    let s = world.joint_coordinates(slider).unwrap()[0];
    assert!((s - 0.5 * 9.81 * 0.8).abs() < 1e-9, "{s}");
    assert!((world.joint_rates(slider).unwrap()[0] - 9.81 * 0.8).abs() < 1e-6);
    assert!((world.rotation(id).unwrap().dot(DQuat::IDENTITY) - 1.0).abs() < 1e-12);
}

/// Every kind between two free bodies keeps momentum and its own equations.
#[test]
fn joints_between_free_bodies_keep_momentum() {
    for kind in [
        Kind::Fixed,
        Kind::Revolute,
        Kind::Prismatic,
        Kind::Cylindrical,
        Kind::Ball,
        Kind::Universal,
        Kind::Planar,
        Kind::PointOnLine,
        Kind::PointOnPlane,
    ] {
        let mut world = World::new(Settings { gravity: DVec3::ZERO, h: 0.002, ..exact() }).unwrap();
        let mass = |m: f64| MassProperties::principal(m, DVec3::new(0.1, 0.2, 0.25) * m);
        let push = DVec3::new(0.3, 1.0, -0.4);
        let a = world.add_body(BodyDef::bare(mass(1.0)).moving(push, DVec3::new(0.5, 1.0, 0.2))).unwrap();
        let b = world.add_body(BodyDef::bare(mass(3.0)).at(DVec3::new(0.7, 0.1, 0.2))).unwrap();
        let turn = DQuat::from_scaled_axis(DVec3::new(0.3, 0.8, -0.5));
        let joint = JointDef::new(kind.clone(), a, b, DVec3::new(0.3, 0.2, 0.1), turn);
        world.add_joint(joint).unwrap();
        let momentum = |w: &World| {
            let (mut p, mut l) = (DVec3::ZERO, DVec3::ZERO);
            for (id, m) in [(a, 1.0), (b, 3.0)] {
                let (q, v) = (w.rotation(id).unwrap(), w.velocity(id).unwrap() * m);
                let spin = q.conjugate() * w.angular_velocity(id).unwrap();
                p += v;
                l += w.position(id).unwrap().cross(v) + q * (DVec3::new(0.1, 0.2, 0.25) * m * spin);
            }
            (p, l)
        };
        let (p0, l0) = momentum(&world);
        world.step().unwrap();
        // The first step is an impact; the energy that it leaves stays, up to the first order of the scheme.
        let e0 = world.energy().kinetic;
        for _ in 0..500 {
            world.step().unwrap();
        }
        let (p1, l1) = momentum(&world);
        assert!((p1 - p0).length() < 1e-8, "{kind:?}");
        assert!((l1 - l0).length() < 0.01 * l0.length(), "{kind:?}: {l0} {l1}");
        let e = world.joint_error();
        assert!(e.position < 2e-6 && e.velocity < 0.02, "{kind:?}: {e:?}");
        let lost = world.energy().kinetic / e0;
        assert!((0.97..1.03).contains(&lost), "{kind:?}: energy {lost}");
    }
}

/// A rod keeps its length, a rope lets go: thrown up, the ball falls freely until the rope is taut.
#[test]
fn ropes_pull_and_do_not_push() {
    let mut world = World::new(exact()).unwrap();
    let ball = MassProperties::principal(1.0, DVec3::splat(0.01));
    let on_rod = world.add_body(BodyDef::bare(ball).at(DVec3::X)).unwrap();
    let on_rope = world.add_body(BodyDef::bare(ball).at(DVec3::X * 0.6)).unwrap();
    world.add_joint(JointDef::distance((None, DVec3::ZERO), (Some(on_rod), DVec3::ZERO), 1.0)).unwrap();
    let rope =
        world.add_joint(JointDef::rope((None, DVec3::ZERO), (Some(on_rope), DVec3::ZERO), 1.0)).unwrap();
    // Free until z = -0.8: ½ g t (t + h) gets there in the 40th step.
    for _ in 0..39 {
        assert_eq!(world.joint_reaction(rope).unwrap().force, DVec3::ZERO);
        world.step().unwrap();
    }
    assert!((world.position(on_rope).unwrap().x - 0.6).abs() < 1e-12);
    let mut pulled = false;
    for _ in 0..200 {
        world.step().unwrap();
        assert!((world.position(on_rod).unwrap().length() - 1.0).abs() < 1e-6);
        assert!(world.position(on_rope).unwrap().length() < 1.0 + 1e-6);
        let r = world.joint_reaction(rope).unwrap();
        assert!(r.force.dot(world.position(on_rope).unwrap()) <= 0.0, "it only pulls");
        pulled |= r.force.length() > 5.0;
    }
    assert!(pulled);
}

/// A motor with enough torque holds its command; one with too little pushes with what it has.
#[test]
fn motors_hold_or_saturate() {
    let mut world = World::new(exact()).unwrap();
    let id = bar(&mut world, DVec3::new(0.5, 0.0, 0.0));
    // Torque of the weight: m g c = 9.81 N m. Turning about -y lifts the bar.
    let hinge =
        JointDef::revolute(None, id, DVec3::ZERO, DVec3::NEG_Y).motor(0, Motor::speed(0.5).limited(20.0));
    let hinge = world.add_joint(hinge).unwrap();
    for k in 1..=50 {
        world.step().unwrap();
        // The first steps lift it from rest: (I + m c²) 0.5/h = 40 N m more than there is.
        if k > 10 {
            assert!((world.joint_rates(hinge).unwrap()[0] - 0.5).abs() < 1e-5);
        }
    }
    let angle = world.joint_coordinates(hinge).unwrap()[0];
    let torque = world.joint_reaction(hinge).unwrap().motor[0];
    assert!((torque - 9.81 * angle.cos()).abs() < 0.1, "{torque} at {angle}");
    world.set_motor(hinge, 0, Some(Motor::speed(0.5).limited(3.0))).unwrap();
    for _ in 0..10 {
        world.step().unwrap();
        assert!((world.joint_reaction(hinge).unwrap().motor[0] - 3.0).abs() < 1e-9);
    }
    assert!(world.joint_rates(hinge).unwrap()[0] < 0.0, "it falls");
}

/// A hinge with limits stops there; with restitution it comes back with that share of its speed.
#[test]
fn limits_stop_and_return() {
    for e in [0.0, 0.6] {
        let mut world = World::new(exact()).unwrap();
        let id = bar(&mut world, DVec3::new(0.5, 0.0, 0.0));
        let hinge = JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y).limits(0, -0.2, 0.7, e);
        let hinge = world.add_joint(hinge).unwrap();
        // Above what it has at rest on its limit: its weight's work on the way there.
        let (start, work) = (world.energy().total(), 2.0 * 9.81 * 0.5 * 0.7f64.sin());
        let mut fell = 0.0;
        for _ in 0..100 {
            let rate = world.joint_rates(hinge).unwrap()[0];
            world.step().unwrap();
            assert!(world.joint_coordinates(hinge).unwrap()[0] < 0.7 + 1e-5);
            if world.joint_rates(hinge).unwrap()[0] < 0.5 * rate {
                fell = rate;
                break;
            }
        }
        assert!(fell > 1.0, "it fell");
        assert!(world.joint_reaction(hinge).unwrap().limit[0] < 0.0, "the upper end pushes back");
        if e > 0.0 {
            let left = (world.energy().total() - start + work) / work;
            assert!((left - e * e).abs() < 1e-6, "{left}");
        }
        for _ in 0..400 {
            world.step().unwrap();
        }
        let rest = world.joint_coordinates(hinge).unwrap()[0];
        assert!((rest - 0.7).abs() < 1e-5 && world.joint_rates(hinge).unwrap()[0].abs() < 0.02, "{rest}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut world = World::new(exact()).unwrap();
    let (a, b) = (bar(&mut world, DVec3::ZERO), bar(&mut world, DVec3::X));
    let fixed = world.add_body(BodyDef::fixed(drystone::Shape::HalfSpace)).unwrap();
    let mut refuse = |def: JointDef, text: &str| {
        let e = world.add_joint(def).unwrap_err().to_string();
        assert!(e.contains(text), "{e}");
    };
    refuse(JointDef::ball(a, a, DVec3::ZERO), "itself");
    refuse(JointDef::ball(None, fixed, DVec3::ZERO), "dynamic");
    refuse(JointDef::revolute(a, b, DVec3::ZERO, DVec3::ZERO), "axis");
    refuse(JointDef::ball(a, b, DVec3::NAN), "anchor");
    refuse(JointDef::ball(a, b, DVec3::ZERO).motor(0, Motor::speed(1.0)), "no free coordinate 0");
    refuse(JointDef::revolute(a, b, DVec3::ZERO, DVec3::X).friction(2, 1.0), "no free coordinate 2");
    refuse(JointDef::revolute(a, b, DVec3::ZERO, DVec3::X).limits(0, 1.0, -1.0, 0.0), "lower");
    refuse(JointDef::revolute(a, b, DVec3::ZERO, DVec3::X).motor(0, Motor::speed(f64::NAN)), "motor");
    refuse(JointDef::distance((Some(a), DVec3::ZERO), (None, DVec3::ZERO), -1.0).named("strut"), "strut");
    world.remove_body(b).unwrap();
    let e = world.add_joint(JointDef::ball(a, b, DVec3::ZERO)).unwrap_err().to_string();
    assert!(e.contains("body 1 (generation 0) does not exist"), "{e}");
}

/// A body takes its joints with it; ids of removed joints are not answered; pairs collide again.
#[test]
fn joints_go_with_their_bodies() {
    let mut world = World::new(exact()).unwrap();
    let (a, b) = (bar(&mut world, DVec3::ZERO), bar(&mut world, DVec3::X));
    let first = world.add_joint(JointDef::ball(a, b, DVec3::ZERO)).unwrap();
    let second = world.add_joint(JointDef::ball(None, a, DVec3::ZERO)).unwrap();
    world.step().unwrap();
    world.remove_body(b).unwrap();
    assert!(world.joint(first).is_err());
    assert_eq!(world.joints().collect::<Vec<_>>(), [second]);
    let b = bar(&mut world, DVec3::X);
    let third = world.add_joint(JointDef::ball(a, b, DVec3::ZERO)).unwrap();
    assert_eq!(third.slot, first.slot);
    assert!(world.set_motor(first, 0, None).is_err());
    assert_eq!(world.joint_reaction(third).unwrap().force, DVec3::ZERO);
    world.step().unwrap();
    assert!(world.set_limits(third, 0, Some(Limits { lower: 0.0, upper: 1.0, restitution: 0.0 })).is_err());
}
