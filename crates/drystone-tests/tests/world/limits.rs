//! What is beyond the numbers that the engine carries is an error with its bound, and no step ends there.

use drystone::joint::{Law, Limits, Spring};
use drystone::limits::{FARTHEST, FASTEST, GRAVITY, STRONGEST};
use drystone::{
    BodyDef, BodyId, Collider, Compound, Function, JointDef, Motion, Motor, PairLaw, Pose, Settings, Shape,
    StepError, World,
};
use glam::{DQuat, DVec3};

fn ball() -> BodyDef {
    BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0)
}

fn with(settings: Settings) -> (World, BodyId) {
    let mut w = World::new(settings).unwrap();
    let id = w.add_body(ball().at(DVec3::Z * 2.0)).unwrap();
    (w, id)
}

/// Says it with the bound, and leaves all as it was.
fn refused<E: ToString>(w: &mut World, told: &str, f: impl FnOnce(&mut World) -> Result<(), E>) {
    let before = w.state().clone();
    let text = f(w).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(text.contains(told), "wanted '{told}', got '{text}'");
    assert_eq!(w.state(), &before);
}

/// Numbers whose products and squares no step could carry, of motors, springs, friction, charges and shapes.
#[test]
fn what_acts_is_bounded() {
    let (mut w, id) = with(Settings::default());
    let hinge = w.add_joint(JointDef::revolute(None, id, DVec3::Z * 2.0, DVec3::Y)).unwrap();
    let sine = Function::Sine { mean: 0.0, amplitude: 1e200, frequency: 1.0, phase: 0.0 };
    for (told, motor) in [
        ("motor: force must be within 1e60 N or N m, got 1e200", Motor::force(1e200)),
        ("motor: speed must be within 1e12 m/s or rad/s, got -1e200", Motor::speed(-1e200)),
        ("motor: position must be within 1e12 m or rad, got 1e200", Motor::position(1e200)),
        ("motor: speed must be within 1e12 m/s or rad/s", Motor::speed(sine)),
        ("motor: limit must be at most 1e60 N or N m", Motor::speed(1.0).limited(1e200)),
    ] {
        refused(&mut w, told, |w| w.set_motor(hinge, 0, Some(motor)));
    }
    w.set_motor(hinge, 0, Some(Motor::speed(1e12).limited(f64::INFINITY))).unwrap();
    w.set_motor(hinge, 0, None).unwrap();
    let spring = |rest, stiffness, damping| Law {
        spring: Some(Spring { rest, stiffness, damping }),
        ..Law::default()
    };
    let ends =
        |lower, upper| Law { limits: Some(Limits { lower, upper, restitution: 0.0 }), ..Law::default() };
    for (told, law) in [
        ("spring: rest must be within 1e12 m or rad", spring(1e200, 1.0, 1.0)),
        ("spring: stiffness must be at most 1e60", spring(0.0, 1e200, 1.0)),
        ("spring: damping must be at most 1e60", spring(0.0, 1.0, 1e200)),
        ("limits: lower must be within 1e12 m or rad, got -1e200", ends(-1e200, 0.0)),
        ("limits: upper must be within 1e12 m or rad", ends(f64::NEG_INFINITY, 1e200)),
        ("friction must be at most 1e60 N or N m", Law { friction: 1e200, ..Law::default() }),
    ] {
        refused(&mut w, told, |w| w.set_law(hinge, 0, law));
    }
    refused(&mut w, "mu must be at most 1e12, got 1e200", |w| w.set_friction(id, 1e200));
    refused(&mut w, "mu must be at most 1e12", |w| w.add_body(ball().friction(1e200)).map(drop));
    refused(&mut w, "charge must be within 1e40 C", |w| w.add_body(ball().charged(-1e200)).map(drop));
    refused(&mut w, "radius must be at least 1e-20 m", |w| {
        w.add_body(BodyDef::fixed(Shape::Sphere { radius: 1e-200 })).map(drop)
    });
    refused(&mut w, "compliance must be at most 1e60", |w| {
        w.add_joint(JointDef::ball(None, id, DVec3::Z).compliant(1e200, 0.0)).map(drop)
    });
    for (told, law) in [
        ("cohesion must be at most 1e60 N", PairLaw { cohesion: 1e200, ..PairLaw::friction(0.5) }),
        ("stiffness must be at most 1e60 N/m", PairLaw { stiffness: Some(1e200), ..PairLaw::friction(0.5) }),
        ("mu must be at most 1e12", PairLaw::friction(1e200)),
    ] {
        assert!(law.check().unwrap_err().contains(told), "{told}");
    }
    let flat = |spacing, height| Shape::height_field(2, 2, [spacing, 1.0], vec![0.0, 0.0, 0.0, height]);
    assert!(flat(1e200, 0.0).unwrap_err().contains("spacing: 2 columns must span at most 1e12 m"));
    assert!(flat(1.0, 1e200).unwrap_err().contains("heights[3] must be within 1e12 m"));
    let far = vec![(Pose::at(DVec3::X * 1e200), Shape::Sphere { radius: 1.0 })];
    assert!(Compound::new(far).unwrap_err().contains("part 0: position must be within 1e12 m"));
    w.step().unwrap();
}

