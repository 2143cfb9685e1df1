//! Every scene builds as it says; packings, shakers, stacks, pyramids, inclines and slides do what they must.

use drystone::{BodyDef, Settings};
use drystone_scene::gallery::{self, ENTRIES};
use drystone_scene::{Scene, load};
use drystone_solve::FrictionLaw;

use crate::common::{near, run, run_with, scene};

fn error(name: &str, key: &str, value: &str) -> String {
    load(name, &[(key.into(), value.into())]).err().expect("must be refused").to_string()
}

#[test]
fn every_scene_builds_without_overlaps() {
    for entry in ENTRIES {
        // Building many spheres is fine, but the test needs no more than a handful.
        let few: &[(&str, &str)] =
            if ["shaker", "pbr"].contains(&entry.name) { &[("n", "3000")] } else { &[] };
        let scene = scene(entry.name, few);
        assert_eq!((scene.name.as_str(), scene.citation.is_some()), (entry.name, true));
        let mut world = scene.world(scene.settings.clone()).unwrap();
        assert_eq!(world.deep_overlaps(1e-12), [], "{}", entry.name);
        // Scenes without ground have none.
        let still = |b: &drystone::BodyDef| b.motion == drystone::Motion::Static;
        let first_static = scene.bodies.iter().position(still).unwrap_or(scene.bodies.len());
        assert!(scene.bodies[first_static..].iter().all(|b| b.motion == drystone::Motion::Static));
        assert!(scene.glass.iter().all(|&g| g < scene.bodies.len()));
    }
}

#[test]
fn entries_can_be_listed() {
    let list = serde_json::to_value(ENTRIES).unwrap();
    let packing = &list[0];
    assert_eq!(packing["name"], "packing");
    assert_eq!(packing["params"][0]["name"], "n");
    assert_eq!(packing["params"][0]["default"], "220");
    assert_eq!(packing["params"][2]["unit"], "m");
    for entry in ENTRIES {
        assert!(["h", "T"].iter().all(|p| entry.params.iter().any(|q| q.name == *p)), "{}", entry.name);
    }
}

#[test]
fn parameters_are_checked() {
    let e = error("packing", "fractoin", "1");
    assert!(e.contains("did you mean 'fraction'") && e.contains("valid: n, fraction, height"), "{e}");
    assert_eq!(error("packing", "n", "many"), "n: must be a whole number from 1 to 10000000, got 'many'");
    assert!(
        error("packing", "height", "-3")
            .contains("height: must be a number above 0, at most 1000000 m, got '-3'")
    );
    assert!(
        error("packing", "shape", "bx")
            .contains("must be one of sphere, box, capsule, hull, mixed, got 'bx'; did you")
    );
    assert!(error("packing", "h", "0").contains("above 0, at most 10 s"));
    assert!(error("packing", "height", "1").contains("height: a body is larger"));
    assert!(error("incline", "angle_deg", "80").contains("from 0 to 75 deg"));
    assert!(error("stack", "ratio", "1e5").contains("heaviest"));
    assert!(error("wall", "joint", "1").contains("from 0 to 0.25 m"));
    assert!(gallery::find("tower").is_err());
}

/// Bodies that move.
fn moving(scene: &Scene) -> Vec<&BodyDef> {
    scene.bodies.iter().filter(|b| b.motion == drystone::Motion::Dynamic).collect()
}

#[test]
fn packing_is_the_papers() {
    let scene = scene("packing", &[]);
    assert_eq!((scene.bodies.len(), scene.settings.h, scene.duration), (225, 0.01, 5.0));
    let ball = &scene.bodies[0];
    assert!((ball.mass.inertia.x_axis.x - 10.24).abs() < 1e-12 && ball.mass.mass == 10.0);
    assert_eq!(scene.glass, [221, 222, 223, 224]);
    for b in moving(&scene) {
        assert!(b.position.x.abs() <= 8.4 && b.position.y.abs() <= 8.4 && b.position.z >= 1.6 - 1e-12);
    }
    // Not a lattice: off the floor and the top, no two are at one height.
    let mut heights: Vec<f64> =
        moving(&scene).iter().map(|b| b.position.z).filter(|z| (1.7..21.9).contains(z)).collect();
    heights.sort_by(f64::total_cmp);
    assert!(heights.len() > 100 && heights.windows(2).all(|w| w[0] < w[1]));
}

