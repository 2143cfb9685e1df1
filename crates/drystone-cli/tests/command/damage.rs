//! Recordings of which parts are missing or damaged, and those that two processes want to write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drystone_record::recording::{Fault, Recording, checkpoints};

use crate::scratch::{Scratch, holds, outcome};

fn open(folder: &Path) -> Recording {
    Recording::open(folder).unwrap_or_else(|e| panic!("{e}"))
}

fn segment(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("run.{number:05}.h5"))
}

/// How many segments there are, without a hole.
fn segments(folder: &Path) -> usize {
    (0..).take_while(|k| segment(folder, *k).exists()).count()
}

/// The highest number of a segment.
fn last_segment(folder: &Path) -> usize {
    (0..100).rev().find(|k| segment(folder, *k).exists()).unwrap()
}

fn steps(recording: &Recording) -> BTreeSet<u64> {
    recording.steps().iter().map(|row| row[0] as u64).collect()
}

/// A frame by its step, as it prints: NaN is no number equal to itself.
fn frame(recording: &Recording, step: u64) -> Option<String> {
    let k = recording.moments().iter().position(|m| m.step == step)?;
    Some(format!("{:?}", recording.frame(k).unwrap()))
}

/// A recording of several segments; the report of the run is `whole.json`.
fn recorded(scratch: &Scratch, steps: u64) -> PathBuf {
    scratch.good(&format!(
        "run stack --steps {steps} --record rec --record-every 4 --checkpoint 10 --quiet --report whole.json"
    ));
    assert!(segments(&scratch.at("rec")) as u64 >= steps / 10);
    scratch.at("rec")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// The first and last step of a recording that are not in another.
fn lost(whole: &Recording, part: &Recording) -> (u64, u64) {
    let (all, left) = (steps(whole), steps(part));
    let gone: Vec<u64> = all.difference(&left).copied().collect();
    let (first, last) = (*gone.first().unwrap(), *gone.last().unwrap());
    assert_eq!(gone.len() as u64, last - first + 1, "one stretch: {gone:?}");
    (first, last)
}

/// All frames of a part are those of the whole.
fn is_part(whole: &Recording, part: &Recording) {
    assert!(part.len() < whole.len() && !part.is_empty());
    for m in part.moments() {
        assert_eq!(frame(part, m.step), frame(whole, m.step), "step {}", m.step);
    }
}

#[test]
fn two_processes_do_not_write_into_one_recording() {
    let scratch = Scratch::new("lock");
    let line =
        "run packing --set n=30 --steps 1000000 --record rec --checkpoint 10 --quiet --body-forces f.csv";
    let mut child = scratch.command(line).spawn().unwrap();
    let (folder, begun) = (scratch.at("rec"), Instant::now());
    while !checkpoints(&folder).is_ok_and(|c| c.len() == 2) {
        assert!(begun.elapsed() < Duration::from_secs(120), "two checkpoints");
        std::thread::sleep(Duration::from_millis(20));
    }
    let written = std::fs::metadata(scratch.at("f.csv")).unwrap().len();
    let who = format!("process {}", child.id());
    for line in ["resume rec --steps 2000000", "run stack --steps 3 --record rec"] {
        holds(&scratch.bad(line), &["rec", &who, "run packing", "writes into this recording"]);
    }
    // The other run's files are untouched, and whoever reads is not held up.
    assert!(std::fs::metadata(scratch.at("f.csv")).unwrap().len() >= written);
    scratch.good("report rec");
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let end = checkpoints(&folder).unwrap()[0].0 + 10;
    scratch.good(&format!("resume rec --steps {end} --quiet"));
    assert_eq!(steps(&open(&folder)), (1..=end).collect());
    holds(&scratch.bad("run stack --steps 3 --record rec"), &["there is a recording already", "resume"]);
    std::fs::write(folder.join("mine.txt"), "notes").unwrap();
    scratch.good("run stack --steps 3 --record rec --record-replace --quiet");
    assert_eq!(steps(&open(&folder)), (1..=3).collect());
    assert_eq!(checkpoints(&folder).unwrap().len(), 1, "the other run's are gone");
    assert!(folder.join("mine.txt").is_file(), "what is no part of a recording stays");
}

#[test]
fn a_missing_segment_is_told_and_its_place_stays_empty() {
    let scratch = Scratch::new("hole");
    let folder = recorded(&scratch, 60);
    let (whole, before) = (open(&folder), segments(&folder));
    assert!(whole.losses().is_empty());
    std::fs::remove_file(segment(&folder, 3)).unwrap();
    let part = open(&folder);
    let (first, last) = lost(&whole, &part);
    is_part(&whole, &part);
    let told = format!("rec: segment 3 is missing: steps {first} to {last} are lost\n");
    for line in ["report rec", "export rec --to b.csv", "export rec --to s.csv --table steps --quiet"] {
        let o = scratch.run(line);
        assert_eq!(o.code, 0, "{}", o.err);
        assert_eq!(o.err, format!("drystone: warning: {told}"), "{line}");
    }
    assert_eq!(scratch.read("s.csv").lines().count(), 1 + whole.steps().len() - (last - first + 1) as usize);
    // Going on: after the last segment, from the last checkpoint.
    let o = scratch.run("resume rec --steps 80 --quiet --report on.json");
    assert_eq!(o.code, 0, "{}", o.err);
    holds(&o.err, &["warning", &told]);
    assert!(!segment(&folder, 3).exists() && segment(&folder, before).exists());
    let on = open(&folder);
    assert_eq!(steps(&on), (1..=80).filter(|k| !(first..=last).contains(k)).collect());
    assert_eq!(frame(&on, 20), frame(&whole, 20));
    let report = scratch.report("stack --steps 80");
    assert_eq!(scratch.json("on.json")["state_hash"], report["state_hash"]);
    // The last segment of all is missed too: there is a checkpoint after it.
    let count = last_segment(&folder);
    std::fs::remove_file(segment(&folder, count)).unwrap();
    let end = *steps(&open(&folder)).last().unwrap();
    let told = format!("segment {count} is missing: steps {} to 80 are lost", end + 1);
    holds(&scratch.run("report rec").err, &["segment 3 is missing", &told]);
    holds(&scratch.run("resume rec --steps 90 --quiet").err, &[&told]);
    assert!(!segment(&folder, count).exists() && segment(&folder, count + 1).exists());
    holds(&scratch.run("report rec").err, &["segment 3 is missing", &told]);
}

#[test]
fn a_changed_bit_is_told_wherever_it_is() {
    let scratch = Scratch::new("bits");
    let folder = recorded(&scratch, 60);
    let whole = open(&folder);
    let path = segment(&folder, 3);
    let bytes = std::fs::read(&path).unwrap();
    let expected = {
        std::fs::write(&path, b"").unwrap();
        lost(&whole, &open(&folder))
    };
    // Places all over the file, its last bytes among them.
    let places = (0..40).map(|k| k * (bytes.len() - 1) / 39);
    for (k, place) in places.enumerate() {
        let mut changed = bytes.clone();
        changed[place] ^= 1 << (k % 8);
        std::fs::write(&path, changed).unwrap();
        let part = open(&folder);
        let losses = part.losses();
        assert_eq!(losses.len(), 1, "byte {place}");
        assert!(matches!(losses[0].segments[..], [(3, Fault::Damaged(_))]), "{losses:?}");
        assert_eq!((losses[0].first, losses[0].until), (expected.0, Some(expected.1 + 1)), "byte {place}");
        assert_eq!(lost(&whole, &part), expected, "byte {place}");
    }
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 8;
    std::fs::write(&path, changed).unwrap();
    is_part(&whole, &open(&folder));
    let steps = format!("steps {} to {} are lost", expected.0, expected.1);
    let told = ["rec: segment 3 is damaged (its sum is not that of its bytes)", &steps];
    for line in ["report rec", "export rec --to b.csv --quiet", "resume rec --steps 70 --quiet"] {
        let o = scratch.run(line);
        assert_eq!(o.code, 0, "{line}: {}", o.err);
        holds(&o.err, &told);
    }
    assert_eq!(open(&folder).steps().len() as u64, 70 - (expected.1 - expected.0 + 1));
    std::fs::write(&path, bytes).unwrap();
    assert!(open(&folder).losses().is_empty());
    scratch.good("report rec");
}

#[test]
fn a_segment_that_was_cut_off_takes_nothing_else_along() {
    let scratch = Scratch::new("cut");
    let folder = recorded(&scratch, 40);
    let whole = open(&folder);
    let bytes = std::fs::read(segment(&folder, 2)).unwrap();
    let lengths = [0, 1, 8, 100, 1000, bytes.len() / 2, bytes.len() - 33, bytes.len() - 32, bytes.len() - 1];
    for length in lengths.into_iter().chain((0..bytes.len()).step_by(bytes.len() / 16)) {
        std::fs::write(segment(&folder, 2), &bytes[..length]).unwrap();
        let part = open(&folder);
        assert_eq!(part.losses().len(), 1, "{length} bytes");
        is_part(&whole, &part);
    }
    let (first, last) = lost(&whole, &open(&folder));
    let o = scratch.run("resume rec --steps 50 --quiet --report on.json");
    assert_eq!(o.code, 0, "{}", o.err);
    holds(&o.err, &["segment 2 is damaged", &format!("steps {first} to {last} are lost")]);
    assert_eq!(scratch.json("on.json")["state_hash"], scratch.report("stack --steps 50")["state_hash"]);
    assert_eq!(open(&folder).steps().len() as u64, 50 - (last - first + 1));
    // The last one, which the checkpoint still knows the steps of.
    copy(&folder, &scratch.at("last"));
    let end = last_segment(&scratch.at("last"));
    std::fs::write(segment(&scratch.at("last"), end), &bytes[..500]).unwrap();
    holds(&scratch.run("report last").err, &[&format!("segment {end} is damaged"), "to 50 are lost"]);
    holds(&scratch.run("resume last --steps 55 --quiet").err, &["to 50 are lost"]);
    assert!(open(&scratch.at("last")).steps().iter().any(|row| row[0] == 55.0));
    // The first one, which introduces the bodies: they are introduced again.
    std::fs::write(segment(&folder, 0), &bytes[..500]).unwrap();
    let o = scratch.run("export rec --to b.csv");
    assert_eq!(o.code, 0, "{}", o.err);
    holds(&o.err, &["segment 0 is damaged", "names and shapes"]);
    assert!(open(&folder).catalogue().bodies.is_empty());
    // Nobody is introduced, and those that move are seen all the same: as many as are exported.
    let csv = scratch.read("b.csv");
    let at = csv.lines().next().unwrap().split(',').position(|name| name == "body").unwrap();
    let ids: std::collections::HashSet<&str> =
        csv.lines().skip(1).map(|line| line.split(',').nth(at).unwrap()).collect();
    assert!(!ids.is_empty());
    holds(&scratch.run("report rec").out, &[&format!("{} bodies and", ids.len())]);
    assert_eq!(scratch.run("export rec --to a.gltf").code, 0);
    assert_eq!(scratch.run("resume rec --steps 60 --quiet").code, 0);
    let again = open(&folder);
    let names = |r: &Recording| r.catalogue().bodies.iter().map(|b| b.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&again), names(&whole));
    let shapes = |r: &Recording| {
        let (c, shape) = (r.catalogue(), |k: usize| format!("{:?}", r.catalogue().shapes[k]));
        c.colliders.iter().map(|c| (c.body, shape(c.shape))).collect::<Vec<_>>()
    };
    assert_eq!(shapes(&again), shapes(&whole));
    assert!(!shapes(&whole).is_empty());
    // Nothing is left.
    (0..20).for_each(|k| drop(std::fs::write(segment(&scratch.at("last"), k), b"no HDF5")));
    holds(&scratch.bad("report last"), &["last", "nothing of this recording can be read", "damaged"]);
}

