//! What is wrong with a robot's file is refused by line, element and attribute; what only looks odd is read,
//! and noted.

use drystone_scene::Scene;

use super::{ARM, Folder, PAIR};

fn wrong(name: &str, text: &str) -> String {
    match Folder::new().import(name, text, false) {
        Err(e) => e.to_string(),
        Ok((made, _)) => panic!("it was taken:\n{}", made.text),
    }
}

#[track_caller]
fn says(text: String, words: &str) {
    assert!(text.contains(words), "'{words}' is not in: {text}");
}

/// A change of a text that is there.
fn with(text: &str, was: &str, is: &str) -> String {
    assert!(text.contains(was), "'{was}'");
    text.replacen(was, is, 1)
}

fn mass(scene: &Scene, name: &str) -> f64 {
    scene.bodies.iter().find(|b| b.name.as_deref() == Some(name)).unwrap().mass.mass
}

#[test]
fn numbers_of_a_urdf_that_cannot_be() {
    says(
        wrong("a.urdf", &with(ARM, "<mass value=\"10\"/>", "<mass value=\"-10\"/>")),
        "a.urdf:4:15: mass: value: must not be below 0, got -10 kg",
    );
    says(
        wrong("a.urdf", &with(ARM, "<sphere radius=\"0.05\"/>", "<sphere radius=\"-0.05\"/>")),
        "a.urdf:19:26: sphere: radius: must be above 0 m, got -0.05",
    );
    says(
        wrong("a.urdf", &with(ARM, "radius=\"0.04\" length=\"0.5\"", "radius=\"0.04\" length=\"-0.5\"")),
        "cylinder: length: must be above 0 m, got -0.5",
    );
    says(
        wrong("a.urdf", &with(ARM, "size=\"0.4 0.4 0.2\"", "size=\"0.4 -0.4 0.2\"")),
        "box: size: must be above 0 m, got -0.4",
    );
    // What is flat, has no inertia or damps the wrong way is noted, and the robot is one.
    let text = with(ARM, "<sphere radius=\"0.05\"/>", "<sphere radius=\"0\"/>");
    let text = with(&text, "damping=\"0.5\"", "damping=\"-0.5\"");
    let inertia = "<inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/>";
    let (made, scene) = Folder::new().import("a.urdf", &with(&text, inertia, ""), false).unwrap();
    let notes = made.notes.join("\n");
    for words in [
        "<sphere>: radius is 0: nothing collides there",
        "'shoulder': damping of -0.5 is below 0",
        "<link> 'base': has a mass and no <inertia>",
    ] {
        assert!(notes.contains(words), "'{words}' is not in\n{notes}");
    }
    assert!((mass(&scene, "base") - 10.0).abs() < 1e-9);
    // A mass of 0 is common for frames without matter.
    let text = with(ARM, "<mass value=\"1\"/>", "<mass value=\"0\"/>");
    let (_, scene) = Folder::new().import("a.urdf", &text, false).unwrap();
    assert!((mass(&scene, "fore") - 3.0).abs() < 1e-9, "what the tool has");
}

#[test]
fn masses_and_moments_beyond_those_of_bodies() {
    says(
        wrong("a.urdf", &with(ARM, "<mass value=\"10\"/>", "<mass value=\"1e300\"/>")),
        "a.urdf:4:15: mass: value: must be within 1e-40 to 1e40 kg, got 1e300",
    );
    says(
        wrong("a.urdf", &with(ARM, "ixx=\"1\" iyy=\"1\"", "ixx=\"1\" iyy=\"1e70\"")),
        "inertia: iyy: must be within 1e60 kg m², got 1e70",
    );
    for (was, is, words) in [
        ("mass=\"2\"", "mass=\"1e300\"", "geom: mass: must be within 1e-40 to 1e40 kg, got 1e300"),
        ("density=\"500\"", "density=\"1e60\"", "geom: density: must be within 1e-40 to 1e40 kg, got "),
    ] {
        let said = wrong("m.xml", &with(PAIR, was, is));
        says(said.clone(), words);
        says(said, "m.xml:");
    }
    let inertial = "<mujoco><worldbody><body>\n<freejoint/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/>\
        <geom size=\"1\"/></body></worldbody></mujoco>";
    says(
        wrong("m.xml", &with(inertial, "mass=\"1\"", "mass=\"1e300\"")),
        "m.xml:2:13: inertial: mass: must be within 1e-40 to 1e40 kg, got 1e300",
    );
    says(
        wrong("m.xml", &with(inertial, "1 1 1", "1 1e70 1")),
        "inertial: diaginertia: must be within 1e60 kg m²",
    );
}

