//! Bodies that come and go over ranks: any number of them gives the same bits.

use drystone::{BodyDef, Emitter, Settings, Shape, Sink, World};
use drystone_ranks::{Ranks, threads};
use glam::{DQuat, DVec3};

/// Two emitters over a slope that ends at a sink, and some balls that are there from the beginning.
fn world() -> World {
    let settings = Settings { h: 5e-3, ..Settings::default() };
    let mut world = World::new(settings).unwrap();
    let slope = BodyDef::fixed(Shape::Box { half: DVec3::new(1.0, 0.6, 0.05) }).friction(0.2);
    world.add_body(slope.turned(DQuat::from_rotation_y(0.5))).unwrap();
    let ball = |r: f64| BodyDef::solid(Shape::Sphere { radius: r }, 1000.0).friction(0.2);
    for k in 0..12 {
        let at = DVec3::new(-0.6 + 0.1 * f64::from(k % 4), 0.2 * f64::from(k / 4 - 1), 0.6);
        world.add_body(ball(0.045).at(at)).unwrap();
    }
    for (side, rate) in [(-1.0, 60.0), (1.0, 35.0)] {
        let middle = DVec3::new(-0.4, 0.3 * side, 0.8);
        let (min, max) = (middle - DVec3::splat(0.15), middle + DVec3::splat(0.15));
        let grain = BodyDef::solid(Shape::Box { half: DVec3::new(0.03, 0.025, 0.02) }, 1000.0).friction(0.2);
        let bodies = vec![ball(0.04), grain];
        let emitter = Emitter { turned: true, bodies, ..Emitter::new(min, max, rate, ball(0.04)) };
        world.add_emitter(emitter).unwrap();
    }
    let far = DVec3::splat(100.0);
    world.add_sink(Sink::new(-far, DVec3::new(100.0, 100.0, -0.5))).unwrap();
    // And one that takes the lowest of some, which the other leaves.
    let (min, max) = (DVec3::new(0.2, -1.0, -0.5), DVec3::new(2.0, 1.0, 1.0));
    world.add_sink(Sink::new(min, max).paced(25.0, 0.4)).unwrap();
    world
}

/// The world after so many steps on so many ranks, brought to another copy of it, and what ranks own.
fn run(size: usize, steps: usize, from: impl Fn() -> World + Sync) -> (World, Vec<usize>) {
    let mut out = threads::run(size, |comm| {
        let mut ranks = Ranks::new(comm, from()).unwrap();
        let mut copy = from();
        copy.global_order();
        for k in 0..steps {
            ranks.step().unwrap();
            // Now and then, as a table is written.
            if k % 50 == 20 {
                ranks.fetch_into(&mut copy);
            }
        }
        ranks.fetch_into(&mut copy);
        (copy, ranks.usage().bodies)
    });
    let owned = out.iter().map(|o| o.1).collect();
    (out.swap_remove(0).0, owned)
}

#[test]
fn emitters_and_sinks_over_any_number_of_ranks() {
    let (one, _) = run(1, 300, world);
    assert!(one.emitted().iter().all(|n| *n > 40), "{:?}", one.emitted());
    assert!(one.sunk()[0] > 10 && one.sunk()[1] == 27 && one.sunk_mass()[1] > 0.0, "{:?}", one.sunk());
    let there = one.emitted().iter().sum::<u64>() + 12 - one.sunk().iter().sum::<u64>();
    assert_eq!(one.model().dynamic().count() as u64, there, "nobody is lost, nobody is there twice");
    for size in [2, 4] {
        let (many, owned) = run(size, 300, world);
        assert_eq!(many.state().hash(), one.state().hash(), "{size} ranks");
        assert!(many.state() == one.state(), "warm starts, counts and the generator's state");
        assert_eq!(owned.iter().sum::<usize>() as u64, there);
    }
}

/// The same flow as that of the engine: what is emitted is the same, what has gone nearly.
#[test]
fn the_flow_is_that_of_the_engine() {
    let (many, _) = run(3, 300, world);
    let mut alone = world();
    (0..300).for_each(|_| drop(alone.step().unwrap()));
    for (a, b) in many.emitted().iter().zip(alone.emitted()) {
        assert!(a.abs_diff(*b) <= 2, "{a} {b}");
    }
    assert!(many.sunk()[0].abs_diff(alone.sunk()[0]) <= 8, "{} {}", many.sunk()[0], alone.sunk()[0]);
}

#[test]
fn a_flow_goes_on_on_another_number_of_ranks() {
    let (straight, _) = run(2, 200, world);
    let half = run(4, 90, world).0.save().unwrap();
    let (rest, _) = run(3, 110, || World::load(&half).unwrap());
    assert!(rest.state() == straight.state());
}
