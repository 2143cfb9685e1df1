//! Groups of bodies that come apart and meet again: as long as they are apart, each is what it is alone, bit
//! for bit.

use drystone::{BodyDef, PairLaw, Settings, Shape, World};
use glam::{DQuat, DVec3};

use crate::bits;

fn world(restitution: f64) -> World {
    let mut w = World::new(Settings::default()).unwrap();
    let law = PairLaw { restitution, ..PairLaw::default() };
    w.materials_mut().set_other(law).unwrap();
    w
}

fn floor(w: &mut World) {
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
}

/// A heap of boxes and balls about `at`, all with the velocity `v`: six bodies.
fn heap(w: &mut World, at: DVec3, v: DVec3) {
    for k in 0..6 {
        let shape = if k % 2 == 0 { Shape::cuboid(DVec3::new(0.2, 0.15, 0.1)) } else { Shape::sphere(0.12) };
        let place = DVec3::new(0.03 * (k % 3) as f64, 0.02 * k as f64, 0.1 + 0.23 * k as f64);
        let turn = DQuat::from_rotation_z(0.3 * k as f64);
        let body = BodyDef::solid(shape, 1000.0 + 100.0 * k as f64).friction(0.4);
        w.add_body(body.at(at + place).turned(turn).moving(v, DVec3::ZERO)).unwrap();
    }
}

const HEAP: usize = 6;

/// Bits of `count` bodies from slot `first` on.
fn part(w: &World, first: usize, count: usize) -> Vec<u64> {
    let (all, before) = (bits(w, first + count), bits(w, first));
    all[before.len()..].to_vec()
}

/// The group of a slot: 0 for the floor, then as many in each group as `sizes` says.
fn group(slot: u32, sizes: &[usize]) -> usize {
    let mut end = 1;
    for (k, size) in sizes.iter().enumerate() {
        if (slot as usize) < end {
            return k;
        }
        end += size;
    }
    sizes.len()
}

/// Whether dynamic bodies of different groups have a contact.
fn meet(w: &World, sizes: &[usize]) -> bool {
    let groups = |c: &drystone::Contact| c.bodies.map(|b| group(b, sizes));
    w.contacts().iter().map(groups).any(|[a, b]| a != b && a > 0 && b > 0)
}

/// Two heaps slide towards each other on a floor: until they meet, each has the bits that it has alone.
/// (Corrections of positions look ahead: at the end of the step before they may have met.)
#[test]
fn heaps_that_meet_were_alone_before() {
    let places = [(DVec3::X * -1.0, DVec3::X * 2.0), (DVec3::X * 1.0, DVec3::X * -1.5)];
    let [mut both, mut one, mut two] = [0; 3].map(|_| world(0.3));
    [&mut both, &mut one, &mut two].into_iter().for_each(floor);
    places.into_iter().for_each(|(at, v)| heap(&mut both, at, v));
    heap(&mut one, places[0].0, places[0].1);
    heap(&mut two, places[1].0, places[1].1);
    let (mut met, mut same) = (None, [true; 2]);
    for k in 0..60 {
        for w in [&mut both, &mut one, &mut two] {
            w.step().unwrap();
        }
        if meet(&both, &[HEAP, HEAP]) {
            met = Some(k);
            break;
        }
        assert_eq!(same, [true; 2], "each in the step before step {k}");
        same = [(1, &one), (1 + HEAP, &two)].map(|(first, w)| part(&both, first, HEAP) == part(w, 1, HEAP));
    }
    assert!(met.is_some_and(|k| k > 10), "{met:?}");
}

