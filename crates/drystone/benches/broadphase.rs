//! Milliseconds of processor time a call of the broad phases, at rest and in motion, for boxes of like size
//! and with a few huge ones. On Unix only.
//!
//! Run with `cargo bench -p drystone --bench broadphase`; `-- 1000000` for the largest count too. Sweep and
//! prune and the grid take turns; the least of several rounds is printed.

use drystone::collide::Aabb;
use drystone::collide::broadphase::{Kind, choose, make};
use drystone::random::Random;
use glam::DVec3;

/// Grains of one size on a jittered lattice, about four times as wide as high.
fn grains(n: usize, random: &mut Random) -> Vec<Aabb> {
    let side = ((16 * n) as f64).cbrt().ceil() as usize / 4 * 2;
    (0..n)
        .map(|k| {
            let p = DVec3::new((k % side) as f64, (k / side % side) as f64, (k / side / side) as f64);
            Aabb::around(p + 0.2 * random.unit_vector(), DVec3::splat(0.5))
        })
        .collect()
}

/// Processor time of this program so far, s: other programs on the machine do not count.
fn clock() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place to write to, and the clock exists on every Unix.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

fn main() {
    // Threads that wait for work count as working.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(table);
}

fn table() {
    let most: usize = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(100_000);
    println!(
        "{:>8} {:>28} {:>10} {:>10} {:>10} {:>10} {:>9} {:>6}",
        "boxes", "", "sap, rest", "grid, rest", "sap, 1 %", "grid, 1 %", "pairs", "choice"
    );
    for n in [10_000, 100_000, 1_000_000].into_iter().filter(|n| *n <= most) {
        let mut random = Random::new(1);
        let alike = grains(n, &mut random);
        let all = alike.iter().fold(alike[0], |a, b| Aabb { min: a.min.min(b.min), max: a.max.max(b.max) });
        let (middle, half) = (0.5 * (all.min + all.max), 0.5 * (all.max - all.min));
        // Ground that holds everything and has no bottom, as a height field; walls; three boulders that move.
        let ground = Aabb { min: all.min.with_z(f64::NEG_INFINITY), max: all.max.with_z(middle.z) };
        let wall = |x: f64| Aabb::around(middle + DVec3::X * x * half.x, half * DVec3::new(0.01, 1.0, 1.0));
        let boulder = |x: f64| Aabb::around(middle + DVec3::X * x * half.x, half * 0.2);
        let with = |more: &[Aabb]| alike.iter().chain(more).copied().collect::<Vec<_>>();
        let scenes = [
            ("of one size", alike.clone(), 0),
            ("and ground without bottom", with(&[ground, wall(-1.0), wall(1.0)]), 0),
            ("and three boulders", with(&[ground, wall(-1.0), boulder(-0.5), boulder(0.0), boulder(0.5)]), 3),
        ];
        for (name, boxes, boulders) in scenes {
            let movable: Vec<bool> = (0..boxes.len()).map(|k| k < n || k >= boxes.len() - boulders).collect();
            let shifts: Vec<DVec3> = boxes.iter().map(|_| 0.01 * random.unit_vector()).collect();
            let moved: Vec<Aabb> = boxes
                .iter()
                .zip(shifts.iter().zip(&movable))
                .map(|(b, (s, m))| if *m { Aabb { min: b.min + s, max: b.max + s } } else { *b })
                .collect();
            let mut phases = [make(Kind::Sap), make(Kind::Grid)];
            let mut pairs = Vec::new();
            let mut least = [f64::INFINITY; 4];
            let rounds = if n > 100_000 { 1 } else { 6 };
            phases.iter_mut().for_each(|p| p.pairs(&boxes, &movable, &mut pairs));
            for _ in 0..rounds {
                for (k, phase) in phases.iter_mut().enumerate() {
                    let mut time = |boxes: &[Aabb]| {
                        let begin = clock();
                        phase.pairs(boxes, &movable, &mut pairs);
                        (clock() - begin) * 1e3
                    };
                    least[k] = least[k].min(time(&boxes));
                    least[k + 2] = least[k + 2].min(time(&moved));
                    least[k + 2] = least[k + 2].min(time(&boxes));
                }
            }
            println!(
                "{n:>8} {name:>28} {:>10.2} {:>10.2} {:>10.2} {:>10.2} {:>9} {:>6}",
                least[0],
                least[1],
                least[2],
                least[3],
                pairs.len(),
                choose(&boxes, &movable).name()
            );
        }
    }
}