#[test]
fn a_file_that_is_cut_off_is_wrong_at_its_end() {
    let cut = &ARM[..ARM.find("<mass value").unwrap()];
    let row = cut.matches('\n').count() + 1;
    says(wrong("a.urdf", cut), &format!("a.urdf:{row}:15: the file ends here"));
    says(wrong("a.urdf", &ARM[..ARM.find("value=\"10\"").unwrap()]), &format!("a.urdf:{row}:"));
}

#[test]
fn what_joins_a_urdf_must_be_one_tree() {
    let joint = |name: &str, a: &str, b: &str| {
        format!(
            "<joint name=\"{name}\" type=\"continuous\"><parent link=\"{a}\"/><child link=\"{b}\"/></joint>"
        )
    };
    let links = |n: usize| (0..n).map(|k| format!("<link name=\"l{k}\"/>")).collect::<String>();
    let robot = |inner: String| format!("<robot name=\"r\">\n{inner}\n</robot>");
    let all = links(3) + &joint("a", "l0", "l1") + &joint("b", "l1", "l2") + &joint("c", "l2", "l0");
    let said = wrong("r.urdf", &robot(all));
    says(said.clone(), "r.urdf:2:");
    says(said.clone(), "close a loop: a robot is a tree");
    assert!(!said.contains("0 links"), "{said}");
    // A loop beside a tree was left out without a word.
    let all = links(4) + &joint("a", "l0", "l1") + &joint("b", "l2", "l3") + &joint("c", "l3", "l2");
    let said = wrong("r.urdf", &robot(all));
    assert!(said.contains("close a loop") && said.contains('b') && !said.contains("joints a"), "{said}");
    says(wrong("r.urdf", &robot(links(2))), "2 links have no joint to a parent (l0, l1)");
    says(wrong("r.urdf", &robot(String::new())), "has no <link>");
    let all = links(3) + &joint("a", "l0", "l2") + &joint("b", "l1", "l2");
    says(wrong("r.urdf", &robot(all)), "joint: its child has another parent, by the joint 'a'");
    let all = links(3) + &joint("a", "l0", "l1") + &joint("a", "l1", "l2");
    says(wrong("r.urdf", &robot(all)), "joint: name: there are two joints named 'a'");
}

#[test]
fn words_and_names_of_an_mjcf_that_there_are_not() {
    says(
        wrong("m.xml", &with(PAIR, "angle=\"degree\"", "angle=\"gradian\"")),
        "m.xml:2:3: compiler: angle: must be degree or radian, got 'gradian'",
    );
    says(
        wrong("m.xml", &with(PAIR, "angle=\"degree\"", "autolimits=\"no\"")),
        "autolimits: must be true or false, got 'no'",
    );
    says(
        wrong("m.xml", &with(PAIR, "childclass=\"leg\"", "childclass=\"legs\"")),
        "m.xml:13:7: body: childclass: there is no default class 'legs'; did you mean 'leg'?",
    );
    says(
        wrong("m.xml", &with(PAIR, "<geom type=\"box\"", "<geom class=\"trunk\" type=\"box\"")),
        "geom: class: there is no default class 'trunk'",
    );
    says(
        wrong("m.xml", &with(PAIR, "<default class=\"leg\">", "<default>")),
        "default: class: a class within another needs a name",
    );
    says(
        wrong("m.xml", &with(PAIR, "<body name=\"shoe\"", "<body name=\"leg\"")),
        "body: name: there are two bodies named 'leg', the first in line 13",
    );
    says(
        wrong("m.xml", &with(PAIR, "name=\"hip_y\"", "name=\"hip_x\"")),
        "joint: name: there are two joints named 'hip_x', the first in line 14",
    );
    says(
        wrong("m.xml", &with(PAIR, "name=\"hip_y\"", "name=\"hip_y\" limited=\"yes\"")),
        "joint: limited: must be true or false or auto, got 'yes'",
    );
}

