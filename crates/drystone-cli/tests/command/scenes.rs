//! Scene files as people write them: `new`, `schema`, `check`, declared parameters, stop conditions;
//! recordings in the viewer; `import`.

use crate::scratch::Scratch;

fn holds(text: &str, words: &[&str]) {
    words.iter().for_each(|w| assert!(text.contains(w), "'{w}' is not in\n{text}"));
}

#[test]
fn a_new_scene_is_checked_and_run() {
    let scratch = Scratch::new("scenes-new");
    holds(&scratch.good("new mine"), &["mine.toml", "drystone check mine.toml"]);
    holds(&scratch.bad("new mine"), &["mine.toml: is there already"]);
    let said = scratch.good("check mine.toml");
    holds(&said, &["scene file 'mine'", "mass:", "extent:", "energy:", "contacts at the start:"]);
    assert!(!said.contains("note:"), "{said}");
    scratch.good("new folder/other.toml");
    let r = scratch.report("mine.toml --set rows=2 --set speed=0 --time 0.1");
    assert_eq!(r["steps"], 20);
    holds(&scratch.bad("run mine.toml --set rows=400"), &["rows: must be from 1 to 40, got 400"]);
    holds(
        &scratch.bad("run mine.toml --set raws=4"),
        &["no parameter 'raws'; did you mean 'rows'?", "speed, mu, h, T"],
    );
    let schema: serde_json::Value = serde_json::from_str(&scratch.good("schema")).unwrap();
    assert!(schema["properties"]["body"]["items"].is_object());
}

/// A run that is over in 0.03 s is seen in more than two frames, and to its end.
#[test]
fn short_runs_have_frames() {
    let scratch = Scratch::new("scenes-short");
    holds(&scratch.good("view andrews --html a.html"), &["a.html: 121 frames"]);
    holds(&scratch.good("view andrews --frames 60 --html b.html"), &["b.html: 3 frames"]);
    holds(&scratch.good("view stack --set n=2 --time 0.05 --html c.html"), &["c.html: 6 frames"]);
}

#[test]
fn a_run_stops_when_the_file_says() {
    let scratch = Scratch::new("scenes-stop");
    let text = "[settings]\nT = 10\n[stop]\nwhen = \"ball.z < 4\"\n[[body]]\nname = \"ball\"\nposition = [0, 0, 5]\n\
                shape = { type = \"sphere\", r = 0.1 }\nmass = 1\nmu = 0\n";
    scratch.write("fall.toml", text);
    let r = scratch.report("fall.toml");
    assert_eq!((&r["status"], &r["scene_results"]["stopped"]), (&"ok".into(), &"ball.z < 4".into()));
    let steps = r["steps"].as_u64().unwrap();
    assert!((44..=46).contains(&steps), "{steps}");
    // A recorded run ends there too, and is whole.
    scratch.good("run fall.toml --quiet --record rec --record-every 1");
    assert!(scratch.at("rec/finished").is_file());
    holds(&scratch.good("report rec"), &["fall"]);
}

#[test]
fn parameters_are_varied_by_study() {
    let scratch = Scratch::new("scenes-study");
    let text = "[parameters]\nz = { default = 1, range = [0.5, 9] }\n[settings]\nT = 0.1\n[[body]]\nname = \"ball\"\n\
                position = [0, 0, \"= z\"]\nshape = { type = \"sphere\", r = 0.1 }\nmass = 1\nmu = 0\n";
    scratch.write("drop.toml", text);
    let said = scratch.good("study drop.toml --vary set.z=1,2,4 --measure energy_j.potential_last");
    holds(&said, &["9.281", "19.09", "38.71"]);
}

#[test]
fn recordings_become_one_file() {
    let scratch = Scratch::new("scenes-html");
    scratch.good("run stack --time 0.5 --quiet --record rec --record-every 5");
    holds(&scratch.good("export rec --to run.html"), &["run.html: 11 of 11 frames"]);
    let whole = std::fs::read_to_string(scratch.at("run.html")).unwrap();
    holds(&whole, &["<script type=\"text/plain\" id=\"frames\">"]);
    scratch.good("view rec --html same.html");
    assert_eq!(std::fs::read_to_string(scratch.at("same.html")).unwrap(), whole);
    scratch.good("export rec --to less.html --every 5 --quiet");
    assert!(std::fs::metadata(scratch.at("less.html")).unwrap().len() < whole.len() as u64);
    std::fs::create_dir_all(scratch.at("empty")).unwrap();
    holds(&scratch.bad("view empty --html x.html"), &["empty: is no recording"]);
}

#[test]
fn robots_are_imported_with_what_was_not_understood() {
    let scratch = Scratch::new("scenes-import");
    let urdf = "<robot name=\"one\">\n<link name=\"a\"><inertial><mass value=\"1\"/>\
                <inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial><collision><geometry><sphere radius=\"0.2\"/></geometry></collision></link>\n\
                <gazebo/>\n</robot>";
    scratch.write("one.urdf", urdf);
    let said = scratch.good("import one.urdf --to one.toml");
    holds(&said, &["one.toml: 1 bodies, 0 joints", "note: line 3: <gazebo> is not understood"]);
    let r = scratch.report("one.toml --time 0.2");
    assert_eq!(r["status"], "ok");
    holds(&scratch.bad("import one.urdf --to one.json"), &["must end in .toml"]);
    holds(&scratch.bad("import gone.urdf --to x.toml"), &["gone.urdf: cannot be read"]);
}

/// What a run refuses is no scene that is right; and what is wrong is told at once, whatever is missing.
#[test]
fn check_refuses_what_run_refuses_and_tells_all_of_it() {
    let scratch = Scratch::new("check-all");
    let ball = "[[body]]\nname = \"ball\"\nshape = { type = \"sphere\", r = 0.1 }\nmass = 1\n";
    scratch.write("short.toml", format!("[settings]\nT = 1\nh = 2\n{ball}mu = 0.1\n"));
    for command in ["check", "run"] {
        let said = scratch.bad(&format!("{command} short.toml"));
        assert!(said.contains("1 s are less than a step of 2e0 s: nothing to run"), "{said}");
    }
    assert!(scratch.bad("check short.toml").contains("short.toml:2:5: settings.T: "));
    scratch.write("none.toml", "[settings]\nT = 1\nsolver = \"foo\"\ntolerance = -1\ngravity = [0, 0]\n");
    let said = scratch.bad("check none.toml");
    for words in
        ["the field 'body' is missing", "settings.solver: ", "settings.tolerance: ", "settings.gravity: "]
    {
        assert_eq!(said.matches(words).count(), 1, "{said}");
    }
    scratch.write(
        "body.toml",
        format!("[settings]\nT = 1\n{ball}mu = -1\ndensity = 10\nrotation = [0, 0, 0, 0]\n"),
    );
    let said = scratch.bad("check body.toml");
    for words in
        ["body[0].mu: ", "body[0].density: give mass or density", "body[0].rotation: a zero quaternion"]
    {
        assert_eq!(said.matches(words).count(), 1, "{said}");
    }
}
