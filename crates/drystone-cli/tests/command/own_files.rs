//! Results take the place of results of their kind, and of nothing that people write; options without a
//! meaning are refused.

use crate::scratch::{Scratch, holds};

const SCENE: &str =
    "[settings]\nT = 1\n[[body]]\nname = \"b\"\nmass = 1\nmu = 0\nshape = { type = \"sphere\", r = 0.1 }\n";
const ARM: &str = "<robot name=\"arm\"><link name=\"base\"/><link name=\"arm\"><inertial><mass value=\"1\"/>\
    <inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>\
    <joint name=\"j\" type=\"continuous\"><parent link=\"base\"/><child link=\"arm\"/></joint></robot>";

#[test]
fn what_people_write_is_not_overwritten() {
    let scratch = Scratch::new("own-files");
    let json = "{\"settings\":{\"T\":1},\"body\":[{\"name\":\"b\",\"mass\":1,\"mu\":0,\"shape\":{\"type\":\"sphere\",\"r\":0.1}}]}";
    let state = "{\"name\":\"s\",\"h\":0.01,\"T\":1,\"gravity\":[0,0,-9.81],\"mu\":0.3,\"bodies\":[]}";
    let inputs = "{\"drystone_inputs\":1,\"scene\":\"stack\",\"set\":[],\"step_s\":0.01,\"events\":[]}";
    let quake = "t,ew\n0,0.1\n0.02,0.2\n";
    for (name, text) in [
        ("mine.toml", SCENE),
        ("mine.json", json),
        ("state.json", state),
        ("driven.json", inputs),
        ("quake.csv", quake),
        ("arm.urdf", ARM),
        ("notes.txt", "by hand"),
        ("page.html", "mine"),
        ("photo.png", "mine"),
        ("drawing.svg", "mine"),
        ("part.obj", "v 0 0 0\n"),
    ] {
        scratch.write(name, text);
    }
    let run = "run stack --steps 1 --quiet";
    for (line, place, what) in [
        (format!("{run} --report mine.toml"), "--report mine.toml", "a scene file is there"),
        (format!("{run} --report mine.json"), "--report mine.json", "a scene file is there"),
        (format!("{run} --report state.json"), "--report state.json", "a flat state is there"),
        (format!("{run} --report driven.json"), "--report driven.json", "a file of inputs is there"),
        (format!("{run} --report arm.urdf"), "--report arm.urdf", "a robot is there"),
        (format!("{run} --report notes.txt"), "--report notes.txt", "something else is there"),
        (format!("{run} --snapshots mine.json"), "--snapshots mine.json", "a scene file is there"),
        (format!("{run} --series quake.csv"), "--series quake.csv", "a table that no run has written"),
        (format!("{run} --picture photo.png"), "--picture photo.png", "something else"),
        ("state stack --to mine.json".into(), "--to mine.json", "a scene file is there"),
        ("live stack --inputs mine.json --no-open".into(), "--inputs mine.json", "a scene file is there"),
        ("view stack --html page.html --quiet".into(), "--html page.html", "something else"),
        ("picture stack --to photo.png".into(), "--to photo.png", "something else"),
        ("compare stack --sweeps 1 --plot drawing.svg".into(), "--plot drawing.svg", "something else"),
        ("import arm.urdf --to mine.toml".into(), "--to mine.toml", "drystone import has not made is there"),
    ] {
        holds(&scratch.bad(&line), &[place, what, "not overwritten: choose another name, or remove it"]);
    }
    assert_eq!(scratch.read("mine.toml"), SCENE);
    assert_eq!(scratch.read("mine.json"), json);
    assert_eq!(scratch.read("state.json"), state);
    assert_eq!(scratch.read("quake.csv"), quake);
    // Results of the same kind are replaced, and so is what is empty.
    scratch.write("empty.json", "");
    scratch.good(&format!("{run} --report empty.json"));
    for _ in 0..2 {
        scratch.good(&format!(
            "{run} --report r.json --snapshots s.json --series t.csv --bodies u.parquet --picture p.png --size 32x32"
        ));
        scratch.good("state stack --to new.json");
        scratch.good("view stack --time 0.05 --html v.html --quiet");
        scratch.good("import arm.urdf --to new.toml --quiet");
    }
    scratch.good("state stack --to state.json");
}

/// What comes out of a robot is written when it is a scene, and not before.
#[test]
fn an_import_that_fails_leaves_nothing() {
    let scratch = Scratch::new("own-import");
    scratch.write("arm.urdf", ARM.replace("value=\"1\"", "value=\"-1\""));
    holds(
        &scratch.bad("import arm.urdf --to arm.toml"),
        &["arm.urdf:1:", "mass: value: must not be below 0"],
    );
    scratch.write("part.stl", "solid x\nendsolid x\n");
    let mesh = "<collision><geometry><mesh filename=\"part.stl\"/></geometry></collision></link><joint";
    scratch.write("arm.urdf", ARM.replacen("</link><joint", mesh, 1));
    holds(&scratch.bad("import arm.urdf --to arm.toml"), &["arm.urdf: no scene comes out of it", "part.stl"]);
    let left: Vec<_> = std::fs::read_dir(scratch.at(".")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_recording_is_no_scene_and_takes_no_options_of_one() {
    let scratch = Scratch::new("own-recording");
    scratch.good("run stack --steps 3 --quiet --record rec --snapshots s.json");
    for line in ["run rec", "run rec/run.00000.h5", "live rec --no-open", "state rec --to x.json"] {
        holds(
            &scratch.bad(line),
            &["is a recording, and no scene", "drystone view rec", "drystone resume rec"],
        );
    }
    holds(&scratch.bad("run ."), &[".toml", ".json"]);
    for (options, say) in [
        ("--set n=3", "--set has no meaning"),
        ("--time 0.1", "--time has no meaning"),
        ("--time 0.1 --frames 10 --solver pgs", "--solver, --time, --frames have no meaning"),
        ("--scene stack", "--scene has no meaning"),
    ] {
        let line = format!("view rec --html x.html {options}");
        holds(&scratch.bad(&line), &["rec: is a recording", say, "drystone export"]);
    }
    holds(
        &scratch.bad("view s.json --html x.html --time 1"),
        &["a file of snapshots", "--time has no meaning"],
    );
    holds(
        &scratch.bad("view stack --html x.html --scene stack"),
        &["stack: is a scene", "--scene has no meaning"],
    );
    assert!(!scratch.at("x.html").exists());
    // What was written is said, unless it is to be quiet.
    holds(&scratch.good("view rec --html x.html"), &["x.html: 1 frame, ", " MB"]);
    assert_eq!(scratch.good("view rec --html x.html --quiet"), "");
    holds(&scratch.good("view s.json --html y.html"), &["y.html: 2 frames, "]);
}

#[test]
fn a_study_knows_the_scenes_parameters() {
    let scratch = Scratch::new("own-study");
    let line = |vary: &str| format!("study packing --vary {vary} --measure penetration_m.max");
    holds(
        &scratch.bad(&line("fraction=0.1,0.2")),
        &["unknown name 'fraction'; did you mean 'set.fraction'?", "shape"],
    );
    holds(&scratch.bad(&line("fracton=")), &["did you mean 'set.fraction'?"]);
    scratch.write(
        "mine.toml",
        format!("[parameters]\nr = 0.1\n{}", SCENE.replace("r = 0.1 }", "r = \"= r\" }")),
    );
    holds(
        &scratch.bad("study mine.toml --vary r= --measure steps"),
        &["'r'", "did you mean 'set.r'?", "r, h, T, mu"],
    );
}
