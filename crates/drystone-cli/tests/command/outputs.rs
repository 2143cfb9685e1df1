//! Where results go: standard output, files, series of forces, pictures. And quiet where nobody looks.

use std::fs::File;
use std::io::{BufReader, Read};
use std::process::Stdio;

use serde_json::Value;

use crate::bodies::{ball_of, floor, state};
use crate::scratch::{Scratch, holds, number};

#[test]
fn the_report_goes_to_a_file_or_to_standard_output() {
    let scratch = Scratch::new("outputs-report");
    let line = "run packing --set n=60 --steps 10";
    let summary = scratch.good(&format!("{line} --report new/folder/r.json"));
    let file = scratch.json("new/folder/r.json");
    let names: Vec<_> =
        std::fs::read_dir(scratch.at("new/folder")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(names, ["r.json"], "temporary files are left");
    // For people: a summary that agrees with the report, without control characters of a progress bar.
    holds(&summary, &["packing ok", "60 bodies", file["state_hash"].as_str().unwrap()]);
    assert!(!summary.contains('\x1b') && !summary.contains('\r'));
    // For programs: nothing but JSON, with or without --quiet.
    for quiet in ["", " --quiet"] {
        let piped: Value = serde_json::from_str(&scratch.good(&format!("{line} --report -{quiet}"))).unwrap();
        assert_eq!(piped["state_hash"], file["state_hash"]);
    }
    assert_eq!(scratch.good(&format!("{line} --quiet")), "");
    // A report replaces the one before.
    scratch.good(&format!("{line} --set seed=2 --quiet --report new/folder/r.json"));
    assert_ne!(scratch.json("new/folder/r.json")["state_hash"], file["state_hash"]);
}

#[test]
fn places_that_cannot_be_written_are_refused() {
    let scratch = Scratch::new("outputs-unwritable");
    std::fs::create_dir(scratch.at("folder")).unwrap();
    scratch.write("file", "not a folder");
    let short = "packing --set n=60 --steps 1 --quiet";
    for (line, place) in [
        (format!("run {short} --report folder"), "folder"),
        (format!("run {short} --report file/r.json"), "file/r.json"),
        (format!("run {short} --snapshots folder"), "folder"),
        (format!("run {short} --body-forces folder"), "folder"),
        (format!("run {short} --pair-forces file/f.csv"), "file/f.csv"),
        (format!("run {short} --picture folder --size 32x32"), "folder"),
        ("state packing --set n=60 --to file/s.json".into(), "file/s.json"),
        ("picture packing --set n=60 --to folder --size 32x32".into(), "folder"),
        ("compare packing --set n=60 --at-time 0.2 --sweeps 1 --report - --plot folder".into(), "folder"),
    ] {
        holds(&scratch.bad(&line), &[place]);
    }
    assert_eq!(scratch.read("file"), "not a folder");
}

/// A full disk is no mistake of who asked: 1, not 2.
#[cfg(target_os = "linux")]
#[test]
fn a_result_that_finds_no_room_is_a_run_that_failed() {
    let scratch = Scratch::new("outputs-no-room");
    scratch.good("run stack --steps 3 --quiet --record rec");
    for name in ["p.png", "g.gltf", "h.html"] {
        std::os::unix::fs::symlink("/dev/full", scratch.at(name)).unwrap();
    }
    for line in [
        "run stack --steps 1 --quiet --report /dev/full",
        "run stack --steps 1 --quiet --picture p.png --size 32x32",
        "picture rec --at 0 --to p.png --size 32x32",
        "export rec --to g.gltf",
        "view rec --html h.html",
    ] {
        let o = scratch.run(line);
        assert_eq!(o.code, 1, "{line}: {}", o.err);
        holds(&o.err, &["No space left on device"]);
    }
    let mut command = scratch.command("run stack --steps 1 --report -");
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let o = crate::scratch::outcome(command);
    assert_eq!(o.code, 1);
    holds(&o.err, &["drystone: standard output: No space left on device"]);
}

#[test]
fn two_results_in_one_place_are_refused() {
    let scratch = Scratch::new("outputs-twice");
    scratch.write("scene.toml", "scene = \"packing\"\n[parameters]\nn = 60\n");
    let short = "scene.toml --steps 1 --quiet";
    for (line, words) in [
        (format!("run {short} --report a.json --snapshots a.json"), "--snapshots a.json: --report is there"),
        (format!("run {short} --report ./b/../a.json --snapshots a.json"), "--report is there"),
        (format!("run {short} --body-forces f.csv --pair-forces f.csv"), "--body-forces is there"),
        (format!("run {short} --body-forces f.csv --joint-forces f.csv"), "--body-forces is there"),
        (format!("run {short} --report - --snapshots -"), "--report is there"),
        (format!("run {short} --report scene.toml"), "the input is there"),
        ("picture scene.toml --to scene.toml".into(), "must end in .png"),
    ] {
        std::fs::create_dir_all(scratch.at("b")).unwrap();
        holds(&scratch.bad(&line), &[words]);
    }
    assert!(!scratch.at("a.json").exists() && !scratch.at("f.csv").exists());
    holds(&scratch.read("scene.toml"), &["n = 60"]);
    // Devices take whatever comes.
    scratch.good(&format!("run {short} --report /dev/null --snapshots /dev/null"));
}

#[test]
fn names_that_promise_another_format_are_refused() {
    let scratch = Scratch::new("outputs-formats");
    let short = "packing --set n=60";
    for (line, words) in [
        (
            format!("run {short} --steps 1 --quiet --picture p.jpg"),
            "--picture p.jpg: the name must end in .png",
        ),
        (format!("picture {short} --to p"), "--to p: the name must end in .png"),
        (format!("compare {short} --at-time 0.2 --sweeps 1 --plot p.png"), "must end in .svg"),
    ] {
        holds(&scratch.bad(&line), &[words]);
    }
    assert!(!scratch.at("p.jpg").exists() && !scratch.at("p").exists());
    scratch.good(&format!("picture {short} --to P.PNG --size 32x32"));
}

/// Rows of a CSV file as numbers, by the names of its header; names of bodies are in further columns.
fn csv(text: &str, header: &str) -> Vec<Vec<f64>> {
    let mut lines = text.lines();
    let names = lines.next().and_then(|l| l.strip_prefix(header)).unwrap();
    assert!(names.starts_with(",name"), "{names}");
    let (width, all) = (header.split(',').count(), header.split(',').count() + names.matches(',').count());
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), all, "{line}");
            cells[..width].iter().map(|x| x.parse().unwrap_or_else(|_| panic!("{line}"))).collect()
        })
        .collect()
}

