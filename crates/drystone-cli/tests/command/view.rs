//! `drystone view` and `drystone live`, as far as no browser is needed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::scratch::Scratch;

fn drystone() -> Command {
    Command::new(env!("CARGO_BIN_EXE_drystone"))
}

/// Starts a server; its first line is the address.
fn start(args: &[&str]) -> (Child, String) {
    let mut child = drystone().args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().to_string())
}

/// As Ctrl-C does.
fn interrupt(mut child: Child) -> Option<i32> {
    // SAFETY: a signal to a child that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    child.wait().unwrap().code()
}

fn page(url: &str) -> String {
    let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn both_print_their_address_serve_the_page_and_end_by_ctrl_c() {
    for args in [["view", "stack", "--no-open", "--quiet"], ["live", "stack", "--no-open", "--paused"]] {
        let (child, url) = start(&args);
        assert!(url.starts_with("http://127.0.0.1:") && url.ends_with('/'), "{url}");
        assert!(page(&url).contains("viewer.js"));
        assert_eq!(interrupt(child), Some(130));
    }
}

/// What was driven is on the disk before a step that takes long is done.
#[test]
fn inputs_are_kept_while_a_step_takes_long() {
    let scratch = Scratch::new("view-kept");
    let line = "live stack --set n=30 --exact --solver pgs --tolerance 0 --iterations 1000000000 --no-open \
        --inputs driven.json --wall 1";
    let mut child = scratch.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    while !scratch.at("driven.json").exists() {
        assert!(begun.elapsed().as_secs() < 60, "nothing was written");
        assert!(child.try_wait().unwrap().is_none(), "the step was no long one");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(scratch.json("driven.json")["drystone_inputs"], 1);
    assert!(child.try_wait().unwrap().is_none(), "the step was no long one");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn beyond_this_machine_the_address_has_a_token() {
    let (child, url) = start(&["live", "stack", "--no-open", "--paused", "--listen", "0.0.0.0"]);
    assert!(url.contains("/?token=") && url.len() > 50, "{url}");
    interrupt(child);
}

#[test]
fn a_file_that_holds_a_part_of_the_run_says_so() {
    let scratch = Scratch::new("view-part");
    let file = scratch.at("run.html");
    let part = [
        "view", "packing", "--set", "n=8000", "--time", "0.3", "--frames", "1000", "--memory", "1", "--quiet",
    ];
    let done = drystone().args(part).arg("--html").arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("as many as --memory allows") && said.contains(" s of 0.3 s"), "{said}");
    assert!(file.exists());
}

#[test]
fn a_live_run_tells_how_it_kept_up() {
    let done = drystone().args(["live", "stack", "--no-open", "--wall", "0.5"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("of real time lost; a step took"), "{said}");
    let bad = drystone().args(["live", "stack", "--no-open", "--wall", "-1"]).output().unwrap();
    assert_eq!(bad.status.code(), Some(2));
}

#[test]
fn a_run_becomes_one_file() {
    let scratch = Scratch::new("view-html");
    let file = scratch.at("run.html");
    let done =
        drystone().args(["view", "stack", "--time", "0.3", "--quiet", "--html"]).arg(&file).status().unwrap();
    assert!(done.success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("id=\"frames\"") && text.contains("<style>") && !text.contains("src=\"viewer.js\"")
    );
    let wrong = drystone().args(["view", "stack", "--html"]).arg(scratch.at("run.png")).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains(".html"));
}

#[test]
fn snapshots_are_shown_with_the_shapes_of_their_scene() {
    let scratch = Scratch::new("view-snapshots");
    let (snaps, html) = (scratch.at("s.json"), scratch.at("s.html"));
    let run = drystone()
        .args(["run", "stack", "--time", "0.1", "--quiet", "--snapshots"])
        .arg(&snaps)
        .status()
        .unwrap();
    assert!(run.success());
    let done = drystone().arg("view").arg(&snaps).args(["--quiet", "--html"]).arg(&html).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // Another number of bodies is told, with what to do.
    let done =
        drystone().arg("view").arg(&snaps).args(["--set", "n=3", "--html"]).arg(&html).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("--scene"));
}

#[test]
fn inputs_of_another_scene_are_refused() {
    let scratch = Scratch::new("inputs");
    let file = scratch.at("driven.json");
    let text = "{\"drystone_inputs\":1,\"scene\":\"spider\",\"set\":[],\"step_s\":0.01,\"events\":[[3,{\"control\":[0,-1.0]}]],\
                \"end\":{\"step\":20,\"state_hash\":\"0000000000000000\"}}";
    std::fs::write(&file, text).unwrap();
    let run =
        |scene: &str| drystone().args(["run", scene, "--quiet", "--inputs"]).arg(&file).output().unwrap();
    let other = run("forklift");
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("spider"));
    // The hash in the file is wrong: the run says so.
    let own = run("spider");
    assert_eq!(own.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&own.stderr).contains("another one"));
}

