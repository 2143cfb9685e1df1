//! Arches stand iff they are thick enough, and only if they do not slide.

use drystone::World;

use crate::common::{Results, number, run, scene};

fn arch(blocks: &str, ratio: &str, mu: &str) -> (World, Results) {
    let set = [
        ("blocks", blocks),
        ("thickness_ratio", ratio),
        ("mu", mu),
        ("T", "3"),
        ("h", "0.01"),
        ("radius", "1"),
    ];
    run(scene("arch", &set))
}

#[test]
fn blocks_fill_the_arch() {
    let scene = scene("arch", &[("thickness_ratio", "0.2"), ("blocks", "12")]);
    let mass: f64 = scene.bodies[..12].iter().map(|b| b.mass.mass).sum();
    // Twelve trapezoids between the chords of the circles of 1.8 m and 2.2 m, 0.8 m wide.
    let section = 12.0 * 0.5 * (2.2f64.powi(2) - 1.8f64.powi(2)) * (std::f64::consts::PI / 12.0).sin();
    assert!((mass / (2000.0 * 0.8 * section) - 1.0).abs() < 1e-12, "{mass}");
    let world = scene.world(scene.settings.clone()).unwrap();
    for k in 0..11 {
        let [a, b] = [k, k + 1].map(|i| world.model().id(i).unwrap());
        assert!(world.distance(a, b).unwrap().abs() < 1e-12);
    }
}

/// The limits for few blocks are the table's of published thrust lines with hinges at joints only.
#[test]
fn arches_of_few_blocks_stand_iff_they_are_thick_enough() {
    for (blocks, thin, thick) in [("7", "0.094", "0.098"), ("11", "0.103", "0.107")] {
        let (_, falls) = arch(blocks, thin, "1");
        assert_eq!(falls["standing"], false, "{blocks} blocks, {thin}: {falls:?}");
        assert!(number(&falls, "crown_drop_m") > 0.1, "{falls:?}");
        let (_, stands) = arch(blocks, thick, "1");
        assert_eq!(stands["standing"], true, "{blocks} blocks, {thick}: {stands:?}");
        assert!(number(&stands, "largest_displacement_m") < 1e-5, "{stands:?}");
        assert!((number(&stands, "floor_force_over_weight") - 1.0).abs() < 1e-4, "{stands:?}");
    }
}

#[test]
fn a_thick_arch_falls_if_its_joints_slide() {
    let (_, results) = arch("11", "0.2", "0.2");
    assert_eq!(results["standing"], false, "{results:?}");
    let (_, results) = arch("11", "0.2", "0.6");
    assert_eq!(results["standing"], true, "{results:?}");
}
