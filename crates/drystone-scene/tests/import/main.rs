//! Robots of other programs as scene files: masses, places, joints, what was not understood, and that they
//! hold their pose.

mod wrong;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use drystone::Motion;
use drystone_scene::import::{Imported, Options, import};
use drystone_scene::{Scene, SceneError, load};
use glam::DVec3;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("drystone-import-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
    fn import(&self, name: &str, text: &str, fixed_base: bool) -> Result<(Imported, Scene), SceneError> {
        self.import_with(name, text, Options { fixed_base, hold: true, key: None })
    }
    fn import_with(&self, name: &str, text: &str, options: Options) -> Result<(Imported, Scene), SceneError> {
        let (from, to) = (self.0.join(name), self.0.join("robot.toml"));
        std::fs::write(&from, text).unwrap();
        let made = import(&from, &to, options)?;
        std::fs::write(&to, &made.text).unwrap();
        let scene = load(&to.to_string_lossy(), &[]).unwrap_or_else(|e| panic!("{e}\n{}", made.text));
        Ok((made, scene))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An arm of two links, and a tool that is fixed to the second.
const ARM: &str = r#"<?xml version="1.0"?>
<robot name="arm">
  <link name="base">
    <inertial><mass value="10"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual>
    <collision><origin xyz="0 0 0.1"/><geometry><box size="0.4 0.4 0.2"/></geometry></collision>
  </link>
  <link name="upper">
    <inertial><origin xyz="0 0 0.25"/><mass value="2"/>
      <inertia ixx="0.05" iyy="0.05" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.25"/><geometry><cylinder radius="0.04" length="0.5"/></geometry></collision>
  </link>
  <link name="fore">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="tool">
    <inertial><mass value="3"/><inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="package://arm/gone.dae"/></geometry></collision>
    <collision><geometry><sphere radius="0.05"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.2" rpy="0 1.5707963267948966 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="150" velocity="3"/><dynamics damping="0.5" friction="0.1"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="fore"/><origin xyz="0 0 0.5"/>
    <axis xyz="0 1 0"/><limit lower="0.5" upper="1" effort="80" velocity="3"/>
  </joint>
  <joint name="wrist" type="fixed">
    <parent link="fore"/><child link="tool"/><origin xyz="0 0 0.4" rpy="0 0 1.5707963267948966"/>
  </joint>
  <transmission name="t"/>
  <transmission name="u"/>
</robot>"#;

/// An arm whose file stands it on a link named `world` has its base already: its first moving link is not
/// held, too.
#[test]
fn a_base_that_is_fixed_already_is_the_base() {
    let text = ARM.replace("name=\"base\"", "name=\"world\"").replace("link=\"base\"", "link=\"world\"");
    for fixed_base in [false, true] {
        let (made, scene) = Folder::new().import("arm.urdf", &text, fixed_base).unwrap();
        let moving = scene.bodies.iter().filter(|b| b.motion == Motion::Dynamic).count();
        assert_eq!((made.joints, moving), (2, 2), "{}", made.text);
    }
}

#[test]
fn a_urdf_becomes_a_scene() {
    let folder = Folder::new();
    let (made, scene) = folder.import("arm.urdf", ARM, true).unwrap();
    assert_eq!((made.bodies, made.joints, scene.joints.len()), (3, 2, 2));
    let body = |name: &str| scene.bodies.iter().find(|b| b.name.as_deref() == Some(name)).unwrap();
    assert_eq!(body("base").motion, Motion::Static);
    // The shoulder turns z into x; the elbow starts at its lower limit of half a radian.
    let upper = body("upper");
    assert!((upper.position - DVec3::new(0.0, 0.0, 0.2)).length() < 1e-9);
    assert!((upper.rotation * DVec3::Z - DVec3::X).length() < 1e-9);
    let fore = body("fore");
    assert!((fore.position - DVec3::new(0.5, 0.0, 0.2)).length() < 1e-9);
    let along = DVec3::new(0.5f64.cos(), 0.0, -(0.5f64.sin()));
    assert!((fore.rotation * DVec3::Z - along).length() < 1e-9, "{}", fore.rotation * DVec3::Z);
    // Forearm and tool are one: 4 kg, their centre at three quarters of the way.
    assert!((fore.mass.mass - 4.0).abs() < 1e-9 && (fore.mass.centre.z - 0.3).abs() < 1e-9);
    // About x: own, the tool's turned by a quarter, and both from the common centre.
    let xx = 0.01 + 0.03 + 1.0 * 0.3 * 0.3 + 3.0 * 0.1 * 0.1;
    assert!((fore.mass.inertia.col(0).x - xx).abs() < 1e-9);
    let notes = made.notes.join("\n");
    for words in [
        "line 32: <transmission> is not understood, 2 times",
        "<mesh>: package://arm/gone.dae: there is no such file, and is left out",
        "<joint> 'elbow': 0 is not within its limits: it starts at 0.5",
    ] {
        assert!(notes.contains(words), "'{words}' is not in\n{notes}");
    }
    assert!(made.text.contains("# line 32: <transmission>"), "the file says so as well");
    assert!(made.text.contains("limits = [0, 0.5]") && made.text.contains("limit = 150"));
}

#[test]
fn motors_hold_the_pose() {
    let folder = Folder::new();
    let (_, scene) = folder.import("arm.urdf", ARM, true).unwrap();
    let mut world = scene.world(scene.settings.clone()).unwrap();
    let start = world.state().position.clone();
    for _ in 0..500 {
        world.step().unwrap();
    }
    for (a, b) in start.iter().zip(&world.state().position) {
        assert!(a.distance(*b) < 1e-3, "{a} {b}");
    }
}

const PAIR: &str = r#"<mujoco model="walker">
  <compiler angle="degree"/>
  <option gravity="0 0 -9.81"/>
  <default><geom density="500" friction="0.7 0.1 0.1"/><default class="leg"><geom type="capsule" size="0.03"/>
    <joint damping="2" range="-30 45"/></default></default>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="torso" pos="0 0 0.53">
      <freejoint/>
      <geom type="box" size="0.2 0.1 0.1"/>
      <geom type="sphere" size="0.05" pos="0 0 0.2" mass="2" contype="0" conaffinity="0"/>
      <body name="leg" pos="0.1 0 -0.1" childclass="leg">
        <joint name="hip_x" axis="1 0 0"/>
        <joint name="hip_y" axis="0 1 0" range="-20 20"/>
        <geom fromto="0 0 0 0 0 -0.4"/>
        <body name="shoe" pos="0 0 -0.4"><geom type="sphere" size="0.03" mass="0.5"/></body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hip_x" gear="50" ctrlrange="-1 1"/></actuator>
  <tendon/>
</mujoco>"#;

#[test]
fn an_mjcf_becomes_a_scene() {
    let folder = Folder::new();
    let (made, scene) = folder.import("walker.xml", PAIR, false).unwrap();
    let body = |name: &str| scene.bodies.iter().find(|b| b.name.as_deref() == Some(name)).unwrap();
    // 500 kg/m³ of a box, and a weight that touches nothing.
    let torso = body("torso");
    assert!((torso.mass.mass - (500.0 * 0.4 * 0.2 * 0.2 + 2.0)).abs() < 1e-9);
    assert_eq!((torso.colliders.len(), torso.colliders[0].mu), (1, 0.7));
    // Two joints of one body: something light stands between. The shoe is part of the leg.
    let names: Vec<&str> = scene.bodies.iter().filter_map(|b| b.name.as_deref()).collect();
    assert_eq!(names, ["torso", "leg, between 0", "leg", "ground"]);
    assert_eq!(body("leg").colliders.len(), 2);
    assert!((body("leg").position - DVec3::new(0.1, 0.0, 0.43)).length() < 1e-9);
    assert_eq!(scene.joints.len(), 2);
    assert!(made.text.contains("limits = [-0.523598776, 0.785398163]"), "{}", made.text);
    assert!(made.text.contains("limits = [-0.34906585, 0.34906585]"));
    assert!(made.text.contains("spring = { damping = 2 }") && made.text.contains("limit = 50"));
    let notes = made.notes.join("\n");
    assert!(notes.contains("one of several of a body"), "{notes}");
}

/// Parts in files of their own, frames, springs, actuators by class and by tendon, a loop closed by a point.
const PARTS: &str = r#"<mujoco model="parts">
  <include file="classes.xml"/>
  <compiler angle="radian" eulerseq="zyx" settotalmass="6"/>
  <worldbody>
    <frame pos="0 0 1" euler="1.5707963267948966 0 0">
      <body name="arm" pos="1 0 0" childclass="arm">
        <joint name="shoulder" axis="1 0 0" stiffness="30" springref="0.5" ref="0.2" range="-1 1"/>
        <geom/>
        <body name="hand" pos="0 0 -0.5"><joint name="wrist" axis="0 1 0"/><geom/></body>
      </body>
    </frame>
    <body name="weight" pos="0 1 0.2"><freejoint/><geom class="arm" mass="2"/></body>
  </worldbody>
  <actuator>
    <motor joint="shoulder" gear="40"/>
    <general tendon="both" class="strong"/>
    <position joint="wrist" kp="5" forcerange="-3 3"/>
  </actuator>
  <tendon><fixed name="both"><joint joint="shoulder" coef="0.5"/><joint joint="wrist" coef="-2"/></fixed></tendon>
  <equality>
    <connect name="loop" body1="hand" body2="weight" anchor="0 0 -0.5"/>
    <weld name="off" body1="hand" body2="weight" active="false"/>
    <joint joint1="shoulder" joint2="wrist"/>
  </equality>
</mujoco>"#;
const CLASSES: &str = r#"<mujoco><default>
  <motor ctrlrange="-2 2"/><general gainprm="10" ctrlrange="-0.5 0.5"/>
  <default class="arm"><geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.4" mass="1"/></default>
  <default class="strong"><general gainprm="20"/></default>
</default></mujoco>"#;

#[test]
fn mjcf_of_several_files_with_frames_springs_tendons_and_loops() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("classes.xml"), CLASSES).unwrap();
    let (made, scene) = folder.import("parts.xml", PARTS, false).unwrap();
    let body = |name: &str| scene.bodies.iter().find(|b| b.name.as_deref() == Some(name)).unwrap();
    // The frame is turned by a quarter about z: x becomes y.
    assert!((body("arm").position - DVec3::new(0.0, 1.0, 1.0)).length() < 1e-9);
    assert!((body("hand").position - DVec3::new(0.0, 1.0, 0.5)).length() < 1e-9);
    // 1, 1 and 2 kg make 6 kg.
    let masses = ["arm", "hand", "weight"].map(|n| body(n).mass.mass);
    assert!(masses.iter().zip([1.5, 1.5, 3.0]).all(|(a, b)| (a - b).abs() < 1e-9), "{masses:?}");
    assert_eq!(scene.joints.len(), 3);
    let joint = |name: &str| scene.joints.iter().find(|j| j.name.as_deref() == Some(name)).unwrap();
    let law = &joint("shoulder").laws[0];
    let spring = law.spring.as_ref().unwrap();
    assert!((spring.stiffness - 30.0).abs() < 1e-9 && (spring.rest - 0.3).abs() < 1e-9);
    let limits = law.limits.as_ref().unwrap();
    assert!((limits.lower + 1.2).abs() < 1e-9 && (limits.upper - 0.8).abs() < 1e-9);
    // 40 times 2, and half of the tendon's 20 times 0.5.
    assert!((law.motor.as_ref().unwrap().limit - 85.0).abs() < 1e-9);
    let wrist = joint("wrist").laws[0].motor.as_ref().unwrap().limit;
    assert!((wrist - (2.0 * 10.0 + 3.0)).abs() < 1e-9, "{wrist}");
    assert_eq!(joint("loop").kind, drystone::joint::Kind::Ball);
    assert!(joint("loop").laws.iter().all(|l| l.motor.is_none()));
    let notes = made.notes.join("\n");
    for words in ["<fixed> 'both': is left out", "'off': is not active", "<joint>: is left out: couplings"] {
        assert!(notes.contains(words), "'{words}' is not in\n{notes}");
    }
}

