//! Rays, overlaps, distances and measures of a whole world.

use drystone::{BodyDef, Collider, MassProperties, Pose, Settings, Shape, World};
use glam::{DQuat, DVec3};

fn still() -> World {
    World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap()
}

fn ball(x: f64, radius: f64) -> BodyDef {
    BodyDef::dynamic(Shape::Sphere { radius }, 1.0).at(DVec3::X * x)
}

#[test]
fn ray_finds_the_nearest_body() {
    let mut w = still();
    let far = w.add_body(ball(5.0, 0.5)).unwrap();
    let near = w.add_body(ball(2.0, 0.25)).unwrap();
    let floor = w.add_body(BodyDef::fixed(Shape::HalfSpace).at(DVec3::Z * -1.0)).unwrap();
    let (id, hit) = w.ray(DVec3::ZERO, DVec3::X * 7.0, 100.0).unwrap();
    assert_eq!(id, near);
    assert!((hit.distance - 1.75).abs() < 1e-12 && (hit.normal + DVec3::X).length() < 1e-12, "{hit:?}");
    assert!((hit.point - DVec3::X * 1.75).length() < 1e-12);
    let (id, hit) = w.ray(DVec3::X * 10.0, DVec3::NEG_X, 100.0).unwrap();
    assert_eq!((id, hit.distance), (far, 4.5));
    let (id, hit) = w.ray(DVec3::new(0.3, 0.4, 2.0), DVec3::new(0.0, 3.0, -4.0), 100.0).unwrap();
    assert_eq!(id, floor);
    assert!((hit.distance - 3.75).abs() < 1e-12, "{hit:?}");
    assert!(w.ray(DVec3::ZERO, DVec3::X, 1.7).is_none(), "out of reach");
    assert!(w.ray(DVec3::ZERO, DVec3::Z, 1e9).is_none(), "nothing above");
    assert!(w.ray(DVec3::ZERO, DVec3::ZERO, 1e9).is_none(), "no direction");
    assert!(
        w.ray(DVec3::ZERO, DVec3::NAN, 1e9).is_none() && w.ray(DVec3::ZERO, DVec3::INFINITY, 1e9).is_none()
    );
    // Any length will do, also one whose square is no number.
    let down =
        |length: f64| w.ray(DVec3::Z * 50.0, DVec3::NEG_Z * length, 1e9).map(|(id, hit)| (id, hit.distance));
    assert!(down(1.0).is_some());
    [1e-300, 1e300, 1e-320].iter().for_each(|length| assert_eq!(down(*length), down(1.0), "{length:e}"));
    w.remove_body(near).unwrap();
    assert_eq!(w.ray(DVec3::ZERO, DVec3::X, 100.0).unwrap().0, far, "a removed body stops no ray");
}

#[test]
fn ray_follows_a_moving_body() {
    let mut w = still();
    let id = w.add_body(ball(1.0, 0.1).moving(DVec3::Y, DVec3::ZERO)).unwrap();
    assert!(w.ray(DVec3::ZERO, DVec3::X, 10.0).is_some());
    for _ in 0..50 {
        w.step().unwrap();
    }
    assert!(w.ray(DVec3::ZERO, DVec3::X, 10.0).is_none());
    assert_eq!(w.ray(DVec3::Y * 0.5, DVec3::X, 10.0).unwrap().0, id);
}

#[test]
fn overlaps_lists_each_body_once_in_slot_order() {
    let mut w = still();
    let twin =
        Collider { local: Pose::at(DVec3::X * 0.2), ..Collider::new(Shape::Sphere { radius: 0.3 }, 0.0) };
    let mut two = BodyDef::bare(MassProperties::principal(1.0, DVec3::ONE));
    two.colliders = vec![Collider::new(Shape::Sphere { radius: 0.3 }, 0.0), twin];
    let b = w.add_body(ball(1.0, 0.3)).unwrap();
    let a = w.add_body(two).unwrap();
    let c = w.add_body(ball(3.0, 0.3)).unwrap();
    let probe = Shape::Box { half: DVec3::new(0.5, 0.1, 0.1) };
    assert_eq!(w.overlaps(&probe, &Pose::at(DVec3::X * 0.5)), [b, a]);
    assert_eq!(w.overlaps(&probe, &Pose::at(DVec3::X * 1.75)), [b]);
    assert!(w.overlaps(&probe, &Pose::at(DVec3::X * 1.85)).is_empty(), "the ball at 1 ends at 1.3");
    assert!(w.overlaps(&probe, &Pose::at(DVec3::Y * 5.0)).is_empty());
    let upright = Pose::new(DVec3::X * 3.5, DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2));
    assert!(w.overlaps(&probe, &upright).is_empty(), "turned away from the ball at 3");
    assert_eq!(w.overlaps(&probe, &Pose::at(DVec3::X * 3.5)), [c]);
    w.remove_body(b).unwrap();
    assert_eq!(w.overlaps(&probe, &Pose::at(DVec3::X * 0.5)), [a]);
}

