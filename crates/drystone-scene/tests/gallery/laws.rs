//! Scenes that live by their contact laws and by what moves them. Small versions; the slow suite has the
//! papers' sizes.

use crate::common::{near, number, run, scene};

#[test]
fn large_ball_rises() {
    let (_, results) = run(scene("brazil-nut", &[("n", "120"), ("across", "4"), ("h", "0.05"), ("T", "20")]));
    let (first, last) = (number(&results, "nut_height_first_m"), number(&results, "nut_height_last_m"));
    assert!(last > first + 1.0, "{results:?}");
    assert!(results["nut_height_m"].as_array().is_some_and(|a| a.len() > 25));
}

#[test]
fn large_ball_stays_without_shaking() {
    let (_, results) =
        run(scene("brazil-nut", &[("n", "120"), ("across", "4"), ("T", "10"), ("amplitude", "0")]));
    near(&results, "nut_height_last_m", 2.0, 0.05);
}

/// μ g t = s: after 0.25 s the box has the belt's speed, and is delivered with it.
#[test]
fn belt_delivers() {
    let (_, results) = run(scene("conveyor", &[("T", "9")]));
    let t = 1.0 / (0.4 * 9.81);
    near(&results, "nine_tenths_at_s", 0.9 * t, 0.05);
    near(&results, "mean_speed_m_s", 1.0, 0.03);
    assert!(number(&results, "delivered") >= 3.0, "{results:?}");
}

/// Where the bracket is negative the rod jams at once, where it is positive it slides on; no energy comes
/// from nowhere.
#[test]
fn rod_jams_where_it_must() {
    let (_, jams) = run(scene("painleve", &[("T", "0.3")]));
    let (_, slides) = run(scene("painleve", &[("T", "0.3"), ("mu", "0.3")]));
    assert_eq!((&jams["paradox"], &slides["paradox"]), (&true.into(), &false.into()));
    assert!(number(&jams, "jammed_at_s") < 0.02, "{jams:?}");
    assert!(number(&jams, "largest_force_over_weight") > 50.0, "{jams:?}");
    assert!(slides["jammed_at_s"].is_null() || number(&slides, "jammed_at_s") > 0.1, "{slides:?}");
    for results in [&jams, &slides] {
        assert!(number(results, "energy_gain_j") < 1e-3, "{results:?}");
    }
}

#[test]
fn drum_keeps_an_angle() {
    let (_, results) = run(scene("drum", &[("n", "200"), ("T", "3")]));
    let angle = number(&results, "repose_angle_deg");
    assert!((15.0..45.0).contains(&angle), "{results:?}");
    assert_eq!(results["lost"], 0);
}

#[test]
fn hopper_empties() {
    let (_, results) = run(scene("hopper", &[("n", "400"), ("T", "2")]));
    assert!(number(&results, "flowed_out") > 250.0, "{results:?}");
    let (rate, formula) = (number(&results, "rate_kg_s"), number(&results, "beverloo_kg_s"));
    assert!(rate / formula > 0.4 && rate / formula < 1.6, "{results:?}");
}

#[test]
fn soil_resists() {
    let (_, cone) = run(scene("penetrometer", &[("n", "400"), ("T", "1.2"), ("settle", "0.5")]));
    assert!(number(&cone, "resistance_n") > 2.0 * number(&cone, "resistance_first_n"), "{cone:?}");
    let (_, shear) = run(scene("shear", &[("n", "200"), ("T", "1.2"), ("settle", "0.5")]));
    assert!((0.2..1.5).contains(&number(&shear, "steady_ratio")), "{shear:?}");
}

/// What turns faster than it rolls pulls, what does not turn is in the way; the sand bears the load in both.
#[test]
#[ignore = "takes minutes"]
fn wheels_on_sand_pull_by_their_slip() {
    let small =
        [("n", "500"), ("radius", "0.06"), ("width", "0.06"), ("load", "2"), ("settle", "0.4"), ("T", "1.2")];
    let [pull, drag] = ["0.6", "-4"].map(|slip| {
        let (_, r) = run(scene("wheel", &[&small[..], &[("slip", slip)]].concat()));
        near(&r, "push_up_over_weight", 1.0, 0.1);
        assert!(number(&r, "sinkage_m") > 0.0, "{r:?}");
        number(&r, "drawbar_over_weight")
    });
    // No more than the sand's own friction, tan 35°.
    assert!(pull > drag && pull < 0.7 && drag < 0.0, "{pull} {drag}");
}

/// One ball falls, one ball rises; with e < 1 less of it.
#[test]
fn cradle_hands_on() {
    let (_, results) = run(scene("cradle", &[]));
    near(&results, "last_rise_over_drop", 1.0, 0.02);
    assert!(number(&results, "others_rise_over_drop") < 0.02, "{results:?}");
    let (_, dull) = run(scene("cradle", &[("n", "2"), ("e", "0.5")]));
    // v' = (1 + e)/2 v, and heights go with the square.
    near(&dull, "last_rise_over_drop", 0.75f64.powi(2), 0.02);
}

#[test]
fn soil_has_an_angle_of_friction() {
    let (_, results) =
        run(scene("triaxial", &[("n", "150"), ("T", "1.7"), ("settle", "0.8"), ("rate", "4")]));
    let angle = number(&results, "friction_angle_deg");
    assert!((12.0..50.0).contains(&angle), "{results:?}");
    assert!((0.45..0.72).contains(&number(&results, "solid_fraction")), "{results:?}");
}
