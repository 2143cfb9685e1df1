//! The narrow phase takes no memory.

use crate::counting::TAKEN;
use crate::narrowphase_common::{KINDS, Random};
use drystone::collide::narrowphase::{Manifold, contacts};
use drystone::collide::query::{distance, ray};
use glam::DVec3;

#[test]
fn no_pair_allocates() {
    let mut random = Random(1);
    let mut manifold = Manifold::default();
    let mut points = 0;
    for i in 0..KINDS {
        for j in 0..KINDS {
            for _ in 0..40 {
                let (a, b) = (random.convex(i), random.convex(j));
                let (pa, pb) = (random.pose(1.0), random.pose(1.0));
                let before = TAKEN.get();
                contacts(&a, &pa, &b, &pb, 0.1, &mut manifold);
                distance(&a, &pa, &b, &pb);
                ray(&a, &pa, DVec3::X * 5.0, DVec3::NEG_X, 9.0);
                assert_eq!(TAKEN.get() - before, 0, "{a:?} {b:?}");
                points += manifold.points().len();
            }
        }
    }
    assert!(points > 1000 && TAKEN.get() > 0);
}