/// A trunk that is free, an arm on it whose coordinate is called 0.2 where the model has it, a slide on that,
/// a ball joint, and a lamp that is held by the ball.
const KEYS: &str = r#"<mujoco model="keys"><compiler angle="radian"/><worldbody>
  <geom type="plane" size="5 5 1"/>
  <body name="trunk" pos="0 0 1"><freejoint/><geom type="box" size="0.2 0.2 0.1"/>
    <body name="arm" pos="0.2 0 0">
      <joint name="shoulder" axis="0 1 0" ref="0.2" range="-1 1.5"/><geom size="0.05" pos="0.3 0 0"/>
      <body name="slider" pos="0.3 0 0">
        <joint name="slide" type="slide" axis="1 0 0" range="-0.1 0.3" stiffness="50"/><geom size="0.05"/>
        <body name="lamp" pos="0.1 0 0" quat="0.7071067811865476 0 0 0.7071067811865476">
          <joint name="neck" type="ball"/><geom size="0.04" pos="0.2 0 0"/>
        </body></body></body></body>
</worldbody><keyframe>
  <key name="home" qpos="1 2 3  0.7071067811865476 0 0 0.7071067811865476  1.7707963267948966 0.2  0.7071067811865476 0.7071067811865476 0 0"/>
  <key name="other" qpos="0 0 1 1 0 0 0 0.2 0 1 0 0 0" qvel="1 0 0 0 0 0 0 0 0 0 0"/>
