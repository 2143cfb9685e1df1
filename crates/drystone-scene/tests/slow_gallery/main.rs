//! Scenes at full size, minutes in all: run them by name, see CONTRIBUTING.md.

#[path = "../gallery/common.rs"]
mod common;

use common::{near, number, run, run_with, scene};
use drystone::{Settings, Stabilisation};

/// The thinnest semicircular arch with radial joints has t/R = 0.1075 [Milankovitch1907].
#[test]
fn arch_of_forty_blocks_stands_iff_it_is_thick_enough() {
    for (ratio, stands) in [("0.105", false), ("0.107", false), ("0.1085", true), ("0.11", true)] {
        let (_, results) = run(scene("arch", &[("thickness_ratio", ratio)]));
        assert_eq!(results["standing"], stands, "{ratio}: {results:?}");
        if stands {
            assert!(number(&results, "largest_displacement_m") < 1e-4, "{ratio}: {results:?}");
            near(&results, "floor_force_over_weight", 1.0, 1e-3);
        }
    }
}

/// The published wall: the same stair of joints opens and the same bricks but for one leave their places,
/// whichever stabilisation is used. (Solved to 1e-5 m/s only, the lowest joint differs.)
#[test]
fn wall_of_full_size_cracks_in_the_same_way() {
    let [post, clamped] = ["post", "clamped"].map(|text| {
        let scene = scene("wall", &[]);
        let mut settings = scene.settings.clone();
        settings.stabilisation = Stabilisation::parse(text).unwrap();
        run_with(scene, settings)
    });
    assert_eq!(post.1["open_joints"], serde_json::json!([[32, 44], [45, 57], [58, 70], [71, 83], [84, 96]]));
    assert_eq!(post.1["open_joints"], clamped.1["open_joints"]);
    // One brick is at the edge of what counts as loose.
    let loose = |r: &common::Results| -> Vec<u64> {
        r["detached"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap()).collect()
    };
    let [of_post, of_clamped] = [loose(&post.1), loose(&clamped.1)];
    assert!(of_clamped.iter().all(|i| of_post.contains(i)), "{of_clamped:?}, {of_post:?}");
    assert!(of_post.len() - of_clamped.len() <= 1, "{of_clamped:?}, {of_post:?}");
    for i in post.0.model().dynamic() {
        let apart = (post.0.state().position[i] - clamped.0.state().position[i]).length();
        assert!(apart < 0.02, "brick {i} is {apart} m away");
    }
    assert_eq!(post.1["standing"], false);
}

#[test]
fn wall_on_still_ground_does_not_creep() {
    // The proportions that other engines are measured by: ten courses with open vertical joints.
    let scene =
        scene("wall", &[("settle", "0"), ("joint", "0.01"), ("width", "10"), ("T", "5"), ("h", "0.01")]);
    // It creeps by about what the solver leaves.
    let settings = Settings { tolerance: 1e-7, ..scene.settings.clone() };
    let (_, results) = run_with(scene, settings);
    assert_eq!(results["standing"], true);
    assert!(number(&results, "lateral_m") < 1e-5, "{results:?}");
    assert!(number(&results, "creep_m_s") < 1e-6, "{results:?}");
}

#[test]
fn palletizer_fills_its_pallet() {
    let (_, results) = run(scene("palletizer", &[]));
    assert_eq!((&results["placed"], &results["standing"]), (&27.into(), &true.into()), "{results:?}");
    assert!(number(&results, "largest_overlap_m") < 1e-3, "{results:?}");
}

/// Frictionless spheres, poured: random close packing, isostatic but for the few that rattle. They settle
/// slowly: 0.630 after 30 s, 0.632 after 55.
#[test]
fn random_close_packing() {
    let set = [("n", "3000"), ("mu", "0"), ("T", "45"), ("height", "75")];
    let (_, results) = run(scene("packing", &set));
    let fraction = number(&results, "packing_fraction");
    assert!((fraction - 0.64).abs() < 0.01, "{results:?}");
    let contacts = number(&results, "mean_contacts");
    assert!((contacts - 6.0).abs() < 0.4, "{results:?}");
}

/// With much friction they stop sooner and lean on fewer: four each would do.
#[test]
fn frictional_loose_packing() {
    let (_, results) = run(scene("packing", &[("n", "3000"), ("mu", "1"), ("T", "30"), ("height", "75")]));
    let (fraction, contacts) = (number(&results, "packing_fraction"), number(&results, "mean_contacts"));
    assert!((0.55..0.60).contains(&fraction), "{results:?}");
    assert!((3.9..4.6).contains(&contacts), "{results:?}");
}

/// [Anitescu2005] has it at the top after about 40 shakes.
#[test]
fn brazil_nut_of_full_size_rises() {
    let (_, results) = run(scene("brazil-nut", &[]));
    let (first, last) = (number(&results, "nut_height_first_m"), number(&results, "nut_height_last_m"));
    assert!(last > first + 4.0, "{results:?}");
}

/// [RenoufAcary2006]: 800 balls of radius 1 on one of radius 2.
#[test]
fn brazil_nut_of_801_rises() {
    let (_, results) = run(scene("brazil-nut", &[("n", "801"), ("across", "8"), ("h", "0.05")]));
    let (first, last) = (number(&results, "nut_height_first_m"), number(&results, "nut_height_last_m"));
    assert!(last > first + 4.0, "{results:?}");
}
