//! The number of threads changes no bit.

use drystone_scene::zoo::scene;

use crate::{bits, steps};

/// 1, 2 and 3 threads give the same bits, step by step.
#[test]
fn the_number_of_threads_does_not_matter() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let pools = [1, 2, 3].map(pool);
    for seed in 1..=100 {
        let mut all = [0; 3].map(|_| Box::new(scene(seed).unwrap()));
        for k in 0..steps(&all[0]) {
            let mut runs = all.iter_mut().zip(&pools).map(|(made, pool)| {
                let done = pool.install(|| made.world.step()).is_ok();
                (done, bits(&made.world, made.world.model().bodies.len()))
            });
            let first = runs.next().unwrap();
            assert!(runs.all(|run| run == first), "seed {seed}, step {k}");
            if !first.0 {
                break;
            }
        }
    }
}
