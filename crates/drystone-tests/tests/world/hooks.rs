//! Hooks before and after a step, the contact callback, and steps that cannot be done.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use drystone::solve::solver::{self, Info};
use drystone::solve::{Malformed, Problem, Solution, Solver, Status, Stop};
use drystone::{BodyDef, BodyId, Settings, Shape, StepError, World};
use glam::{DQuat, DVec3};

fn scene() -> (World, BodyId, BodyId) {
    let mut w = World::new(Settings::default()).unwrap();
    let floor = w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5).named("floor")).unwrap();
    let cube = Shape::Box { half: DVec3::splat(0.1) };
    let cube =
        w.add_body(BodyDef::dynamic(cube, 1.0).at(DVec3::Z * 0.1).friction(0.5).named("cube")).unwrap();
    (w, floor, cube)
}

#[test]
fn hooks_run_in_order_around_the_step() {
    let (mut w, ..) = scene();
    let log = Arc::new(Mutex::new(Vec::new()));
    for (name, before) in [("b1", true), ("a1", false), ("b2", true), ("a2", false)] {
        let log = log.clone();
        let hook = move |w: &mut World| log.lock().unwrap().push((name, w.state().step));
        if before { w.before_step(hook) } else { w.after_step(hook) }
    }
    w.step().unwrap();
    w.step().unwrap();
    let want = [("b1", 0), ("b2", 0), ("a1", 1), ("a2", 1), ("b1", 1), ("b2", 1), ("a1", 2), ("a2", 2)];
    assert_eq!(*log.lock().unwrap(), want);
}

#[test]
fn hooks_may_push_add_and_remove() {
    let (mut w, _, cube) = scene();
    w.before_step(move |w| {
        if w.state().step < 10 {
            w.apply_force(cube, DVec3::Z * 20.0, None).unwrap();
        }
        if w.state().step == 5 {
            let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::X);
            w.add_body(ball.at(DVec3::new(1.0, 0.0, 2.0))).unwrap();
        }
    });
    w.after_step(move |w| {
        if w.state().step == 50 {
            w.remove_body(cube).unwrap();
        }
    });
    for _ in 0..10 {
        w.step().unwrap();
    }
    let v = w.velocity(cube).unwrap().z;
    assert!((v - 10.0 * 0.01 * (20.0 - 9.81)).abs() < 1e-9, "lifted by the hook: {v}");
    assert_eq!(w.model().dynamic().count(), 2);
    for _ in 0..40 {
        w.step().unwrap();
    }
    assert!(w.position(cube).is_err(), "the hook took it away");
}

