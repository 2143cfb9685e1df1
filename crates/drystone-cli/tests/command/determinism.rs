//! Bitwise the same for any number of threads, for every broad phase, and from run to run.

use serde_json::{Value, json};

use crate::bodies::{ball_of, floor, state};
use crate::scratch::{Scratch, number};

/// Asserts that all variants of a run end in one state, and that contacts took part.
fn one_hash(scratch: &Scratch, scene: &str, variants: &[&str]) -> String {
    let mut first: Option<String> = None;
    for variant in variants {
        let r = scratch.report(&format!("{scene} {variant}"));
        assert!(number(&r, "contacts.last") > 0.0, "{scene}: no contacts, nothing tested");
        let hash = r["state_hash"].as_str().unwrap().to_string();
        assert_eq!(
            *first.get_or_insert(hash.clone()),
            hash,
            "{scene}: {variant} differs from {}",
            variants[0]
        );
    }
    first.unwrap()
}

const THREADS: &[&str] = &["--threads 1", "--threads 1", "--threads 2", "--threads 3"];
const BROADPHASES: &[&str] = &["--broadphase sap", "--broadphase grid", "--broadphase brute", ""];

#[test]
fn packings_of_every_shape() {
    let scratch = Scratch::new("determinism-shapes");
    let mut hashes: Vec<String> = ["sphere", "box", "capsule", "mixed"]
        .iter()
        .map(|shape| {
            let scene = format!("packing --set shape={shape} --set n=60 --steps 55 --iterations 30");
            let hash = one_hash(&scratch, &scene, THREADS);
            assert_eq!(hash, one_hash(&scratch, &scene, BROADPHASES), "{shape}");
            hash
        })
        .collect();
    // A hash that sees nothing would pass all of the above.
    hashes.push(one_hash(&scratch, "packing --set seed=2 --set n=60 --steps 55 --iterations 30", &[""]));
    hashes.push(one_hash(&scratch, "packing --set n=60 --steps 56 --iterations 30", &[""]));
    hashes.push(one_hash(&scratch, "packing --set n=60 --steps 55 --iterations 34", &[""]));
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 7, "different runs, one hash");
}

#[test]
fn the_papers_packing() {
    let scratch = Scratch::new("determinism-paper");
    for solver in ["pgs", "pgj", "pssor"] {
        one_hash(&scratch, &format!("packing --steps 50 --iterations 20 --solver {solver}"), THREADS);
    }
}

/// A layer of balls on a floor, side by side with small gaps and overlaps and random speeds: so many contacts
/// of one colour, and so many pairs, that every stage hands work to several threads.
fn layer(side: usize) -> Value {
    let mut seed = 1u64;
    let mut random = || {
        // xorshift64: any sequence will do, as long as it is the same one.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut bodies = Vec::new();
    for i in 0..side {
        for j in 0..side {
            let pos = [
                0.999 * i as f64 + 2e-3 * random(),
                0.999 * j as f64 + 2e-3 * random(),
                0.5 + 1e-3 * random(),
            ];
            let mut b = ball_of(pos, 0.5, 1.0 + random());
            b["vel"] = json!([random(), random(), random()]);
            bodies.push(b);
        }
    }
    state(bodies, vec![floor()])
}

#[test]
fn a_scene_large_enough_for_parallel_work() {
    let scratch = Scratch::new("determinism-large");
    scratch.write("layer.json", layer(72).to_string());
    let scene = "layer.json --steps 3 --iterations 15 --tolerance 0";
    assert!(scratch.report(scene)["contacts"]["last"].as_u64().unwrap() > 10_000);
    let hash = one_hash(&scratch, scene, THREADS);
    assert_eq!(hash, one_hash(&scratch, scene, &BROADPHASES[..2]));
    one_hash(&scratch, &format!("{scene} --solver pgj"), &["--threads 1", "--threads 3"]);
    one_hash(&scratch, &format!("{scene} --solver pssor"), &["--threads 1", "--threads 3"]);
}

#[test]
fn four_thousand_falling() {
    let scratch = Scratch::new("determinism-falling");
    let scene = "packing --set n=4000 --set height=25 --steps 6 --iterations 20";
    let hash = one_hash(&scratch, scene, &["--threads 1", "--threads 3"]);
    assert_eq!(hash, one_hash(&scratch, scene, &["--broadphase sap", "--broadphase grid"]));
}

#[test]
fn states_written_down_do_not_depend_on_threads() {
    let scratch = Scratch::new("determinism-states");
    for threads in [1, 3] {
        scratch
            .good(&format!("state packing --set n=80 --at-time 0.5 --threads {threads} --to {threads}.json"));
    }
    assert_eq!(scratch.read("1.json"), scratch.read("3.json"));
}