</keyframe></mujoco>"#;

#[test]
fn an_mjcf_starts_from_its_first_key_or_from_another() {
    let folder = Folder::new();
    let (made, scene) = folder.import("keys.xml", KEYS, false).unwrap();
    let body =
        |s: &Scene, name: &str| s.bodies.iter().find(|b| b.name.as_deref() == Some(name)).unwrap().clone();
    let near =
        |a: DVec3, b: [f64; 3]| assert!((a - DVec3::from_array(b)).length() < 1e-8, "{a} is not {b:?}");
    // The arm hangs on a trunk that is turned by a quarter about z: its x is y. The floor is the file's, so
    // that the robot is lifted by as much as the lowest point of all is below 0.
    let lowest = 3.0 - 0.3 - 0.2 - 0.1 - 0.05;
    let trunk = body(&scene, "trunk").position;
    near(trunk, [1.0, 2.0, trunk.z]);
    assert!(trunk.z > lowest - 3.0, "{trunk}");
    near(body(&scene, "arm").position - trunk, [0.0, 0.2, 0.0]);
    near(body(&scene, "slider").position - trunk, [0.0, 0.2, -0.5]);
    let lamp = body(&scene, "lamp");
    near(lamp.position - trunk, [0.0, 0.2, -0.6]);
    // Its x was y of the arm, and is turned about itself; its z was z of the arm, and is across both now.
    let turn = |axis: DVec3| lamp.rotation * axis;
    near(turn(DVec3::X), [-1.0, 0.0, 0.0]);
    near(turn(DVec3::Z), [0.0, 0.0, -1.0]);
    let joint = |name: &str| scene.joints.iter().find(|j| j.name.as_deref() == Some(name)).unwrap();
    let limits = |name: &str| joint(name).laws[0].limits.as_ref().map(|l| (l.lower, l.upper)).unwrap();
    // The key is beyond the shoulder's range, which is widened to it; the slide has 0.1 m left.
    let (lower, upper) = limits("shoulder");
    assert!((lower + 2.7707963267948966).abs() < 1e-8 && upper == 0.0, "{lower} {upper}");
    let (lower, upper) = limits("slide");
    assert!((lower + 0.3).abs() < 1e-8 && (upper - 0.1).abs() < 1e-8, "{lower} {upper}");
    assert!((joint("slide").laws[0].spring.as_ref().unwrap().rest + 0.2).abs() < 1e-8);
    let notes = made.notes.join("\n");
    for words in
        ["<key> 'home': the robot starts here", "<key> 'other': is left out: --key other", "beyond the range"]
    {
        assert!(notes.contains(words), "'{words}' is not in\n{notes}");
    }
    // The other key and none at all are where the model has it.
    for key in ["other", "1", "none"] {
        let options = Options { hold: true, key: Some(key), ..Options::default() };
        let (made, scene) = folder.import_with("keys.xml", KEYS, options).unwrap();
        let trunk = body(&scene, "trunk").position;
        near(trunk, [0.0, 0.0, trunk.z]);
        near(body(&scene, "lamp").position - trunk, [0.6, 0.0, 0.0]);
        assert_eq!(made.notes.join("\n").contains("its qvel is left out"), key != "none");
    }
    let wrong = |text: &str, key| {
        let options = Options { key, ..Options::default() };
        folder.import_with("keys.xml", text, options).err().unwrap().to_string()
    };
    let e = wrong(KEYS, Some("away"));
    assert!(e.contains("there is no key 'away': the file has home, other"), "{e}");
    let short = KEYS.replace("qpos=\"1 2 3  0.7", "qpos=\"2 3  0.7");
    let e = wrong(&short, Some("home"));
    assert!(e.contains("keys.xml:12:3") && e.contains("must be 13 numbers"), "{e}");
    // One that nobody asked for may be of joints that are not understood here.
    let (made, scene) = folder.import("keys.xml", &short, false).unwrap();
    assert!(
        made.notes.join("\n").contains("<key> 'home': is left out: qpos: must be 13"),
        "{:?}",
        made.notes
    );
    near(body(&scene, "lamp").position - body(&scene, "trunk").position, [0.6, 0.0, 0.0]);
    let e = wrong(
        &KEYS.replace("qpos=\"1 2 3  0.7071067811865476 0 0 0.7071067811865476", "qpos=\"1 2 3 0 0 0 0"),
        None,
    );
    assert!(e.contains("no orientation"), "{e}");
    let e = folder.import_with("arm.urdf", ARM, Options { key: Some("home"), ..Options::default() });
    assert!(e.err().unwrap().to_string().contains("a URDF has no keys"));
}