#[test]
fn what_is_given_is_bounded() {
    let (mut w, id) = with(Settings::default());
    let q = DQuat::IDENTITY;
    for far in [1e200, 1e13, -1e13] {
        let far = DVec3::Y * far;
        refused(&mut w, "position must be within 1e12 m of the origin", |w| w.set_pose(id, far, q));
        refused(&mut w, "position must be within 1e12 m", |w| w.set_poses(&[(id, Pose::new(far, q))]));
        refused(&mut w, "velocity must be within 1e12 m/s", |w| w.set_velocity(id, far, DVec3::ZERO));
        refused(&mut w, "angular velocity must be within 1e12 rad/s", |w| {
            w.set_velocity(id, DVec3::ZERO, far)
        });
        refused(&mut w, "surface_velocity must be within 1e12 m/s", |w| w.set_surface_velocity(id, far));
        refused(&mut w, "point must be within 1e12 m", |w| w.apply_force(id, DVec3::X, Some(far)));
        refused(&mut w, "position must be within", |w| w.add_body(ball().at(far)).map(drop));
        refused(&mut w, "velocity must be within", |w| w.add_body(ball().moving(far, DVec3::ZERO)).map(drop));
        refused(&mut w, "within 1e12 rad/s", |w| w.add_body(ball().moving(DVec3::ZERO, far)).map(drop));
        refused(&mut w, "anchor must be within", |w| w.add_joint(JointDef::ball(None, id, far)).map(drop));
        refused(&mut w, "its place must be within 1e12 m", |w| {
            let place = Pose::new(far, q);
            w.add_collider(id, Collider::new(Shape::Sphere { radius: 0.1 }, 0.0).at(place)).map(drop)
        });
        refused(&mut w, "gravity must be within 1e12 m/s²", |w| {
            w.set_settings(Settings { gravity: far, ..Settings::default() })
        });
    }
    for hit in [1e13, -1e13].map(|x| DVec3::Y * x) {
        refused(&mut w, "would get too fast by it: velocity", |w| w.apply_impulse(id, hit, None));
        refused(&mut w, "would get too fast by it: angular velocity", |w| w.apply_angular_impulse(id, hit));
    }
    for strong in [1e300, -2e60, f64::NAN] {
        let strong = DVec3::X * strong;
        let told = |what: &str| {
            if strong.x.is_nan() {
                format!("{what} must be finite")
            } else {
                format!("{what} must be within 1e60")
            }
        };
        refused(&mut w, &told("force"), |w| w.apply_force(id, strong, None));
        refused(&mut w, &told("torque"), |w| w.apply_torque(id, strong));
        refused(&mut w, &told("impulse"), |w| w.apply_impulse(id, strong, None));
        refused(&mut w, &told("angular impulse"), |w| w.apply_angular_impulse(id, strong));
    }
    w.apply_force(id, DVec3::X * STRONGEST, None).unwrap();
    refused(&mut w, "force must be within 1e60 N", |w| w.apply_force(id, DVec3::X * STRONGEST, None));
    for h in [1e10, 1e300, 1e-16, 0.0, f64::INFINITY] {
        let text = World::new(Settings { h, ..Settings::default() }).err().map(|e| e.to_string());
        assert!(text.as_ref().is_some_and(|t| t.starts_with("h (the step) must be")), "{text:?}");
    }
}

