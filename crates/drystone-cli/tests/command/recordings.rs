//! `--record`, `--checkpoint`, `resume`, `export` and `report`.

use std::path::Path;
use std::time::{Duration, Instant};

use drystone_record::recording::{COLUMNS, Frame, Recording, checkpoints};
use serde_json::Value;

use crate::scratch::{Outcome, Scratch, holds, outcome};

/// A report without what clocks and memory say.
fn timeless(mut report: Value) -> Value {
    let top = report.as_object_mut().unwrap();
    for key in
        ["wall_s", "cpu_s", "ms_per_step", "ms_per_step_last100", "cpu_ms_per_step_last100", "peak_rss_mib"]
    {
        assert!(top.remove(key).is_some(), "{key}");
    }
    if let Some(recording) = report.get_mut("recording") {
        recording.as_object_mut().unwrap().retain(|key, _| key == "frames");
    }
    report["contacts"].as_object_mut().unwrap().remove("bytes_per_contact");
    report["solver"].as_object_mut().unwrap().remove("ns_per_contact_iteration");
    report
}

fn open(folder: &Path) -> Recording {
    Recording::open(folder).unwrap_or_else(|e| panic!("{e}"))
}

/// All frames, and the steps without what the clock says.
fn content(recording: &Recording) -> (Vec<Frame>, Vec<Vec<u64>>) {
    let frames = (0..recording.len()).map(|k| recording.frame(k).unwrap()).collect();
    let clock = |k: &usize| !COLUMNS[*k].ends_with("_ms");
    let row = |r: &[f64; COLUMNS.len()]| (0..r.len()).filter(clock).map(|k| r[k].to_bits()).collect();
    (frames, recording.steps().iter().map(row).collect())
}

/// NaN is no number equal to itself: frames are compared as they print.
fn same(a: &Recording, b: &Recording) {
    let ((fa, ra), (fb, rb)) = (content(a), content(b));
    assert_eq!(fa.len(), fb.len());
    for (x, y) in fa.iter().zip(&fb) {
        assert_eq!(format!("{x:?}"), format!("{y:?}"));
    }
    assert_eq!(ra, rb);
    assert_eq!(a.catalogue(), b.catalogue());
}

/// Waits for something that another process does.
fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Emitters, sinks, joints, drives and force series: all of it is there again.
#[test]
fn a_resumed_run_is_the_run_that_never_stopped() {
    for (name, scene, half, steps) in [
        ("hopper", "hopper --set n=100", 60, 120),
        ("conveyor", "conveyor", 400, 700),
        ("spider", "spider", 30, 60),
        ("wall", "wall --set width=4 --set height=4", 30, 60),
    ] {
        let scratch = Scratch::new(&format!("resume-{name}"));
        let how = "--record-every 7 --record-events --record-precision f64 --checkpoint 25 --quiet";
        let line = |folder: &str, steps: u64| {
            format!(
                "run {scene} --steps {steps} --record {folder} {how} --body-forces {folder}.csv --bodies {folder}-b.csv --series {folder}.parquet --series-every 3 --report {folder}.json"
            )
        };
        scratch.good(&line("whole", steps));
        scratch.good(&line("part", half));
        scratch.good(&format!("resume part --steps {steps} --report part.json --quiet"));
        assert_eq!(timeless(scratch.json("whole.json")), timeless(scratch.json("part.json")), "{name}");
        same(&open(&scratch.at("whole")), &open(&scratch.at("part")));
        assert_eq!(scratch.read("whole.csv"), scratch.read("part.csv"), "{name}");
        assert_eq!(scratch.read("whole-b.csv"), scratch.read("part-b.csv"), "{name}");
        let [a, b] = ["whole", "part"].map(|f| std::fs::read(scratch.at(&format!("{f}.parquet"))).unwrap());
        assert!(a == b && a.starts_with(b"PAR1"), "{name}");
        let kept: Vec<u64> = checkpoints(&scratch.at("part")).unwrap().iter().map(|c| c.0).collect();
        assert_eq!(kept.len(), 2, "{kept:?}");
        holds(&scratch.bad(&format!("resume part --steps {steps}")), &["complete", "give a later --time"]);
    }
}

