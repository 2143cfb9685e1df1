//! `--series`, `--bodies`, probes and `[record]` of scene files, and pictures of recordings and snapshots.

use drystone_record::recording::{Recording, checkpoints};

use crate::scratch::{Scratch, holds, number, outcome};

/// A static body first, drops of an emitter whose slots are given away again, and a probe.
const SCENE: &str = r#"
[settings]
T = 1.2
h = 0.01

[record]
every = 4
what = []
precision = "f64"
checkpoint = 50

[[body]]
name = "table"
motion = "static"
shape = { type = "box", half = [0.2, 0.2, 0.1] }

[[body]]
name = "post"
shape = { type = "box", half = [0.1, 0.1, 0.2] }
mass = 2
position = [0, 0, 0.3]

[[emitter]]
min = [1, 1, 0]
max = [1.5, 1.5, 0]
rate = 20
[[emitter.body]]
name = "drop"
shape = { type = "sphere", r = 0.02 }
mass = 0.25

[[sink]]
max = [9, 9, -1]

[[probe]]
name = "load"
type = "force"
body = "table"
start = 0.5
"#;

#[test]
fn tables_have_names_in_the_order_of_the_file() {
    let scratch = Scratch::new("series");
    scratch.write("s.toml", SCENE);
    let line = "run s.toml --quiet --report r.json --series run.csv --series-every 0.1s --bodies b.csv --body-forces f.csv";
    scratch.good(line);
    let r = scratch.json("r.json");
    assert!((number(&r["scene_results"], "load.mean.fz_n") + 2.0 * 9.81).abs() < 1e-2);
    let (came, went) = (&r["emitters"][0], &r["sinks"][0]);
    assert!(number(came, "bodies") > number(went, "bodies") && number(went, "bodies") > 5.0);
    assert_eq!(number(came, "mass_kg"), 0.25 * number(came, "bodies"));

    let text = scratch.read("run.csv");
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    holds(&text, &["step,time_s,bodies", ",sunk_kg,load.fx_n,load.fy_n,load.fz_n,"]);
    assert_eq!(lines.len(), 1 + 13, "from 0 to 1.2 s");
    let column = |name: &str| lines[0].iter().position(|c| *c == name).unwrap();
    let last = |name: &str| lines[13][column(name)].parse::<f64>().unwrap();
    assert!((last("load.fz_n") + 2.0 * 9.81).abs() < 1e-2);
    assert_eq!(last("sunk_kg"), number(went, "mass_kg"));
    assert_eq!(lines[1][column("load.fz_n")], "", "before the first step nothing is known");

    // No two drops have one name, although slots are given away again.
    let text = scratch.read("b.csv");
    let names: Vec<&str> = text.lines().skip(1).map(|l| l.split(',').nth(2).unwrap()).collect();
    let mut drops: Vec<&str> = names.iter().copied().filter(|n| n.starts_with("drop ")).collect();
    drops.sort_unstable();
    drops.dedup();
    assert_eq!(drops.len() as f64, number(came, "bodies"));
    assert!(drops.iter().any(|d| d.ends_with(".1")), "{drops:?}");
    assert_eq!(names.iter().filter(|n| **n == "post").count(), 13);
    // The table is the first in the file, and behind all that move in the world.
    let text = scratch.read("f.csv");
    let first: Vec<&str> = text.lines().skip(1).take(2).collect();
    assert!(first[0].ends_with(",table") && first[0].starts_with("1,0.01,1,"), "{first:?}");
    assert!(first[1].ends_with(",post") && first[1].starts_with("1,0.01,0,"), "{first:?}");
}

#[test]
fn parquet_ends_where_the_run_ends() {
    let scratch = Scratch::new("series-parquet");
    scratch.write("s.toml", SCENE);
    scratch.good("run s.toml --quiet --bodies b.parquet --pair-forces p.parquet");
    for name in ["b.parquet", "p.parquet"] {
        let bytes = std::fs::read(scratch.at(name)).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{name}");
        assert!(!scratch.at(&format!("{name}.csv")).exists());
    }
    holds(&scratch.bad("run s.toml --series x.txt"), &["--series x.txt", ".csv or .parquet"]);
    holds(&scratch.bad("run s.toml --series x.csv --series-every often"), &["--series-every often"]);
    holds(&scratch.bad("run s.toml --series x.csv --bodies x.csv"), &["--series is there"]);
}

/// Needs Python with pyarrow:
/// `DRYSTONE_PYTHON=... cargo test -p drystone-cli --test command -- --ignored pyarrow`.
#[test]
#[ignore = "needs Python with pyarrow and pandas"]
fn pyarrow_reads_parquet() {
    let scratch = Scratch::new("series-pyarrow");
    scratch.write("s.toml", SCENE);
    scratch.good("run s.toml --quiet --bodies b.parquet --series r.parquet --pair-forces p.parquet");
    scratch.good("run s.toml --quiet --bodies b.csv --series r.csv --pair-forces p.csv");
    let python = std::env::var("DRYSTONE_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/check_parquet.py");
    for name in ["b", "r", "p"] {
        let mut command = std::process::Command::new(&python);
        command
            .arg(script)
            .arg(scratch.at(&format!("{name}.parquet")))
            .arg(scratch.at(&format!("{name}.csv")));
        let o = outcome(command);
        assert_eq!(o.code, 0, "{name}: {}", o.err);
        holds(&o.out, &["the same"]);
    }
}

