//! Sleep and bits: no trace of the option where nothing sleeps, states that go on, steps that fail.

use super::*;

/// Bricks and balls that tumble, and a tower that stands by.
fn tumble(sleep: Option<Sleep>) -> World {
    let mut w = World::new(Settings { sleep, iterations: 60, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.6)).unwrap();
    tower(&mut w, 2.0, 0.0, 3);
    for k in 0..12 {
        let at = DVec3::new(0.15 * f64::from(k % 3), 0.1 * f64::from(k % 2), 0.3 + 0.25 * f64::from(k));
        let def = if k % 2 == 0 { brick(at) } else { ball(at, DVec3::ZERO) };
        w.add_body(def).unwrap();
    }
    w
}

#[test]
fn without_sleepers_the_option_leaves_no_trace() {
    let (mut with, mut without) = (tumble(Some(Sleep { speed: None, time: 1e3 })), tumble(None));
    for _ in 0..200 {
        with.step().unwrap();
        without.step().unwrap();
        assert_eq!(with.state().hash(), without.state().hash());
    }
    assert_eq!(with.state().multipliers, without.state().multipliers);
    // Until the first one sleeps, too.
    let mut with = tumble(Some(Sleep::default()));
    let mut without = tumble(None);
    for _ in 0..200 {
        if with.step().unwrap().asleep > 0 {
            break;
        }
        without.step().unwrap();
        assert_eq!(with.state().hash(), without.state().hash());
    }
    assert_eq!(with.asleep(), 3, "the tower is the first");
}

#[test]
fn a_state_with_sleepers_goes_on_bit_for_bit() {
    let mut a = tumble(Some(Sleep::default()));
    until_asleep(&mut a, 3);
    let mut b = tumble(Some(Sleep::default()));
    let text = serde_json::to_string(a.state()).unwrap();
    b.restore(serde_json::from_str(&text).unwrap()).unwrap();
    assert_eq!(b.asleep(), 3);
    for k in 0..300 {
        let (ra, rb) = (a.step().unwrap(), b.step().unwrap());
        assert_eq!(
            (ra.asleep, ra.contacts, ra.worst_contact),
            (rb.asleep, rb.contacts, rb.worst_contact),
            "{k}"
        );
        assert_eq!(a.state(), b.state());
        assert_eq!(a.contacts(), b.contacts());
    }
    assert!(a.asleep() > 3, "others have come to rest meanwhile");
}

#[test]
fn a_step_that_fails_leaves_sleepers_as_they_were() {
    let (mut w, _, bricks) = on_ground(2);
    until_asleep(&mut w, 2);
    w.step().unwrap();
    let before = w.state().clone();
    w.apply_force(bricks[0], DVec3::X, None).unwrap();
    w.apply_force(bricks[1], DVec3::splat(1e50), None).unwrap();
    assert!(w.step().is_err());
    w.clear_forces();
    assert_eq!(w.state(), &before);
    w.step().unwrap();
    assert_eq!(w.asleep(), 2);
}

#[test]
fn thresholds_are_checked_and_kept() {
    let refused = |sleep: Sleep| World::new(Settings { sleep: Some(sleep), ..Settings::default() }).err();
    let says = |sleep: Sleep, what: &str| refused(sleep).unwrap().to_string().contains(what);
    assert!(says(Sleep { speed: Some(0.0), time: 0.5 }, "speed"));
    assert!(says(Sleep { speed: Some(f64::NAN), time: 0.5 }, "speed"));
    assert!(says(Sleep { speed: None, time: -1.0 }, "time"));
    // Time to sleep is what was asked for, counted in whole steps.
    for time in [0.0, 0.2, 0.995] {
        let sleep = Some(Sleep { speed: Some(0.05), time });
        let mut w = World::new(Settings { sleep, ..Settings::default() }).unwrap();
        w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
        tower(&mut w, 0.0, 0.0, 1);
        until_asleep(&mut w, 1);
        assert!((w.state().time - time).abs() < 0.0101 && w.state().time > time - 1e-9, "{}", w.state().time);
    }
}

#[test]
fn without_gravity_nothing_sleeps_unless_a_speed_is_given() {
    for (speed, count) in [(None, 0), (Some(0.01), 1)] {
        let sleep = Some(Sleep { speed, time: 0.1 });
        let mut w = World::new(Settings { sleep, gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
        w.add_body(ball(DVec3::ZERO, DVec3::X * 0.005)).unwrap();
        steps(&mut w, 100);
        assert_eq!(w.asleep(), count);
    }
}