#[test]
fn what_is_asked_of_recordings_is_answered() {
    let scratch = Scratch::new("record-small");
    scratch.good("run conveyor --steps 20 --record rec --quiet");
    // Going on is as quiet as it was asked to be, not as the run was.
    holds(&scratch.good("resume rec --steps 30"), &["state hash"]);
    assert_eq!(scratch.good("resume rec --steps 40 --quiet"), "");
    // A static body is in no frame, and stands where it stands in all of them.
    holds(&scratch.good("export rec --to belt.csv --body belt"), &["5 of 5 frames"]);
    let text = scratch.read("belt.csv");
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 5);
    assert!(rows.iter().all(|r| r.len() == 16 && r[2] == "belt" && r[3..] == rows[0][3..]), "{text}");
    let belt = open(&scratch.at("rec"));
    let belt = belt.catalogue().bodies.iter().find(|b| b.name == "belt").unwrap();
    let place: Vec<f32> = rows[0][3..6].iter().map(|x| x.parse().unwrap()).collect();
    assert_eq!(place, belt.pose.position.to_array().map(|x| x as f32));
}

/// A folder that may not be read is not called empty.
#[cfg(unix)]
#[test]
fn a_closed_folder_is_told() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let scratch = Scratch::new("record-closed");
    scratch.good("run stack --steps 3 --record rec --quiet");
    let close = |mode| std::fs::set_permissions(scratch.at("rec"), PermissionsExt::from_mode(mode)).unwrap();
    close(0o000);
    for line in ["report rec", "resume rec"] {
        let mut command = scratch.command(line);
        // SAFETY: a question without arguments.
        if unsafe { libc::geteuid() } == 0 {
            command.uid(65534); // Everything is open to the superuser.
        }
        let o = outcome(command);
        assert_eq!(o.code, 2, "{}", o.err);
        holds(&o.err, &["rec", "Permission denied"]);
    }
    close(0o755);
    scratch.good("report rec");
}
