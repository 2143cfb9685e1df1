//! What is kept of a run, where and how: compression, checkpoints, tables on standard output, snapshots, what
//! a killed run leaves.

use std::path::Path;

use drystone_record::recording::{Recording, checkpoints};

use crate::scratch::{Scratch, holds, number};

fn bytes(folder: &Path) -> u64 {
    let size = |e: std::io::Result<std::fs::DirEntry>| e.unwrap().metadata().unwrap().len();
    std::fs::read_dir(folder).unwrap().map(size).sum()
}

/// Bodies enough for tables that are worth it.
#[test]
fn compression_changes_bytes_and_nothing_else() {
    let scratch = Scratch::new("keeping-compression");
    let line =
        "run packing --set n=1500 --steps 12 --record-every 1 --checkpoint end --quiet --report r.json";
    scratch.good(&format!("{line} --record a --record-compression none"));
    let plain = scratch.json("r.json");
    scratch.good(&format!("{line} --record b"));
    let [a, b] = ["a", "b"].map(|f| Recording::open(&scratch.at(f)).unwrap());
    assert_eq!((a.len(), b.len()), (13, 13));
    for k in 0..13 {
        assert_eq!(format!("{:?}", a.frame(k).unwrap()), format!("{:?}", b.frame(k).unwrap()));
    }
    let [packed, plainly] = ["b", "a"].map(|f| bytes(&scratch.at(f)));
    assert!(10 * packed < 9 * plainly, "{packed} {plainly}");
    let r = &plain["recording"];
    assert_eq!((r["frames"].as_u64(), r["checkpoints"].as_u64()), (Some(13), Some(1)));
    assert!(number(r, "written_bytes") > 13.0 * 1500.0 * 60.0 && number(r, "checkpoint_bytes") > 1e5);
    assert!(number(r, "busy_s") > 0.0 && number(r, "wait_s") >= 0.0);
    holds(&scratch.bad("run stack --record c --record-compression zip"), &["deflate or none"]);
}

/// A run that is refused because of its recording has not touched what the run before has written.
#[test]
fn a_refused_run_leaves_what_is_there() {
    let scratch = Scratch::new("keeping-refused");
    let files = ["s.csv", "b.parquet", "f.csv", "p.csv", "j.csv", "s.json", "r.json"];
    let line = "run stack --set n=3 --steps 30 --quiet --record rec --series s.csv --bodies b.parquet --body-forces f.csv --pair-forces p.csv \
                --joint-forces j.csv --snapshots s.json --report r.json";
    scratch.good(line);
    let before = files.map(|name| std::fs::read(scratch.at(name)).unwrap());
    holds(&scratch.bad(line), &["there is a recording already"]);
    assert_eq!(files.map(|name| std::fs::read(scratch.at(name)).unwrap()), before);
    // Nor does one that asks for what cannot be take the place of the recording.
    holds(&scratch.bad(&format!("{line} --record-replace --record-what all")), &["--record-what all"]);
    holds(&scratch.bad(&line.replace("s.csv", "s.txt")), &["--series s.txt", ".csv or .parquet"]);
    assert_eq!(Recording::open(&scratch.at("rec")).unwrap().steps().len(), 30);
    let short = "run stack --steps 1 --quiet";
    holds(
        &scratch.bad(&format!("{short} --record one --report one")),
        &["--report one: --record is there already"],
    );
    holds(&scratch.bad(&format!("{short} --record -")), &["--record -: a folder is needed"]);
    holds(&scratch.bad(&format!("{short} --series-every 2")), &["--series-every needs --series or --bodies"]);
    holds(
        &scratch.bad(&format!("{short} --series x.csv --forces-every 2")),
        &["--forces-every needs --body-forces"],
    );
    holds(
        &scratch.bad(&format!("{short} --pair-forces p.txt")),
        &["--pair-forces p.txt: the name must end in"],
    );
}

/// Nothing that was begun by a process that is gone stays.
#[test]
fn what_a_killed_run_had_begun_is_swept_away() {
    let scratch = Scratch::new("keeping-sweep");
    scratch.good("run stack --steps 20 --record rec --checkpoint 10 --quiet");
    for name in [".run.00007.h5.tmp", ".run-000009.vtkhdf.tmp", ".checkpoint-1.tmp", "mine.tmp"] {
        scratch.write(&format!("rec/{name}"), "half");
    }
    scratch.good("resume rec --steps 30 --quiet");
    let left: Vec<String> = std::fs::read_dir(scratch.at("rec"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".tmp"))
        .collect();
    assert_eq!(left, ["mine.tmp"]);
}