#[test]
fn what_is_wrong_names_its_line() {
    let folder = Folder::new();
    let wrong = |name: &str, text: &str| folder.import(name, text, false).err().unwrap().to_string();
    let says = |text: String, words: &str| assert!(text.contains(words), "'{words}' is not in: {text}");
    says(wrong("a.urdf", "<robot>\n<link name=\"a\">\n</robot>"), "a.urdf:3:1: ");
    says(
        wrong("a.urdf", "[settings]\nT = 1"),
        "a.urdf: is no robot: a URDF (.urdf) or a model in MuJoCo's form (.xml) is",
    );
    says(wrong("a.urdf", "<sdf>\n <a b='1' b='2'/></sdf>"), "a.urdf:2:11: attribute 'b' is already defined");
    says(wrong("a.urdf", "<sdf/>"), "a.urdf:1:1: sdf: <sdf> is no robot");
    says(
        wrong("a.urdf", &ARM.replace("child link=\"fore\"", "child link=\"far\"")),
        "there is no link 'far'",
    );
    says(
        wrong("a.urdf", &ARM.replace("size=\"0.4 0.4 0.2\"", "size=\"0.4 0.4\"")),
        "a.urdf:6:49: box: size: must be 3 numbers, got 2",
    );
    says(
        wrong("a.urdf", &ARM.replace("mass value=\"10\"", "mass value=\"ten\"")),
        "value: 'ten' is not a number",
    );
    says(wrong("a.urdf", &ARM.replace("name=\"tool\"", "name=\"fore\"")), "two links named 'fore'");
    says(
        wrong(
            "a.urdf",
            &ARM.replace(
                "<axis xyz=\"0 1 0\"/><limit lower=\"-1\"",
                "<axis xyz=\"0 0 0\"/><limit lower=\"-1\"",
            ),
        ),
        "its axis is a zero vector",
    );
    says(
        wrong("m.xml", &PAIR.replace("size=\"0.2 0.1 0.1\"", "size=\"0.2\"")),
        "a box needs 3 numbers, got 1",
    );
    says(
        wrong("m.xml", &PAIR.replace("name=\"hip_x\"", "name=\"hip_x\" type=\"screw\"")),
        "type 'screw' is not understood",
    );
    says(wrong("m.xml", &PAIR.replace("angle=\"degree\"", "coordinate=\"global\"")), "global coordinates");
    says(wrong("m.xml", "<mujoco>\n<include file=\"x.xml\"/></mujoco>"), "m.xml:2:1: include: ");
    says(wrong("m.xml", "<mujoco><include file=\"m.xml\"/></mujoco>"), "is included twice");
    std::fs::write(
        folder.0.join("bad.xml"),
        "<mujoco>\n<worldbody>\n<geom type=\"box\" size=\"1\"/></worldbody></mujoco>",
    )
    .unwrap();
    says(
        wrong("m.xml", "<mujoco><include file=\"bad.xml\"/></mujoco>"),
        "bad.xml:3:1: geom: size: a box needs 3 numbers",
    );
    std::fs::write(folder.0.join("bad.xml"), "<mujoco>\n<worldbody>\n</mujoco>").unwrap();
    says(wrong("m.xml", "<mujoco><include file=\"bad.xml\"/></mujoco>"), "bad.xml:3:1: ");
    says(
        wrong("m.xml", "<mujoco><compiler eulerseq=\"xyw\"/></mujoco>"),
        "eulerseq: must be three of x, y, z, X, Y, Z, got 'xyw'",
    );
    says(
        wrong("m.xml", "<mujoco><worldbody/><equality><weld body1=\"nobody\"/></equality></mujoco>"),
        "there is no body 'nobody'",
    );
}

