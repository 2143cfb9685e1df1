//! `check`, and `run` on the same files: good ones, and every kind of bad one with file, line, column and
//! field.

use crate::bodies::{ball, floor, state};
use crate::scratch::{Scratch, holds, number};

/// One ball on a floor. A case replaces a part of it; « in the replacement marks the place the diagnostic
/// must give.
const FLAT: &str = r#"{"name": "one", "h": 0.01, "T": 1, "gravity": [0, 0, -9.81],
 "mu": 0.4, "restitution": 0,
 "statics": [{"shape": "plane", "pos": [0, 0, 0]}],
 "bodies": [
  {"shape": "sphere", "r": 0.5, "m": 2.0, "I": [0.2, 0.2, 0.2],
   "pos": [0, 0, 0.5], "quat": [1, 0, 0, 0],
   "vel": [0, 0, 0], "omega": [0, 0, 0], "group": 0}],
 "joints": []}
"#;

const TOML: &str = r#"name = "one"

[settings]
h = 0.01
T = 1.0

[[body]]
name = "floor"
motion = "static"
shape = { type = "plane" }

[[body]]
name = "ball"
mass = 2.0
position = [0.0, 0.0, 0.5]
shape = { type = "sphere", r = 0.5 }
"#;

/// Part to replace, replacement, field, and what else must be said.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// Line and column, from 1, of a byte; columns count characters.
fn place(text: &str, at: usize) -> String {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    format!("{}:{}", before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

fn all_refused(folder: &str, file: &str, good: &str, cases: &[Case]) {
    let scratch = Scratch::new(folder);
    scratch.write(file, good);
    let said = scratch.good(&format!("check {file}"));
    holds(&said, &[file, "one", "1 dynamic"]);
    for (part, replacement, field, say) in cases {
        assert_eq!(good.matches(part).count(), 1, "'{part}' must be unique");
        let marked = good.replace(part, replacement);
        let at = marked.find('«').expect("a place is marked");
        let text = marked.replace('«', "");
        scratch.write(file, &text);
        let expected = format!("{file}:{}", place(&text, at));
        for command in ["check", "run --quiet", "state --to out.json", "picture --to out.png"] {
            let said = scratch.bad(&format!("{command} {file}"));
            assert!(said.contains(&expected), "{replacement}: expected {expected}, got {said}");
            assert!(said.contains(field), "{replacement}: the field {field} is not named: {said}");
            holds(&said, say);
            assert!(!scratch.at("out.json").exists() && !scratch.at("out.png").exists());
        }
    }
}

#[test]
fn bad_flat_states_are_told_by_place_and_field() {
    all_refused(
        "files-flat",
        "one.json",
        FLAT,
        &[
            (r#""m": 2.0"#, r#""m": «NaN"#, "bodies[0].m", &["NaN"]),
            (r#"[0, 0, 0.5]"#, r#"[0, 0, «Infinity]"#, "bodies[0].pos[2]", &["Infinity"]),
            (r#""h": 0.01"#, r#""h": «-Infinity"#, "h", &["Infinity"]),
            (r#""m": 2.0"#, r#""m": «0"#, "bodies[0].m", &["above 0", "kg"]),
            (r#""m": 2.0"#, r#""m": «-3"#, "bodies[0].m", &["above 0", "-3"]),
            (r#""m": 2.0"#, r#""m": «1e999"#, "bodies[0].m", &[]),
            (r#""m": 2.0"#, r#""m": «"two""#, "bodies[0].m", &["number"]),
            (r#""m": 2.0"#, r#""m": «null"#, "bodies[0].m", &["number"]),
            (r#"[0.2, 0.2, 0.2]"#, r#"[0.2, «0, 0.2]"#, "bodies[0].I[1]", &["above 0"]),
            (r#"[0.2, 0.2, 0.2]"#, r#"[0.2, 0.2, «-1]"#, "bodies[0].I[2]", &["above 0"]),
            (r#"[0.2, 0.2, 0.2]"#, r#"[«9, 0.2, 0.2]"#, "bodies[0].I[0]", &["triangle"]),
            (r#"[0.2, 0.2, 0.2]"#, r#"«[0.2, 0.2]"#, "bodies[0].I", &["3"]),
            (r#"[1, 0, 0, 0]"#, r#"«[0, 0, 0, 0]"#, "bodies[0].quat", &["zero quaternion"]),
            (r#"[1, 0, 0, 0]"#, r#"«[1, 1, 0, 0]"#, "bodies[0].quat", &["unit"]),
            (r#"[1, 0, 0, 0]"#, r#"«[1, 0, 0]"#, "bodies[0].quat", &["4"]),
            (r#""r": 0.5"#, r#""r": «-0.5"#, "bodies[0].r", &["above 0", "-0.5"]),
            (r#""r": 0.5, "#, r#""r": 0.5, "half": «[1, 1, 1], "#, "half", &["sphere"]),
            (r#""h": 0.01"#, r#""h": «0"#, "h", &["above 0"]),
            (r#""T": 1"#, r#""T": «-1"#, "T", &["above 0"]),
            (r#""mu": 0.4"#, r#""mu": «-0.4"#, "mu", &["negative"]),
            (r#""restitution": 0"#, r#""restitution": «1.5"#, "restitution", &["0 to 1"]),
            (r#""group": 0"#, r#""group": «-1"#, "bodies[0].group", &[]),
            (r#""group": 0"#, r#""group": «0.5"#, "bodies[0].group", &["whole"]),
            (r#""group": 0"#, r#""group": 0, «"colour": "red""#, "colour", &["unknown"]),
            (r#""shape": "sphere""#, r#""shape": «"shpere""#, "bodies[0].shape", &["sphere", "capsule"]),
            (r#""m": 2.0, "#, r#"«"mm": 2.0, "#, "mm", &["unknown"]),
            (r#""name": "one""#, r#""name": «1"#, "name", &["string"]),
            (r#""gravity": [0, 0, -9.81]"#, r#""gravity": «-9.81"#, "gravity", &[]),
            (r#""pos": [0, 0, 0]}"#, r#""pos": [0, 0, 0], «"radius": 1}"#, "radius", &["unknown"]),
            (r#""T": 1"#, r#""T": 1, "snaps": [0.5, «-1]"#, "snaps[1]", &["-1"]),
            (
                r#""joints": []"#,
                r#""joints": [{"type": "ball", "a": 0, "b": «7, "anchor": [0, 0, 0], "axis": [0, 0, 1], "drive": null}]"#,
                "joints[0].b",
                &["no body 7"],
            ),
        ],
    );
}

#[test]
fn fields_that_are_missing_are_named_with_their_owner() {
    let scratch = Scratch::new("files-missing");
    for (part, field) in [
        (r#""m": 2.0, "#, "'m'"),
        (r#""r": 0.5, "#, "'r'"),
        (r#", "group": 0"#, "'group'"),
        (r#""quat": [1, 0, 0, 0],"#, "'quat'"),
        (r#""vel": [0, 0, 0], "#, "'vel'"),
        (r#""I": [0.2, 0.2, 0.2],"#, "'I'"),
    ] {
        let text = FLAT.replace(part, "").replace("\"m\": 2.0, \n", "\"m\": 2.0,\n");
        // A comma left before a line end or a brace is not what is under test.
        let text = text.replace(", \n   \"pos\"", ",\n   \"pos\"");
        scratch.write("one.json", &text);
        let said = scratch.bad("check one.json");
        holds(&said, &["one.json:5:3", "bodies[0]", field]);
    }
    for (part, field) in [(r#""mu": 0.4, "#, "'mu'"), (r#""h": 0.01, "#, "'h'"), (r#", "T": 1"#, "'T'")] {
        scratch.write("one.json", FLAT.replace(part, ""));
        holds(&scratch.bad("check one.json"), &["one.json:1:1", field]);
    }
}

#[test]
fn bad_scene_files_are_told_by_place_and_field() {
    all_refused(
        "files-toml",
        "one.toml",
        TOML,
        &[
            ("mass = 2.0", "mass = «nan", "mass", &[]),
            ("mass = 2.0", "mass = «0.0", "mass", &["above 0", "kg"]),
            ("mass = 2.0", "mass = «-2.0", "mass", &["above 0"]),
            ("mass = 2.0", "mass = «\"two\"", "mass", &["number"]),
            ("mass = 2.0", "mass = 2.0\ninertia = «[0.0, 0.2, 0.2]", "inertia", &["positive"]),
            ("mass = 2.0", "mass = 2.0\nrotation = «[0.0, 0.0, 0.0, 0.0]", "rotation", &["zero quaternion"]),
            ("mass = 2.0", "mass = 2.0\n«colour = \"red\"", "colour", &["unknown"]),
            ("r = 0.5", "r = «-0.5", "r", &["above 0"]),
            ("r = 0.5", "r = «inf", "r", &[]),
            (
                "{ type = \"sphere\", r = 0.5 }",
                "«{ type = \"sphere\", r = 1e200 }",
                "shape",
                &["at most 1e12 m"],
            ),
            (
                "r = 0.5 }",
                "r = 0.5 }\n«[[joint]]\ntype = \"revolute\"\nb = \"floor\"\naxis = [0.0, 0.0, 1.0]",
                "joint[0]",
                &["dynamic"],
            ),
            ("type = \"sphere\"", "type = «\"shpere\"", "type", &["sphere", "capsule"]),
            ("position = [0.0, 0.0, 0.5]", "position = «[0.0, 0.5]", "position", &["3"]),
            ("h = 0.01", "h = «0.0", "h", &["above 0"]),
            ("T = 1.0", "T = 1.0\nsolver = «\"pgss\"", "solver", &["did you mean 'pgs'"]),
            ("T = 1.0", "T = 1.0\nstabilisation = «\"pots\"", "stabilisation", &["did you mean 'post'"]),
            ("T = 1.0", "T = 1.0\nbroadphase = «\"saap\"", "broadphase", &["did you mean 'sap'"]),
            ("T = 1.0", "T = 1.0\n«tolerence = 1e-3", "tolerence", &["unknown"]),
            ("T = 1.0", "T = 1.0\n«T = 2.0", "", &["duplicate"]),
        ],
    );
}

#[test]
fn files_that_are_no_scenes_at_all() {
    let scratch = Scratch::new("files-none");
    std::fs::create_dir(scratch.at("folder")).unwrap();
    std::fs::create_dir(scratch.at("folder.json")).unwrap();
    scratch.write("empty.json", "");
    scratch.write("empty.toml", "");
    scratch.write("blank.json", " \n\t\n");
    scratch.write("cut.json", &FLAT[..FLAT.find("\"vel\"").unwrap()]);
    scratch.write("cut.toml", "[settings]\nh = 0.01\nT = [1.0,");
    scratch.write("plain.json.gz", FLAT);
    scratch.write("latin.json", b"{\"name\": \"caf\xe9\"}");
    scratch.write("list.json", "[1, 2, 3]");
    scratch.write("twice.json", format!("{FLAT}{FLAT}"));
    scratch.write("deep.json", "[".repeat(200_000));
    scratch.write("notes.txt", "hello");
    for command in ["check", "run", "state --to out.json"] {
        let say = |file: &str, all: &[&str]| {
            let said = scratch.bad(&format!("{command} {file}"));
            holds(&said, &[file]);
            holds(&said, all);
            assert!(!said.contains("panicked"), "{said}");
        };
        say("absent.json", &["No such file"]);
        say("absent.toml", &["No such file"]);
        say("absent.json.gz", &["No such file"]);
        say("folder", &[".toml", ".json"]);
        say("folder.json", &["directory"]);
        say("notes.txt", &[".toml", ".json"]);
        say("empty.json", &["empty.json:1:1"]);
        say("blank.json", &["blank.json:"]);
        say("empty.toml", &["body"]);
        say("cut.json", &["cut.json:7:"]);
        say("cut.toml", &["cut.toml:3:"]);
        say("plain.json.gz", &["decompress"]);
        say("latin.json", &["latin.json:1:14", "UTF-8"]);
        say("list.json", &["list.json:1:1"]);
        say("twice.json", &["twice.json:9:1"]);
        say("deep.json", &["deep.json:1:"]);
    }
}

#[test]
fn a_file_says_what_it_holds_and_runs_with_its_own_settings() {
    let scratch = Scratch::new("files-good");
    scratch.write("one.toml", TOML.replace("T = 1.0", "T = 1.0\nsolver = \"pssor:omega=0.8\"\nseed = 9"));
    scratch.write(
        "two.json",
        state(vec![ball([0.0, 0.0, 0.5]), ball([2.0, 0.0, 0.5])], vec![floor()]).to_string(),
    );
    holds(
        &scratch.good("check one.toml"),
        &["one.toml", "scene file", "'one'", "1 dynamic", "h = 0.01 s", "T = 1 s"],
    );
    holds(&scratch.good("check two.json"), &["two.json", "flat state", "'made'", "2 dynamic", "T = 0.5 s"]);
    let r = scratch.report("one.toml");
    assert_eq!((&r["scene"], &r["steps"], &r["seed"]), (&"one".into(), &100.into(), &9.into()));
    assert_eq!(r["solver"]["name"], "pssor");
    assert!((number(&r, "scene_results.floor_force_over_weight") - 1.0).abs() < 1e-3);
    // The command line wins over the file.
    let r = scratch.report("one.toml --solver pgs --set T=0.2");
    assert_eq!((&r["solver"]["name"], &r["steps"]), (&"pgs".into(), &20.into()));
    holds(&scratch.bad("run one.toml --set n=5"), &["'n'", "valid: h, T, mu, seed"]);
}

#[test]
fn what_is_allowed_but_hardly_meant_is_noted() {
    let scratch = Scratch::new("files-notes");
    let square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n";
    scratch.write("sheet.obj", square);
    let corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n";
    scratch.write("solid.obj", format!("{corners}f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"));
    scratch.write("inside-out.obj", format!("{corners}f 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n"));
    let file = |mesh: &str, z: f64| {
        let ball = "shape = { type = \"sphere\", r = 0.5 }\nmass = 1\nmaterial = \"oak\"";
        format!(
            "name = \"notes\"\n[settings]\nT = 1\n[materials]\npair = [{{ between = [\"oak\", \"stone\"], mu = 0.5 }}, {{ between = [\"oak\", \"oak\"], mu = 0.4 }}]\n\
             [[body]]\nmotion = \"static\"\nmaterial = \"stone\"\nshape = {{ type = \"mesh\", file = \"{mesh}\" }}\n\
             [[body]]\n{ball}\nposition = [5, 0, 0]\n[[body]]\n{ball}\nposition = [5, 0, {z}]\n"
        )
    };
    scratch.write("good.toml", file("solid.obj", 1.0));
    let said = scratch.good("check good.toml");
    assert!(!said.contains("note:"), "{said}");

    scratch.write("deep.toml", file("solid.obj", 0.4));
    let said = scratch.good("check deep.toml");
    holds(&said, &["note: body 0 (body[1]) and body 1 (body[2]) overlap by 0.6000 m", "--allow-overlap"]);
    holds(&scratch.bad("run deep.toml"), &["deep.toml: ", "overlap by 0.6000 m", "--allow-overlap"]);

    scratch.write("open.toml", file("sheet.obj", 1.0));
    holds(&scratch.good("check open.toml"), &["note: the mesh of body 2 (body[0]) is open (4 edges"]);
    scratch.write("out.toml", file("inside-out.obj", 1.0));
    holds(&scratch.good("check out.toml"), &["note: the mesh of body 2 (body[0]) is inside out"]);
    scratch.write("slip.toml", file("solid.obj", 1.0).replace("[\"oak\"", "[\"oka\""));
    holds(&scratch.good("check slip.toml"), &["nothing is made of 'oka'", "did you mean 'oak'?"]);
}

/// What a file asks for and cannot have is refused before the first step, with its place.
#[test]
fn what_cannot_begin_is_refused_with_its_place() {
    let scratch = Scratch::new("files-begin");
    let ball = "[[body]]\nname = \"b\"\nshape = {type = \"sphere\", r = 0.1}\nmass = 1\nposition = AT\n";
    let write = |name: &str, settings: &str, at: &str, more: &str| {
        let text = format!("name = \"x\"\n[settings]\n{settings}\n{}{more}", ball.replace("AT", at));
        std::fs::write(scratch.at(name), text).unwrap();
    };
    let hinge = |law: &str| format!("[[joint]]\ntype = \"revolute\"\nb = \"b\"\naxis = [0, 0, 1]\n{law}\n");
    let rope =
        "[[joint]]\ntype = \"distance\"\nb = \"b\"\nanchor_a = [0, 0, 0]\nanchor_b = [0, 0, 1]\nlength = 1\n";
    let two = format!("{rope}{}", rope.replace("[0, 0, 0]", "[5, 0, 0]"));
    write("apart.toml", "T = 1", "[0, 0, 1]", &two);
    holds(&scratch.bad("run apart.toml --report r.json"), &["apart.toml:", "joint[", "cannot be assembled"]);
    write("far.toml", "T = 1", "[1e200, 0, 0]", "");
    holds(&scratch.bad("run far.toml"), &["far.toml:4:", "body[0]", "within 1e12 m"]);
    write("endless.toml", "T = 1e9\nh = 1e-12", "[0, 0, 1]", "");
    holds(&scratch.bad("run endless.toml"), &["1.0e21 steps of 1e-12 s"]);
    write("several.toml", "T = 1", "[0, 0, 1]", &hinge("motor = { speed = 1, position = 2 }"));
    holds(&scratch.bad("check several.toml"), &["several.toml:13:9", "joint[0].motor", "not several"]);
    write("crossed.toml", "T = 1", "[0, 0, 1]", &hinge("limits = [1, -1]"));
    holds(
        &scratch.bad("check crossed.toml"),
        &["crossed.toml:13:10", "joint[0].limits", "lower must be at most upper"],
    );
    std::fs::write(scratch.at("named.json"), "{\"name\": \"x\"}").unwrap();
    holds(&scratch.bad("check named.json"), &["named.json:1:1", "the field 'body' is missing"]);
    write("short.toml", "T = 0.1\nh = 0.3", "[0, 0, 1]", "");
    holds(&scratch.bad("run short.toml"), &["0.1 s are less than a step of 3e-1 s"]);
}
