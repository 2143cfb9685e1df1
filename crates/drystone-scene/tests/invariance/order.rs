//! The order in which bodies and joints are added does not matter.

use drystone::{BodyDef, Settings, Shape, Stabilisation, World};
use glam::DVec3;

use crate::compare::{Tally, UNDETERMINED, gallery, motion, scenes};

/// Numbers 0 to n - 1 in another order: backwards, or, with `odd`, the odd ones first.
fn shuffled(n: usize, odd: bool) -> Vec<usize> {
    match odd {
        false => (0..n).rev().collect(),
        true => (1..n).step_by(2).chain((0..n).step_by(2)).collect(),
    }
}

fn compare(odd: bool) -> Tally {
    let mut tally = Tally::default();
    for (name, mut parts) in scenes(1..=150, &UNDETERMINED).into_iter().chain(gallery()) {
        // Corrections of positions are solved to a share of the bodies' sizes, by sweeps that go by slots.
        parts.settings.stabilisation = Stabilisation::None;
        let (bodies, links) = (shuffled(parts.len(), odd), shuffled(parts.links.len(), odd));
        let (mut a, mut b) = (parts.world(), parts.reordered(&bodies, &links).world());
        let mut slots = vec![0; parts.len()];
        bodies.iter().enumerate().for_each(|(slot, i)| slots[*i] = slot);
        tally.run(&name, &parts, [&mut a, &mut b], |a, i| (slots[i], motion(a, i)), |_| false);
    }
    tally
}

/// Bodies and joints that are added backwards do the same.
#[test]
fn the_order_of_bodies_and_joints_does_not_matter() {
    compare(false).check(100);
}

/// Nor does it matter if every other one is added first.
#[test]
fn another_order_of_bodies_and_joints_does_not_matter() {
    compare(true).check(100);
}

/// So many bodies that they are sorted in space: to the tolerance of the steps, it does not matter in which
/// order they are added. (Bits differ: which body of a contact is called the first is told by slots.)
#[test]
fn the_order_of_many_bodies_does_not_matter() {
    const SIDE: usize = 17;
    /// m/s: that of the steps times the condition number of the heap, which is below the number of its layers
    /// squared.
    const ALLOWED: f64 = 1e-9 * (SIDE * SIDE) as f64;
    let n = SIDE.pow(3);
    let ball = |k: usize| {
        let cell = DVec3::new((k % SIDE) as f64, (k / SIDE % SIDE) as f64, (k / SIDE / SIDE) as f64);
        // Rows lean, so that balls roll and slide over each other.
        let x = 0.2 * cell + DVec3::new(0.03 * cell.z, 0.011 * cell.x, 0.1);
        BodyDef::solid(Shape::sphere(0.1), 1000.0).friction(0.3).at(x)
    };
    let build = |order: &[usize]| {
        let settings =
            Settings { tolerance: 1e-9, stabilisation: Stabilisation::None, ..Settings::default() };
        let mut w = World::new(settings).unwrap();
        w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.3)).unwrap();
        for k in order {
            w.add_body(ball(*k)).unwrap();
        }
        w
    };
    let order = shuffled(n, true);
    let (mut a, mut b) = (build(&(0..n).collect::<Vec<_>>()), build(&order));
    let mut contacts = 0;
    for k in 0..2 {
        contacts += a.step().unwrap().contacts;
        b.step().unwrap();
        let (s, t) = (a.state(), b.state());
        let off = |(slot, i): (usize, &usize)| (s.velocity[i + 1] - t.velocity[slot + 1]).length();
        let most = order.iter().enumerate().map(off).fold(0.0, f64::max);
        assert!(most <= ALLOWED, "step {k}: {most} m/s");
    }
    assert!(contacts > n, "{contacts}");
}
