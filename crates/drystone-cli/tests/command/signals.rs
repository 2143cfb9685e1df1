//! Ctrl-C and SIGTERM end every command that can take long, in order and with status 130.
#![cfg(target_os = "linux")]

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::scratch::{Outcome, Scratch, holds};

/// The bit of SIGINT in the mask of signals that a process handles.
fn handles_interrupts(process: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = text.lines().find_map(|l| l.strip_prefix("SigCgt:"));
    mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).is_some_and(|m| m & 2 != 0)
}

/// Starts a command, sends a signal once it can take it, and waits for status 130.
pub fn ended_by(scratch: &Scratch, signal: &str, line: &str) -> Outcome {
    let mut command = scratch.command(line);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !handles_interrupts(child.id()) && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30), "no handler in 30 s");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
    let sent = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if sent.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{line}: still running 60 s after {signal}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let o = child.wait_with_output().unwrap();
    let [out, err] = [o.stdout, o.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(o.status.code(), Some(130), "{line}: {out} {err}");
    assert!(!err.contains("panicked"), "{line}: {err}");
    Outcome { code: 130, out, err }
}

/// By Ctrl-C.
pub fn interrupted(scratch: &Scratch, line: &str) -> Outcome {
    ended_by(scratch, "-INT", line)
}