#[test]
fn a_killed_run_is_whole_up_to_its_last_segment() {
    let scratch = Scratch::new("resume-killed");
    let line = "run packing --set n=60 --record rec --record-every 5 --checkpoint 50 --quiet";
    let mut child = scratch.command(&format!("{line} --steps 1000000")).spawn().unwrap();
    let folder = scratch.at("rec");
    wait_for("two checkpoints", || checkpoints(&folder).is_ok_and(|c| c.len() == 2));
    // Readers see whole frames while it grows.
    let growing = open(&folder);
    assert!(growing.frame(growing.len() - 1).unwrap().bodies.id.len() == 60);
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let killed = open(&folder);
    assert!(killed.len() >= growing.len());
    let steps: Vec<u64> = killed.moments().iter().map(|m| m.step).collect();
    assert!(steps.iter().enumerate().all(|(k, step)| *step == 5 * k as u64), "{steps:?}");
    let last = checkpoints(&folder).unwrap()[0].0;
    let end = last + 40;
    scratch.good(&format!("resume rec --steps {end} --report on.json --quiet"));
    let whole = scratch.report(&format!("packing --set n=60 --steps {end}"));
    assert_eq!(scratch.json("on.json")["state_hash"], whole["state_hash"]);
    assert_eq!(open(&folder).steps().len() as u64, end);
}

#[cfg(unix)]
#[test]
fn signals_end_a_run_after_its_step() {
    for (name, signal) in [("int", libc::SIGINT), ("term", libc::SIGTERM)] {
        let scratch = Scratch::new(&format!("resume-sig{name}"));
        let line = "run packing --set n=60 --steps 1000000 --record rec --quiet --report r.json";
        let mut child = scratch.command(line).spawn().unwrap();
        wait_for("a segment", || scratch.at("rec").join("run.00000.h5").exists());
        // SAFETY: the process is our child, and not waited for yet.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let report = scratch.json("r.json");
        assert_eq!(report["status"], "interrupted");
        let done = report["steps"].as_u64().unwrap();
        assert_eq!(checkpoints(&scratch.at("rec")).unwrap()[0].0, done);
        assert_eq!(open(&scratch.at("rec")).steps().len() as u64, done);
        scratch.good(&format!("resume rec --steps {} --report on.json --quiet", done + 10));
        let whole = scratch.report(&format!("packing --set n=60 --steps {}", done + 10));
        assert_eq!(scratch.json("on.json")["state_hash"], whole["state_hash"]);
    }
}

#[test]
fn a_damaged_checkpoint_is_told_and_the_one_before_used() {
    let scratch = Scratch::new("resume-damaged");
    scratch.good("run stack --steps 30 --record rec --checkpoint 20 --quiet --report whole.json");
    let files = checkpoints(&scratch.at("rec")).unwrap();
    assert_eq!(files.iter().map(|f| f.0).collect::<Vec<_>>(), [30, 20]);
    let mut bytes = std::fs::read(&files[0].1).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&files[0].1, &bytes).unwrap();
    let o = scratch.run("resume rec --quiet --report on.json");
    assert_eq!(o.code, 0, "{}", o.err);
    holds(&o.err, &["checkpoint-000000000030", "damaged", "of step 20"]);
    assert_eq!(timeless(scratch.json("on.json")), timeless(scratch.json("whole.json")));
    // A later version's checkpoint is not guessed at.
    let file = &checkpoints(&scratch.at("rec")).unwrap();
    for (_, path) in file {
        let mut bytes = std::fs::read(path).unwrap();
        let at = "drystone checkpoint\n".len();
        bytes[at] = 9;
        std::fs::write(path, bytes).unwrap();
    }
    holds(&scratch.bad("resume rec"), &["format 9", "take a newer one"]);
    std::fs::create_dir(scratch.at("empty")).unwrap();
    holds(&scratch.bad("resume empty"), &["no checkpoint", "--checkpoint"]);
}