/// Numbers whose squares have no end are refused by the name of the body; what cannot be printed does not get
/// into the scene file.
#[test]
fn what_a_scene_file_cannot_hold_stays_out_of_it() {
    let folder = Folder::new();
    let tool = "<link name=\"tool\">\n    <inertial>";
    assert!(ARM.contains(tool));
    let far = ARM.replace(tool, &format!("{tool}<origin xyz=\"0 0 1e300\"/>"));
    let e = folder.import("a.urdf", &far, false).err().unwrap().to_string();
    assert!(
        e.contains("a.urdf: mass, centre or inertia of body 'fore' comes out as no finite number"),
        "{e}"
    );
    let (made, scene) =
        folder.import("a.urdf", &ARM.replacen("\"revolute\"", "\"rev\u{7f}lute\"", 1), false).unwrap();
    assert!(made.notes.iter().any(|n| n.contains("rev\u{7f}lute")), "{:?}", made.notes);
    assert_eq!(scene.name, "arm");
}

/// An arm that reaches below its base at the start does not begin within the floor.
#[test]
fn the_floor_is_below_an_arm_that_hangs() {
    let folder = Folder::new();
    let floor = |s: &Scene| s.bodies.iter().find(|b| b.name.as_deref() == Some("floor")).unwrap().position.z;
    let text = "<mujoco><worldbody><body name=\"a\" pos=\"0 0 0\"><geom size=\"0.1\"/><body name=\"b\" pos=\"0 0 -0.3\">\
                <joint axis=\"0 1 0\"/><geom size=\"0.05\"/></body></body></worldbody></mujoco>";
    let (made, scene) = folder.import("up.xml", &text.replace("-0.3", "0.3"), true).unwrap();
    assert_eq!(floor(&scene), 0.0);
    assert!(!made.notes.iter().any(|n| n.contains("the floor is at")));
    let (made, scene) = folder.import("m.xml", text, true).unwrap();
    assert!((floor(&scene) + 0.35).abs() < 1e-9, "{}", made.text);
    assert!(made.notes.iter().any(|n| n.contains("the floor is at z = -0.35 m")), "{:?}", made.notes);
    let mut world = scene.world(scene.settings.clone()).unwrap();
    world.step().unwrap();
}

