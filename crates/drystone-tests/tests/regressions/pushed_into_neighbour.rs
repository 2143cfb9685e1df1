//! Overlaps add up along a stack: when they are all removed at once its top moves far, and must not be pushed
//! into a body above it that had no contact yet.

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

#[test]
fn correction_makes_no_deeper_overlap() {
    let (r, overlap, n) = (0.5, 0.02, 20);
    let mut w = World::new(Settings::default()).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
    for i in 0..=n {
        // The last one hovers a tenth of a radius above the stack.
        let lift = if i == n { 0.05 + overlap } else { 0.0 };
        let z = r - overlap + i as f64 * (2.0 * r - overlap) + lift;
        w.add_body(BodyDef::dynamic(Shape::Sphere { radius: r }, 1.0).at(DVec3::Z * z)).unwrap();
    }
    let mut deepest = w.penetration().max;
    assert!((deepest - overlap).abs() < 1e-12);
    for step in 0..60 {
        w.step().unwrap();
        deepest = w.penetration().max;
        // Fifty sweeps do not solve a stack of twenty: a little may pile up before it is gone.
        assert!(deepest <= 2.0 * overlap, "step {step}: overlap {deepest}");
    }
    assert!(deepest < 1e-4, "{deepest}");
}