/// A plank falls on two heaps: until it touches one, heaps and plank have the bits that they have alone;
/// until it touches the second, that one has.
#[test]
fn heaps_under_a_bridge_are_alone_until_it_touches_them() {
    // The second heap is lower: the plank comes to it later.
    let places = [DVec3::X * -1.0, DVec3::new(1.0, 0.0, 0.0)];
    let plank = |w: &mut World| {
        let body = BodyDef::solid(Shape::cuboid(DVec3::new(1.6, 0.2, 0.03)), 500.0).friction(0.4);
        let turn = DQuat::from_rotation_y(-0.15);
        w.add_body(body.at(DVec3::Z * 2.4).turned(turn)).unwrap();
    };
    let [mut all, mut one, mut two, mut bridge] = [0; 4].map(|_| world(0.0));
    [&mut all, &mut one, &mut two, &mut bridge].into_iter().for_each(floor);
    places.into_iter().for_each(|at| heap(&mut all, at, DVec3::ZERO));
    plank(&mut all);
    heap(&mut one, places[0], DVec3::ZERO);
    heap(&mut two, places[1], DVec3::ZERO);
    plank(&mut bridge);
    let sizes = [HEAP, HEAP, 1];
    let mut touched = [None; 2];
    for k in 0..120 {
        for w in [&mut all, &mut one, &mut two, &mut bridge] {
            w.step().unwrap();
        }
        for c in all.contacts() {
            let groups = c.bodies.map(|b| group(b, &sizes));
            for heap in [1, 2].into_iter().filter(|heap| groups.contains(heap) && groups.contains(&3)) {
                touched[heap - 1].get_or_insert(k);
            }
        }
        let free = |heap: usize| touched[heap].is_none();
        if free(0) {
            assert_eq!(part(&all, 1, HEAP), part(&one, 1, HEAP), "the first, step {k}");
        }
        if free(1) {
            assert_eq!(part(&all, 1 + HEAP, HEAP), part(&two, 1, HEAP), "the second, step {k}");
        }
        if free(0) && free(1) {
            assert_eq!(part(&all, 1 + 2 * HEAP, 1), part(&bridge, 1, 1), "the bridge, step {k}");
        }
        if let [Some(first), Some(second)] = touched {
            assert!(first > 10 && second > 10 && first != second, "{touched:?}");
            return;
        }
    }
    panic!("the bridge does not touch both: {touched:?}");
}

/// A box of balls bursts, and walls throw them back: while the two halves have no contact with each other,
/// one has the same bits whether the other is still there or was taken away when they parted.
#[test]
fn halves_that_part_are_alone_until_they_meet_again() {
    let build = || {
        let mut w = world(0.9);
        floor(&mut w);
        for side in [-1.0, 1.0] {
            for k in 0..4 {
                let at = DVec3::new(0.11 * side, 0.19 * k as f64, 0.1);
                let ball = BodyDef::solid(Shape::sphere(0.1), 1000.0).friction(0.3);
                // They begin in contact, all eight of them.
                w.add_body(ball.at(at).moving(DVec3::X * 3.0 * side, DVec3::ZERO)).unwrap();
            }
        }
        for side in [-1.0, 1.0] {
            let wall = BodyDef::fixed(Shape::cuboid(DVec3::new(0.5, 5.0, 1.0))).friction(0.3);
            w.add_body(wall.at(DVec3::X * 1.2 * side)).unwrap();
        }
        w
    };
    let (mut both, mut one) = (build(), build());
    let halves = |w: &World| {
        let half = |b: u32| if b <= 4 { 1 } else { 2 };
        let balls = w.contacts().iter().filter(|c| c.bodies.iter().all(|b| (1..=8).contains(b)));
        balls.map(|c| c.bodies.map(half)).any(|[a, b]| a != b)
    };
    let (mut began, mut parted, mut met) = (false, None, None);
    for k in 0..200 {
        both.step().unwrap();
        one.step().unwrap();
        began |= halves(&both);
        match parted {
            None if began && !halves(&both) => {
                parted = Some(k);
                let gone: Vec<_> = (5..=8).map(|slot| one.model().id(slot).unwrap()).collect();
                one.remove_bodies(&gone).unwrap();
            }
            None => {}
            Some(_) if halves(&both) => {
                met = Some(k);
                break;
            }
            Some(_) => {}
        }
        assert_eq!(part(&both, 1, 4), part(&one, 1, 4), "step {k}, parted at {parted:?}");
    }
    assert!(met.zip(parted).is_some_and(|(met, parted)| met > parted + 10), "{parted:?} {met:?}");
}