/// Whatever a damaged file holds, it is refused or read, and nothing panics.
/// An arm that is folded against what it is mounted by, and a box that stands beside it.
#[test]
fn a_mount_is_in_the_way_of_the_robot_no_more_than_its_other_parts() {
    let folded = r#"<mujoco><worldbody>
      <geom name="floor" type="plane" size="1 1 1"/>
      <body name="crate" pos="2 0 0.5"><geom type="box" size=".1 .1 .1" mass="1"/></body>
      <body name="mount">
        <geom type="cylinder" size=".1 .2" pos="0 0 .2" mass="3"/>
        <body name="upper" pos="0 0 .4"><joint name="shoulder" axis="0 1 0"/>
          <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass="1"/>
          <body name="fore" pos=".3 0 0"><joint name="elbow" axis="0 1 0"/>
            <geom type="capsule" size=".02" fromto="0 0 0 -.3 0 -.1" mass="1"/></body>
        </body>
      </body></worldbody></mujoco>"#;
    let (made, scene) = Folder::new().import("folded.xml", folded, true).unwrap();
    let mut world = scene.world(scene.settings.clone()).expect("the fore arm and the mount may overlap");
    let named = |name: &str| {
        let at = world.model().bodies.iter().position(|b| b.name.as_deref() == Some(name));
        at.unwrap_or_else(|| panic!("no '{name}' in\n{}", made.text))
    };
    let (mount, fore) = (named("mount"), named("fore"));
    assert_eq!(world.model().bodies[mount].motion, Motion::Static);
    // What nothing in it moves is ground, as before.
    assert!(
        !made.text.contains("\"crate\"") && made.text.contains("half = [0.1, 0.1, 0.1]"),
        "{}",
        made.text
    );
    let start = world.state().position[fore];
    for _ in 0..200 {
        world.step().unwrap();
    }
    assert!((world.state().position[fore] - start).length() < 1e-4);
}

