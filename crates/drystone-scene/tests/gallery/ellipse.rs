//! The overlap of a falling ellipse with the table, by step and stabilisation.

use drystone::Stabilisation;

use crate::common::{Results, number, run_with, scene};

fn fall(h: f64, stabilisation: &str) -> Results {
    let scene = scene("ellipse", &[("h", &h.to_string())]);
    let mut settings = scene.settings.clone();
    settings.stabilisation = Stabilisation::parse(stabilisation).unwrap();
    run_with(scene, settings).1
}

#[test]
fn infeasibility_is_of_second_order_with_stabilisation_and_of_first_without() {
    let (coarse, fine) = (0.02, 0.02 / 16.0);
    for (stabilisation, least, most) in [("none", 0.9, 1.1), ("scaled:K=1", 1.8, 2.4)] {
        let [a, b] = [coarse, fine].map(|h| number(&fall(h, stabilisation), "infeasibility_max_m"));
        let slope = (a / b).log2() / 4.0;
        assert!((least..most).contains(&slope), "{stabilisation}: {a} and {b}, slope {slope}");
    }
}

#[test]
fn it_lands_when_and_where_it_must() {
    let h = 0.0025;
    let results = fall(h, "scaled:K=1");
    // In free fall the centre is at 8 - g t²/2, the long axis at the angle 3 t, and the ellipse reaches
    // sqrt(16 sin² + 4 cos²) below its centre.
    let height = |t: f64| {
        let (sin, cos) = (3.0 * t).sin_cos();
        8.0 - 0.5 * 9.81 * t * t - (16.0 * sin * sin + 4.0 * cos * cos).sqrt()
    };
    let (mut above, mut below) = (0.5, 1.2);
    for _ in 0..60 {
        let t = 0.5 * (above + below);
        if height(t) > 0.0 { above = t } else { below = t }
    }
    let landed = number(&results, "touches_at_s");
    assert!(landed >= above - 4.0 * h && landed <= above + 4.0 * h, "{landed}, expected {above}");
    assert_eq!(number(&results, "off_plane_m"), 0.0);
    let series = results["infeasibility_over_time"].as_array().unwrap();
    assert!(series.len() <= 100 && series.len() > 50);
    let most = series.iter().map(|p| p[1].as_f64().unwrap()).fold(0.0, f64::max);
    assert_eq!(most, number(&results, "infeasibility_max_m"));
}
