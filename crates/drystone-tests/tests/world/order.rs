//! Thousands of bodies are worked on in the order of a curve, by regions: neither threads nor a resumed run
//! may notice.

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

/// 17³ balls on a jittered lattice, added in no order, over a floor.
fn cloud() -> World {
    let mut world = World::new(Settings { iterations: 20, tolerance: 0.0, ..Settings::default() }).unwrap();
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    let mut random = Random::new(9);
    for i in 0..4913u32 {
        let k = (i * 1387) % 4913;
        let lattice = DVec3::new(f64::from(k % 17), f64::from(k / 17 % 17), f64::from(k / 289));
        let place = 0.21 * lattice + random.in_box(DVec3::splat(0.0), DVec3::splat(0.01)) + 0.1 * DVec3::Z;
        world.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(place).friction(0.5)).unwrap();
    }
    world
}

fn run(world: &mut World, steps: usize) {
    (0..steps).for_each(|_| {
        world.step().unwrap();
    });
}

#[test]
fn threads_and_a_resumed_run_give_the_same_bits() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (early, alone) = pool(1).install(|| {
        let mut world = cloud();
        run(&mut world, 12);
        let early = world.state().hash();
        // Beyond the step at which the order is renewed.
        run(&mut world, 58);
        assert!(world.contacts().len() > 5000, "{}", world.contacts().len());
        // Contacts follow the curve, not the slots.
        let first: Vec<u32> = world.contacts().iter().map(|c| c.key.colliders[0]).collect();
        assert!(!first.is_sorted());
        (early, world.state().hash())
    });
    for threads in [2, 4, 8, 16] {
        let hash = pool(threads).install(|| {
            let mut world = cloud();
            run(&mut world, 12);
            world.state().hash()
        });
        assert_eq!(hash, early, "{threads} threads");
    }
    let resumed = pool(3).install(|| {
        let mut world = cloud();
        run(&mut world, 40);
        let state = serde_json::to_string(world.state()).unwrap();
        let mut other = cloud();
        other.restore(serde_json::from_str(&state).unwrap()).unwrap();
        run(&mut other, 30);
        other.state().hash()
    });
    assert_eq!(alone, resumed);
}

/// Threads share out bodies by their places: two on one place would be written by both.
#[test]
fn an_order_with_a_place_twice_is_refused() {
    let mut world = cloud();
    run(&mut world, 1);
    let mut state = serde_json::to_value(world.state()).unwrap();
    world.restore(serde_json::from_value(state.clone()).unwrap()).unwrap();
    let ranks = state["order"]["rank"].as_array_mut().unwrap();
    assert_eq!(ranks.len(), 4914);
    ranks[7] = ranks[8].clone();
    let error = world.restore(serde_json::from_value(state).unwrap()).unwrap_err();
    assert!(error.to_string().contains("order"), "{error}");
}