#[test]
fn tables_go_to_standard_output() {
    let scratch = Scratch::new("keeping-standard");
    let out = scratch.good("run pendulum --steps 5 --joint-forces -");
    assert!(out.starts_with("step,time_s,joint,"), "no summary among the rows: {out}");
    assert_eq!(out.lines().count(), 1 + 5);
    let out = scratch.good("run stack --set n=3 --steps 4 --series - --report r.json");
    assert_eq!((out.lines().count(), scratch.json("r.json")["steps"].as_u64()), (1 + 5, Some(4)));
    assert!(!scratch.at("-").exists());
    holds(&scratch.bad("run stack --series - --report -"), &["is there already"]);
}

#[test]
fn snapshots_come_as_often_as_asked() {
    let scratch = Scratch::new("keeping-snapshots");
    let times = |name: &str| -> Vec<f64> {
        let file = scratch.json(name);
        file["snaps"].as_array().unwrap().iter().map(|s| s[0].as_f64().unwrap()).collect()
    };
    let near = |times: Vec<f64>, wanted: &[f64]| {
        assert_eq!(times.len(), wanted.len(), "{times:?}");
        assert!(times.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{times:?}");
    };
    scratch.good("run stack --step 0.01 --time 0.5 --quiet --snapshots a.json --snapshots-every 0.2s");
    near(times("a.json"), &[0.2, 0.4, 0.5]);
    scratch.good("run stack --step 0.01 --steps 30 --quiet --snapshots b.json --snapshots-every 10");
    near(times("b.json"), &[0.1, 0.2, 0.3]);
    let ball = "[[body]]\nname = \"ball\"\nshape = { type = \"sphere\", r = 0.1 }\nmass = 1\n";
    scratch.write("s.toml", format!("[settings]\nT = 0.3\nh = 0.01\nsnaps = \"0.15s\"\n{ball}"));
    scratch.good("run s.toml --quiet --snapshots c.json");
    near(times("c.json"), &[0.15, 0.3]);
    // Shapes are those of a scene that the file can only name.
    for command in ["view c.json --html v.html", "picture c.json --to p.png"] {
        holds(&scratch.bad(command), &["c.json", "'s'", "--scene"]);
    }
    scratch.good("picture c.json --scene s.toml --size 32x32 --to p.png");
    assert!(scratch.at("p_000001.png").exists());
}

/// Whatever a scene file includes is part of the run.
#[test]
fn a_scene_that_has_changed_is_not_gone_on_with() {
    let scratch = Scratch::new("keeping-changed");
    let part = "[[body]]\nname = \"ball\"\nshape = { type = \"sphere\", r = 0.1 }\nmass = 1\n";
    scratch.write("part.toml", part);
    scratch.write("s.toml", "include = \"part.toml\"\n[settings]\nT = 0.3\nh = 0.01\n");
    scratch.good("run s.toml --steps 10 --quiet --record rec");
    scratch.good("resume rec --steps 12 --quiet");
    scratch.write("part.toml", part.replace("mass = 1", "mass = 2"));
    holds(&scratch.bad("resume rec --steps 20"), &["s.toml", "includes", "not what it was"]);
    std::fs::remove_file(scratch.at("part.toml")).unwrap();
    holds(&scratch.bad("resume rec --steps 20"), &["s.toml"]);
    scratch.write("part.toml", part);
    scratch.good("resume rec --steps 20 --quiet");
}

#[test]
fn checkpoints_at_the_end_alone_if_that_is_asked_for() {
    let scratch = Scratch::new("keeping-end");
    scratch.good("run stack --steps 30 --quiet --record rec --checkpoint end");
    let steps: Vec<u64> = checkpoints(&scratch.at("rec")).unwrap().iter().map(|c| c.0).collect();
    assert_eq!(steps, [30]);
    holds(&scratch.bad("run stack --record r2 --checkpoint never"), &["--checkpoint never"]);
}

/// Contacts of sleepers are in no problem, and touch all the same.
#[test]
fn sleepers_touch_without_a_problem() {
    let scratch = Scratch::new("keeping-sleep");
    let out = scratch.good("run stack --sleep --time 3");
    holds(&out, &["0 in the last step's problem", "touch at the end"]);
}