#[test]
fn forces_balance_the_weight_at_rest() {
    let scratch = Scratch::new("outputs-forces");
    let masses = [1.0, 2.0, 3.0, 4.0];
    let mut bodies: Vec<Value> =
        (0..3).map(|i| ball_of([2.0 * i as f64, 0.0, 0.5], 0.5, masses[i])).collect();
    bodies.push(ball_of([0.0, 0.0, 1.5], 0.5, masses[3]));
    scratch.write("rest.json", state(bodies, vec![floor()]).to_string());
    scratch.report(
        "rest.json --time 1 --body-forces b.csv --pair-forces p.csv --tolerance 1e-9 --iterations 2000",
    );
    let weight = 9.81 * masses.iter().sum::<f64>();

    let rows = csv(&scratch.read("b.csv"), "step,time_s,body,fx_n,fy_n,fz_n");
    assert_eq!(rows.len(), 100 * 5, "every body at every step");
    let last: Vec<&Vec<f64>> = rows.iter().filter(|r| r[0] == 100.0).collect();
    assert!((last[0][1] - 1.0).abs() < 1e-9);
    for (i, m) in masses.iter().enumerate() {
        assert_eq!(last[i][2], i as f64);
        assert!((last[i][5] - 9.81 * m).abs() < 1e-3 * weight, "body {i} is held by {} N", last[i][5]);
    }
    assert!((last[4][5] + weight).abs() < 1e-3 * weight, "the floor is pressed by {} N", last[4][5]);

    let header = "step,time_s,body_a,body_b,contacts,normal_n,tangential_n,fx_n,fy_n,fz_n,least_gap_m";
    let pairs = csv(&scratch.read("p.csv"), header);
    let last: Vec<&Vec<f64>> = pairs.iter().filter(|r| r[0] == 100.0).collect();
    assert_eq!(last.len(), 4, "three on the floor, one on another");
    let on_floor: f64 = last.iter().filter(|r| r[2] == 4.0 || r[3] == 4.0).map(|r| r[5]).sum();
    assert!((on_floor - weight).abs() < 1e-3 * weight, "the floor carries {on_floor} N of {weight} N");
    let upper = last.iter().find(|r| r[2] != 4.0 && r[3] != 4.0).unwrap();
    assert!((upper[5] - 9.81 * 4.0).abs() < 1e-3 * weight && upper[6] < 1e-3 * weight);
    assert!(last.iter().all(|r| r[4] == 1.0 && r[10].abs() < 1e-3));
}

#[test]
fn forces_every_so_many_steps() {
    let scratch = Scratch::new("outputs-every");
    scratch.good("run stack --set n=3 --steps 20 --quiet --body-forces b.csv --forces-every 5");
    let rows = csv(&scratch.read("b.csv"), "step,time_s,body,fx_n,fy_n,fz_n");
    let mut steps: Vec<f64> = rows.iter().map(|r| r[0]).collect();
    steps.dedup();
    assert_eq!(steps, [5.0, 10.0, 15.0, 20.0]);
}

