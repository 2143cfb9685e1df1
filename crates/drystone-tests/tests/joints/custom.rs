//! Equations of one's own.

use drystone::joint::{Custom, Equation};
use drystone::{BodyDef, BodyId, JointDef, MassProperties, Pose, Settings, World};
use glam::DVec3;

/// The origins stay `length` apart; with `rope`, at most.
struct Rod {
    length: f64,
    rope: bool,
}

impl Equation for Rod {
    fn value(&self, a: &Pose, b: &Pose, _: f64) -> f64 {
        let far = (b.position - a.position).length() - self.length;
        if self.rope { -far } else { far }
    }

    fn gradient(&self, a: &Pose, b: &Pose, _: f64) -> [DVec3; 4] {
        let n = (b.position - a.position).normalize() * if self.rope { -1.0 } else { 1.0 };
        [-n, DVec3::ZERO, n, DVec3::ZERO]
    }

    fn is_unilateral(&self) -> bool {
        self.rope
    }
}

/// The origin of B is at height f(t) over A; `slope` is what its gradient says, 1 if it is right.
struct Height {
    slope: f64,
}

impl Equation for Height {
    fn value(&self, a: &Pose, b: &Pose, time: f64) -> f64 {
        b.position.z - a.position.z - 0.1 * (5.0 * time).sin()
    }

    fn gradient(&self, _: &Pose, _: &Pose, _: f64) -> [DVec3; 4] {
        [-DVec3::Z, DVec3::ZERO, DVec3::Z * self.slope, DVec3::ZERO]
    }
}

/// The x axis of B stays across the z axis of A.
struct Across;

impl Equation for Across {
    fn value(&self, a: &Pose, b: &Pose, _: f64) -> f64 {
        (a.rotation * DVec3::Z).dot(b.rotation * DVec3::X)
    }

    fn gradient(&self, a: &Pose, b: &Pose, _: f64) -> [DVec3; 4] {
        let (z, x) = (a.rotation * DVec3::Z, b.rotation * DVec3::X);
        [DVec3::ZERO, z.cross(x), DVec3::ZERO, x.cross(z)]
    }
}

fn bob(w: &mut World, at: DVec3) -> BodyId {
    let mass = MassProperties::principal(1.0, DVec3::new(0.01, 0.02, 0.025));
    w.add_body(BodyDef::bare(mass).at(at)).unwrap()
}

fn world(h: f64) -> World {
    World::new(Settings { h, ..Settings::default() }).unwrap()
}

/// Hung by a point off its centre, so that arms matter: step by step as the built-in rod.
#[test]
fn a_rod_of_ones_own_is_the_built_in_one() {
    let end = Pose::at(DVec3::new(0.1, 0.05, 0.0));
    let run = |own: bool| {
        let mut w = world(1e-3);
        let id = bob(&mut w, DVec3::X);
        let length = (DVec3::X + end.position).length();
        let joint = if own {
            JointDef::custom(None, id, Pose::IDENTITY, end, Custom::new(Rod { length, rope: false }))
        } else {
            let mut def = JointDef::fixed(None, id, DVec3::ZERO);
            def.kind = drystone::joint::Kind::Distance { length };
            def.frames = drystone::joint::Frames::Local(Pose::IDENTITY, end);
            def
        };
        w.add_joint(joint).unwrap();
        (0..800).for_each(|_| drop(w.step().unwrap()));
        assert!(w.joint_error().position < 1e-9);
        (w.position(id).unwrap(), w.rotation(id).unwrap())
    };
    let ((x, q), (y, p)) = (run(true), run(false));
    assert!((x - y).length() < 1e-9 && q.angle_between(p) < 1e-6, "{x} {y}");
    assert!(x.z < -0.5, "it has swung");
}

#[test]
fn a_rope_of_ones_own_holds_and_lets_go() {
    let mut w = world(0.005);
    let id = bob(&mut w, DVec3::NEG_Z * 0.5);
    let rope = Custom::new(Rod { length: 1.0, rope: true });
    let joint = w.add_joint(JointDef::custom(None, id, Pose::IDENTITY, Pose::IDENTITY, rope)).unwrap();
    w.step().unwrap();
    assert_eq!(w.joint_reaction(joint).unwrap().force, DVec3::ZERO, "slack");
    (0..400).for_each(|_| drop(w.step().unwrap()));
    assert!((w.position(id).unwrap().z + 1.0).abs() < 1e-4, "{}", w.position(id).unwrap());
    let force = w.joint_reaction(joint).unwrap().force;
    assert!((force - DVec3::Z * 9.81).length() < 1e-3, "{force}");
}

#[test]
fn equations_may_depend_on_time() {
    let mut w = world(0.002);
    let id = bob(&mut w, DVec3::ZERO);
    let led = Custom::new(Height { slope: 1.0 }).and(Across);
    w.add_joint(JointDef::custom(None, id, Pose::IDENTITY, Pose::IDENTITY, led)).unwrap();
    w.apply_angular_impulse(id, DVec3::new(0.01, 0.02, 0.01)).unwrap();
    for _ in 0..300 {
        w.step().unwrap();
        let (z, t) = (w.position(id).unwrap().z, w.state().time);
        assert!((z - 0.1 * (5.0 * t).sin()).abs() < 1e-6, "{z} at {t}");
        assert!((w.rotation(id).unwrap() * DVec3::X).z.abs() < 1e-6);
    }
}

#[test]
fn a_wrong_gradient_is_told() {
    let mut w = world(0.01);
    let id = bob(&mut w, DVec3::ZERO);
    let add = |w: &mut World, custom| {
        w.add_joint(JointDef::custom(None, id, Pose::IDENTITY, Pose::IDENTITY, custom))
    };
    let told = add(&mut w, Custom::new(Height { slope: 1.1 })).unwrap_err().to_string();
    assert!(told.contains("equation 0: its gradient for the origin of B"), "{told}");
    assert_eq!(w.joints().count(), 0);
    let many = (0..6).fold(Custom::new(Across), |c, _| c.and(Across));
    let told = add(&mut w, many).unwrap_err().to_string();
    assert!(told.contains("from 1 to 6 equations, got 7"), "{told}");
    let point = Custom::new(Rod { length: 1.0, rope: false });
    let told = add(&mut w, point).unwrap_err().to_string();
    assert!(told.contains("must be finite"), "no direction where the points coincide: {told}");
}