/// A limit on the size of files stands for a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_stops_the_recording_and_not_the_report() {
    let scratch = Scratch::new("record-full");
    let program = env!("CARGO_BIN_EXE_drystone");
    let line = "run packing --set n=200 --steps 400 --record rec --record-every 1 --record-precision f64 --quiet --report -";
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(format!("trap '' XFSZ; ulimit -f 300; exec {program} {line}"));
    shell.current_dir(scratch.at(""));
    let Outcome { code, out, err } = outcome(shell);
    assert_eq!(code, 1, "{err}");
    holds(&err, &["the recording stopped", "are kept"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["status"], "failed");
    holds(report["reason"].as_str().unwrap(), &["the recording stopped"]);
    let left = std::fs::read_dir(scratch.at("rec")).unwrap().map(|e| e.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().ends_with(".tmp")), "no half files");
}

#[test]
fn recordings_are_exported() {
    let scratch = Scratch::new("export");
    scratch.good("run spider --steps 40 --record rec --record-every 4 --quiet");
    holds(&scratch.good("export rec --to out/b.csv"), &["11 of 11 frames"]);
    let text = scratch.read("out/b.csv");
    let lines: Vec<&str> = text.lines().collect();
    let recording = open(&scratch.at("rec"));
    let bodies = recording.frame(0).unwrap().bodies.id.len();
    assert_eq!(lines.len(), 1 + 11 * bodies);
    assert!(lines[0].starts_with("step,time_s,body,x_m") && lines[1].starts_with("0,0,"), "{}", lines[1]);
    // By name, in a range, every other frame.
    let name = recording.catalogue().bodies[0].name.clone();
    assert!(!name.is_empty());
    let mut command = scratch.command("export rec --to one.csv --every 2 --quiet --from 0.0001 --body");
    command.arg(&name);
    assert_eq!(outcome(command).code, 0);
    assert_eq!(scratch.read("one.csv").lines().count(), 1 + 5);
    scratch.good("export rec --to s.csv --table steps --quiet");
    assert_eq!(scratch.read("s.csv").lines().count(), 41);
    scratch.good("export rec --to j.csv --table joints --quiet");
    assert!(scratch.read("j.csv").lines().count() > 11);

    scratch.good("export rec --to a.gltf --quiet");
    let gltf = scratch.json("a.gltf");
    let count = |key: &str| gltf[key].as_array().unwrap().len();
    assert!(count("nodes") > bodies && count("meshes") == recording.catalogue().shapes.len());
    assert_eq!(gltf["animations"][0]["channels"].as_array().unwrap().len(), 2 * bodies);
    let bytes = gltf["bufferViews"].as_array().unwrap().iter().map(|v| v["byteLength"].as_u64().unwrap());
    assert_eq!(bytes.sum::<u64>(), gltf["buffers"][0]["byteLength"].as_u64().unwrap());

    scratch.good("export rec --to v/x.vtp --every 5 --quiet");
    assert_eq!(scratch.read("v/x.pvd").matches("timestep=").count(), 3);
    assert!(scratch.at("v/x_000002.vtp").exists() && !scratch.at("v/x_000003.vtp").exists());
    scratch.good("export rec --to f.png --every 10 --size 64x48 --quiet");
    assert!(scratch.at("f_000001.png").exists());

    scratch.good("export rec --to p.parquet --quiet");
    let bytes = std::fs::read(scratch.at("p.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    assert!(!scratch.at("p.parquet.csv").exists());
    holds(&scratch.bad("export rec --to x.xlsx"), &[".csv, .parquet, .vtp"]);
    holds(&scratch.bad("export rec --to x.csv --body nobody"), &["no body 'nobody'"]);
    holds(&scratch.bad("export rec --to x.csv --from 99"), &["no frame is between"]);
    holds(&scratch.bad("export nothing --to x.csv"), &["nothing", "no recording"]);
    let mut film = scratch.command("export rec --to x.mp4 --size 64x48");
    film.env("PATH", "");
    let o = outcome(film);
    assert_eq!(o.code, 2);
    holds(&o.err, &["ffmpeg", "install it"]);

    let text = scratch.good("report rec rec --plot p.svg");
    holds(&text, &["spider, 40 steps", "kinetic_j", "█"]);
    holds(&scratch.read("p.svg"), &["<svg", "energy", "residual", "overlap"]);
}

/// Copies by the name of what they are copies of; steps behind the last frame; recordings without steps; what
/// is no recording.
#[test]
fn exports_have_all_that_was_asked_for() {
    let scratch = Scratch::new("export-all");
    let ball = "shape = { type = \"sphere\", r = 0.1 }\nmass = 1\nmu = 0.5\n";
    let bodies = format!(
        "[[body]]\nname = \"brick\"\n{ball}count = [3, 1, 1]\nspacing = [1, 0, 0]\n[[body]]\nname = \"bricks\"\n{ball}position = [0, 5, 0]\n"
    );
    scratch.write("s.toml", format!("[settings]\nT = 0.47\nh = 0.01\n{bodies}"));
    scratch.good("run s.toml --quiet --record rec --record-every 10");
    let rows = |options: &str| {
        scratch.good(&format!("export rec --to t.csv --quiet {options}"));
        scratch.read("t.csv").lines().count() - 1
    };
    assert_eq!(rows("--body brick"), 3 * 5);
    assert_eq!(rows("--body brick[1,0,0]"), 5);
    holds(&scratch.bad("export rec --to t.csv --body brock"), &["no body 'brock'", "did you mean 'bricks'?"]);
    assert_eq!(rows("--table steps"), 47);
    assert_eq!(rows("--table steps --from 0.2 --until 0.3 --every 2"), 11);
    holds(&scratch.bad("export rec --to t.csv --from 9"), &["they are from 0 s to 0.4 s"]);
    holds(&scratch.bad("export rec --to t.gltf --table steps"), &["--table steps", ".csv or .parquet"]);
    scratch.good("picture rec --at 0.1 --glass brick --size 32x32 --to p.png");

    scratch.good("run s.toml --quiet --steps 0 --record none");
    let text = scratch.good("report none");
    holds(&text, &["0 steps to 0.000000 s, 1 frames"]);
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    holds(&scratch.bad("report s.toml"), &["s.toml: is no recording: there is no run.00000.h5 beside it"]);
    holds(&scratch.bad("state s.toml --at-time 1e9 --to s.txt"), &["--to s.txt", ".json or .json.gz"]);
}

#[test]
fn snapshots_are_written_as_they_are_taken() {
    let scratch = Scratch::new("snapshots-stream");
    scratch.good("run packing --set n=20 --steps 12 --snapshots s.json --quiet");
    scratch.good("run packing --set n=20 --steps 12 --snapshots s.json.gz --quiet");
    let packed = std::fs::read(scratch.at("s.json.gz")).unwrap();
    assert_eq!(packed[..2], [0x1f, 0x8b]);
    let plain = scratch.json("s.json");
    assert_eq!((plain["engine"].as_str(), plain["cut"].as_bool()), (Some("drystone"), Some(false)));
    assert_eq!(plain["snaps"][0][1].as_array().unwrap().len(), 20);
    holds(&scratch.bad("run packing --steps 1 --snapshots s.txt"), &["s.txt", ".json or .json.gz"]);
}

/// Needs Python with h5py, pandas and vtk:
/// `DRYSTONE_PYTHON=... cargo test -p drystone-cli --test command -- --ignored other_programs`.
#[test]
#[ignore = "needs Python with h5py, pandas and vtk"]
fn other_programs_read_recordings() {
    let scratch = Scratch::new("record-python");
    let python = std::env::var("DRYSTONE_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/check_recording.py");
    for (name, line) in [
        ("single", "run hopper --set n=100 --steps 200 --record single --checkpoint 30 --quiet"),
        (
            "double",
            "run conveyor --steps 500 --record double --record-precision f64 --record-every 3 --quiet",
        ),
    ] {
        scratch.good(line);
        let mut command = std::process::Command::new(&python);
        command.arg(script).arg(scratch.at(name));
        let o = outcome(command);
        assert_eq!(o.code, 0, "{name}: {}", o.err);
        holds(&o.out, &["frames of", "VTK"]);
    }
}
