//! Who collides with whom, with which friction, in which plane, and how far the world goes.

use drystone::{
    BodyDef, Bounds, Collider, Combine, Filter, Leaving, PairLaw, Pose, Settings, Shape, StepError, World,
};
use glam::{DQuat, DVec3};

fn ball(x: f64, z: f64) -> BodyDef {
    BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).at(DVec3::new(x, 0.0, z)).friction(0.4)
}

fn floor() -> BodyDef {
    BodyDef::fixed(Shape::HalfSpace).friction(0.4)
}

fn run(world: &mut World, steps: usize) {
    for _ in 0..steps {
        world.step().unwrap();
    }
}

#[test]
fn layers_decide_who_collides() {
    let mut w = World::new(Settings::default()).unwrap();
    w.add_body(floor().filter(Filter { layers: 0b01, mask: u32::MAX })).unwrap();
    let falls = w.add_body(ball(0.0, 1.0).filter(Filter { layers: 0b10, mask: 0b10 })).unwrap();
    let stands = w.add_body(ball(2.0, 1.0).filter(Filter { layers: 0b10, mask: 0b01 })).unwrap();
    // Each must want the other: the upper ball's mask has the lower one's layer, but not the other way round.
    let through = w.add_body(ball(2.0, 2.5).filter(Filter { layers: 0b100, mask: u32::MAX })).unwrap();
    run(&mut w, 100);
    assert!(w.position(falls).unwrap().z < -2.0);
    assert!((w.position(stands).unwrap().z - 0.5).abs() < 1e-6);
    assert!((w.position(through).unwrap().z - 0.5).abs() < 1e-6, "it lies on the floor, inside the other");
}

#[test]
fn shapes_of_one_body_may_be_in_different_layers() {
    let mut w = World::new(Settings::default()).unwrap();
    w.add_body(floor()).unwrap();
    let mut body = ball(0.0, 2.0);
    let skirt = Collider::new(Shape::Sphere { radius: 1.5 }, 0.4);
    body.colliders.push(Collider { filter: Filter { layers: 0, mask: 0 }, ..skirt });
    let body = w.add_body(body).unwrap();
    run(&mut w, 100);
    assert!((w.position(body).unwrap().z - 0.5).abs() < 1e-6, "only the small ball carries");
}

#[test]
fn pairs_can_be_kept_apart_and_let_together_again() {
    let mut w = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
    let a = w.add_body(ball(0.0, 0.0).moving(DVec3::X, DVec3::ZERO)).unwrap();
    let b = w.add_body(ball(1.2, 0.0)).unwrap();
    w.set_collides(b, a, false).unwrap();
    run(&mut w, 50);
    assert_eq!(w.velocity(a).unwrap(), DVec3::X, "it passes into the other");
    w.set_collides(a, b, true).unwrap();
    run(&mut w, 50);
    assert!(w.distance(a, b).unwrap() > -1e-4, "pushed apart");
    // A slot that is used again does not inherit the rule.
    w.set_collides(a, b, false).unwrap();
    w.remove_body(b).unwrap();
    let at = w.position(a).unwrap();
    let c = w.add_body(ball(at.x, at.z).at(at + DVec3::X * 0.9)).unwrap();
    assert_eq!(c.slot, b.slot);
    w.step().unwrap();
    assert_eq!(w.contacts().len(), 1);
    assert!(w.set_collides(a, b, true).is_err(), "b is gone");
}

/// Slides a block at 2 m/s and returns how far it came: v²/(2 μ g).
fn slides(mu: [f64; 2], rule: Combine, pair: Option<f64>) -> f64 {
    let mut w = World::new(Settings { h: 1e-3, ..Settings::default() }).unwrap();
    w.materials_mut().combine = rule;
    let (stone, oak) = (w.materials_mut().add("stone").unwrap(), w.materials_mut().add("oak").unwrap());
    if let Some(mu) = pair {
        w.materials_mut().set_pair(stone, oak, PairLaw::friction(mu)).unwrap();
    }
    w.add_body(floor().friction(mu[0]).material(stone)).unwrap();
    let block =
        BodyDef::dynamic(Shape::Box { half: DVec3::new(0.5, 0.5, 0.1) }, 1.0).friction(mu[1]).material(oak);
    let block = w.add_body(block.at(DVec3::Z * 0.1).moving(DVec3::X * 2.0, DVec3::ZERO)).unwrap();
    run(&mut w, 1500);
    w.position(block).unwrap().x
}

