//! A wall on still ground stands without creeping; on ground that sinks or rises it cracks where it must.

use drystone::{Stabilisation, World};
use serde_json::json;

use crate::common::{Results, number, run, run_with, scene};

#[test]
fn bond_is_running() {
    let scene = scene("wall", &[("width", "4"), ("height", "3"), ("joint", "0.01")]);
    assert_eq!(scene.bodies.len(), 4 + 5 + 4 + 2);
    let ends = |k: usize| {
        let b = &scene.bodies[k];
        let half = b.colliders[0].shape.aabb(&drystone::Pose::IDENTITY).max.x;
        [b.position.x - half, b.position.x + half]
    };
    // Courses end flush, and no vertical joint lies over another.
    let flush = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    flush(ends(0)[0], ends(4)[0]);
    flush(ends(3)[1], ends(8)[1]);
    for lower in 0..3 {
        for upper in 4..8 {
            let (a, b) = (ends(lower)[1], ends(upper)[1]);
            assert!((a - b).abs() > 0.2, "{a} {b}");
        }
    }
    // Half bricks weigh half.
    flush(scene.bodies[4].mass.mass, 0.5 * scene.bodies[5].mass.mass);
}

#[test]
fn wall_stands_on_still_ground() {
    let (_, results) = run(scene("wall", &[("settle", "0"), ("width", "6"), ("height", "6"), ("T", "1.5")]));
    assert_eq!(results["standing"], true, "{results:?}");
    assert_eq!((number(&results, "ground_m"), number(&results, "detached_count")), (0.0, 0.0));
    assert!(number(&results, "lateral_m") < 1e-5, "{results:?}");
    assert!(number(&results, "creep_m_s") < 1e-5, "{results:?}");
}

/// Small walls that crack in the same way as the large one.
const SMALL: [(&str, &str); 4] = [("width", "6"), ("height", "5"), ("speed", "0.2"), ("T", "2")];

fn cracked(settle: &str, stabilisation: &str) -> (World, Results) {
    let scene = scene("wall", &[&SMALL[..], &[("settle", settle)]].concat());
    let mut settings = scene.settings.clone();
    settings.stabilisation = Stabilisation::parse(stabilisation).unwrap();
    run_with(scene, settings)
}

#[test]
fn wall_cracks_over_the_edge_of_ground_that_sinks() {
    let (world, post) = cracked("0.25", "post");
    assert_eq!(post["standing"], false, "{post:?}");
    assert!((number(&post, "ground_m") + 0.25).abs() < 1e-12);
    // The crack climbs from the edge to the right in steps of half a brick; what lies over it stays up.
    assert_eq!(post["open_joints"], json!([[3, 9], [10, 16], [17, 23], [24, 30]]), "{post:?}");
    let detached: Vec<u64> =
        post["detached"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap()).collect();
    assert!([16, 23, 30].iter().all(|i| detached.contains(i)), "{post:?}");
    assert!(detached.iter().all(|i| [9, 16, 22, 23, 29, 30, 31].contains(i)), "{post:?}");
    assert!(number(&post, "floor_force_over_weight") > 0.99);

    // The other stabilisation moves every brick to the same place within a tenth of its height: less than it
    // takes to be detached.
    let (other, clamped) = cracked("0.25", "clamped");
    for i in world.model().dynamic() {
        let apart = (world.state().position[i] - other.state().position[i]).length();
        assert!(apart < 0.05, "brick {i} is {apart} m away");
    }
    assert_eq!(post["open_joints"], clamped["open_joints"]);
}

#[test]
fn wall_cracks_over_ground_that_rises() {
    let (_, results) = cracked("-0.25", "post");
    assert!((number(&results, "ground_m") - 0.25).abs() < 1e-12);
    assert_eq!(results["standing"], false);
    // All of the ground: the wall goes with it, whole.
    let all = [&SMALL[..], &[("settle", "-0.25"), ("part", "1")]].concat();
    let (world, results) = run(scene("wall", &all));
    assert_eq!(results["standing"], true, "{results:?}");
    assert!(world.state().position[0].z > 0.49);
}
