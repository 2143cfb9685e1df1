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
    assert_eq!((&r["backend"], &r["solver"]["name"]), (&"cuda".into(), &"cuda-apgd".into()));
    assert_eq!(r["device"]["name"], "pretended device");
    // Balls among boxes that do not move: nothing is left for the processor.
    assert_eq!((&r["device"]["whole_step"], &r["device"]["steps_on_cpu"]), (&true.into(), &0.into()));
    assert_eq!((r.get("on_cpu"), r["device"].get("why_not")), (None, None));
    assert!(r["device"]["usage"]["iterations"].as_u64().is_some_and(|n| n > 0), "{}", r["device"]);
    assert_eq!(r["solver"]["converged_steps"], 40);
    assert!(r["certificate"]["residual_max"].as_f64().is_some_and(|x| x <= 1e-4));
    // Boxes that move are found by the processor.
    let boxes = "run packing --set n=8 --set shape=box --steps 3 --backend cuda --report boxes.json --quiet";
    assert_eq!(run(&scratch, &[], boxes).0, 0);
    let r = scratch.json("boxes.json");
    assert!(
        r["on_cpu"].as_array().is_some_and(|stages| stages.contains(&"collide".into())),
        "{}",
        r["on_cpu"]
    );
    assert_eq!(r["device"]["whole_step"], false);
    assert_eq!(r["device"]["why_not"], "bodies that are not balls");
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