/// What the file was that was driven is part of the inputs.
#[test]
fn inputs_of_a_scene_that_has_changed_are_refused() {
    let scratch = Scratch::new("inputs-changed");
    let scene = "[settings]\nT = 0.1\n[[body]]\nname = \"ball\"\nshape = { type = \"sphere\", r = 0.1 }\nmass = 1\nmu = 0.5\n";
    scratch.write("fall.toml", scene);
    let live = scratch.run("live fall.toml --no-open --wall 0.3 --inputs driven.json");
    assert_eq!(live.code, 0, "{}", live.err);
    assert_eq!(scratch.run("run fall.toml --quiet --inputs driven.json").code, 0);
    let driven = scratch.json("driven.json");
    scratch.write("fall.toml", scene.replace("mass = 1", "mass = 2"));
    let refused = scratch.run("run fall.toml --quiet --inputs driven.json");
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("fall.toml, or a file that it includes, is not what it was"),
        "{}",
        refused.err
    );
    // Files of before they said so are done again as they were.
    let mut old = driven.clone();
    old.as_object_mut().unwrap().remove("scene_sum").unwrap();
    scratch.write("old.json", old.to_string());
    scratch.write("fall.toml", scene);
    assert_eq!(scratch.run("run fall.toml --quiet --inputs old.json").code, 0);
    // What there is not cannot be driven; what does not say how it ended is compared with nothing.
    for (event, words) in [
        (serde_json::json!([1, { "control": [99, 1.0] }]), "there is no control 99: the scene has 0"),
        (serde_json::json!([1, { "drag": [999, 0, [0, 0, 0], [1, 1, 1]] }]), "there is no body 999"),
    ] {
        let mut bad = driven.clone();
        bad["events"] = serde_json::json!([event]);
        scratch.write("bad.json", bad.to_string());
        let failed = scratch.run("run fall.toml --quiet --inputs bad.json");
        assert!(failed.code == 1 && failed.err.contains(words), "{}", failed.err);
    }
    old.as_object_mut().unwrap().remove("end").unwrap();
    scratch.write("old.json", old.to_string());
    let open = scratch.run("run fall.toml --quiet --inputs old.json");
    assert!(open.code == 0 && open.err.contains("old.json: does not say how the run ended"), "{}", open.err);
}

/// A run that has just begun to record is waited for.
#[test]
fn a_recording_that_has_just_begun_is_waited_for() {
    let scratch = Scratch::new("view-begun");
    let folder = scratch.at("rec");
    std::fs::create_dir(&folder).unwrap();
    // What a run does first, held here until the rest of it is there.
    let lock = std::fs::File::create(folder.join(".lock")).unwrap();
    lock.lock().unwrap();
    (&lock).write_all(b"process 1 (`drystone run`)").unwrap();
    let refused = scratch.run("report rec");
    assert!(
        refused.code == 2 && refused.err.contains("process 1 (`drystone run`) records here"),
        "{}",
        refused.err
    );
    let mut child =
        scratch.command("view rec --no-open").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    // Held to the end: who writes to a pipe that nobody reads is ended by that.
    let mut err = BufReader::new(child.stderr.take().unwrap());
    err.read_line(&mut said).unwrap();
    assert!(said.contains("has just begun to record here: waiting"), "{said}");
    assert_eq!(scratch.run("run stack --steps 5 --record whole --quiet").code, 0);
    // Whole at once, as runs do it.
    std::fs::rename(scratch.at("whole").join("run.00000.h5"), folder.join("run.00000.h5")).unwrap();
    let mut url = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut url).unwrap();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    assert_eq!(interrupt(child), Some(130));
    drop(lock);
}

#[test]
fn help_names_all_that_can_be_looked_at() {
    let said = drystone().args(["view", "--help"]).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("A recording (its folder or a file in it), a gallery name"), "{text}");
}
