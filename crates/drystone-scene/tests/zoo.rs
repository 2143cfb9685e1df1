//! Random scenes: seeds are reproducible, every kind occurs, and today's counts of failures only go down.

use std::collections::BTreeSet;

use drystone_scene::zoo::batch::{self, Batch, Summary};
use drystone_scene::zoo::check::{self, Check};
use drystone_scene::zoo::{KINDS, kind_named, kind_of, scene};

/// Scenes of the first 1000 seeds that may fail a check. A ratchet: numbers may be lowered, never raised.
/// What was zero stays zero.
const CEILINGS: [(Check, usize); 8] = [
    (Check::Finite, 2),
    (Check::Energy, 0),
    (Check::Containment, 2),
    (Check::Overlap, 0),
    (Check::Solved, 0),
    (Check::Certificate, 0),
    (Check::Determinism, 0),
    (Check::Twin, 0),
];

#[test]
fn seeds_are_reproducible() {
    let mut hashes = BTreeSet::new();
    for seed in 1..=25 {
        let (one, two) = (check::run(seed, true, None), check::run(seed, true, None));
        assert_eq!((&one.hash, one.done, &one.failures), (&two.hash, two.done, &two.failures), "seed {seed}");
        hashes.insert(one.hash);
    }
    assert_eq!(hashes.len(), 25, "different seeds, one scene");
}

/// All kinds occur, every scene can be built, nothing overlaps at the start, and sizes are as promised.
#[test]
fn every_kind_occurs_and_starts_apart() {
    let mut seen = BTreeSet::new();
    for seed in 1..=1000 {
        let mut made = scene(seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let kind = made.kind.name;
        assert_eq!(kind, kind_of(seed).name);
        seen.insert(kind);
        let bodies = made.world.model().dynamic().count();
        let comes = made.world.emitted().len();
        assert!(bodies + comes > 0 && bodies <= 140, "seed {seed}, {kind}: {bodies} bodies");
        assert!((30..=300).contains(&made.steps), "seed {seed}, {kind}: {} steps", made.steps);
        assert!((0.001..=0.02).contains(&made.world.settings().h), "seed {seed}, {kind}");
        // Bodies that are placed in touch are off by rounding.
        let deep = made.world.deep_overlaps(1e-9);
        assert!(deep.is_empty(), "seed {seed}, {kind}: {deep:?}");
    }
    let missing: Vec<&str> = KINDS.iter().map(|k| k.name).filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn names_of_kinds_are_unique_and_found() {
    for kind in KINDS {
        // The first of that name: another one further down would have another title.
        assert_eq!(kind_named(kind.name).map(|k| k.title), Some(kind.title), "{}", kind.name);
        assert!(kind.weight > 0 && !kind.title.is_empty());
    }
    assert!(kind_named("unicorns").is_none());
}

fn run(seed: u64, count: u64) -> Summary {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let batch = Batch { seed, count, kind: None, checks: true, threads };
    let outcomes = batch::run(batch, |_| (), || false).unwrap();
    assert_eq!(outcomes.len() as u64, count);
    assert!(outcomes.iter().enumerate().all(|(i, o)| o.seed == seed + i as u64), "in the order of the seeds");
    for o in &outcomes {
        for f in o.failures.iter().filter(|f| matches!(f.check, Check::Finite | Check::Certificate)) {
            println!("seed {} {} {} step {}: {}", o.seed, o.kind, f.check.name(), f.step, f.text);
        }
    }
    Summary::of(&outcomes)
}

#[test]
fn failures_only_become_fewer() {
    let sum = run(1, 1000);
    // A check that looked at nothing would pass.
    assert!(sum.steps > 60_000 && sum.certified > sum.steps / 3, "{sum:?}");
    let mut over = Vec::new();
    for (check, ceiling) in CEILINGS {
        let found = sum.failures[check as usize];
        println!("{:<12} {found:>4} of at most {ceiling}", check.name());
        if found > ceiling {
            over.push(format!("{}: {found} scenes, at most {ceiling} allowed", check.name()));
        }
    }
    assert!(over.is_empty(), "{over:#?}\none alone: drystone zoo --seed 1 --count 1000 --check");
}

/// A heavy ball that hits a light body on the ground, which turns: what its contact asks for because of the
/// turn gave way to the hit, and the body went into the ground by half of its size and more.
#[test]
fn a_hit_presses_nobody_into_the_ground() {
    for seed in [71427, 12563] {
        let outcome = check::run(seed, true, None);
        assert!(outcome.kind == "heap" && outcome.failures.is_empty(), "seed {seed}: {:?}", outcome.failures);
    }
}

/// The same over a hundred times as many, by shares: about an hour and a half on two cores.
#[test]
#[ignore = "an hour and a half on two cores: cargo nextest run -p drystone-scene --test zoo --run-ignored all"]
fn failures_of_many_scenes() {
    let sum = run(1001, 100_000);
    for (check, ceiling) in CEILINGS {
        // What has no failure in 1000 may have one in a few thousand; but a wrong certificate, or other bits,
        // never.
        let never = matches!(check, Check::Certificate | Check::Determinism | Check::Twin);
        // Four standard deviations of a count.
        let rate = if never { 0 } else { 100 * ceiling.max(1) };
        let most = 100 * ceiling + 4 * rate.isqrt();
        let found = sum.failures[check as usize];
        assert!(found <= most, "{}: {found} scenes, at most {most} allowed", check.name());
    }
}
