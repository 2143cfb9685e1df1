//! Mechanisms without contact, against closed forms and published solutions; with the settings of their
//! scenes.

use drystone::{Integrator, Settings};

use crate::common::{number, run, run_with, scene};

fn close(x: f64, expected: f64, within: f64) {
    assert!((x - expected).abs() <= within, "{x}, expected {expected} within {within}");
}

/// The benchmark's numbers, and those of the closed form.
#[test]
fn pendulum_of_the_benchmark() {
    let (world, r) = run(scene("pendulum", &[]));
    close(number(&r, "period_s"), 2.3678419, 1e-7);
    close(number(&r, "x_m"), -0.275087, 1e-6);
    close(number(&r, "z_m"), -0.961419, 1e-6);
    close(number(&r, "expected_x_m"), -0.275087, 1e-6);
    assert!(number(&r, "largest_error_m") < 1e-8, "{r:?}");
    assert!(number(&r, "energy_change_max_j") < 1e-8, "{r:?}");
    assert!(world.joint_error().position < 1e-12);
}

/// Through positions in which all bars lie in one line, twice a turn.
#[test]
fn four_bars_of_the_benchmark() {
    let (_, r) = run(scene("four-bar", &[]));
    close(number(&r, "turn_s"), 1.9425149, 1e-6);
    close(number(&r, "x_m"), 0.328458, 1e-5);
    close(number(&r, "z_m"), 0.944519, 1e-5);
    close(number(&r, "expected_x_m"), 0.328458, 1e-6);
    close(number(&r, "expected_z_m"), 0.944519, 1e-6);
    assert!(number(&r, "joint_error_max_m") < 1e-9, "{r:?}");
}

/// The order of the scheme by name; and 1e-6 by default, where what turns far in a step takes substeps.
#[test]
fn andrews_arrives_where_he_should() {
    let by_default = number(&run(scene("andrews", &[("h", "0.0001")])).1, "largest_error_rad");
    assert!(by_default < 1e-6, "{by_default:e}");
    let off = |h: &str| {
        let scene = scene("andrews", &[("h", h)]);
        let settings = Settings { integrator: Integrator::Rattle { order: 4 }, ..scene.settings.clone() };
        number(&run_with(scene, settings).1, "largest_error_rad")
    };
    let (coarse, middle, fine) = (off("0.0001"), off("0.00005"), off("0.000025"));
    // Between the two finest a term of higher order counts as well: 3.46.
    let order = (coarse / middle).log2();
    println!(
        "Andrews: off by {coarse:.2e}, {middle:.2e}, {fine:.2e} rad at 100, 50, 25 µs: order {order:.2}"
    );
    assert!(fine < 1e-4 && order > 3.5, "{coarse:.3e} {middle:.3e} {fine:.3e}: order {order}");
}

#[test]
fn top_nods_and_precesses() {
    let (_, r) = run(scene("top", &[("T", "2")]));
    for (key, within) in
        [("nutation_period_s", 1e-6), ("precession_per_nod_rad", 1e-6), ("largest_tilt_deg", 1e-3)]
    {
        let expected = number(&r, &format!("expected_{key}"));
        close(number(&r, key) / expected, 1.0, within);
    }
    assert!(number(&r, "energy_change_max_j") < 1e-6, "{r:?}");
}

/// The speed at which the closed form's force vanishes at the top of the lift.
#[test]
fn the_follower_lifts_off_where_it_must() {
    for set in [&[][..], &[("preload", "50"), ("e", "0.015")], &[("stiffness", "0"), ("preload", "0")]] {
        let (_, r) = run(scene("cam", set));
        let expected = number(&r, "expected_lift_off_rad_s");
        close(number(&r, "lift_off_by_force_rad_s") / expected, 1.0, 5e-3);
        // It is seen at the first top beyond, a turn later at most.
        let seen = number(&r, "lift_off_rad_s") / expected;
        assert!((0.995..1.02).contains(&seen), "{set:?}: {seen}");
        assert!(number(&r, "largest_gap_m") > 1e-6, "{set:?}: {r:?}");
    }
    // Below that speed it stays on the cam.
    let (_, r) = run(scene("cam", &[("from", "0.8"), ("to", "0.97"), ("T", "1")]));
    assert!(r["lift_off_rad_s"].is_null() && number(&r, "largest_gap_m") < 1e-6, "{r:?}");
}

/// Sliding, and hopping at 2.5 g, beside a point mass.
#[test]
fn parts_go_forward_as_a_point_mass_does() {
    for (set, within) in [
        (&[][..], 0.03),
        // Slips all the time: of first order in the step.
        (&[("mu", "0.2"), ("angle_deg", "20")], 0.04),
        (&[("frequency", "50")], 0.05),
    ] {
        let (_, r) = run(scene("feeder", &[&[("T", "0.5")][..], set].concat()));
        let expected = number(&r, "point_mass_speed_m_s");
        assert!(expected > 1e-3, "{set:?}: {r:?}");
        close(number(&r, "speed_m_s") / expected, 1.0, within);
    }
}