#[test]
fn packing_starts_at_the_fraction_asked_for() {
    for set in [
        &[][..],
        &[("fraction", "0.2")],
        &[("fraction", "0.45")],
        &[("height", "60")],
        &[("height", "100")],
        &[("shape", "box")],
        &[("shape", "capsule")],
        &[("shape", "hull"), ("n", "60")],
        &[("shape", "mixed"), ("n", "60")],
    ] {
        let mut scene = scene("packing", set);
        let wanted = set.iter().find(|(k, _)| *k == "fraction").map_or(0.4, |(_, v)| v.parse().unwrap());
        let mut world = scene.world(scene.settings.clone()).unwrap();
        assert_eq!(world.deep_overlaps(1e-12), [], "{set:?}");
        near(&scene.probe.results(&world), "initial_fraction", wanted, 0.01);
        // And by the bodies themselves, between the walls.
        let (floor, wall) = (&scene.bodies[moving(&scene).len()], &scene.bodies[moving(&scene).len() + 2]);
        assert_eq!((floor.name.as_deref(), wall.name.as_deref()), (Some("floor"), Some("wall +x")));
        let section = (2.0 * (wall.position.x - 2.0)).powi(2);
        let top = moving(&scene)
            .iter()
            .map(|b| b.colliders[0].shape.aabb(&drystone::Pose::new(b.position, b.rotation)).max.z)
            .fold(0.0, f64::max);
        let volume: f64 = moving(&scene).iter().map(|b| b.colliders[0].shape.volume()).sum();
        assert!((volume / (section * top) / wanted - 1.0).abs() < 0.01, "{set:?}");
        assert!((volume / moving(&scene).len() as f64 - 17.157_284).abs() < 1e-5, "{set:?}: same volume");
    }
}

#[test]
fn seeds_decide() {
    for (name, n) in [("packing", "100"), ("shaker", "100")] {
        let at = |seed| scene(name, &[("n", n), ("seed", seed)]).bodies;
        assert_eq!(at("5"), at("5"));
        assert_ne!(at("5"), at("6"));
    }
    let turned = |seed| scene("packing", &[("n", "40"), ("shape", "mixed"), ("seed", seed)]).bodies;
    assert_eq!(turned("2"), turned("2"));
    assert_ne!(turned("2")[1].rotation, turned("3")[1].rotation);
}

#[test]
fn packing_settles() {
    let (world, results) = run(scene("packing", &[("n", "60"), ("height", "16"), ("T", "3")]));
    near(&results, "floor_force_over_weight", 1.0, 0.05);
    let contacts = results["mean_contacts"].as_f64().unwrap();
    assert!((3.0..8.0).contains(&contacts), "{results:?}");
    let fraction = results["packing_fraction"].as_f64().unwrap();
    assert!((0.45..0.7).contains(&fraction), "{results:?}");
    assert!(world.speeds().1 < 0.5);
}

#[test]
fn shaker_has_an_opening_and_balls_leave_by_it() {
    let (_, results) = run(scene("shaker", &[("n", "600"), ("T", "1")]));
    let out = results["flowed_out"].as_u64().unwrap();
    assert!(out > 20 && out < 500, "{results:?}");
    near(&results, "flowed_out_share", out as f64 / 600.0, 1e-12);
    assert!(
        results["max_overlap_over_r"].as_f64().unwrap() >= results["last_overlap_over_r"].as_f64().unwrap()
    );
    let (_, closed) = run(scene("shaker", &[("n", "200"), ("opening", "0"), ("T", "0.5")]));
    assert_eq!(closed["flowed_out"], 0);
}

/// Spheres that are hit are pushed into others within the step: corrections must reach as far, or overlaps of
/// some percent stay for a step.
#[test]
fn poured_spheres_hardly_overlap() {
    let (_, results) = run(scene("shaker", &[("n", "1000"), ("T", "0.8")]));
    let deepest = results["max_overlap_over_r"].as_f64().unwrap();
    assert!(deepest < 1e-3, "{deepest} r");
}

#[test]
fn shaker_grows_with_the_cube_root() {
    let width = |n| {
        scene("shaker", &[("n", n)])
            .bodies
            .iter()
            .find(|b| b.name.as_deref() == Some("wall -x"))
            .unwrap()
            .position
            .x
    };
    assert!((width("8000") / width("1000") - 2.0).abs() < 1e-9);
}

#[test]
fn stacks_stand() {
    for shape in ["sphere", "box"] {
        let (_, results) = run(scene("stack", &[("shape", shape), ("T", "1"), ("n", "5")]));
        assert_eq!(results["standing"], true, "{results:?}");
        near(&results, "floor_force_over_weight", 1.0, 0.01);
        assert!(results["top_drop_m"].as_f64().unwrap().abs() < 1e-3);
    }
    let heavy = scene("stack", &[("n", "3"), ("ratio", "10")]);
    assert_eq!(heavy.bodies[..3].iter().map(|b| b.mass.mass).collect::<Vec<_>>(), [1.0, 10.0, 100.0]);
}

#[test]
fn standing_can_be_false() {
    let (_, results) = run(scene("pyramid", &[("mu", "0"), ("T", "0.5")]));
    assert_eq!(results["standing"], false, "{results:?}");
}