#[test]
fn steps_that_come_to_more_are_errors_and_undone() {
    let free = || Settings { gravity: DVec3::ZERO, h: 1e6, ..Settings::default() };
    let ends_beyond = |w: &mut World, told: &str| {
        let before = w.state().clone();
        let error = w.step().unwrap_err();
        assert!(matches!(error, StepError::OutOfRange { step: 1, .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(told) && text.contains("body 0"), "{text}");
        assert_eq!(w.state(), &before, "as it was, forces included");
    };
    // A place, a velocity and a spin that only the step comes to.
    let (mut w, id) = with(free());
    w.set_velocity(id, DVec3::X * 2e6, DVec3::ZERO).unwrap();
    ends_beyond(&mut w, "position must be within 1e12 m");
    let (mut w, id) = with(free());
    w.apply_force(id, DVec3::X * 1e8, None).unwrap();
    ends_beyond(&mut w, "velocity must be within 1e12 m/s");
    let (mut w, id) = with(free());
    w.apply_torque(id, DVec3::X * 1e8).unwrap();
    ends_beyond(&mut w, "angular velocity must be within 1e12 rad/s");
    let (mut w, _) = with(Settings { gravity: DVec3::Z * -GRAVITY, ..free() });
    ends_beyond(&mut w, "velocity must be within 1e12 m/s");
    // In parts, too.
    let (mut w, id) = with(Settings { substeps: 4, ..free() });
    w.set_velocity(id, DVec3::X * 2e6, DVec3::ZERO).unwrap();
    ends_beyond(&mut w, "position must be within 1e12 m");
}

/// What is within them is stepped: fast, far, heavy and light bodies that hit a floor stop there.
#[test]
fn what_is_within_is_stepped() {
    for (mass, speed, h) in
        [(1.0, 1e11, 0.01), (1e39, 1e6, 0.01), (1e-39, 1e6, 0.01), (1.0, 1e3, 1e-15), (1.0, 1.0, 1e9)]
    {
        let gravity = DVec3::ZERO;
        let mut w = World::new(Settings { h, gravity, ..Settings::default() }).unwrap();
        w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
        let def = BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, mass);
        let id = w.add_body(def.at(DVec3::Z * 0.5).moving(DVec3::Z * -speed, DVec3::ZERO)).unwrap();
        let report = w.step().unwrap_or_else(|e| panic!("{mass:e} kg, {speed:e} m/s, {h:e} s: {e}"));
        let (x, v) = (w.position(id).unwrap().z, w.velocity(id).unwrap().z);
        assert!(x.is_finite() && report.certificate.residual_max.is_finite(), "{x} {report:?}");
        assert!(v.abs() <= 1e-6 * speed, "{mass:e} kg at {speed:e} m/s and {h:e} s: {v} m/s after, {x} m");
    }
    let (mut w, id) = with(Settings { gravity: DVec3::ZERO, h: 1e-6, ..Settings::default() });
    w.set_pose(id, DVec3::X * -FARTHEST, DQuat::IDENTITY).unwrap();
    w.set_velocity(id, DVec3::X * FASTEST, DVec3::Z * FASTEST).unwrap();
    w.step().unwrap();
    assert_eq!(w.position(id).unwrap().x, -FARTHEST + 1e6);
}

#[test]
fn static_bodies_have_no_velocity_and_feel_nothing() {
    let mut w = World::new(Settings::default()).unwrap();
    let slab =
        || BodyDef::fixed(Shape::Box { half: DVec3::new(5.0, 5.0, 0.5) }).at(DVec3::Z * -0.5).friction(0.5);
    for (v, omega, field) in
        [(DVec3::X, DVec3::ZERO, "velocity: "), (DVec3::ZERO, DVec3::Z, "angular_velocity: ")]
    {
        let text = w.add_body(slab().moving(v, omega)).unwrap_err().to_string();
        assert!(text.starts_with(field) && text.contains("surface_velocity"), "{text}");
    }
    let id = w.add_body(slab()).unwrap();
    refused(&mut w, "surface_velocity", |w| w.set_velocity(id, DVec3::X, DVec3::ZERO));
    refused(&mut w, "surface_velocity", |w| w.set_velocity(id, DVec3::ZERO, DVec3::X));
    w.set_velocity(id, DVec3::ZERO, DVec3::ZERO).unwrap();
    refused(&mut w, "is static, which nothing pushes", |w| w.apply_force(id, DVec3::X, None));
    refused(&mut w, "is static, which nothing pushes", |w| w.apply_torque(id, DVec3::X));
    refused(&mut w, "is static, which nothing pushes", |w| w.apply_impulse(id, DVec3::X, None));
    refused(&mut w, "is static, which nothing pushes", |w| w.apply_angular_impulse(id, DVec3::X));
    let led = w.add_body(BodyDef::kinematic(Shape::Sphere { radius: 0.1 }).at(DVec3::X * 9.0)).unwrap();
    refused(&mut w, "is kinematic, which nothing pushes", |w| w.apply_force(led, DVec3::X, None));
    // The belt that has a name carries what lies on it.
    w.set_surface_velocity(id, DVec3::X).unwrap();
    let half = DVec3::splat(0.1);
    let box_ = BodyDef::dynamic(Shape::Box { half }, 1.0).at(DVec3::Z * 0.1).friction(0.5);
    let box_ = w.add_body(box_).unwrap();
    (0..100).for_each(|_| drop(w.step().unwrap()));
    assert!((w.velocity(box_).unwrap().x - 1.0).abs() < 1e-3, "{}", w.velocity(box_).unwrap());
    assert_eq!(w.motion(id).unwrap(), Motion::Static);
}