#[test]
fn distance_is_signed_and_takes_the_nearest_shapes() {
    let mut w = still();
    let a = w.add_body(ball(0.0, 0.3)).unwrap();
    let b = w.add_body(ball(1.0, 0.2)).unwrap();
    assert!((w.distance(a, b).unwrap() - 0.5).abs() < 1e-15);
    assert_eq!(w.distance(a, b), w.distance(b, a));
    let c = w.add_body(ball(0.4, 0.2)).unwrap();
    assert!((w.distance(a, c).unwrap() + 0.1).abs() < 1e-15, "overlap is negative");
    let mut two = BodyDef::bare(MassProperties::principal(1.0, DVec3::ONE)).at(DVec3::Y * 3.0);
    let arm = Collider { local: Pose::at(DVec3::NEG_Y), ..Collider::new(Shape::Sphere { radius: 0.2 }, 0.0) };
    two.colliders = vec![Collider::new(Shape::Sphere { radius: 0.2 }, 0.0), arm];
    let two = w.add_body(two).unwrap();
    assert!((w.distance(a, two).unwrap() - 1.5).abs() < 1e-12, "{}", w.distance(a, two).unwrap());
    let bare = w.add_body(BodyDef::bare(MassProperties::principal(1.0, DVec3::ONE))).unwrap();
    assert_eq!(w.distance(a, bare).unwrap(), f64::INFINITY);
}

#[test]
fn deep_overlaps_names_the_pairs() {
    let mut w = still();
    let a = w.add_body(ball(0.0, 0.3)).unwrap();
    let b = w.add_body(ball(0.45, 0.2)).unwrap();
    let c = w.add_body(ball(0.64, 0.2)).unwrap();
    let found = w.deep_overlaps(0.5);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, found[0].1), (b, c));
    assert!((found[0].2 - 0.21).abs() < 1e-12, "{found:?}");
    assert_eq!(w.deep_overlaps(0.1).len(), 2);
    assert!(w.deep_overlaps(0.1).iter().all(|p| (p.0, p.1) != (a, c)));
}

#[test]
fn measures_add_up() {
    let mut w = World::new(Settings { tolerance: 1e-10, iterations: 5000, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
    let cube = BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.1) }, 3.0).at(DVec3::Z * 0.1);
    let cube = w.add_body(cube).unwrap();
    let flying = BodyDef::bare(MassProperties::principal(2.0, DVec3::new(1.0, 2.0, 3.0))).at(DVec3::Z * 50.0);
    w.add_body(flying.moving(DVec3::X * 2.0, DVec3::Y)).unwrap();
    assert_eq!(w.total_mass(), 5.0);
    let e = w.energy();
    assert!((e.kinetic - 5.0).abs() < 1e-12, "½·2·2² + ½·2·1²: {e:?}");
    assert!((e.potential - 9.81 * (3.0 * 0.1 + 2.0 * 50.0)).abs() < 1e-9, "{e:?}");
    for _ in 0..20 {
        w.step().unwrap();
    }
    let f = w.contact_forces();
    assert!((f[cube.slot as usize] - DVec3::Z * 3.0 * 9.81).length() < 1e-5, "{f:?}");
    assert!((f[0] + f[cube.slot as usize]).length() < 1e-12, "action and reaction");
    assert!((w.support_over_weight().unwrap() - 0.6).abs() < 1e-6, "3 of 5 kg lie on the floor");
    let normal: f64 = w.contacts().iter().map(|c| c.normal_impulse()).sum();
    assert!((normal - 3.0 * 9.81 * 0.01).abs() < 1e-7);
    assert!(w.contacts().iter().all(|c| c.tangential_impulse().length() < 1e-9));
}