#[test]
fn friction_of_a_pair_comes_from_the_table_or_the_rule() {
    let way = |mu: f64| 2.0 * 2.0 / (2.0 * mu * 9.81);
    for (rule, pair, mu) in [
        (Combine::GeometricMean, None, 0.4),
        (Combine::Mean, None, 0.5),
        (Combine::Min, None, 0.2),
        (Combine::Max, None, 0.8),
        (Combine::Product, None, 0.16),
        (Combine::Max, Some(0.3), 0.3),
    ] {
        let came = slides([0.2, 0.8], rule, pair);
        assert!((came / way(mu) - 1.0).abs() < 0.01, "{rule:?} {pair:?}: {came}, not {}", way(mu));
    }
}

#[test]
fn material_of_no_table_is_refused() {
    let mut w = World::new(Settings::default()).unwrap();
    let other = World::new(Settings::default()).unwrap().materials_mut().add("stone").unwrap();
    assert!(w.add_body(ball(0.0, 1.0).material(other)).unwrap_err().to_string().contains("material"));
}

fn bounded(leaving: Leaving) -> World {
    let bounds = Bounds { min: DVec3::splat(-2.0), max: DVec3::new(2.0, 2.0, f64::INFINITY), leaving };
    let mut w = World::new(Settings { bounds: Some(bounds), ..Settings::default() }).unwrap();
    w.add_body(ball(0.0, 0.0)).unwrap();
    w.add_body(BodyDef::fixed(Shape::Box { half: DVec3::ONE }).at(DVec3::new(9.0, 0.0, 0.0))).unwrap();
    w.add_body(ball(5.0, 50.0)).unwrap();
    w
}

#[test]
fn those_who_leave_are_reported_once_and_move_on() {
    let mut w = bounded(Leaving::Report);
    let left: Vec<_> = (0..100).map(|_| w.step().unwrap().left).collect();
    let named: Vec<_> = left.iter().flatten().map(|id| id.slot).collect();
    assert_eq!(named, [0], "the static one is no concern, and the third was never inside");
    let first = left.iter().position(|l| !l.is_empty()).unwrap();
    let fall = 0.5 * 9.81 * (0.01 * first as f64).powi(2);
    assert!((1.8..2.0).contains(&fall), "reported in the step that took it out, after {fall} m");
    assert_eq!(w.model().dynamic().count(), 2);
}

#[test]
fn those_who_leave_are_taken_out() {
    let mut w = bounded(Leaving::Remove);
    run(&mut w, 100);
    assert_eq!(w.model().dynamic().collect::<Vec<_>>(), [2]);
}

#[test]
fn leaving_can_be_an_error_that_names_the_body_and_undoes_the_step() {
    let mut w = bounded(Leaving::Stop);
    let error = loop {
        if let Err(e) = w.step() {
            break e;
        }
    };
    let StepError::Left { text, .. } = &error else { panic!("{error}") };
    assert!(text.starts_with("body 0"), "{text}");
    assert!(w.settings().bounds.unwrap().contain(w.state().position[0]));
    let upside_down = Bounds { min: DVec3::ONE, max: DVec3::ZERO, leaving: Leaving::Report };
    assert!(World::new(Settings { bounds: Some(upside_down), ..Settings::default() }).is_err());
}

