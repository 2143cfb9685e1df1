//! Once it has seen a scene, a broad phase takes no more memory for scenes like it.

use crate::counting::TAKEN;
use drystone::collide::Aabb;
use drystone::collide::broadphase::{Kind, make};
use drystone::random::Random;
use glam::DVec3;

#[test]
fn no_allocation_once_the_buffers_are_there() {
    let mut random = Random::new(1);
    // Few enough for one thread: handing work to others may allocate, which is not the broad phase's doing.
    let grains = 1500;
    let mut boxes: Vec<Aabb> = (0..grains)
        .map(|_| Aabb::around(random.in_box(DVec3::ZERO, DVec3::splat(11.0)), DVec3::splat(0.5)))
        .collect();
    boxes.push(Aabb { min: DVec3::NEG_INFINITY, max: DVec3::new(f64::INFINITY, f64::INFINITY, 0.5) });
    let mut movable = vec![true; grains];
    movable.push(false);
    let mut moved = boxes.clone();
    for bounds in &mut moved[..grains] {
        let shift = 0.01 * random.unit_vector();
        *bounds = Aabb { min: bounds.min + shift, max: bounds.max + shift };
    }
    for kind in [Kind::Brute, Kind::Sap, Kind::Grid] {
        let mut phase = make(kind);
        let mut pairs = Vec::new();
        let mut there_and_back = || {
            phase.pairs(&boxes, &movable, &mut pairs);
            phase.pairs(&moved, &movable, &mut pairs);
        };
        let fresh = TAKEN.get();
        (0..3).for_each(|_| there_and_back());
        let warm = TAKEN.get();
        (0..10).for_each(|_| there_and_back());
        assert_eq!(TAKEN.get() - warm, 0, "{}", kind.name());
        assert!(warm > fresh, "the allocator counts");
        assert!(pairs.len() > grains);
    }
}
