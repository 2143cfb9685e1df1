//! The pebble-bed reactor, small: the vessel fills, and pebbles go round.

use std::f64::consts::PI;

use drystone::{Motion, World};
use drystone_scene::load;

use crate::common::{number, run, scene};

const D: f64 = 0.06;
const VOLUME: f64 = PI / 6.0 * D * D * D;

/// Distances of the centres of pebbles of each kind from the axis: lighter ones are graphite.
fn radii(world: &World) -> [Vec<f64>; 2] {
    let mut kinds = [Vec::new(), Vec::new()];
    for i in world.model().dynamic() {
        let kind = usize::from(world.model().bodies[i].mass.mass > 0.2);
        kinds[kind].push(world.state().position[i].truncate().length());
    }
    kinds
}

#[test]
fn graphite_starts_in_the_middle() {
    let scene = scene("pbr", &[("n", "800"), ("core", "0.4")]);
    let world = scene.world(scene.settings.clone()).unwrap();
    let [graphite, fuel] = radii(&world);
    assert_eq!(graphite.len() + fuel.len(), 800);
    let radius = 1.25 * (800.0f64 / 170_000.0).cbrt();
    let inner = graphite.iter().copied().fold(0.0, f64::max);
    let outer = fuel.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(inner < 0.4 * radius && outer >= 0.4 * radius, "{inner} {outer}");
    // As many as the areas say, the outermost half pebble being empty of centres.
    let share = (0.4 * radius / (radius - 0.5 * D)).powi(2);
    assert!((graphite.len() as f64 / 800.0 - share).abs() < 0.25 * share, "{} {share}", graphite.len());
    assert_eq!(scene.bodies.iter().filter(|b| b.motion == Motion::Static).count(), 2);
}

/// Fills, then circulates: nothing is lost, hardly anything overlaps, and the bed sinks as fast as pebbles
/// are taken out.
#[test]
fn vessel_fills_and_circulates() {
    let (world, results) = run(scene("pbr", &[("n", "800"), ("fill", "1"), ("rate", "40"), ("T", "2.5")]));
    assert_eq!(world.model().dynamic().count(), 800);
    assert_eq!((&results["pebbles"], &results["outside"]), (&800.into(), &0.into()), "{results:?}");
    // Due at 1 s + 1.495 s: each chute counts for itself, so up to one of each is still to come.
    let out = number(&results, "taken_out");
    assert!(out == number(&results, "put_in") && (51.0..=60.0).contains(&out), "{results:?}");
    assert!(number(&results, "filled_s") < 1.0, "{results:?}");
    // At no time more than the distance at which contacts begin, g h² + 0.002 r.
    assert!(number(&results, "max_overlap_over_r") < 9.81 * 0.005f64.powi(2) / 0.03 + 0.002, "{results:?}");
    assert!(number(&results, "last_overlap_over_r") < 1e-3, "{results:?}");
    // So narrow a vessel is looser than a wide one.
    let fraction = number(&results, "packing_fraction");
    assert!((0.54..0.66).contains(&fraction), "{results:?}");
    // Whatever leaves a cross section below comes down through it: rate = v φ A / V.
    let radius = number(&results, "vessel_radius_m");
    let rings = results["packing_fraction_by_radius"].as_array().unwrap();
    let total = rings.len() as f64;
    let mean: f64 =
        rings.iter().enumerate().map(|(k, f)| f.as_f64().unwrap() * (2 * k + 1) as f64).sum::<f64>()
            / (total * total);
    let speed = out / 1.5 * VOLUME / (mean * PI * radius * radius);
    let measured = number(&results, "mean_downward_speed_m_s");
    assert!((measured / speed - 1.0).abs() < 0.25, "{measured} {speed} {results:?}");
    // Mixed through it would be 2 · ¼ · ¾.
    assert!(number(&results, "mixed_share") < 0.2, "{results:?}");
    let changed = number(&results, "mixed_share") - number(&results, "mixed_share_first");
    assert!(changed.abs() < 0.03, "{results:?}");
}

#[test]
fn filling_alone_takes_nothing_out() {
    let (world, results) =
        run(scene("pbr", &[("n", "600"), ("phase", "fill"), ("fill", "0.1"), ("T", "0.5")]));
    assert_eq!(world.model().dynamic().count(), 600);
    assert!(world.emitted().is_empty() && !results.contains_key("taken_out"), "{results:?}");
}

#[test]
fn parameters_are_checked() {
    let error =
        |key: &str, value: &str| load("pbr", &[(key.into(), value.into())]).err().unwrap().to_string();
    assert!(error("n", "201").contains("set 'radius'"));
    let few = [("n".into(), "5000".into()), ("radius".into(), "5".into())];
    let hardly = load("pbr", &few).err().unwrap().to_string();
    assert!(hardly.contains("radius: 5000 pebbles hardly fill the cone"), "{hardly}");
    assert!(error("outlet", "0.01").contains("outlet: must be a number from 0.06"));
    assert!(error("phase", "drain").contains("must be one of fill, circulate"));
    assert!(error("rate", "-1").contains("rate: must be"));
}
