//! `[[control]]` in scene files, and the controls of the gallery.

use std::path::PathBuf;

use drystone_scene::control::{Driver, Quantity};

const LIFT: &str = r#"
[settings]
T = 1

[[body]]
name = "car"
shape = { type = "box", half = [0.2, 0.2, 0.2] }
mass = 10
position = [0, 0, 1]

[[joint]]
type = "prismatic"
name = "hoist"
b = "car"
anchor = [0, 0, 1]
axis = [0, 0, 1]
motor = { position = 0, limit = 1000 }

[[control]]
name = "up"
unit = "m"
joint = "hoist"
commands = "position"
range = [0, 2]
rate = 0.5
hold = true
keys = ["KeyR", "KeyF"]
gamepad = "-axis 1"
"#;

fn load(name: &str, text: &str) -> Result<drystone_scene::Scene, String> {
    let file: PathBuf =
        std::env::temp_dir().join(format!("drystone-control-{}-{name}.toml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let scene = drystone_scene::load(file.to_str().unwrap(), &[]).map_err(|e| e.to_string());
    std::fs::remove_file(&file).unwrap();
    scene
}

#[test]
fn a_lift_goes_where_its_lever_says() {
    let scene = load("lift", LIFT).unwrap();
    let control = &scene.controls[0];
    assert_eq!((control.name.as_str(), control.range, control.hold), ("up", [0.0, 2.0], true));
    assert_eq!(control.keys, ["KeyR", "KeyF"].map(String::from));
    assert_eq!(control.targets[0].quantity, Quantity::Position);
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let mut driver = Driver::new(scene.controls.clone(), &world);
    driver.set(&world, 0, 1.0);
    for _ in 0..100 {
        driver.before_step(&mut world);
        world.step().unwrap();
    }
    assert!((driver.values()[0] - 0.5).abs() < 1e-9);
    // A motor with a limit follows a little behind.
    assert!((world.state().position[0].z - 1.5).abs() < 0.02, "{}", world.state().position[0].z);
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (was, is, words) in [
        ("joint = \"hoist\"", "joint = \"hosit\"", "did you mean 'hoist'"),
        ("commands = \"position\"", "commands = \"place\"", "valid: speed"),
        ("commands = \"position\"", "commands = \"gain\"", "sine"),
        ("hold = true", "hold = true\ncoordinate = 1", "no number 1"),
        ("rate = 0.5", "rate = 0", "rate"),
        ("range = [0, 2]", "range = [2, 0]", "rising"),
        ("gamepad = \"-axis 1\"", "gamepad = \"wheel\"", "gamepad"),
        ("keys = [\"KeyR\", \"KeyF\"]", "keys = []", "one key or two"),
        ("joint = \"hoist\"\ncommands", "commands", "'joint'"),
    ] {
        let text = LIFT.replace(was, is);
        assert_ne!(text, LIFT, "{was}");
        let error = load("bad", &text).err().unwrap_or_else(|| panic!("{is} was taken"));
        assert!(error.contains(words) && error.contains("control"), "{is}: {error}");
    }
}

/// Names that two have, and keys of one that two share; those that share both move together and are meant to.
#[test]
fn what_two_controls_share_is_noted() {
    let file = std::env::temp_dir().join(format!("drystone-control-{}-two.toml", std::process::id()));
    let second = &LIFT[LIFT.find("[[control]]").unwrap()..];
    let notes = |second: &str| -> Vec<String> {
        std::fs::write(&file, format!("{LIFT}\n{second}")).unwrap();
        let said = drystone_scene::check(&file).unwrap();
        said.lines().filter(|l| l.starts_with("note: ") && l.contains("control")).map(String::from).collect()
    };
    assert_eq!(notes(second), ["note: 2 controls have the name 'up'"]);
    let other = second.replace("\"up\"", "\"other\"");
    assert!(notes(&other).is_empty());
    let half = other.replace("\"KeyF\"", "\"KeyG\"");
    assert_eq!(notes(&half), ["note: the key KeyR moves two controls, 'up' and 'other'"]);
    std::fs::remove_file(&file).unwrap();
}

/// What is wrong with one control is told at once, each with its own line.
#[test]
fn a_control_tells_all_that_is_wrong_with_it() {
    let text = LIFT
        .replace("name = \"up\"\n", "")
        .replace("commands = \"position\"", "commands = \"place\"")
        .replace("range = [0, 2]", "range = [2, 0]")
        .replace("rate = 0.5", "rate = -1")
        .replace("gamepad = \"-axis 1\"", "gamepad = \"wheel\"")
        .replace("keys = [\"KeyR\", \"KeyF\"]", "keys = [\"R\", \"F\"]\nspeed = 3")
        .replace("joint = \"hoist\"", "joints = [\"hosit\", \"hoistt\"]");
    let file = std::env::temp_dir().join(format!("drystone-control-{}-all.toml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let said = drystone_scene::check(&file).unwrap_err().to_string();
    std::fs::remove_file(&file).unwrap();
    for words in [
        "the field 'name' is missing",
        "control[0].commands: 'place' is not known",
        "control[0].range: range must be two rising numbers",
        "control[0].rate: ",
        "control[0].gamepad: gamepad must be",
        "there is no key 'R'",
        "there is no key 'F'",
        "unknown field 'speed'",
        "there is no joint named 'hosit'; did you mean 'hoist'?; there is no joint named 'hoistt'",
    ] {
        assert_eq!(said.matches(words).count(), 1, "'{words}' in: {said}");
    }
    assert_eq!(said.lines().count(), 8, "{said}");
}

#[test]
fn every_joint_of_a_control_may_have_a_scale() {
    let second = "\n[[joint]]\ntype = \"prismatic\"\nname = \"side\"\nb = \"other\"\nanchor = [3, 0, 1]\naxis = [0, 0, 1]\n\
                  motor = { position = 0, limit = 1000 }\n\n[[body]]\nname = \"other\"\n\
                  shape = { type = \"box\", half = [0.2, 0.2, 0.2] }\nmass = 10\nposition = [3, 0, 1]\n\n[[control]]";
    let with = |scale: &str| {
        let text = LIFT.replacen("\n[[control]]", second, 1);
        load(
            "scales",
            &text.replace("joint = \"hoist\"", &format!("joints = [\"hoist\", \"side\"]\n{scale}")),
        )
    };
    let scales = |text: &str| -> Vec<f64> {
        with(text).unwrap().controls[0].targets.iter().map(|t| t.scale).collect()
    };
    assert_eq!(scales(""), [1.0, 1.0]);
    assert_eq!(scales("scale = 2"), [2.0, 2.0]);
    assert_eq!(scales("scale = [1, -0.5]"), [1.0, -0.5]);
    let said = with("scale = [1, 2, 3]").err().unwrap();
    assert!(
        said.contains("scale: must be a number for all joints or one for each of the 2 of them, got 3"),
        "{said}"
    );
    let scene = with("scale = [1, -0.5]").unwrap();
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let mut driver = Driver::new(scene.controls.clone(), &world);
    driver.set(&world, 0, 1.0);
    for _ in 0..100 {
        driver.before_step(&mut world);
        world.step().unwrap();
    }
    let z = |k: usize| world.state().position[k].z;
    assert!((z(0) - 1.5).abs() < 0.02 && (z(1) - 0.75).abs() < 0.02, "{} {}", z(0), z(1));
}

#[test]
fn the_gallerys_controls_are_sound_and_name_joints() {
    for entry in drystone_scene::gallery::ENTRIES {
        let live = drystone_scene::gallery::live_defaults(entry.name);
        let set: Vec<_> = live.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        if !["forklift", "spider"].contains(&entry.name) {
            continue;
        }
        let scene = entry.scene(&set).unwrap();
        assert!(scene.controls.len() >= 2, "{}", entry.name);
        for control in &scene.controls {
            control.check().unwrap();
            assert!(!control.targets.is_empty());
            for t in &control.targets {
                let joint = &scene.joints[t.joint as usize];
                assert!(t.coordinate < joint.kind.coordinates().len(), "{} {:?}", entry.name, joint.name);
                assert!(joint.name.is_some(), "only joints with names are driven");
            }
        }
    }
}