#[test]
fn hooks_may_add_hooks() {
    let (mut w, ..) = scene();
    let count = Arc::new(AtomicUsize::new(0));
    let inner = count.clone();
    w.after_step(move |w| {
        if w.state().step == 1 {
            let inner = inner.clone();
            w.after_step(move |_| {
                inner.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    for _ in 0..5 {
        w.step().unwrap();
    }
    assert_eq!(count.load(Ordering::Relaxed), 4, "from the next step on");
}

#[test]
fn contact_callback_changes_friction() {
    let angle = 20f64.to_radians();
    let slide = |mu: Option<f64>| {
        let mut w = World::new(Settings::default()).unwrap();
        let turn = DQuat::from_rotation_y(angle);
        w.add_body(BodyDef::fixed(Shape::HalfSpace).turned(turn).friction(0.8)).unwrap();
        let cube = BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.1) }, 1.0).friction(0.8);
        let cube = w.add_body(cube.at(turn * DVec3::Z * 0.1).turned(turn)).unwrap();
        if let Some(mu) = mu {
            w.on_contacts(move |_, _, contacts| contacts.iter_mut().for_each(|c| c.mu = mu));
        }
        for _ in 0..50 {
            w.step().unwrap();
        }
        w.velocity(cube).unwrap().length()
    };
    assert!(slide(None) < 1e-3, "it sticks by itself: {}", slide(None));
    let (smooth, exact) = (slide(Some(0.0)), 9.81 * angle.sin() * 0.5);
    assert!((smooth / exact - 1.0).abs() < 1e-3, "without friction {smooth}, exact {exact}");
}

#[test]
fn contact_callback_removes_contacts() {
    let (mut w, floor, cube) = scene();
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    w.on_contacts(move |model, state, contacts| {
        count.fetch_max(contacts.len(), Ordering::Relaxed);
        if state.step >= 20 {
            contacts.retain(|c| model.id(c.bodies[1]) != Some(floor));
        }
    });
    for _ in 0..20 {
        w.step().unwrap();
    }
    assert!((w.position(cube).unwrap().z - 0.1).abs() < 1e-4);
    assert_eq!(seen.load(Ordering::Relaxed), 4);
    w.step().unwrap();
    assert!(w.contacts().is_empty());
    let v = w.velocity(cube).unwrap().z;
    assert!((v + 0.0981).abs() < 1e-3, "it falls from the first step without contacts on: {v}");
}

/// A one-way door: only bodies that come from above are stopped.
#[test]
fn contact_callback_sees_the_state() {
    let mut w = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::Box { half: DVec3::new(5.0, 5.0, 0.05) })).unwrap();
    let ball = |z: f64, x: f64| {
        let v = DVec3::Z * -z.signum();
        BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::new(x, 0.0, z)).moving(v, DVec3::ZERO)
    };
    let (down, up) = (w.add_body(ball(1.0, 0.0)).unwrap(), w.add_body(ball(-1.0, 1.0)).unwrap());
    w.on_contacts(|_, state, contacts| contacts.retain(|c| state.velocity[c.bodies[0] as usize].z < 0.0));
    // Position correction looks at all overlaps, whatever the callback says: without it the door is a door.
    let settings = Settings { stabilisation: drystone::Stabilisation::None, ..w.settings().clone() };
    w.set_settings(settings).unwrap();
    for _ in 0..200 {
        w.step().unwrap();
    }
    assert!((w.position(down).unwrap().z - 0.15).abs() < 1e-6, "stopped: {}", w.position(down).unwrap());
    assert!((w.position(up).unwrap().z - 1.0).abs() < 1e-9, "through: {}", w.position(up).unwrap());
}

#[test]
fn step_with_a_force_beyond_all_bounds_is_refused() {
    let (mut w, _, cube) = scene();
    for _ in 0..7 {
        w.step().unwrap();
    }
    let before = w.state().clone();
    let refused = w.apply_force(cube, DVec3::new(f64::NAN, 0.0, 0.0), None).unwrap_err();
    assert!(refused.to_string().contains("force must be finite"), "{refused}");
    w.apply_force(cube, DVec3::X * 1e50, None).unwrap();
    let error = w.step().unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, StepError::OutOfRange { step: 8, .. }), "{error:?}");
    assert!(text.contains("step 8") && text.contains("body 1 (cube)"), "{text}");
    assert_eq!(w.state().hash(), before.hash());
    assert_eq!((w.state().step, w.state().time), (before.step, before.time));
    assert_eq!(w.state().multipliers, before.multipliers);
    w.restore(before.clone()).unwrap();
    w.step().expect("the saved state steps on");
    assert_eq!(w.state().step, 8);
}

#[test]
fn step_with_a_contact_that_is_no_number_is_refused() {
    let (mut w, ..) = scene();
    w.on_contacts(|_, state, contacts| {
        if state.step == 3 {
            contacts[0].mu = f64::NAN;
        }
    });
    for _ in 0..3 {
        w.step().unwrap();
    }
    let before = w.state().clone();
    let text = w.step().unwrap_err().to_string();
    assert!(text.contains("step 4") && text.contains("cube") && text.contains("floor"), "{text}");
    assert_eq!(*w.state(), before, "the state is the one before the step");
}

#[test]
fn step_with_a_contact_given_to_others_is_refused() {
    for which in 0..3 {
        let (mut w, ..) = scene();
        w.on_contacts(move |_, state, contacts| match which {
            _ if state.step < 3 => {}
            0 => contacts[0].bodies = [77, 99],
            1 => contacts[0].key.colliders = [77, 99],
            _ => contacts[0].bodies = [1, 1],
        });
        for _ in 0..3 {
            w.step().unwrap();
        }
        let before = w.state().clone();
        let text = w.step().unwrap_err().to_string();
        assert!(text.starts_with("step 4: contact 0: a hook on contacts left bodies"), "{text}");
        assert_eq!(*w.state(), before, "the state is the one before the step");
    }
}

