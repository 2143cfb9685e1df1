//! Meshes and compounds change nothing about reproducibility.

use std::sync::Arc;

use crate::mesh_common::{field, irregular, mesh};
use drystone::random::Random;
use drystone::{BodyDef, Compound, Pose, Settings, Shape, World};
use glam::DVec3;

/// Bodies of all kinds rain onto ground of triangles.
fn rain(ground: &Shape, bodies: usize) -> World {
    let mut w = World::new(Settings { h: 0.005, iterations: 60, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(ground.clone()).friction(0.5)).unwrap();
    let mut random = Random::new(11);
    let dumbbell = Compound::new(vec![
        (Pose::at(DVec3::X * 0.1), Shape::Sphere { radius: 0.08 }),
        (Pose::at(-DVec3::X * 0.1), Shape::Box { half: DVec3::splat(0.06) }),
    ]);
    let dumbbell = Arc::new(dumbbell.unwrap());
    for k in 0..bodies {
        let shape = match k % 4 {
            0 => Shape::Sphere { radius: 0.1 },
            1 => Shape::Box { half: DVec3::new(0.1, 0.08, 0.06) },
            2 => Shape::Capsule { radius: 0.06, half_length: 0.1 },
            _ => Shape::Compound(dumbbell.clone()),
        };
        let layer = (k / 49) as f64;
        let at = DVec3::new((k % 7) as f64 * 0.4 - 1.2, (k / 7 % 7) as f64 * 0.4 - 1.2, 0.3 + 0.3 * layer);
        let def = BodyDef::dynamic(shape, 1.0)
            .at(at + 0.05 * random.unit_vector())
            .turned(random.rotation())
            .friction(0.5);
        w.add_body(def).unwrap();
    }
    w
}

#[test]
fn the_same_for_one_thread_and_two() {
    let bump = |x: f64, y: f64| 0.15 * (2.0 * x).sin() * (1.5 * y).cos();
    for ground in [mesh(irregular(5.0, 24, 3, bump)), field(26, 26, 0.2, bump)] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut w = rain(&ground, 294);
                let mut most = 0;
                for _ in 0..90 {
                    most = most.max(w.step().unwrap().contacts);
                }
                assert!(most > 300, "only {most} contacts: too few for several chunks");
                w.state().hash()
            })
        };
        assert_eq!(run(1), run(2), "{}", ground.name());
    }
}
