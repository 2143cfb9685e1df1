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
