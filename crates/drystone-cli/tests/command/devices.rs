//! `--backend cuda` and `devices`, with a driver of one pretended device that runs the kernel text on the
//! CPU.

use std::path::PathBuf;
use std::process::Command;

use drystone_cuda::kernels;

use super::scratch::Scratch;

/// A folder with the driver, for the loader to look into first: compiled with these options, unless that was
/// done before with the same sources.
fn driver(options: &[&str]) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../drystone-cuda/tests/driver/libcuda.c");
    let text = std::fs::read_to_string(source).unwrap();
    let texts = kernels::SOURCES.iter().chain(options).copied().chain([text.as_str()]);
    let hash = kernels::hash(texts.flat_map(|text| text.bytes()));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("driver-{hash:016x}"));
    let library = folder.join("libcuda.so.1");
    if library.exists() {
        return folder;
    }
    std::fs::create_dir_all(&folder).unwrap();
    // Several tests may want it at the same time: each compiles its own, and the last one stays.
    let own = folder.join(format!("{}.so", std::process::id()));
    let done = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
        .args(["-std=gnu11", "-O2", "-ffp-contract=off", "-shared", "-fPIC"])
        .args(options)
        .arg(source)
        .args(["-lm", "-lpthread", "-o"])
        .arg(&own)
        .status();
    assert!(done.unwrap().success());
    std::fs::rename(own, library).unwrap();
    folder
}

