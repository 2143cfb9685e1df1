//! Charges and force fields in scene files, and the scene that has some.

use drystone_scene::Scene;

fn load(name: &str, text: &str) -> Result<Scene, String> {
    let folder = std::env::temp_dir().join(format!("drystone-scene-fields-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.toml"));
    std::fs::write(&path, text).unwrap();
    drystone_scene::load(path.to_str().unwrap(), &[]).map_err(|e| e.to_string())
}

const BODIES: &str = r#"
[settings]
T = 1
gravity = [0, 0, 0]
[[body]]
mass = 2
charge = 3e-6
shape = { type = "sphere", r = 0.1 }
[[body]]
mass = 2
charge = -2e-6
shape = { type = "sphere", r = 0.1 }
position = [0.5, 0, 0]
"#;

#[test]
fn a_file_charges_its_bodies() {
    let text = format!("{BODIES}[[field]]\ntype = \"pair\"\nstrength = 9e9\ncutoff = 4\n");
    let scene = load("charges", &text).unwrap();
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let force = 9e9 * 6e-12 * (1.0 / 0.25 - 1.0 / 16.0);
    assert!((world.field_wrenches()[0].force.x - force).abs() < 1e-14);
    world.step().unwrap();
    assert!((world.state().velocity[0].x - 0.01 * force / 2.0).abs() < 1e-12);
    let refused = drystone_scene::flat::of_world(&world, "x", 1.0, &[]).unwrap_err().to_string();
    assert!(refused.contains("field"), "{refused}");
    world.clear_fields();
    let refused = drystone_scene::flat::of_world(&world, "x", 1.0, &[]).unwrap_err().to_string();
    assert!(refused.contains("charge"), "{refused}");
}

#[test]
fn slips_are_named_with_their_line() {
    let field = |rest: &str| load("slips", &format!("{BODIES}[[field]]\n{rest}")).err().unwrap_or_default();
    for (text, line, words) in [
        ("type = \"pear\"\n", 15, "did you mean 'pair'"),
        ("type = \"pair\"\nstrenght = 1\ncutoff = 1\n", 16, "did you mean 'strength'"),
        ("type = \"pair\"\ncutoff = 1\n", 14, "'strength' is missing"),
        ("type = \"pair\"\nstrength = 1\ncutoff = -1\n", 17, "field[0].cutoff: cutoff must be positive"),
        ("type = \"pair\"\nstrength = 1\ncutoff = 1\ncore = 2\n", 18, "core must be"),
        ("type = \"pair\"\nsource = \"colour\"\nstrength = 1\ncutoff = 1\n", 16, "valid: charge, mass"),
    ] {
        let said = field(text);
        assert!(said.contains(words) && said.contains(&format!(".toml:{line}:")), "{said}");
    }
    let periodic =
        BODIES.replace("T = 1\n", "T = 1\nperiodic = { min = [0, 0, 0], max = [1, 1, 1], axes = [\"x\"] }\n");
    let text = format!("{periodic}[[field]]\ntype = \"pair\"\nstrength = 1\ncutoff = 0.6\n");
    let said = load("periods", &text).err().unwrap_or_default();
    assert!(said.contains("half of the period") && said.contains(".toml:15:"), "{said}");
    let said = load("gallery", "scene = \"packing\"\n[[field]]\ntype = \"pair\"\n").err().unwrap_or_default();
    assert!(said.contains("brings its own force fields") && said.contains(".toml:2:"), "{said}");
    let said = load("nan", &BODIES.replace("3e-6", "inf")).err().unwrap_or_default();
    assert!(said.contains("charge") && said.contains(".toml:7:"), "{said}");
}

/// Opposite charges find each other; equal ones do not; the whole stays where it is.
#[test]
fn salt_falls_together() {
    let set = [("n", "64"), ("T", "1")].map(|(k, v)| (k.to_string(), v.to_string()));
    let scene = drystone_scene::load("charges", &set).unwrap();
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let charge: f64 = world.model().bodies.iter().map(|b| b.charge).sum();
    assert!(charge.abs() < 1e-18, "{charge}");
    for _ in 0..500 {
        world.step().unwrap();
    }
    let mut probe = scene.probe;
    let results = probe.results(&world);
    let number = |key: &str| results[key].as_f64().unwrap();
    assert!(number("contacts_per_ball") > 1.2, "{results:?}");
    assert!(number("opposite_charges_share_of_contacts") > 0.85, "{results:?}");
    assert!(number("momentum_over_sum_of_sizes") < 1e-9, "{results:?}");
    assert!(number("potential_energy_J") < -1.0, "{results:?}");
}