#[test]
fn numbers_of_an_mjcf_that_cannot_be() {
    for (was, is, words) in [
        ("size=\"0.05\" pos", "size=\"-0.05\" pos", "geom: size: radius must be positive"),
        ("mass=\"2\"", "mass=\"-2\"", "geom: mass: must not be below 0, got -2"),
        ("density=\"500\"", "density=\"-500\"", "geom: density: must not be below 0, got -500"),
        ("friction=\"0.7 0.1 0.1\"", "friction=\"-0.7 0.1 0.1\"", "friction: must not be below 0"),
        ("damping=\"2\"", "damping=\"-2\"", "joint: damping: must not be below 0, got -2"),
        ("range=\"-30 45\"", "range=\"-30\"", "joint: range: must be 2 numbers, got 1"),
        (
            "range=\"-20 20\"",
            "limited=\"true\" range=\"20 -20\"",
            "joint: range: must be the least and the most, got 20 and -20",
        ),
    ] {
        says(wrong("m.xml", &with(PAIR, was, is)), words);
    }
    // A range that does not rise means none, unless limits are asked for.
    let (made, _) =
        Folder::new().import("m.xml", &with(PAIR, "range=\"-20 20\"", "range=\"0 0\""), false).unwrap();
    assert_eq!(made.text.matches("limits = ").count(), 1, "{}", made.text);
}

/// An actuator whose joint is not there is noted; the others count.
#[test]
fn an_actuator_of_nothing_is_noted() {
    let more = "<motor name=\"m\" joint=\"hip_z\"/></actuator>";
    let (made, _) = Folder::new().import("m.xml", &with(PAIR, "</actuator>", more), false).unwrap();
    let notes = made.notes.join("\n");
    let words =
        "<motor> 'm': acts on the joint 'hip_z', which is not there, and is left out; did you mean 'hip_";
    assert!(notes.contains(words), "{notes}");
    assert!(made.text.contains("limit = 50"), "{}", made.text);
}

/// Files of robots that are in use: extensions of Drake and Gazebo, materials and meshes of one name, limits
/// without end, joints that only this file's program knows, links that are called as the scene's own bodies.
#[test]
fn what_means_nothing_here_is_no_error() {
    let text = r#"<robot name="r" xmlns:drake="http://drake.mit.edu">
      <material name="grey"/><material name="grey"/>
      <link name="floor"><visual name="v"/><visual name="v"/>
        <collision name="c"><geometry><box size="1 1 0.1"/></geometry><drake:proximity_properties/></collision>
        <collision name="c"><geometry><sphere radius="0.1"/></geometry></collision></link>
      <link name="arm"><inertial><mass value="1"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="hand"/>
      <joint name="j" type="revolute"><parent link="floor"/><child link="arm"/><axis xyz="0 1 0"/>
        <limit lower="-1e16" upper="1e16" effort="-1" velocity="-1"/><drake:rotor_inertia value="1"/></joint>
      <joint name="k" type="planar"><parent link="arm"/><child link="hand"/></joint>
      <gazebo reference="arm"/><gazebo reference="arm"/><drake:collision_filter_group name="g"/>
      <transmission name="t"/><ros2_control/></robot>"#;
    let (made, scene) = Folder::new().import("r.urdf", text, false).unwrap();
    let names: Vec<&str> = scene.bodies.iter().filter_map(|b| b.name.as_deref()).collect();
    assert!(names.contains(&"floor") && names.contains(&"floor of the scene"), "{names:?}");
    assert!(made.notes.join("\n").contains("type 'planar' is not understood"));
    let text = r#"<mujoco><default class="all"><geom rgba="1 0 0 1"/><default class="empty"/></default>
      <asset><material name="m" class="all"/><material name="m"/></asset>
      <worldbody><geom class="empty" size="0.1"/><geom name="g" class="main" size="0.1"/>
        <body name="ground" childclass="all"><geom name="g" size="0.1"/>
          <body><joint name="a"/><geom size="0.1"/></body>
          <body name="body 2"><joint/><geom size="0.1"/></body><body><joint/><geom size="0.1"/></body></body>
      </worldbody><sensor><jointpos joint="a"/></sensor></mujoco>"#;
    let (_, scene) = Folder::new().import("m.xml", text, false).unwrap();
    let mut names: Vec<&str> = scene.bodies.iter().filter_map(|b| b.name.as_deref()).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "{names:?}");
}
