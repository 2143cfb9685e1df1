//! Worlds as bytes: what is refused, and by which name.

use std::sync::Arc;

use drystone::{BodyDef, Emitter, Field, Function, Guide, Hull, JointDef, LoadError, Motor, SaveError};
use drystone::{Settings, Shape, Sink, StiffForce, World, Wrench};
use glam::DVec3;

fn pile() -> World {
    let mut world = World::new(Settings::default()).unwrap();
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    for k in 0..5 {
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).friction(0.5);
        world.add_body(ball.at(DVec3::new(0.1 * k as f64, 0.0, 0.6 + 1.1 * k as f64))).unwrap();
    }
    world
}

fn step(world: &mut World, n: usize) {
    (0..n).for_each(|_| drop(world.step().unwrap()));
}

/// Slots that were given back are taken again in the same order, by the same draws.
#[test]
fn bodies_that_come_and_go_go_on() {
    let mut world = pile();
    let grain = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 0.1).friction(0.9);
    let (low, high) = (DVec3::new(-3.0, -3.0, 1.0), DVec3::new(3.0, 3.0, 2.0));
    world.add_emitter(Emitter { turned: true, ..Emitter::new(low, high, 200.0, grain) }).unwrap();
    let edge = DVec3::new(f64::INFINITY, f64::INFINITY, 0.3);
    world.add_sink(Sink::new(DVec3::NEG_INFINITY, edge)).unwrap();
    step(&mut world, 60);
    assert!(world.sunk()[0] > 10 && world.emitted()[0] > world.sunk()[0]);
    let mut other = World::load(&world.save().unwrap()).unwrap();
    step(&mut world, 60);
    step(&mut other, 60);
    assert_eq!(other.state(), world.state());
    assert!(world.model().bodies.iter().any(|b| b.generation > 0), "slots were used again");
}

#[test]
fn sleepers_sleep_on() {
    let settings = Settings { sleep: Some(Default::default()), ..Settings::default() };
    let mut world = World::new(settings).unwrap();
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    for k in 0..3 {
        let brick = BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.5) }, 1.0).friction(0.5);
        world.add_body(brick.at(DVec3::Z * (0.5 + k as f64))).unwrap();
    }
    step(&mut world, 200);
    assert!(world.asleep() > 0);
    let mut other = World::load(&world.save().unwrap()).unwrap();
    assert_eq!(other.asleep(), world.asleep());
    for w in [&mut world, &mut other] {
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 9.0).at(DVec3::Z * 4.0);
        w.add_body(ball).unwrap();
        step(w, 200);
    }
    assert_eq!(other.state(), world.state());
}

#[test]
fn what_many_share_is_saved_once_and_shared_again() {
    let points: Vec<DVec3> = (0..200)
        .map(|k| DVec3::new((k as f64).sin(), (1.3 * k as f64).cos(), (0.7 * k as f64).sin()))
        .collect();
    let hull = Arc::new(Hull::new(&points).unwrap());
    let mut world = World::new(Settings::default()).unwrap();
    let stone = |k: usize| {
        BodyDef::dynamic(Shape::Hull(hull.clone()), 1.0).at(DVec3::X * 3.0 * k as f64).named("stone")
    };
    world.add_body(stone(0)).unwrap();
    let one = world.save().unwrap().len();
    for k in 1..100 {
        world.add_body(stone(k)).unwrap();
    }
    let bytes = world.save().unwrap();
    assert!(bytes.len() - one < 100 * 800, "{one} bytes for one, {} for a hundred", bytes.len());
    let other = World::load(&bytes).unwrap();
    let shared = |k: usize| match &other.model().colliders[k].shape {
        Shape::Hull(hull) => hull.clone(),
        other => panic!("{}", other.name()),
    };
    assert!(Arc::ptr_eq(&shared(3), &shared(99)) && *shared(3) == *hull);
    assert!(Arc::ptr_eq(&other.model().bodies[5].mass, &other.model().bodies[98].mass));
    assert_eq!(other.model().bodies[7].name.as_deref(), Some("stone"));
}

#[test]
fn damage_and_strangers_are_told() {
    let mut world = pile();
    step(&mut world, 20);
    let bytes = world.save().unwrap();
    let text = |bytes: &[u8]| World::load(bytes).err().unwrap().to_string();
    assert_eq!(World::load(b"PK\x03\x04").err(), Some(LoadError::Foreign("world".into())));
    assert_eq!(World::load(&[]).err(), Some(LoadError::Foreign("world".into())));
    assert!(text(&bytes[..17]).contains("it ends in its head"));
    assert!(text(&bytes[..bytes.len() - 1]).contains("bytes of"));
    for at in [bytes.len() - 1, bytes.len() / 2, 60] {
        let mut bad = bytes.clone();
        bad[at] ^= 4;
        assert!(text(&bad).contains("sum"), "byte {at}");
    }
    let mut future = bytes.clone();
    future[15..19].copy_from_slice(&7u32.to_le_bytes());
    assert_eq!(World::load(&future).err(), Some(LoadError::Future { found: 7, known: 1 }));
    assert!(text(&future).contains("format 7") && text(&future).contains("take a newer one"));
}

#[test]
fn functions_of_a_program_are_refused_by_name() {
    let name = |world: &World| match world.save() {
        Err(SaveError::Function(name)) => name,
        other => panic!("{other:?}"),
    };
    let mut world = pile();
    world.add_field(Field::callback("wind", |_, _| Wrench::default())).unwrap();
    assert_eq!(name(&world), "the force field 'wind'");

    let mut world = pile();
    let ids: Vec<_> = (1..3).map(|k| world.model().id(k).unwrap()).collect();
    world.add_stiff_force(StiffForce::by_differences("tendon", &ids, |_, _, _| {})).unwrap();
    assert_eq!(name(&world), "the stiff force 'tendon'");

    let mut world = pile();
    let id = world.model().id(1).unwrap();
    let motor = Motor::speed(Function::callback(|t| [t, 1.0]));
    let joint = JointDef::revolute(None, id, DVec3::ZERO, DVec3::Z).named("wheel").motor(0, motor);
    world.add_joint(joint).unwrap();
    assert!(name(&world).contains("(wheel)"), "{}", name(&world));

    let mut world = pile();
    let guide = Guide::along(DVec3::X, Function::callback(|t| [t, 1.0]));
    let plate = BodyDef::kinematic(Shape::Sphere { radius: 0.1 }).at(-DVec3::Z).named("plate");
    let id = world.add_body(plate).unwrap();
    world.set_guide(id, Some(guide)).unwrap();
    assert_eq!(name(&world), "the guide of body 6 (plate)");
}

#[test]
fn hooks_are_missed() {
    let mut world = pile();
    world.after_step(|_| {});
    world.on_contacts(|_, _, _| {});
    let mut other = World::load(&world.save().unwrap()).unwrap();
    other.on_contacts(|_, _, _| {});
    let text = other.step().unwrap_err().to_string();
    assert!(text.contains("0 before steps, 1 after steps, 0 on contacts"), "{text}");
    other.after_step(|_| {});
    other.step().unwrap();
}
