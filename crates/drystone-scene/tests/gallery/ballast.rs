//! Stones of all shapes come to rest on uneven ground, and none goes through it.

use crate::common::{number, run, scene};

#[test]
fn stones_come_to_rest_on_the_ground() {
    let scene = scene("ballast", &[("n", "30"), ("T", "1.6")]);
    let volume = |i: usize| scene.bodies[i].colliders[0].shape.volume();
    let faces: Vec<usize> = (0..30)
        .map(|i| match &scene.bodies[i].colliders[0].shape {
            drystone::Shape::Hull(hull) => hull.faces().len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!((0..30).all(|i| (volume(i) / volume(0) - 1.0).abs() < 1e-9));
    assert!(faces.iter().any(|n| *n != faces[0]), "all alike: {faces:?}");
    let (world, results) = run(scene);
    assert_eq!(results["lost"], 0, "{results:?}");
    assert!((number(&results, "floor_force_over_weight") - 1.0).abs() < 0.1, "{results:?}");
    assert!(number(&results, "mean_speed_m_s") < 0.05, "{results:?}");
    assert!(number(&results, "heap_height_m") < 0.2, "{results:?}");
    // Thrown together into a bowl, they touch each other too.
    assert!(world.contacts().iter().any(|c| c.bodies[1] < 30 && c.normal_impulse() > 0.0));
}

#[test]
fn stones_leave_by_the_edge_if_pushed() {
    let scene = scene("ballast", &[("n", "4"), ("T", "0.4")]);
    let mut scene = drystone_scene::Scene { bodies: scene.bodies.clone(), ..scene };
    scene.bodies[0].velocity.x = -20.0;
    let (_, results) = run(scene);
    assert_eq!(results["lost"], 1, "{results:?}");
}