#[test]
fn damaged_files_are_refused() {
    let folder = Folder::new();
    let mut random = drystone::random::Random::new(11);
    for (name, text) in [("a.urdf", ARM), ("m.xml", PAIR)] {
        let words: Vec<&str> = text.split_inclusive(['"', ' ', '>']).collect();
        for _ in 0..400 {
            let mut all = words.clone();
            for _ in 0..1 + random.next_u64() % 3 {
                let (i, j) = (random.next_u64() as usize % all.len(), random.next_u64() as usize % all.len());
                match random.next_u64() % 4 {
                    0 => drop(all.remove(i)),
                    1 => all.swap(i, j),
                    2 => all[i] = ["0\"", "-1e300\"", "nan\"", "", "\"", "<body>", "1 2 3\""][j % 7],
                    _ => all.insert(i, words[j % words.len()]),
                }
            }
            let (from, to) = (folder.0.join(name), folder.0.join("x.toml"));
            std::fs::write(&from, all.concat()).unwrap();
            if let Ok(made) = import(&from, &to, Options { hold: true, ..Options::default() }) {
                std::fs::write(&to, &made.text).unwrap();
                // What no real body could have is refused by the scene file.
                let _ = load(&to.to_string_lossy(), &[]);
            }
        }
    }
    let deep = format!("<mujoco><worldbody>{}", "<body>".repeat(50_000));
    let e = folder.import("deep.xml", &(deep + &"</body>".repeat(50_000) + "</worldbody></mujoco>"), false);
    assert!(e.err().unwrap().to_string().contains("nested deeper"));
}
