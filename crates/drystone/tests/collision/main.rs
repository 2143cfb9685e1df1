//! Seeded random cases for the checks that the fuzzer of `fuzz/` runs on any.

mod checks;

use drystone::random::Random;

#[test]
fn survey() {
    let n: u64 = std::env::var("CASES").ok().and_then(|s| s.parse().ok()).unwrap_or(20_000);
    let seed: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let mut classes = std::collections::BTreeMap::<String, (usize, String)>::new();
    for k in 0..n {
        let mut random = Random::new(seed << 40 | k);
        let bytes: Vec<u8> = (0..96).flat_map(|_| random.next_u64().to_le_bytes()).take(120).collect();
        let run = std::panic::catch_unwind(|| checks::check(&bytes)).unwrap_or_else(|_| Err("PANIC".into()));
        if let Err(e) = run {
            let kinds: Vec<&str> = e
                .lines()
                .filter(|l| l.starts_with("A ") || l.starts_with("B "))
                .map(|l| l[2..].split(' ').next().unwrap_or(""))
                .collect();
            let what: String = e
                .lines()
                .next()
                .unwrap_or("")
                .chars()
                .map(|c| if c.is_ascii_digit() { '#' } else { c })
                .collect();
            let what: Vec<&str> =
                what.split(|c: char| !c.is_ascii_alphabetic()).filter(|w| w.len() > 1).take(5).collect();
            let mut kinds = kinds;
            kinds.sort();
            let entry = classes
                .entry(format!("{} {}", what.join(" "), kinds.join("/")))
                .or_insert((0, format!("#{k} {e}")));
            entry.0 += 1;
        }
    }
    for (name, (count, first)) in &classes {
        println!("{count:6} {name}");
        if std::env::var("SHOW").is_ok_and(|s| name.contains(&s)) {
            println!("{first}\n");
        }
    }
}