/// Width, height and all pixels of a PNG file.
fn decode(scratch: &Scratch, name: &str) -> (u32, u32, Vec<u8>) {
    let file = BufReader::new(File::open(scratch.at(name)).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    pixels.truncate(info.buffer_size());
    (info.width, info.height, pixels)
}

#[test]
fn pictures_have_the_asked_size_and_show_something() {
    let scratch = Scratch::new("outputs-pictures");
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for look in ["", "--camera top", "--camera front --colour kind", "--at-time 0.3 --colour force"] {
        assert_eq!(scratch.good(&format!("picture packing --set n=60 --to p.png --size 123x77 {look}")), "");
        let (w, h, pixels) = decode(&scratch, "p.png");
        assert_eq!((w, h), (123, 77));
        let mut colours: Vec<&[u8]> = pixels.chunks(3).collect();
        colours.sort_unstable();
        colours.dedup();
        assert!(colours.len() > 50, "{look}: {} colours", colours.len());
        assert!(!seen.contains(&pixels), "{look} shows nothing else");
        seen.push(pixels);
    }
    // A state is as good as a scene, and a run can draw its end.
    scratch.good("state packing --set n=60 --to s.json");
    scratch.good("picture s.json --to folder/s.png --size 64x48");
    assert_eq!(decode(&scratch, "folder/s.png").0, 64);
    scratch.good("run packing --set n=60 --steps 3 --quiet --picture r.png --size 40x30");
    assert_eq!(decode(&scratch, "r.png").1, 30);
}

#[test]
fn a_reader_that_goes_away_causes_no_panic() {
    let scratch = Scratch::new("outputs-pipe");
    for line in ["scenes", "scenes --json", "run packing --set n=60 --steps 1 --report -"] {
        let mut child = scratch.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        child.wait().unwrap();
        assert!(!err.contains("panicked"), "{line}: {err}");
    }
}

#[test]
fn every_command_is_silent_on_standard_error_when_all_is_well() {
    // `good` asserts it; here is one line of each command.
    let scratch = Scratch::new("outputs-quiet");
    for line in [
        "run packing --set n=60 --steps 3",
        "scenes",
        "solvers",
        "bench --list",
        "compare packing --set n=60 --at-time 0.2 --sweeps 3",
        "state packing --set n=60 --to s.json",
        "check s.json",
        "picture s.json --to p.png --size 32x32",
        "study stack --vary step=0.01,0.02 --measure penetration_m.max --steps 2",
    ] {
        scratch.good(line);
    }
}

#[cfg(unix)]
#[test]
fn a_report_follows_a_link() {
    let scratch = Scratch::new("outputs-link");
    scratch.good("run stack --steps 2 --quiet --report real.json");
    std::os::unix::fs::symlink("real.json", scratch.at("link.json")).unwrap();
    scratch.good("run stack --steps 1 --quiet --report link.json");
    assert_eq!(scratch.json("real.json")["steps"], 1);
    assert!(scratch.at("link.json").is_symlink());
}

#[cfg(unix)]
#[test]
fn a_report_goes_into_a_named_pipe() {
    use std::os::unix::fs::FileTypeExt;
    let scratch = Scratch::new("outputs-fifo");
    let made = std::process::Command::new("mkfifo").arg(scratch.at("pipe")).status().unwrap();
    assert!(made.success());
    let mut child = scratch.command("run stack --steps 1 --quiet --report pipe").spawn().unwrap();
    // Reads only once the other side has opened it; if it never does, the child ends and the pipe is gone.
    let path = scratch.at("pipe");
    let reader = std::thread::spawn(move || std::fs::read_to_string(path));
    assert!(child.wait().unwrap().success());
    assert!(std::fs::metadata(scratch.at("pipe")).unwrap().file_type().is_fifo(), "the pipe was replaced");
    let report: Value = serde_json::from_str(&reader.join().unwrap().unwrap()).unwrap();
    assert!(number(&report, "steps") == 1.0);
}

#[test]
fn a_picture_of_a_body_far_away_causes_no_panic() {
    let scratch = Scratch::new("outputs-far");
    let bodies = vec![ball_of([1e39, 0.0, 0.5], 0.5, 1.0), ball_of([0.0, 0.0, 0.5], 0.5, 1.0)];
    scratch.write("far.json", state(bodies, vec![floor()]).to_string());
    let o = scratch.run("picture far.json --to p.png --size 32x32");
    assert!([0, 2].contains(&o.code) && !o.err.contains("panicked"), "status {}, {}", o.code, o.err);
}
