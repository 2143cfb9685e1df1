//! Damaged texts and messages: scene files, robots' files, what a page says to a live run. None may end the
//! program, hang it, or take all memory.
//!
//! A second of each in the test suite. For longer, from another seed each time:
//!
//! ```text
//!     DRYSTONE_FUZZ_SECONDS=600 cargo test --workspace --test fuzz scene -- --nocapture
//! ```
//!
//! Targets: `scene`, `urdf`, `mjcf`, `live`. `DRYSTONE_FUZZ_SEED` is the seed, `DRYSTONE_FUZZ_OUT` the folder
//! for what fails [out/fuzz]; `DRYSTONE_FUZZ_FILES=out/fuzz/...` runs what is in it again. The program that
//! the tests are (`target/debug/deps/fuzz-...`) needs nothing beside itself: it can be carried to another
//! machine.

mod mutate;
mod seeds;
mod targets;

use std::path::PathBuf;
use std::time::Instant;

use drystone::random::Random;
use drystone_record::usage::cpu_seconds;
use mutate::Mutator;

/// A case that takes more processor time is taken for one that hangs, s.
const HANGS: f64 = 20.0;
/// Cases of each target, however busy the machine is.
const LEAST: u64 = 20;

/// Seconds for each target.
fn seconds() -> f64 {
    std::env::var("DRYSTONE_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1.0)
}

/// The same cases in every run of the suite, others in longer ones.
fn seed() -> u64 {
    if let Some(seed) = std::env::var("DRYSTONE_FUZZ_SEED").ok().and_then(|s| s.parse().ok()) {
        return seed;
    }
    match std::env::var("DRYSTONE_FUZZ_SECONDS") {
        Err(_) => 1,
        Ok(_) => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(2, |t| t.as_nanos() as u64),
    }
}

fn kept() -> PathBuf {
    let home = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../out/fuzz");
    std::env::var_os("DRYSTONE_FUZZ_OUT").map_or_else(home, PathBuf::from)
}

/// Runs a target on what the mutator makes; a case is on disk while it runs, so that one that ends the
/// program is there afterwards.
fn run(name: &str, seeds: Vec<Vec<u8>>, words: &[&str], target: &mut dyn FnMut(&[u8]) -> Result<(), String>) {
    drystone_scene::limit_bodies(2000);
    if let Ok(files) = std::env::var("DRYSTONE_FUZZ_FILES") {
        for file in files.split(':').filter(|f| f.contains(name)) {
            println!("{file}");
            target(&std::fs::read(file).unwrap()).unwrap();
        }
        return;
    }
    let folder = kept();
    std::fs::create_dir_all(&folder).unwrap();
    let seed = seed();
    let case_file = folder.join(format!("{name}-{}.running", std::process::id()));
    let mut mutator = Mutator::new(Random::new(seed), seeds, words);
    let (begun, mut cases, mut good, mut slowest) = (Instant::now(), 0u64, 0u64, 0.0f64);
    while begun.elapsed().as_secs_f64() < seconds() || cases < LEAST {
        let case = mutator.next();
        std::fs::write(&case_file, &case).unwrap();
        let start = cpu_seconds();
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target(&case)));
        let took = cpu_seconds() - start;
        let wrong = match done {
            Ok(Ok(())) if took > HANGS => Some(format!("took {took:.1} s")),
            Ok(Ok(())) => None,
            Ok(Err(e)) => Some(e),
            Err(_) => Some("panicked".into()),
        };
        if let Some(wrong) = wrong {
            let file = folder.join(format!("{name}-{seed}-{cases}"));
            std::fs::write(&file, &case).unwrap();
            panic!("{}: {wrong}", file.display());
        }
        // Cases that are read go on as seeds: what they hold is reached no other way.
        if mutator.learn(&case, targets::was_read()) {
            good += 1;
        }
        slowest = slowest.max(took);
        cases += 1;
    }
    let _ = std::fs::remove_file(&case_file);
    println!(
        "{name}: seed {seed}, {cases} cases in {:.0} s, {good} kept as seeds, the slowest took {slowest:.2} s of processor time",
        begun.elapsed().as_secs_f64()
    );
}

#[test]
fn scene() {
    let mut target = targets::Scene::new();
    run("scene", targets::scene_seeds(), targets::SCENE_WORDS, &mut |bytes| target.run(bytes));
}

#[test]
fn urdf() {
    let mut target = targets::Robot::new("robot.urdf");
    run("urdf", vec![targets::URDF.into()], targets::XML_WORDS, &mut |bytes| target.run(bytes));
}

#[test]
fn mjcf() {
    let mut target = targets::Robot::new("robot.xml");
    run("mjcf", vec![targets::MJCF.into()], targets::XML_WORDS, &mut |bytes| target.run(bytes));
}

#[test]
fn live() {
    let mut target = targets::Live::new();
    run("live", targets::live_seeds(), &[], &mut |bytes| target.run(bytes));
}
