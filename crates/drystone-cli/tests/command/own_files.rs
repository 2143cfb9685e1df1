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
        (
            format!("{run} --report notes.txt"),
            "--report notes.txt",
            "something else than a report by drystone is there",
        ),
        (format!("{run} --snapshots mine.json"), "--snapshots mine.json", "a scene file is there"),
        (
            format!("{run} --series quake.csv"),
            "--series quake.csv",
            "something else than a table by drystone",
        ),
        (format!("{run} --picture photo.png"), "--picture photo.png", "a picture that is not by drystone"),
        ("state stack --to mine.json".into(), "--to mine.json", "a scene file is there"),
        ("live stack --inputs mine.json --no-open".into(), "--inputs mine.json", "a scene file is there"),
        (
            "view stack --html page.html --quiet".into(),
            "--html page.html",
            "something else than a page by drystone",
        ),
        ("picture stack --to photo.png".into(), "--to photo.png", "a picture that is not by drystone"),
        (
            "compare stack --sweeps 1 --plot drawing.svg".into(),
            "--plot drawing.svg",
            "something else than a plot by drystone",
        ),
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

/// Files of other programs are none of ours because their form is the same.
#[test]
fn a_result_is_known_by_its_content() {
    let scratch = Scratch::new("own-content");
    let text = "{\"a\": 1}";
    let html = "<!doctype html>\n<html><title>mine</title></html>";
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 64]].concat();
    scratch.good("run stack --set n=2 --steps 3 --quiet --record rec --record-every 1 --report r.json --snapshots s.json");
    for name in
        ["config.json", "rows.json", "stack-000001.json", "old.gltf", "t.csv", "t.parquet", "film.mp4"]
    {
        scratch.write(name, if name == "rows.json" { "[{\"status\": 1}]" } else { text });
    }
    scratch.write("page.html", html);
    scratch.write("photo.png", &png);
    scratch.write("q_000002.png", &png);
    scratch.write("w_000001.vtp", "<VTKFile></VTKFile>");
    scratch.write("drawing.svg", "<svg></svg>");
    let run = "run stack --steps 1 --quiet";
    for (line, what) in [
        (format!("{run} --report config.json"), "something else than a report by drystone is there"),
        (format!("{run} --report rows.json"), "something else than a report by drystone is there"),
        (format!("{run} --report s.json"), "a file of snapshots is there"),
        (format!("{run} --snapshots r.json"), "a report is there"),
        (format!("{run} --snapshots config.json"), "something else than a file of snapshots"),
        (format!("{run} --picture photo.png"), "a picture that is not by drystone is there"),
        (format!("{run} --dump-problems 1:."), "stack-000001.json: something else than a problem"),
        ("live stack --inputs config.json --no-open".into(), "something else than a file of inputs"),
        ("state stack --to config.json".into(), "something else than a flat state"),
        ("state stack --to r.json".into(), "a report is there"),
        ("compare stack --sweeps 1 --plot drawing.svg".into(), "something else than a plot"),
        ("view rec --html page.html".into(), "something else than a page"),
        ("export rec --to page.html".into(), "something else than a page"),
        ("export rec --to old.gltf".into(), "something else than an animation"),
        ("export rec --to t.csv".into(), "something else than a table"),
        ("export rec --to t.parquet".into(), "something else than a table"),
        ("export rec --to film.mp4".into(), "a film that is not by drystone"),
        ("export rec --to q.png --size 32x32".into(), "q_000002.png: a picture that is not by drystone"),
        ("picture rec --to q.png --size 32x32".into(), "q_000002.png: a picture that is not by drystone"),
        ("export rec --to w.vtp".into(), "w_000001.vtp: something else than a surface"),
    ] {
        holds(&scratch.bad(&line), &[what, "not overwritten: choose another name, or remove it"]);
    }
    assert_eq!(scratch.read("config.json"), text);
    assert_eq!(scratch.read("page.html"), html);
    assert!(!scratch.at("q_000000.png").exists() && !scratch.at("w_000000.vtp").exists());
    // What was made takes the place of what was made.
    scratch.write("two.toml", SCENE);
    for _ in 0..2 {
        for line in [
            "compare stack --set n=2 --at-time 0.1 --sweeps 1 --solvers pgs --report c.json --plot c.svg",
            "compare probs --solvers pgs --report p.json",
            "study two.toml --vary step=0.01,0.02 --measure steps --report y.json --plot y.svg --quiet",
            "zoo --seed 1 --count 1 --report z.json",
            "solve probs/stack-000002.json --report v.json",
            "report rec --plot e.svg",
            "run stack --set n=2 --steps 2 --quiet --dump-problems 1:probs --snapshots n.json.gz",
            "state stack --set n=2 --to n2.json.gz",
            "export rec --to e.csv --quiet",
            "export rec --to e.parquet --quiet",
            "export rec --to e.gltf --quiet",
            "export rec --to e.html --quiet",
            "export rec --to e.vtp --quiet",
            "export rec --to e.png --size 32x32 --quiet",
            "picture rec --to e.png --size 32x32",
        ] {
            if line.contains("probs") && !line.contains("dump") && !scratch.at("probs").exists() {
                scratch.run("run stack --set n=2 --steps 2 --quiet --dump-problems 1:probs");
            }
            let o = scratch.run(line);
            assert!(o.code == 0 || o.code == 3, "{line}: {} {}", o.code, o.err);
        }
    }
}

#[test]
fn a_time_is_one_and_a_file_is_no_recording() {
    let scratch = Scratch::new("own-time");
    scratch.good("run stack --set n=2 --steps 3 --quiet --record rec");
    holds(
        &scratch.bad("picture rec --at nan --to p.png"),
        &["--at-time must be a finite time in s, got NaN"],
    );
    holds(&scratch.bad("picture rec --until nan --to p.png"), &["--until must be a finite time in s"]);
    scratch.write("mine.toml", SCENE);
    for more in ["", " --record-replace"] {
        holds(
            &scratch.bad(&format!("run stack --steps 1 --quiet --record mine.toml{more}")),
            &["--record mine.toml: is a file, and no folder of a recording: choose another name"],
        );
    }
    assert_eq!(scratch.read("mine.toml"), SCENE);
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
            &["is a recording, not a scene", "drystone view rec", "drystone resume rec"],
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