/// `nohup` begins a program with SIGHUP ignored: the end of its terminal is not that of the run.
#[test]
fn nohup_is_heeded() {
    let scratch = Scratch::new("signals-nohup");
    let program = env!("CARGO_BIN_EXE_drystone");
    let line = "run packing --set n=60 --steps 100000 --quiet --record rec --report r.json";
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(format!("trap '' HUP; exec {program} {line}")).current_dir(scratch.at("."));
    let mut child = shell.spawn().unwrap();
    let ignores = |process: u32| {
        let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let mask = text.lines().find_map(|l| l.strip_prefix("SigIgn:"));
        mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).is_some_and(|m| m & 1 != 0)
    };
    let begun = Instant::now();
    while !(handles_interrupts(child.id()) && scratch.at("rec/run.00000.h5").exists()) {
        assert!(begun.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(ignores(child.id()), "SIGHUP is still ignored");
    let id = child.id().to_string();
    let send = |signal: &str| {
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success())
    };
    send("-HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "the run goes on");
    send("-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(scratch.json("r.json")["status"], "interrupted");
}

/// A stand-in for ffmpeg: what it does with its pictures, and with the name of the film, `$last`.
fn encoder(scratch: &Scratch, does: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(scratch.at("bin")).unwrap();
    scratch.write("bin/ffmpeg", format!("#!/bin/sh\nfor last; do :; done\n{does}\n"));
    std::fs::set_permissions(scratch.at("bin/ffmpeg"), std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", scratch.at("bin").display(), std::env::var("PATH").unwrap())
}

/// A terminal sends Ctrl-C to ffmpeg, too, which must not end before its film is whole; and an ffmpeg that
/// fails is told.
#[test]
fn films_end_in_order() {
    use std::os::unix::process::CommandExt;
    let scratch = Scratch::new("signals-film");
    scratch.good("run stack --set n=2 --steps 200 --quiet --record rec --record-every 1");
    let path = encoder(&scratch, "cat > \"$last\"");
    let mut command = scratch.command("export rec --to x.mp4 --size 640x480");
    command.env("PATH", &path).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().unwrap();
    let begun = Instant::now();
    let part = scratch.at(&format!(".x.mp4.{}.tmp", child.id()));
    while !std::fs::metadata(&part).is_ok_and(|m| m.len() > 0) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no film in 60 s");
        std::thread::sleep(Duration::from_millis(5));
    }
    let group = format!("-{}", child.id());
    assert!(std::process::Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    let o = child.wait_with_output().unwrap();
    let err = String::from_utf8(o.stderr).unwrap();
    assert_eq!(o.status.code(), Some(130), "{err}");
    holds(&err, &["interrupted", "of 201 pictures are drawn"]);
    assert!(
        std::fs::read(scratch.at("x.mp4")).unwrap().ends_with(b"IEND\xaeB`\x82"),
        "the last picture is whole"
    );

    let path = encoder(&scratch, "exit 3");
    let mut command = scratch.command("export rec --to y.mp4 --size 64x48");
    command.env("PATH", &path);
    let o = crate::scratch::outcome(command);
    assert_eq!(o.code, 1, "{}", o.err);
    holds(&o.err, &["y.mp4: ffmpeg ended with exit status: 3: no film is written"]);
    assert!(!scratch.at("y.mp4").exists());
}

/// A pipe that nobody writes to, or reads from: who opens it waits.
fn stuck(scratch: &Scratch, name: &str) {
    assert!(std::process::Command::new("mkfifo").arg(scratch.at(name)).status().unwrap().success());
}

/// What is left in a folder.
fn files(scratch: &Scratch) -> Vec<String> {
    let name = |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut all: Vec<String> = std::fs::read_dir(scratch.at(".")).unwrap().map(name).collect();
    all.sort();
    all
}

#[test]
fn what_simulates_for_itself_ends() {
    let scratch = Scratch::new("signals-simulate");
    let long = "packing --set n=60";
    let o = ended_by(&scratch, "-TERM", &format!("state {long} --at-time 100000 --to s.json"));
    holds(&o.err, &["interrupted at", "nothing was written"]);
    let o = interrupted(&scratch, &format!("picture {long} --at-time 100000 --to p.png"));
    holds(&o.err, &["interrupted at", "nothing was written"]);
    assert_eq!(files(&scratch), [""; 0]);
    let o = ended_by(&scratch, "-TERM", &format!("view {long} --time 100000 --quiet --html v.html"));
    holds(&o.err, &["interrupted at t =", "of 100000 s"]);
    assert!(scratch.read("v.html").contains("id=\"frames\""), "what there is, is written");
    let o = ended_by(&scratch, "-TERM", "zoo --seed 5 --count 100000 --threads 1 --report z.json");
    holds(&o.out, &["all"]);
    assert_eq!(scratch.json("z.json")["count"], 100000);
}

#[test]
fn a_run_that_is_resumed_ends_and_can_be_resumed_again() {
    let scratch = Scratch::new("signals-resume");
    scratch.good("run packing --set n=60 --steps 5 --quiet --record rec");
    let steps = |name: &str| scratch.json(name)["steps"].as_u64().unwrap();
    ended_by(&scratch, "-TERM", "resume rec --time 100000 --quiet --report a.json");
    assert_eq!(scratch.json("a.json")["status"], "interrupted");
    let more = steps("a.json") + 3;
    scratch.good(&format!("resume rec --steps {more} --quiet --report b.json"));
    scratch.good(&format!("run packing --set n=60 --steps {more} --quiet --report c.json"));
    assert_eq!(scratch.json("b.json")["state_hash"], scratch.json("c.json")["state_hash"]);
}

/// Commands that have no steps are stopped where they wait for a file.
#[test]
fn what_reads_and_writes_ends_and_leaves_nothing_half_done() {
    let scratch = Scratch::new("signals-files");
    scratch.good("run stack --steps 20 --quiet --record rec");
    for name in ["out.csv", "out.parquet", "robot.urdf", "mesh.obj", "scene.toml"] {
        stuck(&scratch, name);
    }
    std::fs::create_dir(scratch.at("hangs")).unwrap();
    stuck(&scratch, "hangs/run.00000.h5");
    let before = files(&scratch);
    for (signal, line) in [
        ("-INT", "export rec --to out.csv"),
        ("-TERM", "import robot.urdf --to robot.toml"),
        ("-INT", "decompose mesh.obj --out parts.obj"),
        ("-TERM", "check scene.toml"),
        ("-INT", "report hangs"),
        ("-TERM", "export hangs --to x.gltf"),
        ("-INT", "view hangs --html x.html"),
        // Nothing is simulated yet.
        ("-TERM", "run scene.toml --report r.json"),
    ] {
        let o = ended_by(&scratch, signal, line);
        holds(&o.err, &["interrupted"]);
        assert_eq!(files(&scratch), before, "{line}");
    }
}