#[test]
fn planar_body_keeps_its_plane_whatever_hits_it() {
    let mut w = World::new(Settings { tolerance: 1e-8, iterations: 2000, ..Settings::default() }).unwrap();
    w.add_body(floor()).unwrap();
    let turned = DQuat::from_rotation_y(0.4);
    let disc = BodyDef::dynamic(Shape::Box { half: DVec3::new(1.0, 0.3, 0.4) }, 2.0).friction(0.5);
    let disc = disc.at(DVec3::new(0.0, 0.25, 2.0)).turned(turned).planar(DVec3::Y);
    let disc = w.add_body(disc.moving(DVec3::ONE, DVec3::ONE)).unwrap();
    assert_eq!(w.velocity(disc).unwrap(), DVec3::new(1.0, 0.0, 1.0), "what the plane allows");
    // Hit from outside the plane, off centre.
    let shot = BodyDef::dynamic(Shape::Sphere { radius: 0.2 }, 3.0).friction(0.5);
    w.add_body(shot.at(DVec3::new(0.5, -2.0, 2.2)).moving(DVec3::new(0.0, 8.0, 1.0), DVec3::ZERO)).unwrap();
    let mut hit = false;
    for _ in 0..300 {
        w.step().unwrap();
        hit |= w
            .contacts()
            .iter()
            .any(|c| c.normal.y.abs() > 0.5 && c.bodies.contains(&disc.slot) && c.impulse.length() > 0.1);
        let (x, q) = (w.position(disc).unwrap(), w.rotation(disc).unwrap());
        assert!((x.y - 0.25).abs() < 1e-14, "{x}");
        assert!((q * DVec3::Y - DVec3::Y).length() < 1e-12, "tilted: {q}");
        assert!(w.velocity(disc).unwrap().y.abs() < 1e-15);
    }
    assert!(hit, "the shot met its target");
    assert!((w.position(disc).unwrap().z - 0.4).abs() < 1e-3, "it came to lie on its side");
}

#[test]
fn shot_at_a_planar_body_bounces_as_off_a_wall_across_the_plane() {
    // Across the plane the locked body is as good as infinitely heavy: an inelastic ball stops dead relative
    // to it.
    let mut w = World::new(Settings {
        gravity: DVec3::ZERO,
        tolerance: 1e-10,
        iterations: 5000,
        ..Settings::default()
    })
    .unwrap();
    let plate = BodyDef::dynamic(Shape::Box { half: DVec3::new(1.0, 0.1, 1.0) }, 1.0).planar(DVec3::Y);
    w.add_body(plate).unwrap();
    let shot = BodyDef::dynamic(Shape::Sphere { radius: 0.2 }, 50.0).at(DVec3::new(0.3, -1.0, 0.2));
    let shot = w.add_body(shot.moving(DVec3::new(0.0, 5.0, 0.0), DVec3::ZERO)).unwrap();
    run(&mut w, 50);
    assert!(w.velocity(shot).unwrap().length() < 1e-8, "{}", w.velocity(shot).unwrap());
}

#[test]
fn planar_ball_rolls_down_an_incline_like_a_free_one() {
    let roll = |planar: bool| {
        let tilt = DQuat::from_rotation_y(0.3);
        let mut w = World::new(Settings { h: 1e-3, tolerance: 1e-9, iterations: 500, ..Settings::default() })
            .unwrap();
        w.add_body(BodyDef::fixed(Shape::HalfSpace).turned(tilt).friction(0.8)).unwrap();
        let mut def = ball(0.0, 0.0).friction(0.8).at(tilt * DVec3::Z * 0.5);
        if planar {
            def = def.planar(DVec3::Y);
        }
        let id = w.add_body(def).unwrap();
        run(&mut w, 500);
        w.velocity(id).unwrap()
    };
    let (free, locked) = (roll(false), roll(true));
    assert!((free - locked).length() < 1e-7, "{free} {locked}");
    assert!((locked.length() - 5.0 / 7.0 * 9.81 * 0.3f64.sin() * 0.5).abs() < 5e-3);
}

#[test]
fn planar_normal_must_be_a_unit_vector_of_a_dynamic_body() {
    let mut w = World::new(Settings::default()).unwrap();
    assert!(w.add_body(ball(0.0, 0.0).planar(DVec3::Y * 2.0)).is_err());
    assert!(w.add_body(floor().planar(DVec3::Y)).is_err());
    assert!(w.add_body(ball(0.0, 0.0).planar(DVec3::NAN)).is_err());
    let mut off = ball(0.0, 0.0).planar(DVec3::Z);
    off.colliders[0].local = Pose::at(DVec3::X);
    assert!(w.add_body(off).is_ok());
}