#[test]
fn scene_files_say_what_is_recorded() {
    let scratch = Scratch::new("series-record");
    scratch.write("s.toml", SCENE);
    scratch.good("run s.toml --quiet --record rec");
    let recording = Recording::open(&scratch.at("rec")).unwrap();
    assert!(recording.is_double() && recording.len() == 31, "{}", recording.len());
    assert!(recording.frame(30).unwrap().contacts.gap.is_empty());
    let kept: Vec<u64> = checkpoints(&scratch.at("rec")).unwrap().iter().map(|c| c.0).collect();
    assert_eq!(kept, [120, 100]);
    // The command line counts more.
    scratch.good(
        "run s.toml --quiet --record other --record-every 60 --record-precision f32 --record-what contacts",
    );
    let recording = Recording::open(&scratch.at("other")).unwrap();
    assert!(!recording.is_double() && recording.len() == 3);
    assert!(!recording.frame(2).unwrap().contacts.gap.is_empty());
    // With a folder, every run is recorded.
    std::fs::create_dir(scratch.at("deep")).unwrap();
    scratch.write("deep/f.toml", SCENE.replace("every = 4", "every = 4\nfolder = \"own\""));
    scratch.good("run deep/f.toml --quiet --steps 40");
    assert_eq!(Recording::open(&scratch.at("deep/own")).unwrap().len(), 11);
    scratch.good("resume deep/own --quiet --steps 80");
    assert_eq!(Recording::open(&scratch.at("deep/own")).unwrap().len(), 21);
    holds(&scratch.bad("run stack --checkpoint 5"), &["--checkpoint needs --record"]);
}

/// The columns of probes, and what they begin with, are there in a scene that also says when to stop.
#[test]
fn a_stop_leaves_probes_their_columns() {
    let scratch = Scratch::new("series-stop");
    scratch.write("s.toml", format!("{SCENE}\n[stop]\nwhen = \"t > 0.795\"\n"));
    scratch.good("run s.toml --quiet --report r.json --series run.csv --series-every 0.1s --record rec");
    let r = scratch.json("r.json");
    assert_eq!((&r["status"], r["steps"].as_u64()), (&"ok".into(), Some(80)));
    assert_eq!(r["scene_results"]["stopped"], "t > 0.795");
    assert!((number(&r["scene_results"], "load.mean.fz_n") + 2.0 * 9.81).abs() < 1e-2);
    let text = scratch.read("run.csv");
    holds(text.lines().next().unwrap(), &[",load.fx_n,load.fy_n,load.fz_n,"]);
    assert_eq!(text.lines().count(), 1 + 9, "from 0 to 0.8 s");
    // It has stopped for good: the reason is in the checkpoint.
    holds(&scratch.bad("resume rec --quiet --time 1.2"), &["stopped", "t > 0.795"]);
}

#[test]
fn recordings_and_snapshots_are_drawn() {
    let scratch = Scratch::new("series-picture");
    scratch.write("s.toml", SCENE);
    scratch.good("run s.toml --quiet --record rec --record-every 40 --record-what contacts");
    let small = "--size 96x64";
    assert_eq!(scratch.good(&format!("picture rec --to a/f.png {small}")), "");
    let bytes = |name: &str| std::fs::read(scratch.at(name)).unwrap();
    assert!(scratch.at("a/f_000003.png").exists() && !scratch.at("a/f_000004.png").exists());
    assert!(!scratch.at("a/f.png").exists());
    assert_ne!(bytes("a/f_000000.png"), bytes("a/f_000003.png"));
    scratch.good(&format!("picture rec --at 0.41 --to one.png {small}"));
    assert!(scratch.at("one.png").exists());
    scratch.good(&format!("picture rec --from 0.3 --every 2 --to b.png {small} --colour force"));
    assert!(scratch.at("b_000001.png").exists() && !scratch.at("b_000002.png").exists());
    scratch.good(&format!("picture rec --at 0 --to c.png {small} --camera -1,-2,1:0,0,0:40 --glass table"));
    assert_ne!(bytes("c.png"), bytes("a/f_000000.png"));
    let bad = |line: &str| scratch.bad(&format!("picture {line} {small} --to x.png"));
    holds(&bad("rec --camera 1,2:0,0,0"), &["--camera", "1,-2,1:0,0,0.5:30"]);
    holds(&bad("rec --colour scene"), &["--colour scene"]);
    holds(&bad("rec --from 9"), &["no frame is between"]);
    holds(&bad("rec --glass nobody"), &["no body 'nobody'"]);
    holds(&bad("stack --every 2"), &["--every", "recordings"]);

    scratch.good("run stack --set n=3 --time 0.1 --quiet --snapshots s.json.gz");
    scratch.good(&format!("picture s.json.gz --set n=3 --to snap.png {small}"));
    assert!(scratch.at("snap_000000.png").exists());
    holds(&bad("s.json.gz --set n=4"), &["--scene", "s.json.gz"]);
    holds(&bad("s.json.gz --set n=3 --colour force"), &["no contacts"]);
}
