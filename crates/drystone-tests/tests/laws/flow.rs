//! Emitters and sinks.

use drystone::{BodyDef, Emitter, PairLaw, Shape, Sink, World};
use glam::DVec3;

use crate::common::{run, world};

fn rain() -> World {
    let mut w = world(5e-3, PairLaw::default());
    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.05 }, 0.1);
    let block =
        BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.04) }, 0.2).moving(DVec3::NEG_Z, DVec3::ZERO);
    let mut emitter = Emitter::new(DVec3::new(-0.5, -0.5, 2.0), DVec3::new(0.5, 0.5, 2.2), 40.0, ball);
    emitter.bodies.push(block);
    emitter.turned = true;
    emitter.limit = Some(50);
    w.add_emitter(emitter).unwrap();
    let far = f64::INFINITY;
    w.add_sink(Sink::new(DVec3::splat(-far), DVec3::new(far, far, 0.0))).unwrap();
    w
}

/// The rate, the limit and the balance of bodies; and all of it the same every time.
#[test]
fn bodies_come_and_go() {
    let mut w = rain();
    run(&mut w, 0.5);
    assert_eq!(w.emitted(), [19]); // 40 a second, the first after 1/40 s, none in the last step.
    run(&mut w, 0.7);
    assert!(w.sunk()[0] > 10, "{}", w.sunk()[0]);
    let there = w.model().dynamic().count() as u64;
    assert_eq!(w.emitted()[0], there + w.sunk()[0]);
    run(&mut w, 2.0);
    assert_eq!((w.emitted(), w.sunk()), ([50].as_slice(), [50].as_slice()));
    let (came, went) = (w.emitted_mass()[0], w.sunk_mass()[0]);
    assert!(came > 0.0 && (came - went).abs() < 1e-12 * came, "{came} kg came, {went} kg went");
    assert_eq!(w.model().dynamic().count(), 0);
    let mut again = rain();
    run(&mut again, 3.2);
    assert_eq!(again.state().hash(), w.state().hash());
}

/// Nothing is put where something is: a blocked emitter waits.
#[test]
fn waits_for_room() {
    let mut w = world(5e-3, PairLaw::default());
    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.05 }, 0.1);
    w.add_emitter(Emitter::new(DVec3::ZERO, DVec3::ZERO, 1000.0, ball)).unwrap();
    run(&mut w, 0.3);
    // One leaves the place free for the next after √(2 · 0.1 / g) = 0.143 s.
    assert_eq!(w.emitted(), [3]);
    assert!(w.deep_overlaps(0.0).is_empty());
}

#[test]
fn impossible_ones_are_refused() {
    let mut w = world(5e-3, PairLaw::default());
    let ball = || BodyDef::dynamic(Shape::Sphere { radius: 0.05 }, 0.1);
    let refused = |w: &mut World, e: Emitter| w.add_emitter(e).unwrap_err().to_string();
    assert!(refused(&mut w, Emitter::new(DVec3::ONE, DVec3::ZERO, 1.0, ball())).contains("min"));
    assert!(refused(&mut w, Emitter::new(DVec3::ZERO, DVec3::ONE, f64::NAN, ball())).contains("rate"));
    let still = BodyDef::fixed(Shape::Sphere { radius: 0.05 });
    assert!(refused(&mut w, Emitter::new(DVec3::ZERO, DVec3::ONE, 1.0, still)).contains("dynamic"));
    assert!(w.add_sink(Sink::new(DVec3::ONE, DVec3::ZERO)).is_err());
}
