//! Pairs that are kept from step to step make the same contacts as pairs that are looked for afresh.

use drystone::collide::Detector;
use drystone::random::Random;
use drystone::{BodyDef, BodyId, Settings, Shape, World};
use glam::DVec3;

/// Sixty bodies of three kinds over a floor, with velocities of all sizes.
fn rain() -> (World, Vec<BodyId>) {
    let mut world = World::new(Settings { h: 0.005, ..Settings::default() }).unwrap();
    let floor = Shape::Box { half: DVec3::new(3.0, 3.0, 0.5) };
    world.add_body(BodyDef::fixed(floor).at(DVec3::new(0.0, 0.0, -0.5)).friction(0.5)).unwrap();
    let mut random = Random::new(5);
    let shapes = [
        Shape::Sphere { radius: 0.2 },
        Shape::Box { half: DVec3::new(0.2, 0.15, 0.1) },
        Shape::Capsule { radius: 0.1, half_length: 0.15 },
    ];
    let bodies = (0..60).map(|k| {
        let place =
            DVec3::new(f64::from(k % 4) - 1.5, f64::from(k / 4 % 4) - 1.5, 0.4 + 0.6 * f64::from(k / 16));
        let body = BodyDef::dynamic(shapes[k as usize % 3].clone(), 1.0).at(place).turned(random.rotation());
        let body = world.add_body(body.friction(0.5)).unwrap();
        let toss = random.in_box(DVec3::splat(-3.0), DVec3::splat(3.0));
        world.set_velocity(body, toss, 2.0 * toss).unwrap();
        body
    });
    let bodies = bodies.collect();
    (world, bodies)
}

/// Compares the detector that has seen all steps with one that has seen nothing; returns the number of
/// contacts.
fn compare(world: &World, kept: &mut Detector) -> usize {
    let state = world.state();
    let v: Vec<[f64; 6]> = (0..state.position.len())
        .map(|i| {
            let (v, w) = (state.velocity[i], state.world_omega(i));
            [v.x, v.y, v.z, w.x, w.y, w.z]
        })
        .collect();
    let mut found = [Vec::new(), Vec::new()];
    for (detector, found) in [kept, &mut Detector::new(None)].into_iter().zip(&mut found) {
        detector.find_pairs(world.model(), state, &v, 0.005, 0.01);
        detector.find_contacts(world.model(), state, &v, 0.005, 0.01, found);
    }
    assert_eq!(found[0], found[1], "step {}", state.step);
    found[0].len()
}

#[test]
fn contacts_do_not_depend_on_when_pairs_were_found() {
    let (mut world, bodies) = rain();
    let mut kept = Detector::new(None);
    let (mut most, mut last, mut looks) = (0, Vec::new(), 0);
    for step in 0..300 {
        world.step().unwrap();
        most = most.max(compare(&world, &mut kept));
        looks += usize::from(kept.pairs != last);
        last.clone_from(&kept.pairs);
        // What may touch changes under way.
        match step {
            100 => world.set_collides(bodies[3], bodies[4], false).unwrap(),
            150 => world.remove_body(bodies[7]).unwrap(),
            200 => {
                let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.3 }, 2.0).at(DVec3::new(0.0, 0.0, 1.5));
                world.add_body(ball).unwrap();
            }
            _ => {}
        }
    }
    assert!(most > 50, "only {most} contacts");
    assert!(looks < 200, "pairs were found anew {looks} times in 300");
}

#[test]
fn a_body_set_elsewhere_is_found_there() {
    let (mut world, bodies) = rain();
    for _ in 0..100 {
        world.step().unwrap();
    }
    let mut state = world.state().clone();
    let floor = state.position[bodies[9].slot as usize];
    // Into the place of another: a kept pair list knows nothing of the two.
    state.position[bodies[40].slot as usize] = floor + DVec3::Z * 0.25;
    world.restore(state).unwrap();
    world.step().unwrap();
    let pair = [bodies[9].slot, bodies[40].slot];
    assert!(world.contacts().iter().any(|c| pair.iter().all(|b| c.bodies.contains(b))));
}

#[test]
fn bodies_whose_velocities_are_not_given_are_at_rest() {
    let mut world = World::new(Settings::default()).unwrap();
    for x in [0.0, 0.3] {
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::X * x);
        world.add_body(ball).unwrap();
    }
    let (rest, mut found) = ([[0.0; 6]; 2], [Vec::new(), Vec::new()]);
    for (v, found) in [&rest[..], &[]].into_iter().zip(&mut found) {
        let mut detector = Detector::new(None);
        detector.find_pairs(world.model(), world.state(), v, 0.005, 0.11);
        detector.find_contacts(world.model(), world.state(), v, 0.005, 0.11, found);
    }
    assert_eq!(found[0].len(), 1, "they are within the envelope");
    assert_eq!(found[0], found[1]);
}