/// Exit status, standard output and standard error of the command with that driver.
fn run(scratch: &Scratch, options: &[&str], line: &str) -> (i32, String, String) {
    let folder = driver(options);
    let out = scratch.command(line).env("LD_LIBRARY_PATH", folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
}

#[test]
fn a_run_says_what_was_computed_where() {
    let scratch = Scratch::new("devices-run");
    let (code, _, err) = run(
        &scratch,
        &[],
        "run packing --set n=60 --steps 40 --backend cuda --threads 1 --report r.json --quiet",
    );
    assert_eq!(code, 0, "{err}");
    let r = scratch.json("r.json");
    assert_eq!((&r["backend"], &r["solver"]["name"]), (&"cuda".into(), &"cuda-auto".into()));
    assert_eq!(r["device"]["name"], "pretended device");
    // Balls among boxes that do not move: nothing is left for the processor.
    assert_eq!((&r["device"]["whole_step"], &r["device"]["steps_on_cpu"]), (&true.into(), &0.into()));
    assert_eq!((r.get("on_cpu"), r["device"].get("why_not")), (None, None));
    assert!(r["device"]["usage"]["iterations"].as_u64().is_some_and(|n| n > 0), "{}", r["device"]);
    assert_eq!(r["solver"]["converged_steps"], 40);
    assert!(r["certificate"]["residual_max"].as_f64().is_some_and(|x| x <= 1e-4));
    // So are boxes.
    let boxes = "run packing --set n=8 --set shape=box --steps 3 --backend cuda --report boxes.json --quiet";
    assert_eq!(run(&scratch, &[], boxes).0, 0);
    let r = scratch.json("boxes.json");
    assert_eq!((&r["device"]["whole_step"], r.get("on_cpu")), (&true.into(), None));
    // Stones that move are found by the processor.
    let others =
        "run packing --set n=8 --set shape=hull --steps 3 --backend cuda --report others.json --quiet";
    assert_eq!(run(&scratch, &[], others).0, 0);
    let r = scratch.json("others.json");
    assert!(
        r["on_cpu"].as_array().is_some_and(|stages| stages.contains(&"collide".into())),
        "{}",
        r["on_cpu"]
    );
    assert_eq!(r["device"]["whole_step"], false);
    assert_eq!(r["device"]["why_not"], "bodies other than balls, boxes and capsules");
    // The processor's report says nothing of devices.
    let (code, _, _) = run(&scratch, &[], "run packing --set n=20 --steps 3 --report cpu.json --quiet");
    assert_eq!(code, 0);
    let cpu = scratch.json("cpu.json");
    assert_eq!((&cpu["backend"], cpu.get("device"), cpu.get("on_cpu")), (&"cpu".into(), None, None));
}

#[test]
fn a_problem_from_a_file_is_solved() {
    let scratch = Scratch::new("devices-solve");
    let (code, _, err) =
        run(&scratch, &[], "run packing --set n=60 --steps 60 --dump-problems 60:dumped --quiet");
    assert_eq!(code, 0, "{err}");
    let mut objectives = Vec::new();
    for (backend, model) in [("cpu", "ccp"), ("cuda", "ccp"), ("cuda", "coulomb")] {
        let line =
            format!("solve dumped/packing-000060.json --backend {backend} --model {model} --report r.json");
        let (code, out, err) = run(&scratch, &[], &line);
        assert_eq!(code, 0, "{line}: {out} {err}");
        let r = scratch.json("r.json");
        assert_eq!(r["status"], "solved");
        objectives.extend(r["objective"].as_f64());
    }
    assert!(objectives.len() == 2 && (objectives[0] / objectives[1] - 1.0).abs() < 1e-3, "{objectives:?}");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let scratch = Scratch::new("devices-threads");
    let mut hashes = Vec::new();
    for threads in [1, 2] {
        let line = format!(
            "run packing --set n=120 --steps 30 --backend cuda --solver pgj --tolerance 1e-3 --threads {threads} --report r.json --quiet"
        );
        let (code, _, err) = run(&scratch, &[], &line);
        assert_eq!(code, 0, "{err}");
        hashes.push(scratch.json("r.json")["state_hash"].clone());
    }
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn what_is_missing_is_said_with_status_2() {
    let scratch = Scratch::new("devices-missing");
    for (options, line, expected) in [
        (
            &["-DDEVICES=0", "-DNO_KERNELS"][..],
            "run packing --backend cuda",
            &["no CUDA device", "nvidia-smi"][..],
        ),
        (&["-DVERSION=12020", "-DNO_KERNELS"], "run packing --backend cuda", &["too old", "12.2", "update"]),
        (&["-DMAJOR=5", "-DNO_KERNELS"], "run packing --backend cuda", &["too old", "5.0", "7.5"]),
        (
            &["-DMEMORY=4096"],
            "run packing --steps 40 --backend cuda",
            &["too little device memory", "pretended"],
        ),
        (&[], "run packing --backend cuda --solver pgs", &["pgs", "not on the device", "apgd", "pgj"]),
        (&[], "run packing --backend gpu", &["gpu", "cpu", "cuda"]),
    ] {
        let (code, out, err) = run(&scratch, options, line);
        assert_eq!(code, 2, "{line} {options:?}: {out} {err}");
        for word in expected {
            assert!(err.contains(word), "{line} {options:?}: {err}");
        }
    }
}

#[test]
fn devices_are_listed_or_the_reason_is() {
    let scratch = Scratch::new("devices-list");
    let (code, out, _) = run(&scratch, &["-DNO_KERNELS"], "devices");
    assert!(code == 0 && out.contains("pretended device") && out.contains("4096 MiB"), "{out}");
    let (code, out, _) = run(&scratch, &["-DNO_KERNELS"], "devices --json");
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && told["devices"][0]["multiprocessors"] == 4, "{out}");
    let (code, out, _) = run(&scratch, &["-DDEVICES=0", "-DNO_KERNELS"], "devices");
    assert!(code == 0 && out.starts_with("none: no CUDA device"), "{out}");
}

/// Who is quicker in a trial goes on; without a device the processor does, and says why.
#[test]
fn auto_takes_the_quicker_one_and_says_so() {
    let scratch = Scratch::new("devices-auto");
    let line = |report: &str| format!("run packing --set n=60 --steps 40 --threads 1 --report {report}");
    let (code, out, err) = run(&scratch, &[], &(line("auto.json") + " --backend auto"));
    assert_eq!(code, 0, "{err}");
    let r = scratch.json("auto.json");
    let trials = r["device"]["trials"].as_array().expect("trials");
    assert!((1..10).contains(&trials.len()) && trials[0]["step"] == 1, "{trials:?}");
    for t in trials {
        let quicker = if t["cuda_ms"].as_f64() < t["cpu_ms"].as_f64() { "cuda" } else { "cpu" };
        assert_eq!(t["chosen"], quicker, "{t}");
    }
    let last = trials.last().unwrap()["chosen"].as_str().unwrap();
    assert_eq!(r["device"]["auto"], last);
    assert!(out.contains(&format!("backend auto  {last} from step")), "{out}");
    assert_eq!((r["steps"].as_u64(), r["solver"]["converged_steps"].as_u64()), (Some(40), Some(40)));
    // Trials leave no trace: where the processor won them all, its run is the one without a device.
    let (code, _, err) = run(&scratch, &[], &line("cpu.json"));
    assert_eq!(code, 0, "{err}");
    let cpu = scratch.json("cpu.json");
    if trials.iter().all(|t| t["chosen"] == "cpu") {
        assert_eq!((&r["state_hash"], &r["backend"]), (&cpu["state_hash"], &"cpu".into()));
    } else {
        assert_eq!(r["backend"], "cuda");
    }
    // No device, and worlds that cannot be there.
    let absent = ["-DDEVICES=0", "-DNO_KERNELS"];
    let (code, out, err) = run(&scratch, &absent, &(line("none.json") + " --backend auto"));
    assert!(code == 0 && out.contains("backend auto  cpu: no CUDA device"), "{out} {err}");
    let r = scratch.json("none.json");
    assert_eq!((&r["state_hash"], &r["backend"]), (&cpu["state_hash"], &"cpu".into()));
    assert!(r["device"]["why_not"].as_str().is_some_and(|why| why.contains("no CUDA device")));
    let others = "run packing --set n=8 --set shape=hull --steps 3 --backend auto";
    let (code, out, _) = run(&scratch, &[], others);
    assert!(
        code == 0 && out.contains("backend auto  cpu: bodies other than balls, boxes and capsules"),
        "{out}"
    );
    // Boxes may go there: who takes them is measured.
    let boxes = "run packing --set n=8 --set shape=box --steps 3 --backend auto --report boxes.json";
    assert_eq!(run(&scratch, &[], boxes).0, 0);
    let r = scratch.json("boxes.json");
    assert!(r["device"]["trials"].as_array().is_some_and(|trials| !trials.is_empty()), "{}", r["device"]);
    let (code, _, err) = run(&scratch, &[], "solve nothing.json --backend auto");
    assert!(code == 2 && err.contains("takes cpu or cuda"), "{err}");
}

#[test]
fn other_commands_take_steps_there() {
    let scratch = Scratch::new("devices-others");
    let good = |line: &str| {
        let (code, out, err) = run(&scratch, &[], line);
        assert_eq!(code, 0, "{line}: {out} {err}");
        out
    };
    good("run packing --set n=60 --steps 30 --backend cuda --report r.json --quiet");
    good("state packing --set n=60 --at-time 0.3 --backend cuda --to s.json");
    good("run s.json --steps 1 --report s1.json --quiet");
    good("picture packing --set n=60 --at-time 0.3 --backend cuda --size 64x40 --to p.png");
    assert!(scratch.at("p.png").metadata().unwrap().len() > 100);
    good("compare packing --set n=60 --at-time 0.6 --backend cuda --sweeps 30 --report c.json");
    let c = scratch.json("c.json");
    let entries = c["entries"].as_array().unwrap();
    let names: Vec<&str> = entries.iter().filter_map(|e| e["solver"].as_str()).collect();
    assert_eq!(names, ["cuda-apgd", "cuda-pgj", "apgd", "auto"]);
    let objective = |k: usize| entries[k]["objective"].as_f64().unwrap();
    assert!((objective(0) / objective(2) - 1.0).abs() < 0.1, "{entries:?}");
    assert!(objective(1) < 0.0 && c["contacts"].as_u64() > Some(60), "{c}");
}

/// A driver that fails in the middle: what was reported, recorded and kept until then is there, and the exit
/// status is that of a run that failed.
#[test]
fn a_device_that_fails_on_the_way_leaves_what_a_failed_run_leaves() {
    let scratch = Scratch::new("devices-fail");
    let broken = ["-DLAUNCHES=6000"];
    let line = "run packing --set n=60 --steps 2000 --backend cuda --report r.json --quiet";
    let (code, _, err) = run(&scratch, &broken, line);
    assert!(code == 1 && err.contains("CUDA_ERROR_LAUNCH_FAILED"), "{code} {err}");
    let r = scratch.json("r.json");
    assert_eq!(r["status"], "failed");
    assert!(r["reason"].as_str().is_some_and(|why| why.contains("CUDA driver")), "{}", r["reason"]);
    let (steps, lost) = (r["steps"].as_u64().unwrap(), r["device"]["steps_lost"].as_u64());
    assert!(steps > 0 && lost == Some(steps), "{steps} {lost:?}");
    // With a recording the world comes home after every step.
    let line = "run packing --set n=60 --steps 2000 --backend cuda --record rec --record-every 1 --checkpoint 5 --report c.json \
                --quiet";
    let (code, _, err) = run(&scratch, &broken, line);
    assert!(code == 1 && err.contains("CUDA_ERROR_LAUNCH_FAILED"), "{code} {err}");
    let r = scratch.json("c.json");
    let steps = r["steps"].as_u64().unwrap();
    assert_eq!(r["status"], "failed");
    assert!(steps > 10 && r["recording"]["frames"].as_u64() >= Some(steps), "{steps}: {}", r["recording"]);
    // What was kept goes on, on a device that works.
    let line = format!("resume rec --steps {} --report d.json --quiet", steps + 10);
    let (code, _, err) = run(&scratch, &[], &line);
    assert_eq!(code, 0, "{err}");
    let d = scratch.json("d.json");
    assert_eq!((d["status"].as_str(), d["steps"].as_u64()), (Some("ok"), Some(steps + 10)));
}

/// A pile outgrows the device: the run ends with what it needed.
#[test]
fn memory_that_runs_out_on_the_way_is_told() {
    let scratch = Scratch::new("devices-memory");
    let line = "run packing --set n=400 --steps 200 --backend cuda --report r.json --quiet";
    let (code, _, err) = run(&scratch, &["-DMEMORY=700000"], line);
    assert!(code != 0 && err.contains("too little device memory"), "{code} {err}");
    assert_eq!(scratch.json("r.json")["status"], "failed");
}
