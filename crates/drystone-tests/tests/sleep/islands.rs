//! Towers and heaps: islands sleep and wake as wholes, and only those that are disturbed.

use super::*;

#[test]
fn nothing_of_a_sleeping_tower_changes() {
    let (mut w, _, bricks) = on_ground(5);
    until_asleep(&mut w, 5);
    assert!(w.state().time >= 0.5, "not before the time is up: {}", w.state().time);
    let (before, energy) = (poses(&w, &bricks), w.energy());
    // The step in which they fell asleep still had their contacts in its problem.
    let contacts = w.contacts().len();
    assert!(contacts >= 5);
    for _ in 0..50 {
        let r = w.step().unwrap();
        assert_eq!((r.asleep, r.contacts, r.iterations), (5, 0, 0));
        assert_eq!(w.contacts().len(), contacts, "they are still there to be read");
    }
    assert_eq!(poses(&w, &bricks), before);
    assert_eq!(w.energy(), energy);
    assert_eq!(energy.kinetic, 0.0);
    let support = w.support_over_weight().unwrap();
    assert!((support - 1.0).abs() < 1e-3, "{support}");
    assert_eq!(w.state().multipliers.len(), contacts);
}

/// One sweep from nothing would not carry five bricks: what held them before they slept has to be there when
/// they wake.
#[test]
fn impulses_outlast_sleep() {
    let (mut w, _, bricks) = on_ground(5);
    until_asleep(&mut w, 5);
    steps(&mut w, 20);
    let kept = w.state().clone();
    let few = Settings { solver: "pgs".into(), iterations: 1, tolerance: 0.0, ..settings() };
    let fall = |warm_start: bool| {
        let (mut other, _, _) = on_ground(5);
        other.set_settings(Settings { warm_start, ..few.clone() }).unwrap();
        other.restore(kept.clone()).unwrap();
        other.wake(bricks[2]).unwrap();
        assert_eq!(other.asleep(), 0, "the island is one");
        other.step().unwrap();
        other.speeds().0
    };
    let (warm, cold) = (fall(true), fall(false));
    assert!(warm < 1e-4 && cold > 0.02, "{warm} {cold}");
}

#[test]
fn a_tower_that_is_hit_wakes_and_falls_as_one_that_never_slept() {
    let hit =
        |w: &mut World| w.add_body(ball(DVec3::new(-1.0, 0.0, 0.7), DVec3::new(8.0, 0.0, 1.0))).unwrap();
    let (mut w, _, bricks) = on_ground(4);
    until_asleep(&mut w, 4);
    hit(&mut w);
    steps(&mut w, 5);
    assert!(all_asleep(&w, &bricks), "nothing has touched it yet");
    steps(&mut w, 20);
    assert!(all_awake(&w, &bricks));
    // The same blow on a tower that was watching.
    let mut other = World::new(Settings::default()).unwrap();
    other.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.6)).unwrap();
    let others = tower(&mut other, 0.0, 0.0, 4);
    hit(&mut other);
    steps(&mut other, 25);
    let (one, two) = (w.position(bricks[3]).unwrap(), other.position(others[3]).unwrap());
    assert!(one.x > 0.1, "it was hit: {one}");
    assert!(one.distance(two) < 1e-3, "{one} {two}");
}

#[test]
fn a_tower_whose_floor_is_taken_away_falls() {
    let (mut w, floor, bricks) = on_ground(3);
    until_asleep(&mut w, 3);
    w.remove_body(floor).unwrap();
    assert_eq!(w.asleep(), 0);
    steps(&mut w, 30);
    // After 30 steps of h with the half-implicit scheme: h² g n (n + 1) / 2.
    let fallen = 9.81 * 1e-4 * 15.0 * 31.0;
    let z = w.position(bricks[0]).unwrap().z;
    assert!((HALF - z - fallen).abs() < 1e-3, "{z}");
}

#[test]
fn a_tower_whose_lowest_brick_is_taken_away_comes_down() {
    let (mut w, _, bricks) = on_ground(3);
    let far = tower(&mut w, 3.0, 0.0, 2);
    until_asleep(&mut w, 5);
    w.remove_body(bricks[0]).unwrap();
    assert!(all_awake(&w, &bricks[1..]) && all_asleep(&w, &far));
    steps(&mut w, 100);
    let z = w.position(bricks[1]).unwrap().z;
    assert!((z - HALF).abs() < 1e-3, "{z}");
    // A sink does the same.
    until_asleep(&mut w, 4);
    let sink = drystone::Sink::new(DVec3::new(2.5, -1.0, 0.0), DVec3::new(3.5, 1.0, 0.15));
    w.add_sink(sink).unwrap();
    steps(&mut w, 2);
    assert_eq!(w.sunk(), [1]);
    assert!(all_asleep(&w, &bricks[1..]) && all_awake(&w, &far[1..]));
}

/// A heap of balls in a pit of its own at `x`.
fn heap(w: &mut World, x: f64) -> Vec<BodyId> {
    for (dx, dy) in [(-0.5, 0.0), (0.5, 0.0), (0.0, -0.5), (0.0, 0.5)] {
        let half = if dx == 0.0 { DVec3::new(0.6, 0.1, 0.5) } else { DVec3::new(0.1, 0.6, 0.5) };
        let wall = BodyDef::fixed(Shape::Box { half }).at(DVec3::new(x + 1.2 * dx, 1.2 * dy, 0.5));
        w.add_body(wall.friction(0.6)).unwrap();
    }
    let place = |k: usize| {
        let layer = (k / 16) as f64;
        let off = 0.03 * (layer % 2.0);
        DVec3::new(
            x - 0.33 + 0.21 * (k % 4) as f64 + off,
            -0.33 + 0.21 * (k / 4 % 4) as f64 + off,
            0.1 + 0.2 * layer,
        )
    };
    (0..48).map(|k| w.add_body(ball(place(k), DVec3::ZERO)).unwrap()).collect()
}

fn two_heaps(settings: Settings) -> (World, [Vec<BodyId>; 2]) {
    let mut w = World::new(settings).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.6)).unwrap();
    let heaps = [heap(&mut w, 0.0), heap(&mut w, 5.0)];
    (w, heaps)
}

#[test]
fn only_the_heap_that_is_touched_wakes() {
    let (mut w, [near, far]) = two_heaps(settings());
    until_asleep(&mut w, 96);
    let before = poses(&w, &far);
    w.add_body(ball(DVec3::new(0.02, 0.01, 2.0), DVec3::ZERO)).unwrap();
    let mut woken = false;
    for _ in 0..100 {
        w.step().unwrap();
        woken |= near.iter().any(|id| !w.is_asleep(*id).unwrap());
        assert!(all_asleep(&w, &far));
    }
    assert!(woken);
    assert_eq!(poses(&w, &far), before);
    until_asleep(&mut w, 97);
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (mut w, _) = two_heaps(settings());
            let mut story = Vec::new();
            until_asleep(&mut w, 96);
            w.add_body(ball(DVec3::new(0.02, 0.01, 1.2), DVec3::ZERO)).unwrap();
            for _ in 0..150 {
                story.push(w.step().unwrap().asleep);
            }
            (w.state().hash(), story)
        })
    };
    let one = run(1);
    assert!(one.1.contains(&96) && one.1.contains(&48), "they slept, and a half woke");
    assert!(run(2) == one);
    assert!(run(3) == one);
}
