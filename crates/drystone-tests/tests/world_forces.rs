//! Contact forces that can be trusted: the smallest ones that give a step's velocities, and which of them
//! could be no others.

use std::sync::Arc;

use drystone::{BodyDef, Compound, Pose, Settings, Shape, SmallestForces, World};
use drystone_solve::FrictionLaw;
use glam::{DQuat, DVec3};

const WEIGHT: f64 = 2.0 * 9.81;

/// The forces of the last of some steps.
fn settle(w: &mut World) -> SmallestForces {
    for _ in 0..30 {
        w.step().unwrap();
    }
    w.keep_solutions(true);
    w.step().unwrap();
    w.smallest_forces().expect("one problem, kept")
}

fn world(model: FrictionLaw, mu: f64, body: BodyDef) -> World {
    let mut w = World::new(Settings { tolerance: 1e-9, model, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(mu)).unwrap();
    w.add_body(body.friction(mu)).unwrap();
    w
}

/// Balls on a board of 2 kg, at these places.
fn board(feet: &[DVec3]) -> BodyDef {
    let ball = Shape::Sphere { radius: 0.05 };
    let parts = feet.iter().map(|at| (Pose::at(*at), ball.clone())).collect();
    let shape = Shape::Compound(Arc::new(Compound::new(parts).unwrap()));
    let mut body = BodyDef::dynamic(ball, 2.0).at(DVec3::Z * 0.05);
    body.colliders[0].shape = shape;
    body
}

#[test]
fn nothing_is_known_of_steps_that_were_not_kept() {
    let mut w = world(FrictionLaw::Ccp, 0.5, board(&[DVec3::ZERO]));
    w.step().unwrap();
    assert_eq!(w.smallest_forces(), None);
}

/// Three feet carry what statics says; four share it evenly in the smallest solution, and could share it
/// otherwise.
#[test]
fn three_legs_are_determined_and_four_are_not() {
    for model in [FrictionLaw::Ccp, FrictionLaw::Coulomb] {
        let three = [DVec3::new(0.2, 0.0, 0.0), DVec3::new(-0.1, 0.2, 0.0), DVec3::new(-0.1, -0.2, 0.0)];
        let f = settle(&mut world(model, 0.0, board(&three)));
        assert_eq!(f.determined, [Some(true); 3], "{model:?}");
        f.force
            .iter()
            .for_each(|f| assert!((f.z.abs() - WEIGHT / 3.0).abs() < 1e-3 * WEIGHT, "{model:?}: {f}"));
        let four = [(0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)].map(|(x, y)| DVec3::new(x, y, 0.0));
        let f = settle(&mut world(model, 0.0, board(&four)));
        assert_eq!(f.determined, [Some(false); 4], "{model:?}");
        assert_eq!(f.normal_determined, [Some(false); 4], "{model:?}");
        f.force
            .iter()
            .for_each(|f| assert!((f.z.abs() - WEIGHT / 4.0).abs() < 1e-3 * WEIGHT, "{model:?}: {f}"));
        assert!(f.off < 1e-5, "{}", f.off);
        // With friction three feet may be pressed apart: their normal forces are determined all the same.
        let f = settle(&mut world(model, 0.5, board(&three)));
        assert_eq!(f.determined, [Some(false); 3], "{model:?}");
        assert_eq!(f.normal_determined, [Some(true); 3], "{model:?}");
        f.force
            .iter()
            .for_each(|f| assert!(f.truncate().length() < 1e-3 * WEIGHT, "{model:?}: the smallest: {f}"));
    }
}

/// A ball in a groove: two forces without friction, which are known; with friction they can be exchanged.
#[test]
fn a_groove_with_friction_presses_as_it_likes() {
    for (mu, known) in [(0.0, true), (0.5, false)] {
        let mut w = World::new(Settings { tolerance: 1e-9, ..Settings::default() }).unwrap();
        for tilt in [-0.7f64, 0.7] {
            let side = BodyDef::fixed(Shape::HalfSpace).turned(DQuat::from_rotation_y(tilt)).friction(mu);
            w.add_body(side).unwrap();
        }
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 2.0).friction(mu);
        w.add_body(ball.at(DVec3::Z * 0.1 / 0.7f64.cos())).unwrap();
        let f = settle(&mut w);
        assert_eq!(f.determined, [Some(known); 2], "mu {mu}: {f:?}");
        let sum: DVec3 = f.force.iter().copied().sum();
        assert!((sum.length() - WEIGHT).abs() < 1e-3 * WEIGHT, "mu {mu}: {sum}");
        if known {
            let each = 0.5 * WEIGHT / 0.7f64.cos();
            f.force.iter().for_each(|f| assert!((f.length() - each).abs() < 1e-3 * WEIGHT, "{f}"));
        }
    }
}

/// What slides has the force of its slope, and no other.
#[test]
fn what_slides_is_determined() {
    let mut w = World::new(Settings { tolerance: 1e-9, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).turned(DQuat::from_rotation_y(0.6)).friction(0.2)).unwrap();
    let n = DQuat::from_rotation_y(0.6) * DVec3::Z;
    let mut body = board(&[DVec3::ZERO]).friction(0.2).at(0.05 * n);
    body.planar = None;
    w.add_body(body).unwrap();
    let f = settle(&mut w);
    assert_eq!(f.determined, [Some(true)], "{f:?}");
}
