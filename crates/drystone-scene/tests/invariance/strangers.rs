//! The number of a step and bodies far away change no bit.

use drystone::{BodyDef, Shape};
use drystone_scene::zoo::scene;
use glam::DVec3;

use crate::{bits, steps};

/// A run that begins at another step number is the same run.
#[test]
fn the_number_of_a_step_does_not_matter() {
    for seed in 1..=150 {
        let (mut a, mut b) = (scene(seed).unwrap(), scene(seed).unwrap());
        let mut later = b.world.state().clone();
        later.step += 12_345;
        b.world.restore(later).unwrap();
        let n = a.world.model().bodies.len();
        for k in 0..steps(&a) {
            // The first step of a world assembles joints, wherever it is.
            let (ra, rb) = (a.world.step(), b.world.step());
            assert_eq!(ra.is_ok(), rb.is_ok(), "seed {seed}, {}, step {k}", a.kind.name);
            if ra.is_err() {
                break;
            }
            let n = n.min(a.world.model().bodies.len());
            assert_eq!(bits(&a.world, n), bits(&b.world, n), "seed {seed}, {}, step {k}", a.kind.name);
        }
    }
}

/// A heavy body that flies past half a kilometre away changes no bit.
#[test]
fn strangers_do_not_matter() {
    let mut compared = 0;
    for seed in 1..=250 {
        let (mut a, mut b) = (scene(seed).unwrap(), scene(seed).unwrap());
        // Emitters and periodic worlds leave no room for strangers; belts do not keep their bits yet.
        if ["emitter", "periodic", "belt"].contains(&a.kind.name) {
            continue;
        }
        let n = a.world.model().bodies.len();
        let (far, fast) = (DVec3::new(700.0, 300.0, 500.0), DVec3::new(3.0, 100.0, 0.0));
        let heavy = BodyDef::dynamic(Shape::Sphere { radius: 20.0 }, 1e6).at(far).moving(fast, DVec3::ZERO);
        b.world.add_body(heavy).unwrap();
        for k in 0..steps(&a) {
            let (ra, rb) = (a.world.step(), b.world.step());
            if ra.is_err() || rb.is_err() {
                break;
            }
            assert_eq!(bits(&a.world, n), bits(&b.world, n), "seed {seed}, {}, step {k}", a.kind.name);
        }
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}