#[test]
fn residuals_of_contacts_are_the_certificates() {
    let mut w = World::new(Settings { iterations: 3, solver: "pgs".into(), ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    for k in 0..6 {
        let cube = BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.1) }, 1.0 + k as f64);
        w.add_body(cube.at(DVec3::Z * (0.1 + 0.2 * k as f64)).friction(0.5)).unwrap();
    }
    assert_eq!(w.contact_residuals(), None, "nothing was kept");
    w.keep_solutions(true);
    for _ in 0..5 {
        let report = w.step().unwrap();
        let all = w.contact_residuals().unwrap();
        assert_eq!(all.len(), w.contacts().len());
        let (worst, largest) = (report.worst_contact.unwrap(), report.certificate.residual_max);
        assert!(largest > 0.0 && (all[worst] - largest).abs() <= 1e-9 * largest, "{} {largest}", all[worst]);
        assert!(all.iter().all(|e| *e <= largest * (1.0 + 1e-9)));
    }
}

/// Corrections of positions build problems of their own after the step's: what is said of its contacts is not
/// theirs.
#[test]
fn what_is_kept_is_of_the_contacts_of_the_step() {
    let settings = Settings { tolerance: 1e-9, iterations: 100_000, ..Settings::default() };
    let mut w = World::new(settings).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    for k in 0..24 {
        let (x, y, z) = (k % 3, k / 3 % 3, k / 9);
        let at = DVec3::new(0.19 * x as f64, 0.19 * y as f64 + 0.02 * z as f64, 0.095 + 0.19 * z as f64);
        w.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(at).friction(0.5)).unwrap();
    }
    w.keep_solutions(true);
    let h = w.settings().h;
    let (mut corrected, mut compared) = (0, 0);
    for _ in 0..30 {
        let report = w.step().unwrap();
        corrected += report.position_rounds;
        let Some(all) = w.contact_residuals() else {
            assert!(report.substeps > 1 || report.velocity_problems > 1, "{report:?}");
            continue;
        };
        let largest = report.certificate.residual_max;
        let found = all.iter().copied().fold(0.0, f64::max);
        assert!((found - largest).abs() <= 1e-6 * largest + 1e-15, "{found} {largest}");
        assert_eq!(report.worst_contact.map(|i| all[i] >= found * (1.0 - 1e-9)), Some(true));
        // Forces that are determined are those of the step.
        let small = w.smallest_forces().unwrap();
        for (i, c) in w.contacts().iter().enumerate() {
            if small.determined[i] == Some(true) {
                assert!(
                    (small.force[i] - c.impulse / h).length() < 1e-3 * 9.81,
                    "{i}: {} {}",
                    small.force[i],
                    c.impulse / h
                );
                compared += 1;
            }
        }
    }
    assert!(corrected > 0 && compared > 30, "{corrected} {compared}");
}

/// A solver that answers with as many multipliers as it was made for.
struct Short(usize);

impl Solver for Short {
    fn info(&self) -> &'static Info {
        &SHORT
    }

    fn bytes(&self) -> usize {
        0
    }

    fn solve(&mut self, _: &Problem, _: Option<&[f64]>, _: &Stop) -> Result<Solution, Malformed> {
        Ok(Solution::new(vec![0.0; self.0], Status::Converged, 1))
    }
}

static SHORT: Info = Info {
    name: "short",
    title: "a wrong number of multipliers",
    use_when: "for a test",
    models: &["ccp"],
    unit: "sweep",
    citation: "",
    params: &[],
    make: |_| Ok(Box::new(Short(5))),
};

#[test]
fn a_solver_of_ones_own_that_answers_with_other_rows_is_refused() {
    solver::install(&SHORT);
    for iterations in [10, 0] {
        let settings = Settings { solver: "short".into(), iterations, ..Settings::default() };
        let mut w = World::new(settings).unwrap();
        w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
        let cube = BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.1) }, 1.0);
        w.add_body(cube.at(DVec3::Z * 0.09).friction(0.5)).unwrap();
        let text = w.step().unwrap_err().to_string();
        let want = "step 1: the solver 'short' returned 5 multipliers, the problem has ";
        assert!(text.starts_with(want) && text.ends_with(" rows"), "{iterations} iterations: {text}");
    }
}
