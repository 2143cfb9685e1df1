//! Trucks carry pallets and roll over; a spider walks.

use drystone::{Settings, Stabilisation};

use crate::common::{number, run, run_with, scene};

#[test]
fn a_truck_picks_up_a_pallet_carries_it_and_sets_it_down() {
    let (world, results) = run(scene("forklift", &[]));
    assert_eq!(results["bilaterals_a_truck"], 34, "as in the paper");
    assert_eq!((&results["delivered"], &results["upright"]), (&1.into(), &1.into()), "{results:?}");
    // Raised by the height asked for less the play under its deck; then on the ground, turned and shifted
    // with the truck.
    let lifted = number(&results, "pallet_highest_m");
    assert!((0.3..0.5).contains(&lifted), "{results:?}");
    assert!(number(&results, "pallet_moved_m") > 1.5, "{results:?}");
    assert!((number(&results, "heading_deg") - 90.0).abs() < 10.0, "{results:?}");
    assert!(number(&results, "lift_error_max_m") < 1e-4, "{results:?}");
    assert!(world.joint_error().position < 3e-5, "{:?}", world.joint_error());
    // It stands still at the end: so does the pallet.
    let speed = (0..8).map(|i| world.state().velocity[i].length()).fold(0.0, f64::max);
    assert!(speed < 2e-3, "{speed}");
}

#[test]
fn while_it_is_carried_the_pallet_is_up() {
    let (_, results) = run(scene("forklift", &[("T", "6.5")]));
    let z = results["pallet_position_m"][2].as_f64().unwrap();
    assert!((0.3..0.5).contains(&z), "{results:?}");
    // Four degrees back, with the mast.
    assert!((number(&results, "pallet_tilt_deg") - 4.0).abs() < 0.5, "{results:?}");
    assert_eq!(results["delivered"], 0);
}

#[test]
fn a_bend_taken_too_fast_ends_on_the_guard() {
    let (world, results) = run(scene("forklift", &[("program", "roll-over"), ("T", "6")]));
    assert_eq!(results["upright"], 0, "{results:?}");
    assert!(number(&results, "truck_tilt_deg") > 60.0, "{results:?}");
    // Frame and guard carry it: nothing has sunk in.
    assert!(world.state().position[0].z > 0.2, "{}", world.state().position[0]);
    assert!(world.joint_error().position < 1e-3, "{:?}", world.joint_error());
}

#[test]
fn trucks_side_by_side_do_the_same() {
    let (_, results) = run(scene("forklift", &[("count", "3"), ("T", "5")]));
    let (_, alone) = run(scene("forklift", &[("T", "5")]));
    assert_eq!(results["trucks"], 3);
    let difference = number(&results, "pallet_highest_m") - number(&alone, "pallet_highest_m");
    assert!(difference.abs() < 1e-3, "{difference}");
}

#[test]
fn the_spider_walks_two_lengths_of_its_body() {
    let (world, results) = run(scene("spider", &[]));
    assert_eq!(results["parts"], 37);
    assert_eq!(world.bilaterals(), 216);
    assert_eq!(results["fallen"], false, "{results:?}");
    assert!(number(&results, "body_lengths") > 2.0, "{results:?}");
    assert!(number(&results, "tilt_max_deg") < 10.0, "{results:?}");
    assert!(world.joint_error().position < 1e-3, "{:?}", world.joint_error());
}

#[test]
fn without_friction_the_spider_stays_where_it_is() {
    let (_, results) = run(scene("spider", &[("mu", "0"), ("T", "4")]));
    assert!(number(&results, "body_lengths").abs() < 0.5, "{results:?}");
}

/// With stabilisation inside the velocity problem and a few sweeps: the papers' schemes on the papers'
/// mechanisms.
fn papers(
    name: &str,
    set: &[(&str, &str)],
    solver: &str,
    iterations: usize,
    stabilisation: &str,
) -> (drystone::World, crate::common::Results) {
    let scene = scene(name, set);
    let stabilisation = Stabilisation::parse(stabilisation).unwrap();
    let settings = Settings {
        solver: solver.into(),
        iterations,
        tolerance: 0.0,
        stabilisation,
        ..scene.settings.clone()
    };
    run_with(scene, settings)
}

/// The published 50 symmetric sweeps [TasoraAnitescu2008, section 3.1] are too few for our spider, whose
/// trunk is heavy and whose links are light: it gives way under its weight. But it holds together, and with
/// four times as many it walks.
#[test]
fn the_spider_holds_together_by_symmetric_sweeps() {
    for text in ["scaled:K=0.2", "scaled:K=0.5", "scaled:K=1", "clamped"] {
        let (world, results) = papers("spider", &[], "pssor", 50, text);
        println!("{text}: {:?} {results:?}", world.joint_error());
        assert!(world.joint_error().position < 0.05, "{text}: {:?}", world.joint_error());
        assert!(world.energy().kinetic < 1.0, "{text}: {:?}", world.energy());
    }
    let (world, results) = papers("spider", &[], "pssor", 200, "scaled:K=0.5");
    assert_eq!(results["fallen"], false, "{results:?}");
    assert!(number(&results, "body_lengths") > 1.5, "{results:?}");
    assert!(world.joint_error().position < 0.01, "{:?}", world.joint_error());
}

/// With limbs that weigh ten times as much and turn ten times as hard again, fifty do: the paper gives
/// neither masses nor moments of inertia.
#[test]
fn a_spider_of_heavy_limbs_walks_by_fifty_symmetric_sweeps() {
    let heavy = [("limbs", "10"), ("inertia", "10")];
    for text in ["scaled:K=0.5", "scaled:K=1"] {
        let (world, results) = papers("spider", &heavy, "pssor", 50, text);
        assert_eq!(results["fallen"], false, "{text}: {results:?}");
        assert!(number(&results, "body_lengths") > 2.5, "{text}: {results:?}");
        assert!(world.joint_error().position < 0.01, "{text}: {:?}", world.joint_error());
    }
}

/// Sweeps of Jacobi with corrections in the velocities [TasoraAnitescu2011, section 6.1].
#[test]
fn the_truck_delivers_by_twenty_jacobi_sweeps() {
    for (text, iterations, within) in
        [("scaled:K=1", 20, 4e-3), ("clamped", 20, 4e-3), ("scaled:K=1", 80, 2e-3)]
    {
        let (world, results) = papers("forklift", &[], "pgj", iterations, text);
        assert_eq!(
            (&results["delivered"], &results["upright"]),
            (&1.into(), &1.into()),
            "{text}: {results:?}"
        );
        assert!(world.joint_error().position < within, "{text}: {:?}", world.joint_error());
    }
}
