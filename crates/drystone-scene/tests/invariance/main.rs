//! What a world does depends neither on when, where and in which units it is described, nor on strangers.

mod compare;
mod groups;
mod momentum;
mod order;
mod parts;
mod shifted;
mod strangers;
mod threads;
mod together;
mod turned;
mod units;

use drystone::World;
use drystone_scene::zoo::RandomScene;

/// Position, rotation and velocities of the first `n` bodies, as bits.
fn bits(w: &World, n: usize) -> Vec<u64> {
    let s = w.state();
    let all = (0..n).flat_map(|i| {
        let (x, q, v, o) = (s.position[i], s.rotation[i], s.velocity[i], s.omega[i]);
        [x.to_array(), v.to_array(), o.to_array()]
            .into_iter()
            .flatten()
            .chain(q.to_array())
            .collect::<Vec<_>>()
    });
    all.map(f64::to_bits).collect()
}

/// Steps of a scene that may be compared, few enough for all seeds.
fn steps(made: &RandomScene) -> usize {
    made.steps.min(40)
}