#[test]
fn pyramids_have_the_published_bodies_and_stand() {
    for (layers, bodies) in [("4", 10), ("6", 21), ("8", 36), ("10", 55), ("20", 210)] {
        assert_eq!(moving(&scene("pyramid", &[("layers", layers)])).len(), bodies);
    }
    let balls = |base: &str| {
        let scene = scene("pyramid", &[("layers", "4"), ("base", base)]);
        assert_eq!(scene.world(scene.settings.clone()).unwrap().deep_overlaps(1e-12), []);
        moving(&scene).len()
    };
    assert_eq!([balls("line"), balls("triangle"), balls("square")], [10, 20, 30]);
    for (base, layers) in [("line", "4"), ("triangle", "3"), ("square", "3")] {
        let (world, results) = run(scene("pyramid", &[("base", base), ("layers", layers), ("T", "1")]));
        assert_eq!(results["standing"], true, "{base}: {results:?}");
        near(&results, "floor_force_over_weight", 1.0, 1e-3);
        if base == "line" {
            // Floor, neighbours in a layer, and two below each ball but the lowest.
            assert_eq!(world.contacts().len(), 4 + 6 + 12);
        }
    }
}

/// The exact law has a second solution for a pyramid at rest, in which it slides apart: nobody is to give
/// that one.
#[test]
fn pyramids_stand_under_the_exact_law() {
    for solver in ["auto", "ipm", "prox", "pgs"] {
        let scene = scene("pyramid", &[("T", "1")]);
        let settings =
            Settings { model: FrictionLaw::Coulomb, solver: solver.into(), ..scene.settings.clone() };
        let (_, results) = run_with(scene, settings);
        assert_eq!(results["standing"], true, "{solver}: {results:?}");
        near(&results, "floor_force_over_weight", 1.0, 1e-3);
    }
}

/// Errors within the tolerance must not add up, all of one sign, to contacts that open: the pyramid is held
/// together by friction.
#[test]
fn pyramids_stand_for_long_under_the_interior_point() {
    for model in [FrictionLaw::Ccp, FrictionLaw::Coulomb] {
        let scene = scene("pyramid", &[("T", "8")]);
        let settings = Settings { model, solver: "ipm".into(), ..scene.settings.clone() };
        let (_, results) = run_with(scene, settings);
        assert_eq!(results["standing"], true, "{model:?}: {results:?}");
        assert!(results["largest_displacement_m"].as_f64().unwrap() < 1e-5, "{model:?}: {results:?}");
    }
}

#[test]
fn inclines_follow_the_closed_forms() {
    for set in [
        &[("mu", "0.3")][..],
        &[("mu", "0.1"), ("angle_deg", "30")],
        &[("shape", "sphere")],
        &[("shape", "sphere"), ("mu", "0.05")],
    ] {
        let (_, results) = run(scene("incline", set));
        let expected = results["expected_acceleration_m_s2"].as_f64().unwrap();
        near(&results, "acceleration_m_s2", expected, 0.01);
        near(&results, "distance_m", 0.5 * expected, 0.01);
        assert_eq!(results["sticks"], false);
    }
    let tan = 20f64.to_radians().tan();
    for (mu, sticks) in [(tan + 1e-3, true), (tan - 1e-3, false)] {
        let (_, results) = run(scene("incline", &[("mu", &mu.to_string())]));
        assert_eq!(results["sticks"], sticks, "{results:?}");
    }
}

#[test]
fn slides_follow_the_closed_forms() {
    let (_, block) = run(scene("slide", &[]));
    near(&block, "speed_m_s", 3.0 - 0.3 * 9.81 * 0.5, 0.01);
    near(&block, "distance_m", 1.5 - 0.5 * 0.3 * 9.81 * 0.25, 0.01);
    near(&block, "acceleration_m_s2", -0.3 * 9.81, 0.01);
    // The relaxed model hovers: the gap is there, and it is the one expected.
    near(&block, "hover_gap_m", block["relaxed_hover_gap_m"].as_f64().unwrap(), 0.02);
    let (_, stopped) = run(scene("slide", &[("T", "1.5")]));
    near(&stopped, "distance_m", 9.0 / (2.0 * 0.3 * 9.81), 0.01);
    assert!(stopped["hover_gap_m"].as_f64().unwrap().abs() < 1e-6, "{stopped:?}");
    let (_, ball) = run(scene("slide", &[("shape", "sphere")]));
    near(&ball, "rolling_from_s", 2.0 * 3.0 / (7.0 * 0.3 * 9.81), 0.01);
    near(&ball, "speed_m_s", 5.0 / 7.0 * 3.0, 0.01);
    near(&ball, "floor_force_over_weight", 1.0, 0.01);
}
